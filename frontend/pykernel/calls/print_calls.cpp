// print: one vprintf with a format made while compiling, as CUDA C++'s printf is lowered, so that the same IR
// prints on a GPU. What it prints is what Numba's CUDA target prints there: integers as 64-bit numbers,
// floats with %f, booleans as True and False.
#include <llvm/IR/Constants.h>

#include "frontend/pykernel/calls/callables.h"
#include "frontend/pykernel/infer/added_operations.h"

namespace cudasim::pykernel {
namespace {

/// More items, and Numba prints the format itself (numba-cuda's user manual, "Printing").
constexpr std::size_t most_items = 32;

bool printable(TypeRef type) {
    if (type->is_real() || type->is(TypeKind::text) || type->is(TypeKind::dim3)) return true;
    if (type->is(TypeKind::added)) return true;  // see find_added()
    if (!type->is(TypeKind::tuple)) return false;
    for (TypeRef element : type->elements) {
        if (element->is(TypeKind::text) || !printable(element)) return false;
    }
    return true;
}

[[noreturn]] void refuse(const CallTyping& call, TypeRef type, const std::string& because) {
    throw SourceError(
        ErrorClass::not_implemented,
        "printing unimplemented for values of type " + call.types().without_literal(type)->name + because,
        call.call.location);
}

/// What a program prints of values of types that it has added: a tuple of a format and its arguments, for
/// each as they come.
void find_added(const CallTyping& call, TypeRef type) {
    if (type->is(TypeKind::tuple)) {
        for (TypeRef element : type->elements) find_added(call, element);
    } else if (type->is(TypeKind::added)) {
        try {
            call.resolution.inner.push_back(
                resolve_added(call.program, call.call.location, "print_item", {&type, 1}));
        } catch (const SourceError& refused) {
            if (refused.error_class != ErrorClass::typing) throw;
            refuse(call, type, ": no print_item (numba.cuda.printimpl) is registered for it");
        }
    }
}

TypeRef type_print(const CallTyping& call) {
    for (TypeRef type : call.arguments) {
        if (!printable(type)) refuse(call, type, "");
        find_added(call, type);
    }
    return call.types().none;
}

/// The format and the arguments as they are found.
class PrintBuilder {
  public:
    explicit PrintBuilder(CallEmission& call) : call_(call), e_(call.emitter) {}

    void add(const Emitted& value) {
        const TypeRef type = value.type;
        if (type->is(TypeKind::added)) return add_as_program_says(value);
        if (type->is(TypeKind::tuple)) return add_tuple(value);
        if (type->is(TypeKind::dim3)) return add_dim3(value);
        if (type->is(TypeKind::text)) return add("%s", e_.module.text_constant(type->text));
        if (type->is(TypeKind::boolean)) {
            return add("%s", e_.builder.CreateSelect(e_.truth(value), e_.module.text_constant("True"),
                                                     e_.module.text_constant("False")));
        }
        if (!type->is_integral()) return add("%f", e_.convert(value, e_.types().float64).value());
        const TypeRef wide = type->is_signed ? e_.types().int64 : e_.types().uint64;
        add(type->is_signed ? "%lld" : "%llu", e_.convert(value, wide).value());
    }

    void text(std::string_view plain) { format_ += plain; }

    /// vprintf(format, arguments): each argument lies at a multiple of its size (PTX interoperability guide).
    void finish() {
        auto* pointer = e_.builder.getPtrTy();
        llvm::Value* packed = llvm::ConstantPointerNull::get(pointer);
        if (arguments_.size() > most_items) {
            format_ = escaped(format_);
        } else if (!arguments_.empty()) {
            llvm::SmallVector<llvm::Type*> types;
            for (llvm::Value* argument : arguments_) types.push_back(argument->getType());
            auto* layout = llvm::StructType::get(e_.module.context, types);
            auto* storage = e_.entry_alloca(layout, "print.arguments");
            for (unsigned i = 0; i < arguments_.size(); ++i)
                e_.builder.CreateStore(arguments_[i], e_.builder.CreateStructGEP(layout, storage, i));
            packed = storage;
        }
        e_.call("vprintf", e_.builder.getInt32Ty(), {e_.module.text_constant(format_), packed});
    }

  private:
    void add(const char* conversion, llvm::Value* argument) {
        format_ += conversion;
        arguments_.push_back(argument);
    }

    void add_tuple(const Emitted& tuple) {
        format_ += "(";
        const std::size_t count = tuple.type->elements.size();
        for (std::size_t i = 0; i < count; ++i) {
            if (i) format_ += ", ";
            add(e_.element_of(tuple, i));
        }
        format_ += count == 1 ? ",)" : ")";
    }

    void add_as_program_says(const Emitted& value) {
        const Emitted printed = call_.apply(next_added_++, {value});
        format_ += printed.type->elements[0]->text;
        for (std::size_t i = 1; i < printed.type->elements.size(); ++i) {
            const Emitted argument = e_.element_of(printed, i);
            const bool truth = argument.type->is(TypeKind::boolean);
            arguments_.push_back(truth ? e_.convert(argument, e_.types().int32).value() : argument.value());
        }
    }

    void add_dim3(const Emitted& indices) {
        format_ += "(";
        for (const char* axis : {"x", "y", "z"}) {
            if (*axis != 'x') format_ += ", ";
            add("%d", e_.dim3_element(indices, *axis));
        }
        format_ += ")";
    }

    static std::string escaped(const std::string& format) {
        std::string result;
        for (char c : format) result += c == '%' ? "%%" : std::string(1, c);
        return result;
    }

    CallEmission& call_;
    FunctionEmitter& e_;
    std::size_t next_added_ = 0;  ///< of the resolution's inner ones
    std::string format_;
    std::vector<llvm::Value*> arguments_;
};

Emitted emit_print(CallEmission& call) {
    PrintBuilder print(call);
    for (std::size_t i = 0; i < call.arguments.size(); ++i) {
        if (i) print.text(" ");
        print.add(call[i]);
    }
    print.text("\n");
    print.finish();
    return {call.call.type, {}};
}

constexpr Callable rows[] = {
    {"print", "*", type_print, emit_print},
};

}  // namespace

std::span<const Callable> print_callables() {
    return rows;
}

}  // namespace cudasim::pykernel
