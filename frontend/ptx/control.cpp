// Branches, calls, returns (PTX ISA, "Control Flow Instructions").
#include <llvm/IR/Intrinsics.h>

#include "frontend/ptx/translation.h"

namespace cudasim::ptx {
namespace {

using llvm::Value;

void translate_bra(At& at) {
    at.b.CreateBr(at.function.label(at.operand(0).text));
    at.function.end_block();
}

void translate_ret(At& at) {
    at.function.emit_return();
    at.function.end_block();
}

void translate_trap(At& at) {
    at.b.CreateIntrinsic(llvm::Intrinsic::trap, {}, {});
    at.b.CreateUnreachable();
    at.function.end_block();
}

/// An argument as the parameter's type: a .param variable's content, a register or a number.
Value* argument(At& at, const Operand& given, const Variable& parameter) {
    llvm::Type* type = at.function.module.storage(parameter);
    llvm::AllocaInst* place = given.kind == Operand::name ? at.function.variable(given.text) : nullptr;
    const llvm::DataLayout& layout = at.function.module.module.getDataLayout();
    const bool is_register = place && !parameter.is_array && !place->getAllocatedType()->isArrayTy() &&
                             layout.getTypeSizeInBits(place->getAllocatedType()) != layout.getTypeSizeInBits(type);
    if (!place || is_register) return at.function.read(given, parameter.type);
    if (place->getAllocatedType()->isArrayTy() != parameter.is_array ||
        (parameter.is_array && place->getAllocatedType() != type)) {
        at.function.refuse("'" + given.text + "' has another size than the parameter");
    }
    return at.b.CreateLoad(type, place);
}

/// Functions of CUDA's device runtime that PTX only declares.
bool translate_system_call(At& at, const std::string& name, const std::vector<Operand>& arguments, const Operand* result) {
    if (name == "vprintf") {
        if (arguments.size() != 2) at.function.refuse("vprintf takes a format and the address of its arguments");
        const auto pointer = [&](const Operand& operand) {
            return at.function.pointer_of(argument(at, operand, {.type = u64, .name = "vprintf's"}), Space::generic);
        };
        Value* count = at.call("vprintf", at.b.getInt32Ty(), {pointer(arguments[0]), pointer(arguments[1])});
        if (result) at.function.write(*result, count);
        return true;
    }
    if (name == "__assertfail") {
        translate_trap(at);
        return true;
    }
    return false;
}

/// call [.uni] (result), function, (arguments)
void translate_call(At& at) {
    const auto& operands = at.instruction.operands;
    std::size_t i = 0;
    const Operand* result = nullptr;
    if (operands.size() > i && operands[i].kind == Operand::list) {
        const Operand& results = operands[i++];
        if (results.elements.size() != 1) at.function.refuse("a call has one result at most");
        result = &results.elements[0];
    }
    if (operands.size() <= i || operands[i].kind != Operand::name) at.refuse();
    const std::string& name = operands[i++].text;
    if (at.function.variable(name)) at.function.refuse("indirect calls are not supported");
    std::vector<Operand> given;
    if (operands.size() > i && operands[i].kind == Operand::list) given = operands[i].elements;
    const Function* callee = at.function.module.find_function(name);
    if (!callee) at.function.refuse("the function '" + name + "' is not declared");
    if (!callee->has_body && translate_system_call(at, name, given, result)) return;
    if (callee->is_entry) at.function.refuse("'" + name + "' is an entry, which cannot be called");
    if (given.size() != callee->parameters.size() || callee->results.empty() != !result)
        at.function.refuse("'" + name + "' is called in another form than it is declared");
    llvm::SmallVector<Value*> arguments;
    for (std::size_t k = 0; k < given.size(); ++k) arguments.push_back(argument(at, given[k], callee->parameters[k]));
    Value* value = at.b.CreateCall(at.function.module.declare(*callee), arguments);
    if (!result) return;
    if (llvm::AllocaInst* place = at.function.variable(result->text); place && value->getType()->isArrayTy())
        at.b.CreateStore(value, place);
    else
        at.function.write(*result, value);
}

constexpr Row rows[] = {
    {"bra", translate_bra},
    {"call", translate_call},
    {"ret", translate_ret},
    {"trap", translate_trap},
};

}  // namespace

std::span<const Row> control_rows() {
    return rows;
}

}  // namespace cudasim::ptx
