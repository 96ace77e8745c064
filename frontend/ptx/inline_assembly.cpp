// See inline_assembly.h.
#include "frontend/ptx/inline_assembly.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/Path.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <regex>
#include <tuple>

#include "frontend/ptx/reader.h"
#include "simulator/image/linking.h"

namespace cudasim::ptx {
namespace {

using namespace llvm;

struct Operand {
    bool is_output = false;
    std::string type;        ///< of its register: ".b32"; empty: an immediate
    std::string text;        ///< what stands for it in the assembly
    unsigned tied = ~0U;     ///< of an input: the output whose register it shares
    Value* value = nullptr;  ///< of an input
};

std::string type_of(const std::string& constraint) {
    static constexpr std::pair<char, const char*> types[] = {{'h', ".b16"}, {'r', ".b32"}, {'l', ".b64"},
                                                             {'N', ".b64"}, {'f', ".f32"}, {'d', ".f64"}};
    for (const auto& [code, type] : types)
        if (constraint.size() == 1 && constraint[0] == code) return type;
    throw PtxError("inline assembly: operands of the kind \"" + constraint +
                       "\" are not supported; there are h, r, l, f, d and n",
                   0);
}

constexpr std::string_view head = ".version 8.0\n.target sm_80\n.address_size 64\n";
constexpr std::string_view text_begins = "// assembly\n{\n";

/// How a piece shares the carry flag with pieces before and behind it.
struct SharedCarry {
    bool taken = false;  ///< an instruction takes it before one writes it
    bool given = false;  ///< the last instruction that has to do with it writes it

    explicit operator bool() const { return taken || given; }
};

SharedCarry shared_carry(const std::string& text) {
    static const std::regex arithmetic("\\b(?:add|sub|mad)(c?)((?:\\.[a-z0-9]+)+)");
    SharedCarry result;
    bool first = true;
    for (std::sregex_iterator at(text.begin(), text.end(), arithmetic), end; at != end; ++at) {
        const bool takes = (*at)[1].length() != 0, gives = (*at)[2].str().find(".cc") != std::string::npos;
        if (!takes && !gives) continue;
        if (first) result.taken = takes;
        result.given = gives;
        first = false;
    }
    return result;
}

/// Variables of functions that hold the carry flag between pieces.
using Carries = std::map<Function*, AllocaInst*>;

class Piece {
  public:
    explicit Piece(CallInst& call) : call_(call), assembly_(*cast<InlineAsm>(call.getCalledOperand())) {
        unsigned argument = 0;
        for (const InlineAsm::ConstraintInfo& constraint : assembly_.ParseConstraints()) {
            if (constraint.Type == InlineAsm::isClobber) continue;
            if (constraint.isIndirect || constraint.Codes.empty())
                throw PtxError("inline assembly: indirect operands are not supported", 0);
            add(constraint.Codes[0], constraint.Type == InlineAsm::isOutput, argument);
        }
    }

    /// PTX of a function that does the same. The assembly stands behind the first `text_begins`.
    std::string function(const std::string& name) const {
        std::string parameters, registers, before, after, result;
        const bool one = outputs() == 1;
        if (shares_carry()) {
            parameters = ".param .b64 carry_place";
            registers = ".reg .b64 %carry_place;\n.reg .b32 %carry;\n";
            before =
                "ld.param.b64 %carry_place, [carry_place];\nld.b32 %carry, [%carry_place];\n"
                "add.cc.u32 %carry, %carry, -1;\n";
            after = "addc.u32 %carry, 0, 0;\nst.b32 [%carry_place], %carry;\n";
        }
        for (std::size_t i = 0; i < operands_.size(); ++i) {
            const Operand& operand = operands_[i];
            if (operand.type.empty()) continue;
            const std::string parameter = "p" + std::to_string(i);
            if (operand.tied == ~0U) registers += ".reg " + operand.type + " " + operand.text + ";\n";
            if (operand.is_output && one) {
                result = "(.param " + operand.type + " result) ";
                after += "st.param" + operand.type + " [result], " + operand.text + ";\n";
                continue;
            }
            parameters += (parameters.empty() ? "" : ", ") +
                          (".param " + (operand.is_output ? ".b64" : operand.type) + " " + parameter);
            if (operand.is_output) {
                registers += ".reg .b64 %address" + parameter + ";\n";
                before += "ld.param.b64 %address" + parameter + ", [" + parameter + "];\n";
                after += "st" + operand.type + " [%address" + parameter + "], " + operand.text + ";\n";
            } else {
                before += "ld.param" + operand.type + " " + operand.text + ", [" + parameter + "];\n";
            }
        }
        return ".weak .func " + result + name + "(" + parameters + ")\n{\n" + registers + before +
               std::string(text_begins) + body() + "\n}\n" + after + "ret;\n}\n";
    }

