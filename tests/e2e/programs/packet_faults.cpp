// Mode packets when HSA fails: packet_faults TRACE, on the agent. Every call that can fail fails
// once; then the queue gets into an error while a run is on its way. Each time there must be an
// error and no wait without end, and afterwards other modes and new steps replay identically.
//
// packet_faults TRACE reset: the same where the device is reset while runs are in flight.
// packet_faults TRACE stream: the caller's stream is destroyed before the fence behind a run.
// packet_faults TRACE ring: copies through a staging ring that is small enough to be needed.
// packet_faults TRACE values: graph mode, which keeps arguments that change in memory of HSA
// (values.hip).
// packet_faults TRACE order|scopes: what packets say of their order, on an agent that reverses it
// where they allow it ($GFXGRAPH_PACKET_ORDER).
#include <dlfcn.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/process/device.h"
#include "format/read/reader.h"
#include "replayer/abi/hsa_library.h"
#include "replayer/step/step.h"
#include "replayer/step/step_check.h"
#include "tests/support/must.h"

namespace {

using namespace gfxgraph;            // NOLINT
using namespace gfxgraph::replayer;  // NOLINT

hsa_abi::Table real;
int calls = 0;
int fail_at = 0;        // 0: none
bool for_good = false;  // and all calls behind it
bool failed = false;
void* failed_call = nullptr;  // the function in front of it
bool deaf = false;            // doorbells are not heard: runs do not begin
hsa_abi::Queue* made_queue = nullptr;
uint64_t written = 0;  // packets, of that queue
uint16_t cleared = 0;  // bits of the headers of all packets of a run but its first and last
bool drops = false;    // streams lose their kernels
decltype(HipTable::hipModuleLaunchKernel) launch = nullptr;
hsa_abi::QueueCallback on_error = nullptr;
void* on_error_data = nullptr;

// A function in front of each row; those that return a status can fail.
template <typename Function, Function hsa_abi::Table::* row>
struct Front;
template <typename Value, typename... Arguments, Value (*hsa_abi::Table::*row)(Arguments...)>
struct Front<Value (*)(Arguments...), row> {
  static Value call(Arguments... arguments) {
    if constexpr (std::is_same_v<Value, hsa_abi::Status>) {
      if (++calls == fail_at || (for_good && fail_at != 0 && calls > fail_at)) {
        if (!failed) failed_call = reinterpret_cast<void*>(&call);
        failed = true;
        return hsa_abi::kErrorOutOfResources;
      }
    }
    return (real.*row)(arguments...);
  }
};

// The same for HIP's functions, where `hip_fails`.
HipTable real_hip;
bool hip_fails = false;
template <typename Function, Function HipTable::* row>
struct HipFront;
template <typename... Arguments, int (*HipTable::*row)(Arguments...)>
struct HipFront<int (*)(Arguments...), row> {
  static int call(Arguments... arguments) {
    if (hip_fails && (++calls == fail_at || (for_good && fail_at != 0 && calls > fail_at))) {
      failed = true;
      return 1;  // hipErrorInvalidValue
    }
    return (real_hip.*row)(arguments...);
  }
};

hsa_abi::Status create_queue(uint64_t agent, uint32_t size, uint32_t type,
                             hsa_abi::QueueCallback callback, void* data, uint32_t private_bytes,
                             uint32_t group_bytes, hsa_abi::Queue** queue) {
  on_error = callback;
  on_error_data = data;
  const hsa_abi::Status status =
      Front<decltype(real.hsa_queue_create), &hsa_abi::Table::hsa_queue_create>::call(
          agent, size, type, callback, data, private_bytes, group_bytes, queue);
  if (status == hsa_abi::kSuccess) made_queue = *queue;
  written = 0;
  return status;
}
// Comes before the header of the first packet: nothing of the run is looked at yet.
void store_write_index(const hsa_abi::Queue* queue, uint64_t value) {
  if (queue == made_queue) {
    auto* const ring = static_cast<hsa_abi::Packet*>(queue->base);
    for (uint64_t at = written + 1; cleared != 0 && at + 1 < value; ++at)
      ring[at & (queue->size - 1)].header &= static_cast<uint16_t>(~cleared);
    written = value;
  }
  real.hsa_queue_store_write_index_screlease(queue, value);
}
void store_signal(uint64_t signal, int64_t value) {
  if (!deaf) real.hsa_signal_store_screlease(signal, value);
}

hip::Error launch_unless_dropped(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                 unsigned block_x, unsigned block_y, unsigned block_z,
                                 unsigned lds_bytes, void* stream, void** parameters,
                                 void** extra) {
  if (drops) return hip::kSuccess;
  return launch(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, lds_bytes, stream,
                parameters, extra);
}

template <typename Function, Function HipTable::* row>
void* front(void* found) {
  if constexpr (requires { HipFront<Function, row>::call; }) {
    (void)found;
    return reinterpret_cast<void*>(&HipFront<Function, row>::call);
  }
  return found;
}

void* find(void* handle, const char* name) {
  void* const found = dlsym(handle, name);
  const std::string_view text(name);
  if (text == "hipModuleLaunchKernel") {
    launch = reinterpret_cast<decltype(launch)>(found);
    return reinterpret_cast<void*>(&launch_unless_dropped);
  }
#define GFXGRAPH_HIP_SYMBOL(requirement, result, row, arguments)         \
  if (found != nullptr && text == #row && std::is_same_v<result, int>) { \
    real_hip.row = reinterpret_cast<decltype(real_hip.row)>(found);      \
    return front<decltype(real_hip.row), &HipTable::row>(found);         \
  }
#include "replayer/abi/hip_symbols.inc"
#undef GFXGRAPH_HIP_SYMBOL
#define GFXGRAPH_HSA_SYMBOL(result, row, arguments)                                          \
  if (text == #row) {                                                                        \
    real.row = reinterpret_cast<decltype(real.row)>(found);                                  \
    if (text == "hsa_queue_create") return reinterpret_cast<void*>(&create_queue);           \
    if (text == "hsa_queue_store_write_index_screlease")                                     \
      return reinterpret_cast<void*>(&store_write_index);                                    \
    if (text == "hsa_signal_store_screlease") return reinterpret_cast<void*>(&store_signal); \
    return reinterpret_cast<void*>(&Front<decltype(real.row), &hsa_abi::Table::row>::call);  \
  }
#include "replayer/abi/hsa_symbols.inc"
#undef GFXGRAPH_HSA_SYMBOL
  return found;
}

void require(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error(what);
}
using testing::must;

class Test {
 public:
  explicit Test(const char* path)
      : library_(must(HipLibrary::load(0, &find))),
        program_(must(Program::build(must(format::Trace::open(path))))) {}

