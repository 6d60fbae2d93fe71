/* state.h: the state of one instance of the module, and what its files share. Each sub-interpreter has its own. */
#ifndef CKSUM_PYTHON_STATE_H
#define CKSUM_PYTHON_STATE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdatomic.h>
#include <stdbool.h>

#include "kernels/kernel.h"

/*
 * Buffers of at least this size are summed with the GIL released. Measured on Sapphire Rapids with Python 3.11: letting
 * go of it and taking it back costs 28 ns when nobody waits, 9 % of a sum of 32 KiB (310 ns) and 5 % of one of 64 KiB.
 */
#define CORE_GIL_RELEASE_BYTES 65536

struct core_named_kernel {
    PyObject *name;
    const struct cksum_kernel *kernel;
};

/* What a file gets by PyModule_GetState(module). */
struct core_state {
    _Atomic(const struct cksum_kernel *) active; /* what raw_cksum uses; NULL until the first sum */
    struct core_named_kernel *usable; /* the kernels that sum here, by their interned names; no more is made of them */
    size_t n_usable;
    PyTypeObject *bench_type;
    PyTypeObject *verdict_type; /* fastcksum.packets.Verdict, once that is imported */
    PyObject *layers;           /* the words of verdicts, as tuples */
    PyObject *statuses;
    PyObject *reasons;
    PyObject *name_offset; /* interned keyword and attribute names */
    PyObject *name_length;
    PyObject *name_kernel;
    PyObject *name_capsule;
};

/* arguments.c */

/* Fills view with the bytes of a C-contiguous object. 0, or -1 with TypeError or BufferError set. */
CKSUM_HIDDEN int core_get_buffer(PyObject *object, Py_buffer *view);

/* -1; behind PyObject_GetBuffer's exception, which it replaces by BufferError where the object is not contiguous. */
CKSUM_HIDDEN int core_refuse_buffer(PyObject *object, Py_buffer *view);

/* An integer in 0..limit by __index__. 0, or -1 with TypeError set, or ValueError naming what, value and limit. */
CKSUM_HIDDEN int core_get_size(PyObject *object, const char *what, size_t limit, const char *limit_note, size_t *value);

/* The span that offset (NULL: 0) and length (NULL, None: the rest) select of size bytes. 0, or -1 with an exception. */
CKSUM_HIDDEN int core_get_span(PyObject *offset_object, PyObject *length_object, size_t size, size_t *offset,
                               size_t *length);

/* What a function may be called with: its arguments by name, of which the first few may be positional. */
#define CORE_MAX_ARGUMENTS 6
struct core_signature {
    const char *function;
    const char *names[CORE_MAX_ARGUMENTS];
    unsigned n;
    unsigned positional;
    unsigned required; /* the first few; others are NULL where they are not given */
};

/* Sorts the arguments of a call; the values are borrowed. 0, or -1 with TypeError set. */
CKSUM_HIDDEN int core_take_arguments(const struct core_signature *signature, PyObject *const *args, Py_ssize_t nargs,
                                     PyObject *names, PyObject *values[CORE_MAX_ARGUMENTS]);

/* Adds a constant to the module; steals value, which may be NULL with an exception set. 0, or -1 with an exception. */
CKSUM_HIDDEN int core_add_constant(PyObject *module, const char *name, PyObject *value);

/* The same for the tuple of these names. */
CKSUM_HIDDEN int core_add_names(PyObject *module, const char *name, const char *const *names, size_t n);

/* A one-dimensional contiguous array of aligned items of `size` bytes. 0, or -1 with an exception set. */
CKSUM_HIDDEN int core_get_column(PyObject *object, const char *name, Py_ssize_t size, bool writable, Py_buffer *view);

/* Releases n views, of which those that were never filled are zeros. */
CKSUM_HIDDEN void core_release_views(Py_buffer *views, int n);

/*
 * Lets one thread at a time into what a flag guards, also without a GIL and while it is released; what is named in the
 * error. 0, or -1 with RuntimeError set.
 */
CKSUM_HIDDEN int core_enter(atomic_flag *busy, const char *what);
CKSUM_HIDDEN void core_leave(atomic_flag *busy);

/* kernels.c */

/*
 * The kernel that a name, a Kernel or a capsule stands for; *keep gets a reference that must live as long as the kernel
 * is used (NULL for built-in ones). NULL with TypeError or ValueError set.
 */
CKSUM_HIDDEN const struct cksum_kernel *core_get_kernel(PyObject *module, PyObject *object, PyObject **keep);

