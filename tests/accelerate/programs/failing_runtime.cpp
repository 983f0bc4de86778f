// A fake between the hooks and the runtime: the N-th call of a kind fails, N from FAILING_CALL, the
// kind from FAILING_KIND: graph (what makes, changes and launches graphs) or launch (launches,
// copies and fills). Preloaded behind the hooks. Prints how many there were. As in the runtime, the
// error is the thread's last error too: a launch by <<<>>> tells of it in no other way.
#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr int kOutOfMemory = 2;  // hipErrorOutOfMemory

std::atomic<int> calls{0};
thread_local int last_error = 0;

bool fails(const char* kind) {
  static const char* const wanted = std::getenv("FAILING_KIND");
  static const int which = [] {
    const char* const text = std::getenv("FAILING_CALL");
    return text == nullptr ? 0 : std::atoi(text);
  }();
  if (wanted == nullptr || std::strcmp(wanted, kind) != 0 || ++calls != which) return false;
  last_error = kOutOfMemory;
  return true;
}

struct AtEnd {
  ~AtEnd() { std::fprintf(stderr, "failing_runtime: %d calls\n", calls.load()); }
};
const AtEnd at_end;

}  // namespace

// Integer arguments in registers and on the stack: enough of them for these, dim3 by value
// included.
#define FAILING(kind, name)                                                                    \
  extern "C" __attribute__((visibility("default"))) int name(long a, long b, long c, long d,   \
                                                             long e, long f, long g, long h,   \
                                                             long i, long j, long k, long l) { \
    using Function =                                                                           \
        int (*)(long, long, long, long, long, long, long, long, long, long, long, long);       \
    static const auto next = reinterpret_cast<Function>(dlsym(RTLD_NEXT, #name));              \
    return fails(kind) ? kOutOfMemory : next(a, b, c, d, e, f, g, h, i, j, k, l);              \
  }
FAILING("graph", hipGraphCreate)
FAILING("graph", hipGraphAddKernelNode)
FAILING("graph", hipGraphAddMemcpyNode1D)
FAILING("graph", hipGraphAddMemsetNode)
FAILING("graph", hipGraphExecKernelNodeSetParams)
FAILING("graph", hipGraphExecDestroy)
FAILING("graph", hipGraphInstantiate)
FAILING("graph", hipGraphLaunch)
FAILING("graph", hipGraphDestroy)
FAILING("launch", hipLaunchKernel)
FAILING("launch", hipMemcpyAsync)
FAILING("launch", hipMemsetAsync)

#define LAST_ERROR(name, forgets)                                                  \
  extern "C" __attribute__((visibility("default"))) int name() {                   \
    static const auto next = reinterpret_cast<int (*)()>(dlsym(RTLD_NEXT, #name)); \
    const int error = last_error;                                                  \
    if (forgets) last_error = 0;                                                   \
    const int real_error = next();                                                 \
    return error != 0 ? error : real_error;                                        \
  }
LAST_ERROR(hipGetLastError, true)
LAST_ERROR(hipPeekAtLastError, false)
