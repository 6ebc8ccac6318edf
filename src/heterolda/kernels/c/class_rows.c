#include "class_rows.h"

bool take_class_rows(const Argument *a, const Sizes size, ClassRows *rows)
{
    ClassRows given = {a[0].data, a[1].data, a[2].data, a[3].data, a[4].data, a[5].data,
                       a[6].data, SIZE('n'), SIZE('m'), SIZE('d'), SIZE('k'), SIZE('p')};
    bool fine = SIZE('b') == given.n_classes + 1 && given.bounds[0] == 0 &&
                given.bounds[given.n_classes] == given.m;
    for (int64_t k = 0; fine && k < given.n_classes; k++)
        fine = given.bounds[k] <= given.bounds[k + 1];
    for (int64_t j = 0; fine && j < given.m; j++)
        fine = given.order[j] >= 0 && given.order[j] < given.n;
    for (int64_t p = 0; fine && p < 2 * given.n_pairs; p++)
        fine = given.classes[p] >= -1 && given.classes[p] < given.n_classes;
    *rows = given;
    if (!fine)
        PyErr_SetString(PyExc_ValueError, "order, bounds or classes is out of range");
    return fine;
}

int64_t places_of(const ClassRows *rows, int64_t class, int64_t *places)
{
    int64_t n = 0;
    if (rows->chosen[class] && rows->bounds[class] < rows->bounds[class + 1])
        for (int64_t p = 0; p < 2 * rows->n_pairs; p++)
            if (rows->classes[p] == class && rows->judged[p / 2])
                places[n++] = p;
    return n;
}
