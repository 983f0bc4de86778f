// Calls that HIP 5.2.3 does not have, each with an answer computed on the host: newer_calls MODE; prints "ok".
//   enabled (from 5.7), nodes, capture_to_graph, values, value_nodes (from 6.4), launches, fills, boxes, lists,
//   box_lists (from 7.2)
#include <string>
#include <utility>
#include <vector>

#include "../recorder/programs/program.h"

constexpr int kCount = 64;
constexpr size_t kBytes = kCount * sizeof(int);

__global__ void add(int* data, int by) { data[threadIdx.x] += by; }
__global__ void multiply(int* data, int by) { data[threadIdx.x] *= by; }

static int* device_buffer(int value) {
  int* data = nullptr;
  CHECK(hipMalloc(&data, kBytes));
  CHECK(hipMemsetD32(reinterpret_cast<hipDeviceptr_t>(data), value, kCount));
  CHECK(hipDeviceSynchronize());
  return data;
}

static void expect_all(const int* device, int value, const char* what) {
  std::vector<int> values(kCount);
  CHECK(hipMemcpy(values.data(), device, kBytes, hipMemcpyDeviceToHost));
  if (values != std::vector<int>(kCount, value)) std::printf("%d, not %d: ", values[0], value);
  expect(values == std::vector<int>(kCount, value), what);
}

// Parameters of a kernel node; HIP copies the arguments when it takes them.
struct Kernel {
  Kernel(void (*function)(int*, int), int* to, int value) : data(to), by(value) {
    params.func = reinterpret_cast<void*>(function);
    params.gridDim = dim3(1);
    params.blockDim = dim3(kCount);
    params.kernelParams = arguments;
  }
  int* data;
  int by;
  void* arguments[2] = {&data, &by};
  hipKernelNodeParams params{};
};

static hipStream_t new_stream() {
  hipStream_t stream;
  CHECK(hipStreamCreate(&stream));
  return stream;
}

