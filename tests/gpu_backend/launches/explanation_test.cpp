// Explanations of what a launch left differently on a GPU. What the GPU left is made up here; kernels in
// Python with the stand-in driver are in tests/python/comparing/test_explanations.py.
#include "gpu_backend/launches/explanation.h"

#include <gtest/gtest.h>

#include <cstring>

#include "gpu_backend/launches/experiments.h"
#include "gpu_backend/launches/prepared_record.h"
#include "simulator/driver/launch_capture.h"
#include "tests/simulator/driver/recording.h"
#include "tests/simulator/execution/ir_kernel.h"
#include "tests/simulator/thread_sanitizer.h"

namespace cudasim::gpu_launches {
namespace {

constexpr unsigned count = 64;
using Numbers = std::vector<float>;

/// out[i] = in[i] + @step, and @calls counts threads.
constexpr const char* addition = R"(
@step = addrspace(1) global float 2.5
@calls = addrspace(1) global i32 0
define void @k(ptr %out, ptr %in) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %i = zext i32 %t to i64
  %from = getelementptr float, ptr %in, i64 %i
  %a = load float, ptr %from
  %b = load float, ptr addrspace(1) @step
  %sum = fadd float %a, %b
  %to = getelementptr float, ptr %out, i64 %i
  store float %sum, ptr %to
  %before = atomicrmw add ptr addrspace(1) @calls, i32 1 monotonic
  ret void
}
)";

/// The same without variables, and without an order: every thread writes out[i / 2].
constexpr const char* racing = R"(
define void @k(ptr %out, ptr %in) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %i = zext i32 %t to i64
  %from = getelementptr float, ptr %in, i64 %i
  %a = load float, ptr %from
  %half = lshr i64 %i, 1
  %to = getelementptr float, ptr %out, i64 %half
  store float %a, ptr %to
  ret void
}
)";

/// A launch of @k(out, in) with 64 threads; in[i] is i. Its device lives on: an experiment gets other
/// addresses.
struct Recorded {
    explicit Recorded(std::string_view body)
        : device(std::make_shared<driver::SimulatedDevice>(execution::h100())) {
        const image::KernelImage image = execution::ir_image(body);
        driver::LaunchPlan plan = driver::make_launch_plan(device, device->device.load(image), image, "k");
        const auto bytes = image.serialise();
        driver::LaunchRecord described{.kernel = "k",
                                       .display_name = "k",
                                       .image = driver::Content(std::string_view(
                                           reinterpret_cast<const char*>(bytes.data()), bytes.size())),
                                       .configuration = {{1}, {count}},
                                       .options = driver::testing::launch_options()};
        Numbers numbers(count);
        for (unsigned i = 0; i < count; ++i) numbers[i] = static_cast<float>(i);
        for (std::uint64_t* each : {&out, &in}) {
            *each = device->device.allocate(count * sizeof(float), {.label = each == &out ? "out" : "in"});
            device->device.copy_to_device(*each, numbers.data(), count * sizeof(float));
            const auto word = std::as_bytes(std::span(each, 1));
            described.parameters.insert(described.parameters.end(), word.begin(), word.end());
        }
        plan.configuration = described.configuration;
        driver::LaunchCapture capture(*device, described, plan.loaded.get(), {}, {.keep_after = true});
        execution::LaunchOptions in_force = described.options;
        in_force.observers.add(capture);
        record = capture.finish(run(plan, described.parameters, in_force), true);
        record.image = described.image;
    }

    /// What a GPU left that agrees but for out.
    [[nodiscard]] GpuOutcome outcome(const Numbers& numbers) const {
        GpuOutcome outcome;
        for (const auto& range : record.memory) {
            outcome.after.push_back(range.after);
            if (range.address != out) continue;
            driver::Content content(range.bytes);
            std::memcpy(content.data(), numbers.data(), range.bytes);
            outcome.after.back() = content;
        }
        return outcome;
    }
    [[nodiscard]] std::vector<ComparedArray> arrays() const {
        std::vector<ComparedArray> arrays(1);
        arrays[0].view = {.name = "out",
                          .address = out,
                          .type = comparison::parse_element_type("float32"),
                          .shape = {count}};
        return arrays;
    }
    [[nodiscard]] std::vector<Explanation> explained(const Numbers& gpu,
                                                     const ExplainOptions& options = {}) const {
        return explain(record, outcome(gpu), arrays(), options);
    }

    std::shared_ptr<driver::SimulatedDevice> device;
    driver::LaunchRecord record;
    std::uint64_t out = 0, in = 0;
};

Numbers sums(float step) {
    Numbers numbers(count);
    for (unsigned i = 0; i < count; ++i) numbers[i] = static_cast<float>(i) + step;
    return numbers;
}

Results results_with(const Recorded& recorded, const Numbers& out) {
    return {.memory = recorded.outcome(out).after, .printed = {}};
}

class Explanations : public testing::Test {
  protected:
    void SetUp() override { CUDASIM_SKIP_UNDER_THREAD_SANITIZER("experiments run with memory checks"); }
};

