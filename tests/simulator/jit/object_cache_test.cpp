// The object cache: a kernel from it is the kernel that was compiled, and nothing else is ever taken for one.
#include "simulator/jit/object_cache.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "kernels.h"
#include "machine.h"
#include "simulator/jit/build_id.h"
#include "temporary_folder.h"

namespace cudasim::jit::testing {
namespace {

namespace fs = std::filesystem;

/// Stores, per thread, what distinguishes one kernel from the next.
std::string storing(int value, const std::string& name = "k") {
    return module_head() + R"(
@table = addrspace(1) global [3 x i32] [i32 1, i32 2, i32 3]
@message = addrspace(1) global ptr addrspacecast (ptr addrspace(1) @table to ptr)
@tile = internal addrspace(3) global [8 x i64] undef, align 16
define void @)" +
           name + R"((ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %wide = zext i32 %tid to i64
  %slot = getelementptr i64, ptr addrspace(3) @tile, i64 %wide
  store i64 )" +
           std::to_string(value) + R"(, ptr addrspace(3) %slot
  call void @llvm.nvvm.barrier0()
  %stored = load i64, ptr addrspace(3) %slot
  %place = getelementptr i64, ptr addrspace(1) %out, i64 %wide
  store i64 %stored, ptr addrspace(1) %place
  %third = getelementptr i32, ptr addrspace(1) @table, i64 2
  store volatile i32 9, ptr addrspace(1) %third
  ret void
}
)" + kernels({name.c_str()});
}

image::KernelImage image_of(const std::string& text) {
    return image::KernelImage::from_ir_text(text);
}

class ObjectCacheTest : public ::testing::Test {
  protected:
    TemporaryFolder temporary;
    ObjectCache& cache = ObjectCache::instance();
    bool was_on = cache.is_on();

    void SetUp() override {
        if (was_on) GTEST_SKIP() << "the whole program runs on a cache";
        ASSERT_FALSE(use());
    }
    void TearDown() override {
        if (!was_on) cache.switch_off();
    }
    std::optional<FolderProblem> use(std::uint64_t limit = 1 << 20) {
        return cache.use(temporary.path().string(), limit);
    }
    [[nodiscard]] FolderUsage usage() const { return CacheFolder(temporary.path().string(), 0).usage(); }
    [[nodiscard]] fs::path entry() const {
        for (const auto& file : fs::directory_iterator(temporary.path()))
            if (file.path().extension() == ".kernel") return file.path();
        return {};
    }
    std::shared_ptr<const CompiledKernel> compile(int value = 5, CompileOptions options = {}) {
        return compile_kernel(image_of(storing(value)), "k", options, defined_hooks());
    }
    static std::vector<std::byte> read(const fs::path& path) {
        std::ifstream file(path, std::ios::binary);
        const std::string text((std::istreambuf_iterator<char>(file)), {});
        const auto* first = reinterpret_cast<const std::byte*>(text.data());
        return {first, first + text.size()};
    }
    static void write(const fs::path& path, std::span<const std::byte> bytes) {
        std::ofstream(path, std::ios::binary | std::ios::trunc)
            .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    }
};

