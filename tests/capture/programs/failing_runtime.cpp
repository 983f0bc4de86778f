// A fake between the capture layer and the runtime: the N-th call of those that the layer makes for
// itself fails, N from FAILING_CALL. Preloaded behind the layer. Prints how many there were.
#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace {

constexpr int kOutOfMemory = 2;  // hipErrorOutOfMemory

std::atomic<int> calls{0};

bool fails() {
  static const int which = [] {
    const char* const text = std::getenv("FAILING_CALL");
    return text == nullptr ? 0 : std::atoi(text);
  }();
  return ++calls == which;
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
    return fails() ? kOutOfMemory : next(a, b, c, d, e, f, g, h, i);                \
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
FAILING(hipGraphDestroy)
FAILING(hipStreamGetFlags)
