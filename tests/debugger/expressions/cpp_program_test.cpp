// The debugger's own C++ expressions against what this compiler makes of the same text and the same values.
#include "debugger/expressions/cpp_program.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <limits>
#include <random>

#include "debugger/expressions/cpp_nodes.h"

// The texts are what is tested.
#pragma GCC diagnostic ignored "-Wparentheses"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wbool-compare"
#pragma GCC diagnostic ignored "-Wbool-operation"
#pragma GCC diagnostic ignored "-Wint-in-bool-context"
#pragma GCC diagnostic ignored "-Woverflow"

namespace cudasim::debugger {
namespace {

template <typename Number>
constexpr const char* description_of() {
    if constexpr (std::is_same_v<Number, bool>) return R"({"kind": "bool", "name": "bool", "bytes": 1})";
    if constexpr (std::is_same_v<Number, float>) return R"({"kind": "float", "name": "float", "bytes": 4})";
    if constexpr (std::is_same_v<Number, double>) return R"({"kind": "float", "name": "double", "bytes": 8})";
    constexpr std::array names{R"({"kind": "signed", "name": "char", "bytes": 1})",
                               R"({"kind": "signed", "name": "short", "bytes": 2})",
                               R"({"kind": "signed", "name": "int", "bytes": 4})",
                               R"({"kind": "signed", "name": "long", "bytes": 8})",
                               R"({"kind": "character", "name": "unsigned char", "bytes": 1})",
                               R"({"kind": "unsigned", "name": "unsigned short", "bytes": 2})",
                               R"({"kind": "unsigned", "name": "unsigned int", "bytes": 4})",
                               R"({"kind": "unsigned", "name": "unsigned long", "bytes": 8})"};
    const unsigned size = sizeof(Number) == 1 ? 0 : sizeof(Number) == 2 ? 1 : sizeof(Number) == 4 ? 2 : 3;
    return names[size + (std::is_signed_v<Number> ? 0 : 4)];
}

/// Variables in this process's memory, which may be read where it is known.
class Values final : public CppEnvironment {
  public:
    template <typename Value>
    void add(const char* name, const Value& value, const std::string& description) {
        known.push_back({name, types_.parse(description)});
        auto& bytes = bytes_.emplace_back(sizeof value);
        std::memcpy(bytes.data(), &value, sizeof value);
    }
    template <typename Number>
    void add(const char* name, Number value) {
        add(name, value, description_of<Number>());
    }
    void readable(const void* address, std::size_t bytes) {
        memory_.emplace_back(reinterpret_cast<std::uint64_t>(address), bytes);
    }

    [[nodiscard]] const std::byte* variable(std::size_t index) const noexcept override {
        return bytes_[index].data();
    }
    [[nodiscard]] std::uint64_t address(std::size_t index) const noexcept override {
        return reinterpret_cast<std::uint64_t>(bytes_[index].data());
    }
    [[nodiscard]] bool read(std::uint64_t address, std::byte* target,
                            std::size_t bytes) const noexcept override {
        for (const auto& [first, size] : memory_) {
            if (address < first || address + bytes > first + size) continue;
            std::memcpy(target, reinterpret_cast<const void*>(address), bytes);
            return true;
        }
        return false;
    }
    [[nodiscard]] std::uint32_t special(CppSpecial which, unsigned axis) const noexcept override {
        return 10 * static_cast<std::uint32_t>(which) + axis;
    }

    std::vector<CppVariable> known;

