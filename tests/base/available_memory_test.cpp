#include "base/available_memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/file/file.h"

namespace gfxgraph {
namespace {

namespace fs = std::filesystem;

class AvailableMemoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "gfxgraph_available_XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root_ = name;
    write("proc/meminfo", "MemTotal:  9000 kB\nMemAvailable:  8000 kB\nSwapFree:  1000 kB\n");
  }
  void TearDown() override { fs::remove_all(root_); }
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << text;
  }
  uint64_t kib() const { return available_memory_bytes(root_.string()) / 1024; }
  fs::path root_;
};

TEST_F(AvailableMemoryTest, IsWhatTheMachineHas) {
  EXPECT_EQ(kib(), 9000u);
  EXPECT_GT(available_memory_bytes(), 1u << 20);
  write("proc/meminfo", "");
  EXPECT_EQ(available_memory_bytes(root_.string()), physical_memory_bytes());
}

TEST_F(AvailableMemoryTest, AGroupLimitsItAndSoDoThoseAroundIt) {
  write("proc/self/cgroup", "0::/outer/inner\n");
  write("sys/fs/cgroup/outer/inner/memory.max", "max\n");
  write("sys/fs/cgroup/outer/inner/memory.current", "1024\n");
  EXPECT_EQ(kib(), 9000u);
  write("sys/fs/cgroup/outer/memory.max", "2097152\n");
  write("sys/fs/cgroup/outer/memory.current", "1048576\n");
  EXPECT_EQ(kib(), 1024u);
  // The system drops unused pages of files before it refuses memory.
  write("sys/fs/cgroup/outer/memory.stat", "anon 1\ninactive_file 524288\n");
  EXPECT_EQ(kib(), 1536u);
  write("sys/fs/cgroup/outer/inner/memory.max", "1024\n");
  EXPECT_EQ(kib(), 0u);
}

TEST_F(AvailableMemoryTest, KnowsTheOlderInterface) {
  write("proc/self/cgroup", "3:cpu:/a\n4:memory:/b\n0::/\n");
  write("sys/fs/cgroup/memory/b/memory.limit_in_bytes", "1048576\n");
  write("sys/fs/cgroup/memory/b/memory.usage_in_bytes", "2097152\n");
  EXPECT_EQ(kib(), 0u);
  write("sys/fs/cgroup/memory/b/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(kib(), 9000u);
}

}  // namespace
}  // namespace gfxgraph