static hipGraph_t new_graph() {
  hipGraph_t graph;
  CHECK(hipGraphCreate(&graph, 0));
  return graph;
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

static hipGraphNode_t kernel_node(hipGraph_t graph, std::vector<hipGraphNode_t> after,
                                  void (*function)(int*, int), int* data, int by) {
  Kernel kernel(function, data, by);
  hipGraphNode_t node;
  CHECK(hipGraphAddKernelNode(&node, graph, after.data(), after.size(), &kernel.params));
  return node;
}

// A node is left out, changed meanwhile, and back again.
static void enabled() {
  int* const data = device_buffer(1);
  hipStream_t const stream = new_stream();
  hipGraph_t const graph = new_graph();
  const hipGraphNode_t first = kernel_node(graph, {}, add, data, 2);
  const hipGraphNode_t second = kernel_node(graph, {first}, multiply, data, 3);
  hipGraphExec_t const executable = instantiate(graph);
  launch(executable, stream);
  expect_all(data, 9, "all nodes");
  CHECK(hipGraphNodeSetEnabled(executable, second, 0));
  launch(executable, stream);
  expect_all(data, 11, "without the second");
  CHECK(hipGraphNodeSetEnabled(executable, first, 0));
  CHECK(hipGraphNodeSetEnabled(executable, second, 1));
  launch(executable, stream);
  expect_all(data, 33, "without the first");
  CHECK(hipGraphNodeSetEnabled(executable, first, 1));
  Kernel other(add, data, 7);
  CHECK(hipGraphExecKernelNodeSetParams(executable, first, &other.params));
  launch(executable, stream);
  expect_all(data, 120, "all nodes, one changed");
}

#if HIP_VERSION >= 60000000
static int told = 0;
static void tell(void* by) { told += *static_cast<int*>(by); }

static hipGraphNode_t node_of(hipGraph_t graph, std::vector<hipGraphNode_t> after,
                              hipGraphNodeParams& params) {
  hipGraphNode_t node;
  CHECK(hipGraphAddNode(&node, graph, after.data(), after.size(), &params));
  return node;
}

static hipGraphNodeParams params_of(hipGraphNodeType type) {
  hipGraphNodeParams params{};
  params.type = type;
  return params;
}

#if HIP_VERSION < 70000000
using DriverFill = HIP_MEMSET_NODE_PARAMS;
#else
using DriverFill = hipMemsetParams;
#endif

static HIP_MEMCPY3D driver_copy(int* to, const int* from) {
  HIP_MEMCPY3D copy{};
  copy.srcMemoryType = copy.dstMemoryType = hipMemoryTypeDevice;
  copy.srcDevice = const_cast<int*>(from);
  copy.dstDevice = to;
  copy.srcPitch = copy.dstPitch = copy.WidthInBytes = kBytes;
  copy.srcHeight = copy.dstHeight = copy.Height = copy.Depth = 1;
  return copy;
}

// Every kind of node by the calls for all kinds, and by those of the driver interface.
static void nodes() {
  int* const data = device_buffer(1);
  int* const other = device_buffer(5);
  hipStream_t const stream = new_stream();
  hipGraph_t const graph = new_graph();

  hipGraphNodeParams fill = params_of(hipGraphNodeTypeMemset);
  fill.memset.dst = data;
  fill.memset.elementSize = 4;
  fill.memset.value = 10;
  fill.memset.width = kCount;
  fill.memset.height = 1;
  const hipGraphNode_t filled = node_of(graph, {}, fill);

  Kernel kernel(add, data, 3);
  hipGraphNodeParams work = params_of(hipGraphNodeTypeKernel);
  work.kernel = kernel.params;
  const hipGraphNode_t added = node_of(graph, {filled}, work);

  int by = 4;
  hipGraphNodeParams host = params_of(hipGraphNodeTypeHost);
  host.host.fn = tell;
  host.host.userData = &by;
  const hipGraphNode_t told_node = node_of(graph, {added}, host);

  hipGraph_t const child = new_graph();
  kernel_node(child, {}, multiply, data, 2);
  hipGraphNodeParams inner = params_of(hipGraphNodeTypeGraph);
  inner.graph.graph = child;
  const hipGraphNode_t multiplied = node_of(graph, {told_node}, inner);

  hipGraphNodeParams copy = params_of(hipGraphNodeTypeMemcpy);
  copy.memcpy.copyParams.srcPtr = make_hipPitchedPtr(data, kBytes, kBytes, 1);
  copy.memcpy.copyParams.dstPtr = make_hipPitchedPtr(other, kBytes, kBytes, 1);
  copy.memcpy.copyParams.extent = make_hipExtent(kBytes, 1, 1);
  copy.memcpy.copyParams.kind = hipMemcpyDeviceToDevice;
  const hipGraphNode_t copied = node_of(graph, {multiplied}, copy);

  hipGraphExec_t const executable = instantiate(graph);
  launch(executable, stream);
  expect_all(data, 26, "nodes by one call");
  expect_all(other, 26, "a copy node by one call");
  expect(told == 4, "a host node by one call");

  Kernel changed(add, data, 5);
  work.kernel = changed.params;
  CHECK(hipGraphExecNodeSetParams(executable, added, &work));
  launch(executable, stream);
  expect_all(other, 30, "a changed kernel node of an executable graph");

  fill.memset.value = 20;
  CHECK(hipGraphNodeSetParams(filled, &fill));
  hipGraphExec_t const again = instantiate(graph);
  launch(again, stream);
  expect_all(other, 46, "a changed memset node");
  (void)copied;

  // The driver interface: a context that is not null is only asked for.
  hipCtx_t context = nullptr;
  CHECK(hipCtxGetCurrent(&context));
  hipGraph_t const driver = new_graph();
  hipGraphNode_t set, moved;
  DriverFill driver_fill{};
  driver_fill.dst = data;
  driver_fill.elementSize = 4;
  driver_fill.value = 20;
  driver_fill.width = kCount;
  driver_fill.height = 1;
  CHECK(hipDrvGraphAddMemsetNode(&set, driver, nullptr, 0, &driver_fill, context));
  HIP_MEMCPY3D box = driver_copy(other, data);
  CHECK(hipDrvGraphAddMemcpyNode(&moved, driver, &set, 1, &box, context));
  hipGraphExec_t const driven = instantiate(driver);
  launch(driven, stream);
  expect_all(other, 20, "driver nodes");
  driver_fill.value = 30;
  CHECK(hipDrvGraphExecMemsetNodeSetParams(driven, set, &driver_fill, context));
  launch(driven, stream);
  expect_all(other, 30, "a changed driver memset node");
  int* const third = device_buffer(1);
  box = driver_copy(third, data);
  CHECK(hipDrvGraphExecMemcpyNodeSetParams(driven, moved, &box, context));
  launch(driven, stream);
  expect_all(third, 30, "a changed driver copy node");
}

// A capture that adds to a graph with a node in it.
static void capture_to_graph() {
  int* const data = device_buffer(1);
  hipStream_t const stream = new_stream();
  hipGraph_t const graph = new_graph();
  const hipGraphNode_t first = kernel_node(graph, {}, add, data, 2);
  CHECK(hipStreamBeginCaptureToGraph(stream, graph, &first, nullptr, 1, hipStreamCaptureModeGlobal));
  multiply<<<1, kCount, 0, stream>>>(data, 5);
  add<<<1, kCount, 0, stream>>>(data, 1);
  hipGraph_t captured = nullptr;
  CHECK(hipStreamEndCapture(stream, &captured));
  expect(captured == graph, "the graph of a capture into a graph");
  hipGraphExec_t const executable = instantiate(graph);
  launch(executable, stream);
  expect_all(data, 16, "a capture into a graph");
}
// HIP 7.2.4 refuses every list: there each operation is a call.
static void batch(hipStream_t stream, unsigned count, hipStreamBatchMemOpParams* list) {
#if HIP_VERSION < 70000000
  CHECK(hipStreamBatchMemOp(stream, count, list, 0));
#else
  for (const auto* one = list; one != list + count; ++one) {
    const auto low = static_cast<uint32_t>(one->waitValue.value);
    const uint64_t whole = one->waitValue.value64;
    switch (one->operation) {
      case hipStreamMemOpWriteValue32: CHECK(hipStreamWriteValue32(stream, one->waitValue.address, low, 0)); break;
      case hipStreamMemOpWriteValue64: CHECK(hipStreamWriteValue64(stream, one->waitValue.address, whole, 0)); break;
      case hipStreamMemOpWaitValue32: CHECK(hipStreamWaitValue32(stream, one->waitValue.address, low, one->waitValue.flags)); break;
      default: CHECK(hipStreamWaitValue64(stream, one->waitValue.address, whole, one->waitValue.flags));
    }
  }
#endif
}

// A list of writes in one stream; one in another waits for two of the values and writes a third.
static void values() {
  int* data = device_buffer(1);
  unsigned long long* words = nullptr;
  CHECK(hipMalloc(&words, 4 * sizeof(*words)));
  CHECK(hipMemset(words, 0, 4 * sizeof(*words)));
  CHECK(hipDeviceSynchronize());
  hipStream_t first, second;
  CHECK(hipStreamCreateWithFlags(&first, hipStreamNonBlocking));
  CHECK(hipStreamCreateWithFlags(&second, hipStreamNonBlocking));
  hipStreamBatchMemOpParams writes[2] = {};
  writes[0].writeValue.operation = hipStreamMemOpWriteValue32;
  writes[0].writeValue.address = words;
  writes[0].writeValue.value = 7;
  writes[1].writeValue.operation = hipStreamMemOpWriteValue64;
  writes[1].writeValue.address = words + 1;
  writes[1].writeValue.value64 = 1ull << 40;
  hipStreamBatchMemOpParams waits[3] = {};
  waits[0].waitValue.operation = hipStreamMemOpWaitValue32;
  waits[0].waitValue.address = words;
  waits[0].waitValue.value = 7;
  waits[0].waitValue.flags = hipStreamWaitValueEq;
  waits[1].waitValue.operation = hipStreamMemOpWaitValue64;
  waits[1].waitValue.address = words + 1;
  waits[1].waitValue.value64 = 1ull << 40;
  waits[1].waitValue.flags = hipStreamWaitValueGte;
  waits[2].writeValue.operation = hipStreamMemOpWriteValue32;
  waits[2].writeValue.address = words + 2;
  waits[2].writeValue.value = 9;
  for (int i = 0; i < 50; ++i) add<<<1, kCount, 0, first>>>(data, 1);
  batch(first, 2, writes);
  batch(second, 3, waits);
  multiply<<<1, kCount, 0, second>>>(data, 2);
  CHECK(hipDeviceSynchronize());
  expect_all(data, 102, "values");
  unsigned long long seen[4];
  CHECK(hipMemcpy(seen, words, sizeof(seen), hipMemcpyDeviceToHost));
  expect(seen[0] == 7 && seen[1] == 1ull << 40 && seen[2] == 9 && seen[3] == 0, "written values");
}

static hipStreamBatchMemOpParams word(hipStreamBatchMemOpType type, void* address, uint64_t value, unsigned flags = 0) {
  hipStreamBatchMemOpParams one{};
  one.waitValue.operation = type;
  one.waitValue.address = address;
  one.waitValue.value64 = value;
  one.waitValue.flags = flags;
  return one;
}

// Nodes of values: the list is changed without a call, by a call for the executable graph and by one for the node; one
// value is an address. The last node waits for what a stream wrote before and for what it wrote itself.
static void value_nodes() {
  int* const data = device_buffer(1);
  unsigned long long* words = nullptr;
  CHECK(hipMalloc(&words, 8 * sizeof(*words)));
  CHECK(hipMemset(words, 0, 8 * sizeof(*words)));
  CHECK(hipDeviceSynchronize());
  hipCtx_t context = nullptr;
  CHECK(hipCtxGetCurrent(&context));
  hipStream_t const stream = new_stream();
  hipStream_t const other = new_stream();
  const auto address = reinterpret_cast<uint64_t>(data);
  hipStreamBatchMemOpParams writes[] = {word(hipStreamMemOpWriteValue32, words, 1), word(hipStreamMemOpWriteValue64, words + 1, address)};
  hipStreamBatchMemOpParams changed[] = {word(hipStreamMemOpWriteValue32, words, 3), word(hipStreamMemOpWriteValue64, words + 2, 1ull << 40)};
  hipBatchMemOpNodeParams params{context, 2, writes, 0};
  hipGraph_t graph;
  CHECK(hipGraphCreate(&graph, 0));
  hipGraphNode_t node, copy;
  CHECK(hipGraphAddBatchMemOpNode(&node, graph, nullptr, 0, &params));
  CHECK(hipGraphAddMemcpyNode1D(&copy, graph, &node, 1, words + 4, words, 3 * sizeof(*words), hipMemcpyDeviceToDevice));
  const auto expect_words = [&](uint64_t first, uint64_t second, uint64_t third, const char* what) {
    unsigned long long seen[3];
    CHECK(hipMemcpy(seen, words + 4, sizeof(seen), hipMemcpyDeviceToHost));
    expect(seen[0] == first && seen[1] == second && seen[2] == third, what);
  };
  hipGraphExec_t executable = instantiate(graph);
  launch(executable, stream);
  expect_words(1, address, 0, "values of a node");
  writes[0].writeValue.value = 2;
  launch(executable, stream);
  expect_words(2, address, 0, "values of a changed list");
  params.paramArray = changed;
  CHECK(hipGraphExecBatchMemOpNodeSetParams(executable, node, &params));
  launch(executable, stream);
  expect_words(3, address, 1ull << 40, "values set in an executable graph");
  changed[0].writeValue.value = 4;
  CHECK(hipGraphBatchMemOpNodeSetParams(node, &params));
  hipBatchMemOpNodeParams now{};
  CHECK(hipGraphBatchMemOpNodeGetParams(node, &now));
  expect(now.count == 2, "values of a node, asked for");
  launch(instantiate(graph), stream);
  expect_words(4, address, 1ull << 40, "values set in a node");

  hipStreamBatchMemOpParams waits[] = {word(hipStreamMemOpWaitValue32, words + 3, 5, hipStreamWaitValueEq),
                                       word(hipStreamMemOpWriteValue32, words, 6),
                                       word(hipStreamMemOpWaitValue32, words, 6, hipStreamWaitValueGte)};
  hipBatchMemOpNodeParams waiting{context, 3, waits, 0};
  hipGraph_t second;
  CHECK(hipGraphCreate(&second, 0));
  CHECK(hipGraphAddBatchMemOpNode(&node, second, nullptr, 0, &waiting));
  executable = instantiate(second);
  for (int i = 0; i < 50; ++i) add<<<1, kCount, 0, other>>>(data, 1);
  CHECK(hipStreamWriteValue32(other, words + 3, 5, 0));
  CHECK(hipGraphLaunch(executable, stream));
  multiply<<<1, kCount, 0, stream>>>(data, 2);
  CHECK(hipStreamSynchronize(stream));
  expect_all(data, 102, "a node that waits for a value");
}
#endif

#if HIP_VERSION >= 70200000
// Launches with a configuration, of a stub and of a module's function.
static void launches() {
  int* data = device_buffer(1);
  int by = 6;
  void* arguments[] = {&data, &by};
  hipStream_t const stream = new_stream();
  hipLaunchConfig_t config{};
  config.gridDim = dim3(1);
  config.blockDim = dim3(kCount);
  config.stream = stream;
  CHECK(hipLaunchKernelExC(&config, reinterpret_cast<void*>(add), arguments));
  hipFunction_t function = nullptr;
  CHECK(hipGetFuncBySymbol(&function, reinterpret_cast<void*>(multiply)));
  HIP_LAUNCH_CONFIG driver{};
  driver.gridDimX = driver.gridDimY = driver.gridDimZ = 1;
  driver.blockDimX = kCount;
  driver.blockDimY = driver.blockDimZ = 1;
  driver.hStream = stream;
  CHECK(hipDrvLaunchKernelEx(&driver, function, arguments, nullptr));
  hipLaunchAttribute attribute{};  // HIP 7.2.4 refuses any other
  attribute.id = hipLaunchAttributeCooperative;
  attribute.val.cooperative = 1;
  config.attrs = &attribute;
  config.numAttrs = 1;
  CHECK(hipLaunchKernelExC(&config, reinterpret_cast<void*>(add), arguments));
  CHECK(hipStreamSynchronize(stream));
  expect_all(data, 48, "launches with a configuration");
}

// Rows of a plane, in elements of each size.
static void fills() {
  constexpr int kPitch = 16;  // of 4 rows of 64 bytes, in ints
  int* const data = device_buffer(0);
  const auto plane = reinterpret_cast<hipDeviceptr_t>(data);
  const size_t pitch = kPitch * sizeof(int);
  hipStream_t const stream = new_stream();
  CHECK(hipMemsetD2D32(plane, pitch, 0x01020304, 3, 4));
  CHECK(hipMemsetD2D16(plane, pitch, 0x0506, 3, 2));
  CHECK(hipMemsetD2D8(plane, pitch, 7, 1, 1));
  CHECK(hipMemsetD2D32Async(data + 4, pitch, 8, 2, 4, stream));
  CHECK(hipMemsetD2D16Async(data + 4, pitch, 9, 1, 3, stream));
  CHECK(hipMemsetD2D8Async(data + 5, pitch, 10, 3, 1, stream));
  CHECK(hipStreamSynchronize(stream));
  std::vector<int> values(kCount), expected(kCount);
  for (int row = 0; row < 4; ++row) {
    int* const line = expected.data() + row * kPitch;
    line[0] = line[1] = line[2] = 0x01020304;
    if (row < 2) line[0] = 0x05060506, line[1] = 0x01020506;
    if (row < 1) line[0] = 0x05060507;
    line[4] = line[5] = 8;
    if (row < 3) line[4] = 9;
    if (row < 1) line[5] = 0x000a0a0a;
  }
  CHECK(hipMemcpy(values.data(), data, kBytes, hipMemcpyDeviceToHost));
  expect(values == expected, "planes of each element size");
}

// Boxes between two devices, which are the same one.
static void boxes() {
  constexpr size_t kPitch = 16;  // of 4 rows, in bytes; 2 by 2 bytes by 3 slices are copied
  int* const from = device_buffer(0);
  int* const to = device_buffer(0);
  hipStream_t const stream = new_stream();
  std::vector<unsigned char> bytes(kBytes), expected(kBytes), got(kBytes);
  for (size_t i = 0; i < kBytes; ++i) bytes[i] = static_cast<unsigned char>(i);
  hipMemcpy3DPeerParms box{};
  box.srcPtr = make_hipPitchedPtr(from, kPitch, kPitch, 4);
  box.dstPtr = make_hipPitchedPtr(to, kPitch, kPitch, 2);
  box.srcPos = make_hipPos(4, 1, 0);
  box.dstPos = make_hipPos(8, 0, 1);
  box.extent = make_hipExtent(2, 2, 3);
  const auto copied = [&] {
    for (size_t z = 0; z < 3; ++z)
      for (size_t y = 0; y < 2; ++y)
        for (size_t x = 0; x < 2; ++x)
          expected[(z + box.dstPos.z) * 2 * kPitch + (y + box.dstPos.y) * kPitch + x + box.dstPos.x] =
              bytes[(z + box.srcPos.z) * 4 * kPitch + (y + box.srcPos.y) * kPitch + x + box.srcPos.x];
  };
  CHECK(hipMemcpy(from, bytes.data(), kBytes, hipMemcpyHostToDevice));
  CHECK(hipMemcpy3DPeer(&box));
  copied();
  CHECK(hipDeviceSynchronize());
  add<<<1, kCount, 0, stream>>>(from, 0x01010101);  // after the first copy
  for (unsigned char& one : bytes) ++one;  // the last one alone carries, out of its word
  box.dstPos = make_hipPos(11, 0, 1);
  CHECK(hipMemcpy3DPeerAsync(&box, stream));
  copied();
  CHECK(hipStreamSynchronize(stream));
  CHECK(hipMemcpy(got.data(), to, kBytes, hipMemcpyDeviceToHost));
  expect(got == expected, "boxes between devices");
}

// Lists of boxes, of which the later one reads what the earlier one wrote; on the device, from the host and to it.
static void box_lists() {
  int* const a = device_buffer(1);
  int* const b = device_buffer(2);
  hipStream_t const stream = new_stream();
  int* pinned = nullptr;
  CHECK(hipHostMalloc(reinterpret_cast<void**>(&pinned), kBytes, hipHostMallocDefault));
  for (int i = 0; i < kCount; ++i) pinned[i] = 20;
  const auto box = [](void* to, void* from, hipExtent extent, size_t row, size_t rows) {
    hipMemcpy3DBatchOp one{};
    one.src.type = one.dst.type = hipMemcpyOperandTypePointer;
    one.src.op.ptr.ptr = from;
    one.dst.op.ptr.ptr = to;
    one.src.op.ptr.rowLength = one.dst.op.ptr.rowLength = row;
    one.src.op.ptr.layerHeight = one.dst.op.ptr.layerHeight = rows;
    one.extent = extent;
    one.srcAccessOrder = hipMemcpySrcAccessOrderStream;
    return one;
  };
  const hipExtent whole = make_hipExtent(kBytes, 1, 1);
  const hipExtent part = make_hipExtent(8, 2, 3);  // of slices of 4 rows of 16 bytes
  size_t failed = 0;
  std::vector<hipMemcpy3DBatchOp> list = {box(a, pinned, whole, 0, 0), box(b, a, part, 16, 4)};
  CHECK(hipMemcpy3DBatchAsync(list.size(), list.data(), &failed, 0, stream));
  expect(failed == ~size_t{0}, "none of a list of boxes failed");
  add<<<1, kCount, 0, stream>>>(b, 1);
  CHECK(hipStreamSynchronize(stream));
  expect_all(a, 20, "a box from pinned memory");
  std::vector<int> values(kCount), expected(kCount, 3);
  for (int z = 0; z < 3; ++z)
    for (int y = 0; y < 2; ++y)
      for (int x = 0; x < 2; ++x) expected[z * 16 + y * 4 + x] = 21;
  list = {box(pinned, b, whole, 0, 0)};
  CHECK(hipMemcpy3DBatchAsync(list.size(), list.data(), &failed, 0, stream));
  CHECK(hipStreamSynchronize(stream));
  expect(std::vector<int>(pinned, pinned + kCount) == expected, "boxes of a list");
}

// Lists of copies, of which the later ones read what the earlier ones wrote, also by way of the host.
static void lists() {
  int* const a = device_buffer(1);
  int* const b = device_buffer(2);
  int* const c = device_buffer(3);
  hipStream_t const stream = new_stream();
  std::vector<int> plain(kCount, 10);
  int* pinned = nullptr;
  CHECK(hipHostMalloc(reinterpret_cast<void**>(&pinned), kBytes, hipHostMallocDefault));
  for (int i = 0; i < kCount; ++i) pinned[i] = 20;
  size_t failed = 0;
  const auto copy = [&](std::vector<std::pair<void*, void*>> ends) {
    std::vector<void*> to, from;
    std::vector<size_t> sizes(ends.size(), kBytes);
    for (const auto& [one, other] : ends) to.push_back(one), from.push_back(other);
    return hipMemcpyBatchAsync(to.data(), from.data(), sizes.data(), ends.size(), nullptr, nullptr, 0, &failed,
                               stream);
  };
  CHECK(copy({{a, plain.data()}, {b, pinned}, {c, a}}));
  add<<<1, kCount, 0, stream>>>(c, 5);
  expect(failed == ~size_t{0}, "none of a list failed");
  CHECK(hipStreamSynchronize(stream));
  expect_all(a, 10, "a copy from plain memory");
  expect_all(b, 20, "a copy from pinned memory");
  expect_all(c, 15, "a copy on the device");

  multiply<<<1, kCount, 0, stream>>>(c, 2);
  CHECK(copy({{plain.data(), c}, {a, plain.data()}, {pinned, a}}));
  CHECK(hipStreamSynchronize(stream));
  expect(plain == std::vector<int>(kCount, 30), "a copy to plain memory");
  expect_all(a, 30, "a copy from what a copy brought");
  expect(pinned[0] == 30 && pinned[kCount - 1] == 30, "a copy to pinned memory");

  // What follows one that is refused is not done.
  expect(copy({{b, a}, {nullptr, a}, {a, c}}) == hipErrorInvalidValue && failed == 1, "a list with a null pointer");
  CHECK(hipStreamSynchronize(stream));
  (void)hipGetLastError();
  multiply<<<1, kCount, 0, stream>>>(b, 3);
  CHECK(hipStreamSynchronize(stream));
  expect_all(b, 90, "the copy before the refused one");
  expect_all(a, 30, "no copy after the refused one");

  // HIP 7.2.4 takes no attributes.
  void* to = c;
  void* from = b;
  size_t bytes = kBytes, first = 0;
  hipMemcpyAttributes attributes{};
  attributes.srcAccessOrder = hipMemcpySrcAccessOrderStream;
  if (hipMemcpyBatchAsync(&to, &from, &bytes, 1, &attributes, &first, 1, &failed, stream) != hipSuccess) {
    (void)hipGetLastError();
    expect_all(c, 30, "no copy with attributes");
  }
  // Nor does it capture lists: they are done at once.
  CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeRelaxed));
  CHECK(copy({{c, b}}));
  add<<<1, kCount, 0, stream>>>(c, 1);
  hipGraph_t graph = nullptr;
  CHECK(hipStreamEndCapture(stream, &graph));
  CHECK(hipStreamSynchronize(stream));
  expect_all(c, 90, "a list in a stream that is captured");
  launch(instantiate(graph), stream);
  expect_all(c, 91, "the graph beside it");
}
#endif

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  const std::pair<const char*, void (*)()> modes[] = {
      {"enabled", enabled},
#if HIP_VERSION >= 60000000
      {"nodes", nodes},       {"capture_to_graph", capture_to_graph}, {"values", values},
      {"value_nodes", value_nodes},
#endif
#if HIP_VERSION >= 70200000
      {"launches", launches}, {"fills", fills}, {"boxes", boxes}, {"lists", lists},
      {"box_lists", box_lists},
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
