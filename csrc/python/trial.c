/* trial.c: what is asked of a kernel before it is believed: right sums, and the machine left as it was. */
#include "python/state.h"

#include "bench/abi.h"
#include "bench/verify.h"
#include "core/registry.h"

PyObject *core_find_difference(PyObject *module, PyObject *args)
{
    PyObject *object, *keep, *result = NULL;
    struct verify_difference difference;
    unsigned int fill, initial;
    Py_ssize_t offset, longest, shortest = 0;
    if (!PyArg_ParseTuple(args, "OInnI|n:find_difference", &object, &fill, &offset, &longest, &initial, &shortest)) {
        return NULL;
    }
    if (fill >= VERIFY_FILLS || offset < 0 || offset > VERIFY_MAX_BYTES || longest < 0 || longest > VERIFY_MAX_BYTES ||
        shortest < 0 || shortest > longest) {
        PyErr_Format(PyExc_ValueError,
                     "fill must be in 0..%d, not %u; offset and longest in 0..%d, not %zd and %zd; shortest in "
                     "0..longest, not %zd",
                     VERIFY_FILLS - 1, fill, VERIFY_MAX_BYTES, offset, longest, shortest);
        return NULL;
    }
    const struct cksum_kernel *kernel = core_get_kernel(module, object, &keep);
    if (kernel == NULL) {
        return NULL;
    }
    if (core_check_sums(kernel, "kernel") == 0) {
        int found;
        const struct verify_plan plan = {.fill = (enum verify_fill)fill,
                                         .offset = (size_t)offset,
                                         .min_length = (size_t)shortest,
                                         .max_length = (size_t)longest,
                                         .initial = initial};
        Py_BEGIN_ALLOW_THREADS;
        found = verify_kernel(kernel, cksum_registry_find("reference"), &plan, &difference);
        Py_END_ALLOW_THREADS;
        if (found < 0) {
            PyErr_SetFromErrno(PyExc_OSError);
        } else if (found > 0) {
            result = Py_BuildValue("nnII", (Py_ssize_t)difference.length, (Py_ssize_t)difference.offset,
                                   (unsigned)difference.got, (unsigned)difference.expected);
        } else {
            result = Py_NewRef(Py_None);
        }
    }
    Py_XDECREF(keep);
    return result;
}

/* The names of these parts as a tuple. NULL with an exception set. */
static PyObject *part_names(uint32_t parts)
{
    static const char *const names[] = {
#define PART_NAME(id, text) [ABI_##id] = (text),
        ABI_PARTS(PART_NAME)
#undef PART_NAME
    };
    PyObject *tuple = PyTuple_New(__builtin_popcount(parts));
    Py_ssize_t n = 0;
    for (unsigned i = 0; tuple != NULL && i < ABI_PART_COUNT; i++) {
        if (parts >> i & 1) {
            PyObject *name = PyUnicode_FromString(names[i]);
            if (name == NULL) {
                Py_CLEAR(tuple);
            } else {
                PyTuple_SET_ITEM(tuple, n++, name);
            }
        }
    }
    return tuple;
}

PyObject *core_find_broken_state(PyObject *module, PyObject *args)
{
    PyObject *object, *buf, *keep, *result = NULL;
    Py_buffer view;
    if (!PyArg_ParseTuple(args, "OO:find_broken_state", &object, &buf) || core_get_buffer(buf, &view) < 0) {
        return NULL;
    }
    const struct cksum_kernel *kernel = core_get_kernel(module, object, &keep);
    if (kernel != NULL && core_check_runs(kernel, "kernel") == 0 && core_check_length(kernel, (size_t)view.len) == 0) {
        result = part_names(abi_broken_by(kernel->fn, view.buf, (size_t)view.len, 0));
    }
    PyBuffer_Release(&view);
    Py_XDECREF(keep);
    return result;
}
