/* packets.c: the parser of packets as fastcksum.packets and .capture use it: one packet, and a batch of them. */
#include "python/state.h"

#include <stdlib.h>

#include "packet/packet.h"

static const char *const reasons[PACKET_REASON_COUNT] = {
#define REASON_TEXT(id, text) [PACKET_##id] = (text),
    PACKET_REASONS(REASON_TEXT)
#undef REASON_TEXT
};

static const char *const layers[PACKET_LAYER_COUNT] = {
#define LAYER_TEXT(id, text) [PACKET_##id] = (text),
    PACKET_LAYERS(LAYER_TEXT)
#undef LAYER_TEXT
};

static const char *const statuses[PACKET_STATUS_COUNT] = {
#define STATUS_TEXT(id, text) [PACKET_##id] = (text),
    PACKET_STATUSES(STATUS_TEXT)
#undef STATUS_TEXT
};

static const unsigned links[] = {
#define LINK_NUMBER(id, number, step) PACKET_LINK_##id,
    PACKET_LINKS(LINK_NUMBER)
#undef LINK_NUMBER
};

int core_add_packets(PyObject *module)
{
    const size_t n_links = sizeof links / sizeof links[0];
    if (core_add_names(module, "LAYERS", layers, PACKET_LAYER_COUNT) < 0 ||
        core_add_names(module, "STATUSES", statuses, PACKET_STATUS_COUNT) < 0 ||
        core_add_names(module, "REASONS", reasons, PACKET_REASON_COUNT) < 0) {
        return -1;
    }
    PyObject *tuple = PyTuple_New((Py_ssize_t)n_links);
    for (size_t i = 0; tuple != NULL && i < n_links; i++) {
        PyObject *number = PyLong_FromUnsignedLong(links[i]);
        if (number == NULL) {
            Py_CLEAR(tuple);
        } else {
            PyTuple_SET_ITEM(tuple, (Py_ssize_t)i, number);
        }
    }
    return core_add_constant(module, "LINKS", tuple);
}

/* (src, dst, protocol, length): addresses of 4 or 16 bytes each, checked by the caller in Python. */
PyObject *core_pseudo_header(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *result = NULL;
    Py_buffer src, dst;
    unsigned char protocol;
    PyObject *length_object;
    size_t length;

    if (!PyArg_ParseTuple(args, "y*y*bO", &src, &dst, &protocol, &length_object)) {
        return NULL;
    }
    if (src.len != dst.len || (src.len != 4 && src.len != 16)) {
        PyErr_Format(PyExc_ValueError, "src and dst must both have 4 or 16 bytes, not %zd and %zd", src.len, dst.len);
    } else if (core_get_size(length_object, "length", 0xffffffff, "a 32-bit field", &length) == 0) {
        result =
            PyLong_FromLong(packet_pseudo_header(src.len == 4 ? 4 : 6, src.buf, dst.buf, protocol, (uint32_t)length));
    }
    PyBuffer_Release(&dst);
    PyBuffer_Release(&src);
    return result;
}

/* ---- one packet ---- */

/* A number, or None where there is none. */
static PyObject *number_or_none(bool is_there, unsigned number)
{
    return is_there ? PyLong_FromUnsignedLong(number) : Py_NewRef(Py_None);
}

static PyObject *address_or_none(const unsigned char *packet, const struct packet_check *check, bool source)
{
    if (check->ip_version == 0) {
        return Py_NewRef(Py_None);
    }
    const unsigned size = check->ip_version == 4 ? 4 : 16;
    const unsigned at = check->ip_version == 4 ? 12 : 8;
    return PyBytes_FromStringAndSize((const char *)packet + check->ip + at + (source ? 0 : size), size);
}