    /// A call of that function in place of the assembly.
    void replace(const std::string& name, Carries& carries) {
        Function& caller = *call_.getFunction();
        IRBuilder<> entry(&*caller.getEntryBlock().getFirstInsertionPt()), builder(&call_);
        SmallVector<Value*> arguments, places;
        const bool one = outputs() == 1;
        if (shares_carry()) {
            AllocaInst*& carry = carries[&caller];
            if (!carry) {
                carry = entry.CreateAlloca(entry.getInt32Ty(), nullptr, "carry");
                entry.CreateStore(entry.getInt32(0), carry);
            }
            arguments.push_back(carry);
        }
        for (const Operand& operand : operands_) {
            if (operand.is_output && !one) {
                places.push_back(entry.CreateAlloca(register_type(operand)));
                arguments.push_back(places.back());
            } else if (!operand.is_output && !operand.type.empty()) {
                arguments.push_back(as(operand.value, register_type(operand), builder));
            }
        }
        SmallVector<Type*> types;
        for (Value* argument : arguments) types.push_back(argument->getType());
        Type* returned = one ? register_type(output(0)) : builder.getVoidTy();
        FunctionCallee callee =
            caller.getParent()->getOrInsertFunction(name, FunctionType::get(returned, types, false));
        CallInst* replacement = builder.CreateCall(callee, arguments);
        if (call_.isConvergent()) replacement->setConvergent();
        Value* result = replacement;
        if (one) result = as(result, call_.getType(), builder);
        if (!places.empty()) {
            result = PoisonValue::get(call_.getType());
            for (unsigned i = 0; i < places.size(); ++i) {
                Value* part = builder.CreateLoad(cast<AllocaInst>(places[i])->getAllocatedType(), places[i]);
                part = as(part, cast<StructType>(call_.getType())->getElementType(i), builder);
                result = builder.CreateInsertValue(result, part, i);
            }
        }
        if (!call_.getType()->isVoidTy()) call_.replaceAllUsesWith(result);
        call_.eraseFromParent();
    }

    SharedCarry shares_carry() const { return shared_carry(body()); }

  private:
    void add(const std::string& code, bool is_output, unsigned& argument) {
        Operand operand{.is_output = is_output};
        operand.text = "%operand" + std::to_string(operands_.size());
        if (!is_output) operand.value = call_.getArgOperand(argument++);
        if (!is_output && (code == "n" || code == "i")) {
            const auto* known = dyn_cast<ConstantInt>(operand.value);
            if (!known)
                throw PtxError("inline assembly: an operand of the kind \"n\" has to be an integer constant",
                               0);
            operand.text = std::to_string(known->getSExtValue());
        } else if (!is_output && std::isdigit(static_cast<unsigned char>(code[0]))) {
            operand.tied = static_cast<unsigned>(std::stoul(code));
            if (operand.tied >= operands_.size())
                throw PtxError("inline assembly: there is no operand " + code, 0);
            operand.type = operands_[operand.tied].type, operand.text = operands_[operand.tied].text;
        } else {
            operand.type = type_of(code);
        }
        operands_.push_back(std::move(operand));
    }

    const Operand& output(std::size_t number) const {
        for (const Operand& operand : operands_)
            if (operand.is_output && number-- == 0) return operand;
        throw std::logic_error("an output that the assembly does not have");
    }

    Type* register_type(const Operand& operand) const {
        LLVMContext& context = call_.getContext();
        if (operand.type == ".f32") return Type::getFloatTy(context);
        if (operand.type == ".f64") return Type::getDoubleTy(context);
        return Type::getIntNTy(context, static_cast<unsigned>(std::stoul(operand.type.substr(2))));
    }

    /// The same bits in another type; registers that are wider than an operand are filled with zeros.
    Value* as(Value* value, Type* type, IRBuilder<>& builder) const {
        if (value->getType() == type) return value;
        const DataLayout& layout = call_.getModule()->getDataLayout();
        if (value->getType()->isPointerTy()) value = builder.CreatePtrToInt(value, builder.getInt64Ty());
        value = builder.CreateBitCast(value, builder.getIntNTy(layout.getTypeSizeInBits(value->getType())));
        if (type->isPointerTy())
            return builder.CreateIntToPtr(builder.CreateZExtOrTrunc(value, builder.getInt64Ty()), type);
        value = builder.CreateZExtOrTrunc(value, builder.getIntNTy(layout.getTypeSizeInBits(type)));
        return builder.CreateBitCast(value, type);
    }

    std::size_t outputs() const {
        std::size_t count = 0;
        for (const Operand& operand : operands_) count += operand.is_output;
        return count;
    }

