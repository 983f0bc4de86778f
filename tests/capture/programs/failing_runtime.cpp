// A fake between the capture layer and the runtime: the N-th call of those that the layer makes for
// itself fails, N from FAILING_CALL. With CANCELLED_CALL instead, the first thread but main's that
// makes any is cancelled in its N-th one, when that is done. Preloaded behind the layer. Prints how
// many there were.
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace {

constexpr int kOutOfMemory = 2;  // hipErrorOutOfMemory

std::atomic<int> calls{0};

int number(const char* variable) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? 0 : std::atoi(text);
}

const int failing = number("FAILING_CALL");
const int cancelled = number("CANCELLED_CALL");

bool fails() { return cancelled == 0 && ++calls == failing; }

void may_be_cancelled() {
  static std::atomic<pid_t> thread{0};
  if (cancelled == 0 || gettid() == getpid()) return;
  pid_t first = 0;
  if (!thread.compare_exchange_strong(first, gettid()) && first != gettid()) return;
  if (++calls != cancelled) return;
  pthread_cancel(pthread_self());
  pthread_testcancel();
}

struct AtEnd {
  ~AtEnd() { std::fprintf(stderr, "failing_runtime: %d calls\n", calls.load()); }
};
const AtEnd at_end;

}  // namespace

// Up to six integer arguments, all that these have.
#define FAILING(name)                                                               \
  extern "C" __attribute__((visibility("default"))) int name(                       \
      long a, long b, long c, long d, long e, long f, long g, long h, long i) {     \
    using Function = int (*)(long, long, long, long, long, long, long, long, long); \
    static const auto next = reinterpret_cast<Function>(dlsym(RTLD_NEXT, #name));   \
    if (fails()) return kOutOfMemory;                                               \
    const int result = next(a, b, c, d, e, f, g, h, i);                             \
    may_be_cancelled();                                                             \
    return result;                                                                  \
  }
FAILING(hipGraphCreate)
FAILING(hipGraphAddKernelNode)
FAILING(hipGraphAddMemcpyNode)
FAILING(hipGraphAddMemcpyNode1D)
FAILING(hipGraphAddMemcpyNodeToSymbol)
FAILING(hipGraphAddMemcpyNodeFromSymbol)
FAILING(hipGraphAddMemsetNode)
FAILING(hipGraphAddChildGraphNode)
FAILING(hipGraphNodeGetDependentNodes)
FAILING(hipGraphClone)
FAILING(hipGraphAddEmptyNode)
FAILING(hipGraphAddDependencies)
FAILING(hipGraphAddEventRecordNode)
FAILING(hipGraphAddEventWaitNode)
FAILING(hipGraphGetNodes)
FAILING(hipGraphGetRootNodes)
FAILING(hipGraphDestroy)
FAILING(hipStreamGetFlags)
