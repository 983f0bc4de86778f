// Recording only ranges of a program: outside of them the model of streams, memory, modules and
// graphs is kept, and nothing is read or written. An allocation gets into the trace when work of a
// range is about to touch it, with all that its words lead to, and leaves it at the range's end;
// the next range begins it anew, under another id.
#include <algorithm>
#include <cstring>
#include <utility>

#include "recorder/recorder_internal.h"

namespace gfxgraph::recorder {
namespace {

format::Content unwritten(const Allocation& allocation) {
  format::Content content;
  content.size_bytes = allocation.size_bytes;
  content.unwritten = true;
  return content;
}

}  // namespace

// ---- ranges -------------------------------------------------------------------------------------

void Recorder::enter_range() {
  // What was issued before is no part of the range, but of what its memory holds.
  const bool idle = device_->synchronize(finish_timeout_ms_);
  fresh_.stretch_begins(idle);
  if (!idle) {
    finding(format::FindingKind::kIncomplete, "range",
            "the device failed or did not become idle when it began: what its memory held is not "
            "known");
  }
  recording_ = true;
  stretches_ordered_ = false;
  span_.fetch_add(1, std::memory_order_release);
  if (options_.contents != Contents::kAll) return;
  const ReadingFor reading(reading_for_, "range");
  for (const std::shared_ptr<Allocation>& allocation : map_.all()) {
    if (allocation->module == nullptr) take_in_trace(*allocation);
  }
  for (ModuleEntry* module : code_.modules()) {
    if (module->globals_known) take_in_variables(*module);
  }
}

// Nothing that is selected is open any more. What follows at once is recorded with it: so is the
// next iteration of a loop, the memory of which need not begin anew.
void Recorder::leave_if_over() {
  if (recording_ && !selection_.empty() && selected_.empty() && selected_launches_ == 0 &&
      !in_interval_) {
    leaving_.store(true, std::memory_order_release);
  }
}

void Recorder::leave_now() noexcept {
  guarded_unlocked([&] {
    const std::lock_guard order(drain_mutex_);
    const std::lock_guard lock(guard_.mutex());
    if (leaving_ && !finished_) leave_range();
  });
}

// With drain_mutex_, too.
void Recorder::leave_range() {
  hold_launches();  // what returns from now on is not in it
  leaving_ = false;
  for (const format::RangeId open : std::exchange(traced_, {})) {
    append(format::Marker{open_ranges_[open].text, format::MarkerKind::kRangeEnd, open});
  }
  look_before_wait();
  const bool idle = device_->synchronize(finish_timeout_ms_);
  fresh_.stretch_ends(idle);
  if (idle) {
    end_contents("range");
  } else {
    finding(format::FindingKind::kNote, "range",
            "the device failed or did not become idle when it ended: the state of its buffers is "
            "unknown");
    for (const std::shared_ptr<Allocation>& allocation : map_.all()) {
      if (!allocation->begun || allocation->kept) continue;
      format::Content unknown;
      unknown.size_bytes = allocation->size_bytes;
      unknown.stored = false;
      end_or_keep(*allocation, std::move(unknown));
    }
  }
  // All host functions have run: what they wrote leads to memory by its ids in this range.
  resolve_deferred(false);
  for (const std::shared_ptr<Allocation>& allocation : adopted_) {
    flights_.forget(allocation->id);
    unwatch(*allocation);
    forget_id(*allocation);
  }
  adopted_.clear();
  for (const std::shared_ptr<Allocation>& allocation : map_.all()) {
    if (!allocation->begun) continue;
    flights_.forget(allocation->id);
    unwatch(*allocation);
    allocation->saved_blocks.clear();
    allocation->doubted_blocks.clear();
    allocation->was_reachable = allocation->was_reachable || allocation->reachable;
    if (allocation->kept) {
      allocation->reachable = allocation->in_memory = false;
      continue;
    }
    number(*allocation, next_untraced_--);
    by_id_.erase(std::exchange(allocation->former_id, 0));
    allocation->begun = false;
    allocation->reachable = allocation->in_memory = false;
    allocation->known_blocks.clear();
    allocation->points_to.clear();
  }
  stale_words_.clear();
  values_.lose_all();
  map_.renumbered();
  for (const ModuleEntry* module : code_.modules()) forget_code(module);
  recording_ = false;
  span_.fetch_add(1, std::memory_order_release);
  update_ways();
}

// What is not recorded is about to run.
void Recorder::writes_outside(const RawAction& raw) {
  const auto written = [&](uint64_t address) {
    if (Allocation* allocation = map_.find(address)) allocation->given_out = FreshMemory::kWritten;
  };
  // What a copy of a later step finds there is the device's, not the program's.
  const auto by_device = [&](uint64_t address, uint64_t size_bytes) {
    written(address);
    uint64_t offset = 0;
    Allocation* const to = allocation_at(address, offset);
    if (to == nullptr || !to->host_visible() || offset >= to->size_bytes) return;
    to->device_wrote.add(offset, offset + std::min(size_bytes, to->size_bytes - offset));
  };
  if (std::holds_alternative<RawLaunch>(raw)) fresh_.kernels_run();
  if (const auto* copy = std::get_if<RawCopy>(&raw))
    by_device(copy->destination.address, copy_extent(*copy, copy->destination));
  if (const auto* set = std::get_if<RawMemset>(&raw)) {
    by_device(set->address,
              extent(set->pitch_bytes, set->slice_bytes, set->width_elements * set->element_bytes,
                     set->height, set->depth));
  }
  if (const auto* write = std::get_if<RawWrite>(&raw)) written(write->address);
}

void Recorder::note_left_range(const char* call) {
  finding(format::FindingKind::kIncomplete, call,
          "a call of another thread was under way when a recorded range ended");
}

// At the end of a stretch.
void Recorder::end_or_keep(Allocation& allocation, format::Content post) {
  if (allocation.module == nullptr || selection_.empty() || finished_ || segments_) {
    return end_allocation(allocation, false, 0, std::move(post));
  }
  allocation.kept = true;
  allocation.last = std::move(post);
}

void Recorder::end_kept(Allocation& allocation, bool freed) {
  {
    const LaunchLanes::Alone alone(journal_.lanes());
    allocation.kept = false;
  }
  end_allocation(allocation, freed, 0, std::exchange(allocation.last, {}));
}

// A variable that was in the trace before gets what it holds now.
void Recorder::refresh(Allocation& variable) {
  {
    const LaunchLanes::Alone alone(journal_.lanes());
    variable.kept = false;
  }
  const format::Content last = std::exchange(variable.last, {});
  // What earlier stretches did to it is done, as the host knew when this one began.
  if (!std::exchange(stretches_ordered_, true)) {
    append(format::Synchronize{format::SynchronizeKind::kDevice, 0, "range"});
  }
  if (variable.host_visible()) {
    variable.reachable = variable.in_memory = true;
    watch(variable);
    // Memory has other ids in this stretch: words that lead to it are written anew.
    if (!variable.points_to.empty()) std::ranges::fill(variable.known_blocks, kUnknownBlock);
    variable.points_to.clear();
    return check_host_writes(variable, 0, variable.size_bytes);
  }
  format::Content now = read_content(variable, true, Held::kFirst);
  if (!now.stored) return;
  if (now.hash && now.hash == last.hash && now.relocations.empty()) return;
  format::Copy copy;
  copy.destination.allocation = variable.id;
  copy.width_bytes = variable.size_bytes;
  copy.host_source = std::move(now);
  append(std::move(copy));
}

void Recorder::note_missed_ranges() {
  for (const RangeSelection::Missed& missed : selection_.missed()) {
    finding(missed.all ? format::FindingKind::kIncomplete : format::FindingKind::kNote, "--range",
            missed.text);
  }
  for (const LaunchSelection::Missed& missed : launch_selection_.missed(launches_)) {
    finding(missed.all ? format::FindingKind::kIncomplete : format::FindingKind::kNote,
            missed.option, missed.text);
  }
}

// ---- what they touch ----------------------------------------------------------------------------

// The id that it had before still leads to it: words that were resolved before are at hand.
void Recorder::number(Allocation& allocation, format::AllocationId id) {
  const LaunchLanes::Alone alone(journal_.lanes());
  by_id_.erase(allocation.former_id);
  allocation.former_id = allocation.id;
  allocation.id = id;
  by_id_[id] = &allocation;
}

void Recorder::take_in_trace(Allocation& allocation, format::AllocationBegin begin) {
  begin.id = allocation.id;
  begin.kind = allocation.kind;
  begin.recorded_address = allocation.address;
  begin.host_address = allocation.host_address;
  begin.size_bytes = allocation.size_bytes;
  begin.symbol = allocation.symbol;
  begin.name = allocation.name;
  begin.site = allocation.site;
  begin.site_ordinal = allocation.site_ordinal;
  // Every kernel of the module may use a managed variable without being handed its address.
  if (allocation.kind == format::AllocationKind::kModuleGlobal && allocation.host_visible()) {
    allocation.reachable = allocation.in_memory = true;
  }
  if (allocation.reachable) watch(allocation);  // before it is read: a host function may write it
  allocation.beginning = true;
  begin.initial = is_fresh(allocation) ? unwritten(allocation) : first_content(allocation);
  allocation.beginning = false;
  {
    const LaunchLanes::Alone alone(journal_.lanes());
    allocation.begun = true;
  }
  if (!allocation.host_visible()) return append(std::move(begin));
  allocation.known_blocks = block_hashes(allocation);
  append_beginning(std::move(begin), [&](uint64_t offset, std::span<std::byte> piece) {
    return read_host_piece(allocation.host_address + offset, piece);
  });
}

void Recorder::take_in_trace(Allocation& allocation) {
  if (allocation.kept) return refresh(allocation);
  if (allocation.begun || allocation.beginning) return;
  format::AllocationBegin begin;
  begin.flags = allocation.flags;
  if (allocation.module != nullptr) {
    ModuleEntry& module = *static_cast<ModuleEntry*>(const_cast<void*>(allocation.module));
    if (segments_) (void)describe_module(module, "--flight-recorder");
    begin.code_object = module.code_id;
  }
  if (allocation.id > next_untraced_) number(allocation, next_allocation_++);
  ++taking_in_;
  take_in_trace(allocation, std::move(begin));
  if (--taking_in_ != 0) return;
  // Buffers that hold each other's addresses: one of them began before the other.
  for (const format::AllocationId id : std::exchange(in_a_cycle_, {})) {
    Allocation* holder = by_id(id);
    if (holder == nullptr) continue;
    format::Content whole = first_content(*holder);
    if (!whole.stored) {
      append_words(*holder, whole);
      continue;
    }
    if (holder->host_visible()) {
      append(format::HostWrite{id, 0, std::move(whole)});
      continue;
    }
    format::Copy copy;
    copy.destination.allocation = id;
    copy.width_bytes = holder->size_bytes;
    copy.host_source = std::move(whole);
    append(std::move(copy));
  }
}

// The targets of words that are about to get into the trace, in the content of `holder` or in a
// launch. Words that lead to memory which was freed outside of the range stay as they are, also in
// a replay: if the range gets the address once more, a word in memory may be one or the other.
void Recorder::take_in_targets(std::vector<format::Relocation>& relocations,
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

void Recorder::take_in_targets(std::vector<format::Relocation>& relocations,
                               const std::function<uint64_t(uint64_t)>& held_at,
                               const Allocation* holder) {
  if (selection_.empty()) return;
  bool lost = false;
  const auto stays = [&](format::Relocation& word) {
    const uint64_t held = held_at(word.offset_bytes);
    Allocation* const target = by_id(word.allocation);
    if (target == nullptr) {
      if (ended_.contains(word.allocation)) return true;
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
      map_.all_within(value, format::outside_reach(target->distance(value)),
                      [&](const Allocation& one) {
                        near.push_back(one.id);
                        return true;
                      });
      for (const format::AllocationId id : near) {
        if (Allocation* one = by_id(id)) take_in_trace(*one);
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
            "memory of the host got an address of memory that nothing in the range had touched, "
            "by a host function or a kernel: the word is kept as it is");
  }
}

// Of a module whose kernel is about to run.
void Recorder::take_in_variables(ModuleEntry& module) {
  const uint64_t span = span_.load(std::memory_order_relaxed);
  if (selection_.empty() || module.globals_span == span) return;
  {
    const LaunchLanes::Alone alone(journal_.lanes());
    module.globals_span = span;
  }
  std::vector<Allocation*> variables;
  for (const std::shared_ptr<Allocation>& allocation : map_.all()) {
    if (allocation->module == &module) variables.push_back(allocation.get());
  }
  // First, as one may hold the address of another, or of code.
  for (Allocation* one : variables) {
    if ((one->begun && !one->kept) || one->host_visible()) continue;
    if (!one->kept) number(*one, next_allocation_++);
    learn_code_range(module, *one);
  }
  for (Allocation* one : variables) take_in_trace(*one);
}

}  // namespace gfxgraph::recorder
