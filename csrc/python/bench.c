/* bench.c: the type Bench: cells, the buffers they lie in, and rounds over them. */
#include "python/state.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "bench/cache.h"
#include "bench/timing.h"
#include "core/registry.h"

/* One cell and what keeps it alive. */
struct bench_cell {
    Py_buffer view;
    PyObject *keep; /* the capsule of a kernel that was loaded, or NULL */
    struct cksum_span *spans;
};

struct bench {
    PyObject ob_base;
    atomic_flag busy; /* held by the method that runs: rounds release the GIL, and the arrays must not move then */
    size_t n;
    struct bench_cell *owned;
    struct timing_cell *cells;
};

static const char *const loop_names[] = {
#define LOOP_NAME(given, id, name) [CKSUM_LOOP_##id] = #name,
    CKSUM_LOOPS(LOOP_NAME, )
#undef LOOP_NAME
};

/* All of them for an error text. */
#define LOOP_TEXT(given, id, name) " " #name
#define LOOP_NAMES "these:" CKSUM_LOOPS(LOOP_TEXT, )

static int enter(struct bench *bench)
{
    return core_enter(&bench->busy, "Bench");
}

static void leave(struct bench *bench)
{
    core_leave(&bench->busy);
}

static PyObject *bench_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    if (PyTuple_GET_SIZE(args) != 0 || (kwargs != NULL && PyDict_GET_SIZE(kwargs) != 0)) {
        PyErr_SetString(PyExc_TypeError, "Bench() takes no arguments; cells are added by add()");
        return NULL;
    }
    struct bench *bench = (struct bench *)type->tp_alloc(type, 0);
    if (bench != NULL) {
        atomic_flag_clear(&bench->busy);
    }
    return (PyObject *)bench;
}

static void release_cell(struct bench_cell *cell)
{
    PyBuffer_Release(&cell->view);
    Py_CLEAR(cell->keep);
    PyMem_Free(cell->spans);
}

static void bench_dealloc(PyObject *self)
{
    struct bench *bench = (struct bench *)self;
    PyTypeObject *type = Py_TYPE(self);
    for (size_t i = 0; i < bench->n; i++) {
        release_cell(&bench->owned[i]);
    }
    PyMem_Free(bench->owned);
    PyMem_Free(bench->cells);
    type->tp_free(self);
    Py_DECREF(type);
}

/* The spans that two sequences of integers select of the buffer, as a new array. NULL with an exception set. */
static struct cksum_span *make_spans(const Py_buffer *view, PyObject *offsets, PyObject *lengths, size_t *n)
{
    struct cksum_span *spans = NULL;
    PyObject *starts = PySequence_Tuple(offsets); /* copies, which __index__ can't change */
    PyObject *sizes = starts == NULL ? NULL : PySequence_Tuple(lengths);
    if (sizes == NULL) {
        goto failed;
    }
    *n = (size_t)PyTuple_GET_SIZE(starts);
    if (*n == 0 || *n != (size_t)PyTuple_GET_SIZE(sizes)) {
        PyErr_Format(PyExc_ValueError, "offsets and lengths must be equally many and at least one, not %zd and %zd",
                     PyTuple_GET_SIZE(starts), PyTuple_GET_SIZE(sizes));
        goto failed;
    }
    spans = PyMem_New(struct cksum_span, *n);
    if (spans == NULL) {
        PyErr_NoMemory();
        goto failed;
    }
    for (size_t i = 0; i < *n; i++) {
        size_t offset, length;
        PyObject *start = PyTuple_GET_ITEM(starts, (Py_ssize_t)i);
        PyObject *size = PyTuple_GET_ITEM(sizes, (Py_ssize_t)i);
        if (core_get_span(start, size, (size_t)view->len, &offset, &length) < 0) {
            goto failed;
        }
        spans[i] = (struct cksum_span){.buf = (const unsigned char *)view->buf + offset, .len = length};
    }
    Py_DECREF(starts);
    Py_DECREF(sizes);
    return spans;

failed:
    PyMem_Free(spans);
    Py_XDECREF(starts);
    Py_XDECREF(sizes);
    return NULL;
}