  private:
    Types types_;
    std::vector<std::vector<std::byte>> bytes_;
    std::vector<std::pair<std::uint64_t, std::size_t>> memory_;
};

/// The value's bytes, by its type; what is wrong, as text, in `error`.
struct Found {
    std::vector<std::byte> bytes;
    TypeKind kind = TypeKind::unknown;
    std::string error;
};

Found found(const std::string& text, const Values& values) {
    try {
        const CppProgram program(text, values.known);
        CppScalar scalar;
        const CppFault fault = program.value(values, scalar);
        if (fault.kind != CppFault::Kind::none) return {{}, {}, fault.text()};
        return {bytes_of(scalar, *program.type()), program.type()->kind, {}};
    } catch (const ExpressionError& error) {
        return {{}, {}, error.what()};
    }
}

template <typename Number>
void expect_value(const std::string& text, const Values& values, Number expected) {
    const Found value = found(text, values);
    EXPECT_EQ(value.error, "") << text;
    ASSERT_EQ(value.bytes.size(), sizeof expected) << text;
    const TypeKind kind = std::is_same_v<Number, bool>       ? TypeKind::boolean
                          : std::is_floating_point_v<Number> ? TypeKind::floating
                          : std::is_signed_v<Number>         ? TypeKind::signed_number
                                                             : TypeKind::unsigned_number;
    // Debug information calls unsigned char a character.
    if (value.kind != TypeKind::character || !std::is_same_v<Number, unsigned char>)
        EXPECT_EQ(value.kind, kind) << text;
    Number number{};
    std::memcpy(&number, value.bytes.data(), sizeof number);
    if constexpr (std::is_floating_point_v<Number>)
        if (number != number && expected != expected) return;
    EXPECT_EQ(std::memcmp(&number, &expected, sizeof number), 0)
        << text << ": " << +number << ", not " << +expected;
}

#define SAME(...) expect_value(#__VA_ARGS__, values, __VA_ARGS__)

TEST(CppExpressions, literals_and_precedence_are_cpps) {
    Values values;
    SAME(1 + 2 * 3 - 4 / 3 % 5);
    SAME(1 << 3 + 1 | 7 & 3 ^ 9);
    SAME(0x7fffffff);
    SAME(0xffffffff);
    SAME(017 + 0);
    SAME(4000000000);
    SAME(3u - 5);
    SAME(3ul);
    SAME(1.5e-3);
    SAME(0.1f * 3);
    SAME(0.1 + 0.2);
    SAME(.5 + 1.);
    SAME(-7 / 2 * 2 + -7 % 2);
    SAME(!0 && 3 || 0);
    SAME(1 < 2 == true);
    SAME(5 > 3 ? 2 : 1.5);
    SAME(true ? 1 : 2 ? 3 : 4);
    SAME(~5 - -5 + +5);
    SAME((float)1 / 3);
    SAME(float(1) / 3);
    SAME(static_cast<double>(1) / 3);
    SAME((unsigned char)300);
    SAME((signed char)200 + 0);
    SAME((long)(unsigned)-1);
    SAME((bool)0.5);
    SAME(-1 < 1u);
    SAME((short)-1 < (unsigned short)1);
}

TEST(CppExpressions, integers_wrap_and_shifts_end) {
    Values values;
    expect_value("2147483647 + 1", values, std::numeric_limits<int>::min());
    expect_value("-2147483647 - 2", values, std::numeric_limits<int>::max());
    expect_value("(-2147483647 - 1) / -1", values, std::numeric_limits<int>::min());
    expect_value("(-2147483647 - 1) % -1", values, 0);
    expect_value("1 << 32", values, 0);
    expect_value("1l << 64", values, 0L);
    expect_value("-8 >> 40", values, -1);
    expect_value("8u >> 40", values, 0U);
    EXPECT_EQ(found("1 / 0", values).error, "integer division or modulo by zero");
    EXPECT_EQ(found("1 % (3 - 3)", values).error, "integer division or modulo by zero");
    expect_value("1.0 / 0", values, std::numeric_limits<double>::infinity());
    expect_value("0 != 0 && 1 / 0", values, false);  // the right side is not evaluated
    expect_value("true ? 3 : 1 / 0", values, 3);
    expect_value("(int)1e20", values, std::numeric_limits<int>::max());
    expect_value("(unsigned)-3.5", values, 0U);
    expect_value("(int)(0.0 / 0.0)", values, 0);
}

/// Every operator on every pair of types, with values from the corners.
template <typename Left, typename Right>
void expect_operators(std::mt19937_64& random) {
    for (int round = 0; round < 6; ++round) {
        const auto pick = [&]<typename Number>(Number) -> Number {
            if constexpr (std::is_same_v<Number, bool>) return random() % 2 == 0;
            if constexpr (std::is_floating_point_v<Number>)
                return static_cast<Number>(static_cast<double>(static_cast<std::int32_t>(random())) / 1000);
            const auto corner = random() % 4;
            if (corner == 0) return std::numeric_limits<Number>::max();
            if (corner == 1) return std::numeric_limits<Number>::min();
            return static_cast<Number>(random() >> (random() % 60));
        };
        const Left a = pick(Left{});
        Right b = pick(Right{});
        Values values;
        values.add("a", a);
        values.add("b", b);
        using Both = decltype(a + b);
        if constexpr (std::is_integral_v<Both>) {
            using Unsigned = std::make_unsigned_t<Both>;
            const auto left = static_cast<Unsigned>(static_cast<Both>(a)),
                       right = static_cast<Unsigned>(static_cast<Both>(b));
            expect_value("a + b", values, static_cast<Both>(left + right));
            expect_value("a - b", values, static_cast<Both>(left - right));
            expect_value("a * b", values, static_cast<Both>(left * right));
            SAME(a & b);
            SAME(a | b);
            SAME(a ^ b);
            SAME(~a);
            const bool overflows = std::is_signed_v<Both> && static_cast<Both>(b) == -1;
            if (b != 0 && !overflows) {
                SAME(a / b);
                SAME(a % b);
            }
        } else {
            SAME(a + b);
            SAME(a - b);
            SAME(a * b);
            if (b != 0) SAME(a / b);
        }
        SAME(a < b);
        SAME(a <= b);
        SAME(a > b);
        SAME(a >= b);
        SAME(a == b);
        SAME(a != b);
        SAME(a && b);
        SAME(a || b);
        SAME(!a);
        SAME(a < b ? a : b);
        SAME((float)a);
        SAME((double)b);
        if constexpr (std::is_integral_v<Left>) {
            SAME((short)a);
            SAME((unsigned long)a);
        }
    }
}

template <typename Left, typename... Rights>
void expect_operators_with(std::mt19937_64& random) {
    (expect_operators<Left, Rights>(random), ...);
}

template <typename... Numbers>
void expect_all_pairs() {
    std::mt19937_64 random(14);
    (expect_operators_with<Numbers, Numbers...>(random), ...);
}

TEST(CppExpressions, operators_on_all_types_are_cpps) {
    expect_all_pairs<bool, unsigned char, short, int, unsigned, long, unsigned long, float, double>();
}

struct Node {
    int mass;
    float weights[3];
    Node* next;
};
const std::string node_type =
    R"({"kind": "struct", "name": "Node", "bytes": 24, "members": [["mass", 0, {"kind": "signed", "name": "int", "bytes": 4}],
        ["weights", 4, {"kind": "sequence", "length": 3, "of": {"kind": "float", "name": "float", "bytes": 4}}],
        ["next", 16, {"kind": "pointer", "to": {"kind": "struct", "name": "Node", "bytes": 24, "members":
            [["mass", 0, {"kind": "signed", "name": "int", "bytes": 4}]]}}]]})";

