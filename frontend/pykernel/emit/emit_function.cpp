// One function: parameters, blocks in order, variables, calls. See emission.h.
#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>

#include "frontend/pykernel/emit/call_emission.h"
#include "frontend/pykernel/emit/emission.h"

namespace cudasim::pykernel {

FunctionEmitter::FunctionEmitter(ModuleEmitter& module, const Specialisation& specialisation,
                                 llvm::Function* function, bool is_kernel)
    : module(module),
      builder(module.context),
      specialisation_(specialisation),
      graph_(specialisation.graph),
      function_(function),
      is_kernel_(is_kernel),
      blocks_(graph_.blocks.size()),
      values_(graph_.instructions.size()),
      maybe_unassigned_(graph_.variables.size(), 0),
      stored_(graph_.versions.size(), nothing) {
    llvm::FastMathFlags flags;
    const Request& request = module.program.request;
    flags.setAllowContract(request.fma || request.fastmath);
    if (request.fastmath) {
        // nnan and ninf are left out: they would make poison of what V2 defines.
        flags.setAllowReassoc(), flags.setAllowReciprocal(), flags.setApproxFunc(), flags.setNoSignedZeros();
        // What NVPTX asks for before it takes approximate division and square root, and flushes denormals.
        // The simulator drops function attributes: there they stay exact.
        function->addFnAttr("unsafe-fp-math", "true");
        function->addFnAttr("denormal-fp-math-f32", "preserve-sign,preserve-sign");
    }
    builder.setFastMathFlags(flags);
}

void FunctionEmitter::run() {
    entry_ = llvm::BasicBlock::Create(module.context, "entry", function_);
    for (BlockId id : graph_.order) {
        blocks_[id] = llvm::BasicBlock::Create(module.context, "block" + std::to_string(id), function_);
    }
    find_unassigned();
    bind_parameters();
    for (BlockId id : graph_.order) {
        builder.SetInsertPoint(blocks_[id]);
        for (ValueId value : graph_.blocks[id].instructions) {
            module.program.request.check_cancelled();
            if (value == graph_.blocks[id].instructions.back()) {
                set_location(graph_.instructions[value].location);
                convert_for_phis(id);
            }
            emit(value);
        }
    }
    builder.SetInsertPoint(entry_);
    set_location(graph_.source->syntax.location);
    builder.CreateBr(blocks_[0]);
}

/// Names the LLVM arguments after the Python ones: x.data, x.shape0, x.stride0 for an array, n for a number.
void FunctionEmitter::bind_parameters() {
    llvm::Argument* argument = function_->arg_begin();
    for (std::size_t i = 0; i < specialisation_.arguments.size(); ++i) {
        const TypeRef type = specialisation_.arguments[i];
        const std::string& name = graph_.source->syntax.parameters[i].name;
        llvm::SmallVector<llvm::Type*> parts;
        module.part_types(type, false, parts);
        for (std::size_t part = 0; part < parts.size(); ++part, ++argument) {
            std::string suffix;
            if (type->is(TypeKind::array)) {
                const std::size_t n = type->dimensions;
                suffix = part == 0   ? ".data"
                         : part <= n ? ".shape" + std::to_string(part - 1)
                                     : ".stride" + std::to_string(part - 1 - n);
            } else if (parts.size() > 1) {
                suffix = "." + std::to_string(part);
            }
            argument->setName(name + suffix);
        }
    }
}

void FunctionEmitter::set_location(Location location) {
    builder.SetCurrentDebugLocation(
        llvm::DILocation::get(module.context, static_cast<unsigned>(location.line),
                              static_cast<unsigned>(location.column + 1), scope()));
}

void FunctionEmitter::emit(ValueId id) {
    const Instruction& in = graph_.instructions[id];
    set_location(in.location);
    if (in.targets[0] != nothing || in.opcode == Opcode::return_ || in.opcode == Opcode::raise)
        return emit_terminator(in);
    values_[id] = emit_value(id, in);
}

Emitted FunctionEmitter::emit_value(ValueId id, const Instruction& in) {
    auto raw = [&](std::size_t i) -> const Emitted& { return values_[in.operands[i]]; };
    auto operand = [&](std::size_t i) { return present(raw(i)); };
    switch (in.opcode) {
        case Opcode::constant:
            return constant(*in.global, in.type);
        case Opcode::argument: {
            Emitted result{in.type, {}};
            std::size_t first = 0;
            for (std::uint32_t i = 0; i < in.index; ++i) {
                llvm::SmallVector<llvm::Type*> before;
                module.part_types(specialisation_.arguments[i], false, before);
                first += before.size();
            }
            llvm::SmallVector<llvm::Type*> parts;
            module.part_types(in.type, false, parts);
            for (std::size_t part = 0; part < parts.size(); ++part) {
                llvm::Value* value = function_->getArg(static_cast<unsigned>(first + part));
                if (is_kernel_ && parts[part]->isIntegerTy(1)) value = from_memory(value, types().boolean);
                result.parts.push_back(value);
            }
            return result;
        }
        case Opcode::load: {
            check_assigned(in);
            // Only where versions meet does the value always come from memory; other stores
            // and loads are for debuggers.
            const ValueId source = stored_[in.version];
            return source != nothing ? read(in.variable, values_[source])
                                     : load_variable(in.variable, in.type);
        }
        case Opcode::store:
            stored_[in.version] = in.operands[0];
            store_variable(in.variable, raw(0));
            note_assigned(in.variable);
            return raw(0);
        case Opcode::spread:
            return raw(0);
        case Opcode::unary:
        case Opcode::unpack:
            return apply(resolution(in), in, std::array{raw(0)});
        case Opcode::get_attribute:
            return emit_attribute(in);
        case Opcode::binary:
        case Opcode::get_item:
            return apply(resolution(in), in, std::array{raw(0), raw(1)});
        case Opcode::set_attribute:
            (void)apply(resolution(in), in, std::array{raw(0), raw(1)});
            return {types().none, {}};
        case Opcode::set_item:
            (void)apply(resolution(in), in, std::array{raw(0), raw(1), raw(2)});
            return {types().none, {}};
        case Opcode::call:
            return emit_call(in);
        case Opcode::build_tuple: {
            Emitted result{in.type, {}};
            for (ValueId element : in.operands) result.parts.append(values_[element].parts);
            return result;
        }
        case Opcode::build_slice: {
            std::vector<Emitted> bounds;
            for (ValueId bound : in.operands) bounds.push_back(values_[bound]);
            return make_slice(in.type, bounds);
        }
        case Opcode::iterate:
            begin_iteration(in.type, operand(0), false);
            return {in.type, {}};
        case Opcode::advance:
            return number(has_next(operand(0).type), types().boolean);
        case Opcode::element:
            return take_next(operand(0).type, in.type);
        default:
            return {types().none, {}};
    }
}

void FunctionEmitter::emit_terminator(const Instruction& in) {
    switch (in.opcode) {
        case Opcode::jump:
            builder.CreateBr(blocks_[in.targets[0]]);
            return;
        case Opcode::branch: {
            const Emitted& tested = values_[in.operands[0]];
            const bool is_added = tested.type->present()->is(TypeKind::added);
            llvm::Value* condition = truth(is_added ? emit_added(resolution(in), {&tested, 1}) : tested);
            builder.CreateCondBr(condition, blocks_[in.targets[0]], blocks_[in.targets[1]]);
            return;
        }
        case Opcode::raise:
            if (in.operands.empty()) return raise(in.text, in.message);
            return raise(type_of_raised(in)->global->text, type_of_raised(in)->text);
        default:
            return emit_return(in);
    }
}

void FunctionEmitter::emit_return(const Instruction& in) {
    const Emitted nothing_given{types().none, {}};
    const Emitted& given = in.operands.empty() ? nothing_given : values_[in.operands[0]];
    const Emitted result = convert(given, specialisation_.result);
    if (result.parts.size() == 1) {
        builder.CreateRet(result.value());
        return;
    }
    if (result.parts.empty()) {
        builder.CreateRetVoid();
        return;
    }
    llvm::Value* aggregate = llvm::PoisonValue::get(function_->getReturnType());
    for (unsigned i = 0; i < result.parts.size(); ++i)
        aggregate = builder.CreateInsertValue(aggregate, result.parts[i], i);
    builder.CreateRet(aggregate);
}

void FunctionEmitter::raise(const std::string& exception, const std::string& message) {
    llvm::Value* index = builder.getInt32(module.exception_index(exception, message));
    call("__cudasim_raise", builder.getVoidTy(), {index});
    builder.CreateUnreachable();
}

void FunctionEmitter::convert_for_phis(BlockId from) {
    const Instruction& last = graph_.instructions[graph_.blocks[from].instructions.back()];
    for (BlockId to : last.targets) {
        if (to != nothing) convert_for_phis(from, to);
    }
}

/// A variable's versions of one type share an alloca and only one version lives at a time, so that only
/// versions of another type than the phi's need a copy.
void FunctionEmitter::convert_for_phis(BlockId from, BlockId to) {
    for (const Phi& phi : graph_.blocks[to].phis) {
        const Version& joined = graph_.versions[phi.version];
        if (!joined.type) continue;
        for (const auto& [block, version] : phi.incoming) {
            if (block != from || version == nothing || !graph_.versions[version].type) continue;
            const TypeRef type = graph_.versions[version].type;
            const TypeRef target = types().without_literal(joined.type);
            if (types().without_literal(type) == target) continue;
            store_variable(joined.variable, convert(load_variable(joined.variable, type), target));
        }
    }
}

llvm::AllocaInst* FunctionEmitter::entry_alloca(llvm::Type* type, const llvm::Twine& name) {
    Builder entry_builder(entry_);
    return entry_builder.CreateAlloca(type, nullptr, name);
}

llvm::BasicBlock* FunctionEmitter::new_block(const llvm::Twine& name) {
    return llvm::BasicBlock::Create(module.context, name, function_);
}

llvm::AllocaInst* FunctionEmitter::variable(VariableId id, TypeRef type) {
    type = types().without_literal(type);
    llvm::Type* storage_type = module.storage_type(type);
    if (!storage_type) return nullptr;
    llvm::AllocaInst*& storage = variables_[{id, type}];
    if (storage) return storage;
    storage = entry_alloca(storage_type, graph_.variables[id].name);
    if (maybe_unassigned_[id]) {
        Builder(entry_).CreateStore(llvm::Constant::getNullValue(storage_type), storage);
        llvm::cast<llvm::Instruction>(entry_->back())
            .setDebugLoc(llvm::DILocation::get(
                module.context, static_cast<unsigned>(graph_.variables[id].declared.line),
                static_cast<unsigned>(graph_.variables[id].declared.column + 1), scope()));
    }
    if (!graph_.variables[id].compiler_made) describe(id, type, storage);
    return storage;
}

void FunctionEmitter::describe(VariableId id, TypeRef type, llvm::AllocaInst* storage) {
    const Variable& variable = graph_.variables[id];
    const auto line = static_cast<unsigned>(variable.declared.line);
    llvm::DIFile* file = scope()->getFile();
    llvm::DIType* debug_type = module.debug_type(type);
    const bool first =
        variable.is_parameter && types().without_literal(specialisation_.arguments[id]) == type;
    llvm::DILocalVariable* described =
        first ? module.debug.createParameterVariable(scope(), variable.name, id + 1, file, line, debug_type,
                                                     true)
              : module.debug.createAutoVariable(scope(), variable.name, file, line, debug_type, true);
    module.debug.insertDeclare(
        storage, described, module.debug.createExpression(),
        llvm::DILocation::get(module.context, line, static_cast<unsigned>(variable.declared.column + 1),
                              scope()),
        entry_);
}

void FunctionEmitter::store_variable(VariableId id, const Emitted& value) {
    llvm::AllocaInst* storage = variable(id, value.type);
    if (!storage) return;
    const bool single = value.parts.size() == 1;
    for (unsigned i = 0; i < value.parts.size(); ++i) {
        llvm::Value* part = value.parts[i];
        if (part->getType()->isIntegerTy(1)) part = to_memory(part, types().boolean);
        builder.CreateStore(
            part, single ? storage : builder.CreateStructGEP(storage->getAllocatedType(), storage, i));
    }
}

Emitted FunctionEmitter::load_variable(VariableId id, TypeRef type) {
    if (type->literal) {
        auto* known =
            llvm::ConstantInt::get(module.value_type(type), static_cast<std::uint64_t>(*type->literal));
        return read(id, number(known, type));
    }
    return {type, load_parts(id, type, graph_.variables[id].name)};
}

Parts FunctionEmitter::load_parts(VariableId id, TypeRef type, const llvm::Twine& name) {
    Parts loads;
    llvm::AllocaInst* storage = variable(id, type);
    if (!storage) return loads;
    llvm::SmallVector<llvm::Type*> parts;
    module.part_types(types().without_literal(type), false, parts);
    for (unsigned i = 0; i < parts.size(); ++i) {
        llvm::Value* place =
            parts.size() == 1 ? storage : builder.CreateStructGEP(storage->getAllocatedType(), storage, i);
        const bool is_bool = parts[i]->isIntegerTy(1);
        llvm::Value* loaded = builder.CreateLoad(is_bool ? builder.getInt8Ty() : parts[i], place, name);
        loads.push_back(is_bool ? from_memory(loaded, types().boolean) : loaded);
    }
    return loads;
}

llvm::Value* FunctionEmitter::call(const std::string& name, llvm::Type* result,
                                   llvm::ArrayRef<llvm::Value*> arguments) {
    llvm::SmallVector<llvm::Type*> parameters;
    for (llvm::Value* argument : arguments) parameters.push_back(argument->getType());
    return builder.CreateCall(module.declare(name, result, parameters), arguments);
}

Emitted FunctionEmitter::apply(const Resolution& operation, const Instruction& in,
                               std::span<const Emitted> operands) {
    if (!operation.rule) return emit_added(operation, operands);
    CallEmission emission{*this, *operation.rule, in, operation, {}};
    for (const Emitted& operand : operands)
        emission.arguments.push_back(operation.rule->takes_optional ? operand : present(operand));
    convert_added(emission);
    return operation.rule->emit(emission);
}

/// Operands of added types that the rule has taken as numbers become these.
void FunctionEmitter::convert_added(CallEmission& emission) {
    const std::vector<TypeRef>& wanted = emission.resolution.arguments;
    for (std::size_t i = 0; i < wanted.size(); ++i)
        if (wanted[i]) emission.arguments[i] = convert(present(emission.arguments[i]), wanted[i]);
}

/// What a program has added is a function of the object.
Emitted FunctionEmitter::emit_attribute(const Instruction& in) {
    const Resolution& attribute = resolution(in);
    const Emitted& object = values_[in.operands[0]];
    if (attribute.rule) return apply(attribute, in, {&object, 1});
    const Emitted given = object.type == attribute.given[0] ? object : present(object);
    return call_resolved(attribute, {&given, 1});
}

Emitted FunctionEmitter::emit_call(const Instruction& in) {
    const Resolution& called = resolution(in);
    if (!called.rule) return emit_function_call(called, in);
    CallEmission emission{*this, *called.rule, in, called, {}};
    for (std::uint32_t operand : called.sources) {
        Emitted& argument = emission.arguments.emplace_back();
        if (operand == nothing) continue;
        argument = values_[in.operands[operand]];
        if (!called.rule->takes_optional) argument = present(argument);
        if (operand == 0) argument.type = argument.type->element();  // a method's own object is the callee
    }
    convert_added(emission);
    return called.rule->emit(emission);
}

Emitted FunctionEmitter::emit_function_call(const Resolution& called, const Instruction& in) {
    const FunctionSource& source = module.program.source(called.callee);
    std::vector<Emitted> arguments;
    for (std::size_t i = 0; i < called.sources.size(); ++i) {
        const std::uint32_t operand = called.sources[i];
        if (operand >= Program::default_base)
            arguments.push_back(constant(source.defaults[operand - Program::default_base], called.given[i]));
        else  // a method's own object is the callee
            arguments.push_back({operand == 0 ? called.given[i] : values_[in.operands[operand]].type,
                                 values_[in.operands[operand]].parts});
    }
    return call_resolved(called, arguments);
}

Emitted FunctionEmitter::emit_added(const Resolution& called, std::span<const Emitted> operands) {
    const FunctionSource& source = module.program.source(called.callee);
    std::vector<Emitted> arguments;
    for (std::size_t i = 0; i < called.sources.size(); ++i) {
        const std::uint32_t operand = called.sources[i];
        arguments.push_back(operand >= Program::default_base
                                ? constant(source.defaults[operand - Program::default_base], called.given[i])
                                : present(operands[operand]));
    }
    const Emitted result = call_resolved(called, arguments);
    const bool is_membership = called.op == Operator::in || called.op == Operator::not_in;
    if (!is_membership) return result;
    llvm::Value* found = truth(result);
    return number(called.op == Operator::in ? found : builder.CreateNot(found), types().boolean);
}

Emitted FunctionEmitter::call_resolved(const Resolution& called, std::span<const Emitted> arguments) {
    return called.linked ? call_linked(called, arguments) : call_function(*called.function, arguments);
}

Emitted FunctionEmitter::call_linked(const Resolution& called, std::span<const Emitted> arguments) {
    llvm::SmallVector<llvm::Value*> flat;
    if (called.linked->frame_bytes > 0) {
        llvm::AllocaInst* frame =
            entry_alloca(llvm::ArrayType::get(builder.getInt8Ty(), called.linked->frame_bytes), "frame");
        frame->setAlignment(llvm::Align(16));
        flat.push_back(generic(frame));
    }
    for (std::size_t i = 0; i < called.parameters.size(); ++i)
        for (llvm::Value* part : convert(arguments[i], called.parameters[i]).parts)
            flat.push_back(generic(part));
    llvm::SmallVector<llvm::Type*> parts;
    module.part_types(called.result, false, parts);
    llvm::Type* returned = parts.empty()       ? builder.getVoidTy()
                           : parts.size() == 1 ? parts[0]
                                               : llvm::StructType::get(module.context, parts);
    return parts_of_result(called.result, call(called.linked->symbol, returned, flat));
}

llvm::Value* FunctionEmitter::generic(llvm::Value* value) {
    llvm::Type* pointer = llvm::PointerType::get(module.context, generic_space);
    const bool other = value->getType()->isPointerTy() && value->getType() != pointer;
    return other ? builder.CreateAddrSpaceCast(value, pointer) : value;
}

Emitted FunctionEmitter::parts_of_result(TypeRef type, llvm::Value* result) {
    Emitted emitted{type, {}};
    llvm::SmallVector<llvm::Type*> parts;
    module.part_types(type, false, parts);
    if (parts.size() == 1) emitted.parts.push_back(result);
    for (unsigned i = 0; parts.size() > 1 && i < parts.size(); ++i)
        emitted.parts.push_back(builder.CreateExtractValue(result, i));
    return emitted;
}

Emitted FunctionEmitter::call_function(const Specialisation& callee, std::span<const Emitted> arguments) {
    llvm::SmallVector<llvm::Value*> flat;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const Emitted converted = convert(arguments[i], callee.arguments[i]);
        flat.append(converted.parts.begin(), converted.parts.end());
    }
    return parts_of_result(callee.result, builder.CreateCall(module.function(callee), flat));
}

}  // namespace cudasim::pykernel
