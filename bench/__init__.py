"""`make bench`: cudasim's speed, every number beside its peer's from the same run.

bars.py       the rows: what is measured, against what, and the bar
workloads.py  input data and NumPy's results, the same for every side
kernels.py    the kernels, unchanged numba.cuda code, for cudasim and for Numba's simulator
compiling.py  how long compiling takes
loops.py      the same work as plain loops under @njit
pocl.py       the same kernels in OpenCL (pocl_kernels.cl) on PoCL
debuggers.py  what debuggers cost the program: conditions, launches
debug_sessions.py  what their user waits for: steps, stops, going back
checked.py    what checks cost launches
cuda_cpp.py   the same kernels in CUDA C++ (cuda_cpp_kernels.cu), and what their users wait for
compared.py   what comparing results with those of a GPU costs
maths.py      maths functions of NVIDIA's libdevice beside the simulator's
timing.py     medians of repeated runs; processor time where a measurement has one core
measure.py    one side in a process of its own: python -m bench.measure cudasim|simulator|njit|numpy|pocl|pdb|gdb|oclgrind|own
__main__.py   runs the sides, prints the table, writes JSON
"""
