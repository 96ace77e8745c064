// Random kernels leave the same bytes whether their threads run in groups (simulator/jit/thread_groups.h) or
// one by one. They are defined whatever they compute: each thread writes what only it uses, divisors are not
// 0, and no NaN is stored, whose bits nobody promises.
#include <array>
#include <map>
#include <random>

#include "tests/simulator/execution/group_kernels.h"

namespace cudasim::execution {
namespace {

constexpr std::uint32_t regions = 64, region_bytes = 16384;

class Writer {
  public:
    explicit Writer(std::uint64_t seed) : random_(seed) {}

    /// Of (p, q, n): reads anything of p, and uses its own elements in the regions of q.
    std::string kernel() {
        text_ = head;
        pools_ = {{"i32", {"%x", "%y", "%gid", "%m", "5"}},
                  {"i64", {"%gid64", "%n", "%x64", "-3"}},
                  {"double", {"1.5", "%xd"}},
                  {"float", {"-0.0", "0.75"}},
                  {"i16", {"%x16", "77"}},
                  {"i8", {"%x8", "3"}}};
        statements(6 + below(14), 2);
        for (const char* type : {"double", "i32", "float", "i64", "i8", "i16"}) store(type, any(type));
        return text_ + "ret void\n}\n" + std::string(declarations);
    }

  private:
    static constexpr const char* head = R"(
@own = internal addrspace(3) global [1024 x i64] poison, align 8
define void @k(ptr %p, ptr %q, i64 %n) {
entry:
  %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %y = call i32 @llvm.nvvm.read.ptx.sreg.tid.y()
  %z = call i32 @llvm.nvvm.read.ptx.sreg.tid.z()
  %nx = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %ny = call i32 @llvm.nvvm.read.ptx.sreg.ntid.y()
  %nz = call i32 @llvm.nvvm.read.ptx.sreg.ntid.z()
  %c = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %planes = mul i32 %c, %nz
  %plane = add i32 %planes, %z
  %rows = mul i32 %plane, %ny
  %row = add i32 %rows, %y
  %begin = mul i32 %row, %nx
  %gid = add i32 %begin, %x
  %gid64 = zext i32 %gid to i64
  %zrows = mul i32 %z, %ny
  %zrow = add i32 %zrows, %y
  %zbegin = mul i32 %zrow, %nx
  %linear = add i32 %zbegin, %x
  %m = trunc i64 %n to i32
  %x64 = zext i32 %x to i64
  %x16 = trunc i32 %x to i16
  %x8 = trunc i32 %x to i8
  %xd = uitofp i32 %x to double
)";
    static constexpr const char* declarations = R"(
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.y()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.z()
declare double @llvm.sqrt.f64(double)
declare double @llvm.floor.f64(double)
declare double @llvm.fabs.f64(double)
declare double @llvm.ceil.f64(double)
declare double @llvm.minnum.f64(double, double)
declare double @llvm.maxnum.f64(double, double)
declare double @llvm.fma.f64(double, double, double)
declare float @llvm.sqrt.f32(float)
declare float @llvm.floor.f32(float)
declare float @llvm.fabs.f32(float)
declare float @llvm.ceil.f32(float)
declare float @llvm.minnum.f32(float, float)
declare float @llvm.maxnum.f32(float, float)
declare float @llvm.fma.f32(float, float, float)
)";
    static constexpr std::array<const char*, 4> wholes{"i8", "i16", "i32", "i64"};
    static constexpr std::array<const char*, 2> floats{"float", "double"};

    std::uint64_t below(std::uint64_t end) { return random_() % end; }
    bool one_in(std::uint64_t many) { return below(many) == 0; }
    template <typename List>
    auto pick(const List& list) {
        return list[below(list.size())];
    }
    std::string any(const std::string& type) { return pick(pools_[type]); }
    std::string name() { return "%v" + std::to_string(++names_); }
    std::string label() { return "l" + std::to_string(++names_); }
    static bool is_float(const std::string& type) { return type == "float" || type == "double"; }
    static unsigned bytes_of(const std::string& type) {
        if (type == "float") return 4;
        if (type == "double") return 8;
        return static_cast<unsigned>(std::stoul(type.substr(1))) / 8;
    }
    std::string any_type() { return one_in(2) ? pick(floats) : pick(wholes); }