  void replays(Step& step, const std::string& what) {
    must(step.restore());
    must(step.run());
    must(step.wait());
    const VerifyReport report = must(StepCheck(step).verify());
    require(!report.differs() && report.identical_throughout(), what + ": differs");
  }

  std::unique_ptr<Step> step(const std::shared_ptr<Session>& session, Mode mode) {
    StepOptions options;
    options.mode = mode;
    return must(Step::prepare(session, program_, options));
  }

  // Each call that can fail does, once; then all from it on do, as where HSA is out of signals,
  // queues and memory. The latter, and batch mode afterwards, where a function fails for the first
  // time while a step is prepared or run: other calls of it fail in the same way. Returns how many
  // calls there were.
  int each_call_fails() {
    std::set<std::pair<void*, bool>> kinds;
    for (int n = 1;; ++n) {
      const auto [call, while_prepared] = call_fails(n, false);
      if (call == nullptr) return n - 1;
      if (kinds.insert({call, while_prepared}).second) call_fails(n, true);
    }
  }

  // Which function failed, if there was such a call, and whether that was while a step was
  // prepared.
  std::pair<void*, bool> call_fails(int n, bool stays) {
    auto session = must(Session::load(program_, library_, SessionOptions()));
    calls = 0;
    failed = false;
    failed_call = nullptr;
    for_good = stays;
    fail_at = n;
    StepOptions options;
    options.mode = Mode::kPackets;
    Result<std::unique_ptr<Step>> made = Step::prepare(session, program_, options);
    const bool while_prepared = failed;
    if (made) {
      replays(**made, "a step of which call " + std::to_string(n) + " failed");
      made->reset();
    } else {
      require(failed, "call " + std::to_string(n) + ": " + made.error().message);
      require(made.error().message.find("mode packets: ") != std::string::npos,
              "an error without the mode: " + made.error().message);
    }
    fail_at = 0;
    if (stays) replays(*step(session, Mode::kBatch), "batch behind call " + std::to_string(n));
    replays(*step(session, Mode::kPackets), "packets behind call " + std::to_string(n));
    return {failed_call, while_prepared};
  }

