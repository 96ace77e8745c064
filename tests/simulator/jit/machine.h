// Runs compiled kernels without the engine: blocks one after another, threads by the compiled thread loop,
// hooks that record what was called. A hook that never returns jumps out of the runner; the machine goes on
// with the next thread, as the engine would.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/jit/compiler.h"
#include "simulator/jit/hooks.h"

namespace cudasim::jit::testing {

/// A call of a hook, as compiled code made it.
struct Event {
    std::string hook;
    std::uint32_t thread = 0;
    std::vector<std::int64_t> values;
    std::uint32_t site = 0;
};

/// Sparse shadow of the whole address space, nothing accessible at first (abi.h).
class Shadow {
  public:
    static Shadow& instance();
    [[nodiscard]] const std::int8_t* base() const { return base_; }
    /// kind: 1 read and write, -1 read only, 0 nothing
    void set(const void* address, std::uint64_t bytes, int kind);
    [[nodiscard]] bool allows(std::uint64_t address, std::uint64_t bytes, bool write) const;

  private:
    Shadow();
    std::int8_t* base_;
};

struct Launch {
    std::uint32_t grid[3] = {1, 1, 1};
    std::uint32_t block[3] = {1, 1, 1};
    std::uint32_t dynamic_shared_bytes = 0;
};

class Machine {
  public:
    explicit Machine(std::string_view ir, CompileOptions options = {});
    ~Machine();

    /// Compiles and runs. Events of the run are in `events`.
    void run(std::string_view kernel, const Launch& launch,
             const std::vector<std::uint64_t>& parameters = {});
    /// Runs a kernel with a parameter buffer of any layout.
    void run_bytes(std::string_view kernel, const Launch& launch, const std::vector<std::byte>& parameters);

    [[nodiscard]] std::shared_ptr<const CompiledKernel> compile(std::string_view kernel) const;
    [[nodiscard]] std::string instrumented(std::string_view kernel) const {
        return instrumented_ir(image_, kernel, options_);
    }
    /// Events of one hook.
    [[nodiscard]] std::vector<Event> of(std::string_view hook) const;
    [[nodiscard]] std::string place(const Event& event) const;  ///< "file:line:column in function; ..."
    [[nodiscard]] std::byte* globals() { return globals_; }

    std::vector<Event> events;
    std::shared_ptr<const CompiledKernel> compiled;
    std::uint64_t yields_before_stopping = 1000;  ///< then the thread ends

  private:
    void load_globals();
    image::KernelImage image_;
    CompileOptions options_;
    std::byte* globals_ = nullptr;
    std::shared_ptr<const GlobalsLayout> layout_;
};

/// Memory kernels may access: aligned, with inaccessible surroundings.
template <class T>
class Buffer {
  public:
    explicit Buffer(std::vector<T> values, int kind = 1) : storage_(values.size() * sizeof(T) + 96) {
        auto address = (reinterpret_cast<std::uintptr_t>(storage_.data()) + 47) & ~std::uintptr_t{15};
        data_ = reinterpret_cast<T*>(address);
        size_ = values.size();
        std::memcpy(data_, values.data(), values.size() * sizeof(T));
        Shadow::instance().set(data_, size_ * sizeof(T), kind);
    }
    ~Buffer() { Shadow::instance().set(data_, size_ * sizeof(T), 0); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    T* data() { return data_; }
    T& operator[](std::size_t index) { return data_[index]; }
    std::size_t size() const { return size_; }
    std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(data_); }
    std::vector<T> values() const { return {data_, data_ + size_}; }

  private:
    std::vector<std::byte> storage_;
    T* data_;
    std::size_t size_;
};

}  // namespace cudasim::jit::testing
