// See copies.h.
#include "frontend/cuda_cpp/runtime/copies.h"

#include <array>
#include <cstring>
#include <string>

#include "frontend/cuda_cpp/runtime/calls.h"
#include "frontend/cuda_cpp/runtime/host_findings.h"
#include "simulator/driver/event.h"
#include "simulator/driver/memory.h"
#include "simulator/driver/stream_work.h"
#include "simulator/memory/host_guard.h"

namespace cudasim::cudart {
namespace {

using Current = std::shared_ptr<driver::Context>;

/// More bytes than any memory has.
constexpr std::size_t too_many = std::size_t{1} << 62;

enum class Place {
    pageable,  ///< host memory that CUDA does not know
    shared,    ///< page-locked or managed: of both
    device,
};

Place place_of(const Current& current, std::uint64_t address) {
    if (driver::is_page_locked(address)) return Place::shared;
    const auto owner = driver::owner_of(current, address);
    const auto engine = owner->engine();
    return engine && engine->device.owns(address) ? Place::device : Place::pageable;
}

enum class Direction { to_device, from_device, within_device, on_host };

/// By the addresses alone.
Direction direction_between(Place target, Place source) {
    if (target == Place::pageable && source == Place::pageable) return Direction::on_host;
    if (target == Place::pageable) return Direction::from_device;
    if (source == Place::pageable) return Direction::to_device;
    return Direction::within_device;
}

Direction direction_of(const HostCall& host, cudaMemcpyKind kind, Place target, Place source) {
    bool is_as_said = true;
    const auto require_device = [&](Place place, const char* what) {
        if (place == Place::pageable)
            refuse(host.function, std::string("the direction is wrong: the ") + what +
                                      " is host memory, and the copy's kind says device");
    };
    const auto expect_host = [&](Place place, const char* what) {
        if (place != Place::device) return;
        is_as_said = false;
        report_mistake(host, {host.function, driver::CudaResult::invalid_value,
                              std::string("the direction is wrong: the ") + what +
                                  " is device memory, and the copy's kind says host; it is copied"});
    };
    const auto as_said = [&](Direction said) {
        return is_as_said ? said : direction_between(target, source);
    };
    switch (kind) {
        case cudaMemcpyHostToHost:
            expect_host(target, "target"), expect_host(source, "source");
            return as_said(Direction::on_host);
        case cudaMemcpyHostToDevice:
            require_device(target, "target"), expect_host(source, "source");
            return as_said(Direction::to_device);
        case cudaMemcpyDeviceToHost:
            if (source == Place::pageable && target == Place::device)
                refuse(host.function,
                       "the direction is wrong: the target is device memory, and the source is not");
            require_device(source, "source"), expect_host(target, "target");
            return as_said(Direction::from_device);
        case cudaMemcpyDeviceToDevice:
            require_device(target, "target"), require_device(source, "source");
            return Direction::within_device;
        case cudaMemcpyDefault:
            return direction_between(target, source);
    }
    refuse(host.function, "there is no copy of kind " + std::to_string(static_cast<int>(kind)),
           cudaErrorInvalidMemcpyDirection);
}

void copy_row(const Current& current, Direction direction, std::uint64_t target, std::uint64_t source,
              std::size_t bytes) {
    switch (direction) {
        case Direction::to_device:
            return driver::memcpy_htod(current, target, reinterpret_cast<const void*>(source), bytes);
        case Direction::from_device:
            return driver::memcpy_dtoh(current, reinterpret_cast<void*>(target), source, bytes);
        case Direction::within_device:
            return driver::memcpy_dtod(current, target, source, bytes);
        case Direction::on_host:
            std::memmove(reinterpret_cast<void*>(target), reinterpret_cast<const void*>(source), bytes);
    }
}

/// Rows that follow each other without a gap are one row.
void join_rows(Box& box, Side& one, Side& other) {
    if (box.height > 1 && one.pitch == box.width && other.pitch == box.width &&
        (box.depth == 1 ||
         (one.slice == one.pitch * box.height && other.slice == other.pitch * box.height))) {
        box.width *= box.height * box.depth;
        box.height = box.depth = 1;
    }
}

/// @param too_narrow the result where rows do not fit into the pitch
/// @return whether there is anything to do
bool require_possible(const char* function, const Box& box, const Side& side, cudaError_t too_narrow) {
    if (box.width == 0 || box.height == 0 || box.depth == 0) return false;
    if (box.width > too_many || box.height > too_many / box.width ||
        box.depth > too_many / box.width / box.height)
        refuse(function, "no memory is as large as these " + std::to_string(box.width) + " x " +
                             std::to_string(box.height) + " x " + std::to_string(box.depth) + " bytes");
    if ((box.height > 1 || box.depth > 1) && side.pitch < box.width)
        refuse(function,
               "rows of " + std::to_string(box.width) + " bytes do not fit into a pitch of " +
                   std::to_string(side.pitch),
               too_narrow);
    return true;
}

void run(const HostCall& host, WhereToRun where, bool synchronous, std::function<void()> work) {
    if (where) {
        driver::StreamWork::of_this_process().submit(
            *where, std::move(work), {.synchronous = synchronous, .place = place_in_stream(host)});
        tell_stream_races();
    } else {
        work();
    }
    if (!where || synchronous) memory::host_guard::host_goes_on();
}

void copy_boxes(const Current& current, Direction direction, const Side& target, const Side& source,
                const Box& box) {
    for (std::size_t z = 0; z < box.depth; ++z)
        for (std::size_t y = 0; y < box.height; ++y)
            copy_row(current, direction, target.address + z * target.slice + y * target.pitch,
                     source.address + z * source.slice + y * source.pitch, box.width);
}

}  // namespace

void refuse(const char* function, const std::string& reason, cudaError_t code) {
    throw driver::Error(function, static_cast<driver::CudaResult>(code), reason);
}

streams::StreamKey stream_of(const Current& current, cudaStream_t stream, const char* function) {
    return driver::require_stream(reinterpret_cast<std::uint64_t>(stream), current->device(), function);
}

void copy(const HostCall& host, const Current& current, Side target, Side source, Box box,
          cudaMemcpyKind kind, WhereToRun where) {
    const char* const function = host.function;
    if (!require_possible(function, box, target, cudaErrorInvalidPitchValue) ||
        !require_possible(function, box, source, cudaErrorInvalidPitchValue))
        return;
    current->require_usable(function);
    for (const Side& side : {target, source})
        if (side.pitch != 0 && side.pitch < box.width)
            refuse(function, "a row of " + std::to_string(box.width) + " bytes is longer than the pitch of " +
                                 std::to_string(side.pitch));
    require_argument(function, reinterpret_cast<const void*>(target.address), "the target");
    require_argument(function, reinterpret_cast<const void*>(source.address), "the source");
    const Place at_target = place_of(current, target.address), at_source = place_of(current, source.address);
    const Direction direction = direction_of(host, kind, at_target, at_source);
    join_rows(box, target, source);
    const bool is_to_host = at_source == Place::device && direction == Direction::from_device;
    if (!where && direction == Direction::on_host)
        driver::StreamWork::of_this_process().synchronize_default(current->device());
    run(host, where, at_target == Place::pageable || at_source == Place::pageable, [=] {
        copy_boxes(current, direction, target, source, box);
        if (is_to_host) tell_unwritten(host, current, source, box);
    });
}

void fill(const HostCall& host, const Current& current, Side target, std::uint32_t value,
          unsigned element_bytes, Box box, WhereToRun where) {
    const char* const function = host.function;
    if (!require_possible(function, box, target, cudaErrorInvalidValue)) return;
    current->require_usable(function);
    require_argument(function, reinterpret_cast<const void*>(target.address), "the memory");
    if (place_of(current, target.address) == Place::pageable)
        refuse(function, "this is host memory that CUDA does not know; use memset");
    Side unused = target;
    join_rows(box, target, unused);
    const bool bytes_are_equal =
        element_bytes == 1 || value == (value & 0xFF) * (element_bytes == 2 ? 0x101U : 0x1010101U);
    run(host, where, false, [=] {
        std::vector<std::byte> row;
        if (!bytes_are_equal) {
            row.resize(box.width);
            for (std::size_t at = 0; at + element_bytes <= row.size(); at += element_bytes)
                std::memcpy(row.data() + at, &value, element_bytes);
        }
        for (std::size_t z = 0; z < box.depth; ++z)
            for (std::size_t y = 0; y < box.height; ++y) {
                const std::uint64_t at = target.address + z * target.slice + y * target.pitch;
                if (bytes_are_equal)
                    driver::memset_d8(current, at, static_cast<std::uint8_t>(value), box.width);
                else
                    driver::memcpy_htod(current, at, row.data(), box.width);
            }
    });
}

}  // namespace cudasim::cudart
