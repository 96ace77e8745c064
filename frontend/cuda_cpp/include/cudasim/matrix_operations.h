// The functions of mma.h. Every lane computes its elements of the result, for which it asks the other lanes
// by shuffles. Sums are made in the order of k, in the accumulator's type, a half's in float and rounded at
// the end: the guide leaves order and precision of intermediate sums open.
#ifndef CUDASIM_MATRIX_OPERATIONS_H
#define CUDASIM_MATRIX_OPERATIONS_H

namespace cudasim {

CUDASIM_DEVICE_ONLY int warp_lane() {
    return __nvvm_read_ptx_sreg_laneid();
}

CUDASIM_DEVICE_ONLY unsigned from_lane(unsigned word, int lane) {
    return static_cast<unsigned>(::__shfl_sync(~0U, static_cast<int>(word), lane));
}
CUDASIM_DEVICE_ONLY unsigned long long from_lane(unsigned long long word, int lane) {
    const unsigned low = from_lane(static_cast<unsigned>(word), lane);
    return static_cast<unsigned long long>(from_lane(static_cast<unsigned>(word >> 32), lane)) << 32 | low;
}

// Where element i of an accumulator's lane lies: each lane has a block of it, of two rows where it has eight
// elements and of one row otherwise.
template <int m, int n>
struct Block {
    static constexpr int rows = m * n == 256 ? 2 : 1, columns = m * n / 32 / rows, across = n / columns;
    CUDASIM_INLINE __device__ int row(int lane, int i) { return lane / across * rows + i / columns; }
    CUDASIM_INLINE __device__ int column(int lane, int i) { return lane % across * columns + i % columns; }
};

// The sum with a product, in the types that a matrix operation has.
CUDASIM_DEVICE_ONLY float multiplied_into(float sum, float a, float b) {
    return __builtin_fmaf(a, b, sum);
}
CUDASIM_DEVICE_ONLY double multiplied_into(double sum, double a, double b) {
    return __builtin_fma(a, b, sum);
}
CUDASIM_DEVICE_ONLY long long multiplied_into(long long sum, int a, int b) {
    return sum + static_cast<long long>(a) * b;
}

// Types to sum in, and results of them. `finite` is the argument satf.
CUDASIM_DEVICE_ONLY float summand(float x) {
    return x;
}
CUDASIM_DEVICE_ONLY float summand(__half x) {
    return value_of(x);
}
CUDASIM_DEVICE_ONLY double summand(double x) {
    return x;
}
CUDASIM_DEVICE_ONLY long long summand(int x) {
    return x;
}
CUDASIM_DEVICE_ONLY float finite_number(float x, float largest) {
    return is_nan(x) ? 0.0F : x > largest ? largest : x < -largest ? -largest : x;
}
CUDASIM_DEVICE_ONLY void set_result(float& result, float sum, bool finite) {
    result = finite ? finite_number(sum, 3.402823466e38F) : sum;
}
CUDASIM_DEVICE_ONLY void set_result(__half& result, float sum, bool finite) {
    result = Of<__half>::rounded(finite ? finite_number(sum, 65504.0F) : sum);
}
CUDASIM_DEVICE_ONLY void set_result(double& result, double sum, bool) {
    result = sum;
}
CUDASIM_DEVICE_ONLY void set_result(int& result, long long sum, bool finite) {
    const long long last = 0x7fffffff;
    result = static_cast<int>(!finite ? sum : sum > last ? last : sum < -last - 1 ? -last - 1 : sum);
}

// Word `index` along k of a row of A (a column of B) of which `row` is the number, from the lane that has it.
// Each of `rows` rows lies over 32 / rows lanes.
template <class T, int rows, int per_lane, class Fragment>
CUDASIM_DEVICE_ONLY typename MatrixElement<T>::Word operand_word(const Fragment& fragment, int row,
                                                                 int index) {
    typename MatrixElement<T>::Word own;
    constexpr int stored_per_word = MatrixElement<T>::per_word / MatrixElement<T>::per_storage;
    __builtin_memcpy(&own, &fragment.x[index % per_lane * stored_per_word], sizeof own);
    return from_lane(own, row * (32 / rows) + index / per_lane);
}

struct Products {
    template <class Sum, class Element, class Word>
    CUDASIM_INLINE __device__ Sum added(Sum sum, Word a, Word b, Element) {
#pragma unroll
        for (int i = 0; i < Element::per_word; ++i)
            sum = multiplied_into(sum, Element::at(a, i), Element::at(b, i));
        return sum;
    }
};
// Counts the bits that two rows of bits have in common or, of XOR, that differ.
template <bool is_and>
struct CommonBits {
    template <class Sum, class Element, class Word>
    CUDASIM_INLINE __device__ Sum added(Sum sum, Word a, Word b, Element) {
        return sum + __builtin_popcount(is_and ? a & b : a ^ b);
    }
};

template <class Operation, int m, int n, int k, class T, class Result, class First, class Second,
          class Addend>
CUDASIM_DEVICE_ONLY void multiply_add(Result& d, const First& a, const Second& b, const Addend& c,
                                      bool finite) {
    typedef MatrixElement<T> Element;
    typedef Block<m, n> Own;
    typedef decltype(summand(c.x[0])) Sum;
    constexpr int words = k / Element::per_word;
    const int lane = warp_lane(), first_row = Own::row(lane, 0), first_column = Own::column(lane, 0);
    Sum sums[Own::rows * Own::columns];
#pragma unroll
    for (int i = 0; i < Own::rows * Own::columns; ++i) sums[i] = summand(c.x[i]);
#pragma unroll
    for (int word = 0; word < words; ++word) {
        typename Element::Word row[Own::rows], column[Own::columns];
#pragma unroll
        for (int i = 0; i < Own::rows; ++i)
            row[i] = operand_word<T, m, m * words / 32>(a, first_row + i, word);
#pragma unroll
        for (int j = 0; j < Own::columns; ++j)
            column[j] = operand_word<T, n, n * words / 32>(b, first_column + j, word);
#pragma unroll
        for (int i = 0; i < Own::rows * Own::columns; ++i)
            sums[i] = Operation::added(sums[i], row[i / Own::columns], column[i % Own::columns], Element());
    }
#pragma unroll
    for (int i = 0; i < Own::rows * Own::columns; ++i) set_result(d.x[i], sums[i], finite);
}

// Loads rows of A or columns of B: element i of the lane is number lane * size / 32 + i.
template <int rows, int k, class Fragment, class T>
CUDASIM_DEVICE_ONLY void load_operand(Fragment& fragment, const T* memory, unsigned row_step,
                                      unsigned k_step) {
    constexpr int size = rows * k;
    const int first = warp_lane() * (size / 32);
    ::__syncwarp();
#pragma unroll
    for (int i = 0; i < Fragment::num_elements; ++i) {
        const unsigned element = static_cast<unsigned>(first + i) % size;
        fragment.x[i] =
            memory[static_cast<unsigned long long>(element / k) * row_step + element % k * k_step];
    }
}
// Of packed elements: the lane's word. `step` counts elements.
template <int per_word, class Fragment>
CUDASIM_DEVICE_ONLY void load_packed(Fragment& fragment, const void* memory, unsigned step) {
    const int lane = warp_lane();
    ::__syncwarp();
    fragment.x[0] = static_cast<const typename Fragment::storage_element_type*>(
        memory)[static_cast<unsigned>(lane / 4) * (step / per_word) + static_cast<unsigned>(lane % 4)];
}

}  // namespace cudasim

