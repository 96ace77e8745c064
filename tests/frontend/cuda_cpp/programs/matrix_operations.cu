// Every shape, type and layout of mma.h on small integers, whose products and sums are exact in all of them.
#include <mma.h>

#include <cstdio>
#include <cstring>
#include <type_traits>

using namespace nvcuda;

// An element's value from a small integer and back.
template <class T>
__host__ __device__ T made(int value) {
    return static_cast<T>(static_cast<float>(value));
}
static int value_of(float x) { return static_cast<int>(x); }

// An array on the host and on the device.
template <class T, int count>
struct Array {
    T host[count];
    T* device;
    Array() { cudaMalloc(&device, sizeof host); }
    ~Array() { cudaFree(device); }
    T* sent() {
        cudaMemcpy(device, host, sizeof host, cudaMemcpyHostToDevice);
        return device;
    }
    void fetch() { cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost); }
    T& operator[](int i) { return host[i]; }
};

// The matrices: C and D are stored in `layout`, with rows longer than needed.
template <int m, int n, int k, class Kind, class T, class LayoutA, class LayoutB, class C, class D>
__global__ void multiply(const T* a, const T* b, const C* c, D* d, int lda, int ldb, int ldc, wmma::layout_t layout) {
    wmma::fragment<wmma::matrix_a, m, n, k, Kind, LayoutA> fa;
    wmma::fragment<wmma::matrix_b, m, n, k, Kind, LayoutB> fb;
    wmma::fragment<wmma::accumulator, m, n, k, C> fc;
    wmma::fragment<wmma::accumulator, m, n, k, D> fd;
    wmma::load_matrix_sync(fa, a, lda);
    wmma::load_matrix_sync(fb, b, ldb);
    wmma::load_matrix_sync(fc, c, ldc, layout);
    // Every element once, whatever lane has it.
    for (int i = 0; i < fb.num_elements; ++i) fb.x[i] = fb.x[i] + fb.x[i];
    wmma::mma_sync(fd, fa, fb, fc);
    wmma::store_matrix_sync(d, fd, ldc, layout);
}

template <class Layout>
int at(int row, int column, int ld) {
    return std::is_same<Layout, wmma::row_major>::value ? row * ld + column : column * ld + row;
}

static int checked = 0;
template <int m, int n, int k, class Kind, class T, class LayoutA, class LayoutB, class C, class D>
void check(const char* what) {
    constexpr int ld = 40;
    Array<T, ld * ld> a, b;
    Array<C, ld * ld> c;
    Array<D, ld * ld> d;
    for (int i = 0; i < ld * ld; ++i) {
        a[i] = made<T>(i * 7 % 11);
        b[i] = made<T>(i * 5 % 9);
        c[i] = made<C>(i * 3 % 17 - 8);
        d[i] = made<D>(-1);
    }
    for (const wmma::layout_t layout : {wmma::mem_row_major, wmma::mem_col_major}) {
        multiply<m, n, k, Kind, T, LayoutA, LayoutB>
            <<<1, 32>>>(a.sent(), b.sent(), c.sent(), d.sent(), ld, ld, ld, layout);
        d.fetch();
        int wrong = 0, touched = 0;
        for (int i = 0; i < m; ++i)
            for (int j = 0; j < n; ++j) {
                const int place = layout == wmma::mem_row_major ? i * ld + j : j * ld + i;
                int sum = value_of(static_cast<float>(c[place]));
                for (int l = 0; l < k; ++l)
                    sum += value_of(static_cast<float>(a[at<LayoutA>(i, l, ld)])) * 2 *
                           value_of(static_cast<float>(b[at<LayoutB>(l, j, ld)]));
                wrong += static_cast<float>(d[place]) != sum;
                d[place] = made<D>(-1);
            }
        for (int i = 0; i < ld * ld; ++i) touched += static_cast<float>(d[i]) != -1;
        if (wrong || touched) printf("%s: %d wrong, %d beside the matrix\n", what, wrong, touched);
    }
    ++checked;
}

template <int m, int n, int k, class Kind, class T, class C, class D>
void check_layouts(const char* what) {
    check<m, n, k, Kind, T, wmma::row_major, wmma::col_major, C, D>(what);
    check<m, n, k, Kind, T, wmma::col_major, wmma::row_major, C, D>(what);
}
template <class T, class C, class D>
void check_shapes(const char* what) {
    check_layouts<16, 16, 16, T, T, C, D>(what);
    check<32, 8, 16, T, T, wmma::row_major, wmma::row_major, C, D>(what);
    check<8, 32, 16, T, T, wmma::col_major, wmma::col_major, C, D>(what);
}

