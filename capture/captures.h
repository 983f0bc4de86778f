// All stream captures of the process: which streams belong to which, what their next work follows,
// and what each call means for them. It answers as HIP and CUDA document, and knows neither's
// types: handles are addresses, nodes and graphs are made by who calls.
//
// Rules (HIP runtime API, "Stream Management" and "Graph Management"; CUDA runtime API, "Stream
// capture"):
// - Work of a capturing stream becomes a node of its capture's graph, behind the stream's last
//   nodes. A stream that waits for an event which was recorded in a capture joins that capture.
// - Work on the null stream, or a call that uses it, while a stream that the null stream waits for
//   is capturing: hipErrorStreamCaptureImplicit.
// - Calls that may wait for other work ("potentially unsafe") are refused by mode: to a thread with
//   a capture of its own that is not relaxed, and to each thread beside a global capture; not to a
//   thread that has made itself relaxed (hipThreadExchangeStreamCaptureMode).
// - What is refused invalidates the captures that refuse it. An invalid capture takes no work, and
//   ends with hipErrorStreamCaptureInvalidated; its streams are ordinary ones then.
//
// Thread-safe. While no capture is active a call costs one load.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

namespace gfxgraph::capture {

using Stream = const void*;  // nullptr: the legacy null stream
using Event = const void*;
using Graph = void*;
using Node = void*;

// hipStreamCaptureMode and hipStreamCaptureStatus: HIP's numbers.
enum class Mode : int { kGlobal = 0, kThreadLocal = 1, kRelaxed = 2 };
enum class Status : int { kNone = 0, kActive = 1, kInvalidated = 2 };

// hipError_t: HIP's numbers.
enum class Answer : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kIllegalState = 401,
  kUnsupported = 900,
  kInvalidated = 901,
  kMerge = 902,
  kUnmatched = 903,
  kUnjoined = 904,
  kIsolation = 905,
  kImplicit = 906,
  kCapturedEvent = 907,
  kWrongThread = 908,
};

using Nodes = std::vector<Node>;

// One capture, from its begin to its end. With the lock of Captures.
struct Capture {
  uint64_t id = 0;
  Graph graph = nullptr;
  bool graph_is_ours = true;  // of BeginCapture; false: the program gave it (BeginCaptureToGraph)
  Node root = nullptr;        // the first node that the graph got from here
  Mode mode = Mode::kGlobal;
  uint64_t thread = 0;  // that began it
  Stream origin = nullptr;
  bool valid = true;
  struct Member {
    bool blocking = false;  // the null stream waits for it
    Nodes after;            // what its next work follows
  };
  std::map<Stream, Member> streams;
};

class Captures {
 public:
  // `stream_is_blocking`: whether the null stream waits for the stream.
  explicit Captures(std::function<bool(Stream)> stream_is_blocking)
      : stream_is_blocking_(std::move(stream_is_blocking)) {}

  // Any thread; no lock. Whether a capture is active.
  bool any() const noexcept { return any_.load(std::memory_order_acquire); }
  // Whether there is an event, too, that was last recorded in a capture, perhaps an ended one.
  bool any_event() const noexcept { return any_event_.load(std::memory_order_acquire); }

  // ---- begin and end ----------------------------------------------------------------------------
  // `after`: nodes of a graph that the program gave.
  Answer begin(Stream stream, Mode mode, uint64_t thread, Graph graph, bool graph_is_ours,
               Nodes after);
  // Whether begin() would succeed: before a graph is made for it.
  Answer may_begin(Stream stream);
  struct Ended {
    Answer answer = Answer::kSuccess;
    bool over = false;      // the capture exists no more
    Graph graph = nullptr;  // over: its graph
    bool graph_is_ours = true;
    uint64_t id = 0;
  };
  // `has_dependents`: of a node of the graph, whoever added them.
  Ended end(Stream stream, uint64_t thread, const std::function<bool(Node)>& has_dependents);
  // The stream is destroyed: a capture that it belongs to is not valid any more, and one that began
  // on it is over. Returns the latter's graph if nobody else has it.
  Graph destroyed(Stream stream);
  // hipThreadExchangeStreamCaptureMode; of the calling thread.
  static Mode exchange_mode(Mode mode) noexcept;

