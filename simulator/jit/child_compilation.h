// The long part of compiling a large kernel, in a copy of the process: LLVM cannot be stopped in the middle
// of a pass, a process can be ended at any moment, and its death over what LLVM cannot digest is an error
// like others.
#pragma once

#include <functional>
#include <string>

#include "simulator/image/large_stack.h"
#include "simulator/jit/object_cache.h"

namespace cudasim::jit {

/// The result of `finish`, which runs in a child process. Must not be called with the compiler's lock held,
/// which fork() takes. @param key of the object cache
/// @throws what `finish` throws of CompileError and ResourceError; CompileError when the child dies;
/// image::NoChildProcess; image::Cancelled within 0.1 s of the request
[[nodiscard]] CachedKernel finish_in_child_process(const std::string& key, const std::string& kernel,
                                                   const std::function<CachedKernel()>& finish,
                                                   const image::Cancellation& cancellation);

}  // namespace cudasim::jit
