// What the worker process may ask of the kernel.
#include <fcntl.h>
#include <linux/landlock.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/process/sandbox_internal.h"

namespace gfxgraph::sandbox {
namespace {

// Computing, memory, threads, time, and descriptors that are open. None takes a path that it opens
// or changes; questions about files (stat, access, readlink) reveal only that a file exists.
constexpr int kAllowed[] = {
    SCMP_SYS(read),
    SCMP_SYS(readv),
    SCMP_SYS(pread64),
    SCMP_SYS(preadv),
    SCMP_SYS(write),
    SCMP_SYS(writev),
    SCMP_SYS(pwrite64),
    SCMP_SYS(pwritev),
    SCMP_SYS(lseek),
    SCMP_SYS(close),
    SCMP_SYS(close_range),
    SCMP_SYS(fstat),
    SCMP_SYS(fsync),
    SCMP_SYS(fdatasync),
    SCMP_SYS(ftruncate),
    SCMP_SYS(fallocate),
    SCMP_SYS(fadvise64),
    SCMP_SYS(flock),
    SCMP_SYS(dup),
    SCMP_SYS(dup2),
    SCMP_SYS(dup3),
    SCMP_SYS(pipe2),
    SCMP_SYS(poll),
    SCMP_SYS(ppoll),
    SCMP_SYS(copy_file_range),
    SCMP_SYS(memfd_create),
    // questions about files
    SCMP_SYS(stat),
    SCMP_SYS(lstat),
    SCMP_SYS(newfstatat),
    SCMP_SYS(statx),
    SCMP_SYS(access),
    SCMP_SYS(faccessat),
    SCMP_SYS(faccessat2),
    SCMP_SYS(readlink),
    SCMP_SYS(readlinkat),
    SCMP_SYS(getcwd),
    SCMP_SYS(fstatfs),
    SCMP_SYS(getdents64),
    // memory
    SCMP_SYS(munmap),
    SCMP_SYS(mremap),
    SCMP_SYS(madvise),
    SCMP_SYS(brk),
    SCMP_SYS(mincore),
    SCMP_SYS(msync),
    SCMP_SYS(membarrier),
    // threads and signals of this process
    SCMP_SYS(futex),
    SCMP_SYS(futex_waitv),
    SCMP_SYS(set_robust_list),
    SCMP_SYS(get_robust_list),
    SCMP_SYS(rseq),
    SCMP_SYS(set_tid_address),
    SCMP_SYS(sched_yield),
    SCMP_SYS(sched_getaffinity),
    SCMP_SYS(sched_getparam),
    SCMP_SYS(sched_getscheduler),
    SCMP_SYS(getcpu),
    SCMP_SYS(rt_sigaction),
    SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(rt_sigreturn),
    SCMP_SYS(sigaltstack),
    SCMP_SYS(restart_syscall),
    SCMP_SYS(exit),
    SCMP_SYS(exit_group),
    // time, numbers, this process
    SCMP_SYS(nanosleep),
    SCMP_SYS(clock_nanosleep),
    SCMP_SYS(clock_gettime),
    SCMP_SYS(clock_getres),
    SCMP_SYS(gettimeofday),
    SCMP_SYS(time),
    SCMP_SYS(setitimer),
    SCMP_SYS(getrandom),
    SCMP_SYS(uname),
    SCMP_SYS(sysinfo),
    SCMP_SYS(getrusage),
    SCMP_SYS(getrlimit),
    SCMP_SYS(getpid),
    SCMP_SYS(getppid),
    SCMP_SYS(gettid),
    SCMP_SYS(getuid),
    SCMP_SYS(geteuid),
    SCMP_SYS(getgid),
    SCMP_SYS(getegid),
    SCMP_SYS(umask),
};

constexpr int kAllowedFcntl[] = {F_GETFD, F_SETFD, F_GETFL, F_DUPFD, F_DUPFD_CLOEXEC};

class Filter {
 public:
  explicit Filter(uint32_t other) : context_(::seccomp_init(other)) {
    if (context_ == nullptr) error_ = -ENOTSUP;
  }
  ~Filter() {
    if (context_ != nullptr) ::seccomp_release(context_);
  }
  Filter(const Filter&) = delete;
  Filter& operator=(const Filter&) = delete;

  template <typename... Conditions>
  void allow(int call, Conditions... conditions) {
    act(SCMP_ACT_ALLOW, call, conditions...);
  }
  template <typename... Conditions>
  void act(uint32_t action, int call, Conditions... conditions) {
    if (error_ != 0) return;
    const scmp_arg_cmp list[] = {conditions..., {}};
    error_ = ::seccomp_rule_add_array(context_, action, call, sizeof...(conditions), list);
  }

