/* The best of all real steps along a coordinate; see best_step.py. */
#include "arguments.h"
#include "kernels.h"

#include <math.h>
#include <string.h>

/* Breakpoints fall into bins, 16 for each power of two, for 40 powers below the largest
   and both signs; those nearer to zero share the bin in the middle. */
#define N_SIDE 640
#define N_BINS (2 * N_SIDE + 1)
/* Intervals narrower than this share of their ends are rounding. */
#define NARROW 0x1p-40

typedef struct {
    double at;
    uint64_t gain; /* change of the errors there; it may wrap around */
} Breakpoint;

/* The best interval so far. */
typedef struct {
    bool found;
    double step, width;
    int64_t errors; /* found or not, others must not have more */
} Best;

static void consider(Best *best, double start, double end, uint64_t errors)
{
    double width = end - start, middle = start + width / 2;
    int64_t count = (int64_t)errors;
    if (count > best->errors || !(width > NARROW * fmax(fabs(start), fabs(end))))
        return;
    bool better = count < best->errors || width > best->width ||
                  (width == best->width && fabs(middle) < fabs(best->step));
    if (better)
        *best = (Best){true, middle, width, count};
}

static int64_t size_bits(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, 8);
    return (int64_t)(bits >> 48 & 0x7FFF);
}

static int64_t bin_of(double x, int64_t base)
{
    int64_t size = size_bits(x) - base;
    size = size > 0 ? size : 0;
    return x < 0 ? N_SIDE - size : N_SIDE + size;
}

/* Shell's sort: most bins have few breakpoints. */
static void sort(Breakpoint *points, int64_t m)
{
    int64_t gap = 1;
    while (gap < m / 3)
        gap = 3 * gap + 1;
    for (; gap > 0; gap /= 3)
        for (int64_t k = gap; k < m; k++) {
            Breakpoint moved = points[k];
            int64_t to = k;
            for (; to >= gap && points[to - gap].at > moved.at; to -= gap)
                points[to] = points[to - gap];
            points[to] = moved;
        }
}

/* Consider all intervals between breakpoints that are sorted into bins. Those within a
   bin are looked at only if all its gains, were they to come first, would do. */
static void consider_all(Best *best, Breakpoint *points, const int64_t *ends,
                         uint64_t errors, double low, double high)
{
    double span = high - low != 0 ? high - low : 1.0;
    double last = low - 2 * (low != 0 ? fabs(low) : span);
    for (int64_t bin = 0; bin < N_BINS; bin++) {
        int64_t begin = bin ? ends[bin - 1] : 0, m = ends[bin] - begin;
        Breakpoint *here = points + begin;
        if (!m)
            continue;
        double nearest = here[0].at, farthest = here[0].at;
        uint64_t net = 0, fewer = 0;
        for (int64_t k = 0; k < m; k++) {
            nearest = here[k].at < nearest ? here[k].at : nearest;
            farthest = here[k].at > farthest ? here[k].at : farthest;
            net += here[k].gain;
            fewer += (int64_t)here[k].gain < 0 ? here[k].gain : 0;
        }
        consider(best, last, nearest, errors);
        if ((int64_t)(errors + fewer) <= best->errors) {
            uint64_t now = errors;
            sort(here, m);
            for (int64_t k = 0; k + 1 < m; k++) {
                now += here[k].gain;
                consider(best, here[k].at, here[k + 1].at, now);
            }
        }
        errors += net;
        last = farthest;
    }
    consider(best, last, high + 2 * (high != 0 ? fabs(high) : span), errors);
}

static void best_step(const double *x, int64_t stride, const uint8_t *first,
                      const int64_t *weight, const double *margins, int64_t n,
                      Breakpoint *room, Breakpoint *points, Best *best)
{
    int64_t m = 0, ends[N_BINS] = {0};
    uint64_t errors = 0; /* at the far left */
    double low = INFINITY, high = -INFINITY;
    for (int64_t j = 0; j < n; j++) {
        double value = x ? x[j * stride] : -1.0, at = -margins[j] / value;
        uint64_t w = weight ? (uint64_t)weight[j] : 1;
        /* Other rows stay where they are at all finite steps, or do not count. */
        bool moving = at - at == 0 && (int64_t)w > 0;
        bool wrong = (moving ? value < 0 : margins[j] >= 0) != (first[j] != 0);
        errors += wrong ? w : 0;
        if (moving) {
            low = at < low ? at : low;
            high = at > high ? at : high;
            room[m++] = (Breakpoint){at, wrong ? 0 - w : w};
        }
    }
    if (!m)
        return;
    int64_t base = size_bits(fmax(fabs(low), fabs(high))) - N_SIDE;
    for (int64_t k = 0; k < m; k++)
        ends[bin_of(room[k].at, base)]++;
    for (int64_t bin = 0, sum = 0; bin < N_BINS; bin++) {
        int64_t here = ends[bin];
        ends[bin] = sum;
        sum += here;
    }
    for (int64_t k = 0; k < m; k++)
        points[ends[bin_of(room[k].at, base)]++] = room[k];
    consider_all(best, points, ends, errors, low, high);
}

/* The step and the errors after it, or None if these are not fewer than now; for column
   i - 1 of X, or w0 if i is zero. */
PyObject *py_best_step(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    Argument a[] = {{"X", "d", "nd"},      {"first", "b", "n"}, {"weight", "l", "n?"},
                    {"margins", "d", "n"}, {"i", "l"},          {"errors", "l"}};
    Sizes size;
    (void)self;
    if (!take_arguments(args, n_args, a, COUNT(a), size))
        return NULL;
    int64_t n = SIZE('n'), d = SIZE('d'), i = a[4].integer, errors = a[5].integer;
    Best best = {false, 0.0, 0.0, errors - (errors > INT64_MIN)};
    if (i < 0 || i > d) {
        PyErr_SetString(PyExc_ValueError, "i must be a column of X, or 0");
        return give_back(a, COUNT(a));
    }
    Breakpoint *room = PyMem_Malloc(2 * ((size_t)n + 1) * sizeof *room);
    if (room) {
        const double *x = i ? (const double *)a[0].data + i - 1 : NULL;
        Py_BEGIN_ALLOW_THREADS
        best_step(x, d, a[1].data, a[2].data, a[3].data, n, room, room + n, &best);
        Py_END_ALLOW_THREADS
    } else {
        PyErr_NoMemory();
    }
    PyMem_Free(room);
    PyObject *none = give_back(a, COUNT(a));
    if (!none || !best.found)
        return none;
    Py_DECREF(none);
    return Py_BuildValue("dL", best.step, (long long)best.errors);
}
