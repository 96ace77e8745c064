// See machine.h.
#include "machine.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstdlib>
#include <stdexcept>

#include "simulator/jit/object_cache.h"
#include "tests/simulator/kept_image.h"

namespace cudasim::jit::testing {
namespace {

Machine* running = nullptr;
std::jmp_buf thread_ended;
std::uint64_t yields = 0;
std::vector<std::pair<std::uint64_t, std::uint64_t>> live_locals;  ///< address and bytes

std::uint64_t kernels_compiled = 0;

/// CUDASIM_TEST_CACHE=folder: all kernels of the program go through the object cache, and with
/// CUDASIM_TEST_CACHE_IS_FULL=1 all that can be compiled must come from it.
class CacheForAll : public ::testing::Environment {
  public:
    void SetUp() override {
        if (!folder_) return;
        ASSERT_FALSE(ObjectCache::instance().use(folder_, 1 << 30));
        hits_ = CacheFolder(folder_, 0).usage().hits;
    }
    void TearDown() override {
        if (!folder_ || !std::getenv("CUDASIM_TEST_CACHE_IS_FULL")) return;
        EXPECT_EQ(CacheFolder(folder_, 0).usage().hits - hits_, kernels_compiled);
        EXPECT_GT(kernels_compiled, 100U);
    }

