// See object_code.h.
#include "simulator/jit/object_code.h"

#include <llvm/ADT/ScopeExit.h>
#include <llvm/DebugInfo/DWARF/DWARFContext.h>
#include <llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h>
#include <llvm/ExecutionEngine/Orc/Core.h>
#include <llvm/ExecutionEngine/Orc/ExecutorProcessControl.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Support/DataExtractor.h>
#include <llvm/Support/Process.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/TargetParser/Host.h>
#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

#include "simulator/jit/host_symbols.h"
#include "simulator/jit/thread_groups.h"

namespace cudasim::jit {
namespace {

using namespace llvm;

/// Ours to fix, not the user's: something LLVM should never answer for lowered IR.
[[noreturn]] void internal_error(const std::string& what) {
    throw std::logic_error("simulator/jit: " + what);
}

template <class T>
T value_or_die(Expected<T> expected, const char* doing) {
    if (!expected) internal_error(std::string(doing) + ": " + toString(expected.takeError()));
    return std::move(*expected);
}

void succeed_or_die(Error error, const char* doing) {
    if (error) internal_error(std::string(doing) + ": " + toString(std::move(error)));
}

const std::string& host_features() {
    static const std::string features = [] {
        std::string list;
        for (const auto& [name, enabled] : sys::getHostCPUFeatures())
            list += (list.empty() ? "" : ",") + std::string(enabled ? "+" : "-") + name.str();
        return list;
    }();
    return features;
}

std::unique_ptr<TargetMachine> make_machine(bool fma_contraction) {
    InitializeNativeTarget();
    InitializeNativeTargetAsmPrinter();
    const std::string triple = sys::getProcessTriple();
    std::string error;
    const Target* target = TargetRegistry::lookupTarget(triple, error);
    if (!target) internal_error(error);
    TargetOptions options;
    options.EmitStackSizeSection = true;
    options.AllowFPOpFusion = fma_contraction ? FPOpFusion::Standard : FPOpFusion::Strict;
    return std::unique_ptr<TargetMachine>(
        target->createTargetMachine(triple, sys::getHostCPUName(), host_features(), options, Reloc::PIC_,
                                    CodeModel::Small, CodeGenOptLevel::Default, true));
}

struct Text {
    std::uint64_t index = object::SectionedAddress::UndefSection;
    std::uint64_t bytes = 0;
};

Text text_section(const object::ObjectFile& file) {
    for (const auto& section : file.sections()) {
        auto name = section.getName();
        if (name && *name == ".text") return {section.getIndex(), section.getSize()};
    }
    return {};
}

/// Where a function lies in .text.
struct FunctionPlace {
    std::uint64_t offset = 0, bytes = 0;
};

/// Nothing where there is no such function.
std::optional<FunctionPlace> find_function(const object::ObjectFile& file, StringRef name) {
    for (const auto& symbol : file.symbols())
        if (value_or_die(symbol.getName(), "symbol") == name)
            return FunctionPlace{value_or_die(symbol.getValue(), "symbol"),
                                 object::ELFSymbolRef(symbol).getSize()};
    return std::nullopt;
}

/// The process's ORC session: JITLink into this process, a JITDylib per kernel, one for the host's
/// symbols, one for each set of hooks.
class Session {
  public:
    static Session& instance() {
        static auto* session = new Session;  // never destroyed: kernels may outlive static destruction
        return *session;
    }

    EntryFunction link(std::unique_ptr<MemoryBuffer> object, std::span<const HookAddress> hooks,
                       orc::JITDylib*& dylib) {
        orc::JITDylib& hook_symbols = dylib_of(hooks);
        dylib = &session_.createBareJITDylib("kernel" + std::to_string(next_++));
        dylib->addToLinkOrder(hook_symbols);
        dylib->addToLinkOrder(*host_);
        succeed_or_die(layer_.add(*dylib, std::move(object)), "adding object code");
        auto entry = session_.lookup({dylib}, "cudasim_entry");
        if (!entry) {
            const std::string reason = toString(entry.takeError()) + problems_;
            problems_.clear();
            unlink(*dylib);
            throw CompileError("the kernel needs something this CPU's code cannot be linked with: " + reason,
                               {});
        }
        return entry->getAddress().toPtr<EntryFunction>();
    }

