/* Functions that are visible to Python. */
#ifndef HETEROLDA_KERNELS_H
#define HETEROLDA_KERNELS_H

#include "arguments.h"

#define KERNELS(ENTRY) \
    ENTRY(algorithm2_block) \
    ENTRY(algorithm2_run) \
    ENTRY(arc_directions) \
    ENTRY(couple) \
    ENTRY(ordered_scores) \
    ENTRY(score_distributions) \
    ENTRY(smoothed_path) \
    ENTRY(solve_pairs)

#define DECLARED(name) \
    PyObject *py_##name(PyObject *self, PyObject *const *args, Py_ssize_t n_args);
KERNELS(DECLARED)
#undef DECLARED

#endif
