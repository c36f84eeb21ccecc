"""How column names are written: front coding, with byte pair encoding where that is smaller."""

from libc.stdint cimport int64_t, uint8_t

from pymosaic.kernels.catalog cimport Catalog


cdef class EncodedNames:
    cdef:
        Catalog catalog      # keeps the raw names alive
        uint8_t* work        # names as BPE symbols, each at its raw offset
        const uint8_t* blob  # the names to write: raw or symbols
        int64_t* offsets
        int64_t* lengths
        int64_t* shared      # bytes shared with the name before
        uint8_t rules[256]
        int64_t num_rules    # 0: front coding only


cdef EncodedNames encode_names(Catalog catalog)
