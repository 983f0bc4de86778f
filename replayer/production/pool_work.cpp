#include "replayer/production/pool_work.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
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
      free_(hooked("hipFree", library_->table().hipFree)),
      exchange_mode_(hooked("hipThreadExchangeStreamCaptureMode",
                            library_->table().hipThreadExchangeStreamCaptureMode)) {
  if (library_->avoids(HipQuirk::kGraphKernelsMix)) launch_lock_ = LaunchLock::of_process();
}

gfxgraph_call_t PoolWork::describe(uint64_t size, uint64_t max_length, void* const* memory,
                                   hip::Stream stream, bool captured) const {
  gfxgraph_call_t call{};
  call.struct_size = sizeof call;
  call.captured = captured ? 1 : 0;
  call.size = size;
  call.memory = memory;
  call.hip_stream = stream;
  call.max_length = max_length;
  if (settings_->decode.on) {
    const size_t own = settings_->own_tensors();
    call.lengths = static_cast<int32_t*>(memory[own]);
    call.block_table = static_cast<int32_t*>(memory[own + 1]);
  }
  return call;
}

int32_t PoolWork::call(uint64_t size, uint64_t max_length, void* const* memory, hip::Stream stream,
                       bool captured) const {
  const gfxgraph_call_t call = describe(size, max_length, memory, stream, captured);
  const auto lock = launching();
  return settings_->work(settings_->work_context, &call);
}

int32_t PoolWork::call_border(const gfxgraph_border_t& border, const gfxgraph_call_t& call) const {
  const auto lock = launching();
  return settings_->border.call(settings_->border.context, &border, &call);
}

void PoolWork::tell(const gfxgraph_fall_t& fall) const {
  if (settings_->fell != nullptr) settings_->fell(settings_->fell_context, &fall);
}

std::optional<std::string> PoolWork::check_share(uint64_t bytes) const {
  const double share = settings_->room.max_share;
  if (share == 0 || bytes == 0) return std::nullopt;
  size_t free = 0, total = 0;
  const hip::Error code = library_->table().hipMemGetInfo(&free, &total);
  if (code != hip::kSuccess)
    return library_->error(code, "max_device_share needs hipMemGetInfo").message;
  const size_t used = total - std::min(free, total);
  const double most = share * static_cast<double>(total);
  if (static_cast<double>(used) + static_cast<double>(bytes) <= most) return std::nullopt;
  return fmt::format(
      "the device has {} of {} bytes in use, {:.0f} at most by max_device_share {}: raise it", used,
      total, most, share);
}

std::optional<std::string> PoolWork::reserve(uint64_t bytes) {
  if (std::optional<std::string> full = check_share(bytes)) return full;
  uint64_t before = reserved_.load();
  do {
    const uint64_t most = settings_->room.max_bytes;
    if (most != 0 && (before > most || bytes > most - before))
      return fmt::format("the pool has {} of {}: raise max_device_bytes", before, most);
  } while (!reserved_.compare_exchange_weak(before, before + bytes));
  return std::nullopt;
}

Result<void> PoolWork::copy(void* to, const void* from, uint64_t bytes, hip::Stream stream,
                            std::string_view what) const {
  const hip::Error code =
      library_->table().hipMemcpyAsync(to, from, bytes, hip::kCopyDefault, stream);
  if (code == hip::kSuccess) [[likely]]
    return {};
  return tl::unexpected<Error>(library_->error(code, fmt::format("a copy of {}", what)));
}

Result<void*> PoolWork::allocate(uint64_t bytes) const {
  void* memory = nullptr;
  GFXGRAPH_TRY(library_->check(malloc_(&memory, bytes), "hipMalloc"));
  return memory;
}

void PoolWork::free(void* memory) const noexcept {
  const RelaxedCapture relaxed(exchange_mode_);
  if (memory != nullptr && free_(memory) != hip::kSuccess) library_->table().hipGetLastError();
}

}  // namespace gfxgraph::replayer
