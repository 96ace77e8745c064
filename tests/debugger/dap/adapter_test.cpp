// The protocol's messages: what is wrong is refused with a sentence, and a session over a real launch.
#include "debugger/dap/adapter.h"

#include <condition_variable>
#include <deque>
#include <random>
#include <thread>

#include "debugger/control/control.h"
#include "tests/simulator/execution/carriers.h"

namespace cudasim::debugger {
namespace {

/// Sends requests, and waits for what comes back.
class Client {
  public:
    Adapter adapter{[this](const std::string& message) {
        llvm::Expected<json::Value> parsed = json::parse(message);
        ASSERT_TRUE(static_cast<bool>(parsed)) << message;
        const std::lock_guard lock(mutex_);
        received_.push_back(*parsed->getAsObject());
        arrived_.notify_all();
    }};

    json::Object ask(const std::string& command, std::initializer_list<json::Object::KV> arguments = {}) {
        return ask_with(command, json::Object(arguments));
    }
    json::Object ask_with(const std::string& command, json::Object arguments) {
        const std::int64_t number = ++sequence_;
        std::string text;
        llvm::raw_string_ostream(text) << json::Value(json::Object{
            {"seq", number}, {"type", "request"}, {"command", command}, {"arguments", std::move(arguments)}});
        adapter.receive(text);
        return wait([&](const json::Object& each) { return each.getInteger("request_seq") == number; });
    }
    json::Object event(const std::string& name) {
        return wait(
            [&](const json::Object& each) { return each.getString("event") == llvm::StringRef(name); });
    }
    [[nodiscard]] std::string refused(const std::string& command,
                                      std::initializer_list<json::Object::KV> arguments = {}) {
        const json::Object response = ask(command, arguments);
        return response.getBoolean("success") == true ? "success"
                                                      : response.getString("message").value_or("").str();
    }

  private:
    template <typename Wanted>
    json::Object wait(Wanted&& wanted) {
        std::unique_lock lock(mutex_);
        for (;;) {
            for (auto it = received_.begin(); it != received_.end(); ++it) {
                if (!wanted(*it)) continue;
                json::Object found = std::move(*it);
                received_.erase(it);
                return found;
            }
            if (arrived_.wait_for(lock, std::chrono::seconds(60)) == std::cv_status::timeout) {
                ADD_FAILURE() << "nothing came";
                return {};
            }
        }
    }

