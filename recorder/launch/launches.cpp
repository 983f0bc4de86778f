#include "recorder/launch/launches.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/hip_quirks.h"
#include "codeobj/code_object.h"
#include "codeobj/dwarf/function_at.h"
#include "recorder/launch/arguments.h"
#include "recorder/objects/devices.h"
#include "recorder/program_memory.h"

namespace gfxgraph::recorder {

[[gnu::hot]] KernelEntry* Launches::find_kernel(Handle function, bool host_function,
                                                const char* call, HeldFindings& held,
                                                format::DeviceNumber device) noexcept {
  if (!idle()) return look_up_kernel(function, host_function, call, held, device);
  stretch_.fresh().kernels_run();
  return nullptr;
}

[[gnu::hot]] KernelEntry* Launches::look_up_kernel(Handle function, bool host_function,
                                                   const char* call, HeldFindings& held,
                                                   format::DeviceNumber device) noexcept {
  // A thread launches few kernels repeatedly. Entries live as long as the recorder; their lookup
  // keys may be removed, which changes the registry's generation.
  struct Known {
    const Launches* owner = nullptr;
    Handle function = nullptr;
    format::DeviceNumber device = 0;
    uint64_t generation = 0;
    KernelEntry* entry = nullptr;
  };
  static thread_local std::array<Known, 16> cache;
  Known& known = cache[reinterpret_cast<uintptr_t>(function) / 16 % cache.size()];
  const uint64_t generation = code_.registry().generation();
  if (known.owner == this && known.function == function && known.generation == generation &&
      known.device == device) {
    return known.entry;
  }
  KernelEntry* result = nullptr;
  guarded([&] {
    const Findings::Hold hold(journal_.findings(), held);
    CodeRegistry::FunctionName* name =
        code_.registry().find_launched(function, host_function, device);
    if (name == nullptr) {
      finding(format::FindingKind::kIncomplete, call,
              device == 0 ? "a kernel whose registration was not seen"
                          : "a kernel whose registration was not seen, or of a module of another "
                            "device");
      return;
    }
    result = name->entry != nullptr ? name->entry : code_.describe_kernel(*name, call);
    if (result == nullptr) return;
    describe_found(*result, call);
    if (held.empty()) known = {this, function, device, generation, result};
  });
  return result;
}

void Launches::describe_found(KernelEntry& kernel, const char* call) {
  ModuleEntry& module = *kernel.module;
  if (!module.globals_known) code_.discover_globals(module);
  name_addresses(kernel);
  if (module.managed_elsewhere) {
    finding(format::FindingKind::kIncomplete, call,
            "a kernel of a module with __managed__ variables, on another device than the first "
            "one");
  }
  for (const ManagedVariable& variable : module.managed) {
    if (variable.known) continue;
    finding(format::FindingKind::kIncomplete, "__hipRegisterManagedVar",
            "the address of " + variable.name + " is not known");
  }
}

KernelEntry* Launches::kernel_of_node(KernelEntry& node, format::DeviceNumber graph,
                                      format::DeviceNumber stream, const char* call) {
  // Code without variables is the same on each device.
  if (!DeviceStreams::several() || !code_.has_variables(*node.module)) return &node;
  if (!hip_quirk_seen(HipQuirk::kGraphRunsOnStreamsDevice, facts_.runtime_version)) return &node;
  if (graph != stream) {
    finding(format::FindingKind::kIncomplete, call,
            "a kernel with variables in a graph that is launched on a stream of another device "
            "than the current one of its hipGraphInstantiate");
  }
  CodeRegistry::FunctionName* const there =
      node.module->device == stream ? nullptr : code_.registry().on_device(node, stream);
  if (there == nullptr) return &node;
  KernelEntry* const kernel =
      there->entry != nullptr ? there->entry : code_.describe_kernel(*there, call);
  if (kernel != nullptr) describe_found(*kernel, call);
  return kernel;
}

void Launches::captured_elsewhere(const KernelEntry& kernel, const char* call) {
  if (!code_.has_variables(*kernel.module)) return;
  finding(format::FindingKind::kIncomplete, call,
          "a kernel with variables, captured on a stream of another device than the current one");
}

// What a kernel that is about to run may leave in memory, or find there, and a replay keeps as it
// was recorded.
void Launches::name_addresses(KernelEntry& entry) {
  if (std::exchange(entry.addresses_named, true)) return;
  const codeobj::CodeObject& code = *entry.module->code;
  const codeobj::Kernel* const kernel = code.find_kernel(entry.kernel.name);
  if (kernel == nullptr) return;
  // Older kernels get device memory from the host, by a call.
  const bool heap = kernel->find_hidden("hidden_heap_v1") != nullptr ||
                    kernel->find_hidden("hidden_hostcall_buffer") != nullptr;
  if (heap && codeobj::has_function(code, "__ockl_dm_alloc")) {
    finding(format::FindingKind::kNote, entry.kernel.name,
            "it can call malloc; addresses of such memory keep their recorded values in buffers");
  }
  const auto variable_of_it = [&](const std::shared_ptr<Allocation>& allocation) {
    return allocation->module == entry.module && !allocation->host_visible();
  };
  if (kernel->uses_dynamic_stack &&
      std::ranges::none_of(allocations_.map().all(), variable_of_it)) {
    finding(format::FindingKind::kNote, entry.kernel.name,
            "it can call functions by address, and its code object has no variable whose address "
            "locates them; they keep their recorded values in buffers");
  }
}

KernelEntry* Launches::find_any_kernel(Handle function, const char* call,
                                       HeldFindings& held) noexcept {
  bool stub = false;
  guarded([&] { stub = code_.registry().find_host_function(function) != nullptr; });
  return look_up_kernel(function, stub, call, held, current_device);
}

RawLaunch Launches::raw_launch(KernelEntry* kernel, const LaunchShape& shape, void* const* params,
                               void* const* extra, const char* call, HeldFindings& held,
                               ArgumentsAre are) noexcept {
  RawLaunch raw;
  if (kernel == nullptr) return raw;
  raw.shape = shape;
  try {
    const Result<void> read = kernarg_from_call(kernel->kernel, params, extra, are, raw.kernarg);
    if (!read) {
      held.push_back({format::FindingKind::kIncomplete, call, read.error().message});
      return raw;
    }
    raw.kernel = kernel;
  } catch (const std::exception& caught) {  // out of memory for it
    guarded([&] { finding(format::FindingKind::kIncomplete, call, caught.what()); });
  }
  return raw;
}

bool Launches::may_wait_for_grids(const KernelEntry& kernel) noexcept {
  return std::ranges::any_of(kernel.kernel.arguments, [](const format::Argument& argument) {
    return argument.value_kind == "hidden_multigrid_sync_arg";
  });
}

void Launches::resolve_arguments(KernelEntry& kernel, std::span<const uint8_t> kernarg,
                                 std::vector<format::Relocation>& relocations,
                                 std::span<const format::Relocation> given) {
  const auto [unknown, near, special] =
      allocations_.words().arguments(kernel.slots, kernarg, relocations, given);
  traced_.take_in_targets(relocations, std::as_bytes(kernarg), nullptr);
  traced_.mark_reachable(relocations);
  if (unknown == WordResolver::kNone && near == WordResolver::kNone &&
      relocations.size() == kernel.pointer_arguments &&
      std::ranges::all_of(relocations, [](const format::Relocation& r) {
        return r.source == format::RelocationSource::kTyped;
      })) {
    return;  // every pointer is one, and nothing else looks like one
  }
  for (const format::Relocation& relocation : relocations) {
    if (!relocation.ambiguous) continue;
    const uint64_t bit = ambiguous_bit(relocation.offset_bytes);
    if ((kernel.ambiguous_reported.fetch_or(bit) & bit) != 0) continue;
    journal_.findings().ambiguous(kernel.kernel.name,
                                  describe_argument(kernel.kernel, relocation.offset_bytes));
  }
  const auto word = [&](uint32_t offset) {
    uint64_t value = 0;
    std::memcpy(&value, kernarg.data() + offset, sizeof(value));
    return value;
  };
  if (near != WordResolver::kNone && !kernel.near_pointer_reported) {
    kernel.near_pointer_reported = true;
    finding(format::FindingKind::kNote, kernel.kernel.name,
            fmt::format("{} holds {:#x}, which is near a buffer but in none: a pointer outside its "
                        "buffer, or a number; a replay keeps it as recorded",
                        describe_kernarg_offset(kernel.kernel, near), word(near)));
  }
  if (unknown == WordResolver::kNone || kernel.unknown_pointer_reported) return;
  // Memory of the program that is in no buffer is what it did not tell HIP of, as from malloc().
  std::array<std::byte, 1> byte{};
  const char* const why =
      read_program(word(unknown), byte)
          ? "HIP was not given that memory, so a kernel can only use the address as a number"
          : "the buffer that it was computed from is unknown";
  HeldFinding found{
      format::FindingKind::kIncomplete, kernel.kernel.name,
      fmt::format("{} holds {:#x}, an address outside every buffer: {}; it keeps its "
                  "recorded value",
                  describe_kernarg_offset(kernel.kernel, unknown), word(unknown), why),
      &kernel.unknown_pointer_reported};
  check(journal_.findings().add(std::move(found)));
}

format::Launch Launches::make_launch(RawLaunch raw, format::StreamId stream) {
  format::Launch launch;
  code_.describe_again(*raw.kernel);
  launch.kernel = raw.kernel->kernel.id;
  launch.stream = stream;
  launch.grid = raw.shape.grid;
  launch.grid_remainder = raw.shape.grid_remainder;
  launch.block = raw.shape.block;
  launch.dynamic_lds_bytes = raw.shape.dynamic_lds_bytes;
  launch.cooperative = raw.shape.cooperative;
  launch.kernarg = std::move(raw.kernarg);
  traced_.take_in_variables(*raw.kernel->module);
  std::span<const format::Relocation> given;
  if (raw.words) given = *raw.words;
  resolve_arguments(*raw.kernel, launch.kernarg, launch.relocations, given);
  return launch;
}

// Whether nothing has to be said of the launch whose kernarg bytes the lane has at hand, nor done
// before it: no memory that the program may write beside it, none that is not in the trace yet.
// With the lane's lock.
[[gnu::hot]] bool Launches::words_are_enough(const KernelEntry& kernel, LaunchLane& lane) const {
  const auto [unknown, near, special] =
      allocations_.words().arguments(kernel.slots, lane.kernarg, lane.relocations);
  if (unknown != WordResolver::kNone && !kernel.unknown_pointer_reported) return false;
  if (near != WordResolver::kNone && !kernel.near_pointer_reported) return false;
  const bool ranges = !stretch_.whole();
  if (ranges &&
      (kernel.module->globals_span != stretch_.span() || !traced_.stale_words().empty())) {
    return false;
  }
  if (!special) return true;
  const bool look =
      ranges || allocations_.any_value() || !allocations_.map().host_visible().empty();
  return std::ranges::all_of(lane.relocations, [&](const format::Relocation& word) {
    if (word.ambiguous && (kernel.ambiguous_reported.load(std::memory_order_relaxed) &
                           ambiguous_bit(word.offset_bytes)) == 0) {
      return false;
    }
    if (!look) return true;
    const Allocation* const target = allocations_.by_id(word.allocation);
    return !word.outside && target != nullptr &&
           !(target->host_visible() && allocations_.map().follows_host()) &&
           !target->holds_values && (!ranges || (target->begun && !target->kept));
  });
}

[[gnu::hot]] LaunchWay Launches::launch_way(KernelEntry& kernel, void* const* params,
                                            void* const* extra, ArgumentsAre are) noexcept {
  LaunchWay way = LaunchWay::kWhole;
  guard_.quick([&] {
    LaunchLane* const lane = journal_.lanes().mine();
    if (lane == nullptr) return;
    if (plain_.load(std::memory_order_acquire)) {
      way = LaunchWay::kAfter;
      return;
    }
    if (!light_.load(std::memory_order_acquire)) return;
    if (!kernarg_from_call(kernel.kernel, params, extra, are, lane->kernarg)) return;
    const std::lock_guard lock(lane->lock);
    if (light_.load(std::memory_order_relaxed) && !stretch_.outside() &&
        words_are_enough(kernel, *lane)) {
      way = LaunchWay::kWords;
    }
  });
  return way;
}

void Launches::hold() noexcept {
  const LaunchLanes::Alone alone(journal_.lanes());
  plain_.store(false, std::memory_order_release);
  light_.store(false, std::memory_order_release);
}

// Requires the lane's lock. Whether another thread gave work to the stream meanwhile.
[[gnu::hot]] bool Launches::add_launch(LaunchLane& lane, const KernelEntry& kernel,
                                       format::StreamId stream, const LaunchShape& shape) {
  const uint64_t ticket = journal_.queue().draw();
  PendingLaunch& launch = EventQueue::add(lane);
  launch.ticket = ticket;
  launch.kernel = kernel.kernel.id;
  launch.stream = stream;
  launch.thread = thread_number();
  launch.site = journal_.sites().here();
  launch.ticks = journal_.queue().ticks_of(ticket);
  launch.shape = shape;
  if (lane.pending.launches.size() == EventQueue::kSomeOfLane) journal_.flusher().wake();
  return events_.uses().overlaps(stream, ticket, Events::drawn_before(), launch.thread, &lane,
                                 journal_.lanes(), journal_.lanes().single());
}

[[gnu::hot]] bool Launches::launched(LaunchWay way, KernelEntry& kernel, const LaunchShape& shape,
                                     void* const* params, void* const* extra, Handle stream,
                                     const char* call) noexcept {
  bool full = false;
  guard_.quick([&] {
    LaunchLane& lane = *journal_.lanes().mine();
    const bool after = way == LaunchWay::kAfter;
    if (after) {
      if (Result<void> read = kernarg_from_call(kernel.kernel, params, extra,
                                                ArgumentsAre::kReadByHip, lane.kernarg);
          !read) {
        guarded([&] { finding(format::FindingKind::kIncomplete, call, read.error().message); });
        return;
      }
    }
    bool overlapped = false;
    {
      const std::lock_guard lock(lane.lock);
      const std::optional<format::StreamId> known = events_.streams().find(stream);
      // Flights are followed with the lock.
      const bool joins =
          in_flight_.load(std::memory_order_acquire) &&
          (stream == nullptr || (known && (events_.uses().is_null(*known) ||
                                           events_.uses().before_null_stream(*known))));
      const bool still = (after ? plain_ : light_).load(std::memory_order_relaxed) &&
                         !stretch_.outside() && !runs_.any_ran() && known && !joins &&
                         (!after || words_are_enough(kernel, lane));
      if (still) {
        overlapped = add_launch(lane, kernel, *known, shape);
        full = lane.pending.launches.size() >= EventQueue::kMostOfLane;
        if (!overlapped) return;
      }
    }
    guarded([&] {
      if (overlapped) return events_.note_overlap();
      if (stretch_.outside()) return events_.note_left_range(call);
      const format::StreamId id =
          events_.stream_id(stream);  // before the launch: it may append a stream
      if (after) resolve_arguments(kernel, lane.kernarg, lane.relocations);
      events_.note_runs_if_any();
      flights_.works(id);
      const std::lock_guard lock(lane.lock);
      if (add_launch(lane, kernel, id, shape)) events_.note_overlap();
    });
  });
  return full;
}

void Launches::update_ways() noexcept {
  const bool live = journal_.begun() && !life_.finished;
  const bool idle = live && !stretch_.recording() && captures_.none();
  if (idle != idle_.load(std::memory_order_relaxed)) idle_.store(idle, std::memory_order_release);
  const bool looked = live && !options_.checkpoints && captures_.none();
  // In a range, what a launch touches is read before it.
  const bool plain = looked && stretch_.whole() && allocations_.map().host_visible().empty() &&
                     !allocations_.any_value();
  const bool light = looked && stretch_.recording() && !allocations_.any_reachable();
  if (plain != plain_.load(std::memory_order_relaxed) ||
      light != light_.load(std::memory_order_relaxed)) {
    const LaunchLanes::Alone alone(journal_.lanes());
    plain_.store(plain, std::memory_order_release);
    light_.store(light, std::memory_order_release);
  }
  if (flights_.any_kernel() != kernels_fly_.load(std::memory_order_relaxed)) {
    kernels_fly_.store(flights_.any_kernel(), std::memory_order_release);
  }
  if (flights_.idle() == in_flight_.load(std::memory_order_relaxed)) {
    in_flight_.store(!flights_.idle(), std::memory_order_release);
  }
}

}  // namespace gfxgraph::recorder
