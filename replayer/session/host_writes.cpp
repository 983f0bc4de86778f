#include "replayer/session/host_writes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "replayer/session/moves.h"

namespace gfxgraph::replayer {

[[gnu::cold]] Result<void> HostWrites::prepare(const Program& program, Memory& memory) {
  for (size_t i = 0; i < program.host_writes().size(); ++i) {
    const format::HostWrite& recorded = *program.host_writes()[i];
    const std::string where = fmt::format("host write {} to allocation {}", i, recorded.allocation);
    if (!recorded.content.stored)
      return fail(Status::kIncomplete, fmt::format("{} is not in the trace, only its hash", where));
    Prepared write;
    write.destination = memory.host_pointer(recorded.allocation) + recorded.offset_bytes;
    write.in_doubt = recorded.in_doubt;
    GFXGRAPH_ASSIGN_OR_RETURN(write.bytes, program.trace().content(recorded.content));
    if (write.bytes.size() != recorded.content.size_bytes)
      return fail(Status::kCorrupt, where + ": wrong size");
    GFXGRAPH_TRY(memory.addresses().apply(write.bytes, recorded.content.relocations, where));
    writes_.push_back(std::move(write));
  }
  return {};
}

void HostWrites::apply(uint32_t first, uint32_t count) noexcept {
  for (uint32_t i = 0; i < count; ++i) apply_one(first + i);
}

void HostWrites::apply_one(uint32_t index) noexcept {
  Prepared& write = writes_[index];
  if (index == 0) {
    doubtful_ = {};
    ++runs_;
  }
  if (write.bytes.empty()) return;
  if (write.in_doubt) {
    const bool stands = std::memcmp(write.destination, write.bytes.data(), write.bytes.size()) == 0;
    // In later runs it may stand there since the one before.
    if (stands && runs_ == 1) write.made = true;
    // Effects of a kernel with other arguments are not undone.
    if (stands || write.made) {
      ++doubtful_.made;
      return;
    }
    if (doubtful_.given++ == 0) doubtful_.first_given = index;
  }
  std::memcpy(write.destination, write.bytes.data(), write.bytes.size());
}

void HostWrites::set(uint32_t index, std::span<const std::byte> bytes) noexcept {
  Prepared& write = writes_[index];
  std::memcpy(write.bytes.data(), bytes.data(), std::min(bytes.size(), write.bytes.size()));
  write.given = true;
}

void HostWrites::follow(const Move& move, const Program& program) noexcept {
  for (size_t i = 0; i < writes_.size(); ++i) {
    const format::HostWrite& recorded = *program.host_writes()[i];
    follow_move(move, writes_[i].destination, recorded.allocation);
    if (!writes_[i].given) follow_move(move, writes_[i].bytes, recorded.content.relocations);
  }
}

}  // namespace gfxgraph::replayer
