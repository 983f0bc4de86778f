#include "replayer/check/stale_words.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>

#include "replayer/memory/relocation.h"

namespace gfxgraph::replayer {
namespace {

constexpr uint64_t kStaleWordBytes = sizeof(uint64_t);

// A matched word that is a handle, or an address in a code object.
struct Suspect {
  size_t word = 0;          // its index
  uint64_t place = 0;       // in the allocation
  uint64_t value = 0;       // as recorded
  uint64_t known_from = 0;  // the event with which the address existed
  uint64_t offset = 0;      // in the content that gave it
  std::byte bytes[kStaleWordBytes] = {};
};

bool is_number(const format::Content& content, uint64_t offset) {
  if (!content.stored || content.unwritten) return false;
  const auto next =
      std::ranges::lower_bound(content.relocations, offset < kStaleWordBytes ? 0 : offset - 7, {},
                               &format::Relocation::offset_bytes);
  return next == content.relocations.end() || next->offset_bytes >= offset + kStaleWordBytes;
}

// Nobody knows its address before it begins. A host knows that of a managed variable before its
// code is used.
bool begins_unknown(const format::AllocationBegin& target) {
  return target.object ||
         (target.kind == format::AllocationKind::kModuleGlobal && target.host_address == 0);
}

// By place.
std::vector<Suspect> find_suspects(const Program& program,
                                   const std::vector<format::Relocation>& words,
                                   const WordPlaces& place) {
  std::vector<Suspect> suspects;
  for (size_t i = 0; i < words.size(); ++i) {
    const format::Relocation& word = words[i];
    if (word.ambiguous || word.source != format::RelocationSource::kMatched) continue;
    if (word.allocation == 0 || word.allocation > program.allocations().size()) continue;
    const AllocationInfo& target = program.allocations()[word.allocation - 1];
    if (target.begin == nullptr || !begins_unknown(*target.begin)) continue;
    const std::optional<uint64_t> at = place(word.offset_bytes);
    if (!at) continue;
    suspects.push_back({i, *at, target.begin->recorded_address + static_cast<uint64_t>(word.addend),
                        target.begin_sequence});
  }
  std::ranges::sort(suspects, {}, &Suspect::place);
  return suspects;
}

// Those that lie in [begin, end), also in part.
std::span<Suspect> within(std::vector<Suspect>& suspects, uint64_t begin, uint64_t end) {
  const auto first = std::ranges::lower_bound(suspects, begin < kStaleWordBytes ? 0 : begin - 7, {},
                                              &Suspect::place);
  const auto last = std::ranges::lower_bound(first, suspects.end(), end, {}, &Suspect::place);
  return {first, last};
}

}  // namespace

std::vector<Given> all_given(const Program& program, format::AllocationId id, uint64_t sequence) {
  std::vector<Given> all;
  const AllocationInfo& info = program.allocations()[id - 1];
  all.push_back({info.begin_sequence, 0, info.begin->size_bytes, &info.begin->initial});
  for (const Call& call : program.calls()) {
    if (call.kind != CallKind::kHostWrite || call.sequence > sequence) continue;
    const format::HostWrite& write = *program.host_writes()[call.host_write];
    if (write.allocation != id) continue;
    all.push_back({call.sequence, write.offset_bytes, write.offset_bytes + write.content.size_bytes,
                   &write.content});
  }
  for (uint32_t i = 0; i < program.operations().size(); ++i) {
    const Operation& operation = program.operations()[i];
    if (operation.sequence > sequence) continue;
    if (operation.kind == OperationKind::kMemset && operation.memset->allocation == id) {
      all.push_back({operation.sequence, operation.memset->offset_bytes, UINT64_MAX, nullptr,
                     nullptr, i + 1});
    } else if (operation.kind == OperationKind::kCopy &&
               operation.copy->destination.allocation == id) {
      const format::Copy& copy = *operation.copy;
      // Boxes are taken to reach to the end.
      const uint64_t begin = copy.destination.offset_bytes;
      const bool linear = copy.height == 1 && copy.depth == 1;
      all.push_back({operation.sequence, begin, linear ? begin + copy.width_bytes : UINT64_MAX,
                     linear && copy.source.allocation == 0 ? &copy.host_source : nullptr, &copy,
                     i + 1});
    }
  }
  std::ranges::stable_sort(all, {}, &Given::sequence);
  return all;
}

Result<std::vector<format::Relocation>> doubt_stale_words(
    const Program& program, format::AllocationId allocation, uint64_t sequence,
    const std::vector<format::Relocation>& words, const WordPlaces& place) {
  std::vector<format::Relocation> doubted = words;
  std::vector<Suspect> suspects = find_suspects(program, words, place);
  if (suspects.empty()) return doubted;
  const std::vector<Given> all = all_given(program, allocation, sequence);
  // The last one counts: those behind it are asked first, and take what they cover away.
  for (auto given = all.rbegin(); given != all.rend() && !suspects.empty(); ++given) {
    const std::span<Suspect> covered = within(suspects, given->begin, given->end);
    if (covered.empty()) continue;
    std::vector<Suspect> asked;
    for (Suspect suspect : covered) {
      if (given->content == nullptr || given->sequence >= suspect.known_from ||
          suspect.place < given->begin || given->end - suspect.place < kStaleWordBytes) {
        continue;
      }
      suspect.offset = suspect.place - given->begin;
      if (is_number(*given->content, suspect.offset)) asked.push_back(suspect);
    }
    suspects.erase(suspects.begin() + (covered.data() - suspects.data()),
                   suspects.begin() + (covered.data() - suspects.data()) +
                       static_cast<ptrdiff_t>(covered.size()));
    if (asked.empty()) continue;
    const auto take = [&](uint64_t offset, std::span<const std::byte> piece) -> Result<void> {
      auto first = std::ranges::lower_bound(asked, offset < kStaleWordBytes ? 0 : offset - 7, {},
                                            &Suspect::offset);
      for (; first != asked.end() && first->offset < offset + piece.size(); ++first) {
        const uint64_t begin = std::max(first->offset, offset);
        const uint64_t end = std::min(first->offset + kStaleWordBytes, offset + piece.size());
        std::memcpy(first->bytes + (begin - first->offset), piece.data() + (begin - offset),
                    end - begin);
      }
      return {};
    };
    GFXGRAPH_TRY(program.trace().visit_content(*given->content, take));
    for (const Suspect& suspect : asked)
      doubted[suspect.word].ambiguous |= load_word(suspect.bytes, 0) == suspect.value;
  }
  return doubted;
}

}  // namespace gfxgraph::replayer
