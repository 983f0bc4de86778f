#include "base/process/program.h"

#include <gmock/gmock.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace gfxgraph {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ProgramTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "gfxgraph-program.XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path file(const std::string& name, const std::string& bytes, bool executable) {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
    fs::permissions(folder_ / name, executable ? fs::perms::owner_all : fs::perms::owner_read);
    return folder_ / name;
  }

  fs::path folder_;
};

TEST_F(ProgramTest, NamesWithASlashAreTakenAsTheyAre) {
  const fs::path script = file("script", "#!/bin/sh\n", true);
  const auto found = find_program(script.string());
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(*found, script);
  EXPECT_FALSE(inspect_program(script).elf);
}

TEST_F(ProgramTest, OtherNamesAreLookedForInPath) {
  const auto found = find_program("sh");
  ASSERT_TRUE(found) << found.error().message;
  const ProgramFile program = inspect_program(*found);
  EXPECT_TRUE(program.elf);
  EXPECT_TRUE(program.x86_64);
  EXPECT_THAT(program.interpreter, HasSubstr("ld-linux"));
}

TEST_F(ProgramTest, RefusesWhatCannotBeStarted) {
  EXPECT_EQ(find_program("").error().status, Status::kNotFound);
  EXPECT_EQ(find_program("no-such-program-anywhere").error().status, Status::kNotFound);
  EXPECT_EQ(find_program((folder_ / "missing").string()).error().status, Status::kNotFound);
  EXPECT_THAT(find_program(folder_.string()).error().message, HasSubstr("is a folder"));
  const fs::path data = file("data", "text", false);
  EXPECT_THAT(find_program(data.string()).error().message, HasSubstr("chmod +x"));
}

TEST_F(ProgramTest, IsStartedAsTheToolWas) {
  const auto alone = start_of("/bin/sh", {"sh", "-c", "exit"}, {}, "/agent");
  ASSERT_TRUE(alone) << alone.error().message;
  EXPECT_EQ(alone->file, "/bin/sh");
  EXPECT_THAT(alone->arguments, ElementsAre("sh", "-c", "exit"));

  const std::vector<std::string> loader = {"/other/ld.so", "--preload", "x.so", "--library-path",
                                           "/other/lib"};
  const auto through = start_of("/bin/sh", {"sh", "-c", "exit"}, loader, "/agent");
  ASSERT_TRUE(through) << through.error().message;
  EXPECT_EQ(through->file, "/other/ld.so");
  EXPECT_THAT(through->arguments, ElementsAre("/other/ld.so", "--preload", "x.so", "--library-path",
                                              "/agent:/other/lib", "/bin/sh", "-c", "exit"));

  const fs::path script = file("script", "#!/bin/sh\n", true);
  const auto refused = start_of(script, {"script"}, loader, "");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, Status::kUnsupported);
  EXPECT_THAT(refused.error().message, HasSubstr("give its interpreter"));
}

TEST_F(ProgramTest, HeadersThatEndEarlyNameNoLoader) {
  std::string bytes(4096, '\0');
  std::ifstream self("/proc/self/exe", std::ios::binary);
  ASSERT_TRUE(self.read(bytes.data(), static_cast<std::streamsize>(bytes.size())));
  EXPECT_FALSE(inspect_program(file("whole", bytes, true)).interpreter.empty());
  for (size_t size = 0; size <= 320; size += 8) {
    const fs::path cut = file("cut" + std::to_string(size), bytes.substr(0, size), true);
    EXPECT_EQ(inspect_program(cut).interpreter, "") << size;
  }
  EXPECT_FALSE(inspect_program(folder_ / "missing").elf);
}

}  // namespace
}  // namespace gfxgraph
