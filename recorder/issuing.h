// Calls that give the device kernels which may write memory of the host, or copies out of what such
// a kernel may be writing. Between the look before such a call and the one after it, nobody else's
// look can tell what a kernel wrote that the trace does not have yet, and what it finds half
// written must not get between the copy's bytes and the copy: other threads' looks wait for the
// call to end.
#pragma once

#include <pthread.h>

#include <chrono>
#include <cstdint>
#include <mutex>
#include <utility>

#include "recorder/lock_order.h"

namespace gfxgraph::recorder {

// The mutex of all methods is the recorder's; those that say so are called with it.
class Issuing {
 public:
  // Longer calls are not waited for: the program may end one from another thread.
  static constexpr std::chrono::milliseconds kLongest{100};

  // One call, until it is known what it did.
  class Call {
   public:
    Call() = default;
    Call(Call&& other) noexcept : issuing_(std::exchange(other.issuing_, nullptr)) {}
    Call& operator=(Call&& other) noexcept {
      std::swap(issuing_, other.issuing_);
      return *this;
    }
    // Without the mutex, if the call failed and end() was not called.
    ~Call() {
      if (issuing_ == nullptr) return;
      const std::lock_guard lock(issuing_->mutex_);
      issuing_->end();
    }
    // With the mutex.
    void end() noexcept {
      if (issuing_ != nullptr) std::exchange(issuing_, nullptr)->end();
    }

   private:
    friend class Issuing;
    explicit Call(Issuing* issuing) noexcept : issuing_(issuing) {}
    Issuing* issuing_ = nullptr;
  };

  explicit Issuing(ModelMutex& mutex) noexcept : mutex_(mutex) {}

  // With the mutex, and after wait(). One thread may begin several.
  Call begin() noexcept {
    if (calls_ == 0) {
      thread_ = pthread_self();
      long_ = false;
    }
    ++calls_;
    return Call(this);
  }
  // With `lock` on the mutex, which it may let go meanwhile: until no other thread is in such a
  // call, or it takes too long.
  void wait(std::unique_lock<ModelMutex>& lock) {
    if (calls_ == 0 || long_ || pthread_equal(thread_, pthread_self())) [[likely]]
      return;
    const auto end = std::chrono::steady_clock::now() + kLongest;
    if (!ended_.wait_until(lock, end, [this] { return calls_ == 0 || long_; })) long_ = true;
  }
  // With the mutex. Whether another thread is in a call that nobody waits for any more.
  bool long_one() const noexcept {
    return calls_ != 0 && long_ && !pthread_equal(thread_, pthread_self());
  }

 private:
  void end() noexcept {
    if (--calls_ != 0) return;
    long_ = false;
    ended_.notify_all();
  }

  ModelMutex& mutex_;
  Condition ended_;
  pthread_t thread_ = {};
  uint32_t calls_ = 0;
  bool long_ = false;
};

}  // namespace gfxgraph::recorder
