"""numba.cuda.cudadrv's names that scripts import: driver, error, devicearray, devices."""
