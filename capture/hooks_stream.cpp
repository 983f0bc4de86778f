// Begin and end of captures, what is known of them, events, and waits for streams and events.
#include <algorithm>
#include <memory>
#include <vector>

#include "base/environment.h"
#include "capture/executables.h"
#include "capture/hooks_internal.h"
#include "capture/newer_hip.h"
#include "capture/runtime.h"

using namespace gfxgraph::capture;

namespace gfxgraph::capture {
namespace {

constexpr unsigned kExternal = 1;  // hipEventRecordExternal, hipEventWaitExternal

bool is_mode(hipStreamCaptureMode mode) {
  return mode == hipStreamCaptureModeGlobal || mode == hipStreamCaptureModeThreadLocal ||
         mode == hipStreamCaptureModeRelaxed;
}

hipError_t refuse_begin(int index, Answer answer) {
  return answered(index, answer,
                  answer == Answer::kIllegalState
                      ? "the stream belongs to a capture: end that one first"
                      : "the null stream cannot be captured: take a stream that hipStreamCreate "
                        "made, or hipStreamPerThread");
}

hipError_t begin(int index, Stream stream, hipStreamCaptureMode mode) {
  if (is_child_of_fork) return answered(index, hipErrorNotInitialized);
  if (!is_mode(mode)) return answered(index, Answer::kInvalidValue);
  const Answer may = captures().may_begin(stream);
  if (may != Answer::kSuccess) return refuse_begin(index, may);
  hipGraph_t graph = nullptr;
  const hipError_t made = runtime::create_graph(&graph, 0u);
  if (made != hipSuccess) return answered(index, made, "the runtime makes no graph");
  const hipError_t begun = without_throwing(index, [&] {
    return answered(
        index, captures().begin(stream, static_cast<Mode>(mode), this_thread(), graph, true, {}));
  });
  if (begun != hipSuccess) (void)runtime::destroy_graph(graph);
  return begun;
}

bool has_dependents(Node node) {
  size_t count = 0;
  return runtime::dependents(static_cast<hipGraphNode_t>(node), nullptr, &count) == hipSuccess &&
         count != 0;
}

// For GFXGRAPH_CAPTURE_LOG=1: who wants to see that the layer captures.
void tell_end_if_wanted(uint64_t id, hipGraph_t graph) {
  static const bool wanted =
      gfxgraph::environment_word("GFXGRAPH_CAPTURE_LOG", {"0", "1"}, 0, 0) != 0;
  size_t count = 0;
  if (wanted && runtime::graph_nodes(graph, nullptr, &count) == hipSuccess) tell_end(id, count);
}

hipError_t end(int index, Stream stream, hipGraph_t* graph) {
  if (is_child_of_fork) return answered(index, hipErrorNotInitialized);
  if (graph == nullptr) return answered(index, Answer::kInvalidValue);
  const Captures::Ended ended = captures().end(stream, this_thread(), has_dependents);
  const auto made = static_cast<hipGraph_t>(ended.graph);
  if (ended.answer == Answer::kSuccess) {
    *graph = made;
    tell_end_if_wanted(ended.id, made);
    return hipSuccess;
  }
  if (ended.over) {
    *graph = nullptr;
    if (ended.graph_is_ours) (void)runtime::destroy_graph(made);
  }
  return answered(index, ended.answer);
}

constexpr const char* kForeignNode = "a node that the work is to follow is not of the graph";

// Whether the graph has all nodes. Allocates.
bool are_of(hipGraph_t graph, std::span<const hipGraphNode_t> nodes) {
  if (nodes.empty()) return true;
  size_t count = 0;
  if (runtime::graph_nodes(graph, nullptr, &count) != hipSuccess || count == 0) return false;
  std::vector<hipGraphNode_t> all(count);
  if (runtime::graph_nodes(graph, all.data(), &count) != hipSuccess) return false;
  return std::ranges::all_of(
      nodes, [&](hipGraphNode_t node) { return std::ranges::find(all, node) != all.end(); });
}

hipError_t info(int index, Stream stream, hipStreamCaptureStatus* status, unsigned long long* id,
                hipGraph_t* graph, const hipGraphNode_t** nodes, size_t* count) {
  if (is_child_of_fork) return answered(index, hipErrorNotInitialized);
  if (status == nullptr) return answered(index, Answer::kInvalidValue);
  const Captures::Info known = captures().info(stream);
  if (known.answer != Answer::kSuccess) return answered(index, known.answer);
  *status = static_cast<hipStreamCaptureStatus>(known.status);
  if (known.status == Status::kNone) return hipSuccess;
  if (id != nullptr) *id = known.id;
  if (known.status != Status::kActive) return hipSuccess;
  if (graph != nullptr) *graph = static_cast<hipGraph_t>(known.graph);
  if (nodes != nullptr) *nodes = reinterpret_cast<const hipGraphNode_t*>(known.after.data());
  if (count != nullptr) *count = known.after.size();
  return hipSuccess;
}

hipError_t record(int index, hipEvent_t event, Stream stream, unsigned flags,
                  hipError_t (*pass)(hipEvent_t, hipStream_t, unsigned), hipStream_t plain) {
  if (!capturing_or_events()) return pass(event, plain, flags);
  if ((flags & kExternal) != 0 && captures().info(stream).status != Status::kNone) {
    return work(
        index, stream,
        [&](Builder& builder) {
          return builder.add([&](auto... to) { return runtime::add_event_record(to..., event); });
        },
        [&] { return pass(event, plain, flags); });
  }
  return without_throwing(index, [&] {
    Answer answer = Answer::kSuccess;
    if (!captures().recorded(event, stream, answer)) return pass(event, plain, flags);
    return answered(index, answer);
  });
}

template <typename Pass>
hipError_t wait(int index, Stream stream, hipEvent_t event, unsigned flags, Pass&& pass) {
  if (!capturing_or_events()) return pass();
  if ((flags & kExternal) != 0 && captures().info(stream).status != Status::kNone) {
    return work(
        index, stream,
        [&](Builder& builder) {
          return builder.add([&](auto... to) { return runtime::add_event_wait(to..., event); });
        },
        pass);
  }
  return without_throwing(index, [&] {
    Answer answer = Answer::kSuccess;
    if (!captures().waits(stream, event, answer)) return pass();
    return answered(index, answer);
  });
}

template <typename Pass>
hipError_t event_used(int index, hipEvent_t first, hipEvent_t second, Pass&& pass) {
  if (!capturing_or_events()) return pass();
  for (hipEvent_t event : {first, second}) {
    if (event == nullptr) continue;
    const Answer answer = captures().event_used(event);
    if (answer != Answer::kSuccess) return answered(index, answer);
  }
  return pass();
}

template <typename Pass>
hipError_t stream_used(int index, Stream stream, bool waits, Pass&& pass) {
  if (!capturing()) return pass();
  const Answer answer = captures().stream_used(stream, this_thread(), waits);
  return answer != Answer::kSuccess ? answered(index, answer) : pass();
}

}  // namespace
}  // namespace gfxgraph::capture