  // Each call that can fail does, once or from then on. Then arguments stay in the graph's nodes.
  int values_change() {
    fail_at = 0;
    const std::vector<std::byte> expected = changed(Mode::kBatch, library_);
    for (int n = 1;; ++n) {
      for (const bool stays : {false, true}) {
        const auto library = must(HipLibrary::load(0, &find));  // it has not made its trial
        calls = 0;
        failed = false;
        for_good = stays;
        fail_at = n;
        const std::vector<std::byte> got = changed(Mode::kGraph, library);
        fail_at = 0;
        require(got == expected, "graph: differs behind call " + std::to_string(n));
        if (!failed) return n - 1;
      }
    }
  }

  // The same for calls of HIP after the step is loaded: an error, or the right bytes; and the next
  // step is right.
  int values_change_without_hip() {
    fail_at = 0;
    const std::vector<std::byte> expected = changed(Mode::kBatch, library_);
    for (int n = 1;; ++n) {
      const auto library = must(HipLibrary::load(0, &find));  // it has not made its trial
      std::string error;
      failed = false;
      try {
        require(changed(Mode::kGraph, library, n) == expected, "differs");
      } catch (const std::runtime_error& thrown) {
        error = thrown.what();
      }
      hip_fails = false;
      fail_at = 0;
      require(error.empty() || (failed && error != "differs"),
              "graph: call " + std::to_string(n) + " of HIP: " + error);
      require(changed(Mode::kGraph, library) == expected,
              "the step after call " + std::to_string(n));
      if (!failed) return n - 1;
    }
  }

  // What 20 runs with other values leave in the first buffer. `failing`: which call of HIP fails.
  std::vector<std::byte> changed(Mode mode, const std::shared_ptr<const HipLibrary>& library,
                                 int failing = 0) {
    LoadOptions options;
    options.mode = mode;
    const auto step = must(Step::load(program_, library, options));
    if (failing != 0) {
      calls = 0;
      for_good = false;
      fail_at = failing;
      hip_fails = true;
    }
    for (uint32_t run = 0; run < 20; ++run) {
      must(step->values().set_kernarg(0, sizeof(uint64_t), std::as_bytes(std::span(&run, 1))));
      must(step->run());
      must(step->wait());
    }
    std::vector<std::byte> bytes(program_->allocations()[0].extent_bytes);
    must(step->instance().memory().read(1, 0, bytes));
    return bytes;
  }

