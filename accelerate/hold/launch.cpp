#include "accelerate/hold/launch.h"

#include <algorithm>

#include "base/hash.h"

namespace gfxgraph::accelerate {
namespace {

uint64_t hash_of(const KeptLaunch& kept, std::span<const std::byte> arguments) noexcept {
  uint64_t hash = mix(reinterpret_cast<uint64_t>(kept.function));
  const auto add = [&hash](uint64_t value) { hash = mix(hash ^ value) + 1; };
  add(reinterpret_cast<uint64_t>(kept.stream));
  add(kept.shape.grid[0] | uint64_t{kept.shape.grid[1]} << 32);
  add(kept.shape.grid[2] | uint64_t{kept.shape.block[0]} << 32);
  add(kept.shape.block[1] | uint64_t{kept.shape.block[2]} << 32);
  add(kept.shape.shared_bytes << 8 | static_cast<uint64_t>(kept.form));
  for (size_t i = 0; i < arguments.size(); i += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, arguments.data() + i, std::min(sizeof(word), arguments.size() - i));
    add(word);
  }
  return hash;
}

// Each device has this much: a launch that stays below it does not fail for lack of LDS.
constexpr uint64_t kSurelyThere = 64 * 1024;

bool alike_lds(const Layout* layout, uint64_t left, uint64_t right) noexcept {
  return left == right || (layout != nullptr && left <= kSurelyThere && right <= kSurelyThere &&
                           std::max(left, right) + layout->group_bytes <= kSurelyThere);
}

bool same_sizes(const Shape& left, const Shape& right) noexcept {
  return std::ranges::equal(left.grid, right.grid) && std::ranges::equal(left.block, right.block);
}

// Most arguments are pointers and numbers: no call for them.
bool same_bytes(const void* left, const std::byte* right, size_t size) noexcept {
  if (size == 8) return std::memcmp(left, right, 8) == 0;
  if (size == 4) return std::memcmp(left, right, 4) == 0;
  return std::memcmp(left, right, size) == 0;
}

void copy_arguments(const Launch& launch, const Layout* layout, std::byte* to) noexcept {
  if (layout == nullptr) {
    if (!launch.packed.empty()) std::memcpy(to, launch.packed.data(), launch.packed.size());
    return;
  }
  for (size_t i = 0; i < layout->places.size(); ++i) {
    const ArgumentPlace& place = layout->places[i];
    std::memcpy(to + place.offset_bytes, launch.params[i], place.size_bytes);
  }
}

}  // namespace

void Launches::add(const Launch& launch, const Layout* layout) {
  KeptLaunch kept{.form = launch.form,
                  .function = launch.function,
                  .shape = launch.shape,
                  .stream = launch.stream,
                  .layout = layout,
                  .begin = static_cast<uint32_t>(bytes_.size())};
  kept.size_bytes =
      layout != nullptr ? layout->size_bytes : static_cast<uint32_t>(launch.packed.size());
  // What lies between arguments is zero. Places of 16 bytes, so that arguments are aligned.
  bytes_.resize(bytes_.size() + (size_t{kept.size_bytes} + 15) / 16 * 16);
  std::byte* const to = bytes_.data() + kept.begin;
  copy_arguments(launch, layout, to);
  kept.hash = hash_of(kept, {to, kept.size_bytes});
  kept_.push_back(kept);
}

void Launches::clear() noexcept {
  kept_.clear();
  bytes_.clear();
}

Launches Launches::part(size_t from, size_t count) const {
  Launches made;
  for (size_t i = from; i < from + count; ++i) {
    KeptLaunch kept = kept_[i];
    const std::span<const std::byte> own = arguments(i);
    kept.begin = static_cast<uint32_t>(made.bytes_.size());
    made.bytes_.insert(made.bytes_.end(), own.begin(), own.end());
    made.bytes_.resize((made.bytes_.size() + 15) / 16 * 16);
    made.kept_.push_back(kept);
  }
  return made;
}

bool Launches::same(size_t i, const Launch& launch) const noexcept {
  const KeptLaunch& kept = kept_[i];
  if (kept.function != launch.function || kept.form != launch.form ||
      kept.stream != launch.stream || !(kept.shape == launch.shape))
    return false;
  const std::byte* const bytes = bytes_.data() + kept.begin;
  if (kept.layout == nullptr) {
    return kept.size_bytes == launch.packed.size() &&
           (kept.size_bytes == 0 || same_bytes(launch.packed.data(), bytes, kept.size_bytes));
  }
  const std::vector<ArgumentPlace>& places = kept.layout->places;
  if (launch.params == nullptr) return places.empty();
  for (size_t k = 0; k < places.size(); ++k) {
    if (!same_bytes(launch.params[k], bytes + places[k].offset_bytes, places[k].size_bytes))
      return false;
  }
  return true;
}

bool Launches::alike(size_t i, const Launch& launch) const noexcept {
  const KeptLaunch& kept = kept_[i];
  if (kept.function != launch.function || kept.form != launch.form ||
      kept.stream != launch.stream || !same_sizes(kept.shape, launch.shape) ||
      !alike_lds(kept.layout, kept.shape.shared_bytes, launch.shape.shared_bytes))
    return false;
  return kept.layout == nullptr ? kept.size_bytes == launch.packed.size()
                                : launch.params != nullptr || kept.layout->places.empty();
}

bool Launches::alike(size_t i, const Launches& other, size_t j) const noexcept {
  const KeptLaunch& left = kept_[i];
  const KeptLaunch& right = other.kept_[j];
  return left.function == right.function && left.form == right.form &&
         left.stream == right.stream && left.layout == right.layout &&
         left.size_bytes == right.size_bytes && same_sizes(left.shape, right.shape) &&
         alike_lds(left.layout, left.shape.shared_bytes, right.shape.shared_bytes);
}

size_t Launches::changing() const noexcept {
  return static_cast<size_t>(std::ranges::count_if(kept_, &KeptLaunch::changes));
}

void Launches::set(size_t i, const Launch& launch) noexcept {
  KeptLaunch& kept = kept_[i];
  kept.shape.shared_bytes = launch.shape.shared_bytes;
  copy_arguments(launch, kept.layout, bytes_.data() + kept.begin);
}

void Launches::set(size_t i, const Launches& other) noexcept {
  KeptLaunch& kept = kept_[i];
  kept.shape.shared_bytes = other.kept_[i].shape.shared_bytes;
  if (kept.size_bytes != 0)
    std::memcpy(bytes_.data() + kept.begin, other.bytes_.data() + kept.begin, kept.size_bytes);
}

bool Launches::same_values(size_t i, const Launches& other) const noexcept {
  const KeptLaunch& kept = kept_[i];
  return kept.shape.shared_bytes == other.kept_[i].shape.shared_bytes &&
         (kept.size_bytes == 0 ||
          std::memcmp(bytes_.data() + kept.begin, other.bytes_.data() + kept.begin,
                      kept.size_bytes) == 0);
}

bool Launches::same(size_t i, const Launches& other, size_t j) const noexcept {
  const KeptLaunch& left = kept_[i];
  const KeptLaunch& right = other.kept_[j];
  if (left.hash != right.hash || left.function != right.function || left.form != right.form ||
      left.stream != right.stream || !(left.shape == right.shape) || left.layout != right.layout ||
      left.size_bytes != right.size_bytes)
    return false;
  return left.size_bytes == 0 ||
         std::memcmp(bytes_.data() + left.begin, other.bytes_.data() + right.begin,
                     left.size_bytes) == 0;
}

}  // namespace gfxgraph::accelerate