/* The loop of this name. 0, or -1 with ValueError set that lists what there is. */
static int find_loop(const char *name, enum cksum_loop *loop)
{
    for (int i = 0; i < CKSUM_LOOP_COUNT; i++) {
        if (strcmp(loop_names[i], name) == 0) {
            *loop = (enum cksum_loop)i;
            return 0;
        }
    }
    PyErr_Format(PyExc_ValueError, "loop '%.100s' is unknown; there are " LOOP_NAMES, name);
    return -1;
}

/* Whether the loop may be run on these spans. 0, or -1 with ValueError set. */
static int check_spans(const struct timing_cell *cell, const struct cksum_span *spans, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (core_check_length(cell->kernel, spans[i].len) < 0) {
            return -1;
        }
        if (cell->loop == CKSUM_LOOP_RECEIVE && !cksum_receivable(spans[i].buf, spans[i].len)) {
            PyErr_Format(
                PyExc_ValueError,
                "span %zu (%zu bytes) must hold an IPv4 packet with TCP or UDP of at most %u bytes for the loop "
                "'receive'",
                i, spans[i].len, CKSUM_SCRATCH_BYTES);
            return -1;
        }
    }
    return 0;
}

/* Makes room for one more cell. 0, or -1 with MemoryError set. */
static int grow(struct bench *bench)
{
    struct bench_cell *owned = PyMem_Realloc(bench->owned, (bench->n + 1) * sizeof *owned);
    if (owned != NULL) {
        bench->owned = owned;
    }
    struct timing_cell *cells = PyMem_Realloc(bench->cells, (bench->n + 1) * sizeof *cells);
    if (cells != NULL) {
        bench->cells = cells;
    }
    if (owned == NULL || cells == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    return 0;
}

/* Adds the cell; the caller holds the lock. The new index, or NULL with an exception set. */
static PyObject *add_cell(struct bench *bench, PyObject *module, PyObject *kernel_object, PyObject *buf,
                          PyObject *offsets, PyObject *lengths, const char *loop_name, bool cold, bool walk)
{
    struct bench_cell owned = {0};
    struct timing_cell cell = {.cold = cold, .walk = walk};
    cell.kernel = core_get_kernel(module, kernel_object, &owned.keep);
    if (cell.kernel == NULL || core_check_runs(cell.kernel, "kernel") < 0 || find_loop(loop_name, &cell.loop) < 0 ||
        core_get_buffer(buf, &owned.view) < 0) {
        goto failed;
    }
    owned.spans = make_spans(&owned.view, offsets, lengths, &cell.n_spans);
    if (owned.spans == NULL || check_spans(&cell, owned.spans, cell.n_spans) < 0 || grow(bench) < 0) {
        goto failed;
    }
    cell.spans = owned.spans;
    cell.calls = cell.n_spans;
    bench->owned[bench->n] = owned;
    bench->cells[bench->n] = cell;
    return PyLong_FromSize_t(bench->n++);

failed:
    release_cell(&owned);
    return NULL;
}

static PyObject *bench_add(PyObject *self, PyObject *args, PyObject *kwargs)
{
    struct bench *bench = (struct bench *)self;
    static char *names[] = {"", "", "", "", "loop", "cold", "walk", NULL};
    PyObject *kernel, *buf, *offsets, *lengths, *result = NULL;
    const char *loop = loop_names[CKSUM_LOOP_PLAIN];
    int cold = 0, walk = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOOO|$spp:add", names, &kernel, &buf, &offsets, &lengths, &loop,
                                     &cold, &walk)) {
        return NULL;
    }
    if (cold && !CACHE_CAN_FLUSH) {
        PyErr_SetString(PyExc_ValueError,
                        "cold needs an instruction that flushes a cache line, and none is known here");
        return NULL;
    }
    PyObject *module = PyType_GetModule(Py_TYPE(self));
    if (module != NULL && enter(bench) == 0) {
        result = add_cell(bench, module, kernel, buf, offsets, lengths, loop, cold, walk);
        leave(bench);
    }
    return result;
}

