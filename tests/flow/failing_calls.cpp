// A fake in libgfxgraph, which is linked statically: the N-th call that it makes of the runtime
// fails, and is not made, as flow_faults says.
#include <atomic>
#include <cstring>
#include <type_traits>

#include "replayer/capi/c_api_internal.h"

namespace gfxgraph::replayer {
namespace {

std::atomic<int> calls{0}, which{0}, paused{0};
HipTable real;

// Text, and what gives back: errors of these are nobody's.
bool may_fail(const char* name) {
  return std::strstr(name, "Destroy") == nullptr && std::strstr(name, "Free") == nullptr &&
         std::strstr(name, "GetLastError") == nullptr && std::strstr(name, "Unload") == nullptr;
}

template <auto Member, typename Function>
struct Failing;
template <auto Member, typename... Arguments>
struct Failing<Member, int (*)(Arguments...)> {
  static int call(Arguments... arguments) {
    if (paused == 0 && ++calls == which) return hip::kErrorOutOfMemory;
    return (real.*Member)(arguments...);
  }
};

template <auto Member>
void wrap(HipTable& table, const char* name) {
  using Function = std::remove_reference_t<decltype(table.*Member)>;
  if constexpr (requires { &Failing<Member, Function>::call; }) {
    if (real.*Member != nullptr && may_fail(name)) table.*Member = &Failing<Member, Function>::call;
  }
}

bool install() {
  const Result<std::shared_ptr<const HipLibrary>> library = HipLibrary::load(0, runtime_lookup());
  if (!library) return false;
  HipTable table = real = (*library)->table();
#define GFXGRAPH_HIP_SYMBOL(requirement, result, name, arguments) \
  wrap<&HipTable::name>(table, #name);
#include "replayer/abi/hip_symbols.inc"
#undef GFXGRAPH_HIP_SYMBOL
  Result<std::shared_ptr<const HipLibrary>> failing =
      HipLibrary::from_table(table, (*library)->path(), (*library)->lookup());
  if (!failing) return false;
  use_hip_library_for_tests(*failing);
  return true;
}

}  // namespace
}  // namespace gfxgraph::replayer

// From now on the call of this number fails, 0: none. Returns how many there were before; -1: there
// is no runtime.
extern "C" int flow_fail_at(int number) {
  using namespace gfxgraph::replayer;  // NOLINT: this file's own
  static const bool installed = install();
  if (!installed) return -1;
  const int before = calls.exchange(0);
  which = number;
  return before;
}
// Around what counts for nothing.
extern "C" void flow_fail_pause(int more) { gfxgraph::replayer::paused += more; }
