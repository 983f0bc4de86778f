#include "tools/read_limits.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <new>
#include <vector>

#include "base/cli/exit_code.h"
#include "base/file/file.h"

namespace gfxgraph::tools {
namespace {

TEST(ReadLimitsTest, AProcessEndsWhenItsTimeIsOver) {
  const auto wait_for_ever = [] {
    sigset_t all;
    sigfillset(&all);
    ::sigprocmask(SIG_BLOCK, &all, nullptr);
    enforce("info", {.seconds = 0.02});
    while (true) ::pause();
  };
  EXPECT_EXIT(
      wait_for_ever(), testing::ExitedWithCode(kExitDataLost),
      "^gfxgraph info: the time limit of 0.02 seconds is reached \\(--max-seconds\\): stopped\n$");
}

TEST(ReadLimitsTest, NoTimeIsNoLimit) {
  const auto look = [] {
    enforce("info", {.seconds = 0});
    struct sigaction action{};
    ::sigaction(SIGALRM, nullptr, &action);
    ::_exit(action.sa_handler == SIG_DFL ? 0 : 1);
  };
  EXPECT_EXIT(look(), testing::ExitedWithCode(0), "");
}

TEST(ReadLimitsTest, MemoryBeyondTheLimitIsRefused) {
  if (!kLimitsMemory) GTEST_SKIP() << "not under this sanitizer";
  const auto take = [] {
    enforce("info", {.memory_bytes = uint64_t{64} << 20});
    try {
      std::vector<char> small(uint64_t{16} << 20, 'x');
    } catch (const std::bad_alloc&) {
      ::_exit(1);
    }
    try {
      std::vector<char> large(uint64_t{256} << 20, 'x');
    } catch (const std::bad_alloc&) {
      ::_exit(0);
    }
    ::_exit(2);
  };
  EXPECT_EXIT(take(), testing::ExitedWithCode(0), "");
}

TEST(ReadLimitsTest, HalfOfTheMachinesMemoryIsTheDefault) {
  if (!kLimitsMemory) GTEST_SKIP() << "not under this sanitizer";
  const auto look = [] {
    enforce("info", {});
    rlimit limit{};
    ::getrlimit(RLIMIT_DATA, &limit);
    ::_exit(limit.rlim_cur == std::min<rlim_t>(limit.rlim_max, physical_memory_bytes() / 2) ? 0
                                                                                            : 1);
  };
  EXPECT_EXIT(look(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace gfxgraph::tools
