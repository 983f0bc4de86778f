// Several equal devices: hip_devices WAY COUNT. Each device computes with its own memory, streams,
// events and module variables; bytes go between them by peer copies, and kernels read each other's
// memory. The program asks the agent for as many devices, unless the environment already does.
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "check.h"

// After the runtime's header, which it needs and does not include.
#include <hip/hip_cooperative_groups.h>

namespace cg = cooperative_groups;

constexpr int kCount = 256;
constexpr size_t kBytes = kCount * sizeof(int);

__device__ int variable = 7;

__global__ void fill(int* data, int value) {
  data[threadIdx.x] = value + static_cast<int>(threadIdx.x);
}
__global__ void add(int* to, const int* from) { to[threadIdx.x] += from[threadIdx.x]; }
__global__ void add_variable(int value) { variable += value; }
__global__ void get_variable(int* to) { *to = variable; }
// All workgroups of all devices add their rank, and see the sum of a turn after its barrier.
__global__ void meet(unsigned* counts) {
  cg::multi_grid_group grids = cg::this_multi_grid();
  for (unsigned turn = 0; turn < 3; ++turn) {
    atomicAdd_system(&counts[turn], grids.grid_rank() + 1);
    grids.sync();
    const unsigned workgroups = grids.size() / grids.num_grids();
    const unsigned sum = workgroups * grids.num_grids() * (grids.num_grids() + 1) / 2;
    if (atomicAdd_system(&counts[turn], 0u) != sum) atomicAdd_system(&counts[3], 1u);
  }
}

struct Device {
  int number = 0;
  int* data = nullptr;
  int* other = nullptr;
  hipStream_t stream = nullptr;
  hipEvent_t done = nullptr;
};

static void on(const Device& device) { HIP_OK(hipSetDevice(device.number)); }

// data[i] == factor * i + base
static void expect_line(const int* device, int factor, int base) {
  std::vector<int> values(kCount);
  HIP_OK(hipMemcpy(values.data(), device, kBytes, hipMemcpyDeviceToHost));
  for (int i = 0; i < kCount; ++i) CHECK(values[i] == factor * i + base);
}

static std::vector<Device> open_devices(int count) {
  std::vector<Device> devices(count);
  for (int i = 0; i < count; ++i) {
    Device& device = devices[i];
    device.number = i;
    on(device);
    for (int peer = 0; peer < count; ++peer) {
      if (peer != i) HIP_OK(hipDeviceEnablePeerAccess(peer, 0));
    }
    HIP_OK(hipMalloc(reinterpret_cast<void**>(&device.data), kBytes));
    HIP_OK(hipMalloc(reinterpret_cast<void**>(&device.other), kBytes));
    HIP_OK(hipStreamCreateWithFlags(&device.stream, hipStreamNonBlocking));
    HIP_OK(hipEventCreate(&device.done));
  }
  return devices;
}

static void close_devices(const std::vector<Device>& devices) {
  for (const Device& device : devices) {
    on(device);
    HIP_OK(hipStreamDestroy(device.stream));
    HIP_OK(hipEventDestroy(device.done));
    HIP_OK(hipFree(device.data));
    HIP_OK(hipFree(device.other));
  }
}

// Which device is which.
static void properties(const std::vector<Device>& devices) {
  const int count = static_cast<int>(devices.size());
  std::vector<std::string> places;
  for (const Device& device : devices) {
    const int i = device.number;
    on(device);
    int current = -1;
    HIP_OK(hipGetDevice(&current));
    CHECK(current == i);
    hipDeviceProp_t is{};
    HIP_OK(hipGetDeviceProperties(&is, i));
    CHECK(std::string(is.gcnArchName).rfind("gfx1030", 0) == 0);
    char bus[32] = {};
    HIP_OK(hipDeviceGetPCIBusId(bus, sizeof(bus), i));
    for (const std::string& other : places) CHECK(other != bus);
    places.emplace_back(bus);
    int by_bus = -1;
    HIP_OK(hipDeviceGetByPCIBusId(&by_bus, bus));
    CHECK(by_bus == i);
    for (int peer = 0; peer < count; ++peer) {
      int can = -1;
      HIP_OK(hipDeviceCanAccessPeer(&can, i, peer));
      CHECK(can == (peer != i));
    }
    hipPointerAttribute_t attributes{};
    HIP_OK(hipPointerGetAttributes(&attributes, device.data));
    CHECK(attributes.device == i);
  }
  // What one allocates, the others still have.
  std::vector<size_t> before(count);
  size_t total = 0;
  for (const Device& device : devices) {
    on(device);
    HIP_OK(hipMemGetInfo(&before[device.number], &total));
  }
  on(devices[0]);
  constexpr size_t kMuch = size_t{64} << 20;
  void* much = nullptr;
  HIP_OK(hipMalloc(&much, kMuch));
  for (const Device& device : devices) {
    on(device);
    size_t now = 0;
    HIP_OK(hipMemGetInfo(&now, &total));
    CHECK(before[device.number] - now == (device.number == 0 ? kMuch : 0));
  }
  on(devices[0]);
  HIP_OK(hipFree(much));
}

