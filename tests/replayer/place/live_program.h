// The recorded process of a test, which goes on: its memory and its code, as the recorder hands
// them over to sessions in place.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>

#include "base/live/objects.h"
#include "fake_hip.h"
#include "test_trace.h"

namespace gfxgraph::replayer::testing {

class LiveProgram {
 public:
  enum class By { kFunctions, kStubs };

  // The trace is finished, and keeps its memory. Each kernel runs as "program:NAME", so that one
  // that a session loads is another one.
  LiveProgram(FakeHip& fake, const TestTrace& trace, By by) {
    for (const auto& [name, id] : trace.kernels()) {
      const std::string own = "program:" + name;
      fake.kernels[own] = [this, run = fake.kernels.at(name)](const FakeLaunch& launch) {
        ++launches;
        run(launch);
      };
      if (by == By::kFunctions) {
        codes[id].function = fake.function(own);
        continue;
      }
      codes[id].stub = &names_.emplace(own, own).first->second;
      fake.stubs[codes[id].stub] = {own, {}};
    }
    for (const auto& [id, memory] : trace.memory()) {
      auto* const bytes = const_cast<uint8_t*>(memory.data());
      places[id] = {bytes, nullptr, nullptr, memory.size()};
    }
  }
  LiveProgram(const LiveProgram&) = delete;
  LiveProgram& operator=(const LiveProgram&) = delete;

  // Of a stub: where its arguments stand.
  void lay_out(FakeHip& fake, const format::Trace& trace) {
    for (const format::Kernel& kernel : trace.kernels()) {
      for (const format::Argument& argument : kernel.arguments) {
        fake.stubs.at(codes.at(kernel.id).stub)
            .arguments.emplace_back(argument.offset_bytes, argument.size_bytes);
      }
    }
  }

  void free(format::AllocationId id) {
    places.erase(id);
    uint32_t none = 0;
    gone.allocation.compare_exchange_strong(none, id);
  }
  void unload() {
    codes.clear();
    uint32_t none = 0;
    gone.code_object.compare_exchange_strong(none, 1);
  }

  live::Objects objects() {
    live::Objects result;
    result.self = this;
    result.gone = &gone;
    result.code = [](void* self, uint32_t kernel) {
      const auto& all = static_cast<LiveProgram*>(self)->codes;
      const auto found = all.find(kernel);
      return found == all.end() ? live::Code{} : found->second;
    };
    result.place = [](void* self, uint32_t allocation) {
      ++static_cast<LiveProgram*>(self)->asked;
      const auto& all = static_cast<LiveProgram*>(self)->places;
      const auto found = all.find(allocation);
      return found == all.end() ? live::Place{} : found->second;
    };
    result.release = [](void* self) { ++static_cast<LiveProgram*>(self)->released; };
    return result;
  }
  std::shared_ptr<const live::Objects> share() {
    return {new live::Objects(objects()), [](const live::Objects* owned) {
              owned->release(owned->self);
              delete owned;
            }};
  }

  std::map<uint32_t, live::Code> codes;
  std::map<uint32_t, live::Place> places;
  live::Gone gone;
  int launches = 0;
  std::atomic<int> asked = 0;  // for places, by any thread
  int released = 0;

 private:
  std::map<std::string, std::string> names_;  // stubs are their addresses
};

}  // namespace gfxgraph::replayer::testing
