// One wave that runs words put into memory by hand, step by step, and what is proven of it.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "emulator/closure.h"
#include "emulator/gws.h"

namespace gfxgraph::emulator {
GFXGRAPH_DECLARE_BACKENDS(kPlainBackend);

namespace testing {

class LoopHost {
 public:
  static constexpr uint64_t kBytes = 1 << 16;
  static constexpr uint32_t kLdsBytes = 4096;

  explicit LoopHost(bool wave64)
      : backend_(select_backend(GFXGRAPH_BACKEND_SET(kPlainBackend))),
        code_(memory_map_, backend_, nullptr, CodeCache::WaveSize::k32),
        code64_(memory_map_, backend_, nullptr, CodeCache::WaveSize::k64) {
    memory_ = add(kBytes, RegionKind::kCode);
    data_ = add(kBytes, RegionKind::kDevice);
    // Code begins 256 bytes after the descriptor; all VGPRs, float mode as compilers set it.
    put<int64_t>(16, 256);
    put<uint32_t>(48, 0xf0u << 12 | 1u << 21 | 1u << 23 | (wave64 ? 63u : 31u));
    put<uint16_t>(56, wave64 ? 0 : 1 << 10);
    dispatch_.kernel_object = reinterpret_cast<uint64_t>(memory_);
    dispatch_.workgroup_size = {static_cast<uint16_t>(wave64 ? 64 : 32), 1, 1};
    dispatch_.grid_size = {wave64 ? 64u : 32u, 1, 1};
    dispatch_.group_segment_bytes = kLdsBytes;
  }
  // The wave stands before the first of these words.
  void start(const std::vector<uint32_t>& words) {
    code_.drop(dispatch_.kernel_object, kBytes);
    code64_.drop(dispatch_.kernel_object, kBytes);
    std::memcpy(memory_ + 256, words.data(), words.size() * 4);
    launch_ =
        std::make_unique<Launch>(prepare_launch(dispatch_, memory_map_, code_, code64_).value());
    context_.dispatch = &launch_->dispatch;
    context_.memory = &memory_map_;
    context_.code = &launch_->code->default_mode;
    context_.code_any_mode = &launch_->code->any_mode;
    context_.gws = &gws_;
    context_.options = &options_;
    GroupStarter(*launch_, backend_, nullptr, context_).start(group_, 0);
  }
  void run(uint64_t instructions) {
    if (ended()) return;
    wave().slice = instructions;
    backend_.run(wave());
    group_.states[0] = wave().exit;
    if (ended()) group_.live = 0;
  }
  bool ended() const {
    return group_.states[0] == WaveExit::kEnded || group_.states[0] == WaveExit::kFault;
  }
  bool never_ends() {
    return !ended() && ClosureProof(*launch_, context_, ClosureProof::Limits()).holds({&group_});
  }
  Wave& wave() { return *group_.waves[0]; }
  std::byte* data() { return data_; }
  const Inst* decoded_at(uint64_t pc) {
    const Inst* slot = wave().code_cache->at(pc);
    return slot->advance != 0 ? slot : wave().code_cache->decode_slot(wave(), slot);
  }
  ResidentGroup& group() { return group_; }

 private:
  struct Free {
    void operator()(std::byte* p) const { ::operator delete[](p, std::align_val_t{4096}); }
  };
  std::byte* add(uint64_t bytes, RegionKind kind) {
    storage_.emplace_back(new (std::align_val_t{4096}) std::byte[bytes]());
    Region region;
    region.address = reinterpret_cast<uint64_t>(storage_.back().get());
    region.requested_bytes = region.mapped_bytes = bytes;
    region.host = storage_.back().get();
    region.kind = kind;
    static_cast<void>(memory_map_.add(region));
    return region.host;
  }
  template <typename T>
  void put(size_t offset, T value) {
    std::memcpy(memory_ + offset, &value, sizeof(value));
  }

  MemoryMap memory_map_;
  std::vector<std::unique_ptr<std::byte[], Free>> storage_;
  const Backend& backend_;
  CodeCaches code_;
  CodeCaches code64_;
  Gws gws_;
  EngineOptions options_;
  Dispatch dispatch_;
  DispatchContext context_;
  std::unique_ptr<Launch> launch_;
  ResidentGroup group_;
  std::byte* memory_ = nullptr;
  std::byte* data_ = nullptr;
};

}  // namespace testing
}  // namespace gfxgraph::emulator
