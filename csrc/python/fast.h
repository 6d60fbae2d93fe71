/* fast.h: what the fast paths of several files share, small enough to stand in each of them. */
#ifndef CKSUM_PYTHON_FAST_H
#define CKSUM_PYTHON_FAST_H

#include "python/state.h"

#include "base/fold.h"

/* Whether the object is a plain int of one digit, which number then holds: no call, no exception, no Python code. */
CKSUM_INLINE bool core_one_digit(PyObject *object, Py_ssize_t *number)
{
#if PY_VERSION_HEX >= 0x030c0000
    if (!PyLong_CheckExact(object) || !PyUnstable_Long_IsCompact((PyLongObject *)object)) {
        return false;
    }
    *number = PyUnstable_Long_CompactValue((PyLongObject *)object);
    return true;
#else
    if (!PyLong_CheckExact(object) || (size_t)Py_SIZE(object) > 1) {
        return false;
    }
    *number = Py_SIZE(object) == 0 ? 0 : (Py_ssize_t)((PyLongObject *)object)->ob_digit[0];
    return true;
#endif
}

/* Whether the object is a plain int in 0..limit, which value then holds. Sets no exception and runs no Python code. */
CKSUM_INLINE bool core_quick_size(PyObject *object, size_t limit, size_t *value)
{
    Py_ssize_t number = 0; /* gcc at -Og does not see that it is set */
    int overflow = 0;
    if (CKSUM_UNLIKELY(!core_one_digit(object, &number))) {
        if (!PyLong_CheckExact(object)) {
            return false;
        }
        number = PyLong_AsLongAndOverflow(object, &overflow);
    }
    *value = (size_t)number;
    return overflow == 0 && number >= 0 && *value <= limit;
}

/* The bytes of an object. view.obj is NULL where they are those of a bytes object, which nobody moves or changes. */
struct core_bytes {
    const unsigned char *buf;
    size_t size;
    Py_buffer view;
};

/* 0, or -1 with TypeError or BufferError set. */
CKSUM_INLINE int core_take_bytes(PyObject *object, struct core_bytes *bytes)
{
    if (CKSUM_LIKELY(PyBytes_CheckExact(object))) {
        bytes->buf = (const unsigned char *)PyBytes_AS_STRING(object);
        bytes->size = (size_t)PyBytes_GET_SIZE(object);
        bytes->view.obj = NULL;
        return 0;
    }
    if (PyObject_GetBuffer(object, &bytes->view, PyBUF_SIMPLE) < 0) {
        return core_refuse_buffer(object, &bytes->view);
    }
    bytes->buf = bytes->view.buf;
    bytes->size = (size_t)bytes->view.len;
    return 0;
}

CKSUM_INLINE void core_release_bytes(struct core_bytes *bytes)
{
    if (bytes->view.obj != NULL) {
        PyBuffer_Release(&bytes->view);
    }
}

/* As core_active_kernel. */
CKSUM_INLINE const struct cksum_kernel *core_quick_kernel(PyObject *module)
{
    const struct core_state *state = PyModule_GetState(module);
    const struct cksum_kernel *kernel = atomic_load_explicit(&state->active, memory_order_relaxed);
    return CKSUM_LIKELY(kernel != NULL) ? kernel : core_active_kernel(module);
}

/* The folded raw sum of these bytes, with the GIL released where that pays. */
CKSUM_INLINE uint16_t core_sum_bytes(const struct cksum_kernel *kernel, const unsigned char *buf, size_t len,
                                     uint32_t initial)
{
    uint32_t sum;
    if (CKSUM_LIKELY(len < CORE_GIL_RELEASE_BYTES)) {
        return cksum_fold32(kernel->fn(buf, len, initial));
    }
    Py_BEGIN_ALLOW_THREADS;
    sum = kernel->fn(buf, len, initial);
    Py_END_ALLOW_THREADS;
    return cksum_fold32(sum);
}

#endif
