// Matrices that a warp multiplies together (PTX ISA, "Warp Level Matrix Multiply-Accumulate Instructions").
//
// The elements that a lane needs of others come by shuffles. Sums are computed in float64, or in 64 bits, and
// rounded once: a GPU's tensor cores round in a way of their own that NVIDIA does not document.
//
// mma's fragments are laid out as the PTX ISA says: of A, register r has row `lane / 4`, of 16 rows also 8
// rows down where r is odd, and as many elements of k as a register holds, beginning at that many times `lane
// % 4`. Those of wmma are left open there; here A is row after row and B column after column, in registers of
// one lane after another's, and again from the beginning where lanes are left. C is row after row.
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include <array>
#include <charconv>
#include <optional>

#include "frontend/ptx/translation.h"

namespace cudasim::ptx {
namespace {

using llvm::Value;
namespace Intrinsic = llvm::Intrinsic;

/// What an element is.
struct Element {
    std::string_view name;
    unsigned width;
    bool is_real;
    bool is_signed;
    /// Of a register that holds it.
    [[nodiscard]] unsigned register_width() const { return width == 64 ? 64 : 32; }
    [[nodiscard]] unsigned per_register() const { return name == "tf32" ? 1 : register_width() / width; }
};

constexpr Element elements[] = {
    {"f16", 16, true, false}, {"bf16", 16, true, false}, {"tf32", 32, true, false}, {"f32", 32, true, false},
    {"f64", 64, true, false}, {"e4m3", 8, true, false},  {"e5m2", 8, true, false},  {"s8", 8, false, true},
    {"u8", 8, false, false},  {"s4", 4, false, true},    {"u4", 4, false, false},   {"s32", 32, false, true},
    {"b1", 1, false, false},
};

/// The element types among the modifiers, in their order.
std::vector<Element> elements_of(const InstructionContext& at) {
    std::vector<Element> result;
    for (const std::string& part : at.instruction.opcode)
        for (const Element& known : elements)
            if (part == known.name) result.push_back(known);
    return result;
}

struct Shape {
    unsigned m = 0, n = 0, k = 0;
};

/// m16n8k16.
std::optional<Shape> shape_named(const std::string& text) {
    Shape shape;
    std::size_t position = 0;
    for (const auto& [letter, extent] : {std::pair{'m', &shape.m}, {'n', &shape.n}, {'k', &shape.k}}) {
        if (position >= text.size() || text[position] != letter) return {};
        const auto [end, error] =
            std::from_chars(text.data() + position + 1, text.data() + text.size(), *extent);
        if (error != std::errc{}) return {};
        position = static_cast<std::size_t>(end - text.data());
    }
    if (position != text.size()) return {};
    return shape;
}

Shape shape_of(const InstructionContext& at) {
    for (const std::string& part : at.instruction.opcode)
        if (const auto shape = shape_named(part)) return *shape;
    at.refuse();
}

class Warp {
  public:
    explicit Warp(InstructionContext& at) : at_(at), b_(at.b) {
        lane_ = b_.CreateIntrinsic(Intrinsic::nvvm_read_ptx_sreg_laneid, {}, {});
    }

    [[nodiscard]] Value* lane() const { return lane_; }

    /// lane / divisor, lane % divisor.
    [[nodiscard]] Value* over(unsigned divisor) const { return b_.CreateUDiv(lane_, b_.getInt32(divisor)); }
    [[nodiscard]] Value* modulo(unsigned divisor) const { return b_.CreateURem(lane_, b_.getInt32(divisor)); }

    /// What another lane has, in 32 or 64 bits.
    [[nodiscard]] Value* of_lane(Value* value, Value* lane) const {
        if (value->getType()->isIntegerTy(64)) {
            Value* low = of_lane(b_.CreateTrunc(value, b_.getInt32Ty()), lane);
            Value* high = of_lane(b_.CreateTrunc(b_.CreateLShr(value, 32), b_.getInt32Ty()), lane);
            return b_.CreateOr(b_.CreateZExt(low, b_.getInt64Ty()),
                               b_.CreateShl(b_.CreateZExt(high, b_.getInt64Ty()), 32));
        }
        return b_.CreateIntrinsic(Intrinsic::nvvm_shfl_sync_idx_i32, {},
                                  {b_.getInt32(~0U), value, lane, b_.getInt32(31)});
    }

