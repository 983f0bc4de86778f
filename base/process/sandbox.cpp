// The two processes: starting the worker, waiting for it, and what its end means.
#include "base/process/sandbox.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <new>
#include <optional>
#include <string>
#include <string_view>

#include "base/cli/console.h"
#include "base/cli/exit_code.h"
#include "base/demangle.h"
#include "base/file/file.h"
#include "base/process/sandbox_internal.h"
#include "base/sanitized.h"

namespace gfxgraph::sandbox {
namespace {

bool in_worker = false;

// What the worker tells before it begins, with the listener's descriptor.
struct Hello {
  int listener;  // or a negative errno
  int landlock;  // version, or a negative errno
};

// ---- the worker ----

// "/dev/fd/63" and the like, by which shells pass pipes.
bool is_named(int fd, const std::vector<std::filesystem::path>& paths) {
  return std::ranges::any_of(paths, [&](const std::filesystem::path& path) {
    return path == fmt::format("/dev/fd/{}", fd) || path == fmt::format("/proc/self/fd/{}", fd) ||
           (fd == STDIN_FILENO && path == "/dev/stdin");
  });
}

// Descriptors that gfxgraph opened are closed by exec; those that it was started with are not.
void close_inherited_descriptors(const Access& access) {
  DIR* const folder = ::opendir("/proc/self/fd");
  if (folder == nullptr) return;
  std::vector<int> inherited;
  while (const dirent* const entry = ::readdir(folder)) {
    const std::string_view name = entry->d_name;
    int fd = -1;
    std::from_chars(name.data(), name.data() + name.size(), fd);
    const int flags = fd > STDERR_FILENO ? ::fcntl(fd, F_GETFD) : -1;
    if (flags < 0 || (flags & FD_CLOEXEC) != 0) continue;
    if (!is_named(fd, access.read) && !is_named(fd, access.write)) inherited.push_back(fd);
  }
  ::closedir(folder);
  for (const int fd : inherited) ::close(fd);
  // Standard input may be a socket.
  if (is_named(STDIN_FILENO, access.read) || is_named(STDIN_FILENO, access.write)) return;
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nothing < 0 || ::dup2(nothing, STDIN_FILENO) < 0) ::close(STDIN_FILENO);
  if (nothing > STDERR_FILENO) ::close(nothing);
}

// Building the filter takes memory, and a limit of data may leave none: the parent sets it
// afterwards.
void prepare_limits() {
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  rlimit data{};
  if (::getrlimit(RLIMIT_DATA, &data) != 0) return;
  data.rlim_cur = data.rlim_max;
  ::setrlimit(RLIMIT_DATA, &data);
}

bool send(int socket, const Hello& hello) {
  iovec bytes{const_cast<Hello*>(&hello), sizeof(hello)};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> space = {};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  if (hello.listener >= 0) {
    message.msg_control = space.data();
    message.msg_controllen = space.size();
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &hello.listener, sizeof(int));
  }
  return ::sendmsg(socket, &message, 0) == ssize_t{sizeof(hello)};
}

std::optional<std::string> demangle_in_parent(const std::string& name) {
  const long opened = ::syscall(SYS_openat, kDemangleRequest, name.c_str(), O_RDONLY, 0);
  if (opened < 0) return std::nullopt;
  const int fd = static_cast<int>(opened);
  std::string readable;
  const off_t size = ::lseek(fd, 0, SEEK_END);
  if (size > 0) readable.resize(static_cast<size_t>(size));
  const ssize_t got = ::pread(fd, readable.data(), readable.size(), 0);
  ::close(fd);
  if (got != static_cast<ssize_t>(readable.size())) return std::nullopt;
  return readable;
}

// libseccomp 2.5 crashes, or loses rules, where an allocation fails.
void expect_memory_for_filter() {
  constexpr size_t kEnough = size_t{4} << 20;
  void* const enough = ::mmap(nullptr, kEnough, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                              -1, 0);  // untouched: that is quick
  if (enough == MAP_FAILED) throw std::bad_alloc();
  ::munmap(enough, kEnough);
}

// Returns when the parent answers. Ends the process if the parent cannot use it.
void begin_work(int socket, pid_t parent, const Access& access) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(kExitFailed);
  close_inherited_descriptors(access);
  prepare_limits();
  expect_memory_for_filter();
  Hello hello{-ENOSYS, -ENOSYS};
  hello.landlock =
      deny_by_landlock([](long n, long a, long b, long c) { return ::syscall(n, a, b, c); });
  hello.listener = install_filter(socket);
  char go = 0;
  if (!send(socket, hello) || hello.listener < 0 || ::read(socket, &go, 1) != 1)
    ::_exit(kExitFailed);
  ::close(hello.listener);
  ::close(socket);
  in_worker = true;
  demangle_elsewhere(&demangle_in_parent);
}