static PyObject *bench_set_spans(PyObject *self, PyObject *args)
{
    struct bench *bench = (struct bench *)self;
    PyObject *cell_object, *offsets, *lengths, *result = NULL;
    size_t i, n;
    if (!PyArg_ParseTuple(args, "OOO:set_spans", &cell_object, &offsets, &lengths) || enter(bench) < 0) {
        return NULL;
    }
    if (core_get_size(cell_object, "cell", bench->n - (bench->n > 0), "the last cell added", &i) == 0) {
        struct cksum_span *spans = bench->n == 0 ? NULL : make_spans(&bench->owned[i].view, offsets, lengths, &n);
        if (bench->n == 0) {
            PyErr_SetString(PyExc_ValueError, "this Bench has no cells; add() one first");
        } else if (spans != NULL && n != bench->cells[i].n_spans) {
            PyErr_Format(PyExc_ValueError, "cell %zu has %zu spans and must keep as many, not %zu", i,
                         bench->cells[i].n_spans, n);
            PyMem_Free(spans);
        } else if (spans != NULL && check_spans(&bench->cells[i], spans, n) < 0) {
            PyMem_Free(spans);
        } else if (spans != NULL) {
            PyMem_Free(bench->owned[i].spans);
            bench->owned[i].spans = spans;
            bench->cells[i].spans = spans;
            result = Py_NewRef(Py_None);
        }
    }
    leave(bench);
    return result;
}

static PyObject *bench_set_calls(PyObject *self, PyObject *args)
{
    struct bench *bench = (struct bench *)self;
    PyObject *cell_object, *calls_object, *result = NULL;
    size_t cell, calls;
    if (!PyArg_ParseTuple(args, "OO:set_calls", &cell_object, &calls_object) || enter(bench) < 0) {
        return NULL;
    }
    if (bench->n == 0) {
        PyErr_SetString(PyExc_ValueError, "this Bench has no cells; add() one first");
    } else if (core_get_size(cell_object, "cell", bench->n - 1, "the last cell added", &cell) == 0 &&
               core_get_size(calls_object, "calls", SIZE_MAX / 2, "calls of one batch", &calls) == 0) {
        bench->cells[cell].calls = timing_whole_turns(&bench->cells[cell], calls);
        result = Py_NewRef(Py_None);
    }
    leave(bench);
    return result;
}

static PyObject *bench_calibrate(PyObject *self, PyObject *object)
{
    struct bench *bench = (struct bench *)self;
    size_t target;
    if (core_get_size(object, "target_ticks", SIZE_MAX / 16, "ticks of one batch", &target) < 0 || enter(bench) < 0) {
        return NULL;
    }
    PyObject *all_calls = PyList_New((Py_ssize_t)bench->n);
    for (size_t i = 0; all_calls != NULL && i < bench->n; i++) {
        if (!bench->cells[i].cold) {
            Py_BEGIN_ALLOW_THREADS;
            bench->cells[i].calls = timing_batch_calls(&bench->cells[i], target);
            Py_END_ALLOW_THREADS;
        }
        PyObject *calls = PyLong_FromUnsignedLongLong(bench->cells[i].calls);
        if (calls == NULL) {
            Py_CLEAR(all_calls);
        } else {
            PyList_SET_ITEM(all_calls, (Py_ssize_t)i, calls);
        }
    }
    leave(bench);
    return all_calls;
}

/* The first span of the cell whose sum isn't the reference's, or n_spans; *got and *expected are folded. */
static size_t first_wrong_span(const struct timing_cell *cell, const struct cksum_kernel *reference, uint16_t *got,
                               uint16_t *expected)
{
    size_t i = 0;
    for (; i < cell->n_spans; i++) {
        const struct cksum_span *span = &cell->spans[i];
        *expected = cksum_fold32(reference->fn(span->buf, span->len, 0));
        *got = cksum_fold32(cell->kernel->fn(span->buf, span->len, 0));
        const uint16_t afterwards = cksum_fold32(reference->fn(span->buf, span->len, 0));
        if (*got != *expected || afterwards != *expected) { /* whoever writes into the buffer is wrong as well */
            break;
        }
    }
    return i;
}

