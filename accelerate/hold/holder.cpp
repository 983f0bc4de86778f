#include "accelerate/hold/holder.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <utility>

#include "base/hip_quirks.h"

constinit std::atomic<uint32_t> gfxgraph_accelerate_attention{0};
constinit std::atomic<uint8_t> gfxgraph_accelerate_resting{0};

namespace gfxgraph::accelerate {
namespace {

// Launches that are looked at for something that repeats, at first and for each sequence that is
// found; afterwards a program runs as without the holder for a while.
constexpr int64_t kFirstLook = 20'000;
constexpr int64_t kNextLook = 2'000;
constexpr size_t kMostSequences = 32;
// A sequence that was begun this often and whole in less than half of these is not worth it.
constexpr uint32_t kPatience = 32;
// A graph is measured against the calls again after this many submissions.
constexpr uint64_t kMeasuredAgain = 1u << 14;
constexpr size_t kMostForgotten = 64;       // that the report names
constexpr int kSeparateKernels = 60000000;  // from this version on kGraphKernelsMix is not seen

constexpr const char* kPhaseNames[] = {"watched", "tried", "graph", "calls"};

}  // namespace

Holder::Holder(Device& device, const Options& options) noexcept
    : device_(device),
      options_(options),
      finder_(options.shortest),
      left_(kFirstLook),
      graphs_(device),
      waits_of_one_thread_(hip_quirk_seen(HipQuirk::kWaitForgetsWork, options.runtime_version)) {}

// Nothing is thrown into a program.
template <typename Call>
void Holder::guarded(Call&& call) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    call();
  } catch (const std::bad_alloc&) {
    // What is held lies in memory that exists: it is submitted as it came.
    try {
      end_match();
    } catch (const std::bad_alloc&) {
    }
    state_ = State::kOff;
    try {
      counted_.stopped = "no memory";
    } catch (const std::bad_alloc&) {
    }
    finder_.forget();
  }
  settle();
}

void Holder::settle() noexcept {
  const bool active = match_.active() || finder_.running();
  if (!match_.active() || !match_.held) since_ns_.store(0);
  gfxgraph_accelerate_attention.store(active ? 1 : 0, std::memory_order_release);
  gfxgraph_accelerate_resting.store(on() ? 0 : 1, std::memory_order_relaxed);
  waits_.store(last_ != nullptr || error_.load() != 0 || graphs_.wants_waits(),
               std::memory_order_relaxed);
}

// ---- launches -----------------------------------------------------------------------------------

Offer Holder::offer(const Launch& launch, uint64_t thread) noexcept {
  Offer offer;
  guarded([&] {
    if (state_ != State::kOn) return;
    ++counted_.launches;
    last_ = nullptr;
    if (is_memory_work(launch.form) ? !launches_alone(thread) : !only_thread(thread))
      return end_all();
    if (captures_ != 0) return;
    if (match_.active()) {
      if (match(launch, thread, offer)) return;
      end_match();
      if (state_ != State::kOn) return;
    }
    if (begin(launch, thread, offer)) return;
    if (left_ <= 0) {
      end_run();
      return rest();
    }
    if (finder_.running() && (run_thread_ != thread || finder_.stream() != launch.stream))
      end_run();
    offer.noted = true;
  });
  return offer;
}

bool Holder::match(const Launch& launch, uint64_t thread, Offer& offer) {
  if (match_.thread != thread || match_.no_more) return false;
  const auto goes_on = [&](const Sequence* s) {
    return s->launches.goes_on(match_.position, launch);
  };
  std::vector<Sequence*>& candidates = match_.candidates;
  if (std::ranges::none_of(candidates, goes_on)) return false;
  std::erase_if(candidates, [&](const Sequence* s) { return !goes_on(s); });
  take_values(launch);
  match_.any = candidates.front();
  ++match_.position;
  const auto is_whole = [&](const Sequence* s) { return s->launches.size() == match_.position; };
  const auto whole = std::ranges::find_if(candidates, is_whole);
  if (whole != candidates.end()) {
    match_.whole = *whole;
    match_.whole_at = match_.position;
    // Several: arguments may change at other places of each.
    std::erase_if(candidates, is_whole);
  }
  offer.held = match_.held;
  offer.noted = !match_.held;
  // While a longer one may still come, the shorter one waits for it.
  if (match_.held && candidates.empty()) end_match();
  return true;
}