// ---- the parent ----

constexpr int kForwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
std::atomic<pid_t> forwarded_to{0};

void forward(int signal) {
  const int error = errno;
  if (const pid_t worker = forwarded_to.load(); worker > 0) ::kill(worker, signal);
  errno = error;
}

// Signals that end this process are the worker's while this object lives. An ignored one stays so.
class ForwardedSignals {
 public:
  ForwardedSignals() {
    sigset_t some;
    sigemptyset(&some);
    for (const int signal : kForwarded) sigaddset(&some, signal);
    ::sigprocmask(SIG_BLOCK, &some, &mask_);
  }
  ~ForwardedSignals() {
    for (size_t i = 0; i < before_.size(); ++i) {
      if (installed_[i]) ::sigaction(kForwarded[i], &before_[i], nullptr);
    }
    forwarded_to = 0;
    unblock();
  }
  ForwardedSignals(const ForwardedSignals&) = delete;
  ForwardedSignals& operator=(const ForwardedSignals&) = delete;

  void to(pid_t worker) {
    forwarded_to = worker;
    for (size_t i = 0; i < before_.size(); ++i) {
      ::sigaction(kForwarded[i], nullptr, &before_[i]);
      if (before_[i].sa_handler == SIG_IGN) continue;
      struct sigaction action{};  // without SA_RESTART: opening a pipe may block
      action.sa_handler = forward;
      installed_[i] = ::sigaction(kForwarded[i], &action, nullptr) == 0;
    }
    unblock();
  }
  // Also in the worker, which keeps the handlers that it was started with.
  void unblock() { ::sigprocmask(SIG_SETMASK, &mask_, nullptr); }

 private:
  sigset_t mask_;
  std::array<struct sigaction, std::size(kForwarded)> before_{};
  std::array<bool, std::size(kForwarded)> installed_{};
};

// The listener's descriptor is this process's afterwards.
std::optional<Hello> receive(int socket) {
  Hello hello{};
  iovec bytes{&hello, sizeof(hello)};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> space = {};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = space.data();
  message.msg_controllen = space.size();
  ssize_t got = 0;
  do {
    got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got != ssize_t{sizeof(hello)}) return std::nullopt;
  if (const cmsghdr* const header = CMSG_FIRSTHDR(&message); header != nullptr) {
    std::memcpy(&hello.listener, CMSG_DATA(header), sizeof(int));
  } else if (hello.listener >= 0) {
    hello.listener = -EBADF;
  }
  return hello;
}

bool can_read_memory_of(pid_t worker) {
  char byte = 0;
  iovec here{&byte, 1};
  iovec there{&in_worker, 1};  // stands at the same address in both
  return ::process_vm_readv(worker, &here, 1, &there, 1, 0) == 1;
}

// Of `process`, 0: this one. The worker cannot raise it again.
bool limit_data(pid_t process, const Access& access) {
  rlimit data{};
  if (::getrlimit(RLIMIT_DATA, &data) != 0) return false;
  if (access.data_bytes != 0) data.rlim_cur = std::min<rlim_t>(data.rlim_cur, access.data_bytes);
  data.rlim_max = data.rlim_cur;
  return ::prlimit(process, RLIMIT_DATA, &data, nullptr) == 0;
}

