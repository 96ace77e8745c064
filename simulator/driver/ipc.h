// Device memory that several processes use (CUDA Driver API, cuIpcGetMemHandle and its like). An exported
// allocation moves into a memory file of its process (simulator/memory/shared_pages.h). A handle says which
// process, file and part; another process opens the file through /proc, maps the part, and lets its own
// kernels use exactly the bytes of the allocation. The bytes of a handle, which no reader trusts:
//
//   "cudasim" 0 | process u32 | descriptor u32 | inode u64 | file offset u64 | mapped bytes u64 |
//   inside u64 | bytes u64 | 0 ...
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "simulator/driver/context.h"

namespace cudasim::driver {

using IpcMemHandle = std::array<std::byte, 64>;

/// The handle of the allocation that starts at `pointer`.
/// @throws Error 1 for any other address, and for mapped and managed memory
[[nodiscard]] IpcMemHandle ipc_get_mem_handle(const std::shared_ptr<Context>& current, DevicePointer pointer);

/// The process that made the handle. @throws Error 1 for bytes that are no handle
[[nodiscard]] std::uint32_t ipc_process(const IpcMemHandle& handle);

/// Where the memory is in this process, for kernels of the context's device. Opening it again gives
/// the same address, and counts.
/// @throws Error 1 for what is no handle, or whose memory or process is gone; 201 in the
/// process that made it; 712, 205
[[nodiscard]] DevicePointer ipc_open_mem_handle(const std::shared_ptr<Context>& context,
                                                const IpcMemHandle& handle);
/// Takes back one ipc_open_mem_handle(). @throws Error 1 when nothing was opened at the address
void ipc_close_mem_handle(DevicePointer pointer);

}  // namespace cudasim::driver
