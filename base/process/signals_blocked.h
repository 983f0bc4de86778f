// While it lives, the calling thread gets no signal. A thread that is started meanwhile never gets
// any: signals belong to the program, whose handlers must not run on a thread of gfxgraph's.
#pragma once

#include <pthread.h>
#include <signal.h>

namespace gfxgraph {

class SignalsBlocked {
 public:
  SignalsBlocked() noexcept {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace gfxgraph
