// Memory as the CUDA driver gives it out (CUDA Driver API, "Memory Management"): device memory, host memory
// that is page-locked or mapped, managed memory; whose an address is; copies and fills. A function has the
// name of the driver's call without "cu"; `current` is the context that is current for it, and it has its
// engine. Asynchronous work is the caller's business (simulator/streams).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "simulator/driver/host_ranges.h"
#include "simulator/streams/timeline.h"

namespace cudasim::driver {

/// The context of the device in whose memory the address lies, allocated or not; the current one,
/// which need not have its engine, when it lies in none.
[[nodiscard]] std::shared_ptr<Context> owner_of(const std::shared_ptr<Context>& current,
                                                std::uint64_t address);

/// @param label what reports call the memory
/// @param poison whether fresh memory shows that it is (V3)
/// @throws Error 1 for no bytes, 2 when it does not fit
[[nodiscard]] DevicePointer mem_alloc(const Context& current, std::uint64_t bytes, const std::string& label,
                                      bool poison = true);
/// Device or managed memory. While a launch runs it is freed at its end.
/// @throws Error 1 for what is not the start of an allocation
void mem_free(const std::shared_ptr<Context>& current, DevicePointer pointer);
/// The live allocation that holds the address. @throws Error 1
[[nodiscard]] execution::AddressRange mem_get_address_range(const std::shared_ptr<Context>& current,
                                                            DevicePointer pointer);

/// No bytes count as one. @throws Error 2
[[nodiscard]] DevicePointer mem_alloc_managed(const std::shared_ptr<Context>& current, std::uint64_t bytes,
                                              const std::string& label);
/// @param mapped kernels use it, too. @throws Error 2
[[nodiscard]] std::uint64_t mem_host_alloc(const std::shared_ptr<Context>& current, std::uint64_t bytes,
                                           bool mapped, const std::string& label);
/// What mem_host_alloc() gave. @throws Error 1 for anything else
void mem_free_host(std::uint64_t address);

/// Page-locks memory of the caller's.
/// @param mapped kernels use it, too
/// @throws Error 1 for no bytes, 712 when part of them is page-locked, mapped or device memory
void mem_host_register(const std::shared_ptr<Context>& current, std::uint64_t address, std::uint64_t bytes,
                       bool mapped, const std::string& label);
/// @throws Error 713 when no registered memory starts at the address
void mem_host_unregister(std::uint64_t address);
/// By which kernels use mapped memory: the same address. @throws Error 1 for memory that they do not see
[[nodiscard]] DevicePointer mem_host_get_device_pointer(std::uint64_t address);

// Copies and fills of `bytes` bytes. Device memory is found by its address, on whichever device it is. They
// are done when they return, and they run after everything that was enqueued before on the devices that they
// concern (stream_work.h), whose errors leave them. No bytes: they do and check nothing.
// @throws Error 1 for device memory that does not lie inside of one allocation, for a null host pointer, and
// for more bytes than any memory has

void memcpy_htod(const std::shared_ptr<Context>& current, DevicePointer target, const void* source,
                 std::uint64_t bytes);
void memcpy_dtoh(const std::shared_ptr<Context>& current, void* target, DevicePointer source,
                 std::uint64_t bytes);
/// Inside a device, where the ranges may overlap, or between two.
void memcpy_dtod(const std::shared_ptr<Context>& current, DevicePointer target, DevicePointer source,
                 std::uint64_t bytes);
void memset_d8(const std::shared_ptr<Context>& current, DevicePointer target, std::uint8_t value,
               std::uint64_t bytes);

/// Whether a copy from or to this host memory may be asynchronous: page-locked, mapped and managed memory. A
/// copy that names a stream is done when the call returns if the host memory is pageable.
[[nodiscard]] bool is_page_locked(std::uint64_t host_address);

/// Where work is enqueued.
struct InStream {
    streams::StreamKey stream;  ///< stream_key(), require_stream()
    std::string place = {};     ///< StreamWork::Submission::place
};

// The same when their turn in a stream has come (stream_work.h): now, or later. Copies from and to pageable
// host memory are done when the call returns. What is wrong with the addresses is thrown when they run.
void memcpy_htod_async(const std::shared_ptr<Context>& current, DevicePointer target, const void* source,
                       std::uint64_t bytes, InStream in);
void memcpy_dtoh_async(const std::shared_ptr<Context>& current, void* target, DevicePointer source,
                       std::uint64_t bytes, InStream in);
void memcpy_dtod_async(const std::shared_ptr<Context>& current, DevicePointer target, DevicePointer source,
                       std::uint64_t bytes, InStream in);
void memset_d8_async(const std::shared_ptr<Context>& current, DevicePointer target, std::uint8_t value,
                     std::uint64_t bytes, InStream in);

/// cuMemGetInfo
[[nodiscard]] execution::MemoryInfo mem_get_info(const Context& current);

/// What cuPointerGetAttribute says of an address.
struct PointerAttributes {
    bool host = false;     ///< CU_MEMORYTYPE_HOST, else CU_MEMORYTYPE_DEVICE: managed memory is the device's
    bool managed = false;  ///< CU_POINTER_ATTRIBUTE_IS_MANAGED
    int device = 0;        ///< CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
};
/// @throws Error 1 for an address that is not in memory of CUDA's
[[nodiscard]] PointerAttributes pointer_attributes(const std::shared_ptr<Context>& current,
                                                   std::uint64_t address);

}  // namespace cudasim::driver
