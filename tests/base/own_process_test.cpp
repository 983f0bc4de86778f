#include "base/process/own_process.h"

#include <gmock/gmock.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace gfxgraph {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

int in_this_program = 1;

TEST(OwnProcess, WasStartedByTheKernel) {
  const fs::path program = fs::read_symlink("/proc/self/exe");
  EXPECT_EQ(own_program(), program);
  EXPECT_EQ(file_mapped_at(&in_this_program), program);
  EXPECT_THAT(own_loader(), IsEmpty());
  ASSERT_FALSE(own_command_line().empty());
  EXPECT_TRUE(fs::equivalent(own_command_line().front(), program));
  EXPECT_EQ(file_mapped_at(nullptr), "");
}

// What the child process of the test below does.
TEST(OwnProcessChild, WasStartedThroughALoader) {
  const char* const program = std::getenv("GFXGRAPH_TEST_PROGRAM");
  if (program == nullptr) GTEST_SKIP() << "runs in a child process";
  const fs::path loader = fs::read_symlink("/proc/self/exe");
  ASSERT_NE(loader, program);
  EXPECT_EQ(own_program(), program);
  EXPECT_THAT(own_loader(), ElementsAre(loader.string(), "--library-path", "/none:/lib"));
  EXPECT_THAT(own_command_line(), ElementsAre(program, "--gtest_filter=OwnProcessChild.*"));
}

TEST(OwnProcess, KnowsTheLoaderThatItWasGivenTo) {
  constexpr const char* kLoader = "/lib64/ld-linux-x86-64.so.2";
  if (!fs::exists(kLoader)) GTEST_SKIP() << kLoader << " is missing";
  std::string name = ::testing::TempDir() + "gfxgraph process XXXXXX";
  ASSERT_NE(::mkdtemp(name.data()), nullptr);
  const fs::path program = fs::canonical(name) / "program";
  fs::copy_file("/proc/self/exe", program);
  const std::string command = "GFXGRAPH_TEST_PROGRAM='" + program.string() + "' " + kLoader +
                              " --library-path /none:/lib '" + program.string() +
                              "' --gtest_filter='OwnProcessChild.*' >/dev/null";
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  fs::remove_all(name);
}

TEST(OwnProcess, FoldersGoInFrontOfTheLoadersOwn) {
  EXPECT_THAT(loader_with_folder({"ld.so", "--library-path", "/a"}, "/b"),
              ElementsAre("ld.so", "--library-path", "/b:/a"));
  EXPECT_THAT(loader_with_folder({"ld.so", "--library-path", "/a"}, ""),
              ElementsAre("ld.so", "--library-path", "/a"));
  EXPECT_THAT(loader_with_folder({"ld.so"}, "/b"), ElementsAre("ld.so"));
  EXPECT_THAT(loader_with_folder({}, "/b"), IsEmpty());
}

}  // namespace
}  // namespace gfxgraph
