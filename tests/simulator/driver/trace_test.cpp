// Who wrote an element in a recorded launch: threads, values, what they had read.
#include "simulator/driver/trace.h"

#include <gtest/gtest.h>

#include <cstring>

#include "simulator/checks/race_checks.h"
#include "simulator/driver/launch_capture.h"
#include "tests/simulator/driver/recording.h"
#include "tests/simulator/execution/ir_lines.h"
#include "tests/simulator/thread_sanitizer.h"

namespace cudasim::driver {
namespace {

using checks::ReadRole;
using checks::TracedRead;
using checks::TracedWrite;

constexpr std::uint64_t array_bytes = 256;

/// A record of one launch of @k(out, in, ...), with arrays of 256 bytes. Byte n of array m holds 16 m + n.
struct Recorded {
    explicit Recorded(std::string_view body, execution::LaunchConfiguration configuration = {{1}, {1}},
                      unsigned arrays = 2, execution::LaunchOptions options = testing::launch_options()) {
        const image::KernelImage image = execution::with_lines(execution::ir_image(body));
        auto device = std::make_shared<SimulatedDevice>(execution::h100());
        LaunchPlan plan = make_launch_plan(device, device->device.load(image), image, "k");
        const auto bytes = image.serialise();
        LaunchRecord described{
            .kernel = "k",
            .display_name = "k",
            .image = Content(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size())),
            .configuration = configuration,
            .options = std::move(options)};
        for (unsigned m = 0; m < arrays; ++m) {
            std::vector<std::uint8_t> content(array_bytes);
            for (unsigned n = 0; n < array_bytes; ++n) content[n] = static_cast<std::uint8_t>(16 * m + n);
            array.push_back(device->device.allocate(array_bytes, {.label = "array" + std::to_string(m)}));
            device->device.copy_to_device(array.back(), content.data(), array_bytes);
            const auto word = std::as_bytes(std::span(&array.back(), 1));
            described.parameters.insert(described.parameters.end(), word.begin(), word.end());
        }
        plan.configuration = configuration;
        LaunchCapture capture(*device, described, plan.loaded.get(), {}, {});
        execution::LaunchOptions in_force = described.options;
        in_force.observers.add(capture);
        record = capture.finish(run(plan, described.parameters, in_force), true);
    }

    [[nodiscard]] std::vector<checks::TracedElement> traced(
        const std::vector<execution::AddressRange>& ranges, const checks::TraceLimits& limits = {}) const {
        SimulatedDevice device(record.device, record.memory_base);
        return trace_elements(device, record, ranges, limits).elements;
    }
    /// The writes to out[offset ... offset + bytes).
    [[nodiscard]] std::vector<TracedWrite> writes(std::uint64_t offset, std::uint64_t bytes,
                                                  const checks::TraceLimits& limits = {}) const {
        return traced({{array[0] + offset, bytes}}, limits).front().writes;
    }

