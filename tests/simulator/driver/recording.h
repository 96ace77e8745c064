// A recorded launch for tests: k(out, in, table) adds in[tid] and what the table's pointer points to.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <vector>

#include "simulator/driver/launch_capture.h"
#include "simulator/driver/replay.h"
#include "tests/simulator/execution/ir_kernel.h"

namespace cudasim::driver::testing {

/// Counts launches in a global variable, prints, and reads through a pointer in memory.
inline constexpr const char* body = R"(
@launches = addrspace(1) global i64 5
@format = internal addrspace(4) constant [8 x i8] c"sum %d\0A\00"
declare i32 @vprintf(ptr, ptr)
define void @k(ptr %out, ptr %in, ptr %table) {
  %arguments = alloca { i32 }
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %i = zext i32 %t to i64
  %from = getelementptr i32, ptr %in, i64 %i
  %a = load i32, ptr %from
  %pointer = load ptr, ptr %table
  %b = load i32, ptr %pointer
  %sum = add i32 %a, %b
  %to = getelementptr i32, ptr %out, i64 %i
  store i32 %sum, ptr %to
  %first = icmp eq i32 %t, 0
  br i1 %first, label %tell, label %end
tell:
  %launch = load i64, ptr addrspace(1) @launches
  %next = add i64 %launch, 1
  store i64 %next, ptr addrspace(1) @launches
  store i32 %sum, ptr %arguments
  %format = addrspacecast ptr addrspace(4) @format to ptr
  %printed = call i32 @vprintf(ptr %format, ptr %arguments)
  br label %end
end:
  ret void
}
)";

/// There are no memory checks under ThreadSanitizer, which leaves no address space for their shadow.
inline execution::LaunchOptions launch_options() {
    execution::LaunchOptions options;
#if defined(__SANITIZE_THREAD__)
    options.compile.instrumentations.remove(jit::memory_checks());
#endif
    options.workers = 1;
    return options;
}

struct Memory {
    DevicePointer out = 0, in = 0, table = 0, target = 0, unreachable = 0;
};

/// The device, its memory, and the launch.
class Recording {
  public:
    explicit Recording(unsigned threads = 8, bool behind_the_end = false)
        : device(std::make_shared<SimulatedDevice>(execution::h100())),
          plan(make_launch_plan(device, device->device.load(image()), image(), "k")) {
        auto& raw = device->device;
        memory.out = raw.allocate(4ULL * threads - (behind_the_end ? 4 : 0), {.label = "out"});
        memory.in = raw.allocate(4ULL * threads, {.label = "in"});
        memory.table = raw.allocate(8, {.label = "table"});
        memory.target = raw.allocate(4, {.label = "target"});
        memory.unreachable = raw.allocate(4096, {.label = "unreachable"});
        std::vector<std::int32_t> values(threads);
        for (unsigned i = 0; i < threads; ++i) values[i] = static_cast<std::int32_t>(i * i);
        raw.copy_to_device(memory.in, values.data(), 4ULL * threads);
        raw.copy_to_device(memory.table, &memory.target, 8);
        const std::int32_t hundred = 100;
        raw.copy_to_device(memory.target, &hundred, 4);
        plan.configuration = {{1}, {threads}};
        plan.options = launch_options();
        plan.arguments = {{"out", "pointer"}, {"in", "pointer"}, {"table", "pointer"}};
        for (const std::uint64_t word : {memory.out, memory.in, memory.table}) {
            const auto bytes = std::as_bytes(std::span(&word, 1));
            parameters.insert(parameters.end(), bytes.begin(), bytes.end());
        }
    }

    static const image::KernelImage& image() {
        static const image::KernelImage made = execution::ir_image(body);
        return made;
    }

    /// One launch, recorded.
    LaunchRecord record(const CaptureOptions& options = {}) {
        const auto bytes = plan.image.serialise();
        LaunchRecord described{
            .version = "test",
            .number = 1,
            .kernel = "k",
            .display_name = "k",
            .image = Content(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size())),
            .configuration = plan.configuration,
            .options = plan.options,
            .arguments = plan.arguments,
            .parameters = parameters};
        LaunchCapture capture(*device, described, plan.loaded.get(), {}, options);
        execution::LaunchOptions in_force = described.options;
        in_force.observers.add(capture);
        in_force.write_output = [&](std::string_view text) {
            capture.print(text);
            if (while_running) while_running();
            return true;
        };
        return capture.finish(run(plan, parameters, in_force), true);
    }

    std::shared_ptr<SimulatedDevice> device;
    LaunchPlan plan;
    Memory memory;
    std::vector<std::byte> parameters;
    std::function<void()> while_running;  ///< called when the kernel prints
};

struct Run {
    std::vector<Difference> differences;
    bool same_addresses = false;
    std::string printed;
};

/// A record on a device of its own.
class Replay {
  public:
    Replay(const LaunchRecord& record, const execution::LaunchOptions& options)
        : record_(record),
          options_(options),
          device_(record.device, record.memory_base),
          restored_(device_, record, options) {}

    Run run() {
        Run run;
        execution::LaunchOptions options = options_;
        options.write_output = [&](std::string_view text) {
            run.printed += text;
            return true;
        };
        auto result = device_.launch(restored_.module(), record_.kernel, record_.configuration,
                                     restored_.parameters(), options);
        for (auto& finding : result.findings) finding.kernel = record_.display_name;
        run.differences = compare(device_, record_, restored_, result, true, run.printed);
        run.same_addresses = restored_.same_addresses();
        return run;
    }

  private:
    const LaunchRecord& record_;
    execution::LaunchOptions options_;
    SimulatedDevice device_;
    Restored restored_;
};

inline Run replayed(const LaunchRecord& record, const execution::LaunchOptions& options) {
    return Replay(record, options).run();
}
inline Run replayed(const LaunchRecord& record) {
    return replayed(record, record.options);
}

inline std::string texts(const std::vector<Difference>& differences) {
    std::string text;
    for (const auto& each : differences) text += each.text + "\n";
    return text;
}

}  // namespace cudasim::driver::testing