class Memory : public ::testing::Test {
  protected:
    Memory() {
        values.add("node", node, node_type);
        values.add("p", &node, R"({"kind": "pointer", "to": )" + node_type + "}");
        values.add("r", &node, R"({"kind": "pointer", "reference": true, "to": )" + node_type + "}");
        values.add("numbers", numbers, R"({"kind": "sequence", "length": 4, "of": )" + int_type + "}");
        values.add("q", &numbers[1], R"({"kind": "pointer", "to": )" + int_type + "}");
        values.add("null", static_cast<int*>(nullptr), R"({"kind": "pointer", "to": )" + int_type + "}");
        values.add("wild", std::uint64_t{0x1234}, R"({"kind": "pointer", "to": )" + int_type + "}");
        values.add("i", 2);
        values.readable(&node, sizeof node);
        values.readable(&other, sizeof other);
        values.readable(numbers, sizeof numbers);
    }
    const std::string int_type = R"({"kind": "signed", "name": "int", "bytes": 4})";
    Node other{8, {}, nullptr};
    Node node{7, {0.5F, 1.5F, 2.5F}, &other};
    int numbers[4] = {10, 11, 12, 13};
    Values values;
};

TEST_F(Memory, members_elements_and_pointers) {
    expect_value("node.mass + p->mass + r.mass + (*p).mass", values, 28);
    expect_value("node.weights[i] + p->weights[1]", values, 4.0F);
    expect_value("p->next->mass", values, 8);
    expect_value("numbers[3] - numbers[i]", values, 1);
    expect_value("q[0] + *q + q[-1] + *(q + 2) + (q + 1)[0]", values, 11 + 11 + 10 + 13 + 12);
    expect_value("*numbers", values, 10);
    expect_value("&p->weights[2] - &p->weights[0]", values, 2L);
    expect_value("*&node.mass", values, 7);
    expect_value("p == p->next", values, false);
    expect_value("p && p->next != 0 && !null && null == nullptr", values, true);
    expect_value("*(float*)&p->weights[1]", values, 1.5F);
}

TEST_F(Memory, reads_are_checked) {
    EXPECT_EQ(found("numbers[4]", values).error, "index 4 is out of bounds for axis 0 with size 4");
    EXPECT_EQ(found("numbers[-1]", values).error, "index -1 is out of bounds for axis 0 with size 4");
    EXPECT_EQ(found("p->weights[i + 1]", values).error, "index 3 is out of bounds for axis 0 with size 3");
    EXPECT_EQ(found("*null", values).error, "a null pointer is dereferenced");
    EXPECT_EQ(found("*wild", values).error, "the thread may not read the memory at 0x1234");
    EXPECT_EQ(found("q[1000000]", values).error.substr(0, 38), "the thread may not read the memory at ");
}

TEST_F(Memory, places_are_known) {
    const CppProgram program("node.weights[1]", values.known);
    ASSERT_TRUE(program.is_place());
    CppPlace place;
    ASSERT_EQ(program.place(values, place).kind, CppFault::Kind::none);
    EXPECT_EQ(place.variable, 0U);
    EXPECT_EQ(place.offset, 8U);
    EXPECT_FALSE(CppProgram("node.mass + 1", values.known).is_place());
    EXPECT_FALSE(CppProgram("node", values.known).is_scalar());
}