    /// `code` computes the result.
    std::string add(const std::string& code) {
        const std::string result = name();
        text_ += result + " = " + code + "\n";
        return result;
    }
    void add(const std::string& type, const std::string& code) { keep(type, add(code)); }
    void keep(const std::string& type, const std::string& value) {
        auto& pool = pools_[type];
        pool.push_back(value);
        if (pool.size() > 8) pool.erase(pool.begin() + static_cast<std::ptrdiff_t>(below(4)));
    }
    void begin(const std::string& block) {
        text_ += block + ":\n";
        block_ = block;
    }

    void statements(std::uint64_t count, unsigned depth) {
        for (; count > 0; --count) statement(depth);
    }

    void statement(unsigned depth) {
        const std::string type = any_type();
        switch (below(16)) {
            case 0:
            case 1:
                return keep(type, load(type));
            case 2:
                if (one_in(3)) store(type, any(type));
                return;
            case 3:
                return convert();
            case 4: {
                const std::string condition = compare();
                return add(type, "select i1 " + condition + ", " + type + " " + any(type) + ", " + type +
                                     " " + any(type));
            }
            case 5:
                if (depth != 0) return branch(depth - 1);
                return;
            case 6:
                if (depth != 0) return loop(depth - 1);
                return;
            case 7:
                return own_element();
            case 8:
                if (one_in(4)) return leave_early();
                return;
            default:
                return is_float(type) ? compute_float(type) : compute_whole(type);
        }
    }

    void compute_float(const std::string& type) {
        static constexpr std::array operations{"fadd", "fsub", "fmul", "fdiv"};
        static constexpr std::array functions{"sqrt", "floor", "fabs", "ceil"};
        static constexpr std::array of_two{"minnum", "maxnum"};
        const std::string suffix = type == "float" ? ".f32(" : ".f64(";
        const auto argument = [&] { return type + " " + any(type); };
        switch (below(8)) {
            case 0:
                return add(type, "call " + type + " @llvm." + pick(functions) + suffix + argument() + ")");
            case 1:
                return add(type, "call " + type + " @llvm." + pick(of_two) + suffix + argument() + ", " +
                                     argument() + ")");
            case 2:
                return add(type, "call " + type + " @llvm.fma" + suffix + argument() + ", " + argument() +
                                     ", " + argument() + ")");
            case 3:
                return add(type, "fneg " + argument());
            default:
                return add(type, std::string(pick(operations)) + " " + argument() + ", " + any(type));
        }
    }

    void compute_whole(const std::string& type) {
        static constexpr std::array operations{"add", "sub", "mul",  "and", "or",
                                               "xor", "shl", "lshr", "ashr"};
        static constexpr std::array divisions{"udiv", "sdiv", "urem", "srem"};
        std::string other = any(type);
        std::string operation = pick(operations);
        if (one_in(6)) {
            operation = pick(divisions);
            other = add("or " + type + " " + other + ", 1");
        } else if (operation == "shl" || operation == "lshr" || operation == "ashr") {
            other = add("and " + type + " " + other + ", " + std::to_string(bytes_of(type) * 8 - 1));
        } else if (one_in(3)) {
            other = std::to_string(below(120));
        }
        add(type, operation + " " + type + " " + any(type) + ", " + other);
    }

    void convert() {
        const std::string from = any_type(), to = any_type();
        const unsigned narrow = bytes_of(from), wide = bytes_of(to);
        std::string operation;
        if (is_float(from) && is_float(to))
            operation = narrow < wide ? "fpext" : "fptrunc";
        else if (is_float(from))
            operation = one_in(2) ? "fptosi" : "fptoui";
        else if (is_float(to))
            operation = one_in(2) ? "sitofp" : "uitofp";
        else
            operation = narrow > wide ? "trunc" : one_in(2) ? "sext" : "zext";
        if (from != to) add(to, operation + " " + from + " " + any(from) + " to " + to);
    }

