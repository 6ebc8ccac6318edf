/* Sums and elementary functions that compilers turn into wide instructions: without
   branches and calls, and the same to the last bit whatever the width. */
#ifndef HETEROLDA_ELEMENTARY_H
#define HETEROLDA_ELEMENTARY_H

#include "portable.h"

#include <stdint.h>
#include <string.h>

/* Without this a choice between two numbers is a branch, because one that is not taken
   might raise a floating-point trap. No result depends on it. Include this header last. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-trapping-math")
#endif

#define LANES 8 /* partial sums; the compiler must not reorder a single one */

INLINE double dot(const double *RESTRICT a, const double *RESTRICT b, int64_t n)
{
    double sum[LANES] = {0};
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int l = 0; l < LANES; l++)
            sum[l] += a[i + l] * b[i + l];
    for (int l = 0; i < n; i++, l++)
        sum[l] += a[i] * b[i];
    return ((sum[0] + sum[4]) + (sum[2] + sum[6])) +
           ((sum[1] + sum[5]) + (sum[3] + sum[7]));
}

/* exp(x) to an ulp or so, for x <= 0; at least exp(-708), the least that is normal. */
INLINE double exp_of_negative(double x)
{
    const double shift = 6755399441055744.0; /* 1.5 * 2^52: rounds to an integer */
    x = x < -708.0 ? -708.0 : x;
    double t = x * 1.4426950408889634 + shift;
    double k = t - shift;
    double r = (x - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10;
    /* The series to r^13 / 13!, even and odd powers side by side: that is faster. */
    double t2 = r * r, even = 2.0876756987868099e-09, odd = 1.6059043836821613e-10;
    even = even * t2 + 2.7557319223985891e-07;
    odd = odd * t2 + 2.5052108385441719e-08;
    even = even * t2 + 2.4801587301587302e-05;
    odd = odd * t2 + 2.7557319223985893e-06;
    even = even * t2 + 1.3888888888888889e-03;
    odd = odd * t2 + 1.9841269841269841e-04;
    even = even * t2 + 4.1666666666666667e-02;
    odd = odd * t2 + 8.3333333333333333e-03;
    even = even * t2 + 0.5;
    odd = odd * t2 + 1.6666666666666667e-01;
    double p = 1.0 + (r + t2 * (even + r * odd));
    uint64_t bits;
    memcpy(&bits, &t, 8);
    bits = (bits + 1023) << 52; /* 2^k */
    double scale;
    memcpy(&scale, &bits, 8);
    return p * scale;
}

/* log(1 + x) for 0 <= x <= 1: twice the area tangent of x / (2 + x), by its series. */
INLINE double log1p_of_share(double x)
{
    double s = x / (2.0 + x), t = s * s, t2 = t * t, even = 1.0 / 31, odd = 1.0 / 33;
    even = even * t2 + 1.0 / 27;
    odd = odd * t2 + 1.0 / 29;
    even = even * t2 + 1.0 / 23;
    odd = odd * t2 + 1.0 / 25;
    even = even * t2 + 1.0 / 19;
    odd = odd * t2 + 1.0 / 21;
    even = even * t2 + 1.0 / 15;
    odd = odd * t2 + 1.0 / 17;
    even = even * t2 + 1.0 / 11;
    odd = odd * t2 + 1.0 / 13;
    even = even * t2 + 1.0 / 7;
    odd = odd * t2 + 1.0 / 9;
    even = even * t2 + 1.0 / 3;
    odd = odd * t2 + 1.0 / 5;
    double p = even + t * odd;
    return 2.0 * (s + s * t * p);
}

#endif
