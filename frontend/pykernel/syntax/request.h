// What the compiler is given: Python functions as syntax trees, what their names
// mean, and what to make of them.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/pykernel/syntax/global_value.h"
#include "frontend/pykernel/syntax/syntax_tree.h"
#include "simulator/image/kernel_image.h"
#include "simulator/image/large_stack.h"

namespace cudasim::pykernel {

/// Type names of an explicit signature of a device function; an empty result is inferred.
struct DeclaredSignature {
    std::vector<std::string> arguments;
    std::string result;
};

/// What a call of an overloaded function means: a function of the request, or one of linked code.
struct Choice {
    std::uint32_t function = 0;
    bool takes_literals = false;  ///< `function` is typed for the literal types themselves
    std::string
        symbol;  ///< of linked code, which takes and gives the parts of values (emission.h); else empty
    DeclaredSignature signature;  ///< of linked code
    /// Memory of the caller that linked code gets as its first parameter when it is not 0: what it
    /// returns may point there.
    std::uint64_t frame_bytes = 0;
};

/// What numba.cuda.extending.overload_method and overload_attribute add to values of a type: an overloaded
/// function, whose first argument is the value.
struct Extension {
    std::uint32_t function = 0;
    bool is_method = false;
};

/// A Python function and everything its names mean.
struct FunctionSource {
    FunctionSyntax syntax;
    std::string file;                            ///< as Python shows it
    int first_line = 1;                          ///< of `lines`
    std::vector<std::string> lines;              ///< the function's source, without line ends
    std::map<std::string, GlobalValue> globals;  ///< dotted name, such as "cuda.shared.array" → meaning
    std::vector<GlobalValue> defaults;           ///< of the last parameters
    std::set<std::string> outer_locals;          ///< of a function inside another: variables of that one
    std::vector<DeclaredSignature> signatures;   ///< of a device function that declares any
    std::string
        library_name;  ///< "cmath.exp": one of cudasim.kernel_library, which refusals name; else empty
    bool exact_signatures = false;  ///< of numbers only promotions fit
    /// Whether numba.cuda.extending.overload implements it: `syntax` has its parameters and is not compiled
    /// itself. What a call means is the Resolver's to say.
    bool is_overloaded = false;
    /// is_overloaded: the Resolver binds the arguments, too; types of those by name come as "name=type".
    bool binds_arguments = false;
};

/// Who knows what a request does not say from the beginning, because only types show that it is needed. Asked
/// while types are inferred. What an answer names is part of the request when the answer is there: functions,
/// sources and libraries are added to it.
class Resolver {
  public:
    Resolver() = default;
    virtual ~Resolver() = default;
    Resolver(const Resolver&) = delete;
    Resolver& operator=(const Resolver&) = delete;
    /// The number of a function of cudasim.kernel_library, such as "cmath.exp".
    [[nodiscard]] virtual std::uint32_t library_function(std::string_view name) = 0;
    /// What a call of an overloaded function means with arguments of these types (Type::request_name(), of a
    /// function with "#" and its number behind it,
    /// "omitted" where left out); nullopt: nothing.
    /// @param reasons gets what implementers have to say against it
    /// @throws SourceError without a place: a program's code generator has failed
    [[nodiscard]] virtual std::optional<Choice> overload(std::uint32_t function,
                                                         const std::vector<std::string>& arguments,
                                                         std::vector<std::string>& reasons) = 0;
    /// What a program has added to values of a type (request_name()) under this name.
    [[nodiscard]] virtual std::optional<Extension> attribute(const std::string& type,
                                                             const std::string& name) = 0;
    /// The number of the overloaded function that an operator or a function of the compiler's, such as
    /// "operator.add", "len", is for values of types that a program has added; nullopt: it has none.
    [[nodiscard]] virtual std::optional<std::uint32_t> operation(const std::string& name) = 0;
    /// What a module has under a name; for modules that are values of variables and parameters.
    [[nodiscard]] virtual GlobalValue member(const std::string& module, const std::string& name) = 0;
};

/// How others reach functions[0].
enum class Entry {
    kernel,
    c_function,      ///< a device function as CUDA C++ would declare it (numba.cuda.compile, abi "c")
    numba_function,  ///< a device function that stores its result through its first parameter and returns a
                     ///< status
};

struct Request {
    /// [0] is the kernel, or the device function to compile. They stay where they are when others are added.
    std::deque<FunctionSource> functions;
    Resolver* resolver = nullptr;             ///< not null
    std::vector<std::string> argument_types;  ///< Numba's type names
    Entry entry = Entry::kernel;
    std::string entry_name;   ///< of a device function
    std::string result_type;  ///< of a device function; empty: inferred
    bool fastmath = false;
    bool old_messages = false;   ///< of CPython 3.10, of variables without a value
    bool fma = false;            ///< mark floating-point operations `contract` (V5)
    bool variable_reads = true;  ///< debuggers may set variables (simulator/image/variable_reads.h)
    std::vector<image::KernelImage>
        libraries;                           ///< with the functions that were declared (GlobalKind::foreign)
    std::vector<image::SourceFile> sources;  ///< what the image keeps for reports
    const image::Cancellation* cancellation = nullptr;

    /// @throws image::Cancelled
    void check_cancelled() const {
        if (cancellation) cancellation->check();
    }
};

}  // namespace cudasim::pykernel
