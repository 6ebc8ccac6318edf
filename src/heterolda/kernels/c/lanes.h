/* Scores of linear rules, of several rows side by side; see ordered_scores.py.

   The rows of a tile lie in lanes: x[k * LANES + r] is feature k of row r. Each sum runs
   over the features from left to right, whatever rows and rules are beside it, so a
   score depends on its row and its rule only. */
#ifndef HETEROLDA_LANES_H
#define HETEROLDA_LANES_H

#include "four.h"

#include <math.h>

#define LANES 8
#define GROUP 4 /* rules that are evaluated at once */
/* Scores are kept near or below this, so that sums of them do not overflow. */
#define LARGEST_SCORE 1e300
#define ROOM 1e8 /* a score times this is finite */

typedef struct {
    const double *coef, *intercept; /* of shape (n_rules, d) and (n_rules,) */
    int64_t d;
} Rules;

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

/* A score that is too large to be computed like others. */
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
INLINE void lane_scores(Rules rules, const int64_t *which, const double *RESTRICT x,
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
        /* Zero, or NaN if a score is not finite, or nearly so. */
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
