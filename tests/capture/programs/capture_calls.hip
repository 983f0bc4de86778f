// What each HIP call does in a stream's capture, against what HIP documents:
// capture_calls CODE_OBJECT NAME says what that one did; capture_calls CODE_OBJECT asks a process of
// its own for each call and prints "NAME|documented|done" lines. Exit code 1: some call differs.
//
// The layer holds what the runtime's graphs can hold; what those of an old runtime cannot is
// hipErrorStreamCaptureUnsupported (900).
//
//   captured      nothing is done before the graph is launched; two launches leave the right bytes
//   allowed       the call is not the stream's, and the capture goes on
//   a number      the error of the call, after which the capture ends with
//                 hipErrorStreamCaptureInvalidated
//   -             the runtime has no such call
#include <dlfcn.h>
#include <hip/hip_ext.h>
#include <hip/hip_runtime.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "captured.h"

__device__ int variable = 0;

extern "C" __global__ void add(int* a, int v, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] += v;
}

namespace {

constexpr hipError_t kAbsent = static_cast<hipError_t>(500);  // hipErrorNotFound
constexpr size_t kRow = 128;
constexpr size_t kRows = kBytes / kRow;

// Memory that calls read and write: zeros and sevens. Behind each call a kernel adds 1 to `zeros`.
struct Scene {
  Buffer zeros, sevens;
  int* pinned = nullptr;
  std::vector<int> plain = std::vector<int>(kCount, 7);
  hipStream_t stream = make_stream();
  hipStream_t other = make_stream();
  hipEvent_t before = make_event();  // recorded before the capture
  hipArray_t array = nullptr;
  hipGraphExec_t graph = nullptr;
  int called = 0;

  Scene() {
    sevens.fill(7);
    OK(hipHostMalloc(reinterpret_cast<void**>(&pinned), kBytes, hipHostMallocDefault));
    for (int i = 0; i < kCount; ++i) pinned[i] = 7;
    const hipChannelFormatDesc format = hipCreateChannelDesc<int>();
    OK(hipMallocArray(&array, &format, kRow / sizeof(int), kRows, hipArrayDefault));
    OK(hipEventRecord(before, stream));
    OK(hipStreamSynchronize(stream));
  }
  // All that a call may write.
  std::vector<std::vector<int>> state() const {
    std::vector<int> value(1);
    OK(hipMemcpyFromSymbol(value.data(), HIP_SYMBOL(variable), sizeof(int), 0,
                           hipMemcpyDeviceToHost));
    return {zeros.now(), sevens.now(), std::vector<int>(pinned, pinned + kCount),
            plain,       value,        {called}};
  }
};

bool all(const std::vector<int>& values, int wanted) {
  for (const int value : values) {
    if (value != wanted) return false;
  }
  return true;
}
// After two launches.
bool brought(const Scene& scene) { return all(scene.zeros.now(), 8); }   // sevens, and 1
bool added(const Scene& scene) { return all(scene.zeros.now(), 16); }    // twice 7 and 1
bool unchanged(const Scene& scene) { return all(scene.zeros.now(), 2); } // twice 1
bool fetched(const int* host) { return all(std::vector<int>(host, host + kCount), 1); }

// A call that this runtime, or its headers, may lack.
template <typename Call>
Call* found(const char* name) {
  return reinterpret_cast<Call*>(dlsym(RTLD_DEFAULT, name));
}

// The arguments of `add`, of 7 to the zeros.
struct Arguments {
  int* data;
  int v = 7, n = kCount;
  std::array<void*, 3> list = {&data, &v, &n};
  explicit Arguments(Scene& scene) : data(scene.zeros.data) {}
};
struct Packed {
  int* data;
  int v = 7, n = kCount;
  size_t size = 16;
  std::array<void*, 5> list = {HIP_LAUNCH_PARAM_BUFFER_POINTER, this, HIP_LAUNCH_PARAM_BUFFER_SIZE,
                               &size, HIP_LAUNCH_PARAM_END};
  explicit Packed(Scene& scene) : data(scene.zeros.data) {}
};
const void* const kAdd = reinterpret_cast<const void*>(add);

struct Row {
  const char* name;
  const char* documented;
  std::function<hipError_t(Scene&)> call;
  std::function<bool(const Scene&)> right = unchanged;
  int since = 0;  // the first version of HIP whose graphs can hold it; before: 900
  std::string expected() const {
    int version = 0;
    OK(hipRuntimeGetVersion(&version));
    return version < since ? "900" : documented;
  }
};

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

// ---- running ------------------------------------------------------------------------------------

std::string done_by(const Row& row) {
  Scene scene;
  const std::string documented = row.documented;
  if (row.name == std::string("hipGraphLaunch")) {
    const hipGraph_t inner = capture(scene.stream, [&] { launch(scene.stream, scene.zeros.data, 7); });
    OK(hipGraphInstantiate(&scene.graph, inner, nullptr, nullptr, 0));
  }
  const auto before = scene.state();
  if (!failure.empty()) return "without the call: " + failure;
  hipGraph_t graph = nullptr;
  OK(hipStreamBeginCapture(scene.stream, hipStreamCaptureModeGlobal));
  const hipError_t called = row.call(scene);
  if (called == kAbsent) return "-";
  if (called == hipSuccess) launch(scene.stream, scene.zeros.data, 1);
  const hipError_t ended = hipStreamEndCapture(scene.stream, &graph);
  if (called != hipSuccess) {
    std::string error = std::to_string(called);
    if (ended == hipSuccess) return error + ", not ended";
    return ended == hipErrorStreamCaptureInvalidated ? error
                                                     : error + ", ended with " + std::to_string(ended);
  }
  if (ended != hipSuccess) return "the capture ends with " + std::to_string(ended);
  OK(hipDeviceSynchronize());
  if (scene.state() != before) return "done at once";
  if (documented == "captured" && nodes_of(graph) < 2) return "no node";
  run(graph, scene.stream);
  if (!failure.empty()) return failure;
  if (!row.right(scene)) return "wrong values";
  return documented == "captured" || documented == "allowed" ? documented : "not refused";
}

std::string asked(const char* program, const char* code_object, const char* name) {
  std::array<int, 2> ends = {};
  if (pipe(ends.data()) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    alarm(60);
    execl(program, program, code_object, name, static_cast<char*>(nullptr));
    _exit(127);
  }
  close(ends[1]);
  std::string said;
  std::array<char, 256> piece;
  for (ssize_t got; (got = read(ends[0], piece.data(), piece.size())) > 0;) said.append(piece.data(), got);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) return WTERMSIG(status) == SIGALRM ? "hangs" : "crashes";
  if (!said.empty() && said.back() == '\n') said.pop_back();
  return said;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  if (argc > 2) {
    for (const Row& row : rows()) {
      if (argv[2] != std::string(row.name)) continue;
      OK(hipModuleLoad(&code, argv[1]));
      std::printf("%s\n", done_by(row).c_str());
      std::fflush(stdout);
      return 0;
    }
    return 2;
  }
  bool right = true;
  for (const Row& row : rows()) {
    const std::string done = asked(argv[0], argv[1], row.name);
    const std::string expected = row.expected();
    right = right && (done == expected || done == "-");
    std::printf("%s|%s|%s\n", row.name, expected.c_str(), done.c_str());
  }
  return right ? 0 : 1;
}
