// How the replay library asks the recorder in its process for captures
// (include/gfxgraph/capture.h). The two are libraries of their own, perhaps of different builds: it
// finds the table by name, and only plain functions pass between them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/live/objects.h"

namespace gfxgraph::live {

inline constexpr uint32_t kCaptureVersion = 2;
// const CaptureTable* (*)(uint32_t version); null: it does not know this version.
inline constexpr const char* kCaptureFunction = "gfxgraph_recorder_captures";

struct Answer {
  int32_t status = 0;  // gfxgraph::Status
  char text[480] = {};
};

struct CaptureRequest {
  const char* name = nullptr;  // of its ranges
  void* stream = nullptr;      // hipStream_t
  uint32_t contents = 0;       // 1: of memory, too, and all work of the process
  uint32_t wait_ms = 0;        // for a capture that another thread has open
  // format::held_layout() of the caller: it takes the trace as it is in memory, from a recorder of
  // the same layout and without contents. Null: only as a file.
  const char* held_layout = nullptr;
};

// A trace in memory. `self` and what `trace` leads to live until release(); any thread.
struct Held {
  const void* trace = nullptr;  // format::HeldTrace; null: there is a file
  void* self = nullptr;
  // Writes it as a file in memory, whose descriptor the caller closes.
  Answer (*write)(void* self, int* descriptor) = nullptr;
  void (*release)(void* self) = nullptr;
};

// None of them throws; any thread. `capture` is the number that begin() gave.
struct CaptureTable {
  uint32_t version = kCaptureVersion;
  Answer (*begin)(const CaptureRequest& request, uint64_t* capture) = nullptr;
  Answer (*pause)(uint64_t capture) = nullptr;
  Answer (*resume)(uint64_t capture) = nullptr;
  Answer (*mark)(uint64_t capture, const char* text) = nullptr;
  // As if the program launched a hipGraph_t on the stream: nothing runs, and HIP is not asked (HIP
  // 6.4.3 does fills of host memory when a graph is instantiated).
  Answer (*hold)(uint64_t capture, void* graph, void* stream) = nullptr;
  // How many launches it has.
  Answer (*launches)(uint64_t capture, uint64_t* count) = nullptr;
  // The trace is in the file that `descriptor` receives, which the caller closes, or is `held`. The
  // caller releases `objects` and `held`.
  Answer (*end)(uint64_t capture, int* descriptor, Held* held, Objects* objects) = nullptr;
  void (*abandon)(uint64_t capture) = nullptr;
  // Whether the calling thread has one open that does not pause.
  bool (*capturing)() = nullptr;
  // Whether it makes captures: not where the whole process is recorded.
  bool (*on)() = nullptr;
  // The real dlsym: the runtime's own functions, whose calls are not followed. Work of the replay
  // library is not the program's.
  void* (*find)(void* handle, const char* name) = nullptr;
};
using CaptureFunction = const CaptureTable* (*)(uint32_t version);

}  // namespace gfxgraph::live
