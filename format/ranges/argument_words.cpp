#include "format/ranges/argument_words.h"

#include <algorithm>
#include <cstring>

namespace gfxgraph::ranges {
namespace {

constexpr uint32_t kPointerBytes = 8;
constexpr uint32_t kFieldBytes = 4;

void split(const std::vector<const format::Launch*>& launches, ArgumentWord whole,
           std::vector<ArgumentWord>& words) {
  const uint64_t end = uint64_t{whole.offset_bytes} + whole.size_bytes;
  std::vector<uint32_t> pointers;
  for (const format::Launch* launch : launches) {
    auto one = std::ranges::lower_bound(launch->relocations, whole.offset_bytes, {},
                                        &format::Relocation::offset_bytes);
    for (; one != launch->relocations.end() && one->offset_bytes + kPointerBytes <= end; ++one) {
      pointers.push_back(static_cast<uint32_t>(one->offset_bytes));
    }
    // Successive launches usually have them at the same places.
    std::ranges::sort(pointers);
    pointers.erase(std::ranges::unique(pointers).begin(), pointers.end());
  }
  uint64_t at = whole.offset_bytes;
  for (auto next = pointers.begin(); at < end;) {
    while (next != pointers.end() && *next < at) ++next;  // it overlaps the previous one
    const uint64_t limit = next == pointers.end() ? end : *next;
    const uint64_t size = at == limit
                              ? kPointerBytes
                              : std::min<uint64_t>(kFieldBytes - at % kFieldBytes, limit - at);
    words.push_back({whole.argument, static_cast<uint32_t>(at), static_cast<uint32_t>(size)});
    at += size;
  }
}

}  // namespace

std::vector<ArgumentWord> argument_words(const format::Trace& trace,
                                         const std::vector<const format::Launch*>& launches) {
  std::vector<ArgumentWord> words;
  if (launches.empty()) return words;
  size_t bytes = launches[0]->kernarg.size();
  for (const format::Launch* launch : launches) bytes = std::min(bytes, launch->kernarg.size());
  const format::KernelId id = launches[0]->kernel;
  static const std::vector<format::Argument> kNoArguments;
  const auto& arguments =
      id == 0 || id > trace.kernels().size() ? kNoArguments : trace.kernels()[id - 1].arguments;
  if (arguments.empty() && bytes != 0) {
    split(launches, {UINT32_MAX, 0, static_cast<uint32_t>(bytes)}, words);
  }
  for (uint32_t n = 0; n < arguments.size(); ++n) {
    const format::Argument& argument = arguments[n];
    if (argument.kind == format::ArgumentKind::kHidden ||
        uint64_t{argument.offset_bytes} + argument.size_bytes > bytes) {
      continue;
    }
    const ArgumentWord whole{n, argument.offset_bytes, argument.size_bytes};
    const uint32_t size = argument.size_bytes;
    if (size == 1 || size == 2 || size == 4 || size == 8) {
      words.push_back(whole);
    } else {
      split(launches, whole, words);
    }
  }
  return words;
}

const format::Relocation* relocation_at(const format::Launch& launch, const ArgumentWord& word) {
  if (word.size_bytes != kPointerBytes) return nullptr;
  const auto found = std::ranges::lower_bound(launch.relocations, word.offset_bytes, {},
                                              &format::Relocation::offset_bytes);
  return found != launch.relocations.end() && found->offset_bytes == word.offset_bytes ? &*found
                                                                                       : nullptr;
}

int64_t word_number(const format::Launch& launch, const ArgumentWord& word) {
  uint64_t value = 0;
  std::memcpy(&value, launch.kernarg.data() + word.offset_bytes, word.size_bytes);
  const unsigned unused = 64 - 8 * word.size_bytes;
  return static_cast<int64_t>(value << unused) >> unused;
}

}  // namespace gfxgraph::ranges
