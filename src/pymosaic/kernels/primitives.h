/* What Cython cannot say: byte order, bit counts, atomics, 128-bit integers, UTF-8. */
#ifndef PYMOSAIC_PRIMITIVES_H
#define PYMOSAIC_PRIMITIVES_H

#include <stdint.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "pymosaic needs a little-endian machine"
#endif

static inline uint16_t load_be16(const uint8_t *p) { uint16_t v; memcpy(&v, p, 2); return __builtin_bswap16(v); }
static inline uint32_t load_be32(const uint8_t *p) { uint32_t v; memcpy(&v, p, 4); return __builtin_bswap32(v); }
static inline uint64_t load_be64(const uint8_t *p) { uint64_t v; memcpy(&v, p, 8); return __builtin_bswap64(v); }
static inline uint16_t load_le16(const uint8_t *p) { uint16_t v; memcpy(&v, p, 2); return v; }
static inline uint32_t load_le32(const uint8_t *p) { uint32_t v; memcpy(&v, p, 4); return v; }
static inline uint64_t load_le64(const uint8_t *p) { uint64_t v; memcpy(&v, p, 8); return v; }
static inline void store_be16(uint8_t *p, uint16_t v) { v = __builtin_bswap16(v); memcpy(p, &v, 2); }
static inline void store_be32(uint8_t *p, uint32_t v) { v = __builtin_bswap32(v); memcpy(p, &v, 4); }
static inline void store_be64(uint8_t *p, uint64_t v) { v = __builtin_bswap64(v); memcpy(p, &v, 8); }

/* the C library's functions may not be given NULL, even for no bytes */
static inline void copy_bytes(void *out, const void *in, size_t n) { if (n) memcpy(out, in, n); }
static inline void clear_bytes(void *out, size_t n) { if (n) memset(out, 0, n); }
static inline int compare_memory(const void *a, const void *b, size_t n) { return n ? memcmp(a, b, n) : 0; }

/* With the address sanitizer, gaps between the buffers of an arena are out of bounds. */
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define guard_bytes(start, size) ASAN_POISON_MEMORY_REGION(start, size)
#define unguard_bytes(start, size) ASAN_UNPOISON_MEMORY_REGION(start, size)
#else
#define guard_bytes(start, size) ((void)0)
#define unguard_bytes(start, size) ((void)0)
#endif

/* Memory for arenas. Large pieces are mapped in huge pages where the system has them: touching
   fresh 4 KiB pages one by one can cost more than decoding what goes into them. Standard pieces
   are kept for the next arena, a few of them, in slots that are taken and filled atomically.
   *mapped is what free_piece must be told; *dirty tells that the memory was used before.
   With new_memory_fill, for tests, new memory looks as if it had been: it holds that byte. */
#define HUGE_PAGE ((size_t)2 << 20)
#define STANDARD_PIECE ((size_t)4 << 20)
#define KEPT_PIECES 32
static void *kept_pieces[KEPT_PIECES];
static int new_memory_fill = -1;

