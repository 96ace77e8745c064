// Which memory an illegal access was about: the object nearest to the address, how far off, and what to call
// it.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <mutex>

#include "simulator/execution/fault_report.h"
#include "simulator/execution/shared_memory.h"
#include "simulator/memory/arena.h"

namespace cudasim::execution {

using findings::Finding;
using findings::FindingKind;
using findings::MemoryObject;

namespace {

std::string hexadecimal(std::uint64_t value) {
    char text[24];
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
    return text;
}

std::string bytes_text(std::uint64_t bytes) {
    return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
}

std::string called(const MemoryObject& object) {
    return object.space + " memory" + (object.name.empty() ? "" : " '" + object.name + "'") + " of " +
           bytes_text(object.bytes);
}

/// "write of 4 bytes 8 bytes behind the end of global memory 'x' of 40 bytes"
std::string relation(const Fault& fault, const MemoryObject& object) {
    std::string text = (fault.flags & jit::access_write)    ? "write"
                       : (fault.flags & jit::access_atomic) ? "atomic access"
                                                            : "read";
    if (fault.flags & jit::access_atomic) text = "atomic access";
    if (fault.bytes != 0) text += " of " + bytes_text(fault.bytes);
    const auto end = static_cast<std::int64_t>(object.bytes);
    if (object.offset < 0)
        text +=
            " starting " + bytes_text(static_cast<std::uint64_t>(-object.offset)) + " before the start of ";
    else if (object.offset >= end)
        text += " starting " + bytes_text(static_cast<std::uint64_t>(object.offset - end)) +
                " behind the end of ";
    else
        text += " at offset " + std::to_string(object.offset) + " of ";
    return text + called(object);
}

bool mapped_on_host(std::uint64_t address) {
    unsigned char resident = 0;
    return mincore(reinterpret_cast<void*>(address & ~std::uint64_t{4095}), 1, &resident) == 0;
}

struct Nearest {
    MemoryObject object;
    std::uint64_t distance = ~std::uint64_t{0};
    bool inside = false;

    void offer(std::uint64_t address, const std::string& name, const char* space, std::uint64_t first,
               std::uint64_t bytes) {
        std::uint64_t away = 0;
        if (address < first)
            away = first - address;
        else if (address >= first + bytes)
            away = address - (first + bytes) + 1;
        if (away >= distance) return;
        distance = away;
        inside = away == 0;
        object = {name, space, first, bytes, static_cast<std::int64_t>(address - first)};
    }
};

MemoryObject object_of(const memory::Allocation& allocation, std::uint64_t address) {
    return {allocation.label, "global", allocation.address, allocation.bytes,
            static_cast<std::int64_t>(address - allocation.address)};
}

void shared_object(const Launch& launch, std::uint64_t base, std::uint64_t address, Nearest& nearest) {
    if (launch.kernel)
        for (const auto& variable : launch.kernel->shared_variables)
            nearest.offer(address, variable.name, "shared", base + variable.offset, variable.bytes);
    const std::uint64_t dynamic = launch.configuration.dynamic_shared_bytes;
    if (dynamic != 0)
        nearest.offer(address, "dynamic shared memory", "shared",
                      base + (launch.kernel ? launch.kernel->dynamic_shared_offset : 0), dynamic);
}

void global_object(const Launch& launch, std::uint64_t address, Nearest& nearest) {
    if (launch.kernel && launch.kernel->globals && launch.globals_base != 0) {
        const auto& layout = *launch.kernel->globals;
        if (address + 64 >= launch.globals_base && address < launch.globals_base + layout.bytes + 64) {
            for (const auto& variable : layout.variables)
                nearest.offer(address, variable.name, variable.constant ? "constant" : "global",
                              launch.globals_base + variable.offset, variable.bytes);
            return;
        }
    }
    if (const auto* before = launch.arena->at_or_before(address))
        nearest.offer(address, before->label, "global", before->address, before->bytes);
    if (const auto* after = launch.arena->after(address))
        nearest.offer(address, after->label, "global", after->address, after->bytes);
}

FindingKind kind_for(const MemoryObject& object) {
    if (object.space == "shared") return FindingKind::out_of_bounds_shared;
    if (object.space == "constant") return FindingKind::out_of_bounds_constant;
    if (object.space == "local") return FindingKind::out_of_bounds_local;
    return FindingKind::out_of_bounds_global;
}

/// An access that lies inside its object is wrong for another reason.
void describe_inside(const Fault& fault, const Nearest& nearest, Finding& finding) {
    const std::uint32_t alignment = fault.flags >> 8;
    const bool crosses = nearest.object.offset + static_cast<std::int64_t>(fault.bytes) >
                         static_cast<std::int64_t>(nearest.object.bytes);
    if (alignment > 1 && fault.address % alignment != 0) {
        finding.kind = FindingKind::misaligned_access;
        finding.message = "misaligned address " + hexadecimal(fault.address) + " (needs a multiple of " +
                          std::to_string(alignment) + "): " + relation(fault, nearest.object);
    } else if (nearest.object.space == "constant" && !crosses) {
        finding.kind = FindingKind::write_to_constant;
        finding.message = "write to " + called(nearest.object);
    } else {
        finding.kind = kind_for(nearest.object);
        finding.message = relation(fault, nearest.object) + (crosses ? ", across its end" : "");
    }
}

/// So far beside mapped host memory an access is taken for one beyond its bounds. Bytes.
constexpr std::uint64_t near_mapped_memory = 4096;

class FindingsOfObservers final : public ObserverFindings {
  public:
    explicit FindingsOfObservers(Launch& launch) : launch_(launch) {}

