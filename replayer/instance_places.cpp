// Setting single values of prepared operations.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>
#include <utility>

#include "base/checked.h"
#include "replayer/executor.h"
#include "replayer/instance.h"

namespace gfxgraph::replayer {
namespace {

using ranges::PlaceKind;

constexpr uint64_t kMostInGroup = 1024;  // work items; of every AMD GPU

tl::unexpected<Error> cannot_set(const std::string& operation, PlaceKind kind) {
  return fail(Status::kUnsupported,
              fmt::format("{}: {} cannot be set", operation, ranges::place_kind_name(kind)));
}

tl::unexpected<Error> out_of_place(const std::string& operation, PlaceKind kind) {
  return fail(Status::kInvalidArgument, fmt::format("{}: with this {} it would exceed its buffer",
                                                    operation, ranges::place_kind_name(kind)));
}

// Whether it was something else.
template <typename Value>
bool assign(Value& at, Value value) {
  return std::exchange(at, value) != value;
}

}  // namespace

// The address of `size_bytes` bytes, which must lie in the allocation.
Result<uint64_t> Instance::address(const PlaceValue& value, uint64_t size_bytes,
                                   bool by_host) const {
  if (!memory().exists(value.allocation)) {
    return fail(Status::kNotFound,
                "the value is an address in memory that the range does not have");
  }
  if (value.number < 0 || !range_fits(static_cast<uint64_t>(value.number), size_bytes,
                                      memory().size(value.allocation))) {
    return fail(Status::kInvalidArgument,
                fmt::format("bytes {}+{} lie outside allocation {} of {} bytes", value.number,
                            size_bytes, value.allocation, memory().size(value.allocation)));
  }
  uint8_t* const host = by_host ? memory().host_pointer(value.allocation) : nullptr;
  uint8_t* const base = host != nullptr ? host : memory().device_pointer(value.allocation);
  return reinterpret_cast<uint64_t>(base) + static_cast<uint64_t>(value.number);
}

void Instance::follow_new_moves(Executor* executor) noexcept {
  const std::vector<Move>& moves = session_->moves();
  for (; moves_followed_ < moves.size(); ++moves_followed_)
    follow(moves[moves_followed_], executor);
}

// Updates values that point into a moved allocation; other values that the caller set stay.
void Instance::follow(const Move& move, Executor* executor) noexcept {
  bool changed = false;
  const auto moved = [&](uint64_t word, format::AllocationId recorded) {
    return recorded == move.allocation ? move.moved(word) : move.moved_inside(word);
  };
  const auto pointer = [&](auto*& at, format::AllocationId recorded) {
    if (recorded == 0) return;  // staging
    changed |= assign(at, reinterpret_cast<std::remove_reference_t<decltype(at)>>(
                              moved(reinterpret_cast<uint64_t>(at), recorded)));
  };
  const auto words = [&](std::span<std::byte> bytes,
                         const std::vector<format::Relocation>& relocations) {
    for (const format::Relocation& word : relocations) {
      if (!range_fits(word.offset_bytes, sizeof(uint64_t), bytes.size())) continue;
      const uint64_t before = load_word(bytes, word.offset_bytes);
      const uint64_t now = moved(before, word.allocation);
      changed |= now != before;
      store_word(bytes, word.offset_bytes, now);
    }
  };
  for (size_t i = 0; i < operations_.size(); ++i) {
    const Operation& recorded = program_->operations()[i];
    changed = false;
    switch (operations_[i].kind) {
      case OperationKind::kLaunch: {
        const PreparedLaunch& launch = launches_[operations_[i].index];
        words(std::as_writable_bytes(std::span(launch.kernarg, launch.kernarg_bytes)),
              recorded.launch->relocations);
        break;
      }
      case OperationKind::kCopy: {
        PreparedCopy& copy = copies_[operations_[i].index];
        pointer(copy.source, recorded.copy->source.allocation);
        pointer(copy.destination, recorded.copy->destination.allocation);
        if (recorded.copy->source.allocation != 0 || copy.given || copy.source == nullptr) break;
        auto* const staged = const_cast<uint8_t*>(copy.source);
        words(std::as_writable_bytes(std::span(staged, recorded.copy->host_source.size_bytes)),
              recorded.copy->host_source.relocations);
        break;
      }
      case OperationKind::kMemset: {
        PreparedMemset& memset = memsets_[operations_[i].index];
        pointer(memset.destination, recorded.memset->allocation);
        pointer(memset.copy_destination, recorded.memset->allocation);
        break;
      }
    }
    if (changed && executor != nullptr) executor->changed(static_cast<uint32_t>(i));
  }
  for (size_t i = 0; i < host_writes_.size(); ++i) {
    const format::HostWrite& recorded = *program_->host_writes()[i];
    pointer(host_writes_[i].destination, recorded.allocation);
    if (!host_writes_[i].given) words(host_writes_[i].bytes, recorded.content.relocations);
  }
}

void Instance::set_host_source(uint32_t operation, const uint8_t* bytes) noexcept {
  PreparedCopy& copy = copies_[operations_[operation].index];
  copy.source = bytes;
  copy.given = true;
}

void Instance::set_host_destination(uint32_t operation, uint8_t* bytes) noexcept {
  PreparedCopy& copy = copies_[operations_[operation].index];
  copy.destination = bytes == nullptr ? copy.staged : bytes;
  for (HostResult& result : host_results_) {
    if (result.operation == operation) result.bytes = copy.destination;
  }
}

void Instance::set_host_write(uint32_t index, std::span<const std::byte> bytes) noexcept {
  PreparedHostWrite& write = host_writes_[index];
  std::memcpy(write.bytes.data(), bytes.data(), std::min(bytes.size(), write.bytes.size()));
  write.given = true;
}

// How many bytes a linear copy may move at this end.
uint64_t Instance::room(const format::Copy& recorded, const format::CopyEnd& end,
                        const uint8_t* at) const {
  if (end.allocation == 0) return recorded.width_bytes;  // staging holds no more
  const uint8_t* const host = memory().host_pointer(end.allocation);
  const uint8_t* const base = host != nullptr ? host : memory().device_pointer(end.allocation);
  return memory().size(end.allocation) - static_cast<uint64_t>(at - base);
}

// Memory that others have at other times is an allocation's own only where the recorded program
// used it.
Result<void> Instance::check_place(const PlaceTarget& target, const PlaceValue& value) const {
  if (value.allocation == 0 || !memory().exists(value.allocation)) return {};
  const Operation& recorded = program_->operations()[target.operation];
  const auto is_there = [&](const format::Relocation& word) {
    return word.offset_bytes == target.offset_bytes && word.allocation == value.allocation;
  };
  bool same = false;
  switch (recorded.kind) {
    case OperationKind::kLaunch:
      same = std::ranges::any_of(recorded.launch->relocations, is_there);
      break;
    case OperationKind::kCopy:
      same =
          (target.kind == PlaceKind::kSource ? recorded.copy->source : recorded.copy->destination)
              .allocation == value.allocation;
      break;
    case OperationKind::kMemset: same = recorded.memset->allocation == value.allocation; break;
  }
  if (same) return {};
  return memory().check_own(value.allocation);
}

Result<bool> Instance::set_place(const PlaceTarget& target, const PlaceValue& value) {
  GFXGRAPH_TRY(check_place(target, value));
  const PreparedOperation& prepared = operations_[target.operation];
  Result<bool> done = false;
  switch (prepared.kind) {
    case OperationKind::kLaunch: done = set_launch(launches_[prepared.index], target, value); break;
    case OperationKind::kCopy:
      done = set_copy(*program_->operations()[target.operation].copy, copies_[prepared.index],
                      target, value);
      break;
    case OperationKind::kMemset: done = set_memset(memsets_[prepared.index], target, value); break;
  }
  if (done) {
    if (prepared.kind == OperationKind::kCopy)
      operations_[target.operation].empty = copies_[prepared.index].empty();
    return done;
  }
  return with_context(std::move(done).error(), program_->describe(target.operation));
}

// HIP 5.2.3 checks the sizes of a launch, but not those of a graph's node: it cuts them off.
Result<void> Instance::check_sizes(uint32_t operation, const hip::Dim3* grid) const {
  const PreparedLaunch& launch = launches_[operations_[operation].index];
  const hip::Dim3& size = grid == nullptr ? launch.grid : *grid;
  const std::array<uint64_t, 3> groups = {size.x, size.y, size.z};
  const std::array<uint64_t, 3> items = {launch.block.x, launch.block.y, launch.block.z};
  const auto& remainder = program_->operations()[operation].launch->grid_remainder;
  uint64_t in_group = 1;
  for (size_t i = 0; i < 3; ++i) {
    if (groups[i] == 0 || items[i] == 0)
      return fail(Status::kInvalidArgument, program_->describe(operation) + ": an empty grid");
    const uint64_t last = remainder[i] == 0 ? items[i] : remainder[i];
    if ((groups[i] - 1) * items[i] + last > UINT32_MAX) {
      return fail(Status::kInvalidArgument,
                  fmt::format("{}: {} workgroups of {} work items in one dimension: no device runs "
                              "2^32 or more",
                              program_->describe(operation), groups[i], items[i]));
    }
    in_group = items[i] > kMostInGroup ? kMostInGroup + 1 : in_group * items[i];
    if (in_group <= kMostInGroup) continue;
    return fail(
        Status::kInvalidArgument,
        fmt::format("{}: workgroups of {} x {} x {} work items: a device runs {}",
                    program_->describe(operation), items[0], items[1], items[2], kMostInGroup));
  }
  return {};
}

Result<bool> Instance::set_launch(PreparedLaunch& launch, const PlaceTarget& target,
                                  const PlaceValue& value) {
  const auto set_size = [&](uint32_t& size) -> Result<bool> {
    if (const SpecialLaunch* const one = special(launch); one != nullptr && one->partial)
      return cannot_set("a launch with partial workgroups", target.kind);
    if (value.allocation != 0 || value.number < 0 || value.number > UINT32_MAX) {
      return fail(Status::kInvalidArgument, fmt::format("{} is not a size", value.number));
    }
    return assign(size, static_cast<uint32_t>(value.number));
  };
  switch (target.kind) {
    case PlaceKind::kArgument: {
      uint64_t word = static_cast<uint64_t>(value.number);
      if (value.allocation != 0) {
        if (target.size_bytes != sizeof(word)) {
          return fail(
              Status::kInvalidArgument,
              fmt::format("{} bytes at {} of the arguments are not an address: set a number",
                          target.size_bytes, target.offset_bytes));
        }
        GFXGRAPH_ASSIGN_OR_RETURN(word, address(value, 0, false));
      }
      if (target.size_bytes > sizeof(word) ||
          !range_fits(target.offset_bytes, target.size_bytes, launch.kernarg_bytes)) {
        return fail(Status::kInvalidArgument,
                    fmt::format("bytes {}+{} lie outside the {} argument bytes",
                                target.offset_bytes, target.size_bytes, launch.kernarg_bytes));
      }
      uint8_t* const at = launch.kernarg + target.offset_bytes;
      if (std::memcmp(at, &word, target.size_bytes) == 0) return false;
      std::memcpy(at, &word, target.size_bytes);
      return true;
    }
    case PlaceKind::kGridX: return set_size(launch.grid.x);
    case PlaceKind::kGridY: return set_size(launch.grid.y);
    case PlaceKind::kGridZ: return set_size(launch.grid.z);
    case PlaceKind::kBlockX: return set_size(launch.block.x);
    case PlaceKind::kBlockY: return set_size(launch.block.y);
    case PlaceKind::kBlockZ: return set_size(launch.block.z);
    case PlaceKind::kDynamicLds: return set_size(launch.lds_bytes);
    default: return cannot_set("a launch", target.kind);
  }
}

Result<bool> Instance::set_copy(const format::Copy& recorded, PreparedCopy& copy,
                                const PlaceTarget& target, const PlaceValue& value) {
  if (!copy.linear()) return cannot_set("a pitched copy", target.kind);
  switch (target.kind) {
    case PlaceKind::kSource: {
      if (recorded.source.allocation == 0) break;
      GFXGRAPH_ASSIGN_OR_RETURN(const uint64_t source, address(value, copy.width, true));
      return assign(copy.source, reinterpret_cast<const uint8_t*>(source));
    }
    case PlaceKind::kDestination: {
      if (recorded.destination.allocation == 0) break;
      GFXGRAPH_ASSIGN_OR_RETURN(const uint64_t destination, address(value, copy.width, true));
      return assign(copy.destination, reinterpret_cast<uint8_t*>(destination));
    }
    case PlaceKind::kWidth: {
      if (value.allocation != 0 || value.number < 0 ||
          static_cast<uint64_t>(value.number) > room(recorded, recorded.source, copy.source) ||
          static_cast<uint64_t>(value.number) >
              room(recorded, recorded.destination, copy.destination)) {
        return out_of_place("a copy", target.kind);
      }
      const auto width = static_cast<uint64_t>(value.number);
      copy.source_pitch = copy.destination_pitch = width;
      return assign(copy.width, width);
    }
    default: break;
  }
  return cannot_set("a copy", target.kind);
}

Result<bool> Instance::set_memset(PreparedMemset& memset, const PlaceTarget& target,
                                  const PlaceValue& value) {
  const bool linear = memset.height == 1 && memset.depth == 1 && memset.small_row == nullptr;
  if (target.kind == PlaceKind::kMemsetValue && memset.small_row == nullptr &&
      value.allocation == 0) {
    return assign(memset.value, static_cast<uint32_t>(value.number));
  }
  if (target.kind == PlaceKind::kDestination && linear) {
    const uint64_t size = memset.width * memset.element_bytes;
    GFXGRAPH_ASSIGN_OR_RETURN(const uint64_t device, address(value, size, false));
    GFXGRAPH_ASSIGN_OR_RETURN(const uint64_t host, address(value, size, true));
    memset.copy_destination = reinterpret_cast<uint8_t*>(host);
    return assign(memset.destination, reinterpret_cast<uint8_t*>(device));
  }
  return cannot_set("a memset", target.kind);
}

}  // namespace gfxgraph::replayer
