/* Loops of Algorithm 2. See algorithm2.py for the notation.

   Terms. A block of rows keeps a reference rule ref, and for each row, with y = +-1 for
   its class, the scale c = max_i |ref_i x_i| and the terms z_i = y ref_i x_i / c, none of
   which exceeds 1. With p_i = v_i / ref_i the signed margin is M = sum_i p_i z_i, and
   v_i +- step |v_i| moves it by +- r_i z_i with |r_i| = step |p_i|. (A zero coefficient
   never moves: it has p_i = 1 and r_i = 0.) The terms are stored in single
   precision, in tiles of rows with similar |M|.

   Skipping. Let R = max |r_i|, and P the length of the path, the sum of all |changes of
   p_i| since the reference. No neighbor changes the side of a row with |M| > R, and while
   the path grows by s, |M| falls by at most s. So a tile with smallest |M| = q at
   path P' is skipped, neither moved nor evaluated, as long as P + R < P' + q.

   Rounding. Let u = 2^-53, e = 2^-24, D = sum |p_i - 1|, and L the number of moves since
   the reference. As |z_i| <= 1, sum |p_i z_i| <= S = d + 1 + D, and S + R for neighbors.

   * The canonical sum is off by at most 1.01 d u (S + R) (Higham 2002, section 4.2).
   * The margin of the reference is off by at most 1.01 (d + 4) u (d + 1). Moves add
     the rounding of the terms, at most 1.01 e times the change of p, and at most
     4 u (S + R) each for the operations: 1.01 e P + (4 L + 1.01 (d + 4)) u (S + R).
     (S may have been larger before, but by at most P, and L u P is negligible compared
     with e P.)
   * In single precision r_i z_i is off by at most 3.1 e R. The margin m is off by e |m|:
     at most 2 e R where |m| <= 2 R, and elsewhere at most 2 e (|m| - |r_i z_i|), which,
     like the rounding of the difference itself, is relative to the bounded quantity.
   * The coordinate v_i +- step |v_i| is rounded too: at most 3 u (S + R).
   * Products that underflow are off by less than 2^-1074 each, against c >= 2^-900.
     Rows with c out of range get zero margins and terms, and so are always in doubt.

   All this is less than the bound 8 e R + 1.2 e P + 4 u (d + L + 8) (S + R) of `advance`.
   So where ||m| - |r_i z_i|| exceeds it, the sign of m +- r_i z_i gives the side; all
   other rows are evaluated canonically. Tiles are skipped with R plus the bound for R. */
#include "arguments.h"
#include "kernels.h"
#include "portable.h"

#include <math.h>
#include <string.h>

/* Rows that are moved, evaluated or skipped together. */
#define TILE 128
/* Number of buckets that rows are sorted into by |M|, and buckets per step. */
#define N_BUCKETS 512
#define BUCKETS_PER_STEP 8.0
/* Margins are computed again after this many moves, so that the bound stays small. */
#define MAX_MOVES 256
/* The analysis holds for scales within these limits. */
#define SMALLEST_SCALE 0x1p-900
#define LARGEST_SCALE 0x1p900
/* Drift D beyond which the terms could overflow. */
#define LARGEST_DRIFT 1e6
/* Margin of the positions that pad the last tile. */
#define FAR_AWAY 1e30

/* Sums of weights are unsigned, because unsigned integers may wrap around. */
typedef uint64_t Weight;

typedef struct {
    const double *X;
    const uint8_t *first;
    const int64_t *weight; /* NULL if all are 1 */
    int64_t n, d;
} Rows;

INLINE Weight weight_of(const Rows *rows, int64_t j)
{
    return rows->weight ? (Weight)rows->weight[j] : 1;
}

/* The canonical side of row j: whether w.x >= w0, summed from left to right. */
INLINE bool is_first(const Rows *rows, int64_t j, const double *v)
{
    const double *x = rows->X + j * rows->d;
    double total = v[1] * x[0];
    for (int64_t k = 1; k < rows->d; k++)
        total += v[k + 1] * x[k];
    return total >= v[0];
}

