#include "recorder/calls/buffer_calls.h"

#include <memory>
#include <utility>

#include "recorder/objects/devices.h"
#include "recorder/objects/shared_mapping.h"

namespace gfxgraph::recorder {

void BufferCalls::allocated(const NewAllocation& allocation) noexcept {
  if (allocation.address == 0 || allocation.size_bytes == 0) return;
  guarded([&] {
    auto entry = std::make_shared<Allocation>();
    entry->kind = allocation.kind;
    entry->made_by = thread_number();
    entry->address = allocation.address;
    entry->host_address = allocation.host_address;
    entry->size_bytes = allocation.size_bytes;
    entry->holds_bytes = allocation.holds_bytes;
    if (allocation.kind == format::AllocationKind::kDevice) entry->device = current_device;
    if (allocation.kind == format::AllocationKind::kStreamOrdered)
      entry->device = DeviceStreams::device_of(allocation.stream);
    if (allocation.kind == format::AllocationKind::kHostPinned) {
      const uint64_t seen =
          device_.device_address(reinterpret_cast<void*>(allocation.host_address));
      if (seen != 0) entry->address = seen;
    }
    format::AllocationBegin begin;
    begin.flags = allocation.flags;
    if (allocation.kind == format::AllocationKind::kStreamOrdered && stretch_.whole()) {
      begin.stream = events_.stream_id(allocation.stream);
    }
    traced_.insert_allocation(std::move(entry), std::move(begin));
  });
  handover_.drain_if_full();
}

void BufferCalls::graph_memory(uint64_t address, uint64_t size_bytes,
                               format::DeviceNumber device) noexcept {
  if (address == 0 || size_bytes == 0) return;
  guarded([&] {
    const std::shared_ptr<Allocation> known = allocations_.map().find_begin(address);
    if (known && known->of_graph && known->size_bytes >= size_bytes) return;
    auto entry = std::make_shared<Allocation>();
    entry->address = address;
    entry->size_bytes = size_bytes;
    entry->device = device;
    entry->of_graph = entry->absent = entry->gone = true;
    traced_.insert_allocation(std::move(entry), {});
  });
  handover_.drain_if_full();
}

bool BufferCalls::is_graph_memory(const void* pointer) noexcept {
  bool result = false;
  guarded([&] {
    const std::shared_ptr<Allocation> known =
        allocations_.map().find_begin(reinterpret_cast<uint64_t>(pointer));
    result = known && known->of_graph;
  });
  return result;
}

void BufferCalls::host_registered(void* host, uint64_t size_bytes, uint32_t flags) noexcept {
  if (host == nullptr || size_bytes == 0) return;
  guarded([&] {
    const uint64_t host_address = reinterpret_cast<uint64_t>(host);
    const uint64_t address = device_.device_address(host);
    auto entry = std::make_shared<Allocation>();
    entry->kind = format::AllocationKind::kHostRegistered;
    entry->made_by = thread_number();
    entry->address = address == 0 ? host_address : address;
    entry->host_address = host_address;
    entry->size_bytes = size_bytes;
    note_two_addresses(*entry, "hipHostRegister");
    format::AllocationBegin begin;
    begin.flags = flags;
    traced_.insert_allocation(std::move(entry), std::move(begin));
  });
}

// One process may hold shared memory as several ranks of a communicator, each with a mapping.
void BufferCalls::note_two_addresses(const Allocation& allocation, const char* call) {
  const std::string file = mapped_at_two_addresses(allocation.host_address, allocation.size_bytes);
  if (file.empty()) return;
  finding(format::FindingKind::kIncomplete, call,
          "the process has mapped this memory at another address, too (" + file +
              "): a replay has two memories, and what is written in one is not seen in the other");
}

// As long as hipFree does. Without the lock: what the device waits for may be a call of another
// thread. Kernels that others launch meanwhile are not among those that were `issued`.
bool BufferCalls::wait_for_device(uint64_t address, uint32_t& issued) noexcept {
  StreamCalls::waited_for_all(false);
  bool wait = false;
  guarded([&] {
    const std::shared_ptr<Allocation> allocation = allocations_.map().find_freed(address);
    wait = allocation && allocation->begun && !allocation->of_graph && !graphs_.captures().any();
    if (wait && allocation->array) wait = arrays_.free_waits_for_device();
    if (!wait) return;
    host_writes_.look_before_wait();
    issued = flights_.issued();
  });
  bool idle = false;
  if (wait) guarded_unlocked([&] { idle = device_.synchronize(0); });
  StreamCalls::waited_for_all(idle);
  return idle;
}

// The range leaves the map before the real call: another thread may get the same addresses as soon
// as the runtime has them back.
Freeing BufferCalls::freeing(uint64_t address, Handle stream, bool stream_ordered) noexcept {
  Freeing result;
  if (address == 0) return result;
  FreedMemory memory;
  uint32_t issued = 0;
  const bool idle = !stream_ordered && wait_for_device(address, issued);
  const auto settled = [&] {
    host_writes_.look_before_wait();
    issued = flights_.issued();
    return device_.synchronize(kSettleTimeoutMs);
  };
  guarded([&] {
    const Contents::ReadingFor reading(contents_, stream_ordered ? "hipFreeAsync" : "hipFree");
    // First take in the work that host functions have reported; later writes are the program's.
    events_.note_runs_if_any();
    std::shared_ptr<Allocation> allocation = allocations_.map().find_freed(address);
    if (!allocation) return;
    if (allocation->of_graph) {
      memory.allocation = std::move(allocation);
      result = std::make_shared<FreedMemory>(std::move(memory));
      return;
    }
    if (stream_ordered && graphs_.captures().capturing(stream)) {
      finding(format::FindingKind::kIncomplete, "hipFreeAsync", "inside a stream capture");
      return;
    }
    memory.post.size_bytes = allocation->size_bytes;
    memory.post.stored = false;
    if (!allocation->begun) {
      // The trace does not have it yet; its contents stay unknown.
    } else if (graphs_.captures().any()) {
      finding(format::FindingKind::kNote, "hipFree",
              "inside a stream capture; the buffer's final contents are unknown");
    } else if (stream_ordered && options_.post == PostState::kNone) {
      // No final contents are wanted, so the stream needs no read.
    } else if (stream_ordered && DeviceStreams::device_of(stream) == 0 &&
               (memory.last_state =
                    device_.read_behind(const_cast<void*>(stream), allocation->address,
                                        allocation->size_bytes, false))) {
      memory.words = allocations_.words_now();
    } else if (stream_ordered && !options_.wait) {
      finding(
          format::FindingKind::kNote, "hipFreeAsync",
          "the final contents of its memory are unknown, because reading them would have to wait");
    } else if (allocation->array && !arrays_.free_waits_for_device()) {
      // The hook has waited for the null stream; other work on it is done, or HIP's own free of it
      // would be too early.
      memory.post = contents_.post_content(*allocation);
    } else if (!idle && !(stream_ordered && settled())) {
      finding(format::FindingKind::kNote, stream_ordered ? "hipFreeAsync" : "hipFree",
              "the device failed or did not become idle; the buffer's final contents are unknown");
    } else {
      host_writes_.land(flights_.land_all_kernels(issued));
      if (allocation->host_visible()) host_writes_.check_last_host_writes(*allocation);
      memory.post = contents_.post_content(*allocation);
    }
    traced_.unmap(allocation->address);
    allocation->leaving = Allocation::Leaving::kMemory;
    // Work on it that completes later is not compared with its memory any more.
    effects_.unwatch(*allocation);
    flights_.forget(allocation->id);
    const bool begun = allocation->begun;
    memory.allocation = std::move(allocation);
    memory.stream = stream;
    memory.thread = thread_number();
    memory.site = journal_.sites().here();
    result = std::make_shared<FreedMemory>(std::move(memory));
    if (begun) traced_.note_freeing(result);
  });
  return result;
}

void BufferCalls::freed(Freeing&& freeing, bool success) noexcept {
  if (!freeing) return;
  guarded([&] {
    traced_.forget_freeing(freeing);
    const std::shared_ptr<Allocation> allocation = freeing->allocation;
    if (allocation->of_graph) {
      // No program can read it until a graph allocates it again.
      if (success) allocation->absent = allocation->gone = true;
      return;
    }
    if (!success && !freeing->ended) {
      allocation->leaving = Allocation::Leaving::kNot;
      if (allocation->reachable) effects_.watch(*allocation);
      (void)traced_.map(allocation);
      return;
    }
    if (allocation->begun) {
      if (allocation->object) arrays_.lose_array_of(*allocation);
      traced_.end_freed(*freeing);
      flights_.forget(allocation->id);
      values_.lose(allocation->id);
    }
    allocations_.forget_id(*allocation);
  });
  handover_.drain_if_full();
}

void BufferCalls::host_unregistering(uint64_t address) noexcept {
  bool read = false;
  guarded([&] {
    const std::shared_ptr<Allocation> allocation = allocations_.map().find_freed(address);
    if (!allocation) return;
    allocation->leaving = Allocation::Leaving::kRegistration;
    read = late_reads_.reads(allocation->id);
  });
  if (read) guarded_unlocked([&] { (void)device_.synchronize(kSettleTimeoutMs); });
}

void BufferCalls::host_unregistered(uint64_t address, bool success) noexcept {
  constexpr const char* kCall = "hipHostUnregister";
  if (!success) {
    return guarded([&] {
      const std::shared_ptr<Allocation> allocation = allocations_.map().find_freed(address);
      if (allocation) allocation->leaving = Allocation::Leaving::kNot;
    });
  }
  streams_.synchronized(format::SynchronizeKind::kStream, null_stream(current_device), kCall);
  guarded([&] {
    const std::shared_ptr<Allocation> allocation = allocations_.map().find_freed(address);
    if (!allocation) return;
    // The other mapping may have come later.
    if (allocation->begun) note_two_addresses(*allocation, kCall);
    if (allocation->begun)
      traced_.end_allocation(*allocation, true, 0, host_writes_.content_at_end(*allocation, kCall));
    traced_.unmap(allocation->address);
    effects_.unwatch(*allocation);
    flights_.forget(allocation->id);
    values_.lose(allocation->id);
    allocations_.forget_id(*allocation);
  });
  handover_.drain_if_full();
}

void BufferCalls::resetting() noexcept {
  guarded([&] {
    if (DeviceStreams::several()) {
      finding(format::FindingKind::kIncomplete, "hipDeviceReset",
              "with several devices: what the others hold is not followed any more");
    }
    const Contents::ReadingFor reading(contents_, "hipDeviceReset");
    host_writes_.look_before_wait();
    if (stretch_.recording() && !device_.synchronize(kSettleTimeoutMs)) {
      finding(format::FindingKind::kNote, "hipDeviceReset",
              "the device failed or did not become idle");
    }
    late_reads_.resolve(true);
    if (!flights_.empty()) {
      events_.append_devices_done("hipDeviceReset");
    }
    for (const std::shared_ptr<Allocation>& allocation : allocations_.adopted()) {
      traced_.end_allocation(*allocation, true, 0, host_writes_.last_content(*allocation));
      effects_.unwatch(*allocation);
      allocations_.forget_id(*allocation);
    }
    allocations_.adopted().clear();
    for (const std::shared_ptr<Allocation>& allocation : allocations_.map().all()) {
      // Host memory that was only registered lives on, but not for the device.
      if (allocation->kept) {
        traced_.end_kept(*allocation, true);
      } else if (allocation->begun) {
        if (allocation->host_visible()) host_writes_.check_last_host_writes(*allocation);
        format::Content last = contents_.post_content(*allocation);
        if (allocation->module != nullptr) code_.ends_by_reset(*allocation, last);
        traced_.end_allocation(*allocation, true, 0, std::move(last));
      }
      traced_.unmap(allocation->address);
      effects_.unwatch(*allocation);
      allocations_.forget_id(*allocation);
    }
    arrays_.forget_all();
    code_.forget_found();
    threads_lose_their_streams();
    device_.resetting();  // behind the last reads
    const LaunchLanes::Alone alone(journal_.lanes());
    events_.streams().clear();
  });
}

void BufferCalls::was_reset() noexcept {
  guarded([&] { device_.was_reset(); });
}

}  // namespace gfxgraph::recorder
