/* Means and deviations of the scores of two classes; see score_moments.py. */
#include "arguments.h"
#include "kernels.h"

#include <math.h>

/* The moments are mean and deviation of the first class, then of the other. */
static void score_moments(const double *scores, const uint8_t *first,
                          const double *weight, int64_t n, double *moments)
{
    double total[2] = {0, 0}, mean[2] = {0, 0}, largest[2] = {0, 0}, square[2] = {0, 0};
    for (int64_t j = 0; j < n; j++) {
        int c = first[j] == 0;
        double w = weight ? weight[j] : 1.0;
        total[c] += w;
        mean[c] += w * scores[j];
    }
    mean[0] /= total[0];
    mean[1] /= total[1];
    for (int64_t j = 0; j < n; j++) {
        int c = first[j] == 0;
        double away = fabs(scores[j] - mean[c]);
        largest[c] = away > largest[c] ? away : largest[c];
    }
    double unit[2];
    for (int c = 0; c < 2; c++) {
        int exponent = 0;
        frexp(largest[c], &exponent);
        unit[c] = ldexp(1.0, exponent);
    }
    for (int64_t j = 0; j < n; j++) {
        int c = first[j] == 0;
        double away = (scores[j] - mean[c]) / unit[c];
        square[c] += (weight ? weight[j] : 1.0) * (away * away);
    }
    for (int c = 0; c < 2; c++) {
        double degrees = fmax(total[c] - 1, total[c] / 2);
        moments[2 * c] = mean[c];
        moments[2 * c + 1] = unit[c] * sqrt(square[c] / degrees);
    }
}

PyObject *py_score_moments(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    Argument a[] = {{"scores", "d", "n"},
                    {"first", "b", "n"},
                    {"weight", "d", "n?"},
                    {"moments", "d!", "22"}};
    Sizes size;
    (void)self;
    if (!take_arguments(args, n_args, a, COUNT(a), size))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    score_moments(a[0].data, a[1].data, a[2].data, SIZE('n'), a[3].data);
    Py_END_ALLOW_THREADS
    return give_back(a, COUNT(a));
}