// ---- captures -----------------------------------------------------------------------------------

GFXGRAPH_CAPTURE_HOOK hipError_t hipStreamBeginCapture(hipStream_t stream,
                                                       hipStreamCaptureMode mode) {
  return begin(kCall_hipStreamBeginCapture, key_of(stream), mode);
}
GFXGRAPH_CAPTURE_HOOK hipError_t hipStreamBeginCapture_spt(hipStream_t stream,
                                                           hipStreamCaptureMode mode) {
  return begin(kCall_hipStreamBeginCapture_spt, per_thread_key_of(stream), mode);
}
GFXGRAPH_NEWER_CAPTURE_HOOK(hipStreamBeginCaptureToGraph, hipStream_t stream, hipGraph_t graph,
                            const hipGraphNode_t* nodes, const void* edges, size_t count,
                            hipStreamCaptureMode mode) {
  constexpr int kIndex = kCall_hipStreamBeginCaptureToGraph;
  if (is_child_of_fork) return answered(kIndex, hipErrorNotInitialized);
  (void)edges;  // no runtime of HIP gives them a meaning
  if (graph == nullptr || (nodes == nullptr && count != 0) || !is_mode(mode))
    return answered(kIndex, Answer::kInvalidValue);
  const Stream key = key_of(stream);
  executables().before_change();
  const Answer may = captures().may_begin(key);
  if (may != Answer::kSuccess) return refuse_begin(kIndex, may);
  return without_throwing(kIndex, [&] {
    if (!are_of(graph, {nodes, count}))
      return answered(kIndex, Answer::kInvalidValue, kForeignNode);
    return answered(kIndex, captures().begin(key, static_cast<Mode>(mode), this_thread(), graph,
                                             false, Nodes(nodes, nodes + count)));
  });
}
GFXGRAPH_CAPTURE_HOOK hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t* graph) {
  return end(kCall_hipStreamEndCapture, key_of(stream), graph);
}
GFXGRAPH_CAPTURE_HOOK hipError_t hipStreamEndCapture_spt(hipStream_t stream, hipGraph_t* graph) {
  return end(kCall_hipStreamEndCapture_spt, per_thread_key_of(stream), graph);
}
GFXGRAPH_CAPTURE_HOOK hipError_t hipStreamIsCapturing(hipStream_t stream,
                                                      hipStreamCaptureStatus* status) {
  return info(kCall_hipStreamIsCapturing, key_of(stream), status, nullptr, nullptr, nullptr,
              nullptr);
}
GFXGRAPH_CAPTURE_HOOK hipError_t hipStreamIsCapturing_spt(hipStream_t stream,
                                                          hipStreamCaptureStatus* status) {
  return info(kCall_hipStreamIsCapturing_spt, per_thread_key_of(stream), status, nullptr, nullptr,
              nullptr, nullptr);
}
GFXGRAPH_CAPTURE_HOOK hipError_t hipStreamGetCaptureInfo(hipStream_t stream,
                                                         hipStreamCaptureStatus* status,
                                                         unsigned long long* id) {
  return info(kCall_hipStreamGetCaptureInfo, key_of(stream), status, id, nullptr, nullptr, nullptr);
}
GFXGRAPH_CAPTURE_HOOK hipError_t hipStreamGetCaptureInfo_spt(hipStream_t stream,
                                                             hipStreamCaptureStatus* status,
                                                             unsigned long long* id) {
  return info(kCall_hipStreamGetCaptureInfo_spt, per_thread_key_of(stream), status, id, nullptr,
              nullptr, nullptr);
}
GFXGRAPH_CAPTURE_HOOK hipError_t hipStreamGetCaptureInfo_v2(
    hipStream_t stream, hipStreamCaptureStatus* status, unsigned long long* id, hipGraph_t* graph,
    const hipGraphNode_t** nodes, size_t* count) {
  return info(kCall_hipStreamGetCaptureInfo_v2, key_of(stream), status, id, graph, nodes, count);
}
GFXGRAPH_CAPTURE_HOOK hipError_t hipStreamGetCaptureInfo_v2_spt(
    hipStream_t stream, hipStreamCaptureStatus* status, unsigned long long* id, hipGraph_t* graph,
    const hipGraphNode_t** nodes, size_t* count) {
  return info(kCall_hipStreamGetCaptureInfo_v2_spt, per_thread_key_of(stream), status, id, graph,
              nodes, count);
}
GFXGRAPH_CAPTURE_HOOK hipError_t hipStreamUpdateCaptureDependencies(hipStream_t stream,
                                                                    hipGraphNode_t* nodes,
                                                                    size_t count,
                                                                    unsigned int flags) {
  constexpr int kIndex = kCall_hipStreamUpdateCaptureDependencies;
  if (is_child_of_fork) return answered(kIndex, hipErrorNotInitialized);
  if ((nodes == nullptr && count != 0) || flags > hipStreamSetCaptureDependencies)
    return answered(kIndex, Answer::kInvalidValue);
  return without_throwing(kIndex, [&] {
    const auto graph = static_cast<hipGraph_t>(captures().info(key_of(stream)).graph);
    if (graph != nullptr && !are_of(graph, {nodes, count}))
      return answered(kIndex, Answer::kInvalidValue, kForeignNode);
    const Nodes given(nodes, nodes + count);
    return answered(kIndex, captures().set_dependencies(key_of(stream), given,
                                                        flags == hipStreamSetCaptureDependencies));
  });
}
GFXGRAPH_CAPTURE_HOOK hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode* mode) {
  constexpr int kIndex = kCall_hipThreadExchangeStreamCaptureMode;
  if (mode == nullptr || !is_mode(*mode)) return answered(kIndex, Answer::kInvalidValue);
  *mode = static_cast<hipStreamCaptureMode>(Captures::exchange_mode(static_cast<Mode>(*mode)));
  return hipSuccess;
}

