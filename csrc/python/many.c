/* many.c: raw_cksum_many. Arrays come and go through the buffer protocol; NumPy is imported to make one. */
#include "python/state.h"

#include <string.h>

#include "core/batch.h"

/* The kind of a struct-module format of one integer: 'i' signed, 'u' unsigned, 0 for anything else. */
static char integer_kind(const char *format)
{
    if (format == NULL) {
        return 'u'; /* the buffer protocol's word for unsigned bytes */
    }
    if (*format != '\0' && strchr("@=<>!", *format) != NULL) {
        format++;
    }
    if (*format == '\0' || format[1] != '\0') {
        return 0;
    }
    return strchr("bhilqn", *format) != NULL ? 'i' : strchr("BHILQN", *format) != NULL ? 'u' : 0;
}

static bool is_swapped(const char *format)
{
    return format != NULL && (CKSUM_LITTLE_ENDIAN ? *format == '>' || *format == '!' : *format == '<');
}

/* One array argument: its exporter, and how the numbers lie. view.obj is NULL when nothing is held. */
struct array {
    Py_buffer view;
    PyObject *made; /* the array made of a sequence, or NULL */
    size_t n;
    struct batch_integers integers;
};

static void release_array(struct array *array)
{
    if (array->view.obj != NULL) {
        PyBuffer_Release(&array->view);
    }
    Py_CLEAR(array->made);
}

/* Takes a one-dimensional array of integers, or a sequence of them. 0, or -1 with TypeError or ValueError set. */
static int take_array(PyObject *object, const char *name, struct array *array)
{
    PyObject *exporter = object;
    if (!PyObject_CheckBuffer(object)) {
        PyObject *numpy = PyImport_ImportModule("numpy");
        array->made = numpy == NULL ? NULL : PyObject_CallMethod(numpy, "asarray", "(O)", object);
        Py_XDECREF(numpy);
        if (array->made == NULL) {
            return -1;
        }
        exporter = array->made;
    }
    if (PyObject_GetBuffer(exporter, &array->view, PyBUF_STRIDED_RO | PyBUF_FORMAT) < 0) {
        array->view.obj = NULL;
        return -1;
    }
    const Py_buffer *view = &array->view;
    const bool is_empty_list = array->made != NULL && view->len == 0;
    const char kind = is_empty_list ? 'i' : integer_kind(view->format);
    if (view->ndim != 1) {
        PyErr_Format(PyExc_ValueError, "%s must be one-dimensional, not of %d dimensions", name, view->ndim);
        return -1;
    }
    if (kind == 0 || (view->itemsize != 1 && view->itemsize != 2 && view->itemsize != 4 && view->itemsize != 8)) {
        PyErr_Format(PyExc_TypeError, "%s must hold integers of 8 to 64 bits, not items of format '%s'", name,
                     view->format == NULL ? "B" : view->format);
        return -1;
    }
    array->n = (size_t)view->shape[0];
    array->integers = (struct batch_integers){
        .first = view->buf,
        .stride = view->strides[0],
        .size = (unsigned)view->itemsize,
        .is_signed = kind == 'i',
        .swapped = is_swapped(view->format),
    };
    return 0;
}

/* initial: None, one raw sum, or an array of n; *constant holds the one. 0, or -1 with an exception set. */
static int take_initial(PyObject *object, size_t n, uint64_t *constant, struct array *array)
{
    size_t value = 0;
    if (object != NULL && object != Py_None) {
        if (!PyLong_Check(object) && (PyObject_CheckBuffer(object) || PySequence_Check(object))) {
            if (PyIndex_Check(object) && PyObject_Size(object) < 0) {
                PyErr_Clear(); /* a scalar of NumPy: has a buffer and no length */
            } else {
                if (take_array(object, "initial", array) < 0) {
                    return -1;
                }
                if (array->n != n) {
                    PyErr_Format(PyExc_ValueError, "initial must have %zu elements, as many as offsets, not %zu", n,
                                 array->n);
                    return -1;
                }
                return 0;
            }
        }
        if (core_get_size(object, "initial", BATCH_MAX_INITIAL, "a raw 16-bit sum", &value) < 0) {
            return -1;
        }
    }
    *constant = value;
    array->integers = (struct batch_integers){.first = (const unsigned char *)constant, .size = sizeof *constant};
    return 0;
}

/* A writable array of n uint16 in this host's byte order. 0, or -1 with an exception set. */
static int take_out(PyObject *object, size_t n, Py_buffer *view)
{
    if (PyObject_GetBuffer(object, view, PyBUF_STRIDED | PyBUF_FORMAT) < 0) {
        view->obj = NULL;
        return -1;
    }
    if (view->itemsize != 2 || integer_kind(view->format) != 'u' || is_swapped(view->format)) {
        PyErr_Format(PyExc_TypeError, "out must hold uint16 in native byte order, not items of format '%s'",
                     view->format == NULL ? "B" : view->format);
        return -1;
    }
    if (view->ndim != 1 || (size_t)view->shape[0] != n) {
        PyErr_Format(PyExc_ValueError, "out must be one-dimensional with %zu elements, one for each span", n);
        return -1;
    }
    return 0;
}

