#include "hsa/release_callbacks.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <mutex>
#include <vector>

#include "hsa/memory.h"
#include "hsa/runtime.h"

namespace gfxgraph::hsa {
namespace {

struct Registered {
  uint64_t allocation;  // its first byte
  void* pointer;        // as registered
  hsa_amd_deallocation_callback_t callback;
  void* data;
};

struct Callbacks {
  std::mutex mutex;
  std::vector<Registered> registered;
  std::vector<uint64_t> in_release;
};

Callbacks& callbacks() {
  static auto* const instance = new Callbacks();
  return *instance;
}

}  // namespace

void tell_of_release(const void* pointer) {
  Callbacks& all = callbacks();
  const auto allocation = reinterpret_cast<uint64_t>(pointer);
  std::vector<Registered> due;
  {
    const std::lock_guard lock(all.mutex);
    if (all.registered.empty()) return;
    const auto rest =
        std::stable_partition(all.registered.begin(), all.registered.end(),
                              [&](const Registered& one) { return one.allocation != allocation; });
    due.assign(std::make_move_iterator(rest), std::make_move_iterator(all.registered.end()));
    all.registered.erase(rest, all.registered.end());
    if (due.empty()) return;
    all.in_release.push_back(allocation);
  }
  for (const Registered& one : due) one.callback(one.pointer, one.data);
  const std::lock_guard lock(all.mutex);
  all.in_release.erase(std::ranges::find(all.in_release, allocation));
}

bool is_being_released(const void* pointer) {
  Callbacks& all = callbacks();
  const std::lock_guard lock(all.mutex);
  return std::ranges::find(all.in_release, reinterpret_cast<uint64_t>(pointer)) !=
         all.in_release.end();
}

}  // namespace gfxgraph::hsa

using namespace gfxgraph;       // NOLINT: entry points are C
using namespace gfxgraph::hsa;  // NOLINT

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_amd_register_deallocation_callback(
    void* pointer, hsa_amd_deallocation_callback_t callback, void* data) {
  return entry("hsa_amd_register_deallocation_callback", [&] {
    if (pointer == nullptr || callback == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    const std::optional<Allocation> found = find_allocation(pointer);
    if (!found || found->locked || found->pool == Pool::kNone)
      return HSA_STATUS_ERROR_INVALID_ALLOCATION;
    Callbacks& all = callbacks();
    const std::lock_guard lock(all.mutex);
    all.registered.push_back({found->address, pointer, callback, data});
    return HSA_STATUS_SUCCESS;
  });
}

GFXGRAPH_HSA_EXPORT hsa_status_t
hsa_amd_deregister_deallocation_callback(void* pointer, hsa_amd_deallocation_callback_t callback) {
  return entry("hsa_amd_deregister_deallocation_callback", [&] {
    if (pointer == nullptr || callback == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    Callbacks& all = callbacks();
    const std::lock_guard lock(all.mutex);
    const auto found = std::ranges::find_if(all.registered, [&](const Registered& one) {
      return one.pointer == pointer && one.callback == callback;
    });
    if (found == all.registered.end()) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    all.registered.erase(found);
    return HSA_STATUS_SUCCESS;
  });
}