  // 0 or a negative errno. Sets no_new_privs.
  int load() {
    if (error_ == 0) error_ = ::seccomp_attr_set(context_, SCMP_FLTATR_CTL_NNP, 1);
    if (error_ == 0)
      error_ = ::seccomp_attr_set(context_, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
    if (error_ == 0) error_ = ::seccomp_attr_set(context_, SCMP_FLTATR_API_SYSRAWRC, 1);
    // Older kernels slow down all code of a process with a filter otherwise. There is no secret in
    // this process, and no code of a stranger.
    if (error_ == 0) error_ = ::seccomp_attr_set(context_, SCMP_FLTATR_CTL_SSB, 1);
    if (error_ == 0) error_ = ::seccomp_load(context_);
    return error_;
  }
  int listener() { return ::seccomp_notify_fd(context_); }

 private:
  scmp_filter_ctx context_;
  int error_ = 0;
};

// The upper half of a register that holds an int is undefined.
constexpr scmp_datum_t kInt = 0xFFFFFFFF;

scmp_arg_cmp argument(unsigned number, scmp_compare compare, scmp_datum_t a, scmp_datum_t b = 0) {
  return {number, compare, a, b};
}
scmp_arg_cmp is_int(unsigned number, int64_t value) {
  return argument(number, SCMP_CMP_MASKED_EQ, kInt, static_cast<scmp_datum_t>(value) & kInt);
}

void allow_common(Filter& filter) {
  for (const int call : kAllowed) filter.allow(call);
  for (const int command : kAllowedFcntl) filter.allow(SCMP_SYS(fcntl), is_int(1, command));
  // Whether a descriptor is a terminal, and how wide.
  constexpr int64_t kTermios2 = 0x802C542A;  // TCGETS2, of newer C libraries
  filter.allow(SCMP_SYS(ioctl), is_int(1, TCGETS));
  filter.allow(SCMP_SYS(ioctl), is_int(1, kTermios2));
  filter.allow(SCMP_SYS(ioctl), is_int(1, TIOCGWINSZ));
  filter.allow(SCMP_SYS(prctl), is_int(0, PR_SET_NAME));
  // No limit of this process is raised.
  filter.allow(SCMP_SYS(prlimit64), is_int(0, 0), argument(2, SCMP_CMP_EQ, 0));
  const auto not_executable = argument(2, SCMP_CMP_MASKED_EQ, PROT_EXEC, 0);
  filter.allow(SCMP_SYS(mmap), not_executable);
  filter.allow(SCMP_SYS(mprotect), not_executable);
  // Threads, no processes. The C library tries clone3, whose flags a filter cannot read, first.
  filter.allow(SCMP_SYS(clone), argument(0, SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD));
  filter.act(SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3));
  // abort() and raise(), not other processes.
  filter.allow(SCMP_SYS(tgkill), is_int(0, ::getpid()));
  filter.allow(SCMP_SYS(kill), is_int(0, ::getpid()));
}

}  // namespace

int install_filter(int through) noexcept {
  Filter filter(SCMP_ACT_NOTIFY);
  allow_common(filter);
  filter.allow(SCMP_SYS(sendmsg), is_int(0, through));
  if (const int error = filter.load(); error != 0) return error;
  // The library may close its own descriptor when the filter's description is released.
  const int listener = ::fcntl(filter.listener(), F_DUPFD_CLOEXEC, 0);
  const int error = listener < 0 ? -errno : 0;
  ::close(filter.listener());
  return error != 0 ? error : listener;
}

bool install_strict_filter() noexcept {
  Filter filter(SCMP_ACT_KILL_PROCESS);
  allow_common(filter);
  return filter.load() == 0;
}

int deny_by_landlock(Syscall call) noexcept {
  // landlock_ruleset_attr of version 6; older kernels take the part that they know. No rule is
  // added: what is listed here is denied. Source: the kernel's userspace-api/landlock.rst.
  struct {
    uint64_t files = 0, network = 0, scoped = 0;
  } denied;
  const long version = call(SYS_landlock_create_ruleset, 0, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (version < 1) return version == 0 ? -ENOSYS : -errno;
  constexpr int kFileRights[] = {13, 14, 15, 15, 16};  // the number of rights of each version
  denied.files = (uint64_t{1} << kFileRights[std::min<long>(version, 5) - 1]) - 1;
  if (version >= 4) denied.network = 3;  // TCP: bind, connect
  if (version >= 6) denied.scoped = 3;   // abstract sockets, signals to others
  const long size = version >= 6 ? 24 : version >= 4 ? 16 : 8;
  const long rules = call(SYS_landlock_create_ruleset, reinterpret_cast<long>(&denied), size, 0);
  if (rules < 0) return -errno;
  long error = 0;
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      call(SYS_landlock_restrict_self, rules, 0, 0) != 0) {
    error = -errno;
  }
  ::close(static_cast<int>(rules));
  return static_cast<int>(error != 0 ? error : version);
}

}  // namespace gfxgraph::sandbox
