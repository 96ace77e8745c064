// Contexts, and the stacks of host threads.
#include "simulator/driver/context.h"

#include <llvm/ADT/ScopeExit.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <utility>

#include "simulator/driver/memory_pool.h"
#include "simulator/driver/module.h"
#include "simulator/driver/stream_work.h"
#include "simulator/findings/cuda_result.h"

namespace cudasim::driver {

namespace {

std::atomic<std::uint64_t> last_id{0};
/// Handles look like addresses.
constexpr std::uint64_t first_handle = 0xC0DA0000, handle_step = 0x1000;
std::atomic<std::uint64_t> next_handle{first_handle};

/// What with_handle() searches: contexts by id. Never destroyed, as contexts in
/// static objects may outlive it.
struct Registry {
    std::mutex mutex;
    std::map<std::uint64_t, std::weak_ptr<Context>> contexts;
};
Registry& registry() {
    static auto* const instance = new Registry;
    return *instance;
}

std::atomic<bool> forked_after_use{false};

void note_fork() {
    forked_after_use.store(true);
}

}  // namespace

// -- contexts -----------------------------------------------------------------------------------------------

Context::Context(int device)
    : device_(device), id_(++last_id), pools_(std::make_unique<MemoryPools>(device)) {
    static const bool registered = pthread_atfork(nullptr, nullptr, note_fork) == 0;
    (void)registered;
}

Context::~Context() {
    const std::lock_guard lock(registry().mutex);
    registry().contexts.erase(id_);
}

std::shared_ptr<Context> Context::make(int device) {
    std::shared_ptr<Context> context(new Context(device));
    const std::lock_guard lock(registry().mutex);
    registry().contexts[context->id_] = context;
    return context;
}

std::vector<std::shared_ptr<Context>> Context::all() {
    std::vector<std::shared_ptr<Context>> found;  // destroyed without the lock, which destructors take
    const std::lock_guard lock(registry().mutex);
    for (const auto& [id, context] : registry().contexts)
        if (auto alive = context.lock()) found.push_back(std::move(alive));
    return found;
}

std::shared_ptr<Context> Context::with_handle(std::uint64_t handle, const char* call) {
    if (handle != 0)
        for (auto& context : all())
            if (context->handle() == handle) return context;
    throw Error(call, CudaResult::invalid_context, "there is no context " + std::to_string(handle));
}

std::shared_ptr<SimulatedDevice> Context::engine() const {
    const std::lock_guard lock(mutex_);
    return engine_;
}

void Context::set_engine(std::shared_ptr<SimulatedDevice> engine) {
    const std::lock_guard lock(mutex_);
    engine_ = std::move(engine);
}

std::uint64_t Context::activate() {
    const std::lock_guard lock(mutex_);
    if (handle_ == 0) handle_ = next_handle.fetch_add(handle_step);
    return handle_;
}

std::uint64_t Context::retain() {
    {
        const std::lock_guard lock(mutex_);
        ++users_;
    }
    return activate();
}

bool Context::release() {
    {
        const std::lock_guard lock(mutex_);
        if (users_ == 0)
            throw Error("cuDevicePrimaryCtxRelease", CudaResult::invalid_context,
                        "nobody retains the primary context of device " + std::to_string(device_));
        if (--users_ != 0) return false;
    }
    return reset();
}

void Context::on_end(std::function<void()> end_of_language) {
    const std::lock_guard lock(mutex_);
    end_of_language_ = std::move(end_of_language);
}

bool Context::reset() {
    StreamWork::of_this_process().drop(device_);
    std::vector<std::weak_ptr<Module>> modules;
    std::set<DevicePointer> allocations;
    std::function<void()> end_of_language;
    {
        const std::lock_guard lock(mutex_);
        end_of_language = end_of_language_;
    }
    if (end_of_language) end_of_language();
    {
        const std::lock_guard lock(mutex_);
        modules.swap(modules_);
        allocations.swap(allocations_);
        peers_.clear();
        failure_ = CudaResult::success;
    }
    for (const auto& each : modules)
        if (const auto module = each.lock()) (void)module->unload();
    const auto its_engine = engine();
    for (const DevicePointer pointer : allocations) its_engine->release(pointer);
    pools_->reset(its_engine.get());
    const std::lock_guard lock(mutex_);
    return std::exchange(handle_, 0) != 0;
}

void Context::note_module(const std::shared_ptr<Module>& module) {
    const std::lock_guard lock(mutex_);
    std::erase_if(modules_, [](const auto& each) { return each.expired(); });
    modules_.push_back(module);
}

void Context::note_allocation(DevicePointer pointer) const {
    const std::lock_guard lock(mutex_);
    allocations_.insert(pointer);
}

bool Context::has_allocation(DevicePointer pointer) const {
    const std::lock_guard lock(mutex_);
    return allocations_.contains(pointer);
}

bool Context::forget_allocation(DevicePointer pointer) const {
    const std::lock_guard lock(mutex_);
    return allocations_.erase(pointer) != 0;
}

void Context::fail(CudaResult code) {
    if (findings::info(code).lasting != findings::Lasting::sticky) return;
    const std::lock_guard lock(mutex_);
    if (failure_ == CudaResult::success) failure_ = code;
}

CudaResult Context::failure() const {
    const std::lock_guard lock(mutex_);
    return failure_;
}

void Context::require_usable(const char* call) const {
    const CudaResult code = failure();
    if (code == CudaResult::success) return;
    throw Error(call, code,
                "an earlier launch failed with this error, which lasts until the device is reset");
}

std::uint64_t Context::handle() const {
    const std::lock_guard lock(mutex_);
    return handle_;
}

unsigned Context::users() const {
    const std::lock_guard lock(mutex_);
    return users_;
}

bool Context::can_access_peer(const Context& peer) const {
    if (&peer == this) return false;
    const auto capability = [](const Context& context) {
        const auto& profile = context.engine()->device.profile();
        return std::pair(profile.compute_capability_major, profile.compute_capability_minor);
    };
    return capability(*this) == capability(peer);
}

void Context::enable_peer_access(const Context& peer) {
    constexpr auto call = "cuCtxEnablePeerAccess";
    const std::string from = std::to_string(device_), to = std::to_string(peer.device_);
    if (!can_access_peer(peer))
        throw Error(call, CudaResult::peer_access_unsupported,
                    "device " + from + " cannot use memory of " + to);
    const std::lock_guard lock(mutex_);
    if (!peers_.insert(peer.id_).second)
        throw Error(call, CudaResult::peer_access_already_enabled, "from device " + from + " to " + to);
}

void Context::disable_peer_access(const Context& peer) {
    const std::lock_guard lock(mutex_);
    if (peers_.erase(peer.id_) == 0)
        throw Error("cuCtxDisablePeerAccess", CudaResult::peer_access_not_enabled,
                    "from device " + std::to_string(device_) + " to " + std::to_string(peer.device_));
}

bool Context::may_use_memory_of(const Context& other) const {
    if (&other == this) return true;
    const std::lock_guard lock(mutex_);
    return peers_.contains(other.id_);
}

// -- fork() and callbacks -----------------------------------------------------------------------------------

bool used_before_fork() {
    return forked_after_use.load(std::memory_order_relaxed);
}

void allow_use_after_fork() {
    forked_after_use.store(false);
}

CallInCallback::CallInCallback()
    : Error("", CudaResult::not_permitted,
            "a stream callback must not call CUDA: on a GPU the call may fail or hang, because the stream "
            "waits for "
            "the callback") {}

// -- the stack of a thread ----------------------------------------------------------------------------------

/// Destructors of static objects may use CUDA: they run when the thread-local objects of the main
/// thread are gone, so that its stack is not one of those.
ContextStack& ContextStack::of_this_thread() {
    static thread_local ContextStack* stack = nullptr;
    if (stack == nullptr) {
        [[maybe_unused]] thread_local const auto end_of_thread = llvm::make_scope_exit([] {
            if (gettid() != getpid()) delete std::exchange(stack, nullptr);
        });
        stack = new ContextStack;
    }
    return *stack;
}

std::uint64_t ContextStack::current_id() const noexcept {
    if (contexts_.empty() || forbidden_ || used_before_fork()) return 0;
    return contexts_.back()->id();
}

void ContextStack::require_calls_allowed() const {
    if (forbidden_) throw CallInCallback{};
    if (used_before_fork())
        throw Error("", CudaResult::not_initialized,
                    "this process was forked after its parent had used CUDA, and cannot use it");
}

std::shared_ptr<Context> ContextStack::current() const {
    require_calls_allowed();
    return contexts_.empty() ? nullptr : contexts_.back();
}

void ContextStack::push(std::shared_ptr<Context> context) {
    require_calls_allowed();
    contexts_.push_back(std::move(context));
}

std::shared_ptr<Context> ContextStack::require_current(const char* call) const {
    auto context = current();
    if (!context) throw Error(call, CudaResult::invalid_context, "no context is current in this thread");
    return context;
}

std::shared_ptr<Context> ContextStack::pop() {
    auto context = require_current("cuCtxPopCurrent");
    contexts_.pop_back();
    return context;
}

void ContextStack::set_current(std::shared_ptr<Context> context) {
    require_calls_allowed();
    if (!contexts_.empty()) contexts_.pop_back();
    if (context) contexts_.push_back(std::move(context));
}

std::vector<std::shared_ptr<Context>> ContextStack::exchange(std::vector<std::shared_ptr<Context>> contexts) {
    require_calls_allowed();
    return std::exchange(contexts_, std::move(contexts));
}

bool ContextStack::forbid_calls(bool forbidden) {
    return std::exchange(forbidden_, forbidden);
}

}  // namespace cudasim::driver