std::string text_of(const CompiledKernel& kernel) {
    const auto bytes = write_entry("", kernel, "");
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST_F(ObjectCacheTest, a_kernel_from_the_cache_is_the_kernel_that_was_compiled) {
    const auto cold = compile();
    const auto warm = compile();
    EXPECT_EQ(usage().hits, 1U);
    EXPECT_EQ(usage().misses, 1U);
    EXPECT_EQ(text_of(*warm), text_of(*cold));  // every member of KernelFacts
    EXPECT_TRUE(warm->waits);
    EXPECT_EQ(warm->shared_variables.size(), 1U);
    EXPECT_EQ(warm->globals->variables.size(), 2U);
    EXPECT_EQ(warm->globals->relocations.size(), 1U);
    EXPECT_EQ(warm->globals->initial, cold->globals->initial);
    EXPECT_GT(warm->frame_bytes, 0U);
    EXPECT_FALSE(warm->sites.empty());
    EXPECT_NE(warm->entry, cold->entry);
}

TEST_F(ObjectCacheTest, a_kernel_from_the_cache_runs) {
    for (int round = 0; round < 2; ++round) {
        Buffer<std::int64_t> out(std::vector<std::int64_t>(1, 0));
        Machine machine(storing(77));
        machine.run("k", {}, {out.address()});
        EXPECT_EQ(out[0], 77);
    }
    EXPECT_EQ(usage().hits, 1U);
}

TEST_F(ObjectCacheTest, everything_that_code_depends_on_is_in_the_key) {
    const std::string key = cache_key(image_of(storing(5)), "k", {});
    EXPECT_NE(key, cache_key(image_of(storing(6)), "k", {}));
    EXPECT_NE(key, cache_key(image_of(storing(5)), "other", {}));
    EXPECT_NE(key, cache_key(image_of(storing(5)), "k", {.instrumentations = {&safepoint_polls()}}));
    EXPECT_NE(key, cache_key(image_of(storing(5)), "k", {.fma_contraction = true}));
    EXPECT_NE(key, cache_key(image_of(storing(5)), "k", {.optimisation = 0}));
    EXPECT_EQ(key, cache_key(image_of(storing(5)), "k", {}));
    const std::string own = build_id_of(reinterpret_cast<const void*>(&cache_key));
    EXPECT_GE(own.size(), 32U);
#if defined(__aarch64__)
    const std::string feature = "+neon";
#else
    const std::string feature = "+sse2";
#endif
    for (const std::string& part : {own, std::string("llvm 19."), feature})
        EXPECT_NE(key.find(part), std::string::npos) << part << " is not in\n" << key;
}

TEST_F(ObjectCacheTest, source_texts_are_not_in_the_key) {
    const auto with_source = image::KernelImage::from_ir_text(storing(5), {{"a.py", "x = 1"}});
    EXPECT_EQ(cache_key(image_of(storing(5)), "k", {}), cache_key(with_source, "k", {}));
}

TEST_F(ObjectCacheTest, every_changed_byte_of_an_entry_is_noticed) {
    (void)compile();
    const auto key = cache_key(image_of(storing(5)), "k", {});
    const auto whole = read(entry());
    ASSERT_GT(whole.size(), 1000U);
    ASSERT_TRUE(read_entry(key, whole));
    for (std::size_t i = 0; i < whole.size(); ++i) {
        auto changed = whole;
        changed[i] ^= std::byte{0x04};
        ASSERT_FALSE(read_entry(key, changed)) << "byte " << i;
    }
}

TEST_F(ObjectCacheTest, every_truncation_and_every_byte_too_many_is_noticed) {
    (void)compile();
    const auto key = cache_key(image_of(storing(5)), "k", {});
    auto whole = read(entry());
    for (std::size_t size = 0; size < whole.size(); ++size)
        ASSERT_FALSE(read_entry(key, std::span(whole).first(size))) << size;
    whole.push_back(std::byte{0});
    EXPECT_FALSE(read_entry(key, whole));
}

TEST_F(ObjectCacheTest, damaged_entries_are_replaced) {
    (void)compile();
    const auto path = entry();
    const auto whole = read(path);
    std::uint64_t misses = 1;
    // The header, the checksum, the key, what is known about the kernel, the code, the end.
    for (const std::size_t at : {std::size_t{0}, std::size_t{20}, std::size_t{60}, whole.size() / 2,
                                 whole.size() * 3 / 4, whole.size() - 1}) {
        auto changed = whole;
        changed[at] ^= std::byte{0x80};
        write(path, changed);
        EXPECT_EQ(text_of(*compile()), text_of(*compile())) << at;
        EXPECT_EQ(usage().misses, ++misses) << at;
        EXPECT_EQ(read(path), whole) << at;
    }
    for (const std::size_t size : {std::size_t{0}, std::size_t{7}, whole.size() / 2}) {
        write(path, std::span(whole).first(size));
        (void)compile();
        EXPECT_EQ(read(path), whole) << size;
    }
}

TEST_F(ObjectCacheTest, the_entry_of_another_kernel_is_not_taken) {
    (void)compile(5);
    const auto five = entry();
    const auto bytes = read(five);
    fs::remove(five);
    (void)compile(6);
    write(entry(), bytes);
    Buffer<std::int64_t> out(std::vector<std::int64_t>(1, 0));
    Machine machine(storing(6));
    machine.run("k", {}, {out.address()});
    EXPECT_EQ(out[0], 6);
}

TEST_F(ObjectCacheTest, what_cannot_be_linked_is_compiled_again) {
    const auto image = image_of(storing(5));
    llvm::SmallVector<char, 0> nonsense(100, 'x');
    cache.store(cache_key(image, "k", {}), KernelFacts{}, nonsense);
    EXPECT_EQ(compile()->name, "k");
    EXPECT_EQ(text_of(*compile()), text_of(*compile()));
}

TEST_F(ObjectCacheTest, threads_and_forked_processes_share_it) {
    std::vector<pid_t> children;
    std::thread compiling([this] {
        for (int value = 0; value < 8; ++value) (void)compile(value);
    });
    for (int child = 0; child < 8; ++child) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));  // so that forks meet compilations
        const pid_t pid = ::fork();
        if (pid == 0) {
            ::alarm(60);
            bool good = true;
            for (int value = 0; value < 8; ++value) good = good && compile(value)->name == "k";
            ::_exit(good ? 0 : 1);
        }
        children.push_back(pid);
    }
    compiling.join();
    for (const pid_t pid : children) {
        int status = -1;
        ASSERT_EQ(::waitpid(pid, &status, 0), pid);
        EXPECT_EQ(status, 0);
    }
    EXPECT_EQ(usage().entries, 8U);
    EXPECT_EQ(usage().hits + usage().misses, 72U);
    for (int value = 0; value < 8; ++value)
        EXPECT_TRUE(cache.find(cache_key(image_of(storing(value)), "k", {})));
}

TEST_F(ObjectCacheTest, an_unsafe_folder_is_not_used) {
    fs::permissions(temporary.path(), fs::perms::all);
    const auto problem = use();
    ASSERT_TRUE(problem);
    EXPECT_TRUE(problem->unsafe);
    EXPECT_FALSE(cache.is_on());
    (void)compile();
    EXPECT_TRUE(fs::is_empty(temporary.path()));
}

TEST(BuildId, is_that_of_the_file_an_address_lies_in) {
    const std::string own = build_id_of(reinterpret_cast<const void*>(&build_id_of));
    EXPECT_GE(own.size(), 32U);
    EXPECT_EQ(own.find_first_not_of("0123456789abcdef"), std::string::npos);
    EXPECT_NE(own, build_id_of(reinterpret_cast<const void*>(&::puts)));
    EXPECT_EQ(build_id_of(nullptr), "");
}

}  // namespace
}  // namespace cudasim::jit::testing