/* (layer, status, found, expected, offset, reason, protocol, src, dst) of one check. NULL with an exception set. */
static PyObject *verdict_tuple(const struct cksum_kernel *kernel, const unsigned char *packet, size_t base,
                               const struct packet_check *check)
{
    PyObject *items[] = {
        PyLong_FromLong(check->layer),
        PyLong_FromLong(check->status),
        number_or_none(check->has_field, check->has_field ? packet_found(packet, check) : 0),
        number_or_none(check->covered, check->covered ? packet_expected(kernel->fn, packet, check) : 0),
        check->has_field ? PyLong_FromSize_t(base + check->field) : Py_NewRef(Py_None),
        PyLong_FromLong(check->reason),
        PyLong_FromLong(check->protocol),
        address_or_none(packet, check, true),
        address_or_none(packet, check, false),
    };
    const size_t n = sizeof items / sizeof items[0];
    PyObject *tuple = PyTuple_New((Py_ssize_t)n);
    for (size_t i = 0; i < n; i++) {
        if (items[i] == NULL) {
            Py_CLEAR(tuple);
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (tuple == NULL) {
            Py_XDECREF(items[i]);
        } else {
            PyTuple_SET_ITEM(tuple, (Py_ssize_t)i, items[i]);
        }
    }
    return tuple;
}

/* (buf, offset, length or None, original length or None, link) -> list of the tuples above. */
PyObject *core_verify_packet(PyObject *module, PyObject *args)
{
    PyObject *list = NULL, *offset_object, *length_object, *original_object;
    Py_buffer view;
    unsigned link;
    size_t offset, length, original;
    struct packet_check checks[PACKET_MAX_CHECKS];
    uint32_t silence;
    const struct cksum_kernel *kernel;
    PyObject *buf;

    if (!PyArg_ParseTuple(args, "OOOOI", &buf, &offset_object, &length_object, &original_object, &link)) {
        return NULL;
    }
    if (core_get_buffer(buf, &view) < 0) {
        return NULL;
    }
    if (core_get_span(offset_object, length_object, (size_t)view.len, &offset, &length) < 0) {
        goto done;
    }
    original = length;
    if (original_object != Py_None &&
        core_get_size(original_object, "original length", SIZE_MAX, "bytes on the wire", &original) < 0) {
        goto done;
    }
    kernel = core_active_kernel(module);
    list = kernel == NULL ? NULL : PyList_New(0);
    if (list == NULL) {
        goto done;
    }
    const unsigned char *packet = (const unsigned char *)view.buf + offset;
    const unsigned n = packet_verify(kernel->fn, packet, length, original, link, checks, &silence);
    for (unsigned i = 0; list != NULL && i < n; i++) {
        PyObject *tuple = verdict_tuple(kernel, packet, offset, &checks[i]);
        if (tuple == NULL || PyList_Append(list, tuple) < 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(tuple);
    }
done:
    PyBuffer_Release(&view);
    return list;
}

/* (buf, offset, link) -> a copy of the whole buffer as bytes, with the fields of the packet at offset filled in. */
PyObject *core_fill_packet(PyObject *module, PyObject *args)
{
    PyObject *result = NULL, *buf, *offset_object;
    Py_buffer view;
    unsigned link;
    size_t offset, length;
    const struct cksum_kernel *kernel;

    if (!PyArg_ParseTuple(args, "OOI", &buf, &offset_object, &link)) {
        return NULL;
    }
    if (core_get_buffer(buf, &view) < 0) {
        return NULL;
    }
    if (core_get_span(offset_object, NULL, (size_t)view.len, &offset, &length) < 0 ||
        (kernel = core_active_kernel(module)) == NULL) {
        goto done;
    }
    result = PyBytes_FromStringAndSize(view.buf, view.len);
    if (result != NULL) {
        packet_fill(kernel->fn, (unsigned char *)PyBytes_AS_STRING(result) + offset, length, link);
    }
done:
    PyBuffer_Release(&view);
    return result;
}

/* ---- many packets ---- */

/*
 * (data, offsets, lengths, original lengths, links, counts) -> (verdicts of each packet, codes, packets of unknown link
 * types); the first two as bytes, and counts, 256 uint64, goes up by the number of each code.
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
        PyErr_Format(PyExc_ValueError,
                     "packet %zu does not lie in the data: offset %lld, length %lu, and the data has %zu bytes",
                     batch.bad_index, (long long)batch.bad_offset, (unsigned long)batch.bad_length, batch.size);
    } else {
        result = Py_BuildValue("Oy#n", per_packet, batch.codes, (Py_ssize_t)batch.n_codes, (Py_ssize_t)batch.unknown);
    }
done:
    free(batch.codes);
    Py_XDECREF(per_packet);
    for (int i = 0; i < ARGUMENTS; i++) {
        if (views[i].obj != NULL) {
            PyBuffer_Release(&views[i]);
        }
    }
    return result;
}
