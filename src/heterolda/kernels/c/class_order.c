/* The rows of each class one after the other; see class_order.py. */
#include "arguments.h"
#include "kernels.h"

#include <string.h>

PyObject *py_class_order(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    Argument a[] = {{"codes", "l", "n"},
                    {"weight", "d", "n?"},
                    {"order", "l!", "n"},
                    {"bounds", "l!", "b"}};
    Sizes size;
    (void)self;
    if (!take_arguments(args, n_args, a, COUNT(a), size))
        return NULL;
    const int64_t *codes = a[0].data;
    const double *weight = a[1].data;
    int64_t *order = a[2].data, *bounds = a[3].data, n = SIZE('n'), b = SIZE('b');
    bool fine = true;
    Py_BEGIN_ALLOW_THREADS
    memset(bounds, 0, (size_t)b * sizeof(int64_t));
    for (int64_t j = 0; j < n; j++) {
        fine &= codes[j] >= 0 && codes[j] < b - 1;
        if (!fine)
            break;
        bounds[codes[j] + 1] += !weight || weight[j] > 0;
    }
    if (fine) {
        for (int64_t k = 1; k < b; k++)
            bounds[k] += bounds[k - 1];
        for (int64_t j = 0; j < n; j++)
            if (!weight || weight[j] > 0)
                order[bounds[codes[j]]++] = j;
        /* Each bound is that of the next class now. */
        for (int64_t k = b - 1; k > 0; k--)
            bounds[k] = bounds[k - 1];
        if (b)
            bounds[0] = 0;
    }
    Py_END_ALLOW_THREADS
    if (!fine)
        PyErr_SetString(PyExc_ValueError, "codes must be those of the classes");
    return give_back(a, COUNT(a));
}
