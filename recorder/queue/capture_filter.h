// Which events belong to a step that the program captures of itself: the work of one of its
// threads, and what other threads give to streams that joined it, as in HIP's stream capture. The
// order's lock guards it, but for begin().
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "format/trace.h"

namespace gfxgraph::recorder {

class CaptureFilter {
 public:
  // A capture begins on a stream, by a thread.
  void begin(format::StreamId stream, uint32_t thread);
  // Work belongs to it between the markers of these ranges.
  void add(format::RangeId range) { ranges_.insert(range); }
  void end() noexcept { on_ = false; }
  bool on() const noexcept { return on_; }

  // In their order. What is not about work is kept: others refer to it.
  bool keeps(const format::Event& event);
  void see(const format::Graph& graph);
  // A dependency on work that the capture does not have; empty: none.
  const std::string& missing() const noexcept { return missing_; }
  uint64_t launches() const noexcept { return launches_; }

 private:
  bool mine(format::StreamId stream);
  bool keep(const format::Marker& marker);
  bool keep(const format::EventRecord& record);
  bool keep(const format::StreamWait& wait);
  bool keep(const format::Synchronize& synchronize);
  bool keep(const format::HostFunction& function);
  bool keep(const format::GraphLaunch& launch);
  template <typename Other>
  bool keep(const Other& other);

  bool on_ = false;
  uint32_t thread_ = 0;
  uint32_t by_ = 0;    // the thread of the event that is looked at
  bool open_ = false;  // in one of the ranges
  std::set<format::RangeId> ranges_;
  std::set<format::StreamId> streams_;
  std::set<format::EventId> recorded_;  // by its streams
  std::set<format::EventId> elsewhere_;
  std::set<format::HostFunctionId> functions_;
  std::map<format::GraphId, uint32_t> graph_functions_;
  std::string missing_;
  uint64_t launches_ = 0;
};

}  // namespace gfxgraph::recorder
