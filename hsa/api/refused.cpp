// The entry points that the agent does not support: each logs its name once and returns its status.
// Does not include the HSA headers: the functions ignore their arguments, and the caller cleans
// them up (System V ABI).
#include <atomic>
#include <cstdint>

#include "base/log.h"

namespace {

uint32_t refuse_call(const char* name, uint32_t status, std::atomic<bool>& told) {
  if (!told.exchange(true)) {
    gfxgraph::log(gfxgraph::LogLevel::kWarning,
                  "{} is not supported by the software agent (status {:#x})", name, status);
  }
  return status;
}

}  // namespace

#define GFXGRAPH_HSA_CALL(name)
#define GFXGRAPH_HSA_REFUSED(name, status)                            \
  extern "C" __attribute__((visibility("default"))) uint32_t name() { \
    static std::atomic<bool> told{false};                             \
    return refuse_call(#name, status, told);                          \
  }
#include "hsa/api/hsa_calls.inc"
