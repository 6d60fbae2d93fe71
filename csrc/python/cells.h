/* cells.h: the cells of a Bench, the buffers that they lie in, and what keeps both alive. Locks nothing. */
#ifndef CKSUM_PYTHON_CELLS_H
#define CKSUM_PYTHON_CELLS_H

#include "python/state.h"

#include "bench/timing.h"

/* What one cell leans on. */
struct core_cell_owned {
    Py_buffer view;
    PyObject *keep; /* the capsule of a kernel that was loaded, or NULL */
    struct cksum_span *spans;
};

struct core_cells {
    size_t n;
    struct core_cell_owned *owned;
    struct timing_cell *timed;
};

/* A sum that is not the reference's, folded both; offset and length in the cell's buffer. */
struct core_wrong_sum {
    size_t cell;
    size_t offset;
    size_t length;
    uint16_t got;
    uint16_t expected;
};

/* The names of the loops, by enum cksum_loop. */
CKSUM_HIDDEN extern const char *const core_loop_names[CKSUM_LOOP_COUNT];

/* Adds a cell that is timed as `how` says. Its index, or NULL with an exception set and the cells as they were. */
CKSUM_HIDDEN PyObject *core_add_cell(struct core_cells *cells, PyObject *module, PyObject *kernel_object, PyObject *buf,
                                     PyObject *offsets, PyObject *lengths, const char *loop_name,
                                     struct timing_cell how);

/* Whether there is a wrong sum; needs no GIL. Yardsticks sum nothing, and of mixed spans one set is looked at. */
CKSUM_HIDDEN bool core_find_wrong_sum(const struct core_cells *cells, struct core_wrong_sum *wrong);

CKSUM_HIDDEN void core_free_cells(struct core_cells *cells);

#endif
