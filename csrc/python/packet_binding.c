/* packet_binding.c: the parser of packets and the reader of captures as fastcksum.packets and .capture use them. */
#include "python/state.h"

#include <stdlib.h>
#include <string.h>

#include "packet/packet.h"
#include "packet/pcap.h"

#define READER_CAPSULE "fastcksum.capture_reader"

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
    PACKET_LINK_NULL,
    PACKET_LINK_ETHERNET,
    PACKET_LINK_PPP,
    PACKET_LINK_DLT_RAW,
    PACKET_LINK_DLT_RAW_OPENBSD,
    PACKET_LINK_PPP_HDLC,
    PACKET_LINK_PPPOE,
    PACKET_LINK_RAW,
    PACKET_LINK_CISCO_HDLC,
    PACKET_LINK_LOOP,
    PACKET_LINK_LINUX_SLL,
    PACKET_LINK_PPP_WITH_DIRECTION,
    PACKET_LINK_IPV4,
    PACKET_LINK_IPV6,
    PACKET_LINK_LINUX_SLL2,
};

/* Adds the tuple of these texts as an attribute of the module. 0, or -1 with an exception set. */
static int add_texts(PyObject *module, const char *name, const char *const *texts, size_t n)
{
    PyObject *tuple = PyTuple_New((Py_ssize_t)n);
    for (size_t i = 0; tuple != NULL && i < n; i++) {
        PyObject *text = PyUnicode_InternFromString(texts[i]);
        if (text == NULL) {
            Py_CLEAR(tuple);
        } else {
            PyTuple_SET_ITEM(tuple, (Py_ssize_t)i, text);
        }
    }
    const int result = tuple == NULL ? -1 : PyModule_AddObjectRef(module, name, tuple);
    Py_XDECREF(tuple);
    return result;
}

