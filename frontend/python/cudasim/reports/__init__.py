"""What kernels did wrong or have to say: exceptions, warnings, tracebacks, progress."""
