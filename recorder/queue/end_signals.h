// SIGINT, SIGTERM and SIGHUP end a recording as an exit does, where they would end the program.
//
// A signal with its default disposition kills a process at once, and nobody in it can act. So where
// the recorded program has the default disposition, a handler of the recorder stands in for it: it
// only leaves word, the recorder's own thread seals the trace, restores the default and sends the
// signal again, so that the program dies by it and its parent sees that. Meanwhile the program goes
// on for a moment. The program never sees the handler: hooks_signal.cpp answers SIG_DFL for it, and
// takes SIG_DFL for it. Handlers and signal masks of the program are left alone. (The alternatives
// change more: sigwait() and signalfd() need the signal blocked in every thread, and a tool between
// the terminal and the program needs a process group of its own.)
//
// All functions but watch_end_signals() are async-signal-safe.
#pragma once

#include <signal.h>

namespace gfxgraph::recorder {

using SignalHandler = void (*)(int);

// From now on; pending_end_signal() must be looked at regularly until unwatch_end_signals().
// `keep`: SIGUSR2 is looked at, too. It asks a flight recorder to keep what it has, where it would
// end the program; it goes on to do that, and nothing else, when nobody looks any more.
void watch_end_signals(bool keep) noexcept;
// Restores the defaults, but that of SIGUSR2.
void unwatch_end_signals() noexcept;
// In a forked child: all of them.
void forget_signals() noexcept;
// Whether SIGUSR2 came since take_keep() said so last.
bool keep_wanted() noexcept;
bool take_keep() noexcept;
// The signal that shall end the process; 0: none.
int pending_end_signal() noexcept;
// Ends the process by `signal`, with the default action.
[[noreturn]] void die_by(int signal) noexcept;

// What the program sets for `signal` and what is set in its place, and back: the handler of this
// file stands for SIG_DFL.
SignalHandler installed_handler(int signal, SignalHandler wanted) noexcept;
SignalHandler visible_handler(SignalHandler installed) noexcept;

// glibc's function of this name.
void* libc_function(const char* name) noexcept;

}  // namespace gfxgraph::recorder
