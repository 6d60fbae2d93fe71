/* bench.c: the type Bench: cells, the buffers they lie in, and rounds over them. */
#include "python/state.h"

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

#define LOOP_TEXT(given, id, name) " " #name /* of all of them, for an error text */

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
    PyObject *self = type->tp_alloc(type, 0);
    if (self != NULL) {
        leave((struct bench *)self);
    }
    return self;
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
    PyErr_Format(PyExc_ValueError, "loop '%.100s' is unknown; there are these:" CKSUM_LOOPS(LOOP_TEXT, ), name);
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
                          PyObject *offsets, PyObject *lengths, const char *loop_name, struct timing_cell cell)
{
    struct bench_cell owned = {0};
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
    static char *names[] = {"", "", "", "", "loop", "cold", "walk", "mixed", NULL};
    PyObject *kernel, *buf, *offsets, *lengths, *result = NULL;
    const char *loop = loop_names[CKSUM_LOOP_PLAIN];
    int cold = 0, walk = 0, mixed = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOOO|$sppp:add", names, &kernel, &buf, &offsets, &lengths, &loop,
                                     &cold, &walk, &mixed)) {
        return NULL;
    }
    if (cold && !CACHE_CAN_FLUSH) {
        PyErr_SetString(PyExc_ValueError, "cold needs an instruction that flushes a cache line; none is known here");
        return NULL;
    }
    PyObject *module = PyType_GetModule(Py_TYPE(self));
    if (module != NULL && enter(bench) == 0) {
        const struct timing_cell how = {.cold = cold != 0, .walk = walk != 0 || mixed != 0, .mixed = mixed != 0};
        result = add_cell(bench, module, kernel, buf, offsets, lengths, loop, how);
        leave(bench);
    }
    return result;
}

/* The cell of this index. NULL with TypeError or ValueError set. */
static struct timing_cell *get_cell(struct bench *bench, PyObject *object, size_t *i)
{
    if (bench->n == 0) {
        PyErr_SetString(PyExc_ValueError, "this Bench has no cells; add() one first");
        return NULL;
    }
    return core_get_size(object, "cell", bench->n - 1, "the last cell added", i) < 0 ? NULL : &bench->cells[*i];
}