    void add(Finding finding) override {
        if (finding.kernel.empty()) finding.kernel = launch_.kernel_name;
        launch_.findings.add(std::move(finding));
    }
    [[nodiscard]] findings::ThreadCoordinate coordinate(std::uint64_t block,
                                                        std::uint32_t thread) const override {
        return {block, thread, unlinear(block, launch_.configuration.grid),
                unlinear(thread, launch_.configuration.block)};
    }
    [[nodiscard]] findings::CallChain place(std::uint32_t site) const override {
        if (launch_.kernel && site >= launch_.kernel->sites.size()) return {};
        return launch_.location(site);
    }
    [[nodiscard]] std::uint32_t sites() const override {
        return launch_.kernel ? static_cast<std::uint32_t>(launch_.kernel->sites.size()) : 0;
    }
    [[nodiscard]] std::optional<MemoryObject> object(std::uint64_t address,
                                                     std::uint64_t shared) const override {
        Nearest nearest;
        const std::lock_guard lock(*launch_.arena_mutex);
        if (shared != 0 && address - shared < SharedMemory::slot_bytes - 2 * SharedMemory::redzone)
            shared_object(launch_, shared, address, nearest);
        else
            global_object(launch_, address, nearest);
        if (!nearest.inside && launch_.host_kernel) return launch_.host_kernel->shared_object_at(address);
        if (!nearest.inside) return std::nullopt;
        name_element(nearest.object, address);
        return nearest.object;
    }

  private:
    void name_element(MemoryObject& object, std::uint64_t address) const {
        for (const NamedArray& array : launch_.options.arrays) {
            const auto element = array.element_at(address);
            if (!element) continue;
            object.element = *element;
            object.element_type = array.element_type;
            return;
        }
        if (object.space != "shared" || !launch_.kernel) return;
        for (const auto& variable : launch_.kernel->shared_variables) {
            if (variable.name != object.name || variable.bytes != object.bytes || variable.extents.empty())
                continue;
            NamedArray array;
            array.name = variable.name;
            array.address = object.address;
            auto stride = static_cast<std::int64_t>(object.bytes);
            for (const std::uint64_t extent : variable.extents) {
                array.extents.push_back(static_cast<std::int64_t>(extent));
                array.strides.push_back(stride /= static_cast<std::int64_t>(extent));
            }
            object.element = array.element_at(address).value_or("");
            object.element_type = variable.element_type;
            return;
        }
    }

