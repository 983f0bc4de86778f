// What a hook hands over of one call that gives the device work.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "format/trace.h"
#include "recorder/events/flights.h"
#include "recorder/issuing.h"
#include "recorder/knows.h"
#include "recorder/objects/code_registry.h"
#include "recorder/objects/graph_model.h"
#include "recorder/objects/raw_actions.h"
#include "recorder/queue/findings.h"
#include "recorder/sites/call_sites.h"

namespace gfxgraph::recorder {

class HostRuns;

// The source of a copy that host functions may write.
struct CopySource {
  std::vector<uint64_t> runs;          // pinned memory that these may fill
  format::AllocationId in_flight = 0;  // pinned memory beside functions: the copy carries its bytes
  // Before the call: the runtime reads it before work under way writes it.
  std::optional<format::Content> before;
};

// One piece of device work between prepare() and commit().
struct Work {
  Work() = default;
  ~Work();
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  RawAction raw;
  Handle stream = nullptr;
  Knows knows = Knows::NOTHING;  // of its call
  // Filled by prepare(), unless the work becomes a graph node.
  std::optional<format::Action> action;
  // The host knows when the call returns that the work is done. Not where there is none to do: no
  // runtime waits then.
  bool host_waits = false;
  bool told = false;  // and the event that commit() appended says so
  // Host functions that the work will run: they may run before its call returns.
  HostRuns* issuing = nullptr;
  uint64_t first_run = 0;
  uint32_t runs = 0;
  std::vector<std::shared_ptr<HostCall>> host_calls;
  bool appended = false;  // because one of them ran
  bool captured = false;
  bool skip = false;                     // nothing to commit: a finding said why
  std::set<format::AllocationId> given;  // that the arguments of its kernels point into
  std::vector<Flight> may_write;         // host-visible memory that its kernels may write
  std::vector<Flight> flights;           // host-visible memory that its copies and memsets write
  // Of a graph: the nodes of `flights`, and which of these each host function runs behind.
  std::vector<size_t> flight_nodes;
  std::vector<std::set<size_t>> told_flights;
  // Once they are in flight: the number of the first one, and `told_flights` by number.
  uint32_t first_own = UINT32_MAX;
  std::vector<std::set<uint32_t>> told_numbers;
  Issuing::Call issuing_call;       // while others must not look
  bool kernels_fly = false;         // may_write is in flight
  std::vector<Flight> over_values;  // what else it writes of memory that holds values of streams
  bool leads_outside = false;       // some argument of its kernels leads to no allocation
  bool leaves_memory = false;       // its copy or memset does not fit the memory that it names
  bool in_graph = false;
  bool calls_host = false;                   // a graph with host functions
  CopySource source;                         // of its copy
  std::vector<RawGraphMemory> graph_memory;  // that a graph allocates and frees, in its order
  // hipEvent_t that the work records at its end: those of a graph's event nodes.
  std::vector<Handle> records;
  const char* call = "";
  format::SiteId site = 0;  // of the call, from prepare()
  HeldFindings findings;
  // Work that the runtime executes at once even in a stream that is being captured (HIP 5.2:
  // hipModuleLaunchKernel, hipStreamAddCallback).
  bool never_captured = false;
  bool more = false;  // of the same call: no checkpoint lies between them
};

// What has to be known of a launch before its call.
enum class LaunchWay : uint8_t {
  kAfter,  // nothing: all of it is found out afterwards
  kWords,  // its words, which lead to nothing that the program may write, and stand in its lane now
  kWhole,  // what it may read and write: prepare() and commit()
};

}  // namespace gfxgraph::recorder
