// Launches on two devices by one call, each with an answer computed on the host:
// program_launch_list MODE; prints "ok". Without device variables, because HIP 5 launches no kernel
// of a module with variables cooperatively. Asks the software agent for the devices, unless the
// environment already does.
#include <dlfcn.h>

#include <cstring>
#include <string>
#include <vector>

#include "../program.h"

// After the runtime's header, which it needs and does not include.
#include <hip/hip_cooperative_groups.h>

using Word = unsigned long long;
constexpr int kBlocks = 3;
constexpr int kCount = kBlocks * 64;
constexpr size_t kBytes = kCount * sizeof(Word);
constexpr int kRounds = 50000;

__global__ void slow(Word* word, int rounds) {
  Word value = *word;
  for (int i = 0; i < rounds; ++i) value = value * 6364136223846793005ull + 1442695040888963407ull;
  *word = value;
}
__global__ void fill(Word* data, Word value) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  data[i] = value + i;
}
__global__ void add(Word* to, const Word* from) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  to[i] += from[i];
}
// Takes what the other device computed, and then from the other end of its own row.
__global__ void fold(Word* to, const Word* other, Word* pinned) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  to[i] = 2 * other[i];
  cooperative_groups::this_grid().sync();
  pinned[i] = to[i] + to[kCount - 1 - i];
}
__global__ void twice(Word* to, const Word* other, Word* pinned) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  to[i] = 2 * other[i];
  pinned[i] = 2 * other[i] + 2 * other[kCount - 1 - i];
}
__global__ void meet(Word* to, const Word*, Word*) {
  cooperative_groups::multi_grid_group grids = cooperative_groups::this_multi_grid();
  grids.sync();
  to[threadIdx.x] = grids.grid_rank();
}

static Word slow_answer(Word value) {
  for (int i = 0; i < kRounds; ++i) value = value * 6364136223846793005ull + 1442695040888963407ull;
  return value;
}

static void on(int device) { CHECK(hipSetDevice(device)); }

// hipFunctionLaunchParams, which HIP 5.2.3 does not have.
struct FunctionParams {
  hipFunction_t function;
  unsigned grid[3], block[3], shared_bytes;
  hipStream_t stream;
  void** args;
};

struct Devices {
  hipStream_t streams[2];
  Word* data[2];
  Word* to[2];
  Word* pinned[2];
  void* arguments[2][3];

  bool host = true;

  // `host`: what the kernels write last is memory of the host, or of their device.
  explicit Devices(bool host_memory = true) : host(host_memory) {
    for (int device = 0; device < 2; ++device) {
      on(device);
      (void)hipDeviceEnablePeerAccess(1 - device, 0);  // or it is enabled
      CHECK(hipStreamCreateWithFlags(&streams[device], hipStreamNonBlocking));
      CHECK(hipMalloc(&data[device], kBytes));
      CHECK(hipMalloc(&to[device], kBytes));
      if (!host) {
        CHECK(hipMalloc(&pinned[device], kBytes));
        continue;
      }
      CHECK(hipHostMalloc(reinterpret_cast<void**>(&pinned[device]), kBytes,
                          hipHostMallocPortable));
      std::memset(pinned[device], 0, kBytes);
    }
    for (int device = 0; device < 2; ++device) {
      arguments[device][0] = &to[device];
      arguments[device][1] = &data[1 - device];
      arguments[device][2] = &pinned[device];
    }
  }
  ~Devices() {
    for (int device = 0; device < 2; ++device) {
      on(device);
      CHECK(hipStreamDestroy(streams[device]));
      CHECK(hipFree(data[device]));
      CHECK(hipFree(to[device]));
      CHECK(host ? hipHostFree(pinned[device]) : hipFree(pinned[device]));
    }
  }

