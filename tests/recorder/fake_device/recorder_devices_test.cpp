// Graphs of a program with two devices. A program of its own: once a process has used another
// device than the first one, the recorder looks at all of its calls in another way.
#include "recorder/objects/devices.h"
#include "tests/recorder/fake_device/recorder_fixture.h"

namespace gfxgraph::recorder {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr int32_t k6 = 60'400'000;
constexpr int32_t k7 = 70'200'000;

class RecorderDevicesTest : public RecorderTest {
 protected:
  void SetUp() override {
    image_ = read_text(MODULE_FILE);
    wrapper_ = {0x48495046, 1, image_.data(), nullptr};
    DeviceStreams::use_several();
    current_device = 1;
    DeviceStreams::created(handle(11), 1);
    current_device = 0;
    DeviceStreams::created(handle(10), 0);
  }

  void begin(int32_t version) {
    state_.runtime_version = version;
    state_.symbol = &counter_;
    std::filesystem::remove(path());
    make({});
    recorder_->code().fat_binary(handle(50), &wrapper_);
    recorder_->code().function(handle(50), handle(51), "module_increment");
    recorder_->code().variable(handle(50), handle(52), "module_counter");
    recorder_->streams().stream_created(handle(10), 1, 0);
    recorder_->streams().stream_created(handle(11), 1, 0);
    device_memory(data_, sizeof(data_));
  }

  // As hipGraphAddKernelNode, while `device` is current.
  RawLaunch kernel_on(format::DeviceNumber device) {
    current_device = device;
    RawLaunch raw;
    raw.kernel = recorder_->launches().find_any_kernel(handle(51), "add", held_);
    current_device = 0;
    if (raw.kernel == nullptr) throw std::logic_error("no kernel");
    void* address = data_;
    int by = 3;
    void* params[] = {&address, &by};
    raw.kernarg = kernarg_of(raw.kernel->kernel, params);
    return raw;
  }

  // A graph with a node for each device of `devices`, instantiated while `current` was, launched on
  // the stream.
  std::shared_ptr<const Trace> launched(const std::vector<format::DeviceNumber>& devices,
                                        format::DeviceNumber current, Handle stream) {
    recorder_->graphs().graph_created(handle(30));
    for (size_t i = 0; i < devices.size(); ++i) {
      recorder_->graphs().node_added(handle(30), handle(31 + i), nullptr, 0, kernel_on(devices[i]),
                                     "add");
    }
    current_device = current;
    recorder_->executables().instantiated(handle(40), handle(30));
    current_device = 0;
    Work work;
    recorder_->work().prepare_graph_launch(handle(40), stream, work);
    recorder_->commit(work);
    return finish();
  }

  static std::vector<format::DeviceNumber> devices_of_nodes(const Trace& trace) {
    std::vector<format::DeviceNumber> found;
    for (const format::GraphNode& node : trace.graphs()[0].nodes) {
      const auto& launch = std::get<format::Launch>(node.action);
      const format::Kernel& kernel = trace.kernels()[launch.kernel - 1];
      found.push_back(trace.code_objects()[kernel.code_object - 1].device);
    }
    return found;
  }