/* Return whether the sum of the absolute coefficients is finite. */
static bool is_finite(const double *v, int64_t length)
{
    double size = 0;
    for (int64_t i = 0; i < length; i++)
        size += fabs(v[i]);
    return size < INFINITY;
}

/* w.x - w0 and the scale c of a row at the reference v. */
INLINE double margin_and_scale(const double *x, int64_t d, const double *v, double *c)
{
    double total = -v[0], largest = fabs(v[0]);
    for (int64_t k = 0; k < d; k++) {
        double term = v[k + 1] * x[k];
        total += term;
        largest = fabs(term) > largest ? fabs(term) : largest;
    }
    *c = largest;
    return total;
}

typedef struct {
    double until;   /* P' + q, up to which the tile is skipped */
    double nearest; /* q */
    bool has_terms;
} Tile;

/* Rows and their state at the current rule. All memory except the data is private to the
   block. Arrays of tiles have TILE entries for each tile, in the same order. */
typedef struct {
    Argument given[3];
    bool busy, ready;
    Rows data;
    int64_t n_tiles;
    int32_t *rows;    /* the last tile is padded with zeros */
    double *scales;   /* y / c */
    double *margins;  /* signed, at the rule that the tile was last moved to */
    Tile *tiles;
    double *synced;   /* that rule, as p, d + 1 for each tile */
    float *terms;     /* z, (d + 1) TILE for each tile */
    double *keys;     /* margin and y / c of each row, to sort by; overlaps terms */
    int64_t *place;   /* next free position of each bucket */
    double *reference; /* rule of the terms */
    double *trial;     /* the current rule or a neighbor */
    double *p, *ratio; /* p of the current rule, and r */
    double path;       /* P */
    int64_t moves;     /* L */
    int64_t at_first; /* rows touched by the first iteration after the reference */
    int64_t excess;   /* total number of rows that later iterations touched beyond that */
} Block;

typedef struct {
    double step, leniency;
    int64_t patience, until;
} Settings;

/* Smallest |M| in a tile. */
INLINE double nearest_of(const double *margins)
{
    /* Positive numbers have the order of their bits, and compilers can vectorize minima
       of integers. */
    int64_t low[16];
    for (int l = 0; l < 16; l++)
        low[l] = INT64_MAX;
    for (int k = 0; k < TILE; k += 16)
        for (int l = 0; l < 16; l++) {
            int64_t bits;
            memcpy(&bits, margins + k + l, 8);
            bits &= INT64_MAX;
            low[l] = bits < low[l] ? bits : low[l];
        }
    for (int l = 1; l < 16; l++)
        low[0] = low[l] < low[0] ? low[l] : low[0];
    double nearest;
    memcpy(&nearest, low, 8);
    return nearest;
}

INLINE int64_t bucket_of(double margin, double per_unit)
{
    double bucket = fabs(margin) * per_unit;
    return bucket < N_BUCKETS - 1 ? (int64_t)bucket : N_BUCKETS - 1; /* NaN: the last */
}

/* Make v the reference, and sort the rows by |M| into tiles without terms. */
static void refresh(Block *b, const double *v, double step)
{
    int64_t n = b->data.n, d = b->data.d, *place = b->place;
    double *keys = b->keys;
    double per_unit = BUCKETS_PER_STEP / step;
    bool finite = is_finite(v, d + 1);
    for (int64_t k = n; k < b->n_tiles * TILE; k++)
        b->margins[k] = FAR_AWAY;
    memset(place, 0, (N_BUCKETS + 1) * sizeof *place);
    for (int64_t j = 0; j < n; j++) {
        double c;
        double total = margin_and_scale(b->data.X + j * d, d, v, &c);
        bool in_range = finite && SMALLEST_SCALE <= c && c <= LARGEST_SCALE;
        double sign = 2.0 * (b->data.first[j] != 0) - 1.0; /* without a branch */
        keys[2 * j + 1] = in_range ? sign / c : 0.0;
        keys[2 * j] = in_range ? keys[2 * j + 1] * total : 0.0;
        place[bucket_of(keys[2 * j], per_unit) + 1]++;
    }
    for (int64_t at = 0; at < N_BUCKETS; at++)
        place[at + 1] += place[at];
    for (int64_t j = 0; j < n; j++) {
        int64_t k = place[bucket_of(keys[2 * j], per_unit)]++;
        b->rows[k] = (int32_t)j;
        b->margins[k] = keys[2 * j];
        b->scales[k] = keys[2 * j + 1];
    }
    for (int64_t t = 0; t < b->n_tiles; t++) {
        for (int64_t i = 0; i <= d; i++)
            b->synced[t * (d + 1) + i] = 1.0;
        b->tiles[t].until = b->tiles[t].nearest = nearest_of(b->margins + t * TILE);
        b->tiles[t].has_terms = false;
    }
    memcpy(b->reference, v, (size_t)(d + 1) * sizeof *v);
    for (int64_t i = 0; i <= d; i++)
        b->p[i] = 1.0;
    b->path = 0;
    b->moves = b->excess = 0;
    b->ready = true;
}