  std::vector<hipLaunchParams> list(void (*kernel)(Word*, const Word*, Word*), int blocks) {
    std::vector<hipLaunchParams> made(2);
    for (int device = 0; device < 2; ++device) {
      made[device].func = reinterpret_cast<void*>(kernel);
      made[device].gridDim = dim3(blocks);
      made[device].blockDim = dim3(64);
      made[device].args = arguments[device];
      made[device].stream = streams[device];
    }
    return made;
  }
  // Long work, whose results the kernels of both devices read.
  void begin(Word turn) {
    for (int device = 0; device < 2; ++device) {
      on(device);
      fill<<<kBlocks, 64, 0, streams[device]>>>(data[device], 1000 * turn + 100 * device);
      slow<<<1, 1, 0, streams[device]>>>(data[device], kRounds);
    }
  }
  Word before(Word turn, int device, int i) const {
    const Word value = 1000 * turn + 100 * device;
    return i == 0 ? slow_answer(value) : value + i;
  }
  Word folded(Word turn, int device, int i) const {
    return 2 * before(turn, 1 - device, i) + 2 * before(turn, 1 - device, kCount - 1 - i);
  }
  void wait() {
    for (int device = 0; device < 2; ++device) {
      on(device);
      CHECK(hipStreamSynchronize(streams[device]));
    }
  }
  void expect_pinned(Word turn, const char* what) const {
    for (int device = 0; device < 2; ++device) {
      for (int i : {0, 1, 77, kCount - 2, kCount - 1})
        expect(pinned[device][i] == folded(turn, device, i), what);
    }
  }
  // Each device's later work reads what the other one's kernel wrote.
  void cross(Word turn, const char* what) {
    for (int device = 0; device < 2; ++device) {
      on(device);
      add<<<kBlocks, 64, 0, streams[device]>>>(data[device], to[1 - device]);
    }
    wait();
    for (int device = 0; device < 2; ++device) {
      on(device);
      Word values[kCount];
      CHECK(hipMemcpy(values, data[device], kBytes, hipMemcpyDeviceToHost));
      for (int i = 0; i < kCount; ++i) expect(values[i] == 3 * before(turn, device, i), what);
    }
  }
};

using Launch = hipError_t (*)(std::vector<hipLaunchParams>&, unsigned);

// The call waits for both streams, launches, and waits again: no other call does.
static void order(Launch launch, void (*kernel)(Word*, const Word*, Word*)) {
  Devices devices;
  for (Word turn = 0; turn < 3; ++turn) {
    devices.begin(turn);
    std::vector<hipLaunchParams> list = devices.list(kernel, kBlocks);
    on(static_cast<int>(turn % 2));  // whichever is current
    CHECK(launch(list, 0));
    // Not in other turns, in which the launches alone must have told the host.
    for (int i = 0; turn == 2 && i < 2; ++i) CHECK(hipStreamQuery(devices.streams[i]));
    devices.expect_pinned(turn, "memory of the host behind the call");
    // The program writes over it, and hands it to later work.
    for (int device = 0; device < 2; ++device) {
      for (int i = 0; i < kCount; ++i) devices.pinned[device][i] = 5 * i + turn;
    }
    devices.cross(turn, "what the other device's kernel wrote");
    for (int device = 0; device < 2; ++device) {
      on(device);
      CHECK(hipMemcpyAsync(devices.to[device], devices.pinned[1 - device], kBytes,
                           hipMemcpyHostToDevice, devices.streams[device]));
      CHECK(hipStreamSynchronize(devices.streams[device]));
      Word values[kCount];
      CHECK(hipMemcpy(values, devices.to[device], kBytes, hipMemcpyDeviceToHost));
      for (int i = 0; i < kCount; ++i) expect(values[i] == 5 * i + turn, "what the host wrote");
    }
  }
}

// Without memory of the host, whose writes would order the devices as well.
static void device_memory(Launch launch, void (*kernel)(Word*, const Word*, Word*)) {
  Devices devices(false);
  devices.begin(1);
  std::vector<hipLaunchParams> list = devices.list(kernel, kBlocks);
  CHECK(launch(list, 0));
  devices.cross(1, "what the other device's kernel wrote");
}

