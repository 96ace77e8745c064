// See statement_stops.h: hook `returned`.
//
// A value is copied to memory part by part, each part to where debug information has it: front ends return
// structs of parts, and the parts of what the source calls one value may lie otherwise there.
#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/IR/InstIterator.h>

#include <algorithm>
#include <map>
#include <optional>

#include "simulator/jit/debug_types.h"
#include "simulator/jit/function_context.h"
#include "simulator/jit/hook_calls.h"
#include "simulator/jit/source_places.h"
#include "simulator/jit/statement_stops.h"

namespace cudasim::jit {
namespace {

using namespace llvm;

/// A number or a pointer within a value.
struct Part {
    std::uint64_t offset = 0, bytes = 0;
    bool operator==(const Part&) const = default;
};

/// Values of more parts are copied as a whole, where they lie the same.
constexpr std::size_t most_parts = 64;

/// As debug information describes them, in order. False: not all of them are known.
bool add_parts(const DIType* type, std::uint64_t offset, std::vector<Part>& parts) {
    if (type == nullptr || parts.size() > most_parts) return false;
    const std::uint64_t bytes = type->getSizeInBits() / 8;
    if (const auto* basic = dyn_cast<DIBasicType>(type)) {
        const bool is_complex = basic->getEncoding() == dwarf::DW_ATE_complex_float;
        parts.push_back({offset, is_complex ? bytes / 2 : bytes});
        if (is_complex) parts.push_back({offset + bytes / 2, bytes / 2});
        return bytes != 0;
    }
    if (const auto* derived = dyn_cast<DIDerivedType>(type)) {
        switch (derived->getTag()) {
            case dwarf::DW_TAG_pointer_type:
            case dwarf::DW_TAG_reference_type:
            case dwarf::DW_TAG_rvalue_reference_type:
                parts.push_back({offset, sizeof(std::uint64_t)});
                return true;
            default:
                return add_parts(derived->getBaseType(), offset, parts);
        }
    }
    const auto* composite = dyn_cast<DICompositeType>(type);
    if (composite == nullptr || composite->getTag() == dwarf::DW_TAG_union_type) return false;
    if (composite->getTag() == dwarf::DW_TAG_enumeration_type) {
        parts.push_back({offset, bytes});
        return true;
    }
    if (composite->getTag() == dwarf::DW_TAG_array_type) {
        const DIType* element = composite->getBaseType();
        const std::uint64_t step = element != nullptr ? element->getSizeInBits() / 8 : 0;
        if (step == 0 || bytes / step > most_parts) return false;
        for (std::uint64_t at = 0; at < bytes; at += step)
            if (!add_parts(element, offset + at, parts)) return false;
        return true;
    }
    for (const DINode* node : composite->getElements()) {
        const auto* member = dyn_cast_or_null<DIDerivedType>(node);
        if (member == nullptr || member->isStaticMember()) continue;
        if (member->getTag() != dwarf::DW_TAG_member && member->getTag() != dwarf::DW_TAG_inheritance)
            continue;
        if (member->isBitField()) return false;
        if (!add_parts(member->getBaseType(), offset + member->getOffsetInBits() / 8, parts)) return false;
    }
    return true;
}

/// The numbers and pointers of an LLVM type, in order, with the way to each.
void add_parts(Type* type, SmallVector<unsigned, 4> way,
               std::vector<std::pair<SmallVector<unsigned, 4>, Type*>>& parts) {
    const bool is_array = type->isArrayTy();
    if (!is_array && !type->isStructTy()) {
        parts.emplace_back(std::move(way), type);
        return;
    }
    const std::uint64_t count = is_array ? type->getArrayNumElements() : type->getStructNumElements();
    for (unsigned i = 0; i < count && parts.size() <= most_parts; ++i) {
        SmallVector<unsigned, 4> further = way;
        further.push_back(i);
        add_parts(is_array ? type->getArrayElementType() : type->getStructElementType(i), std::move(further),
                  parts);
    }
}

class ReturnedValues {
  public:
    ReturnedValues(Compilation& compilation, Function& function)
        : compilation_(compilation), function_(function), data_layout_(function.getDataLayout()) {}

