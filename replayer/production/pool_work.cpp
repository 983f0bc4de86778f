#include "replayer/production/pool_work.h"

#include <dlfcn.h>

#include <utility>

namespace gfxgraph::replayer {
namespace {

// The process's own function, where a recorder puts its hooks.
template <typename Function>
Function* hooked(const char* name, Function* otherwise) {
  void* const found = ::dlsym(RTLD_DEFAULT, name);
  return found == nullptr ? otherwise : reinterpret_cast<Function*>(found);
}

}  // namespace

PoolWork::PoolWork(std::unique_ptr<const PoolSettings> settings,
                   std::shared_ptr<const HipLibrary> library, int device)
    : settings_(std::move(settings)),
      library_(std::move(library)),
      device_(device),
      malloc_(hooked("hipMalloc", library_->table().hipMalloc)),
      free_(hooked("hipFree", library_->table().hipFree)) {
  if (library_->avoids(HipQuirk::kGraphKernelsMix)) launch_lock_ = LaunchLock::of_process();
}

int32_t PoolWork::call(uint64_t size, void* const* memory, hip::Stream stream,
                       bool captured) const {
  const gfxgraph_call_t call{sizeof call, captured ? 1u : 0u, size, memory, stream};
  // Its launches may be of kernels that graphs of other buckets launch now.
  const auto lock = launch_lock_ ? launch_lock_->launching() : LaunchLock::Launching();
  return settings_->work(settings_->work_context, &call);
}

void PoolWork::tell(const gfxgraph_fall_t& fall) const {
  if (settings_->fell != nullptr) settings_->fell(settings_->fell_context, &fall);
}

bool PoolWork::reserve(uint64_t bytes) noexcept {
  uint64_t before = reserved_.load();
  do {
    if (settings_->max_device_bytes == 0) continue;
    if (before > settings_->max_device_bytes || bytes > settings_->max_device_bytes - before)
      return false;
  } while (!reserved_.compare_exchange_weak(before, before + bytes));
  return true;
}

Result<void*> PoolWork::allocate(uint64_t bytes) const {
  void* memory = nullptr;
  GFXGRAPH_TRY(library_->check(malloc_(&memory, bytes), "hipMalloc"));
  return memory;
}

void PoolWork::free(void* memory) const noexcept {
  if (memory != nullptr && free_(memory) != hip::kSuccess) library_->table().hipGetLastError();
}

}  // namespace gfxgraph::replayer
