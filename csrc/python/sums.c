/* sums.c: raw_cksum, checksum and verify: one way through the arguments, and what each makes of the sum. */
#include "python/fast.h"

/* What a call says beside the buffer; NULL: not given. */
struct options {
    PyObject *initial;
    PyObject *offset;
    PyObject *length;
    PyObject *kernel;
};

/* Where the value of this keyword belongs, or NULL with TypeError set. */
static PyObject **place_of(const struct core_state *state, const char *function, bool takes_kernel, PyObject *name,
                           struct options *options)
{
    if (name == state->name_offset) { /* interned, as the names in a program's text are */
        return &options->offset;
    }
    if (name == state->name_length) {
        return &options->length;
    }
    if (takes_kernel && name == state->name_kernel) {
        return &options->kernel;
    }
    if (PyUnicode_Compare(name, state->name_offset) == 0) {
        return &options->offset;
    }
    if (PyUnicode_Compare(name, state->name_length) == 0) {
        return &options->length;
    }
    if (takes_kernel && PyUnicode_Compare(name, state->name_kernel) == 0) {
        return &options->kernel;
    }
    PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument %R; it takes %s", function, name,
                 takes_kernel ? "offset, length and kernel" : "offset and length");
    return NULL;
}

/* Sorts the arguments behind buf. 0, or -1 with TypeError set. */
static int take_options(PyObject *module, const char *function, bool takes_kernel, PyObject *const *args,
                        Py_ssize_t nargs, PyObject *names, struct options *options)
{
    if (nargs < 1 || nargs > 2) {
        PyErr_Format(PyExc_TypeError, "%s() takes 1 or 2 positional arguments, buf and initial; %zd were given",
                     function, nargs);
        return -1;
    }
    options->initial = nargs == 2 ? args[1] : NULL;
    if (names != NULL) {
        const struct core_state *state = PyModule_GetState(module);
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); i++) {
            PyObject **place = place_of(state, function, takes_kernel, PyTuple_GET_ITEM(names, i), options);
            if (place == NULL) {
                return -1;
            }
            *place = args[nargs + i];
        }
    }
    return 0;
}

/* The sum that the options ask for of buf[0..size). 0, or -1 with an exception set. */
static int sum_span(PyObject *module, const unsigned char *buf, size_t size, const struct options *options,
                    uint16_t *sum)
{
    PyObject *keep = NULL;
    size_t initial = 0, offset, length;
    if ((options->initial != NULL && !core_quick_size(options->initial, 0xffff, &initial) &&
         core_get_size(options->initial, "initial", 0xffff, "a raw 16-bit sum", &initial) < 0) ||
        core_get_span(options->offset, options->length, size, &offset, &length) < 0) {
        return -1;
    }
    const struct cksum_kernel *kernel =
        options->kernel == NULL ? core_quick_kernel(module) : core_choose_kernel(module, options->kernel, &keep);
    int result = -1;
    if (kernel != NULL && (CKSUM_LIKELY(length >= kernel->min_len) || core_check_length(kernel, length) == 0)) {
        result = 0;
        *sum = core_sum_bytes(kernel, buf + offset, length, (uint32_t)initial);
    }
    Py_XDECREF(keep);
    return result;
}

/* The sum of a whole buffer, without options. 0, or -1 with an exception set. */
static __attribute__((noinline)) int sum_buffer(PyObject *module, PyObject *object, uint16_t *sum)
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
                              (size_t)PyByteArray_GET_SIZE(object), 0);
        return 0;
    }
#endif
    if (core_take_bytes(object, &bytes) < 0) {
        return -1;
    }
    *sum = core_sum_bytes(kernel, bytes.buf, bytes.size, 0);
    core_release_bytes(&bytes);
    return 0;
}

/* All but the shortest paths below, which it is kept apart from. */
static __attribute__((noinline)) int sum_arguments(PyObject *module, const char *function, bool takes_kernel,
                                                   PyObject *const *args, Py_ssize_t nargs, PyObject *names,
                                                   uint16_t *sum)
{
    struct options options = {0};
    struct core_bytes bytes;
    if (take_options(module, function, takes_kernel, args, nargs, names, &options) < 0) {
        return -1;
    }
    if (core_take_bytes(args[0], &bytes) < 0) {
        return -1;
    }
    const int result = sum_span(module, bytes.buf, bytes.size, &options, sum);
    core_release_bytes(&bytes);
    return result;
}

/* The raw sum that (buf, initial=0, /, *, offset, length[, kernel]) ask for. 0, or -1 with an exception set. */
CKSUM_INLINE int sum_call(PyObject *module, const char *function, bool takes_kernel, PyObject *const *args,
                          Py_ssize_t nargs, PyObject *names, uint16_t *sum)
{
    if (CKSUM_LIKELY(nargs == 1 && names == NULL && PyBytes_CheckExact(args[0]))) {
        const struct cksum_kernel *kernel = core_quick_kernel(module);
        if (CKSUM_UNLIKELY(kernel == NULL)) {
            return -1;
        }
        *sum = core_sum_bytes(kernel, (const unsigned char *)PyBytes_AS_STRING(args[0]),
                              (size_t)PyBytes_GET_SIZE(args[0]), 0);
        return 0;
    }
    if (nargs == 1 && names == NULL) {
        return sum_buffer(module, args[0], sum);
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
