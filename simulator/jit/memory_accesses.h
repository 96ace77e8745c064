// The accesses to memory that an instruction makes, and what is known of where they lead: for checks that
// look at every access of a kernel.
#pragma once

#include <llvm/IR/Instructions.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "simulator/image/sync_scopes.h"
#include "simulator/jit/abi.h"
#include "simulator/jit/synchronisation.h"

namespace cudasim::jit {

/// One range of memory that an instruction reads or writes.
struct MemoryAccess {
    llvm::Instruction* at = nullptr;
    llvm::Value* address = nullptr;
    llvm::Value* bytes = nullptr;       ///< for memcpy and the like, which are several accesses of any length
    std::uint64_t fixed_bytes = 0;      ///< for everything else
    std::uint64_t alignment = 1;        ///< in bytes, as the instruction promises it
    std::uint32_t flags = access_read;  ///< AccessFlags
    MemoryOrder order = MemoryOrder::plain;
    MemoryOrder order_on_failure = MemoryOrder::plain;  ///< of a compare-and-exchange that writes nothing
    image::Scope scope = image::Scope::thread;          ///< of an access with an order
    bool is_volatile = false;  ///< a volatile access without an order has PTX's meaning of ld.volatile
};

/// None for an instruction that is not an access; two for a copy, the target first.
[[nodiscard]] std::vector<MemoryAccess> memory_accesses_of(llvm::Instruction& instruction,
                                                           const llvm::DataLayout& data_layout);

/// How many bytes, where that is a constant.
[[nodiscard]] std::optional<std::uint64_t> constant_bytes(const MemoryAccess& access);

/// What an address derives from, through constant and other offsets.
struct PlaceInObject {
    llvm::Value* object;  ///< a local variable, an argument, a marked address (marks::variable)...
    std::optional<std::int64_t> offset;  ///< in bytes from its start, where that is a constant
};
[[nodiscard]] PlaceInObject place_in_object(llvm::Value* address, const llvm::DataLayout& data_layout);

/// A variable of the image.
struct ImageVariable {
    std::uint64_t bytes;  ///< 0 for dynamic shared memory
    unsigned space;       ///< AddressSpace
};
/// The variable whose address `object` computes.
[[nodiscard]] std::optional<ImageVariable> variable_at(const llvm::Value* object);
/// The variable that `address` derives from, through any index.
[[nodiscard]] std::optional<ImageVariable> variable_behind(llvm::Value* address);

}  // namespace cudasim::jit
