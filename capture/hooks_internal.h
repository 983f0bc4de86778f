// Shared code of the layer's hooks. The only header here that exposes HIP's types.
#pragma once

#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_AMD__ 1
#endif
#include <hip/hip_runtime_api.h>
// HIP 6 makes a macro of it; newer standard libraries write [[__gnu__::__noinline__]].
#undef __noinline__

#include <new>
#include <string>
#include <utility>

#include "capture/calls.h"
#include "capture/captures.h"

#define GFXGRAPH_CAPTURE_HOOK extern "C" __attribute__((visibility("default")))

namespace gfxgraph::capture {

// The process's captures; they live until it ends, because hooks do.
extern constinit std::atomic<Captures*> made_captures;
Captures& make_captures() noexcept;
inline Captures& captures() noexcept {
  Captures* const made = made_captures.load(std::memory_order_acquire);
  return made != nullptr ? *made : make_captures();
}

// The runtime's functions call each other through the dynamic linker: calls that this thread makes
// inside of the layer are the runtime's own business.
extern constinit thread_local int inside;
class Inside {
 public:
  Inside() noexcept { ++inside; }
  ~Inside() { --inside; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
};

// A child of fork() has no HIP, none of the other threads, and perhaps locks that they held: there
// the layer takes none, and captures nothing.
extern constinit bool is_child_of_fork;
// Before the first lock.
void watch_forks() noexcept;

// What most calls look at, and go on.
inline bool capturing() noexcept {
  const Captures* const made = made_captures.load(std::memory_order_acquire);
  return made != nullptr && made->any() && inside == 0;
}
inline bool capturing_or_events() noexcept {
  const Captures* const made = made_captures.load(std::memory_order_acquire);
  return made != nullptr && (made->any() || made->any_event()) && inside == 0;
}

// The runtime's function of the row, called with exactly these argument types.
template <typename... Args>
hipError_t real(int index, Args... args) {
  void* const function = real_function(index);
  if (function == nullptr) return hipErrorNotSupported;
  return reinterpret_cast<hipError_t (*)(Args...)>(function)(args...);
}
// hipStreamLegacy is the null stream; hipStreamPerThread the calling thread's own.
Stream key_of(hipStream_t stream) noexcept;
// Of entry points whose null stream is the calling thread's.
Stream per_thread_key_of(hipStream_t stream) noexcept;
uint64_t this_thread() noexcept;
// As hipRuntimeGetVersion counts; 0: unknown.
int runtime_version();

// What the layer answers instead of the runtime: the next hipGetLastError() tells it, too. An error
// is told to the user, once for each call and error.
hipError_t answered(int index, Answer answer, const char* why = nullptr);
hipError_t answered(int index, hipError_t error, const char* why = nullptr);

// ---- told.cpp: lines on stderr

// Once for each call and error. `why`: instead of what is always to be done about the error.
void tell(int index, hipError_t error, const char* why);
// A capture that ended with a graph.
void tell_end(uint64_t id, size_t nodes);

// ---- kept_order.cpp: empty nodes where the runtime would not keep the order of a graph
// (base/hip_quirks.inc)

// For a node that is to follow all of `after`, which become others:
//   - one root for all where this runtime may begin several too early. It is the capture's first
//     node, or an empty one if streams forked before there was any;
//   - one node for several where it may lose their edges.
hipError_t keep_order(Captures::Work& work, Nodes& after, bool is_child);
// Of a graph that becomes a child: a copy with one root, and with one end where this runtime might
// not wait for several. Null: the graph can stay as it is.
hipError_t copy_in_order(hipGraph_t child, hipGraph_t& copy);

// The nodes that one call becomes. Functions add a node behind what the stream's next work follows;
// `chain`: behind the call's own last node.
class Builder {
 public:
  explicit Builder(Captures::Work& work)
      : work_(work),
        graph_(static_cast<hipGraph_t>(work.graph())),
        after_(work.after().begin(), work.after().end()) {}

  hipGraph_t graph() const noexcept { return graph_; }
  // Not null: HIP 5.2.3 refuses a copy from a symbol without a list, though it is to follow
  // nothing.
  const hipGraphNode_t* after() const noexcept {
    static constexpr hipGraphNode_t kNothing = nullptr;
    return after_.empty() ? &kNothing : reinterpret_cast<const hipGraphNode_t*>(after_.data());
  }
  size_t after_count() const noexcept { return after_.size(); }
  // `add`(node, graph, after, count) calls the runtime.
  template <typename Add>
  hipError_t add(Add&& add, bool is_child = false) {
    hipGraphNode_t node = nullptr;
    const Inside here;
    hipError_t result = keep_order(work_, after_, is_child);
    if (result == hipSuccess) result = add(&node, graph_, after(), after_.size());
    if (result != hipSuccess) return result;
    made_.push_back(node);
    if (work_.root() == nullptr) work_.begins_with(node);
    return result;
  }
  // The next nodes follow what was made so far.
  void chain() {
    if (!made_.empty()) after_ = std::exchange(made_, {});
  }
  const Nodes& made() const noexcept { return made_.empty() ? after_ : made_; }

  hipError_t kernel(void* function, dim3 grid, dim3 block, unsigned shared_bytes, void** params,
                    void** extra);
  hipError_t copy(void* destination, const void* source, size_t bytes, hipMemcpyKind kind);
  hipError_t copy(const hipMemcpy3DParms& params);
  // `rows` of `width` elements, `pitch` bytes apart.
  hipError_t set(void* destination, unsigned value, unsigned element_bytes, size_t width,
                 size_t rows, size_t pitch);

  // No node can be made of it, and why.
  hipError_t refuse(std::string why) {
    why_ = std::move(why);
    return hipErrorStreamCaptureUnsupported;
  }
  const std::string& why() const noexcept { return why_; }

 private:
  Captures::Work& work_;
  hipGraph_t graph_;
  Nodes after_;
  Nodes made_;
  std::string why_;
};

// Nothing is thrown into a program. (pthread_cancel's unwinding passes.)
template <typename Call>
hipError_t without_throwing(int index, Call&& call) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return answered(index, hipErrorOutOfMemory, "no memory of the host");
  }
}

// Work that is not done() ends its capture.
class Unfinished {
 public:
  explicit Unfinished(Captures::Work& work) noexcept : work_(&work) {}
  ~Unfinished() {
    if (work_ != nullptr) work_->failed();
  }
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;
  void done() noexcept { work_ = nullptr; }

 private:
  Captures::Work* work_;
};

// A call that gives work to `stream`: becomes nodes by build(Builder&) in a capture, else `pass`()
// gives it to the runtime.
template <typename Build, typename Pass>
hipError_t work(int index, Stream stream, Build&& build, Pass&& pass) {
  if (!capturing()) [[likely]]
    return pass();
  {
    Captures::Work work = captures().work_on(stream);
    if (work.refused() != Answer::kSuccess) return answered(index, work.refused());
    if (work.captured()) {
      // Also if the thread is cancelled inside of the runtime: nothing would follow the node.
      Unfinished unfinished(work);
      const hipError_t result = without_throwing(index, [&] {
        Builder builder(work);
        const hipError_t built = build(builder);
        if (built != hipSuccess) {
          return answered(
              index, built,
              builder.why().empty() ? "the runtime refuses the node" : builder.why().c_str());
        }
        work.made(builder.made());
        return built;
      });
      if (result == hipSuccess) unfinished.done();
      return result;
    }
  }
  return pass();
}

}  // namespace gfxgraph::capture
