"""A Python function's way to a kernel image or to PTX: source, names, constants, device functions of other languages."""
