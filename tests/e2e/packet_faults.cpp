// Mode packets when HSA fails: packet_faults TRACE, on the agent. Every call that can fail fails
// once; then the queue gets into an error while a run is on its way. Each time there must be an
// error and no wait without end, and afterwards other modes and new steps replay identically.
#include <dlfcn.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

#include "base/device.h"
#include "format/reader.h"
#include "replayer/hsa_library.h"
#include "replayer/step.h"

namespace {

using namespace gfxgraph;            // NOLINT
using namespace gfxgraph::replayer;  // NOLINT

hsa_abi::Table real;
int calls = 0;
int fail_at = 0;  // 0: none
bool failed = false;
bool deaf = false;  // doorbells are not heard: runs do not begin
hsa_abi::QueueCallback on_error = nullptr;
void* on_error_data = nullptr;

// A function in front of each row; those that return a status can fail.
template <typename Function, Function hsa_abi::Table::* row>
struct Front;
template <typename Value, typename... Arguments, Value (*hsa_abi::Table::*row)(Arguments...)>
struct Front<Value (*)(Arguments...), row> {
  static Value call(Arguments... arguments) {
    if constexpr (std::is_same_v<Value, hsa_abi::Status>) {
      if (++calls == fail_at) {
        failed = true;
        return hsa_abi::kErrorOutOfResources;
      }
    }
    return (real.*row)(arguments...);
  }
};

hsa_abi::Status create_queue(uint64_t agent, uint32_t size, uint32_t type,
                             hsa_abi::QueueCallback callback, void* data, uint32_t private_bytes,
                             uint32_t group_bytes, hsa_abi::Queue** queue) {
  on_error = callback;
  on_error_data = data;
  return Front<decltype(real.hsa_queue_create), &hsa_abi::Table::hsa_queue_create>::call(
      agent, size, type, callback, data, private_bytes, group_bytes, queue);
}
void store_signal(uint64_t signal, int64_t value) {
  if (!deaf) real.hsa_signal_store_screlease(signal, value);
}

void* find(void* handle, const char* name) {
  void* const found = dlsym(handle, name);
  const std::string_view text(name);
#define GFXGRAPH_HSA_SYMBOL(result, row, arguments)                                          \
  if (text == #row) {                                                                        \
    real.row = reinterpret_cast<decltype(real.row)>(found);                                  \
    if (text == "hsa_queue_create") return reinterpret_cast<void*>(&create_queue);           \
    if (text == "hsa_signal_store_screlease") return reinterpret_cast<void*>(&store_signal); \
    return reinterpret_cast<void*>(&Front<decltype(real.row), &hsa_abi::Table::row>::call);  \
  }
#include "replayer/hsa_symbols.inc"
#undef GFXGRAPH_HSA_SYMBOL
  return found;
}

void require(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error(what);
}
template <typename Value>
Value must(Result<Value> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(*result);
}
void must(const Result<void>& result) {
  if (!result) throw std::runtime_error(result.error().message);
}

class Test {
 public:
  explicit Test(const char* path)
      : library_(must(HipLibrary::load(0, &find))),
        program_(must(Program::build(must(format::Trace::open(path))))) {}

  void replays(Step& step, const std::string& what) {
    must(step.restore());
    must(step.run());
    must(step.wait());
    const VerifyReport report = must(step.verify());
    require(!report.differs() && report.identical_throughout(), what + ": differs");
  }

  std::unique_ptr<Step> step(const std::shared_ptr<Session>& session, Mode mode) {
    StepOptions options;
    options.mode = mode;
    return must(Step::prepare(session, program_, options));
  }

  // How many calls there were, one of which failed each time.
  int each_call_fails() {
    for (int n = 1;; ++n) {
      auto session = must(Session::load(program_, library_, SessionOptions()));
      calls = 0;
      failed = false;
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
      replays(*step(session, Mode::kBatch), "batch behind call " + std::to_string(n));
      if (!while_prepared) {
        replays(*step(session, Mode::kPackets), "packets behind call " + std::to_string(n));
        if (!failed) return n - 1;
      }
    }
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

 private:
  std::shared_ptr<const HipLibrary> library_;
  std::shared_ptr<const Program> program_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    const auto agent = must(private_library("libhsa-runtime64.so.1"));
    require(dlopen(agent.c_str(), RTLD_NOW | RTLD_GLOBAL) != nullptr, "no agent");
    Test test(argv[1]);
    const int count = test.each_call_fails();
    require(count > 30, "only " + std::to_string(count) + " calls");
    test.queue_fails(true);
    test.queue_fails(false);
    test.gone_in_flight();
    std::printf("packet_faults: PASS, %d calls\n", count);
  } catch (const std::exception& error) {
    std::printf("%s\n", error.what());
    return 1;
  }
  return 0;
}