static PyObject *bench_check(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    struct bench *bench = (struct bench *)self;
    const struct cksum_kernel *reference = cksum_registry_find("reference");
    size_t i, span = 0;
    uint16_t got = 0, expected = 0;
    PyObject *result = NULL;
    if (enter(bench) < 0) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS;
    for (i = 0; i < bench->n; i++) {
        const struct timing_cell *cell = &bench->cells[i];
        span = cell->n_spans;
        if (cell->kernel->role != CKSUM_YARDSTICK) {
            span = first_wrong_span(cell, reference, &got, &expected);
        }
        if (span < cell->n_spans) {
            break;
        }
    }
    Py_END_ALLOW_THREADS;
    if (i == bench->n) {
        result = Py_NewRef(Py_None);
    } else {
        const struct cksum_span *wrong = &bench->cells[i].spans[span];
        const unsigned char *start = bench->owned[i].view.buf;
        result = Py_BuildValue("nnnII", (Py_ssize_t)i, (Py_ssize_t)(wrong->buf - start), (Py_ssize_t)wrong->len,
                               (unsigned)got, (unsigned)expected);
    }
    leave(bench);
    return result;
}

/* The cells to visit, in order, as a new array. NULL with an exception set. */
static uint32_t *make_order(PyObject *sequence, size_t n_cells, size_t *n)
{
    PyObject *tuple = PySequence_Tuple(sequence); /* a copy, which __index__ can't change */
    if (tuple == NULL) {
        return NULL;
    }
    *n = (size_t)PyTuple_GET_SIZE(tuple);
    uint32_t *order = PyMem_New(uint32_t, *n + 1);
    if (order == NULL) {
        PyErr_NoMemory();
    }
    for (size_t i = 0; order != NULL && i < *n; i++) {
        size_t cell = SIZE_MAX;
        if (core_get_size(PyTuple_GET_ITEM(tuple, (Py_ssize_t)i), "cell", SIZE_MAX, "a cell index", &cell) == 0 &&
            cell >= n_cells) {
            PyErr_Format(PyExc_ValueError, "order names cell %zu, and this Bench has %zu", cell, n_cells);
        }
        if (PyErr_Occurred()) {
            PyMem_Free(order);
            order = NULL;
        } else {
            order[i] = (uint32_t)cell;
        }
    }
    Py_DECREF(tuple);
    return order;
}

/* The samples of one round into out; the caller holds the lock. 0, or -1 with an exception set. */
static int run_round(struct bench *bench, PyObject *sequence, unsigned number, const Py_buffer *out)
{
    size_t n;
    uint32_t *order = make_order(sequence, bench->n, &n);
    if (order == NULL) {
        return -1;
    }
    const size_t needed = n * sizeof(struct timing_sample);
    int result = -1;
    if ((size_t)out->len < needed || (uintptr_t)out->buf % _Alignof(struct timing_sample) != 0) {
        PyErr_Format(PyExc_ValueError, "out must be aligned and hold %zu samples of %zu bytes, %zu in all; it has %zd",
                     n, sizeof(struct timing_sample), needed, out->len);
    } else {
        Py_BEGIN_ALLOW_THREADS;
        timing_round(bench->cells, order, n, number, out->buf);
        Py_END_ALLOW_THREADS;
        result = 0;
    }
    PyMem_Free(order);
    return result;
}

static PyObject *bench_round(PyObject *self, PyObject *args)
{
    struct bench *bench = (struct bench *)self;
    PyObject *order, *out_object;
    unsigned number;
    Py_buffer out;
    int done = -1;
    if (!PyArg_ParseTuple(args, "OIO:round", &order, &number, &out_object) ||
        PyObject_GetBuffer(out_object, &out, PyBUF_WRITABLE) < 0) {
        return NULL;
    }
    if (enter(bench) == 0) {
        done = run_round(bench, order, number, &out);
        leave(bench);
    }
    PyBuffer_Release(&out);
    return done < 0 ? NULL : Py_NewRef(Py_None);
}

