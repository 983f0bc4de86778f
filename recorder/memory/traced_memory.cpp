#include "recorder/memory/traced_memory.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "recorder/events/host_memory.h"
#include "recorder/events/host_runs.h"
#include "recorder/memory/code.h"
#include "recorder/memory/contents.h"
#include "recorder/memory/host_blocks.h"
#include "recorder/memory/host_writes.h"
#include "recorder/memory/late_reads.h"
#include "recorder/program_memory.h"

namespace gfxgraph::recorder {
namespace {

format::Content unwritten(const Allocation& allocation) {
  format::Content content;
  content.size_bytes = allocation.size_bytes;
  content.unwritten = true;
  return content;
}

}  // namespace

std::vector<std::shared_ptr<Allocation>> TracedMemory::map(std::shared_ptr<Allocation> allocation) {
  runs_.deferred().hold_words();
  return allocations_.insert(std::move(allocation));
}

void TracedMemory::unmap(uint64_t address) {
  runs_.deferred().hold_words();
  allocations_.remove(address);
}

// Memory that the program gets right now, and that only the device sees. What the host sees is
// compared with what it held first; --checkpoints hash what memory holds from its beginning on; and
// memory that a range begins with may have been written before.
bool TracedMemory::is_fresh(const Allocation& allocation) const {
  return (allocation.kind == format::AllocationKind::kDevice ||
          allocation.kind == format::AllocationKind::kStreamOrdered || allocation.array) &&
         !allocation.host_visible() && !allocation.holds_bytes && !options_.checkpoints &&
         (stretch_.whole() || stretch_.fresh().fresh(allocation.given_out));
}

// A variable that was already in the trace gets its current contents.
void TracedMemory::refresh(Allocation& variable) {
  {
    const LaunchLanes::Alone alone(journal_.lanes());
    variable.kept = false;
  }
  const format::Content last = std::exchange(variable.last, {});
  // The host knew, when this stretch began, that the effects of earlier stretches were complete.
  if (!std::exchange(stretches_ordered_, true)) {
    events_.append_devices_done("range");
  }
  if (variable.host_visible()) {
    variable.reachable = variable.in_memory = true;
    runs_.effects().watch(variable);
    // Memory has other ids in this stretch: words that lead to it are written anew.
    if (!variable.points_to.empty()) variable.blocks.know_nothing();
    variable.points_to.clear();
    return host_writes_.check_host_writes(variable, 0, variable.size_bytes);
  }
  format::Content now = contents_.read_content(variable, true, Contents::Held::kFirst);
  if (!now.stored) return;
  if (now.hash && now.hash == last.hash && now.relocations.empty()) return;
  format::Copy copy;
  copy.destination.allocation = variable.id;
  copy.width_bytes = variable.size_bytes;
  copy.host_source = std::move(now);
  events_.append(std::move(copy));
}

// What a texture or surface is made of enters the trace first.
std::shared_ptr<const format::ImageObject> TracedMemory::take_in_resource(Allocation& image) {
  Allocation& resource = *image.resource;
  auto object = std::make_shared<format::ImageObject>(*image.object);
  if (allocations_.by_id(resource.id) != &resource) return nullptr;
  take_in_trace(resource);
  object->allocation = resource.id;
  if (resource.host_visible()) {
    resource.in_memory = true;
    make_reachable(resource);
  }
  return object;
}

void TracedMemory::take_in_trace(Allocation& allocation, format::AllocationBegin begin) {
  if (allocation.object) {
    begin.object = take_in_resource(allocation);
    if (!begin.object) {
      return finding(format::FindingKind::kIncomplete, describe(allocation),
                     "its memory was freed before the range");
    }
  }
  begin.array = allocation.array;
  begin.id = allocation.id;
  begin.kind = allocation.kind;
  begin.recorded_address = allocation.address;
  begin.host_address = allocation.host_address;
  begin.size_bytes = allocation.size_bytes;
  begin.symbol = allocation.symbol;
  begin.name = allocation.name;
  begin.site = allocation.site;
  events_.know_device(allocation.device);
  begin.device = allocation.device;
  begin.site_ordinal = allocation.site_ordinal;
  // Every kernel of the module may use a managed variable without being handed its address.
  const bool followed = allocation.host_visible() && allocations_.map().follows_host();
  if (allocation.kind == format::AllocationKind::kModuleGlobal && followed) {
    allocation.reachable = allocation.in_memory = true;
  }
  if (allocation.reachable)
    runs_.effects().watch(allocation);  // before it is read: a host function may write it
  allocation.beginning = true;
  // Hash before reading the content: a write in between is then recorded once more, as a later
  // write, instead of being lost.
  std::vector<uint64_t> blocks;
  if (followed) blocks = block_hashes(allocation);
  if (!allocation.object) {
    begin.initial = is_fresh(allocation) || allocation.absent ? unwritten(allocation)
                                                              : contents_.first_content(allocation);
  }
  allocation.beginning = false;
  {
    const LaunchLanes::Alone alone(journal_.lanes());
    allocation.begun = true;
  }
  if (!followed) return events_.append(std::move(begin));
  allocation.blocks.begin(std::move(blocks));
  contents_.append_beginning(std::move(begin), [&](uint64_t offset, std::span<std::byte> piece) {
    return read_program(allocation.host_address + offset, piece);
  });
}

void TracedMemory::take_in_trace(Allocation& allocation) {
  if (allocation.kept) return refresh(allocation);
  if (allocation.begun || allocation.beginning) return;
  format::AllocationBegin begin;
  begin.flags = allocation.flags;
  if (allocation.module != nullptr) {
    ModuleEntry& module = *static_cast<ModuleEntry*>(const_cast<void*>(allocation.module));
    code_.describe_again(module);
    begin.code_object = module.code_id;
  }
  if (allocations_.is_untraced(allocation.id))
    allocations_.number(allocation, allocations_.new_id());
  ++taking_in_;
  take_in_trace(allocation, std::move(begin));
  if (--taking_in_ != 0) return;
  // Buffers that hold each other's addresses: one of them began before the other.
  for (const format::AllocationId id : std::exchange(in_a_cycle_, {})) {
    Allocation* holder = allocations_.by_id(id);
    if (holder == nullptr) continue;
    format::Content whole = contents_.first_content(*holder);
    if (!whole.stored) {
      append_words(*holder, whole);
      continue;
    }
    if (holder->host_visible()) {
      events_.append(format::HostWrite{id, 0, std::move(whole)});
      continue;
    }
    format::Copy copy;
    copy.destination.allocation = id;
    copy.width_bytes = holder->size_bytes;
    if (holder->array) {
      copy.width_bytes = copy.destination.pitch_bytes = holder->array->row_bytes();
      copy.destination.slice_bytes = holder->array->slice_bytes();
      copy.height = holder->array->rows();
      copy.depth = holder->array->slices();
    }
    copy.host_source = std::move(whole);
    events_.append(std::move(copy));
  }
}

void TracedMemory::take_in_targets(std::vector<format::Relocation>& relocations,
                                   std::span<const std::byte> bytes, const Allocation* holder) {
  take_in_targets(
      relocations,
      [bytes](uint64_t offset) {
        uint64_t held = 0;
        std::memcpy(&held, bytes.data() + offset, sizeof(held));
        return held;
      },
      holder);
}

void TracedMemory::take_in_targets(std::vector<format::Relocation>& relocations,
                                   const std::function<uint64_t(uint64_t)>& held_at,
                                   const Allocation* holder) {
  if (stretch_.whole()) return;
  bool lost = false;
  const auto stays = [&](format::Relocation& word) {
    const uint64_t held = held_at(word.offset_bytes);
    Allocation* const target = allocations_.by_id(word.allocation);
    if (target == nullptr) {
      if (freed_.contains(word.allocation)) return true;
      const LaunchLanes::Alone alone(journal_.lanes());
      stale_words_.insert(held);
      return false;
    }
    if (word.source == format::RelocationSource::kMatched && stale_words_.contains(held)) {
      word.ambiguous = true;
    }
    if ((!target->begun || target->kept) && filling_ != Filling::kNothing) {
      lost = lost || filling_ == Filling::kContent;
      return false;
    }
    const uint64_t value = target->address + static_cast<uint64_t>(word.addend);
    if (word.outside && target->kind != format::AllocationKind::kModuleGlobal && value >> 48 == 0) {
      // It may have been made from any of those around it.
      std::vector<format::AllocationId> near;
      allocations_.map().all_within(value, format::outside_reach(target->distance(value)),
                                    [&](const Allocation& one) {
                                      near.push_back(one.id);
                                      return true;
                                    });
      for (const format::AllocationId id : near) {
        if (Allocation* one = allocations_.by_id(id)) take_in_trace(*one);
      }
    }
    take_in_trace(*target);
    word.allocation = target->id;
    if (target->begun || target == holder) return true;
    if (holder != nullptr && (in_a_cycle_.empty() || in_a_cycle_.back() != holder->id)) {
      in_a_cycle_.push_back(holder->id);
    }
    return false;
  };
  size_t left = 0;
  for (size_t i = 0; i < relocations.size(); ++i) {
    if (stays(relocations[i])) relocations[left++] = relocations[i];
  }
  relocations.resize(left);
  if (lost) {
    finding(format::FindingKind::kIncomplete, "range",
            "a host function or kernel stored in host memory an address of memory that nothing in "
            "the range had used: the word keeps its recorded value");
  }
}

void TracedMemory::take_in_variables(ModuleEntry& module) {
  const uint64_t span = stretch_.span();
  if (stretch_.whole() || module.globals_span == span) return;
  {
    const LaunchLanes::Alone alone(journal_.lanes());
    module.globals_span = span;
  }
  std::vector<Allocation*> variables;
  for (const std::shared_ptr<Allocation>& allocation : allocations_.map().all()) {
    if (allocation->module == &module) variables.push_back(allocation.get());
  }
  // First, as one may hold the address of another, or of code.
  for (Allocation* one : variables) {
    if ((one->begun && !one->kept) || one->host_visible()) continue;
    if (!one->kept) allocations_.number(*one, allocations_.new_id());
    allocations_.learn_code_range(module, *one);
  }
  for (Allocation* one : variables) take_in_trace(*one);
}

void TracedMemory::insert_allocation(std::shared_ptr<Allocation> allocation,
                                     format::AllocationBegin begin) {
  allocation->id = stretch_.whole() ? allocations_.new_id() : allocations_.new_untraced_id();
  Allocation& entry = *allocation;
  if (entry.kind != format::AllocationKind::kModuleGlobal) {
    entry.site = journal_.sites().here();
    entry.site_ordinal = journal_.sites().next_ordinal(entry.site);
  }
  for (const Freeing& freeing : freeings_) {
    const Allocation& old = *freeing->allocation;
    if (entry.address < old.address + old.size_bytes &&
        old.address < entry.address + entry.size_bytes)
      end_freed(*freeing);
  }
  for (const std::shared_ptr<Allocation>& old : map(std::move(allocation))) {
    // Its end was not seen: the runtime gave the same addresses out again.
    if (old->begun) {
      format::Content unknown;
      unknown.size_bytes = old->size_bytes;
      unknown.stored = false;
      end_allocation(*old, true, 0, std::move(unknown));
    }
    runs_.effects().unwatch(*old);
    allocations_.forget_id(*old);
  }
  if (allocations_.map().registered_before(entry)) {
    finding(format::FindingKind::kNote, "hipHostRegister",
            "of memory that was registered before, with words in memory that lead there: a replay "
            "has two buffers, and words that are not stored again lead to the earlier one");
  }
  entry.flags = begin.flags;
  // A trace of ranges lacks the bytes that freed memory left here, and a replay could not tell them
  // from writes.
  if (allocations_.map().freed_within(entry.address, entry.address + entry.size_bytes).empty()) {
    entry.given_out = stretch_.fresh().now();
  }
  allocations_.addresses_reused(entry);
  if (stretch_.whole()) take_in_trace(entry, std::move(begin));
}

// For an allocation whose content is not stored: appends its pointers to memory that began after
// it.
void TracedMemory::append_words(const Allocation& allocation, const format::Content& whole) {
  const std::vector<format::Relocation>& words = whole.relocations;
  if (allocation.array) return;  // texels
  for (size_t first = 0, next = 0; first < words.size(); first = next) {
    const uint64_t offset = words[first].offset_bytes;
    format::Content run;
    for (next = first; next < words.size() &&
                       words[next].offset_bytes == offset + (next - first) * sizeof(uint64_t);
         ++next) {
      run.relocations.push_back(words[next]);
      run.relocations.back().offset_bytes -= offset;
    }
    std::vector<std::byte> bytes((next - first) * sizeof(uint64_t));
    if (!device_.read_on(allocation.device, bytes.data(), allocation.address + offset,
                         bytes.size()))
      return;
    run.size_bytes = bytes.size();
    run.hash = run.blob = check(journal_.writer().add_blob(bytes));
    format::Copy copy;
    copy.destination.allocation = allocation.id;
    copy.destination.offset_bytes = offset;
    copy.width_bytes = bytes.size();
    copy.host_source = std::move(run);
    events_.append(std::move(copy));
  }
}

void TracedMemory::mark_reachable(std::span<const format::Relocation> relocations, bool in_memory) {
  // It matters for these only.
  if (allocations_.map().host_visible().empty() && !allocations_.any_value()) return;
  for (const format::Relocation& relocation : relocations) {
    Allocation* target = allocations_.by_id(relocation.allocation);
    if (target == nullptr) continue;
    target->in_memory = target->in_memory || in_memory;
    if (target->host_visible()) make_reachable(*target);
  }
}

void TracedMemory::make_reachable(Allocation& allocation) {
  if (allocation.reachable) return;
  allocation.reachable = true;
  runs_.effects().watch(allocation);
}

void TracedMemory::end_allocation(const Allocation& allocation, bool freed, format::StreamId stream,
                                  format::Content post) {
  if (freed && !stretch_.whole()) freed_.insert(allocation.id);
  events_.append(
      format::AllocationEnd{allocation.id, freed, stream, std::move(post), allocation.gone});
}

void TracedMemory::note_freeing(const Freeing& freeing) { freeings_.push_back(freeing); }

void TracedMemory::forget_freeing(const Freeing& freeing) { std::erase(freeings_, freeing); }

void TracedMemory::end_freed(FreedMemory& freed) {
  if (std::exchange(freed.ended, true)) return;
  const Allocation& allocation = *freed.allocation;
  if (!stretch_.whole()) freed_.insert(allocation.id);
  const format::StreamId stream = freed.stream == nullptr ? 0 : events_.stream_id(freed.stream);
  events_.note_runs_if_any();
  format::Event& event = events_.push(
      format::AllocationEnd{allocation.id, true, stream, std::move(freed.post), allocation.gone});
  event.thread = freed.thread;
  event.site = freed.site;
  if (!freed.last_state) return;
  late_reads_.add({.read = std::move(freed.last_state),
                   .words = std::move(freed.words),
                   .item = &event,
                   .content = &std::get<format::AllocationEnd>(event.action).post,
                   .ended = freed.allocation});
}

void TracedMemory::end_kept(Allocation& allocation, bool freed) {
  {
    const LaunchLanes::Alone alone(journal_.lanes());
    allocation.kept = false;
  }
  end_allocation(allocation, freed, 0, std::exchange(allocation.last, {}));
}

void TracedMemory::stretch_ends() {
  const LaunchLanes::Alone alone(journal_.lanes());
  stale_words_.clear();
  freed_.clear();
}

}  // namespace gfxgraph::recorder
