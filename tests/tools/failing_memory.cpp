// Preloaded into gfxgraph by out_of_memory.py: from its main function on, the FAILING_ALLOCATION-th
// allocation of each process fails, and all later ones, too, unless FAILING_ONCE is set. At the end
// the number of allocations is written to the descriptor FAILING_COUNT.
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* old, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
}

namespace {

std::atomic<bool> counting{false};
std::atomic<long> count{0};
long failing = 0;
bool once = false;
int (*program)(int, char**, char**) = nullptr;

bool fails() noexcept {
  if (!counting.load(std::memory_order_relaxed)) return false;
  const long number = ++count;
  if (failing == 0 || number < failing || (once && number != failing)) return false;
  errno = ENOMEM;
  return true;
}

// The end of a process that has ended the C library's way.
void tell() {
  counting = false;
  const char* const descriptor = std::getenv("FAILING_COUNT");
  if (descriptor != nullptr) ::dprintf(std::atoi(descriptor), "%ld\n", count.load());
}

int counted_main(int argc, char** argv, char** environment) {
  const char* const number = std::getenv("FAILING_ALLOCATION");
  failing = number != nullptr ? std::atol(number) : 0;
  once = std::getenv("FAILING_ONCE") != nullptr;
  std::atexit(tell);
  counting = true;
  return program(argc, argv, environment);
}

}  // namespace

#define HOOK __attribute__((visibility("default")))

extern "C" {

HOOK void* malloc(size_t size) { return fails() ? nullptr : __libc_malloc(size); }
HOOK void* calloc(size_t n, size_t size) { return fails() ? nullptr : __libc_calloc(n, size); }
HOOK void* realloc(void* old, size_t size) { return fails() ? nullptr : __libc_realloc(old, size); }
HOOK void* memalign(size_t alignment, size_t size) {
  return fails() ? nullptr : __libc_memalign(alignment, size);
}
HOOK void* aligned_alloc(size_t alignment, size_t size) {
  return fails() ? nullptr : __libc_memalign(alignment, size);
}
HOOK int posix_memalign(void** out, size_t alignment, size_t size) {
  void* const got = fails() ? nullptr : __libc_memalign(alignment, size);
  if (got == nullptr) return ENOMEM;
  *out = got;
  return 0;
}

HOOK int __libc_start_main(int (*main)(int, char**, char**), int argc, char** argv,
                           int (*init)(int, char**, char**), void (*fini)(), void (*rtld_fini)(),
                           void* stack_end) {
  program = main;
  const auto next =
      reinterpret_cast<decltype(&__libc_start_main)>(::dlsym(RTLD_NEXT, "__libc_start_main"));
  return next(counted_main, argc, argv, init, fini, rtld_fini, stack_end);
}
}