    /// The registers of an operand {a, b, ..}, or of one register.
    [[nodiscard]] std::vector<Value*> registers(std::size_t operand, unsigned width,
                                                std::size_t count) const {
        const Operand& given = at_.operand(operand);
        const std::vector<Operand> parts =
            given.kind == Operand::vector ? given.elements : std::vector<Operand>{given};
        if (parts.size() != count) at_.refuse();
        std::vector<Value*> result;
        for (const Operand& part : parts) result.push_back(at_.function.read(part, {Type::bits, width}));
        return result;
    }

    void write(std::size_t operand, const std::vector<Value*>& values) const {
        const Operand& given = at_.operand(operand);
        const std::vector<Operand> parts =
            given.kind == Operand::vector ? given.elements : std::vector<Operand>{given};
        if (parts.size() != values.size()) at_.refuse();
        for (std::size_t i = 0; i < parts.size(); ++i) at_.function.write(parts[i], values[i]);
    }

    /// An element of a register as a double, or as an i64.
    [[nodiscard]] Value* number(Value* bits, unsigned index, const Element& element) const {
        if (!element.is_real || element.width < 32) {
            bits = b_.CreateTrunc(b_.CreateLShr(bits, index * element.width), b_.getIntNTy(element.width));
            if (!element.is_real) return b_.CreateIntCast(bits, b_.getInt64Ty(), element.is_signed);
        }
        llvm::Type* wide = b_.getDoubleTy();
        if (element.name == "f16") return b_.CreateFPExt(b_.CreateBitCast(bits, b_.getHalfTy()), wide);
        if (element.name == "bf16") {
            bits = b_.CreateShl(b_.CreateZExt(bits, b_.getInt32Ty()), 16);
            return b_.CreateFPExt(b_.CreateBitCast(bits, b_.getFloatTy()), wide);
        }
        if (element.width == 8)
            return b_.CreateFPExt(
                real_of_byte(b_, bits, element.name == "e4m3" ? Type::e4m3_pair : Type::e5m2_pair), wide);
        if (element.width == 64) return b_.CreateBitCast(bits, wide);
        if (element.name == "tf32") bits = b_.CreateAnd(bits, ~((1U << 13) - 1));
        return b_.CreateFPExt(b_.CreateBitCast(bits, b_.getFloatTy()), wide);
    }

    /// A sum as an element's bits.
    [[nodiscard]] Value* bits_of(Value* sum, const Element& element) const {
        if (!element.is_real) {
            if (at_.has("satfinite")) {
                sum = b_.CreateBinaryIntrinsic(Intrinsic::smax, sum,
                                               b_.getInt64(static_cast<std::uint64_t>(INT32_MIN)));
                sum = b_.CreateBinaryIntrinsic(Intrinsic::smin, sum, b_.getInt64(INT32_MAX));
            }
            return b_.CreateTrunc(sum, b_.getInt32Ty());
        }
        if (element.width == 64) return b_.CreateBitCast(sum, b_.getInt64Ty());
        const bool is_half = element.width == 16;
        Value* rounded = b_.CreateFPTrunc(sum, is_half ? b_.getHalfTy() : b_.getFloatTy());
        return b_.CreateBitCast(rounded, b_.getIntNTy(element.width));
    }

    /// The registers that hold elements of these bits.
    [[nodiscard]] std::vector<Value*> packed(const std::vector<Value*>& bits, const Element& element) const {
        const unsigned each = element.per_register();
        std::vector<Value*> result;
        for (std::size_t i = 0; i < bits.size(); i += each) {
            llvm::Type* type = b_.getIntNTy(element.register_width());
            Value* word = llvm::ConstantInt::get(type, 0);
            for (unsigned part = 0; part < each; ++part)
                word = b_.CreateOr(word,
                                   b_.CreateShl(b_.CreateZExt(bits[i + part], type), part * element.width));
            result.push_back(word);
        }
        return result;
    }

    [[nodiscard]] Value* product_added(Value* sum, Value* left, Value* right) const {
        if (sum->getType()->isIntegerTy()) return b_.CreateAdd(sum, b_.CreateMul(left, right));
        return b_.CreateFAdd(sum, b_.CreateFMul(left, right));
    }

    /// Of two registers with bits: how many are set in both (.and) or in one (.xor).
    [[nodiscard]] Value* bits_in_common_added(Value* sum, Value* left, Value* right) const {
        Value* bits = at_.has("and") ? b_.CreateAnd(left, right) : b_.CreateXor(left, right);
        Value* count = b_.CreateUnaryIntrinsic(Intrinsic::ctpop, bits);
        return b_.CreateAdd(sum, b_.CreateZExt(count, sum->getType()));
    }

