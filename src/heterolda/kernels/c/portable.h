/* Differences between compilers. */
#ifndef HETEROLDA_PORTABLE_H
#define HETEROLDA_PORTABLE_H

/* Loops that gain from wide registers are compiled twice, and the faster form is chosen
   when the extension is loaded. Both give equal results: nothing is reordered, and
   products are never fused with sums (see setup.py). */
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && \
    defined(__GLIBC__) && !defined(HETEROLDA_PLAIN)
#define WIDE __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define WIDE
#endif

#if defined(_MSC_VER)
#define INLINE static __forceinline
#define RESTRICT __restrict
#else
#define INLINE static inline __attribute__((always_inline))
#define RESTRICT restrict
#endif

#endif
