"""The checks that all page kernels share.

In: places, sizes and the size of the array that they are in. Out: whether they fit, or an error.
Memory: none. Safety: no sum is formed that could overflow.
"""

from libc.stdint cimport int64_t


cdef inline bint is_inside(int64_t start, int64_t size, int64_t total) noexcept nogil:
    """Whether ``size`` places from ``start`` on lie within ``total``."""
    return start >= 0 and size >= 0 and start <= total and size <= total - start


cdef inline int invalid_data(
    const char* structure, int64_t place, const char* reason
) except -1 nogil:
    """Raise InvalidDataError: what is to be written does not fit together."""
    with gil:
        from pymosaic.errors import InvalidDataError
        raise InvalidDataError(f"{structure.decode()}: {reason.decode()} (at {place})")
