// Blocks of an exported header, which `c.py` chooses and joins.
//
// A line "//// name" starts a block; other lines that start with // are notes.
// Placeholders: $name, the prefix; $real, the type of features, scores and log-odds;
// $d, $k and $p, the numbers of features, classes and rules.

//// comment
$name: a linear classifier with $d features and $k classes,
written by heterolda $version.

$origin

int ${name}_predict(const $real *x)
    returns the index of the class in ${name}_classes,
    or -1 if a score is not finite because a feature is NaN, infinite
    or far too large. Do not compile with -ffast-math, which breaks this.

Features, x[0] to x[$last]:

//// begin
#ifndef HETEROLDA_${name}_H
#define HETEROLDA_${name}_H

#include <stdint.h>

//// begin-math
#include <math.h>

//// begin-exact
// Sums run from left to right without fused operations, like those of
// `kernels.ordered_scores`, so that both give the same double.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize ("fp-contract=off")
#elif defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

//// sizes
enum { ${name}_n_features = $d, ${name}_n_classes = $k };

//// score
// Single precision needs centers, see `rules.in_single`.
static inline $real ${name}_score(const $real *x, int rule)
{
    $real sum = 0;
    int j;

    for (j = 0; j < $d; j++)
        sum += ${name}_coef[rule][j] * $feature;
    return ${name}_offset[rule] + sum;
}

//// log-odds
// The curve of the posterior, with finite numbers in place of infinite limits.
static inline $real ${name}_log_odds($real s, int rule)
{
    /* Bend; then for scores up to zero and for positive ones: offset, slope, limit, and
       the growth of log-odds whenever a score beyond the limit doubles. */
    const $real *side = ${name}_posterior[rule] + (s > 0 ? 4 : 0);
    $real size = s > 0 ? s : -s, limit = side[3], t = size < limit ? s : s > 0 ? limit : -limit;
    $real odds = t * (${name}_posterior[rule][0] * t + side[2]), growth = 0;

    odds = s > 0 ? odds + side[1] : side[1] - odds;
    if (size > limit) {
        for (; size - limit >= limit; limit += limit) /* ends at infinity, too */
            growth += side[4];
        odds += growth + side[4] * (size / limit - 1);
    }
    if (odds > $most)
        odds = $most;
    if (odds < 0)
        odds = 0;
    if (s > 0)
        return odds < $least + $least ? $least + odds / 2 : odds;
    return -odds;
}

//// binary
// A score is finite if its difference from itself is zero.
static inline int ${name}_$decide(const $real *x)
{
    const $real s = ${name}_score(x, 0);

    if (!(s - s == 0))
        return -1;
    return s > 0;
}

//// pairs
// The sums of `kernels.coupling.couple`, which are proportional to probabilities.
static inline int ${name}_$decide(const $real *x)
{
    $real odds[$p], q[$k], sums[$k] = {0}, total = 0;
    int i, j, rule = 0, best = 0;

    for (i = 0; i < $k; i++)
        q[i] = 1;
    for (i = 0; i < $k; i++)
        for (j = i + 1; j < $k; j++, rule++) {
            const $real s = ${name}_score(x, rule);
            if (!(s - s == 0))
                return -1;
            odds[rule] = exp${suffix}(${name}_log_odds(s, rule));
            q[i] += odds[rule];
            q[j] += 1 / odds[rule];
        }
    for (i = 0; i < $k; i++)
        total += q[i] = 1 / q[i];
    for (i = 0; i < $k; i++)
        q[i] /= total;
    for (i = rule = 0; i < $k; i++)
        for (j = i + 1; j < $k; j++, rule++) {
            const $real both = q[i] + q[j], share = 1 / (1 + odds[rule]);
            sums[i] += both * share;
            sums[j] += both * (odds[rule] * share);
        }
    for (i = 1; i < $k; i++)
        if (sums[i] > sums[best])
            best = i;
    return best;
}

//// votes
static inline int ${name}_$decide(const $real *x)
{
    uint64_t votes[$k] = {0};
    $real sums[$k] = {0};
    int i, j, rule = 0, best = 0;

    for (i = 0; i < $k; i++)
        for (j = i + 1; j < $k; j++, rule++) {
            const $real s = ${name}_score(x, rule);
            if (!(s - s == 0))
                return -1;
            votes[s > 0 ? j : i] += $weight;
            sums[i] -= s;
            sums[j] += s;
        }
    /* Sums of votes are exact. The larger sum of scores breaks ties. */
    for (i = 1; i < $k; i++)
        if (votes[i] > votes[best] || (votes[i] == votes[best] && sums[i] > sums[best]))
            best = i;
    return best;
}

//// one-vs-rest
static inline int ${name}_$decide(const $real *x)
{
    $real largest = 0;
    int k, best = 0;

    for (k = 0; k < $k; k++) {
        const $real s = ${name}_score(x, k);
        const $real odds = ${name}_log_odds(s, k);
        if (!(s - s == 0))
            return -1;
        if (k == 0 || odds > largest) {
            largest = odds;
            best = k;
        }
    }
    return best;
}

//// transformed
// Like `PowerTransformation.apply`. In single precision the center is rounded, and the
// shift corrects for that.
static inline $real ${name}_transformed($real x, int j)
{
    const $real u = $unit, z = u > $far ? $far : u < -$far ? -$far : u;
    const $real power = z < 0 ? 2 - ${name}_lambda[j] : ${name}_lambda[j];
    const $real size = log1p${suffix}(z < 0 ? -z : z);
    const $real t = power == 0 ? size : expm1${suffix}(power * size) / power;

    return (z < 0 ? -t : t) + (x - x); /* not finite if x is not */
}

static inline int ${name}_predict(const $real *x)
{
    $real t[$d];
    int j;

    for (j = 0; j < $d; j++)
        t[j] = ${name}_transformed(x[j], j);
    return ${name}_decide(t);
}

//// end-exact
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#elif defined(__clang__)
#pragma STDC FP_CONTRACT DEFAULT
#endif

//// end
#endif
