/* Distinct labels and the place of each label among them; see label_codes.py. */
#include "arguments.h"
#include "kernels.h"
#include "portable.h"

#include <stdlib.h>
#include <string.h>

#define LEAST_SLOTS 64

INLINE uint64_t mixed(uint64_t sum)
{
    sum *= UINT64_C(0x9E3779B97F4A7C15);
    return sum ^ sum >> 32;
}

/* A number that depends on the bytes of a label only. */
INLINE uint64_t hash_of(const uint8_t *label, int64_t width)
{
    uint64_t sum = 0, word;
    int64_t k = 0;
    for (; k + 8 <= width; k += 8) {
        memcpy(&word, label + k, 8);
        sum = mixed(sum + word);
    }
    word = 0;
    memcpy(&word, label + k, (size_t)(width - k));
    return mixed(sum + word);
}

/* Where a label is in the table, or would be. Slots hold the code plus one, or zero. */
INLINE uint64_t slot_of(const int64_t *slots, uint64_t n_slots, const uint8_t *labels,
                        int64_t width, const int64_t *firsts, const uint8_t *label)
{
    uint64_t at = hash_of(label, width) & (n_slots - 1);
    while (slots[at] &&
           memcmp(labels + firsts[slots[at] - 1] * width, label, (size_t)width))
        at = (at + 1) & (n_slots - 1);
    return at;
}

/* The number of distinct labels, whose first rows are `firsts`, or -1 without memory. */
INLINE int64_t label_codes(const uint8_t *labels, int64_t n, int64_t width,
                           int64_t *codes, int64_t *firsts)
{
    uint64_t n_slots = LEAST_SLOTS;
    int64_t *slots = calloc(n_slots, sizeof(int64_t));
    int64_t found = 0;
    for (int64_t r = 0; slots && r < n; r++) {
        const uint8_t *label = labels + r * width;
        uint64_t at = slot_of(slots, n_slots, labels, width, firsts, label);
        if (!slots[at]) {
            firsts[found++] = r;
            slots[at] = found;
        }
        codes[r] = slots[at] - 1;
        if (4 * (uint64_t)found <= n_slots)
            continue;
        n_slots *= 4; /* the table is filling up */
        free(slots);
        slots = calloc(n_slots, sizeof(int64_t));
        for (int64_t c = 0; slots && c < found; c++) {
            label = labels + firsts[c] * width;
            slots[slot_of(slots, n_slots, labels, width, firsts, label)] = c + 1;
        }
    }
    if (!slots)
        return -1;
    free(slots);
    return found;
}

PyObject *py_label_codes(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    Argument a[] = {
        {"labels", "c", "nw"}, {"codes", "l!", "n"}, {"firsts", "l!", "n"},
        {"found", "l!", "1"},
    };
    Sizes size;
    int64_t found;
    (void)self;
    if (!take_arguments(args, n_args, a, COUNT(a), size))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    /* Numbers, and all else: a width that the compiler knows takes no loops. */
    found = SIZE('w') == 8
                ? label_codes(a[0].data, SIZE('n'), 8, a[1].data, a[2].data)
                : label_codes(a[0].data, SIZE('n'), SIZE('w'), a[1].data, a[2].data);
    Py_END_ALLOW_THREADS
    if (found < 0)
        PyErr_NoMemory();
    else
        *(int64_t *)a[3].data = found;
    return give_back(a, COUNT(a));
}
