#include "footprint/lanes.h"

#include <algorithm>
#include <utility>

namespace gfxgraph::footprint {
namespace {

constexpr uint64_t kRegisters = 1024;  // names of a join: by register, vectors first
constexpr uint64_t kScalarNames = 512;

bool is_of_join(uint64_t value, uint64_t name) { return value - name < kRegisters; }

// Of a register whose name a join has given: whether it is at its own place.
bool at_own_place(uint64_t value, uint64_t name, size_t place) { return value == name + place; }

// What a mask says of values that a join at this place named before.
void forget_joins(Mask& mask, uint64_t name) {
  std::erase_if(mask.conditions,
                [name](const Condition& one) { return is_of_join(one.name, name); });
  if (mask.carry == nullptr) return;
  const Carry& carry = *mask.carry;
  for (const uint64_t used : {carry.name, carry.a.name, carry.b.name, carry.a.lower, carry.b.lower})
    if (is_of_join(used, name)) {
      mask.carry = nullptr;
      return;
    }
}

std::shared_ptr<const Vectors> together(const std::shared_ptr<const Vectors>& a,
                                        const std::shared_ptr<const Vectors>& b) {
  if (a == nullptr || a == b) return b;
  if (b == nullptr) return a;
  auto both = std::make_shared<Vectors>(*a);
  join_values(both->data(), b->data(), both->size(), 0, nullptr);
  return both;
}

}  // namespace

Range limited(const Range& range, const Condition& condition) {
  using Is = Condition::Is;
  const bool is_signed = condition.is == Is::kLessSigned || condition.is == Is::kAtLeastSigned;
  const Range own = is_signed ? signed32(range) : unsigned32(range);
  const Range limit = is_signed ? signed32(condition.limit) : unsigned32(condition.limit);
  Range result = own;
  const auto step = static_cast<int64_t>(own.step);
  switch (condition.is) {
    case Is::kLess:
    case Is::kLessSigned:
      if (limit.high - 1 < result.high)
        result.high =
            limit.high - 1 < own.low ? own.low : own.low + (limit.high - 1 - own.low) / step * step;
      break;
    case Is::kAtLeast:
    case Is::kAtLeastSigned:
      if (limit.low > result.low)
        result.low = std::min(own.high, own.low + (limit.low - own.low + step - 1) / step * step);
      break;
    case Is::kEqual:
      if (limit.exact() && limit.low >= own.low && limit.low <= own.high)
        return Range::exactly(limit.low);
      return range;
  }
  if (result.low > result.high) return range;  // never: no lane is there
  return result;
}

void Mask::add(const Fills& more) {
  if (more.all == 0 || has(more)) return;
  for (Fills& one : fills) {
    if (one.all != 0) continue;
    one = more;
    return;
  }
  fills.back() = more;
}

bool Mask::has(const Fills& one) const { return std::ranges::find(fills, one) != fills.end(); }

bool Mask::operator==(const Mask& other) const {
  const bool same_carry = carry == other.carry ||
                          (carry != nullptr && other.carry != nullptr && *carry == *other.carry);
  return within == other.within && fills == other.fills && conditions == other.conditions &&
         same_carry;
}

Lanes::Lanes(unsigned vectors)
    : vectors_(vectors, Value::unwritten()),
      scalars_(kScalars + 1, Value::unwritten()),
      masks_(kScalars + 1),
      levels_(1) {}

void Lanes::forget_names(uint64_t first, uint64_t second) {
  const auto is_one = [=](uint64_t name) { return name == first || name == second; };
  const auto forget = [&](Value& value) {
    if (is_one(value.name)) value.name = 0;
    if (is_one(value.lower)) value.lower = 0;
  };
  for (Value& value : vectors_) forget(value);
  for (Value& value : scalars_) forget(value);
  for (Mask& mask : masks_) {
    std::erase_if(mask.conditions, [&](const Condition& one) { return is_one(one.name); });
    if (mask.carry != nullptr &&
        (is_one(mask.carry->name) || is_one(mask.carry->a.name) || is_one(mask.carry->b.name) ||
         is_one(mask.carry->a.lower) || is_one(mask.carry->b.lower)))
      mask.carry = nullptr;
  }
}

void Lanes::apply(const Condition& condition, bool scalars) {
  const auto to = [&](Value& value) {
    if (value.name == condition.name && (value.origins & ~origin::kLoaded) == 0)
      value.number = limited(value.number, condition);
  };
  if (condition.name == 0) return;
  for (Value& value : vectors_) to(value);
  if (!scalars) return;
  for (Value& value : scalars_) to(value);
}

size_t Lanes::place_of(Level id) const {
  return static_cast<size_t>(
      std::ranges::find(levels_, id, [](const OneLevel& one) { return one.id; }) - levels_.begin());
}

Level Lanes::common(Level a, Level b) const {
  if (a == kNoLanes) return b;
  if (b == kNoLanes) return a;
  const size_t first = place_of(a), second = place_of(b);
  if (std::max(first, second) >= levels_.size()) return 0;
  return levels_[std::min(first, second)].id;
}

bool Lanes::is_within(Level inner, Level outer) const {
  return inner != 0 && outer != 0 && common(inner, outer) == outer;
}

void Lanes::add_inactive(size_t level, const std::shared_ptr<const Vectors>& lanes) {
  levels_[level].inactive = together(levels_[level].inactive, lanes);
}

void Lanes::narrow(Level id) {
  // Of a loop that comes here again without a level of its own: what was named so goes on as
  // another one.
  const Level again = id | kAgain;
  if (const size_t old = std::min(place_of(id), place_of(again)); old < levels_.size())
    collapse(old, again);
  add_inactive(levels_.size() - 1, std::make_shared<Vectors>(vectors_));
  levels_.push_back({id, nullptr});
}

void Lanes::pop_to(size_t count, uint64_t name) {
  std::shared_ptr<const Vectors> lanes;
  for (size_t n = count - 1; n < levels_.size(); ++n)
    lanes = together(lanes, std::exchange(levels_[n].inactive, nullptr));
  const Level now = levels_[count - 1].id;
  while (levels_.size() > count) {
    const Level gone = levels_.back().id;
    levels_.pop_back();
    for (Mask& mask : masks_) {
      if (mask.within == gone) mask.within = now;
      for (Mask::Fills& one : mask.fills)
        if (one.of == gone || one.all == gone) one = {};
    }
  }
  if (lanes == nullptr) return;
  for (Mask& mask : masks_) forget_joins(mask, name);
  join_values(vectors_.data(), lanes->data(), vectors_.size(), name, nullptr);
}

void Lanes::set_exec(const Mask& mask, bool with, Level id, uint64_t name) {
  const Level now = level();
  for (size_t n = levels_.size(); n-- > 0;) {
    const Level all = levels_[n].id;
    const bool fills = mask.has({0, all}) || (with && (mask.has({now, all}) || now == all));
    if (fills && is_within(mask.within, all)) return pop_to(n + 1, name);
  }
  // Some lanes of a level. The others are inactive, each with what it had.
  const Level within =
      with ? common(mask.within == 0 ? kFirstLevel : mask.within, now) : mask.within;
  const size_t place = within == kNoLanes ? levels_.size() - 1 : place_of(within);
  if (mask.within == 0 || place >= levels_.size()) return set_exec_unknown(id, name);
  if (place + 1 == levels_.size() && within == now && !with) return narrow(id);
  pop_to(place + 1, name);
  narrow(id);
}

void Lanes::set_exec_to_others(const Mask& mask, Level id, uint64_t name) {
  const Level now = level();
  const size_t place = place_of(mask.within);
  if (mask.within == 0 || place >= levels_.size()) return set_exec_unknown(id, name);
  if (place + 1 == levels_.size()) return empty();  // its lanes are all active ones
  const bool fills = mask.has({now, mask.within});
  // The lanes that were active keep what they have, and the others get what they had.
  auto active = std::make_shared<Vectors>(vectors_);
  std::shared_ptr<const Vectors> others;
  for (size_t n = place; n + 1 < levels_.size(); ++n)
    others = together(others, levels_[n].inactive);
  std::ranges::fill(vectors_, Value::unwritten());
  pop_to(place + 1, name);
  levels_.back().inactive = together(active, fills ? nullptr : others);
  const Level again = id | kAgain;
  if (const size_t old = std::min(place_of(id), place_of(again)); old < levels_.size())
    collapse(old, again);
  levels_.push_back({id, nullptr});
}

void Lanes::set_exec_unknown(Level id, uint64_t name) {
  pop_to(1, name);
  for (Mask& mask : masks_) {
    mask.within = 0;
    mask.fills = {};
  }
  // Any of its lanes may be inactive now.
  narrow(id);
}

void Lanes::empty() {
  add_inactive(levels_.size() - 1, std::make_shared<Vectors>(vectors_));
  std::ranges::fill(vectors_, Value::unwritten());
}

Value Lanes::any_lane(unsigned vector) const {
  Value value = vectors_[vector];
  for (const OneLevel& level : levels_)
    if (level.inactive != nullptr) value = joined(value, (*level.inactive)[vector]);
  value.name = 0;
  value.lower = 0;
  return value;
}

void Lanes::write_lane(unsigned vector, const Value& value) {
  Value plain = value;
  plain.name = 0;
  plain.lower = 0;
  const auto into = [&](Value& to) {
    to = joined(to, plain);
    to.name = 0;
    to.lower = 0;
  };
  into(vectors_[vector]);
  for (OneLevel& level : levels_) {
    if (level.inactive == nullptr) continue;
    auto changed = std::make_shared<Vectors>(*level.inactive);
    into((*changed)[vector]);
    level.inactive = std::move(changed);
  }
}

void Lanes::collapse(size_t from, Level id) {
  const Level last = level();
  std::shared_ptr<const Vectors> lanes;
  for (size_t n = from; n + 1 < levels_.size(); ++n) lanes = together(lanes, levels_[n].inactive);
  const std::shared_ptr<const Vectors> own = levels_.back().inactive;
  const Level before = levels_[from - 1].id;
  const auto gone = [&](Level level) {
    return level != last && place_of(level) < levels_.size() && place_of(level) >= from;
  };
  for (Mask& mask : masks_) {
    if (mask.within == last)
      mask.within = id;
    else if (gone(mask.within))
      mask.within = before;
    for (Mask::Fills& one : mask.fills) {
      if (gone(one.of) || gone(one.all)) {
        one = {};
        continue;
      }
      if (one.of == last) one.of = id;
      if (one.all == last) one.all = id;
    }
  }
  levels_.resize(from);
  add_inactive(from - 1, lanes);
  levels_.push_back({id, own});
}

void Lanes::arrive(Level id, uint64_t name) {
  if (const size_t place = place_of(id); place < levels_.size() && place + 1 < levels_.size())
    collapse(place, id);
  const auto clean = [&](Value& value, const Value* before, size_t place) {
    if (is_of_join(value.name, name) && !at_own_place(value.name, name, place)) value.name = 0;
    if (is_of_join(value.lower, name) && (!at_own_place(value.lower + 1, name, place) ||
                                          before == nullptr || before->name != value.lower))
      value.lower = 0;
  };
  for (size_t n = 0; n < vectors_.size(); ++n)
    clean(vectors_[n], n == 0 ? nullptr : &vectors_[n - 1], n);
  for (size_t n = 0; n < scalars_.size(); ++n)
    clean(scalars_[n], n == 0 ? nullptr : &scalars_[n - 1], kScalarNames + n);
  for (Mask& mask : masks_) forget_joins(mask, name);
}

bool Lanes::join(Lanes other, Level id, uint64_t name, const std::vector<int64_t>* thresholds) {
  bool changed = false;
  // Levels that both have; where they part, what is active on either way is a level of its own.
  size_t same = 0;
  while (same < levels_.size() && same < other.levels_.size() &&
         levels_[same].id == other.levels_[same].id)
    ++same;
  bool plain = false, other_plain = false;  // its active lanes are all those of the last common one
  if (same != levels_.size() || same != other.levels_.size()) {
    const auto divide = [&](Lanes& lanes, bool& is_plain) {
      if (lanes.levels_.size() > same) {
        if (lanes.levels_.size() != same + 1 || lanes.level() != id) lanes.collapse(same, id);
      } else {
        is_plain = true;
        lanes.levels_.push_back({id, nullptr});
      }
    };
    changed = levels_.size() != same + 1 || level() != id;
    divide(*this, plain);
    divide(other, other_plain);
  }
  for (size_t n = 0; n < levels_.size(); ++n) {
    const auto& more = other.levels_[n].inactive;
    if (more == nullptr || more == levels_[n].inactive) continue;
    if (levels_[n].inactive == nullptr) {
      levels_[n].inactive = more;
      changed = true;
      continue;
    }
    Vectors both = *levels_[n].inactive;
    if (!join_values(both.data(), more->data(), both.size(), name, thresholds)) continue;
    levels_[n].inactive = std::make_shared<Vectors>(std::move(both));
    changed = true;
  }
  const Level outer = levels_.size() > 1 ? levels_[levels_.size() - 2].id : kFirstLevel;
  for (unsigned n = 0; n < masks_.size(); ++n) {
    Mask& mask = masks_[n];
    Mask& more = other.masks_[n];
    Mask both;
    both.within = mask.within == 0 || more.within == 0 ? 0 : common(mask.within, more.within);
    // Before it parted, each register and the active lanes filled the level.
    if (plain) mask.add({id, outer});
    if (other_plain) more.add({id, outer});
    for (const Mask::Fills& one : mask.fills)
      if (one.all != 0 && more.has(one)) both.add(one);
    for (const Condition& one : mask.conditions)
      if (std::ranges::find(more.conditions, one) != more.conditions.end())
        both.conditions.push_back(one);
    if (mask.carry != nullptr && more.carry != nullptr && *mask.carry == *more.carry)
      both.carry = mask.carry;
    if (both == mask) continue;
    mask = std::move(both);
    changed = true;
  }
  changed |= join_values(vectors_.data(), other.vectors_.data(), vectors_.size(), name, thresholds);
  changed |= join_values(scalars_.data(), other.scalars_.data(), scalars_.size(),
                         name + kScalarNames, thresholds);
  return changed;
}

bool join_values(Value* into, const Value* other, size_t count, uint64_t name,
                 const std::vector<int64_t>* thresholds) {
  // Where EXEC changes, equal names may be those of different values.
  const bool at_exec = (name >> 11 & 1) != 0;
  // Whether register n and the next one are the halves of a value.
  const auto is_pair = [&](const Value& low, const Value& high) {
    return (high.lower != 0 && high.lower == low.name) || (low.nothing && high.nothing);
  };
  bool changed = false;
  bool upper = false;  // of a pair that gets a name
  for (size_t n = 0; n < count; ++n) {
    const Value mine = into[n];
    const Value& more = other[n];
    Value both = mine == more ? mine : joined(mine, more);
    if (at_exec) {
      both.name = 0;
      both.lower = 0;
    }
    const bool pairs = name != 0 && n + 1 < count && (both.name == 0 || both.name == name + n) &&
                       !(mine.nothing && more.nothing) && is_pair(mine, into[n + 1]) &&
                       is_pair(more, other[n + 1]);
    if (pairs) both.name = name + n;
    if (upper) {
      both.lower = name + n - 1;
      both.wide = mine.nothing   ? more.wide
                  : more.nothing ? mine.wide
                                 : united(mine.wide, more.wide);
    }
    upper = pairs;
    if (thresholds != nullptr && !mine.nothing) {
      if (!(both.number == mine.number))
        both.number =
            widened(mine.number, both.number, thresholds->data(), thresholds->size(), false);
      if (both.lower != 0 && mine.lower != 0 && !(both.wide == mine.wide))
        both.wide = widened(mine.wide, both.wide, thresholds->data(), thresholds->size(), true);
    }
    if (both == mine) continue;
    into[n] = both;
    changed = true;
  }
  return changed;
}

}  // namespace gfxgraph::footprint