/* Terms z of the rows of a tile; zero for padding, or where c is out of range. */
INLINE void fill_tile(const Block *b, const int32_t *rows, const double *scales,
                      float *terms)
{
    int64_t d = b->data.d;
    const double *X = b->data.X, *reference = b->reference;
    for (int k = 0; k < TILE; k++)
        terms[k] = (float)(-reference[0] * scales[k]);
    /* All rows for each coordinate, so that many loads are in flight. */
    for (int64_t i = 1; i <= d; i++)
        for (int k = 0; k < TILE; k++) {
            double term = reference[i] * X[rows[k] * d + i - 1] * scales[k];
            terms[i * TILE + k] = scales[k] != 0 ? (float)term : 0.0f;
        }
}

/* Return whether any row of a tile may be within reach. */
INLINE bool may_reach(Tile *tile, const double *synced, const double *p, int64_t d,
                      double path, double reach)
{
    if (path + reach < tile->until)
        return false;
    /* If the rule has moved back, the tile can still be skipped. */
    double rest = tile->nearest;
    for (int64_t i = 0; i <= d; i++)
        rest -= fabs(p[i] - synced[i]);
    tile->until = path + rest;
    return !(reach < rest);
}

/* Update the margins of a tile to the rule of p; returns the smallest |M|. */
INLINE double move_tile(const double *p, int64_t d, double *synced,
                        double *RESTRICT margins, const float *RESTRICT terms)
{
    for (int64_t i = 0; i <= d; i++) {
        if (p[i] == synced[i])
            continue;
        double change = p[i] - synced[i];
        synced[i] = p[i];
        for (int k = 0; k < TILE; k++)
            margins[k] += change * terms[i * TILE + k];
    }
    return nearest_of(margins);
}

typedef struct {
    Weight plus, minus; /* errors of the two neighbors */
    int32_t sure;       /* rows beyond doubt */
} Count;

INLINE Count count(const float *RESTRICT margins, const float *RESTRICT terms, float r,
                   float bound)
{
    int32_t plus = 0, minus = 0, sure = 0;
    for (int k = 0; k < TILE; k++) {
        float m = margins[k], a = r * terms[k];
        plus += m + a < 0;
        minus += m - a < 0;
        sure += fabsf(fabsf(m) - fabsf(a)) > bound;
    }
    return (Count){(Weight)plus, (Weight)minus, sure};
}

INLINE Count count_weighted(const float *RESTRICT margins, const float *RESTRICT terms,
                            float r, float bound, const int64_t *RESTRICT weight)
{
    Weight plus = 0, minus = 0;
    int32_t sure = 0;
    for (int k = 0; k < TILE; k++) {
        float m = margins[k], a = r * terms[k];
        plus += (Weight)weight[k] & (0 - (Weight)(m + a < 0));
        minus += (Weight)weight[k] & (0 - (Weight)(m - a < 0));
        sure += fabsf(fabsf(m) - fabsf(a)) > bound;
    }
    return (Count){plus, minus, sure};
}

