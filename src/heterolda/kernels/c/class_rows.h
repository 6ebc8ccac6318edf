/* Rows of classes and the pairs that the classes are in, as Python gives them. */
#ifndef HETEROLDA_CLASS_ROWS_H
#define HETEROLDA_CLASS_ROWS_H

#include "arguments.h"

typedef struct {
    const double *X, *weight; /* rows, and their weights or NULL */
    const int64_t *order, *bounds;
    const bool *chosen;     /* classes that count */
    const int64_t *classes; /* two of each pair; -1 for none */
    const bool *judged;     /* pairs that count */
    int64_t n, m, d, n_classes, n_pairs;
} ClassRows;

/* Takes the arguments that a kernel begins with: X "nd", weight "n?", order "m", bounds
   "b", chosen "k", classes "p2" and judged "p". False, with a Python error, if an index is
   out of range. */
bool take_class_rows(const Argument *a, const Sizes size, ClassRows *rows);

/* Places 2 p + q, q = 0 or 1, of a class in the pairs; returns their number. */
int64_t places_of(const ClassRows *rows, int64_t class, int64_t *places);

#endif
