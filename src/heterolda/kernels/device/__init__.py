"""The loops that run where the arrays are: PyTorch, CuPy, a GPU.

Plain operations of the array API standard, so that any such library will do; NumPy has
loops of its own, in the folder above.
"""