/* A new numpy.ndarray of n uint16. NULL with an exception set. */
static PyObject *new_array(size_t n)
{
    PyObject *numpy = PyImport_ImportModule("numpy");
    PyObject *array = numpy == NULL ? NULL : PyObject_CallMethod(numpy, "empty", "ns", (Py_ssize_t)n, "uint16");
    Py_XDECREF(numpy);
    return array;
}

/* Sets the ValueError for the span at error->index. */
static void set_bad_span(const struct cksum_kernel *kernel, const struct batch_error *error, size_t size,
                         bool signed_offsets, bool signed_lengths, bool signed_initial)
{
    char offset[24], length[24], initial[24];
    const struct {
        char *text;
        uint64_t number;
        bool is_signed;
    } numbers[] = {{offset, error->offset, signed_offsets},
                   {length, error->length, signed_lengths},
                   {initial, error->initial, signed_initial}};
    for (size_t i = 0; i < 3; i++) {
        if (numbers[i].is_signed) {
            PyOS_snprintf(numbers[i].text, sizeof offset, "%lld", (long long)numbers[i].number);
        } else {
            PyOS_snprintf(numbers[i].text, sizeof offset, "%llu", (unsigned long long)numbers[i].number);
        }
    }
    if (error->offset <= size && error->length <= size - error->offset && error->initial <= BATCH_MAX_INITIAL) {
        core_check_length(kernel, error->length);
    } else if (error->offset <= size && error->length <= size - error->offset) {
        PyErr_Format(PyExc_ValueError, "initial[%zu] must be in 0..65535 (a raw 16-bit sum), not %s", error->index,
                     initial);
    } else {
        PyErr_Format(PyExc_ValueError,
                     "span %zu does not lie in the buffer: offset %s, length %s, and the buffer has %zu bytes",
                     error->index, offset, length, size);
    }
}

static void copy_out(const uint16_t *sums, size_t n, const Py_buffer *view)
{
    unsigned char *to = view->buf;
    for (size_t i = 0; i < n; i++, to += view->strides[0]) {
        memcpy(to, &sums[i], sizeof sums[i]);
    }
}

/* The arguments of a call, in the order of the signature; NULL: not given. */
enum { BUF, OFFSETS, LENGTHS, INITIAL, OUT, KERNEL };

PyObject *core_raw_cksum_many(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    PyObject *result = NULL, *keep = NULL, *out = NULL;
    static const struct core_signature signature = {
        "raw_cksum_many", {"buf", "offsets", "lengths", "initial", "out", "kernel"}, 6, 4, 3};
    PyObject *values[CORE_MAX_ARGUMENTS];
    Py_buffer buffer = {0}, target = {0};
    struct array offsets = {0}, lengths = {0}, initial = {0};
    struct batch_error error = {0};
    uint64_t constant = 0;
    uint16_t *sums = NULL;
    const struct cksum_kernel *kernel;

    if (core_take_arguments(&signature, args, nargs, names, values) < 0) {
        return NULL;
    }
    if (core_get_buffer(values[BUF], &buffer) < 0) {
        buffer.obj = NULL;
        goto done;
    }
    if (take_array(values[OFFSETS], "offsets", &offsets) < 0 || take_array(values[LENGTHS], "lengths", &lengths) < 0) {
        goto done;
    }
    const size_t n = offsets.n, size = (size_t)buffer.len;
    if (lengths.n != n) {
        PyErr_Format(PyExc_ValueError, "offsets and lengths must be equally long, not %zu and %zu", n, lengths.n);
        goto done;
    }
    if (take_initial(values[INITIAL], n, &constant, &initial) < 0) {
        goto done;
    }
    kernel = core_choose_kernel(module, values[KERNEL], &keep);
    if (kernel == NULL) {
        goto done;
    }
    out = values[OUT] == NULL || values[OUT] == Py_None ? new_array(n) : Py_NewRef(values[OUT]);
    if (out == NULL || take_out(out, n, &target) < 0) {
        goto done;
    }
    /* A caller's array is filled last: it stays as it was if a span is bad, and may share memory with the rest. */
    const bool direct = out != values[OUT];
    if (!direct) {
        sums = PyMem_New(uint16_t, n == 0 ? 1 : n);
        if (sums == NULL) {
            PyErr_NoMemory();
            goto done;
        }
    }
    size_t summed;
    uint16_t *const to = direct ? target.buf : sums;
    Py_BEGIN_ALLOW_THREADS;
    summed = batch_sums(kernel->fn, kernel->min_len, buffer.buf, size, &offsets.integers, &lengths.integers,
                        &initial.integers, n, to, &error);
    if (summed == n && !direct) {
        copy_out(sums, n, &target);
    }
    Py_END_ALLOW_THREADS;
    if (summed != n) {
        set_bad_span(kernel, &error, size, offsets.integers.is_signed, lengths.integers.is_signed,
                     initial.integers.is_signed);
        goto done;
    }
    result = Py_NewRef(out);
done:
    PyMem_Free(sums);
    Py_XDECREF(keep);
    if (target.obj != NULL) {
        PyBuffer_Release(&target);
    }
    Py_XDECREF(out);
    release_array(&initial);
    release_array(&lengths);
    release_array(&offsets);
    if (buffer.obj != NULL) {
        PyBuffer_Release(&buffer);
    }
    return result;
}
