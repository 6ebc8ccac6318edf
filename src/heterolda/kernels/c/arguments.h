/* Arguments from Python: arrays by the buffer protocol, checked before they are used.

   No array that a kernel writes to shares memory with another array.

   A kernel describes its arguments in a table, takes them all at once, and releases them
   at the end:

       Argument a[] = {
           {"X", "d", "nd"}, {"weight", "l", "n?"}, {"errors", "d!", "n"}, {"step", "d"},
       };
       Sizes size;
       if (!take_arguments(args, n_args, a, COUNT(a), size)) return NULL;
       ... a[0].data, SIZE('n'), a[3].number ...
       return give_back(a, COUNT(a));
*/
#ifndef HETEROLDA_ARGUMENTS_H
#define HETEROLDA_ARGUMENTS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    const char *name;
    /* Elements: d float64, l int64, b bool, c uint8. With an exclamation mark the kernel
       writes to the array. */
    const char *type;
    /* A letter or a digit for each dimension; equal letters mean equal sizes. With a
       question mark at the end, None is allowed, and data is NULL then. NULL for a
       number, of type d or l. */
    const char *shape;
    void *data;
    double number;
    int64_t integer;
    Py_buffer view;
} Argument;

typedef Py_ssize_t Sizes[26]; /* sizes of the letters; -1 if no array has that letter */

#define COUNT(table) ((Py_ssize_t)(sizeof(table) / sizeof((table)[0])))
#define SIZE(letter) (size[(letter) - 'a'])

/* False, with a Python error that names the argument, if an argument is invalid. */
bool take_arguments(PyObject *const *args, Py_ssize_t n_args, Argument *table,
                    Py_ssize_t n, Sizes size);

/* Release the arrays; returns None, or NULL if there is an error. */
PyObject *give_back(Argument *table, Py_ssize_t n);

#endif
