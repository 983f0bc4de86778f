// Memory of graphs, and memory that the program maps itself, each with an answer computed on the host:
// memory_calls MODE; prints "ok".
//   nodes, captured, kept, freed, handed_on (from 5.7), mapped, moved, adjacent, grown (from 6.4), cooperative
#include <string>
#include <utility>
#include <vector>

#include "../recorder/programs/program.h"

constexpr int kCount = 64;
constexpr size_t kBytes = kCount * sizeof(int);

__global__ void set(int* data, int value) { data[threadIdx.x] = value + static_cast<int>(threadIdx.x); }
__global__ void add(int* to, const int* from) { to[threadIdx.x] += from[threadIdx.x]; }

static hipStream_t new_stream() {
  hipStream_t stream;
  CHECK(hipStreamCreate(&stream));
  return stream;
}

static int* zeros() {
  int* data = nullptr;
  CHECK(hipMalloc(&data, kBytes));
  CHECK(hipMemset(data, 0, kBytes));
  CHECK(hipDeviceSynchronize());
  return data;
}

// data[i] == factor * i + base
static void expect_line(const int* device, int factor, int base, const char* what) {
  std::vector<int> values(kCount), wanted(kCount);
  for (int i = 0; i < kCount; ++i) wanted[i] = factor * i + base;
  CHECK(hipMemcpy(values.data(), device, kBytes, hipMemcpyDeviceToHost));
  if (values != wanted) std::printf("%d %d, not %d %d: ", values[0], values[1], wanted[0], wanted[1]);
  expect(values == wanted, what);
}