    LaunchRecord record;
    std::vector<DevicePointer> array;
};

template <typename Number>
Number number_in(const std::vector<std::byte>& bytes) {
    Number number{};
    EXPECT_EQ(bytes.size(), sizeof number);
    std::memcpy(&number, bytes.data(), std::min(bytes.size(), sizeof number));
    return number;
}

/// Of array m: from that byte on.
template <typename Number>
Number content(unsigned m, unsigned offset) {
    std::array<std::uint8_t, sizeof(Number)> bytes{};
    for (unsigned n = 0; n < bytes.size(); ++n) bytes[n] = static_cast<std::uint8_t>(16 * m + offset + n);
    Number number{};
    std::memcpy(&number, bytes.data(), sizeof number);
    return number;
}

std::uint32_t line_of(const findings::CallChain& location) {
    return location.empty() ? 0 : location.front().line;
}

/// "value array1+4", "address array1+0"...
std::vector<std::string> texts_of(const std::vector<TracedRead>& reads) {
    std::vector<std::string> texts;
    for (const TracedRead& read : reads)
        texts.push_back(std::string(checks::name_of(read.role)) + " " + read.object.name + "+" +
                        std::to_string(read.object.offset));
    return texts;
}
using Texts = std::vector<std::string>;

TEST(Trace, writes_have_thread_block_line_value_and_reads) {
    const Recorded recorded(R"(
define void @k(ptr %out, ptr %in) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %start = mul i32 %b, 4
  %i = add i32 %start, %t
  %from = getelementptr i32, ptr %in, i32 %i
  %a = load i32, ptr %from
  %sum = add i32 %a, 1
  %to = getelementptr i32, ptr %out, i32 %i
  store i32 %sum, ptr %to
  ret void
})",
                            {{3}, {4}});
    const auto elements = recorded.traced({{recorded.array[0] + 36, 4}, {recorded.array[0] + 8, 4}});
    ASSERT_EQ(elements.size(), 2U);
    EXPECT_EQ(elements[0].range.base, recorded.array[0] + 36);
    ASSERT_EQ(elements[0].writes.size(), 1U);
    EXPECT_EQ(elements[0].total_writes, 1U);
    const TracedWrite& write = elements[0].writes[0];
    EXPECT_EQ(write.thread.tid, (execution::Dim3{1, 0, 0}));
    EXPECT_EQ(write.thread.ctaid, (execution::Dim3{2, 0, 0}));
    EXPECT_EQ(write.order, 1U);
    EXPECT_EQ(elements[1].writes.at(0).order, 0U);
    EXPECT_EQ(write.location.front().file, execution::kernel_file);
    EXPECT_EQ(write.location.front().function, "k");
    EXPECT_EQ(line_of(write.location), 109U);
    EXPECT_EQ(number_in<std::uint32_t>(write.value), content<std::uint32_t>(1, 36) + 1);
    EXPECT_FALSE(write.atomic);
    EXPECT_TRUE(write.result.empty());
    ASSERT_EQ(write.reads.size(), 1U);
    const TracedRead& read = write.reads[0];
    EXPECT_EQ(read.address, recorded.array[1] + 36);
    EXPECT_EQ(read.bytes, 4U);
    EXPECT_EQ(number_in<std::uint32_t>(read.value), content<std::uint32_t>(1, 36));
    EXPECT_EQ(line_of(read.location), 106U);
    EXPECT_EQ(read.role, ReadRole::value);
    EXPECT_FALSE(read.same_line);
    EXPECT_EQ(read.object.name, "array1");
    EXPECT_EQ(read.object.space, "global");
}

TEST(Trace, narrow_and_wide_accesses_are_cut_to_the_element) {
    const Recorded recorded(R"(
define void @k(ptr %out, ptr %in) {
  %a = load i8, ptr %in
  store i8 %a, ptr %out
  %from2 = getelementptr i8, ptr %in, i64 2
  %b = load i16, ptr %from2
  %to2 = getelementptr i8, ptr %out, i64 2
  store i16 %b, ptr %to2
  %from16 = getelementptr i8, ptr %in, i64 16
  %c = load <4 x float>, ptr %from16
  %to16 = getelementptr i8, ptr %out, i64 16
  store <4 x float> %c, ptr %to16
  ret void
})");
    const auto byte = recorded.writes(0, 1);
    ASSERT_EQ(byte.size(), 1U);
    EXPECT_EQ(number_in<std::uint8_t>(byte[0].value), content<std::uint8_t>(1, 0));
    EXPECT_EQ(texts_of(byte[0].reads), Texts{"value array1+0"});
    const auto half = recorded.writes(2, 2);
    ASSERT_EQ(half.size(), 1U);
    EXPECT_EQ(number_in<std::uint16_t>(half[0].value), content<std::uint16_t>(1, 2));
    EXPECT_EQ(half[0].reads.at(0).bytes, 2U);
    // One half of a word.
    const auto word = recorded.writes(0, 4);
    ASSERT_EQ(word.size(), 2U);
    EXPECT_EQ(word[1].address, recorded.array[0] + 2);
    EXPECT_EQ(word[1].bytes, 2U);
    const auto lane = recorded.writes(24, 4);
    ASSERT_EQ(lane.size(), 1U);
    EXPECT_EQ(lane[0].access_address, recorded.array[0] + 16);
    EXPECT_EQ(lane[0].access_bytes, 16U);
    EXPECT_EQ(lane[0].address, recorded.array[0] + 24);
    EXPECT_EQ(number_in<std::uint32_t>(lane[0].value), content<std::uint32_t>(1, 24));
    EXPECT_EQ(lane[0].reads.at(0).bytes, 16U);
    EXPECT_EQ(number_in<std::uint64_t>({lane[0].reads[0].value.begin(), lane[0].reads[0].value.begin() + 8}),
              content<std::uint64_t>(1, 16));
}

