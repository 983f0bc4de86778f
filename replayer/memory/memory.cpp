#include "replayer/memory/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "base/checked.h"
#include "format/names.h"

namespace gfxgraph::replayer {
namespace {

using format::AllocationBegin;
using format::AllocationKind;

// hipMalloc guarantees this alignment; a shifted buffer keeps it, but not more.
constexpr uint64_t kAlignment = 256;
constexpr uint64_t kShiftSteps = 15;
constexpr uint64_t kPageBytes = 4096;
constexpr size_t kGuardBytes = (1u << 20) + 3 * kPageBytes;

// The kind that decides which HIP call allocates the memory.
AllocationKind plain_kind(AllocationKind kind) {
  return kind == AllocationKind::kStreamOrdered ? AllocationKind::kDevice : kind;
}

bool is_host_visible(AllocationKind kind) {
  return kind == AllocationKind::kHostPinned || kind == AllocationKind::kManaged;
}

bool is_host_kind(AllocationKind kind) {
  return kind == AllocationKind::kHostPinned || kind == AllocationKind::kHostRegistered;
}

constexpr const char* kBound = "is bound to memory of the caller";

tl::unexpected<Error> refuse_group(const Program& program, const RigidGroup& group,
                                   format::AllocationId id, const std::string& why) {
  return fail(
      Status::kUnsupported,
      fmt::format("{} passes a pointer outside every buffer: the {} buffers around it "
                  "must keep their distances, but {} {}",
                  group.reason, group.members.size(), text_of(program.allocations()[id - 1]), why));
}

}  // namespace

void Memory::release(Buffer& buffer) const {
  const HipTable& hip = library_->table();
  switch (std::exchange(buffer.owner, Owner::kNone)) {
    case Owner::kNone: break;
    case Owner::kDevice: source_.release(MemoryKind::kDevice, buffer.base); break;
    case Owner::kManaged: source_.release(MemoryKind::kManaged, buffer.base); break;
    case Owner::kPinned: source_.release(MemoryKind::kPinned, buffer.base); break;
    case Owner::kRegistered:
      if (buffer.host != nullptr) hip.hipHostUnregister(buffer.base);
      std::free(buffer.base);
      break;
    case Owner::kArray: hip.hipFreeArray(buffer.array); break;
    case Owner::kTexture: hip.hipDestroyTextureObject(buffer.base); break;
    case Owner::kSurface: hip.hipDestroySurfaceObject(buffer.base); break;
  }
}

Memory::~Memory() {
  for (Buffer& buffer : buffers_) {
    if (buffer.object) release(buffer);  // before what they were made of
  }
  for (Buffer& buffer : buffers_) release(buffer);
  source_.release(MemoryKind::kDevice, guard_);
  source_.release(MemoryKind::kDevice, arena_base_);
  source_.release(MemoryKind::kPinned, kept_);
}

Result<std::unique_ptr<Memory>> Memory::create(std::shared_ptr<const HipLibrary> library,
                                               const Program& program, const Modules& modules,
                                               const SessionOptions& options, Packing packing) {
  std::unique_ptr<Memory> memory(new Memory(std::move(library), options));
  memory->zero_unknown_ = options.zero_unknown;
  memory->fresh_fill_ = options.poison_fresh ? kPoison : 0;
  const std::vector<AllocationInfo>& allocations = program.allocations();
  memory->buffers_.resize(allocations.size());
  for (const Binding& binding : options.bindings) {
    GFXGRAPH_ASSIGN_OR_RETURN(const Buffer bound, memory->bind(program, binding));
    memory->buffers_[binding.allocation - 1] = bound;
  }
  memory->take_live(program, options);
  const bool shift = options.layout == Layout::kShift;
  if (shift) {
    GFXGRAPH_ASSIGN_OR_RETURN(memory->guard_,
                              memory->source_.allocate(MemoryKind::kDevice, kGuardBytes, 0,
                                                       "guard allocation of a shifted layout"));
  }
  memory->packing_ = std::move(packing);
  GFXGRAPH_TRY(memory->place_arena(program, options.layout, options.keep_freed));
  for (const RigidGroup& group : rigid_groups(program)) {
    GFXGRAPH_ASSIGN_OR_RETURN(const bool stays, memory->stays_together(program, group, options));
    if (!stays) GFXGRAPH_TRY(memory->place_group(program, group, options.layout));
  }
  for (size_t i = 0; i < allocations.size(); ++i) {
    // Layout shift allocates in reverse, since the same order may give the recorded addresses.
    const AllocationInfo& info = allocations[shift ? allocations.size() - 1 - i : i];
    if (info.begin == nullptr || memory->buffers_[info.begin->id - 1].used ||
        !is_made(options, info)) {
      continue;
    }
    GFXGRAPH_TRY(memory->place(info, modules, options.layout));
  }
  for (const AllocationInfo& info : allocations) {
    if (info.begin == nullptr || !info.begin->object || memory->buffers_[info.begin->id - 1].used ||
        !is_made(options, info) || !memory->exists(info.begin->object->allocation)) {
      continue;
    }
    GFXGRAPH_TRY(memory->make_object(*info.begin));
  }
  memory->map(program, options.keep_ambiguous);
  return memory;
}

Result<void> check_binding(const Program& program, const Binding& binding) {
  const size_t count = program.allocations().size();
  if (binding.allocation == 0 || binding.allocation > count ||
      program.allocations()[binding.allocation - 1].begin == nullptr) {
    return fail(
        Status::kNotFound,
        fmt::format("cannot bind allocation {}: the trace has no such id", binding.allocation));
  }
  const AllocationInfo& info = program.allocations()[binding.allocation - 1];
  const AllocationBegin& begin = *info.begin;
  if (begin.kind == AllocationKind::kModuleGlobal) {
    return fail(Status::kInvalidArgument,
                fmt::format("cannot bind allocation {}: it is the variable {} of a module",
                            begin.id, begin.symbol));
  }
  if (begin.array || begin.object) {
    return fail(Status::kInvalidArgument,
                fmt::format("cannot bind {}: it is {}", text_of(info),
                            begin.array ? "an array" : "a texture or surface"));
  }
  if (binding.pointer == nullptr || binding.size_bytes < info.extent_bytes) {
    return fail(Status::kInvalidArgument,
                fmt::format("cannot bind {}: it needs {} bytes, not {}", text_of(info),
                            info.extent_bytes, binding.size_bytes));
  }
  if (!range_fits(reinterpret_cast<uint64_t>(binding.pointer), binding.size_bytes, UINT64_MAX)) {
    return fail(Status::kInvalidArgument,
                fmt::format("cannot bind {}: {} bytes at {} exceed the address space",
                            text_of(info), binding.size_bytes, fmt::ptr(binding.pointer)));
  }
  return {};
}

Result<Memory::Buffer> Memory::bind(const Program& program, const Binding& binding) const {
  GFXGRAPH_TRY(check_binding(program, binding));
  GFXGRAPH_TRY(check_live_words(program, binding));
  GFXGRAPH_TRY(check_apart_from_all(program, binding));
  const AllocationBegin& begin = *program.allocations()[binding.allocation - 1].begin;
  Buffer buffer;
  buffer.used = true;
  buffer.bound = true;
  buffer.keep_content = binding.keep_content;
  auto* const pointer = static_cast<uint8_t*>(binding.pointer);
  if (is_host_kind(begin.kind)) {
    buffer.host = pointer;
    GFXGRAPH_TRY(find_device_address(buffer, begin));
    return buffer;
  }
  GFXGRAPH_TRY(check_device(program, binding));
  buffer.device = pointer;
  if (begin.kind == AllocationKind::kManaged) buffer.host = pointer;
  return buffer;
}

// Rejects memory of another device. Memory that HIP does not know is accepted.
Result<void> Memory::check_device(const Program& program, const Binding& binding) const {
  const HipTable& hip = library_->table();
  if (hip.hipPointerGetAttribute == nullptr) return {};
  int theirs = 0, ours = 0;
  GFXGRAPH_TRY(library_->check(hip.hipGetDevice(&ours), "hipGetDevice"));
  if (hip.hipPointerGetAttribute(&theirs, hip::kPointerDeviceOrdinal, binding.pointer) !=
      hip::kSuccess) {
    hip.hipGetLastError();
    return {};
  }
  if (theirs == ours) return {};
  return fail(
      Status::kInvalidArgument,
      fmt::format("cannot bind {}: the memory is on device {}, and the session on device {}",
                  text_of(program.allocations()[binding.allocation - 1]), theirs, ours));
}

Result<void> Memory::find_device_address(Buffer& buffer, const AllocationBegin& begin) const {
  void* device = nullptr;
  GFXGRAPH_TRY(library_->check(library_->table().hipHostGetDevicePointer(&device, buffer.host, 0),
                               fmt::format("device address of allocation {}", begin.id)));
  buffer.device = static_cast<uint8_t*>(device);
  return {};
}

Result<bool> Memory::stays_together(const Program& program, const RigidGroup& group,
                                    const SessionOptions& options) {
  if (live_ == nullptr) return false;
  size_t made = 0;
  for (const format::AllocationId id : group.members) {
    if (buffers_[id - 1].bound) return refuse_group(program, group, id, kBound);
    if (!is_made(options, program.allocations()[id - 1])) continue;
    ++made;
  }
  if (made == group.members.size()) return false;
  for (const format::AllocationId id : group.members) {
    buffers_[id - 1].in_group = true;
    if (made != 0 && is_made(options, program.allocations()[id - 1]))
      return refuse_group(program, group, id, "lived only inside of the capture");
  }
  return true;
}

// Allocates one block in which the members keep their recorded distances.
Result<void> Memory::place_group(const Program& program, const RigidGroup& group, Layout layout) {
  const auto variable_of = [&](format::AllocationId id) {
    const AllocationBegin& begin = *program.allocations()[id - 1].begin;
    return begin.kind == AllocationKind::kModuleGlobal ? begin.code_object : 0;
  };
  const format::CodeObjectId object = variable_of(group.members.front());
  if (object != 0 && std::ranges::all_of(group.members, [&](format::AllocationId id) {
        return variable_of(id) == object;
      })) {
    return {};  // variables of one code object keep their distances anyway
  }
  const AllocationBegin& first = *program.allocations()[group.members.front() - 1].begin;
  const AllocationKind group_kind = plain_kind(first.kind);
  const AllocationInfo* previous = nullptr;
  const auto refuse = [&](format::AllocationId id, const std::string& why) {
    return refuse_group(program, group, id, why);
  };
  for (const format::AllocationId id : group.members) {
    const AllocationInfo& info = program.allocations()[id - 1];
    const AllocationKind kind = plain_kind(info.begin->kind);
    if (buffers_[id - 1].bound) return refuse(id, kBound);
    if (kind != group_kind || (is_host_visible(kind) && info.begin->flags != first.flags))
      return refuse(id,
                    fmt::format("is another kind of memory ({})", name_of(info.begin->kind).words));
    if (kind == AllocationKind::kModuleGlobal || kind == AllocationKind::kHostRegistered)
      return refuse(id, fmt::format("cannot be moved ({})", name_of(kind).words));
    if (previous != nullptr &&
        info.begin->recorded_address - previous->begin->recorded_address < previous->extent_bytes) {
      return refuse(
          id, fmt::format("was at addresses that {} had at another time", text_of(*previous)));
    }
    previous = &info;
  }
  const uint64_t start = first.recorded_address / kAlignment * kAlignment;
  const std::optional<uint64_t> span =
      checked_add(previous->begin->recorded_address - start, previous->extent_bytes);
  const uint64_t shift = layout == Layout::kShift ? kAlignment * (1 + first.id % kShiftSteps) : 0;
  const uint64_t extra = layout == Layout::kShift ? shift + 2 * kPageBytes : 0;
  const std::optional<uint64_t> size = span ? checked_add(*span, extra) : std::nullopt;
  const std::string what =
      fmt::format("allocations {} to {} in one piece", group.members.front(), group.members.back());
  if (!size) return fail(Status::kCorrupt, fmt::format("{}: the size overflows", what));
  const bool pinned = group_kind == AllocationKind::kHostPinned;
  const bool managed = group_kind == AllocationKind::kManaged;
  const MemoryKind memory_kind = pinned    ? MemoryKind::kPinned
                                 : managed ? MemoryKind::kManaged
                                           : MemoryKind::kDevice;
  GFXGRAPH_ASSIGN_OR_RETURN(void* const base,
                            source_.allocate(memory_kind, *size, first.flags, what));
  buffers_[first.id - 1].owner = pinned    ? Owner::kPinned
                                 : managed ? Owner::kManaged
                                           : Owner::kDevice;
  buffers_[first.id - 1].base = base;
  Buffer whole;
  whole.device = static_cast<uint8_t*>(base);
  if (is_host_visible(group_kind)) whole.host = whole.device;
  if (pinned) GFXGRAPH_TRY(find_device_address(whole, first));
  uint64_t offset = shift;
  if (shift != 0 && reinterpret_cast<uint64_t>(whole.device) + offset == start)
    offset += kAlignment;
  for (const format::AllocationId id : group.members) {
    Buffer& buffer = buffers_[id - 1];
    buffer.used = true;
    buffer.in_group = true;
    const uint64_t at = offset + (program.allocations()[id - 1].begin->recorded_address - start);
    buffer.device = whole.device + at;
    if (whole.host != nullptr) buffer.host = whole.host + at;
  }
  return {};
}

Result<void> Memory::place(const AllocationInfo& info, const Modules& modules, Layout layout) {
  const AllocationBegin& begin = *info.begin;
  if (begin.object) return {};  // when all else has its place
  if (begin.array) return make_array(begin);
  if (begin.kind != AllocationKind::kModuleGlobal) return allocate(info, layout);
  GFXGRAPH_ASSIGN_OR_RETURN(const Modules::Global global,
                            modules.global(begin.code_object, begin.symbol));
  if (global.size_bytes < info.extent_bytes) {
    return fail(Status::kCorrupt, fmt::format("variable {} has {} bytes, the trace says {}",
                                              begin.symbol, global.size_bytes, info.extent_bytes));
  }
  Buffer& buffer = buffers_[begin.id - 1];
  buffer.used = true;
  buffer.device = static_cast<uint8_t*>(global.address);
  if (begin.host_address == 0) return {};
  // A __managed__ variable: the runtime returns its host-visible memory. A runtime that returned
  // the variable which holds the address of that memory would report another size.
  if (global.size_bytes != begin.size_bytes) {
    return fail(Status::kUnsupported,
                fmt::format("managed variable {} has {} bytes on {}, the trace says {}",
                            begin.symbol, global.size_bytes, library_->path(), begin.size_bytes));
  }
  buffer.host = buffer.device;
  return {};
}

Result<void> Memory::allocate(const AllocationInfo& info, Layout layout) {
  const AllocationBegin& begin = *info.begin;
  const HipTable& hip = library_->table();
  const uint64_t shift = layout == Layout::kShift ? kAlignment * (1 + begin.id % kShiftSteps) : 0;
  // Room for the shift and two pages, so that a shifted buffer does not end where its memory ends.
  const uint64_t extra = layout == Layout::kShift ? shift + 2 * kPageBytes : 0;
  const std::optional<uint64_t> size = checked_add(std::max<uint64_t>(info.extent_bytes, 1), extra);
  const std::string what = fmt::format("allocation {} ({}, {} bytes)", begin.id,
                                       name_of(begin.kind).words, begin.size_bytes);
  if (!size) return fail(Status::kCorrupt, fmt::format("{}: the size overflows", what));

  Buffer& buffer = buffers_[begin.id - 1];
  buffer.used = true;
  void* base = nullptr;
  if (begin.kind == AllocationKind::kHostPinned) {
    GFXGRAPH_ASSIGN_OR_RETURN(base,
                              source_.allocate(MemoryKind::kPinned, *size, begin.flags, what));
    buffer.owner = Owner::kPinned;
    buffer.base = base;
    buffer.host = static_cast<uint8_t*>(base);
  } else if (begin.kind == AllocationKind::kHostRegistered) {
    const std::optional<uint64_t> rounded = checked_align_up(*size, kPageBytes);
    base = rounded ? std::aligned_alloc(kPageBytes, *rounded) : nullptr;
    if (base == nullptr) return fail(Status::kOutOfMemory, fmt::format("{}: no host memory", what));
    buffer.owner = Owner::kRegistered;
    buffer.base = base;
    GFXGRAPH_TRY(library_->check(hip.hipHostRegister(base, *size, begin.flags), what));
    buffer.host = static_cast<uint8_t*>(base);
  } else if (begin.kind == AllocationKind::kManaged) {
    GFXGRAPH_ASSIGN_OR_RETURN(base,
                              source_.allocate(MemoryKind::kManaged, *size, begin.flags, what));
    buffer.owner = Owner::kManaged;
    buffer.base = base;
    buffer.host = static_cast<uint8_t*>(base);
  } else {
    GFXGRAPH_ASSIGN_OR_RETURN(base, source_.allocate(MemoryKind::kDevice, *size, 0, what));
    buffer.owner = Owner::kDevice;
    buffer.base = base;
    buffer.device = static_cast<uint8_t*>(base);
  }
  if (is_host_kind(begin.kind)) {
    GFXGRAPH_TRY(find_device_address(buffer, begin));
  } else if (begin.kind == AllocationKind::kManaged) {
    buffer.device = buffer.host;
  }
  uint64_t offset = shift;
  if (shift != 0 && reinterpret_cast<uint64_t>(buffer.device) + offset == begin.recorded_address)
    offset += kAlignment;
  buffer.device += offset;
  if (buffer.host != nullptr) buffer.host += offset;
  return {};
}

void Memory::map(const Program& program, bool keep_ambiguous) {
  std::vector<Placement> placements(buffers_.size());
  for (size_t i = 0; i < buffers_.size(); ++i) {
    if (!buffers_[i].used) continue;
    const AllocationBegin& begin = *program.allocations()[i].begin;
    if (begin.array) {  // no word leads to it
      placements[i].size_bytes = begin.size_bytes;
      continue;
    }
    placements[i] = Placement{program.allocations()[i].extent_bytes, begin.recorded_address,
                              begin.host_address, reinterpret_cast<uint64_t>(buffers_[i].device),
                              reinterpret_cast<uint64_t>(buffers_[i].host)};
  }
  addresses_ = AddressMap(std::move(placements), keep_ambiguous);
}

Result<void> Memory::read(format::AllocationId id, uint64_t offset,
                          std::span<std::byte> bytes) const {
  if (!exists(id)) return fail(Status::kNotFound, fmt::format("allocation {} does not exist", id));
  if (!range_fits(offset, bytes.size(), size(id))) {
    return fail(Status::kInvalidArgument,
                fmt::format("read of bytes {}+{} of allocation {}, which has {}", offset,
                            bytes.size(), id, size(id)));
  }
  if (bytes.empty()) return {};
  const Buffer& buffer = buffers_[id - 1];
  if (buffer.object)
    return fail(Status::kUnsupported, fmt::format("allocation {} is a texture or surface, and has "
                                                  "no contents",
                                                  id));
  if (buffer.host != nullptr) {
    std::memcpy(bytes.data(), buffer.host + offset, bytes.size());
    return {};
  }
  const hip::Error code =
      buffer.array != nullptr
          ? move_array(buffer, offset, bytes.data(), bytes.size(), hip::kDeviceToHost)
          : source_.move(bytes.data(), buffer.device + offset, bytes.size(), hip::kDeviceToHost);
  if (code != hip::kSuccess) {
    return library_->check(code,
                           fmt::format("read of {} bytes from allocation {}", bytes.size(), id));
  }
  if (kept_ != nullptr) read_kept(id, offset, bytes);
  return {};
}

Result<void> Memory::write(format::AllocationId id, uint64_t offset,
                           std::span<const std::byte> bytes) const {
  if (!exists(id)) return fail(Status::kNotFound, fmt::format("allocation {} does not exist", id));
  if (!range_fits(offset, bytes.size(), size(id))) {
    return fail(Status::kInvalidArgument,
                fmt::format("write of bytes {}+{} of allocation {}, which has {}", offset,
                            bytes.size(), id, size(id)));
  }
  if (bytes.empty()) return {};
  const Buffer& buffer = buffers_[id - 1];
  if (buffer.host != nullptr) {
    std::memcpy(buffer.host + offset, bytes.data(), bytes.size());
    return {};
  }
  if (kept_ != nullptr) return write_kept(id, offset, bytes);
  return write_device(id, offset, bytes);
}

Result<void> Memory::write_device(format::AllocationId id, uint64_t offset,
                                  std::span<const std::byte> bytes) const {
  if (bytes.empty()) return {};
  const Buffer& buffer = buffers_[id - 1];
  if (buffer.object)
    return fail(Status::kUnsupported, fmt::format("allocation {} is a texture or surface, and has "
                                                  "no contents",
                                                  id));
  const hip::Error code =
      buffer.array != nullptr
          ? move_array(buffer, offset, const_cast<std::byte*>(bytes.data()), bytes.size(),
                       hip::kHostToDevice)
          : source_.move(buffer.device + offset, bytes.data(), bytes.size(), hip::kHostToDevice);
  if (code == hip::kSuccess) return {};
  return library_->check(code, fmt::format("write of {} bytes to allocation {}", bytes.size(), id));
}

Result<std::vector<std::vector<std::byte>>> Memory::kept_contents() const {
  std::vector<std::vector<std::byte>> kept(buffers_.size());
  for (size_t i = 0; i < kept.size(); ++i) {
    if (!buffers_[i].used || !buffers_[i].keep_content) continue;
    const auto id = static_cast<format::AllocationId>(i + 1);
    kept[i].resize(size(id));
    GFXGRAPH_TRY(read(id, 0, kept[i]));
  }
  return kept;
}

Result<KeptContents> KeptContents::take(const Memory& memory) {
  KeptContents kept(memory);
  GFXGRAPH_ASSIGN_OR_RETURN(kept.bytes_, memory.kept_contents());
  kept.pending_ = true;
  return kept;
}

KeptContents::~KeptContents() {
  if (!pending_) return;
  try {
    (void)write();
  } catch (...) {  // out of memory for an error's text
    memory_->library_->table().hipGetLastError();
  }
}

Result<void> KeptContents::put_back() {
  Result<void> written = write();
  pending_ = !written;
  return written;
}

// Continues with the others if one fails.
Result<void> KeptContents::write() const {
  Result<void> first;
  for (size_t i = 0; i < bytes_.size(); ++i) {
    if (bytes_[i].empty()) continue;
    Result<void> written = memory_->write(static_cast<format::AllocationId>(i + 1), 0, bytes_[i]);
    if (first && !written) first = std::move(written);
  }
  return first;
}

size_t Memory::moved() const {
  size_t count = 0;
  for (size_t i = 0; i < buffers_.size(); ++i) {
    const Placement& place = addresses_.placement(static_cast<format::AllocationId>(i + 1));
    if (buffers_[i].object) continue;
    if (buffers_[i].used && !buffers_[i].bound && place.recorded_device != place.replay_device)
      ++count;
  }
  return count;
}

size_t Memory::movable() const {
  return static_cast<size_t>(
      std::count_if(buffers_.begin(), buffers_.end(), [](const Buffer& buffer) {
        return buffer.used && !buffer.bound && !buffer.object && buffer.array == nullptr;
      }));
}

}  // namespace gfxgraph::replayer