static hipGraphExec_t instantiate(hipGraph_t graph) {
  hipGraphExec_t executable;
  CHECK(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
  return executable;
}

static void launch(hipGraphExec_t executable, hipStream_t stream) {
  CHECK(hipGraphLaunch(executable, stream));
  CHECK(hipStreamSynchronize(stream));
}

template <typename... Arguments>
static hipGraphNode_t kernel_node(hipGraph_t graph, std::vector<hipGraphNode_t> after, void (*function)(Arguments...),
                                  Arguments... arguments) {
  void* places[] = {&arguments...};
  hipKernelNodeParams params{};
  params.func = reinterpret_cast<void*>(function);
  params.gridDim = dim3(1);
  params.blockDim = dim3(kCount);
  params.kernelParams = places;
  hipGraphNode_t node;
  CHECK(hipGraphAddKernelNode(&node, graph, after.data(), after.size(), &params));
  return node;
}

#if HIP_VERSION >= 50700000
static hipMemAllocNodeParams of_bytes(size_t bytes) {
  hipMemAllocNodeParams params{};
  params.poolProps.allocType = hipMemAllocationTypePinned;
  params.poolProps.location.type = hipMemLocationTypeDevice;
  params.bytesize = bytes;
  return params;
}

static int* memory_node(hipGraphNode_t* node, hipGraph_t graph, std::vector<hipGraphNode_t> after) {
  hipMemAllocNodeParams params = of_bytes(kBytes);
  CHECK(hipGraphAddMemAllocNode(node, graph, after.data(), after.size(), &params));
  return static_cast<int*>(params.dptr);
}

static hipGraphNode_t free_node(hipGraph_t graph, hipGraphNode_t after, void* memory) {
  hipGraphNode_t node;
  CHECK(hipGraphAddMemFreeNode(&node, graph, &after, 1, memory));
  return node;
}

// Two buffers, one after the other, which may get the same address.
static void nodes() {
  int* const total = zeros();
  hipStream_t const stream = new_stream();
  hipGraph_t graph;
  CHECK(hipGraphCreate(&graph, 0));
  hipGraphNode_t made;
  int* const first = memory_node(&made, graph, {});
  const hipGraphNode_t filled = kernel_node(graph, {made}, set, first, 5);
  const hipGraphNode_t added = kernel_node(graph, {filled}, add, total, static_cast<const int*>(first));
  const hipGraphNode_t freed = free_node(graph, added, first);
  int* const second = memory_node(&made, graph, {freed});
  const hipGraphNode_t again = kernel_node(graph, {made}, set, second, 7);
  const hipGraphNode_t more = kernel_node(graph, {again}, add, total, static_cast<const int*>(second));
  free_node(graph, more, second);
  hipGraphExec_t const executable = instantiate(graph);
  launch(executable, stream);
  expect_line(total, 2, 12, "memory nodes");
  launch(executable, stream);
  launch(executable, stream);
  expect_line(total, 6, 36, "memory nodes, launched again");
}

// What a stream capture makes of hipMallocAsync and hipFreeAsync.
static void captured() {
  int* const total = zeros();
  hipStream_t const stream = new_stream();
  CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  int* scratch = nullptr;
  CHECK(hipMallocAsync(reinterpret_cast<void**>(&scratch), kBytes, stream));
  set<<<1, kCount, 0, stream>>>(scratch, 3);
  add<<<1, kCount, 0, stream>>>(total, scratch);
  CHECK(hipFreeAsync(scratch, stream));
  hipGraph_t graph;
  CHECK(hipStreamEndCapture(stream, &graph));
  hipGraphExec_t const executable = instantiate(graph);
  launch(executable, stream);
  launch(executable, stream);
  expect_line(total, 2, 6, "memory of a capture");
}

// What the graph leaves, its stream uses and frees; then the graph allocates it again.
static void kept() {
  int* const total = zeros();
  hipStream_t const stream = new_stream();
  hipGraph_t graph;
  CHECK(hipGraphCreate(&graph, 0));
  hipGraphNode_t made;
  int* const memory = memory_node(&made, graph, {});
  kernel_node(graph, {made}, set, memory, 2);
  hipGraphExec_t const executable = instantiate(graph);
  for (int i = 0; i < 2; ++i) {
    launch(executable, stream);
    add<<<1, kCount, 0, stream>>>(total, memory);
    CHECK(hipFreeAsync(memory, stream));
    CHECK(hipStreamSynchronize(stream));
  }
  expect_line(total, 2, 4, "memory that a graph leaves");
  launch(executable, stream);
  expect_line(memory, 1, 2, "memory that is left at the end");
}

// What a graph leaves is freed by a call, and there is nothing to compare with it then.
static void freed() {
  int* const total = zeros();
  hipStream_t const stream = new_stream();
  hipGraph_t graph;
  CHECK(hipGraphCreate(&graph, 0));
  hipGraphNode_t made;
  int* const memory = memory_node(&made, graph, {});
  kernel_node(graph, {made}, set, memory, 2);
  launch(instantiate(graph), stream);
  add<<<1, kCount, 0, stream>>>(total, memory);
  CHECK(hipStreamSynchronize(stream));
  CHECK(hipFree(memory));
  expect_line(total, 1, 2, "memory that a graph leaves");
}

// One graph allocates, another one frees.
static void handed_on() {
  int* const total = zeros();
  hipStream_t const stream = new_stream();
  hipGraph_t first, second;
  CHECK(hipGraphCreate(&first, 0));
  CHECK(hipGraphCreate(&second, 0));
  hipGraphNode_t made;
  int* const memory = memory_node(&made, first, {});
  kernel_node(first, {made}, set, memory, 1);
  const hipGraphNode_t added = kernel_node(second, {}, add, total, static_cast<const int*>(memory));
  free_node(second, added, memory);
  hipGraphExec_t const makes = instantiate(first);
  hipGraphExec_t const frees = instantiate(second);
  for (int i = 0; i < 3; ++i) {
    launch(makes, stream);
    launch(frees, stream);
  }
  expect_line(total, 3, 3, "memory that another graph frees");
}
#endif

static hipMemAllocationProp device_memory() {
  hipMemAllocationProp properties{};
  properties.type = hipMemAllocationTypePinned;
  properties.location.type = hipMemLocationTypeDevice;
  return properties;
}

static void map(void* address, size_t bytes, hipMemGenericAllocationHandle_t memory) {
  CHECK(hipMemMap(address, bytes, 0, memory, 0));
  hipMemAccessDesc access{};
  access.location.type = hipMemLocationTypeDevice;
  access.flags = hipMemAccessFlagsProtReadWrite;
  CHECK(hipMemSetAccess(address, bytes, &access, 1));
}

static size_t granule() {
  const hipMemAllocationProp properties = device_memory();
  size_t bytes = 0;
  CHECK(hipMemGetAllocationGranularity(&bytes, &properties, hipMemAllocationGranularityRecommended));
  return bytes;
}

static hipMemGenericAllocationHandle_t new_memory(size_t bytes) {
  const hipMemAllocationProp properties = device_memory();
  hipMemGenericAllocationHandle_t memory;
  CHECK(hipMemCreate(&memory, bytes, &properties, 0));
  return memory;
}

// Two pieces of one reservation, apart; one is given back and mapped anew.
static void mapped() {
  const size_t bytes = granule();
  int* const total = zeros();
  void* place = nullptr;
  CHECK(hipMemAddressReserve(&place, 4 * bytes, 0, nullptr, 0));
  int* const first = static_cast<int*>(place);
  int* const second = first + 2 * bytes / sizeof(int);
  const auto one = new_memory(bytes);
  const auto other = new_memory(bytes);
  map(first, bytes, one);
  map(second, bytes, other);
  set<<<1, kCount>>>(first, 4);
  set<<<1, kCount>>>(second, 5);
  add<<<1, kCount>>>(total, first);
  CHECK(hipMemcpy(first + kCount, second, kBytes, hipMemcpyDeviceToDevice));
  add<<<1, kCount>>>(total, first + kCount);
  CHECK(hipDeviceSynchronize());
  expect_line(total, 2, 9, "memory that is mapped");
  CHECK(hipMemUnmap(first, bytes));
  CHECK(hipMemRelease(one));
  const auto third = new_memory(bytes);
  map(first, bytes, third);
  CHECK(hipMemset(first, 0, kBytes));
  add<<<1, kCount>>>(first, second);
  CHECK(hipDeviceSynchronize());
  expect_line(first, 1, 5, "memory that is mapped anew");
}

// Memory keeps its bytes when it is mapped elsewhere.
static void moved() {
  const size_t bytes = granule();
  int* const total = zeros();
  void* place = nullptr;
  CHECK(hipMemAddressReserve(&place, 4 * bytes, 0, nullptr, 0));
  int* const first = static_cast<int*>(place);
  int* const second = first + 2 * bytes / sizeof(int);
  const auto memory = new_memory(bytes);
  map(first, bytes, memory);
  set<<<1, kCount>>>(first, 6);
  CHECK(hipDeviceSynchronize());
  CHECK(hipMemUnmap(first, bytes));
  map(second, bytes, memory);
  add<<<1, kCount>>>(total, second);
  CHECK(hipDeviceSynchronize());
  expect_line(total, 1, 6, "memory that is mapped elsewhere");
  CHECK(hipMemUnmap(second, bytes));
  CHECK(hipMemRelease(memory));
  CHECK(hipMemAddressFree(place, 4 * bytes));
}

__global__ void line(int* data, int count, int base) {
  for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x)) data[i] = base + i;
}

