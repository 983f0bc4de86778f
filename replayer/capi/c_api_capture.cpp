// The C ABI of captures: the recorder in this process makes the trace (base/live/captures.h), which
// becomes a gfxgraph_trace_t like any other.
#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <string>

#include "base/file/file.h"
#include "base/file/new_file.h"
#include "base/hip_quirks.h"
#include "base/live/captures.h"
#include "format/held_trace.h"
#include "replayer/capi/c_api_internal.h"

using namespace gfxgraph;            // NOLINT: this file is the border between the two worlds
using namespace gfxgraph::replayer;  // NOLINT

namespace {

constexpr uint32_t kWaitMs = 10'000;

// Of the first capture; null: this process has had none.
std::atomic<const live::CaptureTable*> known_table{nullptr};

live::CaptureFunction find_captures() noexcept {
  return reinterpret_cast<live::CaptureFunction>(::dlsym(RTLD_DEFAULT, live::kCaptureFunction));
}

Result<const live::CaptureTable*> capture_table() {
  const live::CaptureFunction find = find_captures();
  if (find == nullptr) {
    return fail(Status::kUnsupported,
                "this process lacks gfxgraph's hooks: start it by `gfxgraph run --capture-api`, or "
                "link libgfxgraph-recorder.so before HIP's library");
  }
  const live::CaptureTable* const table = find(live::kCaptureVersion);
  if (table != nullptr) {
    known_table.store(table, std::memory_order_release);
    return table;
  }
  return fail(Status::kUnsupported,
              fmt::format("libgfxgraph-recorder.so of this process is of another version than "
                          "libgfxgraph {}",
                          gfxgraph_version()));
}

Result<void> result_of(const live::Answer& answer) {
  if (answer.status == 0) return {};
  return fail(static_cast<Status>(answer.status), answer.text);
}

// HIP's functions of stream capture, as the program calls them: the layer's, the recorder's hooks,
// or HIP's.
struct StreamCapture {
  int (*begin)(void* stream, int mode) = nullptr;
  int (*end)(void* stream, void** graph) = nullptr;
  int (*destroy_graph)(void* graph) = nullptr;

  static Result<StreamCapture> find() {
    StreamCapture found;
    const auto look_up = [](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
          ::dlsym(RTLD_DEFAULT, name));
      return function != nullptr;
    };
    if (look_up(found.begin, "hipStreamBeginCapture") &&
        look_up(found.end, "hipStreamEndCapture") &&
        look_up(found.destroy_graph, "hipGraphDestroy")) {
      return found;
    }
    return fail(Status::kUnsupported, "HIP's stream capture is not in this process");
  }
};

constexpr int kThreadLocal = 1;  // hipStreamCaptureModeThreadLocal

}  // namespace

namespace gfxgraph::replayer {

bool is_capturing() noexcept {
  const live::CaptureTable* const table = known_table.load(std::memory_order_acquire);
  return table != nullptr && table->capturing();
}

HipLibrary::Lookup runtime_lookup() noexcept {
  const live::CaptureFunction find = find_captures();
  const live::CaptureTable* const table = find == nullptr ? nullptr : find(live::kCaptureVersion);
  return table != nullptr && table->on() ? table->find : &::dlsym;
}

}  // namespace gfxgraph::replayer

struct gfxgraph_capture_s {
  const live::CaptureTable* table = nullptr;
  std::shared_ptr<const HipLibrary> library;
  uint64_t number = 0;
  void* stream = nullptr;
  bool holds = false;
  bool holding = false;          // the stream is captured
  uint64_t launches_before = 0;  // what was held
  StreamCapture held;
  uint32_t made_in = process_number();

