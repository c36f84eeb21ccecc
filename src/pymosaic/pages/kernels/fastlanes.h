/* Bit packing in FastLanes order, 1,024 values of T bits at a time.

   There are L = 1024 / T lanes. Packed word w of lane l stands at w * L + l; row r of a lane is the
   element order[r / 8] * 16 + (r % 8) * 128 + l. Both sides are thus contiguous over the lanes, and
   the inner loops vectorise. */
#ifndef PYMOSAIC_FASTLANES_H
#define PYMOSAIC_FASTLANES_H

#include <stdint.h>
#include <string.h>

static const int fastlanes_order[8] = {0, 4, 2, 6, 1, 5, 3, 7};

#define DEFINE_FASTLANES(T)                                                                       \
    static inline void unpack_group##T(uint##T##_t *restrict out, const uint8_t *restrict packed, \
                                       int width) {                                               \
        enum { LANES = 1024 / T };                                                                \
        const uint##T##_t mask = width == T ? (uint##T##_t)~(uint##T##_t)0                        \
                                            : (uint##T##_t)(((uint64_t)1 << (width & 63)) - 1);   \
        if (width == 0) { memset(out, 0, 1024 * (T / 8)); return; }                               \
        for (int r = 0; r < T; r++) {                                                             \
            int bit = r * width, word = bit / T, shift = bit % T;                                 \
            uint##T##_t *target = out + fastlanes_order[r / 8] * 16 + (r % 8) * 128;              \
            uint##T##_t low[LANES], high[LANES];                                                  \
            memcpy(low, packed + (size_t)word * 128, 128);                                        \
            if (shift + width <= T) {                                                             \
                for (int l = 0; l < LANES; l++)                                                   \
                    target[l] = (uint##T##_t)((uint##T##_t)(low[l] >> shift) & mask);             \
            } else {                                                                              \
                memcpy(high, packed + (size_t)(word + 1) * 128, 128);                             \
                for (int l = 0; l < LANES; l++)                                                   \
                    target[l] = (uint##T##_t)(((uint##T##_t)(low[l] >> shift) |                   \
                                               (uint##T##_t)(high[l] << (T - shift))) & mask);    \
            }                                                                                     \
        }                                                                                         \
    }                                                                                             \
    /* bits of a value above `width` must be clear */                                             \
    static inline void pack_group##T(uint8_t *restrict packed, const uint##T##_t *restrict in,    \
                                     int width) {                                                 \
        enum { LANES = 1024 / T };                                                                \
        uint##T##_t word[LANES];                                                                  \
        if (width == 0) return;                                                                   \
        memset(word, 0, sizeof word);                                                             \
        for (int r = 0; r < T; r++) {                                                             \
            int bit = r * width, shift = bit % T;                                                 \
            const uint##T##_t *source = in + fastlanes_order[r / 8] * 16 + (r % 8) * 128;         \
            for (int l = 0; l < LANES; l++)                                                       \
                word[l] = (uint##T##_t)(word[l] | (uint##T##_t)(source[l] << shift));             \
            if (shift + width >= T) {                                                             \
                memcpy(packed + (size_t)(bit / T) * 128, word, 128);                              \
                int taken = T - shift;                                                            \
                for (int l = 0; l < LANES; l++)                                                   \
                    word[l] = taken == T ? 0 : (uint##T##_t)(source[l] >> (taken & (T - 1)));     \
            }                                                                                     \
        }                                                                                         \
    }                                                                                             \
    static inline int width_of##T(const uint##T##_t *in, int64_t count) {                         \
        uint##T##_t seen = 0;                                                                     \
        for (int64_t i = 0; i < count; i++) seen |= in[i];                                        \
        return seen ? 64 - __builtin_clzll((uint64_t)seen) : 0;                                   \
    }
DEFINE_FASTLANES(8)
DEFINE_FASTLANES(16)
DEFINE_FASTLANES(32)
DEFINE_FASTLANES(64)

static inline void unpack_group(void *out, const uint8_t *packed, int bits, int width) {
    if (bits == 8) unpack_group8((uint8_t *)out, packed, width);
    else if (bits == 16) unpack_group16((uint16_t *)out, packed, width);
    else if (bits == 32) unpack_group32((uint32_t *)out, packed, width);
    else unpack_group64((uint64_t *)out, packed, width);
}
static inline void pack_group(uint8_t *packed, const void *in, int bits, int width) {
    if (bits == 8) pack_group8(packed, (const uint8_t *)in, width);
    else if (bits == 16) pack_group16(packed, (const uint16_t *)in, width);
    else if (bits == 32) pack_group32(packed, (const uint32_t *)in, width);
    else pack_group64(packed, (const uint64_t *)in, width);
}
static inline int width_of(const void *in, int bits, int64_t count) {
    if (bits == 8) return width_of8((const uint8_t *)in, count);
    if (bits == 16) return width_of16((const uint16_t *)in, count);
    if (bits == 32) return width_of32((const uint32_t *)in, count);
    return width_of64((const uint64_t *)in, count);
}
#endif
