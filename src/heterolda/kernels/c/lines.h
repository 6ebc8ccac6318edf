/* Sums over lines of numbers, in an order that does not depend on the machine. */
#ifndef HETEROLDA_LINES_H
#define HETEROLDA_LINES_H

#include "portable.h"

#include <stdint.h>

/* Lines that are taken at a time. */
#define STEP 4

/* Add multiples of n lines, `stride` numbers apart, to `sums`. */
INLINE void add_lines(const double *x, int64_t n, const double *lines, int64_t stride,
                      int64_t width, double *RESTRICT sums)
{
    for (; n >= STEP; n -= STEP, x += STEP, lines += STEP * stride) {
        const double *RESTRICT a = lines, *RESTRICT b = a + stride,
                     *RESTRICT c = b + stride, *RESTRICT e = c + stride;
        double x0 = x[0], x1 = x[1], x2 = x[2], x3 = x[3];
        for (int64_t r = 0; r < width; r++)
            sums[r] += (x0 * a[r] + x1 * b[r]) + (x2 * c[r] + x3 * e[r]);
    }
    for (; n > 0; n--, x++, lines += stride) {
        const double *RESTRICT a = lines;
        double x0 = x[0];
        for (int64_t r = 0; r < width; r++)
            sums[r] += x0 * a[r];
    }
}

/* Sum of products. */
INLINE double dot(const double *x, const double *a, int64_t d)
{
    int64_t whole = d - d % STEP;
    double p[STEP] = {0.0}, rest = 0.0;
    for (int64_t i = 0; i < whole; i += STEP)
        for (int k = 0; k < STEP; k++)
            p[k] += x[i + k] * a[i + k];
    for (int64_t i = whole; i < d; i++)
        rest += x[i] * a[i];
    return (p[0] + p[2]) + (p[1] + p[3]) + rest;
}

#endif
