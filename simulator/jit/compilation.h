// What the passes of one compilation hand to each other: the module being lowered and what has been learnt
// about it. Lives from parsing to object code; one per compile_kernel() call, never shared.
#pragma once

#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "simulator/jit/compiler.h"

namespace cudasim::jit {

/// Metadata that passes leave for each other. All of it is gone, or ignored, after
/// the late instrumentation point.
namespace marks {
/// Marks an access that the compiler itself has made. Checks of the kernel's accesses ignore it.
inline constexpr const char* internal = "cudasim.internal";
/// Marks the address computation of a variable: !{i64 bytes, i32 address space}.
inline constexpr const char* variable = "cudasim.variable";
/// On a variable of code that is compiled for stops: !{i64 offset in the frame record}; on the record: !{}.
inline constexpr const char* in_record = "cudasim.in_record";
inline constexpr const char* record = "cudasim.record";
/// On memory that a value is copied to when its function returns (hook `returned`). !{}
inline constexpr const char* returned = "cudasim.returned";
/// On a call of the hook stop: it stands for the program's own call of a debugger. !{}
inline constexpr const char* breakpoint = "cudasim.breakpoint";
/// On a call of the hook stop: a function's first statement, once for each call of the function. !{}
inline constexpr const char* entry = "cudasim.entry";
/// Says of a barrier or warp hook which one of the source it is, so that copies made by the optimiser stay
/// one place. The node is distinct; that of hook barrier is !{i32 number} (synchronisation.h).
inline constexpr const char* barrier = "cudasim.barrier";
/// On a warp operation that lanes may leave out and on the calls of hook `passes` behind it: one distinct
/// node (skipped_operations.h).
inline constexpr const char* skippable = "cudasim.skippable";
}  // namespace marks

/// NVPTX address spaces (LLVM NVPTX back end user guide, "Address Spaces").
enum AddressSpace : unsigned { generic = 0, global = 1, shared = 3, constant = 4, local = 5 };

/// A variable in shared, global or constant memory as debug information describes it.
struct SourceVariable {
    const llvm::DIGlobalVariable* description = nullptr;
    PartSource memory = PartSource::globals;  ///< or shared
    std::uint64_t offset = 0;
};

/// The layout of an image's variables and functions. Computed on the whole module, so equal for all its
/// kernels (E2b).
struct ImageLayout {
    std::shared_ptr<GlobalsLayout> globals = std::make_shared<GlobalsLayout>();
    std::map<const llvm::GlobalVariable*, std::uint64_t> offsets;  ///< into the globals segment
    std::vector<llvm::Function*> functions;                        ///< those with handles; null once dropped
};

/// The kernel's __shared__ variables.
struct SharedLayout {
    std::map<const llvm::GlobalVariable*, std::uint64_t> offsets;  ///< dynamic arrays too
    std::vector<SharedVariable> variables;
    std::uint64_t static_bytes = 0;
    std::uint64_t dynamic_offset = 0;
};

struct Compilation {
    CompileOptions options;
    const image::Kernel* description = nullptr;  ///< parameter layout
    std::unique_ptr<llvm::LLVMContext> context;
    std::unique_ptr<llvm::Module> module;
    llvm::Function* kernel = nullptr;  ///< replaced as lowering rewrites it; the entry function in the end
    ImageLayout layout;
    SharedLayout shared;
    std::vector<SourceVariable> source_variables;  ///< those of both layouts
    std::vector<bool> by_value;  ///< of the kernel's own parameters: the body gets an address in the buffer
    std::vector<ExceptionText> exceptions;
    std::vector<findings::CallChain> sites;
    std::vector<std::uint32_t> skippable_sites;  ///< skipped_operations.h; hook `passes` takes an index
    std::map<std::pair<const llvm::DILocation*, const llvm::Function*>, std::uint32_t>
        place_sites;                                           ///< site_of() (site_numbering.h)
    std::vector<std::vector<CapturedVariable>> capture_calls;  ///< by the first argument of `cudasim.capture`
    Captures captures;
    Stops stops;
    ParameterUse parameter_use;
    std::vector<std::string> diagnostics;  ///< errors LLVM reported; none is a success
    std::vector<ResumePoint> resume_points;
    std::uint64_t coroutine_frame_bytes = 0;
    std::uint32_t named_barriers =
        0;  ///< a bit for each of the block's barriers to which some threads may come alone
    bool waits = false;
    bool cooperative = false;
    bool reads_clock = false;
    bool prints = false;  ///< calls vprintf
    bool uses_shadow = false;
    bool recursive = false;
};

}  // namespace cudasim::jit