TEST(Trace, copies_and_fills_are_writes) {
    const Recorded recorded(R"(
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
define void @k(ptr %out, ptr %in) {
  %from = getelementptr i8, ptr %in, i64 4
  call void @llvm.memcpy.p0.p0.i64(ptr %out, ptr %from, i64 100, i1 false)
  %second = getelementptr i8, ptr %out, i64 128
  %byte = load i8, ptr %in
  call void @llvm.memset.p0.i64(ptr %second, i8 %byte, i64 64, i1 false)
  ret void
})");
    const auto copied = recorded.writes(96, 8);
    ASSERT_EQ(copied.size(), 1U);
    EXPECT_EQ(copied[0].access_bytes, 100U);
    EXPECT_EQ(copied[0].bytes, 4U);
    EXPECT_EQ(number_in<std::uint32_t>(copied[0].value), content<std::uint32_t>(1, 100));
    ASSERT_EQ(texts_of(copied[0].reads), Texts{"value array1+4"});
    EXPECT_EQ(copied[0].reads[0].bytes, 100U);
    EXPECT_EQ(copied[0].reads[0].value.size(), 16U);
    const auto filled = recorded.writes(160, 4);
    ASSERT_EQ(filled.size(), 1U);
    EXPECT_EQ(number_in<std::uint32_t>(filled[0].value), 0x10101010U);
    EXPECT_EQ(texts_of(filled[0].reads).at(0), "value array1+0");
}

TEST(Trace, atomic_operations_tell_what_they_have_returned) {
    const Recorded recorded(R"(
define void @k(ptr %out, ptr %in) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %old = atomicrmw add ptr %out, i32 %t monotonic
  %second = getelementptr i8, ptr %out, i64 64
  %wanted = add i32 %t, 1
  %pair = cmpxchg ptr %second, i32 1128415552, i32 %wanted monotonic monotonic
  %third = getelementptr i8, ptr %out, i64 128
  %to = getelementptr i32, ptr %third, i32 %t
  store i32 %old, ptr %to
  ret void
})",
                            {{1}, {4}});
    const auto sums = recorded.writes(0, 4);
    ASSERT_EQ(sums.size(), 4U);
    std::uint32_t sum = content<std::uint32_t>(0, 0);
    for (std::uint32_t t = 0; t < 4; ++t) {
        EXPECT_TRUE(sums[t].atomic);
        EXPECT_EQ(sums[t].thread.thread, t);
        EXPECT_EQ(sums[t].number, t);
        EXPECT_EQ(number_in<std::uint32_t>(sums[t].result), sum);
        EXPECT_EQ(number_in<std::uint32_t>(sums[t].value), sum += t);
        EXPECT_TRUE(sums[t].reads.empty());  // the operation itself is none
    }
    // 0x43424140 is there when the first thread comes.
    const auto exchanges = recorded.writes(64, 4);
    ASSERT_EQ(exchanges.size(), 1U);
    EXPECT_EQ(number_in<std::uint32_t>(exchanges[0].result), content<std::uint32_t>(0, 64));
    EXPECT_EQ(number_in<std::uint32_t>(exchanges[0].value), 1U);
    // What an atomic operation returns is a read for a later write.
    const auto tickets = recorded.writes(132, 4);
    ASSERT_EQ(tickets.size(), 1U);
    ASSERT_EQ(texts_of(tickets[0].reads).back(), "value array0+0");
    EXPECT_TRUE(tickets[0].reads.back().atomic);
    EXPECT_EQ(number_in<std::uint32_t>(tickets[0].reads.back().value), content<std::uint32_t>(0, 0));
}