  std::string image_;
  struct {
    uint32_t magic, version;
    const void* binary;
    const void* unused;
  } wrapper_ = {};
  int counter_ = 0;
  alignas(8) char data_[256] = {};
};

using Devices = std::vector<format::DeviceNumber>;

TEST_F(RecorderDevicesTest, AGraphOfSeveralDevicesRunsWhereTheRuntimeRunsIt) {
  begin(k7);
  auto trace = launched({0, 1}, 0, handle(10));
  EXPECT_TRUE(trace->complete());
  EXPECT_EQ(devices_of_nodes(*trace), (Devices{0, 1}));
  begin(k6);
  trace = launched({0, 1}, 1, handle(11));
  EXPECT_TRUE(trace->complete());
  EXPECT_EQ(devices_of_nodes(*trace), (Devices{1, 1}));
}

// Its branches may run on either device.
TEST_F(RecorderDevicesTest, AGraphThatWasInstantiatedForAnotherDeviceIsNamed) {
  begin(k6);
  const auto trace = launched({0}, 1, handle(10));
  EXPECT_FALSE(trace->complete());
  ASSERT_THAT(trace->findings(), SizeIs(1));
  EXPECT_THAT(trace->findings()[0].detail, HasSubstr("on a stream of another device"));
}

TEST_F(RecorderDevicesTest, ANodeThatChangesWhileAnotherDeviceIsCurrentIsNamed) {
  begin(k7);
  recorder_->graphs().graph_created(handle(30));
  recorder_->graphs().node_added(handle(30), handle(31), nullptr, 0, kernel_on(1), "add");
  recorder_->graphs().node_changed(handle(31), kernel_on(1), "change");
  recorder_->graphs().node_changed(handle(31), kernel_on(0), "change");
  const auto trace = finish();
  EXPECT_FALSE(trace->complete());
  ASSERT_THAT(trace->findings(), SizeIs(1));
  EXPECT_EQ(trace->findings()[0].call, "change");
  EXPECT_EQ(trace->findings()[0].count, 1u);
}

TEST_F(RecorderDevicesTest, ALaunchThatIsCapturedWhileAnotherDeviceIsCurrentIsNamed) {
  for (const format::DeviceNumber current : {0u, 1u}) {
    begin(k7);
    recorder_->graphs().capture_begins(handle(11));
    Work work;
    work.raw = kernel_on(1);
    work.stream = handle(11);
    work.call = "hipLaunchKernel";
    current_device = current;
    recorder_->work().prepare(work);
    recorder_->commit(work);
    current_device = 0;
    EXPECT_EQ(finish()->complete(), current == 1);
  }
}

// HIP looks the variable up when it copies.
TEST_F(RecorderDevicesTest, AGraphThatCopiesAnotherDevicesVariableIsNamed) {
  for (const format::DeviceNumber current : {0u, 1u}) {
    begin(k7);
    RawCopy copy;
    copy.destination.address = reinterpret_cast<uint64_t>(data_);
    copy.source.address = copy.destination.address + 64;
    copy.width_bytes = 8;
    copy.variable_of = 1;
    recorder_->graphs().graph_created(handle(30));
    recorder_->graphs().node_added(handle(30), handle(31), nullptr, 0, copy, "add");
    recorder_->executables().instantiated(handle(40), handle(30));
    current_device = current;
    Work work;
    recorder_->work().prepare_graph_launch(handle(40), handle(11), work);
    recorder_->commit(work);
    current_device = 0;
    EXPECT_EQ(finish()->complete(), current == 1);
  }
}

TEST_F(RecorderDevicesTest, AFunctionOfASymbolIsOfTheCurrentDevice) {
  begin(k7);
  current_device = 1;
  recorder_->code().function_of_symbol(handle(60), handle(51));
  current_device = 0;
  const KernelEntry* const kernel =
      recorder_->launches().find_kernel(handle(60), false, "launch", held_, 1);
  ASSERT_NE(kernel, nullptr);
  EXPECT_EQ(kernel->module->device, 1u);
  EXPECT_TRUE(held_.empty());
  EXPECT_EQ(recorder_->launches().find_kernel(handle(60), false, "launch", held_, 0), nullptr);
  EXPECT_FALSE(held_.empty());
}

TEST_F(RecorderDevicesTest, AThreadHasAStreamForEachDevice) {
  const Handle first = per_thread_stream();
  current_device = 1;
  const Handle second = per_thread_stream();
  EXPECT_EQ(per_thread_stream(), second);
  current_device = 0;
  EXPECT_EQ(per_thread_stream(), first);
  EXPECT_EQ(DeviceStreams::device_of(first), 0u);
  EXPECT_EQ(DeviceStreams::device_of(second), 1u);
}

}  // namespace
}  // namespace gfxgraph::recorder
