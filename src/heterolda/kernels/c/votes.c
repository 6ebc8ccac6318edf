/* Votes of the rules between all pairs of classes; see votes.py.

   The rule of classes i < j is number i K - i (i + 1) / 2 + j - i - 1; a positive score is
   a vote for j, any other a vote for i. Sums of the weights are exact. */
#include "arguments.h"
#include "kernels.h"

#include <stdlib.h>

#include "vectors.h"

typedef struct {
    Hyperplanes rules, guess; /* rules of the pairs, and guesses of the classes */
    const double *weight, *total; /* weights of the pairs, and their sum for each class */
    int64_t n_classes;
} Committee;

/* State of a block of rows, and memory for a tile of them. */
typedef struct {
    int64_t *live;   /* rows without a winner */
    int64_t *next;   /* class to evaluate next, for each row */
    int64_t *order;  /* live rows, sorted by that class */
    int64_t *begin;  /* where the rows of each class begin in order */
    double *most;    /* most votes that each class can still get in each row */
    unsigned char *evaluated; /* whether all rules of a class were evaluated, for each row */
    double *x, *tile_most, *tile_open;
} Room;

static int64_t rule_of(int64_t a, int64_t b, int64_t n_classes)
{
    int64_t i = a < b ? a : b, j = a < b ? b : a;
    return i * n_classes - i * (i + 1) / 2 + j - i - 1;
}

/* Class with the largest guess, for each row of a tile. */
INLINE void guess_winners(Committee c, const double *x, double *likely)
{
    Four scores[2 * GROUP], best[2], classes[2];
    int64_t which[GROUP];
    for (int h = 0; h < 2; h++) {
        best[h] = four(-INFINITY);
        classes[h] = four(0.0);
    }
    for (int64_t k = 0; k < c.n_classes; k += GROUP) {
        for (int g = 0; g < GROUP; g++)
            which[g] = k + g < c.n_classes ? k + g : k;
        lane_scores(c.guess, which, x, scores);
        for (int i = 0; i < 2 * GROUP; i++) {
            Four class = four((double)which[i / 2]);
            classes[i % 2] = if_greater(scores[i], best[i % 2], class, classes[i % 2]);
            best[i % 2] = larger(scores[i], best[i % 2]);
        }
    }
    store(classes[0], likely);
    store(classes[1], likely + 4);
}

/* Evaluate all rules of a class in a tile; open is zero where they are already counted. */
INLINE void evaluate(Committee c, int64_t own, const double *x, double *most,
                     const double *open)
{
    Four scores[2 * GROUP], lost[2] = {four(0.0), four(0.0)};
    int64_t which[GROUP], others[GROUP];
    int filled = 0;
    for (int64_t k = 0; k < c.n_classes; k++) {
        if (k != own) {
            others[filled] = k;
            which[filled++] = rule_of(own, k, c.n_classes);
        }
        if (filled == 0 || (filled < GROUP && k + 1 < c.n_classes))
            continue;
        for (int g = filled; g < GROUP; g++)
            which[g] = which[0];
        lane_scores(c.rules, which, x, scores);
        for (int i = 0; i < 2 * filled; i++) {
            int64_t other = others[i / 2], at = other * LANES + i % 2 * 4;
            Four weight = scaled(c.weight[which[i / 2]], load(open + at));
            Four yes = other > own ? weight : four(0.0);
            Four loss = if_greater(scores[i], four(0.0), yes, subtract(weight, yes));
            lost[i % 2] = add(lost[i % 2], loss);
            store(subtract(load(most + at), subtract(weight, loss)), most + at);
        }
        filled = 0;
    }
    for (int h = 0; h < 2; h++) {
        double *at = most + own * LANES + h * 4;
        store(subtract(load(at), lost[h]), at);
    }
}

/* Most votes that any class but `own` can get, for each row of a tile. */
INLINE void most_of_all(const double *most, int64_t n_classes, int64_t own, double *best)
{
    Four low = four(-INFINITY), high = four(-INFINITY);
    for (int64_t k = 0; k < n_classes; k++) {
        if (k == own)
            continue;
        low = larger(load(most + k * LANES), low);
        high = larger(load(most + k * LANES + 4), high);
    }
    store(low, best);
    store(high, best + 4);
}

/* Among the classes that can get the most votes, find one to evaluate next; if all were
   evaluated, find the winner, or neither if several are tied. */
static void decide(const double *most, const unsigned char *evaluated, int64_t n_classes,
                   double best, int64_t *winner, int64_t *next)
{
    int64_t n_best = 0, leader = -1;
    *winner = *next = -1;
    for (int64_t k = 0; k < n_classes; k++) {
        if (most[k] != best)
            continue;
        if (!evaluated[k]) {
            *next = k;
            return;
        }
        n_best++;
        leader = k;
    }
    if (n_best == 1)
        *winner = leader;
}

