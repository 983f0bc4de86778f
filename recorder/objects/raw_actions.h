// Device work as the program requested it, with raw addresses: graph nodes store it until a launch
// determines the allocations at these addresses.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "format/trace.h"
#include "recorder/launch_shape.h"

namespace gfxgraph::recorder {

struct KernelEntry;

struct RawLaunch {
  KernelEntry* kernel = nullptr;
  LaunchShape shape;
  std::vector<uint8_t> kernarg;
  // For a graph's node: the targets of its words when the program passed them.
  std::shared_ptr<const std::vector<format::Relocation>> words = {};
};

struct RawCopyEnd {
  uint64_t address = 0;
  uint64_t pitch_bytes = 0;  // 0: linear
  uint64_t slice_bytes = 0;
  // Memory that is copied to or from an array: the pointer that the call got, before the position
  // was added; else 0.
  uint64_t pointer = 0;
  uint64_t rows_bytes = 0;  // the part of the position's offset that is rows and slices
};

// The kind that the call states for an end; kUnknown: look it up in the allocation map.
enum class MemorySide : uint8_t { kUnknown, kHost, kDevice };

// Which of the calls that make copy nodes describes a copy. HIP has a class of nodes for each.
enum class CopyForm : uint8_t { kUnknown, kLinear, kBox, kDriverBox, kFromSymbol, kToSymbol };

struct RawCopy {
  RawCopyEnd destination;
  RawCopyEnd source;
  uint64_t width_bytes = 0;
  uint64_t height = 1;
  uint64_t depth = 1;
  MemorySide destination_side = MemorySide::kUnknown;
  MemorySide source_side = MemorySide::kUnknown;
  // A copy from or to a variable: the device that was current when the copy was made. The runtime
  // uses the variable of the device that is current when it copies.
  std::optional<format::DeviceNumber> variable_of = {};
  CopyForm form = CopyForm::kUnknown;
};

struct RawMemset {
  uint64_t address = 0;
  uint64_t pitch_bytes = 0;
  uint64_t slice_bytes = 0;
  uint32_t element_bytes = 1;
  uint32_t value = 0;
  uint64_t width_elements = 0;
  uint64_t height = 1;
  uint64_t depth = 1;
};

// A value that the runtime stores in stream order (hipStreamWriteValue32, 64).
struct RawWrite {
  uint64_t address = 0;
  uint32_t size_bytes = 4;  // or 8
  uint64_t value = 0;
};

// A function of the program that the runtime calls: the runtime gets this instead, through a
// function of the recorder that calls the program's own. A graph's node calls it once per launch.
struct HostCall {
  void* function = nullptr;
  void* data = nullptr;
  // Its calls that are still to come, in order of issue; guarded by HostRuns' lock.
  struct Run {
    uint64_t token = 0;                // the recorder's own number of the run
    const void* executable = nullptr;  // the graph that it is a node of
    bool told = false;
  };
  std::vector<Run> runs;
  // A graph's node: it may run as long as any graph made from it lives, so it is never freed.
  bool in_graph = false;
};

struct RawHostFunction {
  const char* call = "";  // lives for ever
  std::shared_ptr<HostCall> wrapped = nullptr;
};

// Event nodes of graphs: an empty node in the trace, and a record or wait in the stream that the
// graph is launched into.
struct RawEventRecord {
  const void* event = nullptr;  // hipEvent_t
};
struct RawEventWait {
  const void* event = nullptr;
};

// Nodes that allocate and free memory of graphs (Allocation::of_graph): in the trace an empty node.
struct RawGraphMemory {
  uint64_t address = 0;
  bool frees = false;
};

// One of a list of values that are written and waited for in turn.
struct RawListedValue {
  enum class Kind : uint8_t { kWrite, kWait, kOther };
  Kind kind = Kind::kOther;
  uint64_t address = 0;
  uint32_t size_bytes = 4;  // or 8
  uint64_t value = 0;
  uint32_t condition = 0;  // kWait: hipStreamWaitValueGte, ...
};

// A node with such a list.
struct RawValueList {
  std::vector<RawListedValue> given;  // as it was when the call described the node
  // The program's list, which the runtime may read when the node is launched
  // (HipQuirk::kNodeListReadAtLaunch), in the form of its structure; `parse` translates it.
  uint64_t address = 0;
  uint64_t size_bytes = 0;
  std::vector<RawListedValue> (*parse)(std::span<const std::byte>) = nullptr;
};

using RawAction =
    std::variant<std::monostate, RawLaunch, RawCopy, RawMemset, RawWrite, RawHostFunction,
                 RawEventRecord, RawEventWait, RawGraphMemory, RawValueList>;

}  // namespace gfxgraph::recorder