/* Count with canonical evaluation of the rows in doubt. */
static Count count_carefully(const Rows *data, const int32_t *rows, int64_t n,
                             const float *margins, const float *terms, double *trial,
                             int64_t i, double size, float r, float bound)
{
    Count neighbors = {0, 0, 0};
    double kept = trial[i];
    for (int64_t k = 0; k < n; k++) {
        int64_t j = rows[k];
        bool first = data->first[j] != 0;
        float m = margins[k], a = r * terms[k];
        bool plus = m + a < 0, minus = m - a < 0;
        if (!(fabsf(fabsf(m) - fabsf(a)) > bound)) {
            trial[i] = kept + size;
            plus = is_first(data, j, trial) != first;
            trial[i] = kept - size;
            minus = is_first(data, j, trial) != first;
        }
        neighbors.plus += plus ? weight_of(data, j) : 0;
        neighbors.minus += minus ? weight_of(data, j) : 0;
    }
    trial[i] = kept;
    return neighbors;
}

/* Add the change of the errors in a tile of n rows, for each neighbor. */
INLINE void evaluate_tile(const Block *b, const int32_t *rows, int64_t n,
                          const double *margins, const float *terms, double step,
                          float bound, int64_t *changes)
{
    float single[TILE];
    int64_t weight[TILE];
    const Rows *data = &b->data;
    int32_t sure = 0, wrong = 0;
    for (int k = 0; k < TILE; k++) {
        float m = (float)margins[k];
        single[k] = m;
        wrong += m < 0;
        sure += fabsf(m) > bound;
    }
    if (data->weight)
        for (int k = 0; k < TILE; k++)
            weight[k] = k < n ? data->weight[rows[k]] : 0;
    /* Errors of the current rule, a neighbor with step zero. */
    Weight now = (Weight)wrong;
    if (sure < TILE)
        now = count_carefully(data, rows, n, single, terms, b->trial, 0, 0.0, 0.0f, bound)
                  .plus;
    else if (data->weight)
        now = count_weighted(single, terms, 0.0f, bound, weight).plus;
    for (int64_t i = 0; i <= data->d; i++) {
        if (b->ratio[i] == 0)
            continue;
        const float *z = terms + i * TILE;
        float r = (float)b->ratio[i];
        Count neighbors = data->weight ? count_weighted(single, z, r, bound, weight)
                                       : count(single, z, r, bound);
        if (neighbors.sure < TILE)
            neighbors = count_carefully(data, rows, n, single, z, b->trial, i,
                                        step * fabs(b->trial[i]), r, bound);
        changes[2 * i] = (int64_t)((Weight)changes[2 * i] + neighbors.plus - now);
        changes[2 * i + 1] = (int64_t)((Weight)changes[2 * i + 1] + neighbors.minus - now);
    }
}

/* Compute the change of the errors for each neighbor, in tiles within reach; returns the
   number of rows of these tiles. */
WIDE int64_t find_changes(Block *b, double step, double reach, double bound,
                          int64_t *changes)
{
    int64_t d = b->data.d, touched = 0;
    memset(changes, 0, 2 * (size_t)(d + 1) * sizeof *changes);
    for (int64_t t = 0; t < b->n_tiles; t++) {
        Tile *tile = b->tiles + t;
        double *synced = b->synced + t * (d + 1), *margins = b->margins + t * TILE;
        const int32_t *rows = b->rows + t * TILE;
        if (!may_reach(tile, synced, b->p, d, b->path, reach))
            continue;
        float *terms = b->terms + t * (d + 1) * TILE;
        if (!tile->has_terms)
            fill_tile(b, rows, b->scales + t * TILE, terms);
        tile->has_terms = true;
        tile->nearest = move_tile(b->p, d, synced, margins, terms);
        tile->until = b->path + tile->nearest;
        if (tile->nearest > reach)
            continue;
        int64_t n = b->data.n - t * TILE < TILE ? b->data.n - t * TILE : TILE;
        touched += n;
        evaluate_tile(b, rows, n, margins, terms, step, (float)bound, changes);
    }
    return touched;
}

