// Whether a thread other than the main one may read the interpreter's memory in place. When it
// ends, the interpreter frees the states of other threads, and unmaps their frames, although they
// may be in a call that was made without its lock. So it is asked to say so before: by an object
// that the atexit module calls and then lets go of. From then on nobody reads in place, and the
// interpreter's thread waits for who does so just now, which is less than a microsecond.
#pragma once

#include <atomic>

namespace gfxgraph::recorder {

class PythonExit {
 public:
  // The process has an interpreter that is worth asking. Any lock may be held.
  static void want() noexcept { wanted_.store(true, std::memory_order_relaxed); }
  // Asks it, once, and returns before it has answered: it does so on its main thread, when that
  // executes Python code. With no lock of the recorder.
  static void ask_if_wanted() noexcept {
    if (wanted_.load(std::memory_order_relaxed)) [[unlikely]]
      ask();
  }

  // True: until leave() the memory of this thread's state, frames and code stays as it is.
  static bool enter() noexcept;
  static void leave() noexcept;

 private:
  static void ask() noexcept;
  static inline constinit std::atomic<bool> wanted_{false};
};

}  // namespace gfxgraph::recorder