bool Holder::begin(const Launch& launch, uint64_t thread, Offer& offer) {
  const auto begins = [&](const auto& s) { return s->active() && s->launches.goes_on(0, launch); };
  if (std::ranges::none_of(sequences_, begins)) return false;
  end_run();  // which may add sequences
  // Those that are watched go first: as calls, which no other candidate can be then.
  const bool watched = std::ranges::any_of(
      sequences_, [&](const auto& s) { return begins(s) && s->phase == Phase::kWatched; });
  // Some runtimes forget the last error when a launch succeeds: such a launch is made.
  if (!watched && device_.last_error() != 0) return false;
  match_.candidates.clear();
  for (const auto& s : sequences_) {
    if (!begins(s) || (s->phase == Phase::kWatched) != watched) continue;
    match_.candidates.push_back(s.get());
  }
  match_.any = match_.candidates.front();
  match_.whole = nullptr;
  match_.position = 0;
  match_.held = !watched;
  take_values(launch);
  match_.position = 1;
  match_.thread = thread;
  match_.no_more = false;
  match_.began_ns = device_.now_ns();
  if (match_.held) {
    since_ns_.store(match_.began_ns);
    device_.watch(match_.began_ns);
  }
  offer.held = match_.held;
  offer.noted = !match_.held;
  return true;
}

// What is held has these values; a graph gets them when the sequence is whole.
void Holder::take_values(const Launch& launch) noexcept {
  if (!match_.held) return;
  for (Sequence* const s : match_.candidates) {
    if (s->launches[match_.position].changes) s->launches.set(match_.position, launch);
  }
}

void Holder::returned(const Launch& launch, uint64_t thread, int error) noexcept {
  guarded([&] {
    if (state_ != State::kOn) return;
    if (match_.active()) {
      if (match_.held || match_.thread != thread) return;
      if (error == 0 && match_.whole != nullptr && match_.whole_at == match_.position)
        match_.whole_ns = device_.now_ns();
      if (error != 0 || match_.candidates.empty()) end_match();
      return;
    }
    if (error != 0 || left_ <= 0) return end_run();
    if (finder_.running() && (run_thread_ != thread || finder_.stream() != launch.stream))
      end_run();
    const Layout* layout = nullptr;
    if (!is_packed(launch.form)) {
      layout = device_.layout(launch);
      if (layout == nullptr || (launch.params == nullptr && !layout->places.empty())) {
        ++counted_.not_held["the arguments of its kernel are not known"];
        return end_run();
      }
    }
    if (is_memory_work(launch.form)) {
      if (const char* const why = device_.refuses(launch); why != nullptr) {
        ++counted_.not_held[why];
        return end_run();
      }
    }
    run_thread_ = thread;
    --left_;
    if (!finder_.add(launch, layout)) end_run();
  });
}

void Holder::unheld(const char* why, uint64_t thread) noexcept {
  uses_kernels(thread);
  guarded([&] {
    if (state_ != State::kOn) return;
    ++counted_.launches;
    ++counted_.not_held[why];
    last_ = nullptr;
    end_match();
    end_run();
  });
}

// ---- what is held goes out ----------------------------------------------------------------------

void Holder::end_match() {
  if (!match_.active()) return;
  const Match match = std::exchange(match_, {});
  since_ns_.store(0);
  Sequence* const whole = match.whole;
  const size_t done = whole != nullptr ? match.whole_at : 0;
  bool as_graph = true;
  if (match.held) {
    counted_.held += match.position;
    (whole != nullptr ? whole : match.any)->held += match.position;
    if (whole != nullptr) as_graph = submit_graph(*whole);
    // Of the launches behind the whole one, and of one that is not whole: `any` has all of them.
    if (done < match.position) submit_calls(match.any->launches, done, match.position);
  }
  if (whole == nullptr) {
    Sequence& early = *match.any;
    if (match.held) ++early.early;
    ++early.begun;
    return count(early);
  }
  ++whole->begun;
  if (!as_graph) return count(*whole);
  ++whole->whole;
  if (done != match.position || state_ != State::kOn) return;
  if (match.held) {
    finish(*whole, true, match.began_ns, device_.now_ns());
  } else if (match.whole_ns != 0) {
    finish(*whole, false, match.began_ns, match.whole_ns);
  }
}

