// A launch from the beginning of the program's call to what the trace holds of it: what the hooks
// of all launches of one kernel do, and the tests.
#pragma once

#include <utility>

#include "recorder/objects/devices.h"
#include "recorder/recorder.h"

namespace gfxgraph::recorder {

struct LaunchRequest {
  LaunchCall call;
  LaunchShape shape;
  void* const* params = nullptr;  // HIP's kernelParams and extra
  void* const* extra = nullptr;
  const char* name = "";   // of HIP's function; lives as long as the process
  Handle start = nullptr;  // events that the call records before the kernel and behind it
  Handle stop = nullptr;
};

// `make` calls the runtime; its result is 0 if that succeeded.
template <typename Make>
auto launch_kernel(Recorder& recorder, const LaunchRequest& request, KernelEntry* kernel,
                   HeldFindings&& found, Make&& make) {
  Launches& launches = recorder.launches();
  const Handle stream = request.call.stream;
  if (kernel == nullptr && found.empty()) return make();  // launches are not looked at
  if (found.empty()) {
    const LaunchWay way = launches.launch_way(*kernel, request.params, request.extra,
                                              arguments_before(request.shape));
    if (way != LaunchWay::kWhole) {
      const auto result = make();
      if (result == decltype(result){} &&
          launches.launched(way, *kernel, request.shape, request.params, request.extra, stream,
                            request.name)) [[unlikely]] {
        recorder.handover().drain();
      }
      return result;
    }
  }
  Work work;
  work.call = request.name;
  work.stream = stream;
  work.never_captured = request.call.never_captured;
  work.findings = std::move(found);
  RawLaunch raw = launches.raw_launch(kernel, request.shape, request.params, request.extra,
                                      work.call, work.findings, arguments_before(request.shape));
  work.skip = raw.kernel == nullptr;
  if (!work.skip) {
    work.raw = std::move(raw);
    recorder.work().prepare(work);
  }
  const auto result = make();
  if (result == decltype(result){}) recorder.commit(work);
  return result;
}

template <typename Make>
auto recorded_launch(Recorder& recorder, const LaunchRequest& request, Make&& make) {
  const LaunchCall& call = request.call;
  const LaunchTurn turn = recorder.turns().begins(call);
  HeldFindings found;
  // On the device of the stream: HIP looks it up there.
  KernelEntry* const kernel =
      recorder.launches().find_kernel(call.function, call.host_function, request.name, found,
                                      DeviceStreams::device_of(call.stream));
  if (request.start != nullptr) recorder.streams().event_recorded(request.start, call.stream);
  const auto result =
      launch_kernel(recorder, request, kernel, std::move(found), std::forward<Make>(make));
  const bool success = result == decltype(result){};
  if (request.stop != nullptr && success) {
    recorder.streams().event_recorded(request.stop, call.stream);
  }
  recorder.turns().ended(call, turn, success);
  return result;
}

}  // namespace gfxgraph::recorder