static PyMethodDef bench_methods[] = {
    {"add", (PyCFunction)(void (*)(void))bench_add, METH_VARARGS | METH_KEYWORDS,
     "add($self, kernel, buf, offsets, lengths, /, *, loop='plain', cold=False, walk=False)\n--\n\nAdds a cell; "
     "returns its "
     "index."},
    {"set_spans", bench_set_spans, METH_VARARGS,
     "set_spans($self, cell, offsets, lengths, /)\n--\n\nReplaces the spans of a cell by as many others."},
    {"set_calls", bench_set_calls, METH_VARARGS,
     "set_calls($self, cell, calls, /)\n--\n\nSets the calls of one batch of the cell, rounded up to whole turns."},
    {"calibrate", bench_calibrate, METH_O,
     "calibrate($self, target_ticks, /)\n--\n\nSizes every batch to last target_ticks; returns the calls of each."},
    {"check", bench_check, METH_NOARGS,
     "check($self, /)\n--\n\nNone, or (cell, offset, length, got, expected) of the first wrong sum."},
    {"round", bench_round, METH_VARARGS,
     "round($self, order, number, out, /)\n--\n\nTimes one batch of each cell in order; writes samples to out."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot bench_slots[] = {
    {Py_tp_doc, "Bench()\n--\n\nCells to time together; holds their buffers and kernels."},
    {Py_tp_new, bench_new},
    {Py_tp_dealloc, bench_dealloc},
    {Py_tp_methods, bench_methods},
    {0, NULL},
};

static PyType_Spec bench_spec = {
    .name = "fastcksum._core.Bench",
    .basicsize = sizeof(struct bench),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = bench_slots,
};

/* What a sample record holds: (name, NumPy format, byte offset) of each field. */
static PyObject *sample_fields(void)
{
#define FIELD(name, format) #name, format, (Py_ssize_t)offsetof(struct timing_sample, name)
    return Py_BuildValue("[(ssn)(ssn)(ssn)(ssn)(ssn)(ssn)(ssn)(ssn)(ssn)(ssn)]", FIELD(ticks, "u8"), FIELD(calls, "u8"),
                         FIELD(result, "u8"), FIELD(round, "u4"), FIELD(order, "u4"), FIELD(cell, "u4"),
                         FIELD(flags, "u4"), FIELD(add_ticks, "u4"), FIELD(mul_ticks, "u4"), FIELD(wide_ticks, "u4"));
#undef FIELD
}

static PyObject *flag_bits(void)
{
    PyObject *flags = PyDict_New();
#define FLAG(id, bit, text)                                                                                            \
    if (flags != NULL) {                                                                                               \
        PyObject *value = PyLong_FromLong(bit);                                                                        \
        if (value == NULL || PyDict_SetItemString(flags, text, value) < 0) {                                           \
            Py_CLEAR(flags);                                                                                           \
        }                                                                                                              \
        Py_XDECREF(value);                                                                                             \
    }
    TIMING_FLAGS(FLAG)
#undef FLAG
    return flags;
}

int core_add_bench(PyObject *module)
{
    struct core_state *state = PyModule_GetState(module);
    state->bench_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &bench_spec, NULL);
    if (state->bench_type == NULL || PyModule_AddType(module, state->bench_type) < 0 ||
        core_add_names(module, "LOOPS", loop_names, CKSUM_LOOP_COUNT) < 0 ||
        core_add_constant(module, "FLAGS", flag_bits()) < 0 ||
        core_add_constant(module, "SAMPLE_FIELDS", sample_fields()) < 0 ||
        core_add_constant(module, "SAMPLE_SIZE", PyLong_FromSize_t(sizeof(struct timing_sample))) < 0 ||
        core_add_constant(module, "CHAIN", PyLong_FromLong(TIMING_CHAIN)) < 0) {
        return -1;
    }
    return 0;
}
