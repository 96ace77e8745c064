// See foreign_headers.h.
#include "frontend/cuda_cpp/driver/foreign_headers.h"

#include <fstream>
#include <map>

namespace cudasim::nvcc {
namespace {

namespace fs = std::filesystem;

/// Whether a name below a toolkit's include folder is one of CUDA's, not of something else that is installed
/// in the same folder, as in /usr/local/include.
bool is_cudas(const std::string& name) {
    for (const char* start : {"cuda",
                              "cuComplex.h",
                              "cub/",
                              "cublas",
                              "cudnn",
                              "cufft",
                              "curand",
                              "cusolver",
                              "cusparse",
                              "cccl/",
                              "crt/",
                              "cooperative_groups",
                              "device_",
                              "driver_",
                              "host_config.h",
                              "host_defines.h",
                              "library_types.h",
                              "math_constants.h",
                              "mma.h",
                              "npp",
                              "nv/",
                              "nvJ",
                              "nvb",
                              "nvfunctional",
                              "nvml.h",
                              "nvrtc",
                              "nvtx3/",
                              "nvToolsExt",
                              "sm_",
                              "surface_",
                              "texture_",
                              "thrust/",
                              "vector_functions",
                              "vector_types.h",
                              "channel_descriptor.h",
                              "builtin_types.h",
                              "common_functions.h",
                              "fatbinary"})
        if (name.starts_with(start)) return true;
    return false;
}

}  // namespace

void refuse_foreign_headers(const Build& build, const std::string& dependencies) {
    std::ifstream file(dependencies);
    std::map<fs::path, bool> foreign;
    const std::string ours = build.tools.include() + "/";
    for (std::string path; file >> path;) {
        if (path.starts_with(ours) || path.ends_with("\\") || path.ends_with(":")) continue;
        path = (fs::current_path() / path).lexically_normal();
        for (fs::path folder = fs::path(path).parent_path(); folder != "/"; folder = folder.parent_path()) {
            const auto [at, fresh] = foreign.try_emplace(folder, false);
            if (fresh) at->second = !build.tools.allows(folder);
            if (at->second && is_cudas(path.substr(folder.string().size() + 1)))
                throw Fatal("'" + path +
                            "' belongs to an installed CUDA toolkit, whose headers do not fit cudasim; "
                            "cudasim has no header of this name");
        }
    }
}

}  // namespace cudasim::nvcc
