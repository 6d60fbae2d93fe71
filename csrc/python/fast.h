/* fast.h: what the fast paths of several files share, small enough to stand in each of them. */
#ifndef CKSUM_PYTHON_FAST_H
#define CKSUM_PYTHON_FAST_H

#include "python/state.h"

#include "base/fold.h"

/* Whether the object is a plain int in 0..limit, which value then holds. Sets no exception and runs no Python code. */
CKSUM_INLINE bool core_quick_size(PyObject *object, size_t limit, size_t *value)
{
    int overflow;
    if (!PyLong_CheckExact(object)) {
        return false;
    }
    const long number = PyLong_AsLongAndOverflow(object, &overflow);
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
    if (core_get_buffer(object, &bytes->view) < 0) {
        return -1;
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
