"""Programs in CUDA C++: the folder that looks like a CUDA toolkit, and the commands of `cudasim` that compile and start programs."""
