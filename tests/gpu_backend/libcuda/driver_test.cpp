// Finding NVIDIA's driver, and what is said where there is none: with the stand-in of stand_in/.

#include "gpu_backend/libcuda/driver.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

namespace cudasim::libcuda {
namespace {

namespace fs = std::filesystem;

const fs::path stand_in = CUDASIM_STAND_IN_DRIVER;

class RealDriver : public testing::Test {
  protected:
    void SetUp() override {
        std::string pattern = (fs::temp_directory_path() / "libcuda_test_XXXXXX").string();
        ASSERT_NE(mkdtemp(pattern.data()), nullptr);
        folder = pattern;
        for (const char* variable : {"CUDASIM_TEST_LIBCUDA", "CUDASIM_LIBCUDA", "CUDA_VISIBLE_DEVICES"})
            unsetenv(variable);
    }
    void TearDown() override { fs::remove_all(folder); }

    /// What is found in a driver that CUDASIM_TEST_LIBCUDA makes such.
    static Inventory stand_in_that(const std::string& is_told) {
        setenv("CUDASIM_TEST_LIBCUDA", is_told.c_str(), 1);
        return take_inventory({.named = stand_in});
    }

    /// A name that no dynamic linker knows, so that the driver of this machine has no part in the test.
    static Search search_in(std::vector<fs::path> folders) {
        return {.soname = "libcuda_of_a_test.so.1", .folders = std::move(folders)};
    }

    fs::path text_file(const fs::path& path) {
        fs::create_directories(path.parent_path());
        std::ofstream(path) << "not a library\n";
        return path;
    }