  private:
    InstructionContext& at_;
    llvm::IRBuilder<>& b_;
    Value* lane_ = nullptr;
};

/// mma.sync d, a, b, c.
void translate_mma(InstructionContext& at) {
    auto& b = at.b;
    const Shape shape = shape_of(at);
    const std::vector<Element> types = elements_of(at);
    if (types.size() != 4 || at.instruction.operands.size() != 4 || at.has("sp") || at.has("block_scale") ||
        shape.n != 8 || (shape.m != 8 && shape.m != 16) ||
        types[1].per_register() != types[2].per_register() || types[1].is_real != types[3].is_real)
        at.refuse();
    if (shape.m == 8 && types[1].name == "f16") at.refuse();  // Volta's m8n8k4 has another layout
    const bool of_bits = types[1].width == 1;
    if (of_bits && (!at.has("popc") || at.has("and") == at.has("xor"))) at.refuse();
    const Warp warp(at);
    const unsigned each = types[1].per_register(), halves = shape.m / 8;
    if (shape.k % (4 * each) != 0) at.refuse();
    const unsigned chunks = shape.k / (4 * each);
    const auto left = warp.registers(1, types[1].register_width(), std::size_t{chunks} * halves);
    const auto right = warp.registers(2, types[2].register_width(), chunks);
    const auto addends =
        warp.registers(3, types[3].register_width(), std::size_t{2} * halves / types[3].per_register());
    Value* row = warp.over(4);
    Value* column = b.CreateShl(warp.modulo(4), 1);
    std::vector<Value*> sums;
    for (unsigned i = 0; i < 2 * halves; ++i)
        sums.push_back(
            warp.number(addends[i / types[3].per_register()], i % types[3].per_register(), types[3]));
    for (unsigned chunk = 0; chunk < chunks; ++chunk) {
        for (unsigned holder = 0; holder < 4; ++holder) {
            const auto holder_of = [&](Value* group) {
                return b.CreateAdd(b.CreateShl(group, 2), b.getInt32(holder));
            };
            std::array<Value*, 2> rows{}, columns{};
            for (unsigned half = 0; half < halves; ++half)
                rows[half] = warp.of_lane(left[chunk * halves + half], holder_of(row));
            for (unsigned side = 0; side < 2; ++side)
                columns[side] = warp.of_lane(right[chunk], holder_of(b.CreateAdd(column, b.getInt32(side))));
            for (unsigned i = 0; i < 2 * halves; ++i) {
                if (of_bits) {
                    sums[i] = warp.bits_in_common_added(sums[i], rows[i / 2], columns[i % 2]);
                    continue;
                }
                for (unsigned element = 0; element < each; ++element)
                    sums[i] = warp.product_added(sums[i], warp.number(rows[i / 2], element, types[1]),
                                                 warp.number(columns[i % 2], element, types[2]));
            }
        }
    }
    for (Value*& sum : sums) sum = warp.bits_of(sum, types[0]);
    warp.write(0, warp.packed(sums, types[0]));
}

// -- ldmatrix, stmatrix, movmatrix ------------------------------------------------------------------------

Space space_of(const InstructionContext& at) {
    for (const std::string& part : at.instruction.opcode) {
        if (part.starts_with("shared")) return Space::shared;
        if (part == "global") return Space::global;
    }
    return Space::generic;
}

unsigned matrices_of(const InstructionContext& at) {
    if (!at.has("m8n8") || !at.has("b16")) at.refuse();
    return at.has("x4") ? 4 : at.has("x2") ? 2 : 1;
}

/// Where a lane's two elements of matrix `number` lie: the lanes from 8 * number on have the addresses of its
/// rows. With .trans row and column change places, and the elements do not lie together.
Value* place_in_matrix(InstructionContext& at, const Warp& warp, Value* address, unsigned number,
                       unsigned element) {
    auto& b = at.b;
    const bool transposed = at.has("trans");
    Value* row = warp.over(4);
    Value* column = b.CreateAdd(b.CreateShl(warp.modulo(4), 1), b.getInt32(element));
    if (transposed) std::swap(row, column);
    Value* holder = b.CreateAdd(row, b.getInt32(8 * number));
    Value* begin = warp.of_lane(address, holder);
    return b.CreateAdd(begin, b.CreateZExt(b.CreateShl(column, 1), b.getInt64Ty()));
}

void translate_ldmatrix(InstructionContext& at) {
    auto& b = at.b;
    const unsigned count = matrices_of(at);
    const Warp warp(at);
    llvm::Value* place = at.function.pointer(at.operand(1), space_of(at));
    Value* address = b.CreatePtrToInt(place, b.getInt64Ty());
    std::vector<Value*> result;
    for (unsigned number = 0; number < count; ++number) {
        Value* word = b.getInt32(0);
        for (unsigned element = 0; element < 2; ++element) {
            Value* from =
                b.CreateIntToPtr(place_in_matrix(at, warp, address, number, element), place->getType());
            Value* part =
                b.CreateZExt(b.CreateAlignedLoad(b.getInt16Ty(), from, llvm::Align(2)), b.getInt32Ty());
            word = b.CreateOr(word, b.CreateShl(part, 16 * element));
        }
        result.push_back(word);
    }
    warp.write(0, result);
}

void translate_stmatrix(InstructionContext& at) {
    auto& b = at.b;
    const unsigned count = matrices_of(at);
    const Warp warp(at);
    llvm::Value* place = at.function.pointer(at.operand(0), space_of(at));
    Value* address = b.CreatePtrToInt(place, b.getInt64Ty());
    const std::vector<Value*> values = warp.registers(1, 32, count);
    for (unsigned number = 0; number < count; ++number)
        for (unsigned element = 0; element < 2; ++element) {
            Value* to =
                b.CreateIntToPtr(place_in_matrix(at, warp, address, number, element), place->getType());
            Value* part = b.CreateTrunc(b.CreateLShr(values[number], 16 * element), b.getInt16Ty());
            b.CreateAlignedStore(part, to, llvm::Align(2));
        }
}

/// movmatrix.sync.aligned.m8n8.trans.b16 d, a.
void translate_movmatrix(InstructionContext& at) {
    auto& b = at.b;
    const Warp warp(at);
    Value* own = at.read(1, u32);
    Value* word = b.getInt32(0);
    for (unsigned element = 0; element < 2; ++element) {
        Value* row = b.CreateAdd(b.CreateShl(warp.modulo(4), 1), b.getInt32(element));
        Value* column = warp.over(4);
        Value* holder = b.CreateAdd(b.CreateShl(row, 2), b.CreateLShr(column, 1));
        Value* theirs = warp.of_lane(own, holder);
        Value* part = b.CreateAnd(b.CreateLShr(theirs, b.CreateShl(b.CreateAnd(column, 1), 4)), 0xFFFF);
        word = b.CreateOr(word, b.CreateShl(part, 16 * element));
    }
    at.write(word);
}

// -- wmma -------------------------------------------------------------------------------------------------

/// Registers of a lane for A (`rows` is m) or B (n).
std::size_t registers_of(const Element& element, unsigned rows, unsigned k) {
    if (element.name == "f16") return 8;  // some lanes have the same
    return std::size_t{rows} * k / 32 / element.per_register();
}

/// Sums of a lane: one row of C, that many columns.
unsigned sums_of(const Shape& shape) {
    return shape.m * shape.n / 32;
}

/// The address of element `i` of a lane's fragment.
struct FragmentPlaces {
    InstructionContext& at;
    llvm::Value* first;    ///< pointer to the matrix
    Value* stride;         ///< elements between rows, or columns
    bool along;            ///< elements of a line of the fragment lie together
    unsigned length;       ///< of a line: k for A and B, n for C
    Value* first_element;  ///< number of the lane's first element in the fragment's order
    unsigned bytes;