// Half of kCount numbers on each side of `border`.
static int* around(void* border) { return static_cast<int*>(border) - kCount / 2; }

// A kernel, a copy and a fill that reach from one mapping into the next; then one mapping goes.
static void adjacent() {
  const size_t bytes = granule();
  int* const total = zeros();
  char* place = nullptr;
  CHECK(hipMemAddressReserve(reinterpret_cast<void**>(&place), 4 * bytes, 0, nullptr, 0));
  for (int i = 0; i < 3; ++i) CHECK(hipMemMap(place + i * bytes, bytes, 0, new_memory(bytes), 0));
  hipMemAccessDesc access{};
  access.location.type = hipMemLocationTypeDevice;
  access.flags = hipMemAccessFlagsProtReadWrite;
  CHECK(hipMemSetAccess(place, 3 * bytes, &access, 1));
  int* const first = around(place + bytes);
  int* const second = around(place + 2 * bytes);
  line<<<1, kCount>>>(first, kCount, 3);
  CHECK(hipMemcpy(second, first, kBytes, hipMemcpyDeviceToDevice));
  add<<<1, kCount>>>(total, second);
  CHECK(hipDeviceSynchronize());
  expect_line(total, 1, 3, "adjacent mappings");
  expect_line(first, 1, 3, "a kernel in two mappings");
  CHECK(hipMemset(first, 0, kBytes));
  CHECK(hipDeviceSynchronize());
  expect_line(first, 0, 0, "a fill in two mappings");
  CHECK(hipMemUnmap(place, bytes));
  add<<<1, kCount>>>(total, second);
  CHECK(hipDeviceSynchronize());
  expect_line(total, 2, 6, "the mappings that are left");
  CHECK(hipMemUnmap(place + bytes, bytes));
  CHECK(hipMemUnmap(place + 2 * bytes, bytes));
}

