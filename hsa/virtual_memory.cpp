#include "hsa/virtual_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <mutex>

#include "base/process/device.h"

namespace gfxgraph::hsa {
namespace {

struct Memory {
  int descriptor = -1;
  uint64_t bytes = 0;
  Pool pool = Pool::kDevice;
  uint32_t device = 0;
  uint32_t type = 0;
  uint64_t holds = 1;
  uint64_t mappings = 0;
  bool imported = false;  // its creator already counts the bytes
};

struct Mapping {
  uint64_t bytes = 0;
  uint64_t memory = 0;
  std::array<Access, kMaxDevices> devices{};  // kNone
  Access host = Access::kNone;
};

struct MappingState {
  std::mutex mutex;
  std::map<uint64_t, uint64_t> reservations;  // address -> bytes
  std::map<uint64_t, Mapping> mappings;       // by address
  std::map<uint64_t, Memory> memories;        // by number
  uint64_t next_memory = 1;
};

MappingState& mapping_state() {
  static auto* const instance = new MappingState();
  return *instance;
}

template <typename Value>
auto holder(std::map<uint64_t, Value>& map, uint64_t address) {
  auto next = map.upper_bound(address);
  return next == map.begin() ? map.end() : std::prev(next);
}

uint64_t number(const void* address) { return reinterpret_cast<uint64_t>(address); }

tl::unexpected<Error> unknown(uint64_t memory) {
  return fail(Status::kInvalidArgument, fmt::format("{:#x} is not a memory handle", memory));
}

void drop_unused(MappingState& s, uint64_t number) {
  const auto found = s.memories.find(number);
  if (found->second.holds != 0 || found->second.mappings != 0) return;
  ::close(found->second.descriptor);
  if (found->second.pool == Pool::kDevice && !found->second.imported)
    give_device_memory_back(found->second.device, found->second.bytes);
  s.memories.erase(found);
}

// The mapping that contains the address.
Result<std::map<uint64_t, Mapping>::iterator> mapping_at(MappingState& s, const void* address) {
  const uint64_t at = number(address);
  const auto found = holder(s.mappings, at);
  if (found == s.mappings.end() || at - found->first >= found->second.bytes) {
    return fail(Status::kInvalidArgument, fmt::format("nothing is mapped at {:#x}", at));
  }
  return found;
}

// What the memory map shows of it: the most that a device may do.
Access shown(const Mapping& mapping) {
  Access most = Access::kNone;
  for (const Access one : mapping.devices)
    most = Access{static_cast<uint32_t>(most) | static_cast<uint32_t>(one)};
  return most;
}

// Unmaps the mapping from all devices.
Result<void> hide(std::pair<const uint64_t, Mapping>& mapping) {
  if (shown(mapping.second) != Access::kNone)
    GFXGRAPH_TRY(hide_mapping(reinterpret_cast<std::byte*>(mapping.first)));
  mapping.second.devices.fill(Access::kNone);
  return {};
}

}  // namespace

Result<std::byte*> reserve_range(uint64_t bytes, uint64_t wished, uint64_t align) {
  MappingState& s = mapping_state();
  const std::lock_guard lock(s.mutex);
  GFXGRAPH_ASSIGN_OR_RETURN(std::byte* const address, reserve_addresses(bytes, wished, align));
  try {
    s.reservations.emplace(number(address), bytes);
  } catch (...) {
    munmap(address, bytes);
    throw;
  }
  return address;
}

Result<void> free_range(std::byte* address, uint64_t bytes) {
  MappingState& s = mapping_state();
  const std::lock_guard lock(s.mutex);
  const auto found = s.reservations.find(number(address));
  if (found == s.reservations.end() || found->second != bytes) {
    return fail(Status::kInvalidArgument,
                fmt::format("{} bytes at {:#x} are not a reservation", bytes, number(address)));
  }
  const auto mapped = s.mappings.lower_bound(found->first);
  if (mapped != s.mappings.end() && mapped->first - found->first < bytes) {
    return fail(Status::kInvalidArgument,
                fmt::format("memory is still mapped at {:#x}", mapped->first));
  }
  munmap(address, bytes);
  s.reservations.erase(found);
  return {};
}

Result<uint64_t> create_memory(Pool pool, uint32_t device, uint64_t bytes, uint32_t type) {
  if (bytes == 0 || bytes % kPageBytes != 0) {
    return fail(Status::kInvalidArgument, fmt::format("{} bytes are not whole pages", bytes));
  }
  MappingState& s = mapping_state();
  const std::lock_guard lock(s.mutex);
  const auto made = s.memories.try_emplace(s.next_memory).first;
  Memory& memory = made->second;
  Result<void> taken = pool == Pool::kDevice ? take_device_memory(device, bytes) : Result<void>();
  if (taken) {
    memory.descriptor = ::memfd_create("gfxgraph device memory", MFD_CLOEXEC);
    if (memory.descriptor < 0 || ::ftruncate(memory.descriptor, static_cast<off_t>(bytes)) != 0) {
      if (memory.descriptor >= 0) ::close(memory.descriptor);
      if (pool == Pool::kDevice) give_device_memory_back(device, bytes);
      taken = fail(Status::kOutOfMemory,
                   fmt::format("the system cannot provide {} bytes of memory", bytes));
    }
  }
  if (!taken) {
    s.memories.erase(made);
    return tl::unexpected<Error>(taken.error());
  }
  memory.bytes = bytes;
  memory.pool = pool;
  memory.device = device;
  memory.type = type;
  return s.next_memory++;
}

Result<void> release_memory(uint64_t memory) {
  MappingState& s = mapping_state();
  const std::lock_guard lock(s.mutex);
  const auto found = s.memories.find(memory);
  if (found == s.memories.end() || found->second.holds == 0) return unknown(memory);
  --found->second.holds;
  drop_unused(s, memory);
  return {};
}

Result<MemoryProperties> memory_properties(uint64_t memory) {
  MappingState& s = mapping_state();
  const std::lock_guard lock(s.mutex);
  const auto found = s.memories.find(memory);
  if (found == s.memories.end()) return unknown(memory);
  return MemoryProperties{found->second.pool, found->second.device, found->second.type};
}

Result<void> map_range(std::byte* address, uint64_t bytes, uint64_t offset, uint64_t memory) {
  MappingState& s = mapping_state();
  const std::lock_guard lock(s.mutex);
  const uint64_t at = number(address);
  const auto found = s.memories.find(memory);
  if (found == s.memories.end() || found->second.holds == 0) return unknown(memory);
  Memory& bytes_of = found->second;
  if (bytes == 0 || (at | bytes | offset) % kPageBytes != 0 || offset > bytes_of.bytes ||
      bytes > bytes_of.bytes - offset) {
    return fail(Status::kInvalidArgument,
                fmt::format("{} bytes at offset {} are not whole pages in memory of {} bytes",
                            bytes, offset, bytes_of.bytes));
  }
  const auto reserved = holder(s.reservations, at);
  if (reserved == s.reservations.end() || at - reserved->first > reserved->second ||
      bytes > reserved->second - (at - reserved->first)) {
    return fail(Status::kInvalidArgument,
                fmt::format("{} bytes at {:#x} are not in one reservation", bytes, at));
  }
  const auto before = holder(s.mappings, at + bytes - 1);
  if (before != s.mappings.end() && before->first + before->second.bytes > at) {
    return fail(Status::kInvalidArgument,
                fmt::format("memory is already mapped at {:#x}", before->first));
  }
  const auto placed = s.mappings.emplace(at, Mapping{bytes, memory}).first;
  if (mmap(address, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, bytes_of.descriptor,
           static_cast<off_t>(offset)) == MAP_FAILED) {
    s.mappings.erase(placed);
    return fail(Status::kOutOfMemory, "the system cannot map the memory");
  }
  ++bytes_of.mappings;
  return {};
}

Result<void> unmap_range(std::byte* address, uint64_t bytes) {
  MappingState& s = mapping_state();
  const std::lock_guard lock(s.mutex);
  const auto found = s.mappings.find(number(address));
  if (found == s.mappings.end() || found->second.bytes != bytes) {
    return fail(Status::kInvalidArgument,
                fmt::format("{} bytes at {:#x} are not a mapping", bytes, number(address)));
  }
  GFXGRAPH_TRY(hide(*found));
  if (mmap(address, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
           0) == MAP_FAILED) {
    return fail(Status::kOutOfMemory, "the system cannot map the memory");
  }
  const uint64_t memory = found->second.memory;
  s.mappings.erase(found);
  --s.memories[memory].mappings;
  drop_unused(s, memory);
  return {};
}

Result<void> set_access(std::byte* address, uint64_t bytes, std::optional<uint32_t> device,
                        Access access) {
  MappingState& s = mapping_state();
  const std::lock_guard lock(s.mutex);
  const uint64_t at = number(address);
  const auto first = s.mappings.find(at);
  auto last = first;
  uint64_t covered = 0;
  while (last != s.mappings.end() && last->first == at + covered && covered < bytes) {
    covered += last->second.bytes;
    ++last;
  }
  if (bytes == 0 || covered != bytes) {
    return fail(Status::kInvalidArgument,
                fmt::format("{} bytes at {:#x} are not whole mappings", bytes, at));
  }
  for (auto one = first; one != last; ++one) {
    Mapping& mapping = one->second;
    if (!device) {
      mapping.host = access;
      continue;
    }
    std::array<Access, kMaxDevices> devices = mapping.devices;
    devices[*device] = access;
    GFXGRAPH_TRY(hide(*one));
    if (std::ranges::all_of(devices, [](Access each) { return each == Access::kNone; })) continue;
    mapping.devices = devices;
    const Memory& memory = s.memories[mapping.memory];
    const Result<void> shows =
        show_mapping(reinterpret_cast<std::byte*>(one->first), mapping.bytes, memory.pool,
                     memory.device, shown(mapping) == Access::kReadOnly);
    if (!shows) {
      mapping.devices.fill(Access::kNone);
      return shows;
    }
  }
  return {};
}

Result<Access> access_of(const void* address, std::optional<uint32_t> device) {
  MappingState& s = mapping_state();
  const std::lock_guard lock(s.mutex);
  GFXGRAPH_ASSIGN_OR_RETURN(const auto found, mapping_at(s, address));
  return device ? found->second.devices[*device] : found->second.host;
}

Result<uint64_t> retain_memory(const void* address) {
  MappingState& s = mapping_state();
  const std::lock_guard lock(s.mutex);
  GFXGRAPH_ASSIGN_OR_RETURN(const auto found, mapping_at(s, address));
  ++s.memories[found->second.memory].holds;
  return found->second.memory;
}

Result<int> export_memory(uint64_t memory) {
  MappingState& s = mapping_state();
  const std::lock_guard lock(s.mutex);
  const auto found = s.memories.find(memory);
  if (found == s.memories.end()) return unknown(memory);
  const int descriptor = ::fcntl(found->second.descriptor, F_DUPFD_CLOEXEC, 3);
  if (descriptor < 0) return fail(Status::kOutOfMemory, "no file descriptor is left");
  return descriptor;
}

Result<uint64_t> import_memory(int descriptor) {
  MappingState& s = mapping_state();
  const std::lock_guard lock(s.mutex);
  struct stat theirs{};
  if (::fstat(descriptor, &theirs) != 0 || !S_ISREG(theirs.st_mode) || theirs.st_size == 0 ||
      static_cast<uint64_t>(theirs.st_size) % kPageBytes != 0) {
    return fail(Status::kInvalidArgument,
                fmt::format("descriptor {} is not exported memory", descriptor));
  }
  for (auto& [number, memory] : s.memories) {
    struct stat ours{};
    if (::fstat(memory.descriptor, &ours) != 0 || ours.st_dev != theirs.st_dev ||
        ours.st_ino != theirs.st_ino) {
      continue;
    }
    ++memory.holds;
    return number;
  }
  const auto made = s.memories.try_emplace(s.next_memory).first;
  made->second.bytes = static_cast<uint64_t>(theirs.st_size);
  made->second.imported = true;
  made->second.descriptor = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 3);
  if (made->second.descriptor < 0) {
    s.memories.erase(made);
    return fail(Status::kOutOfMemory, "no file descriptor is left");
  }
  return s.next_memory++;
}

}  // namespace gfxgraph::hsa