    void run() {
        const DISubprogram* subprogram = function_.getSubprogram();
        if (subprogram == nullptr || &function_ == compilation_.kernel) return;
        if (StringRef(path_of(subprogram->getFile())).starts_with(findings::own_code)) return;
        const DITypeRefArray types = subprogram->getType()->getTypeArray();
        const DIType* type = types && types.size() != 0 ? types[0] : nullptr;
        if (type == nullptr || type->getSizeInBits() == 0) return;
        std::vector<ReturnInst*> ends;
        for (Instruction& instruction : instructions(function_))
            if (auto* end = dyn_cast<ReturnInst>(&instruction)) ends.push_back(end);
        if (ends.empty() || !find_way(*type)) return;
        const std::uint32_t index = describe(*subprogram, *type);
        for (ReturnInst* end : ends) {
            IRBuilder<> builder(end);
            DebugLoc place = end->getDebugLoc();
            if (!place || place.getLine() == 0)
                place = DILocation::get(function_.getContext(), subprogram->getLine(), 0,
                                        const_cast<DISubprogram*>(subprogram));
            builder.SetCurrentDebugLocation(place);
            Value* memory = result_ != nullptr ? result_ : copy(*end->getReturnValue(), builder);
            call_hook(builder, Hook::returned, {memory, builder.getInt32(index)});
        }
    }

  private:
    /// How the value gets to where it can be read. False: not at all.
    bool find_way(const DIType& type) {
        bytes_ = type.getSizeInBits() / 8;
        for (Argument& argument : function_.args()) {
            if (!argument.hasStructRetAttr()) continue;
            result_ = &argument;
            return bytes_ <= data_layout_.getTypeAllocSize(argument.getParamStructRetType());
        }
        Type* returned = function_.getReturnType();
        if (returned->isVoidTy()) return false;
        std::vector<Part> described;
        add_parts(returned, {}, values_);
        is_by_parts_ = add_parts(&type, 0, described) && described.size() == values_.size();
        for (std::size_t i = 0; is_by_parts_ && i < values_.size(); ++i)
            is_by_parts_ = data_layout_.getTypeStoreSize(values_[i].second) == described[i].bytes &&
                           described[i].offset + described[i].bytes <= bytes_;
        if (is_by_parts_)
            for (const Part& part : described) offsets_.push_back(part.offset);
        else if (data_layout_.getTypeStoreSize(returned) != bytes_ &&
                 data_layout_.getTypeAllocSize(returned) != bytes_)
            return false;
        const std::uint64_t room = std::max<std::uint64_t>(bytes_, data_layout_.getTypeAllocSize(returned));
        IRBuilder<> builder(&*function_.getEntryBlock().begin());
        storage_ = builder.CreateAlloca(ArrayType::get(builder.getInt8Ty(), room));
        storage_->setAlignment(alignment);
        storage_->setMetadata(marks::returned, MDNode::get(storage_->getContext(), {}));
        return true;
    }

    Value* copy(Value& value, IRBuilder<>& builder) {
        const auto store = [&](Value* part, std::uint64_t offset) {
            if (part->getType()->isIntegerTy(1)) part = builder.CreateZExt(part, builder.getInt8Ty());
            Value* place = builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), storage_, offset);
            mark_internal(*builder.CreateAlignedStore(part, place, commonAlignment(alignment, offset)));
        };
        if (!is_by_parts_) {
            store(&value, 0);
            return storage_;
        }
        for (std::size_t i = 0; i < values_.size(); ++i) {
            const auto& way = values_[i].first;
            store(way.empty() ? &value : builder.CreateExtractValue(&value, way), offsets_[i]);
        }
        return storage_;
    }

    std::uint32_t describe(const DISubprogram& subprogram, const DIType& type) {
        CapturedVariable value;
        value.name = subprogram.getName().str();
        value.type = static_cast<std::uint32_t>(compilation_.stops.types.size());
        compilation_.stops.types.push_back(type_description(&type));
        value.bytes = static_cast<std::uint32_t>(bytes_);
        if (const auto referred = referred_memory(&type)) {
            value.element_bytes = referred->element_bytes;
            value.dimensions = referred->dimensions;
        }
        compilation_.stops.returns.push_back(std::move(value));
        return static_cast<std::uint32_t>(compilation_.stops.returns.size() - 1);
    }

    const Align alignment{16};

    Compilation& compilation_;
    Function& function_;
    const DataLayout& data_layout_;
    std::uint64_t bytes_ = 0;
    Argument* result_ = nullptr;  ///< points to memory that the value is returned in
    AllocaInst* storage_ = nullptr;
    std::vector<std::pair<SmallVector<unsigned, 4>, Type*>> values_;
    std::vector<std::uint64_t> offsets_;  ///< of values_
    bool is_by_parts_ = false;
};

}  // namespace

void note_returned_values(Compilation& compilation) {
    for (Function& function : *compilation.module)
        if (!function.isDeclaration()) ReturnedValues(compilation, function).run();
}

}  // namespace cudasim::jit
