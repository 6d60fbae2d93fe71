/* captures.c: the reader of captures as fastcksum.capture uses it. */
#include "python/state.h"

#include "packet/pcap.h"

#define READER_CAPSULE "fastcksum.capture_reader"

int core_add_captures(PyObject *module)
{
    return PyModule_AddStringConstant(module, "NO_CAPTURE", pcap_damage_text(PCAP_NO_CAPTURE));
}

static void free_reader(PyObject *capsule)
{
    struct pcap_reader *reader = PyCapsule_GetPointer(capsule, READER_CAPSULE);
    pcap_free(reader);
    PyMem_Free(reader);
}

/* A new reader, at the start of a file. */
PyObject *core_capture_reader(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    struct pcap_reader *reader = PyMem_Calloc(1, sizeof *reader);
    if (reader == NULL) {
        return PyErr_NoMemory();
    }
    PyObject *capsule = PyCapsule_New(reader, READER_CAPSULE, free_reader);
    if (capsule == NULL) {
        PyMem_Free(reader);
    }
    return capsule;
}

/*
 * (reader, window, start, stop, final, offsets, lengths, original lengths, times, links), the last five to be filled
 *     -> (packets found, bytes taken, bytes needed, damage in words or None, offset of the damage)
 * The records lie in window[start:stop]; the offsets count from the start of window.
 */
PyObject *core_scan_capture(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *result = NULL, *capsule, *window, *objects[5];
    static const char *const names[] = {"offsets", "lengths", "original_lengths", "times", "linktypes"};
    static const Py_ssize_t sizes[] = {8, 4, 4, 8, 2};
    Py_buffer view = {0}, views[5] = {{0}};
    Py_ssize_t start, stop;
    int final;
    size_t taken, needed;
    struct pcap_reader *reader;

    if (!PyArg_ParseTuple(args, "OOnnpOOOOO", &capsule, &window, &start, &stop, &final, &objects[0], &objects[1],
                          &objects[2], &objects[3], &objects[4])) {
        return NULL;
    }
    reader = PyCapsule_GetPointer(capsule, READER_CAPSULE);
    if (reader == NULL) {
        return NULL;
    }
    if (core_get_buffer(window, &view) < 0) {
        view.obj = NULL;
        goto done;
    }
    if (start < 0 || stop < start || stop > view.len) {
        PyErr_Format(PyExc_ValueError, "start and stop must lie in order in 0..%zd, not %zd and %zd", view.len, start,
                     stop);
        goto done;
    }
    for (int i = 0; i < 5; i++) {
        if (core_get_column(objects[i], names[i], sizes[i], true, &views[i]) < 0) {
            goto done;
        }
        if (views[i].shape[0] != views[0].shape[0]) {
            PyErr_Format(PyExc_ValueError, "%s must have as many elements as offsets", names[i]);
            goto done;
        }
    }
    struct pcap_records records = {
        .offsets = views[0].buf,
        .lengths = views[1].buf,
        .original_lengths = views[2].buf,
        .times = views[3].buf,
        .links = views[4].buf,
        .room = (size_t)views[0].shape[0],
    };
    Py_BEGIN_ALLOW_THREADS;
    taken =
        pcap_scan(reader, (const unsigned char *)view.buf + start, (size_t)(stop - start), final, &records, &needed);
    for (size_t i = 0; i < records.n; i++) {
        records.offsets[i] += start;
    }
    Py_END_ALLOW_THREADS;
    result = Py_BuildValue("nnnzK", (Py_ssize_t)records.n, (Py_ssize_t)taken, (Py_ssize_t)needed,
                           reader->damage == PCAP_INTACT ? NULL : pcap_damage_text(reader->damage),
                           (unsigned long long)reader->damage_at);
done:
    for (int i = 0; i < 5; i++) {
        if (views[i].obj != NULL) {
            PyBuffer_Release(&views[i]);
        }
    }
    if (view.obj != NULL) {
        PyBuffer_Release(&view);
    }
    return result;
}
