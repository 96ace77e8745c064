// The first step: bitcode to a module that holds one kernel and what it may reach.
#pragma once

#include "simulator/jit/compilation.h"

namespace cudasim::jit {

/// Parses the image, lays out its globals (whole module), reads the exception texts, then drops the other
/// kernels and everything unreachable. @throws CompileError for an unknown kernel or what has no layout
void load_kernel(Compilation& compilation, const image::KernelImage& image, std::string_view kernel);

}  // namespace cudasim::jit
