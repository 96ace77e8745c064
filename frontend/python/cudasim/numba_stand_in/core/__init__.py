"""numba.core's parts that scripts import: config, errors, types."""
