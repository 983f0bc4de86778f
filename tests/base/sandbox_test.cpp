// A worker that is made to do what an attack would do is stopped, with and without Landlock.
#include "base/process/sandbox.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/cli/exit_code.h"
#include "base/demangle.h"
#include "base/file/file.h"
#include "base/process/sandbox_internal.h"
#include "tests/base/sandbox_fixture.h"

namespace gfxgraph::sandbox {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

TEST_F(SandboxTest, TheWorkersCodeIsPassedOn) {
  EXPECT_EQ(run([] { return is_worker() ? 4 : 1; }), 4);
  EXPECT_EQ(message_, "");
  EXPECT_FALSE(is_worker());
}

TEST_F(SandboxTest, OpeningAFileForWritingIsStopped) {
  const fs::path path = folder_ / "new";
  const fs::path old = write("old", "old");
  expect_stopped("opening", [&] { ::open(path.c_str(), O_WRONLY | O_CREAT, 0600); });
  expect_stopped("opening", [&] { ::syscall(SYS_open, path.c_str(), O_RDWR | O_CREAT, 0600); });
  expect_stopped("opening", [&] { ::syscall(SYS_creat, path.c_str(), 0600); });
  expect_stopped("opening", [&] { ::open(old.c_str(), O_RDONLY | O_TRUNC); });
  expect_stopped("opening", [&] { ::open(folder_.c_str(), O_RDWR | O_TMPFILE, 0600); });
  expect_stopped("the system call openat2", [&] {
    const uint64_t how[3] = {O_WRONLY | O_CREAT, 0600, 0};
    ::syscall(SYS_openat2, AT_FDCWD, path.c_str(), how, sizeof(how));
  });
  EXPECT_FALSE(fs::exists(path));
  EXPECT_EQ(text_of(old), "old");
}

TEST_F(SandboxTest, ChangingTheFileSystemIsStopped) {
  const fs::path old = write("old", "old");
  const fs::path path = folder_ / "new";
  expect_stopped("removing", [&] { ::unlink(old.c_str()); });
  expect_stopped("renaming", [&] { ::rename(old.c_str(), path.c_str()); });
  expect_stopped("making the directory", [&] { ::mkdir(path.c_str(), 0700); });
  expect_stopped("naming", [&] { ::linkat(AT_FDCWD, old.c_str(), AT_FDCWD, path.c_str(), 0); });
  expect_stopped("the system call symlink", [&] { ::symlink("/etc/passwd", path.c_str()); });
  expect_stopped("the system call link", [&] { ::link(old.c_str(), path.c_str()); });
  expect_stopped("the system call chmod", [&] { ::chmod(old.c_str(), 0777); });
  expect_stopped("the system call truncate", [&] { ::truncate(old.c_str(), 0); });
  EXPECT_EQ(text_of(old), "old");
  EXPECT_FALSE(fs::exists(fs::symlink_status(path)));
}

TEST_F(SandboxTest, SocketsAreStopped) {
  expect_stopped("the system call socket", [] { ::socket(AF_INET, SOCK_STREAM, 0); });
  expect_stopped("the system call socket", [] { ::socket(AF_UNIX, SOCK_DGRAM, 0); });
  expect_stopped("the system call socketpair", [] {
    int pair[2];
    ::socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
  });
  expect_stopped("the system call connect", [] {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    ::connect(STDIN_FILENO, reinterpret_cast<sockaddr*>(&address), sizeof(address));
  });
}

TEST_F(SandboxTest, OtherProgramsAreStopped) {
  char name[] = "/bin/true";
  char* const arguments[] = {name, nullptr};
  expect_stopped("the system call execve", [&] { ::execv(name, arguments); });
  expect_stopped("the system call execveat",
                 [&] { ::syscall(SYS_execveat, AT_FDCWD, name, arguments, nullptr, 0); });
  expect_stopped("the system call clone", [] {
    if (::fork() == 0) ::_exit(0);
  });
  expect_stopped("the system call fork", [] {
    if (::syscall(SYS_fork) == 0) ::_exit(0);
  });
  expect_stopped("the system call vfork", [] {
    if (::syscall(SYS_vfork) == 0) ::_exit(0);
  });
}

TEST_F(SandboxTest, OtherProcessesAreOutOfReach) {
  const pid_t parent = ::getpid();
  expect_stopped("the system call kill", [&] { ::kill(parent, SIGTERM); });
  expect_stopped("the system call kill", [&] { ::kill(-1, 0); });
  expect_stopped("the system call tgkill", [&] { ::syscall(SYS_tgkill, parent, parent, SIGTERM); });
  expect_stopped("the system call ptrace", [&] { ::ptrace(PTRACE_ATTACH, parent, 0, 0); });
  expect_stopped("the system call process_vm_readv",
                 [&] { ::syscall(SYS_process_vm_readv, parent, nullptr, 0, nullptr, 0, 0); });
  expect_stopped("the system call process_vm_writev",
                 [&] { ::syscall(SYS_process_vm_writev, parent, nullptr, 0, nullptr, 0, 0); });
  expect_stopped("the system call prlimit64", [&] {
    const rlimit none{0, 0};
    ::prlimit(parent, RLIMIT_NOFILE, &none, nullptr);
  });
  expect_stopped("the system call pidfd_open", [&] { ::syscall(SYS_pidfd_open, parent, 0); });
}

TEST_F(SandboxTest, ExecutableMemoryIsStopped) {
  expect_stopped("the system call mmap", [] {
    ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  });
  expect_stopped("the system call mprotect", [] {
    void* const at =
        ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ::mprotect(at, 4096, PROT_READ | PROT_EXEC);
  });
}

TEST_F(SandboxTest, WaysAroundAFilterAreStopped) {
  expect_stopped("the system call io_uring_setup", [] { ::syscall(SYS_io_uring_setup, 1, 0); });
  expect_stopped("the system call bpf", [] { ::syscall(SYS_bpf, 0, 0, 0); });
  expect_stopped("the system call userfaultfd", [] { ::syscall(SYS_userfaultfd, 0); });
  expect_stopped("the system call ioctl", [] { ::syscall(SYS_ioctl, 0, 0x5412 /*TIOCSTI*/, "x"); });
  expect_stopped("the system call unshare", [] { ::unshare(CLONE_NEWUSER); });
  expect_stopped("the system call setrlimit", [] {
    const rlimit none{0, 0};
    ::syscall(SYS_setrlimit, RLIMIT_CORE, &none);
  });
  // From a thread, too.
  expect_stopped("the system call socket",
                 [] { std::thread([] { ::socket(AF_INET, SOCK_STREAM, 0); }).join(); });
}

TEST_F(SandboxTest, CallsOfI386AreStopped) {
#ifdef __x86_64__
  const int code = run([] {
    int result = 0;
    asm volatile("int $0x80" : "=a"(result) : "a"(20) : "memory");  // getpid
    return result > 0 ? kWentOn : kWentOn + 1;
  });
  // A kernel without i386 raises SIGSEGV.
  EXPECT_EQ(code, kExitDataLost);
  EXPECT_THAT(message_, HasSubstr("SECURITY.md"));
#endif
}

TEST_F(SandboxTest, OnlyNamedFilesCanBeRead) {
  const fs::path named = write("named", "content");
  const fs::path secret = write("secret", "secret");
  const auto work = [&] {
    if (text_of(named) != "content") return 1;
    if (::open(secret.c_str(), O_RDONLY) >= 0 || errno != EACCES) return 2;
    if (::open("/etc/passwd", O_RDONLY) >= 0 || errno != EACCES) return 3;
    if (::open("/proc/self/mem", O_RDONLY) >= 0) return 4;
    if (::open(folder_.c_str(), O_RDONLY | O_DIRECTORY) >= 0) return 5;
    const std::string other = folder_.string() + "/x/../secret";
    return ::open(other.c_str(), O_RDONLY) >= 0 ? 6 : 0;
  };
  EXPECT_EQ(run(work, {.read = {named}}), 0) << message_;
}

// What docs/security.md says that a worker still may.
TEST_F(SandboxTest, FilesCanBeAskedForAndMemoryOfTheMachineRead) {
  const fs::path secret = write("secret", "secret");
  const auto work = [&] {
    struct stat status{};
    if (::stat(secret.c_str(), &status) != 0 || status.st_size != 6) return 1;
    return text_of("/proc/meminfo").starts_with("MemTotal") ? 0 : 2;
  };
  EXPECT_EQ(run(work), 0) << message_;
}

TEST_F(SandboxTest, AnInputIsNeverWritten) {
  const fs::path input = write("out.gfxg.partial", "content");
  const Access access{.read = {input}, .write = {folder_ / "out.gfxg"}};
  const auto expect_kept = [&](const std::function<void()>& attack) {
    EXPECT_EQ(run([&] { return attack(), kWentOn; }, access), kExitDataLost);
    EXPECT_EQ(text_of(input), "content");
  };
  expect_kept([&] { ::open(input.c_str(), O_RDWR); });
  expect_kept([&] { ::unlink(input.c_str()); });
  expect_kept([&] { ::rename(input.c_str(), (folder_ / "out.gfxg").c_str()); });
}

TEST_F(SandboxTest, OutputsAreWrittenThroughTemporaryFiles) {
  const fs::path output = folder_ / "out.json";
  const Access access{.write = {output}};
  const std::vector<std::byte> bytes(100, std::byte{'x'});
  const auto atomic = [&] { return write_file_atomic(output, bytes) ? 0 : 1; };
  EXPECT_EQ(run(atomic, access), 0) << message_;
  EXPECT_EQ(text_of(output), std::string(100, 'x'));
  // Under no name, then a random one (base/file/new_file.h).
  const auto unnamed = [&] {
    const int in = ::open(folder_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    const int fd = ::openat(in, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0 && errno == EOPNOTSUPP) return 0;
    if (in < 0 || fd < 0 || ::write(fd, "new", 3) != 3) return 1;
    const std::string name = ".gfxgraph-0123";
    const std::string from = "/proc/self/fd/" + std::to_string(fd);
    if (::linkat(AT_FDCWD, from.c_str(), in, name.c_str(), AT_SYMLINK_FOLLOW) != 0) return 2;
    return ::renameat(in, name.c_str(), in, "out.json") == 0 ? 0 : 3;
  };
  EXPECT_EQ(run(unnamed, access), 0) << message_;
  EXPECT_THAT(text_of(output), testing::AnyOf("new", std::string(100, 'x')));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
}

TEST_F(SandboxTest, FilesBesideAnOutputAreKept) {
  const fs::path mine = write("out.json.txt", "mine");
  const fs::path other = write("other", "mine");
  const Access access{.write = {folder_ / "out.json"}};
  const auto work = [&] { return ::open(mine.c_str(), O_RDWR | O_CREAT, 0600) < 0 ? 0 : 1; };
  EXPECT_EQ(run(work, access), 0);
  for (const fs::path& path : {mine, other}) {
    EXPECT_EQ(run([&] { return ::unlink(path.c_str()), kWentOn; }, access), kExitDataLost);
    const fs::path output = folder_ / "out.json";
    EXPECT_EQ(run([&] { return ::rename(path.c_str(), output.c_str()), kWentOn; }, access),
              kExitDataLost);
    EXPECT_EQ(text_of(path), "mine");
  }
}

TEST_F(SandboxTest, AnOutputFolderIsMadeAndFilled) {
  // Behind a link, by which the kernel does not name it.
  fs::create_directory(folder_ / "real");
  fs::create_directory_symlink(folder_ / "real", folder_ / "a");
  const fs::path tree = folder_ / "a" / "b" / "c";
  const auto work = [&] {
    std::error_code error;
    fs::create_directories(tree, error);
    if (error || !write_file_atomic(tree / "file", {})) return 1;
    const int in = ::open(tree.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (::openat(in, "other", O_RDWR | O_CREAT | O_EXCL, 0600) < 0) return 2;
    return std::distance(fs::directory_iterator(tree), fs::directory_iterator()) == 2 ? 0 : 3;
  };
  EXPECT_EQ(run(work, {.folders = {tree}}), 0) << message_;
  EXPECT_TRUE(fs::exists(tree / "file"));
  const auto outside = [&] {
    return ::open((tree / ".." / "d").c_str(), O_RDWR | O_CREAT, 0600), kWentOn;
  };
  EXPECT_EQ(run(outside, {.folders = {tree}}), kExitDataLost);
  EXPECT_FALSE(fs::exists(folder_ / "a" / "b" / "d"));
}

TEST_F(SandboxTest, ProgramsAreReadOnlyAndOnlyElf) {
  const fs::path secret = write("secret", "secret");
  const auto work = [&] {
    if (::open("/proc/self/exe", O_RDONLY) < 0) return 1;
    return ::open(secret.c_str(), O_RDONLY) < 0 && ::open("/etc/passwd", O_RDONLY) < 0 ? 0 : 2;
  };
  EXPECT_EQ(run(work, {.programs = true}), 0);
  EXPECT_EQ(run([] { return ::open("/proc/self/exe", O_RDONLY) < 0 ? 0 : 1; }), 0);
}

TEST_F(SandboxTest, InheritedDescriptorsAreClosedOwnOnesStay) {
  const int inherited = ::open(write("inherited", "").c_str(), O_RDWR);
  const int own = ::open(write("own", "").c_str(), O_RDWR | O_CLOEXEC);
  const auto work = [&] {
    if (::fcntl(inherited, F_GETFD) >= 0) return 1;
    return ::write(own, "x", 1) == 1 ? 0 : 2;
  };
  EXPECT_EQ(run(work), 0);
  ::close(inherited);
  ::close(own);
}

TEST_F(SandboxTest, ThreadsMemoryAndNamesWork) {
  const auto work = [] {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) threads.emplace_back([] { std::vector<char> some(1 << 24, 'x'); });
    for (std::thread& thread : threads) thread.join();
    if (::memfd_create("test", MFD_CLOEXEC) < 0) return 1;
    // Long names are demangled in another process, which the parent starts.
    std::string name = "_Z1f1AIiiE";
    for (const char part : std::string("0123456")) {
      const std::string before = std::string("S") + part + "_";
      name += "S_I" + before + before + "E";
    }
    return demangle(name).starts_with("f(A<int, int>,") ? 0 : 2;
  };
  EXPECT_EQ(run(work), 0) << message_;
}

TEST_F(SandboxTest, ANameThatUnfoldsWithoutEndIsGivenBack) {
  const auto work = [] {
    std::string name = "_Z1f1AIiiE";
    for (const char part : std::string("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ")) {
      const std::string before = std::string("S") + part + "_";
      name += "S_I" + before + before + "E";
    }
    return demangle(name) == name ? 0 : 1;
  };
  EXPECT_EQ(run(work), 0) << message_;
}

TEST_F(SandboxTest, MemoryHasALimit) {
  const auto work = [] {
    void* const at = ::mmap(nullptr, size_t{1} << 30, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    rlimit core{};
    ::getrlimit(RLIMIT_CORE, &core);
    return at == MAP_FAILED && core.rlim_max == 0 ? 0 : 1;
  };
  EXPECT_EQ(run(work, {.data_bytes = size_t{512} << 20}), 0);
}

// How a child ends that gets `error` from a system call. It has only this test's thread.
int status_without(int call, int error, const std::function<int()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    const scmp_filter_ctx filter = ::seccomp_init(SCMP_ACT_ALLOW);
    const uint32_t refuse = SCMP_ACT_ERRNO(static_cast<uint32_t>(error));
    if (::seccomp_rule_add(filter, refuse, call, 0) != 0 || ::seccomp_load(filter) != 0)
      ::_exit(99);
    ::_exit(work());
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(SandboxTest, AKernelThatRefusesGetsANote) {
  const std::pair<int, const char*> calls[] = {{SCMP_SYS(seccomp), "seccomp"},
                                               {SCMP_SYS(process_vm_readv), "process_vm_readv"},
                                               {SCMP_SYS(pidfd_open), "pidfd_open"}};
  for (const auto& [call, name] : calls) {
    testing::internal::CaptureStderr();
    const auto work = [] {
      const pid_t self = ::getpid();
      const int code = enter("test", {});
      return code < 0 && !is_worker() && ::getpid() == self ? 0 : 1;
    };
    EXPECT_EQ(status_without(call, EPERM, work), 0) << call;
    EXPECT_THAT(testing::internal::GetCapturedStderr(),
                HasSubstr(std::string("gfxgraph: note: no sandbox: the kernel refuses ") + name));
  }
}

TEST_F(SandboxTest, WithoutLandlockTheFilterHolds) {
  const auto work = [&] {
    const int code = run([&] {
      ::open((folder_ / "new").c_str(), O_WRONLY | O_CREAT, 0600);
      return kWentOn;
    });
    if (code != kExitDataLost || message_.find("stopped opening") == message_.npos) return 1;
    return run([] { return ::open("/etc/passwd", O_RDONLY) < 0 && errno == EACCES ? 0 : 1; });
  };
  EXPECT_EQ(status_without(SCMP_SYS(landlock_create_ruleset), ENOSYS, work), 0);
  EXPECT_FALSE(fs::exists(folder_ / "new"));
}

TEST_F(SandboxTest, CallsThatNobodyKnowsAreMissing) {
  EXPECT_EQ(run([] { return ::syscall(4000) == -1 && errno == ENOSYS ? 0 : 1; }), 0) << message_;
}

TEST_F(SandboxTest, StandardInputIsNotTheWorkers) {
  const int before = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
  const int file = ::open(write("input", "content").c_str(), O_RDWR | O_CLOEXEC);
  ::dup2(file, STDIN_FILENO);
  const auto work = [] {
    char byte = 0;
    return ::write(STDIN_FILENO, "x", 1) < 0 && ::read(STDIN_FILENO, &byte, 1) == 0 ? 0 : 1;
  };
  EXPECT_EQ(run(work), 0);
  EXPECT_EQ(run([&] { return work() == 0 ? 1 : 0; }, {.read = {"/dev/stdin"}}), 0);
  ::dup2(before, STDIN_FILENO);
  ::close(before);
  ::close(file);
}

TEST_F(SandboxTest, DescriptorsOnTheCommandLineStay) {
  const int inherited = ::open(write("inherited", "").c_str(), O_RDWR);
  const auto work = [&] { return ::write(inherited, "x", 1) == 1 ? 0 : 1; };
  EXPECT_EQ(run(work, {.write = {"/dev/fd/" + std::to_string(inherited)}}), 0) << message_;
  ::close(inherited);
}

TEST_F(SandboxTest, ALinkIsNoWayToItsTarget) {
  const fs::path target = write("target", "mine");
  const fs::path link = folder_ / "link";
  fs::create_symlink(target, link);
  const auto work = [&] { return ::open(target.c_str(), O_RDWR), kWentOn; };
  EXPECT_EQ(run(work, {.write = {link}}), kExitDataLost);
}

TEST_F(SandboxTest, LittleMemoryIsNoReasonToGoWithout) {
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit little{uint64_t{1} << 20, RLIM_INFINITY};
    ::setrlimit(RLIMIT_DATA, &little);
    const int code = enter("test", {});
    if (code >= 0) ::_exit(code);
    rlimit limit{};
    ::getrlimit(RLIMIT_DATA, &limit);
    ::_exit(is_worker() && limit.rlim_max == little.rlim_cur ? 4 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 4) << status;
}

// Less than the filter takes: the file stays unread.
TEST_F(SandboxTest, WithoutMemoryForAWorkerNothingIsRead) {
  testing::internal::CaptureStderr();
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit little{uint64_t{1} << 20, uint64_t{1} << 20};
    ::setrlimit(RLIMIT_DATA, &little);
    const int code = enter("test", {});
    ::_exit(code >= 0 ? code : 99);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), kExitDataLost) << status;
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("not enough memory for the worker"));
}

TEST_F(SandboxTest, ACrashIsASentence) {
  EXPECT_EQ(run([] { return std::abort(), 0; }), kExitDataLost);
  EXPECT_THAT(message_, HasSubstr("gfxgraph: test: the worker process crashed: Aborted"));
  EXPECT_EQ(run([] { return ::raise(SIGKILL); }), kExitDataLost);
  EXPECT_THAT(message_, HasSubstr("killed, perhaps for lack of memory"));
}

// How a process that waits for its worker ends; `disturb` gets the process.
int status_of(const std::function<int()>& work, const std::function<void(pid_t)>& disturb) {
  const pid_t child = ::fork();
  if (child == 0) {
    const int code = enter("test", {});
    ::_exit(code < 0 ? work() : code);
  }
  disturb(child);
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

TEST_F(SandboxTest, SignalsEndBothProcesses) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGKILL}) {
    int ready[2];
    ASSERT_EQ(::pipe2(ready, O_CLOEXEC), 0);
    const auto work = [&]() -> int {
      (void)!::write(ready[1], "r", 1);
      while (true) std::this_thread::sleep_for(std::chrono::seconds(1));
    };
    char byte = 0;
    const int status = status_of(work, [&](pid_t process) {
      ::close(ready[1]);
      EXPECT_EQ(::read(ready[0], &byte, 1), 1);
      ::kill(process, signal);
    });
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == signal) << status;
    EXPECT_EQ(::read(ready[0], &byte, 1), 0) << "the worker lives";
    ::close(ready[0]);
  }
}

