#include "emulator/engine/wave.h"

#include "emulator/engine/context.h"
#include "emulator/memory/access_watch.h"

namespace gfxgraph::emulator {

uint64_t Wave::special(const Inst* inst, int n, bool wide) const {
  // The 32-bit form of an aperture register reads the low half, which is 0.
  switch (inst->src[n]) {
    case operand::kSharedBase: return wide ? uint64_t{dispatch->group_aperture_hi} << 32 : 0;
    case operand::kSharedLimit:
      return wide ? uint64_t{dispatch->group_aperture_hi} << 32 | 0xffffffffu : 0xffffffffu;
    case operand::kPrivateBase: return wide ? uint64_t{dispatch->private_aperture_hi} << 32 : 0;
    case operand::kPrivateLimit:
      return wide ? uint64_t{dispatch->private_aperture_hi} << 32 | 0xffffffffu : 0xffffffffu;
    case operand::kVccz: return vcc_is_zero();
    case operand::kExecz: return exec_is_zero();
    case operand::kScc: return scc;
    default: return inst->k[n];  // an ordinary constant next to a special source
  }
}

void Wave::write_special(uint16_t code, uint32_t value) {
  if (code == operand::kExecLo) {
    set_exec(value);
  } else if (code == operand::kExecHi) {
    sgpr[code] = value;
    if (upper != nullptr) upper->set_exec(value);
  }
  // null: discard
}

const std::byte* find_range(Wave& wave, RegionCacheEntry& entry, uint64_t address, uint64_t bytes,
                            bool write) {
  if (address - wave.scratch_base < wave.scratch_bytes) {
    if (bytes > wave.scratch_bytes - (address - wave.scratch_base)) return nullptr;
    entry = {wave.scratch_base, wave.scratch_bytes, wave.scratch, wave.scratch_bytes, 0};
    return wave.scratch + (address - wave.scratch_base);
  }
  const uint64_t mask = wave.dispatch->address_mask;
  const auto table = wave.dispatch->memory->snapshot();
  const Region* region = table->find(address & mask);
  if (region == nullptr || !region->contains(address & mask, bytes) || (write && region->read_only))
    return nullptr;
  AccessWatch* const watch = AccessWatch::current();
  if (watch != nullptr && !watch->access(*region, address & mask, bytes, write)) return nullptr;
  // The entry keeps the ignored address bits, so that hits need no masking.
  entry.base = (address & ~mask) | region->address;
  entry.size = region->mapped_bytes;
  entry.host = region->host;
  // While memory is watched, every write must take this path.
  entry.writable_size = region->read_only || watch != nullptr ? 0 : region->mapped_bytes;
  entry.requested_size = region->requested_bytes;
  return entry.host + (address - entry.base);
}

}  // namespace gfxgraph::emulator