// Streams and events of different devices, and copies between them.
static void copies(const std::vector<Device>& devices) {
  const int count = static_cast<int>(devices.size());
  for (const Device& device : devices) {
    on(device);
    fill<<<1, kCount, 0, device.stream>>>(device.data, device.number);
    HIP_OK(hipEventRecord(device.done, device.stream));
  }
  // Each gets the next one's bytes behind that one's event.
  for (const Device& device : devices) {
    const Device& next = devices[(device.number + 1) % count];
    on(device);
    HIP_OK(hipStreamWaitEvent(device.stream, next.done, 0));
    HIP_OK(hipMemcpyPeerAsync(device.other, device.number, next.data, next.number, kBytes,
                              device.stream));
    add<<<1, kCount, 0, device.stream>>>(device.other, device.data);
  }
  for (const Device& device : devices) {
    on(device);
    HIP_OK(hipStreamSynchronize(device.stream));
    expect_line(device.other, 2, device.number + (device.number + 1) % count);
  }
  // In null streams, of which each device has one; the kernel reads the other device's memory.
  for (const Device& device : devices) {
    const Device& next = devices[(device.number + 1) % count];
    on(device);
    add<<<1, kCount>>>(device.other, next.data);
    HIP_OK(hipDeviceSynchronize());
    expect_line(device.other, 3, device.number + 2 * ((device.number + 1) % count));
  }
  // There and back.
  const Device& last = devices[count - 1];
  HIP_OK(hipMemcpyPeer(devices[0].data, 0, last.other, count - 1, kBytes));
  on(devices[0]);
  HIP_OK(hipDeviceSynchronize());
  expect_line(devices[0].data, 3, count - 1);
  add<<<1, kCount>>>(devices[0].data, devices[0].data);
  HIP_OK(hipDeviceSynchronize());
  HIP_OK(hipMemcpy(last.data, devices[0].data, kBytes, hipMemcpyDeviceToDevice));
  HIP_OK(hipDeviceSynchronize());
  expect_line(last.data, 6, 2 * (count - 1));
  // Access may be taken back, and given again.
  if (count > 1) {
    on(devices[1]);
    HIP_OK(hipDeviceDisablePeerAccess(0));
    CHECK(hipDeviceDisablePeerAccess(0) == hipErrorPeerAccessNotEnabled);
    HIP_OK(hipDeviceEnablePeerAccess(0, 0));
    CHECK(hipDeviceEnablePeerAccess(0, 0) == hipErrorPeerAccessAlreadyEnabled);
  }
  (void)hipGetLastError();
}

// A module's variable exists once per device.
static void variables(const std::vector<Device>& devices) {
  std::vector<void*> addresses;
  for (const Device& device : devices) {
    on(device);
    void* address = nullptr;
    HIP_OK(hipGetSymbolAddress(&address, HIP_SYMBOL(variable)));
    for (const void* other : addresses) CHECK(other != address);
    addresses.push_back(address);
    add_variable<<<1, 1>>>(100 * device.number);
  }
  for (const Device& device : devices) {
    on(device);
    get_variable<<<1, 1>>>(device.data);
    int value = 0;
    HIP_OK(hipMemcpy(&value, device.data, sizeof(value), hipMemcpyDeviceToHost));
    CHECK(value == 7 + 100 * device.number);
    HIP_OK(hipMemcpyFromSymbol(&value, HIP_SYMBOL(variable), sizeof(value)));
    CHECK(value == 7 + 100 * device.number);
  }
}

