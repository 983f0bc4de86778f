// Shared code of the C ABI files: handles, conversion of a Result to a status, structures of other
// sizes. No exception and no C++ type crosses the ABI.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <exception>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "base/file/file.h"
#include "base/live/captures.h"
#include "base/live/objects.h"
#include "gfxgraph/gfxgraph.h"
#include "replayer/abi/relaxed_capture.h"
#include "replayer/program/range.h"
#include "replayer/step/step.h"
#include "replayer/step/step_check.h"

namespace gfxgraph::replayer {

// For tests that link libgfxgraph statically: sessions created from now on use `library` instead of
// the process's HIP runtime; null ends that.
void use_hip_library_for_tests(std::shared_ptr<const HipLibrary> library);
// Looked up for each session: a process may load its own runtime later than this library.
Result<std::shared_ptr<const HipLibrary>> hip_library_in_use(int recorded_version);

// HIP does not work in a child of a process that has used it: its calls return success and do
// nothing, or wait for threads that are not there. So what was made before a fork is refused after
// it, and not destroyed.
uint32_t process_number() noexcept;  // another one in each forked child
inline constexpr const char* kForked =
    "this process was forked from one that has used HIP, which does not work in it: fork before "
    "the first session, or start a new program (exec)";
// Of a session or step, with process_number() when it was made.
inline bool is_inherited(uint32_t made_in) noexcept { return made_in != process_number(); }
// Before HIP is used.
Result<void> begin_use_of_hip();

// An opened trace. Thread-safe.
class OpenTrace {
 public:
  // `live`: what a trace that was captured in this process works with; null: another trace.
  OpenTrace(std::shared_ptr<const format::Trace> trace, std::shared_ptr<const Program> program,
            bool allow_incomplete, std::shared_ptr<const live::Objects> live = nullptr)
      : trace_(std::move(trace)),
        program_(std::move(program)),
        allow_incomplete_(allow_incomplete),
        live_(std::move(live)) {}

  const format::Trace& trace() const { return *trace_; }
  const std::shared_ptr<const Program>& program() const { return program_; }
  bool allow_incomplete() const { return allow_incomplete_; }
  const std::shared_ptr<const live::Objects>& live() const { return live_; }
  // Ranges that the program marked. Computed at the first call.
  Result<std::span<const ranges::RangeSummary>> ranges();
  // Also GFXGRAPH_RANGE_ALL and repetitions of periods, which are numbered after the marked ranges
  // in the order of requests.
  Result<gfxgraph_range_t> find(std::string_view name);
  // Not of GFXGRAPH_RANGE_ALL. Lives as long as this.
  Result<const ranges::RangeSummary*> summary(gfxgraph_range_t range);
  // Prepared at the first call for each.
  Result<std::shared_ptr<const Range>> range(gfxgraph_range_t range);
  // Puts a parameter behind those of the range; its number.
  Result<uint32_t> name_parameter(gfxgraph_range_t range, std::string_view name, int64_t step,
                                  std::span<const ArgumentPlace> places);

 private:
  std::shared_ptr<const format::Trace> trace_;
  std::shared_ptr<const Program> program_;
  bool allow_incomplete_;
  std::shared_ptr<const live::Objects> live_;
  std::mutex mutex_;
  bool ranges_known_ = false;
  std::vector<ranges::RangeSummary> ranges_;
  std::deque<ranges::RangeSummary> periods_;  // which stay where they are
  std::map<gfxgraph_range_t, std::shared_ptr<const Range>> open_;
  // Callers have names of these.
  std::vector<std::shared_ptr<const Range>> replaced_;
};

// The trace that the recorder in this process has captured. Both are released when the trace and
// all that was made of it are destroyed, or when this fails.
// From its file, whose descriptor it duplicates.
Result<gfxgraph_trace_t> open_captured_trace(const File& file, const live::Objects& objects);
// As it is in memory.
Result<gfxgraph_trace_t> open_captured_trace(const live::Held& held, const live::Objects& objects);

// Whether the calling thread has a capture open (gfxgraph/capture.h), which must not have our
// calls.
bool is_capturing() noexcept;
// What finds the runtime's functions where a recorder in this process makes captures, past its
// hooks; elsewhere dlsym.
HipLibrary::Lookup runtime_lookup() noexcept;

// Makes the session's device the thread's current one, and then restores the previous one.
class OnDevice {
 public:
  OnDevice(const HipLibrary& library, int device) : library_(library), device_(device) {}
  ~OnDevice() {
    if (changed_) library_.table().hipSetDevice(before_);
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

  Result<void> enter() {
    hip::Error code = library_.table().hipGetDevice(&before_);
    if (code == hip::kSuccess && before_ == device_) [[likely]]
      return {};
    if (code == hip::kSuccess) code = library_.table().hipSetDevice(device_);
    changed_ = code == hip::kSuccess;
    return library_.check(code, "hipSetDevice");
  }

 private:
  const HipLibrary& library_;
  int device_;
  int before_ = 0;
  bool changed_ = false;
};

// The same around calls that allocate or free.
class OnDeviceRelaxed {
 public:
  OnDeviceRelaxed(const HipLibrary& library, int device)
      : scope_(library, device), relaxed_(library.table().hipThreadExchangeStreamCaptureMode) {}
  Result<void> enter() { return scope_.enter(); }