/* Evaluate one class in a tile of m rows. Returns the number of rows without a winner. */
INLINE int64_t evaluate_tile(Committee c, Room work, const double *X, int64_t own,
                             const int64_t *members, int64_t m, int first,
                             int64_t *winners, int64_t *live)
{
    int64_t rows[LANES], K = c.n_classes, n_live = 0;
    double rivals[LANES];
    for (int64_t r = 0; r < LANES; r++)
        rows[r] = members[r < m ? r : 0];
    fill_lanes(X, c.rules.d, rows, work.x);
    for (int64_t k = 0; k < K; k++)
        for (int64_t r = 0; r < LANES; r++) {
            int64_t at = k * LANES + r, entry = rows[r] * K + k;
            work.tile_most[at] = first ? c.total[k] : work.most[entry];
            work.tile_open[at] = first ? 1.0 : !work.evaluated[entry];
        }
    evaluate(c, own, work.x, work.tile_most, work.tile_open);
    most_of_all(work.tile_most, K, own, rivals);
    for (int64_t r = 0; r < m; r++) {
        int64_t row = rows[r];
        double *most = work.most + row * K, own_votes = work.tile_most[own * LANES + r];
        unsigned char *evaluated = work.evaluated + row * K;
        winners[row] = own;
        if (own_votes > rivals[r])
            continue;
        for (int64_t k = 0; k < K; k++)
            most[k] = work.tile_most[k * LANES + r];
        if (first)
            memset(evaluated, 0, (size_t)K);
        evaluated[own] = 1;
        decide(most, evaluated, K, rivals[r], winners + row, work.next + row);
        if (work.next[row] >= 0)
            live[n_live++] = row;
    }
    return n_live;
}

WIDE static void block_winners(Committee c, Room work, const double *X, int64_t n,
                               int64_t *winners)
{
    int64_t rows[LANES], K = c.n_classes, n_live = n;
    double likely[LANES];
    for (int64_t start = 0; start < n; start += LANES) {
        int64_t m = n - start < LANES ? n - start : LANES;
        for (int64_t r = 0; r < LANES; r++)
            rows[r] = start + (r < m ? r : 0);
        fill_lanes(X, c.rules.d, rows, work.x);
        guess_winners(c, work.x, likely);
        for (int64_t r = 0; r < m; r++) {
            work.live[start + r] = start + r;
            work.next[start + r] = (int64_t)likely[r];
        }
    }
    for (int first = 1; n_live > 0; first = 0) {
        for (int64_t k = 0; k <= K; k++)
            work.begin[k] = 0;
        for (int64_t r = 0; r < n_live; r++)
            work.begin[work.next[work.live[r]] + 1]++;
        for (int64_t k = 0; k < K; k++)
            work.begin[k + 1] += work.begin[k];
        for (int64_t r = 0; r < n_live; r++)
            work.order[work.begin[work.next[work.live[r]]]++] = work.live[r];
        n_live = 0;
        for (int64_t k = 0, at = 0; k < K; k++)
            while (at < work.begin[k]) { /* now the end of class k */
                int64_t left = work.begin[k] - at, m = left < LANES ? left : LANES;
                n_live += evaluate_tile(c, work, X, k, work.order + at, m, first, winners,
                                        work.live + n_live);
                at += m;
            }
    }
}

/* Winners of all rows, -1 for ties; returns false if memory runs out. */
static bool find_winners(Committee c, const double *X, int64_t n, int64_t *winners)
{
    int64_t K = c.n_classes, d = c.rules.d;
    /* Enough rows to fill tiles with rows that evaluate the same class. */
    int64_t block = K < 16 ? 512 : K < 128 ? 32 * K : 4096;
    block = n < block ? n : block;
    int64_t *whole = malloc((size_t)(3 * block + K + 1) * sizeof(int64_t));
    double *real = malloc((size_t)(block * K + (d + 2 * K + 1) * LANES) * sizeof(double));
    unsigned char *evaluated = malloc((size_t)(block * K + 1));
    bool enough = whole != NULL && real != NULL && evaluated != NULL;
    if (enough) {
        double *x = real + block * K;
        Room work = {
            .live = whole, .next = whole + block, .order = whole + 2 * block,
            .begin = whole + 3 * block, .most = real, .evaluated = evaluated, .x = x,
            .tile_most = x + d * LANES, .tile_open = x + (d + K) * LANES,
        };
        for (int64_t start = 0; start < n; start += block) {
            int64_t m = n - start < block ? n - start : block;
            block_winners(c, work, X + start * d, m, winners + start);
        }
    }
    free(evaluated);
    free(real);
    free(whole);
    return enough;
}

static bool all_pairs(Py_ssize_t n_pairs, Py_ssize_t n_classes)
{
    if (n_classes >= 2 && n_classes <= ((Py_ssize_t)1 << 30) &&
        n_pairs == n_classes * (n_classes - 1) / 2)
        return true;
    PyErr_SetString(PyExc_ValueError, "one rule is needed for each pair of classes");
    return false;
}

PyObject *py_vote_winners(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    Argument a[] = {
        {"X", "d", "nd"},           {"coef", "d", "pd"},      {"intercept", "d", "p"},
        {"weight", "d", "p"},       {"total", "d", "k"},      {"guess_coef", "d", "kd"},
        {"guess_intercept", "d", "k"}, {"winners", "l!", "n"},
    };
    Sizes size;
    bool enough = true;
    (void)self;
    if (!take_arguments(args, n_args, a, COUNT(a), size))
        return NULL;
    if (all_pairs(SIZE('p'), SIZE('k'))) {
        Committee c = {
            .rules = {a[1].data, a[2].data, SIZE('d')},
            .guess = {a[5].data, a[6].data, SIZE('d')},
            .weight = a[3].data, .total = a[4].data, .n_classes = SIZE('k'),
        };
        Py_BEGIN_ALLOW_THREADS
        enough = find_winners(c, a[0].data, SIZE('n'), a[7].data);
        Py_END_ALLOW_THREADS
    }
    if (!enough)
        PyErr_NoMemory();
    return give_back(a, COUNT(a));
}
