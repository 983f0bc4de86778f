#include "check/memory/device_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <variant>

#include "base/checked.h"
#include "check/memory/second_addresses.h"
#include "format/names.h"

namespace gfxgraph::check {
namespace {

// Of GPU page tables and of the software agent: memory is mapped in multiples of this.
constexpr uint64_t kPageBytes = 4096;
// Canonical, far from where runtimes put buffers, from the emulator's scratch and from apertures.
constexpr uint64_t kFirstOwnAddress = uint64_t{0x100000000000};
// Region::tag of the check's own memory: not the id of an allocation.
constexpr uint64_t kPartTag = uint64_t{1} << 63;
constexpr uint64_t kOwnGapBytes = uint64_t{1} << 30;
// Above the places that choose_address() finds, because a program may allocate much.
constexpr uint64_t kChosenGapBytes = uint64_t{1} << 16;

emulator::RegionKind region_kind(format::AllocationKind kind) {
  switch (kind) {
    case format::AllocationKind::kDevice:
    case format::AllocationKind::kArray:
    case format::AllocationKind::kStreamOrdered: return emulator::RegionKind::kDevice;
    case format::AllocationKind::kModuleGlobal: return emulator::RegionKind::kCode;
    default: return emulator::RegionKind::kHost;
  }
}

}  // namespace

DeviceMemory::DeviceMemory(const std::vector<format::Event>& events, Budget& budget)
    : budget_(budget) {
  next_own_ = kFirstOwnAddress;
  // Recorded addresses have priority: the check's own go above those that are in its range.
  for (const format::Event& event : events) {
    const auto* const begin = std::get_if<format::AllocationBegin>(&event.action);
    if (begin != nullptr && !begin->name.empty()) names_.try_emplace(begin->id, begin->name);
    const auto* const marker = std::get_if<format::Marker>(&event.action);
    if (marker != nullptr && marker->kind == format::MarkerKind::kName && !marker->text.empty())
      names_[marker->allocation] = marker->text;
    if (begin == nullptr) continue;
    for (const uint64_t address : {begin->recorded_address, begin->host_address}) {
      if (address >= 4 * kFirstOwnAddress) continue;
      const std::optional<uint64_t> end = checked_add(address, begin->size_bytes);
      if (end && *end + kOwnGapBytes > next_own_ && *end < 2 * kFirstOwnAddress) {
        next_own_ = (*end + 2 * kOwnGapBytes) / kOwnGapBytes * kOwnGapBytes;
      }
    }
  }
}

std::string DeviceMemory::buffer_name(const format::AllocationBegin& allocation) const {
  const bool image = allocation.array || allocation.object;
  const std::string name =
      !allocation.symbol.empty()
          ? allocation.symbol
          : fmt::format("{} #{}", image ? name_of(allocation.kind).key : "buffer", allocation.id);
  const auto given = names_.find(allocation.id);
  return given == names_.end() ? name : fmt::format("{} \"{}\"", name, given->second);
}

Result<void> DeviceMemory::begin(const format::AllocationBegin& allocation) {
  Buffer buffer;
  buffer.id = allocation.id;
  buffer.name = buffer_name(allocation);
  buffer.address = allocation.recorded_address;
  buffer.size = allocation.size_bytes;
  buffer.kind = region_kind(allocation.kind);
  const uint64_t tail = (allocation.recorded_address + allocation.size_bytes) % kPageBytes;
  const uint64_t to_page_end = tail == 0 ? 0 : kPageBytes - tail;
  const std::optional<uint64_t> mapped = allocation.mapped_bytes != 0
                                             ? std::optional(allocation.mapped_bytes)
                                             : checked_add(allocation.size_bytes, to_page_end);
  if (!mapped || !checked_add(buffer.address, *mapped)) {
    return fail(Status::kCorrupt, fmt::format("{}: {} bytes at {:#x} wrap the address space",
                                              buffer.name, buffer.size, buffer.address));
  }
  buffer.mapped = std::max(*mapped, buffer.size);
  Result<void> inserted = insert(std::move(buffer));
  if (!inserted) return with_context(std::move(inserted).error(), buffer_name(allocation));
  addresses_[allocation.id] = allocation.recorded_address;
  add_alias(allocation);
  return {};
}

// Kernels reach registered memory by the host's address, too, and hold it in their data. If
// something else is there, they do not.
void DeviceMemory::add_alias(const format::AllocationBegin& allocation) {
  const uint64_t address = second_address(allocation);
  if (address == 0) return;
  const Buffer& buffer = by_address_.at(allocation.recorded_address);
  emulator::Region region;
  region.address = address;
  region.requested_bytes = region.mapped_bytes = buffer.size;
  region.host = buffer.host();
  region.kind = buffer.kind;
  region.tag = buffer.id;
  region.name = buffer.name;
  if (map_.add(std::move(region))) aliases_[allocation.id] = address;
}

Result<void> DeviceMemory::begin_global(const format::AllocationBegin& allocation) {
  const auto after = by_address_.upper_bound(allocation.recorded_address);
  if (after == by_address_.begin()) return begin(allocation);
  const Buffer& code = std::prev(after)->second;
  const uint64_t offset = allocation.recorded_address - code.address;
  const bool loaded = code.id == 0 && code.kind == emulator::RegionKind::kCode;
  if (!loaded || !range_fits(offset, allocation.size_bytes, code.mapped)) return begin(allocation);
  if (is_read_only(allocation.recorded_address, allocation.size_bytes))
    return fail(Status::kUnsupported,
                fmt::format("{} at {:#x} lies in the executable code of {}",
                            buffer_name(allocation), allocation.recorded_address, code.name));
  Buffer buffer;
  buffer.id = allocation.id;
  buffer.name = buffer_name(allocation);
  buffer.address = allocation.recorded_address;
  buffer.size = buffer.mapped = allocation.size_bytes;
  buffer.bytes = code.bytes;
  buffer.offset = code.offset + offset;
  inside_[allocation.id] = std::move(buffer);
  return {};
}

bool DeviceMemory::is_read_only(uint64_t address, uint64_t size) const {
  const auto table = map_.snapshot();
  const emulator::Region* region = table->find(address);
  if (region == nullptr) region = table->after(address);
  for (; region != nullptr && region->address - address < size;
       region = table->after(region->address))
    if (region->read_only) return true;
  return false;
}

void DeviceMemory::end(format::AllocationId id, bool freed) {
  if (inside_.erase(id) != 0) return;
  if (const auto alias = aliases_.find(id); alias != aliases_.end()) {
    (void)map_.remove(alias->second);
    aliases_.erase(alias);
  }
  const auto found = addresses_.find(id);
  if (found == addresses_.end()) return;
  const auto buffer = by_address_.find(found->second);
  if (buffer != by_address_.end()) {
    if (freed) {
      NearestBuffer gone;
      gone.allocation = id;
      gone.name = buffer->second.name;
      gone.address = buffer->second.address;
      gone.size_bytes = buffer->second.size;
      gone.mapped_bytes = buffer->second.mapped;
      gone.freed = true;
      freed_.add(std::move(gone));
    }
    if (unpublish(buffer->second)) {
      budget_.give_memory(buffer->second.bytes->size());
      by_address_.erase(buffer);
    }
  }
  addresses_.erase(found);
}

std::vector<emulator::Region> DeviceMemory::regions_of(const Buffer& buffer) {
  std::vector<emulator::Region> regions;
  const auto add = [&](uint64_t offset, uint64_t requested, uint64_t mapped, uint64_t tag,
                       const std::string& name) {
    if (mapped == 0) return;
    emulator::Region region;
    region.address = buffer.address + offset;
    region.requested_bytes = requested;
    region.mapped_bytes = mapped;
    region.host = buffer.host() + offset;
    region.kind = buffer.kind;
    region.tag = tag;
    region.name = name;
    regions.push_back(std::move(region));
  };
  uint64_t at = 0;
  for (const Part& part : buffer.parts) {
    add(at, part.offset - at, part.offset - at, buffer.id, buffer.name);
    add(part.offset, part.size, part.room, kPartTag, part.name);
    at = part.offset + part.room;
  }
  if (at < buffer.size || buffer.parts.empty())
    add(at, buffer.size - at, buffer.mapped - at, buffer.id, buffer.name);
  return regions;
}

Result<void> DeviceMemory::publish(const Buffer& buffer) {
  for (emulator::Region& region : regions_of(buffer)) GFXGRAPH_TRY(map_.add(std::move(region)));
  return {};
}

bool DeviceMemory::unpublish(const Buffer& buffer) {
  for (const emulator::Region& region : regions_of(buffer))
    if (!map_.remove(region.address)) return false;
  return true;
}

Result<void> DeviceMemory::divide_own(uint64_t address, const std::vector<Part>& parts) {
  const auto found = by_address_.find(address);
  GFXGRAPH_CHECK(found != by_address_.end());
  Buffer& buffer = found->second;
  uint64_t at = 0;
  for (const Part& part : parts) {
    const bool fits = part.offset >= at && part.size != 0 && part.size <= part.room &&
                      range_fits(part.offset, part.room, buffer.size);
    if (!fits)
      return fail(Status::kCorrupt, fmt::format("{}: {} overlaps", buffer.name, part.name));
    at = part.offset + part.room;
  }
  GFXGRAPH_CHECK(unpublish(buffer));
  buffer.parts = parts;
  return publish(buffer);
}

// Runtimes put small buffers side by side in one page: the slack behind a buffer ends where the
// next one begins.
void DeviceMemory::shrink_slack_before(uint64_t address) {
  const auto after = by_address_.upper_bound(address);
  if (after == by_address_.begin()) return;
  Buffer& before = std::prev(after)->second;
  const uint64_t room = address - before.address;
  if (room >= before.mapped || room < before.size) return;
  if (is_read_only(before.address, before.mapped)) return;  // divided by the engine
  if (!before.parts.empty() || !unpublish(before)) return;
  before.mapped = room;
  const Result<void> published = publish(before);
  GFXGRAPH_CHECK(published.has_value());
}

Result<void> DeviceMemory::insert(Buffer buffer) {
  if (buffer.size == 0) return {};
  const auto after = by_address_.upper_bound(buffer.address);
  if (after != by_address_.end()) {
    const uint64_t room = after->first - buffer.address;
    if (room >= buffer.size) buffer.mapped = std::min(buffer.mapped, room);
  }
  shrink_slack_before(buffer.address);
  const uint64_t size = buffer.mapped;
  GFXGRAPH_TRY(budget_.take_memory(size, buffer.name));
  Result<void> published;
  if (Result<std::shared_ptr<DeviceBytes>> bytes = DeviceBytes::create(size); bytes) {
    buffer.bytes = std::move(*bytes);
    published = publish(buffer);
  } else {
    published = tl::unexpected<Error>(std::move(bytes).error());
  }
  if (!published) {
    budget_.give_memory(size);
    return published;
  }
  const uint64_t address = buffer.address;
  by_address_[address] = std::move(buffer);
  return {};
}

const DeviceMemory::Buffer* DeviceMemory::find(format::AllocationId id) const {
  if (const auto found = inside_.find(id); found != inside_.end()) return &found->second;
  const auto at = addresses_.find(id);
  if (at == addresses_.end()) return nullptr;
  const auto entry = by_address_.find(at->second);
  return entry == by_address_.end() ? nullptr : &entry->second;
}

std::optional<uint64_t> DeviceMemory::address_of(format::AllocationId id) const {
  const Buffer* const buffer = find(id);
  return buffer == nullptr ? std::nullopt : std::optional(buffer->address);
}

Result<std::span<std::byte>> DeviceMemory::bytes_from(format::AllocationId id, uint64_t offset) {
  const Buffer* const buffer = find(id);
  if (buffer == nullptr) {
    return fail(Status::kCorrupt, fmt::format("allocation {} is not live", id));
  }
  if (offset > buffer->size) {
    return fail(Status::kCorrupt, fmt::format("offset {} lies outside {} of {} bytes", offset,
                                              buffer->name, buffer->size));
  }
  return std::span<std::byte>(buffer->host() + offset, buffer->size - offset);
}

Result<std::span<std::byte>> DeviceMemory::bytes(format::AllocationId id, uint64_t offset,
                                                 uint64_t size) {
  GFXGRAPH_ASSIGN_OR_RETURN(const std::span<std::byte> rest, bytes_from(id, offset));
  if (size > rest.size()) {
    return fail(Status::kCorrupt,
                fmt::format("{} bytes at offset {} lie outside allocation {}", size, offset, id));
  }
  return rest.first(size);
}

Result<void> DeviceMemory::fill(format::AllocationId id, uint64_t offset, uint64_t size,
                                uint8_t value) {
  GFXGRAPH_TRY(bytes(id, offset, size));
  const Buffer& buffer = *find(id);
  buffer.bytes->fill(buffer.offset + offset, size, value);
  return {};
}

Result<uint64_t> DeviceMemory::add_own(uint64_t size_bytes, emulator::RegionKind kind,
                                       const std::string& name, uint64_t address) {
  Buffer buffer;
  buffer.name = name;
  buffer.kind = kind;
  buffer.size = size_bytes;
  const std::optional<uint64_t> mapped = checked_align_up(size_bytes, kPageBytes);
  if (!mapped) return fail(Status::kOutOfMemory, fmt::format("{}: {} bytes", name, size_bytes));
  buffer.mapped = *mapped;
  if (buffer.mapped > budget_.memory_limit_bytes()) {
    return tl::unexpected<Error>(budget_.take_memory(buffer.mapped, name).error());
  }
  if (address == 0) {
    address = next_own_;
    next_own_ += (buffer.mapped + 2 * kOwnGapBytes) / kOwnGapBytes * kOwnGapBytes;
  }
  buffer.address = address;
  Result<void> inserted = insert(std::move(buffer));
  if (!inserted) return with_context(std::move(inserted).error(), name);
  return address;
}

void DeviceMemory::remove_own(uint64_t address) {
  const auto found = by_address_.find(address);
  GFXGRAPH_CHECK(found != by_address_.end() && found->second.id == 0);
  map_.remove_all(address, found->second.mapped);  // the engine has divided it
  budget_.give_memory(found->second.bytes->size());
  by_address_.erase(found);
}

Result<uint64_t> DeviceMemory::choose_address(uint64_t size_bytes) {
  const std::optional<uint64_t> room = checked_align_up(size_bytes, kChosenGapBytes);
  constexpr uint64_t kEnd = 4 * kFirstOwnAddress;
  if (room && *room > budget_.memory_limit_bytes())
    return tl::unexpected<Error>(budget_.take_memory(*room, "an array").error());
  if (!room || next_own_ >= kEnd || *room > kEnd - next_own_)
    return fail(Status::kOutOfMemory, fmt::format("no addresses for {} bytes", size_bytes));
  const uint64_t address = next_own_;
  next_own_ += *room + kChosenGapBytes;
  return address;
}

Result<DeviceBytes*> DeviceMemory::add_heap(uint64_t address, uint64_t size_bytes, uint64_t tag) {
  GFXGRAPH_ASSIGN_OR_RETURN(std::shared_ptr<DeviceBytes> bytes, DeviceBytes::create(size_bytes));
  emulator::Region region;
  region.address = address;
  region.requested_bytes = 1;
  region.mapped_bytes = size_bytes;
  region.host = bytes->data();
  region.tag = tag;
  region.name = "the heap of malloc";
  GFXGRAPH_TRY(map_.add(std::move(region)));
  heap_ = std::move(bytes);
  return heap_.get();
}

std::span<std::byte> DeviceMemory::own_bytes(uint64_t address) {
  const auto found = by_address_.find(address);
  GFXGRAPH_CHECK(found != by_address_.end());
  return {found->second.host(), found->second.mapped};
}

NearestBuffer DeviceMemory::describe(const Buffer& buffer, uint64_t address) const {
  NearestBuffer result;
  result.allocation = buffer.id;
  result.name = buffer.name;
  result.address = buffer.address;
  result.size_bytes = buffer.size;
  result.mapped_bytes = buffer.mapped;
  result.distance_bytes = address < buffer.address
                              ? static_cast<int64_t>(address - buffer.address)
                              : static_cast<int64_t>(address - buffer.address - buffer.size);
  return result;
}

namespace {

NearestBuffer describe_part(const emulator::Region& region, uint64_t address) {
  NearestBuffer result;
  result.name = region.name;
  result.address = region.address;
  result.size_bytes = region.requested_bytes;
  result.mapped_bytes = region.mapped_bytes;
  result.distance_bytes = static_cast<int64_t>(address - region.address - region.requested_bytes);
  return result;
}

}  // namespace

std::optional<NearestBuffer> DeviceMemory::relative_to(uint64_t buffer_address,
                                                       uint64_t address) const {
  const auto found = by_address_.find(buffer_address);
  if (found != by_address_.end()) return describe(found->second, address);
  const auto table = map_.snapshot();
  const emulator::Region* const region = table->find(buffer_address);
  if (region == nullptr || region->tag != kPartTag) return std::nullopt;
  return describe_part(*region, address);
}

std::optional<NearestBuffer> DeviceMemory::nearest(uint64_t address) const {
  const auto table = map_.snapshot();
  const emulator::Region* const region = table->find(address);
  if (region != nullptr && region->tag == kPartTag) return describe_part(*region, address);
  if (const NearestBuffer* const gone = freed_.find(address);
      gone != nullptr && region == nullptr) {
    NearestBuffer result = *gone;
    result.distance_bytes = static_cast<int64_t>(address - gone->address - gone->size_bytes);
    return result;
  }
  const Buffer* best = nullptr;
  uint64_t best_distance = ~uint64_t{0};
  const auto consider = [&](const Buffer& buffer) {
    if (buffer.id == 0) return;
    uint64_t distance = 0;
    if (address < buffer.address) distance = buffer.address - address;
    if (address >= buffer.address + buffer.size) distance = address - buffer.address - buffer.size;
    if (distance < best_distance) {
      best = &buffer;
      best_distance = distance;
    }
  };
  // Only recorded buffers count: walk over the check's own ranges on both sides.
  for (auto at = by_address_.upper_bound(address); at != by_address_.end(); ++at) {
    consider(at->second);
    if (at->second.id != 0) break;
  }
  for (auto at = by_address_.upper_bound(address); at != by_address_.begin();) {
    --at;
    consider(at->second);
    if (at->second.id != 0) break;
  }
  for (const auto& [id, buffer] : inside_) consider(buffer);
  for (const auto& [id, alias] : aliases_) {
    Buffer buffer = *find(id);
    buffer.address = alias;
    const uint64_t distance = address < alias                 ? alias - address
                              : address - alias < buffer.size ? 0
                                                              : address - alias - buffer.size;
    if (distance < best_distance) return describe(buffer, address);
  }
  if (best == nullptr) return std::nullopt;
  return describe(*best, address);
}

std::string DeviceMemory::owner(uint64_t address) const {
  const auto table = map_.snapshot();
  const emulator::Region* const region = table->find(address);
  return region == nullptr ? "" : region->name;
}

std::optional<uint64_t> DeviceMemory::word_at(uint64_t address) const {
  const auto table = map_.snapshot();
  const emulator::Region* const region = table->find(address);
  uint64_t word = 0;
  if (region == nullptr || !region->contains(address, sizeof(word))) return std::nullopt;
  std::memcpy(&word, region->host + (address - region->address), sizeof(word));  // little-endian
  return word;
}

}  // namespace gfxgraph::check