    Launch& launch_;
};

}  // namespace

std::unique_ptr<ObserverFindings> findings_of_observers(Launch& launch) {
    return std::make_unique<FindingsOfObservers>(launch);
}

void describe_access(const Launch& launch, const BlockRun& block, const Runner& runner, Finding& finding) {
    const Fault& fault = runner.fault;
    const std::uint64_t address = fault.address;
    constexpr std::uint64_t null_page = 4096;
    if (address < null_page && fault.source == Fault::Source::access) {
        finding.kind = FindingKind::null_pointer;
        finding.message = "access through a null pointer (address " + hexadecimal(address) + ")";
        return;
    }
    Nearest nearest;
    const auto member = block.cluster_member_at(address);
    const auto stack_low = reinterpret_cast<std::uint64_t>(runner.stack.low);
    const auto stack_top = reinterpret_cast<std::uint64_t>(runner.stack.top);
    std::lock_guard lock(*launch.arena_mutex);
    if (member) {
        const auto shared = reinterpret_cast<std::uint64_t>(block.cluster_shared()[member->rank]);
        shared_object(launch, shared, address, nearest);
    } else if (address >= stack_low && address < stack_top) {
        finding.kind = FindingKind::out_of_bounds_local;
        finding.message = "access to local memory outside of the thread's local arrays and parameters";
        return;
    } else if (launch.arena->owns(address) || launch.arena->near_adopted(address, near_mapped_memory)) {
        if (const auto* freed = launch.arena->freed_at(address)) {
            finding.kind = FindingKind::use_after_free;
            finding.object = object_of(*freed, address);
            finding.message = relation(fault, *finding.object) + ", which was freed before";
            return;
        }
        const auto* pending = launch.arena->containing(address, 1);
        if (pending && !pending->accessible) {
            finding.kind = FindingKind::use_before_alloc;
            finding.object = object_of(*pending, address);
            finding.message = relation(fault, *finding.object) +
                              ", which its stream has not allocated yet: nothing orders this access after "
                              "cuMemAllocAsync";
            return;
        }
        global_object(launch, address, nearest);
    }
    if (nearest.distance == ~std::uint64_t{0}) {
        if (const auto local = block.local_of_another(address)) {
            finding.kind = FindingKind::out_of_bounds_local;
            finding.message =
                "access to a local variable of another thread" +
                (local->thread ? ", " + findings::coordinates(block.coordinate(*local->thread)) : "") +
                ": a thread can use its own ones only";
            return;
        }
        const bool host = mapped_on_host(address);
        finding.kind = host ? FindingKind::host_pointer : FindingKind::out_of_bounds_global;
        finding.message = "access to address " + hexadecimal(address) +
                          (host ? ", which is host memory: kernels can only use device memory"
                                : ", which is in no memory of the device");
        return;
    }
    finding.object = nearest.object;
    if (member && member->is_over) {
        finding.kind = FindingKind::out_of_bounds_shared;
        finding.message = relation(fault, nearest.object);
    } else if (nearest.inside) {
        describe_inside(fault, nearest, finding);
    } else {
        finding.kind = kind_for(nearest.object);
        finding.message = relation(fault, nearest.object);
        if (nearest.object.space == "shared" && nearest.object.bytes == 0)
            finding.message += ": the launch gives the kernel no dynamic shared memory";
    }
    if (member && member->block != block.block())
        finding.message += " of block " + std::to_string(member->block) + ", rank " +
                           std::to_string(member->rank) + " in the cluster" +
                           (member->is_over ? ": that block has ended" : "");
}

}  // namespace cudasim::execution