static inline void *map_piece(size_t wanted) {
    uint8_t *start = (uint8_t *)mmap(NULL, wanted + HUGE_PAGE, PROT_READ | PROT_WRITE,
                                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if ((void *)start == MAP_FAILED) return NULL;
    size_t head = (HUGE_PAGE - ((size_t)start & (HUGE_PAGE - 1))) & (HUGE_PAGE - 1);
    if (head) munmap(start, head);
    munmap(start + head + wanted, HUGE_PAGE - head);
#ifdef MADV_HUGEPAGE
    madvise(start + head, wanted, MADV_HUGEPAGE);
#endif
    return start + head;
}
static inline void *allocate_filled_piece(size_t size, size_t *mapped, int fill) {
    if (size > SIZE_MAX - 2 * HUGE_PAGE) return NULL;
    *mapped = size < HUGE_PAGE ? 0 : (size + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
    void *piece = *mapped ? map_piece(*mapped) : malloc(size);
    if (piece) memset(piece, fill, size);
    return piece;
}
static inline void *allocate_piece(size_t size, size_t *mapped, int *dirty) {
    int fill = __atomic_load_n(&new_memory_fill, __ATOMIC_RELAXED);
    *mapped = 0;
    *dirty = fill >= 0;
    if (fill >= 0) return allocate_filled_piece(size, mapped, fill);
    if (size < HUGE_PAGE) return calloc(1, size);
    if (size > SIZE_MAX - 2 * HUGE_PAGE) return NULL;
    if (size == STANDARD_PIECE)
        for (int i = 0; i < KEPT_PIECES; i++) {
            void *piece = __atomic_exchange_n(&kept_pieces[i], NULL, __ATOMIC_ACQ_REL);
            if (piece) { *mapped = size; *dirty = 1; return piece; }
        }
    *mapped = (size + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
    return map_piece(*mapped);
}
static inline void free_piece(void *memory, size_t mapped) {
    if (!mapped) { free(memory); return; }
    if (mapped == STANDARD_PIECE)
        for (int i = 0; i < KEPT_PIECES; i++) {
            void *empty = NULL;
            if (__atomic_compare_exchange_n(&kept_pieces[i], &empty, memory, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) return;
        }
    munmap(memory, mapped);
}

/* n bytes to a place with 16 bytes to spare; short strings in one step where the source allows */
static inline void copy_string(uint8_t *out, const uint8_t *in, size_t n, const uint8_t *in_end) {
    if (n <= 16 && in_end - in >= 16) memcpy(out, in, 16);
    else if (n) memcpy(out, in, n);
}
/* n bytes in steps of 16, which may read and write up to 15 more; what lies behind may be overwritten */
static inline void copy_rounded(uint8_t *out, const uint8_t *in, size_t n) {
    for (size_t i = 0; i < n; i += 16) {
        /* by way of a register: what is read may overlap with what is written */
        uint8_t piece[16];
        memcpy(piece, in + i, 16);
        memcpy(out + i, piece, 16);
    }
}
/* step over count strings with varint lengths; the new position, or -1 where the data ends early */
static inline int64_t walk_strings(const uint8_t *data, int64_t position, int64_t size, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        if (position >= size) return -1;
        uint64_t length = data[position++];
        if (length >= 0x80) {
            length &= 0x7F;
            int shift = 7;
            for (;;) {
                if (position >= size || shift > 28) return -1;
                uint8_t byte = data[position++];
                length |= (uint64_t)(byte & 0x7F) << shift;
                shift += 7;
                if (byte < 0x80) break;
            }
            if (length >> 32) return -1;
        }
        position += (int64_t)length;
    }
    return position <= size ? position : -1;
}

/* count values of the width, byte order reversed; the plain loops vectorise */
static inline void swap_copy2(uint8_t *out, const uint8_t *in, size_t count) {
    for (size_t i = 0; i < count; i++) { uint16_t v; memcpy(&v, in + 2 * i, 2); v = __builtin_bswap16(v); memcpy(out + 2 * i, &v, 2); }
}
static inline void swap_copy4(uint8_t *out, const uint8_t *in, size_t count) {
    for (size_t i = 0; i < count; i++) { uint32_t v; memcpy(&v, in + 4 * i, 4); v = __builtin_bswap32(v); memcpy(out + 4 * i, &v, 4); }
}
static inline void swap_copy8(uint8_t *out, const uint8_t *in, size_t count) {
    for (size_t i = 0; i < count; i++) { uint64_t v; memcpy(&v, in + 8 * i, 8); v = __builtin_bswap64(v); memcpy(out + 8 * i, &v, 8); }
}

/* The loops over nulls do the same work for every row and let its bit decide only how far they
   step: a branch would be mispredicted for every other row of a sparse column. */

/* the values whose bit in `validity` (from bit `offset`) is set, byte order reversed; `out` has
   room for one value more than there are */
#define DEFINE_COMPACT(name, type, swap)                                                          \
    static inline void name(uint8_t *out, const uint8_t *in, const uint8_t *validity,             \
                            int64_t offset, int64_t count) {                                      \
        for (int64_t i = 0; i < count; i++) {                                                     \
            type v; memcpy(&v, in + sizeof(type) * i, sizeof(type));                              \
            v = swap(v); memcpy(out, &v, sizeof(type));                                           \
            int64_t bit = offset + i;                                                             \
            out += sizeof(type) * ((validity[bit >> 3] >> (bit & 7)) & 1);                        \
        }                                                                                         \
    }
#define SAME_BYTE(v) (v)
DEFINE_COMPACT(compact1, uint8_t, SAME_BYTE)
DEFINE_COMPACT(compact2, uint16_t, __builtin_bswap16)
DEFINE_COMPACT(compact4, uint32_t, __builtin_bswap32)
DEFINE_COMPACT(compact8, uint64_t, __builtin_bswap64)

/* move `dense` values at the start to the rows whose bit in `nulls` is clear, clear the others */
#define DEFINE_SPREAD(name, type)                                                                 \
    static inline void name(type *values, const uint8_t *nulls, int64_t rows, int64_t dense) {    \
        int64_t row = rows;                                                                       \
        while (dense > 0 && row > dense) {                                                        \
            row--;                                                                                \
            type keep = (type)(((nulls[row >> 3] >> (row & 7)) & 1) - 1);                         \
            values[row] = values[dense - 1] & keep;                                               \
            dense += (int64_t)(keep & 1) * -1;                                                    \
        }                                                                                         \
        if (dense == 0) memset(values, 0, sizeof(type) * (size_t)row);                            \
    }
DEFINE_SPREAD(spread1, uint8_t)
DEFINE_SPREAD(spread2, uint16_t)
DEFINE_SPREAD(spread4, uint32_t)
DEFINE_SPREAD(spread8, uint64_t)
DEFINE_SPREAD(spread16, unsigned __int128)

/* set bits among the first `bits` bits, least significant bit first */
static inline int64_t count_bits(const uint8_t *p, int64_t bits) {
    int64_t total = 0, bytes = bits >> 3, i = 0;
    for (; i + 8 <= bytes; i += 8) { uint64_t v; memcpy(&v, p + i, 8); total += __builtin_popcountll(v); }
    for (; i < bytes; i++) total += __builtin_popcount(p[i]);
    if (bits & 7) total += __builtin_popcount(p[bytes] & ((1u << (bits & 7)) - 1));
    return total;
}
static inline int bit_at(const uint8_t *p, int64_t i) { return (p[i >> 3] >> (i & 7)) & 1; }
static inline void set_bit(uint8_t *p, int64_t i) { p[i >> 3] |= (uint8_t)(1u << (i & 7)); }

static inline int64_t atomic_add_i64(int64_t *p, int64_t v) { return __atomic_add_fetch(p, v, __ATOMIC_ACQ_REL); }

static inline int is_ascii(const uint8_t *p, size_t n) {
    uint64_t seen = 0; size_t i = 0;
    for (; i + 8 <= n; i += 8) { uint64_t v; memcpy(&v, p + i, 8); seen |= v; }
    for (; i < n; i++) seen |= p[i];
    return (seen & 0x8080808080808080ULL) == 0;
}

/* strict UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF */
static inline int is_utf8(const uint8_t *p, size_t n) {
    size_t i = 0;
    while (i < n) {
        uint8_t a = p[i];
        if (a < 0x80) { i++; continue; }
        if (a < 0xC2) return 0;
        if (a < 0xE0) {
            if (n - i < 2 || (p[i+1] & 0xC0) != 0x80) return 0;
            i += 2;
        } else if (a < 0xF0) {
            if (n - i < 3 || (p[i+1] & 0xC0) != 0x80 || (p[i+2] & 0xC0) != 0x80) return 0;
            if (a == 0xE0 && p[i+1] < 0xA0) return 0;
            if (a == 0xED && p[i+1] >= 0xA0) return 0;
            i += 3;
        } else if (a < 0xF5) {
            if (n - i < 4 || (p[i+1] & 0xC0) != 0x80 || (p[i+2] & 0xC0) != 0x80 || (p[i+3] & 0xC0) != 0x80) return 0;
            if (a == 0xF0 && p[i+1] < 0x90) return 0;
            if (a == 0xF4 && p[i+1] >= 0x90) return 0;
            i += 4;
        } else return 0;
    }
    return 1;
}

/* 128-bit decimals: |value| < 10**precision */
static inline int decimal_fits(__int128 value, int precision) {
    unsigned __int128 limit = 1, magnitude = value < 0 ? -(unsigned __int128)value : (unsigned __int128)value;
    for (int i = 0; i < precision; i++) limit *= 10;
    return magnitude < limit;
}
/* sign-extend 0..16 big-endian bytes into 16 little-endian bytes; 0 if beyond the precision */
static inline int decimal_from_be(uint8_t *out, const uint8_t *in, size_t n, int precision) {
    unsigned __int128 v = (n && (in[0] & 0x80)) ? ~(unsigned __int128)0 : 0;
    for (size_t i = 0; i < n; i++) v = (v << 8) | in[i];
    __int128 s = (__int128)v;
    memcpy(out, &s, 16);
    return decimal_fits(s, precision);
}
static inline int decimal_from_i64(uint8_t *out, int64_t value, int precision) {
    __int128 s = value;
    memcpy(out, &s, 16);
    return decimal_fits(s, precision);
}
/* a signed decimal of 4, 8, 16 or 32 little-endian bytes as 16; 0 if it does not fit them */
static inline int decimal_load(uint8_t *out, const uint8_t *in, int64_t width) {
    uint8_t sign = (in[width - 1] & 0x80) ? 0xFF : 0x00;
    for (int64_t i = 16; i < width; i++) if (in[i] != sign) return 0;
    if (width > 16) { if ((in[15] & 0x80) != (sign & 0x80)) return 0; width = 16; }
    memset(out, sign, 16);
    memcpy(out, in, width);
    return 1;
}
static inline int decimal_fits16(const uint8_t *in16, int precision) {
    __int128 v; memcpy(&v, in16, 16);
    return decimal_fits(v, precision);
}
/* minimal two's complement, big-endian; returns its length 1..16, or 0 if beyond the precision */
static inline int decimal_to_be(uint8_t *out, const uint8_t *in16, int precision) {
    __int128 v; memcpy(&v, in16, 16);
    if (!decimal_fits(v, precision)) return 0;
    uint8_t be[16];
    for (int i = 0; i < 16; i++) be[i] = in16[15 - i];
    int start = 0;
    uint8_t sign = (be[0] & 0x80) ? 0xFF : 0x00;
    while (start < 15 && be[start] == sign && (be[start + 1] & 0x80) == (sign & 0x80)) start++;
    memcpy(out, be + start, 16 - start);
    return 16 - start;
}
/* milliseconds and nanoseconds of the millisecond -> nanoseconds; 0 on overflow */
static inline int join_nanos(int64_t millis, int32_t nanos, int64_t *out) {
    __int128 v = (__int128)millis * 1000000 + nanos;
    if (v > INT64_MAX || v < INT64_MIN) return 0;
    *out = (int64_t)v;
    return 1;
}
static inline float half_to_float(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = (h >> 10) & 31, fraction = h & 0x3FF, bits;
    if (exponent == 31) bits = sign | 0x7F800000u | (fraction << 13);
    else if (exponent) bits = sign | ((exponent + 112) << 23) | (fraction << 13);
    else if (!fraction) bits = sign;
    else {
        exponent = 113;
        while (!(fraction & 0x400)) { fraction <<= 1; exponent--; }
        bits = sign | (exponent << 23) | ((fraction & 0x3FF) << 13);
    }
    float f; memcpy(&f, &bits, 4);
    return f;
}
/* The half-precision number with exactly this value; 0 if there is none. */
static inline int half_from_float(const float *p, uint16_t *out) {
    uint32_t bits; memcpy(&bits, p, 4);
    uint32_t sign = (bits >> 16) & 0x8000, rest = bits & 0x7FFFFFFFu, exponent = rest >> 23, lost, half;
    if (exponent >= 113 && rest < 0x47800000u) { half = (rest - 0x38000000u) >> 13; lost = rest & 0x1FFF; }
    else if (exponent == 255) { half = 0x7C00 | ((rest & 0x7FFFFF) >> 13); lost = rest & 0x1FFF; }
    else if (exponent >= 103 && exponent < 113) {
        uint32_t fraction = (rest & 0x7FFFFF) | 0x800000, shift = 126 - exponent;
        half = fraction >> shift; lost = fraction & ((1u << shift) - 1);
    } else { half = 0; lost = rest; }
    *out = (uint16_t)(sign | half);
    return lost == 0;
}
#endif
