#include "replayer/program/program_store.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace gfxgraph::replayer {
namespace {

constexpr size_t kBlockWords = (UINT64_C(256) << 10) / sizeof(uint64_t);

uint64_t hash_of(const format::Launch& launch) {
  uint64_t hash = launch.kernel;
  // Of each launch: SeededHash of the table mixes the result.
  const auto add = [&](uint64_t value) {
    hash = (hash ^ value) * 0x9E3779B97F4A7C15;
    hash ^= hash >> 32;
  };
  for (size_t i = 0; i < launch.grid.size(); ++i) {
    add(uint64_t{launch.grid[i]} << 32 | launch.block[i]);
    if (launch.grid_remainder[i] != 0) add(launch.grid_remainder[i]);
  }
  add(uint64_t{launch.dynamic_lds_bytes} << 32 | launch.kernarg.size());
  for (const format::Relocation& relocation : launch.relocations) {
    add(relocation.offset_bytes << 32 | relocation.allocation);
    add(static_cast<uint64_t>(relocation.addend));
  }
  return hash;
}

bool is(const LaunchShape& shape, const format::Launch& launch) {
  return shape.kernel == launch.kernel && shape.grid == launch.grid &&
         shape.grid_remainder == launch.grid_remainder && shape.block == launch.block &&
         shape.dynamic_lds_bytes == launch.dynamic_lds_bytes &&
         shape.cooperative == launch.cooperative && shape.kernarg_bytes == launch.kernarg.size() &&
         shape.relocations == launch.relocations;
}

}  // namespace

const LaunchShape* ProgramStore::shape(const format::Launch& launch) {
  const uint64_t hash = hash_of(launch);
  const auto [begin, end] = known_.equal_range(hash);
  const auto same =
      std::find_if(begin, end, [&](const auto& one) { return is(*one.second, launch); });
  if (same != end) return same->second;
  const LaunchShape* const added = &shapes_.emplace_back(LaunchShape{
      launch.kernel, launch.grid, launch.grid_remainder, launch.block, launch.dynamic_lds_bytes,
      launch.cooperative, static_cast<uint32_t>(launch.kernarg.size()), launch.relocations});
  known_.emplace(hash, added);
  return added;
}

const uint8_t* ProgramStore::arguments(std::span<const uint8_t> bytes) {
  const size_t words = (bytes.size() + sizeof(uint64_t) - 1) / sizeof(uint64_t);
  if (words > room_.size()) {
    const size_t size = std::max(words, kBlockWords);
    room_ = {blocks_.emplace_back(std::make_unique_for_overwrite<uint64_t[]>(size)).get(), size};
  }
  auto* const at = reinterpret_cast<uint8_t*>(room_.data());
  room_ = room_.subspan(words);
  if (!bytes.empty()) std::memcpy(at, bytes.data(), bytes.size());
  return at;
}

}  // namespace gfxgraph::replayer
