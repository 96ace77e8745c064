// Contexts: who retains them, which is current in a host thread, peers, fork(). (CUDA Driver API, "Primary
// Context Management", "Context Management", "Peer Context Memory Access".)
#include "simulator/driver/context.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "tests/simulator/driver/driver_errors.h"

namespace cudasim::driver {
namespace {

using testing::result_of;

std::shared_ptr<Context> context_on(const char* key, int ordinal) {
    auto context = Context::make(ordinal);
    const auto profile = execution::find_profile(key);
    context->set_engine(std::make_shared<SimulatedDevice>(*profile));
    return context;
}

TEST(Context, lives_while_somebody_retains_it) {
    const auto context = Context::make(0);
    EXPECT_EQ(context->handle(), 0U);
    const auto handle = context->retain();
    EXPECT_NE(handle, 0U);
    EXPECT_EQ(context->retain(), handle);
    EXPECT_EQ(context->users(), 2U);
    EXPECT_FALSE(context->release());
    EXPECT_EQ(context->handle(), handle);
    EXPECT_TRUE(context->release());
    EXPECT_EQ(context->handle(), 0U);
    EXPECT_EQ(result_of([&] { (void)context->release(); }), CudaResult::invalid_context);
    EXPECT_NE(context->retain(), handle);  // another one
}

TEST(Context, a_reset_ends_it_and_leaves_its_users) {
    const auto context = Context::make(0);
    const auto handle = context->retain();
    EXPECT_TRUE(context->reset());
    EXPECT_FALSE(context->reset());  // there was none
    EXPECT_EQ(context->users(), 1U);
    EXPECT_NE(context->activate(), handle);
    EXPECT_EQ(context->users(), 1U);
    EXPECT_TRUE(context->release());
}

TEST(Context, a_release_of_one_that_was_reset_ends_nothing) {
    const auto context = Context::make(0);
    context->retain();
    context->reset();
    EXPECT_FALSE(context->release());
}

TEST(Context, is_found_by_its_handle_while_it_is_active) {
    const auto first = Context::make(0), second = Context::make(1);
    const auto handle = second->activate();
    first->activate();
    EXPECT_EQ(Context::with_handle(handle, "cuCtxSetCurrent"), second);
    second->reset();
    EXPECT_EQ(result_of([&] { (void)Context::with_handle(handle, "cuCtxSetCurrent"); }),
              CudaResult::invalid_context);
    EXPECT_EQ(result_of([&] { (void)Context::with_handle(0, "cuCtxSetCurrent"); }),
              CudaResult::invalid_context);
}

TEST(Context, peers_are_devices_of_one_capability_and_are_enabled_once) {
    const auto first = context_on("h100", 0), second = context_on("h200", 1), other = context_on("a10", 2);
    EXPECT_TRUE(first->can_access_peer(*second));
    EXPECT_FALSE(first->can_access_peer(*first));
    EXPECT_FALSE(first->can_access_peer(*other));
    EXPECT_TRUE(first->may_use_memory_of(*first));
    EXPECT_FALSE(first->may_use_memory_of(*second));
    EXPECT_EQ(result_of([&] { first->enable_peer_access(*other); }), CudaResult::peer_access_unsupported);
    EXPECT_EQ(result_of([&] { first->disable_peer_access(*second); }), CudaResult::peer_access_not_enabled);
    first->enable_peer_access(*second);
    EXPECT_TRUE(first->may_use_memory_of(*second));
    EXPECT_FALSE(second->may_use_memory_of(*first));  // one way
    EXPECT_EQ(result_of([&] { first->enable_peer_access(*second); }),
              CudaResult::peer_access_already_enabled);
    first->disable_peer_access(*second);
    EXPECT_FALSE(first->may_use_memory_of(*second));
    first->enable_peer_access(*second);
    first->reset();  // peers end with the context
    EXPECT_FALSE(first->may_use_memory_of(*second));
}

/// Runs on a thread that has used no context.
template <typename Body>
void on_fresh_thread(Body&& body) {
    std::thread(body).join();
}

TEST(ContextStack, the_topmost_is_current) {
    on_fresh_thread([] {
        auto& stack = ContextStack::of_this_thread();
        const auto first = Context::make(0), second = Context::make(1);
        EXPECT_EQ(stack.current(), nullptr);
        EXPECT_EQ(stack.current_id(), 0U);
        EXPECT_EQ(result_of([&] { (void)stack.pop(); }), CudaResult::invalid_context);
        EXPECT_EQ(result_of([&] { (void)stack.require_current("cuCtxGetDevice"); }),
                  CudaResult::invalid_context);
        stack.push(first);
        stack.push(second);
        EXPECT_EQ(stack.current_id(), second->id());
        stack.set_current(first);  // in the place of second
        stack.set_current(second);
        EXPECT_EQ(stack.pop(), second);
        EXPECT_EQ(stack.current(), first);
        const auto before = stack.exchange({});
        EXPECT_EQ(stack.current(), nullptr);
        EXPECT_EQ(before.size(), 1U);
        stack.set_current(second);  // on top of nothing
        EXPECT_EQ(stack.current(), second);
        stack.set_current(nullptr);
        EXPECT_EQ(stack.current(), nullptr);
    });
}

TEST(ContextStack, callbacks_must_not_call) {
    on_fresh_thread([] {
        auto& stack = ContextStack::of_this_thread();
        const auto context = Context::make(0);
        stack.push(context);
        EXPECT_FALSE(stack.forbid_calls(true));
        EXPECT_EQ(stack.current_id(), 0U);
        EXPECT_EQ(result_of([&] { (void)stack.current(); }), CudaResult::not_permitted);
        EXPECT_EQ(result_of([&] { stack.push(context); }), CudaResult::not_permitted);
        EXPECT_EQ(result_of([&] { (void)stack.pop(); }), CudaResult::not_permitted);
        EXPECT_EQ(result_of([&] { (void)stack.exchange({}); }), CudaResult::not_permitted);
        std::thread other([] { EXPECT_EQ(ContextStack::of_this_thread().current(), nullptr); });
        other.join();  // only this thread runs a callback
        EXPECT_TRUE(stack.forbid_calls(false));
        EXPECT_EQ(stack.current(), context);
    });
}

TEST(ContextStack, a_forked_process_cannot_use_cuda_unless_it_is_allowed) {
    const auto context = Context::make(0);
    EXPECT_FALSE(used_before_fork());
    const pid_t child = ::fork();
    if (child == 0) {
        auto& stack = ContextStack::of_this_thread();
        bool right = used_before_fork() && stack.current_id() == 0 &&
                     result_of([&] { stack.push(context); }) == CudaResult::not_initialized;
        allow_use_after_fork();
        stack.push(context);
        right = right && !used_before_fork() && stack.current() == context;
        ::_exit(right ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    EXPECT_FALSE(used_before_fork());
}

TEST(HostThreads, share_contexts_and_have_their_own_stacks) {
    const auto shared = Context::make(0);
    const auto peer = context_on("h100", 1);
    shared->set_engine(peer->engine());
    std::atomic<unsigned> ended{0}, enabled{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&] {
            auto& stack = ContextStack::of_this_thread();
            for (int round = 0; round < 200; ++round) {
                const auto handle = shared->retain();
                stack.push(shared);
                EXPECT_EQ(stack.current_id(), shared->id());
                if (result_of([&] { shared->enable_peer_access(*peer); }) == CudaResult::success) ++enabled;
                (void)shared->may_use_memory_of(*peer);
                (void)result_of([&] { (void)Context::with_handle(handle, "cuCtxSetCurrent"); });
                const auto passing = Context::make(2);
                EXPECT_EQ(stack.pop(), shared);
                if (shared->release()) ++ended;
            }
            EXPECT_EQ(stack.current(), nullptr);
        });
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(shared->users(), 0U);
    EXPECT_EQ(shared->handle(), 0U);
    EXPECT_GE(ended, 1U);
    EXPECT_GE(enabled, 1U);
}

}  // namespace
}  // namespace cudasim::driver