/* 0; or -1 with ValueError set where the kernel can't run here or, for core_check_sums, computes no checksum. */
CKSUM_HIDDEN int core_check_runs(const struct cksum_kernel *kernel, const char *asked_by);
CKSUM_HIDDEN int core_check_sums(const struct cksum_kernel *kernel, const char *asked_by);

/* 0, or -1 with ValueError set, if the kernel would read beyond a buffer of this length. The active one never does. */
CKSUM_HIDDEN int core_check_length(const struct cksum_kernel *kernel, size_t length);

/* The kernel of an argument kernel=, which must sum here; NULL and None: the active one. keep as above. */
CKSUM_HIDDEN const struct cksum_kernel *core_choose_kernel(PyObject *module, PyObject *object, PyObject **keep);

/* The kernel for callers who name none: FASTCKSUM_KERNEL or the best. NULL with ValueError set for a bad name. */
CKSUM_HIDDEN const struct cksum_kernel *core_active_kernel(PyObject *module);

/* Fills state->usable, and empties it. 0, or -1 with MemoryError set. */
CKSUM_HIDDEN int core_add_kernels(PyObject *module);
CKSUM_HIDDEN void core_clear_kernels(struct core_state *state);

/* The names of these CKSUM_CPU_* bits as a tuple of str. NULL with an exception set. */
CKSUM_HIDDEN PyObject *core_feature_names(uint32_t features);

/* The methods of the module; what each does stands in fastcksum/_core.pyi. */
#define CORE_FAST_METHOD(name) CKSUM_HIDDEN PyObject *name(PyObject *, PyObject *const *, Py_ssize_t, PyObject *)
CORE_FAST_METHOD(core_raw_cksum);
CORE_FAST_METHOD(core_checksum);
CORE_FAST_METHOD(core_verify);
CORE_FAST_METHOD(core_update_checksum);
CORE_FAST_METHOD(core_combine);
CORE_FAST_METHOD(core_pseudo_header);
CORE_FAST_METHOD(core_ipv4_header_checksum);
CORE_FAST_METHOD(core_transport_checksum);
CORE_FAST_METHOD(core_verify_packet);
CORE_FAST_METHOD(core_fill_checksums);
CORE_FAST_METHOD(core_fill_into);
CORE_FAST_METHOD(core_raw_cksum_many);
#undef CORE_FAST_METHOD
#define CORE_METHOD(name) CKSUM_HIDDEN PyObject *name(PyObject *, PyObject *)
CORE_METHOD(core_packet_checks);
CORE_METHOD(core_use_verdict_type);
CORE_METHOD(core_verify_packets);
CORE_METHOD(core_mend_packets);
CORE_METHOD(core_fill_columns);
CORE_METHOD(core_encode_addresses);
CORE_METHOD(core_capture_reader);
CORE_METHOD(core_scan_capture);
CORE_METHOD(core_kernel_table);
CORE_METHOD(core_describe);
CORE_METHOD(core_active_kernel_name);
CORE_METHOD(core_partial);
CORE_METHOD(core_load_kernel);
CORE_METHOD(core_find_difference);
CORE_METHOD(core_find_broken_state);
CORE_METHOD(core_timer_facts);
CORE_METHOD(core_cpu_facts);
CORE_METHOD(core_decode_cpuid);
CORE_METHOD(core_build_facts);
CORE_METHOD(core_count_events);
CORE_METHOD(core_decode_counters);
CORE_METHOD(core_shared_object);
#undef CORE_METHOD

/* checksum_type.c: the type Checksum. 0, or -1 with an exception set. */
CKSUM_HIDDEN int core_add_checksum(PyObject *module);

/* packets.c: the constants that say what the numbers of a verdict mean. 0, or -1 with an exception set. */
CKSUM_HIDDEN int core_add_packets(PyObject *module);

/* columns.c: the names of the columns. 0, or -1 with an exception set. */
CKSUM_HIDDEN int core_add_columns(PyObject *module);

/* packets.c: the number of a link type: "ip" (also for NULL), "ethernet" or a number. 0, or -1 with an exception. */
CKSUM_HIDDEN int core_take_link(PyObject *object, unsigned *link);

/* captures.c: the words for a file that is no capture. 0, or -1 with an exception set. */
CKSUM_HIDDEN int core_add_captures(PyObject *module);

/* bench.c: the type Bench. 0, or -1 with an exception set. */
CKSUM_HIDDEN int core_add_bench(PyObject *module);

/* facts.c: the constants that describe the samples of a Bench. 0, or -1 with an exception set. */
CKSUM_HIDDEN int core_add_samples(PyObject *module);

#endif