  private:
    const char* folder_ = std::getenv("CUDASIM_TEST_CACHE");
    std::uint64_t hits_ = 0;
};

[[maybe_unused]] const auto* const cache_for_all = ::testing::AddGlobalTestEnvironment(new CacheForAll);

void record(const char* hook, const ThreadContext* context, std::vector<std::int64_t> values,
            std::uint32_t site) {
    running->events.push_back({hook, context->thread, std::move(values), site});
}

[[noreturn]] void end_thread() {
    std::longjmp(thread_ended, 1);
}

/// A thread that ended by a fault leaves its local variables behind.
void forget_locals() {
    for (const auto& [address, bytes] : live_locals) {
        Shadow::instance().set(reinterpret_cast<void*>(address), bytes, 0);
    }
    live_locals.clear();
}

constexpr std::uint64_t address_bits = 47;

}  // namespace

Shadow& Shadow::instance() {
    static Shadow shadow;
    return shadow;
}

Shadow::Shadow() {
    void* area = mmap(nullptr, std::uint64_t{1} << (address_bits - 3), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (area == MAP_FAILED) throw std::runtime_error("no address space for the shadow");
    base_ = static_cast<std::int8_t*>(area);
}

void Shadow::set(const void* address, std::uint64_t bytes, int kind) {
    auto at = reinterpret_cast<std::uint64_t>(address);
    for (; bytes > 0; at += 8) {
        const std::uint64_t part = std::min<std::uint64_t>(bytes, 8);
        base_[at >> 3] = static_cast<std::int8_t>(static_cast<int>(part) * kind);
        bytes -= part;
    }
}

bool Shadow::allows(std::uint64_t address, std::uint64_t bytes, bool write) const {
    for (std::uint64_t at = address; at < address + bytes; ++at) {
        if (at >> address_bits != 0) return false;
        const int open = base_[at >> 3];
        const int readable = write ? open : std::abs(open);
        if (static_cast<int>(at & 7) >= readable) return false;
    }
    return true;
}

Machine::Machine(std::string_view ir, CompileOptions options)
    : image_(test_images::kept(image::KernelImage::from_ir_text(ir))), options_(options) {
    options_.coroutines = false;  // this machine runs one thread after the other, and a barrier only counts
}

std::shared_ptr<const CompiledKernel> Machine::compile(std::string_view kernel) const {
    auto result = compile_kernel(image_, kernel, options_, defined_hooks());
    ++kernels_compiled;
    return result;
}

Machine::~Machine() {
    if (globals_) {
        Shadow::instance().set(globals_, layout_->bytes, 0);
        std::free(globals_);
    }
}

void Machine::load_globals() {
    if (globals_ || compiled->globals->bytes == 0) return;
    layout_ = compiled->globals;
    globals_ = static_cast<std::byte*>(std::aligned_alloc(256, (layout_->bytes + 255) / 256 * 256));
    std::memcpy(globals_, layout_->initial.data(), layout_->bytes);
    for (const auto& relocation : layout_->relocations) {
        const auto value = reinterpret_cast<std::uint64_t>(globals_) + relocation.target;
        std::memcpy(globals_ + relocation.offset, &value, sizeof value);
    }
    for (const auto& variable : layout_->variables) {
        Shadow::instance().set(globals_ + variable.offset, variable.bytes, variable.constant ? -1 : 1);
    }
}

void Machine::run(std::string_view kernel, const Launch& launch,
                  const std::vector<std::uint64_t>& parameters) {
    std::vector<std::byte> bytes(parameters.size() * 8);
    if (!bytes.empty()) std::memcpy(bytes.data(), parameters.data(), bytes.size());
    run_bytes(kernel, launch, bytes);
}

void Machine::run_bytes(std::string_view kernel, const Launch& launch,
                        const std::vector<std::byte>& parameters) {
    compiled = compile(kernel);
    load_globals();
    const std::uint64_t shared_bytes = compiled->dynamic_shared_offset + launch.dynamic_shared_bytes;
    std::vector<std::uint64_t> shared(shared_bytes / 8 + 64, 0xFFFBFFFBFFFBFFFBULL);
    auto* shared_base =
        reinterpret_cast<std::byte*>((reinterpret_cast<std::uintptr_t>(shared.data()) + 255) & ~255ULL);
    for (const auto& variable : compiled->shared_variables) {
        Shadow::instance().set(shared_base + variable.offset, variable.bytes, 1);
    }
    Shadow::instance().set(shared_base + compiled->dynamic_shared_offset, launch.dynamic_shared_bytes, 1);
    running = this;
    events.clear();
    yields = 0;
    const auto [gx, gy, gz] = launch.grid;
    for (std::uint32_t index = 0; index < gx * gy * gz; ++index) {
        BlockContext block{};
        const std::uint32_t ctaid[3] = {index % gx, index / gx % gy, index / gx / gy};
        std::copy_n(ctaid, 3, block.ctaid);
        std::copy_n(launch.block, 3, block.ntid);
        std::copy_n(launch.grid, 3, block.nctaid);
        block.thread_count = launch.block[0] * launch.block[1] * launch.block[2];
        block.shared_base = shared_base;
        block.dynamic_shared_bytes = launch.dynamic_shared_bytes;
        block.parameters = parameters.data();
        block.globals_base = globals_;
        block.shadow_base = Shadow::instance().base();
        std::array<std::uint64_t, captured_slots> captured{};
        block.captured = captured.data();
        ThreadContext context{};
        context.end = block.thread_count;
        context.fuel = fuel_per_slice;
        context.block = &block;
        context.stack_limit = reinterpret_cast<std::uintptr_t>(&context) - 256 * 1024;
        if (setjmp(thread_ended) != 0) {
            forget_locals();
            ++context.thread;
        }
        if (context.thread < context.end) compiled->entry(&context);
    }
    running = nullptr;
    for (const auto& variable : compiled->shared_variables) {
        Shadow::instance().set(shared_base + variable.offset, variable.bytes, 0);
    }
    Shadow::instance().set(shared_base + compiled->dynamic_shared_offset, launch.dynamic_shared_bytes, 0);
}

std::vector<Event> Machine::of(std::string_view hook) const {
    std::vector<Event> found;
    std::copy_if(events.begin(), events.end(), std::back_inserter(found),
                 [&](const Event& event) { return event.hook == hook; });
    return found;
}

std::string Machine::place(const Event& event) const {
    std::string text;
    for (const auto& frame : compiled->sites.at(event.site)) {
        text += (text.empty() ? "" : "; ") + frame.file + ":" + std::to_string(frame.line) + ":" +
                std::to_string(frame.column) + " in " + frame.function;
    }
    return text;
}

}  // namespace cudasim::jit::testing

namespace cudasim::jit {

using namespace testing;

std::int32_t cudasim_hook_barrier(ThreadContext* context, std::int32_t kind, std::int32_t value,
                                  std::uint32_t site) {
    record("barrier", context, {kind, value}, site);
    return kind == 0 ? 0 : 40 + value;
}
std::int32_t cudasim_hook_named_barrier(ThreadContext* context, std::int32_t kind, std::uint32_t number,
                                        std::uint32_t threads, std::int32_t value, std::uint32_t site) {
    record("named_barrier", context, {kind, number, threads, value}, site);
    return kind == 0 ? 0 : 40 + value;
}
std::uint64_t cudasim_hook_warp(ThreadContext* context, std::int32_t kind, std::uint32_t mask,
                                std::uint64_t value, std::uint32_t operand, std::uint32_t site) {
    (void)context, (void)kind, (void)mask, (void)operand, (void)site;
    return value;
}

/// No test asks: the engine's own answer needs its stacks.
std::uint64_t cudasim_hook_map_shared(ThreadContext*, std::uint64_t address, std::uint32_t, std::uint32_t) {
    return address;
}
std::int32_t cudasim_hook_shared_rank(ThreadContext*, std::uint64_t, std::uint32_t) {
    return 0;
}
std::int32_t cudasim_hook_is_local(ThreadContext*, std::uint64_t, std::uint32_t) {
    return 0;
}

void cudasim_hook_yield_group(ThreadContext* context, std::uint32_t threads, std::uint32_t site) {
    record("yield_group", context, {threads}, site);
    if (++yields >= running->yields_before_stopping) end_thread();
}

void cudasim_hook_yield(ThreadContext* context, std::uint32_t site) {
    record("yield", context, {}, site);
    if (++yields >= running->yields_before_stopping) end_thread();
}
void cudasim_hook_passes(ThreadContext* context, std::uint32_t operation, std::uint32_t site) {
    record("passes", context, {operation}, site);
}
void cudasim_hook_turn(ThreadContext*, std::uint32_t) {}
void cudasim_hook_sleep(ThreadContext* context, std::uint32_t site) {
    cudasim_hook_yield(context, site);
}

void cudasim_hook_index_fault(ThreadContext* context, std::int64_t index, std::int64_t size,
                              std::int32_t axis, std::int32_t is_unsigned, std::uint32_t site) {
    record("index_fault", context, {index, size, axis, is_unsigned}, site);
    end_thread();
}
void cudasim_hook_index_wraps(ThreadContext* context, std::int64_t index, std::int64_t size,
                              std::int32_t axis, std::uint32_t site) {
    record("index_wraps", context, {index, size, axis}, site);
}
void cudasim_hook_access_check(ThreadContext* context, std::uint64_t address, std::uint64_t bytes,
                               std::uint32_t flags, std::uint32_t site) {
    const std::uint64_t alignment = flags >> 8;
    if (address % alignment == 0 && Shadow::instance().allows(address, bytes, (flags & access_write) != 0)) {
        record("access_allowed", context,
               {static_cast<std::int64_t>(address), static_cast<std::int64_t>(bytes)}, site);
        return;
    }
    record("access_check", context,
           {static_cast<std::int64_t>(address), static_cast<std::int64_t>(bytes), flags & 0xFF, flags >> 8},
           site);
    end_thread();
}
void cudasim_hook_fault(ThreadContext* context, std::int32_t kind, std::uint32_t site) {
    record("fault", context, {kind}, site);
    end_thread();
}
void cudasim_hook_raise(ThreadContext* context, std::int32_t exception, std::uint32_t site) {
    record("raise", context, {exception}, site);
    end_thread();
}
void cudasim_hook_exit(ThreadContext* context, std::uint32_t site) {
    record("exit", context, {}, site);
    end_thread();
}
void cudasim_hook_shift_range(ThreadContext* context, std::uint32_t site) {
    record("shift_range", context, {}, site);
}
void cudasim_hook_float_to_integer(ThreadContext* context, std::uint32_t site) {
    record("float_to_integer", context, {}, site);
}
void cudasim_hook_not_finite(ThreadContext* context, std::uint32_t site) {
    record("not_finite", context, {}, site);
}
void cudasim_hook_float_division(ThreadContext* context, std::uint32_t site) {
    record("float_division", context, {}, site);
}
void cudasim_hook_stack_overflow(ThreadContext* context, std::uint32_t site) {
    record("stack_overflow", context, {}, site);
    end_thread();
}
void cudasim_hook_bad_call(ThreadContext* context, std::uint64_t handle, std::uint32_t site) {
    record("bad_call", context, {static_cast<std::int64_t>(handle)}, site);
    end_thread();
}
std::int32_t cudasim_hook_vprintf(ThreadContext* context, std::uint64_t format, std::uint64_t arguments,
                                  std::uint32_t site) {
    record("vprintf", context, {static_cast<std::int64_t>(format), static_cast<std::int64_t>(arguments)},
           site);
    return 0;
}
std::uint64_t cudasim_hook_heap_allocate(ThreadContext* context, std::uint64_t bytes, std::uint32_t site) {
    record("heap_allocate", context, {static_cast<std::int64_t>(bytes)}, site);
    return 0;
}
void cudasim_hook_heap_free(ThreadContext* context, std::uint64_t address, std::uint32_t site) {
    record("heap_free", context, {static_cast<std::int64_t>(address)}, site);
}
void cudasim_hook_assert_fail(ThreadContext* context, std::uint64_t, std::uint64_t, std::uint64_t,
                              std::uint32_t line, std::uint32_t site) {
    record("assert_fail", context, {line}, site);
    end_thread();
}
void cudasim_hook_local_begin(ThreadContext* context, std::uint64_t address, std::uint64_t bytes,
                              std::uint32_t site) {
    record("local_begin", context, {static_cast<std::int64_t>(bytes)}, site);
    live_locals.emplace_back(address, bytes);
    Shadow::instance().set(reinterpret_cast<void*>(address), bytes, 1);
}
void cudasim_hook_local_end(ThreadContext* context, std::uint64_t address, std::uint64_t bytes,
                            std::uint32_t site) {
    record("local_end", context, {static_cast<std::int64_t>(bytes)}, site);
    std::erase(live_locals, std::pair(address, bytes));
    Shadow::instance().set(reinterpret_cast<void*>(address), bytes, 0);
}
void cudasim_hook_stop(ThreadContext* context, FrameRecord*, std::uint32_t place, std::uint32_t site) {
    record("stop", context, {place}, site);
}
void cudasim_hook_watched_access(ThreadContext* context, std::uint64_t address, std::uint64_t bytes,
                                 std::uint32_t flags, std::uint32_t site) {
    record("watched_access", context, {address, bytes, flags}, site);
}
std::uint64_t cudasim_hook_clock(ThreadContext* context, std::uint64_t now, std::uint32_t site) {
    record("clock", context, {}, site);
    return now;
}
void cudasim_hook_enter(ThreadContext* context, FrameRecord*, std::uint32_t site) {
    record("enter", context, {}, site);
}
void cudasim_hook_leave(ThreadContext* context, FrameRecord*, std::uint32_t site) {
    record("leave", context, {}, site);
}
void cudasim_hook_returned(ThreadContext* context, const void*, std::uint32_t function, std::uint32_t site) {
    record("returned", context, {function}, site);
}

}  // namespace cudasim::jit