bool Holder::submit_graph(Sequence& sequence) {
  const uint64_t before = device_.now_ns();
  Submission submission = graphs_.submit(sequence.launches, sequence.graphs);
  if (submission.kind != Submission::Kind::kGraph) {
    submit_calls(sequence.launches, 0, sequence.launches.size());
    if (submission.kind == Submission::Kind::kFailed) {
      retire(sequence, std::move(submission.reason));
    } else {
      ++sequence.busy;
      ++sequence.behind;
      // One more, for the next time; without it those that there are do.
      if (sequence.graphs.size() < Graphs::kMostOfOne && !graphs_.full() &&
          device_.last_error() == 0)
        (void)graphs_.add(sequence.launches, sequence.graphs);
    }
    return false;
  }
  const double us = static_cast<double>(device_.now_ns() - before) / 1000.0;
  ++sequence.submits;
  ++counted_.submits;
  sequence.updates += submission.updates;
  counted_.updates += submission.updates;
  sequence.submit_us += us;
  counted_.submit_us += us;
  return true;
}

void Holder::submit_calls(const Launches& launches, size_t from, size_t to) {
  int first = 0;
  for (size_t i = from; i < to; ++i) {
    const int error = device_.submit(launches, i);
    if (first == 0) first = error;
  }
  counted_.one_by_one += to - from;
  if (first == 0) return;
  int none = 0;
  error_.compare_exchange_strong(none, first);
  stop_locked(fmt::format(
      "a launch that had returned failed with error {}, which a later call returns", first));
  if (options_.tell != nullptr) options_.tell(counted_.stopped);
}

// The sequence ran as a whole: as a graph, or as the program's calls.
void Holder::finish(Sequence& sequence, bool graph, uint64_t began_ns, uint64_t ended_ns) {
  last_ = &sequence;
  last_graph_ = graph;
  last_began_ns_ = began_ns;
  if (sequence.phase == Phase::kWatched && !graph) {
    sequence.calls.host.add(ended_ns - began_ns);
    if (sequence.calls.host.full()) try_graph(sequence);
  } else if (sequence.phase == Phase::kTried && graph) {
    // One run later, so that the wait behind the last one counts.
    if (sequence.graph.host.full()) return decide(sequence);
    sequence.graph.host.add(ended_ns - began_ns);
  } else if (sequence.phase == Phase::kGraph && options_.way == WayAsked::kMeasured &&
             sequence.submits % kMeasuredAgain == 0) {
    sequence.calls.clear();
    sequence.graph.clear();
    sequence.enter(Phase::kWatched);
    sequence.reason = "being measured again";
  }
}

void Holder::thread_waits(uint64_t thread) noexcept {
  guarded([&] {
    if (thread != launching_thread_) graphs_.ignore_waits();
  });
}

uint64_t Holder::submissions() noexcept {
  const std::lock_guard lock(mutex_);
  return graphs_.ticket();
}

void Holder::waited(WaitFor what, void* stream, uint64_t submissions) noexcept {
  if (!wants_waits()) return;
  guarded([&] {
    if (what != WaitFor::kOther) graphs_.waited(stream, what == WaitFor::kDevice, submissions);
    Sequence* const sequence = std::exchange(last_, nullptr);
    if (sequence == nullptr) return;
    const Phase measured = last_graph_ ? Phase::kTried : Phase::kWatched;
    // The eighth run as calls is watched no more.
    if (sequence->phase != measured) return;
    (last_graph_ ? sequence->graph : sequence->calls).end.add(device_.now_ns() - last_began_ns_);
  });
}

// ---- sequences ----------------------------------------------------------------------------------

void Holder::end_run() {
  if (!finder_.running()) return;
  std::optional<Launches> found = finder_.end();
  if (found) add_sequence(std::move(*found));
}

