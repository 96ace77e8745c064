// See library.h.
#include "library/library.h"

#include <llvm/Config/llvm-config.h>
#include <llvm/Support/ErrorHandling.h>

#include <new>

#include "simulator/jit/build_id.h"

namespace cudasim::library {
namespace {

/// LLVM is built without exceptions and would end the process. It is this library's
/// own: nobody else sets a handler.
[[maybe_unused]] const bool handler_is_set = [] {
    llvm::install_bad_alloc_error_handler([](void*, const char*, bool) { throw std::bad_alloc(); });
    return true;
}();

}  // namespace

const char* version() {
    return CUDASIM_VERSION;
}

const char* llvm_version() {
    return LLVM_VERSION_STRING;
}

const std::string& build_id() {
    static const std::string id = jit::build_id_of(reinterpret_cast<const void*>(&version));
    return id;
}

}  // namespace cudasim::library
