/* sums.c: raw_cksum, checksum and verify: one way through the arguments, and what each makes of the sum. */
#include "python/fast.h"

/* What a call says by name; NULL: not given. */
struct options {
    PyObject *offset;
    PyObject *length;
    PyObject *kernel;
};

/* Keeps the value of a keyword whose name is not one of the interned ones. 0, or -1 with TypeError set. */
static __attribute__((noinline)) int take_equal_name(const struct core_state *state, const char *function,
                                                     bool takes_kernel, PyObject *name, PyObject *value,
                                                     struct options *options)
{
    if (PyUnicode_Compare(name, state->name_offset) == 0) {
        options->offset = value;
    } else if (PyUnicode_Compare(name, state->name_length) == 0) {
        options->length = value;
    } else if (takes_kernel && PyUnicode_Compare(name, state->name_kernel) == 0) {
        options->kernel = value;
    } else {
        PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument %R; it takes %s", function, name,
                     takes_kernel ? "offset, length and kernel" : "offset and length");
        return -1;
    }
    return 0;
}

/* Sorts the keywords. 0, or -1 with TypeError set. */
CKSUM_INLINE int take_options(const struct core_state *state, const char *function, bool takes_kernel, PyObject *names,
                              PyObject *const *values, struct options *options)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i);
        if (name == state->name_offset) { /* interned, as the names in a program's text are */
            options->offset = values[i];
        } else if (name == state->name_length) {
            options->length = values[i];
        } else if (takes_kernel && name == state->name_kernel) {
            options->kernel = values[i];
        } else if (take_equal_name(state, function, takes_kernel, name, values[i], options) < 0) {
            return -1;
        }
    }
    return 0;
}

/* The sum by a kernel that is asked for. 0, or -1 with an exception set. */
CKSUM_INLINE int sum_by(PyObject *module, PyObject *kernel_object, const unsigned char *buf, size_t length,
                        uint32_t initial, uint16_t *sum)
{
    PyObject *keep = NULL;
    const struct cksum_kernel *kernel = core_choose_kernel(module, kernel_object, &keep);
    int result = -1;
    if (kernel != NULL && (CKSUM_LIKELY(length >= kernel->min_len) || core_check_length(kernel, length) == 0)) {
        *sum = core_sum_bytes(kernel, buf, length, initial);
        result = 0;
    }
    Py_XDECREF(keep);
    return result;
}

/* The sum of a whole buffer, without options. 0, or -1 with an exception set. */
static __attribute__((noinline)) int sum_buffer(PyObject *module, PyObject *object, uint32_t initial, uint16_t *sum)
{
    struct core_bytes bytes;
    const struct cksum_kernel *kernel = core_quick_kernel(module);
    if (kernel == NULL) {
        return -1;
    }
#if !defined(Py_GIL_DISABLED)
    if (PyByteArray_CheckExact(object) && PyByteArray_GET_SIZE(object) < CORE_GIL_RELEASE_BYTES) {
        /* Not exported: with the GIL held, nobody can resize it meanwhile. */
        *sum = core_sum_bytes(kernel, (const unsigned char *)PyByteArray_AS_STRING(object),
                              (size_t)PyByteArray_GET_SIZE(object), initial);
        return 0;
    }
#endif
    if (core_take_bytes(object, &bytes) < 0) {
        return -1;
    }
    *sum = core_sum_bytes(kernel, bytes.buf, bytes.size, initial);
    core_release_bytes(&bytes);
    return 0;
}

/* All but the shortest paths below, which it is kept apart from. */
static __attribute__((noinline)) int sum_arguments(PyObject *module, const char *function, bool takes_kernel,
                                                   PyObject *const *args, Py_ssize_t nargs, PyObject *names,
                                                   uint16_t *sum)
{
    const struct core_state *state = PyModule_GetState(module);
    struct options options = {0};
    struct core_bytes bytes;
    size_t initial = 0, offset, length;
    int result = -1;
    if (nargs < 1 || nargs > 2) {
        PyErr_Format(PyExc_TypeError, "%s() takes 1 or 2 positional arguments, buf and initial; %zd were given",
                     function, nargs);
        return -1;
    }
    if ((names != NULL && take_options(state, function, takes_kernel, names, args + nargs, &options) < 0) ||
        core_take_bytes(args[0], &bytes) < 0) {
        return -1;
    }
    if ((nargs == 2 && !core_quick_size(args[1], 0xffff, &initial) &&
         core_get_size(args[1], "initial", 0xffff, "a raw 16-bit sum", &initial) < 0) ||
        core_get_span(options.offset, options.length, bytes.size, &offset, &length) < 0) {
        goto done;
    }
    if (options.kernel != NULL) {
        result = sum_by(module, options.kernel, bytes.buf + offset, length, (uint32_t)initial, sum);
        goto done;
    }
    const struct cksum_kernel *kernel = core_quick_kernel(module);
    if (kernel != NULL) {
        *sum = core_sum_bytes(kernel, bytes.buf + offset, length, (uint32_t)initial);
        result = 0;
    }
done:
    core_release_bytes(&bytes);
    return result;
}

/* The raw sum that (buf, initial=0, /, *, offset, length[, kernel]) ask for. 0, or -1 with an exception set. */
CKSUM_INLINE int sum_call(PyObject *module, const char *function, bool takes_kernel, PyObject *const *args,
                          Py_ssize_t nargs, PyObject *names, uint16_t *sum)
{
    Py_ssize_t initial = 0;
    if (CKSUM_LIKELY(names == NULL && (nargs == 1 || (nargs == 2 && core_one_digit(args[1], &initial) && initial >= 0 &&
                                                      initial <= 0xffff)))) {
        if (CKSUM_UNLIKELY(!PyBytes_CheckExact(args[0]))) {
            return sum_buffer(module, args[0], (uint32_t)initial, sum);
        }
        const struct cksum_kernel *kernel = core_quick_kernel(module);
        if (CKSUM_UNLIKELY(kernel == NULL)) {
            return -1;
        }
        *sum = core_sum_bytes(kernel, (const unsigned char *)PyBytes_AS_STRING(args[0]),
                              (size_t)PyBytes_GET_SIZE(args[0]), (uint32_t)initial);
        return 0;
    }
    return sum_arguments(module, function, takes_kernel, args, nargs, names, sum);
}

PyObject *core_raw_cksum(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    uint16_t sum;
    return sum_call(module, "raw_cksum", true, args, nargs, names, &sum) < 0 ? NULL : PyLong_FromLong(sum);
}

PyObject *core_checksum(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    uint16_t sum;
    if (sum_call(module, "checksum", false, args, nargs, names, &sum) < 0) {
        return NULL;
    }
    return PyLong_FromLong(cksum_host_order16((uint16_t)~sum));
}

PyObject *core_verify(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    uint16_t sum;
    return sum_call(module, "verify", false, args, nargs, names, &sum) < 0 ? NULL : PyBool_FromLong(sum == 0xffff);
}
