// The blocks of an exported header; `c.py` chooses and joins them.
//
// A line "//// name" begins a block, and other lines that begin with // are notes.
// Placeholders: $name, the prefix; $real, the type of features, scores and log-odds;
// $d, $k and $p, the numbers of features, classes and rules.

//// comment
$name: a linear classifier of $d features into $k classes,
written by heterolda $version.

$origin

int ${name}_predict(const $real *x)
    returns the place of the class in ${name}_classes.
    It is -1 if a score is not finite, because a feature is NaN, infinite
    or far too large; -ffast-math would take that away.

Features, x[0] to x[$last]:

//// begin
#ifndef HETEROLDA_${name}_H
#define HETEROLDA_${name}_H

#include <stdint.h>

//// begin-transformed
#include <math.h>

//// begin-exact
// Sums run from left to right without fused operations, in the order of
// `kernels.ordered_scores`; so the two give the same double. Compilers would fuse.
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
// The curve of the posterior; with numbers in place of limits that are infinite.
static inline $real ${name}_log_odds($real s, int rule)
{
    /* Bend; then for scores that are not positive and for others: offset, slope, limit,
       and what log-odds grow by each time that a score beyond the limit doubles. */
    const $real *it = ${name}_posterior[rule] + (s > 0 ? 4 : 0);
    $real size = s > 0 ? s : -s, limit = it[3], t = size < limit ? s : s > 0 ? limit : -limit;
    $real odds = t * (${name}_posterior[rule][0] * t + it[2]), growth = 0;

    odds = s > 0 ? odds + it[1] : it[1] - odds;
    if (size > limit) {
        for (; size - limit >= limit; limit += limit) /* ends at infinity, too */
            growth += it[4];
        odds += growth + it[4] * (size / limit - 1);
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
// Scores may not be finite: a NaN or an infinity less itself is not zero.
static inline int ${name}_$decide(const $real *x)
{
    const $real s = ${name}_score(x, 0);

    if (!(s - s == 0))
        return -1;
    return s > 0;
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
    /* Sums of votes are exact, and so are ties: the larger sum of scores decides. */
    for (i = 1; i < $k; i++)
        if (votes[i] > votes[best] || (votes[i] == votes[best] && sums[i] > sums[best]))
            best = i;
    return best;
}

//// one-vs-all
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
// As `PowerTransformation.apply` does it. Single precision rounds the center to what it
// can subtract exactly, and the shift makes up for that.
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
