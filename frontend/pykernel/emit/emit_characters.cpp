// See characters.h.
#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>

#include <algorithm>

#include "frontend/pykernel/emit/characters.h"

namespace cudasim::pykernel {
namespace {

constexpr std::uint64_t word_bytes = 8;

/// What a constant holds, as it lies in memory. Strings are UTF-8 in types; U has 32 bits for each character.
std::string bytes_of_constant(TypeRef type) {
    if (is_bytes_constant(type)) return type->text;
    std::string bytes;
    std::uint32_t point = 0;
    const std::string text = type->text;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        const unsigned ones = byte < 0x80 ? 0 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
        point = (byte & 0xC0) == 0x80 ? point << 6 | (byte & 0x3F) : byte & (0xFF >> (ones + (ones != 0)));
        const bool continues =
            i + 1 < text.size() && (static_cast<unsigned char>(text[i + 1]) & 0xC0) == 0x80;
        for (unsigned shift = 0; !continues && shift < 32; shift += 8)
            bytes += static_cast<char>(point >> shift & 0xFF);
    }
    return bytes;
}

std::uint64_t word_of(const std::string& bytes, std::size_t word) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < word_bytes && word * word_bytes + i < bytes.size(); ++i)
        value |= std::uint64_t{static_cast<unsigned char>(bytes[word * word_bytes + i])} << (8 * i);
    return value;
}

std::size_t words_in(TypeRef type) {
    const std::uint64_t bytes =
        type->is(TypeKind::characters) ? type->bytes() : bytes_of_constant(type).size();
    return static_cast<std::size_t>((bytes + word_bytes - 1) / word_bytes);
}

/// The words of a value, as many as wanted.
Parts words(FunctionEmitter& e, const Emitted& value, std::size_t count) {
    Parts result;
    const bool known = !value.type->is(TypeKind::characters);
    const std::string bytes = known ? bytes_of_constant(value.type) : std::string();
    for (std::size_t i = 0; i < count; ++i) {
        if (known)
            result.push_back(e.builder.getInt64(word_of(bytes, i)));
        else
            result.push_back(i < value.parts.size() ? value.parts[i] : e.int64(0));
    }
    return result;
}

/// A word as a number that orders as its characters do.
llvm::Value* ordered(FunctionEmitter& e, llvm::Value* word, unsigned size) {
    if (size == 1) return e.builder.CreateUnaryIntrinsic(llvm::Intrinsic::bswap, word);
    return e.builder.CreateOr(e.builder.CreateShl(word, 32), e.builder.CreateLShr(word, 32));
}

/// Each piece of a value's memory that is loaded or stored at once: {offset, bytes}.
std::vector<std::pair<std::uint64_t, unsigned>> pieces(std::uint64_t bytes) {
    std::vector<std::pair<std::uint64_t, unsigned>> result;
    for (std::uint64_t offset = 0; offset < bytes;) {
        unsigned size = word_bytes;
        while (size > bytes - offset) size /= 2;
        result.emplace_back(offset, size);
        offset += size;
    }
    return result;
}

}  // namespace

Emitted emit_characters_operation(FunctionEmitter& e, Operator op, const Emitted& left,
                                  const Emitted& right) {
    const unsigned size = character_size(left.type);
    const std::size_t count = std::max({words_in(left.type), words_in(right.type), std::size_t{1}});
    const Parts a = words(e, left, count), b = words(e, right, count);
    const bool equality = op == Operator::equal || op == Operator::not_equal;
    // a > b is b < a, a <= b is not b < a.
    const bool swapped = op == Operator::greater || op == Operator::less_equal;
    const bool negated =
        op == Operator::not_equal || op == Operator::less_equal || op == Operator::greater_equal;
    llvm::Value* result = e.builder.getInt1(equality);
    for (std::size_t i = count; i-- > 0;) {
        llvm::Value *x = swapped ? b[i] : a[i], *y = swapped ? a[i] : b[i];
        llvm::Value* same = e.builder.CreateICmpEQ(x, y);
        if (equality) {
            result = e.builder.CreateAnd(result, same);
        } else {
            llvm::Value* less = e.builder.CreateICmpULT(ordered(e, x, size), ordered(e, y, size));
            result = e.builder.CreateSelect(same, result, less);
        }
    }
    return {e.types().boolean, {negated ? e.builder.CreateNot(result) : result}};
}

