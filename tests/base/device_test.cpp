#include "base/process/device.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace gfxgraph {
namespace {

TEST(AppendPreload, KeepsWhatIsThereInFront) {
  EXPECT_EQ(append_preload(nullptr, "/lib/ours.so", false).value(), "/lib/ours.so");
  EXPECT_EQ(append_preload("", "/lib/ours.so", false).value(), "/lib/ours.so");
  EXPECT_EQ(append_preload("libasan.so.8", "/lib/ours.so", false).value(),
            "libasan.so.8:/lib/ours.so");
  EXPECT_EQ(append_preload("a.so b.so::c.so ", "/lib/ours.so", false).value(),
            "a.so:b.so:c.so:/lib/ours.so");
}

TEST(AppendPreload, PutsItAtTheEndOnce) {
  EXPECT_EQ(append_preload("/lib/ours.so:a.so:/lib/ours.so", "/lib/ours.so", false).value(),
            "a.so:/lib/ours.so");
  EXPECT_EQ(append_preload("/other/lib/ours.so", "/lib/ours.so", false).value(),
            "/other/lib/ours.so:/lib/ours.so");
}

TEST(AppendPreload, RefusesWhatTheLoaderWouldSplit) {
  for (const char* path : {"/a folder/ours.so", "/a:b/ours.so"}) {
    const Result<std::string> list = append_preload("a.so", path, false);
    ASSERT_FALSE(list);
    EXPECT_NE(list.error().message.find(path), std::string::npos);
    EXPECT_NE(list.error().message.find("GFXGRAPH_LIBDIR"), std::string::npos);
    EXPECT_EQ(append_preload("a.so:ours.so", path, true).value(), "a.so:ours.so");
  }
}

TEST(AsanOptions, AreKept) {
  EXPECT_EQ(asan_options_for_preload(nullptr), "verify_asan_link_order=0");
  EXPECT_EQ(asan_options_for_preload("detect_leaks=0"), "detect_leaks=0:verify_asan_link_order=0");
}

// What the child process of the test below does: it has no folder but the one beside its program.
TEST(PrivateLibraryChild, FindsItsFile) {
  const char* const file = std::getenv("GFXGRAPH_TEST_PRIVATE_FILE");
  if (file == nullptr) GTEST_SKIP() << "runs in a child process";
  const Result<std::filesystem::path> found = private_library("private.so");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(*found, file);
}

// As scripts/with-runtime starts programs: /proc/self/exe is the dynamic loader.
TEST(PrivateLibrary, IsFoundBesideAProgramThatTheLoaderStarts) {
  constexpr const char* kLoader = "/lib64/ld-linux-x86-64.so.2";
  if (!std::filesystem::exists(kLoader)) GTEST_SKIP() << kLoader << " is missing";
  std::string name = (std::filesystem::temp_directory_path() / "gfxgraph XXXXXX").string();
  ASSERT_NE(::mkdtemp(name.data()), nullptr);
  const std::filesystem::path folder = std::filesystem::canonical(name);
  std::filesystem::create_directories(folder / "bin");
  std::filesystem::create_directories(folder / "lib/gfxgraph");
  std::filesystem::copy_file("/proc/self/exe", folder / "bin/program");
  std::ofstream(folder / "lib/gfxgraph/private.so") << "a library";
  const std::string command = "GFXGRAPH_TEST_PRIVATE_FILE='" +
                              (folder / "lib/gfxgraph/private.so").string() + "' '" +
                              std::string(kLoader) + "' '" + (folder / "bin/program").string() +
                              "' --gtest_filter=PrivateLibraryChild.* >/dev/null";
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace gfxgraph