    void unlink(orc::JITDylib& dylib) { consumeError(session_.removeJITDylib(dylib)); }

  private:
    Session()
        : session_(std::make_unique<orc::UnsupportedExecutorProcessControl>(nullptr, nullptr,
                                                                            sys::getProcessTriple(), 4096)),
          layer_(session_, std::make_unique<jitlink::InProcessMemoryManager>(
                               value_or_die(sys::Process::getPageSize(), "page size"))),
          host_(&session_.createBareJITDylib("host")) {
        session_.setErrorReporter([this](Error error) { problems_ += "; " + toString(std::move(error)); });
        orc::SymbolMap symbols;
        for (const auto& [name, address] : host_symbols()) add(symbols, name, address);
        succeed_or_die(host_->define(orc::absoluteSymbols(std::move(symbols))), "host symbols");
    }

    void add(orc::SymbolMap& symbols, std::string_view name, void* address) {
        symbols[session_.intern(StringRef(name.data(), name.size()))] = {orc::ExecutorAddr::fromPtr(address),
                                                                         JITSymbolFlags::Exported};
    }

    /// Few sets in a process, and most kernels have the same.
    orc::JITDylib& dylib_of(std::span<const HookAddress> hooks) {
        for (const auto& [known, symbols] : hook_sets_)
            if (std::ranges::equal(known, hooks)) return *symbols;
        orc::SymbolMap symbols;
        for (const auto& [name, address] : hooks) add(symbols, name, address);
        auto& dylib = session_.createBareJITDylib("hooks" + std::to_string(hook_sets_.size()));
        succeed_or_die(dylib.define(orc::absoluteSymbols(std::move(symbols))), "hooks");
        hook_sets_.emplace_back(std::vector(hooks.begin(), hooks.end()), &dylib);
        return dylib;
    }

    orc::ExecutionSession session_;
    orc::ObjectLinkingLayer layer_;
    orc::JITDylib* host_;
    std::vector<std::pair<std::vector<HookAddress>, orc::JITDylib*>> hook_sets_;
    unsigned next_ = 0;
    std::string problems_;  ///< what ORC reported besides the error it returned
};

class LinkedKernel final : public CompiledKernel {
  public:
    LinkedKernel(KernelFacts facts, SmallVector<char, 0> object, std::span<const HookAddress> hooks)
        : CompiledKernel(std::move(facts)), object_(std::move(object)) {
        const MemoryBufferRef buffer(StringRef(object_.data(), object_.size()), "kernel");
        file_ = value_or_die(object::ObjectFile::createObjectFile(buffer), "object file");
        text_ = text_section(*file_);
        entry = Session::instance().link(MemoryBuffer::getMemBuffer(buffer, false), hooks, dylib_);
        const auto entry_place = find_function(*file_, "cudasim_entry");
        if (!entry_place) internal_error("the entry function vanished");
        const auto first = reinterpret_cast<std::uintptr_t>(entry) - entry_place->offset;
        code.emplace_back(first, first + text_.bytes);
        if (const auto group = find_function(*file_, group_symbol))
            group_code_ = {first + group->offset, first + group->offset + group->bytes};
    }

    ~LinkedKernel() override {
        if (dylib_) {
            const auto lock = lock_compiler();
            Session::instance().unlink(*dylib_);
        }
    }

    [[nodiscard]] findings::CallChain locate(std::uintptr_t program_counter) const override {
        const auto [first, last] = code.front();
        if (program_counter < first || program_counter >= last) return {};
        const std::lock_guard lock(lines_mutex_);
        if (!lines_) lines_ = DWARFContext::create(*file_);
        const auto frames = lines_->getInliningInfoForAddress(
            {program_counter - first, text_.index},
            DILineInfoSpecifier(DILineInfoSpecifier::FileLineInfoKind::AbsoluteFilePath,
                                DILineInfoSpecifier::FunctionNameKind::ShortName));
        findings::CallChain chain;
        for (unsigned i = 0; i < frames.getNumberOfFrames(); ++i) {
            const auto& frame = frames.getFrame(i);
            if (frame.Line == 0 && frame.FileName == DILineInfo::BadString) continue;
            chain.push_back({frame.FileName, frame.FunctionName, frame.Line, frame.Column});
        }
        return findings::without_own_code(std::move(chain));
    }

