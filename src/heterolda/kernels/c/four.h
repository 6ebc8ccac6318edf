/* Four numbers side by side, in registers where the compiler has a type for that.

   Compilers do not find this by themselves in short loops with several sums. Both forms
   give the same numbers. */
#ifndef HETEROLDA_FOUR_H
#define HETEROLDA_FOUR_H

#include "portable.h"

#include <stdint.h>
#include <string.h>

#if defined(__GNUC__) && !defined(HETEROLDA_PLAIN)
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wpsabi" /* nothing of this is called from elsewhere */
#endif

typedef double Four __attribute__((vector_size(32)));
typedef uint64_t FourBits __attribute__((vector_size(32)));

INLINE Four four(double x)
{
    return (Four){x, x, x, x};
}

INLINE Four of_four(double a, double b, double c, double d)
{
    return (Four){a, b, c, d};
}

INLINE Four add(Four a, Four b)
{
    return a + b;
}

INLINE Four subtract(Four a, Four b)
{
    return a - b;
}

INLINE Four times(Four a, Four b)
{
    return a * b;
}

INLINE Four over(Four a, Four b)
{
    return a / b;
}

INLINE Four scaled(double factor, Four a)
{
    return factor * a;
}

INLINE Four shifted(Four a, double by)
{
    return a + by;
}

INLINE Four if_greater(Four a, Four b, Four yes, Four no)
{
    FourBits greater = (FourBits)(a > b);
    return (Four)((greater & (FourBits)yes) | (~greater & (FourBits)no));
}

/* 2^k from 2^52 + 2^51 + k, for whole k from -1022 to 1023. */
INLINE Four power_of_two(Four shifted)
{
    return (Four)(((FourBits)shifted + 1023) << 52);
}

/* How often one doubles to reach x >= 1, linear between powers of two. */
INLINE Four doublings(Four x)
{
    const uint64_t whole = 0x4330000000000000, one = 0x3ff0000000000000; /* 2^52 and 1 */
    FourBits bits = (FourBits)x;
    Four exponent = (Four)((bits >> 52) | whole), mantissa = (Four)(bits << 12 >> 12 | one);
    return (exponent - (4503599627370496.0 + 1023)) + (mantissa - 1.0);
}

#else

typedef struct {
    double x[4];
} Four;

#define EACH(value)                 \
    Four result;                    \
    for (int i = 0; i < 4; i++)     \
        result.x[i] = (value);      \
    return result

INLINE Four four(double x)
{
    EACH(x);
}

INLINE Four of_four(double a, double b, double c, double d)
{
    Four result = {{a, b, c, d}};
    return result;
}

INLINE Four add(Four a, Four b)
{
    EACH(a.x[i] + b.x[i]);
}

INLINE Four subtract(Four a, Four b)
{
    EACH(a.x[i] - b.x[i]);
}

INLINE Four times(Four a, Four b)
{
    EACH(a.x[i] * b.x[i]);
}

INLINE Four over(Four a, Four b)
{
    EACH(a.x[i] / b.x[i]);
}

INLINE Four scaled(double factor, Four a)
{
    EACH(factor * a.x[i]);
}

INLINE Four shifted(Four a, double by)
{
    EACH(a.x[i] + by);
}

INLINE Four if_greater(Four a, Four b, Four yes, Four no)
{
    EACH(a.x[i] > b.x[i] ? yes.x[i] : no.x[i]);
}

INLINE Four power_of_two(Four shifted)
{
    uint64_t bits[4];
    memcpy(bits, &shifted, sizeof bits);
    for (int i = 0; i < 4; i++)
        bits[i] = (bits[i] + 1023) << 52;
    memcpy(&shifted, bits, sizeof bits);
    return shifted;
}

INLINE Four doublings(Four x)
{
    uint64_t bits[4], mantissa[4];
    memcpy(bits, &x, sizeof bits);
    for (int i = 0; i < 4; i++)
        mantissa[i] = bits[i] << 12 >> 12 | 0x3ff0000000000000;
    memcpy(&x, mantissa, sizeof mantissa);
    EACH((double)((int64_t)(bits[i] >> 52) - 1023) + (x.x[i] - 1.0));
}
#undef EACH
#endif

INLINE Four load(const double *at)
{
    Four a;
    memcpy(&a, at, sizeof a);
    return a;
}

INLINE void store(Four a, double *at)
{
    memcpy(at, &a, sizeof a);
}

INLINE Four larger(Four a, Four b)
{
    return if_greater(a, b, a, b);
}

INLINE Four smaller(Four a, Four b)
{
    return if_greater(a, b, b, a);
}

#endif