/// Sums 12 floats, then gathers through an index; a later round reads other elements by the same load.
TEST(Trace, reads_are_told_apart_by_what_the_value_is_computed_from) {
    const Recorded recorded(R"(
define void @k(ptr %out, ptr %in, ptr %index) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %sum = phi i32 [ 0, %entry ], [ %more, %loop ]
  %from = getelementptr i32, ptr %in, i64 %i
  %a = load i32, ptr %from
  %more = add i32 %sum, %a
  %to = getelementptr i32, ptr %out, i64 %i
  store i32 %a, ptr %to
  %next = add i64 %i, 1
  %again = icmp ult i64 %next, 12
  br i1 %again, label %loop, label %end
end:
  %place = load i8, ptr %index
  %wide = zext i8 %place to i64
  %there = getelementptr i8, ptr %in, i64 %wide
  %gathered = load i8, ptr %there
  %byte = getelementptr i8, ptr %out, i64 100
  store i8 %gathered, ptr %byte
  %word = getelementptr i8, ptr %out, i64 104
  store i32 %more, ptr %word
  ret void
})",
                            {{1}, {1}}, 3);
    const auto elements = recorded.traced(
        {{recorded.array[0] + 20, 4}, {recorded.array[0] + 100, 1}, {recorded.array[0] + 104, 4}},
        {.reads = 4});
    // Without a sum the value comes from the latest read; earlier ones are other reads.
    EXPECT_EQ(texts_of(elements[0].writes.at(0).reads),
              (Texts{"value array1+20", "other array1+16", "other array1+12", "other array1+8"}));
    EXPECT_EQ(texts_of(elements[1].writes.at(0).reads),
              (Texts{"value array1+32", "address array2+0", "other array1+44", "other array1+40"}));
    // Other reads are told once.
    const auto both = recorded.traced({{recorded.array[0] + 20, 4}, {recorded.array[0] + 24, 4}});
    EXPECT_EQ(texts_of(both[1].writes.at(0).reads), Texts{"value array1+24"});
    // Nothing was read since the write before: what the sum was made of is told nevertheless.
    EXPECT_EQ(texts_of(elements[2].writes.at(0).reads),
              (Texts{"value array1+44", "value array1+40", "value array1+36", "value array1+32"}));
}

TEST(Trace, values_are_followed_through_local_arrays_and_calls) {
    const Recorded recorded(R"(
define i32 @sum(ptr %from, i32 %n, i32 %start) {
  %a = load i32, ptr %from
  %b = add i32 %a, %start
  %done = icmp eq i32 %n, 0
  br i1 %done, label %end, label %more
more:
  %next = getelementptr i32, ptr %from, i64 1
  %less = sub i32 %n, 1
  %rest = call i32 @sum(ptr %next, i32 %less, i32 %b)
  ret i32 %rest
end:
  ret i32 %b
}
define void @k(ptr %out, ptr %in, ptr %start) {
  %local = alloca [4 x i32]
  %first = load i32, ptr %start
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %slot = getelementptr i32, ptr %local, i32 %t
  %total = call i32 @sum(ptr %in, i32 2, i32 %first)
  store i32 %total, ptr %slot
  %other = getelementptr i32, ptr %local, i32 1
  %unused = load i32, ptr %start
  %back = load i32, ptr %slot
  store i32 %back, ptr %out
  ret void
})",
                            {{1}, {1}}, 3);
    const auto writes = recorded.writes(0, 4);
    ASSERT_EQ(writes.size(), 1U);
    const auto reads = texts_of(writes[0].reads);
    for (const char* expected : {"value array1+8", "value array1+4", "value array1+0", "value array2+0"})
        EXPECT_NE(std::ranges::find(reads, expected), reads.end()) << expected;
}

