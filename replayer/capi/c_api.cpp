// Common parts of the C ABI: errors, the version, the HIP runtime.
#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "replayer/capi/c_api_internal.h"

namespace gfxgraph::replayer {
namespace {

thread_local std::string last_message;
thread_local const char* last_error = "";  // last_message's text, or one that needs no allocation
thread_local int32_t last_hip_error = 0;

std::mutex library_mutex;
std::shared_ptr<const HipLibrary> library_for_tests;

}  // namespace

gfxgraph_status_t record_error(Status status, std::string_view message,
                               int32_t hip_error) noexcept {
  last_hip_error = hip_error;
  try {
    last_message = message;
    last_error = last_message.c_str();
  } catch (...) {
    last_error = "out of host memory";
  }
  return static_cast<gfxgraph_status_t>(status);
}

void use_hip_library_for_tests(std::shared_ptr<const HipLibrary> library) {
  const std::lock_guard lock(library_mutex);
  library_for_tests = std::move(library);
}

namespace {

constinit std::atomic<uint32_t> forks{0};
constexpr uint32_t kUnused = UINT32_MAX;
constinit std::atomic<uint32_t> hip_used_in{kUnused};

void count_fork() { forks.fetch_add(1, std::memory_order_relaxed); }

}  // namespace

uint32_t process_number() noexcept { return forks.load(std::memory_order_relaxed); }

Result<void> begin_use_of_hip() {
  static const int registered = ::pthread_atfork(nullptr, nullptr, count_fork);
  if (registered != 0) return fail(Status::kOutOfMemory, "no memory for a handler of forks");
  uint32_t used_in = kUnused;
  if (hip_used_in.compare_exchange_strong(used_in, process_number())) return {};
  return require_own(used_in);
}

Result<std::shared_ptr<const HipLibrary>> hip_library_in_use(int recorded_version) {
  // A process has one runtime, however often it is asked for, and its functions are many look-ups.
  static constinit std::shared_ptr<const HipLibrary> of_process;
  {
    const std::lock_guard lock(library_mutex);
    if (library_for_tests) return library_for_tests;
    if (of_process) return of_process;
  }
  GFXGRAPH_ASSIGN_OR_RETURN(std::shared_ptr<const HipLibrary> loaded,
                            HipLibrary::load(recorded_version, runtime_lookup()));
  const std::lock_guard lock(library_mutex);
  if (!of_process) of_process = std::move(loaded);
  return of_process;
}

}  // namespace gfxgraph::replayer

using namespace gfxgraph;            // NOLINT: this file is the border between the two worlds
using namespace gfxgraph::replayer;  // NOLINT

extern "C" {

const char* gfxgraph_status_name(gfxgraph_status_t status) noexcept {
  return status_name(static_cast<Status>(status));
}
const char* gfxgraph_last_error(void) noexcept { return last_error; }
int32_t gfxgraph_last_hip_error(void) noexcept { return last_hip_error; }
const char* gfxgraph_version(void) noexcept { return GFXGRAPH_VERSION_TEXT; }

}  // extern "C"