/* Add the move to v to the path. Returns R plus the bound; sets the bound and D. */
static double advance(Block *b, const double *v, double step, double *bound,
                      double *drift)
{
    double R = 0, D = 0;
    int64_t d = b->data.d;
    for (int64_t i = 0; i <= d; i++) {
        double reference = b->reference[i];
        double p = reference != 0 ? v[i] / reference : 1.0;
        b->path += fabs(p - b->p[i]);
        b->moves += v[i] != b->trial[i];
        b->trial[i] = v[i];
        b->p[i] = p;
        b->ratio[i] = reference != 0 ? step * fabs(v[i]) / reference : 0.0;
        D += fabs(p - 1);
        R = fabs(b->ratio[i]) > R ? fabs(b->ratio[i]) : R;
    }
    double single = 0x1p-24 * (8 * R + 1.2 * b->path);
    double twice = 0x1p-53 * 4 * (double)(d + b->moves + 8) * ((double)d + 1 + D + R);
    *bound = single + twice;
    *drift = D;
    return R + *bound;
}

/* Iterations, errors, fewest errors, iterations since then. */
typedef struct {
    int64_t iterations, errors, fewest, stalled;
} State;

/* Move to the first neighbor with the fewest errors, and log the move. */
static void move(double *v, const int64_t *changes, int64_t d, double step, State *state,
                 int64_t *log_errors, int64_t *log_moves)
{
    int64_t winner = 0;
    for (int64_t k = 1; k < 2 * (d + 1); k++)
        if (changes[k] < changes[winner])
            winner = k;
    int64_t i = winner / 2;
    double size = step * fabs(v[i]);
    v[i] = winner % 2 ? v[i] - size : v[i] + size;
    state->errors = (int64_t)((Weight)state->errors + (Weight)changes[winner]);
    state->stalled++;
    if (state->errors < state->fewest) {
        state->fewest = state->errors;
        state->stalled = 0;
    }
    log_errors[state->iterations] = state->errors;
    log_moves[state->iterations] = winner;
    state->iterations++;
}

/* Iterate up to iteration `until`. */
static void run(Block *b, double *v, int64_t *changes, const Settings *how,
                State *state, int64_t *log_errors, int64_t *log_moves)
{
    while (state->fewest > 0 && state->stalled < how->patience) {
        double bound, drift, reach = advance(b, v, how->step, &bound, &drift);
        bool stale = (double)b->excess > how->leniency * (double)b->data.n ||
                     b->moves >= MAX_MOVES || !(drift < LARGEST_DRIFT);
        /* A new reference at the same rule would change nothing. */
        if (!b->ready || (stale && b->moves > 0)) {
            refresh(b, v, how->step);
            reach = advance(b, v, how->step, &bound, &drift);
        }
        int64_t touched = find_changes(b, how->step, reach, bound, changes);
        if (b->moves == 0)
            b->at_first = touched;
        b->excess += touched - b->at_first;
        move(v, changes, b->data.d, how->step, state, log_errors, log_moves);
        if (state->iterations >= how->until)
            break;
    }
}

/* Python interface */

#define BLOCK "heterolda.kernels.algorithm2.block"

static void free_block(Block *b)
{
    void *owned[] = {b->rows,  b->scales,    b->margins, b->tiles, b->synced, b->terms,
                     b->place, b->reference, b->trial,   b->p,     b->ratio};
    for (size_t k = 0; k < sizeof owned / sizeof owned[0]; k++)
        PyMem_Free(owned[k]);
    Py_XDECREF(give_back(b->given, COUNT(b->given)));
    PyMem_Free(b);
}

static void destroy_block(PyObject *capsule)
{
    free_block(PyCapsule_GetPointer(capsule, BLOCK));
}

static bool rejected(bool fits, const char *what)
{
    if (!fits)
        PyErr_SetString(PyExc_ValueError, what);
    return !fits;
}

