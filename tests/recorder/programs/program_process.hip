// A HIP program that closes descriptors, gives up its rights, starts other processes, or is ended by
// a signal: program_process MODE [folder].
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

#include "program.h"

__global__ void add(int* data, int value) { data[threadIdx.x] += value; }

static int* data = nullptr;

static void work() {
  if (data == nullptr) {
    CHECK(hipMalloc(reinterpret_cast<void**>(&data), 64 * sizeof(int)));
    CHECK(hipMemset(data, 0, 64 * sizeof(int)));
  }
  add<<<1, 64>>>(data, 1);
  CHECK(hipDeviceSynchronize());
}

__global__ void wait_for_word(const int* word, int* data) {
  while (__hip_atomic_load(word, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM) == 0) {
  }
  data[threadIdx.x] = 0;
}

// One thread waits in a copy for a kernel that does not end; another one aborts. Prints when, in milliseconds.
static void abort_busy() {
  int* word = nullptr;
  CHECK(hipHostMalloc(reinterpret_cast<void**>(&word), sizeof(int), 0));
  *word = 0;
  std::thread copies([&] {
    static int host[64];
    wait_for_word<<<1, 64>>>(word, data);
    CHECK(hipMemcpy(host, data, sizeof(host), hipMemcpyDeviceToHost));
  });
  usleep(300'000);
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  std::printf("%lld\n", static_cast<long long>(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000);
  std::fflush(stdout);
  abort();
}

static void wait_for(pid_t child) {
  int status = 0;
  if (waitpid(child, &status, 0) != child) std::exit(4);
}

// A child that works, and then does what `after` does.
template <typename After>
static pid_t fork_worker(After after) {
  const pid_t child = fork();
  if (child != 0) return child;
  work();
  after();
  std::exit(0);
}

static bool exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  const std::string folder = argc > 2 ? argv[2] : ".";
  if (mode == "forks_first") wait_for(fork_worker([] {}));
  if (mode == "killed_child") wait_for(fork_worker([] { raise(SIGKILL); }));
  if (mode == "crowd") {
    std::vector<pid_t> children(std::stoul(folder));
    for (pid_t& child : children) child = fork_worker([] {});
    for (const pid_t child : children) wait_for(child);
    return 0;
  }
  if (mode == "outlives") {
    fork_worker([&] {
      if (fopen((folder + "/ready").c_str(), "w") == nullptr) _exit(3);
      for (int i = 0; i < 6000 && !exists(folder + "/stop"); ++i) usleep(10000);
    });
    while (!exists(folder + "/ready")) usleep(1000);
    return 0;
  }
  if (mode == "fork_first") {
    const pid_t child = fork();
    if (child == 0) {
      work();
      return 0;
    }
    wait_for(child);
    std::printf("ok\n");
    return 0;
  }
  if (mode == "allocates") {
    for (int i = 0; i < 2; ++i) {
      CHECK(hipMalloc(reinterpret_cast<void**>(&data), 4096));
      CHECK(hipFree(data));
    }
    return 0;
  }
  work();
  if (mode == "closes") {
    for (int fd = 3; fd < 20000; ++fd) close(fd);
    for (int i = 0; i < 200; ++i) {
      const std::string name = folder + "/file" + std::to_string(i);
      if (open(name.c_str(), O_CREAT | O_WRONLY, 0600) < 0) return 3;
    }
    const int file = open((folder + "/file0").c_str(), O_WRONLY);
    for (int fd = 1000; fd < 20000; ++fd) dup2(file, fd);
    work();
  }
  if (mode == "limit") {
    rlimit limit{3, 3};
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return 3;
    work();
  }
  if (mode == "abort_busy") abort_busy();
  if (mode == "chroot" && (chroot(folder.c_str()) != 0 || chdir("/") != 0)) return 3;
  if (mode == "setuid" && (setgid(65534) != 0 || setuid(65534) != 0)) return 3;
  if (mode == "child") {
    const pid_t child = fork();
    if (child == 0) {
      alarm(2);  // the runtime has no threads here
      add<<<1, 64>>>(data, 1);
      _exit(0);
    }
    wait_for(child);
  }
  if (mode == "system" || mode == "system_allocates") {
    const std::string command =
        std::string(argv[0]) + (mode == "system" ? " once" : " allocates");
    if (std::system(command.c_str()) != 0) return 3;
  }
  char once[] = "once";
  char* const once_argv[] = {argv[0], once, nullptr};
  if (mode == "fork_exec" || mode == "spawn") {
    // Its output is not the program's.
    pid_t child = -1;
    posix_spawn_file_actions_t quiet;
    posix_spawn_file_actions_init(&quiet);
    posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (mode == "spawn") {
      if (posix_spawn(&child, argv[0], &quiet, nullptr, once_argv, environ) != 0) return 3;
    } else if ((child = fork()) == 0) {
      dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
      execv(argv[0], once_argv);
      _exit(3);
    }
    wait_for(child);
  }
  if (mode == "exec") execl(argv[0], argv[0], "once", static_cast<char*>(nullptr));
  if (mode == "handler") {
    // What was never set looks as it always does; what the program sets is its own.
    struct sigaction old{};
    if (sigaction(SIGINT, nullptr, &old) != 0 || old.sa_handler != SIG_DFL) return 5;
    if (signal(SIGTERM, [](int) { _exit(23); }) != SIG_DFL) return 6;
    if (signal(SIGTERM, [](int) { _exit(24); }) == SIG_DFL) return 7;
    raise(SIGTERM);
  }
  if (mode == "ignores") {
    raise(SIGINT);
    raise(SIGHUP);
  }
  if (mode == "signal") {
    std::printf("ok\n");
    std::fflush(stdout);
    kill(getpid(), std::stoi(folder));  // 0: waits for the signal of another process
    while (true) work();
  }
  std::printf("ok\n");
  return 0;
}
