// What a look at one block of host-visible memory means: who wrote what has changed, what the trace
// is told of it, and what the block is compared with from then on. When to look, and at which
// blocks, is decided by HostWrites. The recorder's lock guards it.
//
// A block has a `known` state (a hash), and while work is in flight over it a `saved` one (bytes):
// what the trace has of it. It is `doubted` if it changed before a kernel that may write it was
// known to have ended. "beside copies": the bytes that no copy in flight writes.
//
// clang-format off
//  the look              work in flight    changed    written by  the trace gets              the block is then
//  --------------------  ----------------  ---------  ----------  --------------------------  -----------------------------------
//  before a reader       none              known      program     a host write (1)            known as it is
//   at_rest()            copies            saved      program     a host write beside copies  saved as it is, beside copies
//   beside_work()        a kernel          saved      either      a host write beside copies  the same, and doubted (2)
//
//  while a kernel is     none              known      device      nothing                     known as it is
//  launched or waited    none              known      program     a host write                known as it is
//  for                   none              known      either      a host write in doubt       known as it is
//   in_launch()          some, not saved   known      as above    as above                    saved as it is; doubted if not device
//                        some              saved      device      nothing                     saved as it is, beside copies
//                        some              saved      program     nothing                     for the next look
//                        some              saved      either      nothing                     doubted
//                        some, doubted     -          -           nothing                     for ended()
//
//  work has ended        no kernel, or     saved      either      a host write beside copies  saved as it is, beside copies
//   ended()              doubted
//                        then: none left   -          -           nothing                     known as it is; unknown if late (3)
//                        then: some left   saved      device      nothing                     saved with what the ended work wrote
// clang-format on
//
// (1) Changes of host functions that run are theirs. (2) In doubt if the kernel was given the
// memory. (3) The host may have put back, since, what was there before the work.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "recorder/bytes/kept_bytes.h"
#include "recorder/core.h"
#include "recorder/events/events.h"
#include "recorder/events/flights.h"
#include "recorder/events/host_runs.h"
#include "recorder/memory/contents.h"
#include "recorder/memory/host_blocks.h"
#include "recorder/memory/late_reads.h"
#include "recorder/objects/allocations.h"

namespace gfxgraph::recorder {

class BlockLedger : private Part {
 public:
  static constexpr const char* kInDoubt =
      "changed during a kernel that has its address, by the program or by the kernel: a replay "
      "writes it if its own kernels do not";

  BlockLedger(const Core& core, ByteStore& store, const Allocations& allocations, HostRuns& runs,
              Events& events, Contents& contents, LateReads& late_reads) noexcept
      : Part(core),
        store_(store),
        allocations_(allocations),
        runs_(runs),
        events_(events),
        contents_(contents),
        late_reads_(late_reads) {}

  // Who wrote what has changed since the last look, if a thread of the program stands in a launch
  // or a wait meanwhile. `named`: a kernel was given the memory.
  enum class Writer : uint8_t { kDevice, kProgram, kEither };
  static Writer writer_beside(const Allocation& allocation, bool named) noexcept;

  // ---- looks ------------------------------------------------------------------------------------
  // No work is in flight, and `now` has another hash than the known one. True: it is to be written
  // as the program's, and is known as that. Nothing: a function of the program has ended since the
  // bytes were read; look again.
  std::optional<bool> at_rest(Allocation& allocation, uint64_t block,
                              std::span<const std::byte> now, uint64_t hash);
  // `flights` are over the block.
  void beside_work(Allocation& allocation, uint64_t block, std::span<const Flight> flights,
                   std::span<const std::byte> now);
  // True: the block is to be saved as it is now.
  bool in_launch(Allocation& allocation, uint64_t block, std::span<const Flight> flights,
                 std::span<const std::byte> now, Writer writer);
  // `landing` has ended, `left` is still in flight over the block.
  void ended(Allocation& allocation, uint64_t block, std::span<const Flight> landing,
             std::span<const Flight> left, std::span<const std::byte> now);
  // Whether bytes of the block changed beside copies, while a kernel in flight was given the memory
  // and may have written them.
  static bool changed_in_flight(const Allocation& allocation, uint64_t block,
                                const HashedBytes& saved, std::span<const Flight> over);
  // By hash, without keeping the bytes. Also where nothing was saved.
  static bool holds_what_was_saved(const Allocation& allocation, uint64_t block);

  // ---- host writes ------------------------------------------------------------------------------
  void write(Allocation& allocation, uint64_t begin, std::span<const std::byte> bytes,
             bool in_doubt = false);
  // For any size: the content is read in pieces.
  void write(Allocation& allocation, uint64_t begin, uint64_t size_bytes, const ReadPiece& read);

 private:
  ByteStore& store_;
  const Allocations& allocations_;
  HostRuns& runs_;
  Events& events_;
  Contents& contents_;
  LateReads& late_reads_;
};

}  // namespace gfxgraph::recorder