    fs::path folder;
};

void expect(const Inventory& inventory, Outcome outcome, const std::vector<std::string>& words) {
    EXPECT_EQ(name_of(inventory.outcome), name_of(outcome));
    for (const auto& word : words)
        EXPECT_NE(inventory.message.find(word), std::string::npos)
            << "'" << word << "' in: " << inventory.message;
    EXPECT_EQ(inventory.gpus.size() > 0, outcome == Outcome::found);
}

std::string joined(const std::vector<std::string>& lines) {
    std::string text;
    for (const auto& line : lines) text += line + "\n";
    return text;
}

TEST_F(RealDriver, is_what_CUDASIM_LIBCUDA_names) {
    setenv("CUDASIM_LIBCUDA", stand_in.c_str(), 1);
    const auto inventory = take_inventory(Search::on_this_machine());
    expect(inventory, Outcome::found, {});
    EXPECT_EQ(inventory.library, stand_in);
    EXPECT_EQ(inventory.driver, (Version{13, 0}));
    ASSERT_EQ(inventory.gpus.size(), 1U);
    EXPECT_EQ(inventory.gpus[0].name, "Stand-in GPU A");
    EXPECT_EQ(inventory.gpus[0].compute_capability, (Version{9, 0}));
    EXPECT_EQ(inventory.gpus[0].memory, std::uint64_t{24} << 30);
    EXPECT_TRUE(inventory.gpus[0].virtual_memory);
    EXPECT_TRUE(inventory.missing_functions.empty());
    EXPECT_EQ(
        joined(lines_of(inventory)),
        "GPU: Stand-in GPU A, compute capability 9.0, 24.0 GiB, driver 13.0 (" + stand_in.string() + ")\n");
}

TEST_F(RealDriver, named_and_absent_is_an_error_and_nothing_else_is_tried) {
    Search search = search_in({stand_in.parent_path()});
    search.soname = stand_in.filename();
    EXPECT_EQ(take_inventory(search).outcome, Outcome::found);
    search.named = folder / "absent.so";
    const auto inventory = take_inventory(search);
    expect(
        inventory, Outcome::no_driver,
        {"CUDASIM_LIBCUDA names " + (folder / "absent.so").string(), "does not exist", "unset the variable"});
    EXPECT_EQ(joined(lines_of(inventory)), "GPU: none: " + inventory.message + "\n");
}

TEST_F(RealDriver, named_that_is_no_library) {
    const auto file = text_file(folder / "text.so");
    expect(take_inventory({.named = file}), Outcome::broken_driver,
           {"CUDASIM_LIBCUDA names does not load", file.string()});
    expect(take_inventory({.named = folder}), Outcome::broken_driver, {folder.string()});
}

TEST_F(RealDriver, named_by_a_path_from_the_working_directory) {
    const auto before = fs::current_path();
    fs::current_path(stand_in.parent_path());
    EXPECT_EQ(take_inventory({.named = stand_in.filename()}).library, stand_in);
    fs::current_path(before);
}

TEST_F(RealDriver, an_empty_variable_is_not_set) {
    setenv("CUDASIM_LIBCUDA", "", 1);
    EXPECT_FALSE(Search::on_this_machine().named);
}

TEST_F(RealDriver, of_WSL_is_looked_for_last) {
    const auto search = Search::on_this_machine();
    EXPECT_EQ(search.soname, "libcuda.so.1");
    EXPECT_EQ(search.folders.back(), "/usr/lib/wsl/lib");
    EXPECT_GT(search.folders.size(), 3U);
}

TEST_F(RealDriver, is_nowhere) {
    expect(take_inventory(search_in({folder / "a", folder / "b"})), Outcome::no_driver,
           {(folder / "a").string() + ", " + (folder / "b").string(), "libcuda_of_a_test.so.1",
            "CUDASIM_LIBCUDA"});
}

TEST_F(RealDriver, is_found_in_a_folder) {
    fs::create_directories(folder / "b");
    fs::create_symlink(stand_in, folder / "b/libcuda_of_a_test.so.1");
    expect(take_inventory(search_in({folder / "a", folder / "b"})), Outcome::found, {});
}

TEST_F(RealDriver, a_file_that_does_not_load_does_not_hide_the_next) {
    text_file(folder / "a/libcuda_of_a_test.so.1");
    expect(take_inventory(search_in({folder / "a"})), Outcome::broken_driver,
           {"does not load", (folder / "a/libcuda_of_a_test.so.1").string()});
    fs::create_directories(folder / "b");
    fs::create_symlink(stand_in, folder / "b/libcuda_of_a_test.so.1");
    expect(take_inventory(search_in({folder / "a", folder / "b"})), Outcome::found, {});
}

TEST_F(RealDriver, a_library_of_other_things_is_none) {
    Dl_info mathematics{};
    ASSERT_NE(dladdr(dlsym(RTLD_DEFAULT, "cos"), &mathematics), 0);
    expect(take_inventory({.named = mathematics.dli_fname}), Outcome::broken_driver,
           {"is not a CUDA driver: it has no cuInit", mathematics.dli_fname});
    expect(stand_in_that("missing=all"), Outcome::broken_driver, {"has no cuInit", stand_in.string()});
    expect(stand_in_that("missing=cuDriverGetVersion"), Outcome::broken_driver,
           {"has no cuDriverGetVersion"});
}

TEST_F(RealDriver, without_a_required_function_is_broken) {
    expect(stand_in_that("missing=cuMemMap"), Outcome::broken_driver,
           {stand_in.string() + " (13.0) lacks cuMemMap, which cudasim needs"});
    expect(stand_in_that("missing=cuMemAlloc_v2;missing=cuMemMap;missing=cuMemUnmap;missing=cuEventQuery"),
           Outcome::broken_driver, {"lacks cuMemAlloc_v2, cuMemMap, cuMemUnmap and another function, which"});
    expect(stand_in_that("missing=cuMemAlloc_v2;missing=cuMemMap;missing=cuMemUnmap;missing=cuEventQuery;"
                         "missing=cuEventRecord"),
           Outcome::broken_driver, {"and 2 other functions, which"});
}

TEST_F(RealDriver, every_required_function_is_required) {
    for (const auto& row : function_rows()) {
        if (row.need == Need::optional) continue;
        const auto inventory = stand_in_that(std::string("missing=") + row.symbol);
        EXPECT_EQ(inventory.outcome, Outcome::broken_driver) << row.symbol;
        EXPECT_NE(inventory.message.find(row.symbol), std::string::npos) << inventory.message;
    }
}

TEST_F(RealDriver, works_without_optional_functions) {
    const auto inventory = stand_in_that("missing=cuGetErrorName; missing=cuMemHostRegister_v2");
    expect(inventory, Outcome::found, {});
    EXPECT_EQ(inventory.missing_functions,
              (std::vector<std::string>{"cuGetErrorName", "cuMemHostRegister_v2"}));
    EXPECT_NE(joined(lines_of(inventory)).find("lacks cuGetErrorName, cuMemHostRegister_v2, which"),
              std::string::npos);
    std::string all;
    for (const auto& row : function_rows())
        if (row.need == Need::optional) all += std::string("missing=") + row.symbol + ";";
    EXPECT_EQ(stand_in_that(all).outcome, Outcome::found);
}

TEST_F(RealDriver, whose_cuInit_finds_no_device) {
    const auto inventory = stand_in_that("cuInit=100");
    expect(inventory, Outcome::no_device, {stand_in.string() + " (13.0) finds no GPU", "nvidia-smi"});
    EXPECT_EQ(inventory.driver, (Version{13, 0}));
    setenv("CUDA_VISIBLE_DEVICES", "-1", 1);
    expect(stand_in_that("cuInit=100"), Outcome::no_device, {"CUDA_VISIBLE_DEVICES is '-1'", "unset it"});
    setenv("CUDA_VISIBLE_DEVICES", "", 1);
    expect(stand_in_that("devices=0"), Outcome::no_device, {"CUDA_VISIBLE_DEVICES is ''"});
}

TEST_F(RealDriver, that_counts_no_device) {
    expect(stand_in_that("devices=0"), Outcome::no_device, {"finds no GPU"});
}

TEST_F(RealDriver, whose_cuInit_fails_otherwise_is_broken) {
    expect(stand_in_that("cuInit=999"), Outcome::broken_driver,
           {"cuInit of the CUDA driver " + stand_in.string(), "CUDA_ERROR_UNKNOWN (999): unknown error",
            "dmesg"});
    expect(stand_in_that("cuInit=3"), Outcome::broken_driver, {"CUDA_ERROR_NOT_INITIALIZED (3)"});
    expect(stand_in_that("cuInit=34"), Outcome::broken_driver, {"CUDA_ERROR_STUB_LIBRARY (34)", "stubs"});
    expect(stand_in_that("cuInit=803"), Outcome::broken_driver, {"(803)", "restart the machine"});
    expect(stand_in_that("cuInit=804"), Outcome::broken_driver, {"(804)", "compat"});
    expect(stand_in_that("cuInit=802"), Outcome::broken_driver, {"(802)", "nvidia-fabricmanager"});
    expect(stand_in_that("cuInit=7777"), Outcome::broken_driver, {"fails with code 7777."});
}

TEST_F(RealDriver, errors_have_names_without_the_driver) {
    expect(stand_in_that("cuInit=999;missing=cuGetErrorName;missing=cuGetErrorString"),
           Outcome::broken_driver, {"CUDA_ERROR_UNKNOWN (999): unknown error"});
    expect(stand_in_that("cuInit=999;cuGetErrorName=1;cuGetErrorString=1"), Outcome::broken_driver,
           {"CUDA_ERROR_UNKNOWN (999): unknown error"});
}

TEST_F(RealDriver, that_fails_later_is_broken) {
    for (const char* function : {"cuDriverGetVersion", "cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetName",
                                 "cuDeviceGetAttribute", "cuDeviceTotalMem_v2"}) {
        const auto inventory = stand_in_that(std::string(function) + "=2");
        const std::string name = std::string(function).substr(0, std::string(function).find('_'));
        expect(
            inventory, Outcome::broken_driver,
            {name + " of the CUDA driver " + stand_in.string() + " fails with CUDA_ERROR_OUT_OF_MEMORY (2)"});
    }
}

TEST_F(RealDriver, too_old) {
    expect(stand_in_that("version=10020"), Outcome::too_old,
           {"it has CUDA 10.2, and cudasim needs 11.8", "520"});
    // What an old driver lacks is not what is wrong with it.
    expect(stand_in_that("version=11070;missing=cuLaunchKernelEx"), Outcome::too_old, {"it has CUDA 11.7"});
    expect(stand_in_that("version=11080"), Outcome::found, {});
    expect(stand_in_that("version=12090"), Outcome::found, {});
}

TEST_F(RealDriver, of_a_device_that_is_too_old) {
    expect(stand_in_that("capabilities=6.1"), Outcome::too_old,
           {"The GPU is too old: Stand-in GPU A has compute capability 6.1, and cudasim needs 7.0"});
    expect(stand_in_that("devices=2;capabilities=5.2,6.1"), Outcome::too_old,
           {"The GPUs are too old: Stand-in GPU A has compute capability 5.2, Stand-in GPU B has"});
}

TEST_F(RealDriver, of_several_devices) {
    const auto inventory = stand_in_that("devices=3;capabilities=6.1,12.0;virtual_memory=0");
    expect(inventory, Outcome::found, {});
    ASSERT_EQ(inventory.gpus.size(), 3U);
    EXPECT_EQ(inventory.gpus[2].ordinal, 2);
    EXPECT_FALSE(inventory.gpus[0].is_new_enough());
    const std::string end = " (" + stand_in.string() + ")";
    const std::string without = ", without memory at given addresses\n";
    EXPECT_EQ(joined(lines_of(inventory)),
              "GPU 0: Stand-in GPU A, compute capability 6.1, 24.0 GiB, driver 13.0" + end +
                  ", too old: cudasim needs 7.0" + without +
                  "GPU 1: Stand-in GPU B, compute capability 12.0, 24.0 GiB, driver 13.0" + end + without +
                  "GPU 2: Stand-in GPU C, compute capability 12.0, 24.0 GiB, driver 13.0" + end + without);
}

TEST_F(RealDriver, is_not_initialised_by_being_opened) {
    setenv("CUDASIM_TEST_LIBCUDA", "crash=cuInit", 1);
    auto driver = Driver::open({.named = stand_in});
    EXPECT_EQ(driver.version(), (Version{13, 0}));
    EXPECT_EQ(driver.text_of(Result::out_of_memory), "CUDA_ERROR_OUT_OF_MEMORY (2): out of memory");
    EXPECT_DEATH(driver.initialise(), "");
}

TEST_F(RealDriver, outcomes_have_exit_codes_of_their_own) {
    std::set<int> codes;
    std::set<std::string_view> names;
    for (const auto outcome :
         {Outcome::found, Outcome::no_driver, Outcome::broken_driver, Outcome::no_device, Outcome::too_old}) {
        codes.insert(exit_code(outcome));
        names.insert(name_of(outcome));
    }
    EXPECT_EQ(codes, (std::set<int>{0, 10, 11, 12, 13}));
    EXPECT_EQ(names.size(), 5U);
}

TEST_F(RealDriver, functions_are_in_the_table_once) {
    std::set<std::string_view> symbols;
    for (const auto& row : function_rows()) EXPECT_TRUE(symbols.insert(row.symbol).second) << row.symbol;
    EXPECT_TRUE(symbols.contains("cuMemAlloc_v2"));
    EXPECT_GT(symbols.size(), 40U);
}

}  // namespace
}  // namespace cudasim::libcuda
