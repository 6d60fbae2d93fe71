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