// A kernel that knows Landlock's version N.
namespace fake {
long version = 0;
std::vector<long> numbers;
uint64_t files = 0, network = 0, scoped = 0;
long kernel(long number, long a, long b, long c) {
  numbers.push_back(number);
  if (number == SYS_landlock_restrict_self) return 0;
  if (c == 1) {
    errno = version < 1 ? static_cast<int>(-version) : 0;
    return version < 1 ? -1 : version;
  }
  const uint64_t* const rules = reinterpret_cast<const uint64_t*>(a);
  files = rules[0];
  network = b >= 16 ? rules[1] : 0;
  scoped = b >= 24 ? rules[2] : 0;
  return ::open("/dev/null", O_RDONLY | O_CLOEXEC);
}
}  // namespace fake

TEST_F(SandboxTest, LandlockDeniesWhatTheKernelKnows) {
  // In a child: no_new_privs stays.
  const auto denied = [](long version, uint64_t files, uint64_t network, uint64_t scoped) {
    const pid_t child = ::fork();
    if (child == 0) {
      fake::version = version;
      const bool right = deny_by_landlock(&fake::kernel) == version && fake::files == files &&
                         fake::network == network && fake::scoped == scoped &&
                         fake::numbers.size() == 3;
      ::_exit(right ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return status == 0;
  };
  EXPECT_TRUE(denied(1, 0x1FFF, 0, 0));
  EXPECT_TRUE(denied(2, 0x3FFF, 0, 0));
  EXPECT_TRUE(denied(3, 0x7FFF, 0, 0));
  EXPECT_TRUE(denied(4, 0x7FFF, 3, 0));
  EXPECT_TRUE(denied(5, 0xFFFF, 3, 0));
  EXPECT_TRUE(denied(6, 0xFFFF, 3, 3));
  EXPECT_TRUE(denied(7, 0xFFFF, 3, 3));
  for (const int error : {ENOSYS, EOPNOTSUPP}) {
    fake::version = -error;
    fake::numbers.clear();
    EXPECT_EQ(deny_by_landlock(&fake::kernel), -error);
    EXPECT_EQ(fake::numbers.size(), 1U);
  }
}

// Landlock alone, as if the filter had a hole.
TEST_F(SandboxTest, LandlockAloneDeniesFiles) {
  const fs::path path = write("file", "content");
  const pid_t child = ::fork();
  if (child == 0) {
    const int version =
        deny_by_landlock([](long n, long a, long b, long c) { return ::syscall(n, a, b, c); });
    if (version < 0) ::_exit(2);
    const bool denied = ::open(path.c_str(), O_RDONLY) < 0 && errno == EACCES &&
                        ::open((path.string() + "2").c_str(), O_RDWR | O_CREAT, 0600) < 0 &&
                        ::unlink(path.c_str()) < 0;
    ::_exit(denied ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 2) GTEST_SKIP() << "no Landlock in this kernel";
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace gfxgraph::sandbox
