// The recorder without HIP: a device whose memory is this process's own.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "format/read/reader.h"
#include "recorder/launch/arguments.h"
#include "recorder/recorded_launch.h"
#include "recorder/recorder.h"
#include "tests/recorder/kernarg_of.h"
#include "tests/recorder/process.h"

namespace gfxgraph::recorder {

using format::Trace;

struct FakeState {
  bool readable = true;
  bool synchronizes = true;
  StreamState stream = StreamState::kIdle;
  int idle_after = 0;  // times it is asked for until it is idle; 0: it stays as it is
  std::vector<void*> nodes;
  void* symbol = nullptr;
  bool library_variables = false;  // HIP 7.14: the runtime returns their addresses
  int32_t runtime_version = 60'000'000;
  bool direct = true;
  bool in_process = false;
  std::set<void*> capturing;          // streams that stay so after a capture
  std::function<void()> during_call;  // while the recorder waits for the runtime
  std::function<void()> during_wait;  // while it waits for the device
  std::vector<uint32_t> waits;        // how long it would have, each time
  // Reads behind a stream's work: what the memory holds when the stream arrives.
  bool reads_behind = false;
  std::vector<std::function<void()>> under_way;
  void arrive() {
    for (const std::function<void()>& read : under_way) read();
    under_way.clear();
  }
};

class FakeStreamRead final : public StreamRead {
 public:
  StreamState state() override { return *state_; }
  std::span<const std::byte> bytes() const override { return *bytes_; }
  std::function<void()> arrival(uint64_t address, size_t size_bytes) {
    return [state = state_, bytes = bytes_, address, size_bytes] {
      const auto* const begin = reinterpret_cast<const std::byte*>(address);
      bytes->assign(begin, begin + size_bytes);
      *state = StreamState::kIdle;
    };
  }

 private:
  std::shared_ptr<StreamState> state_ = std::make_shared<StreamState>(StreamState::kBusy);
  std::shared_ptr<std::vector<std::byte>> bytes_ = std::make_shared<std::vector<std::byte>>();
};

class FakeDevice final : public Device {
 public:
  explicit FakeDevice(FakeState& state) : state_(state) {}
  DeviceFacts facts() override {
    if (state_.during_call) state_.during_call();
    return {"gfx1030:xnack-",       "fake",        state_.runtime_version,
            state_.runtime_version, state_.direct, state_.in_process};
  }
  bool read(void* destination, uint64_t address, size_t size_bytes) override {
    if (state_.during_call) state_.during_call();
    if (state_.readable) std::memcpy(destination, reinterpret_cast<void*>(address), size_bytes);
    return state_.readable;
  }
  std::unique_ptr<StreamRead> read_behind(void*, uint64_t address, size_t size_bytes,
                                          bool host_memory) override {
    if (!state_.reads_behind) return nullptr;
    auto read = std::make_unique<FakeStreamRead>();
    state_.under_way.push_back(
        read->arrival(host_memory ? address & ~(uint64_t{1} << 47) : address, size_bytes));
    return read;
  }
  bool synchronize(uint32_t timeout_ms) override {
    state_.waits.push_back(timeout_ms);
    if (const auto during = std::exchange(state_.during_wait, nullptr)) during();
    return state_.synchronizes;
  }
  StreamState stream_state(void*) override {
    if (state_.idle_after > 0 && --state_.idle_after == 0) state_.stream = StreamState::kIdle;
    return state_.stream;
  }
  bool capturing(void* stream) override { return state_.capturing.count(stream) != 0; }
  uint64_t device_address(void* host) override {
    return reinterpret_cast<uint64_t>(host) | uint64_t{1} << 47;
  }
  bool symbol(const void*, uint64_t* address, uint64_t* size_bytes) override {
    *address = reinterpret_cast<uint64_t>(state_.symbol);
    *size_bytes = 4;
    return state_.symbol != nullptr;
  }
  bool module_global(void*, const char* name, uint64_t* address, uint64_t* size_bytes) override {
    if (std::strcmp(name, "module_counter") != 0) return false;
    return symbol(nullptr, address, size_bytes);
  }
  bool library_global_on(format::DeviceNumber, void* library, const char* name, uint64_t* address,
                         uint64_t* size_bytes) override {
    return state_.library_variables && module_global(library, name, address, size_bytes);
  }
  size_t graph_nodes(void*, void** nodes, size_t capacity) override {
    if (state_.nodes.size() <= capacity) std::copy(state_.nodes.begin(), state_.nodes.end(), nodes);
    return state_.nodes.size();
  }

 private:
  FakeState& state_;
};

inline Handle handle(uintptr_t value) { return reinterpret_cast<Handle>(value); }

class RecorderTest : public ::testing::Test {
 protected:
  void SetUp() override { make({}); }

  void make(Options options) {
    options.output = path();
    options.status_folder = folder_.path().string();
    std::filesystem::remove(folder_.path() / "claim");
    recorder_ = std::make_unique<Recorder>(options, std::make_unique<FakeDevice>(state_));
  }
  std::string path() const { return (folder_.path() / "t.gfxg").string(); }

  std::shared_ptr<const Trace> finish() {
    recorder_->finish();
    auto trace = Trace::open(path());
    EXPECT_TRUE(trace) << (trace ? "" : trace.error().message);
    return trace ? *trace : nullptr;
  }

  template <typename T>
  static std::vector<T> actions(const Trace& trace) {
    std::vector<T> found;
    for (const format::Event& event : trace.events()) {
      if (const T* action = std::get_if<T>(&event.action)) found.push_back(*action);
    }
    return found;
  }

