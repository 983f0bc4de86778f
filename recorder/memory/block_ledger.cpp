#include "recorder/memory/block_ledger.h"

#include <xxhash.h>

#include <algorithm>
#include <vector>

namespace gfxgraph::recorder {
namespace {

uint64_t hash_of(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

bool has_kernel(std::span<const Flight> flights) {
  return std::ranges::any_of(flights, &Flight::kernel);
}

// The bytes of `saved`, but those of `now` at the places where `takes` holds. Nothing if they have
// different sizes.
template <typename Takes>
std::optional<std::vector<std::byte>> merged(const HashedBytes& saved,
                                             std::span<const std::byte> now, Takes&& takes) {
  std::vector<std::byte> then = saved.bytes.all();
  if (then.size() != now.size()) return std::nullopt;
  for (size_t i = 0; i < now.size(); ++i) {
    if (takes(i)) then[i] = now[i];
  }
  return then;
}

}  // namespace

BlockLedger::Writer BlockLedger::writer_beside(const Allocation& allocation, bool named) noexcept {
  if (allocation.used_by_others) return Writer::kEither;
  if (allocation.made_by == thread_number()) return Writer::kDevice;
  return named ? Writer::kEither : Writer::kProgram;
}

bool BlockLedger::holds_what_was_saved(const Allocation& allocation, uint64_t block) {
  if (allocation.plain_host) return false;
  const HashedBytes* const saved = allocation.blocks.saved(block);
  return saved == nullptr || saved->hash == block_hash(allocation, block);
}

bool BlockLedger::changed_in_flight(const Allocation& allocation, uint64_t block,
                                    const HashedBytes& saved, std::span<const Flight> over) {
  if (!named_kernel(over) || holds_what_was_saved(allocation, block)) return false;
  const std::optional<std::vector<std::byte>> now = host_block(allocation, block);
  if (!now || saved.holds(*now)) return false;
  const std::vector<std::byte> then = saved.bytes.all();
  for (size_t i = 0; i < std::min(now->size(), then.size()); ++i) {
    if ((*now)[i] != then[i] && !copied(over, block * kHostBlockBytes + i)) return true;
  }
  return false;
}

std::optional<bool> BlockLedger::at_rest(Allocation& allocation, uint64_t block,
                                         std::span<const std::byte> now, uint64_t hash) {
  using Meanwhile = HostEffects::Meanwhile;
  std::vector<HostEffects::Change> changes;
  const std::optional<Meanwhile> meanwhile =
      runs_.effects().changed_meanwhile(allocation, block, now, changes);
  if (!meanwhile) return std::nullopt;
  if (meanwhile == Meanwhile::kMixed) {
    finding(format::FindingKind::kIncomplete, "host function",
            "the program and a host function concurrently wrote memory that kernels read; which of "
            "the bytes they read is unknown");
  }
  // Only what a running function changed: it may still write the rest of the block.
  for (const HostEffects::Change& change : changes) {
    write(allocation, change.offset_bytes, change.bytes.all());
  }
  if (meanwhile == Meanwhile::kTold) return false;
  runs_.deferred().rewritten(allocation, block);
  allocation.blocks.know(block, hash);
  allocation.blocks.settle(block, hash);
  return true;
}

void BlockLedger::beside_work(Allocation& allocation, uint64_t block,
                              std::span<const Flight> flights, std::span<const std::byte> now) {
  runs_.effects().take();
  const uint64_t base = block * kHostBlockBytes;
  const HashedBytes* const saved = allocation.blocks.saved(block);
  if (saved == nullptr) return;
  const bool unknown = late_reads_.is_being_read(allocation.id, base);
  if (!unknown && saved->holds(now)) return;
  std::vector<std::byte> then = saved->bytes.all();
  if (now.size() != then.size()) return;
  std::vector<bool> written = changed_beside_copies(now, then, base, flights);
  if (unknown) {
    for (size_t i = 0; i < now.size(); ++i) written[i] = !copied(flights, base + i);
    late_reads_.supersede(allocation.id, base);
  }
  take_whole_pointers(now, allocations_.words(), written);
  const bool named = named_kernel(flights);
  bool any = false;
  each_run(written, [&](size_t begin, size_t size) {
    write(allocation, base + begin, now.subspan(begin, size), named);
    std::ranges::copy(now.subspan(begin, size), then.begin() + static_cast<ptrdiff_t>(begin));
    any = true;
  });
  if (!any) return;
  allocation.blocks.save(block, store_.keep_hashed(then));
  if (!has_kernel(flights)) return;
  // A kernel may write the block again; once it is known to have ended, that is recorded as well.
  allocation.blocks.doubt(block);
  if (named) finding(format::FindingKind::kNote, "host memory", kInDoubt);
}

bool BlockLedger::in_launch(Allocation& allocation, uint64_t block, std::span<const Flight> flights,
                            std::span<const std::byte> now, Writer writer) {
  BlockStates& states = allocation.blocks;
  if (states.doubted(block)) return false;
  const uint64_t base = block * kHostBlockBytes;
  const HashedBytes* const saved = states.saved(block);
  const uint64_t hash = hash_of(now);
  if (flights.empty() || saved == nullptr) {
    if (writer != Writer::kDevice && hash != states.known(block)) {
      write(allocation, base, now, writer == Writer::kEither);
      if (!flights.empty()) states.doubt(block);
    }
    if (writer != Writer::kDevice || flights.empty()) states.know(block, hash);
    return !flights.empty();
  }
  if (saved->bytes.size() == now.size() && saved->hash == hash) {
    states.settle(block, hash);
    return false;
  }
  if (writer == Writer::kEither) states.doubt(block);
  if (writer != Writer::kDevice) return false;  // the next look finds it
  const auto state = merged(*saved, now, [&](size_t i) { return !copied(flights, base + i); });
  if (!state) return false;
  states.save(block, store_.keep_hashed(*state));
  states.settle(block, hash);
  return false;
}

void BlockLedger::ended(Allocation& allocation, uint64_t block, std::span<const Flight> landing,
                        std::span<const Flight> left, std::span<const std::byte> now) {
  const uint64_t base = block * kHostBlockBytes;
  std::vector<Flight> over(left.begin(), left.end());
  bool late = false;
  bool kernel = false;
  bool copies = false;
  for (const Flight& flight : landing) {
    if (flight.allocation != allocation.id || flight.begin >= base + kHostBlockBytes ||
        flight.end <= base) {
      continue;
    }
    over.push_back(flight);
    over.back().done = true;
    late = late || flight.late;
    copies = copies || !flight.kernel;
    kernel = kernel || (flight.kernel && flight.named);
  }
  // Changes that no copy made are the program's; after kernels, only blocks in doubt are compared.
  BlockStates& states = allocation.blocks;
  const bool doubted = states.doubted(block) || writer_beside(allocation, true) != Writer::kDevice;
  if (kernel ? doubted : !named_kernel(left)) beside_work(allocation, block, over, now);
  if (left.empty()) {
    states.unsave(block);
    states.undoubt(block);
    allocation.found_in_doubt = 0;
  }
  if (now.empty() || block >= states.count()) return;
  const uint64_t hash = hash_of(now);
  if (late) {
    // A comparison with the bytes that preceded the work would miss that the host restored them.
    if (left.empty() &&
        (hash != states.known(block) || !runs_.effects().told_unchanged(allocation, block, copies)))
      states.know(block, kUnknownBlock);
    return;
  }
  const HashedBytes* const saved = states.saved(block);
  if (left.empty()) {
    states.know(block, hash);
    states.settle(block, hash);
  } else if (saved != nullptr && !saved->holds(now)) {
    const auto state = merged(*saved, now, [&](size_t i) {
      return !copied(left, base + i) && (kernel || copied(over, base + i));
    });
    if (state) states.save(block, store_.keep_hashed(*state));
  }
}

void BlockLedger::write(Allocation& allocation, uint64_t begin, std::span<const std::byte> bytes,
                        bool in_doubt) {
  if (guard_.issuing().long_one()) {
    finding(format::FindingKind::kIncomplete, "host memory",
            "it changed while another thread launched kernels that may write it, in a call that "
            "took long; who wrote it, and before what, is unknown");
  }
  allocation.write_known(begin, bytes);
  // Not append(): it records host functions that ran, which is where this call may come from.
  events_.push(
      format::HostWrite{allocation.id, begin, contents_.make_content(bytes, true), in_doubt});
}

void BlockLedger::write(Allocation& allocation, uint64_t begin, uint64_t size_bytes,
                        const ReadPiece& read) {
  auto content = contents_.take_content(size_bytes, true, allocations_.words(), nullptr,
                                        [&](uint64_t offset, std::span<std::byte> piece) {
                                          if (!read(offset, piece)) return false;
                                          allocation.write_known(begin + offset, piece);
                                          return true;
                                        });
  if (!content) {
    allocation.last_known = {};  // the trace lacks this write
    return finding(format::FindingKind::kIncomplete, "host memory",
                   "the program made memory unreadable while its new contents were read");
  }
  events_.push(format::HostWrite{allocation.id, begin, *std::move(content)});
}

}  // namespace gfxgraph::recorder