static hipError_t cooperative(std::vector<hipLaunchParams>& list, unsigned flags) {
  return hipLaunchCooperativeKernelMultiDevice(list.data(), static_cast<int>(list.size()), flags);
}
static hipError_t extended(std::vector<hipLaunchParams>& list, unsigned flags) {
  return hipExtLaunchMultiKernelMultiDevice(list.data(), static_cast<int>(list.size()), flags);
}
// The same by functions of modules: from HIP 5.7 on.
static hipError_t by_function(std::vector<hipLaunchParams>& list, unsigned flags) {
  using Find = hipError_t (*)(hipFunction_t*, const void*);
  using Call = hipError_t (*)(FunctionParams*, unsigned, unsigned);
  const auto find = reinterpret_cast<Find>(dlsym(RTLD_DEFAULT, "hipGetFuncBySymbol"));
  const auto call = reinterpret_cast<Call>(
      dlsym(RTLD_DEFAULT, "hipModuleLaunchCooperativeKernelMultiDevice"));
  if (find == nullptr || call == nullptr) return cooperative(list, flags);
  std::vector<FunctionParams> made;
  for (int device = 0; device < 2; ++device) {
    on(device);
    hipFunction_t function = nullptr;
    CHECK(find(&function, list[device].func));
    made.push_back({function,
                    {list[device].gridDim.x, 1, 1},
                    {list[device].blockDim.x, 1, 1},
                    0,
                    list[device].stream,
                    list[device].args});
  }
  return call(made.data(), 2, flags);
}

// Without the waits before or behind, where the program has its own.
static void flags() {
  for (const unsigned set : {hipCooperativeLaunchMultiDeviceNoPreSync,
                             hipCooperativeLaunchMultiDeviceNoPostSync,
                             hipCooperativeLaunchMultiDeviceNoPreSync |
                                 hipCooperativeLaunchMultiDeviceNoPostSync}) {
    Devices devices;
    devices.begin(set);
    if ((set & hipCooperativeLaunchMultiDeviceNoPreSync) != 0) devices.wait();
    std::vector<hipLaunchParams> list = devices.list(fold, kBlocks);
    CHECK(cooperative(list, set));
    if ((set & hipCooperativeLaunchMultiDeviceNoPostSync) != 0) devices.wait();
    devices.expect_pinned(set, "memory of the host behind the call");
    devices.cross(set, "what the other device's kernel wrote");
  }
}

// One stream alone, and lists that HIP refuses.
static void one() {
  Devices devices;
  devices.begin(1);
  devices.wait();
  std::vector<hipLaunchParams> list = devices.list(fold, kBlocks);
  for (int device = 1; device >= 0; --device) {
    on(device);
    std::vector<hipLaunchParams> single = {list[device]};
    CHECK(cooperative(single, 0));
  }
  devices.expect_pinned(1, "memory of the host behind calls for one device");
  std::vector<hipLaunchParams> same = {list[0], list[0]};
  expect(cooperative(same, 0) != hipSuccess, "one device twice");
  std::vector<hipLaunchParams> null = {list[0], list[1]};
  null[1].stream = nullptr;
  expect(cooperative(null, 0) != hipSuccess, "a null stream");
  expect(hipLaunchCooperativeKernelMultiDevice(nullptr, 2, 0) != hipSuccess, "no list");
  (void)hipGetLastError();
  devices.cross(1, "what the other device's kernel wrote");
}

// A barrier of the grids of both devices.
static void barrier() {
  Devices devices;
  std::vector<hipLaunchParams> list = devices.list(meet, 1);
  CHECK(cooperative(list, 0));
  for (int device = 0; device < 2; ++device) {
    on(device);
    Word values[64];
    CHECK(hipMemcpy(values, devices.to[device], sizeof(values), hipMemcpyDeviceToHost));
    for (const Word value : values) expect(value == Word(device), "the number of a grid");
  }
}

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  setenv("GFXGRAPH_DEVICES", "2", 0);  // before HIP's first call
  int count = 0;
  CHECK(hipGetDeviceCount(&count));
  expect(count >= 2, "two devices");
  if (mode == "order") {
    order(cooperative, fold);
  } else if (mode == "functions") {
    order(by_function, fold);
  } else if (mode == "extended") {
    order(extended, twice);
  } else if (mode == "device_memory") {
    device_memory(cooperative, fold);
    device_memory(extended, twice);
  } else if (mode == "flags") {
    flags();
  } else if (mode == "one") {
    one();
  } else if (mode == "barrier") {
    barrier();
  } else {
    return 2;
  }
  std::puts("ok");
  return 0;
}