    std::string compare() {
        static constexpr std::array predicates{"eq", "ne", "slt", "sge", "ult", "ugt"};
        static constexpr std::array of_floats{"olt", "oge", "une", "ult"};
        const std::string type = any_type();
        const std::string how =
            is_float(type) ? std::string("fcmp ") + pick(of_floats) : std::string("icmp ") + pick(predicates);
        return add(how + " " + type + " " + any(type) + ", " + any(type));
    }

    std::string load(const std::string& type) {
        std::string index;
        switch (below(6)) {
            case 0:
                index = add("add i64 %gid64, " + std::to_string(below(64)));
                break;
            case 1: {
                const std::string narrow = add("add i32 %gid, " + std::to_string(below(64)));
                index = add(std::string(one_in(2) ? "sext" : "zext") + " i32 " + narrow + " to i64");
                break;
            }
            case 2: {
                const std::string twice = add("mul i64 %gid64, " + std::to_string(1 + below(3)));
                index = add("add i64 " + twice + ", " + std::to_string(below(9)));
                break;
            }
            case 3:
                index = add("sub i64 1500, %gid64");
                break;
            case 4:
                index = "7";
                break;
            default:
                index = add("and i64 " + any("i64") + ", 1023");
        }
        return read(type, "%p", index);
    }

    std::string read(const std::string& type, const std::string& base, const std::string& index) {
        const std::string address = add("getelementptr " + type + ", ptr " + base + ", i64 " + index);
        return add("load " + type + ", ptr " + address + ", align " + std::to_string(bytes_of(type)));
    }

    /// Into an element that no other thread uses, and perhaps reads it again.
    void store(const std::string& type, std::string value) {
        if (is_float(type)) {
            const std::string bad = add("fcmp uno " + type + " " + value + ", 0.0");
            value = add("select i1 " + bad + ", " + type + " 1.0, " + type + " " + value);
        }
        std::string index = "%gid64";
        switch (below(6)) {
            case 0:
                index = add("sub i64 1023, %gid64");
                break;
            case 1:
                index = add("shl i64 %gid64, 1");
                break;
            case 2: {
                const std::string spread = add("mul i64 %gid64, 37");
                index = add("and i64 " + spread + ", 1023");
                break;
            }
            default:
                break;
        }
        const std::string region =
            add("getelementptr i8, ptr %q, i64 " + std::to_string(region_ * region_bytes));
        region_ = (region_ + 1) % regions;
        const std::string address = add("getelementptr " + type + ", ptr " + region + ", i64 " + index);
        text_ += "store " + type + " " + value + ", ptr " + address + ", align " +
                 std::to_string(bytes_of(type)) + "\n";
        if (one_in(3))
            add(type, "load " + type + ", ptr " + address + ", align " + std::to_string(bytes_of(type)));
    }

    /// Of shared memory, without a barrier.
    void own_element() {
        const std::string address =
            add("getelementptr [1024 x i64], ptr addrspace(3) @own, i64 0, i32 %linear");
        text_ += "store i64 " + any("i64") + ", ptr addrspace(3) " + address + ", align 8\n";
        add("i64", "load i64, ptr addrspace(3) " + address + ", align 8");
    }

    void leave_early() {
        const std::string condition = compare(), over = label(), on = label();
        text_ += "br i1 " + condition + ", label %" + over + ", label %" + on + "\n";
        begin(over);
        text_ += "ret void\n";
        begin(on);
    }

    void branch(unsigned depth) {
        const std::string condition = compare(), yes = label(), no = label(), on = label();
        const std::string type = any_type();
        const auto before = pools_;
        text_ += "br i1 " + condition + ", label %" + yes + ", label %" + no + "\n";
        std::array<std::string, 2> values, blocks;
        for (unsigned i = 0; i < 2; ++i) {
            begin(i == 0 ? yes : no);
            statements(below(4), depth);
            values[i] = any(type);
            blocks[i] = block_;
            text_ += "br label %" + on + "\n";
            pools_ = before;
        }
        begin(on);
        add(type, "phi " + type + " [" + values[0] + ", %" + blocks[0] + "], [" + values[1] + ", %" +
                      blocks[1] + "]");
    }

