// The tests' cache of comgr returns what comgr returns, and only for the same inputs.
#include <amd_comgr.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

namespace fs = std::filesystem;
using Action = decltype(&amd_comgr_do_action);

constexpr const char* kSource = "__kernel void scale(__global int* out) { *out = SCALE * *out; }";

void must(amd_comgr_status_t status) { ASSERT_EQ(status, AMD_COMGR_STATUS_SUCCESS); }

std::string first_of(amd_comgr_data_set_t set, amd_comgr_data_kind_t kind) {
  amd_comgr_data_t data{};
  std::size_t size = 0;
  must(amd_comgr_action_data_get_data(set, kind, 0, &data));
  must(amd_comgr_get_data(data, &size, nullptr));
  std::string bytes(size, '\0');
  must(amd_comgr_get_data(data, &size, bytes.data()));
  must(amd_comgr_release_data(data));
  return bytes;
}

class ComgrCacheTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "comgr-cache-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    ::setenv("GFXGRAPH_TEST_COMGR_CACHE", folder_.c_str(), 1);
    // By path: ctest puts the cache in front of the library that this program is linked to.
    real_ = action_of(COMGR_LIBRARY);
    cached_ = action_of(COMGR_CACHE);
    ASSERT_NE(cached_, real_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  static Action action_of(const char* path) {
    void* library = ::dlopen(path, RTLD_NOW);
    void* action = library == nullptr ? nullptr : ::dlsym(library, "amd_comgr_do_action");
    EXPECT_NE(action, nullptr) << path;
    return reinterpret_cast<Action>(action);
  }

  // The code object of kSource, or nothing. Only the last of comgr's actions have no name of a
  // temporary folder in their result.
  static std::string compile(Action action, const std::vector<const char*>& options) {
    amd_comgr_data_t source{};
    amd_comgr_action_info_t info{};
    std::array<amd_comgr_data_set_t, 5> sets{};
    must(amd_comgr_create_data(AMD_COMGR_DATA_KIND_SOURCE, &source));
    must(amd_comgr_set_data(source, std::string_view(kSource).size(), kSource));
    must(amd_comgr_set_data_name(source, "scale.cl"));
    for (auto& set : sets) must(amd_comgr_create_data_set(&set));
    must(amd_comgr_data_set_add(sets[0], source));
    must(amd_comgr_create_action_info(&info));
    must(amd_comgr_action_info_set_language(info, AMD_COMGR_LANGUAGE_OPENCL_1_2));
    must(amd_comgr_action_info_set_isa_name(info, "amdgcn-amd-amdhsa--gfx1030"));
    must(amd_comgr_action_info_set_option_list(info, const_cast<const char**>(options.data()),
                                               options.size()));
    const bool good = action(AMD_COMGR_ACTION_ADD_PRECOMPILED_HEADERS, info, sets[0], sets[1]) ==
                          AMD_COMGR_STATUS_SUCCESS &&
                      action(AMD_COMGR_ACTION_COMPILE_SOURCE_TO_BC, info, sets[1], sets[2]) ==
                          AMD_COMGR_STATUS_SUCCESS;
    std::string bytes;
    if (good) {
      must(amd_comgr_action_info_set_option_list(info, nullptr, 0));
      must(action(AMD_COMGR_ACTION_CODEGEN_BC_TO_RELOCATABLE, info, sets[2], sets[3]));
      must(action(AMD_COMGR_ACTION_LINK_RELOCATABLE_TO_EXECUTABLE, info, sets[3], sets[4]));
      bytes = first_of(sets[4], AMD_COMGR_DATA_KIND_EXECUTABLE);
    }
    must(amd_comgr_destroy_action_info(info));
    for (const auto set : sets) must(amd_comgr_destroy_data_set(set));
    must(amd_comgr_release_data(source));
    return bytes;
  }

  std::map<std::string, std::string> entries() const {
    std::map<std::string, std::string> entries;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      std::ifstream file(entry.path(), std::ios::binary);
      entries[entry.path().string()] = std::string(std::istreambuf_iterator<char>(file), {});
    }
    return entries;
  }
  static void write(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }

  fs::path folder_;
  Action real_ = nullptr;
  Action cached_ = nullptr;
};

