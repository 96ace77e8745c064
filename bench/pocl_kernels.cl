// The OpenCL twins of bench/kernels.py: the same work in the same order, thread for work item and block for work group.

kernel void add(global const double *x, global const double *y, global double *out, long size) {
    const long i = get_global_id(0);
    if (i < size) out[i] = x[i] + y[i];
}

kernel void matmul_naive(global const double *a, global const double *b, global double *out, long size) {
    const long column = get_global_id(0), row = get_global_id(1);
    if (row >= size || column >= size) return;
    double total = 0;
    for (long k = 0; k < size; ++k) total += a[row * size + k] * b[k * size + column];
    out[row * size + column] = total;
}

#define TILE 16

kernel void matmul_tiled(global const float *a, global const float *b, global float *out, long size) {
    local float tile_a[TILE][TILE], tile_b[TILE][TILE];
    const long column = get_global_id(0), row = get_global_id(1);
    const int j = get_local_id(0), i = get_local_id(1);
    float total = 0;
    for (long first = 0; first < size; first += TILE) {
        tile_a[i][j] = row < size && first + j < size ? a[row * size + first + j] : 0;
        tile_b[i][j] = first + i < size && column < size ? b[(first + i) * size + column] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < TILE; ++k) total += tile_a[i][k] * tile_b[k][j];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (row < size && column < size) out[row * size + column] = total;
}

kernel void reduce_blocks(global const float *x, global float *out) {
    local float shared[256];
    const int thread = get_local_id(0);
    shared[thread] = x[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int step = 128; step > 0; step /= 2) {
        if (thread < step) shared[thread] += shared[thread + step];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (thread == 0) out[get_group_id(0)] = shared[0];
}

kernel void count_values(global const int *values, volatile global int *bins, long size) {
    const long i = get_global_id(0);
    if (i < size) atomic_add(&bins[values[i]], 1);
}

// Each round has two barriers, between which every thread passes a value on.
kernel void pass_on(long rounds, global long *out) {
    local long shared[256];
    const int thread = get_local_id(0);
    shared[thread] = thread;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (long i = 0; i < rounds; ++i) {
        const long value = shared[(thread + 1) % 256];
        barrier(CLK_LOCAL_MEM_FENCE);
        shared[thread] = value;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[thread] = shared[thread];
}
