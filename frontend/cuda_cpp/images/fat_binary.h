// Device code as NVIDIA's nvcc puts it into objects and executables: a "fat binary", of which the PTX is used
// (frontend/ptx). What the wrapper in .nvFatBinSegment points to, and what cuModuleLoadFatBinary() takes:
//
//   magic         u32, 0xBA55ED50
//   version       u16, 1
//   header bytes  u16, 16
//   bytes         u64, of the entries that follow
//
// and for each entry
//
//   kind          u16: 1 PTX, 2 machine code in an ELF file; others hold intermediate code for link-time
//                 optimisation
//   version       u16
//   header bytes  u32, 64 or more
//   bytes         u64, of the payload behind that header, padding included
//   compressed    u32: bytes of the payload without its padding, 0 for one that is not compressed
//   options       u32: where in the header the options of ptxas stand
//   minor, major  u16, u16: of the version of the PTX or ELF
//   architecture  u32: 90 is compute_90 or sm_90
//   name          u32, u32: where it stands in the header, and its bytes
//   flags         u64: 0x2000 compressed as one block of LZ4, 0x8000 as a frame of zstd
//   reserved      u64
//   plain bytes   u64, of a compressed payload
//
// Little-endian. Worked out from what nvcc 13 writes with each --compress-mode.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "simulator/image/kernel_image.h"

namespace cudasim::cuda_cpp {

/// The fat binary is damaged.
struct FatBinaryError : image::ImageError {
    using image::ImageError::ImageError;
};
/// It is sound and has nothing for the device (cudaErrorNoKernelImageForDevice, 209); the text says which
/// flag of nvcc puts PTX into it.
struct NoPtxError : FatBinaryError {
    using FatBinaryError::FatBinaryError;
};

struct FatBinaryEntry {
    enum class Kind : std::uint8_t { ptx, machine_code, other };
    enum class Compression : std::uint8_t { none, lz4, zstd };
    Kind kind = Kind::other;
    Compression compression = Compression::none;
    unsigned architecture = 0;           ///< 90: compute_90, or sm_90
    std::span<const std::byte> payload;  ///< without the padding that is known
    std::uint64_t plain_bytes = 0;       ///< of what is compressed
};

/// Whether a fat binary begins there. @param bytes at least four of them
[[nodiscard]] bool is_fat_binary(const void* bytes);

/// A fat binary with all of its entries, as its header says. What lies in a file that the process has mapped
/// as a program ends with the mapped segment, whatever the header says. @throws FatBinaryError
[[nodiscard]] std::span<const std::byte> fat_binary_at(const void* bytes);

/// @throws FatBinaryError
[[nodiscard]] std::vector<FatBinaryEntry> fat_binary_entries(std::span<const std::byte> fat_binary);

/// The text of a PTX entry. @throws FatBinaryError
[[nodiscard]] std::string ptx_of(const FatBinaryEntry& entry);

/// The PTX for a device: of the highest architecture that is not above the device's.
/// @param capability 90 for compute capability 9.0 @throws NoPtxError, FatBinaryError
[[nodiscard]] FatBinaryEntry best_ptx(std::span<const std::byte> fat_binary, unsigned capability);

/// That PTX as an image, whose kernels and variables have the names that the host code registers.
/// @throws NoPtxError, FatBinaryError, ptx::PtxError
[[nodiscard]] image::KernelImage read_fat_binary(std::span<const std::byte> fat_binary, unsigned capability);

/// Code of several files that nvcc -rdc=true has compiled, which use each other's functions and variables, as
/// one image. Files without PTX are left out, as long as one has it: NVIDIA's device runtime is among them.
/// @param files a fat binary each @throws as read_fat_binary(), image::LinkError
[[nodiscard]] image::KernelImage read_linked_fat_binaries(std::span<const void* const> files,
                                                          unsigned capability);

}  // namespace cudasim::cuda_cpp
