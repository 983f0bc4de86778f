// What the user reads of the layer's errors on stderr: the call, its error, and what to do.
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <mutex>
#include <new>
#include <set>
#include <utility>

#include "capture/hooks_internal.h"

namespace gfxgraph::capture {
namespace {

struct Advice {
  hipError_t error;
  const char* name;
  const char* text;  // where the call gives no reason of its own
};

constexpr Advice kAdvice[] = {
    {hipErrorInvalidValue, "hipErrorInvalidValue", "an argument has no meaning here"},
    {hipErrorOutOfMemory, "hipErrorOutOfMemory", "no memory"},
    {hipErrorNotInitialized, "hipErrorNotInitialized",
     "a child of fork() has no HIP: start a program in it (exec) that captures by itself"},
    {hipErrorNotSupported, "hipErrorNotSupported", "this runtime has no such call"},
    {hipErrorIllegalState, "hipErrorIllegalState",
     "the stream belongs to no capture: hipStreamBeginCapture comes first"},
    {hipErrorStreamCaptureUnsupported, "hipErrorStreamCaptureUnsupported",
     "it cannot be done while a stream is captured: do it before the capture or after its end; "
     "threads that are relaxed (hipThreadExchangeStreamCaptureMode) may allocate, and wait for "
     "other "
     "streams"},
    {hipErrorStreamCaptureInvalidated, "hipErrorStreamCaptureInvalidated",
     "an earlier call was refused, and the capture takes no more work: end it with "
     "hipStreamEndCapture, and capture again without that call"},
    {hipErrorStreamCaptureMerge, "hipErrorStreamCaptureMerge",
     "the event belongs to another capture, and two captures cannot become one: let streams join "
     "before they capture by themselves"},
    {hipErrorStreamCaptureUnmatched, "hipErrorStreamCaptureUnmatched",
     "the stream has only joined the capture: end it on the stream that it began on"},
    {hipErrorStreamCaptureUnjoined, "hipErrorStreamCaptureUnjoined",
     "a stream that joined has work which nothing follows: record an event behind it, and let the "
     "first stream wait for that before the end"},
    {hipErrorStreamCaptureIsolation, "hipErrorStreamCaptureIsolation",
     "the event was not recorded in this capture: wait for it before the capture begins, or record "
     "it on one of the captured streams"},
    {hipErrorStreamCaptureImplicit, "hipErrorStreamCaptureImplicit",
     "the null stream waits for a stream that is captured: give the work a stream of its own, or "
     "capture one made with hipStreamNonBlocking"},
    {hipErrorCapturedEvent, "hipErrorCapturedEvent",
     "the event was last recorded in a capture and stands for no work that was done: record it "
     "again outside of captures"},
    {hipErrorStreamCaptureWrongThread, "hipErrorStreamCaptureWrongThread",
     "end it on the thread that began it, or begin it with hipStreamCaptureModeRelaxed"},
};

// True: not told yet. A child of fork() takes no lock.
bool is_new(int index, hipError_t error) {
  if (is_child_of_fork) return true;
  static std::mutex mutex;
  using Told = std::set<std::pair<int, int>>;
  alignas(Told) static std::byte storage[sizeof(Told)];
  static Told* const told = new (storage) Told;
  const std::lock_guard lock(mutex);
  try {
    return told->emplace(index, error).second;
  } catch (const std::bad_alloc&) {
    return true;  // it is told once more
  }
}

void write_line(const char* line, size_t bytes, int size) {
  if (size > 0) (void)!::write(STDERR_FILENO, line, std::min<size_t>(size, bytes - 1));
}

}  // namespace

void tell(int index, hipError_t error, const char* why) {
  if (!is_new(index, error)) return;
  const auto* const known = std::ranges::find(kAdvice, error, &Advice::error);
  const bool is_known = known != std::end(kAdvice);
  if (why == nullptr && is_known) why = known->text;
  char line[512];
  const int size =
      std::snprintf(line, sizeof(line), "gfxgraph-capture: %s: %s (%d)%s%s\n", display_name(index),
                    is_known ? known->name : "an error of the runtime", static_cast<int>(error),
                    why == nullptr ? "" : ": ", why == nullptr ? "" : why);
  write_line(line, sizeof(line), size);
}

void tell_end(uint64_t id, size_t nodes) {
  char line[96];
  const int size = std::snprintf(line, sizeof(line), "gfxgraph-capture: capture %llu: %zu nodes\n",
                                 static_cast<unsigned long long>(id), nodes);
  write_line(line, sizeof(line), size);
}

}  // namespace gfxgraph::capture
