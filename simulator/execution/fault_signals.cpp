// Signal handlers around launches. The processor-specific part is `Registers`.
#include "simulator/execution/fault_signals.h"

#include <sys/mman.h>
#include <ucontext.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <mutex>
#include <new>

#include "simulator/execution/worker.h"
#include "simulator/memory/signal_handlers.h"

namespace cudasim::execution {

namespace {

constexpr std::array<int, 4> fault_signals{SIGSEGV, SIGBUS, SIGILL, SIGFPE};
std::array<struct sigaction, fault_signals.size()> previous_actions;
std::mutex install_mutex;
unsigned launches = 0;

/// The interrupted thread's registers.
struct Registers {
    ucontext_t* context;
#if defined(__x86_64__)
    [[nodiscard]] std::uintptr_t program_counter() const {
        return static_cast<std::uintptr_t>(context->uc_mcontext.gregs[REG_RIP]);
    }
    [[nodiscard]] std::uintptr_t stack_pointer() const {
        return static_cast<std::uintptr_t>(context->uc_mcontext.gregs[REG_RSP]);
    }
    void call(void (*function)(Runner*), Runner* argument, std::uintptr_t stack) {
        context->uc_mcontext.gregs[REG_RIP] = reinterpret_cast<greg_t>(function);
        context->uc_mcontext.gregs[REG_RDI] = reinterpret_cast<greg_t>(argument);
        context->uc_mcontext.gregs[REG_RSP] = static_cast<greg_t>(stack - 8);  // as after a call
    }
#elif defined(__aarch64__)
    [[nodiscard]] std::uintptr_t program_counter() const { return context->uc_mcontext.pc; }
    [[nodiscard]] std::uintptr_t stack_pointer() const { return context->uc_mcontext.sp; }
    void call(void (*function)(Runner*), Runner* argument, std::uintptr_t stack) {
        context->uc_mcontext.pc = reinterpret_cast<std::uintptr_t>(function);
        context->uc_mcontext.regs[0] = reinterpret_cast<std::uintptr_t>(argument);
        context->uc_mcontext.sp = stack;
    }
#else
#error "cudasim: the fault handler knows x86-64 and AArch64"
#endif
};

void abandon(Runner* runner) {
    runner->end_with_fault();
}

bool in_kernel_code(const Runner& runner, std::uintptr_t program_counter) {
    if (!runner.launch || !runner.launch->kernel) return false;
    for (auto [first, last] : runner.launch->kernel->code)
        if (program_counter >= first && program_counter < last) return true;
    return false;
}

/// Code of a host kernel runs off its stack onto the guard pages. Anything else that it does wrong is its
/// own.
bool overflows(const Runner& runner, std::uintptr_t address) {
    if (!runner.launch || !runner.launch->host_kernel || !runner.launch->host_kernel->guarded_stacks())
        return false;
    const auto low = reinterpret_cast<std::uintptr_t>(runner.stack.low);
    return address >= low && address < low + fiber::guard_bytes;
}

/// A null call leaves the program counter at the callee; the caller's address is on top of the stack, but
/// compiled code only calls through checked handles, so this is not looked for.
bool redirect(int signal, siginfo_t* info, void* context) {
    Worker* worker = Worker::current();
    Runner* runner = worker ? worker->running() : nullptr;
    if (!runner) return false;
    Registers registers{static_cast<ucontext_t*>(context)};
    const bool overflow = overflows(*runner, reinterpret_cast<std::uintptr_t>(info->si_addr));
    if (!overflow && !in_kernel_code(*runner, registers.program_counter())) return false;
    runner->fault = Fault{};
    runner->fault.source = Fault::Source::signal;
    if (overflow) runner->fault.source = Fault::Source::kind;
    runner->fault.kind = findings::FindingKind::stack_overflow;
    runner->fault.signal = signal;
    runner->fault.address = reinterpret_cast<std::uint64_t>(info->si_addr);
    runner->fault.program_counter = registers.program_counter();
    const auto low = reinterpret_cast<std::uintptr_t>(runner->stack.low);
    const auto top = reinterpret_cast<std::uintptr_t>(runner->stack.top);
    std::uintptr_t stack = registers.stack_pointer();
    constexpr std::uintptr_t room = 4096, red_zone = 256;
    stack = stack > low + room && stack <= top ? stack - red_zone : top - red_zone;
    registers.call(abandon, runner, stack & ~std::uintptr_t{15});
    return true;
}

void handle(int signal, siginfo_t* info, void* context) {
    if (redirect(signal, info, context)) return;
    for (std::size_t i = 0; i < fault_signals.size(); ++i) {
        if (fault_signals[i] == signal) memory::pass_on(previous_actions[i], signal, info, context);
    }
}

/// One per host thread, kept until the thread ends.
struct SignalStack {
    static constexpr std::size_t bytes = 64 * 1024;
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ~SignalStack() {
        if (memory != MAP_FAILED) munmap(memory, bytes);
    }
};
thread_local SignalStack signal_stack;

}  // namespace

FaultSignals::FaultSignals() {
    std::lock_guard lock(install_mutex);
    if (launches++ != 0) return;
    const struct sigaction action = memory::action_of(handle);
    for (std::size_t i = 0; i < fault_signals.size(); ++i)
        sigaction(fault_signals[i], &action, &previous_actions[i]);
}

FaultSignals::~FaultSignals() {
    std::lock_guard lock(install_mutex);
    if (--launches != 0) return;
    for (std::size_t i = 0; i < fault_signals.size(); ++i)
        sigaction(fault_signals[i], &previous_actions[i], nullptr);
}

AlternateStack::AlternateStack() {
    stack_t current{};
    if (sigaltstack(nullptr, &current) != 0 || !(current.ss_flags & SS_DISABLE)) return;
    if (signal_stack.memory == MAP_FAILED) throw std::bad_alloc();
    stack_t ours{};
    ours.ss_sp = signal_stack.memory;
    ours.ss_size = SignalStack::bytes;
    installed_ = sigaltstack(&ours, nullptr) == 0;
}

AlternateStack::~AlternateStack() {
    if (!installed_) return;
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    sigaltstack(&none, nullptr);
}

}  // namespace cudasim::execution
