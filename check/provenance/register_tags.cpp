#include "check/provenance/register_tags.h"

#include <bit>

namespace gfxgraph::check {

using emulator::kLanes;

void RegisterTags::test(unsigned code) const {
  const emulator::Row& values = values_[code - kFirstVector];
  uint32_t ended = 0;
  for (unsigned l = 0; l < kLanes; ++l) ended |= Tags::ends(values.lane[l]) ? 1U << l : 0;
  one_[code].lanes &= ~ended;
  kind_[code] = one_[code].lanes != 0 ? kOne : kNone;
}

bool RegisterTags::one(unsigned code, Tag& tag, uint32_t& lanes) const {
  tag = 0;
  lanes = 0;
  if (code >= kNoRegister || kind_[code] == kNone) return true;
  if (kind_[code] == kUntested) test(code);
  if (kind_[code] == kMixed) return false;
  tag = one_[code].tag;
  lanes = one_[code].lanes;
  return true;
}

bool RegisterTags::same_in(unsigned code, uint32_t lanes) const {
  if (code >= kNoRegister || kind_[code] == kNone) return true;
  if (kind_[code] == kUntested) test(code);
  if (kind_[code] != kMixed) {
    const uint32_t with = one_[code].lanes & lanes;
    return with == 0 || with == lanes;
  }
  const Tag* const row = rows_[code - kFirstVector];
  const Tag first = row[std::countr_zero(lanes)];
  for (uint32_t rest = lanes; rest != 0; rest &= rest - 1)
    if (row[std::countr_zero(rest)] != first) return false;
  return true;
}

void RegisterTags::fill(unsigned code, uint32_t exec, Tag tag, uint32_t lanes) {
  if (code < kFirstVector || code >= kNoRegister) return;
  exec |= unused_;
  if (kind_[code] == kUntested && exec != ~0U) test(code);
  const uint32_t put = tag != 0 ? lanes & exec : 0;
  if (kind_[code] == kMixed && exec != ~0U) {
    Tag row[kLanes];
    for (unsigned l = 0; l < kLanes; ++l)
      row[l] = (put >> l & 1) != 0 ? tag : (exec >> l & 1) != 0 ? 0 : get(code, l);
    return write(code, row);
  }
  const uint32_t kept = kind_[code] == kOne ? one_[code].lanes & ~exec : 0;
  if (kept != 0 && put != 0 && one_[code].tag != tag) {
    Tag* const row = rows_[code - kFirstVector];
    for (unsigned l = 0; l < kLanes; ++l)
      row[l] = (put >> l & 1) != 0 ? tag : (kept >> l & 1) != 0 ? one_[code].tag : 0;
    kind_[code] = kMixed;
    return;
  }
  if (put != 0) one_[code].tag = tag;
  one_[code].lanes = kept | put;
  kind_[code] = one_[code].lanes != 0 ? kOne : kNone;
}

void RegisterTags::set(unsigned code, uint32_t exec, const Tag* row) {
  if (code < kFirstVector || code >= kNoRegister) return;
  Tag tag = 0;
  uint32_t lanes = 0;
  bool differ = false;
  for (uint32_t rest = exec; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    if (row[lane] == 0) continue;
    differ |= tag != 0 && row[lane] != tag;
    tag = row[lane];
    lanes |= 1U << lane;
  }
  if (!differ) return fill(code, exec, tag, lanes);
  Tag all[kLanes];
  for (unsigned l = 0; l < kLanes; ++l)
    all[l] = (exec >> l & 1) != 0 ? row[l] : (unused_ >> l & 1) != 0 ? 0 : get(code, l);
  write(code, all);
}

void RegisterTags::set_lane(unsigned code, unsigned lane, Tag tag) {
  if (code < kFirstVector || code >= kNoRegister) return;
  Tag all[kLanes];
  for (unsigned l = 0; l < kLanes; ++l) all[l] = l == lane ? tag : get(code, l);
  write(code, all);
}

void RegisterTags::write(unsigned code, const Tag* row) {
  Tag tag = 0;
  uint32_t lanes = 0;
  bool differ = false;
  for (unsigned l = 0; l < kLanes; ++l) {
    if (row[l] == 0) continue;
    differ |= tag != 0 && row[l] != tag;
    tag = row[l];
    lanes |= 1U << l;
  }
  one_[code].tag = tag;
  one_[code].lanes = lanes;
  kind_[code] = differ ? kMixed : lanes != 0 ? kOne : kNone;
  for (unsigned l = 0; differ && l < kLanes; ++l) rows_[code - kFirstVector][l] = row[l];
}

}  // namespace gfxgraph::check