    /// The assembly with its registers: $0, ${1}; $$ is a dollar sign.
    std::string body() const {
        const std::string text(assembly_.getAsmString());
        std::string result;
        for (std::size_t i = 0; i < text.size(); ++i) {
            if (text[i] != '$' || i + 1 == text.size()) {
                result += text[i];
                continue;
            }
            if (text[++i] == '$') {
                result += '$';
                continue;
            }
            if (text.compare(i, 6, "{:uid}") == 0) {  // %= of the source: the function's names are its own
                result += '0';
                i += 5;
                continue;
            }
            const bool braces = text[i] == '{';
            std::size_t end = i += braces;
            while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end]))) ++end;
            const std::size_t number =
                end > i && end - i < 4 ? std::stoul(text.substr(i, end - i)) : operands_.size();
            if (number >= operands_.size() || (braces && (end == text.size() || text[end] != '}')))
                throw PtxError("inline assembly: \"" + text + "\" names an operand that it does not have", 0);
            result += operands_[number].text;
            i = end - (braces ? 0 : 1);
        }
        return result;
    }

    CallInst& call_;
    const InlineAsm& assembly_;
    std::vector<Operand> operands_;
};

/// A function without lines: where it is inlined, its instructions get the line of the call.
image::KernelImage without_lines(const image::KernelImage& image) {
    LLVMContext context;
    Expected<std::unique_ptr<llvm::Module>> module =
        parseBitcodeFile(MemoryBufferRef(image.bitcode(), "inline assembly"), context);
    if (!module) throw PtxError(toString(module.takeError()), 0);
    StripDebugInfo(**module);
    for (Function& function : **module)
        if (!function.isDeclaration()) function.addFnAttr(Attribute::AlwaysInline);
    return image::KernelImage::from_module(**module);
}

/// Equal code has equal names, whatever library it stands in: FNV-1a.
std::string name_for(const std::string& code) {
    std::uint64_t hash = 0xCBF29CE484222325;
    for (char c : code) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
    return "cudasim_assembly_" + std::to_string(hash);
}

SmallVector<CallInst*> assembly_in(llvm::Module& module) {
    SmallVector<CallInst*> calls;
    for (Function& function : module)
        for (Instruction& instruction : instructions(function))
            if (auto* call = dyn_cast<CallInst>(&instruction); call && call->isInlineAsm())
                calls.push_back(call);
    return calls;
}

/// Functions of one block whose first piece takes the carry of their caller's, or whose last leaves it to
/// those: libraries of long integers wrap each instruction in such a function. They become parts of their
/// callers, where the pieces share a variable.
void inline_carry_wrappers(llvm::Module& module) {
    for (bool changed = true; changed;) {
        changed = false;
        for (Function& function : module) {
            if (function.size() != 1 || function.use_empty()) continue;
            SharedCarry shared;
            bool first = true;
            for (Instruction& instruction : instructions(function)) {
                auto* call = dyn_cast<CallInst>(&instruction);
                if (!call || !call->isInlineAsm()) continue;
                const SharedCarry own =
                    shared_carry(cast<InlineAsm>(call->getCalledOperand())->getAsmString());
                if (first) shared.taken = own.taken;
                if (own) shared.given = own.given, first = false;
            }
            if (!shared) continue;
            SmallVector<CallBase*> calls;
            for (User* user : function.users())
                if (auto* call = dyn_cast<CallBase>(user); call && call->getCalledFunction() == &function)
                    calls.push_back(call);
            for (CallBase* call : calls) {
                InlineFunctionInfo information;
                changed |= InlineFunction(*call, information).isSuccess();
            }
        }
    }
}

std::unique_ptr<llvm::Module> parsed(const image::KernelImage& image, const std::string& file,
                                     LLVMContext& context) {
    Expected<std::unique_ptr<llvm::Module>> module =
        parseBitcodeFile(MemoryBufferRef(image.bitcode(), file), context);
    if (!module) throw PtxError(toString(module.takeError()), 0);
    return std::move(*module);
}

std::string line_of(const std::string& text, int number) {
    std::size_t begin = 0;
    for (; number > 1 && begin != std::string::npos; --number) {
        begin = text.find('\n', begin);
        if (begin != std::string::npos) ++begin;
    }
    if (begin == std::string::npos) return "";
    const std::string line = text.substr(begin, text.find('\n', begin) - begin);
    const std::size_t first = line.find_first_not_of(" \t");
    return first == std::string::npos ? "" : line.substr(first);
}

/// Operands by the names that they have in the source: %0.
std::string as_written(const std::string& reason) {
    const std::regex operand("%operand([0-9]+)");
    return std::regex_replace(reason, operand, "%$1");
}

