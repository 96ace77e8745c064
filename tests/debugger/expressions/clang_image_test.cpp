// A CUDA C++ file that clang has compiled, under the debugger: expressions, assignment and conditions of C++.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include "debugger/control/control.h"
#include "debugger/expressions/cpp_evaluator.h"
#include "simulator/execution/device.h"

namespace cudasim::debugger {
namespace {

namespace fs = std::filesystem;
using execution::Device;
using execution::DevicePointer;

constexpr std::uint32_t threads = 40;

std::string text_of_file(const fs::path& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
}

/// As tests/images/images_test.cpp compiles its file.
image::KernelImage compile(const std::string& source) {
    const fs::path work = fs::temp_directory_path() / ("cudasim_debugged_" + std::to_string(getpid()));
    fs::create_directories(work / "no-toolkit");
    const std::string output = (work / "image.bc").string();
    const std::string command =
        std::string(CUDASIM_CLANG) +
        " -x cuda --cuda-device-only --cuda-gpu-arch=sm_75 --cuda-path=" + (work / "no-toolkit").string() +
        " -nocudainc -nocudalib -Xclang -target-feature -Xclang +ptx78 -std=c++20 -O1 -Xclang"
        " -disable-llvm-passes -g -Xclang -debug-info-kind=limited -emit-llvm -c " +
        source + " -o " + output;
    EXPECT_EQ(std::system(command.c_str()), 0);
    auto image = image::KernelImage::from_bitcode(text_of_file(output), {{source, text_of_file(source)}});
    fs::remove_all(work);
    return image;
}

struct Particle {
    float x, y;
    std::int32_t mass, kind;
    std::uint64_t next;
    std::uint8_t flags[8];
};

class ClangImages : public testing::Test, public Audience {
  protected:
    void SetUp() override {
        if (std::string_view(CUDASIM_CLANG).empty())
            GTEST_SKIP() << "clang++-19 was not found when this test was configured";
        static const image::KernelImage compiled = compile(source);
        image_ = &compiled;
        session.own_evaluator.store(&evaluator);
        session.own_compiler.store(&compiler);
    }

    /// The line that ends with this comment.
    [[nodiscard]] static std::uint32_t line(const std::string& mark) {
        std::istringstream text(text_of_file(source));
        std::uint32_t number = 0;
        for (std::string each; std::getline(text, each);) {
            ++number;
            if (each.ends_with("// " + mark)) return number;
        }
        ADD_FAILURE() << "no line " << mark;
        return 0;
    }
    void break_at(const std::string& mark, const std::string& condition = {},
                  const std::string& range = "*") {
        BreakpointRequest request;
        request.file = source;
        request.line = line(mark);
        request.condition = condition;
        std::string error;
        request.threads = *IndexSet::parse(range, error);
        if (range != "*") request.blocks = *IndexSet::parse("0", error);
        session.breakpoints.set_lines(source, {request});
    }

    /// simulate() of `threads` particles; what it computes.
    std::vector<float> run() {
        Device device(execution::h100());
        std::vector<Particle> particles(threads);
        const DevicePointer memory = device.allocate(threads * sizeof(Particle), {.label = "particles"});
        for (std::uint32_t i = 0; i < threads; ++i)
            particles[i] = {0.25F * static_cast<float>(i),
                            1,
                            static_cast<int>(i * i),
                            i % 2 != 0 ? 5 : 0,
                            i + 1 < threads ? memory + (i + 1) * sizeof(Particle) : 0,
                            {1, 2, 3, 250}};
        device.copy_to_device(memory, particles.data(), threads * sizeof(Particle));
        const DevicePointer result = device.allocate(threads * sizeof(float), {.label = "result"});
        struct {
            DevicePointer particles, result;
            int n;
        } parameters{memory, result, threads};
        const auto loaded = device.load(*image_);
        Control control(session);
        execution::LaunchOptions options;
        options.stop_handler = &control;
        const auto launch = device.launch(*loaded, "simulate", {{2, 1, 1}, {32, 1, 1}, 0},
                                          std::as_bytes(std::span(&parameters, 1)), options);
        EXPECT_EQ(launch.error(), nullptr);
        std::vector<float> values(threads);
        device.copy_from_device(values.data(), result, threads * sizeof(float));
        return values;
    }
    [[nodiscard]] static float expected(std::uint32_t i) {
        const auto real = static_cast<float>(i);
        return real * real * 2 + (0.25F * real + 0.5F * real) + static_cast<float>(i + i % 3 + 200);
    }
    static void expect_results(const std::vector<float>& values) {
        for (std::uint32_t i = 0; i < threads; ++i) EXPECT_EQ(values[i], expected(i)) << i;
    }

    // Audience.
    void launch_begins(const Control&) override {}
    void launch_ends(const Control&) override {}
    void breakpoint_changed(const Breakpoint& breakpoint) override { changed.push_back(breakpoint); }
    void output(const std::string&) override {}
    void stopped(Control& control, const StopNotice& notice) override {
        stops.push_back(control.focus().block * 32 + control.focus().thread);
        for (const std::string& note : notice.notes) notes.push_back(note);
        ASSERT_TRUE(session.mailbox.post([this](Control* stopped) {
            if (at_stop) at_stop(*stopped);
            stopped->go_on();
        }));
    }