void Holder::add_sequence(Launches launches) {
  // Again what was not worth it, or a part of it; after one that ended early a shorter one may be.
  const auto known = [&](const auto& s) {
    if (s->refused) return false;
    const size_t size = s->launches.size();
    const size_t least = std::min(launches.size(), size);
    if (s->active() && launches.size() != size) return false;
    if (s->ended_early && launches.size() < size) return false;
    for (size_t from = 0; from + least <= size; ++from) {
      size_t same = 0;
      while (same < least && s->launches.covers(from + same, launches, same)) ++same;
      if (same == least) return true;
    }
    return false;
  };
  if (std::ranges::any_of(sequences_, known)) return;
  if (sequences_.size() >= kMostSequences) {
    ++counted_.not_held[fmt::format("more than {} sequences", kMostSequences)];
    return;
  }
  auto made = std::make_unique<Sequence>();
  made->number = ++numbers_;
  made->launches = std::move(launches);
  made->reason = "being measured";
  left_ += kNextLook;
  sequences_.push_back(std::move(made));
  Sequence& sequence = *sequences_.back();
  tell(sequence);
  if (options_.way == WayAsked::kCalls) retire(sequence, "as asked");
  if (options_.way == WayAsked::kGraph) try_graph(sequence);
}

void Holder::try_graph(Sequence& sequence) {
  // What is made would take the program's error away on some runtimes: the next time, then.
  if (device_.last_error() != 0) return;
  if (sequence.graphs.empty()) {
    if (sequence.launches.changing() != 0) {
      if (const char* const why = device_.refuses_updates(); why != nullptr) {
        sequence.refused = true;
        finder_.only_equal();
        return retire(sequence, why);
      }
    }
    graphs_.destroy_done();
    if (graphs_.full())
      return retire(sequence, fmt::format("there are {} graphs at this time", Graphs::kMost));
    if (std::string other = device_.other_ways(); !other.empty()) {
      retire(sequence, other);
      return stop_locked(std::move(other));
    }
    const Result<void> made = graphs_.add(sequence.launches, sequence.graphs);
    if (!made) return retire(sequence, made.error().message);
  }
  const bool asked = options_.way == WayAsked::kGraph;
  sequence.enter(asked ? Phase::kGraph : Phase::kTried);
  if (asked) sequence.reason = "as asked";
  tell(sequence);
}

void Holder::decide(Sequence& sequence) {
  Choice choice = choose(sequence);
  if (!choice.graph) return retire(sequence, std::move(choice.reason));
  sequence.reason = std::move(choice.reason);
  sequence.enter(Phase::kGraph);
  left_ += kFirstLook / 4;
  tell(sequence);
}

// A sequence that mostly ends early costs more than it saves.
void Holder::count(Sequence& sequence) {
  if (options_.way != WayAsked::kMeasured || !sequence.active()) return;
  if (sequence.begun < kPatience || sequence.whole * 2 >= sequence.begun) return;
  sequence.ended_early = true;
  const bool late = sequence.overdue * 2 > sequence.early;
  if (sequence.behind * 2 > sequence.begun - sequence.whole)
    return retire(sequence,
                  fmt::format("the device is behind: {} graphs still ran in {} of {} times",
                              sequence.graphs.size(), sequence.behind, sequence.begun));
  retire(sequence,
         fmt::format("{} in {} of {} times", late ? "not whole within the bound" : "ended early",
                     sequence.begun - sequence.whole, sequence.begun));
}

void Holder::retire(Sequence& sequence, std::string reason) {
  sequence.reason = std::move(reason);
  sequence.enter(Phase::kCalls);
  graphs_.give_up(sequence.graphs, captures_ == 0);
  tell(sequence);
}

void Holder::tell(const Sequence& sequence) {
  if (!options_.debug || options_.tell == nullptr) return;
  options_.tell(fmt::format("sequence {} of {} launches: {}: {}", sequence.number,
                            sequence.launches.size(),
                            kPhaseNames[static_cast<size_t>(sequence.phase)], sequence.reason));
}

// ---- what happens otherwise ---------------------------------------------------------------------

void Holder::before() noexcept {
  if (gfxgraph_accelerate_attention.load(std::memory_order_acquire) == 0) return;
  guarded([&] { end_all(); });
}

void Holder::end_all() {
  end_match();
  end_run();
}

