// Waves that run words put into memory by hand, step by step, and what is proven of them. Each is a
// workgroup, whose number is in s0.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "emulator/analysis/closure.h"
#include "emulator/engine/gws.h"

namespace gfxgraph::emulator {
GFXGRAPH_DECLARE_BACKENDS(kPlainBackend);

namespace testing {

class LoopHost {
 public:
  static constexpr uint64_t kBytes = 1 << 16;
  static constexpr uint32_t kLdsBytes = 4096;

  explicit LoopHost(bool wave64, uint32_t waves = 1)
      : groups_(waves),
        backend_(select_backend(GFXGRAPH_BACKEND_SET(kPlainBackend))),
        code_(memory_map_, backend_, nullptr, CodeCache::WaveSize::k32),
        code64_(memory_map_, backend_, nullptr, CodeCache::WaveSize::k64) {
    memory_ = add(kBytes, RegionKind::kCode);
    data_ = add(kBytes, RegionKind::kDevice);
    // Code begins 256 bytes after the descriptor; all VGPRs, float mode as compilers set it.
    put<int64_t>(16, 256);
    put<uint32_t>(48, 0xf0u << 12 | 1u << 21 | 1u << 23 | (wave64 ? 63u : 31u));
    put<uint32_t>(52, 1u << 7);
    put<uint16_t>(56, wave64 ? 0 : 1 << 10);
    dispatch_.kernel_object = reinterpret_cast<uint64_t>(memory_);
    dispatch_.workgroup_size = {static_cast<uint16_t>(wave64 ? 64 : 32), 1, 1};
    dispatch_.grid_size = {(wave64 ? 64u : 32u) * waves, 1, 1};
    dispatch_.group_segment_bytes = kLdsBytes;
  }
  // The waves stand before the first of these words.
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
    for (uint32_t n = 0; n < groups_.size(); ++n)
      GroupStarter(*launch_, backend_, nullptr, context_).start(groups_[n], n);
  }
  void run(uint64_t instructions, uint32_t n = 0) {
    if (ended(n)) return;
    wave(n).slice = instructions;
    backend_.run(wave(n));
    groups_[n].states[0] = wave(n).exit;
    if (ended(n)) groups_[n].live = 0;
  }
  bool ended(uint32_t n = 0) const {
    return groups_[n].states[0] == WaveExit::kEnded || groups_[n].states[0] == WaveExit::kFault;
  }
  // Those that have not ended.
  bool never_end() {
    std::vector<ResidentGroup*> groups;
    for (ResidentGroup& group : groups_) groups.push_back(&group);
    return ClosureProof(*launch_, context_, ClosureProof::Limits()).holds(groups);
  }
  Wave& wave(uint32_t n = 0) { return *groups_[n].waves[0]; }
  std::byte* data() { return data_; }
  const Inst* decoded_at(uint64_t pc) {
    const Inst* slot = wave().code_cache->at(pc);
    return slot->advance != 0 ? slot : wave().code_cache->decode_slot(wave(), slot);
  }

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

  std::vector<ResidentGroup> groups_;
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
  std::byte* memory_ = nullptr;
  std::byte* data_ = nullptr;
};

}  // namespace testing
}  // namespace gfxgraph::emulator