/// What is wrong with one piece, at the line of its statement.
InlineAssemblyError located(const PtxError& error, const CallInst& call, const std::string& function) {
    std::string reason = error.what();
    if (const std::size_t begin = function.find(text_begins); error.line > 0 && begin != std::string::npos) {
        const std::string before = std::string(head) + function.substr(0, begin + text_begins.size());
        const int line = error.line - static_cast<int>(std::count(before.begin(), before.end(), '\n'));
        const std::string text = line_of(function.substr(begin + text_begins.size()), line);
        const std::string prefix = "inline assembly, line " + std::to_string(line) + ", \"" + text + "\": ";
        reason = line > 0 ? prefix + reason : "inline assembly: " + reason;
    }
    InlineAssemblyError result(as_written(reason), error.line);
    if (const DebugLoc& place = call.getDebugLoc()) {
        const auto* scope = cast<DIScope>(place.getScope());
        SmallString<256> path(scope->getFilename());
        if (!sys::path::is_absolute(path)) {
            path = scope->getDirectory();
            sys::path::append(path, scope->getFilename());
        }
        result.file = path.str().str();
        result.file_line = place.getLine();
        result.file_column = place.getCol();
    }
    return result;
}

/// A function that stands for a piece of assembly, and a call that needs it.
struct Needed {
    std::string text;
    const CallInst* call = nullptr;
};

/// The functions as one image. When there is something wrong, each is read alone to say which one it is.
image::KernelImage read_all(const std::map<std::string, Needed>& functions, const std::string& file) {
    std::string text(head);
    for (const auto& [name, needed] : functions) text += needed.text;
    try {
        return read(text, file + ", inline assembly");
    } catch (const PtxError&) {
        for (const auto& [name, needed] : functions) {
            try {
                (void)read(std::string(head) + needed.text, file);
            } catch (const PtxError& error) {
                throw located(error, *needed.call, needed.text);
            }
        }
        throw;
    }
}

std::string name_of(const CallInst& call, const std::string& nameless) {
    return name_for(nameless) + (call.getDebugLoc() ? "_inline" : "");
}

}  // namespace

InlineAssembly inline_assembly_of(const image::KernelImage& image) {
    LLVMContext context;
    const std::unique_ptr<llvm::Module> module = parsed(image, "image", context);
    InlineAssembly result;
    std::vector<InlineAssemblyError>& errors = result.errors;
    std::map<std::string, std::optional<std::pair<std::string, int>>> known;  // what is wrong with a text
    for (CallInst* call : assembly_in(*module)) {
        result.exists = true;
        std::string function;
        try {
            function = Piece(*call).function("piece");
            const auto [found, is_new] = known.try_emplace(function);
            if (is_new) try {
                    (void)read(std::string(head) + function, "image");
                } catch (const PtxError& error) {
                    found->second.emplace(error.what(), error.line);
                }
            if (found->second)
                errors.push_back(
                    located(PtxError(found->second->first, found->second->second), *call, function));
        } catch (const PtxError& error) {
            errors.push_back(located(error, *call, ""));
        }
    }
    std::sort(errors.begin(), errors.end(), [](const auto& one, const auto& other) {
        return std::tie(one.file, one.file_line, one.file_column) <
               std::tie(other.file, other.file_line, other.file_column);
    });
    return result;
}

std::vector<image::KernelImage> without_inline_assembly(const image::KernelImage& image,
                                                        const std::string& file) {
    LLVMContext context;
    const std::unique_ptr<llvm::Module> module = parsed(image, file, context);
    if (assembly_in(*module).empty()) return {image};
    inline_carry_wrappers(*module);
    const SmallVector<CallInst*> calls = assembly_in(*module);
    std::map<std::string, Needed> with_lines, without;
    for (CallInst* call : calls) {
        try {
            const Piece piece(*call);
            const std::string name = name_of(*call, piece.function(""));
            (call->getDebugLoc() ? with_lines : without).try_emplace(name, piece.function(name), call);
        } catch (const PtxError& error) {
            throw located(error, *call, "");
        }
    }
    std::vector<image::KernelImage> result;
    if (!without.empty()) result.push_back(read_all(without, file));
    if (!with_lines.empty()) result.push_back(without_lines(read_all(with_lines, file)));
    Carries carries;
    for (CallInst* call : calls) {
        Piece piece(*call);
        piece.replace(name_of(*call, piece.function("")), carries);
    }
    result.insert(result.begin(), image::KernelImage::from_module(*module, image.sources()));
    return result;
}

image::KernelImage with_translated_assembly(image::KernelImage image) {
    const std::vector<image::KernelImage> parts = without_inline_assembly(image, "image");
    return parts.size() == 1 ? std::move(image) : image::linked(parts);
}

}  // namespace cudasim::ptx
