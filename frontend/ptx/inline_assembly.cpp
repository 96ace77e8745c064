// See inline_assembly.h.
#include "frontend/ptx/inline_assembly.h"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/MemoryBuffer.h>

#include <cctype>
#include <set>

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

    /// PTX of a function that does the same.
    std::string function(const std::string& name) const {
        std::string parameters, registers, before, after, result;
        const bool one = outputs() == 1;
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
        return ".version 8.0\n.target sm_80\n.address_size 64\n.weak .func " + result + name + "(" +
               parameters + ")\n{\n" + registers + before + "{\n" + body() + "\n}\n" + after + "ret;\n}\n";
    }

    /// A call of that function in place of the assembly.
    void replace(const std::string& name) {
        Function& caller = *call_.getFunction();
        IRBuilder<> entry(&*caller.getEntryBlock().getFirstInsertionPt()), builder(&call_);
        SmallVector<Value*> arguments, places;
        const bool one = outputs() == 1;
        unsigned output = 0;
        for (const Operand& operand : operands_) {
            if (operand.is_output && !one) {
                places.push_back(
                    entry.CreateAlloca(cast<StructType>(call_.getType())->getElementType(output++)));
                arguments.push_back(places.back());
            } else if (!operand.is_output && !operand.type.empty()) {
                arguments.push_back(operand.value);
            }
        }
        SmallVector<Type*> types;
        for (Value* argument : arguments) types.push_back(argument->getType());
        Type* returned = one ? call_.getType() : builder.getVoidTy();
        FunctionCallee callee =
            caller.getParent()->getOrInsertFunction(name, FunctionType::get(returned, types, false));
        Value* result = builder.CreateCall(callee, arguments);
        if (!places.empty()) {
            result = PoisonValue::get(call_.getType());
            for (unsigned i = 0; i < places.size(); ++i)
                result = builder.CreateInsertValue(
                    result, builder.CreateLoad(cast<AllocaInst>(places[i])->getAllocatedType(), places[i]),
                    i);
        }
        if (!call_.getType()->isVoidTy()) call_.replaceAllUsesWith(result);
        call_.eraseFromParent();
    }

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

}  // namespace

std::vector<image::KernelImage> without_inline_assembly(const image::KernelImage& image,
                                                        const std::string& file) {
    LLVMContext context;
    Expected<std::unique_ptr<llvm::Module>> module =
        parseBitcodeFile(MemoryBufferRef(image.bitcode(), file), context);
    if (!module) throw PtxError(toString(module.takeError()), 0);
    SmallVector<CallInst*> calls;
    for (Function& function : **module)
        for (Instruction& instruction : instructions(function))
            if (auto* call = dyn_cast<CallInst>(&instruction); call && call->isInlineAsm())
                calls.push_back(call);
    if (calls.empty()) return {image};
    std::vector<image::KernelImage> result;
    std::set<std::string> known;
    for (CallInst* call : calls) {
        Piece piece(*call);
        const bool has_line = call->getDebugLoc();
        const std::string name = name_for(piece.function("")) + (has_line ? "_inline" : "");
        if (known.insert(name).second) {
            const image::KernelImage function = read(piece.function(name), file + ", inline assembly");
            result.push_back(has_line ? without_lines(function) : function);
        }
        piece.replace(name);
    }
    result.insert(result.begin(), image::KernelImage::from_module(**module, image.sources()));
    return result;
}

image::KernelImage with_translated_assembly(image::KernelImage image) {
    const std::vector<image::KernelImage> parts = without_inline_assembly(image, "image");
    return parts.size() == 1 ? std::move(image) : image::linked(parts);
}

}  // namespace cudasim::ptx
