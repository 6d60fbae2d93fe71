/* sums.c: the function most callers come for, and the arguments that it shares with checksum and verify. */
#include "python/state.h"

#include <stdio.h>

/* What a call says beside the buffer. */
struct options {
    PyObject *initial;
    PyObject *offset;
    PyObject *length;
    PyObject *kernel;
};

/* Sorts the keyword arguments into options. 0, or -1 with TypeError set. */
static int take_keywords(PyObject *module, const char *function, bool takes_kernel, PyObject *const *values,
                         PyObject *names, struct options *options)
{
    const size_t n_known = takes_kernel ? 3 : 2;
    const struct core_state *state = core_state(module);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i);
        const struct {
            PyObject *name;
            PyObject **value;
        } known[] = {
            {state->name_offset, &options->offset},
            {state->name_length, &options->length},
            {state->name_kernel, &options->kernel},
        };
        size_t at = 0;
        while (at < n_known && name != known[at].name && PyUnicode_Compare(name, known[at].name) != 0) {
            at++;
        }
        if (at == n_known) {
            PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument %R; it takes %s", function, name,
                         takes_kernel ? "offset, length and kernel" : "offset and length");
            return -1;
        }
        *known[at].value = values[i];
    }
    return 0;
}

/* The span that offset and length select of `size` bytes. 0, or -1 with TypeError or ValueError set. */
static int select_span(const struct options *options, size_t size, size_t *offset, size_t *length)
{
    char note[96];
    *offset = 0;
    if (options->offset != NULL) {
        snprintf(note, sizeof note, "the buffer has %zu bytes", size);
        if (core_get_size(options->offset, "offset", size, note, offset) < 0) {
            return -1;
        }
    }
    *length = size - *offset;
    if (options->length != NULL && options->length != Py_None) {
        snprintf(note, sizeof note, "the buffer has %zu bytes, offset is %zu", size, *offset);
        if (core_get_size(options->length, "length", size - *offset, note, length) < 0) {
            return -1;
        }
    }
    return 0;
}

static int sum_with_options(PyObject *module, PyObject *object, const struct options *options, uint16_t *sum)
{
    int result = -1;
    PyObject *keep = NULL;
    Py_buffer view;
    size_t initial = 0, offset, length;
    const struct cksum_kernel *kernel;

    if (core_get_buffer(object, &view) < 0) {
        return -1;
    }
    if (options->initial != NULL &&
        core_get_size(options->initial, "initial", 0xffff, "a raw 16-bit sum", &initial) < 0) {
        goto done;
    }
    if (select_span(options, (size_t)view.len, &offset, &length) < 0) {
        goto done;
    }
    if (options->kernel == NULL || options->kernel == Py_None) {
        kernel = core_active_kernel(module);
    } else {
        kernel = core_get_kernel(module, options->kernel, &keep);
        if (kernel != NULL && core_check_sums(kernel, "kernel") < 0) {
            kernel = NULL;
        }
    }
    if (kernel != NULL) {
        *sum = core_sum_bytes(kernel, (const unsigned char *)view.buf + offset, length, (uint32_t)initial);
        result = 0;
    }
done:
    Py_XDECREF(keep);
    PyBuffer_Release(&view);
    return result;
}

/* The sum of all bytes of a buffer by the active kernel. 0, or -1 with an exception set. */
static int sum_buffer(PyObject *module, PyObject *object, uint16_t *sum)
{
    Py_buffer view;
    const struct cksum_kernel *kernel = NULL;
    if (core_get_buffer(object, &view) == 0) {
        kernel = core_active_kernel(module);
        if (kernel != NULL) {
            *sum = core_sum_bytes(kernel, view.buf, (size_t)view.len, 0);
        }
        PyBuffer_Release(&view);
    }
    return kernel == NULL ? -1 : 0;
}

int core_sum_arguments(PyObject *module, const char *function, bool takes_kernel, PyObject *const *args,
                       Py_ssize_t nargs, PyObject *names, uint16_t *sum)
{
    struct options options = {0};
    if (CKSUM_LIKELY(nargs == 1 && names == NULL)) { /* a whole buffer, the next most frequent call */
        return sum_buffer(module, args[0], sum);
    }
    if (nargs < 1 || nargs > 2) {
        PyErr_Format(PyExc_TypeError, "%s() takes 1 or 2 positional arguments, buf and initial; %zd were given",
                     function, nargs);
        return -1;
    }
    if (nargs == 2) {
        options.initial = args[1];
    }
    if (names != NULL && take_keywords(module, function, takes_kernel, args + nargs, names, &options) < 0) {
        return -1;
    }
    return sum_with_options(module, args[0], &options, sum);
}

PyObject *core_raw_cksum(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    uint16_t sum;
    if (core_sum_call(module, "raw_cksum", true, args, nargs, names, &sum) < 0) {
        return NULL;
    }
    return PyLong_FromLong(sum);
}
