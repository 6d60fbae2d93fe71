/* pseudo.c: pseudo_header, from addresses in every form that Python has for them. */
#define _POSIX_C_SOURCE 200809L /* inet_pton, inet_ntop */
#include "python/fast.h"

#include <arpa/inet.h>
#include <string.h>

#include "packet/packet.h"

/* An IPv4 or IPv6 address. */
struct address {
    unsigned char bytes[16];
    unsigned size; /* 4 or 16 */
};

/* The bytes of a buffer as an address. 0, or -1 with TypeError, BufferError or ValueError set. */
static int take_packed(PyObject *object, const char *name, struct address *address)
{
    struct core_bytes packed;
    if (core_take_bytes(object, &packed) < 0) {
        return -1;
    }
    const bool fits = packed.size == 4 || packed.size == 16;
    if (fits) {
        memcpy(address->bytes, packed.buf, packed.size);
        address->size = (unsigned)packed.size;
    } else {
        PyErr_Format(PyExc_ValueError, "%s must have 4 bytes (IPv4) or 16 (IPv6), not %zu", name, packed.size);
    }
    core_release_bytes(&packed);
    return fits ? 0 : -1;
}

/* Whether the text is an address as inet_pton takes it: all of these mean the same to the module ipaddress. */
static bool is_plain_text(PyObject *text, struct address *address)
{
    if (!PyUnicode_IS_COMPACT_ASCII(text)) {
        return false;
    }
    const char *characters = (const char *)PyUnicode_1BYTE_DATA(text);
    if (strlen(characters) != (size_t)PyUnicode_GET_LENGTH(text)) {
        return false;
    }
    address->size = strchr(characters, ':') == NULL ? 4 : 16;
    return inet_pton(address->size == 4 ? AF_INET : AF_INET6, characters, address->bytes) == 1;
}

/* An object of the module ipaddress, or text that only that knows (zones) or refuses. 0, or -1 with an exception. */
static int take_by_ipaddress(PyObject *object, const char *name, struct address *address)
{
    PyObject *module = PyImport_ImportModule("ipaddress"), *parsed = NULL, *packed = NULL;
    int result = -1;
    if (module == NULL) {
        return -1;
    }
    if (PyUnicode_Check(object)) {
        parsed = PyObject_CallMethod(module, "ip_address", "(O)", object);
    } else {
        PyObject *four = PyObject_GetAttrString(module, "IPv4Address");
        PyObject *six = PyObject_GetAttrString(module, "IPv6Address");
        PyObject *types = four == NULL || six == NULL ? NULL : PyTuple_Pack(2, four, six);
        const int is_one = types == NULL ? -1 : PyObject_IsInstance(object, types);
        parsed = is_one > 0 ? Py_NewRef(object) : NULL;
        if (is_one == 0) {
            PyErr_Format(PyExc_TypeError,
                         "%s must be an address: a bytes-like object is required, not '%.200s', or text, or an object "
                         "of the module ipaddress",
                         name, Py_TYPE(object)->tp_name);
        }
        Py_XDECREF(four);
        Py_XDECREF(six);
        Py_XDECREF(types);
    }
    packed = parsed == NULL ? NULL : PyObject_GetAttrString(parsed, "packed");
    if (packed != NULL) {
        result = take_packed(packed, name, address);
    }
    Py_XDECREF(packed);
    Py_XDECREF(parsed);
    Py_DECREF(module);
    return result;
}

/* An address in any form. 0, or -1 with an exception set. */
static int take_address(PyObject *object, const char *name, struct address *address)
{
    if (PyUnicode_Check(object)) {
        return is_plain_text(object, address) ? 0 : take_by_ipaddress(object, name, address);
    }
    if (PyObject_CheckBuffer(object)) {
        return take_packed(object, name, address);
    }
    return take_by_ipaddress(object, name, address);
}

/* Sets the ValueError for addresses of two versions. */
static void set_two_versions(const struct address *src, const struct address *dst)
{
    char texts[2][INET6_ADDRSTRLEN];
    inet_ntop(src->size == 4 ? AF_INET : AF_INET6, src->bytes, texts[0], sizeof texts[0]);
    inet_ntop(dst->size == 4 ? AF_INET : AF_INET6, dst->bytes, texts[1], sizeof texts[1]);
    PyErr_Format(PyExc_ValueError, "src and dst must be of one IP version, not %s and %s", texts[0], texts[1]);
}

PyObject *core_pseudo_header(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    static const struct core_signature signature = {"pseudo_header", {"src", "dst", "protocol", "length"}, 4, 4, 4};
    PyObject *values[CORE_MAX_ARGUMENTS];
    struct address src, dst;
    size_t protocol, length;
    if (core_take_arguments(&signature, args, nargs, names, values) < 0 || take_address(values[0], "src", &src) < 0 ||
        take_address(values[1], "dst", &dst) < 0) {
        return NULL;
    }
    if (src.size != dst.size) {
        set_two_versions(&src, &dst);
        return NULL;
    }
    if ((!core_quick_size(values[2], 0xff, &protocol) &&
         core_get_size(values[2], "protocol", 0xff, "an 8-bit field", &protocol) < 0) ||
        (!core_quick_size(values[3], 0xffffffff, &length) &&
         core_get_size(values[3], "length", 0xffffffff, "a 32-bit field", &length) < 0)) {
        return NULL;
    }
    return PyLong_FromLong(
        packet_pseudo_header(src.size == 4 ? 4 : 6, src.bytes, dst.bytes, (unsigned)protocol, (uint32_t)length));
}
