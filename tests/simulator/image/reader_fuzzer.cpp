// The image reader under libFuzzer: `make fuzz`. Coverage guides it through our own reader; LLVM's readers
// run in child processes, where only their end is seen: what AddressSanitizer finds there is LLVM's, ends the
// child as a crash would, and leaves no crash file. Mutations know the serialised form: they change what lies
// behind the checksum and then mend the checksum, else nearly all of them would end there.
#include <pthread.h>

#include <cstddef>
#include <cstdint>

#include "untrusted_reading.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);
extern "C" void __sanitizer_set_death_callback(void (*callback)());

/// Beyond the child's limit malloc() returns nothing, as it does without sanitizers.
extern "C" const char* __asan_default_options() {
    return "allocator_may_return_null=1";
}

extern "C" int LLVMFuzzerInitialize(int*, char***) {
    return pthread_atfork(nullptr, nullptr, [] { __sanitizer_set_death_callback(nullptr); });
}

namespace {

std::span<std::byte> as_bytes(std::uint8_t* data, std::size_t size) {
    return {reinterpret_cast<std::byte*>(data), size};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    (void)cudasim::image::testing::try_reading({reinterpret_cast<const std::byte*>(data), size});
    return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most,
                                               unsigned int seed) {
    constexpr std::size_t header = cudasim::image::testing::serialised_header_bytes;
    const bool serialised = size > header && data[0] == 'C' && data[1] == 'U';
    if (!serialised || seed % 8 == 0) return LLVMFuzzerMutate(data, size, most);
    const std::size_t changed = header + LLVMFuzzerMutate(data + header, size - header, most - header);
    cudasim::image::testing::restamp(as_bytes(data, changed));
    return changed;
}