    [[nodiscard]] bool runs_groups_at(std::uintptr_t program_counter) const {
        return program_counter >= group_code_.first && program_counter < group_code_.second;
    }

  private:
    SmallVector<char, 0> object_;
    std::unique_ptr<object::ObjectFile> file_;
    orc::JITDylib* dylib_ = nullptr;
    Text text_;
    std::pair<std::uintptr_t, std::uintptr_t> group_code_;  ///< empty where nothing runs in groups
    mutable std::mutex lines_mutex_;
    mutable std::unique_ptr<DWARFContext> lines_;
};

}  // namespace

bool runs_groups_at(const CompiledKernel& kernel, std::uintptr_t program_counter) {
    const auto* linked = dynamic_cast<const LinkedKernel*>(&kernel);
    return linked && linked->runs_groups_at(program_counter);
}

/// Neither made nor registered when it is first used: a child of fork() would wait for ever for what another
/// thread had begun to make.
static constinit std::mutex compiler_mutex;
/// A child of fork() has only the thread that forked: nobody would ever unlock what another one held.
[[maybe_unused]] static const int fork_handlers = pthread_atfork(
    [] { compiler_mutex.lock(); }, [] { compiler_mutex.unlock(); }, [] { compiler_mutex.unlock(); });

std::unique_lock<std::mutex> lock_compiler() {
    return std::unique_lock(compiler_mutex);
}

std::unique_lock<std::mutex> lock_compiler(const image::Cancellation& cancellation) {
    std::unique_lock lock(compiler_mutex, std::try_to_lock);
    while (!lock.owns_lock()) {
        cancellation.check();
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        (void)lock.try_lock();
    }
    return lock;
}

const std::string& host_processor() {
    static const std::string processor = sys::getHostCPUName().str() + " " + host_features();
    return processor;
}

TargetMachine& host_machine(const CompileOptions& options) {
    static auto* strict = make_machine(false).release();
    if (!options.fma_contraction) return *strict;
    static auto* contracting = make_machine(true).release();
    return *contracting;
}

SmallVector<char, 0> generate(Compilation& compilation, TargetMachine& machine, Effort effort) {
    SmallVector<char, 0> object;
    raw_svector_ostream stream(object);
    const CodeGenOptLevel usual = machine.getOptLevel();
    if (effort == Effort::proportional) machine.setOptLevel(CodeGenOptLevel::None);
    const auto restore = make_scope_exit([&] { machine.setOptLevel(usual); });
    legacy::PassManager passes;
    if (machine.addPassesToEmitFile(passes, stream, nullptr, CodeGenFileType::ObjectFile)) {
        internal_error("this target cannot emit object files");
    }
    passes.run(*compilation.module);
    if (!compilation.diagnostics.empty()) {
        throw CompileError("code generation failed: " + compilation.diagnostics.front(), {});
    }
    return object;
}

/// `.stack_sizes` holds, for each function, its address (8 bytes) and its frame size (ULEB128); 64 more for
/// the return address and what hooks push.
std::uint64_t total_frame_bytes(const SmallVector<char, 0>& object) {
    constexpr std::uint64_t call_overhead = 64;
    const MemoryBufferRef buffer(StringRef(object.data(), object.size()), "kernel");
    const auto file = value_or_die(object::ObjectFile::createObjectFile(buffer), "object file");
    std::uint64_t total = 0;
    for (const auto& section : file->sections()) {
        auto name = section.getName();
        if (!name || *name != ".stack_sizes") continue;
        const StringRef contents = value_or_die(section.getContents(), "stack sizes");
        DataExtractor extractor(contents, true, 8);
        std::uint64_t position = 0;
        while (position + 8 < contents.size()) {
            position += 8;
            total += extractor.getULEB128(&position) + call_overhead;
        }
    }
    return total;
}

std::shared_ptr<CompiledKernel> link(KernelFacts facts, SmallVector<char, 0> object,
                                     std::span<const HookAddress> hooks) {
    return std::make_shared<LinkedKernel>(std::move(facts), std::move(object), hooks);
}

}  // namespace cudasim::jit