  // `begins`: the packets are complete when the error comes; else they never begin.
  void queue_fails(bool begins) {
    auto session = must(Session::load(program_, library_, SessionOptions()));
    auto one = step(session, Mode::kPackets);
    replays(*one, "before the error");
    deaf = !begins;
    // The agent's queue looks at its ring a while before it sleeps until the doorbell.
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    must(one->run());
    std::thread later([] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      on_error(hsa_abi::kErrorOutOfResources, nullptr, on_error_data);
    });
    const Result<void> waited = one->wait();
    later.join();
    if (!begins) require(!waited, "a run that did not end was waited for without an error");
    const Result<void> again = one->run();
    require(!again && again.error().message.find("error of the queue") != std::string::npos,
            "a queue in error took a run");
    one.reset();
    deaf = false;
    for (const Mode mode : {Mode::kPackets, Mode::kGraph, Mode::kBatch})
      replays(*step(session, mode), std::string("after the error, in mode ") + mode_name(mode));
  }

  // Runs that begin when session and step are let go of.
  void held_up_when_gone() {
    auto session = must(Session::load(program_, library_, SessionOptions()));
    auto one = step(session, Mode::kPackets);
    replays(*one, "before it is held up");
    hsa_abi::Queue* const queue = made_queue;
    deaf = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    for (int run = 0; run < 3; ++run) must(one->run());
    require(!must(one->is_complete()), "the runs were not held up");
    std::thread later([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      real.hsa_signal_store_screlease(queue->doorbell, static_cast<int64_t>(written - 1));
    });
    session.reset();
    one.reset();
    deaf = false;
    later.join();
    session = must(Session::load(program_, library_, SessionOptions()));
    for (const Mode mode : {Mode::kPackets, Mode::kBatch})
      replays(*step(session, mode), std::string("after it was let go, in mode ") + mode_name(mode));
  }

  // HIP performs a stream's work before it destroys it, so the run ends. Where the fence before the
  // run is lost, the run is released, and its wait returns an error.
  void stream_is_destroyed(bool fence_is_lost) {
    const HipTable& hip = library_->table();
    auto session = must(Session::load(program_, library_, SessionOptions()));
    auto one = step(session, Mode::kPackets);
    hip::Stream stream = nullptr;
    require(hip.hipStreamCreateWithFlags(&stream, hip::kStreamNonBlocking) == hip::kSuccess,
            "no stream");
    one->set_stream(stream);
    replays(*one, "on a stream of the caller");
    must(one->restore());
    (fence_is_lost ? drops : deaf) = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    must(one->run());
    drops = false;
    std::thread later([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      real.hsa_signal_store_screlease(made_queue->doorbell, static_cast<int64_t>(written - 1));
    });
    require(hip.hipStreamDestroy(stream) == hip::kSuccess, "the stream was not destroyed");
    const Result<void> waited = one->wait();
    later.join();
    deaf = false;
    require(fence_is_lost == !waited, waited ? "the lost fence was not missed"
                                             : "a destroyed stream: " + waited.error().message);
    one->set_stream(one->own_stream().value());
    for (int run = 0; run < 2; ++run) replays(*one, "after its stream was destroyed");
    for (const Mode mode : {Mode::kBatch, Mode::kGraph})
      replays(*step(session, mode), std::string("after that, in mode ") + mode_name(mode));
  }

  // Nothing that the session holds is there any more: errors or none, but an end.
  void device_is_reset(Mode mode) {
    const auto reset = reinterpret_cast<hip::Error (*)()>(
        dlsym(dlopen(library_->path().c_str(), RTLD_NOW | RTLD_NOLOAD), "hipDeviceReset"));
    require(reset != nullptr, "no hipDeviceReset");
    auto session = must(Session::load(program_, library_, SessionOptions()));
    auto one = step(session, mode);
    for (int run = 0; run < 3; ++run) must(one->run());
    const hip::Error code = reset();
    const Result<void> waited = one->wait();
    std::printf("%s: hipDeviceReset %d, wait: %s\n", mode_name(mode), code,
                waited ? "no error" : waited.error().message.c_str());
    one.reset();
    session.reset();
    session = must(Session::load(program_, library_, SessionOptions()));
    for (const Mode again : {Mode::kBatch, Mode::kPackets})
      replays(*step(session, again), std::string("after a reset, in mode ") + mode_name(again));
  }