 private:
  OnDevice scope_;
  RelaxedCapture relaxed_;
};

gfxgraph_status_t record_error(Status status, std::string_view message, int32_t hip_error) noexcept;

// The body of every function: Result and the standard library's exceptions become a status.
template <typename Body>
gfxgraph_status_t guarded(Body&& body) noexcept {
  try {
    const Result<void> result = body();
    if (result) [[likely]]
      return GFXGRAPH_OK;
    const Error& error = result.error();
    return record_error(error.status, error.message, error.hip_error);
  } catch (const std::bad_alloc&) {
    return record_error(Status::kOutOfMemory, "out of host memory", 0);
  } catch (const std::length_error&) {
    return record_error(Status::kOutOfMemory, "a size in the trace is beyond host memory", 0);
  } catch (const std::exception& exception) {
    return record_error(Status::kInternal, exception.what(), 0);
  } catch (...) {
    return record_error(Status::kInternal, "unknown exception", 0);
  }
}

inline Result<void> require(bool condition, const char* what) {
  if (condition) [[likely]]
    return {};
  return fail(Status::kInvalidArgument, what);
}

inline Result<void> require_own(uint32_t made_in) {
  if (!is_inherited(made_in)) [[likely]]
    return {};
  return fail(Status::kUnsupported, kForked);
}

// Options that are 0 or 1: a newer library may define other values.
struct Flag {
  const char* name;
  uint32_t value;
};
inline Result<void> require_flags(const char* structure, std::initializer_list<Flag> flags) {
  for (const Flag& one : flags) {
    if (one.value <= 1) continue;
    return fail(Status::kInvalidArgument,
                fmt::format("{} of {} is {}: neither 0 nor 1", one.name, structure, one.value));
  }
  return {};
}

// The caller's structure may be older (shorter) or newer (longer) than ours.
template <typename Structure>
Result<void> write_out(const Structure& ours, Structure* theirs) {
  if (theirs == nullptr || theirs->struct_size < sizeof(uint32_t) * 2) {
    return fail(Status::kInvalidArgument,
                "the result structure is null or its struct_size is not set");
  }
  const uint32_t size = theirs->struct_size;
  std::memcpy(theirs, &ours, std::min<size_t>(size, sizeof(Structure)));
  theirs->struct_size = size;
  return {};
}

// `name` is the structure's. Fields that this library does not know must be zero.
template <typename Structure>
Result<Structure> read_in(const Structure* theirs, Structure defaults, const char* name) {
  if (theirs == nullptr) return defaults;
  const uint32_t size = theirs->struct_size;
  if (size < sizeof(uint32_t) || size > 4096) {
    return fail(
        Status::kInvalidArgument,
        fmt::format("struct_size of {} is not set: begin with the _default() function", name));
  }
  const auto* const bytes = reinterpret_cast<const unsigned char*>(theirs);
  for (size_t i = sizeof(Structure); i < size; ++i) {
    if (bytes[i] == 0) continue;
    return fail(Status::kInvalidArgument,
                fmt::format("byte {} of {} is set, and libgfxgraph {} knows only {} bytes of it: "
                            "the caller was built for a newer library",
                            i, name, gfxgraph_version(), sizeof(Structure)));
  }
  std::memcpy(&defaults, theirs, std::min<size_t>(size, sizeof(Structure)));
  return defaults;
}

}  // namespace gfxgraph::replayer

struct gfxgraph_trace_s {
  std::shared_ptr<gfxgraph::replayer::OpenTrace> open;
  // Of a captured trace one of the two; of others none.
  gfxgraph::File file;
  std::shared_ptr<const gfxgraph::live::Held> held;
};

struct gfxgraph_session_s {
  std::shared_ptr<gfxgraph::replayer::OpenTrace> open;
  std::shared_ptr<const gfxgraph::replayer::HipLibrary> library;
  gfxgraph::replayer::HipDevice device;
  gfxgraph::replayer::SessionOptions options;            // with what is bound before it is loaded
  std::shared_ptr<gfxgraph::replayer::Session> session;  // null: not loaded yet
  uint32_t made_in = gfxgraph::replayer::process_number();

  gfxgraph::Result<void> load();
  ~gfxgraph_session_s();
};

struct gfxgraph_step_s {
  std::shared_ptr<const gfxgraph::replayer::Range> range;
  std::shared_ptr<gfxgraph::replayer::Step> step;  // sets (gfxgraph/sets.h) see that it is gone
  gfxgraph::replayer::StepCheck check;
  uint32_t made_in = gfxgraph::replayer::process_number();
  gfxgraph_step_s(std::shared_ptr<const gfxgraph::replayer::Range> of,
                  std::unique_ptr<gfxgraph::replayer::Step> made)
      : range(std::move(of)), step(std::move(made)), check(*step) {}
  ~gfxgraph_step_s();
};
