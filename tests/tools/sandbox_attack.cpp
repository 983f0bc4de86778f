// Preloaded into gfxgraph by sandbox_commands.py: what a hostile trace would do if it controlled
// the process that opens it. The attack is made when the trace is opened. The product has no such
// hook.
#include <dlfcn.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdlib>
#include <string_view>

namespace {

using Open = int (*)(const char*, int, ...);

Open real_open() { return reinterpret_cast<Open>(::dlsym(RTLD_NEXT, "open")); }

void attack(std::string_view kind) {
  char program[] = "/bin/sh", option[] = "-c", command[] = "echo > pwned";
  char* const arguments[] = {program, option, command, nullptr};
  sockaddr_in address{};
  address.sin_family = AF_INET;
  bool done = true;
  if (kind == "write") real_open()("pwned", O_WRONLY | O_CREAT, 0600);
  if (kind == "socket") done = ::socket(AF_INET, SOCK_STREAM, 0) >= 0;
  if (kind == "connect") ::connect(0, reinterpret_cast<sockaddr*>(&address), sizeof(address));
  if (kind == "execve") ::execv(program, arguments);
  if (kind == "ptrace") ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
  if (kind == "kill") ::kill(::getppid(), 0);
  if (kind == "fork" && ::fork() == 0) ::_exit(0);
  if (kind == "crash") std::abort();
  if (done) (void)!::write(STDERR_FILENO, "went on\n", 8);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int open(const char* path, int flags, ...) {
  static bool attacked = false;
  const char* const kind = std::getenv("ATTACK");
  if (kind != nullptr && !attacked && std::string_view(path).ends_with("attack.gfxg")) {
    attacked = true;
    attack(kind);
  }
  std::va_list list;
  va_start(list, flags);
  const mode_t mode = va_arg(list, mode_t);
  va_end(list);
  return real_open()(path, flags, mode);
}
