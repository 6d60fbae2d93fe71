/* packets.c: the parser of packets as fastcksum.packets uses it. */
#include "python/fast.h"

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
    struct core_state *state = PyModule_GetState(module);
    if (core_add_names(module, "LAYERS", layers, PACKET_LAYER_COUNT) < 0 ||
        core_add_names(module, "STATUSES", statuses, PACKET_STATUS_COUNT) < 0 ||
        core_add_names(module, "REASONS", reasons, PACKET_REASON_COUNT) < 0 ||
        (state->layers = PyObject_GetAttrString(module, "LAYERS")) == NULL ||
        (state->statuses = PyObject_GetAttrString(module, "STATUSES")) == NULL ||
        (state->reasons = PyObject_GetAttrString(module, "REASONS")) == NULL) {
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

/* ---- one packet ---- */

/* A number, or None where there is none. */
static PyObject *number_or_none(bool is_there, unsigned number)
{
    return is_there ? PyLong_FromUnsignedLong(number) : Py_NewRef(Py_None);
}

/* A packet that a call names, and what judges it. */
struct packet {
    struct core_bytes bytes;
    const unsigned char *start; /* of the packet, in bytes */
    size_t offset;
    size_t length;
    unsigned link;
    const struct cksum_kernel *kernel;
};

int core_take_link(PyObject *object, unsigned *link)
{
    size_t number = SIZE_MAX;
    if (object == NULL) {
        *link = PACKET_LINK_RAW;
        return 0;
    }
    if (PyUnicode_Check(object)) {
        if (PyUnicode_CompareWithASCIIString(object, "ip") == 0) {
            number = PACKET_LINK_RAW;
        } else if (PyUnicode_CompareWithASCIIString(object, "ethernet") == 0) {
            number = PACKET_LINK_ETHERNET;
        }
    } else if (!core_quick_size(object, UINT_MAX, &number)) {
        PyObject *integer = PyNumber_Index(object);
        if (integer == NULL) {
            return -1;
        }
        number = PyLong_AsSize_t(integer);
        Py_DECREF(integer);
        PyErr_Clear(); /* OverflowError: no link type either */
    }
    if (number > UINT_MAX || !packet_link_known((unsigned)number)) {
        char known[8 * sizeof links / sizeof links[0]] = "";
        size_t end = 0;
        for (size_t i = 0; i < sizeof links / sizeof links[0] && end < sizeof known; i++) {
            end += (size_t)PyOS_snprintf(known + end, sizeof known - end, i == 0 ? "%u" : ", %u", links[i]);
        }
        PyErr_Format(PyExc_ValueError, "link must be 'ip', 'ethernet' or one of the link types %s, not %R", known,
                     object);
        return -1;
    }
    *link = (unsigned)number;
    return 0;
}

/* What (packet, offset=0, *, link="ip") name. 0, and bytes to be released; or -1 with an exception set. */
static int take_packet(PyObject *module, const struct core_signature *signature, PyObject *const *args,
                       Py_ssize_t nargs, PyObject *names, struct packet *packet)
{
    PyObject *values[CORE_MAX_ARGUMENTS] = {NULL};
    if (core_take_arguments(signature, args, nargs, names, values) < 0 ||
        core_take_link(values[2], &packet->link) < 0 || core_take_bytes(values[0], &packet->bytes) < 0) {
        return -1;
    }
    packet->kernel = core_quick_kernel(module);
    if (packet->kernel == NULL ||
        core_get_span(values[1], NULL, packet->bytes.size, &packet->offset, &packet->length) < 0) {
        core_release_bytes(&packet->bytes);
        return -1;
    }
    packet->start = packet->bytes.buf + packet->offset;
    return 0;
}

PyObject *core_use_verdict_type(PyObject *module, PyObject *object)
{
    struct core_state *state = PyModule_GetState(module);
    PyTypeObject *type = (PyTypeObject *)object;
    if (!PyType_Check(object) || !PyType_IsSubtype(type, &PyTuple_Type) ||
        type->tp_basicsize != PyTuple_Type.tp_basicsize) {
        PyErr_SetString(PyExc_TypeError, "the type of verdicts must be a tuple with names and without a __dict__");
        return NULL;
    }
    Py_XSETREF(state->verdict_type, (PyTypeObject *)Py_NewRef(object));
    Py_RETURN_NONE;
}

static PyObject *name_at(PyObject *names, unsigned i)
{
    return Py_NewRef(PyTuple_GET_ITEM(names, (Py_ssize_t)i));
}

/* A check as the type of verdicts, or a tuple while none is known, of these fields. NULL with an exception set. */
static PyObject *verdict(const struct core_state *state, const struct packet *packet, const struct packet_check *check)
{
    enum { LAYER, STATUS, FOUND, EXPECTED, OFFSET, REASON, FIELDS };
    PyTypeObject *type = state->verdict_type;
    PyObject *tuple = type == NULL ? PyTuple_New(FIELDS) : type->tp_alloc(type, FIELDS);
    if (tuple == NULL) {
        return NULL;
    }
#if PY_VERSION_HEX >= 0x030e0000
    ((PyTupleObject *)tuple)->ob_hash = -1; /* not known yet; tp_alloc leaves 0 */
#endif
    const bool expects = check->covered && check->status != PACKET_NONE;
    PyObject *const items[FIELDS] = {
        [LAYER] = name_at(state->layers, check->layer),
        [STATUS] = name_at(state->statuses, check->status),
        [FOUND] = number_or_none(check->has_field, check->has_field ? packet_found(packet->start, check) : 0),
        [EXPECTED] = number_or_none(expects, expects ? packet_expected(packet->kernel->fn, packet->start, check) : 0),
        [OFFSET] = check->has_field ? PyLong_FromSize_t(packet->offset + check->field) : Py_NewRef(Py_None),
        [REASON] = name_at(state->reasons, check->reason),
    };
    bool whole = true;
    for (Py_ssize_t i = 0; i < FIELDS; i++) {
        PyTuple_SET_ITEM(tuple, i, items[i]);
        whole = whole && items[i] != NULL;
    }
    if (!whole) {
        Py_CLEAR(tuple); /* copes with NULL in it */
    }
    return tuple;
}

PyObject *core_verify_packet(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    static const struct core_signature signature = {"verify_packet", {"packet", "offset", "link"}, 3, 2, 1};
    const struct core_state *state = PyModule_GetState(module);
    struct packet_check checks[PACKET_MAX_CHECKS];
    struct packet packet;
    uint32_t silence;
    if (take_packet(module, &signature, args, nargs, names, &packet) < 0) {
        return NULL;
    }
    const unsigned n =
        packet_verify(packet.kernel->fn, packet.start, packet.length, packet.length, packet.link, checks, &silence);
    PyObject *list = PyList_New(n);
    for (unsigned i = 0; list != NULL && i < n; i++) {
        PyObject *item = verdict(state, &packet, &checks[i]);
        if (item == NULL) {
            Py_CLEAR(list);
        } else {
            PyList_SET_ITEM(list, i, item);
        }
    }
    core_release_bytes(&packet.bytes);
    return list;
}

static bool is_transport(const struct packet_check *check)
{
    switch (check->layer) {
    case PACKET_TCP:
    case PACKET_UDP:
    case PACKET_UDPLITE:
    case PACKET_ICMP:
    case PACKET_ICMPV6:
    case PACKET_DCCP:
        return true;
    default:
        return false;
    }
}

/* Sets the ValueError for a packet without a transport's checksum, with the reasons that its checks give. */
static void set_no_transport(const struct packet_check *checks, unsigned n)
{
    PyObject *text = PyUnicode_FromString("");
    for (unsigned i = 0; text != NULL && i < n; i++) {
        if (reasons[checks[i].reason][0] != '\0') {
            Py_SETREF(text,
                      PyUnicode_FromFormat("%U (%s: %s)", text, layers[checks[i].layer], reasons[checks[i].reason]));
        }
    }
    if (text != NULL) {
        PyErr_Format(PyExc_ValueError, "no header of tcp, udp, udplite, icmp, icmpv6, dccp found in the packet%U",
                     text);
        Py_DECREF(text);
    }
}

PyObject *core_transport_checksum(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    static const struct core_signature signature = {"transport_checksum", {"packet", "offset", "link"}, 3, 2, 1};
    struct packet_check checks[PACKET_MAX_CHECKS];
    struct packet packet;
    uint32_t silence;
    PyObject *result = NULL;
    if (take_packet(module, &signature, args, nargs, names, &packet) < 0) {
        return NULL;
    }
    const unsigned n = packet_find(packet.start, packet.length, packet.length, packet.link, checks, &silence);
    unsigned i = 0;
    while (i < n && !is_transport(&checks[i])) {
        i++;
    }
    if (i + 1 != n) { /* the checks inside have a say in what is right */
        packet_judge(packet.kernel->fn, packet.start, checks, n);
    }
    if (i == n) {
        set_no_transport(checks, n);
    } else if (!checks[i].covered) {
        PyErr_Format(PyExc_ValueError, "no %s checksum can be computed: %s", layers[checks[i].layer],
                     reasons[checks[i].reason]);
    } else {
        result = PyLong_FromLong(packet_expected(packet.kernel->fn, packet.start, &checks[i]));
    }
    core_release_bytes(&packet.bytes);
    return result;
}

/* The bytes of the IPv4 header at packet->start. 0 with ValueError set where there is no whole one. */
static size_t ipv4_header_length(const struct packet *packet)
{
    if (packet->length < 20) {
        PyErr_Format(PyExc_ValueError, "an IPv4 header has at least 20 bytes, and there are %zu behind offset %zu",
                     packet->length, packet->offset);
        return 0;
    }
    const unsigned char first = packet->start[0]; /* once: another thread may write here */
    const size_t length = 4 * (size_t)(first & 15);
    if (first >> 4 != 4) {
        PyErr_Format(PyExc_ValueError, "no IPv4 header at offset %zu: its version is %d, not 4", packet->offset,
                     first >> 4);
    } else if (length < 20 || length > packet->length) {
        PyErr_Format(PyExc_ValueError, "the IPv4 header at offset %zu claims %zu bytes; it must be 20..%zu",
                     packet->offset, length, packet->length < 60 ? packet->length : (size_t)60);
    } else {
        return length;
    }
    return 0;
}

PyObject *core_ipv4_header_checksum(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    static const struct core_signature signature = {"ipv4_header_checksum", {"packet", "offset"}, 2, 2, 1};
    struct packet packet;
    PyObject *result = NULL;
    if (take_packet(module, &signature, args, nargs, names, &packet) < 0) {
        return NULL;
    }
    const size_t length = ipv4_header_length(&packet);
    if (length != 0) {
        const struct packet_check check = {.layer = PACKET_IPV4, .field = 10, .length = (uint32_t)length};
        result = PyLong_FromLong(packet_expected(packet.kernel->fn, packet.start, &check));
    }
    core_release_bytes(&packet.bytes);
    return result;
}

PyObject *core_fill_checksums(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    static const struct core_signature signature = {"fill_checksums", {"packet", "offset", "link"}, 3, 2, 1};
    struct packet packet;
    if (take_packet(module, &signature, args, nargs, names, &packet) < 0) {
        return NULL;
    }
    PyObject *copy = PyBytes_FromStringAndSize((const char *)packet.bytes.buf, (Py_ssize_t)packet.bytes.size);
    if (copy != NULL) {
        unsigned char *start = (unsigned char *)PyBytes_AS_STRING(copy) + packet.offset;
        packet_fill(packet.kernel->fn, start, packet.length, packet.link);
    }
    core_release_bytes(&packet.bytes);
    return copy;
}

PyObject *core_fill_into(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    static const struct core_signature signature = {"fill_into", {"buffer", "offset", "link"}, 3, 2, 1};
    struct packet packet;
    PyObject *result = NULL;
    if (take_packet(module, &signature, args, nargs, names, &packet) < 0) {
        return NULL;
    }
    if (packet.bytes.view.obj == NULL || packet.bytes.view.readonly) {
        PyErr_SetString(PyExc_BufferError, "fill_into writes into its buffer, and this one is read-only: "
                                           "a bytearray is not, and fill_checksums() returns a copy");
    } else {
        unsigned char *start = (unsigned char *)packet.bytes.view.buf + packet.offset;
        result = PyLong_FromUnsignedLong(packet_fill(packet.kernel->fn, start, packet.length, packet.link));
    }
    core_release_bytes(&packet.bytes);
    return result;
}