  Result<void> hold() {
    if (!holds) return {};
    GFXGRAPH_TRY(result_of(table->launches(number, &launches_before)));
    GFXGRAPH_TRY(library->check(held.begin(stream, kThreadLocal), "hipStreamBeginCapture"));
    holding = true;
    return {};
  }
  // What was held becomes a launch of a graph in the trace.
  Result<void> take_held() {
    if (!std::exchange(holding, false)) return {};
    uint64_t launches = 0;
    const Result<void> counted = result_of(table->launches(number, &launches));
    void* graph = nullptr;
    GFXGRAPH_TRY(library->check(held.end(stream, &graph), "hipStreamEndCapture"));
    Result<void> done = counted ? result_of(table->hold(number, graph, stream)) : counted;
    if (done && launches != launches_before &&
        hip_quirk_seen(HipQuirk::kModuleLaunchNotCaptured, library->runtime_version())) {
      done = fail(Status::kIncomplete,
                  fmt::format("{} of the launches were done at once: this HIP holds no launches of "
                              "module functions; with gfxgraph's layer they are held (gfxgraph run "
                              "--capture --capture-api)",
                              launches - launches_before));
    }
    if (graph != nullptr) (void)held.destroy_graph(graph);
    return done;
  }
  void drop_held() noexcept {
    void* graph = nullptr;
    if (!std::exchange(holding, false)) return;
    if (held.end(stream, &graph) == hip::kSuccess && graph != nullptr)
      (void)held.destroy_graph(graph);
  }
};

namespace {

template <typename Body>
gfxgraph_status_t on_capture(gfxgraph_capture_t capture, Body&& body) noexcept {
  return guarded([&]() -> Result<void> {
    GFXGRAPH_TRY(require(capture != nullptr, "capture is null"));
    GFXGRAPH_TRY(require_own(capture->made_in));
    return body(*capture);
  });
}

Result<gfxgraph_trace_t> end_capture(gfxgraph_capture_s& capture) {
  GFXGRAPH_TRY(capture.take_held());
  int descriptor = -1;
  live::Held held;
  live::Objects objects;
  GFXGRAPH_TRY(result_of(capture.table->end(capture.number, &descriptor, &held, &objects)));
  capture.number = 0;
  if (held.trace != nullptr) return open_captured_trace(held, objects);
  const File file = File::own(descriptor, "(captured trace)");
  return open_captured_trace(file, objects);
}

void give_up(gfxgraph_capture_s& capture) noexcept {
  capture.drop_held();
  if (capture.number != 0) capture.table->abandon(std::exchange(capture.number, 0));
}

}  // namespace

