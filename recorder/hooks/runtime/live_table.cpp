// The recorder's side of base/live/captures.h.
#include "base/live/captures.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <memory>

#include "format/held_trace.h"
#include "format/write/held_copy.h"
#include "recorder/hooks/calls/hooks_internal.h"

namespace gfxgraph::recorder {
namespace {

// Cut to its length.
live::Answer answer(const Error& error) noexcept {
  live::Answer result;
  result.status = static_cast<int32_t>(error.status);
  const size_t size = std::min(error.message.size(), sizeof(result.text) - 1);
  std::memcpy(result.text, error.message.data(), size);
  return result;
}

template <typename T>
live::Answer answer(const Result<T>& result) noexcept {
  return result ? live::Answer{} : answer(result.error());
}

// A hook of HIP is not open: what the recorder does here is its own.
LiveCaptures& captures() noexcept {
  recorder().begin();
  arrange_exit();
  return recorder().live();
}

live::Answer begin(const live::CaptureRequest& request, uint64_t* capture) {
  const bool takes_held = request.held_layout != nullptr &&
                          std::strcmp(request.held_layout, format::held_layout()) == 0;
  const Result<uint64_t> begun =
      captures().begin({request.name == nullptr ? "step" : request.name,
                        stream_key(static_cast<hipStream_t>(request.stream)), request.contents != 0,
                        takes_held && request.contents == 0, request.wait_ms});
  if (begun) *capture = *begun;
  return answer(begun);
}

live::Answer pause(uint64_t capture) { return answer(captures().pause(capture)); }
live::Answer resume(uint64_t capture) { return answer(captures().resume(capture)); }
live::Answer mark(uint64_t capture, const char* text) {
  return answer(captures().mark(capture, text));
}

live::Answer hold(uint64_t capture, void* graph, void* stream) {
  const Scope scope(CallKind::kMayJoin);
  if (!scope.record) {
    return answer(Error{Status::kUnsupported, "this process is not followed"});
  }
  if (const Result<uint64_t> open = recorder().live().launches(capture); !open) return answer(open);
  // In the model alone, under the graph's own handle: no executable graph has it.
  recorder().executables().instantiated(graph, graph);
  Work work;
  recorder().work().prepare_graph_launch(graph, stream_key(static_cast<hipStream_t>(stream)), work);
  recorder().commit(work);
  recorder().executables().destroyed(graph);
  return {};
}

live::Answer launches(uint64_t capture, uint64_t* count) {
  const Result<uint64_t> known = captures().launches(capture);
  if (known) *count = *known;
  return answer(known);
}

using Shared = std::shared_ptr<LiveStep>;

using HeldTrace = std::shared_ptr<const format::HeldTrace>;

// The descriptor becomes the caller's.
live::Answer hand_over(const File& file, int* descriptor) {
  *descriptor = ::fcntl(file.fd(), F_DUPFD_CLOEXEC, 3);
  if (*descriptor >= 0) return {};
  return answer(fail_errno("duplicate", "the trace in memory", errno).value());
}

live::Answer write_held(void* self, int* descriptor) {
  const auto write = [&]() -> Result<File> {
    File file;
    format::WriterOptions options;
    options.compression_level = 0;
    options.threads = 1;
    GFXGRAPH_ASSIGN_OR_RETURN(const std::unique_ptr<format::Writer> writer,
                              format::Writer::create_in_memory(file, options));
    GFXGRAPH_TRY(format::copy_held(**static_cast<HeldTrace*>(self), *writer));
    return file;
  };
  try {
    const Result<File> file = write();
    return file ? hand_over(*file, descriptor) : answer(file);
  } catch (const std::exception&) {
    return answer(Error{Status::kOutOfMemory, "out of memory"});
  }
}

live::Answer end(uint64_t capture, int* descriptor, live::Held* held, live::Objects* objects) {
  Result<Captured> ended = captures().end(capture);
  if (!ended) return answer(ended);
  *descriptor = -1;
  *held = {};
  std::unique_ptr<Shared> used(new (std::nothrow) Shared(std::move(ended->step)));
  std::unique_ptr<HeldTrace> kept;
  if (ended->held) kept.reset(new (std::nothrow) HeldTrace(std::move(ended->held)));
  if (used == nullptr || (!ended->file.is_open() && kept == nullptr))
    return answer(Error{Status::kOutOfMemory, "out of memory"});
  if (kept == nullptr) {
    const live::Answer given = hand_over(ended->file, descriptor);
    if (given.status != 0) return given;
  } else {
    held->trace = kept->get();
    held->write = &write_held;
    held->release = [](void* trace) { delete static_cast<HeldTrace*>(trace); };
    held->self = kept.release();
  }
  Shared* const self = used.release();
  *objects = {};
  objects->self = self;
  objects->gone = &(*self)->gone();
  objects->code = [](void* step, uint32_t kernel) {
    return (*static_cast<Shared*>(step))->code(kernel);
  };
  objects->place = [](void* step, uint32_t allocation) {
    return (*static_cast<Shared*>(step))->place(allocation);
  };
  objects->release = [](void* step) { delete static_cast<Shared*>(step); };
  return {};
}

void abandon(uint64_t capture) { captures().abandon(capture); }

constexpr live::CaptureTable kTable = {
    live::kCaptureVersion,
    &begin,
    &pause,
    &resume,
    &mark,
    &hold,
    &launches,
    &end,
    &abandon,
    [] { return recorder().live().capturing(); },
    [] { return recorder().live().on(); },
    [](void* handle, const char* name) { return preload::call_dlsym(hip_dlsym(), handle, name); }};

}  // namespace
}  // namespace gfxgraph::recorder

GFXGRAPH_HOOK const gfxgraph::live::CaptureTable* gfxgraph_recorder_captures(uint32_t version) {
  namespace live = gfxgraph::live;
  return version == live::kCaptureVersion ? &gfxgraph::recorder::kTable : nullptr;
}