int wait_for(pid_t worker) {
  int status = 0;
  while (::waitpid(worker, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

void serve(pid_t worker, int process, Broker& broker, int listener) {
  std::array<pollfd, 2> ready = {pollfd{process, POLLIN, 0}, pollfd{listener, POLLIN, 0}};
  while (true) {
    if (::poll(ready.data(), ready.size(), -1) < 0) {
      if (errno != EINTR) return;
      continue;
    }
    if (ready[0].revents != 0) return;
    if ((ready[1].revents & POLLIN) != 0) {
      if (broker.answer_one()) continue;
      ::kill(worker, SIGKILL);
      return;
    }
    if (ready[1].revents != 0) ready[1].fd = -1;  // its last thread is about to end
  }
}

// Ended by people, by `head`, by a limit of the shell: as if this process were the worker.
bool is_passed_on(int signal) {
  return std::ranges::find(kForwarded, signal) != std::end(kForwarded) || signal == SIGPIPE ||
         signal == SIGXFSZ || signal == SIGXCPU || signal == SIGALRM;
}

void die_of(int signal) {
  struct sigaction action{};
  action.sa_handler = SIG_DFL;
  ::sigaction(signal, &action, nullptr);
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, signal);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  ::raise(signal);
  ::sigprocmask(SIG_UNBLOCK, &one, nullptr);
}

int code_of(const char* command, int status, const std::string& crime) {
  // The sandbox is the last line of defence, so what reaches it is a defect of gfxgraph.
  constexpr const char* kAdvice = "the input may be an attack; report it (SECURITY.md)";
  if (!crime.empty()) {
    console::error(
        fmt::format("{}: stopped {}, which the sandbox forbids; {}", command, crime, kAdvice));
    return kExitDataLost;
  }
  if (WIFEXITED(status)) {
    console::options().verbose = false;  // the worker has printed the last line of --verbose
    return WEXITSTATUS(status);
  }
  const int signal = WTERMSIG(status);
  if (is_passed_on(signal)) die_of(signal);
  const char* const text = ::sigdescr_np(signal);
  if (signal == SIGSYS) {
    console::error(
        fmt::format("{}: stopped a system call, which the sandbox forbids; {}", command, kAdvice));
  } else if (signal == SIGKILL) {
    console::error(
        fmt::format("{}: the worker process was killed, perhaps for lack of memory; "
                    "lower --max-memory, or give more memory",
                    command));
  } else {
    console::error(fmt::format("{}: the worker process crashed: {}; {}", command,
                               text != nullptr ? text : "unknown signal", kAdvice));
  }
  return kExitDataLost;
}

void note_refusal(const char* what, int error) {
  console::message(
      fmt::format("note: no sandbox: the kernel refuses {} ({})", what, errno_message(error)));
}

}  // namespace

bool is_worker() noexcept { return in_worker; }

int enter(const char* command, const Access& access) {
  if (kSanitized) return -1;
  std::fflush(nullptr);
  std::array<int, 2> sockets = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets.data()) != 0) {
    note_refusal("a socket", errno);
    return -1;
  }
  ForwardedSignals signals;
  const pid_t parent = ::getpid();
  const pid_t worker = ::fork();
  if (worker == 0) {
    ::close(sockets[0]);
    signals.unblock();
    try {
      begin_work(sockets[1], parent, access);
    } catch (const std::bad_alloc&) {
      (void)send(sockets[1], Hello{-ENOMEM, -ENOMEM});
      ::_exit(kExitFailed);
    }
    return -1;
  }
  const int no_process = worker < 0 ? errno : 0;
  ::close(sockets[1]);
  const std::optional<Hello> hello =
      worker > 0 ? receive(sockets[0]) : Hello{-no_process, -no_process};
  int process = -1;
  const char* what = worker < 0 ? "a process" : "seccomp";
  int refused = !hello ? ECHILD : hello->listener < 0 ? -hello->listener : 0;
  const auto need = [&](const char* name, bool given) {
    if (refused != 0 || given) return;
    what = name;
    refused = errno;
  };
  if (refused == 0) process = static_cast<int>(::syscall(SYS_pidfd_open, worker, 0));
  need("pidfd_open", process >= 0);
  need("process_vm_readv", refused != 0 || can_read_memory_of(worker));
  need("prlimit", refused != 0 || limit_data(worker, access));
  if (refused == 0) {
    if (hello->landlock < 0) {
      console::detail(fmt::format("sandbox without Landlock: {}", errno_message(-hello->landlock)));
    }
    signals.to(worker);
    Broker broker(worker, hello->listener, access);
    (void)::write(sockets[0], "g", 1);
    ::close(sockets[0]);
    serve(worker, process, broker, hello->listener);
    const int status = wait_for(worker);
    ::close(process);
    ::close(hello->listener);
    return code_of(command, status, broker.crime());
  }
  if (worker > 0) {
    ::kill(worker, SIGKILL);
    (void)wait_for(worker);
  }
  ::close(sockets[0]);
  if (process >= 0) ::close(process);
  if (hello && hello->listener >= 0) ::close(hello->listener);
  // Not a kernel without a sandbox: the file stays unread.
  if (refused == ENOMEM) {
    console::error_without_memory(
        "not enough memory for the worker process; raise the limit of the shell (ulimit -d)");
    return kExitDataLost;
  }
  if (!hello) {
    console::error_without_memory(
        "the worker process ended before it began; give it more memory, or use --no-sandbox for a "
        "file that you trust");
    return kExitDataLost;
  }
  note_refusal(what, refused);
  limit_data(0, access);
  return -1;
}

}  // namespace gfxgraph::sandbox