// Memory that grows at its end, then at its begin, while it is used.
static void grown() {
  const size_t bytes = granule();
  int* const total = zeros();
  char* place = nullptr;
  CHECK(hipMemAddressReserve(reinterpret_cast<void**>(&place), 4 * bytes, 0, nullptr, 0));
  map(place + bytes, bytes, new_memory(bytes));
  int* const last = reinterpret_cast<int*>(place + 2 * bytes) - kCount;
  line<<<1, kCount>>>(last, kCount, 1);
  map(place + 2 * bytes, bytes, new_memory(bytes));
  add<<<1, kCount>>>(total, last);
  int* const border = around(place + 2 * bytes);
  line<<<1, kCount>>>(border, kCount, 4);
  map(place, bytes, new_memory(bytes));
  add<<<1, kCount>>>(total, border);
  line<<<1, kCount>>>(around(place + bytes), kCount, 5);
  add<<<1, kCount>>>(total, around(place + bytes));
  CHECK(hipDeviceSynchronize());
  expect_line(total, 3, 10, "memory that grows");
}

#if HIP_VERSION >= 50700000
// A kernel node that is cooperative by its attributes, and one that gets them from it.
static void cooperative() {
  int* const total = zeros();
  int* const other = zeros();
  hipStream_t const stream = new_stream();
  hipGraph_t graph;
  CHECK(hipGraphCreate(&graph, 0));
  const hipGraphNode_t first = kernel_node(graph, {}, set, total, 8);
  const hipGraphNode_t second = kernel_node(graph, {first}, add, other, static_cast<const int*>(total));
  hipKernelNodeAttrValue value{};
  value.cooperative = 1;
  CHECK(hipGraphKernelNodeSetAttribute(first, hipKernelNodeAttributeCooperative, &value));
  CHECK(hipGraphKernelNodeCopyAttributes(first, second));
  hipGraphExec_t const executable = instantiate(graph);
  launch(executable, stream);
  launch(executable, stream);
  expect_line(other, 2, 16, "cooperative nodes");
}
#endif

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  const std::pair<const char*, void (*)()> modes[] = {
      {"mapped", mapped},
      {"moved", moved},
      {"adjacent", adjacent},
      {"grown", grown},
#if HIP_VERSION >= 50700000
      {"nodes", nodes},
      {"captured", captured},
      {"kept", kept},
      {"freed", freed},
      {"handed_on", handed_on},
      {"cooperative", cooperative},
#endif
  };
  for (const auto& [name, function] : modes) {
    if (mode != name) continue;
    function();
    std::printf("ok\n");
    return 0;
  }
  return 2;
}
