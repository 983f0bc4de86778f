// Functions of a program of the host: this one.
#include "codeobj/host_program.h"

#include <gtest/gtest.h>

#include <filesystem>

extern "C" const char __ehdr_start;
extern "C" __attribute__((noinline, used)) int codeobj_test_function(int value) {
  return 3 * value;
}
namespace {
__attribute__((noinline, used)) int local_function(int value) { return 5 * value; }
}  // namespace

namespace gfxgraph::codeobj {
namespace {

uint64_t place(int (*function)(int)) {
  return reinterpret_cast<uint64_t>(function) - reinterpret_cast<uint64_t>(&__ehdr_start);
}

TEST(HostProgram, FindsFunctionsByTheirBytes) {
  const auto program = HostProgram::open(std::filesystem::read_symlink("/proc/self/exe"));
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_FALSE((*program)->identity().empty());
  const uint64_t function = place(codeobj_test_function);
  const uint64_t addresses[] = {place(local_function) + 1, function, function + 1, 0, function - 1};
  const auto found = (*program)->functions_at(addresses);
  ASSERT_EQ(found.size(), 5u);
  EXPECT_NE(found[0].symbol.find("local_function"), std::string::npos);
  EXPECT_TRUE(found[0].unique);
  EXPECT_EQ(found[1].symbol, "codeobj_test_function");
  EXPECT_EQ(found[1].address, function);
  EXPECT_TRUE(found[1].unique);
  EXPECT_EQ(found[2].symbol, "codeobj_test_function");
  EXPECT_EQ(found[3].symbol, "") << "the head of the file";
  EXPECT_NE(found[4].symbol, "codeobj_test_function");
}

TEST(HostProgram, RefusesWhatIsNoProgram) {
  EXPECT_FALSE(HostProgram::open("/proc/self/maps"));
  EXPECT_FALSE(HostProgram::open("/nowhere/program"));
}

}  // namespace
}  // namespace gfxgraph::codeobj