int core_add_packet(PyObject *module)
{
    const size_t n_links = sizeof links / sizeof links[0];
    if (add_texts(module, "LAYERS", layers, PACKET_LAYER_COUNT) < 0 ||
        add_texts(module, "STATUSES", statuses, PACKET_STATUS_COUNT) < 0 ||
        add_texts(module, "REASONS", reasons, PACKET_REASON_COUNT) < 0 ||
        PyModule_AddStringConstant(module, "NO_CAPTURE", pcap_damage_text(PCAP_NO_CAPTURE)) < 0) {
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
    const int result = tuple == NULL ? -1 : PyModule_AddObjectRef(module, "LINKS", tuple);
    Py_XDECREF(tuple);
    return result;
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
    const struct cksum_kernel *kernel;
    PyObject *buf;
    char note[64];

    if (!PyArg_ParseTuple(args, "OOOOI", &buf, &offset_object, &length_object, &original_object, &link)) {
        return NULL;
    }
    if (core_get_buffer(buf, &view) < 0) {
        return NULL;
    }
    PyOS_snprintf(note, sizeof note, "the buffer has %zd bytes", view.len);
    if (core_get_size(offset_object, "offset", (size_t)view.len, note, &offset) < 0) {
        goto done;
    }
    length = (size_t)view.len - offset;
    if (length_object != Py_None && core_get_size(length_object, "length", length, note, &length) < 0) {
        goto done;
    }
    original = length;
    if (original_object != Py_None &&
        core_get_size(original_object, "original length", SIZE_MAX, note, &original) < 0) {
        goto done;
    }
    kernel = core_active_kernel(module);
    list = kernel == NULL ? NULL : PyList_New(0);
    if (list == NULL) {
        goto done;
    }
    const unsigned char *packet = (const unsigned char *)view.buf + offset;
    const unsigned n = packet_verify(kernel->fn, packet, length, original, link, checks);
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
    size_t offset;
    char note[64];
    const struct cksum_kernel *kernel;

    if (!PyArg_ParseTuple(args, "OOI", &buf, &offset_object, &link)) {
        return NULL;
    }
    if (core_get_buffer(buf, &view) < 0) {
        return NULL;
    }
    PyOS_snprintf(note, sizeof note, "the buffer has %zd bytes", view.len);
    if (core_get_size(offset_object, "offset", (size_t)view.len, note, &offset) < 0 ||
        (kernel = core_active_kernel(module)) == NULL) {
        goto done;
    }
    result = PyBytes_FromStringAndSize(view.buf, view.len);
    if (result != NULL) {
        packet_fill(kernel->fn, (unsigned char *)PyBytes_AS_STRING(result) + offset, (size_t)view.len - offset, link);
    }
done:
    PyBuffer_Release(&view);
    return result;
}

/* ---- many packets ---- */

/* A one-dimensional contiguous array whose items have `size` bytes. 0, or -1 with an exception set. */
static int take_column(PyObject *object, const char *name, Py_ssize_t size, bool writable, Py_buffer *view)
{
    const int flags = PyBUF_ND | (writable ? PyBUF_WRITABLE : 0);
    if (PyObject_GetBuffer(object, view, flags) < 0) {
        view->obj = NULL;
        return -1;
    }
    if (view->ndim != 1 || view->itemsize != size) {
        PyErr_Format(PyExc_ValueError, "%s must be one-dimensional with items of %zd bytes", name, size);
        return -1;
    }
    return 0;
}

/* Bytes that grow as they are written. */
struct growing {
    unsigned char *bytes;
    size_t n;
    size_t room;
};

/* Makes room for n more. 0, or -1 where there is no memory. */
static int reserve(struct growing *growing, size_t n)
{
    if (growing->room - growing->n >= n) {
        return 0;
    }
    const size_t room = 2 * growing->room + n;
    unsigned char *bytes = realloc(growing->bytes, room);
    if (bytes == NULL) {
        return -1;
    }
    growing->bytes = bytes;
    growing->room = room;
    return 0;
}

/* What ended a batch before its end. */
enum batch_end { WHOLE, BAD_SPAN, NO_MEMORY };

struct batch {
    const unsigned char *data;
    size_t size;
    const int64_t *offsets;
    const uint32_t *lengths;
    const uint32_t *originals;
    const uint16_t *links;
    size_t n;
    unsigned char *per_packet; /* verdicts of each packet */
    struct growing codes;
    uint64_t *counts; /* of each code */
    size_t unknown;   /* packets of link types that are not understood */
    size_t bad_index;
    int64_t bad_offset;
    uint32_t bad_length;
};

/* Needs no GIL. Each span is read once into locals, checked, then used: the arrays may change meanwhile. */
static enum batch_end verify_batch(cksum_fn *fn, struct batch *batch)
{
    struct packet_check checks[PACKET_MAX_CHECKS];
    if (reserve(&batch->codes, 3 * batch->n + PACKET_MAX_CHECKS) < 0) {
        return NO_MEMORY;
    }
    for (size_t i = 0; i < batch->n; i++) {
        const int64_t offset = batch->offsets[i];
        const uint32_t length = batch->lengths[i];
        if (offset < 0 || (uint64_t)offset > batch->size || length > batch->size - (uint64_t)offset) {
            batch->bad_index = i;
            batch->bad_offset = offset;
            batch->bad_length = length;
            return BAD_SPAN;
        }
        if (reserve(&batch->codes, PACKET_MAX_CHECKS) < 0) {
            return NO_MEMORY;
        }
        const unsigned n =
            packet_verify(fn, batch->data + offset, length, batch->originals[i], batch->links[i], checks);
        for (unsigned at = 0; at < n; at++) {
            const uint8_t code = packet_code(&checks[at]);
            batch->codes.bytes[batch->codes.n + at] = code;
            batch->counts[code]++;
        }
        batch->unknown += n == 0 && !packet_link_known(batch->links[i]);
        batch->codes.n += n;
        batch->per_packet[i] = (unsigned char)n;
    }
    return WHOLE;
}

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
    struct batch batch = {0};
    enum batch_end end;
    const struct cksum_kernel *kernel;

    if (!PyArg_ParseTuple(args, "OOOOOO", &objects[0], &objects[1], &objects[2], &objects[3], &objects[4],
                          &objects[COUNTS])) {
        return NULL;
    }
    if (core_get_buffer(objects[0], &views[0]) < 0) {
        views[0].obj = NULL;
        goto done;
    }
    if (take_column(objects[COUNTS], names[COUNTS], sizes[COUNTS], true, &views[COUNTS]) < 0) {
        goto done;
    }
    if (views[COUNTS].shape[0] != 256) {
        PyErr_Format(PyExc_ValueError, "counts must have 256 elements, not %zd", views[COUNTS].shape[0]);
        goto done;
    }
    for (int i = 1; i < COLUMNS; i++) {
        if (take_column(objects[i], names[i], sizes[i], false, &views[i]) < 0) {
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
    end = verify_batch(kernel->fn, &batch);
    Py_END_ALLOW_THREADS;
    if (end == NO_MEMORY) {
        PyErr_NoMemory();
    } else if (end == BAD_SPAN) {
        PyErr_Format(PyExc_ValueError,
                     "packet %zu does not lie in the data: offset %lld, length %lu, and the data has %zu bytes",
                     batch.bad_index, (long long)batch.bad_offset, (unsigned long)batch.bad_length, batch.size);
    } else {
        result =
            Py_BuildValue("Oy#n", per_packet, batch.codes.bytes, (Py_ssize_t)batch.codes.n, (Py_ssize_t)batch.unknown);
    }
done:
    free(batch.codes.bytes);
    Py_XDECREF(per_packet);
    for (int i = 0; i < ARGUMENTS; i++) {
        if (views[i].obj != NULL) {
            PyBuffer_Release(&views[i]);
        }
    }
    return result;
}

/* ---- captures ---- */

static void free_reader(PyObject *capsule)
{
    struct pcap_reader *reader = PyCapsule_GetPointer(capsule, READER_CAPSULE);
    pcap_free(reader);
    PyMem_Free(reader);
}

/* A new reader, at the start of a file. */
PyObject *core_capture_reader(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    struct pcap_reader *reader = PyMem_Calloc(1, sizeof *reader);
    if (reader == NULL) {
        return PyErr_NoMemory();
    }
    PyObject *capsule = PyCapsule_New(reader, READER_CAPSULE, free_reader);
    if (capsule == NULL) {
        PyMem_Free(reader);
    }
    return capsule;
}

/*
 * (reader, window, start, stop, final, offsets, lengths, original lengths, times, links), the last five to be filled
 *     -> (packets found, bytes taken, bytes needed, damage in words or None, offset of the damage)
 * The records lie in window[start:stop]; the offsets count from the start of window.
 */
PyObject *core_scan_capture(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *result = NULL, *capsule, *window, *objects[5];
    static const char *const names[] = {"offsets", "lengths", "original_lengths", "times", "linktypes"};
    static const Py_ssize_t sizes[] = {8, 4, 4, 8, 2};
    Py_buffer view = {0}, views[5] = {{0}};
    Py_ssize_t start, stop;
    int final;
    size_t taken, needed;
    struct pcap_reader *reader;

    if (!PyArg_ParseTuple(args, "OOnnpOOOOO", &capsule, &window, &start, &stop, &final, &objects[0], &objects[1],
                          &objects[2], &objects[3], &objects[4])) {
        return NULL;
    }
    reader = PyCapsule_GetPointer(capsule, READER_CAPSULE);
    if (reader == NULL) {
        return NULL;
    }
    if (core_get_buffer(window, &view) < 0) {
        view.obj = NULL;
        goto done;
    }
    if (start < 0 || stop < start || stop > view.len) {
        PyErr_Format(PyExc_ValueError, "start and stop must lie in order in 0..%zd, not %zd and %zd", view.len, start,
                     stop);
        goto done;
    }
    for (int i = 0; i < 5; i++) {
        if (take_column(objects[i], names[i], sizes[i], true, &views[i]) < 0) {
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
        .room = (size_t)views[0].shape[0],
    };
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
    for (int i = 0; i < 5; i++) {
        if (views[i].obj != NULL) {
            PyBuffer_Release(&views[i]);
        }
    }
    if (view.obj != NULL) {
        PyBuffer_Release(&view);
    }
    return result;
}
