/* captures.c: the reader of captures as fastcksum.capture uses it. */
#include "python/state.h"

#include "packet/packet.h"
#include "packet/pcap.h"

#define READER_CAPSULE "fastcksum.capture_reader"

int core_add_captures(PyObject *module)
{
    return PyModule_AddStringConstant(module, "NO_CAPTURE", pcap_damage_text(PCAP_NO_CAPTURE));
}

/* A reader, which one thread at a time may use: a scan releases the GIL. */
struct shared_reader {
    struct pcap_reader reader;
    atomic_flag busy;
};

static void free_reader(PyObject *capsule)
{
    struct shared_reader *shared = PyCapsule_GetPointer(capsule, READER_CAPSULE);
    pcap_free(&shared->reader);
    PyMem_Free(shared);
}

/* A new reader, at the start of a file. */
PyObject *core_capture_reader(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    struct shared_reader *shared = PyMem_Calloc(1, sizeof *shared);
    if (shared == NULL) {
        return PyErr_NoMemory();
    }
    atomic_flag_clear(&shared->busy);
    PyObject *capsule = PyCapsule_New(shared, READER_CAPSULE, free_reader);
    if (capsule == NULL) {
        PyMem_Free(shared);
    }
    return capsule;
}

/*
 * (reader, window, start, stop, final, offsets, lengths, original lengths, times, links, frames[, check sequences]),
 * the last six or seven to be filled
 *     -> (packets found, bytes taken, bytes needed, damage in words or None, offset of the damage)
 * The records lie in window[start:stop]; the offsets count from the start of window.
 */
PyObject *core_scan_capture(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *result = NULL, *capsule, *window, *objects[7] = {NULL};
    static const char *const names[] = {"offsets",   "lengths", "original_lengths", "times",
                                        "linktypes", "frames",  "check_sequences"};
    static const Py_ssize_t sizes[] = {8, 4, 4, 8, 2, 8, 1};
    Py_buffer view = {0}, views[7] = {{0}};
    Py_ssize_t start, stop;
    int final;
    size_t taken, needed;
    bool entered = false;

    if (!PyArg_ParseTuple(args, "OOnnpOOOOOO|O", &capsule, &window, &start, &stop, &final, &objects[0], &objects[1],
                          &objects[2], &objects[3], &objects[4], &objects[5], &objects[6])) {
        return NULL;
    }
    struct shared_reader *shared = PyCapsule_GetPointer(capsule, READER_CAPSULE);
    if (shared == NULL) {
        return NULL;
    }
    struct pcap_reader *reader = &shared->reader;
    if (core_get_buffer(window, &view) < 0) {
        view.obj = NULL;
        goto done;
    }
    if (start < 0 || stop < start || stop > view.len) {
        PyErr_Format(PyExc_ValueError, "start and stop must lie in order in 0..%zd, not %zd and %zd", view.len, start,
                     stop);
        goto done;
    }
    for (int i = 0; i < 7 && objects[i] != NULL; i++) {
        if (core_get_column(objects[i], names[i], sizes[i], true, &views[i]) < 0) {
            goto done;
        }
        if (views[i].shape[0] != views[0].shape[0]) {
            PyErr_Format(PyExc_ValueError, "%s must have as many elements as offsets", names[i]);
            goto done;
        }
    }
    struct pcap_records records = {
        .offsets = views[0].buf,
        .lengths = views[1].buf,
        .original_lengths = views[2].buf,
        .times = views[3].buf,
        .links = views[4].buf,
        .frames = views[5].buf,
        .check_sequences = views[6].buf,
        .room = (size_t)views[0].shape[0],
    };
    if (core_enter(&shared->busy, "reader") < 0) {
        goto done;
    }
    entered = true;
    Py_BEGIN_ALLOW_THREADS;
    taken =
        pcap_scan(reader, (const unsigned char *)view.buf + start, (size_t)(stop - start), final, &records, &needed);
    for (size_t i = 0; i < records.n; i++) {
        records.offsets[i] += start;
    }
    Py_END_ALLOW_THREADS;
    result = Py_BuildValue("nnnzK", (Py_ssize_t)records.n, (Py_ssize_t)taken, (Py_ssize_t)needed,
                           reader->damage == PCAP_INTACT ? NULL : pcap_damage_text(reader->damage),
                           (unsigned long long)reader->damage_at);
done:
    if (entered) {
        core_leave(&shared->busy);
    }
    core_release_views(views, 7);
    if (view.obj != NULL) {
        PyBuffer_Release(&view);
    }
    return result;
}

/* ---- the checks of one packet, as a report lists them ---- */

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

/* What the check sums beside the packet's own bytes, as a number in network order. */
static PyObject *network_number(uint16_t raw)
{
    return PyLong_FromUnsignedLong(CKSUM_LITTLE_ENDIAN ? cksum_swap16(raw) : raw);
}

/*
 * (layer, status, found, expected, offset, reason, protocol, src, dst, start, length, hole, length of the hole, pseudo
 * header, its length, what the card adds) of one check. NULL with an exception set.
 */
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
        PyLong_FromSize_t(base + check->start),
        number_or_none(check->covered, check->length),
        PyLong_FromSize_t(base + check->hole),
        PyLong_FromUnsignedLong(check->hole_length),
        network_number(check->pseudo),
        network_number(check->pseudo_length),
        network_number(check->offloaded),
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
PyObject *core_packet_checks(PyObject *module, PyObject *args)
{
    PyObject *list = NULL, *offset_object, *length_object, *original_object;
    Py_buffer view;
    unsigned link;
    size_t offset, length, original;
    struct packet_check checks[PACKET_MAX_CHECKS];
    uint32_t silence;
    const struct cksum_kernel *kernel;
    PyObject *buf, *link_object;

    if (!PyArg_ParseTuple(args, "OOOOO", &buf, &offset_object, &length_object, &original_object, &link_object) ||
        core_take_link(link_object, &link) < 0) {
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
