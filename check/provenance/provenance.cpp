#include "check/provenance/provenance.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "format/box.h"

namespace gfxgraph::check {
namespace {

using emulator::Relation;

constexpr size_t kMostRelated = 1 << 20;
// How far after a variable the other objects, tables and code of its code object may be.
constexpr uint64_t kCodeReach = UINT64_C(1) << 30;

}  // namespace

uint64_t Provenance::address_of(format::AllocationId id) const {
  const auto found = ranges_.find(id);
  return found == ranges_.end() ? 0 : found->second.address;
}

const Provenance::Allocation* Provenance::find(uint64_t address, uint64_t* start) const {
  auto next = live_.upper_bound(address);
  if (next == live_.begin()) return nullptr;
  --next;
  if (start != nullptr) *start = next->first;
  return address - next->first < next->second.bytes ? &next->second : nullptr;
}

uint32_t Provenance::place(format::WordPart part) {
  place_.part = part;
  if (places_.empty() || places_.back() != place_) places_.push_back(place_);
  return static_cast<uint32_t>(places_.size() - 1);
}

uint32_t Provenance::add_word(const format::Relocation& relocation, format::WordPart part,
                              uint64_t value) {
  // A node's words are those of all launches of its graph.
  uint32_t* known = nullptr;
  if (place_.graph != 0) {
    const uint64_t node = uint64_t{place_.graph} << 32 | place_.node;
    known = &node_words_[{node, relocation.offset_bytes << 3 | static_cast<unsigned>(part)}];
    if (*known != 0) return *known;
  }
  if (words_.size() > Tags::kMostWords ||
      (words_.size() % 1024 == 0 &&
       !budget_.take_memory(1024 * sizeof(Word), "the state of words"))) {
    lost_ = true;
    return 0;
  }
  Word word;
  word.value = value;
  word.offset = relocation.offset_bytes;
  word.place = place(part);
  word.allocation = relocation.allocation;
  word.typed = relocation.source == format::RelocationSource::kTyped;
  word.outside = relocation.outside;
  const auto target = live_.find(address_of(relocation.allocation));
  word.code = target != live_.end() && target->second.code;
  words_.push_back(word);
  const auto number = static_cast<uint32_t>(words_.size() - 1);
  if (known != nullptr) *known = number;
  return number;
}

// ---- events ----

// Of a word that stands at `at` now.
uint64_t Provenance::recorded_value(const format::Relocation& relocation, uint64_t at) const {
  const auto addend = static_cast<uint64_t>(relocation.addend);
  const auto range = ranges_.find(relocation.allocation);
  const uint64_t second = range == ranges_.end() ? 0 : range->second.second;
  if (second != 0 && device_ != nullptr && device_->word_at(at) == second + addend)
    return second + addend;
  return address_of(relocation.allocation) + addend;
}

void Provenance::add_content(const format::Content& content, format::WordPart part,
                             uint64_t address) {
  memory_.clear(address, content.size_bytes);
  for (const format::Relocation& relocation : content.relocations) {
    const uint64_t value = recorded_value(relocation, address + relocation.offset_bytes);
    if (const uint32_t word = add_word(relocation, part, value))
      memory_.set_word(address + relocation.offset_bytes, word);
  }
}

Result<void> Provenance::allocated(const format::AllocationBegin& action) {
  if (action.size_bytes == 0) return {};
  not_recorded_ = {};
  ranges_[action.id] = {action.recorded_address, action.size_bytes, 0};
  live_[action.recorded_address] = {action.id, std::max(action.size_bytes, action.mapped_bytes),
                                    action.kind == format::AllocationKind::kModuleGlobal};
  if (const uint64_t second = second_address(action)) {
    ranges_[action.id].second = second;
    memory_.alias(second, action.recorded_address, action.size_bytes);
    live_[second] = {action.id, action.size_bytes, false};
  }
  add_content(action.initial, format::WordPart::kInitial, action.recorded_address);
  return {};
}

Result<void> Provenance::freed(const format::AllocationEnd& action) {
  const uint64_t address = address_of(action.id);
  const auto live = live_.find(address);
  if (live == live_.end() || live->second.id != action.id) return {};
  add_final(action.post, format::WordPart::kFinal, address);
  memory_.clear(address, live->second.bytes);
  live_.erase(live);
  if (const uint64_t second = ranges_[action.id].second) live_.erase(second);
  not_recorded_ = {};
  return {};
}

void Provenance::add_final(const format::Content& content, format::WordPart part,
                           uint64_t address) {
  for (const format::Relocation& relocation : content.relocations)
    add_final(relocation, part, address + relocation.offset_bytes);
}

void Provenance::add_final(const format::Relocation& word, format::WordPart part, uint64_t at) {
  Final final;
  final.place = place(part);
  final.offset = word.offset_bytes;
  const auto target = live_.find(address_of(word.allocation));
  final.code = target != live_.end() && target->second.code;
  final.words = tags_.unite(memory_.get(at + 4), memory_.get(at));
  finals_.push_back(final);
}

Result<void> Provenance::will_write(const format::HostWrite& action) {
  before_.clear();
  if (!action.in_doubt || device_ == nullptr) return {};
  const Result<std::span<std::byte>> bytes =
      device_->bytes(action.allocation, action.offset_bytes, action.content.size_bytes);
  if (bytes) before_.assign(bytes->begin(), bytes->end());
  return {};
}

Result<void> Provenance::written(const format::HostWrite& action) {
  if (!before_.empty()) {
    const Result<std::span<std::byte>> now =
        device_->bytes(action.allocation, action.offset_bytes, action.content.size_bytes);
    if (now && now->size() == before_.size()) {
      add_doubtful(action, *now);
      return {};
    }
  }
  add_content(action.content, format::WordPart::kHostWrite,
              address_of(action.allocation) + action.offset_bytes);
  return {};
}

// Kernels of this run may have stored the bytes already, as those of the recorded run may have:
// where nothing changed, words remain what they were.
void Provenance::add_doubtful(const format::HostWrite& action, std::span<const std::byte> now) {
  const uint64_t address = address_of(action.allocation) + action.offset_bytes;
  const auto same = [&](uint64_t from, uint64_t to) {
    return std::equal(now.begin() + static_cast<ptrdiff_t>(from),
                      now.begin() + static_cast<ptrdiff_t>(to),
                      before_.begin() + static_cast<ptrdiff_t>(from));
  };
  for (uint64_t from = 0; from < now.size();) {
    const uint64_t to = std::min<uint64_t>(now.size(), from + 4 - (address + from) % 4);
    if (!same(from, to)) memory_.clear(address + from, to - from);
    from = to;
  }
  for (const format::Relocation& relocation : action.content.relocations) {
    const uint64_t from = relocation.offset_bytes, at = address + from;
    if (same(from, from + sizeof(uint64_t)) && (memory_.get(at) != 0 || memory_.get(at + 4) != 0)) {
      add_final(relocation, format::WordPart::kHostWrite, at);
      continue;
    }
    const uint64_t value = recorded_value(relocation, at);
    if (const uint32_t word = add_word(relocation, format::WordPart::kHostWrite, value))
      memory_.set_word(at, word);
  }
}

Result<void> Provenance::copied(const format::Copy& action) {
  const format::CopyEnd& to = action.destination;
  const format::CopyEnd& from = action.source;
  const format::Box to_box = format::box_of(action, to), from_box = format::box_of(action, from);
  const uint64_t target = address_of(to.allocation) + to.offset_bytes;
  const uint64_t source = address_of(from.allocation) + from.offset_bytes;
  const uint64_t width = action.width_bytes;
  if (to.allocation == 0) {
    if (from.allocation != 0 && action.height == 1 && action.depth == 1)
      add_final(action.host_result, format::WordPart::kCopyResult, source);
    return {};
  }
  if (from.allocation != 0) {
    if (width == 0) return {};
    for (uint64_t plane = 0; plane < action.depth; ++plane)
      for (uint64_t row = 0; row < action.height; ++row)
        memory_.copy(target + to_box.row_offset(row, plane),
                     source + from_box.row_offset(row, plane), width);
    return {};
  }
  to_box.for_rows([&](uint64_t offset) { memory_.clear(target + offset, width); });
  for (const format::Relocation& relocation : action.host_source.relocations) {
    // Rows are packed; a word across two of them is not a word there.
    const uint64_t row = relocation.offset_bytes / width;
    const uint64_t in_row = relocation.offset_bytes % width;
    const uint64_t at =
        target + to_box.row_offset(row % action.height, row / action.height) + in_row;
    const uint32_t word =
        add_word(relocation, format::WordPart::kCopySource, recorded_value(relocation, at));
    if (word == 0 || in_row + sizeof(uint64_t) > width) continue;
    memory_.set_word(at, word);
  }
  return {};
}

Result<void> Provenance::filled(const format::Memset& action) {
  const uint64_t target = address_of(action.allocation) + action.offset_bytes;
  if (const std::optional<format::Box> box = format::box_of(action))
    box->for_rows([&](uint64_t offset) { memory_.clear(target + offset, box->width_bytes); });
  return {};
}

void Provenance::launch(const format::Launch& action, uint64_t address) {
  memory_.clear(address, action.kernarg.size());
  for (const format::Relocation& relocation : action.relocations) {
    uint64_t value = 0;
    if (relocation.offset_bytes + sizeof(value) > action.kernarg.size()) continue;
    std::memcpy(&value, action.kernarg.data() + relocation.offset_bytes, sizeof(value));
    if (const uint32_t word = add_word(relocation, format::WordPart::kArguments, value))
      memory_.set_word(address + relocation.offset_bytes, word);
  }
}

// ---- kernels ----

void Provenance::prove(Word& word, format::AllocationId target) {
  word.proven = true;
  word.target = target;
}

void Provenance::judge(Tag high, Tag low, uint64_t address) {
  Tags::Elements elements;
  const auto reached = [&](uint32_t word) { words_[word].reached = true; };
  if (!tags_.elements(high, elements)) return tags_.visit_once(high, reached);
  uint64_t start = 0;
  const Allocation* const at = find(address, &start);
  uint32_t candidates[Tags::kMostElements];
  unsigned count = 0;
  for (unsigned n = 0; n < elements.count; ++n) {
    const Tag element = elements.element[n];
    if (Tags::is_weak(element) || Tags::half_of(element) != 1) continue;
    const Word& word = words_[Tags::word_of(element)];
    const bool there = at != nullptr && (at->id == word.allocation || word.outside);
    // Tables and constants of a code object lie beside its variables.
    const bool in_code = word.code && address - word.value + kCodeReach < 2 * kCodeReach;
    if (there || in_code) candidates[count++] = Tags::word_of(element);
  }
  bool told_by_lower = false;
  if (count > 1) {
    // One of them may be the one that the lower half comes from, too.
    Tags::Elements lower;
    unsigned kept = 0;
    if (tags_.elements(low, lower)) {
      for (unsigned n = 0; n < count; ++n) {
        const Tag half = Tags::of(candidates[n], 0);
        if (std::find(lower.element, lower.element + lower.count, half) !=
            lower.element + lower.count)
          candidates[kept++] = candidates[n];
      }
    }
    told_by_lower = kept == 1 && count == elements.count;
    if (kept == 1) count = 1;
  }
  if (count == 1) {
    Word& word = words_[candidates[0]];
    if (!word.proven) prove(word, at != nullptr ? at->id : word.allocation);
  }
  for (unsigned n = 0; n < elements.count; ++n) {
    Word& word = words_[Tags::word_of(elements.element[n])];
    // Others, whose lower half is absent, only have the same upper one.
    if (word.proven || told_by_lower) continue;
    word.reached = true;
    word.elsewhere = word.elsewhere || (count == 0 && elements.count == 1);
  }
}

void Provenance::jump(Tag high) {
  Tags::Elements elements;
  if (!tags_.elements(high, elements)) return;
  for (unsigned n = 0; n < elements.count; ++n) {
    Word& word = words_[Tags::word_of(elements.element[n])];
    if (elements.count == 1 && !word.proven) prove(word, word.allocation);
    word.reached = true;
  }
}

void Provenance::note_untraced(uint64_t address, uint64_t pc) {
  if (untraced_.contains(pc)) return;
  uint64_t start = 0;
  const Allocation* const at = find(address, &start);
  if (at != nullptr && !at->code) {
    untraced_.insert(pc);
    return;
  }
  const auto next = live_.upper_bound(address);
  const uint64_t end = next == live_.end() ? UINT64_MAX : next->first;
  not_recorded_ = {address,
                   at == nullptr ? end - address : std::min(end, start + at->bytes) - address};
}

uint32_t Provenance::word_of(Relation relation, const Side& side) const {
  const unsigned half = relation == Relation::kLower ? 0 : 1;
  Tags::Elements elements, lower;
  if (!tags_.elements(half == 0 ? side.low : side.high, elements)) return 0;
  const bool know_lower = half == 1 && side.low != 0 && tags_.elements(side.low, lower);
  uint32_t found = 0, found_lower = 0;
  unsigned count = 0, count_lower = 0;
  for (unsigned n = 0; n < elements.count; ++n) {
    const Tag element = elements.element[n];
    if (Tags::is_weak(element)) continue;
    if (Tags::half_of(element) != half) return 0;
    found = Tags::word_of(element);
    ++count;
    // Of several words with the same upper half, the lower one tells which of them it is.
    if (!know_lower || std::find(lower.element, lower.element + lower.count, Tags::of(found, 0)) ==
                           lower.element + lower.count)
      continue;
    found_lower = found;
    ++count_lower;
  }
  if (count != 1 && count_lower != 1) return 0;
  const uint32_t word = count == 1 ? found : found_lower;
  const auto range = ranges_.find(words_[word].allocation);
  if (range == ranges_.end()) return 0;
  const uint64_t first = range->second.begin_for(words_[word].value);
  const uint64_t bytes = range->second.bytes;
  switch (relation) {
    case Relation::kLower: return side.low_value - static_cast<uint32_t>(first) <= bytes ? word : 0;
    case Relation::kUpper:
      return side.high_value - (first >> 32) <= ((first + bytes) >> 32) - (first >> 32) ? word : 0;
    case Relation::kWhole: {
      const uint64_t value = uint64_t{side.high_value} << 32 | side.low_value;
      return value - first <= bytes ? word : 0;
    }
    default: return 0;
  }
}

void Provenance::relate(uint32_t a, uint32_t b, bool whole) {
  if (a == b) return;
  const std::pair<uint32_t, uint32_t> key = std::minmax(a, b);
  if (const auto found = related_.find(key); found != related_.end()) {
    found->second = found->second || whole;
    return;
  }
  if (related_.size() == kMostRelated) {
    lost_ = true;
    return;
  }
  related_.emplace(key, whole);
}

void Provenance::relate(Relation relation, const Side& a, const Side& b) {
  if (relation != Relation::kLoose) {
    const uint32_t one = word_of(relation, a), other = word_of(relation, b);
    if (one != 0 && other != 0) return relate(one, other, true);
  }
  const bool low = relation == Relation::kLower || relation == Relation::kLoose;
  Tags::Elements first, second;
  if (!tags_.elements(low ? a.low : a.high, first) || !tags_.elements(low ? b.low : b.high, second))
    return;
  for (unsigned n = 0; n < first.count; ++n)
    for (unsigned m = 0; m < second.count; ++m)
      relate(Tags::word_of(first.element[n]), Tags::word_of(second.element[m]), false);
}

void Provenance::relate_cancelled(Tag tag) {
  Tags::Elements elements;
  if (!tags_.elements(tag, elements)) return;
  // `end + (4 - begin)`: one is what it was, the other one is negated.
  uint32_t kept = 0, computed = 0;
  for (unsigned n = 0; n < elements.count; ++n) {
    const Tag element = elements.element[n];
    if (Tags::half_of(element) == 0) continue;
    uint32_t& word = Tags::is_weak(element) ? computed : kept;
    if (word != 0) return;
    word = Tags::word_of(element);
  }
  constexpr uint64_t kNoSmallOne = 64;  // upper half: the sum is not small by itself
  if (kept != 0 && computed != 0 && words_[kept].value >> 32 >= kNoSmallOne)
    relate(kept, computed, true);
}

Tag Provenance::narrow_set(Tag tag, uint32_t value) {
  Tags::Elements elements;
  if (!tags_.elements(tag, elements)) return tag;
  // Several words have the same upper half: the lower one tells which of them it is, see judge().
  Tag same = 0;
  for (unsigned n = 0; n < elements.count; ++n) {
    const Tag element = elements.element[n] & ~Tags::kWeak;
    const uint64_t word = words_[Tags::word_of(element)].value;
    if (static_cast<uint32_t>(Tags::half_of(element) == 0 ? word : word >> 32) == value)
      same = tags_.unite(same, element);
  }
  return same != 0 ? same : tag;
}

// ---- the result ----

const char* Provenance::reason_of(const Word& word, const char* related, bool all_ran) const {
  if (word.elsewhere) return "it was used for an address outside the memory that it points to";
  if (word.reached) return "an address was computed from it by other operations than additions";
  if (!all_ran) return "not all launches were executed";
  if (tags_.lost() || memory_.lost() || lost_) return "not all values were followed";
  return related;
}

std::vector<const char*> Provenance::settle_relations() {
  std::vector<const char*> reasons(words_.size());
  std::unordered_multimap<uint32_t, uint32_t> partners;
  const auto ends_at = [&](const Word& word, format::AllocationId allocation) {
    const auto range = ranges_.find(allocation);
    return range != ranges_.end() &&
           word.value - range->second.begin_for(word.value) == range->second.bytes;
  };
  for (const auto& [pair, whole] : related_) {
    for (const auto& [n, m] : {pair, std::pair(pair.second, pair.first)}) {
      const Word& one = words_[n];
      const Word& other = words_[m];
      if (one.allocation == other.allocation) {
        if (whole) partners.emplace(m, n);
        if (other.proven)
          reasons[n] = "a part of it was compared with a pointer into the same memory";
      } else if (other.proven && ends_at(one, other.allocation)) {
        reasons[n] = "it is the end of one buffer and the start of the next one";
      }
    }
  }
  // A word that is compared with a pointer is one, too: the result would change if only one of them
  // moved.
  std::vector<uint32_t> open;
  for (uint32_t n = 1; n < words_.size(); ++n)
    if (words_[n].proven) open.push_back(n);
  while (!open.empty()) {
    const auto [begin, end] = partners.equal_range(open.back());
    open.pop_back();
    for (auto at = begin; at != end; ++at) {
      Word& word = words_[at->second];
      if (word.pointer() || word.elsewhere) continue;
      word.compared = true;
      open.push_back(at->second);
    }
  }
  return reasons;
}

void Provenance::finish(ProvenanceReport& report, bool list) {
  const bool all_ran = report.failed_launches == 0 && report.stopped.empty();
  const std::vector<const char*> related = settle_relations();
  std::map<format::WordPlace, std::vector<format::KnownWord>> known;
  for (uint32_t n = 1; n < words_.size(); ++n) {
    const Word& word = words_[n];
    ++report.words;
    const auto say = [&](const char* verdict) {
      if (list) report.list.push_back({places_[word.place], word.offset, word.value, verdict});
    };
    format::KnownWord one;
    one.offset_bytes = word.offset;
    if (word.pointer()) {
      say("proven");
      ++report.proven;
      report.compared += word.proven ? 0 : 1;
      report.rebased += word.proven && word.target != word.allocation ? 1 : 0;
      known[places_[word.place]].push_back(one);
      continue;
    }
    if (!word.read && !word.reached && all_ran) {
      say("never read");
      ++report.unread;
      continue;
    }
    if (const char* const reason = reason_of(word, related[n], all_ran)) {
      say("unclear");
      ++report.unclear;
      ++report.reasons[reason];
      if (report.examples.size() < ProvenanceReport::kMostExamples)
        report.examples.push_back({places_[word.place], word.offset, word.allocation, reason});
      continue;
    }
    say("data");
    ++report.data;
    if (word.typed) continue;  // its type says what it is
    one.verdict = format::WordVerdict::kData;
    known[places_[word.place]].push_back(one);
  }
  const bool followed = all_ran && !tags_.lost() && !memory_.lost() && !lost_;
  const auto only_data = tags_.all_of([&](uint32_t n) {
    const Word& word = words_[n];
    return !word.pointer() && !word.typed && word.read &&
           reason_of(word, related[n], all_ran) == nullptr;
  });
  const auto only_pointers = tags_.all_of([&](uint32_t n) { return words_[n].pointer(); });
  for (const Final& final : finals_) {
    const format::WordPlace& where = places_[final.place];
    format::KnownWord one;
    one.offset_bytes = final.offset;
    if (followed && !final.code && only_data(final.words))
      one.verdict = format::WordVerdict::kData;
    else if (where.part != format::WordPart::kHostWrite || !only_pointers(final.words))
      continue;
    known[where].push_back(one);
  }
  for (auto& [where, words] : known) {
    std::ranges::sort(words, {}, &format::KnownWord::offset_bytes);
    report.facts.places.push_back({where, std::move(words)});
  }
  report.facts.made = true;
  report.untraced_instructions = untraced_.size();
}

}  // namespace gfxgraph::check
