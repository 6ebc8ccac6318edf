/* Extension module: a table of the kernels. */
#include "arguments.h"
#include "kernels.h"

#define ENTRY(name) \
    {#name, (PyCFunction)(void (*)(void))py_##name, METH_FASTCALL, NULL},
static PyMethodDef methods[] = {KERNELS(ENTRY){NULL, NULL, 0, NULL}};

static PyModuleDef_Slot slots[] = {
#ifdef Py_mod_gil /* not in the limited API of Python 3.11 */
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_compiled",
    .m_doc = "The compiled kernels. They are called by the files of this folder only.",
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__compiled(void)
{
    return PyModuleDef_Init(&definition);
}