// Where nothing is worth holding a program runs as without the holder, for a while.
void Holder::rest() {
  if (std::ranges::any_of(sequences_, [](const auto& s) { return s->active(); })) return;
  finder_.forget();
  state_ = State::kIdle;
  // A thread that launches meanwhile would not be seen.
  if (options_.runtime_version < kSeparateKernels)
    stop_locked(sequences_.empty() ? "nothing repeated" : "nothing that repeated was worth it");
}

void Holder::overdue(uint64_t since_ns) noexcept {
  guarded([&] {
    if (since_ns_.load() != since_ns || !match_.active()) return;
    ++match_.any->overdue;
    end_match();
  });
}

void Holder::forget(const char* why, bool reset) noexcept {
  if (off()) return;
  guarded([&] {
    end_match();
    last_ = nullptr;
    finder_.forget();
    for (auto& s : sequences_) {
      graphs_.give_up(s->graphs, captures_ == 0);
      if (s->held == 0 || forgotten_.size() == kMostForgotten) continue;
      s->reason += fmt::format("; forgotten: {}", why);
      forgotten_.push_back(std::move(s));
    }
    sequences_.clear();
    graphs_.forget_streams();
    if (reset) graphs_.abandon();
  });
}

void Holder::stop(std::string why) noexcept {
  if (off()) return;
  guarded([&] { stop_locked(std::move(why)); });
}

void Holder::stop_locked(std::string why) {
  if (state_ == State::kOff) return;
  state_ = State::kOff;
  counted_.stopped = std::move(why);
  end_match();
  finder_.forget();
  last_ = nullptr;
  if (options_.debug && options_.tell != nullptr)
    options_.tell("nothing is held any more: " + counted_.stopped);
}

void Holder::uses_kernels(uint64_t thread) noexcept {
  before();
  if (off() || options_.runtime_version >= kSeparateKernels) return;
  guarded([&] { (void)only_thread(thread); });
}

// HIP 5 mixes up kernels of several threads with graphs, but no copies and fills: those of another
// thread are made, and nothing more.
bool Holder::launches_alone(uint64_t thread) const noexcept {
  return options_.runtime_version >= kSeparateKernels || launching_thread_ == thread;
}

bool Holder::only_thread(uint64_t thread) {
  if (options_.runtime_version >= kSeparateKernels) return true;
  if (launching_thread_ == 0) launching_thread_ = thread;
  if (launching_thread_ == thread) return true;
  stop_locked("several threads launch kernels, which HIP 5 mixes up with graphs");
  return false;
}

void Holder::failed(uint64_t thread) noexcept {
  guarded([&] {
    if (match_.active() && match_.thread == thread) match_.no_more = true;
  });
}

void Holder::capturing(bool begins) noexcept {
  guarded([&] {
    end_match();
    end_run();
    if (begins) {
      ++captures_;
    } else if (captures_ != 0) {
      --captures_;
    }
  });
}

void Holder::before_fork() noexcept {
  before();
  mutex_.lock();
}

void Holder::after_fork(bool child) noexcept {
  if (child) state_ = State::kOff;
  settle();
  mutex_.unlock();
}

void Holder::look_again() noexcept {
  guarded([&] {
    if (state_ != State::kIdle) return;
    state_ = State::kOn;
    left_ = kNextLook;
  });
}

Report Holder::report() {
  const std::lock_guard lock(mutex_);
  Report report = counted_;
  report.graphs_made = graphs_.made();
  report.graphs_destroyed = graphs_.destroyed();
  const auto add = [&](const Sequence& s) {
    const KeptLaunch& first = s.launches[0];
    report.sequences.push_back({.number = s.number,
                                .launches = s.launches.size(),
                                .first_kernel = first.layout != nullptr ? first.layout->kernel : "",
                                .phase = s.phase,
                                .changing = s.launches.changing(),
                                .held = s.held,
                                .submits = s.submits,
                                .updates = s.updates,
                                .early = s.early,
                                .overdue = s.overdue,
                                .busy = s.busy,
                                .submit_us = s.submit_us,
                                .calls_us = s.calls.host.median(),
                                .graph_us = s.graph.host.median(),
                                .reason = s.reason});
  };
  for (const auto& s : forgotten_) add(*s);
  for (const auto& s : sequences_) add(*s);
  return report;
}

}  // namespace gfxgraph::accelerate
