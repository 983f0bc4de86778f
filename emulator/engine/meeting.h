// A meeting of the workers of one dispatch: all of them wait while one looks at all workgroups.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

namespace gfxgraph::emulator {

struct ResidentGroup;

// What a worker brings to a meeting.
struct Attendance {
  std::vector<ResidentGroup*> groups;
  bool may_start_more = false;  // workgroups that have not started, now
};

// Thread-safe.
class Meeting {
 public:
  // A worker asks before it starts workgroups or runs waves; true: it is to attend().
  bool called() const noexcept { return called_.load(); }
  // Waits until the meeting is over.
  void attend(const Attendance& mine);
  // Calls a meeting, waits until as many attend as `workers` says, and calls `judge` with what all
  // bring. When another one is on, attends that.
  void hold(const Attendance& mine, const std::atomic<uint32_t>& workers,
            const std::function<void(const Attendance& all)>& judge);
  // After the number of workers has become smaller.
  void note_departure();

 private:
  void join(const Attendance& mine);

  std::atomic<bool> called_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t number_ = 0;  // of meetings that are over
  uint32_t present_ = 0;
  Attendance all_;
};

}  // namespace gfxgraph::emulator
