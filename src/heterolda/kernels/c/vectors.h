/* Vector operations, with results that do not depend on the width of registers.

   Include this header last. */
#ifndef HETEROLDA_VECTORS_H
#define HETEROLDA_VECTORS_H

#include "portable.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* Without this, a choice between two numbers is a branch, because evaluating both might
   raise a floating-point trap. No result depends on it. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-trapping-math")
#endif

/* Sums */

#define LANES 8 /* partial sums, or rows; the compiler may not reorder a single sum */
#define STEP 4 /* lines processed at a time */

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

/* Add multiples of n lines that are `stride` numbers apart to `sums`. */
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

/* Elementary functions, without branches and calls */

/* exp(x) to about one ulp, for x from -708 to 708. */
INLINE double exp_within_range(double x)
{
    const double shift = 6755399441055744.0; /* 1.5 * 2^52: rounds to an integer */
    double t = x * 1.4426950408889634 + shift;
    double k = t - shift;
    double r = (x - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10;
    /* Series up to r^13 / 13!, with even and odd powers in parallel, which is faster. */
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

/* exp(x) for x <= 0; at least exp(-708), which is still normal. */
INLINE double exp_of_negative(double x)
{
    return exp_within_range(x < -708.0 ? -708.0 : x);
}

/* log(1 + x) for 0 <= x <= 1: twice artanh(x / (2 + x)), by its series. */
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

/* Four numbers, in vector registers if the compiler has a type for that: compilers do not
   vectorize short loops with several sums by themselves. Parts are as wide as registers
   (wider ones go through memory), and written out (a loop keeps them in memory, too). */

#define PART(k, value)         \
    {                          \
        enum { i = k };        \
        result.of[i] = (value); \
    }
#if defined(HETEROLDA_PLAIN) || !defined(__GNUC__)
typedef double Part;
typedef uint64_t Bits;
#define PARTS 4
#define ALL_PARTS(value) PART(0, value) PART(1, value) PART(2, value) PART(3, value)
#define OF_FOUR(a, b, c, d) {{a, b, c, d}}
#define GREATER(a, b) (0 - (uint64_t)((a) > (b)))
#else
#if defined(__x86_64__)
#define PARTS 1
#define ALL_PARTS(value) PART(0, value)
#define OF_FOUR(a, b, c, d) {{{a, b, c, d}}}
#else
#define PARTS 2
#define ALL_PARTS(value) PART(0, value) PART(1, value)
#define OF_FOUR(a, b, c, d) {{{a, b}, {c, d}}}
#endif
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wpsabi" /* all of these functions are static */
#endif
typedef double Part __attribute__((vector_size(32 / PARTS)));
typedef uint64_t Bits __attribute__((vector_size(32 / PARTS)));
#define GREATER(a, b) ((Bits)((a) > (b)))
#endif

typedef struct {
    Part of[PARTS];
} Four;

/* Compute a value for each part i, and return all. */
#define EACH(value)   \
    Four result;      \
    ALL_PARTS(value)  \
    return result

INLINE Bits bits_of(Part x)
{
    Bits bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

INLINE Part of_bits(Bits bits)
{
    Part x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

INLINE Part part_at(const double *at)
{
    Part x;
    memcpy(&x, at, sizeof x);
    return x;
}

INLINE Four load(const double *at)
{
    EACH(part_at(at + i * (4 / PARTS)));
}

INLINE void store(Four a, double *at)
{
    memcpy(at, &a, sizeof a);
}

INLINE Four of_four(double a, double b, double c, double d)
{
    return (Four)OF_FOUR(a, b, c, d);
}

INLINE Four four(double x)
{
    return of_four(x, x, x, x);
}

INLINE Four add(Four a, Four b)
{
    EACH(a.of[i] + b.of[i]);
}

INLINE Four subtract(Four a, Four b)
{
    EACH(a.of[i] - b.of[i]);
}

INLINE Four times(Four a, Four b)
{
    EACH(a.of[i] * b.of[i]);
}

INLINE Four over(Four a, Four b)
{
    EACH(a.of[i] / b.of[i]);
}

INLINE Four scaled(double factor, Four a)
{
    EACH(factor * a.of[i]);
}

INLINE Four shifted(Four a, double by)
{
    EACH(a.of[i] + by);
}

INLINE Part chosen(Bits mask, Part yes, Part no)
{
    return of_bits((mask & bits_of(yes)) | (~mask & bits_of(no)));
}

INLINE Four if_greater(Four a, Four b, Four yes, Four no)
{
    EACH(chosen(GREATER(a.of[i], b.of[i]), yes.of[i], no.of[i]));
}

/* log2 of x >= 1, interpolated linearly between powers of two. */
INLINE Part part_doublings(Part x)
{
    const uint64_t whole = 0x4330000000000000, one = 0x3ff0000000000000; /* 2^52 and 1 */
    Bits bits = bits_of(x);
    Part exponent = of_bits((bits >> 52) | whole), mantissa = of_bits(bits << 12 >> 12 | one);
    return (exponent - (4503599627370496.0 + 1023)) + (mantissa - 1.0);
}

INLINE Four doublings(Four x)
{
    EACH(part_doublings(x.of[i]));
}

#undef EACH
#undef ALL_PARTS
#undef PART

INLINE Four larger(Four a, Four b)
{
    return if_greater(a, b, a, b);
}

INLINE Four smaller(Four a, Four b)
{
    return if_greater(a, b, b, a);
}

/* Scores of several rows by linear rules in parallel; see ordered_scores.py.

   The rows of a tile are in lanes: x[k * LANES + r] is feature k of row r. Each sum runs
   over the features from left to right, so a score depends only on its row and its
   rule. */

#define GROUP 4 /* rules evaluated at once */
/* Scores are clipped to this size, so that sums of them do not overflow. */
#define LARGEST_SCORE 1e300
#define ROOM 1e8 /* a score times this is finite */

typedef struct {
    const double *coef, *intercept; /* of shape (n_rules, d) and (n_rules,) */
    int64_t d;
} Hyperplanes;

INLINE void fill_lanes(const double *RESTRICT X, int64_t d, const int64_t *rows,
                       double *RESTRICT x)
{
    const double *at[LANES];
    for (int r = 0; r < LANES; r++)
        at[r] = X + rows[r] * d;
    for (int64_t k = 0; k < d; k++)
        for (int r = 0; r < LANES; r += 4)
            store(of_four(at[r][k], at[r + 1][k], at[r + 2][k], at[r + 3][k]),
                  x + k * LANES + r);
}

/* Score of a row whose products overflow. */
static double huge_score(const double *x, int stride, const double *w, double intercept,
                         int64_t d)
{
    double size = 0.0, sum = 0.0;
    for (int64_t k = 0; k < d; k++)
        size = fmax(size, fabs(x[k * stride]));
    size = size > 0 ? size : 1.0;
    for (int64_t k = 0; k < d; k++)
        sum += x[k * stride] / size * w[k];
    sum = size * (sum + intercept / size);
    if (isnan(sum))
        return sum;
    return fmin(fmax(sum, -LARGEST_SCORE), LARGEST_SCORE);
}

/* Scores of a tile by four rules: two times four numbers for each rule. */
INLINE void lane_scores(Hyperplanes rules, const int64_t *which, const double *RESTRICT x,
                        Four *scores)
{
    const double *w0 = rules.coef + which[0] * rules.d;
    const double *w1 = rules.coef + which[1] * rules.d;
    const double *w2 = rules.coef + which[2] * rules.d;
    const double *w3 = rules.coef + which[3] * rules.d;
    Four s[2 * GROUP], doubt = four(0.0);
    double in_doubt[4];
    for (int i = 0; i < 2 * GROUP; i++)
        s[i] = four(0.0);
    for (int64_t k = 0; k < rules.d; k++) {
        Four low = load(x + k * LANES), high = load(x + k * LANES + 4);
        s[0] = add(s[0], scaled(w0[k], low));
        s[1] = add(s[1], scaled(w0[k], high));
        s[2] = add(s[2], scaled(w1[k], low));
        s[3] = add(s[3], scaled(w1[k], high));
        s[4] = add(s[4], scaled(w2[k], low));
        s[5] = add(s[5], scaled(w2[k], high));
        s[6] = add(s[6], scaled(w3[k], low));
        s[7] = add(s[7], scaled(w3[k], high));
    }
    for (int i = 0; i < 2 * GROUP; i++) {
        scores[i] = shifted(s[i], rules.intercept[which[i / 2]]);
        /* Zero, or NaN if a score is infinite, NaN or too large. */
        Four large = scaled(ROOM, scores[i]);
        doubt = add(doubt, subtract(large, large));
    }
    store(doubt, in_doubt);
    if (!isnan(in_doubt[0] + in_doubt[1] + in_doubt[2] + in_doubt[3]))
        return;
    for (int i = 0; i < 2 * GROUP; i++) {
        double part[4], intercept = rules.intercept[which[i / 2]];
        store(scores[i], part);
        for (int r = 0; r < 4; r++)
            if (!isfinite(part[r] * ROOM))
                part[r] = huge_score(x + i % 2 * 4 + r, LANES,
                                     rules.coef + which[i / 2] * rules.d, intercept,
                                     rules.d);
        scores[i] = load(part);
    }
}

#endif