  // ---- work -------------------------------------------------------------------------------------
  // While it lives, no other thread changes the captures. Make it, look at it, and make nodes.
  class Work {
   public:
    // kSuccess: captured() tells whether the work is to become a node. Otherwise the call answers
    // this.
    Answer refused() const noexcept { return refused_; }
    bool captured() const noexcept { return capture_ != nullptr; }
    Graph graph() const noexcept { return capture_->graph; }
    std::span<const Node> after() const noexcept { return member_->after; }
    // Whether the program has not given the graph, and the first node that it got from here.
    bool graph_is_ours() const noexcept { return capture_->graph_is_ours; }
    Node root() const noexcept { return capture_->root; }
    void begins_with(Node root) noexcept { capture_->root = root; }
    // Several streams belong to the capture.
    bool forked() const noexcept { return capture_->streams.size() > 1; }
    // The stream's next work follows these, which are the nodes of this work.
    void made(Nodes nodes) { member_->after = std::move(nodes); }
    // No node can be made of it: the capture is not valid any more.
    void failed() { capture_->valid = false; }

   private:
    friend Captures;
    explicit Work(Captures& all) : lock_(all.mutex_) {}
    std::unique_lock<std::mutex> lock_;
    Capture* capture_ = nullptr;
    Capture::Member* member_ = nullptr;
    Answer refused_ = Answer::kSuccess;
  };
  Work work_on(Stream stream);

  // ---- events -----------------------------------------------------------------------------------
  // True: it is recorded in a capture, and the runtime does not get the call.
  bool recorded(Event event, Stream stream, Answer& answer);
  bool waits(Stream stream, Event event, Answer& answer);
  // Of hipEventQuery, hipEventSynchronize and hipEventElapsedTime.
  Answer event_used(Event event);
  void event_destroyed(Event event);

  // ---- calls that are refused -------------------------------------------------------------------
  // A potentially unsafe call of the thread. `answer`: what it gets instead.
  Answer unsafe(uint64_t thread, Answer answer = Answer::kUnsupported);
  // A call that waits for all streams of the device.
  Answer waits_for_device();
  // A call that asks about, or waits for, one stream.
  Answer stream_used(Stream stream, uint64_t thread, bool waits);

  // ---- what is known of a stream ----------------------------------------------------------------
  struct Info {
    Answer answer = Answer::kSuccess;
    Status status = Status::kNone;
    uint64_t id = 0;
    Graph graph = nullptr;
    // Valid until the stream's next call.
    std::span<const Node> after = {};
  };
  Info info(Stream stream);
  // `nodes` belong to the graph.
  Answer set_dependencies(Stream stream, std::span<const Node> nodes, bool replace);

 private:
  struct Recorded {
    uint64_t capture = 0;  // id; it may have ended
    Nodes after;
  };
  Capture* of(Stream stream);
  Capture* active(uint64_t id);
  bool null_stream_waits(const Capture& capture) const;
  Answer implicit();
  void forget(const Capture& capture);
  void update() noexcept;
  static void add(Nodes& to, std::span<const Node> nodes);

  const std::function<bool(Stream)> stream_is_blocking_;
  std::atomic<bool> any_{false};
  std::atomic<bool> any_event_{false};
  std::mutex mutex_;
  uint64_t next_id_ = 1;
  std::map<uint64_t, std::unique_ptr<Capture>> captures_;  // by id
  std::unordered_map<Stream, Capture*> by_stream_;
  std::unordered_map<Event, Recorded> events_;
};

}  // namespace gfxgraph::capture
