/* columns.c: the verdicts on a batch of packets, written into the arrays of Report.columns(). */
#include "python/state.h"

#include <stdlib.h>

#include "packet/columns.h"

enum {
#define COLUMN_ID(name, type, items) COLUMN_##name,
    PACKET_COLUMNS(COLUMN_ID)
#undef COLUMN_ID
        COLUMN_COUNT
};

/* The arguments that say what was judged; the columns follow behind them. */
enum { DATA, OFFSETS, LENGTHS, ORIGINALS, LINKS, TIMES, FRAMES, PER_PACKET, CODES, WANTED, ARGUMENTS };

static const struct {
    const char *name;
    Py_ssize_t size;
} inputs[ARGUMENTS] = {
    [DATA] = {"data", 1},
    [OFFSETS] = {"offsets", sizeof(int64_t)},
    [LENGTHS] = {"lengths", sizeof(uint32_t)},
    [ORIGINALS] = {"original_lengths", sizeof(uint32_t)},
    [LINKS] = {"linktypes", sizeof(uint16_t)},
    [TIMES] = {"times", sizeof(int64_t)},
    [FRAMES] = {"frames", sizeof(int64_t)},
    [PER_PACKET] = {"per_packet", 1},
    [CODES] = {"codes", 1},
    [WANTED] = {"wanted", 1},
};

static const struct {
    const char *name;
    Py_ssize_t size;  /* of an item */
    Py_ssize_t items; /* a row */
} outputs[COLUMN_COUNT] = {
#define COLUMN_SHAPE(name, type, items) [COLUMN_##name] = {#name, sizeof(type), items},
    PACKET_COLUMNS(COLUMN_SHAPE)
#undef COLUMN_SHAPE
};

int core_add_columns(PyObject *module)
{
    PyObject *tuple = PyTuple_New(COLUMN_COUNT);
    for (Py_ssize_t i = 0; tuple != NULL && i < COLUMN_COUNT; i++) {
        PyObject *name = PyUnicode_InternFromString(outputs[i].name);
        if (name == NULL) {
            Py_CLEAR(tuple);
        } else {
            PyTuple_SET_ITEM(tuple, i, name);
        }
    }
    const int result = tuple == NULL ? -1 : PyModule_AddObjectRef(module, "COLUMNS", tuple);
    Py_XDECREF(tuple);
    return result;
}

/* Takes the buffers of the inputs and compares their lengths. 0, or -1 with an exception set. */
static int take_inputs(PyObject *const *objects, Py_buffer *views)
{
    if (core_get_buffer(objects[DATA], &views[DATA]) < 0) {
        views[DATA].obj = NULL;
        return -1;
    }
    for (int i = OFFSETS; i < ARGUMENTS; i++) {
        if (core_get_column(objects[i], inputs[i].name, inputs[i].size, false, &views[i]) < 0) {
            return -1;
        }
        if (i <= PER_PACKET && views[i].shape[0] != views[OFFSETS].shape[0]) {
            PyErr_Format(PyExc_ValueError, "%s must have %zd elements, as many as offsets, not %zd", inputs[i].name,
                         views[OFFSETS].shape[0], views[i].shape[0]);
            return -1;
        }
    }
    if (views[WANTED].shape[0] != 256) {
        PyErr_Format(PyExc_ValueError, "wanted must have 256 elements, not %zd", views[WANTED].shape[0]);
        return -1;
    }
    return 0;
}

/* Takes the buffers of the columns; *rows is how many each has. 0, or -1 with an exception set. */
static int take_outputs(PyObject *columns, Py_buffer *views, size_t *rows)
{
    if (PyTuple_GET_SIZE(columns) != COLUMN_COUNT) {
        PyErr_Format(PyExc_ValueError, "there are %d columns, not %zd", COLUMN_COUNT, PyTuple_GET_SIZE(columns));
        return -1;
    }
    for (int i = 0; i < COLUMN_COUNT; i++) {
        if (core_get_column(PyTuple_GET_ITEM(columns, i), outputs[i].name, outputs[i].size, true, &views[i]) < 0) {
            return -1;
        }
        if (views[i].shape[0] != views[0].shape[0] * outputs[i].items) {
            PyErr_Format(PyExc_ValueError, "%s must have %zd elements a row, for %zd rows", outputs[i].name,
                         outputs[i].items, views[0].shape[0]);
            return -1;
        }
    }
    *rows = (size_t)views[0].shape[0];
    return 0;
}

