/* update.c: update_checksum: the checksum after a change, by the RFC's equation. */
#include "python/fast.h"

/* One side of a change: bytes, or the network-order bytes of an integer. */
struct side {
    Py_buffer view; /* view.obj is NULL for an integer */
    unsigned char integer[4];
    const unsigned char *bytes;
    size_t length;
    size_t value;
};

/* Whether an object stands for one number: integers, NumPy's scalars, but no array, even of one element. */
static int is_integer(PyObject *object)
{
    if (PyLong_Check(object)) {
        return 1;
    }
    if (!PyIndex_Check(object)) {
        return 0;
    }
    if (!PyObject_CheckBuffer(object)) {
        return 1;
    }
    Py_buffer view;
    if (PyObject_GetBuffer(object, &view, PyBUF_FULL_RO) < 0) {
        PyErr_Clear();
        return 1;
    }
    const int scalar = view.ndim == 0;
    PyBuffer_Release(&view);
    return scalar;
}

/* Reads old and new. 0, or -1 with TypeError, BufferError or ValueError set; either way both are to be released. */
static int take_sides(PyObject *const *objects, struct side sides[2])
{
    static const char *const names[] = {"old", "new"};
    const int integers = is_integer(objects[0]);
    if (integers != is_integer(objects[1])) {
        PyErr_Format(PyExc_TypeError,
                     "old and new must be two integers or two bytes-like objects, not '%.200s' and '%.200s'",
                     Py_TYPE(objects[0])->tp_name, Py_TYPE(objects[1])->tp_name);
        return -1;
    }
    if (!integers) {
        for (int i = 0; i < 2; i++) {
            if (core_get_buffer(objects[i], &sides[i].view) < 0) {
                sides[i].view.obj = NULL;
                return -1;
            }
            sides[i].bytes = sides[i].view.buf;
            sides[i].length = (size_t)sides[i].view.len;
        }
        if (sides[0].length != sides[1].length) {
            PyErr_Format(PyExc_ValueError,
                         "old and new must have the same length, not %zu and %zu bytes: where data was inserted or "
                         "removed, sum it anew",
                         sides[0].length, sides[1].length);
            return -1;
        }
        return 0;
    }
    for (int i = 0; i < 2; i++) {
        if (core_get_size(objects[i], names[i], 0xffffffff, "16 or 32 bits; pass longer ones as bytes",
                          &sides[i].value) < 0) {
            return -1;
        }
    }
    const size_t length = sides[0].value > 0xffff || sides[1].value > 0xffff ? 4 : 2;
    for (int i = 0; i < 2; i++) {
        sides[i].bytes = sides[i].integer;
        sides[i].length = length;
        for (size_t at = 0; at < length; at++) {
            sides[i].integer[at] = (unsigned char)(sides[i].value >> (8 * (length - 1 - at)));
        }
    }
    return 0;
}

static bool all_ones(const struct side *side)
{
    for (size_t i = 0; i < side->length; i++) {
        if (side->bytes[i] != 0xff) {
            return false;
        }
    }
    return side->length % 2 == 0; /* an odd last byte stands in a word with a zero byte */
}

/* RFC 1624 equation 3, HC' = ~(~HC + ~m + m'), on host words; every word of a longer change adds its own ~m and m'. */
static uint16_t equation_3(uint16_t checksum, const struct side *old, uint16_t old_sum, uint16_t new_sum)
{
    const uint32_t total = (uint32_t)(uint16_t)~checksum + (uint16_t)~old_sum + new_sum;
    uint16_t sum = cksum_fold32(total);
    if (sum == 0 && !all_ones(old)) {
        sum = 0xffff; /* some ~m is not 0, so neither is the sum: ~old_sum is only their other zero */
    }
    return (uint16_t)~sum;
}

/* The three flags of update_checksum. 0, or -1 with TypeError set. */
static int take_flags(PyObject *const *values, PyObject *names, int flags[3])
{
    static const char *const known[] = {"odd", "udp", "full_sum_zero"};
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i);
        size_t at = 0;
        while (at < 3 && PyUnicode_CompareWithASCIIString(name, known[at]) != 0) {
            at++;
        }
        if (at == 3) {
            PyErr_Format(PyExc_TypeError,
                         "update_checksum() got an unexpected keyword argument %R; it takes odd, udp and full_sum_zero",
                         name);
            return -1;
        }
        flags[at] = PyObject_IsTrue(values[i]);
        if (flags[at] < 0) {
            return -1;
        }
    }
    return 0;
}

PyObject *core_update_checksum(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    PyObject *result = NULL;
    struct side sides[2] = {0};
    int flags[3] = {0};
    size_t checksum;
    const struct cksum_kernel *kernel;

    if (nargs != 3) {
        PyErr_Format(PyExc_TypeError,
                     "update_checksum() takes 3 positional arguments, checksum, old and new; %zd were given", nargs);
        return NULL;
    }
    if ((names != NULL && take_flags(args + nargs, names, flags) < 0) ||
        core_get_size(args[0], "checksum", 0xffff, "the 16-bit field", &checksum) < 0 ||
        take_sides(args + 1, sides) < 0 || (kernel = core_active_kernel(module)) == NULL) {
        goto done;
    }
    const int odd = flags[0], udp = flags[1], full_sum_zero = flags[2];
    if (sides[0].length == 0 || (udp && checksum == 0)) { /* nothing changed, or there is nothing to change */
        result = PyLong_FromSize_t(checksum);
        goto done;
    }
    uint16_t old_sum = core_sum_bytes(kernel, sides[0].bytes, sides[0].length, 0);
    uint16_t new_sum = core_sum_bytes(kernel, sides[1].bytes, sides[1].length, 0);
    if (odd) {
        old_sum = cksum_swap16(old_sum);
        new_sum = cksum_swap16(new_sum);
    }
    uint16_t updated = equation_3(cksum_host_order16((uint16_t)checksum), &sides[0], old_sum, new_sum);
    if (updated == 0 && (udp || (full_sum_zero && new_sum == 0))) {
        updated = 0xffff;
    }
    result = PyLong_FromLong(cksum_host_order16(updated));
done:
    for (int i = 0; i < 2; i++) {
        if (sides[i].view.obj != NULL) {
            PyBuffer_Release(&sides[i].view);
        }
    }
    return result;
}
