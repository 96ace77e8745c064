// See device_memory.h.
#include "gpu_backend/runner/device_memory.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "gpu_backend/runner/failures.h"

namespace cudasim::runner {
namespace {

libcuda::AllocationProperties properties_of(libcuda::DeviceOrdinal device) {
    libcuda::AllocationProperties properties{};
    properties.type = libcuda::AllocationType::pinned;
    properties.location = {libcuda::LocationType::device, device};
    return properties;
}

}  // namespace

DeviceMemory::DeviceMemory(const libcuda::Driver& driver, libcuda::DeviceOrdinal device)
    : driver_(driver), device_(device) {
    const auto properties = properties_of(device);
    std::size_t bytes = 0;
    require(
        driver, "cuMemGetAllocationGranularity",
        driver.functions().cuMemGetAllocationGranularity(&bytes, &properties, libcuda::Granularity::minimum));
    page_ = bytes;
}

DeviceMemory::~DeviceMemory() {
    for (auto each = pages_.begin(); each != pages_.end();) each = give_back(each);
    for (const auto& [address, bytes] : reserved_) (void)driver_.functions().cuMemAddressFree(address, bytes);
}

/// False where the driver gives other addresses.
bool DeviceMemory::reserve_around(std::uint64_t wanted, std::uint64_t bytes) {
    const auto known = reserved_.upper_bound(wanted);
    if (known != reserved_.begin()) {
        const auto& [address, size] = *std::prev(known);
        if (wanted + bytes <= address + size) return true;
    }
    const auto& functions = driver_.functions();
    for (const std::uint64_t unit : reserved_units) {
        const std::uint64_t begin = wanted / unit * unit, end = (wanted + bytes + unit - 1) / unit * unit;
        libcuda::DevicePointer at = 0;
        if (begin == 0 ||
            functions.cuMemAddressReserve(&at, end - begin, 0, begin, 0) != libcuda::Result::success)
            continue;
        if (at == begin) {
            reserved_[begin] = end - begin;
            return true;
        }
        (void)functions.cuMemAddressFree(at, end - begin);
    }
    return false;
}

/// After an error that stays these calls fail, too; the process then ends.
DeviceMemory::PagesByWantedAddress::iterator DeviceMemory::give_back(PagesByWantedAddress::iterator pages) {
    const auto& functions = driver_.functions();
    (void)functions.cuMemUnmap(pages->second.at, pages->second.bytes);
    (void)functions.cuMemRelease(pages->second.handle);
    if (pages->second.has_reservation)
        (void)functions.cuMemAddressFree(pages->second.at, pages->second.bytes);
    return pages_.erase(pages);
}

/// False where there are none.
bool DeviceMemory::give_back_unused() {
    bool found = false;
    for (auto each = pages_.begin(); each != pages_.end();) {
        found |= !each->second.in_use;
        each = each->second.in_use ? std::next(each) : give_back(each);
    }
    return found;
}

void DeviceMemory::map(std::uint64_t wanted, std::uint64_t bytes) {
    const auto& functions = driver_.functions();
    libcuda::DevicePointer at = wanted;
    const bool has_reservation = !reserve_around(wanted, bytes);
    if (has_reservation)
        require(driver_, "cuMemAddressReserve", functions.cuMemAddressReserve(&at, bytes, page_, wanted, 0));
    const auto free_addresses = [&] {
        if (has_reservation) (void)functions.cuMemAddressFree(at, bytes);
    };
    libcuda::AllocationHandle handle = 0;
    const auto properties = properties_of(device_);
    auto result = functions.cuMemCreate(&handle, bytes, &properties, 0);
    if (result == libcuda::Result::out_of_memory && give_back_unused())
        result = functions.cuMemCreate(&handle, bytes, &properties, 0);
    if (result != libcuda::Result::success) {
        free_addresses();
        throw DriverFailure(driver_, "cuMemCreate", result);
    }
    const char* called = "cuMemMap";
    result = functions.cuMemMap(at, bytes, 0, handle, 0);
    const bool is_mapped = result == libcuda::Result::success;
    if (is_mapped) {
        called = "cuMemSetAccess";
        const libcuda::AccessDescription access{properties.location, libcuda::AccessFlags::read_write};
        result = functions.cuMemSetAccess(at, bytes, &access, 1);
    }
    if (result != libcuda::Result::success) {
        if (is_mapped) (void)functions.cuMemUnmap(at, bytes);
        (void)functions.cuMemRelease(handle);
        free_addresses();
        throw DriverFailure(driver_, called, result);
    }
    pages_[wanted] = {
        .bytes = bytes, .at = at, .has_reservation = has_reservation, .handle = handle, .in_use = true};
}

void DeviceMemory::place(std::span<const records::GpuMemory> ranges) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> wanted;  // begin and end of pages
    for (const auto& range : ranges) {
        const std::uint64_t begin = range.address / page_ * page_;
        const std::uint64_t end = (range.address + range.bytes + page_ - 1) / page_ * page_;
        if (!wanted.empty() && begin <= wanted.back().second)
            wanted.back().second = std::max(wanted.back().second, end);
        else
            wanted.emplace_back(begin, end);
    }
    std::uint64_t unused = 0;
    for (auto each = pages_.begin(); each != pages_.end();) {
        const bool fits = std::ranges::any_of(wanted, [&](const auto& piece) {
            return piece.first == each->first && piece.second - piece.first == each->second.bytes;
        });
        const bool is_in_the_way = std::ranges::any_of(wanted, [&](const auto& piece) {
            return piece.first < each->first + each->second.bytes && each->first < piece.second;
        });
        each->second.in_use = fits;
        if (!fits) unused += each->second.bytes;
        // What moved once is tried again: the place may be free now.
        const bool goes =
            (!fits && (is_in_the_way || unused > kept_bytes)) || (fits && each->second.at != each->first);
        each = goes ? give_back(each) : std::next(each);
    }
    for (const auto& [begin, end] : wanted)
        if (!pages_.contains(begin)) map(begin, end - begin);
}

