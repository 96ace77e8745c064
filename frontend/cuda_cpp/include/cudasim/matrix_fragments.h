// The types of mma.h. The guide leaves open which lane holds which element of a fragment. Here the elements
// of a matrix lie one behind the other over the lanes, an A by rows and a B by columns, so that words of 32
// bits have neighbours along k. Fragments of half have 16 elements, as NVIDIA's; those beyond the matrix
// repeat it.
#ifndef CUDASIM_MATRIX_FRAGMENTS_H
#define CUDASIM_MATRIX_FRAGMENTS_H

namespace nvcuda {
namespace wmma {

struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major;
struct col_major;
enum layout_t { mem_row_major, mem_col_major };

namespace precision {
struct tf32;
}
namespace experimental {
namespace precision {
struct u4;
struct s4;
struct b1;
}  // namespace precision
enum bmmaBitOp { bmmaBitOpXOR = 1, bmmaBitOpAND = 2 };
enum bmmaAccumulateOp { bmmaAccumulateOpPOPC = 1 };
}  // namespace experimental

}  // namespace wmma
}  // namespace nvcuda

namespace cudasim {

// What lies in memory: packed elements are loaded from a pointer to void.
template <bool is_packed, class T>
struct InMemory {
    typedef T type;
};
template <class T>
struct InMemory<true, T> {
    typedef void type;
};

// What a fragment's x holds for an element type, how many elements a 32-bit word has (a double: 64 bits), and
// the type that a multiplication takes them in.
template <class T>
struct MatrixElement;

#define CUDASIM_ELEMENT(T, stored, packed, word, elements, number, value) \
    template <>                                                           \
    struct MatrixElement<T> {                                             \
        typedef stored storage;                                           \
        typedef InMemory<(packed > 1), stored>::type memory;              \
        typedef word Word;                                                \
        typedef number Number;                                            \
        static constexpr int per_storage = packed, per_word = elements;   \
        CUDASIM_INLINE __device__ Number at(Word bits, int i) {           \
            return value;                                                 \
        }                                                                 \
    };
#define CUDASIM_HALF_BITS static_cast<unsigned short>(bits >> (16 * i))
CUDASIM_ELEMENT(__half, __half, 1, unsigned, 2, float, Short<HalfFormat>::to(CUDASIM_HALF_BITS))
CUDASIM_ELEMENT(__nv_bfloat16, __nv_bfloat16, 1, unsigned, 2, float,
                Short<BfloatFormat>::to(CUDASIM_HALF_BITS))
// A matrix operation does not see the last 13 bits.
CUDASIM_ELEMENT(nvcuda::wmma::precision::tf32, float, 1, unsigned, 1, float, float_of_bits(bits & ~0x1fffU))
CUDASIM_ELEMENT(signed char, signed char, 1, unsigned, 4, int, static_cast<signed char>(bits >> (8 * i)))
CUDASIM_ELEMENT(unsigned char, unsigned char, 1, unsigned, 4, int,
                static_cast<unsigned char>(bits >> (8 * i)))
CUDASIM_ELEMENT(double, double, 1, unsigned long long, 1, double, double_of_bits(bits))
CUDASIM_ELEMENT(nvcuda::wmma::experimental::precision::s4, int, 8, unsigned, 8, int,
                static_cast<int>(bits << (28 - 4 * i)) >> 28)
CUDASIM_ELEMENT(nvcuda::wmma::experimental::precision::u4, unsigned, 8, unsigned, 8, int,
                static_cast<int>(bits >> (4 * i) & 0xf))
CUDASIM_ELEMENT(nvcuda::wmma::experimental::precision::b1, unsigned, 32, unsigned, 32, unsigned, bits)
#undef CUDASIM_HALF_BITS
// Accumulators only.
CUDASIM_ELEMENT(float, float, 1, unsigned, 1, float, float_of_bits(bits))
CUDASIM_ELEMENT(int, int, 1, unsigned, 1, int, static_cast<int>(bits))
#undef CUDASIM_ELEMENT

template <class T, int elements>
struct __align__(8) FragmentOf {
    enum { num_elements = elements, num_storage_elements = elements / MatrixElement<T>::per_storage };
    typedef T element_type;
    typedef typename MatrixElement<T>::storage storage_element_type;
    storage_element_type x[num_storage_elements];
};

}  // namespace cudasim

namespace nvcuda {
namespace wmma {

template <typename Use, int m, int n, int k, typename T, typename Layout = void>
class fragment;

#define CUDASIM_FRAGMENT(use, m, n, k, T, layout, elements) \
    template <>                                             \
    class fragment<use, m, n, k, T, layout> : public cudasim::FragmentOf<T, elements> {};
// Of A and B in both layouts.
#define CUDASIM_OPERANDS(m, n, k, T, a_elements, b_elements)      \
    CUDASIM_FRAGMENT(matrix_a, m, n, k, T, row_major, a_elements) \
    CUDASIM_FRAGMENT(matrix_a, m, n, k, T, col_major, a_elements) \
    CUDASIM_FRAGMENT(matrix_b, m, n, k, T, row_major, b_elements) \
    CUDASIM_FRAGMENT(matrix_b, m, n, k, T, col_major, b_elements)
#define CUDASIM_FRAGMENTS(m, n, k)                                  \
    CUDASIM_OPERANDS(m, n, k, __half, 16, 16)                       \
    CUDASIM_OPERANDS(m, n, k, __nv_bfloat16, m* k / 32, n * k / 32) \
    CUDASIM_OPERANDS(m, n, k, signed char, m* k / 32, n * k / 32)   \
    CUDASIM_OPERANDS(m, n, k, unsigned char, m* k / 32, n * k / 32) \
    CUDASIM_FRAGMENT(accumulator, m, n, k, __half, void, 8)         \
    CUDASIM_FRAGMENT(accumulator, m, n, k, float, void, 8)          \
    CUDASIM_FRAGMENT(accumulator, m, n, k, int, void, 8)
CUDASIM_FRAGMENTS(16, 16, 16)
CUDASIM_FRAGMENTS(32, 8, 16)
CUDASIM_FRAGMENTS(8, 32, 16)
CUDASIM_OPERANDS(16, 16, 8, precision::tf32, 4, 4)
CUDASIM_FRAGMENT(accumulator, 16, 16, 8, float, void, 8)
CUDASIM_OPERANDS(8, 8, 4, double, 1, 1)
CUDASIM_FRAGMENT(accumulator, 8, 8, 4, double, void, 2)
// Elements of fewer bits than a byte are only multiplied row by column.
#define CUDASIM_PACKED(k, T, elements)                          \
    CUDASIM_FRAGMENT(matrix_a, 8, 8, k, T, row_major, elements) \
    CUDASIM_FRAGMENT(matrix_b, 8, 8, k, T, col_major, elements)
CUDASIM_PACKED(32, experimental::precision::s4, 8)
CUDASIM_PACKED(32, experimental::precision::u4, 8)
CUDASIM_PACKED(128, experimental::precision::b1, 32)
CUDASIM_FRAGMENT(accumulator, 8, 8, 32, int, void, 2)
CUDASIM_FRAGMENT(accumulator, 8, 8, 128, int, void, 2)
#undef CUDASIM_FRAGMENT
#undef CUDASIM_OPERANDS
#undef CUDASIM_FRAGMENTS
#undef CUDASIM_PACKED

}  // namespace wmma
}  // namespace nvcuda

#endif