// One grid per device, and a barrier of all grids.
static void grids(const std::vector<Device>& devices) {
  unsigned* counts = nullptr;
  HIP_OK(hipHostMalloc(reinterpret_cast<void**>(&counts), 4 * sizeof(*counts),
                       hipHostMallocCoherent | hipHostMallocPortable));
  const unsigned count = static_cast<unsigned>(devices.size());
  for (const unsigned blocks : {1u, 2u, 9u}) {
    std::memset(counts, 0, 4 * sizeof(*counts));
    void* arguments[] = {&counts};
    std::vector<hipLaunchParams> launches(count);
    for (const Device& device : devices) {
      hipLaunchParams& launch = launches[device.number];
      launch.func = reinterpret_cast<void*>(meet);
      launch.gridDim = dim3(blocks);
      launch.blockDim = dim3(64);
      launch.args = arguments;
      launch.stream = device.stream;
    }
    HIP_OK(hipLaunchCooperativeKernelMultiDevice(launches.data(), static_cast<int>(count), 0));
    for (const Device& device : devices) {
      on(device);
      HIP_OK(hipStreamSynchronize(device.stream));
    }
    for (unsigned turn = 0; turn < 3; ++turn)
      CHECK(counts[turn] == blocks * 64 * count * (count + 1) / 2);
    CHECK(counts[3] == 0);
  }
  // The same call without a barrier of grids.
  std::vector<hipLaunchParams> launches(count);
  std::vector<void*> arguments;
  int value = 5;
  for (const Device& device : devices) {
    arguments.push_back(const_cast<int**>(&device.data));
    arguments.push_back(&value);
  }
  for (const Device& device : devices) {
    hipLaunchParams& launch = launches[device.number];
    launch.func = reinterpret_cast<void*>(fill);
    launch.gridDim = dim3(1);
    launch.blockDim = dim3(kCount);
    launch.args = &arguments[2 * device.number];
    launch.stream = device.stream;
  }
  HIP_OK(hipExtLaunchMultiKernelMultiDevice(launches.data(), static_cast<int>(count), 0));
  for (const Device& device : devices) {
    on(device);
    HIP_OK(hipStreamSynchronize(device.stream));
    expect_line(device.data, 1, 5);
  }
  HIP_OK(hipHostFree(counts));
}

// As programs choose a device: looks at all, works on the first one.
static int look(int count) {
  for (int i = 0; i < count; ++i) {
    HIP_OK(hipSetDevice(i));
    hipDeviceProp_t is{};
    HIP_OK(hipGetDeviceProperties(&is, i));
    size_t unused = 0;
    size_t total = 0;
    HIP_OK(hipMemGetInfo(&unused, &total));
    CHECK(total == is.totalGlobalMem);
  }
  HIP_OK(hipSetDevice(0));
  int* data = nullptr;
  HIP_OK(hipMalloc(reinterpret_cast<void**>(&data), kBytes));
  fill<<<1, kCount>>>(data, 11);
  expect_line(data, 1, 11);
  HIP_OK(hipFree(data));
  return done();
}

int main(int argc, char** argv) {
  const std::string way = argc > 1 ? argv[1] : "all";
  const std::string wanted = argc > 2 ? argv[2] : "2";
  setenv("GFXGRAPH_DEVICES", wanted.c_str(), 0);  // before HIP's first call
  int count = 0;
  HIP_OK(hipGetDeviceCount(&count));
  CHECK(count == std::atoi(wanted.c_str()));
  CHECK(hipSetDevice(count) == hipErrorInvalidDevice);
  (void)hipGetLastError();
  if (way == "look") return look(count);
  const std::vector<Device> devices = open_devices(count);
  const auto is = [&](const char* one) { return way == "all" || way == one; };
  if (is("properties")) properties(devices);
  if (is("copies")) copies(devices);
  if (is("variables")) variables(devices);
  if (is("grids")) grids(devices);
  close_devices(devices);
  return done();
}
