// What a worker can do to the parent's answers about files, and what keeps other outputs whole.
#include <fcntl.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <string_view>
#include <thread>
#include <vector>

#include "base/file/new_file.h"
#include "base/process/sandbox_internal.h"
#include "tests/base/sandbox_fixture.h"

namespace gfxgraph::sandbox {
namespace {

namespace fs = std::filesystem;

// One thread asks for a file while another one changes the name.
TEST_F(SandboxTest, APathThatChangesMeanwhileOpensNothingElse) {
  const fs::path named = write("a", "named");
  const fs::path secret = write("b", "secret");
  const auto work = [&] {
    std::string path = named.string();
    std::atomic<bool> over{false};
    std::thread changes([&] {
      while (!over)
        __atomic_store_n(&path.back(), path.back() == 'a' ? 'b' : 'a', __ATOMIC_SEQ_CST);
    });
    int opened = 0, refused = 0, wrong = 0;
    for (int i = 0; i < 3000; ++i) {
      const int fd = ::open(path.c_str(), O_RDONLY);
      if (fd < 0) {
        ++refused;
        continue;
      }
      char text[8] = {};
      if (::read(fd, text, sizeof(text)) != 5 || std::string_view(text) != "named") ++wrong;
      ::close(fd);
      ++opened;
    }
    over = true;
    changes.join();
    return wrong != 0 ? 1 : opened == 0 || refused == 0 ? 2 : 0;
  };
  EXPECT_EQ(run(work, {.read = {named}}), 0) << message_;
}

TEST_F(SandboxTest, WhatATraceNamesAsAProgramIsOnlyRead) {
  const fs::path program = write("program", "\177ELF and so on");
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const auto work = [&] {
    if (::open(program.c_str(), O_RDONLY) < 0) return 1;
    return ::open(pipe.c_str(), O_RDONLY) < 0 && ::open(folder_.c_str(), O_RDONLY) < 0 ? 0 : 2;
  };
  EXPECT_EQ(run(work, {.programs = true}), 0) << message_;
  for (const int flags : {O_RDWR, O_WRONLY, O_RDONLY | O_TRUNC}) {
    const auto write_it = [&] { return ::open(program.c_str(), flags), kWentOn; };
    EXPECT_EQ(run(write_it, {.programs = true}), kExitDataLost) << flags;
  }
  EXPECT_EQ(text_of(program), "\177ELF and so on");
}

// What makes names readable in place of the worker has this filter, and no parent to ask.
TEST_F(SandboxTest, TheStrictFilterKillsWhoOpensAFile) {
  int pipe[2];
  ASSERT_EQ(::pipe2(pipe, O_CLOEXEC), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    if (!install_strict_filter() || ::write(pipe[1], "x", 1) != 1) ::_exit(1);
    ::open("/dev/null", O_RDONLY);
    ::_exit(2);
  }
  ::close(pipe[1]);
  char byte = 0;
  EXPECT_EQ(::read(pipe[0], &byte, 1), 1);
  ::close(pipe[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS) << status;
}

// A file system without O_TMPFILE: the name until the end is long and random, and it is gone
// afterwards.
TEST_F(SandboxTest, WithoutUnnamedFilesTheirNamesAreUnpredictable) {
  const fs::path target = write("f", "old");
  const auto names = [&] {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      const std::string name = entry.path().filename();
      if (name != "f") found.push_back(name);
    }
    return found;
  };
  const pid_t child = ::fork();
  if (child == 0) {
    const scmp_filter_ctx filter = ::seccomp_init(SCMP_ACT_ALLOW);
    const scmp_arg_cmp unnamed{2, SCMP_CMP_MASKED_EQ, O_TMPFILE, O_TMPFILE};
    if (::seccomp_rule_add(filter, SCMP_ACT_ERRNO(EOPNOTSUPP), SCMP_SYS(openat), 1, unnamed) != 0 ||
        ::seccomp_load(filter) != 0)
      ::_exit(99);
    auto one = NewFile::create(target, FileUse::kTrace);
    auto other = NewFile::create(target, FileUse::kTrace);
    if (!one || !other) ::_exit(1);
    const std::vector<std::string> both = names();
    if (both.size() != 2 || both[0] == both[1]) ::_exit(2);
    constexpr std::string_view kBegin = ".gfxgraph-";
    constexpr size_t kDigits = 32;
    for (const std::string& name : both) {
      const bool random = name.starts_with(kBegin) && name.size() == kBegin.size() + kDigits;
      if (!random || !std::all_of(name.begin() + kBegin.size(), name.end(), ::isxdigit)) ::_exit(3);
    }
    if (text_of(target) != "old" || !one->commit()) ::_exit(4);
    {
      const NewFile dropped = std::move(*other);
    }
    ::_exit(names().empty() && text_of(target).empty() ? 0 : 5);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

}  // namespace
}  // namespace gfxgraph::sandbox
