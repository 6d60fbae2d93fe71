/* update.c: combine and update_checksum: sums and checksums out of others, without the data. */
#include "python/fast.h"

#include "core/update.h"

/* Whether an object stands for one number: integers, NumPy's scalars, but no array, even of one element. */
static bool is_integer(PyObject *object)
{
    if (PyLong_Check(object)) {
        return true;
    }
    if (!PyIndex_Check(object)) {
        return false;
    }
    if (!PyObject_CheckBuffer(object)) {
        return true;
    }
    Py_buffer view;
    if (PyObject_GetBuffer(object, &view, PyBUF_FULL_RO) < 0) {
        PyErr_Clear();
        return true;
    }
    const bool scalar = view.ndim == 0;
    PyBuffer_Release(&view);
    return scalar;
}

/* Two buffers of one length: their sums. The length, or -1 with TypeError, BufferError or ValueError set. */
static Py_ssize_t take_buffers(PyObject *module, PyObject *const *objects, struct cksum_change *change)
{
    Py_buffer old, new;
    Py_ssize_t length = -1;
    if (core_get_buffer(objects[0], &old) < 0) {
        return -1;
    }
    if (core_get_buffer(objects[1], &new) < 0) {
        PyBuffer_Release(&old);
        return -1;
    }
    const struct cksum_kernel *kernel = core_active_kernel(module);
    if (kernel == NULL) {
        goto done;
    }
    if (old.len != new.len) {
        PyErr_Format(PyExc_ValueError,
                     "old and new must have the same length, not %zd and %zd bytes: where data was inserted or "
                     "removed, sum it anew",
                     old.len, new.len);
        goto done;
    }
    length = old.len;
    change->old_sum = core_sum_bytes(kernel, old.buf, (size_t)length, 0);
    change->new_sum = core_sum_bytes(kernel, new.buf, (size_t)length, 0);
    change->old_all_ones = cksum_all_ones(old.buf, (size_t)length);
done:
    PyBuffer_Release(&new);
    PyBuffer_Release(&old);
    return length;
}

/* Two integers: the sums of their bytes in network order. 0, or -1 with TypeError or ValueError set. */
static int take_integers(PyObject *const *objects, struct cksum_change *change)
{
    static const char *const names[] = {"old", "new"};
    size_t values[2];
    uint16_t sums[2];
    for (int i = 0; i < 2; i++) {
        if (!core_quick_size(objects[i], 0xffffffff, &values[i]) &&
            core_get_size(objects[i], names[i], 0xffffffff, "16 or 32 bits; pass longer ones as bytes", &values[i]) <
                0) {
            return -1;
        }
        sums[i] = cksum_host_order16(cksum_fold32((uint32_t)(values[i] >> 16) + (uint32_t)(values[i] & 0xffff)));
    }
    const bool long_words = values[0] > 0xffff || values[1] > 0xffff;
    change->old_sum = sums[0];
    change->new_sum = sums[1];
    change->old_all_ones = values[0] == (long_words ? 0xffffffff : 0xffff);
    return 0;
}

/* The three flags of update_checksum. 0, or -1 with TypeError set. */
static int take_flags(PyObject *const *values, PyObject *names, bool flags[3])
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
        const int flag = PyObject_IsTrue(values[i]);
        if (flag < 0) {
            return -1;
        }
        flags[at] = flag;
    }
    return 0;
}

PyObject *core_update_checksum(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    struct cksum_change change = {0};
    bool flags[3] = {false};
    size_t checksum;

    if (nargs != 3) {
        PyErr_Format(PyExc_TypeError,
                     "update_checksum() takes 3 positional arguments, checksum, old and new; %zd were given", nargs);
        return NULL;
    }
    if ((names != NULL && take_flags(args + nargs, names, flags) < 0) ||
        (!core_quick_size(args[0], 0xffff, &checksum) &&
         core_get_size(args[0], "checksum", 0xffff, "the 16-bit field", &checksum) < 0)) {
        return NULL;
    }
    const bool integers = is_integer(args[1]);
    if (integers != is_integer(args[2])) {
        PyErr_Format(PyExc_TypeError,
                     "old and new must be two integers or two bytes-like objects, not '%.200s' and '%.200s'",
                     Py_TYPE(args[1])->tp_name, Py_TYPE(args[2])->tp_name);
        return NULL;
    }
    const Py_ssize_t length = integers ? take_integers(args + 1, &change) : take_buffers(module, args + 1, &change);
    if (length < 0) {
        return NULL;
    }
    change.odd = flags[0];
    change.udp = flags[1];
    change.full_sum_zero = flags[2];
    if ((!integers && length == 0) || (change.udp && checksum == 0)) { /* nothing changed, or nothing to change */
        return PyLong_FromSize_t(checksum);
    }
    return PyLong_FromLong(cksum_updated((uint16_t)checksum, &change));
}

/* Whether a number of bytes, of any magnitude, is odd. 0 or 1; -1 with TypeError or ValueError set. */
static int is_odd(PyObject *object, const char *what)
{
    size_t small = 0;
    if (CKSUM_LIKELY(core_quick_size(object, LONG_MAX, &small))) {
        return small & 1;
    }
    PyObject *integer = PyNumber_Index(object);
    if (integer == NULL) {
        return -1;
    }
    int overflow, result = -1;
    const long number = PyLong_AsLongAndOverflow(integer, &overflow);
    if (overflow < 0 || (overflow == 0 && number < 0)) {
        PyErr_Format(PyExc_ValueError, "%s must be 0 or more bytes, not %S", what, integer);
    } else {
        result = PyLong_AsUnsignedLongMask(integer) & 1;
    }
    Py_DECREF(integer);
    return result;
}

PyObject *core_combine(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    static const struct core_signature signature = {"combine", {"first", "second", "first_length"}, 3, 3, 3};
    PyObject *values[CORE_MAX_ARGUMENTS];
    size_t sums[2];
    if (core_take_arguments(&signature, args, nargs, names, values) < 0) {
        return NULL;
    }
    for (int i = 0; i < 2; i++) {
        if (!core_quick_size(values[i], 0xffff, &sums[i]) &&
            core_get_size(values[i], signature.names[i], 0xffff, "a raw 16-bit sum", &sums[i]) < 0) {
            return NULL;
        }
    }
    const int odd = is_odd(values[2], "first_length");
    return odd < 0 ? NULL : PyLong_FromLong(cksum_combined((uint16_t)sums[0], (uint16_t)sums[1], odd));
}
