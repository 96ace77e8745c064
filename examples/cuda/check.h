// What the examples do with errors of the CUDA runtime.
#pragma once

#include <cstdio>
#include <cstdlib>

/// Ends the program if a call of the CUDA runtime failed.
#define CHECK(call)                                                                                         \
    do {                                                                                                    \
        const cudaError_t check_error = (call);                                                             \
        if (check_error != cudaSuccess) {                                                                   \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(check_error)); \
            exit(1);                                                                                        \
        }                                                                                                   \
    } while (false)
