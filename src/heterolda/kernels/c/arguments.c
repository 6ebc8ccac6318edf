#include "arguments.h"

#include <string.h>

static bool reject(const Argument *a, const char *what)
{
    PyErr_Format(PyExc_ValueError, "%s must be %s (type %s, shape %s)", a->name, what,
                 a->type, a->shape ? a->shape : "of a number");
    return false;
}

/* Return whether the elements of a buffer have the type of a letter. */
static bool has_type(const Py_buffer *view, char type)
{
    const char *format = view->format ? view->format : "B";
    if (*format == '@' || *format == '=' || *format == '<')
        format++;
    if (strlen(format) != 1)
        return false;
    switch (type) {
    case 'd':
        return *format == 'd';
    case 'l':
        return strchr("lqn", *format) && view->itemsize == 8;
    case 'b':
        return *format == '?';
    default:
        return *format == 'B';
    }
}

static bool take_array(PyObject *object, Argument *a, Sizes size)
{
    size_t ndim = strcspn(a->shape, "?");
    if (object == Py_None && a->shape[ndim] == '?')
        return true;
    int flags = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT;
    if (a->type[1] == '!')
        flags |= PyBUF_WRITABLE;
    if (PyObject_GetBuffer(object, &a->view, flags) < 0) {
        PyErr_Clear();
        return reject(a, "an array in C order, and writable if it is an output");
    }
    a->data = a->view.buf;
    if (a->view.ndim != (int)ndim || !has_type(&a->view, a->type[0]))
        return reject(a, "of the expected type and dimensions");
    if ((uintptr_t)a->data % (size_t)a->view.itemsize)
        return reject(a, "aligned");
    for (size_t k = 0; k < ndim; k++) {
        Py_ssize_t length = a->view.shape[k];
        char letter = a->shape[k];
        if (letter >= '0' && letter <= '9') {
            if (length != letter - '0')
                return reject(a, "of the expected size");
            continue;
        }
        if (SIZE(letter) < 0)
            SIZE(letter) = length;
        else if (SIZE(letter) != length)
            return reject(a, "of a size that matches the other arrays");
    }
    return true;
}

static bool take_number(PyObject *object, Argument *a)
{
    if (a->type[0] == 'd') {
        a->number = PyFloat_AsDouble(object);
        return !(a->number == -1.0 && PyErr_Occurred());
    }
    long long value = PyLong_AsLongLong(object);
    a->integer = value;
    return !(value == -1 && PyErr_Occurred());
}

/* Return whether no output shares memory with another array: values that were checked,
   such as indices, must not change. */
static bool are_apart(const Argument *table, Py_ssize_t n)
{
    for (Py_ssize_t k = 0; k < n; k++) {
        if (!table[k].data || !table[k].shape || table[k].type[1] != '!')
            continue;
        uintptr_t begin = (uintptr_t)table[k].data;
        uintptr_t end = begin + (size_t)table[k].view.len;
        for (Py_ssize_t j = 0; j < n; j++) {
            uintptr_t other = (uintptr_t)table[j].data;
            if (j != k && table[j].data && begin < other + (size_t)table[j].view.len &&
                other < end)
                return reject(&table[k], "a separate array, because it is an output");
        }
    }
    return true;
}

bool take_arguments(PyObject *const *args, Py_ssize_t n_args, Argument *table,
                    Py_ssize_t n, Sizes size)
{
    for (int k = 0; k < 26; k++)
        size[k] = -1;
    for (Py_ssize_t k = 0; k < n; k++) {
        table[k].data = NULL;
        table[k].view.obj = NULL;
    }
    if (n_args != n) {
        PyErr_Format(PyExc_TypeError, "%zd arguments are needed, got %zd", n, n_args);
        return false;
    }
    for (Py_ssize_t k = 0; k < n; k++) {
        bool taken = table[k].shape ? take_array(args[k], &table[k], size)
                                    : take_number(args[k], &table[k]);
        if (!taken) {
            give_back(table, n);
            return false;
        }
    }
    if (!are_apart(table, n)) {
        give_back(table, n);
        return false;
    }
    return true;
}

PyObject *give_back(Argument *table, Py_ssize_t n)
{
    for (Py_ssize_t k = 0; k < n; k++)
        if (table[k].view.obj)
            PyBuffer_Release(&table[k].view);
    if (PyErr_Occurred())
        return NULL;
    Py_RETURN_NONE;
}