// Packed elements, as words: row (column) i of `k` elements is word 4 * i and the three behind it.
template <int k, class T>
__global__ void multiply_packed(const unsigned* a, const unsigned* b, int* d) {
    wmma::fragment<wmma::matrix_a, 8, 8, k, T, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 8, 8, k, T, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 8, 8, k, int> fc;
    wmma::fill_fragment(fc, 5);
    wmma::load_matrix_sync(fa, a, k);
    wmma::load_matrix_sync(fb, b, k);
    if constexpr (k == 128) {
        wmma::bmma_sync(fc, fa, fb, fc);
        wmma::store_matrix_sync(d + 64, fc, 8, wmma::mem_row_major);
        wmma::fill_fragment(fc, 5);
        wmma::bmma_sync(fc, fa, fb, fc, wmma::experimental::bmmaBitOpAND);
    } else {
        wmma::mma_sync(fc, fa, fb, fc);
    }
    wmma::store_matrix_sync(d, fc, 8, wmma::mem_row_major);
}
template <int k, class T>
void check_packed(const char* what, int (*element)(unsigned, int), int bits) {
    Array<unsigned, 32> a, b;
    Array<int, 128> d;
    for (int i = 0; i < 32; ++i) {
        a[i] = i * 0x9e3779b9U ^ 0x12345678;
        b[i] = i * 0x7feb352dU ^ 0xfedcba98;
    }
    multiply_packed<k, T><<<1, 32>>>(a.sent(), b.sent(), d.sent());
    d.fetch();
    int wrong = 0;
    for (int i = 0; i < 8; ++i)
        for (int j = 0; j < 8; ++j) {
            int sum = 5, differ = 5;
            for (int l = 0; l < k; ++l) {
                const int per_word = 32 / bits, x = element(a[4 * i + l / per_word], l % per_word),
                          y = element(b[4 * j + l / per_word], l % per_word);
                sum += x * y;
                differ += x != y;
            }
            wrong += d[8 * i + j] != sum || (k == 128 && d[64 + 8 * i + j] != differ);
        }
    printf("%s %d\n", what, wrong);
}

// What is special: saturation, and elements of float that tf32 does not have.
__global__ void special(float* out, int* whole) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, half> c;
    wmma::fill_fragment(a, half(256.0f));
    wmma::fill_fragment(b, half(256.0f));
    wmma::fill_fragment(c, half(0.0f));
    wmma::mma_sync(c, a, b, c);
    wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> ta;
    wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::col_major> tb;
    wmma::fragment<wmma::accumulator, 16, 16, 8, float> tc;
    wmma::fill_fragment(ta, 1 + 1.0f / 4096);
    wmma::fill_fragment(tb, 1.0f);
    wmma::fill_fragment(tc, 0.0f);
    wmma::mma_sync(tc, ta, tb, tc);
    wmma::fragment<wmma::matrix_a, 16, 16, 16, signed char, wmma::row_major> ia;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, signed char, wmma::col_major> ib;
    wmma::fragment<wmma::accumulator, 16, 16, 16, int> ic, id;
    wmma::fill_fragment(ia, static_cast<signed char>(127));
    wmma::fill_fragment(ib, static_cast<signed char>(127));
    wmma::fill_fragment(ic, 2147483647);
    wmma::mma_sync(id, ia, ib, ic, true);
    wmma::mma_sync(ic, ia, ib, ic);
    if (threadIdx.x == 0) {
        out[0] = float(c.x[0]);
        out[1] = tc.x[0];
        out[2] = (wmma::__float_to_tf32(1 + 1.0f / 2048) - 1) * 1024;
        whole[0] = id.x[0];
        whole[1] = ic.x[0];
        whole[2] = a.num_elements * 100 + c.num_elements;
    }
}

int main() {
    check_shapes<half, float, float>("half, sums of float");
    check_shapes<half, half, half>("half, sums of half");
    check_shapes<half, half, float>("half, float of half");
    check_shapes<half, float, half>("half, half of float");
    check_shapes<__nv_bfloat16, float, float>("bfloat16");
    check_shapes<signed char, int, int>("signed char");
    check_shapes<unsigned char, int, int>("unsigned char");
    check_layouts<16, 16, 8, wmma::precision::tf32, float, float, float>("tf32");
    check_layouts<8, 8, 4, double, double, double, double>("double");
    check_packed<32, wmma::experimental::precision::u4>(
        "u4", [](unsigned word, int i) { return static_cast<int>(word >> (4 * i) & 15); }, 4);
    check_packed<32, wmma::experimental::precision::s4>(
        "s4", [](unsigned word, int i) { return static_cast<int>(word << (28 - 4 * i)) >> 28; }, 4);
    check_packed<128, wmma::experimental::precision::b1>(
        "b1", [](unsigned word, int i) { return static_cast<int>(word >> i & 1); }, 1);
    printf("%d combinations\n", checked);
    Array<float, 3> out;
    Array<int, 3> whole;
    special<<<1, 32>>>(out.sent(), whole.sent());
    out.fetch();
    whole.fetch();
    printf("%g %g %g %d %d %d\n", out[0], out[1], out[2], whole[0], whole[1], whole[2]);
}
