// What each HIP call does in a stream's capture (captured_call.h).
#include "captured_call.h"

namespace {

// ---- launches -----------------------------------------------------------------------------------

hipError_t launch_cooperative(Scene& s) {
  Arguments a(s);
  return hipLaunchCooperativeKernel(kAdd, kGrid, kBlock, a.list.data(), 0, s.stream);
}
hipError_t launch_module_cooperative(Scene& s) {
  using Call = hipError_t(hipFunction_t, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                          unsigned, hipStream_t, void**);
  Call* const call = found<Call>("hipModuleLaunchCooperativeKernel");
  if (call == nullptr) return kAbsent;
  Arguments a(s);
  return call(function("add"), 4, 1, 1, 256, 1, 1, 0, s.stream, a.list.data());
}
const std::vector<Row> kLaunches = {
    {"hipLaunchKernel", "captured",
     [](Scene& s) {
       Arguments a(s);
       return hipLaunchKernel(kAdd, kGrid, kBlock, a.list.data(), 0, s.stream);
     },
     added},
    {"hipLaunchKernel (null stream)", "906",
     [](Scene& s) {
       Arguments a(s);
       return hipLaunchKernel(kAdd, kGrid, kBlock, a.list.data(), 0, nullptr);
     }},
    {"hipModuleLaunchKernel (kernelParams)", "captured",
     [](Scene& s) {
       Arguments a(s);
       return hipModuleLaunchKernel(function("add"), 4, 1, 1, 256, 1, 1, 0, s.stream,
                                    a.list.data(), nullptr);
     },
     added},
    {"hipModuleLaunchKernel (extra)", "captured",
     [](Scene& s) {
       Packed a(s);
       return hipModuleLaunchKernel(function("add"), 4, 1, 1, 256, 1, 1, 0, s.stream, nullptr,
                                    a.list.data());
     },
     added},
    {"hipExtLaunchKernel", "captured",
     [](Scene& s) {
       Arguments a(s);
       return hipExtLaunchKernel(kAdd, kGrid, kBlock, a.list.data(), 0, s.stream, nullptr, nullptr,
                                 0);
     },
     added},
    {"hipExtModuleLaunchKernel (kernelParams)", "captured",
     [](Scene& s) {
       Arguments a(s);
       return hipExtModuleLaunchKernel(function("add"), kCount, 1, 1, 256, 1, 1, 0, s.stream,
                                       a.list.data(), nullptr);
     },
     added},
    {"hipExtModuleLaunchKernel (extra)", "captured",
     [](Scene& s) {
       Packed a(s);
       return hipExtModuleLaunchKernel(function("add"), kCount, 1, 1, 256, 1, 1, 0, s.stream,
                                       nullptr, a.list.data());
     },
     added},
    {"hipLaunchCooperativeKernel", "captured", launch_cooperative, added, 60000000},
    {"hipModuleLaunchCooperativeKernel", "captured", launch_module_cooperative, added,
     60000000},
    {"hipGraphLaunch", "captured", [](Scene& s) { return hipGraphLaunch(s.graph, s.stream); }, added},
};

// ---- copies -------------------------------------------------------------------------------------

hip_Memcpy2D rows_between(const Scene& s) {
  hip_Memcpy2D rows = {};
  rows.srcMemoryType = rows.dstMemoryType = hipMemoryTypeDevice;
  rows.srcDevice = s.sevens.data;
  rows.dstDevice = s.zeros.data;
  rows.srcPitch = rows.dstPitch = rows.WidthInBytes = kRow;
  rows.Height = kRows;
  return rows;
}
hipMemcpy3DParms box_between(const Scene& s) {
  hipMemcpy3DParms box = {};
  box.srcPtr = make_hipPitchedPtr(s.sevens.data, kRow, kRow, kRows);
  box.dstPtr = make_hipPitchedPtr(s.zeros.data, kRow, kRow, kRows);
  box.extent = make_hipExtent(kRow, kRows, 1);
  box.kind = hipMemcpyDeviceToDevice;
  return box;
}
HIP_MEMCPY3D driver_box_between(const Scene& s) {
  HIP_MEMCPY3D box = {};
  box.srcMemoryType = box.dstMemoryType = hipMemoryTypeDevice;
  box.srcDevice = s.sevens.data;
  box.dstDevice = s.zeros.data;
  box.srcPitch = box.dstPitch = box.WidthInBytes = kRow;
  box.srcHeight = box.dstHeight = box.Height = kRows;
  box.Depth = 1;
  return box;
}
const std::vector<Row> kCopies = {
    {"hipMemcpyAsync (device to device)", "captured",
     [](Scene& s) {
       return hipMemcpyAsync(s.zeros.data, s.sevens.data, kBytes, hipMemcpyDeviceToDevice, s.stream);
     },
     brought},
    {"hipMemcpyAsync (pinned to device)", "captured",
     [](Scene& s) {
       return hipMemcpyAsync(s.zeros.data, s.pinned, kBytes, hipMemcpyHostToDevice, s.stream);
     },
     brought},
    {"hipMemcpyAsync (device to pinned)", "captured",
     [](Scene& s) {
       return hipMemcpyAsync(s.pinned, s.zeros.data, kBytes, hipMemcpyDeviceToHost, s.stream);
     },
     [](const Scene& s) { return fetched(s.pinned) && unchanged(s); }},
    {"hipMemcpyAsync (pageable to device)", "captured",
     [](Scene& s) {
       return hipMemcpyAsync(s.zeros.data, s.plain.data(), kBytes, hipMemcpyHostToDevice, s.stream);
     },
     brought},
    {"hipMemcpyAsync (device to pageable)", "captured",
     [](Scene& s) {
       return hipMemcpyAsync(s.plain.data(), s.zeros.data, kBytes, hipMemcpyDeviceToHost, s.stream);
     },
     [](const Scene& s) { return fetched(s.plain.data()) && unchanged(s); }},
    {"hipMemcpyHtoDAsync", "captured",
     [](Scene& s) { return hipMemcpyHtoDAsync(s.zeros.data, s.pinned, kBytes, s.stream); }, brought},
    {"hipMemcpyDtoHAsync", "captured",
     [](Scene& s) { return hipMemcpyDtoHAsync(s.pinned, s.zeros.data, kBytes, s.stream); },
     [](const Scene& s) { return fetched(s.pinned) && unchanged(s); }},
    {"hipMemcpyDtoDAsync", "captured",
     [](Scene& s) { return hipMemcpyDtoDAsync(s.zeros.data, s.sevens.data, kBytes, s.stream); },
     brought},
    {"hipMemcpyPeerAsync", "captured",
     [](Scene& s) {
       return hipMemcpyPeerAsync(s.zeros.data, 0, s.sevens.data, 0, kBytes, s.stream);
     },
     brought},
    {"hipMemcpy2DAsync", "captured",
     [](Scene& s) {
       return hipMemcpy2DAsync(s.zeros.data, kRow, s.sevens.data, kRow, kRow, kRows,
                               hipMemcpyDeviceToDevice, s.stream);
     },
     brought},
    {"hipMemcpyParam2DAsync", "captured",
     [](Scene& s) {
       const hip_Memcpy2D rows = rows_between(s);
       return hipMemcpyParam2DAsync(&rows, s.stream);
     },
     brought},
    {"hipMemcpy3DAsync", "captured",
     [](Scene& s) {
       const hipMemcpy3DParms box = box_between(s);
       return hipMemcpy3DAsync(&box, s.stream);
     },
     brought},
    {"hipDrvMemcpy3DAsync", "captured",
     [](Scene& s) {
       const HIP_MEMCPY3D box = driver_box_between(s);
       return hipDrvMemcpy3DAsync(&box, s.stream);
     },
     brought},
    {"hipMemcpyToSymbolAsync", "captured",
     [](Scene& s) {
       return hipMemcpyToSymbolAsync(HIP_SYMBOL(variable), s.sevens.data, sizeof(int), 0,
                                     hipMemcpyDeviceToDevice, s.stream);
     },
     [](const Scene& s) { return s.state()[4][0] == 7 && unchanged(s); }},
    {"hipMemcpyFromSymbolAsync", "captured",
     [](Scene& s) {
       return hipMemcpyFromSymbolAsync(s.sevens.data, HIP_SYMBOL(variable), sizeof(int), 0,
                                       hipMemcpyDeviceToDevice, s.stream);
     },
     [](const Scene& s) { return s.sevens.now()[0] == 0 && s.sevens.now()[1] == 7 && unchanged(s); }},
    {"hipMemcpy2DToArrayAsync and hipMemcpy2DFromArrayAsync", "captured",
     [](Scene& s) {
       const hipError_t to = hipMemcpy2DToArrayAsync(s.array, 0, 0, s.sevens.data, kRow, kRow, kRows,
                                                     hipMemcpyDeviceToDevice, s.stream);
       if (to != hipSuccess) return to;
       return hipMemcpy2DFromArrayAsync(s.zeros.data, kRow, s.array, 0, 0, kRow, kRows,
                                        hipMemcpyDeviceToDevice, s.stream);
     },
     brought},
    {"hipMemcpyWithStream", "906",
     [](Scene& s) {
       return hipMemcpyWithStream(s.zeros.data, s.sevens.data, kBytes, hipMemcpyDeviceToDevice,
                                  s.stream);
     }},
    {"hipMemcpy", "906",
     [](Scene& s) {
       return hipMemcpy(s.zeros.data, s.sevens.data, kBytes, hipMemcpyDeviceToDevice);
     }},
    {"hipMemcpyHtoD", "906",
     [](Scene& s) { return hipMemcpyHtoD(s.zeros.data, s.pinned, kBytes); }},
    {"hipMemcpyToSymbol", "906",
     [](Scene& s) {
       return hipMemcpyToSymbol(HIP_SYMBOL(variable), s.pinned, sizeof(int), 0,
                                hipMemcpyHostToDevice);
     }},
};

// ---- memsets ------------------------------------------------------------------------------------

constexpr int kByte = 0x07, kBytesOfIt = 0x07070707 + 1;  // and 1
bool set_bytes(const Scene& scene) { return all(scene.zeros.now(), kBytesOfIt); }

const std::vector<Row> kMemsets = {
    {"hipMemsetAsync", "captured",
     [](Scene& s) { return hipMemsetAsync(s.zeros.data, kByte, kBytes, s.stream); }, set_bytes},
    {"hipMemsetD8Async", "captured",
     [](Scene& s) { return hipMemsetD8Async(s.zeros.data, kByte, kBytes, s.stream); }, set_bytes},
    {"hipMemsetD16Async", "captured",
     [](Scene& s) { return hipMemsetD16Async(s.zeros.data, 0x0707, kBytes / 2, s.stream); },
     set_bytes},
    {"hipMemsetD32Async", "captured",
     [](Scene& s) { return hipMemsetD32Async(s.zeros.data, 7, kCount, s.stream); }, brought},
    {"hipMemset2DAsync", "captured",
     [](Scene& s) { return hipMemset2DAsync(s.zeros.data, kRow, kByte, kRow, kRows, s.stream); },
     set_bytes},
    {"hipMemset3DAsync", "captured",
     [](Scene& s) {
       return hipMemset3DAsync(make_hipPitchedPtr(s.zeros.data, kRow, kRow, kRows), kByte,
                               make_hipExtent(kRow, kRows, 1), s.stream);
     },
     set_bytes},
    {"hipMemset", "906", [](Scene& s) { return hipMemset(s.zeros.data, kByte, kBytes); }},
    {"hipMemsetD32", "906", [](Scene& s) { return hipMemsetD32(s.zeros.data, 7, kCount); }},
};

// ---- host functions, order, queries -------------------------------------------------------------

void call_host(void* scene) { ++static_cast<Scene*>(scene)->called; }
bool called_twice(const Scene& scene) { return scene.called == 2 && unchanged(scene); }

hipError_t launch_host_function(Scene& s) {
  using Call = hipError_t(hipStream_t, void (*)(void*), void*);
  Call* const call = found<Call>("hipLaunchHostFunc");
  return call == nullptr ? kAbsent : call(s.stream, call_host, &s);
}
// Work in another stream between two events.
hipError_t fork_and_join(Scene& s, const std::function<hipError_t(hipEvent_t, hipStream_t)>& record) {
  const hipEvent_t fork = make_event(), join = make_event();
  if (const hipError_t result = record(fork, s.stream)) return result;
  if (const hipError_t result = hipStreamWaitEvent(s.other, fork, 0)) return result;
  launch(s.other, s.zeros.data, 7);
  if (const hipError_t result = record(join, s.other)) return result;
  return hipStreamWaitEvent(s.stream, join, 0);
}
hipError_t record_with_flags(Scene& s) {
  using Call = hipError_t(hipEvent_t, hipStream_t, unsigned);
  Call* const call = found<Call>("hipEventRecordWithFlags");
  if (call == nullptr) return kAbsent;
  return fork_and_join(s, [&](hipEvent_t event, hipStream_t on) { return call(event, on, 0); });
}
hipEvent_t captured_event(Scene& s) {
  const hipEvent_t event = make_event();
  OK(hipEventRecord(event, s.stream));
  return event;
}
const std::vector<Row> kOrder = {
    {"hipLaunchHostFunc", "captured", launch_host_function, called_twice},
    {"hipStreamAddCallback", "captured",
     [](Scene& s) {
       const auto callback = [](hipStream_t, hipError_t, void* scene) { call_host(scene); };
       return hipStreamAddCallback(s.stream, callback, &s, 0);
     },
     called_twice, 50300000},
    {"hipEventRecord and hipStreamWaitEvent", "captured",
     [](Scene& s) {
       return fork_and_join(s, [](hipEvent_t event, hipStream_t on) { return hipEventRecord(event, on); });
     },
     added},
    {"hipEventRecordWithFlags", "captured", record_with_flags, added},
    {"hipStreamWaitEvent (recorded before)", "905",
     [](Scene& s) { return hipStreamWaitEvent(s.stream, s.before, 0); }},
    {"hipEventQuery (captured)", "907", [](Scene& s) { return hipEventQuery(captured_event(s)); }},
    {"hipEventSynchronize (captured)", "907",
     [](Scene& s) { return hipEventSynchronize(captured_event(s)); }},
    {"hipStreamQuery", "900", [](Scene& s) { return hipStreamQuery(s.stream); }},
    {"hipStreamSynchronize", "900", [](Scene& s) { return hipStreamSynchronize(s.stream); }},
    {"hipDeviceSynchronize", "900", [](Scene&) { return hipDeviceSynchronize(); }},
    {"hipStreamWriteValue32", "captured",
     [](Scene& s) { return hipStreamWriteValue32(s.stream, s.zeros.data, 7, 0); },
     [](const Scene& s) { return s.zeros.now()[0] == 8 && s.zeros.now()[1] == 2; }, 60400000},
    {"hipStreamWriteValue64", "captured",
     [](Scene& s) { return hipStreamWriteValue64(s.stream, s.zeros.data, 7, 0); },
     [](const Scene& s) { return s.zeros.now()[0] == 8 && s.zeros.now()[1] == 1; }, 60400000},
    {"hipStreamWaitValue32", "captured",
     [](Scene& s) {
       return hipStreamWaitValue32(s.stream, s.sevens.data, 7, hipStreamWaitValueEq, 0xffffffff);
     },
     unchanged, 60400000},
    {"hipStreamWaitValue32 (with a mask)", "900",
     [](Scene& s) {
       return hipStreamWaitValue32(s.stream, s.sevens.data, 7, hipStreamWaitValueEq, 0xff);
     }},
    {"hipMemPrefetchAsync", "900",
     [](Scene& s) { return hipMemPrefetchAsync(s.zeros.data, kBytes, 0, s.stream); }},
    {"hipEventQuery (another one)", "allowed", [](Scene& s) { return hipEventQuery(s.before); }},
};

// ---- memory and the rest ------------------------------------------------------------------------

hipError_t stream_ordered(Scene& s) {
  void* memory = nullptr;
  if (const hipError_t result = hipMallocAsync(&memory, kBytes, s.stream)) return result;
  OK(hipMemcpyAsync(memory, s.sevens.data, kBytes, hipMemcpyDeviceToDevice, s.stream));
  OK(hipMemcpyAsync(s.zeros.data, memory, kBytes, hipMemcpyDeviceToDevice, s.stream));
  return hipFreeAsync(memory, s.stream);
}
const std::vector<Row> kRest = {
    {"hipMallocAsync and hipFreeAsync", "captured", stream_ordered, brought, 50500000},
    {"hipMalloc", "900",
     [](Scene&) {
       void* memory = nullptr;
       return hipMalloc(&memory, kBytes);
     }},
    {"hipHostMalloc", "900",
     [](Scene&) {
       void* memory = nullptr;
       return hipHostMalloc(&memory, kBytes, hipHostMallocDefault);
     }},
    {"hipFree", "900", [](Scene& s) { return hipFree(s.sevens.data); }},
    {"hipHostFree", "900", [](Scene& s) { return hipHostFree(s.pinned); }},
    {"hipEventCreate", "allowed",
     [](Scene&) {
       hipEvent_t event = nullptr;
       return hipEventCreate(&event);
     }},
    {"hipGetDevice", "allowed",
     [](Scene&) {
       int device = 0;
       return hipGetDevice(&device);
     }},
    {"hipPointerGetAttributes", "allowed",
     [](Scene& s) {
       hipPointerAttribute_t attributes = {};
       return hipPointerGetAttributes(&attributes, s.zeros.data);
     }},
    {"hipStreamBeginCapture (again)", "401, not ended",
     [](Scene& s) { return hipStreamBeginCapture(s.stream, hipStreamCaptureModeGlobal); }},
};

std::vector<Row> rows() {
  std::vector<Row> all;
  for (const std::vector<Row>* some : {&kLaunches, &kCopies, &kMemsets, &kOrder, &kRest})
    all.insert(all.end(), some->begin(), some->end());
  return all;
}

}  // namespace

int main(int argc, char** argv) { return ask(rows(), argc, argv); }
