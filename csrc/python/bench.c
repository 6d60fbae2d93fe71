/* bench.c: the type Bench: its methods, which add cells, check their sums, and time rounds over them. */
#include "python/cells.h"

#include "bench/cache.h"

struct bench {
    PyObject ob_base;
    atomic_flag busy; /* held by the method that runs: rounds release the GIL, and the arrays must not move then */
    struct core_cells cells;
};

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

static void bench_dealloc(PyObject *self)
{
    struct bench *bench = (struct bench *)self;
    PyTypeObject *type = Py_TYPE(self);
    core_free_cells(&bench->cells);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *bench_add(PyObject *self, PyObject *args, PyObject *kwargs)
{
    struct bench *bench = (struct bench *)self;
    static char *names[] = {"", "", "", "", "loop", "cold", "walk", "mixed", NULL};
    PyObject *kernel, *buf, *offsets, *lengths, *result = NULL;
    const char *loop = core_loop_names[CKSUM_LOOP_PLAIN];
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
        result = core_add_cell(&bench->cells, module, kernel, buf, offsets, lengths, loop, how);
        leave(bench);
    }
    return result;
}

/* 0, or -1 with ValueError set. */
static int check_not_empty(const struct bench *bench)
{
    if (bench->cells.n == 0) {
        PyErr_SetString(PyExc_ValueError, "this Bench has no cells; add() one first");
        return -1;
    }
    return 0;
}

/* The cell of this index. NULL with TypeError or ValueError set. */
static struct timing_cell *get_cell(struct bench *bench, PyObject *object, size_t *i)
{
    return check_not_empty(bench) < 0 || core_get_size(object, "cell", bench->cells.n - 1, "the last cell added", i) < 0
               ? NULL
               : &bench->cells.timed[*i];
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
    PyObject *all_calls = PyList_New((Py_ssize_t)bench->cells.n);
    for (size_t i = 0; all_calls != NULL && i < bench->cells.n; i++) {
        Py_BEGIN_ALLOW_THREADS;
        /* of a cold cell too, so that the pages of its loop are there: its batch is one call a span for all that */
        const uint64_t calls_of_batch =
            timing_batch_calls(&bench->cells.timed[i], bench->cells.timed[i].cold ? 0 : target);
        bench->cells.timed[i].calls = bench->cells.timed[i].cold ? bench->cells.timed[i].n_spans : calls_of_batch;
        Py_END_ALLOW_THREADS;
        PyObject *calls = PyLong_FromUnsignedLongLong(bench->cells.timed[i].calls);
        if (calls == NULL) {
            Py_CLEAR(all_calls);
        } else {
            PyList_SET_ITEM(all_calls, (Py_ssize_t)i, calls);
        }
    }
    leave(bench);
    return all_calls;
}

static PyObject *bench_check(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    struct bench *bench = (struct bench *)self;
    struct core_wrong_sum wrong;
    PyObject *result = NULL;
    bool found;
    if (enter(bench) < 0) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS;
    found = core_find_wrong_sum(&bench->cells, &wrong);
    Py_END_ALLOW_THREADS;
    result = !found ? Py_NewRef(Py_None)
                    : Py_BuildValue("nnnII", (Py_ssize_t)wrong.cell, (Py_ssize_t)wrong.offset, (Py_ssize_t)wrong.length,
                                    (unsigned)wrong.got, (unsigned)wrong.expected);
    leave(bench);
    return result;
}

/* The integers of a sequence, each in 0..limit, as a new array. NULL with an exception set. */
static uint64_t *make_numbers(PyObject *sequence, const char *what, size_t limit, const char *limit_note, size_t *n)
{
    PyObject *tuple = PySequence_Tuple(sequence); /* a copy, which __index__ can't change */
    if (tuple == NULL) {
        return NULL;
    }
    *n = (size_t)PyTuple_GET_SIZE(tuple);
    uint64_t *numbers = PyMem_New(uint64_t, *n + 1);
    if (numbers == NULL) {
        PyErr_NoMemory();
    }
    for (size_t i = 0; numbers != NULL && i < *n; i++) {
        size_t number;
        if (core_get_size(PyTuple_GET_ITEM(tuple, (Py_ssize_t)i), what, limit, limit_note, &number) < 0) {
            PyMem_Free(numbers);
            numbers = NULL;
        } else {
            numbers[i] = number;
        }
    }
    Py_DECREF(tuple);
    return numbers;
}

/* Whether out can take n times so many samples. 0, or -1 with ValueError set. */
static int check_out(const Py_buffer *out, size_t n, size_t batches)
{
    const size_t size = sizeof(struct timing_sample), room = (size_t)out->len / size;
    if (room / batches < n || (uintptr_t)out->buf % _Alignof(struct timing_sample) != 0) {
        PyErr_Format(PyExc_ValueError, "out must be aligned and hold %zu samples of %zu bytes, %zu in all; it has %zd",
                     n * batches, size, n * batches * size, out->len);
        return -1;
    }
    return 0;
}

/* The samples of one round into out; the caller holds the lock. 0, or -1 with an exception set. */
static int run_round(struct bench *bench, PyObject *sequence, unsigned number, const struct timing_visit *how,
                     const Py_buffer *out)
{
    size_t n;
    if (check_not_empty(bench) < 0) {
        return -1;
    }
    uint64_t *order = make_numbers(sequence, "a cell of order", bench->cells.n - 1, "the last cell added", &n);
    const int result = order == NULL ? -1 : check_out(out, n, how->batches);
    if (result == 0) {
        Py_BEGIN_ALLOW_THREADS;
        timing_round(bench->cells.timed, order, n, number, how, out->buf);
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

/* The samples of one lesson into out; the caller holds the lock. 0, or -1 with an exception set. */
static int run_learn(struct bench *bench, PyObject *cell_object, PyObject *calls, unsigned number,
                     unsigned long long seed, const Py_buffer *out)
{
    size_t i, n;
    struct timing_cell *cell = get_cell(bench, cell_object, &i);
    if (cell == NULL) {
        return -1;
    }
    uint64_t *batches = make_numbers(calls, "calls", SIZE_MAX / 2, "calls of one batch", &n);
    const int result = batches == NULL ? -1 : check_out(out, n, 1);
    if (result == 0 && n > 0) {
        for (size_t b = 0; b < n; b++) {
            batches[b] = timing_whole_turns(cell, batches[b]);
        }
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
    return added < 0 ? -1 : core_add_names(module, "LOOPS", core_loop_names, CKSUM_LOOP_COUNT);
}
