/* cells.c: adding cells to a Bench, and looking whether their sums are right. */
#include "python/cells.h"

#include <string.h>

#include "base/fold.h"
#include "core/registry.h"

const char *const core_loop_names[CKSUM_LOOP_COUNT] = {
#define LOOP_NAME(given, id, name) [CKSUM_LOOP_##id] = #name,
    CKSUM_LOOPS(LOOP_NAME, )
#undef LOOP_NAME
};

#define LOOP_TEXT(given, id, name) " " #name /* of all of them, for an error text */

static void release_cell(struct core_cell_owned *cell)
{
    PyBuffer_Release(&cell->view);
    Py_CLEAR(cell->keep);
    PyMem_Free(cell->spans);
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
        if (strcmp(core_loop_names[i], name) == 0) {
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
static int grow(struct core_cells *cells)
{
    struct core_cell_owned *owned = PyMem_Realloc(cells->owned, (cells->n + 1) * sizeof *owned);
    if (owned != NULL) {
        cells->owned = owned;
    }
    struct timing_cell *timed = PyMem_Realloc(cells->timed, (cells->n + 1) * sizeof *timed);
    if (timed != NULL) {
        cells->timed = timed;
    }
    if (owned == NULL || timed == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    return 0;
}

PyObject *core_add_cell(struct core_cells *cells, PyObject *module, PyObject *kernel_object, PyObject *buf,
                        PyObject *offsets, PyObject *lengths, const char *loop_name, struct timing_cell how)
{
    struct timing_cell cell = how;
    struct core_cell_owned owned = {0};
    cell.kernel = core_get_kernel(module, kernel_object, &owned.keep);
    if (cell.kernel == NULL || core_check_runs(cell.kernel, "kernel") < 0 || find_loop(loop_name, &cell.loop) < 0 ||
        core_get_buffer(buf, &owned.view) < 0) {
        goto failed;
    }
    owned.spans = make_spans(&owned.view, offsets, lengths, &cell.n_spans);
    if (owned.spans == NULL || check_spans(&cell, owned.spans, cell.n_spans) < 0 || grow(cells) < 0) {
        goto failed;
    }
    cell.spans = owned.spans;
    cell.calls = cell.n_spans;
    cells->owned[cells->n] = owned;
    cells->timed[cells->n] = cell;
    return PyLong_FromSize_t(cells->n++);

failed:
    release_cell(&owned);
    return NULL;
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

bool core_find_wrong_sum(const struct core_cells *cells, struct core_wrong_sum *wrong)
{
    const struct cksum_kernel *reference = cksum_registry_find("reference");
    for (size_t i = 0; i < cells->n; i++) {
        const struct timing_cell *cell = &cells->timed[i];
        if (cell->kernel->role == CKSUM_YARDSTICK) {
            continue;
        }
        const size_t at = first_wrong_span(cell, reference, &wrong->got, &wrong->expected);
        if (at < cell->n_spans) {
            const unsigned char *start = cells->owned[i].view.buf;
            wrong->cell = i;
            wrong->offset = (size_t)(cell->spans[at].buf - start);
            wrong->length = cell->spans[at].len;
            return true;
        }
    }
    return false;
}

void core_free_cells(struct core_cells *cells)
{
    for (size_t i = 0; i < cells->n; i++) {
        release_cell(&cells->owned[i]);
    }
    PyMem_Free(cells->owned);
    PyMem_Free(cells->timed);
}
