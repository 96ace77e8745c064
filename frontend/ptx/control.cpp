// Branches, calls, returns (PTX ISA, "Control Flow Instructions").
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include "frontend/ptx/translation.h"

namespace cudasim::ptx {
namespace {

using llvm::Value;

void translate_bra(InstructionContext& at) {
    at.b.CreateBr(at.function.label(at.operand(0).text));
    at.function.end_block();
}

void translate_ret(InstructionContext& at) {
    at.function.emit_return();
    at.function.end_block();
}

/// Ends the thread; in an entry that is what `ret` does.
void translate_exit(InstructionContext& at) {
    if (at.function.source.is_entry) return translate_ret(at);
    at.b.CreateIntrinsic(llvm::Intrinsic::nvvm_exit, {}, {});
    at.b.CreateUnreachable();
    at.function.end_block();
}

void translate_trap(InstructionContext& at) {
    at.b.CreateIntrinsic(llvm::Intrinsic::trap, {}, {});
    at.b.CreateUnreachable();
    at.function.end_block();
}

/// Stops in a debugger of the GPU. Without one the launch ends as `trap` ends it (docs/gpu_results.md,
/// "Faults").
void translate_brkpt(InstructionContext& at) {
    at.b.CreateIntrinsic(llvm::Intrinsic::debugtrap, {}, {});
    at.b.CreateUnreachable();
    at.function.end_block();
}

/// An argument as the parameter's type: a .param variable's content, a register or a number.
Value* argument(InstructionContext& at, const Operand& given, const Variable& parameter) {
    llvm::Type* type = at.function.module.storage(parameter);
    llvm::AllocaInst* place = given.kind == Operand::name ? at.function.variable(given.text) : nullptr;
    const llvm::DataLayout& layout = at.function.module.module.getDataLayout();
    const bool is_register =
        place && !parameter.is_array && !place->getAllocatedType()->isArrayTy() &&
        layout.getTypeSizeInBits(place->getAllocatedType()) != layout.getTypeSizeInBits(type);
    if (!place || is_register) return at.function.read(given, parameter.type);
    if (place->getAllocatedType()->isArrayTy() != parameter.is_array ||
        (parameter.is_array && place->getAllocatedType() != type)) {
        at.function.refuse("'" + given.text + "' has another size than the parameter");
    }
    return at.b.CreateLoad(type, place);
}

/// Functions of CUDA's device runtime that PTX only declares.
bool translate_system_call(InstructionContext& at, const std::string& name,
                           const std::vector<Operand>& arguments, const Operand* result) {
    const auto pointer = [&](const Operand& operand) {
        return at.function.pointer_of(argument(at, operand, {.type = u64, .name = name + "'s"}),
                                      Space::generic);
    };
    const auto number = [&](const Operand& operand, Type type) {
        return argument(at, operand, {.type = type, .name = name + "'s"});
    };
    if (name == "vprintf") {
        if (arguments.size() != 2)
            at.function.refuse("vprintf takes a format and the address of its arguments");
        Value* count = at.call("vprintf", at.b.getInt32Ty(), {pointer(arguments[0]), pointer(arguments[1])});
        if (result) at.function.write(*result, count);
        return true;
    }
    if (name == "__assertfail") {
        if (arguments.size() != 5)
            at.function.refuse("__assertfail takes an expression, a file, a line, a function and a size");
        (void)at.call("__assertfail", at.b.getVoidTy(),
                      {pointer(arguments[0]), pointer(arguments[1]), number(arguments[2], u32),
                       pointer(arguments[3]), number(arguments[4], u64)});
        return true;
    }
    if (name == "malloc" && arguments.size() == 1 && result) {
        Value* place = at.call("malloc", at.b.getPtrTy(), {number(arguments[0], u64)});
        at.function.write(*result, at.b.CreatePtrToInt(place, at.b.getInt64Ty()));
        return true;
    }
    if (name == "free" && arguments.size() == 1) {
        (void)at.call("free", at.b.getVoidTy(), {pointer(arguments[0])});
        return true;
    }
    return false;
}

/// The parts of a call: call [.uni] (result), function, (arguments), prototype or list of functions
struct Call {
    const Operand* result = nullptr;
    const Operand* callee = nullptr;
    std::vector<Operand> arguments;
    const Operand* form = nullptr;
};

Call parts_of(InstructionContext& at) {
    const auto& operands = at.instruction.operands;
    std::size_t i = 0;
    Call call;
    if (operands.size() > i && operands[i].kind == Operand::list) {
        const Operand& results = operands[i++];
        if (results.elements.size() != 1) at.function.refuse("a call has one result at most");
        call.result = &results.elements.front();
    }
    if (operands.size() <= i || operands[i].kind != Operand::name) at.refuse();
    call.callee = &operands[i++];
    if (operands.size() > i && operands[i].kind == Operand::list) call.arguments = operands[i++].elements;
    if (operands.size() > i) call.form = &operands[i];
    return call;
}

/// The form of what is called through a register: a prototype's, or the first function's of a list.
Prototype form_of(InstructionContext& at, const Call& call) {
    if (!call.form) at.function.refuse("a call through a register needs a prototype");
    if (const Prototype* prototype = at.function.prototype(call.form->text)) return *prototype;
    const Targets& functions = at.function.targets(call.form->text);
    const Function* first = at.function.module.find_function(functions.names[0].text);
    if (!first) at.function.refuse("the function '" + functions.names[0].text + "' is not declared");
    return {call.form->text, first->results, first->parameters};
}

void emit_call(InstructionContext& at, const Call& call, llvm::FunctionType* type, Value* callee,
               const std::vector<Variable>& parameters) {
    if (call.arguments.size() != parameters.size() || type->getReturnType()->isVoidTy() != !call.result)
        at.function.refuse("'" + call.callee->text + "' is called in another form than it is declared");
    llvm::SmallVector<Value*> arguments;
    for (std::size_t k = 0; k < parameters.size(); ++k)
        arguments.push_back(argument(at, call.arguments[k], parameters[k]));
    Value* value = at.b.CreateCall(type, callee, arguments);
    if (!call.result) return;
    if (llvm::AllocaInst* place = at.function.variable(call.result->text);
        place && value->getType()->isArrayTy())
        at.b.CreateStore(value, place);
    else
        at.function.write(*call.result, value);
}

void translate_call(InstructionContext& at) {
    const Call call = parts_of(at);
    const std::string& name = call.callee->text;
    ModuleTranslation& module = at.function.module;
    if (at.function.variable(name)) {
        const Prototype form = form_of(at, call);
        Value* callee = at.function.pointer_of(at.function.read(*call.callee, u64), Space::generic);
        return emit_call(at, call,
                         module.function_type(form.results, form.parameters, at.instruction.place.line),
                         callee, form.parameters);
    }
    const Function* callee = module.find_function(name);
    if (!callee) at.function.refuse("the function '" + name + "' is not declared");
    if (!callee->has_body && translate_system_call(at, name, call.arguments, call.result)) return;
    if (callee->is_entry) at.function.refuse("'" + name + "' is an entry, which cannot be called");
    llvm::Function* target = module.declare(*callee);
    emit_call(at, call, target->getFunctionType(), target, callee->parameters);
}

/// brx.idx index, list: what lies beyond the list is undefined behaviour, here a trap.
void translate_brx(InstructionContext& at) {
    const Targets& labels = at.function.targets(at.operand(1).text);
    auto* outside =
        llvm::BasicBlock::Create(at.function.module.context, "outside", at.b.GetInsertBlock()->getParent());
    auto* branch = at.b.CreateSwitch(at.read(0, u32), outside, static_cast<unsigned>(labels.names.size()));
    for (std::uint32_t i = 0; i < labels.names.size(); ++i)
        branch->addCase(at.b.getInt32(i), at.function.label(labels.names[i].text));
    at.b.SetInsertPoint(outside);
    translate_trap(at);
}

constexpr Row rows[] = {
    {"bra", translate_bra}, {"brkpt", translate_brkpt}, {"brx", translate_brx},   {"call", translate_call},
    {"ret", translate_ret}, {"trap", translate_trap},   {"exit", translate_exit},
};

}  // namespace

std::span<const Row> control_rows() {
    return rows;
}

}  // namespace cudasim::ptx
