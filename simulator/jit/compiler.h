// KernelImage → machine code for this CPU. Entry point: compile_kernel(). The passes, in order:
//
//   parse → layout of globals → verify → lowering (context parameter, special registers, address spaces,
//   globals, parameters, libdevice) → early instrumentation (before any pass, C0) → inline + SROA → late
//   instrumentation (C0) → optimise → site numbering → object code → object cache → ORC
//
// What is instrumented, the caller decides (instrumentation.h), and what hooks do, too: their
// addresses are handed to the linker.
//
// All of it happens on a thread with a large stack (simulator/image/large_stack.h), and what comes after
// instrumentation in a child process where the kernel is large (child_compilation.h).
//
// Nothing here runs a kernel; simulator/execution does.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/findings/finding.h"
#include "simulator/image/kernel_image.h"
#include "simulator/image/large_stack.h"
#include "simulator/jit/abi.h"
#include "simulator/jit/standard_instrumentations.h"

namespace cudasim::jit {

/// The user's program asks for something that cannot be compiled; names what and where.
struct CompileError : std::runtime_error {
    CompileError(const std::string& message, findings::CallChain where)
        : std::runtime_error(message), location(std::move(where)) {}
    findings::CallChain location;
};

/// The program compiles, but asks for more than any GPU gives a thread.
struct ResourceError : CompileError {
    using CompileError::CompileError;
};

/// A variable of the image in global or constant memory, at base + offset in its globals segment.
struct GlobalVariable {
    std::string name;    ///< source name where debug info has one
    std::string symbol;  ///< unique in the image: for C++ its mangled name
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    bool constant = false;     ///< kernels may not write it
    bool initialised = false;  ///< false: filled with the poison pattern (V3)
    findings::SourceLocation location;
};

/// Eight bytes at `offset` receive the address of `base + target` (E2b).
struct Relocation {
    std::uint64_t offset = 0;
    std::uint64_t target = 0;
};

/// The same for every kernel and every compiled variant of an image: one state per image and device.
struct GlobalsLayout {
    std::vector<GlobalVariable> variables;  ///< ascending offsets, at least 32 bytes apart (redzones)
    std::vector<std::byte> initial;         ///< function handles already in place
    std::vector<Relocation> relocations;
    std::uint64_t bytes = 0;
};

/// A __shared__ variable, at shared_base + offset.
struct SharedVariable {
    std::string name;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    std::uint64_t element_bytes = 0;     ///< of an array, by its debug info; else 0
    std::string element_type;            ///< of an array of numbers: "float32", "uint8"...
    std::vector<std::uint64_t> extents;  ///< of an array
};

struct ExceptionText {
    std::string type;
    std::string message;
};

struct CompileOptions {
    InstrumentationList instrumentations = standard_instrumentations();
    bool fma_contraction = false;  ///< fuse where the IR carries `contract` (V5)
    unsigned optimisation = 2;     ///< 0 or 2
    bool wrap_checks = false;      ///< negative indices of arrays are told to the engine (checks.def)
    bool coroutines = true;       ///< kernels whose waits all lie in the kernel itself become coroutines (E1)
    bool lane_coroutines = true;  ///< those with warp operations, too
    auto operator<=>(const CompileOptions&) const = default;
};

/// A barrier or warp operation at which a coroutine's thread can be left and resumed.
struct ResumePoint {
    std::uint32_t site = 0;
    BarrierKind kind = BarrierKind::plain;
    bool in_warp = false;
    WarpKind warp_kind = WarpKind::sync;  ///< in_warp
};

/// Where a part of a captured variable's value is found.
enum class PartSource : std::uint8_t {
    constant,   ///< `value` is it
    parameter,  ///< `value` is its offset in the kernel's parameter buffer
    record,     ///< `value` is its offset in the frame record (FrameRecord in abi.h)
    slot,       ///< `value` is its index in BlockContext::captured; before lowering, the capture's argument
    shared,     ///< the address of what lies `value` bytes behind BlockContext::shared_base
    globals,    ///< the address of what lies `value` bytes behind BlockContext::globals_base
    unknown,    ///< optimised out
};

/// CapturedPart::offset of a byte that says whether the variable has been assigned.
inline constexpr std::uint32_t assigned_flag = ~std::uint32_t{0};

/// Some bytes of a variable, or of the memory that it refers to.
struct CapturedPart {
    std::uint32_t offset = 0;  ///< in the variable; behind its end: in the memory
    std::uint32_t bytes = 0;
    PartSource source = PartSource::unknown;
    std::uint64_t value = 0;
    auto operator<=>(const CapturedPart&) const = default;
};

/// A variable of the source and where its value is found, at one or several places of the code.
struct CapturedVariable {
    std::string name;
    std::uint32_t type = 0;  ///< index into Captures::types
    std::uint32_t bytes = 0;
    std::uint32_t frame = 0;          ///< of which function: index into the call chain of the place
    std::uint32_t argument = 0;       ///< its ordinal among the arguments of its function, from 1; 0: none
    std::uint64_t element_bytes = 0;  ///< refers to memory (debug_types.h): of an element; else 0
    std::uint32_t dimensions = 0;     ///< of an array; 0 for a pointer to one element
    bool is_static =
        false;  ///< one for all calls of its function: the value is its address, the type refers to it
    bool is_global = false;  ///< static, and outside of all functions
    std::vector<CapturedPart> parts;
    auto operator<=>(const CapturedVariable&) const = default;
};

/// Where a thread can fault, and what is known there.
struct CapturePlace {
    std::uint32_t site = 0;
    std::vector<std::uint32_t> variables;  ///< indices into Captures::variables
};

/// What is known of the program's variables where a thread faults.
struct Captures {
    std::vector<std::string> types;           ///< debug_types.h
    std::vector<CapturedVariable> variables;  ///< each once
    std::vector<CapturePlace> places;         ///< by the number in BlockContext::captured[0]
};

/// A statement at which a thread can stop.
struct StopPlace {
    std::uint32_t site = ~std::uint32_t{0};  ///< all ones: the optimiser has removed it
    std::vector<std::uint32_t> frames;  ///< by function of the site's call chain: index into Stops::frames
    bool is_breakpoint = false;         ///< the program's own call of a debugger
    bool is_entry = false;              ///< of a function: its first statement, once for each call
};

/// Of code that is compiled for stops (statement_stops.h): its statements, and where variables lie.
struct Stops {
    std::vector<std::string> types;  ///< debug_types.h
    std::vector<std::vector<CapturedVariable>>
        frames;                     ///< the variables of each function, inlined copies apart
    std::vector<StopPlace> places;  ///< by FrameRecord::place
    /// The kernel's own arguments, as the parameter buffer has them.
    std::vector<CapturedVariable> arguments;
    /// What functions return: the function's name, the value's type and size, no parts (hook `returned`).
    std::vector<CapturedVariable> returns;
};

/// What is known about a compiled kernel besides its code.
/// What a kernel does with the memory that its parameters point to, for instrumentations that leave out
/// accesses to what nobody writes. Parameters by their index.
struct ParameterUse {
    std::vector<std::uint32_t> unchecked;  ///< reads through them were left out
    std::vector<std::uint32_t> written;    ///< that is right while none of these points to the same memory
};

struct KernelFacts {
    std::string name;
    findings::SourceLocation head;  ///< where the kernel is defined; line 0 without debug info
    bool is_cplusplus = false;      ///< debug information says that it is written in C++
    bool waits = false;             ///< contains a barrier
    bool cooperative = false;  ///< asks for the group of the grid: all its blocks have to be resident at once
    bool prints = false;       ///< calls vprintf
    bool reads_clock =
        false;  ///< contains clock, clock64 or globaltimer: its future depends on more than its state
    bool uses_shadow = false;       ///< looks accesses up in shadow memory; cannot run where there is none
    bool recursive = false;         ///< needs the large stack class and the stack limit
    std::uint64_t frame_bytes = 0;  ///< bound on the stack of one activation of every function
    std::vector<ResumePoint> resume_points;   ///< not empty: this is a coroutine kernel (abi.h)
    std::uint64_t coroutine_frame_bytes = 0;  ///< of each thread
    std::uint32_t parameter_bytes = 0;
    std::uint64_t static_shared_bytes = 0;
    std::uint64_t dynamic_shared_offset = 0;  ///< from shared_base; multiple of 16
    std::vector<SharedVariable> shared_variables;
    std::vector<findings::CallChain> sites;
    std::vector<std::uint32_t> skippable_sites;  ///< of warp operations that hook `passes` is called behind
    std::vector<ExceptionText> exceptions;
    Captures captures;
    Stops stops;  ///< empty unless it is compiled for stops
    ParameterUse parameter_use;
    std::shared_ptr<const GlobalsLayout> globals;
};

/// Owns its machine code. Immutable.
class CompiledKernel : public KernelFacts {
  public:
    explicit CompiledKernel(KernelFacts facts) : KernelFacts(std::move(facts)) {}
    virtual ~CompiledKernel() = default;
    EntryFunction entry = nullptr;
    /// Where a program counter inside this kernel's code is, for faults that only the CPU noticed.
    [[nodiscard]] virtual findings::CallChain locate(std::uintptr_t program_counter) const = 0;
    /// Code bytes as [first, last) ranges.
    std::vector<std::pair<std::uintptr_t, std::uintptr_t>> code;
};

/// The layout that every compiled kernel of the image has, without compiling one.
/// @throws CompileError for an initialiser that has no value before a kernel runs
[[nodiscard]] std::shared_ptr<const GlobalsLayout> globals_layout_of(const image::KernelImage& image);

/// Takes it from the object cache where that is on and has it (object_cache.h).
/// @param hooks of the engine (hooks.def), all of them; those of the instrumentations are added
/// @param poll what the calling thread does meanwhile; when it returns true, compiling is given up within 0.1
/// s
/// @throws CompileError (the user's fault), ResourceError, image::Cancelled
[[nodiscard]] std::shared_ptr<const CompiledKernel> compile_kernel(const image::KernelImage& image,
                                                                   std::string_view kernel,
                                                                   const CompileOptions& options,
                                                                   std::span<const HookAddress> hooks,
                                                                   const image::HostPoll& poll = {});

/// The module as text after instrumentation and lowering, before optimisation (`cudasim ir --stage
/// instrumented`).
[[nodiscard]] std::string instrumented_ir(const image::KernelImage& image, std::string_view kernel,
                                          const CompileOptions& options);

}  // namespace cudasim::jit