/* (data, ..., wanted, first packet, columns, first row) -> the row behind the last that was written; see _core.pyi. */
PyObject *core_fill_columns(PyObject *module, PyObject *args)
{
    PyObject *result = NULL, *objects[ARGUMENTS], *columns;
    Py_buffer in[ARGUMENTS] = {{0}}, out[COLUMN_COUNT] = {{0}};
    long long first_packet;
    Py_ssize_t first_row;
    struct packet_columns to;
    enum packet_fill_end end;

    if (!PyArg_ParseTuple(args, "OOOOOOOOOOLO!n", &objects[0], &objects[1], &objects[2], &objects[3], &objects[4],
                          &objects[5], &objects[6], &objects[7], &objects[8], &objects[9], &first_packet, &PyTuple_Type,
                          &columns, &first_row)) {
        return NULL;
    }
    const struct cksum_kernel *kernel = core_active_kernel(module);
    if (kernel == NULL || take_inputs(objects, in) < 0 || take_outputs(columns, out, &to.room) < 0) {
        goto done;
    }
    if (first_row < 0 || (size_t)first_row > to.room) {
        PyErr_Format(PyExc_ValueError, "the first row must be in 0..%zu, not %zd", to.room, first_row);
        goto done;
    }
    to.n = (size_t)first_row;
#define COLUMN_TAKE(name, type, items) to.name = out[COLUMN_##name].buf;
    PACKET_COLUMNS(COLUMN_TAKE)
#undef COLUMN_TAKE
    struct packet_judged judged = {
        .batch = {.data = in[DATA].buf,
                  .size = (size_t)in[DATA].len,
                  .offsets = in[OFFSETS].buf,
                  .lengths = in[LENGTHS].buf,
                  .originals = in[ORIGINALS].buf,
                  .links = in[LINKS].buf,
                  .n = (size_t)in[OFFSETS].shape[0],
                  .per_packet = in[PER_PACKET].buf,
                  .codes = in[CODES].buf,
                  .n_codes = (size_t)in[CODES].shape[0]},
        .times = in[TIMES].buf,
        .frames = in[FRAMES].buf,
        .first_packet = first_packet,
        .wanted = in[WANTED].buf,
    };
    Py_BEGIN_ALLOW_THREADS;
    end = packet_fill_columns(kernel->fn, &judged, &to);
    Py_END_ALLOW_THREADS;
    if (end == PACKET_COLUMNS_CHANGED) {
        PyErr_Format(PyExc_ValueError, "packet %lld has other checksums than when it was verified",
                     first_packet + (long long)judged.batch.bad_index);
    } else if (end == PACKET_COLUMNS_NO_ROOM) {
        PyErr_Format(PyExc_ValueError, "the columns have only %zu rows", to.room);
    } else {
        result = PyLong_FromSize_t(to.n);
    }
done:
    core_release_views(in, ARGUMENTS);
    core_release_views(out, COLUMN_COUNT);
    return result;
}

/* (addresses, versions, codes) -> for each different address a row that has it, int64 as bytes; codes is filled in. */
PyObject *core_encode_addresses(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *result = NULL, *objects[3];
    static const char *const names[] = {"addresses", "versions", "codes"};
    static const Py_ssize_t sizes[] = {1, 1, sizeof(int32_t)};
    Py_buffer views[3] = {{0}};
    int64_t *rows = NULL;
    size_t n;

    if (!PyArg_ParseTuple(args, "OOO", &objects[0], &objects[1], &objects[2])) {
        return NULL;
    }
    for (int i = 0; i < 3; i++) {
        if (core_get_column(objects[i], names[i], sizes[i], i == 2, &views[i]) < 0) {
            goto done;
        }
    }
    if (views[0].shape[0] != 16 * views[1].shape[0] || views[2].shape[0] != views[1].shape[0]) {
        PyErr_Format(PyExc_ValueError, "%zd versions need 16 times as many bytes of addresses, not %zd, and %zd codes",
                     views[1].shape[0], views[0].shape[0], views[1].shape[0]);
        goto done;
    }
    Py_BEGIN_ALLOW_THREADS;
    n = packet_encode_addresses(views[0].buf, views[1].buf, (size_t)views[1].shape[0], views[2].buf, &rows);
    Py_END_ALLOW_THREADS;
    result = n == SIZE_MAX ? PyErr_NoMemory()
                           : PyBytes_FromStringAndSize((const char *)rows, (Py_ssize_t)(n * sizeof *rows));
done:
    free(rows);
    core_release_views(views, 3);
    return result;
}
