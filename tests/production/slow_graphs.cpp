// A fake in libgfxgraph, which is linked statically: each launch of a graph that it makes takes
// longer, as slow_graph_launches says.
#include <atomic>
#include <chrono>
#include <thread>

#include "replayer/capi/c_api_internal.h"

namespace gfxgraph::replayer {
namespace {

std::atomic<int> milliseconds{0};
HipTable real;

int slow_launch(hip::GraphExec executable, hip::Stream stream) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  return real.hipGraphLaunch(executable, stream);
}

bool install() {
  const Result<std::shared_ptr<const HipLibrary>> library = HipLibrary::load(0, runtime_lookup());
  if (!library || (*library)->table().hipGraphLaunch == nullptr) return false;
  HipTable table = real = (*library)->table();
  table.hipGraphLaunch = &slow_launch;
  const Result<std::shared_ptr<const HipLibrary>> slow =
      HipLibrary::from_table(table, (*library)->path(), (*library)->lookup());
  if (!slow) return false;
  use_hip_library_for_tests(*slow);
  return true;
}

}  // namespace
}  // namespace gfxgraph::replayer

// From now on. 0: there is no runtime with graphs.
extern "C" int slow_graph_launches(int milliseconds) {
  static const bool installed = gfxgraph::replayer::install();
  gfxgraph::replayer::milliseconds = milliseconds;
  return installed ? 1 : 0;
}
