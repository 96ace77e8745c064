// Memory of the stand-in driver: allocations, and virtual memory with the rules that a GPU's driver had
// (docs/gpu_results.md, "Addresses").
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <vector>

#include "tests/gpu_backend/libcuda/gpu_fixture.h"

namespace cudasim::libcuda {
namespace {

constexpr AllocationProperties on_device{.type = AllocationType::pinned,
                                         .requested_handle_types = HandleType::none,
                                         .location = {LocationType::device, 0}};
constexpr AccessDescription read_and_write{{LocationType::device, 0}, AccessFlags::read_write};
constexpr AccessDescription read_only{{LocationType::device, 0}, AccessFlags::read};
constexpr AccessDescription no_access{{LocationType::device, 0}, AccessFlags::none};

constexpr const char* storing = R"(
.visible .entry kernel(.param .u64 to)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [to];
    ld.global.u32 %r1, [%rd1];
    add.u32 %r1, %r1, 1;
    st.global.u32 [%rd1], %r1;
    ret;
})";

AllocationHandle created(const TestGpu& gpu, std::uint64_t bytes) {
    AllocationHandle handle = 0;
    EXPECT_EQ(gpu->cuMemCreate(&handle, bytes, &on_device, 0), Result::success);
    return handle;
}

TEST(StandInMemory, is_allocated_and_copied) {
    expect_outside("", [](const TestGpu& gpu) {
        DevicePointer first = 0, second = 0;
        EXPECT_EQ(gpu->cuMemAlloc(&first, 0), Result::invalid_value);
        ASSERT_EQ(gpu->cuMemAlloc(&first, 1000), Result::success);
        ASSERT_EQ(gpu->cuMemAlloc(&second, 5 * mebibyte), Result::success);
        EXPECT_NE(first, second);
        EXPECT_EQ(first % 256, 0U);
        std::size_t free = 0, total = 0;
        ASSERT_EQ(gpu->cuMemGetInfo(&free, &total), Result::success);
        EXPECT_EQ(total, std::size_t{24} << 30);
        EXPECT_EQ(total - free, 8 * mebibyte);
        EXPECT_EQ(gpu->cuMemsetD8(second, 0xab, 5 * mebibyte), Result::success);
        EXPECT_EQ(gpu.read<std::uint32_t>(second + 5 * mebibyte - 4), 0xabababab);
        EXPECT_EQ(gpu->cuMemsetD8(second, 0, 6 * mebibyte + 1), Result::invalid_value);
        std::vector<char> host(7 * mebibyte);
        EXPECT_EQ(gpu->cuMemcpyDtoH(host.data(), second, host.size()), Result::invalid_value);
        EXPECT_EQ(gpu->cuMemcpyHtoD(16, host.data(), 1), Result::invalid_value);
        EXPECT_EQ(gpu->cuMemcpyHtoD(16, host.data(), 0), Result::success);
        EXPECT_EQ(gpu->cuMemFree(second + 256), Result::invalid_value);
        EXPECT_EQ(gpu->cuMemFree(second), Result::success);
        EXPECT_EQ(gpu->cuMemFree(second), Result::invalid_value);
        EXPECT_EQ(gpu->cuMemFree(0), Result::success);
        EXPECT_EQ(gpu->cuMemAlloc(&second, std::uint64_t{1} << 40), Result::out_of_memory);
    });
}

TEST(StandInMemory, ends_where_it_is_told_to) {
    expect_outside("memory=8388608", [](const TestGpu& gpu) {
        const auto first = created(gpu, 3 * unit);
        AllocationHandle second = 0;
        EXPECT_EQ(gpu->cuMemCreate(&second, 2 * unit, &on_device, 0), Result::out_of_memory);
        EXPECT_EQ(gpu->cuMemCreate(&second, unit, &on_device, 0), Result::success);
        DevicePointer address = 0;
        EXPECT_EQ(gpu->cuMemAlloc(&address, 1), Result::out_of_memory);
        EXPECT_EQ(gpu->cuMemRelease(first), Result::success);
        EXPECT_EQ(gpu->cuMemAlloc(&address, 1), Result::success);
        std::size_t bytes = 0;
        EXPECT_EQ(gpu->cuDeviceTotalMem(&bytes, 0), Result::success);
        EXPECT_EQ(bytes, 4 * unit);
    });
}

TEST(StandInMemory, has_the_granularity_of_a_gpu) {
    expect_outside("", [](const TestGpu& gpu) {
        for (const auto which : {Granularity::minimum, Granularity::recommended}) {
            std::size_t bytes = 0;
            EXPECT_EQ(gpu->cuMemGetAllocationGranularity(&bytes, &on_device, which), Result::success);
            EXPECT_EQ(bytes, unit);
        }
        auto elsewhere = on_device;
        elsewhere.location.id = 3;
        std::size_t bytes = 0;
        EXPECT_EQ(gpu->cuMemGetAllocationGranularity(&bytes, &elsewhere, Granularity::minimum),
                  Result::invalid_device);
    });
}

