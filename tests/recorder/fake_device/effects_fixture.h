// For tests of what host functions of the program do to memory that the device reads or writes.
#pragma once

#include <cstring>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "tests/recorder/fake_device/recorder_fixture.h"

namespace gfxgraph::recorder {

class RecorderEffectsTest : public RecorderHostMemoryTest {
 protected:
  void SetUp() override {
    RecorderHostMemoryTest::SetUp();
    recorder_->graphs().graph_created(handle(30));
    device_memory(device_, sizeof(device_));
  }

  // A new recording, of a program on this version of HIP.
  void begin_on(int32_t version) {
    state_.runtime_version = version;
    std::filesystem::remove(path());
    SetUp();
  }
  void node(uintptr_t number, RawAction action, std::vector<Handle> after = {}) {
    recorder_->graphs().node_added(handle(30), handle(number), after.data(), after.size(),
                                   std::move(action), "add");
  }
  void kernel_node(uintptr_t number, void* address, std::vector<Handle> after = {}) {
    node(number, raw_launch(address), std::move(after));
  }
  void function_node(uintptr_t number, std::function<void()> body, std::vector<Handle> after = {}) {
    wrapped_ = recorder_->host_runs().wrap_host_function(this, nullptr, true);
    body_ = std::move(body);
    node(number, RawHostFunction{"hipGraphAddHostNode", wrapped_}, std::move(after));
  }
  void copy_node(uintptr_t number, const void* destination, MemorySide destination_side,
                 const void* source, MemorySide source_side, size_t bytes,
                 std::vector<Handle> after = {}) {
    RawCopy raw;
    raw.destination.address = reinterpret_cast<uint64_t>(destination);
    raw.destination_side = destination_side;
    raw.source.address = reinterpret_cast<uint64_t>(source);
    raw.source_side = source_side;
    raw.width_bytes = bytes;
    node(number, raw, std::move(after));
  }
  void async_copy(const void* destination, const void* source, size_t bytes, Knows knows) {
    Work work;
    RawCopy raw;
    raw.destination.address = reinterpret_cast<uint64_t>(destination);
    raw.source.address = reinterpret_cast<uint64_t>(source);
    raw.width_bytes = bytes;
    work.raw = raw;
    work.stream = handle(10);
    work.call = "hipMemcpyAsync";
    work.knows = knows;
    recorder_->work().prepare(work);
    recorder_->commit(work);
  }
  // The function runs while the launch is being issued, after copies_().
  void launch_graph(bool first = true) {
    if (first) recorder_->executables().instantiated(handle(40), handle(30));
    Work work;
    recorder_->work().prepare_graph_launch(handle(40), handle(10), work);
    if (copies_) copies_();
    if (wrapped_) {
      const HostRuns::HostRun run = recorder_->host_runs().host_function_runs(*wrapped_);
      body_();
      recorder_->host_runs().host_function_ran(run);
    }
    recorder_->commit(work);
  }

  std::shared_ptr<HostCall> wrapped_;
  std::function<void()> body_;
  std::function<void()> copies_;
  alignas(4096) char device_[4096] = {};
};

}  // namespace gfxgraph::recorder
