/* A number for each row that depends on its values only; see row_hashes.py. */
#include "arguments.h"
#include "kernels.h"
#include "portable.h"

#include <string.h>

WIDE void row_hashes(const double *X, int64_t n, int64_t d, const uint64_t *factors,
                     uint64_t *hashes)
{
    for (int64_t j = 0; j < n; j++) {
        uint64_t sum = 0;
        for (int64_t i = 0; i < d; i++) {
            double x = X[j * d + i] + 0.0; /* one number of 0.0 and -0.0 */
            uint64_t bits;
            memcpy(&bits, &x, 8);
            bits ^= bits >> 32;
            sum += bits * factors[i];
        }
        sum ^= sum >> 32;
        sum *= UINT64_C(0x9E3779B97F4A7C15);
        hashes[j] = sum ^ sum >> 32;
    }
}

PyObject *py_row_hashes(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    Argument a[] = {{"X", "d", "nd"}, {"factors", "u", "d"}, {"hashes", "u!", "n"}};
    Sizes size;
    (void)self;
    if (!take_arguments(args, n_args, a, COUNT(a), size))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    row_hashes(a[0].data, SIZE('n'), SIZE('d'), a[1].data, a[2].data);
    Py_END_ALLOW_THREADS
    return give_back(a, COUNT(a));
}
