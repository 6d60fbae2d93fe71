/* arguments.c: buffers, integers and spans as every function takes them, and the module's constants. */
#include "python/fast.h"

int core_get_buffer(PyObject *object, Py_buffer *view)
{
    return PyObject_GetBuffer(object, view, PyBUF_SIMPLE) == 0 ? 0 : core_refuse_buffer(object, view);
}

int core_refuse_buffer(PyObject *object, Py_buffer *view)
{
    /* NumPy calls a strided array a ValueError, memoryview a BufferError: here it is a BufferError, whoever says it. */
    PyObject *type, *error, *traceback;
    PyErr_Fetch(&type, &error, &traceback);
    if (PyErr_GivenExceptionMatches(type, PyExc_TypeError) || PyObject_GetBuffer(object, view, PyBUF_FULL_RO) != 0) {
        PyErr_Restore(type, error, traceback); /* replaces what the second try set */
        return -1;
    }
    const int contiguous = PyBuffer_IsContiguous(view, 'C');
    PyBuffer_Release(view);
    if (contiguous) {
        PyErr_Restore(type, error, traceback);
        return -1;
    }
    Py_XDECREF(type);
    Py_XDECREF(error);
    Py_XDECREF(traceback);
    PyErr_Format(PyExc_BufferError,
                 "a C-contiguous buffer is required, and this %.200s is not: copy it first, for example with bytes()",
                 Py_TYPE(object)->tp_name);
    return -1;
}

/* Sets the ValueError for an integer outside 0..limit. Numbers too long to print are named by their size. */
static void set_out_of_range(PyObject *integer, const char *what, size_t limit, const char *limit_note)
{
    PyObject *bits = PyObject_CallMethod(integer, "bit_length", NULL);
    if (bits == NULL) {
        return;
    }
    const long n_bits = PyLong_AsLong(bits);
    Py_DECREF(bits);
    if (n_bits < 0 && PyErr_Occurred()) {
        return;
    }
    if (n_bits > 256) {
        PyErr_Format(PyExc_ValueError, "%s must be in 0..%zu (%s), not a number of %ld bits", what, limit, limit_note,
                     n_bits);
    } else {
        PyErr_Format(PyExc_ValueError, "%s must be in 0..%zu (%s), not %S", what, limit, limit_note, integer);
    }
}

int core_get_size(PyObject *object, const char *what, size_t limit, const char *limit_note, size_t *value)
{
    int result = -1;
    PyObject *integer = PyNumber_Index(object);
    if (integer == NULL) {
        return -1;
    }
    *value = PyLong_AsSize_t(integer);
    if (*value == (size_t)-1 && PyErr_Occurred()) {
        if (!PyErr_ExceptionMatches(PyExc_OverflowError)) {
            goto done;
        }
        PyErr_Clear();
        set_out_of_range(integer, what, limit, limit_note);
    } else if (*value > limit) {
        set_out_of_range(integer, what, limit, limit_note);
    } else {
        result = 0;
    }
done:
    Py_DECREF(integer);
    return result;
}

int core_get_span(PyObject *offset_object, PyObject *length_object, size_t size, size_t *offset, size_t *length)
{
    char note[96];
    *offset = 0;
    if (offset_object != NULL && !core_quick_size(offset_object, size, offset)) {
        PyOS_snprintf(note, sizeof note, "the buffer has %zu bytes", size);
        if (core_get_size(offset_object, "offset", size, note, offset) < 0) {
            return -1;
        }
    }
    *length = size - *offset;
    if (length_object != NULL && length_object != Py_None && !core_quick_size(length_object, size - *offset, length)) {
        PyOS_snprintf(note, sizeof note, "the buffer has %zu bytes, offset is %zu", size, *offset);
        return core_get_size(length_object, "length", size - *offset, note, length);
    }
    return 0;
}

int core_take_arguments(const struct core_signature *signature, PyObject *const *args, Py_ssize_t nargs,
                        PyObject *names, PyObject *values[CORE_MAX_ARGUMENTS])
{
    if (nargs > (Py_ssize_t)signature->positional) {
        PyErr_Format(PyExc_TypeError, "%s() takes up to %u positional arguments; %zd were given", signature->function,
                     signature->positional, nargs);
        return -1;
    }
    for (unsigned i = 0; i < signature->n; i++) {
        values[i] = (Py_ssize_t)i < nargs ? args[i] : NULL;
    }
    for (Py_ssize_t i = 0; names != NULL && i < PyTuple_GET_SIZE(names); i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i);
        unsigned at = 0;
        while (at < signature->n && PyUnicode_CompareWithASCIIString(name, signature->names[at]) != 0) {
            at++;
        }
        if (at == signature->n) {
            PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument %R", signature->function, name);
            return -1;
        }
        if (values[at] != NULL) {
            PyErr_Format(PyExc_TypeError, "%s() got %R twice, by position and by name", signature->function, name);
            return -1;
        }
        values[at] = args[nargs + i];
    }
    for (unsigned i = 0; i < signature->required; i++) {
        if (values[i] == NULL) {
            PyErr_Format(PyExc_TypeError, "%s() is missing the argument '%s'", signature->function,
                         signature->names[i]);
            return -1;
        }
    }
    return 0;
}

int core_add_constant(PyObject *module, const char *name, PyObject *value)
{
    const int result = value == NULL ? -1 : PyModule_AddObjectRef(module, name, value);
    Py_XDECREF(value);
    return result;
}

int core_add_names(PyObject *module, const char *name, const char *const *names, size_t n)
{
    PyObject *tuple = PyTuple_New((Py_ssize_t)n);
    for (size_t i = 0; tuple != NULL && i < n; i++) {
        PyObject *text = PyUnicode_InternFromString(names[i]);
        if (text == NULL) {
            Py_CLEAR(tuple);
        } else {
            PyTuple_SET_ITEM(tuple, (Py_ssize_t)i, text);
        }
    }
    return core_add_constant(module, name, tuple);
}

int core_get_column(PyObject *object, const char *name, Py_ssize_t size, bool writable, Py_buffer *view)
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
    if ((uintptr_t)view->buf % (size_t)size != 0) {
        PyErr_Format(PyExc_ValueError, "%s must be aligned to its items of %zd bytes: copy it first", name, size);
        return -1;
    }
    return 0;
}

void core_release_views(Py_buffer *views, int n)
{
    for (int i = 0; i < n; i++) {
        if (views[i].obj != NULL) {
            PyBuffer_Release(&views[i]);
        }
    }
}

int core_enter(atomic_flag *busy, const char *what)
{
    if (atomic_flag_test_and_set(busy)) {
        PyErr_Format(PyExc_RuntimeError, "this %s is in use by another thread; give each thread its own", what);
        return -1;
    }
    return 0;
}

void core_leave(atomic_flag *busy)
{
    atomic_flag_clear(busy);
}