// ---- events -------------------------------------------------------------------------------------

GFXGRAPH_CAPTURE_HOOK hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) {
  return record(
      kCall_hipEventRecord, event, key_of(stream), 0,
      [](hipEvent_t to, hipStream_t in, unsigned) { return real(kCall_hipEventRecord, to, in); },
      stream);
}
GFXGRAPH_CAPTURE_HOOK hipError_t hipEventRecord_spt(hipEvent_t event, hipStream_t stream) {
  return record(
      kCall_hipEventRecord_spt, event, per_thread_key_of(stream), 0,
      [](hipEvent_t to, hipStream_t in, unsigned) {
        return real(kCall_hipEventRecord_spt, to, in);
      },
      stream);
}
GFXGRAPH_NEWER_CAPTURE_HOOK(hipEventRecordWithFlags, hipEvent_t event, hipStream_t stream,
                            unsigned int flags) {
  return record(
      kCall_hipEventRecordWithFlags, event, key_of(stream), flags,
      [](hipEvent_t to, hipStream_t in, unsigned how) {
        return real(kCall_hipEventRecordWithFlags, to, in, how);
      },
      stream);
}
GFXGRAPH_CAPTURE_HOOK hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event,
                                                    unsigned int flags) {
  return wait(kCall_hipStreamWaitEvent, key_of(stream), event, flags,
              [&] { return real(kCall_hipStreamWaitEvent, stream, event, flags); });
}
GFXGRAPH_CAPTURE_HOOK hipError_t hipStreamWaitEvent_spt(hipStream_t stream, hipEvent_t event,
                                                        unsigned int flags) {
  return wait(kCall_hipStreamWaitEvent_spt, per_thread_key_of(stream), event, flags,
              [&] { return real(kCall_hipStreamWaitEvent_spt, stream, event, flags); });
}
GFXGRAPH_CAPTURE_HOOK hipError_t hipEventQuery(hipEvent_t event) {
  return event_used(kCall_hipEventQuery, event, nullptr,
                    [&] { return real(kCall_hipEventQuery, event); });
}
GFXGRAPH_CAPTURE_HOOK hipError_t hipEventSynchronize(hipEvent_t event) {
  return event_used(kCall_hipEventSynchronize, event, nullptr, [&] {
    if (capturing()) {
      const Answer answer = captures().unsafe(this_thread());
      if (answer != Answer::kSuccess) return answered(kCall_hipEventSynchronize, answer);
    }
    return real(kCall_hipEventSynchronize, event);
  });
}
GFXGRAPH_CAPTURE_HOOK hipError_t hipEventElapsedTime(float* ms, hipEvent_t start, hipEvent_t stop) {
  return event_used(kCall_hipEventElapsedTime, start, stop,
                    [&] { return real(kCall_hipEventElapsedTime, ms, start, stop); });
}
GFXGRAPH_CAPTURE_HOOK hipError_t hipEventDestroy(hipEvent_t event) {
  // Before its handle may be another event's.
  if (capturing_or_events()) captures().event_destroyed(event);
  return real(kCall_hipEventDestroy, event);
}

