"""Kernels: the few loops that decide how long a run takes.

Each is a plain NumPy definition, which is the oracle in the tests and the path for small loads, and a
compiled form with equal results. ``jit`` is the only module that touches numba (``vnni`` and ``lanes`` write
instructions for it), ``blas`` the only one that touches the threads of BLAS.
"""