TEST_F(Explanations, differing_elements_are_removed_moved_and_added) {
    const Recorded recorded(addition);
    Numbers gpu = sums(2.5F);
    gpu[1] += 1;
    gpu[2] += 1;
    gpu[3] += 1;
    const auto arrays = recorded.arrays();
    const GpuOutcome outcome = recorded.outcome(gpu);
    const DifferingElements elements(recorded.record, results_with(recorded, sums(2.5F)), outcome, arrays);
    ASSERT_EQ(elements.size(), 3u);
    Numbers other = sums(2.5F);
    other[1] = gpu[1];    // agrees
    other[2] += 0.5F;     // another value
    other[3] += 0.0001F;  // too little to explain a difference of 1
    other[9] = -1;        // did not differ
    const Effect effect = elements.effect_of(results_with(recorded, other));
    EXPECT_EQ(effect.removed, (ElementSet{true, false, false}));
    EXPECT_EQ(effect.moved, (ElementSet{false, true, false}));
    EXPECT_EQ(effect.adds, 1u);
    EXPECT_TRUE(elements.effect_of(results_with(recorded, sums(2.5F))).is_nothing());
    const auto places = elements.places({false, true, true}, 8);
    ASSERT_EQ(places.size(), 2u);
    EXPECT_EQ(places[0].base, recorded.out + 2 * sizeof(float));
    EXPECT_TRUE(elements.any_in(recorded.out, 8));
    EXPECT_FALSE(elements.any_in(recorded.out + 16, 64));
}

TEST_F(Explanations, a_difference_without_a_cause_is_not_explained) {
    const Recorded recorded(addition);
    Numbers gpu = sums(2.5F);
    gpu[5] = -77;
    const auto found = recorded.explained(gpu);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].cause, "unexplained");
    EXPECT_EQ(found[0].of, 1u);
    EXPECT_NE(found[0].text.find("nor the PTX"), std::string::npos) << found[0].text;
}

TEST_F(Explanations, ptx_that_computes_something_else_is_found) {
    // Without variables, so that its PTX is run as it is.
    Recorded recorded(R"(
define void @k(ptr %out, ptr %in) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %i = zext i32 %t to i64
  %from = getelementptr float, ptr %in, i64 %i
  %a = load float, ptr %from
  %sum = fadd float %a, 2.5
  %to = getelementptr float, ptr %out, i64 %i
  store float %sum, ptr %to
  ret void
}
)");
    add_gpu_code(recorded.record, {});
    const std::size_t at = recorded.record.gpu->ptx.find("add.rn.f32");
    ASSERT_NE(at, std::string::npos) << recorded.record.gpu->ptx;
    recorded.record.gpu->ptx.replace(at, 3, "sub");
    const auto found = recorded.explained(sums(-2.5F));
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].cause, "ptx");
    EXPECT_EQ(found[0].removes, count);
    EXPECT_EQ(found[0].of, count);
}

TEST_F(Explanations, ptx_is_simulated_with_the_variables_where_they_can_be) {
    Recorded recorded(addition);
    add_gpu_code(recorded.record, {});
    for (const bool is_free : {false, true}) {
        if (is_free) recorded.device.reset();
        Laboratory laboratory(recorded.record, {});
        const auto repetition = laboratory.run_ptx();
        ASSERT_TRUE(repetition) << laboratory.why_not();
        for (std::size_t i = 0; i < recorded.record.memory.size(); ++i) {
            if (!recorded.record.memory[i].after) continue;
            EXPECT_EQ(repetition->results.memory[i]->text(), recorded.record.memory[i].after->text())
                << recorded.record.memory[i].label;
        }
    }
}

TEST_F(Explanations, races_come_first) {
    const Recorded recorded(racing);
    Numbers gpu(count);
    for (unsigned i = 0; i < count; ++i)
        gpu[i] = static_cast<float>(i < count / 2 ? 2 * i : i);  // the first writer
    const auto found = recorded.explained(gpu);
    ASSERT_FALSE(found.empty());
    EXPECT_EQ(found[0].cause, "race");
    EXPECT_EQ(found[0].removes, count / 2);
    EXPECT_EQ(found[0].of, count / 2);
}

TEST_F(Explanations, experiments_end_when_time_is_over_or_the_host_says_so) {
    const Recorded recorded(racing);
    ExplainOptions options{.seconds = 0};
    auto found = recorded.explained(Numbers(count), options);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].cause, "unexplained");
    EXPECT_NE(found[0].text.find("no time"), std::string::npos) << found[0].text;
    unsigned asked = 0;
    options = {.stop = [&asked] { return ++asked >= 2; }};
    found = recorded.explained(Numbers(count), options);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].cause, "unexplained");
}

TEST_F(Explanations, kernels_without_code_are_refused) {
    Recorded recorded(racing);
    recorded.record.image = {};
    EXPECT_THROW((void)recorded.explained(Numbers(count)), driver::RecordError);
}

TEST(ExplanationJson, has_the_members_of_the_schema) {
    const Explanation one{.cause = "race",
                          .removes = 3,
                          .moves = 1,
                          .of = 5,
                          .text = "Data race on 'x'\xff",
                          .locations = {{.file = "k.py", .function = "k", .line = 7}}};
    EXPECT_EQ(
        to_json(std::span(&one, 1)),
        "[{\"cause\":\"race\",\"locations\":[{\"file\":\"k.py\",\"function\":\"k\",\"line\":7}],\"moves\":1,"
        "\"of\":5,\"removes\":3,\"text\":\"Data race on 'x'\xef\xbf\xbd\"}]");
}

}  // namespace
}  // namespace cudasim::gpu_launches