TEST(Trace, shared_memory_is_named) {
    const Recorded recorded(R"(
@tile = internal addrspace(3) global [64 x i32] undef
define void @k(ptr %out, ptr %in) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %from = getelementptr i32, ptr %in, i32 %t
  %a = load i32, ptr %from
  %slot = getelementptr [64 x i32], ptr addrspace(3) @tile, i32 0, i32 %t
  store i32 %a, ptr addrspace(3) %slot
  call void @llvm.nvvm.barrier0()
  %u = xor i32 %t, 1
  %other = getelementptr [64 x i32], ptr addrspace(3) @tile, i32 0, i32 %u
  %b = load i32, ptr addrspace(3) %other
  %to = getelementptr i32, ptr %out, i32 %t
  store i32 %b, ptr %to
  ret void
})",
                            {{1}, {64}});
    for (const execution::Carrier carrier : {execution::Carrier::automatic, execution::Carrier::fiber}) {
        LaunchRecord record = recorded.record;
        record.options.carrier = carrier;
        SimulatedDevice device(record.device, record.memory_base);
        const execution::AddressRange range{recorded.array[0] + 40, 4};
        const Trace trace = trace_elements(device, record, {&range, 1});
        ASSERT_EQ(trace.elements.at(0).writes.size(), 1U);
        EXPECT_TRUE(trace.result.findings.empty());
        const TracedWrite& write = trace.elements[0].writes[0];
        EXPECT_EQ(write.thread.thread, 10U);
        EXPECT_EQ(texts_of(write.reads), (Texts{"value tile+44", "other array1+40"}));
        EXPECT_EQ(write.reads[0].object.space, "shared");
        EXPECT_EQ(write.reads[0].address, 44U);
        EXPECT_EQ(number_in<std::uint32_t>(write.reads[0].value), content<std::uint32_t>(1, 44));
    }
}

/// Every thread writes to one element.
constexpr const char* all_write = R"(
define void @k(ptr %out, ptr %in) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  store i32 %t, ptr %out
  ret void
})";

TEST(Trace, of_many_writes_the_first_and_the_last_are_kept) {
    const Recorded recorded(all_write, {{1}, {100}});
    const auto element = recorded.traced({{recorded.array[0], 4}}, {.writes = 5}).front();
    EXPECT_EQ(element.total_writes, 100U);
    std::vector<std::uint64_t> numbers, threads;
    for (const TracedWrite& write : element.writes) {
        numbers.push_back(write.number);
        threads.push_back(number_in<std::uint32_t>(write.value));
        EXPECT_EQ(write.order, write.number);
    }
    EXPECT_EQ(numbers, (std::vector<std::uint64_t>{0, 1, 97, 98, 99}));
    EXPECT_EQ(threads, numbers);
}

TEST(Trace, the_order_is_that_of_the_record) {
    auto options = testing::launch_options();
    options.policy = execution::Policy::reverse;
    const Recorded recorded(all_write, {{1}, {3}}, 2, options);
    std::vector<std::uint32_t> threads;
    for (const TracedWrite& write : recorded.writes(0, 4)) threads.push_back(write.thread.thread);
    EXPECT_EQ(threads, (std::vector<std::uint32_t>{2, 1, 0}));
}

/// Each thread reads what the one before it has written, however often they take turns.
TEST(Trace, threads_may_take_turns_between_accesses_and_races_be_looked_for) {
    auto options = testing::launch_options();
    options.policy = execution::Policy::lockstep;
    options.compile.instrumentations.add(checks::race_checks());
    const Recorded recorded(R"(
define void @k(ptr %out, ptr %in) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  store volatile i32 %t, ptr %out
  %a = load volatile i32, ptr %out
  %b = add i32 %a, 100
  store volatile i32 %b, ptr %out
  ret void
})",
                            {{1}, {4}}, 2, options);
    const auto writes = recorded.writes(0, 4);
    ASSERT_EQ(writes.size(), 8U);
    for (std::uint32_t i = 0; i < 8; ++i) {
        EXPECT_EQ(writes[i].thread.thread, i % 4);
        // In step, all have read what the last of the first round has written.
        EXPECT_EQ(number_in<std::uint32_t>(writes[i].value), i < 4 ? i : 103) << i;
        EXPECT_EQ(writes[i].reads.size(), i / 4);
    }
    EXPECT_EQ(number_in<std::uint32_t>(writes[7].reads.at(0).value), 3U);
}

