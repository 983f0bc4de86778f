// Where bytes of the arena change from one allocation to another.
#include <fmt/format.h>

#include <algorithm>

#include "replayer/session/instance.h"

namespace gfxgraph::replayer {

Result<void> Instance::prepare_turnovers() {
  const Packing& packing = memory().packing();
  if (packing.turnovers.empty()) return {};
  const auto lives_on = [&](const AllocationInfo& info, uint64_t border) {
    return info.begin_sequence < border && info.end_sequence >= border;
  };
  for (const Tenant& tenant : packing.tenants) {
    const AllocationInfo& info = program_->allocations()[tenant.allocation - 1];
    if (!memory().shares(tenant.allocation) ||
        (!lives_on(info, program_->first_event()) && !lives_on(info, program_->end_event()))) {
      continue;
    }
    return fail(Status::kUnsupported,
                fmt::format("buffer {} is alive where the step begins or ends, and shares its "
                            "memory with others; create the session with separate buffers",
                            tenant.allocation));
  }
  // Turnovers count the operations of the whole trace.
  const auto& whole = session_->program()->operations();
  const auto found =
      std::ranges::lower_bound(whole, program_->first_event(), {}, &Operation::sequence);
  const auto first = static_cast<uint32_t>(found - whole.begin());
  for (const Turnover& turnover : packing.turnovers) {
    if (turnover.operation < first || turnover.operation - first >= prepared_.all.size()) continue;
    turnovers_.push_back(turnover);
    turnovers_.back().operation -= first;
    prepared_.all[turnovers_.back().operation].turns = true;
  }
  return {};
}

std::span<const Turnover> Instance::turnovers(uint32_t operation) const {
  if (!prepared_.all[operation].turns) return {};
  const auto [first, last] =
      std::ranges::equal_range(turnovers_, operation, {}, &Turnover::operation);
  return {first, last};
}

hip::Error Instance::submit_turnovers(uint32_t operation, hip::Stream stream) noexcept {
  const Memory& memory = this->memory();
  hip::Error code = hip::kSuccess;
  for (const Turnover& turnover : turnovers(operation)) {
    for (const EndedBytes& ended : turnover.ended) {
      if (memory.kept() == nullptr || code != hip::kSuccess) break;
      code = hip().hipMemcpyAsync(memory.kept() + ended.kept_offset,
                                  memory.arena() + ended.arena_offset, ended.size_bytes,
                                  hip::kDeviceToHost, stream);
    }
    if (code != hip::kSuccess) break;
    code =
        hip().hipMemsetAsync(memory.arena() + turnover.arena_offset,
                             memory.fresh_byte_now(turnover.begins), turnover.size_bytes, stream);
  }
  return code;
}

}  // namespace gfxgraph::replayer
