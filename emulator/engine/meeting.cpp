#include "emulator/engine/meeting.h"

namespace gfxgraph::emulator {

void Meeting::join(const Attendance& mine) {
  all_.groups.insert(all_.groups.end(), mine.groups.begin(), mine.groups.end());
  all_.may_start_more = all_.may_start_more || mine.may_start_more;
  ++present_;
}

void Meeting::attend(const Attendance& mine) {
  std::unique_lock lock(mutex_);
  if (!called_.load()) return;
  join(mine);
  changed_.notify_all();
  changed_.wait(lock, [&, number = number_] { return number_ != number; });
}

void Meeting::hold(const Attendance& mine, const std::atomic<uint32_t>& workers,
                   const std::function<void(const Attendance& all)>& judge) {
  {
    std::unique_lock lock(mutex_);
    if (called_.load()) {
      lock.unlock();
      return attend(mine);
    }
    all_ = Attendance();
    present_ = 0;
    // A worker that comes now sees this before it starts anything, or is counted below.
    called_.store(true);
  }
  // Also when there is no memory for the rest: others wait.
  struct Over {
    Meeting& meeting;
    ~Over() {
      const std::scoped_lock lock(meeting.mutex_);
      meeting.called_.store(false);
      ++meeting.number_;
      meeting.changed_.notify_all();
    }
  } const over{*this};
  Attendance all;
  {
    std::unique_lock lock(mutex_);
    join(mine);
    changed_.wait(lock, [&] { return present_ >= workers.load(); });
    all = all_;  // who comes still has nothing to bring
  }
  judge(all);
}

void Meeting::note_departure() {
  const std::scoped_lock lock(mutex_);
  changed_.notify_all();
}

}  // namespace gfxgraph::emulator