    static inline const std::string source = std::string(CUDASIM_CU_FOLDER) + "/particles.cu";
    CppEvaluator evaluator;
    CppExpressionCompiler compiler;
    Session session{*this};
    std::function<void(Control&)> at_stop;
    std::vector<std::uint64_t> stops;
    std::vector<std::string> notes;
    std::vector<Breakpoint> changed;

  private:
    const image::KernelImage* image_ = nullptr;
};

using Stops = std::vector<std::uint64_t>;

TEST_F(ClangImages, expressions_are_cpps) {
    break_at("stop", "", "7");
    const std::array<std::pair<const char*, const char*>, 32> values{{
        {"counts[0]", "7"},
        {"p->mass", "49"},
        {"p->mass / 2 * 1.0f", "24.0"},
        {"p->place.x + speed.x", "5.25"},
        {"(*p).place.y - speed.y", "2.0"},
        {"(p + 1)->mass == p->next->mass", "True"},
        {"p->next->next->mass", "81"},
        {"p->next - p", "1"},
        {"&p[1] == p->next", "True"},
        {"counts[2] * counts[0]", "63"},
        {"*counts + *(&counts[1])", "15"},
        {"small + 100", "300"},
        {"(unsigned char)(small + 100)", "44"},
        {"wide >> 38", "4"},
        {"wide * 2 + 1", "2199023255553"},
        {"p->flags[3] << 4", "4000"},
        {"p->kind == 5 ? small : -small", "200"},
        {"!nobody && p", "True"},
        {"nobody == nullptr", "True"},
        {"threadIdx.x + blockDim.x * gridDim.x", "71"},
        {"laneid", "7"},
        {"float(counts[0]) / 2", "3.5"},
        {"static_cast<int>(speed.x)", "3"},
        {"~counts[0] & 0xff", "248"},
        {"speed", "(x=3.5, y=-1.0)"},
        {"counts", "[7, 8, 9]"},
        {"small", "200"},
        {"p->flags", "[1, 2, 3, 250]"},
        {"pixel.id + pixel.bytes[2]", "110"},
        {"pixel.rank", "-1"},
        {"pixel", "(id=107, word=67305985, bytes=[1, 2, 3, 4], rank=-1)"},
        {"(&pixel)->word >> 24", "4"},
    }};
    const std::array<std::pair<const char*, const char*>, 8> wrong{{
        {"*(int*)0", "a null pointer is dereferenced"},
        {"counts[3]", "index 3 is out of bounds for axis 0 with size 3"},
        {"p[1000000].mass", "the thread may not read the memory at "},
        {"nothing", "there is no variable 'nothing' here"},
        {"total", "there is no variable 'total' here"},
        {"p->weight", "Particle has no member 'weight'"},
        {"p +", "column 4: the expression ends too early"},
        {"1 / (small - 200)", "integer division or modulo by zero"},
    }};
    at_stop = [&](Control& control) {
        for (const auto& [text, value] : values) {
            const Evaluation found = evaluator.evaluate(control.launch(), control.focus(), 0, text);
            EXPECT_TRUE(found.ok) << text << ": " << found.text;
            EXPECT_EQ(found.text, value) << text;
        }
        for (const auto& [text, error] : wrong) {
            const Evaluation found = evaluator.evaluate(control.launch(), control.focus(), 0, text);
            EXPECT_FALSE(found.ok) << text;
            EXPECT_TRUE(found.text.starts_with(error)) << text << ": " << found.text;
        }
        EXPECT_EQ(session.evaluator_for(control.launch()), &evaluator);
    };
    expect_results(run());
    EXPECT_EQ(stops, (Stops{7}));
}

TEST_F(ClangImages, static_variables_are_there) {
    break_at("stop", "tile[threadIdx.x / 16][threadIdx.x % 16] >= 300 && factors[1] == 0.5f && visits == 3",
             "*");
    const std::array<std::pair<const char*, const char*>, 7> values{{
        {"tile[1][14]", "300.0"},
        {"factors", "[2.0, 0.5]"},
        {"factors[0] * visits", "6.0"},
        {"*(&visits)", "3"},
        {"small + 0", "200"},
        {"&tile[0][1] - &tile[0][0]", "1"},
        {"visits + small", "203"},
    }};
    at_stop = [&](Control& control) {
        for (const auto& [text, value] : values) {
            const Evaluation found = evaluator.evaluate(control.launch(), control.focus(), 0, text);
            EXPECT_TRUE(found.ok) << text << ": " << found.text;
            if (control.focus().block == 0) EXPECT_EQ(found.text, value) << text;
        }
        const auto set = [&](const char* target, const char* value) {
            return evaluator.assign(control.launch(), control.focus(), 0, target, value);
        };
        EXPECT_FALSE(evaluator.evaluate(control.launch(), control.focus(), 0, "tile[2][0]").ok);
        EXPECT_EQ(set("tile[0][3]", "7.5").text, "7.5");
        EXPECT_EQ(set("visits", "visits + 1").text, "4");
        EXPECT_EQ(evaluator.evaluate(control.launch(), control.focus(), 0, "visits * 1.0 + tile[0][3]").text,
                  "11.5");
    };
    const std::vector<float> values_after = run();
    ASSERT_FALSE(stops.empty());
    EXPECT_EQ(stops.front(), 30U);
    EXPECT_EQ(stops.size(), 1U) << "the condition no longer holds after `visits` was set";
    EXPECT_NE(values_after[31], expected(31));
    EXPECT_TRUE(notes.empty());
}

TEST_F(ClangImages, functions_tell_what_they_return) {
    for (const std::string mark : {"speed", "inside"}) {
        break_at(mark, "", "7");
        std::vector<findings::VariableValue> returned;
        at_stop = [&](Control& control) {
            if (control.notice().returned) returned.push_back(*control.notice().returned);
            Movement movement;
            movement.kind = MovementKind::step_out;
            movement.thread = control.focus();
            if (control.notice().reason == StopReason::breakpoint) EXPECT_EQ(control.start(movement), "");
        };
        expect_results(run());
        ASSERT_EQ(returned.size(), 1U) << mark;
        std::array<float, 2> values{};
        std::memcpy(values.data(), returned[0].bytes.data(), returned[0].bytes.size());
        EXPECT_EQ(returned[0].name, mark == "speed" ? "speed_of" : "energy");
        EXPECT_EQ(returned[0].bytes.size(), mark == "speed" ? 8U : 4U);
        EXPECT_EQ(values, mark == "speed" ? (std::array{3.5F, -1.0F}) : (std::array{103.25F, 0.0F}));
    }
}

TEST_F(ClangImages, references_are_what_they_refer_to) {
    break_at("inside", "particle.mass == 64 && result == 2 * particle.mass && factor < 3");
    std::string mass;
    at_stop = [&](Control& control) {
        mass =
            evaluator.evaluate(control.launch(), control.focus(), 0, "particle.mass + particle.place.x").text;
    };
    expect_results(run());
    EXPECT_EQ(stops, (Stops{8}));
    EXPECT_EQ(mass, "70.0");
}

TEST_F(ClangImages, assignments_decide) {
    break_at("stop", "", "3");
    at_stop = [&](Control& control) {
        const auto set = [&](const char* target, const char* value) {
            return evaluator.assign(control.launch(), control.focus(), 0, target, value);
        };
        EXPECT_EQ(set("p->mass", "p->mass + 2.9").text, "11");
        EXPECT_EQ(set("speed.x", "counts[0] * 2").text, "6.0");
        EXPECT_EQ(set("counts[0]", "1000").text, "1000");
        EXPECT_TRUE(set("small", "-1").ok);
        EXPECT_EQ(set("p->flags[1]", "'x'").text, "column 1: ''' was not expected");
        EXPECT_EQ(set("small + 1", "3").text, "'small + 1' is nothing that can be assigned to");
        EXPECT_EQ(set("speed", "3").text.substr(0, 6), "Vector");
        EXPECT_EQ(set("small", "speed").text, "'speed' is no number");
        EXPECT_EQ(set("nobody->mass", "3").ok, false);
    };
    const std::vector<float> values = run();
    EXPECT_EQ(values[3], 11 * 2 + (0.75F + 6) + 1000 + 255);
    EXPECT_EQ(values[4], expected(4));
}

TEST_F(ClangImages, conditions_are_compiled) {
    break_at("end", "p->mass % 7 == 2 && total > 500 && counts[threadIdx.x % 3] < 35 && blockIdx.x < 1");
    expect_results(run());
    Stops wanted;
    for (std::uint64_t i = 0; i < 32; ++i)
        if (i * i % 7 == 2 && expected(static_cast<std::uint32_t>(i)) > 500 && i + i % 3 < 35)
            wanted.push_back(i);
    EXPECT_GE(wanted.size(), 3U);
    EXPECT_EQ(stops, wanted);
    EXPECT_TRUE(notes.empty());
}

TEST_F(ClangImages, conditions_that_fault_stop_once_and_say_so) {
    break_at("end", "p->next->mass > 1500");  // the last particle has none
    expect_results(run());
    EXPECT_EQ(stops, (Stops{38, 39}));
    EXPECT_EQ(notes, (std::vector<std::string>{
                         "the condition of breakpoint 1 cannot be evaluated: the thread may not "
                         "read the memory at 0x8"}));
}

TEST_F(ClangImages, conditions_that_mean_nothing_are_refused) {
    for (const char* condition : {"p->mass >", "nothing == 3"}) {
        changed.clear();
        break_at("end", condition);
        expect_results(run());
        ASSERT_FALSE(changed.empty());
        EXPECT_FALSE(changed.back().verified);
        EXPECT_NE(changed.back().message.find("cannot be used"), std::string::npos) << changed.back().message;
    }
    EXPECT_TRUE(stops.empty());
}

}  // namespace
}  // namespace cudasim::debugger