  // Nobody waits: the destructors do.
  void gone_in_flight() {
    for (int round = 0; round < 3; ++round) {
      auto session = must(Session::load(program_, library_, SessionOptions()));
      auto one = step(session, Mode::kPackets);
      for (int run = 0; run < 3; ++run) must(one->run());
      session.reset();
      one.reset();
    }
  }

  // Copies from and to plain memory for which there is no place of their own.
  void through_the_ring() {
    SessionOptions options;
    options.staging_bytes = 4096;
    auto session = must(Session::load(program_, library_, options));
    auto one = step(session, Mode::kPackets);
    size_t streamed = 0;
    for (uint32_t i = 0; i < program_->operations().size(); ++i)
      streamed += one->instance().operation(i).streamed ? 1 : 0;
    require(streamed != 0, "no copy goes through the ring");
    for (int run = 0; run < 3; ++run) replays(*one, "through the ring");
    const Result<void> unfenced = one->run_unfenced();
    require(!unfenced && unfenced.error().message.find("staging ring") != std::string::npos,
            "a run without fences copied through the ring");
    replays(*one, "after a refused run");
  }

  // With all barrier bits the reversed order changes nothing, without them it must.
  void in_order() {
    auto session = must(Session::load(program_, library_, SessionOptions()));
    auto one = step(session, Mode::kPackets);
    for (int run = 0; run < 3; ++run) replays(*one, "with barrier bits");
    cleared = hsa_abi::kBarrierBit;
    must(one->restore());
    must(one->run());
    must(one->wait());
    require(must(StepCheck(*one).verify()).differs(), "identical without barrier bits");
    cleared = 0;
    replays(*one, "with barrier bits again");
  }

  // Ends with the agent's fault.
  void without_scopes() {
    auto session = must(Session::load(program_, library_, SessionOptions()));
    auto one = step(session, Mode::kPackets);
    replays(*one, "with scopes");
    cleared = hsa_abi::kReleaseAgent | hsa_abi::kReleaseSystem;
    must(one->run());
    (void)one->wait();
  }

 private:
  std::shared_ptr<const HipLibrary> library_;
  std::shared_ptr<const Program> program_;
};

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc > 2 ? argv[2] : "";
  const std::set<std::string_view> known = {"",       "order", "scopes", "reset",
                                            "stream", "ring",  "values"};
  if (argc < 2 || !known.contains(what)) return 2;
  try {
    if (what == "order" || what == "scopes") setenv("GFXGRAPH_PACKET_ORDER", "reversed", 1);
    const auto agent = must(private_library("libhsa-runtime64.so.1"));
    require(dlopen(agent.c_str(), RTLD_NOW | RTLD_GLOBAL) != nullptr, "no agent");
    Test test(argv[1]);
    if (what == "ring") test.through_the_ring();
    if (what == "order") test.in_order();
    if (what == "reset") test.device_is_reset(argc > 3 ? Mode::kBatch : Mode::kPackets);
    if (what == "scopes") test.without_scopes();
    if (what == "values") {
      const int count = test.values_change();
      require(count > 20, "only " + std::to_string(count) + " calls");
      const int hip_calls = test.values_change_without_hip();
      require(hip_calls > 60, "only " + std::to_string(hip_calls) + " calls of HIP");
    }
    if (what == "stream") test.stream_is_destroyed(false);
    if (what == "stream") test.stream_is_destroyed(true);
    if (!what.empty()) {
      std::printf("packet_faults: PASS\n");
      return 0;
    }
    const int count = test.each_call_fails();
    require(count > 30, "only " + std::to_string(count) + " calls");
    test.queue_fails(true);
    test.queue_fails(false);
    test.gone_in_flight();
    test.held_up_when_gone();
    std::printf("packet_faults: PASS, %d calls\n", count);
  } catch (const std::exception& error) {
    std::printf("%s\n", error.what());
    return 1;
  }
  return 0;
}
