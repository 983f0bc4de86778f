#include "replayer/remaining_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "replayer/stale_words.h"

namespace gfxgraph::replayer {
namespace {

constexpr uint64_t kRemainingBytes = sizeof(uint64_t);

Result<void> add_words(const Program& program, const AddressMap& addresses, const Given& given,
                       std::vector<RemainingWord>& words) {
  const format::Content& content = *given.content;
  std::vector<format::Relocation> matched;
  for (const format::Relocation& word : content.relocations) {
    if (word.source == format::RelocationSource::kMatched) matched.push_back(word);
  }
  const size_t first_new = words.size();
  for (const format::Relocation& word : matched)
    words.push_back({.place = given.begin + word.offset_bytes});
  const std::span<RemainingWord> made = std::span(words).subspan(first_new);
  const auto take = [&](uint64_t offset, std::span<const std::byte> piece) -> Result<void> {
    for (size_t i = 0; i < matched.size(); ++i) {
      const uint64_t begin = std::max(matched[i].offset_bytes, offset);
      const uint64_t end =
          std::min(matched[i].offset_bytes + kRemainingBytes, offset + piece.size());
      if (begin >= end) continue;
      std::memcpy(made[i].recorded.data() + (begin - matched[i].offset_bytes),
                  piece.data() + (begin - offset), end - begin);
    }
    return {};
  };
  if (matched.empty()) return {};
  GFXGRAPH_TRY(program.trace().visit_content(content, take));
  for (size_t i = 0; i < matched.size(); ++i) {
    made[i].moved = made[i].recorded;
    format::Relocation word = matched[i];
    word.offset_bytes = 0;
    GFXGRAPH_TRY(addresses.apply(made[i].moved, {word}, fmt::format("word at {}", made[i].place)));
  }
  return {};
}

}  // namespace

Result<std::vector<RemainingWord>> remaining_words(const Program& program,
                                                   const AddressMap& addresses,
                                                   format::AllocationId allocation,
                                                   uint64_t sequence) {
  std::vector<RemainingWord> words;
  for (const Given& given : all_given(program, allocation, sequence)) {
    if (given.content == nullptr || !given.content->stored || given.content->unwritten) continue;
    std::erase_if(words, [&](const RemainingWord& word) {
      return word.place >= given.begin && word.place + kRemainingBytes <= given.end;
    });
    GFXGRAPH_TRY(add_words(program, addresses, given, words));
  }
  std::ranges::stable_sort(words, {}, &RemainingWord::place);
  return words;
}

bool is_remaining(std::span<const RemainingWord> words, uint64_t offset, std::byte recorded,
                  std::byte now) {
  const uint64_t first = offset < kRemainingBytes ? 0 : offset - (kRemainingBytes - 1);
  for (auto word = std::ranges::lower_bound(words, first, {}, &RemainingWord::place);
       word != words.end() && word->place <= offset; ++word) {
    const uint64_t byte = offset - word->place;
    if (word->recorded[byte] == recorded && word->moved[byte] == now) return true;
  }
  return false;
}

}  // namespace gfxgraph::replayer