std::optional<DeviceMemory::Moved> DeviceMemory::moved() const {
    for (const auto& [wanted, pages] : pages_)
        if (pages.in_use && pages.at != wanted) return Moved{wanted, pages.at};
    return std::nullopt;
}

std::uint64_t DeviceMemory::relocated(std::uint64_t address) const {
    auto next = pages_.upper_bound(address);
    if (next == pages_.begin()) return address;
    const auto& [wanted, pages] = *std::prev(next);
    if (!pages.in_use || address - wanted > pages.bytes) return address;
    return pages.at + (address - wanted);
}

template <typename Visit>
void DeviceMemory::for_each_gap(std::span<const records::GpuMemory> ranges, Visit visit) const {
    auto range = ranges.begin();
    for (const auto& [wanted, pages] : pages_) {
        if (!pages.in_use) continue;
        std::uint64_t at = wanted;
        const std::uint64_t end = wanted + pages.bytes;
        for (; range != ranges.end() && range->address < end; ++range) {
            if (range->address > at) visit(at, range->address - at);
            at = range->address + range->bytes;
        }
        if (at < end) visit(at, end - at);
    }
}

void DeviceMemory::fill(std::span<const records::GpuMemory> ranges,
                        const std::function<std::span<const std::byte>(std::size_t)>& content) {
    const auto& functions = driver_.functions();
    for_each_gap(ranges, [&](std::uint64_t at, std::uint64_t bytes) {
        require(driver_, "cuMemsetD8", functions.cuMemsetD8(relocated(at), pattern, bytes));
    });
    for (std::size_t i = 0; i < ranges.size(); ++i) {
        const auto bytes = content(i);
        require(driver_, "cuMemcpyHtoD",
                functions.cuMemcpyHtoD(relocated(ranges[i].address), bytes.data(), bytes.size()));
    }
}

void DeviceMemory::read(const records::GpuMemory& range, std::span<std::byte> content) const {
    require(driver_, "cuMemcpyDtoH",
            driver_.functions().cuMemcpyDtoH(content.data(), relocated(range.address), content.size()));
}

std::vector<records::StrayWrite> DeviceMemory::stray_writes(std::span<const records::GpuMemory> ranges,
                                                            std::size_t most, std::uint64_t& bytes) const {
    std::vector<records::StrayWrite> found;
    std::vector<std::uint8_t> copy;
    bytes = 0;
    for_each_gap(ranges, [&](std::uint64_t at, std::uint64_t size) {
        copy.resize(size);
        require(driver_, "cuMemcpyDtoH", driver_.functions().cuMemcpyDtoH(copy.data(), relocated(at), size));
        // Equal to itself, shifted by one: memcmp is as fast as the memory.
        if (copy.front() == pattern && std::memcmp(copy.data(), copy.data() + 1, size - 1) == 0) return;
        for (std::uint64_t i = 0; i < size; ++i) {
            if (copy[i] == pattern) continue;
            ++bytes;
            const bool continues = !found.empty() && found.back().address + found.back().bytes == at + i;
            if (continues)
                ++found.back().bytes;
            else if (found.size() < most)
                found.push_back({at + i, 1});
        }
    });
    return found;
}

}  // namespace cudasim::runner