TEST(StandInMemory, hints_are_honoured_where_the_place_is_free) {
    expect_outside("", [](const TestGpu& gpu) {
        const auto reserved_at = [&](DevicePointer hint, std::uint64_t bytes = 16 * unit) {
            DevicePointer address = 0;
            EXPECT_EQ(gpu->cuMemAddressReserve(&address, bytes, 0, hint, 0), Result::success);
            EXPECT_EQ(address % unit, 0U);
            return address;
        };
        for (const DevicePointer hint :
             {DevicePointer{0x1000'0000'0000}, some_address, DevicePointer{0x6500'0000'0000}})
            EXPECT_EQ(reserved_at(hint, std::uint64_t{4} << 30), hint);
        EXPECT_NE(reserved_at(some_address), some_address) << "it is taken";
        EXPECT_NE(reserved_at(0x0100'0000'0000), 0x0100'0000'0000U);
        constexpr DevicePointer of_the_host = 0x3000'0000'0000;
        ASSERT_NE(mmap(reinterpret_cast<void*>(of_the_host), unit, PROT_READ,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0),
                  MAP_FAILED);
        EXPECT_NE(reserved_at(of_the_host), of_the_host);
        constexpr DevicePointer free = 0x4000'0000'0000;
        EXPECT_NE(reserved_at(free, 15 * unit), free) << "it is too small";
        EXPECT_EQ(reserved_at(free + unit), free + 16 * unit) << "hints are rounded up";
        EXPECT_EQ(reserved_at(free), free);
        DevicePointer address = 0;
        EXPECT_EQ(gpu->cuMemAddressReserve(&address, unit, 0, 0x8000'0000'0000, 0), Result::out_of_memory);
        EXPECT_EQ(gpu->cuMemAddressReserve(&address, unit + 4096, 0, 0, 0), Result::invalid_value);
        EXPECT_EQ(gpu->cuMemAddressReserve(&address, unit, 0, 0x4000'0000'1000, 0), Result::invalid_value);
        EXPECT_EQ(gpu->cuMemAddressReserve(&address, unit, 3, 0, 0), Result::invalid_value);
        EXPECT_EQ(gpu->cuMemAddressReserve(&address, unit, 0, 0, 1), Result::invalid_value);
        EXPECT_EQ(gpu->cuMemAddressReserve(&address, unit, 64 * unit, 0, 0), Result::success);
        EXPECT_EQ(address % (64 * unit), 0U);
    });
}

TEST(StandInMemory, is_mapped_by_the_rules) {
    expect_outside("", [](const TestGpu& gpu) {
        AllocationHandle handle = 0;
        EXPECT_EQ(gpu->cuMemCreate(&handle, unit + 4096, &on_device, 0), Result::invalid_value);
        handle = created(gpu, 2 * unit);
        DevicePointer base = 0;
        ASSERT_EQ(gpu->cuMemAddressReserve(&base, 16 * unit, 0, some_address, 0), Result::success);
        ASSERT_EQ(base, some_address);
        EXPECT_EQ(gpu->cuMemMap(base, 2 * unit, 0, handle + 100, 0), Result::invalid_value);
        EXPECT_EQ(gpu->cuMemMap(base, 3 * unit, 0, handle, 0), Result::invalid_value) << "too long";
        EXPECT_EQ(gpu->cuMemMap(base + 15 * unit, 2 * unit, 0, handle, 0), Result::invalid_value)
            << "beyond the reservation";
        EXPECT_EQ(gpu->cuMemMap(base + 4096, 2 * unit, 0, handle, 0), Result::invalid_value);
        EXPECT_EQ(gpu->cuMemMap(base - 2 * unit, 2 * unit, 0, handle, 0), Result::invalid_value);
        EXPECT_EQ(gpu->cuMemMap(base + unit, 2 * unit, 0, handle, 0), Result::success);
        for (const DevicePointer over : {base, base + unit, base + 2 * unit})
            EXPECT_EQ(gpu->cuMemMap(over, 2 * unit, 0, handle, 0), Result::invalid_value);
        EXPECT_EQ(gpu->cuMemSetAccess(base, unit, &read_and_write, 1), Result::invalid_value);
        EXPECT_EQ(gpu->cuMemSetAccess(base + unit, unit, &read_and_write, 1), Result::invalid_value);
        EXPECT_EQ(gpu->cuMemUnmap(base + unit, unit), Result::invalid_value) << "a part";
        EXPECT_EQ(gpu->cuMemAddressFree(base, 16 * unit), Result::invalid_value) << "it is mapped";
        EXPECT_EQ(gpu->cuMemUnmap(base + unit, 2 * unit), Result::success);
        EXPECT_EQ(gpu->cuMemUnmap(base + unit, 2 * unit), Result::invalid_value);
        EXPECT_EQ(gpu->cuMemAddressFree(base, 2 * unit), Result::invalid_value);
        EXPECT_EQ(gpu->cuMemAddressFree(base, 16 * unit), Result::success);
        EXPECT_EQ(gpu->cuMemRelease(handle), Result::success);
        EXPECT_EQ(gpu->cuMemRelease(handle), Result::invalid_value);
        gpu.map(some_address, 4 * unit);
    });
}