TEST(Trace, elements_may_overlap_and_lie_side_by_side) {
    const Recorded recorded(all_write);
    const auto elements = recorded.traced(
        {{recorded.array[0], array_bytes}, {recorded.array[0] + 3, 2}, {recorded.array[0] + 4, 4}});
    EXPECT_EQ(elements[0].writes.size(), 1U);
    ASSERT_EQ(elements[1].writes.size(), 1U);
    EXPECT_EQ(elements[1].writes[0].bytes, 1U);
    EXPECT_TRUE(elements[2].writes.empty());
}

TEST(Trace, addresses_are_the_recorded_ones_where_memory_has_moved) {
    CUDASIM_SKIP_UNDER_THREAD_SANITIZER("arenas have no fixed places");
    const Recorded recorded(all_write);
    SimulatedDevice device(recorded.record.device, recorded.record.memory_base);
    const auto taken = device.device.allocate(4096);
    ASSERT_EQ(taken, recorded.array[0]);
    const execution::AddressRange range{recorded.array[0], 4};
    const Trace trace = trace_elements(device, recorded.record, {&range, 1});
    ASSERT_EQ(trace.elements.at(0).writes.size(), 1U);
    EXPECT_EQ(trace.elements[0].range.base, recorded.array[0]);
    EXPECT_EQ(trace.elements[0].writes[0].address, recorded.array[0]);
}

TEST(Trace, a_write_that_faults_is_none) {
    CUDASIM_SKIP_UNDER_THREAD_SANITIZER("no memory checks");
    const Recorded recorded(R"(
define void @k(ptr %out, ptr %in) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %to = getelementptr [63 x i32], ptr %out, i32 %t
  store i32 %t, ptr %to
  ret void
})",
                            {{1}, {2}});
    const execution::AddressRange range{recorded.array[0] + 252, 4};
    SimulatedDevice device(recorded.record.device, recorded.record.memory_base);
    EXPECT_EQ(trace_elements(device, recorded.record, {&range, 1}).elements[0].writes.size(), 1U);
    const Recorded beyond(R"(
define void @k(ptr %out, ptr %in) {
  %to = getelementptr i8, ptr %out, i64 254
  store i32 7, ptr %to
  ret void
})");
    SimulatedDevice other(beyond.record.device, beyond.record.memory_base);
    const execution::AddressRange last{beyond.array[0] + 252, 4};
    const Trace trace = trace_elements(other, beyond.record, {&last, 1});
    EXPECT_TRUE(trace.elements[0].writes.empty());
    EXPECT_NE(trace.result.error(), nullptr);
}

TEST(Trace, what_cannot_be_traced_is_refused) {
    const Recorded recorded(all_write);
    const DevicePointer out = recorded.array[0];
    EXPECT_THROW((void)recorded.traced({}), std::invalid_argument);
    EXPECT_THROW((void)recorded.traced({{out, 0}}), std::invalid_argument);
    EXPECT_THROW((void)recorded.traced({{out + 252, 8}}), std::invalid_argument);
    EXPECT_THROW((void)recorded.traced({{4, 4}}), std::invalid_argument);
    EXPECT_THROW((void)recorded.traced({{out, 4}}, {.writes = 1}), std::invalid_argument);
    EXPECT_THROW((void)recorded.traced(std::vector<execution::AddressRange>(2000, {out, 4})),
                 std::invalid_argument);
    LaunchRecord in_python = recorded.record;
    in_python.image = Content();
    SimulatedDevice device(execution::h100());
    const execution::AddressRange range{out, 4};
    try {
        (void)trace_elements(device, in_python, {&range, 1});
        FAIL() << "traced";
    } catch (const RecordError& error) {
        EXPECT_NE(std::string(error.what()).find("Python mode"), std::string::npos) << error.what();
    }
}

}  // namespace
}  // namespace cudasim::driver
