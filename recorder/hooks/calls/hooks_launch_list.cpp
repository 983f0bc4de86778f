// Hooks of launches on several devices by one call: one kernel for each stream of a list.
//
// HIP documents that each kernel waits for the earlier work of all streams of the list, and that
// their later work waits for all kernels. The runtimes from 5.2.3 to 7.2.4 do that on the host: the
// call waits for all streams before the first launch and again after the last one, unless its flags
// forbid it. So the trace gets launches, and what the host learns before and behind them.
#include <deque>
#include <exception>
#include <vector>

#include "recorder/hooks/calls/hooks_internal.h"
#include "recorder/hooks/calls/newer_hip.h"
#include "recorder/program_memory.h"

using namespace gfxgraph::recorder;

namespace {

struct Listed {
  Handle function = nullptr;  // a host stub or a hipFunction_t
  LaunchShape shape;
  void** params = nullptr;
  hipStream_t stream = nullptr;
};

struct List {
  int index = -1;  // the row of the call
  bool host_functions = false;
  bool waits_before = false;
  bool waits_after = false;
  std::vector<Listed> launches = {};
};

List list_of(int index, const hipLaunchParams* params, int count, unsigned flags,
             bool cooperative) {
  List list{index, true, (flags & hipCooperativeLaunchMultiDeviceNoPreSync) == 0,
            (flags & hipCooperativeLaunchMultiDeviceNoPostSync) == 0};
  const auto read = read_list(params, count < 0 ? 0 : static_cast<size_t>(count));
  for (const hipLaunchParams& one : read.value_or(std::vector<hipLaunchParams>())) {
    Listed& listed = list.launches.emplace_back();
    listed.function = one.func;
    listed.shape.grid = {one.gridDim.x, one.gridDim.y, one.gridDim.z};
    listed.shape.block = {one.blockDim.x, one.blockDim.y, one.blockDim.z};
    listed.shape.dynamic_lds_bytes = static_cast<uint32_t>(one.sharedMem);
    listed.shape.cooperative = cooperative;
    listed.params = one.args;
    listed.stream = one.stream;
  }
  return list;
}

List list_of(int index, const FunctionLaunchParams* params, unsigned count, unsigned flags) {
  List list{index, false, (flags & hipCooperativeLaunchMultiDeviceNoPreSync) == 0,
            (flags & hipCooperativeLaunchMultiDeviceNoPostSync) == 0};
  const auto read = read_list(params, count);
  for (const FunctionLaunchParams& one : read.value_or(std::vector<FunctionLaunchParams>())) {
    Listed& listed = list.launches.emplace_back();
    listed.function = one.function;
    listed.shape.grid = {one.grid[0], one.grid[1], one.grid[2]};
    listed.shape.block = {one.block[0], one.block[1], one.block[2]};
    listed.shape.dynamic_lds_bytes = one.shared_bytes;
    listed.shape.cooperative = true;
    listed.params = one.params;
    listed.stream = one.stream;
  }
  return list;
}

// Whether HIP checks the list before it launches anything, and refuses this one.
bool is_refused(const List& list) {
  for (size_t i = 0; i < list.launches.size(); ++i) {
    const Listed& one = list.launches[i];
    if (reinterpret_cast<uintptr_t>(one.stream) < 2) return true;  // null streams
    if (one.shape.block[0] == 0 || one.shape.block[1] == 0 || one.shape.block[2] == 0) return true;
    for (size_t j = 0; j < i; ++j) {
      if (DeviceStreams::device_of(stream_key(one.stream)) ==
          DeviceStreams::device_of(stream_key(list.launches[j].stream))) {
        return true;
      }
    }
  }
  return list.launches.empty();
}

// As the runtime does after it: what happens meanwhile to memory that these streams write is known
// before the kernels are looked at.
void wait_before(const List& list) {
  for (const Listed& one : list.launches) {
    const hipError_t result = real(kCall_hipStreamSynchronize, one.stream);
    learned.index = -1;
    if (result != hipSuccess) return;
    recorder().streams().synchronized(gfxgraph::format::SynchronizeKind::kStreamItself,
                                      stream_key(one.stream), display_name(list.index));
  }
}

void describe(const List& list, const Listed& one, Work& work) {
  work.call = display_name(list.index).data();
  work.stream = stream_key(one.stream);
  work.never_captured = true;
  work.skip = true;
  KernelEntry* const kernel =
      recorder().launches().find_kernel(one.function, list.host_functions, work.call, work.findings,
                                        DeviceStreams::device_of(work.stream));
  if (kernel == nullptr) return;
  if (one.shape.cooperative && Launches::may_wait_for_grids(*kernel)) {
    work.findings.push_back({gfxgraph::format::FindingKind::kIncomplete, work.call,
                             kernel->kernel.name +
                                 " uses, or may use, a barrier of the grids of several devices "
                                 "(hidden_multigrid_sync_arg), which a replay does not have"});
    return;
  }
  RawLaunch raw = recorder().launches().raw_launch(kernel, one.shape, one.params, nullptr,
                                                   work.call, work.findings);
  if (raw.kernel == nullptr) return;
  work.skip = false;
  work.raw = std::move(raw);
  recorder().work().prepare(work);
}

template <typename Call>
hipError_t launch_list(const List& list, Call&& call) {
  const char* const name = display_name(list.index).data();
  const bool refused = is_refused(list);
  if (refused || recorder().graphs().any_capture()) {
    const hipError_t result = call();
    learned.index = -1;
    if (result == hipSuccess)
      recorder().note_incomplete(
          name, refused ? "with a list that HIP documents as an error" : "during a stream capture");
    return result;
  }
  if (list.waits_before) wait_before(list);
  std::vector<ListedKernel> kernels;
  for (const Listed& one : list.launches) kernels.push_back({one.function});
  const Listed& first = list.launches.front();
  const Turn turn{{.function = first.function,
                   .host_function = list.host_functions,
                   .stream = stream_key(first.stream),
                   .never_captured = true,
                   .cooperative = first.shape.cooperative,
                   .list = &kernels}};
  std::deque<Work> works(list.launches.size());
  for (size_t i = 0; i < works.size(); ++i) {
    describe(list, list.launches[i], works[i]);
    works[i].more = i + 1 < works.size();
  }
  const hipError_t result = call();
  learned.index = -1;
  if (result == hipSuccess) {
    for (Work& work : works) recorder().commit(work);
    for (const Listed& one : list.launches) {
      if (!list.waits_after) break;
      recorder().streams().synchronized(gfxgraph::format::SynchronizeKind::kStreamItself,
                                        stream_key(one.stream), name);
    }
  } else if (works.size() > 1) {
    recorder().note_incomplete(name, "failed, and may have launched some of its kernels");
  }
  return turn.ended(result);
}

// `make` allocates. Without memory for the list, the call is named.
template <typename Make, typename Call>
hipError_t launches(int index, Make&& make, Call&& call) {
  try {
    return launch_list(make(), call);
  } catch (const std::exception& caught) {
    recorder().note_incomplete(display_name(index), caught.what());
  }
  return call();
}

}  // namespace

