/* counters.c: the event counters as Python calls them: one count of a kernel, and the decoding of a record. */
#include "python/state.h"

#include <string.h>

#include "bench/counters.h"

static const char *const event_names[] = {
#define EVENT_NAME(id, name) [COUNTERS_##id] = #name,
    COUNTERS_EVENTS(EVENT_NAME)
#undef EVENT_NAME
};

static const char *const verdict_texts[] = {
#define VERDICT_TEXT(id, text) [COUNTERS_##id] = text,
    COUNTERS_VERDICTS(VERDICT_TEXT)
#undef VERDICT_TEXT
};

/* Adds name: value to the dict. 0, or -1 with an exception set. */
static int add_number(PyObject *dict, size_t event, unsigned long long value)
{
    PyObject *number = PyLong_FromUnsignedLongLong(value);
    const int result = number == NULL ? -1 : PyDict_SetItemString(dict, event_names[event], number);
    Py_XDECREF(number);
    return result;
}

/* A dict of the counts, empty unless they were counted. NULL with an exception set. */
static PyObject *counts_of(enum counters_verdict verdict, const struct counters_reading *reading)
{
    PyObject *counts = PyDict_New();
    for (size_t i = 0; counts != NULL && verdict == COUNTERS_OK && i < COUNTERS_EVENT_COUNT; i++) {
        if (reading->counted[i] && add_number(counts, i, reading->counts[i]) < 0) {
            Py_CLEAR(counts);
        }
    }
    return counts;
}

/* A dict of the error numbers for which events were left out. NULL with an exception set. */
static PyObject *errors_of(const int errors[COUNTERS_EVENT_COUNT])
{
    PyObject *left_out = PyDict_New();
    for (size_t i = 0; left_out != NULL && i < COUNTERS_EVENT_COUNT; i++) {
        if (errors[i] != 0 && add_number(left_out, i, (unsigned)errors[i]) < 0) {
            Py_CLEAR(left_out);
        }
    }
    return left_out;
}

PyObject *core_count_events(PyObject *module, PyObject *args)
{
    PyObject *kernel_object, *buf_object, *offset_object, *length_object, *calls_object, *keep = NULL, *result = NULL;
    size_t offset, length, calls;
    Py_buffer view;
    if (!PyArg_ParseTuple(args, "OOOOO:count_events", &kernel_object, &buf_object, &offset_object, &length_object,
                          &calls_object) ||
        core_get_buffer(buf_object, &view) < 0) {
        return NULL;
    }
    const struct cksum_kernel *kernel = core_get_kernel(module, kernel_object, &keep);
    if (kernel != NULL && core_check_runs(kernel, "kernel") == 0 &&
        core_get_span(offset_object, length_object, (size_t)view.len, &offset, &length) == 0 &&
        core_check_length(kernel, length) == 0 &&
        core_get_size(calls_object, "calls", SIZE_MAX / 2, "calls of one count", &calls) == 0) {
        const struct cksum_span span = {.buf = (const unsigned char *)view.buf + offset, .len = length};
        struct counters_reading reading = {0};
        enum counters_verdict verdict = COUNTERS_MALFORMED;
        int errors[COUNTERS_EVENT_COUNT], error;
        Py_BEGIN_ALLOW_THREADS;
        error = counters_count(kernel, &span, calls, &reading, errors, &verdict);
        Py_END_ALLOW_THREADS;
        if (error != 0) {
            errno = error;
            PyErr_SetFromErrno(PyExc_OSError);
        } else {
            result = Py_BuildValue("sNN", verdict_texts[verdict], counts_of(verdict, &reading), errors_of(errors));
        }
    }
    PyBuffer_Release(&view);
    Py_XDECREF(keep);
    return result;
}

/* The ids of the events, from a copy that __index__ can't change. 0, or -1 with an exception set. */
static int get_ids(PyObject *sequence, uint64_t ids[COUNTERS_EVENT_COUNT])
{
    int result = -1;
    if (!PySequence_Check(sequence)) {
        PyErr_Format(PyExc_TypeError, "ids must be a sequence of integers, not '%.100s'", Py_TYPE(sequence)->tp_name);
        return -1;
    }
    PyObject *tuple = PySequence_Tuple(sequence);
    if (tuple == NULL) {
        return -1;
    }
    const size_t n = (size_t)PyTuple_GET_SIZE(tuple);
    if (n > COUNTERS_EVENT_COUNT) {
        PyErr_Format(PyExc_ValueError, "ids may have %d entries, one an event, not %zu", COUNTERS_EVENT_COUNT, n);
        goto done;
    }
    for (size_t i = 0; i < n; i++) {
        size_t id;
        if (core_get_size(PyTuple_GET_ITEM(tuple, (Py_ssize_t)i), "id", SIZE_MAX, "64 bits", &id) < 0) {
            goto done;
        }
        ids[i] = id;
    }
    result = 0;
done:
    Py_DECREF(tuple);
    return result;
}

PyObject *core_decode_counters(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *record_object, *ids_object, *result = NULL;
    uint64_t ids[COUNTERS_EVENT_COUNT] = {0}, record[64] = {0};
    Py_buffer view;
    if (!PyArg_ParseTuple(args, "OO:decode_counters", &record_object, &ids_object) ||
        core_get_buffer(record_object, &view) < 0) {
        return NULL;
    }
    if (view.len % (Py_ssize_t)sizeof record[0] != 0 || view.len > (Py_ssize_t)sizeof record) {
        PyErr_Format(PyExc_ValueError, "record must be at most %zu words of 8 bytes, not %zd bytes",
                     sizeof record / sizeof record[0], view.len);
    } else if (get_ids(ids_object, ids) == 0) {
        struct counters_reading reading = {0};
        memcpy(record, view.buf, (size_t)view.len); /* the caller's bytes may lie at any address */
        const enum counters_verdict verdict =
            counters_decode(record, (size_t)view.len / sizeof record[0], ids, &reading);
        result = Py_BuildValue("sN", verdict_texts[verdict], counts_of(verdict, &reading));
    }
    PyBuffer_Release(&view);
    return result;
}