// Not EXPECT_EQ, which would print the bytes.
TEST_F(ComgrCacheTest, ReturnsTheBytesOfComgr) {
  const std::string expected = compile(real_, {"-DSCALE=2"});
  ASSERT_FALSE(expected.empty());
  ASSERT_TRUE(compile(real_, {"-DSCALE=2"}) == expected);
  EXPECT_EQ(entries().size(), 0U);
  EXPECT_TRUE(compile(cached_, {"-DSCALE=2"}) == expected);
  const auto stored = entries();
  EXPECT_EQ(stored.size(), 3U);  // bitcode, object, executable
  EXPECT_TRUE(compile(cached_, {"-DSCALE=2"}) == expected);
  EXPECT_TRUE(entries() == stored);
}

TEST_F(ComgrCacheTest, AnotherOptionIsAnotherEntry) {
  const std::string two = compile(cached_, {"-DSCALE=2"});
  const auto first = entries();
  const std::string three = compile(cached_, {"-DSCALE=3"});
  EXPECT_TRUE(two != three);
  EXPECT_TRUE(three == compile(real_, {"-DSCALE=3"}));
  // Exchanging the bitcode of both shows that a compilation reads its entry.
  std::vector<std::string> before;
  std::vector<std::string> after;
  const auto all = entries();
  for (const auto& [path, bytes] : all) {
    if (bytes.find("BC\xC0\xDE") != std::string::npos)
      (first.contains(path) ? before : after).push_back(path);
  }
  ASSERT_EQ(before.size(), 1U);
  ASSERT_EQ(after.size(), 1U);
  write(before[0], all.at(after[0]));
  write(after[0], all.at(before[0]));
  EXPECT_TRUE(compile(cached_, {"-DSCALE=2"}) == three);
  EXPECT_TRUE(compile(cached_, {"-DSCALE=3"}) == two);
}

TEST_F(ComgrCacheTest, ADamagedEntryIsCompiledAgain) {
  const std::string expected = compile(cached_, {"-DSCALE=2"});
  const auto stored = entries();
  for (const auto& [path, bytes] : stored) {
    std::string damaged = bytes;
    damaged[damaged.size() / 2] ^= 1;
    write(path, damaged);
  }
  EXPECT_TRUE(compile(cached_, {"-DSCALE=2"}) == expected);
  for (const auto& [path, bytes] : entries()) write(path, bytes.substr(0, bytes.size() - 1));
  EXPECT_TRUE(compile(cached_, {"-DSCALE=2"}) == expected);
  for (const auto& [path, bytes] : entries()) write(path, "");
  EXPECT_TRUE(compile(cached_, {"-DSCALE=2"}) == expected);
}

TEST_F(ComgrCacheTest, NamesOfFilesAreNotCached) {
  EXPECT_TRUE(compile(cached_, {"-DSCALE=2", "-I/nowhere"}) == compile(real_, {"-DSCALE=2"}));
  EXPECT_EQ(entries().size(), 2U);  // code generation and linking have no such option
}

TEST_F(ComgrCacheTest, WithoutAFolderComgrDoesTheWork) {
  const std::string expected = compile(real_, {"-DSCALE=2"});
  ::unsetenv("GFXGRAPH_TEST_COMGR_CACHE");
  EXPECT_TRUE(compile(cached_, {"-DSCALE=2"}) == expected);
  ::setenv("GFXGRAPH_TEST_COMGR_CACHE", "", 1);
  EXPECT_TRUE(compile(cached_, {"-DSCALE=2"}) == expected);
  EXPECT_EQ(entries().size(), 0U);
}

TEST_F(ComgrCacheTest, FailuresAreNotCached) {
  EXPECT_EQ(compile(cached_, {"-DSCALE=nothing"}), "");
  EXPECT_EQ(entries().size(), 0U);
}

}  // namespace
