// Tells libFuzzer which branches of the kernels were taken, and what they compared.
//
// gcc calls __sanitizer_cov_trace_pc at every edge (-fsanitize-coverage=trace-pc), which libFuzzer
// no longer takes: it counts in tables that clang would emit. This makes such a table, with one
// counter per hash of the place that was called from. Calls for comparisons (trace-cmp) are passed
// on. Load it with RTLD_GLOBAL before the kernels; once libFuzzer is there, call tell_libfuzzer.

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

#define COUNTERS (1u << 16)

static uint8_t counters[COUNTERS];
// libFuzzer wants an address and flags for every counter; it shows them, no more.
static uintptr_t places[2 * COUNTERS];

void __sanitizer_cov_trace_pc(void) {
    uintptr_t place = (uintptr_t)__builtin_return_address(0);
    uint32_t slot = (uint32_t)((place * UINT64_C(0x9E3779B97F4A7C15)) >> 48);
    if (counters[slot] < 255) counters[slot]++;
    places[2 * slot] = place;
}

#define PASS_ON(name, type)                                       \
    static void (*pass_##name)(type, type);                       \
    void __sanitizer_cov_trace_##name(type left, type right) {    \
        if (pass_##name) pass_##name(left, right);                \
    }

PASS_ON(cmp1, uint8_t)
PASS_ON(cmp2, uint16_t)
PASS_ON(cmp4, uint32_t)
PASS_ON(cmp8, uint64_t)
PASS_ON(const_cmp1, uint8_t)
PASS_ON(const_cmp2, uint16_t)
PASS_ON(const_cmp4, uint32_t)
PASS_ON(const_cmp8, uint64_t)

static void (*pass_switch)(uint64_t, uint64_t *);
void __sanitizer_cov_trace_switch(uint64_t value, uint64_t *cases) {
    if (pass_switch) pass_switch(value, cases);
}

// libFuzzer has none for floating point.
void __sanitizer_cov_trace_cmpf(float left, float right) { (void)left, (void)right; }
void __sanitizer_cov_trace_cmpd(double left, double right) { (void)left, (void)right; }

// Returns 0 if libFuzzer is not in the library of this name, or that was not loaded.
int tell_libfuzzer(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    if (!library) return 0;
    void (*counters_init)(uint8_t *, uint8_t *);
    void (*places_init)(const uintptr_t *, const uintptr_t *);
    *(void **)&counters_init = dlsym(library, "__sanitizer_cov_8bit_counters_init");
    *(void **)&places_init = dlsym(library, "__sanitizer_cov_pcs_init");
    if (!counters_init || !places_init) return 0;
    counters_init(counters, counters + COUNTERS);
    places_init(places, places + 2 * COUNTERS);
#define FIND(name) *(void **)&pass_##name = dlsym(library, "__sanitizer_cov_trace_" #name)
    FIND(cmp1);
    FIND(cmp2);
    FIND(cmp4);
    FIND(cmp8);
    FIND(const_cmp1);
    FIND(const_cmp2);
    FIND(const_cmp4);
    FIND(const_cmp8);
    FIND(switch);
    return 1;
}