    void loop(unsigned depth) {
        std::string count = std::to_string(2 + below(7));
        if (one_in(2))
            count = add("or i32 1, " + add(std::string("and i32 7, ") + pick(std::array{"%m", "%y"})));
        if (one_in(8)) count = add("or i32 1, " + add("and i32 7, " + any("i32")));
        const std::string head_block = label(), on = label(), before_block = block_;
        const std::string type = any_type(), first = any(type), first_index = any("i64");
        text_ += "br label %" + head_block + "\n";
        begin(head_block);
        const std::size_t phis = text_.size();
        const auto before = pools_;
        const std::string round = name(), value = name(), index = name();
        keep("i32", round);
        keep(type, value);
        keep("i64", index);
        statements(1 + below(5), depth);
        const std::string next = any(type);
        const std::string next_index =
            add("add i64 " + index + ", " + (one_in(2) ? std::to_string(below(100)) : std::string("%n")));
        const std::string next_round = add("add i32 " + round + ", 1");
        const std::string more = add("icmp ult i32 " + next_round + ", " + count);
        const auto phi = [&](const std::string& result, const std::string& of, const std::string& start,
                             const std::string& again) {
            return result + " = phi " + of + " [" + start + ", %" + before_block + "], [" + again + ", %" +
                   block_ + "]\n";
        };
        text_.insert(phis, phi(round, "i32", "0", next_round) + phi(value, type, first, next) +
                               phi(index, "i64", first_index, next_index));
        text_ += "br i1 " + more + ", label %" + head_block + ", label %" + on + "\n";
        begin(on);
        pools_ = before;
        keep(type, next);
        keep("i64", next_index);
    }

    std::mt19937_64 random_;
    std::string text_, block_ = "entry";
    std::map<std::string, std::vector<std::string>> pools_;
    std::uint32_t names_ = 0, region_ = 0;
};

class RandomGroups : public ::testing::Test {
  protected:
    RandomGroups() {
        std::mt19937_64 random(5);
        for (unsigned i = 0; i < input_.size(); i += 8) {
            const std::uint64_t bits = random();
            // Numbers that are of use to all types: small whole ones, floats and doubles.
            const auto number = static_cast<double>(bits % 4000) / 16 - 120;
            const std::array<float, 2> pair{static_cast<float>(number), static_cast<float>(bits % 64)};
            if (bits >> 62 == 0) std::memcpy(&input_[i], &bits, 8);
            if (bits >> 62 == 1) std::memcpy(&input_[i], pair.data(), 8);
            if (bits >> 62 >= 2) std::memcpy(&input_[i], &number, 8);
        }
    }

    /// All that a kernel can write.
    std::vector<std::uint8_t> results(LoadedImage& image, Dim3 block, Carrier carrier, std::uint64_t n) {
        DeviceArray<std::uint8_t> p(input_.size()), q(regions * region_bytes);
        device().copy_to_device(p.pointer(), input_.data(), input_.size());
        const LaunchResult result =
            launch(image, {2}, block, unchecked(carrier), p.pointer(), q.pointer(), n);
        EXPECT_TRUE(result.findings.empty()) << messages(result);
        return q.read();
    }

    std::vector<std::uint8_t> input_ = std::vector<std::uint8_t>(65536);
};

TEST_F(RandomGroups, leave_the_same_bytes_as_threads_alone) {
    constexpr std::array<Dim3, 5> blocks{Dim3{64, 1, 1}, Dim3{19, 3, 1}, Dim3{8, 4, 2}, Dim3{30, 5, 1},
                                         Dim3{200, 1, 1}};
    constexpr unsigned rounds = 120;
    unsigned grouped = 0;
    for (unsigned round = 0; round < rounds; ++round) {
        const std::string code = Writer(round).kernel();
        const auto image = device().load(ir_image(code));
        grouped += has_groups(*image, unchecked(Carrier::automatic));
        const Dim3 block = blocks[round % blocks.size()];
        ASSERT_EQ(results(*image, block, Carrier::fiber, round),
                  results(*image, block, Carrier::automatic, round))
            << code;
    }
    EXPECT_GT(grouped, rounds / 3);
}

}  // namespace
}  // namespace cudasim::execution
