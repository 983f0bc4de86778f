#include "memory.h"

namespace random_programs {

const char* kind_name(Kind kind) {
  switch (kind) {
    case Kind::kDevice: return "device";
    case Kind::kManaged: return "managed";
    case Kind::kPinned: return "pinned";
    case Kind::kRegistered: return "registered";
    case Kind::kPageable: return "pageable";
    case Kind::kGlobal: return "global";
    case Kind::kPool: return "pool";
    case Kind::kArray: return "array";
    case Kind::kTexture: return "texture";
    case Kind::kSurface: return "surface";
  }
  return "?";
}

Region& Memory::add(Kind kind, uint64_t size) {
  auto region = std::make_unique<Region>();
  region->id = count();
  region->kind = kind;
  region->size = size;
  region->bytes.resize(size);
  region->defined.resize(size);
  regions_.push_back(std::move(region));
  return *regions_.back();
}

void Memory::written(int region, uint64_t begin, uint64_t end) {
  Region& target = at(region);
  std::fill(target.defined.begin() + static_cast<long>(begin),
            target.defined.begin() + static_cast<long>(end), uint8_t{1});
  for (auto it = target.pointers.begin(); it != target.pointers.end();) {
    const bool overlaps = it->first < end && it->first + 8 > begin;
    // A pointer that is overwritten in part is a word that this model does not know any more.
    if (overlaps && (it->first < begin || it->first + 8 > end)) {
      for (uint64_t i = it->first; i < it->first + 8; ++i) {
        if (i < begin || i >= end) target.defined[i] = 0;
      }
    }
    it = overlaps ? target.pointers.erase(it) : std::next(it);
  }
}

void Memory::set_pointer(const Ref& place, const Ref& target) {
  written(place.region, place.offset, place.offset + 8);
  const uint64_t address = at(target.region).address() + target.offset;
  std::memcpy(bytes(place), &address, 8);
  at(place.region).pointers[place.offset] = target;
}

void Memory::copy(const Ref& to, const Ref& from, uint64_t size) {
  std::map<uint64_t, Ref> carried;
  const Region& source = at(from.region);
  for (const auto& [offset, target] : source.pointers) {
    if (offset >= from.offset && offset + 8 <= from.offset + size)
      carried[offset - from.offset + to.offset] = target;
  }
  // A part of an address is not a value that two runs share.
  std::vector<uint8_t> known(source.defined.begin() + static_cast<long>(from.offset),
                             source.defined.begin() + static_cast<long>(from.offset + size));
  for (const auto& [offset, target] : source.pointers) {
    const bool whole = offset >= from.offset && offset + 8 <= from.offset + size;
    for (uint64_t i = offset; i < offset + 8 && !whole; ++i) {
      if (i >= from.offset && i < from.offset + size) known[i - from.offset] = 0;
    }
  }
  std::vector<uint8_t> values(bytes(from), bytes(from) + size);
  written(to.region, to.offset, to.offset + size);
  std::memcpy(bytes(to), values.data(), size);
  std::copy(known.begin(), known.end(),
            at(to.region).defined.begin() + static_cast<long>(to.offset));
  for (const auto& [offset, target] : carried) at(to.region).pointers[offset] = target;
}

bool Memory::defined(const Access& access) const {
  const Region& region = at(access.region);
  for (uint64_t i = access.begin; i < access.end; ++i) {
    if (region.defined[i] == 0) return false;
  }
  return true;
}

bool Memory::splits_pointer(const Access& access) const {
  for (const auto& [offset, target] : at(access.region).pointers) {
    const bool overlaps = offset < access.end && access.begin < offset + 8;
    if (overlaps && (offset < access.begin || offset + 8 > access.end)) return true;
  }
  return false;
}

int Memory::conflict(const Access& access, const OpSet& before) const {
  for (const Use& use : at(access.region).uses) {
    if ((use.write || access.write) && use.begin < access.end && access.begin < use.end &&
        !before.has(use.op))
      return use.op;
  }
  return -1;
}

void Memory::used(int op, const std::vector<Access>& accesses) {
  for (const Access& access : accesses)
    at(access.region).uses.push_back({op, access.begin, access.end, access.write});
}

Memory::State Memory::save() const {
  State state;
  for (const auto& region : regions_)
    state.push_back(region->live ? Content{region->bytes, region->defined, region->pointers}
                                 : Content{});
  return state;
}

void Memory::restore(const State& state) {
  for (size_t i = 0; i < state.size(); ++i) {
    if (!regions_[i]->live) continue;
    regions_[i]->bytes = state[i].bytes;
    regions_[i]->defined = state[i].defined;
    regions_[i]->pointers = state[i].pointers;
  }
}

}  // namespace random_programs