Emitted to_characters(FunctionEmitter& e, const Emitted& value, TypeRef type) {
    Emitted result{type, words(e, value, words_in(type))};
    const unsigned left = type->bytes() % word_bytes;
    if (left)
        result.parts.back() = e.builder.CreateAnd(result.parts.back(),
                                                  e.builder.getInt64((std::uint64_t{1} << (8 * left)) - 1));
    return result;
}

llvm::Value* characters_length(FunctionEmitter& e, const Emitted& value) {
    const unsigned size = character_size(value.type), bits = 8 * size;
    llvm::Value* length = e.int64(0);
    for (std::size_t i = 0; i < value.parts.size(); ++i) {
        llvm::Value* zeros =
            e.builder.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, value.parts[i], e.builder.getFalse());
        llvm::Value* used = e.builder.CreateSub(e.int64(64 + bits - 1), zeros);
        llvm::Value* here = e.builder.CreateLShr(used, bits == 8 ? 3 : 5);
        llvm::Value* total =
            e.builder.CreateAdd(here, e.int64(static_cast<std::int64_t>(i * word_bytes / size)));
        length = e.builder.CreateSelect(e.builder.CreateICmpNE(value.parts[i], e.int64(0)), total, length);
    }
    return length;
}

llvm::Value* character_at(FunctionEmitter& e, const Emitted& value, llvm::Value* index) {
    llvm::Value* word = value.parts[0];
    llvm::Value* number = e.builder.CreateLShr(index, 3);
    for (std::size_t i = 1; i < value.parts.size(); ++i) {
        llvm::Value* here = e.builder.CreateICmpEQ(number, e.int64(static_cast<std::int64_t>(i)));
        word = e.builder.CreateSelect(here, value.parts[i], word);
    }
    llvm::Value* shift = e.builder.CreateShl(e.builder.CreateAnd(index, e.int64(7)), 3);
    return e.builder.CreateAnd(e.builder.CreateLShr(word, shift), e.int64(255));
}

Emitted load_characters(FunctionEmitter& e, llvm::Value* place, TypeRef type, TypeRef container) {
    Emitted result{type, Parts(words_in(type), e.int64(0))};
    for (const auto& [offset, size] : pieces(type->bytes())) {
        llvm::Value* at = e.builder.CreateConstGEP1_64(e.builder.getInt8Ty(), place, offset);
        const llvm::Align alignment(container->aligned ? std::min(size, type->dimensions) : 1);
        auto* loaded = e.builder.CreateAlignedLoad(e.builder.getIntNTy(8 * size), at, alignment);
        e.checked(loaded, container);
        llvm::Value* wide =
            size == word_bytes ? loaded : e.builder.CreateZExt(loaded, e.builder.getInt64Ty());
        if (offset % word_bytes) wide = e.builder.CreateShl(wide, 8 * (offset % word_bytes));
        llvm::Value*& word = result.parts[offset / word_bytes];
        word = offset % word_bytes ? e.builder.CreateOr(word, wide) : wide;
    }
    return result;
}

void store_characters(FunctionEmitter& e, llvm::Value* place, const Emitted& value, TypeRef container) {
    for (const auto& [offset, size] : pieces(value.type->bytes())) {
        llvm::Value* at = e.builder.CreateConstGEP1_64(e.builder.getInt8Ty(), place, offset);
        llvm::Value* word = value.parts[offset / word_bytes];
        if (offset % word_bytes) word = e.builder.CreateLShr(word, 8 * (offset % word_bytes));
        if (size != word_bytes) word = e.builder.CreateTrunc(word, e.builder.getIntNTy(8 * size));
        const llvm::Align alignment(container->aligned ? std::min(size, value.type->dimensions) : 1);
        e.checked(e.builder.CreateAlignedStore(word, at, alignment), container);
    }
}

}  // namespace cudasim::pykernel