TEST(StandInMemory, keeps_its_contents_while_it_is_not_mapped) {
    expect_outside("", [](const TestGpu& gpu) {
        const auto handle = created(gpu, unit);
        DevicePointer base = 0;
        ASSERT_EQ(gpu->cuMemAddressReserve(&base, 16 * unit, 0, some_address, 0), Result::success);
        for (const DevicePointer at : {base, base + unit}) {
            ASSERT_EQ(gpu->cuMemMap(at, unit, 0, handle, 0), Result::success);
            ASSERT_EQ(gpu->cuMemSetAccess(at, unit, &read_and_write, 1), Result::success);
        }
        gpu.write(base, 5);
        EXPECT_EQ(gpu.read<int>(base + unit), 5) << "it is mapped twice";
        EXPECT_EQ(gpu->cuMemUnmap(base, 2 * unit), Result::success);
        ASSERT_EQ(gpu->cuMemMap(base, unit, 0, handle, 0), Result::success);
        int value = 0;
        EXPECT_EQ(gpu->cuMemcpyDtoH(&value, base, 4), Result::invalid_value) << "without access";
        ASSERT_EQ(gpu->cuMemRelease(handle), Result::success);
        ASSERT_EQ(gpu->cuMemSetAccess(base, unit, &read_only, 1), Result::success);
        EXPECT_EQ(gpu.read<int>(base), 5);
        EXPECT_EQ(gpu->cuMemcpyHtoD(base, &value, 4), Result::invalid_value) << "it is read-only";
        ASSERT_EQ(gpu->cuMemSetAccess(base, unit, &no_access, 1), Result::success);
        EXPECT_EQ(gpu->cuMemcpyDtoH(&value, base, 4), Result::invalid_value) << "not any more";
    });
}

TEST(StandInMemory, kernels_need_access) {
    const auto code = [](const std::vector<AccessDescription>& access, DevicePointer at) {
        const auto done = outside("", [&] {
            const TestGpu gpu;
            DevicePointer base = 0;
            ASSERT_EQ(gpu->cuMemAddressReserve(&base, 16 * unit, 0, some_address, 0), Result::success);
            ASSERT_EQ(gpu->cuMemMap(base, unit, 0, created(gpu, unit), 0), Result::success);
            ASSERT_EQ(gpu->cuMemMap(base + unit, unit, 0, created(gpu, unit), 0), Result::success);
            for (const auto& each : access)
                ASSERT_EQ(gpu->cuMemSetAccess(base, 2 * unit, &each, 1), Result::success);
            std::printf("%d", static_cast<int>(gpu.run(gpu.kernel(storing), {}, {at})));
        });
        EXPECT_TRUE(done.passed) << done.printed << done.errors;
        return static_cast<Result>(std::atoi(done.printed.c_str()));
    };
    EXPECT_EQ(code({read_and_write}, some_address + 2 * unit - 4), Result::success);
    EXPECT_EQ(code({read_and_write}, some_address + 2 * unit), Result::illegal_address) << "not mapped";
    EXPECT_EQ(code({}, some_address), Result::illegal_address);
    EXPECT_EQ(code({read_and_write, no_access}, some_address), Result::illegal_address);
    EXPECT_EQ(code({read_only}, some_address), Result::illegal_address) << "it writes";
    EXPECT_EQ(code({read_only, read_and_write}, some_address), Result::success);
}

TEST(StandInMemory, adjacent_mappings_are_one_memory) {
    expect_outside("", [](const TestGpu& gpu) {
        gpu.map(some_address);
        gpu.map(some_address + unit);
        const std::vector<char> host(4096, 'x');
        EXPECT_EQ(gpu->cuMemcpyHtoD(some_address + unit - 2048, host.data(), host.size()), Result::success);
        EXPECT_EQ(gpu.read<char>(some_address + unit + 2047), 'x');
        EXPECT_EQ(gpu->cuMemcpyHtoD(some_address + 2 * unit - 2048, host.data(), host.size()),
                  Result::invalid_value);
    });
}

TEST(StandInMemory, of_the_host_is_lent) {
    expect_outside("", [](const TestGpu& gpu) {
        std::vector<std::uint64_t> words(64);
        const auto address = reinterpret_cast<DevicePointer>(words.data());
        EXPECT_EQ(gpu->cuMemHostUnregister(words.data()), Result::host_memory_not_registered);
        ASSERT_EQ(gpu->cuMemHostRegister(words.data(), 512, 0), Result::success);
        EXPECT_EQ(gpu->cuMemHostRegister(words.data(), 512, 0), Result::host_memory_already_registered);
        EXPECT_EQ(gpu.run(gpu.kernel(storing), {}, {address}), Result::success);
        EXPECT_EQ(words[0], 1U);
        EXPECT_EQ(gpu->cuMemHostUnregister(words.data()), Result::success);
        EXPECT_EQ(gpu.run(gpu.kernel(storing), {}, {address}), Result::illegal_address);
    });
}

}  // namespace
}  // namespace cudasim::libcuda