    [[nodiscard]] Value* operator()(unsigned i) const {
        auto& b = at.b;
        Value* number = b.CreateAdd(first_element, b.getInt32(i));
        Value* line = b.CreateUDiv(number, b.getInt32(length));
        Value* position = b.CreateURem(number, b.getInt32(length));
        if (!along) std::swap(line, position);
        Value* index = b.CreateAdd(b.CreateMul(b.CreateZExt(line, b.getInt64Ty()), stride),
                                   b.CreateZExt(position, b.getInt64Ty()));
        return b.CreateGEP(b.getInt8Ty(), first, b.CreateMul(index, b.getInt64(bytes)));
    }
};

/// Of wmma.load and wmma.store, whose operands are the address, the fragment and the stride.
void translate_fragment(InstructionContext& at, bool loads) {
    auto& b = at.b;
    const Shape shape = shape_of(at);
    const std::vector<Element> types = elements_of(at);
    const std::string& which =
        at.instruction.opcode.size() > 2 ? at.instruction.opcode[2] : at.instruction.opcode[0];
    if (types.size() != 1 || types[0].width < 8 || at.instruction.operands.size() < 2) at.refuse();
    const Element& element = types[0];
    const Warp warp(at);
    const bool is_sum = which == "c" || which == "d", is_right = which == "b";
    const unsigned lines = is_right ? shape.n : shape.m, length = is_sum ? shape.n : shape.k;
    const std::size_t registers =
        is_sum ? sums_of(shape) / element.per_register() : registers_of(element, lines, shape.k);
    const unsigned each = static_cast<unsigned>(registers) * element.per_register();
    Value* number = b.CreateURem(b.CreateMul(warp.lane(), b.getInt32(each)), b.getInt32(lines * length));
    const bool along = at.has("row") != is_right;
    Value* stride = b.getInt64(along ? length : lines);
    if (at.instruction.operands.size() > 2) stride = b.CreateZExt(at.read(2, u32), b.getInt64Ty());
    const unsigned bytes = element.width / 8;
    const FragmentPlaces places{
        at,   at.function.pointer(at.operand(loads ? 1 : 0), space_of(at)), stride, along, length, number,
        bytes};
    llvm::Type* type = b.getIntNTy(element.width);
    if (loads) {
        std::vector<Value*> bits;
        for (unsigned i = 0; i < each; ++i)
            bits.push_back(b.CreateAlignedLoad(type, places(i), llvm::Align(bytes)));
        return warp.write(0, warp.packed(bits, element));
    }
    const std::vector<Value*> values = warp.registers(1, element.register_width(), registers);
    for (unsigned i = 0; i < each; ++i) {
        Value* bits =
            b.CreateLShr(values[i / element.per_register()], i % element.per_register() * element.width);
        b.CreateAlignedStore(b.CreateTrunc(bits, type), places(i), llvm::Align(bytes));
    }
}

/// wmma.mma d, a, b, c: the types of A and B are left out where they are f16.
void translate_wmma_product(InstructionContext& at) {
    auto& b = at.b;
    const Shape shape = shape_of(at);
    std::vector<Element> types = elements_of(at);
    if (types.size() == 2) types.insert(types.begin() + 1, 2, elements[0]);
    if (types.size() != 4 || types[1].width < 8 || at.instruction.operands.size() != 4 ||
        types[1].is_real != types[3].is_real || types[1].per_register() != types[2].per_register())
        at.refuse();
    const Warp warp(at);
    const unsigned each = types[1].per_register(), line = shape.k / each, count = sums_of(shape);
    const std::size_t left_count = registers_of(types[1], shape.m, shape.k),
                      right_count = registers_of(types[2], shape.n, shape.k);
    if (left_count == 0 || right_count == 0 || line % left_count != 0 || line % right_count != 0) at.refuse();
    const auto left = warp.registers(1, types[1].register_width(), left_count);
    const auto right = warp.registers(2, types[2].register_width(), right_count);
    const auto addends = warp.registers(3, types[3].register_width(), count / types[3].per_register());
    Value* first = b.CreateMul(warp.lane(), b.getInt32(count));
    Value* row = b.CreateUDiv(first, b.getInt32(shape.n));
    Value* column = b.CreateURem(first, b.getInt32(shape.n));
    // Register q of a row's or column's line.
    const auto fetched = [&](const std::vector<Value*>& own, Value* which, unsigned q) {
        const auto lanes = static_cast<unsigned>(line / own.size());
        Value* holder = b.CreateAdd(b.CreateMul(which, b.getInt32(lanes)),
                                    b.getInt32(static_cast<std::uint32_t>(q / own.size())));
        return warp.of_lane(own[q % own.size()], holder);
    };
    std::vector<Value*> sums;
    for (unsigned i = 0; i < count; ++i)
        sums.push_back(
            warp.number(addends[i / types[3].per_register()], i % types[3].per_register(), types[3]));
    for (unsigned q = 0; q < line; ++q) {
        Value* of_row = fetched(left, row, q);
        for (unsigned i = 0; i < count; ++i) {
            Value* of_column = fetched(right, b.CreateAdd(column, b.getInt32(i)), q);
            for (unsigned element = 0; element < each; ++element)
                sums[i] = warp.product_added(sums[i], warp.number(of_row, element, types[1]),
                                             warp.number(of_column, element, types[2]));
        }
    }
    for (Value*& sum : sums) sum = warp.bits_of(sum, types[0]);
    warp.write(0, warp.packed(sums, types[0]));
}

void translate_wmma(InstructionContext& at) {
    if (at.has("load")) return translate_fragment(at, true);
    if (at.has("store")) return translate_fragment(at, false);
    if (at.has("mma")) return translate_wmma_product(at);
    at.refuse();
}

constexpr Row rows[] = {
    {"mma", translate_mma},           {"wmma", translate_wmma},           {"ldmatrix", translate_ldmatrix},
    {"stmatrix", translate_stmatrix}, {"movmatrix", translate_movmatrix},
};

}  // namespace

std::span<const Row> matrix_rows() {
    return rows;
}

}  // namespace cudasim::ptx
