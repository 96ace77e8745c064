// Structures, pointers, references and local arrays, for the debugger's expressions of C++ (clang_image_test.cpp).
#include "cuda_keywords.h"

enum Kind { light, heavy = 5 };

struct Vector {
    float x, y;
};

struct Particle {
    Vector place;
    int mass;
    Kind kind;
    const Particle* next;
    unsigned char flags[4];
};

struct Named {
    int id;
    short rank;
};

struct Pixel : Named {
    union {
        unsigned int word;
        unsigned char bytes[4];
    };
    long rank;  // hides the base's
    static const int limit = 3;
};

__constant__ float factors[2] = {2.0f, 0.5f};
__device__ int visits = 3;
__device__ int small = 1000;  // which a local variable hides

__device__ float energy(const Particle& particle, float factor) {
    float result = particle.mass * factor;
    result += particle.place.x;  // inside
    return result;
}

__device__ Vector speed_of(int i) {
    Vector speed = {0.5f * i, -1.0f};
    return speed;  // speed
}

extern "C" __global__ void simulate(Particle* particles, float* result, int n) {
    const int i = block_index() * block_size() + thread_index();
    if (i >= n) return;
    Particle* p = &particles[i];
    Vector speed = speed_of(i);
    int counts[3] = {i, i + 1, i + 2};
    __shared__ float tile[2][16];
    tile[thread_index() / 16][thread_index() % 16] = 10.0f * i;
    unsigned char small = 200;
    long wide = 1;
    wide <<= 40;
    const Particle* nobody = nullptr;
    Pixel pixel;
    pixel.id = 100 + i;
    pixel.word = 0x04030201;
    pixel.rank = -1;
    p->place.x += speed.x;  // stop
    float total = energy(*p, factors[0] * (visits == 3));
    total += counts[i % 3] + small;
    result[i] = total;  // end
}