    std::mutex mutex_;
    std::condition_variable arrived_;
    std::deque<json::Object> received_;
    std::int64_t sequence_ = 0;
};

TEST(Adapters, refuse_what_they_do_not_know_and_what_needs_a_stopped_launch) {
    Client client;
    EXPECT_EQ(client.refused("goto"), "unsupported: cudasim does not have the request 'goto'");
    EXPECT_EQ(client.refused("stackTrace", {{"threadId", 1}}), "no kernel is stopped");
    EXPECT_EQ(client.refused("evaluate", {{"expression", "1"}}), "no kernel is stopped");
    const json::Object threads = client.ask("threads");
    EXPECT_TRUE(threads.getObject("body")->getArray("threads")->size() == 1);
    EXPECT_EQ(
        client.refused("source", {{"source", json::Object{{"path", "/none.py"}}}, {"sourceReference", 0}}),
        "no kernel of '/none.py' has been launched");
    EXPECT_EQ(client.refused("breakpointLocations"), "the request needs a text 'path'");
}

TEST(Adapters, tell_of_messages_that_are_none) {
    Client client;
    for (const char* message : {"", "{", "[]", "3", "{}", R"({"seq":1,"type":"event","command":"x"})",
                                R"({"seq":"x","type":"request","command":"threads"})"}) {
        client.adapter.receive(message);
        EXPECT_EQ(client.event("output").getObject("body")->getString("category"), "important") << message;
    }
    client.adapter.receive(std::string(100000, '['));
    EXPECT_NE(client.event("output").getObject("body")->getString("output")->find("too deeply"),
              llvm::StringRef::npos);
}

TEST(Adapters, survive_requests_with_arguments_of_any_kind) {
    Client client;
    std::mt19937 random(3);
    const std::vector<std::string> commands{"initialize",
                                            "setBreakpoints",
                                            "setFunctionBreakpoints",
                                            "setExceptionBreakpoints",
                                            "source",
                                            "next",
                                            "pause",
                                            "breakpointLocations",
                                            "evaluate",
                                            "cudasim/focus",
                                            "threads",
                                            "variables",
                                            "configurationDone"};
    const auto any = [&](auto&& self, int depth) -> json::Value {
        switch (random() % (depth > 2 ? 5 : 7)) {
            case 0:
                return nullptr;
            case 1:
                return static_cast<std::int64_t>(random()) - 2'000'000'000;
            case 2:
                return 1.5;
            case 3:
                return true;
            case 4:
                return "text";
            case 5:
                return json::Array{self(self, depth + 1), self(self, depth + 1)};
            default:
                return json::Object{{"line", self(self, depth + 1)},
                                    {"path", self(self, depth + 1)},
                                    {"threads", self(self, depth + 1)}};
        }
    };
    for (int round = 0; round < 3000; ++round) {
        json::Object arguments;
        for (const char* name :
             {"source", "breakpoints", "line", "filters", "cudasim", "threadId", "condition", "name"})
            if (random() % 2 == 0) arguments[name] = any(any, 0);
        (void)client.ask_with(commands[random() % commands.size()], std::move(arguments));
    }
}

TEST(Adapters, lead_through_a_launch) {
    Client client;
    (void)client.ask("initialize", {{"adapterID", "test"}});
    (void)client.event("initialized");
    const json::Object set =
        client.ask("setBreakpoints",
                   {{"source", json::Object{{"path", execution::kernel_file}}},
                    {"breakpoints",
                     json::Array{json::Object{{"line", 202}, {"cudasim", json::Object{{"threads", "2"}}}},
                                 json::Object{{"line", 203}, {"hitCondition", "often"}},
                                 json::Object{{"line", 204}, {"cudasim", json::Object{{"blocks", "x"}}}}}}});
    const json::Array& breakpoints = *set.getObject("body")->getArray("breakpoints");
    ASSERT_EQ(breakpoints.size(), 3U);
    EXPECT_EQ(breakpoints[0].getAsObject()->getString("message")->substr(0, 8), "pending:");
    EXPECT_EQ(breakpoints[1].getAsObject()->getString("message"),
              "'often' is no hit count: write 3, >= 3, == 3 or % 3");
    EXPECT_NE(breakpoints[2].getAsObject()->getString("message")->find("no range"), llvm::StringRef::npos);
    std::thread launching([&] {
        execution::LaunchOptions options = options_on(execution::On::coroutines);
        Control control(client.adapter.session());
        options.stop_handler = &control;
        (void)run_two_rounds(execution::On::coroutines, 2, 4, options);
    });
    EXPECT_EQ(client.event("cudasim/launch").getObject("body")->getString("event"), "begin");
    EXPECT_EQ(client.event("breakpoint").getObject("body")->getObject("breakpoint")->getInteger("line"), 202);
    const json::Object stop = client.event("stopped");
    EXPECT_EQ(stop.getObject("body")->getString("reason"), "breakpoint");
    const json::Object frames = client.ask("stackTrace", {{"threadId", 1}});
    const json::Array& stack = *frames.getObject("body")->getArray("stackFrames");
    ASSERT_EQ(stack.size(), 1U);
    EXPECT_EQ(stack[0].getAsObject()->getInteger("line"), 202);
    const auto frame = *stack[0].getAsObject()->getInteger("id");
    EXPECT_EQ(client.ask("evaluate", {{"expression", "threadIdx.x"}, {"frameId", frame}})
                  .getObject("body")
                  ->getString("result"),
              "2");
    EXPECT_EQ(
        client.refused("evaluate", {{"expression", "1 + one"}, {"frameId", frame}}),
        "there is no variable 'one' here (expressions are those of C++ here: this server has no Python)");
    EXPECT_EQ(client.refused("scopes", {{"frameId", 99}}), "there is no frame 99 now");
    EXPECT_EQ(client.refused("variables", {{"variablesReference", 99}}), "there are no variables 99 now");
    EXPECT_EQ(client.refused("next", {{"threadId", 99}}), "there is no thread 99 now");
    EXPECT_EQ(client.refused("next", {{"threadId", 1}, {"cudasim", json::Object{{"unit", "cluster"}}}}),
              "'cluster' is no unit of steps: thread, warp, block or grid");
    EXPECT_EQ(client.refused("exceptionInfo", {{"threadId", 1}}), "the kernel has not stopped for an error");
    EXPECT_EQ(client.refused("readMemory", {{"memoryReference", "0x10"}, {"count", 8}}), "success");
    (void)client.ask("next", {{"threadId", 1}});
    EXPECT_EQ(client.event("stopped").getObject("body")->getObject("cudasim")->getInteger("line"), 203);
    EXPECT_EQ(client.refused("scopes", {{"frameId", frame}}),
              "there is no frame " + std::to_string(frame) + " now");
    (void)client.ask("disconnect");
    launching.join();
    EXPECT_EQ(client.event("cudasim/launch").getObject("body")->getString("event"), "end");
    EXPECT_EQ(client.refused("threads"), "success");
}

}  // namespace
}  // namespace cudasim::debugger
