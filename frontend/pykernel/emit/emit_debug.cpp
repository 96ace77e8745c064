// Debug info: what functions and variables are called and how they lie in memory. Reports, the debugger
// and profiles know a kernel's source from nothing else.
#include <llvm/BinaryFormat/Dwarf.h>

#include "frontend/pykernel/emit/emission.h"

namespace cudasim::pykernel {

llvm::DISubprogram* ModuleEmitter::subprogram(const Specialisation& specialisation) {
    const FunctionSource& source = program.source(specialisation.function);
    llvm::DIFile* where = file(source.file);
    llvm::SmallVector<llvm::Metadata*> signature{
        specialisation.result->is(TypeKind::none) ? nullptr : debug_type(specialisation.result)};
    for (TypeRef argument : specialisation.arguments) signature.push_back(debug_type(argument));
    const auto line = static_cast<unsigned>(source.syntax.location.line);
    return debug.createFunction(where, source.syntax.name, specialisation.symbol, where, line,
                                debug.createSubroutineType(debug.getOrCreateTypeArray(signature)), line,
                                llvm::DINode::FlagPrototyped, llvm::DISubprogram::SPFlagDefinition);
}

llvm::DIType* ModuleEmitter::debug_type(TypeRef type) {
    llvm::DIType*& result = debug_types_[type];
    if (result) return result;
    using namespace llvm::dwarf;
    switch (type->kind) {
        case TypeKind::boolean:
            result = debug.createBasicType("bool", 8, DW_ATE_boolean);
            break;
        case TypeKind::integer:
            result = debug.createBasicType(program.types.without_literal(type)->name, type->bits,
                                           type->is_signed ? DW_ATE_signed : DW_ATE_unsigned);
            break;
        case TypeKind::datetime64:
        case TypeKind::timedelta64:
            result = debug.createBasicType(type->name, type->bits, DW_ATE_signed);
            break;
        case TypeKind::bfloat:
        case TypeKind::floating:
            result = debug.createBasicType(type->name, type->bits, DW_ATE_float);
            break;
        case TypeKind::member:
            result =
                debug.createTypedef(debug_type(type->element()), type->name, unit_->getFile(), 0, nullptr);
            break;
        case TypeKind::characters: {
            const std::uint64_t bits = 8 * type->dimensions;
            auto* one = debug.createBasicType(bits == 8 ? "char" : "unichr", bits,
                                              bits == 8 ? DW_ATE_unsigned_char : DW_ATE_UTF);
            llvm::Metadata* range =
                debug.getOrCreateSubrange(0, static_cast<std::int64_t>(type->bits / bits));
            result = debug.createArrayType(type->bits, static_cast<std::uint32_t>(bits), one,
                                           debug.getOrCreateArray({range}));
            break;
        }
        case TypeKind::record:
            result = debug.createPointerType(debug_record(type), 64);
            break;
        case TypeKind::complex:
            result = debug.createBasicType(type->name, type->bits, DW_ATE_complex_float);
            break;
        case TypeKind::array:
        case TypeKind::tuple:
        case TypeKind::vector:
        case TypeKind::optional:
        case TypeKind::range:
        case TypeKind::added:
            result = debug_struct(type);
            break;
        default:
            result = debug.createUnspecifiedType(type->name);
            break;
    }
    return result;
}

llvm::DIType* ModuleEmitter::debug_type_in_memory(TypeRef type) {
    return type->is(TypeKind::record) ? debug_record(type) : debug_type(type);
}

llvm::DIType* ModuleEmitter::debug_record(TypeRef record) {
    llvm::DIType*& result = debug_records_[record];
    if (result) return result;
    llvm::SmallVector<llvm::Metadata*> members;
    for (const RecordField& field : record->fields) {
        if (!field.type) continue;
        const TypeRef element = field.type->is(TypeKind::array) ? field.type->element() : field.type;
        llvm::DIType* type = debug_type_in_memory(element);
        std::uint64_t bits = element->bits;
        if (!field.shape.empty()) {
            llvm::SmallVector<llvm::Metadata*> ranges;
            for (std::int64_t extent : field.shape) {
                ranges.push_back(debug.getOrCreateSubrange(0, extent));
                bits *= static_cast<std::uint64_t>(extent);
            }
            type = debug.createArrayType(bits, 8, type, debug.getOrCreateArray(ranges));
        }
        members.push_back(debug.createMemberType(unit_->getFile(), field.name, unit_->getFile(), 0, bits, 8,
                                                 8 * field.offset, llvm::DINode::FlagZero, type));
    }
    return result =
               debug.createStructType(unit_->getFile(), record->name, unit_->getFile(), 0, record->bits, 8,
                                      llvm::DINode::FlagZero, nullptr, debug.getOrCreateArray(members));
}

llvm::DIType* ModuleEmitter::debug_struct(TypeRef type) {
    llvm::SmallVector<llvm::Metadata*> members;
    std::uint64_t offset = 0;
    auto add = [&](const std::string& name, llvm::DIType* member, std::uint64_t bits, std::uint64_t align) {
        offset = (offset + align - 1) / align * align;
        members.push_back(debug.createMemberType(unit_->getFile(), name, unit_->getFile(), 0, bits,
                                                 static_cast<std::uint32_t>(align), offset,
                                                 llvm::DINode::FlagZero, member));
        offset += bits;
    };
    if (type->is(TypeKind::added)) {
        for (const RecordField& field : type->fields)
            add(field.name, debug_type(field.type), field.type->bits, field.type->bits);
    } else if (type->is(TypeKind::array)) {
        add("data", debug.createPointerType(debug_type_in_memory(type->element()), 64), 64, 64);
        llvm::Metadata* range = debug.getOrCreateSubrange(0, type->dimensions);
        auto* extents = debug.createArrayType(64 * type->dimensions, 64, debug_type(program.types.int64),
                                              debug.getOrCreateArray({range}));
        add("shape", extents, 64 * type->dimensions, 64);
        add("strides", extents, 64 * type->dimensions, 64);
    } else {
        if (type->is(TypeKind::optional)) add("present", debug_type(program.types.boolean), 8, 8);
        const char* range_names[] = {"start", "stop", "step"};
        const std::size_t count = type->is(TypeKind::range) ? 3 : type->elements.size();
        for (std::size_t i = 0; i < count; ++i) {
            const TypeRef element = type->is(TypeKind::range) ? type->element() : type->elements[i];
            llvm::Type* storage = storage_type(element);
            if (!storage) continue;
            const auto& layout = module.getDataLayout();
            const std::string name = type->is(TypeKind::range)    ? range_names[i]
                                     : type->is(TypeKind::vector) ? std::string(1, "xyzw"[i])
                                     : !type->names.empty()       ? type->names[i]
                                                                  : "f" + std::to_string(i);
            add(name, debug_type(element), layout.getTypeAllocSizeInBits(storage).getFixedValue(),
                layout.getABITypeAlign(storage).value() * 8);
        }
    }
    return debug.createStructType(unit_->getFile(), type->name, unit_->getFile(), 0, offset, 64,
                                  llvm::DINode::FlagZero, nullptr, debug.getOrCreateArray(members));
}

}  // namespace cudasim::pykernel
