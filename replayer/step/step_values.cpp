#include "replayer/step/step_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "base/checked.h"

namespace gfxgraph::replayer {
namespace {

using ranges::PlaceKind;

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

StepValues::StepValues(Instance& instance)
    : instance_(instance),
      prepared_(instance.prepared()),
      program_(instance.program()),
      is_resized_(program_.operations().size()) {
  resized_.reserve(is_resized_.size());
}

// The operation.
Result<uint32_t> StepValues::find_launch(uint32_t launch_index) const {
  const uint32_t first = program_.first_launch();
  if (launch_index >= first && launch_index - first < program_.launch_count())
    return program_.launch_operation(launch_index);
  return fail(Status::kNotFound, fmt::format("launch {} does not exist: there are {}, from {}",
                                             launch_index, program_.launch_count(), first));
}

Result<void> StepValues::set_kernarg(uint32_t launch_index, uint64_t offset,
                                     std::span<const std::byte> bytes) {
  GFXGRAPH_ASSIGN_OR_RETURN(const uint32_t operation, find_launch(launch_index));
  const PreparedLaunch& launch = prepared_.launches[prepared_.all[operation].index];
  if (!range_fits(offset, bytes.size(), launch.kernarg_bytes)) {
    return fail(Status::kInvalidArgument,
                fmt::format("bytes {}+{} lie outside the {} argument bytes of launch {}", offset,
                            bytes.size(), launch.kernarg_bytes, launch_index));
  }
  if (bytes.empty() || std::memcmp(launch.kernarg + offset, bytes.data(), bytes.size()) == 0)
    return {};
  std::memcpy(launch.kernarg + offset, bytes.data(), bytes.size());
  arguments_changed(operation);
  return {};
}

Result<void> StepValues::set_grid(uint32_t launch_index, const hip::Dim3& grid) {
  GFXGRAPH_ASSIGN_OR_RETURN(const uint32_t operation, find_launch(launch_index));
  const PreparedLaunch& launch = prepared_.launches[prepared_.all[operation].index];
  GFXGRAPH_TRY(check_sizes(program_, operation, grid, launch.block));
  GFXGRAPH_TRY(set_place({operation, PlaceKind::kGridX, 0, 4}, {0, grid.x}));
  GFXGRAPH_TRY(set_place({operation, PlaceKind::kGridY, 0, 4}, {0, grid.y}));
  return set_place({operation, PlaceKind::kGridZ, 0, 4}, {0, grid.z});
}

Result<void> StepValues::set_other_place(const PlaceTarget& target, const PlaceValue& value) {
  GFXGRAPH_ASSIGN_OR_RETURN(const bool changed, change(target, value));
  if (!changed) return {};
  if (target.kind == PlaceKind::kArgument) {
    arguments_changed(target.operation);
  } else {
    if (prepared_.all[target.operation].kind == OperationKind::kLaunch)
      note_resized(target.operation);
    operation_changed(target.operation);
  }
  return {};
}

Result<void> StepValues::set(const StepParameter& parameter, const PlaceValue& value) {
  for (const PlaceTarget& target : parameter.targets) {
    const auto number = static_cast<int64_t>(static_cast<uint64_t>(value.number) +
                                             static_cast<uint64_t>(target.distance));
    Result<void> done = set_place(target, {value.allocation, number});
    if (!done) return with_context(std::move(done).error(), parameter.name);
  }
  return {};
}

void StepValues::set_all(const StepArguments& arguments) noexcept {
  const uint8_t* kernarg = arguments.kernargs.data();
  for (uint32_t i = 0; i < prepared_.all.size(); ++i) {
    const uint32_t index = prepared_.all[i].index;
    switch (prepared_.all[i].kind) {
      case OperationKind::kLaunch:
        take(i, arguments.launches[index], kernarg);
        kernarg += arguments.launches[index].kernarg_bytes;
        break;
      case OperationKind::kCopy: take(i, arguments.copies[index]); break;
      case OperationKind::kMemset: take(i, arguments.memsets[index]); break;
    }
  }
}

void StepValues::take(uint32_t operation, const PreparedLaunch& launch,
                      const uint8_t* kernarg) noexcept {
  PreparedLaunch& own = prepared_.launches[prepared_.all[operation].index];
  const auto same = [](const hip::Dim3& a, const hip::Dim3& b) {
    return a.x == b.x && a.y == b.y && a.z == b.z;
  };
  const bool resized = !same(own.grid, launch.grid) || !same(own.block, launch.block) ||
                       own.lds_bytes != launch.lds_bytes;
  if (std::memcmp(own.kernarg, kernarg, own.kernarg_bytes) != 0) {
    std::memcpy(own.kernarg, kernarg, own.kernarg_bytes);
    if (!resized) arguments_changed(operation);
  }
  if (!resized) return;
  own.grid = launch.grid;
  own.block = launch.block;
  own.lds_bytes = launch.lds_bytes;
  note_resized(operation);
  operation_changed(operation);
}

// The host's ends stay those of this step.
void StepValues::take(uint32_t operation, const PreparedCopy& copy) noexcept {
  PreparedCopy& own = prepared_.copy_of(operation);
  if (!own.linear()) return;
  const format::Copy& recorded = *program_.operations()[operation].copy;
  bool changed = assign(own.width, copy.width);
  own.source_pitch = copy.source_pitch;
  own.destination_pitch = copy.destination_pitch;
  if (recorded.source.allocation != 0) changed |= assign(own.source, copy.source);
  if (recorded.destination.allocation != 0) changed |= assign(own.destination, copy.destination);
  if (!changed) return;
  prepared_.all[operation].empty = own.empty();
  operation_changed(operation);
}

void StepValues::take(uint32_t operation, const PreparedMemset& memset) noexcept {
  PreparedMemset& own = prepared_.memsets[prepared_.all[operation].index];
  bool changed = assign(own.destination, memset.destination);
  changed |= assign(own.copy_destination, memset.copy_destination);
  changed |= assign(own.value, memset.value);
  changed |= assign(own.width, memset.width);
  changed |= assign(own.pitch, memset.pitch);
  if (!changed) return;
  prepared_.all[operation].empty = own.width == 0 || own.height == 0 || own.depth == 0;
  operation_changed(operation);
}

Result<void> StepValues::check_resized() {
  while (any_resized()) {
    const uint32_t operation = resized_.back();
    const PreparedLaunch& launch = prepared_.launches[prepared_.all[operation].index];
    GFXGRAPH_TRY(check_sizes(program_, operation, launch.grid, launch.block));
    is_resized_[operation] = false;
    resized_.pop_back();
  }
  return {};
}

void StepValues::set_host_source(uint32_t operation, const uint8_t* bytes) noexcept {
  PreparedCopy& copy = prepared_.copy_of(operation);
  copy.given = true;  // no words there follow what is bound
  ++changes_;
  if (assign(copy.source, bytes)) operation_changed(operation);
}

void StepValues::set_host_destination(uint32_t operation, uint8_t* bytes) noexcept {
  PreparedCopy& copy = prepared_.copy_of(operation);
  copy.destination = bytes == nullptr ? copy.staged : bytes;
  for (HostResult& result : prepared_.host_results) {
    if (result.operation == operation) result.bytes = copy.destination;
  }
  operation_changed(operation);
}

void StepValues::set_host_write(uint32_t index, std::span<const std::byte> bytes) noexcept {
  instance_.host_writes().set(index, bytes);
  ++changes_;
}

void StepValues::operation_changed(uint32_t operation) noexcept {
  executor_->changed(operation);
  ++changes_;
}

void StepValues::note_resized(uint32_t operation) noexcept {
  if (is_resized_[operation]) return;
  is_resized_[operation] = true;
  resized_.push_back(operation);  // has room: setting allocates nothing
}

// The address of `size_bytes` bytes, which must lie in the allocation.
Result<uint64_t> StepValues::address(const PlaceValue& value, uint64_t size_bytes,
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

// How many bytes a linear copy may move at this end.
uint64_t StepValues::room(const format::Copy& recorded, const format::CopyEnd& end,
                          const uint8_t* at) const {
  if (end.allocation == 0) return recorded.width_bytes;  // staging holds no more
  const uint8_t* const host = memory().host_pointer(end.allocation);
  const uint8_t* const base = host != nullptr ? host : memory().device_pointer(end.allocation);
  return memory().size(end.allocation) - static_cast<uint64_t>(at - base);
}

// Memory that others have at other times is an allocation's own only where the recorded program
// used it.
Result<void> StepValues::check_place(const PlaceTarget& target, const PlaceValue& value) const {
  if (value.allocation == 0 || !memory().exists(value.allocation)) return {};
  const Operation& recorded = program_.operations()[target.operation];
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

Result<bool> StepValues::change(const PlaceTarget& target, const PlaceValue& value) {
  GFXGRAPH_TRY(check_place(target, value));
  const PreparedOperation& prepared = prepared_.all[target.operation];
  Result<bool> done = false;
  switch (prepared.kind) {
    case OperationKind::kLaunch:
      done = set_launch(prepared_.launches[prepared.index], target, value);
      break;
    case OperationKind::kCopy:
      done = set_copy(*program_.operations()[target.operation].copy,
                      prepared_.copies[prepared.index], target, value);
      break;
    case OperationKind::kMemset:
      done = set_memset(prepared_.memsets[prepared.index], target, value);
      break;
  }
  if (done) {
    if (prepared.kind == OperationKind::kCopy)
      prepared_.all[target.operation].empty = prepared_.copies[prepared.index].empty();
    return done;
  }
  return with_context(std::move(done).error(), program_.describe(target.operation));
}

Result<bool> StepValues::set_launch(PreparedLaunch& launch, const PlaceTarget& target,
                                    const PlaceValue& value) const {
  const auto set_size = [&](uint32_t& size) -> Result<bool> {
    if (const SpecialLaunch* const one = instance_.special(launch); one != nullptr && one->partial)
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

Result<bool> StepValues::set_copy(const format::Copy& recorded, PreparedCopy& copy,
                                  const PlaceTarget& target, const PlaceValue& value) const {
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

Result<bool> StepValues::set_memset(PreparedMemset& memset, const PlaceTarget& target,
                                    const PlaceValue& value) const {
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
