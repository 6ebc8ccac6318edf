/* A number for each row that depends on its values only; see row_hashes.py. */
#include "arguments.h"
#include "kernels.h"
#include "portable.h"

#include <string.h>

WIDE void row_hashes(const double *X, const int64_t *rows, int64_t m, int64_t d,
                     const uint64_t *factors, uint64_t *hashes)
{
    for (int64_t j = 0; j < m; j++) {
        const double *row = X + (rows ? rows[j] : j) * d;
        uint64_t sum = 0;
        for (int64_t i = 0; i < d; i++) {
            double x = row[i] + 0.0; /* one number of 0.0 and -0.0 */
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
    Argument a[] = {{"X", "d", "nd"},
                    {"rows", "l", "m?"},
                    {"factors", "u", "d"},
                    {"hashes", "u!", "m"}};
    Sizes size;
    (void)self;
    if (!take_arguments(args, n_args, a, COUNT(a), size))
        return NULL;
    const int64_t *rows = a[1].data;
    bool fine = rows || SIZE('m') == SIZE('n');
    for (int64_t j = 0; rows && fine && j < SIZE('m'); j++)
        fine = rows[j] >= 0 && rows[j] < SIZE('n');
    if (!fine) {
        PyErr_SetString(PyExc_ValueError, "rows must be those of X");
        return give_back(a, COUNT(a));
    }
    Py_BEGIN_ALLOW_THREADS
    row_hashes(a[0].data, rows, SIZE('m'), SIZE('d'), a[2].data, a[3].data);
    Py_END_ALLOW_THREADS
    return give_back(a, COUNT(a));
}
