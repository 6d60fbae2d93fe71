/* update.c: update_checksum: the checksum after a change, by the RFC's equation. */
#include "python/fast.h"

#include "core/update.h"

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
    const struct cksum_change change = {
        .old_sum = core_sum_bytes(kernel, sides[0].bytes, sides[0].length, 0),
        .new_sum = core_sum_bytes(kernel, sides[1].bytes, sides[1].length, 0),
        .old_all_ones = cksum_all_ones(sides[0].bytes, sides[0].length),
        .odd = odd,
        .udp = udp,
        .full_sum_zero = full_sum_zero,
    };
    result = PyLong_FromLong(cksum_updated((uint16_t)checksum, &change));
done:
    for (int i = 0; i < 2; i++) {
        if (sides[i].view.obj != NULL) {
            PyBuffer_Release(&sides[i].view);
        }
    }
    return result;
}