  void device_memory(void* memory, size_t bytes) {
    recorder_->buffers().allocated({format::AllocationKind::kDevice,
                                    reinterpret_cast<uint64_t>(memory), 0, bytes, 0, nullptr});
  }

  void copy(const void* destination, const void* source, size_t bytes,
            MemorySide destination_side = MemorySide::kUnknown) {
    Work work;
    RawCopy raw;
    raw.destination.address = reinterpret_cast<uint64_t>(destination);
    raw.source.address = reinterpret_cast<uint64_t>(source);
    raw.width_bytes = bytes;
    raw.destination_side = destination_side;
    work.raw = raw;
    work.call = "hipMemcpy";
    work.knows = Knows::STREAM;
    recorder_->work().prepare(work);
    std::memcpy(const_cast<void*>(destination), source, bytes);
    recorder_->commit(work);
  }

  void memset_work(void* destination, size_t count, Handle stream = nullptr) {
    Work work;
    RawMemset raw;
    raw.address = reinterpret_cast<uint64_t>(destination);
    raw.width_elements = count;
    raw.value = 7;
    work.raw = raw;
    work.stream = stream;
    work.call = "hipMemset";
    work.knows = Knows::STREAM;
    recorder_->work().prepare(work);
    recorder_->commit(work);
  }

  // As hipModuleLaunchKernel's hook; `during`: while the runtime launches it.
  bool launch_function(const LaunchCall& call, void* const* params, bool success = true,
                       const std::function<void()>& during = {}, void* const* extra = nullptr) {
    const LaunchRequest request{.call = call,
                                .shape = {},
                                .params = params,
                                .extra = extra,
                                .name = "hipModuleLaunchKernel"};
    return recorded_launch(*recorder_, request, [&] {
             if (during) during();
             return success ? 0 : 1;
           }) == 0;
  }

  // A kernel that is not recorded: it may write any memory.
  void kernel_outside() {
    recorder_->streams().call_begins();
    Work work;
    work.raw = RawLaunch{};
    work.call = "hipLaunchKernel";
    recorder_->work().prepare(work);
  }

  TemporaryFolder folder_;
  FakeState state_;
  HeldFindings held_;
  std::unique_ptr<Recorder> recorder_;
};

// Kernels, host functions and waits, about memory that host and device see.
class RecorderHostMemoryTest : public RecorderTest {
 protected:
  void SetUp() override {
    RecorderTest::SetUp();
    image_ = read_text(MODULE_FILE);
    begin();
  }
  void begin_anew(const Options& options) {
    recorder_.reset();
    std::filesystem::remove(path() + ".partial");
    make(options);
    begin();
  }
  void begin() {
    recorder_->code().module_loaded(this, image_.data());
    recorder_->code().function_found(handle(2), this, "module_increment");
    recorder_->streams().stream_created(handle(10), 1, 0);
    recorder_->streams().stream_created(handle(11), 1, 0);
    state_.stream = StreamState::kBusy;
  }

  RawLaunch raw_launch(void* address) {
    RawLaunch raw;
    raw.kernel =
        recorder_->launches().find_kernel(handle(2), false, "hipModuleLaunchKernel", held_);
    if (raw.kernel == nullptr) throw std::logic_error("no kernel");
    void* seen = reinterpret_cast<void*>(reinterpret_cast<uint64_t>(address) | uint64_t{1} << 47);
    int by = 3;
    void* params[] = {&seen, &by};
    raw.kernarg = kernarg_of(raw.kernel->kernel, params);
    return raw;
  }

  void prepare_launch(Work& work, void* address, Handle stream = handle(10)) {
    work.raw = raw_launch(address);
    work.stream = stream;
    work.call = "hipModuleLaunchKernel";
    recorder_->work().prepare(work);
  }
  // With what the kernel writes while its call is being recorded.
  void launch(void* address, Handle stream = handle(10)) {
    Work work;
    prepare_launch(work, address, stream);
    recorder_->commit(work);
  }

  void wait(Handle stream = handle(10)) {
    recorder_->streams().host_may_learn();
    if (during_wait_) during_wait_();
    recorder_->streams().synchronized(format::SynchronizeKind::kStream, stream,
                                      "hipStreamSynchronize");
  }

  // A host function that runs, with what it does.
  void host_function(const std::function<void()>& body, Handle stream = handle(10)) {
    std::shared_ptr<HostCall> wrapped =
        recorder_->host_runs().wrap_host_function(this, nullptr, false);
    Work work;
    work.raw = RawHostFunction{"hipLaunchHostFunc", wrapped};
    work.stream = stream;
    work.call = "hipLaunchHostFunc";
    recorder_->work().prepare(work);
    recorder_->commit(work);
    issued_ = wrapped;
    during_call_ = [this, wrapped, body] {
      const HostRuns::HostRun run = recorder_->host_runs().host_function_runs(*wrapped);
      body();
      recorder_->host_runs().host_function_ran(run);
    };
  }

  // Positions among the events.
  template <typename T>
  static std::vector<size_t> places(const Trace& trace) {
    std::vector<size_t> found;
    for (size_t i = 0; i < trace.events().size(); ++i) {
      if (std::holds_alternative<T>(trace.events()[i].action)) found.push_back(i);
    }
    return found;
  }

  std::string image_;
  alignas(4096) char host_[8192] = {};
  alignas(4096) char other_[4096] = {};
  std::function<void()> during_wait_;
  std::function<void()> during_call_;  // the host function runs
  std::shared_ptr<HostCall> issued_;   // the same
};

}  // namespace gfxgraph::recorder
