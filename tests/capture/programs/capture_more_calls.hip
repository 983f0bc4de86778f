// What calls whose null stream is the thread's own, and calls of newer HIP only, do in a capture
// (captured_call.h).
#include "captured_call.h"

namespace {

// ---- calls whose null stream is the thread's own --------------------------------------------------

// hipNAME_spt, which has the parameters of hipNAME.
#define OWN(name) found<decltype(name)>(#name "_spt")

template <typename Function, typename... Arguments>
hipError_t call(Function* function, Arguments... arguments) {
  return function == nullptr ? kAbsent : function(arguments...);
}

bool added_word(const Scene& scene) { return all(scene.zeros.now(), 16); }  // twice 7 and 1

Row own(const char* name, const char* documented, std::function<hipError_t(Scene&)> done,
        std::function<bool(const Scene&)> right = unchanged, int since = 0) {
  return {name, documented, std::move(done), std::move(right), since, true};
}

hipError_t ask_status(Scene& s) {
  hipStreamCaptureStatus status = hipStreamCaptureStatusNone;
  unsigned long long id = 0, second = 0;
  const auto is_capturing = OWN(hipStreamIsCapturing);
  const auto info = OWN(hipStreamGetCaptureInfo);
  const auto info_v2 = OWN(hipStreamGetCaptureInfo_v2);
  if (is_capturing == nullptr || info == nullptr || info_v2 == nullptr) return kAbsent;
  OK(is_capturing(nullptr, &status));
  expect(status == hipStreamCaptureStatusActive, "hipStreamIsCapturing_spt");
  OK(info(nullptr, &status, &id));
  hipGraph_t graph = nullptr;
  const hipGraphNode_t* nodes = nullptr;
  size_t count = 1;
  OK(info_v2(nullptr, &status, &second, &graph, &nodes, &count));
  expect(id == second && graph != nullptr && count == 0, "hipStreamGetCaptureInfo_v2_spt");
  unsigned long long of_handle = 0;
  OK(hipStreamGetCaptureInfo(s.stream, &status, &of_handle));
  expect(of_handle == id, "the thread's own stream has two names");
  return hipSuccess;
}

hipError_t fork_from_own(Scene& s) {
  const auto record = OWN(hipEventRecord);
  const auto wait = OWN(hipStreamWaitEvent);
  if (record == nullptr || wait == nullptr) return kAbsent;
  const hipEvent_t fork = make_event(), join = make_event();
  OK(record(fork, nullptr));
  OK(hipStreamWaitEvent(s.other, fork, 0));
  launch(s.other, s.zeros.data, 7);
  OK(hipEventRecord(join, s.other));
  return wait(nullptr, join, 0);
}

hipMemcpy3DParms whole_box(Scene& s) {
  hipMemcpy3DParms box = {};
  box.srcPtr = make_hipPitchedPtr(s.sevens.data, kRow, kRow, kRows);
  box.dstPtr = make_hipPitchedPtr(s.zeros.data, kRow, kRow, kRows);
  box.extent = make_hipExtent(kRow, kRows, 1);
  box.kind = hipMemcpyDeviceToDevice;
  return box;
}

hipError_t through_array(Scene& s) {
  const auto to = OWN(hipMemcpy2DToArrayAsync);
  const auto from = OWN(hipMemcpy2DFromArrayAsync);
  if (to == nullptr || from == nullptr) return kAbsent;
  if (const hipError_t result =
          to(s.array, 0, 0, s.sevens.data, kRow, kRow, kRows, hipMemcpyDeviceToDevice, nullptr))
    return result;
  return from(s.zeros.data, kRow, s.array, 0, 0, kRow, kRows, hipMemcpyDeviceToDevice, nullptr);
}

// Zeros at first, sevens by way of the variable.
hipError_t through_variable(Scene& s) {
  using To = hipError_t(const void*, const void*, size_t, size_t, hipMemcpyKind, hipStream_t);
  using From = hipError_t(void*, const void*, size_t, size_t, hipMemcpyKind, hipStream_t);
  To* const to = found<To>("hipMemcpyToSymbolAsync_spt");
  From* const from = found<From>("hipMemcpyFromSymbolAsync_spt");
  if (to == nullptr || from == nullptr) return kAbsent;
  if (const hipError_t result =
          to(&variable, s.sevens.data, sizeof(int), 0, hipMemcpyDeviceToDevice, nullptr))
    return result;
  return from(s.zeros.data, &variable, sizeof(int), 0, hipMemcpyDeviceToDevice, nullptr);
}

hipError_t call_host_function(Scene& s) {
  using Call = hipError_t(hipStream_t, void (*)(void*), void*);
  return call(found<Call>("hipLaunchHostFunc_spt"), hipStream_t{}, [](void* scene) { ++static_cast<Scene*>(scene)->called; },
              static_cast<void*>(&s));
}
bool called_twice(const Scene& scene) { return scene.called == 2 && unchanged(scene); }
constexpr int kByte = 7;
bool set_bytes(const Scene& scene) { return all(scene.zeros.now(), 0x07070708); }

const std::vector<Row> kPerThread = {
    own("hipLaunchKernel_spt", "captured",
        [](Scene& s) {
          Arguments a(s);
          return call(OWN(hipLaunchKernel), kAdd, kGrid, kBlock, a.list.data(), size_t{0}, hipStream_t{});
        },
        added_word),
    own("hipLaunchCooperativeKernel_spt", "captured",
        [](Scene& s) {
          using Call = hipError_t(const void*, dim3, dim3, void**, uint32_t, hipStream_t);
          Arguments a(s);
          return call(found<Call>("hipLaunchCooperativeKernel_spt"), kAdd, kGrid, kBlock, a.list.data(), 0u, hipStream_t{});
        },
        added_word, 60000000),
    own("hipGraphLaunch_spt", "captured",
        [](Scene& s) { return call(OWN(hipGraphLaunch), s.graph, hipStream_t{}); }, added_word),
    own("hipMemcpyAsync_spt", "captured",
        [](Scene& s) {
          return call(OWN(hipMemcpyAsync), s.zeros.data, s.sevens.data, kBytes, hipMemcpyDeviceToDevice, hipStream_t{});
        },
        brought),
    own("hipMemcpy2DAsync_spt", "captured",
        [](Scene& s) {
          return call(OWN(hipMemcpy2DAsync), s.zeros.data, kRow, s.sevens.data, kRow, kRow, kRows, hipMemcpyDeviceToDevice,
                      hipStream_t{});
        },
        brought),
    own("hipMemcpy3DAsync_spt", "captured",
        [](Scene& s) {
          const hipMemcpy3DParms box = whole_box(s);
          return call(OWN(hipMemcpy3DAsync), &box, hipStream_t{});
        },
        brought),
    own("hipMemcpy2DToArrayAsync_spt and hipMemcpy2DFromArrayAsync_spt", "captured", through_array, brought),
    own("hipMemcpyToSymbolAsync_spt and hipMemcpyFromSymbolAsync_spt", "captured", through_variable,
        [](const Scene& s) { return s.zeros.now()[0] == 8 && s.zeros.now()[1] == 2; }),
    own("hipMemsetAsync_spt", "captured",
        [](Scene& s) { return call(OWN(hipMemsetAsync), s.zeros.data, kByte, kBytes, hipStream_t{}); }, set_bytes),
    own("hipMemset2DAsync_spt", "captured",
        [](Scene& s) { return call(OWN(hipMemset2DAsync), s.zeros.data, kRow, kByte, kRow, kRows, hipStream_t{}); }, set_bytes),
    own("hipMemset3DAsync_spt", "captured",
        [](Scene& s) {
          return call(OWN(hipMemset3DAsync), make_hipPitchedPtr(s.zeros.data, kRow, kRow, kRows), kByte,
                      make_hipExtent(kRow, kRows, 1), hipStream_t{});
        },
        set_bytes),
    own("hipLaunchHostFunc_spt", "captured", call_host_function, called_twice, 50300000),
    own("hipStreamAddCallback_spt", "captured",
        [](Scene& s) {
          return call(OWN(hipStreamAddCallback), hipStream_t{},
                      [](hipStream_t, hipError_t, void* scene) { ++static_cast<Scene*>(scene)->called; }, static_cast<void*>(&s),
                      0u);
        },
        called_twice, 50300000),
    own("hipEventRecord_spt and hipStreamWaitEvent_spt", "captured", fork_from_own, added_word),
    own("hipStreamIsCapturing_spt and the like", "allowed", ask_status),
    own("hipStreamQuery_spt", "900", [](Scene&) { return call(OWN(hipStreamQuery), hipStream_t{}); }),
    own("hipStreamSynchronize_spt", "900", [](Scene&) { return call(OWN(hipStreamSynchronize), hipStream_t{}); }),
    own("hipMemcpy_spt", "906",
        [](Scene& s) { return call(OWN(hipMemcpy), s.zeros.data, s.sevens.data, kBytes, hipMemcpyDeviceToDevice); }),
    own("hipMemset_spt", "906", [](Scene& s) { return call(OWN(hipMemset), s.zeros.data, kByte, kBytes); }),
};

// ---- calls of newer HIP, and rarer ones -----------------------------------------------------------

hipError_t from_pool(Scene& s) {
  hipMemPool_t pool = nullptr;
  void* memory = nullptr;
  if (hipDeviceGetDefaultMemPool(&pool, 0) != hipSuccess) return kAbsent;
  if (const hipError_t result = hipMallocFromPoolAsync(&memory, kBytes, pool, s.stream)) return result;
  OK(hipMemcpyAsync(memory, s.sevens.data, kBytes, hipMemcpyDeviceToDevice, s.stream));
  OK(hipMemcpyAsync(s.zeros.data, memory, kBytes, hipMemcpyDeviceToDevice, s.stream));
  return hipFreeAsync(memory, s.stream);
}

// A launch by whatever look-up of the runtime finds.
hipError_t launch_found(Scene& s, void* function) {
  using Call = hipError_t(const void*, dim3, dim3, void**, size_t, hipStream_t);
  Arguments a(s);
  return call(reinterpret_cast<Call*>(function), kAdd, kGrid, kBlock, a.list.data(), size_t{0}, s.stream);
}
hipError_t launch_by_address(Scene& s) {
  using Call = hipError_t(const char*, void**, int, uint64_t, void*);
  void* function = nullptr;
  int version = 0;
  OK(hipRuntimeGetVersion(&version));
  const hipError_t result =
      call(found<Call>("hipGetProcAddress"), "hipLaunchKernel", &function, version / 100000, uint64_t{0}, static_cast<void*>(nullptr));
  return result == hipSuccess ? launch_found(s, function) : result;
}
hipError_t launch_by_entry_point(Scene& s, const char* name) {
  using Call = hipError_t(const char*, void**, unsigned long long, void*);
  void* function = nullptr;
  int status = 0;
  const hipError_t result =
      call(found<Call>(name), "hipLaunchKernel", &function, 0ull, static_cast<void*>(&status));
  return result == hipSuccess ? launch_found(s, function) : result;
}

hipError_t wait_for_word(Scene& s) {
  return hipStreamWaitValue64(s.stream, s.sevens.data, 0x700000007, hipStreamWaitValueEq, UINT64_MAX);
}

hipError_t launch_hcc(Scene& s) {
  Arguments a(s);
  return hipHccModuleLaunchKernel(function("add"), kCount, 1, 1, 256, 1, 1, 0, s.stream, a.list.data(), nullptr, nullptr, nullptr);
}

std::vector<Row> newer() {
  std::vector<Row> all = {
      {"hipHccModuleLaunchKernel", "captured", launch_hcc, added},
      {"hipMallocFromPoolAsync", "captured", from_pool, brought, 50500000},
      {"hipStreamWaitValue64", "captured", wait_for_word, unchanged, 60400000},
      {"hipGetProcAddress (of hipLaunchKernel)", "captured", launch_by_address, added},
      {"hipGetDriverEntryPoint (of hipLaunchKernel)", "captured",
       [](Scene& s) { return launch_by_entry_point(s, "hipGetDriverEntryPoint"); }, added},
  };
#if HIP_VERSION >= 60400000
  all.push_back({"hipStreamBatchMemOp", "captured",
                 [](Scene& s) {
                   hipStreamBatchMemOpParams list[2] = {};
                   list[0].waitValue.operation = hipStreamMemOpWaitValue32;
                   list[0].waitValue.address = s.sevens.data;
                   list[0].waitValue.value = 7;
                   list[0].waitValue.flags = hipStreamWaitValueEq;
                   list[1].writeValue.operation = hipStreamMemOpWriteValue32;
                   list[1].writeValue.address = s.zeros.data;
                   list[1].writeValue.value = 7;
                   return hipStreamBatchMemOp(s.stream, 2, list, 0);
                 },
                 [](const Scene& s) { return s.zeros.now()[0] == 8 && s.zeros.now()[1] == 2; }});
#endif
#if HIP_VERSION >= 70200000
  all.push_back({"hipLaunchKernelExC", "captured",
                 [](Scene& s) {
                   Arguments a(s);
                   hipLaunchConfig_t config{};
                   config.gridDim = kGrid;
                   config.blockDim = kBlock;
                   config.stream = s.stream;
                   return hipLaunchKernelExC(&config, kAdd, a.list.data());
                 },
                 added});
  all.push_back({"hipDrvLaunchKernelEx", "captured",
                 [](Scene& s) {
                   Arguments a(s);
                   HIP_LAUNCH_CONFIG config{};
                   config.gridDimX = kGrid.x;
                   config.blockDimX = kBlock.x;
                   config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
                   config.hStream = s.stream;
                   return hipDrvLaunchKernelEx(&config, function("add"), a.list.data(), nullptr);
                 },
                 added});
  all.push_back({"hipMemsetD2D8Async", "captured",
                 [](Scene& s) { return hipMemsetD2D8Async(s.zeros.data, kRow, kByte, kRow, kRows, s.stream); }, set_bytes});
  all.push_back({"hipMemsetD2D16Async", "captured",
                 [](Scene& s) { return hipMemsetD2D16Async(s.zeros.data, kRow, 0x0707, kRow / 2, kRows, s.stream); }, set_bytes});
  all.push_back({"hipMemsetD2D32Async", "captured",
                 [](Scene& s) { return hipMemsetD2D32Async(s.zeros.data, kRow, 7, kRow / 4, kRows, s.stream); }, brought});
  all.push_back({"hipMemcpy3DPeerAsync", "captured",
                 [](Scene& s) {
                   hipMemcpy3DPeerParms box{};
                   box.srcPtr = make_hipPitchedPtr(s.sevens.data, kRow, kRow, kRows);
                   box.dstPtr = make_hipPitchedPtr(s.zeros.data, kRow, kRow, kRows);
                   box.extent = make_hipExtent(kRow, kRows, 1);
                   return hipMemcpy3DPeerAsync(&box, s.stream);
                 },
                 brought});
  all.push_back({"hipMemcpyBatchAsync", "captured",
                 [](Scene& s) {
                   constexpr size_t kHalf = kBytes / 2;
                   void* to[] = {s.zeros.data, s.zeros.data + kCount / 2};
                   void* from[] = {s.sevens.data, s.sevens.data};
                   size_t sizes[] = {kHalf, kHalf}, failed = 0;
                   return hipMemcpyBatchAsync(to, from, sizes, 2, nullptr, nullptr, 0, &failed, s.stream);
                 },
                 brought});
  all.push_back({"hipMemcpy3DBatchAsync", "captured",
                 [](Scene& s) {
                   hipMemcpy3DBatchOp one{};
                   one.src.type = one.dst.type = hipMemcpyOperandTypePointer;
                   one.src.op.ptr.ptr = s.sevens.data;
                   one.dst.op.ptr.ptr = s.zeros.data;
                   one.extent = make_hipExtent(kBytes, 1, 1);
                   one.srcAccessOrder = hipMemcpySrcAccessOrderStream;
                   size_t failed = 0;
                   return hipMemcpy3DBatchAsync(1, &one, &failed, 0, s.stream);
                 },
                 brought});
#endif
  return all;
}

std::vector<Row> rows() {
  std::vector<Row> all = newer();
  all.insert(all.end(), kPerThread.begin(), kPerThread.end());
  return all;
}

}  // namespace

int main(int argc, char** argv) { return ask(rows(), argc, argv); }
