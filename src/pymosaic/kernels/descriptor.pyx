# cython: language_level=3
"""A file descriptor with an owner from the moment it is there.

In: a function that opens a path, and what it is called with. Out: an object that closes the
descriptor which that returned, once.

Memory: none but the object's own. It owns the descriptor; those who read through its number keep
the object.

Safety: there is no loop and no buffer. The number is -1 until the file is open, and a negative one
is not closed.

Python runs signal handlers between its instructions. A ``KeyboardInterrupt`` between the return of
``os.open`` and the assignment, or at the first line of ``__del__``, loses a descriptor for good;
compiled code has no such moments.
"""

from posix.unistd cimport close


cdef class Descriptor:
    """The descriptor that ``opener`` returns, closed when its last user lets go.

    A ``close()`` while other threads read thus never hands them a number that now means another
    file.
    """

    cdef readonly int number

    def __cinit__(self, opener, path, int flags, int mode=0o777):
        self.number = -1
        self.number = opener(path, flags, mode)

    def __dealloc__(self):
        if self.number >= 0:
            close(self.number)