namespace nvcuda {
namespace wmma {

template <class T, int elements>
CUDASIM_DEVICE_ONLY void fill_fragment(cudasim::FragmentOf<T, elements>& f,
                                       const typename cudasim::MatrixElement<T>::storage& in) {
    constexpr int packed = cudasim::MatrixElement<T>::per_storage;
    typename cudasim::MatrixElement<T>::storage value = in;
    if (packed == 8) value = (static_cast<unsigned>(in) & 0xfU) * 0x11111111U;
    if (packed == 32) value = static_cast<unsigned>(in) & 1U ? ~0U : 0U;
#pragma unroll
    for (int i = 0; i < cudasim::FragmentOf<T, elements>::num_storage_elements; ++i) f.x[i] = value;
}

#define CUDASIM_LOADS(use, rows, row_step, row_layout, k_step, k_layout)                           \
    template <int m, int n, int k, class T>                                                        \
    CUDASIM_DEVICE_ONLY void load_matrix_sync(fragment<use, m, n, k, T, row_layout>& a,            \
                                              const typename cudasim::MatrixElement<T>::memory* p, \
                                              unsigned ldm) {                                      \
        cudasim::load_operand<rows, k>(a, p, ldm, 1);                                              \
    }                                                                                              \
    template <int m, int n, int k, class T>                                                        \
    CUDASIM_DEVICE_ONLY void load_matrix_sync(fragment<use, m, n, k, T, k_layout>& a,              \
                                              const typename cudasim::MatrixElement<T>::memory* p, \
                                              unsigned ldm) {                                      \
        cudasim::load_operand<rows, k>(a, p, 1, ldm);                                              \
    }
CUDASIM_LOADS(matrix_a, m, ldm, row_major, 1, col_major)
CUDASIM_LOADS(matrix_b, n, ldm, col_major, 1, row_major)
#undef CUDASIM_LOADS
#define CUDASIM_LOADS(k, T, per_word)                                                                      \
    CUDASIM_DEVICE_ONLY void load_matrix_sync(fragment<matrix_a, 8, 8, k, T, row_major>& a, const void* p, \
                                              unsigned ldm) {                                              \
        cudasim::load_packed<per_word>(a, p, ldm);                                                         \
    }                                                                                                      \
    CUDASIM_DEVICE_ONLY void load_matrix_sync(fragment<matrix_b, 8, 8, k, T, col_major>& b, const void* p, \
                                              unsigned ldm) {                                              \
        cudasim::load_packed<per_word>(b, p, ldm);                                                         \
    }
CUDASIM_LOADS(32, experimental::precision::s4, 8)
CUDASIM_LOADS(32, experimental::precision::u4, 8)
CUDASIM_LOADS(128, experimental::precision::b1, 32)
#undef CUDASIM_LOADS

template <int m, int n, int k, class T>
CUDASIM_DEVICE_ONLY void load_matrix_sync(fragment<accumulator, m, n, k, T>& c, const T* p, unsigned ldm,
                                          layout_t layout) {
    const int lane = cudasim::warp_lane();
    ::__syncwarp();
#pragma unroll
    for (int i = 0; i < fragment<accumulator, m, n, k, T>::num_elements; ++i) {
        const unsigned long long row = cudasim::Block<m, n>::row(lane, i),
                                 column = cudasim::Block<m, n>::column(lane, i);
        c.x[i] = p[layout == mem_row_major ? row * ldm + column : column * ldm + row];
    }
}
template <int m, int n, int k, class T>
CUDASIM_DEVICE_ONLY void store_matrix_sync(T* p, const fragment<accumulator, m, n, k, T>& c, unsigned ldm,
                                           layout_t layout) {
    const int lane = cudasim::warp_lane();
    ::__syncwarp();
#pragma unroll
    for (int i = 0; i < fragment<accumulator, m, n, k, T>::num_elements; ++i) {
        const unsigned long long row = cudasim::Block<m, n>::row(lane, i),
                                 column = cudasim::Block<m, n>::column(lane, i);
        p[layout == mem_row_major ? row * ldm + column : column * ldm + row] = c.x[i];
    }
}

template <int m, int n, int k, class T, class LayoutA, class LayoutB, class Addend, class Result>
CUDASIM_DEVICE_ONLY void mma_sync(fragment<accumulator, m, n, k, Result>& d,
                                  const fragment<matrix_a, m, n, k, T, LayoutA>& a,
                                  const fragment<matrix_b, m, n, k, T, LayoutB>& b,
                                  const fragment<accumulator, m, n, k, Addend>& c, bool satf = false) {
    cudasim::multiply_add<cudasim::Products, m, n, k, T>(d, a, b, c, satf);
}

CUDASIM_DEVICE_ONLY void bmma_sync(
    fragment<accumulator, 8, 8, 128, int>& d,
    const fragment<matrix_a, 8, 8, 128, experimental::precision::b1, row_major>& a,
    const fragment<matrix_b, 8, 8, 128, experimental::precision::b1, col_major>& b,
    const fragment<accumulator, 8, 8, 128, int>& c, experimental::bmmaBitOp op = experimental::bmmaBitOpXOR,
    experimental::bmmaAccumulateOp = experimental::bmmaAccumulateOpPOPC) {
    typedef experimental::precision::b1 Bit;
    if (op == experimental::bmmaBitOpAND)
        cudasim::multiply_add<cudasim::CommonBits<true>, 8, 8, 128, Bit>(d, a, b, c, false);
    else
        cudasim::multiply_add<cudasim::CommonBits<false>, 8, 8, 128, Bit>(d, a, b, c, false);
}

// A float rounded to nearest, ties away from zero, to the 11 bits of significand that tf32 has.
CUDASIM_DEVICE_ONLY float __float_to_tf32(float in) {
    const unsigned bits = cudasim::float_bits(in);
    if ((bits & 0x7f800000U) == 0x7f800000U)
        return cudasim::is_nan(in) ? cudasim::float_of_bits(0x7fffffffU) : in;
    return cudasim::float_of_bits((bits + 0x1000U) & ~0x1fffU);
}

}  // namespace wmma
}  // namespace nvcuda

#endif
