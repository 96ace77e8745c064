// The driver's memory (CUDA Driver API, "Memory Management"): kinds, owners, what is
// refused and with which code.
#include "simulator/driver/memory.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "simulator/driver/ipc.h"
#include "tests/simulator/driver/driver_errors.h"
#include "tests/simulator/driver/stream_host.h"
#include "tests/simulator/driver/test_context.h"

namespace cudasim::driver {
namespace {

using testing::context_on;
using testing::result_of;

std::uint64_t address_of(const void* memory) {
    return reinterpret_cast<std::uint64_t>(memory);
}

TEST(HostRanges, are_found_by_any_address_in_them_and_never_overlap) {
    HostRanges ranges;
    EXPECT_TRUE(ranges.empty());
    EXPECT_TRUE(ranges.add({.address = 100, .bytes = 50}));
    EXPECT_TRUE(ranges.add({.address = 200, .bytes = 50, .kind = HostMemory::managed}));
    for (const auto& [address, bytes] :
         {std::pair{100, 1}, {149, 1}, {90, 11}, {120, 200}, {50, 500}, {149, 60}})
        EXPECT_TRUE(ranges.overlap(address, bytes)) << address;
    for (const auto& [address, bytes] : {std::pair{90, 10}, {150, 50}, {250, 10}, {0, 100}})
        EXPECT_FALSE(ranges.overlap(address, bytes)) << address;
    EXPECT_FALSE(ranges.add({.address = 140, .bytes = 20}));
    EXPECT_FALSE(ranges.find(99));
    EXPECT_EQ(ranges.find(149)->address, 100U);
    EXPECT_FALSE(ranges.find(150));
    EXPECT_EQ(ranges.find(249)->kind, HostMemory::managed);
    EXPECT_FALSE(ranges.starting_at(101));
    EXPECT_FALSE(ranges.empty());
    const auto all = [](const HostRange&) { return true; };
    EXPECT_FALSE(ranges.take(101, all));
    EXPECT_FALSE(ranges.take(100, [](const HostRange&) { return false; }));
    EXPECT_TRUE(ranges.take(100, all));
    EXPECT_FALSE(ranges.find(120));
    EXPECT_TRUE(ranges.add({.address = 100, .bytes = 100}));  // up to the next one
}

TEST(Memory, belongs_to_the_device_that_it_was_allocated_on) {
    const auto first = context_on(0), second = context_on(1);
    const auto there = mem_alloc(*second, 1000, "there");
    EXPECT_EQ(owner_of(first, there), second);
    EXPECT_EQ(owner_of(first, 0x10), first);  // nobody's
    EXPECT_EQ(mem_get_address_range(first, there + 999).base, there);
    EXPECT_EQ(mem_get_address_range(first, there + 999).bytes, 1000U);
    EXPECT_EQ(pointer_attributes(first, there).device, 1);
    EXPECT_FALSE(pointer_attributes(first, there).host);
    EXPECT_EQ(result_of([&] { (void)mem_get_address_range(first, there + 1000); }),
              CudaResult::invalid_value);
    mem_free(first, there);
    EXPECT_EQ(result_of([&] { mem_free(first, there); }), CudaResult::invalid_value);
    EXPECT_EQ(result_of([&] { (void)pointer_attributes(first, there); }), CudaResult::invalid_value);
    EXPECT_EQ(result_of([&] { (void)mem_alloc(*first, 0, "nothing"); }), CudaResult::invalid_value);
    EXPECT_EQ(result_of([&] { (void)mem_alloc(*first, 1ULL << 50, "all"); }), CudaResult::out_of_memory);
}

TEST(Memory, managed_memory_is_the_devices_and_the_hosts) {
    const auto context = context_on(3);
    const auto before = context->engine()->device.memory_info().free;
    const auto managed = mem_alloc_managed(context, 64, "managed");
    EXPECT_EQ(context->engine()->device.memory_info().free, before);  // not counted as the device's
    *reinterpret_cast<int*>(managed) = 5;
    const auto attributes = pointer_attributes(context, managed + 63);
    EXPECT_TRUE(attributes.managed);
    EXPECT_FALSE(attributes.host);
    EXPECT_EQ(attributes.device, 3);
    EXPECT_EQ(mem_host_get_device_pointer(managed), managed);
    EXPECT_EQ(result_of([&] { mem_free_host(managed); }), CudaResult::invalid_value);
    mem_free(context, managed);
    EXPECT_FALSE(HostRanges::of_this_process().find(managed));
    EXPECT_FALSE(context->engine()->device.contains(managed, 1));
}

TEST(Memory, page_locked_memory_is_freed_as_it_was_made) {
    const auto context = context_on(0);
    const auto pinned = mem_host_alloc(context, 5000, false, "pinned");
    EXPECT_EQ(pinned % 4096, 0U);
    reinterpret_cast<char*>(pinned)[4999] = 1;
    EXPECT_TRUE(pointer_attributes(context, pinned).host);
    EXPECT_EQ(result_of([&] { (void)mem_host_get_device_pointer(pinned); }), CudaResult::invalid_value);
    EXPECT_EQ(result_of([&] { mem_free(context, pinned); }), CudaResult::invalid_value);
    EXPECT_EQ(result_of([&] { mem_host_unregister(pinned); }), CudaResult::host_memory_not_registered);
    EXPECT_EQ(result_of([&] { mem_free_host(pinned + 8); }), CudaResult::invalid_value);
    mem_free_host(pinned);
    EXPECT_EQ(result_of([&] { mem_free_host(pinned); }), CudaResult::invalid_value);
    const auto mapped = mem_host_alloc(context, 0, true, "mapped");
    EXPECT_EQ(mem_host_get_device_pointer(mapped), mapped);
    EXPECT_TRUE(context->engine()->device.contains(mapped, 1));
    EXPECT_EQ(result_of([&] { mem_free(context, mapped); }), CudaResult::invalid_value);
    mem_free_host(mapped);
    EXPECT_FALSE(context->engine()->device.contains(mapped, 1));
    EXPECT_EQ(result_of([&] { (void)mem_host_alloc(context, 1ULL << 60, false, "all"); }),
              CudaResult::out_of_memory);
}

TEST(Memory, is_registered_once) {
    const auto context = context_on(0);
    std::vector<char> memory(10000);
    const auto address = address_of(memory.data());
    EXPECT_EQ(result_of([&] { mem_host_register(context, address, 0, false, ""); }),
              CudaResult::invalid_value);
    mem_host_register(context, address, 4000, false, "pinned");
    EXPECT_EQ(result_of([&] { mem_host_register(context, address + 3999, 10, true, ""); }),
              CudaResult::host_memory_already_registered);
    mem_host_register(context, address + 4000, 100, true, "mapped");
    EXPECT_TRUE(context->engine()->device.contains(address + 4000, 100));
    EXPECT_EQ(mem_host_get_device_pointer(address + 4050), address + 4050);
    EXPECT_EQ(result_of([&] { mem_host_unregister(address + 4001); }),
              CudaResult::host_memory_not_registered);
    EXPECT_EQ(result_of([&] { mem_free_host(address + 4000); }), CudaResult::invalid_value);
    mem_host_unregister(address + 4000);
    EXPECT_FALSE(context->engine()->device.contains(address + 4000, 1));
    mem_host_unregister(address);
    EXPECT_EQ(result_of([&] { mem_host_unregister(address); }), CudaResult::host_memory_not_registered);
}

TEST(Memory, device_memory_cannot_be_registered_and_no_range_is_left) {
    const auto context = context_on(0);
    const auto device = mem_alloc(*context, 256, "device");
    EXPECT_EQ(result_of([&] { mem_host_register(context, device, 256, true, ""); }),
              CudaResult::host_memory_already_registered);
    EXPECT_FALSE(HostRanges::of_this_process().overlap(device, 256));
    mem_free(context, device);
}

// -- copies and fills ---------------------------------------------------------------------------------------

/// What an Error says; empty when nothing was thrown.
template <typename Body>
std::string message_of(Body&& body) {
    try {
        body();
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

using Words = std::array<std::uint32_t, 4>;

Words read_from(const std::shared_ptr<Context>& current, DevicePointer source) {
    Words result{};
    memcpy_dtoh(current, result.data(), source, sizeof result);
    return result;
}

TEST(Copies, find_the_device_of_an_address_whichever_is_current) {
    const auto first = context_on(0), second = context_on(1);
    const auto here = mem_alloc(*first, sizeof(Words), "here"), there = mem_alloc(*second, 16, "there");
    constexpr Words words{1, 2, 3, 4}, others{5, 6, 7, 8};
    for (const auto& current : {first, second}) {
        memcpy_htod(current, here, words.data(), sizeof words);
        memcpy_htod(current, there, others.data(), sizeof others);
        EXPECT_EQ(read_from(current, here), words);
        EXPECT_EQ(read_from(current, there), others);
        memcpy_dtod(current, here + 4, there + 8, 8);  // between two devices
        EXPECT_EQ(read_from(current, here), (Words{1, 7, 8, 4}));
        memcpy_dtod(current, there, here, 16);
        EXPECT_EQ(read_from(current, there), (Words{1, 7, 8, 4}));
        memset_d8(current, there + 5, 0xAB, 2);
        EXPECT_EQ(read_from(current, there), (Words{1, 0xABAB00 | 7, 8, 4}));
    }
    mem_free(first, here);
    mem_free(first, there);
}

TEST(Copies, inside_a_device_may_overlap) {
    const auto context = context_on(0);
    const auto memory = mem_alloc(*context, 32, "overlapping");
    constexpr Words words{1, 2, 3, 4};
    memcpy_htod(context, memory, words.data(), sizeof words);
    memcpy_dtod(context, memory + 4, memory, sizeof words);
    EXPECT_EQ(read_from(context, memory + 4), words);
    memcpy_dtod(context, memory + 2, memory + 4, sizeof words);
    EXPECT_EQ(read_from(context, memory + 2), words);
    mem_free(context, memory);
}

TEST(Copies, of_no_bytes_do_and_check_nothing) {
    const auto context = context_on(0);
    memcpy_htod(context, 0, nullptr, 0);
    memcpy_dtoh(context, nullptr, 0, 0);
    memcpy_dtod(context, 1, 2, 0);
    memset_d8(context, UINT64_MAX, 1, 0);
}

TEST(Copies, refuse_ranges_that_no_allocation_holds) {
    const auto first = context_on(0), second = context_on(1);
    const auto here = mem_alloc(*first, 16, "here"), there = mem_alloc(*second, 16, "there");
    std::array<char, 64> host{};
    struct Case {
        const char* call;
        std::function<void(DevicePointer, std::uint64_t)> run;
        const char* what;
    };
    const std::vector<Case> cases{
        {"cuMemcpyHtoD", [&](auto at, auto bytes) { memcpy_htod(first, at, host.data(), bytes); },
         "the target of a copy"},
        {"cuMemcpyDtoH", [&](auto at, auto bytes) { memcpy_dtoh(first, host.data(), at, bytes); },
         "the source of a copy"},
        {"cuMemcpyDtoD", [&](auto at, auto bytes) { memcpy_dtod(first, at, here, bytes); }, "of a copy"},
        {"cuMemcpyDtoD", [&](auto at, auto bytes) { memcpy_dtod(first, here, at, bytes); }, "of a copy"},
        {"cuMemsetD8", [&](auto at, auto bytes) { memset_d8(first, at, 1, bytes); }, "the target of a fill"},
    };
    for (const auto& [call, run, what] : cases) {
        const auto refused = [&](DevicePointer at, std::uint64_t bytes) {
            const std::string message = message_of([&] { run(at, bytes); });
            EXPECT_TRUE(message.starts_with(std::string("Call to ") + call +
                                            " results in CUDA_ERROR_INVALID_VALUE: "))
                << message;
            return message;
        };
        EXPECT_NE(refused(there + 8, 9).find(what), std::string::npos);  // over the end
        EXPECT_NE(refused(there + 8, 9).find("of 9 bytes"), std::string::npos);
        (void)refused(there + 16, 1);
        (void)refused(0, 1);
        (void)refused(address_of(host.data()), 1);  // the host's
        (void)refused(UINT64_MAX, 2);
        EXPECT_NE(refused(there, 1ULL << 63).find(": no memory is so large"), std::string::npos);
        (void)refused(there, UINT64_MAX);
        EXPECT_EQ(message_of([&] { run(there, 16); }), "");
    }
    EXPECT_EQ(message_of([&] { memcpy_htod(first, here, nullptr, 1); }),
              "Call to cuMemcpyHtoD results in CUDA_ERROR_INVALID_VALUE: the host memory is a null pointer");
    EXPECT_EQ(result_of([&] { memcpy_dtoh(first, nullptr, here, 1); }), CudaResult::invalid_value);
    mem_free(first, there);
    EXPECT_EQ(result_of([&] { memcpy_dtod(first, here, there, 1); }), CudaResult::invalid_value);
    EXPECT_EQ(result_of([&] { memcpy_dtod(first, there, here, 1); }), CudaResult::invalid_value);
    mem_free(first, here);
}

TEST(Copies, between_devices_are_told_to_the_observers_of_both) {
    struct Heard final : execution::LaunchObserver {
        void copies(const execution::ObservedCopy& copy) override { kinds.push_back(copy.kind); }
        std::vector<execution::CopyKind> kinds;
    };
    const auto first = context_on(0), second = context_on(1);
    const auto here = mem_alloc(*first, 16, "here"), there = mem_alloc(*second, 16, "there");
    Heard from, to;
    first->engine()->device.observe(from);
    second->engine()->device.observe(to);
    memcpy_dtod(first, there, here, 16);
    EXPECT_EQ(from.kinds, std::vector{execution::CopyKind::from_device});
    EXPECT_EQ(to.kinds, std::vector{execution::CopyKind::to_device});
    first->engine()->device.stop_observing(from);
    second->engine()->device.stop_observing(to);
    mem_free(first, here);
    mem_free(first, there);
}

TEST(Copies, wait_for_what_is_enqueued_on_their_devices) {
    const Deferred deferred;
    const auto first = context_on(0), second = context_on(1);
    const auto here = mem_alloc(*first, 16, "here"), there = mem_alloc(*second, 16, "there");
    StreamWork& work = StreamWork::of_this_process();
    char host = 0;
    const auto enqueue = [&](int device, std::uint64_t stream, DevicePointer target, char value) {
        work.submit({device, stream}, [target, value] { *reinterpret_cast<char*>(target) = value; }, {});
    };
    memset_d8(first, here, 1, 16);
    memset_d8(second, there, 1, 16);
    enqueue(0, 7, here, 2);
    enqueue(0, 8, here + 1, 3);
    enqueue(1, 7, there, 4);
    memcpy_htod(first, there + 8, &host, 0);
    EXPECT_EQ(*reinterpret_cast<char*>(there), 1);  // no bytes: it waits for nothing
    memcpy_dtoh(second, &host, here, 1);
    EXPECT_EQ(host, 2);
    EXPECT_EQ(*reinterpret_cast<char*>(here + 1), 3);
    EXPECT_EQ(*reinterpret_cast<char*>(there),
              1);  // the device that has the memory counts, not the current one
    EXPECT_TRUE(work.busy());
    enqueue(0, 7, here + 2, 5);
    memcpy_dtod(first, there + 2, here + 2, 1);  // of both
    EXPECT_EQ(*reinterpret_cast<char*>(there), 4);
    EXPECT_EQ(*reinterpret_cast<char*>(there + 2), 5);
    EXPECT_FALSE(work.busy());
    enqueue(1, 7, there + 3, 6);
    memset_d8(first, there + 3, 9, 1);  // what was enqueued runs before
    EXPECT_EQ(*reinterpret_cast<char*>(there + 3), 9);
    enqueue(0, 7, here + 3, 7);
    memcpy_htod(first, here + 3, &host, 1);
    EXPECT_EQ(*reinterpret_cast<char*>(here + 3), 2);
    mem_free(first, here);
    mem_free(first, there);
}

TEST(Copies, what_enqueued_work_failed_with_leaves_the_copy_that_waited) {
    const Deferred deferred;
    const auto context = context_on(0);
    const auto memory = mem_alloc(*context, 16, "memory");
    memset_d8(context, memory, 1, 16);
    StreamWork::of_this_process().submit(
        {0, 7}, [] { throw Error("cuLaunchKernel", CudaResult::launch_failed, "a thread failed"); }, {});
    EXPECT_EQ(result_of([&] { memset_d8(context, memory, 2, 16); }), CudaResult::launch_failed);
    EXPECT_EQ(*reinterpret_cast<char*>(memory), 1);
    memset_d8(context, memory, 2, 16);
    EXPECT_EQ(*reinterpret_cast<char*>(memory), 2);
    mem_free(context, memory);
}

TEST(Memory, is_page_locked_when_the_driver_knows_it_as_host_memory) {
    const auto context = context_on(0);
    const auto pinned = mem_host_alloc(context, 64, false, "pinned");
    const auto managed = mem_alloc_managed(context, 64, "managed");
    const auto device = mem_alloc(*context, 64, "device");
    const char pageable = 0;
    EXPECT_TRUE(is_page_locked(pinned + 63));
    EXPECT_TRUE(is_page_locked(managed));
    EXPECT_FALSE(is_page_locked(device));
    EXPECT_FALSE(is_page_locked(address_of(&pageable)));
    mem_free_host(pinned);
    EXPECT_FALSE(is_page_locked(pinned));
    mem_free(context, managed);
    mem_free(context, device);
}

TEST(HostThreads, allocate_and_register_at_the_same_time) {
    const auto context = context_on(0);
    std::vector<char> shared(4096);
    std::atomic<unsigned> registered{0}, unregistered{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&] {
            for (int round = 0; round < 100; ++round) {
                const auto managed = mem_alloc_managed(context, 128, "managed");
                const auto pinned = mem_host_alloc(context, 128, false, "pinned");
                const auto address = address_of(shared.data());
                const auto own = [&] { mem_host_register(context, address, shared.size(), false, ""); };
                if (result_of(own) == CudaResult::success) ++registered;
                if (result_of([&] { mem_host_unregister(address); }) == CudaResult::success) ++unregistered;
                EXPECT_TRUE(pointer_attributes(context, managed).managed);
                mem_free(context, managed);
                mem_free_host(pinned);
            }
        });
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(registered, unregistered);
    EXPECT_FALSE(HostRanges::of_this_process().find(address_of(shared.data())));
}

// -- other processes ----------------------------------------------------------------------------------------

TEST(Ipc, refuses_what_is_no_handle_and_what_is_its_own) {
    const auto context = context_on(0);
    EXPECT_EQ(result_of([&] { (void)ipc_open_mem_handle(context, {}); }), CudaResult::invalid_value);
    EXPECT_EQ(result_of([&] { ipc_close_mem_handle(0x1000); }), CudaResult::invalid_value);
    const auto memory = mem_alloc(*context, 1000, "shared");
    const auto handle = ipc_get_mem_handle(context, memory);
    EXPECT_EQ(ipc_process(handle), static_cast<std::uint32_t>(::getpid()));
    EXPECT_EQ(result_of([&] { (void)ipc_open_mem_handle(context, handle); }), CudaResult::invalid_context);
    EXPECT_EQ(result_of([&] { (void)ipc_get_mem_handle(context, memory + 8); }), CudaResult::invalid_value);
    const auto managed = mem_alloc_managed(context, 8, "managed");
    EXPECT_EQ(result_of([&] { (void)ipc_get_mem_handle(context, managed); }), CudaResult::invalid_value);
    mem_free(context, managed);
    mem_free(context, memory);
}

/// Every byte of a handle, changed one at a time: nothing may be mapped that the
/// handle's memory does not hold.
TEST(Ipc, refuses_handles_that_were_tampered_with) {
    const auto context = context_on(0);
    const auto memory = mem_alloc(*context, 1000, "shared");
    const auto handle = ipc_get_mem_handle(context, memory);
    const pid_t child = ::fork();
    if (child == 0) {
        allow_use_after_fork();
        for (std::size_t at = 0; at < 56; ++at)
            for (const unsigned flip : {1U, 0x80U, 0xFFU}) {
                auto wrong = handle;
                wrong[at] ^= static_cast<std::byte>(flip);
                const auto opened = context_on(0);
                try {
                    // Smaller numbers of bytes may still be right: then all of them can be read.
                    const auto address = ipc_open_mem_handle(opened, wrong);
                    const auto range = opened->engine()->device.address_range(address);
                    volatile char sum = 0;
                    for (std::uint64_t i = 0; i < range.bytes; ++i)
                        sum = static_cast<char>(sum + reinterpret_cast<const volatile char*>(address)[i]);
                    ipc_close_mem_handle(address);
                } catch (const Error&) {
                }
            }
        ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    mem_free(context, memory);
}

TEST(Ipc, another_process_uses_the_memory_and_opening_counts) {
    const auto context = context_on(0);
    const auto memory = mem_alloc(*context, 1000, "shared");
    const auto handle = ipc_get_mem_handle(context, memory);
    *reinterpret_cast<int*>(memory) = 41;
    const pid_t child = ::fork();
    if (child == 0) {
        allow_use_after_fork();
        const auto there = context_on(1);
        bool right = true;
        const auto first = ipc_open_mem_handle(there, handle), second = ipc_open_mem_handle(there, handle);
        right = right && first == second && *reinterpret_cast<int*>(first) == 41;
        ++*reinterpret_cast<int*>(first);
        ipc_close_mem_handle(first);
        right = right && there->engine()->device.contains(first, 1000);
        right = right && !there->engine()->device.contains(first, 1001);
        ipc_close_mem_handle(first);
        right = right && !there->engine()->device.contains(first, 1);
        right = right && result_of([&] { ipc_close_mem_handle(first); }) == CudaResult::invalid_value;
        ::_exit(right ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    EXPECT_EQ(*reinterpret_cast<int*>(memory), 42);
    mem_free(context, memory);
    const pid_t late = ::fork();
    if (late == 0) {
        allow_use_after_fork();
        const auto gone = result_of([&] { (void)ipc_open_mem_handle(context_on(1), handle); });
        ::_exit(gone == CudaResult::invalid_value ? 0 : 1);
    }
    ASSERT_EQ(::waitpid(late, &status, 0), late);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

}  // namespace
}  // namespace cudasim::driver