// ---- streams ------------------------------------------------------------------------------------

GFXGRAPH_CAPTURE_HOOK hipError_t hipStreamSynchronize(hipStream_t stream) {
  return stream_used(kCall_hipStreamSynchronize, key_of(stream), true,
                     [&] { return real(kCall_hipStreamSynchronize, stream); });
}
GFXGRAPH_CAPTURE_HOOK hipError_t hipStreamSynchronize_spt(hipStream_t stream) {
  return stream_used(kCall_hipStreamSynchronize_spt, per_thread_key_of(stream), true,
                     [&] { return real(kCall_hipStreamSynchronize_spt, stream); });
}
GFXGRAPH_CAPTURE_HOOK hipError_t hipStreamQuery(hipStream_t stream) {
  return stream_used(kCall_hipStreamQuery, key_of(stream), false,
                     [&] { return real(kCall_hipStreamQuery, stream); });
}
GFXGRAPH_CAPTURE_HOOK hipError_t hipStreamQuery_spt(hipStream_t stream) {
  return stream_used(kCall_hipStreamQuery_spt, per_thread_key_of(stream), false,
                     [&] { return real(kCall_hipStreamQuery_spt, stream); });
}
GFXGRAPH_CAPTURE_HOOK hipError_t hipStreamDestroy(hipStream_t stream) {
  // Handles that stand for no stream of the program (null, legacy, per thread) are not destroyed.
  if (capturing() && key_of(stream) == static_cast<Stream>(stream)) {
    const Graph graph = captures().destroyed(key_of(stream));
    if (graph != nullptr) (void)runtime::destroy_graph(static_cast<hipGraph_t>(graph));
  }
  return real(kCall_hipStreamDestroy, stream);
}
