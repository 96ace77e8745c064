"""The driver's objects: contexts, modules, functions, the linker."""