/* Allocate a block of rows, which the first iteration fills. */
PyObject *py_algorithm2_block(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    Argument table[] = {{"X", "d", "nd"}, {"first", "b", "n"}, {"weight", "l", "n?"}};
    Sizes size;
    (void)self;
    Block *b = PyMem_Calloc(1, sizeof *b);
    if (!b)
        return PyErr_NoMemory();
    memcpy(b->given, table, sizeof table);
    Argument *a = b->given;
    if (!take_arguments(args, n_args, a, COUNT(table), size)) {
        PyMem_Free(b);
        return NULL;
    }
    b->data = (Rows){a[0].data, a[1].data, a[2].data, SIZE('n'), SIZE('d')};
    size_t n = (size_t)SIZE('n'), d = (size_t)SIZE('d');
    if (rejected(n > 0 && d > 0 && n <= INT32_MAX, "X must have rows and columns")) {
        free_block(b);
        return NULL;
    }
    size_t n_tiles = (n + TILE - 1) / TILE, length = d + 1;
    b->n_tiles = (int64_t)n_tiles;
    size_t terms = n_tiles * length * TILE * sizeof(float);
    size_t keys = 2 * n * sizeof(double);
    b->rows = PyMem_Calloc(n_tiles * TILE, sizeof *b->rows);
    b->scales = PyMem_Calloc(n_tiles * TILE, sizeof *b->scales);
    b->margins = PyMem_Calloc(n_tiles * TILE, sizeof *b->margins);
    b->tiles = PyMem_Calloc(n_tiles, sizeof *b->tiles);
    b->synced = PyMem_Calloc(n_tiles * length, sizeof *b->synced);
    b->terms = PyMem_Malloc(terms > keys ? terms : keys);
    b->keys = (double *)b->terms;
    b->place = PyMem_Calloc(N_BUCKETS + 1, sizeof *b->place);
    b->reference = PyMem_Calloc(length, sizeof(double));
    b->p = PyMem_Calloc(length, sizeof(double));
    b->trial = PyMem_Calloc(length, sizeof(double));
    b->ratio = PyMem_Calloc(length, sizeof(double));
    bool all = b->rows && b->scales && b->margins && b->tiles && b->synced && b->terms &&
               b->place && b->reference && b->trial && b->p && b->ratio;
    PyObject *capsule = all ? PyCapsule_New(b, BLOCK, destroy_block) : PyErr_NoMemory();
    if (!capsule)
        free_block(b);
    return capsule;
}

/* See `run`; v, changes, state and the log are changed. */
PyObject *py_algorithm2_run(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    Argument a[] = {{"v", "d!", "v"},       {"changes", "l!", "c"}, {"state", "l!", "4"},
                    {"log", "l!", "2i"},    {"step", "d"},          {"leniency", "d"},
                    {"patience", "l"},      {"until", "l"}};
    Sizes size;
    (void)self;
    if (n_args < 1 || !PyCapsule_IsValid(args[0], BLOCK)) {
        PyErr_SetString(PyExc_TypeError, "a block is needed");
        return NULL;
    }
    Block *b = PyCapsule_GetPointer(args[0], BLOCK);
    if (!take_arguments(args + 1, n_args - 1, a, COUNT(a), size))
        return NULL;
    size_t length = (size_t)b->data.d + 1;
    int64_t *given = a[2].data, *log = a[3].data, n_log = SIZE('i');
    State state = {given[0], given[1], given[2], given[3]};
    Settings how = {a[4].number, a[5].number, a[6].integer, a[7].integer};
    if (rejected(SIZE('v') == (Py_ssize_t)length, "v must have one number more than X has "
                                                 "columns") ||
        rejected(SIZE('c') == 2 * SIZE('v'), "changes must be twice as long as v") ||
        rejected(how.step > 0 && how.step < INFINITY, "step must be positive") ||
        rejected(how.until <= n_log && state.iterations >= 0 &&
                    state.iterations < n_log && state.stalled >= 0,
                "the log must have room for the iterations") ||
        rejected(!b->busy, "a block takes one call at a time"))
        return give_back(a, COUNT(a));
    /* Copy arrays that Python could change meanwhile. */
    double *v = PyMem_Malloc(length * sizeof *v);
    int64_t *changes = PyMem_Calloc(2 * length, sizeof *changes);
    if (!v || !changes) {
        PyErr_NoMemory();
    } else {
        memcpy(v, a[0].data, length * sizeof *v);
        b->busy = true;
        Py_BEGIN_ALLOW_THREADS
        run(b, v, changes, &how, &state, log, log + n_log);
        Py_END_ALLOW_THREADS
        b->busy = false;
        memcpy(a[0].data, v, length * sizeof *v);
        memcpy(a[1].data, changes, 2 * length * sizeof *changes);
        memcpy(given, &state, sizeof state);
    }
    PyMem_Free(v);
    PyMem_Free(changes);
    return give_back(a, COUNT(a));
}