TEST(CppExpressions, arrays_of_front_ends_have_indices) {
    const float data[6] = {0, 1, 2, 3, 4, 5};
    struct {
        const float* data;
        std::int64_t shape[2], strides[2];
    } const array{data, {2, 3}, {12, 4}};
    Values values;
    values.add("x", array,
               R"json({"kind": "struct", "name": "array(float32, 2d, C)", "bytes": 40, "members": [
        ["data", 0, {"kind": "pointer", "to": {"kind": "float", "name": "float32", "bytes": 4}}],
        ["shape", 8, {"kind": "sequence", "length": 2, "of": {"kind": "signed", "name": "int64", "bytes": 8}}],
        ["strides", 24, {"kind": "sequence", "length": 2, "of": {"kind": "signed", "name": "int64", "bytes": 8}}]]})json");
    values.readable(data, sizeof data);
    expect_value("x[1, 2]", values, 5.0F);
    expect_value("x[-1, 0] + x.shape[1]", values, 6.0F);
    EXPECT_EQ(found("x[1, 3]", values).error, "index 3 is out of bounds for axis 1 with size 3");
    EXPECT_EQ(found("x[-3, 0]", values).error, "index -3 is out of bounds for axis 0 with size 2");
    EXPECT_EQ(found("x[1]", values).error, "an array of 2 dimensions takes 2 indices, as in x[i, j]");
}

TEST(CppExpressions, special_registers) {
    Values values;
    expect_value("threadIdx.z", values, 2U);
    expect_value("blockIdx.y + blockDim.x * gridDim.y", values, 11U + 20U * 31U);
    expect_value("laneid", values, 40);
    expect_value("warpSize", values, 50);
    EXPECT_EQ(found("threadIdx.w", values).error, "'threadIdx' has the members x, y and z");
    EXPECT_EQ(found("threadIdx", values).error, "'threadIdx' has the members x, y and z");
    EXPECT_EQ(names_in_cpp("a + p->b[threadIdx.x] - a"), (std::vector<std::string>{"a", "p", "threadIdx"}));
}

TEST(CppExpressions, what_is_none_says_why) {
    Values values;
    values.add("i", 3);
    values.add("f", 1.5F);
    const std::array<std::pair<const char*, const char*>, 19> wrong{{
        {"", "column 1: the expression ends too early"},
        {"i +", "column 4: the expression ends too early"},
        {"i 3", "column 3: '3' was not expected"},
        {"(i", "column 3: ')' is missing"},
        {"i]", "column 2: ']' was not expected"},
        {"i = 3", "column 3: '=' was not expected"},
        {"nothing > 1", "there is no variable 'nothing' here"},
        {"i.mass", "int has no member 'mass'"},
        {"*i", "int is no pointer"},
        {"i->x", "int is no pointer"},
        {"i[0]", "int has no elements"},
        {"f % 2", "'%' takes integers only"},
        {"f << 1", "integers are shifted, by integers"},
        {"~f", "~ needs an integer"},
        {"&3", "& needs something that lies in memory"},
        {"sqrt(i)", "column 5: functions cannot be called here"},
        {"12abc", "column 1: '12abc' is no number"},
        {"99999999999999999999", "column 1: '99999999999999999999' does not fit into 64 bits"},
        {"(unsigned float)i", "column 16: 'unsigned float' is no type"},
    }};
    for (const auto& [text, error] : wrong) EXPECT_EQ(found(text, values).error, error) << text;
    for (const char* many : {"(", "-", "!", "1?1:", "i["}) {
        std::string deep;
        for (int i = 0; i < 100'000; ++i) deep += many;
        EXPECT_NE(found(deep, values).error.find("too deeply"), std::string::npos) << many;
    }
}

TEST(CppExpressions, any_text_is_answered) {
    Values values;
    values.add("i", 3);
    values.add("p", static_cast<int*>(nullptr),
               R"({"kind": "pointer", "to": {"kind": "signed", "name": "int", "bytes": 4}})");
    constexpr std::array words{"i",    "p",  "(",     ")",     "[",         "]",  "+",  "-", "*", "/",
                               "%",    "?",  ":",     "->",    ".",         "&&", "&",  "!", "~", "1",
                               "2.5f", "0x", "float", "(int)", "threadIdx", "x",  "<<", ",", "'", "\\"};
    std::mt19937 random(7);
    int good = 0;
    for (int round = 0; round < 20'000; ++round) {
        std::string text;
        for (unsigned i = random() % 9 + 1; i != 0; --i)
            text += std::string(words[random() % words.size()]) + " ";
        good += found(text, values).error.empty() ? 1 : 0;
    }
    EXPECT_GT(good, 100);
}

}  // namespace
}  // namespace cudasim::debugger