extern "C" {

gfxgraph_capture_options_t gfxgraph_capture_options_default(void) noexcept {
  gfxgraph_capture_options_t options{};
  options.struct_size = sizeof options;
  options.wait_milliseconds = kWaitMs;
  return options;
}

gfxgraph_status_t gfxgraph_capture_begin(void* hip_stream,
                                         const gfxgraph_capture_options_t* options,
                                         gfxgraph_capture_t* capture) noexcept {
  return guarded([&]() -> Result<void> {
    GFXGRAPH_TRY(require(capture != nullptr, "capture is null"));
    GFXGRAPH_ASSIGN_OR_RETURN(
        const gfxgraph_capture_options_t chosen,
        read_in(options, gfxgraph_capture_options_default(), "gfxgraph_capture_options_t"));
    GFXGRAPH_TRY(require(chosen.mode <= GFXGRAPH_CAPTURE_HOLD, "unknown mode"));
    GFXGRAPH_TRY(require_flags("gfxgraph_capture_options_t", {{"contents", chosen.contents}}));
    GFXGRAPH_TRY(require(chosen.contents == 0 || chosen.mode == GFXGRAPH_CAPTURE_RUN,
                         "contents with GFXGRAPH_CAPTURE_HOLD: nothing runs that has any"));
    GFXGRAPH_TRY(require(chosen.name == nullptr || chosen.name[0] != '\0', "name is empty"));
    GFXGRAPH_TRY(begin_use_of_hip());
    auto handle = std::make_unique<gfxgraph_capture_s>();
    GFXGRAPH_ASSIGN_OR_RETURN(handle->table, capture_table());
    GFXGRAPH_ASSIGN_OR_RETURN(handle->library, hip_library_in_use(0));
    handle->stream = hip_stream;
    handle->holds = chosen.mode == GFXGRAPH_CAPTURE_HOLD;
    if (handle->holds) {
      GFXGRAPH_ASSIGN_OR_RETURN(handle->held, StreamCapture::find());
    }
    const live::CaptureRequest request{chosen.name, hip_stream, chosen.contents,
                                       chosen.wait_milliseconds, format::held_layout()};
    GFXGRAPH_TRY(result_of(handle->table->begin(request, &handle->number)));
    if (const Result<void> held = handle->hold(); !held) {
      give_up(*handle);
      return held;
    }
    *capture = handle.release();
    return {};
  });
}

gfxgraph_status_t gfxgraph_capture_pause(gfxgraph_capture_t capture) noexcept {
  return on_capture(capture, [](gfxgraph_capture_s& one) -> Result<void> {
    GFXGRAPH_TRY(one.take_held());
    return result_of(one.table->pause(one.number));
  });
}

gfxgraph_status_t gfxgraph_capture_resume(gfxgraph_capture_t capture) noexcept {
  return on_capture(capture, [](gfxgraph_capture_s& one) -> Result<void> {
    GFXGRAPH_TRY(result_of(one.table->resume(one.number)));
    return one.hold();
  });
}

gfxgraph_status_t gfxgraph_capture_break(gfxgraph_capture_t capture, const char* name) noexcept {
  return on_capture(capture, [&](gfxgraph_capture_s& one) -> Result<void> {
    GFXGRAPH_TRY(require(name != nullptr, "name is null"));
    const bool holding = one.holding;
    GFXGRAPH_TRY(one.take_held());
    GFXGRAPH_TRY(result_of(one.table->mark(one.number, name)));
    return holding ? one.hold() : Result<void>{};
  });
}

gfxgraph_status_t gfxgraph_capture_launches(gfxgraph_capture_t capture, uint32_t* count) noexcept {
  return on_capture(capture, [&](gfxgraph_capture_s& one) -> Result<void> {
    GFXGRAPH_TRY(require(count != nullptr, "count is null"));
    if (one.holding) {
      return fail(
          Status::kUnsupported,
          "while launches are held: they get their numbers when the capture pauses or ends");
    }
    uint64_t launches = 0;
    GFXGRAPH_TRY(result_of(one.table->launches(one.number, &launches)));
    *count = static_cast<uint32_t>(launches);
    return {};
  });
}

gfxgraph_status_t gfxgraph_capture_end(gfxgraph_capture_t capture,
                                       gfxgraph_trace_t* trace) noexcept {
  return on_capture(capture, [&](gfxgraph_capture_s& one) -> Result<void> {
    const std::unique_ptr<gfxgraph_capture_s> ends(&one);
    Result<gfxgraph_trace_t> opened =
        trace != nullptr
            ? end_capture(one)
            : Result<gfxgraph_trace_t>(fail(Status::kInvalidArgument, "trace is null"));
    if (!opened) {
      give_up(one);
      return tl::unexpected<Error>(std::move(opened).error());
    }
    *trace = *opened;
    return {};
  });
}

void gfxgraph_capture_abandon(gfxgraph_capture_t capture) noexcept {
  if (capture == nullptr || is_inherited(capture->made_in)) return;
  give_up(*capture);
  delete capture;
}

gfxgraph_status_t gfxgraph_trace_save(gfxgraph_trace_t trace, const char* path) noexcept {
  return guarded([&]() -> Result<void> {
    GFXGRAPH_TRY(require(trace != nullptr && path != nullptr, "trace or path is null"));
    File written;
    if (!trace->file.is_open() && trace->held == nullptr)
      return fail(Status::kUnsupported, "this trace is in a file already: it was not captured");
    if (!trace->file.is_open()) {
      int descriptor = -1;
      GFXGRAPH_TRY(result_of(trace->held->write(trace->held->self, &descriptor)));
      written = File::own(descriptor, "(captured trace)");
    }
    const File& source = trace->file.is_open() ? trace->file : written;
    GFXGRAPH_ASSIGN_OR_RETURN(NewFile file, NewFile::create(path, FileUse::kTrace));
    GFXGRAPH_ASSIGN_OR_RETURN(const uint64_t size, source.size());
    std::array<std::byte, 65536> buffer;
    for (uint64_t offset = 0; offset < size;) {
      const std::span<std::byte> piece(buffer.data(),
                                       std::min<uint64_t>(buffer.size(), size - offset));
      GFXGRAPH_TRY(source.read_at(offset, piece));
      const std::span<const std::byte> part = piece;
      GFXGRAPH_TRY(file.write(std::span(&part, 1)));
      offset += piece.size();
    }
    return file.commit();
  });
}

}  // extern "C"
