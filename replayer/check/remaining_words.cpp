#include "replayer/check/remaining_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "format/box.h"
#include "replayer/check/stale_words.h"

namespace gfxgraph::replayer {
namespace {

constexpr int64_t kRemainingBytes = sizeof(uint64_t);

using Remains = std::vector<RemainingWord>;  // by place

// Calls `row` with the place of each row's first byte at both ends, and with its number.
template <typename Row>
void each_row(const format::Copy& copy, Row&& row) {
  const format::Box from = format::box_of(copy, copy.source);
  const format::Box to = format::box_of(copy, copy.destination);
  for (uint64_t z = 0; z < copy.depth; ++z) {
    for (uint64_t y = 0; y < copy.height; ++y) {
      row(static_cast<int64_t>(copy.source.offset_bytes + from.row_offset(y, z)),
          static_cast<int64_t>(copy.destination.offset_bytes + to.row_offset(y, z)),
          static_cast<int64_t>(z * copy.height + y));
    }
  }
}

// Also of words that lie there in part.
void append_moved(const Remains& words, int64_t begin, int64_t size, int64_t to, Remains& found) {
  auto word = std::ranges::upper_bound(words, begin - kRemainingBytes, {}, &RemainingWord::place);
  for (; word != words.end() && word->place < begin + size; ++word) {
    found.push_back(*word);
    found.back().place += to - begin;
  }
}

void erase_whole(Remains& words, int64_t begin, int64_t size) {
  std::erase_if(words, [&](const RemainingWord& word) {
    return word.place >= begin && word.place + kRemainingBytes <= begin + size;
  });
}

class Walk {
 public:
  Walk(const Program& program, const AddressMap& addresses)
      : program_(program), addresses_(addresses) {}

  // Until the event `sequence`.
  Result<Remains> words_of(format::AllocationId allocation, uint64_t sequence) {
    struct Step {
      Given given;
      format::AllocationId id = 0;
    };
    std::vector<Step> steps;
    for (const format::AllocationId id : sources_of(allocation, sequence)) {
      for (const Given& given : all_given(program_, id, sequence)) steps.push_back({given, id});
    }
    std::ranges::stable_sort(steps, {}, [](const Step& step) {
      return std::tuple(step.given.sequence, step.given.operation);
    });
    for (const Step& step : steps) GFXGRAPH_TRY(take(step.given, words_[step.id]));
    return std::move(words_[allocation]);
  }

 private:
  // And itself: where its bytes may come from.
  std::set<format::AllocationId> sources_of(format::AllocationId allocation, uint64_t sequence) {
    std::set<format::AllocationId> ids = {allocation};
    const std::span<const Operation> all = program_.operations();
    for (size_t i = all.size(); i-- > 0;) {
      if (all[i].kind != OperationKind::kCopy || all[i].sequence > sequence) continue;
      const format::Copy& copy = *all[i].copy;
      if (copy.source.allocation != 0 && ids.contains(copy.destination.allocation))
        ids.insert(copy.source.allocation);
    }
    return ids;
  }

  Result<void> take(const Given& given, Remains& words) {
    if (given.copy != nullptr) return take_copy(*given.copy, words);
    if (given.content == nullptr || !given.content->stored || given.content->unwritten) return {};
    const auto begin = static_cast<int64_t>(given.begin);
    erase_whole(words, begin, static_cast<int64_t>(given.end - given.begin));
    GFXGRAPH_ASSIGN_OR_RETURN(const Remains made, words_in(*given.content));
    append_moved(made, 0, static_cast<int64_t>(given.content->size_bytes), begin, words);
    std::ranges::stable_sort(words, {}, &RemainingWord::place);
    return {};
  }

  Result<void> take_copy(const format::Copy& copy, Remains& words) {
    const auto width = static_cast<int64_t>(copy.width_bytes);
    const bool from_host = copy.source.allocation == 0;
    Remains made;
    if (from_host) {
      if (!copy.host_source.stored || copy.host_source.unwritten) return {};
      GFXGRAPH_ASSIGN_OR_RETURN(made, words_in(copy.host_source));
    } else {
      made = words_[copy.source.allocation];
    }
    Remains moved;
    each_row(copy, [&](int64_t from, int64_t to, int64_t row) {
      erase_whole(words, to, width);
      append_moved(made, from_host ? row * width : from, width, to, moved);
    });
    words.insert(words.end(), moved.begin(), moved.end());
    std::ranges::stable_sort(words, {}, &RemainingWord::place);
    return {};
  }

  Result<Remains> words_in(const format::Content& content) {
    std::vector<format::Relocation> matched;
    Remains made;
    for (const format::Relocation& word : content.relocations) {
      if (word.source != format::RelocationSource::kMatched) continue;
      matched.push_back(word);
      made.push_back({.place = static_cast<int64_t>(word.offset_bytes)});
    }
    if (matched.empty()) return made;
    const auto take = [&](uint64_t offset, std::span<const std::byte> piece) -> Result<void> {
      for (size_t i = 0; i < matched.size(); ++i) {
        const uint64_t first = matched[i].offset_bytes;
        const uint64_t begin = std::max(first, offset);
        const uint64_t end = std::min(first + kRemainingBytes, offset + piece.size());
        if (begin >= end) continue;
        std::memcpy(made[i].recorded.data() + (begin - first), piece.data() + (begin - offset),
                    end - begin);
      }
      return {};
    };
    GFXGRAPH_TRY(program_.trace().visit_content(content, take));
    for (size_t i = 0; i < matched.size(); ++i) {
      made[i].moved = made[i].recorded;
      format::Relocation word = matched[i];
      word.offset_bytes = 0;
      GFXGRAPH_TRY(
          addresses_.apply(made[i].moved, {word}, fmt::format("word at {}", made[i].place)));
    }
    return made;
  }

  const Program& program_;
  const AddressMap& addresses_;
  std::map<format::AllocationId, Remains> words_;
};

}  // namespace

Result<Remains> remaining_words(const Program& program, const AddressMap& addresses,
                                format::AllocationId allocation, uint64_t sequence) {
  return Walk(program, addresses).words_of(allocation, sequence);
}

Result<Remains> remaining_words(const Program& program, const AddressMap& addresses,
                                const format::Copy& copy, uint64_t sequence) {
  Remains received;
  if (copy.source.allocation == 0) return received;
  GFXGRAPH_ASSIGN_OR_RETURN(const Remains words,
                            Walk(program, addresses).words_of(copy.source.allocation, sequence));
  const auto width = static_cast<int64_t>(copy.width_bytes);
  each_row(copy, [&](int64_t from, int64_t, int64_t row) {
    append_moved(words, from, width, row * width, received);
  });
  std::ranges::stable_sort(received, {}, &RemainingWord::place);
  return received;
}

bool is_remaining(std::span<const RemainingWord> words, uint64_t offset, std::byte recorded,
                  std::byte now) {
  const auto at = static_cast<int64_t>(offset);
  auto word = std::ranges::upper_bound(words, at - kRemainingBytes, {}, &RemainingWord::place);
  for (; word != words.end() && word->place <= at; ++word) {
    const auto byte = static_cast<size_t>(at - word->place);
    if (word->recorded[byte] == recorded && word->moved[byte] == now) return true;
  }
  return false;
}

}  // namespace gfxgraph::replayer
