#include "recorder/hooks/process/exec_trial.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <iterator>

namespace gfxgraph::recorder {
namespace {

constexpr size_t kStackBytes = size_t{256} << 10;  // glibc's execvp() has the names on the stack
constexpr int kCannotTry = 1;
constexpr int kFailed = 2;

struct Attempt {
  void (*call)(void* data);
  void* data;
};

// Every system call but exec and exit_group ends the process. The filter outlives the exec: the new
// program dies at its first system call, before it can have any effect.
bool allow_only_exec() noexcept {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 0, 5),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_execve, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_execveat, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
  };
  const sock_fprog program{static_cast<unsigned short>(std::size(filter)), filter};
  // A core of one byte is none, also where a program receives cores.
  const rlimit no_core{1, 1};
  return setrlimit(RLIMIT_CORE, &no_core) == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

int attempt(void* data) {
  const Attempt& one = *static_cast<const Attempt*>(data);
  if (!allow_only_exec()) syscall(SYS_exit_group, kCannotTry);
  one.call(one.data);
  syscall(SYS_exit_group, kFailed);
  __builtin_unreachable();
}

}  // namespace

Trial try_exec(void (*call)(void* data), void* data) noexcept {
  void* const stack = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (stack == MAP_FAILED) return Trial::kUnknown;
  const int error = errno;  // the child's calls set it: it shares this thread's variables
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  (void)pthread_sigmask(SIG_BLOCK, &all, &before);
  Attempt one{call, data};
  // Waits until the child has executed the program or ended; tells no handler of SIGCHLD.
  const int child =
      clone(attempt, static_cast<char*>(stack) + kStackBytes, CLONE_VM | CLONE_VFORK, &one);
  int status = 0;
  pid_t ended = -1;
  if (child > 0) {
    do {
      ended = waitpid(child, &status, __WCLONE);
    } while (ended < 0 && errno == EINTR);
  }
  (void)pthread_sigmask(SIG_SETMASK, &before, nullptr);
  (void)munmap(stack, kStackBytes);
  errno = error;
  if (child < 0 || ended != child) return Trial::kUnknown;
  if (WIFEXITED(status) && WEXITSTATUS(status) == kFailed) return Trial::kWouldFail;
  if (WIFSIGNALED(status)) return Trial::kWouldSucceed;
  return Trial::kUnknown;
}

}  // namespace gfxgraph::recorder
