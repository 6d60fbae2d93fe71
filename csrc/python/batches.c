/* batches.c: many packets in one call, as fastcksum.capture judges and mends them. */
#include "python/state.h"

#include <stdlib.h>

#include "packet/mend.h"

/* ValueError for the packet that does not lie in the data. */
static void set_bad_span(const struct packet_batch *batch)
{
    PyErr_Format(PyExc_ValueError,
                 "packet %zu does not lie in the data: offset %lld, length %lu, and the data has %zu bytes",
                 batch->bad_index, (long long)batch->bad_offset, (unsigned long)batch->bad_length, batch->size);
}

/* A dict of why nothing was judged, in words, and of how many packets. NULL with an exception set. */
static PyObject *silences_dict(const struct packet_batch *batch)
{
    PyObject *dict = PyDict_New();
    for (size_t i = 0; dict != NULL && i < batch->n_silences; i++) {
        char text[PACKET_SILENCE_TEXT];
        packet_silence_text(batch->silences[i].silence, text);
        PyObject *number = PyLong_FromUnsignedLongLong(batch->silences[i].packets);
        if (number == NULL || PyDict_SetItemString(dict, text, number) < 0) {
            Py_CLEAR(dict);
        }
        Py_XDECREF(number);
    }
    return dict;
}

/*
 * (data, offsets, lengths, original lengths, links, counts) -> (verdicts of each packet, codes, packets of unknown link
 * types, dict of why nothing was judged); the first two as bytes, and counts, 256 uint64, goes up by the number of each
 * code.
 */
PyObject *core_verify_packets(PyObject *module, PyObject *args)
{
    enum { COLUMNS = 5, COUNTS = 5, ARGUMENTS = 6 };
    PyObject *result = NULL, *objects[ARGUMENTS], *per_packet = NULL;
    static const char *const names[] = {"data", "offsets", "lengths", "original_lengths", "linktypes", "counts"};
    static const Py_ssize_t sizes[] = {
        1, sizeof(int64_t), sizeof(uint32_t), sizeof(uint32_t), sizeof(uint16_t), sizeof(uint64_t),
    };
    Py_buffer views[ARGUMENTS] = {{0}};
    struct packet_batch batch = {0};
    enum packet_batch_end end;
    const struct cksum_kernel *kernel;

    if (!PyArg_ParseTuple(args, "OOOOOO", &objects[0], &objects[1], &objects[2], &objects[3], &objects[4],
                          &objects[COUNTS])) {
        return NULL;
    }
    if (core_get_buffer(objects[0], &views[0]) < 0) {
        views[0].obj = NULL;
        goto done;
    }
    if (core_get_column(objects[COUNTS], names[COUNTS], sizes[COUNTS], true, &views[COUNTS]) < 0) {
        goto done;
    }
    if (views[COUNTS].shape[0] != 256) {
        PyErr_Format(PyExc_ValueError, "counts must have 256 elements, not %zd", views[COUNTS].shape[0]);
        goto done;
    }
    for (int i = 1; i < COLUMNS; i++) {
        if (core_get_column(objects[i], names[i], sizes[i], false, &views[i]) < 0) {
            goto done;
        }
        if (views[i].shape[0] != views[1].shape[0]) {
            PyErr_Format(PyExc_ValueError, "%s must have %zd elements, as many as offsets, not %zd", names[i],
                         views[1].shape[0], views[i].shape[0]);
            goto done;
        }
    }
    batch.data = views[0].buf;
    batch.size = (size_t)views[0].len;
    batch.offsets = views[1].buf;
    batch.lengths = views[2].buf;
    batch.originals = views[3].buf;
    batch.links = views[4].buf;
    batch.counts = views[COUNTS].buf;
    batch.n = (size_t)views[1].shape[0];
    kernel = core_active_kernel(module);
    per_packet = kernel == NULL ? NULL : PyBytes_FromStringAndSize(NULL, (Py_ssize_t)batch.n);
    if (per_packet == NULL) {
        goto done;
    }
    batch.per_packet = (unsigned char *)PyBytes_AS_STRING(per_packet);
    Py_BEGIN_ALLOW_THREADS;
    end = packet_verify_batch(kernel->fn, &batch);
    Py_END_ALLOW_THREADS;
    if (end == PACKET_BATCH_NO_MEMORY) {
        PyErr_NoMemory();
    } else if (end == PACKET_BATCH_BAD_SPAN) {
        set_bad_span(&batch);
    } else {
        PyObject *silences = silences_dict(&batch);
        if (silences != NULL) {
            result = Py_BuildValue("Oy#nN", per_packet, batch.codes, (Py_ssize_t)batch.n_codes,
                                   (Py_ssize_t)batch.unknown, silences);
        }
    }
done:
    free(batch.codes);
    Py_XDECREF(per_packet);
    core_release_views(views, ARGUMENTS);
    return result;
}

/*
 * (data, offsets, lengths, original lengths, links, statuses, before, changed, left) -> (packets changed, dict of why
 * nothing was judged): packet_mend_batch, on writable data; the last three, 256 uint64 each, go up.
 */
PyObject *core_mend_packets(PyObject *module, PyObject *args)
{
    enum { COLUMNS = 5, ARGUMENTS = 8 };
    PyObject *result = NULL, *objects[ARGUMENTS];
    static const char *const names[] = {"data",      "offsets", "lengths", "original_lengths",
                                        "linktypes", "before",  "changed", "left"};
    static const Py_ssize_t sizes[] = {
        1,
        sizeof(int64_t),
        sizeof(uint32_t),
        sizeof(uint32_t),
        sizeof(uint16_t),
        sizeof(uint64_t),
        sizeof(uint64_t),
        sizeof(uint64_t),
    };
    Py_buffer views[ARGUMENTS] = {{0}};
    struct packet_batch batch = {0};
    struct packet_mended mended = {0};
    enum packet_batch_end end;
    unsigned wanted;
    const struct cksum_kernel *kernel = core_active_kernel(module);

    if (kernel == NULL || !PyArg_ParseTuple(args, "OOOOOIOOO", &objects[0], &objects[1], &objects[2], &objects[3],
                                            &objects[4], &wanted, &objects[5], &objects[6], &objects[7])) {
        return NULL;
    }
    for (int i = 0; i < ARGUMENTS; i++) {
        const bool written = i == 0 || i >= COLUMNS;
        if (core_get_column(objects[i], names[i], sizes[i], written, &views[i]) < 0) {
            goto done;
        }
        const Py_ssize_t want = i >= COLUMNS ? 256 : i == 0 ? views[0].shape[0] : views[1].shape[0];
        if (views[i].shape[0] != want) {
            PyErr_Format(PyExc_ValueError, "%s must have %zd elements, not %zd", names[i], want, views[i].shape[0]);
            goto done;
        }
    }
    batch.size = (size_t)views[0].len;
    batch.offsets = views[1].buf;
    batch.lengths = views[2].buf;
    batch.originals = views[3].buf;
    batch.links = views[4].buf;
    batch.n = (size_t)views[1].shape[0];
    mended = (struct packet_mended){.before = views[5].buf, .changed = views[6].buf, .left = views[7].buf};
    Py_BEGIN_ALLOW_THREADS;
    end = packet_mend_batch(kernel->fn, &batch, views[0].buf, wanted, &mended);
    Py_END_ALLOW_THREADS;
    if (end == PACKET_BATCH_WHOLE) {
        result = Py_BuildValue("KN", (unsigned long long)mended.packets, silences_dict(&batch));
    } else {
        set_bad_span(&batch);
    }
done:
    core_release_views(views, ARGUMENTS);
    return result;
}
