// Wraps every method that a hook calls: the lock of the recorder's model, and the latch of its
// first error. Nothing throws out of it, and after an error nothing is recorded.
#pragma once

#include <atomic>
#include <exception>
#include <mutex>
#include <utility>

#include "recorder/issuing.h"
#include "recorder/lock_order.h"
#include "recorder/no_cancel.h"
#include "recorder/recording_error.h"

namespace gfxgraph::recorder {

// Locks data that is mostly held for less time than a sleep and wake-up take.
inline std::unique_lock<ModelMutex> lock_soon(ModelMutex& mutex) {
  constexpr int kTurns = 100;  // a few microseconds
  if constexpr (kLocksAreChecked) HeldRanks::may_enter(LockRank::kModel);
  std::unique_lock lock(mutex, std::try_to_lock);
  for (int turn = 0; !lock && turn < kTurns; ++turn) {
    __builtin_ia32_pause();
    (void)lock.try_lock();
  }
  if (!lock) lock.lock();
  return lock;
}

class Guard {
 public:
  // Opens the recording, and maintains what is derived from the model.
  class Owner {
   public:
    // Called before the lock is taken: may call the runtime.
    virtual void ready() = 0;
    // Called with the lock, before and after a method.
    virtual void enter() = 0;
    virtual void leave() = 0;
    // The first error, once.
    virtual void failed(const Error& error) noexcept = 0;

   protected:
    ~Owner() = default;
  };

  explicit Guard(Owner& owner) noexcept : owner_(owner) {}
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  // Whether anything is still recorded. Any thread.
  bool active() const noexcept { return active_.load(std::memory_order_acquire); }
  // True: it was.
  bool stop() noexcept { return active_.exchange(false); }
  ModelMutex& mutex() noexcept { return mutex_; }
  Issuing& issuing() noexcept { return issuing_; }

  // Without the lock.
  template <typename F>
  void unlocked(F&& function) noexcept {
    if (!active()) return;
    const NoCancel own;
    quick(std::forward<F>(function));
  }

  // Without the lock, and for what reaches no point at which a thread can be cancelled: no system
  // call, and no wait but for a mutex.
  template <typename F>
  void quick(F&& function) noexcept {
    if (!active()) return;
    try {
      std::forward<F>(function)();
    } catch (const RecordingError& caught) {
      fail(caught.error);
    } catch (const std::exception& caught) {
      fail(Error{Status::kInternal, caught.what()});
    } catch (...) {
      fail(Error{Status::kInternal, "unknown exception in the recorder"});
    }
  }

  // With the lock, when the recording is open.
  template <typename F>
  void locked(F&& function) noexcept {
    unlocked([&] {
      owner_.ready();
      if (!active()) return;
      std::unique_lock lock = lock_soon(mutex_);
      issuing_.wait(lock);
      owner_.enter();
      std::forward<F>(function)();
      owner_.leave();
    });
  }

  // With the lock, if a method is not called through locked(): updates derived state.
  void changed() { owner_.leave(); }

 private:
  void fail(const Error& error) noexcept {
    // Only the first: later errors are consequences.
    if (stop()) owner_.failed(error);
  }

  Owner& owner_;
  std::atomic<bool> active_{true};
  ModelMutex mutex_;
  Issuing issuing_{mutex_};
};

}  // namespace gfxgraph::recorder
