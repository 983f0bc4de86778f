// Arguments of a graph's launches in memory of the library, for launches whose values change often:
// the graph launches entry code (entry_code.h) with the address of that memory, and a change is a
// store instead of a call of the runtime.
//
// Arguments that a run in flight may still read stay as they are: the change goes to another place,
// and the node must get its address.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "replayer/code/hidden_arguments.h"
#include "replayer/memory/rotation.h"
#include "replayer/packets/packet_device.h"

namespace gfxgraph::replayer {

class Instance;

// Not thread-safe. No run is in flight when it is destroyed.
class GraphArguments {
 public:
  // Null: there is no way to the code of kernels on this runtime (packet_device.h). `runs` are
  // those that read the arguments.
  static std::unique_ptr<GraphArguments> open(Instance& instance, RunsInFlight& runs);
  ~GraphArguments();
  GraphArguments(const GraphArguments&) = delete;
  GraphArguments& operator=(const GraphArguments&) = delete;

  // Gives a launch its own memory; the graph with it must be built again. False: it keeps its
  // arguments in the node, because the kernel, the runtime or the memory does not allow it. Calls
  // HIP; the first call for a runtime makes a trial (graph_updates.h).
  bool take(uint32_t launch) noexcept;
  bool has(uint32_t launch) const { return taken_.contains(launch); }
  // What its node gets.
  hip::Function function(uint32_t launch) const { return taken_.at(launch).function; }
  void** extra(uint32_t launch) { return taken_.at(launch).extra.data(); }

  enum class Written : uint8_t { kInPlace, kElsewhere };
  // Writes the launch's arguments as the instance has them. kElsewhere: extra() has changed.
  Result<Written> write(uint32_t launch);

 private:
  struct Taken {
    hip::Function function = nullptr;
    uint32_t bytes = 0;
    std::vector<HiddenField> hidden;
    Rotation<std::byte*> places;
    // What the runtime reads when a node is added or set.
    uint64_t address = 0;
    size_t address_bytes = sizeof(uint64_t);
    std::array<void*, 5> extra{};
  };
  // Entry code of a kernel, or why it has none (function is null).
  struct Entry {
    std::vector<std::byte> elf;  // HIP reads it as long as the module lives
    hip::Module module = nullptr;
    hip::Function function = nullptr;
    uint32_t kernarg_bytes = 0;
    std::vector<HiddenField> hidden;
  };

  GraphArguments(Instance& instance, RunsInFlight& runs, std::shared_ptr<PacketDevice> device);
  Result<void> load_entry(Entry& entry, format::KernelId kernel);
  Result<void> allocate(Taken& taken);
  void fill(const Taken& taken, uint32_t launch) const;

  Instance& instance_;
  RunsInFlight& runs_;
  std::shared_ptr<PacketDevice> device_;
  PacketCode code_;  // of this step alone: steps prepare and change on several threads
  std::map<format::KernelId, Entry> entries_;
  std::unordered_map<uint32_t, Taken> taken_;  // by launch
  std::vector<std::byte*> memory_;
  bool works_ = false;  // a trial has shown it
  bool tried_ = false;
};

}  // namespace gfxgraph::replayer