GFXGRAPH_HOOK hipError_t hipLaunchCooperativeKernelMultiDevice(hipLaunchParams* list, int count,
                                                               unsigned int flags) {
  constexpr int kIndex = kCall_hipLaunchCooperativeKernelMultiDevice;
  const auto call = [&] { return real(kIndex, list, count, flags); };
  const Scope scope(CallKind::kMayJoin);
  if (!scope.record) return call();
  return launches(kIndex, [&] { return list_of(kIndex, list, count, flags, true); }, call);
}

GFXGRAPH_HOOK hipError_t hipExtLaunchMultiKernelMultiDevice(hipLaunchParams* list, int count,
                                                            unsigned int flags) {
  constexpr int kIndex = kCall_hipExtLaunchMultiKernelMultiDevice;
  const auto call = [&] { return real(kIndex, list, count, flags); };
  const Scope scope(CallKind::kMayJoin);
  if (!scope.record) return call();
  return launches(kIndex, [&] { return list_of(kIndex, list, count, flags, false); }, call);
}

GFXGRAPH_NEWER_HOOK(hipModuleLaunchCooperativeKernelMultiDevice, FunctionLaunchParams* list,
                    unsigned int count, unsigned int flags) {
  constexpr int kIndex = kCall_hipModuleLaunchCooperativeKernelMultiDevice;
  const auto call = [&] { return real(kIndex, list, count, flags); };
  const Scope scope(CallKind::kMayJoin);
  if (!scope.record) return call();
  return launches(kIndex, [&] { return list_of(kIndex, list, count, flags); }, call);
}