static PyObject *bench_set_calls(PyObject *self, PyObject *args)
{
    struct bench *bench = (struct bench *)self;
    PyObject *cell_object, *calls_object, *result = NULL;
    size_t i, calls;
    if (!PyArg_ParseTuple(args, "OO:set_calls", &cell_object, &calls_object) || enter(bench) < 0) {
        return NULL;
    }
    struct timing_cell *cell = get_cell(bench, cell_object, &i);
    if (cell != NULL && core_get_size(calls_object, "calls", SIZE_MAX / 2, "calls of one batch", &calls) == 0) {
        cell->calls = timing_whole_turns(cell, calls);
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
        Py_BEGIN_ALLOW_THREADS;
        /* of a cold cell too, so that the pages of its loop are there: its batch is one call a span for all that */
        const uint64_t calls_of_batch = timing_batch_calls(&bench->cells[i], bench->cells[i].cold ? 0 : target);
        bench->cells[i].calls = bench->cells[i].cold ? bench->cells[i].n_spans : calls_of_batch;
        Py_END_ALLOW_THREADS;
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

/* The first span whose sum isn't the reference's, or n_spans; *got and *expected are folded. Of mixed ones one set. */
static size_t first_wrong_span(const struct timing_cell *cell, const struct cksum_kernel *reference, uint16_t *got,
                               uint16_t *expected)
{
    const size_t n = cell->mixed ? cell->calls : cell->n_spans;
    size_t i = 0;
    for (; i < n; i++) {
        const struct cksum_span *span = &cell->spans[i];
        *expected = cksum_fold32(reference->fn(span->buf, span->len, 0));
        *got = cksum_fold32(cell->kernel->fn(span->buf, span->len, 0));
        const uint16_t afterwards = cksum_fold32(reference->fn(span->buf, span->len, 0));
        if (*got != *expected || afterwards != *expected) { /* whoever writes into the buffer is wrong as well */
            break;
        }
    }
    return i < n ? i : cell->n_spans;
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

/* Whether out can take n samples. 0, or -1 with ValueError set. */
static int check_out(const Py_buffer *out, size_t n)
{
    const size_t needed = n * sizeof(struct timing_sample);
    if ((size_t)out->len < needed || (uintptr_t)out->buf % _Alignof(struct timing_sample) != 0) {
        PyErr_Format(PyExc_ValueError, "out must be aligned and hold %zu samples of %zu bytes, %zu in all; it has %zd",
                     n, sizeof(struct timing_sample), needed, out->len);
        return -1;
    }
    return 0;
}

/* The samples of one round into out; the caller holds the lock. 0, or -1 with an exception set. */
static int run_round(struct bench *bench, PyObject *sequence, unsigned number, const struct timing_visit *how,
                     const Py_buffer *out)
{
    size_t n;
    uint32_t *order = make_order(sequence, bench->n, &n);
    const int result = order == NULL ? -1 : check_out(out, n * how->batches);
    if (result == 0) {
        Py_BEGIN_ALLOW_THREADS;
        timing_round(bench->cells, order, n, number, how, out->buf);
        Py_END_ALLOW_THREADS;
    }
    PyMem_Free(order);
    return result;
}

static PyObject *bench_round(PyObject *self, PyObject *args, PyObject *kwargs)
{
    struct bench *bench = (struct bench *)self;
    static char *names[] = {"", "", "", "warm_ticks", "batches", "seed", NULL};
    PyObject *order, *out_object;
    unsigned number, batches = 1;
    unsigned long long warm_ticks = 0, seed = 0;
    Py_buffer out;
    int done = -1;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OIO|$KIK:round", names, &order, &number, &out_object, &warm_ticks,
                                     &batches, &seed) ||
        PyObject_GetBuffer(out_object, &out, PyBUF_WRITABLE) < 0) {
        return NULL;
    }
    if (batches == 0) {
        PyErr_SetString(PyExc_ValueError, "batches must be at least 1, not 0");
    } else if (enter(bench) == 0) {
        const struct timing_visit how = {.warm_ticks = warm_ticks, .batches = batches, .seed = seed};
        done = run_round(bench, order, number, &how, &out);
        leave(bench);
    }
    PyBuffer_Release(&out);
    return done < 0 ? NULL : Py_NewRef(Py_None);
}

/* The calls of each batch, in whole turns of the cell, as a new array. NULL with an exception set. */
static uint64_t *make_batches(PyObject *sequence, const struct timing_cell *cell, size_t *n)
{
    PyObject *fast = PySequence_Fast(sequence, "calls must be a sequence of integers");
    if (fast == NULL) {
        return NULL;
    }
    *n = (size_t)PySequence_Fast_GET_SIZE(fast);
    uint64_t *batches = PyMem_New(uint64_t, *n + 1);
    if (batches == NULL) {
        PyErr_NoMemory();
    }
    for (size_t i = 0; batches != NULL && i < *n; i++) {
        size_t calls = 0;
        if (core_get_size(PySequence_Fast_GET_ITEM(fast, (Py_ssize_t)i), "calls", SIZE_MAX / 2, "calls of one batch",
                          &calls) < 0) {
            PyMem_Free(batches);
            batches = NULL;
        } else {
            batches[i] = timing_whole_turns(cell, calls);
        }
    }
    Py_DECREF(fast);
    return batches;
}

/* The samples of one lesson into out; the caller holds the lock. 0, or -1 with an exception set. */
static int run_learn(struct bench *bench, PyObject *cell_object, PyObject *calls, unsigned number,
                     unsigned long long seed, const Py_buffer *out)
{
    size_t i, n;
    struct timing_cell *cell = get_cell(bench, cell_object, &i);
    if (cell == NULL) {
        return -1;
    }
    uint64_t *batches = make_batches(calls, cell, &n);
    const int result = batches == NULL ? -1 : check_out(out, n);
    if (result == 0 && n > 0) {
        Py_BEGIN_ALLOW_THREADS;
        timing_learn(cell, batches, (uint32_t)n, number, seed, out->buf);
        Py_END_ALLOW_THREADS;
    }
    PyMem_Free(batches);
    return result;
}

static PyObject *bench_learn(PyObject *self, PyObject *args)
{
    struct bench *bench = (struct bench *)self;
    PyObject *cell, *calls, *out_object;
    unsigned number;
    unsigned long long seed;
    Py_buffer out;
    int done = -1;
    if (!PyArg_ParseTuple(args, "OOIKO:learn", &cell, &calls, &number, &seed, &out_object) ||
        PyObject_GetBuffer(out_object, &out, PyBUF_WRITABLE) < 0) {
        return NULL;
    }
    if (enter(bench) == 0) {
        done = run_learn(bench, cell, calls, number, seed, &out);
        leave(bench);
    }
    PyBuffer_Release(&out);
    return done < 0 ? NULL : Py_NewRef(Py_None);
}

static PyMethodDef bench_methods[] = {
    {"add", (PyCFunction)(void (*)(void))bench_add, METH_VARARGS | METH_KEYWORDS,
     "add($self, kernel, buf, offsets, lengths, /, *, loop='plain', cold=False, walk=False, mixed=False)\n--\n\n"
     "Adds a cell; returns its index."},
    {"set_calls", bench_set_calls, METH_VARARGS,
     "set_calls($self, cell, calls, /)\n--\n\nSets the calls of one batch of the cell, rounded up to whole turns."},
    {"calibrate", bench_calibrate, METH_O,
     "calibrate($self, target_ticks, /)\n--\n\nSizes every batch to last target_ticks; returns the calls of each."},
    {"check", bench_check, METH_NOARGS,
     "check($self, /)\n--\n\nNone, or (cell, offset, length, got, expected) of the first wrong sum."},
    {"round", (PyCFunction)(void (*)(void))bench_round, METH_VARARGS | METH_KEYWORDS,
     "round($self, order, number, out, /, *, warm_ticks=0, batches=1, seed=0)\n--\n\nVisits each cell in order: warms "
     "it up, times so many batches; writes samples to out."},
    {"learn", bench_learn, METH_VARARGS,
     "learn($self, cell, calls, number, seed, out, /)\n--\n\nRuns other code, then times batches of so many calls "
     "with nothing between them; writes samples to out."},
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

int core_add_bench(PyObject *module)
{
    struct core_state *state = PyModule_GetState(module);
    state->bench_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &bench_spec, NULL);
    const int added = state->bench_type == NULL ? -1 : PyModule_AddType(module, state->bench_type);
    return added < 0 ? -1 : core_add_names(module, "LOOPS", loop_names, CKSUM_LOOP_COUNT);
}
