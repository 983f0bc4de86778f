#include "replayer/graph_arguments.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "replayer/entry_code.h"
#include "replayer/graph_updates.h"
#include "replayer/instance.h"

namespace gfxgraph::replayer {
namespace {

constexpr uint32_t kCacheLine = 64;

// Values that only the queue of the launch decides, which is HIP's.
bool needs_queue(const HiddenField& field) {
  return field.value == HiddenValue::kQueue || field.value == HiddenValue::kPrivateBase ||
         field.value == HiddenValue::kSharedBase;
}

}  // namespace

GraphArguments::GraphArguments(Instance& instance, std::shared_ptr<PacketDevice> device)
    : instance_(instance),
      device_(std::move(device)),
      code_(instance.session().shared_library(), device_->shared_hsa(), device_->agent()) {}

std::unique_ptr<GraphArguments> GraphArguments::open(Instance& instance) {
  Result<std::shared_ptr<PacketDevice>> device = instance.session().packet_device();
  if (!device) {
    instance.hip().hipGetLastError();
    return nullptr;
  }
  return std::unique_ptr<GraphArguments>(new GraphArguments(instance, *std::move(device)));
}

GraphArguments::~GraphArguments() {
  const HipTable& hip = instance_.hip();
  for (const Fence& fence : fences_) {
    if (fence.event != nullptr) hip.hipEventDestroy(fence.event);
  }
  for (const auto& [id, entry] : entries_) {
    if (entry.module != nullptr) hip.hipModuleUnload(entry.module);
  }
  for (std::byte* const memory : memory_) device_->release(memory);
}

bool GraphArguments::take(uint32_t launch) noexcept {
  if (has(launch)) return true;
  try {
    if (!std::exchange(tried_, true)) {
      works_ = instance_.library().update_trials().find_entries(instance_.library(), *device_,
                                                                code_, instance_.device().arch);
    }
    if (!works_) return false;
    const PreparedLaunch& prepared = instance_.launch(launch);
    const auto [found, is_new] = entries_.try_emplace(prepared.kernel);
    Entry& entry = found->second;
    if (is_new) {
      if (const Result<void> loaded = load_entry(entry, prepared.kernel); !loaded) {
        entry.function = nullptr;
        instance_.session().log(kLogInfo,
                                "arguments stay in the graph's nodes: " + loaded.error().message);
      }
    }
    if (entry.function == nullptr) {
      instance_.hip().hipGetLastError();
      return false;
    }
    Taken taken;
    taken.function = entry.function;
    taken.hidden = entry.hidden;
    taken.bytes = std::max(entry.kernarg_bytes, prepared.kernarg_bytes);
    if (!allocate(taken)) return false;
    fill(taken, launch);
    taken.since = runs_;  // none of them reads it
    Taken& kept = taken_.emplace(launch, std::move(taken)).first->second;
    kept.address = reinterpret_cast<uint64_t>(kept.places[0].bytes);
    kept.extra = {hip::kLaunchBufferPointer, &kept.address, hip::kLaunchBufferSize,
                  &kept.address_bytes, hip::kLaunchEnd};
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

Result<void> GraphArguments::load_entry(Entry& entry, format::KernelId kernel) {
  const Program& program = instance_.program();
  const format::Kernel& recorded = program.trace().kernels()[kernel - 1];
  GFXGRAPH_ASSIGN_OR_RETURN(entry.hidden, hidden_fields(recorded));
  if (std::ranges::any_of(entry.hidden, needs_queue))
    return fail(Status::kUnsupported, "a hidden argument depends on the queue");
  GFXGRAPH_ASSIGN_OR_RETURN(const PacketKernel code,
                            code_.find(program, instance_.session().modules(), recorded));
  entry.kernarg_bytes = std::max(code.kernarg_bytes, recorded.kernarg_size_bytes);
  const format::CodeObject& object = program.trace().code_objects()[recorded.code_object - 1];
  GFXGRAPH_ASSIGN_OR_RETURN(const std::span<const std::byte> elf, program.trace().blob(object.elf));
  const std::optional<KernelDescriptor> descriptor = find_descriptor(elf, recorded.name);
  if (!descriptor) return fail(Status::kUnsupported, "the code object has no descriptor");
  GFXGRAPH_ASSIGN_OR_RETURN(entry.elf,
                            make_entry_code(instance_.device().arch, *descriptor, code.object));
  GFXGRAPH_TRY(instance_.library().check(
      instance_.hip().hipModuleLoadData(&entry.module, entry.elf.data()), "entry code"));
  return instance_.library().check(
      instance_.hip().hipModuleGetFunction(&entry.function, entry.module, kEntryKernel),
      "entry code");
}

Result<void> GraphArguments::allocate(Taken& taken) {
  const size_t stride = (taken.bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
  memory_.reserve(memory_.size() + 1);
  GFXGRAPH_ASSIGN_OR_RETURN(std::byte* const memory,
                            device_->allocate(stride * kPlaces, "arguments of a launch"));
  memory_.push_back(memory);
  std::memset(memory, 0, stride * kPlaces);
  for (size_t i = 0; i < kPlaces; ++i) taken.places[i].bytes = memory + i * stride;
  return {};
}

void GraphArguments::fill(const Taken& taken, uint32_t launch) const {
  const PreparedLaunch& prepared = instance_.launch(launch);
  std::byte* const bytes = taken.places[taken.at].bytes;
  std::memcpy(bytes, prepared.kernarg, prepared.kernarg_bytes);
  if (taken.hidden.empty()) return;
  HiddenFacts facts;
  facts.block = {prepared.block.x, prepared.block.y, prepared.block.z};
  facts.work_items = {prepared.grid.x * prepared.block.x, prepared.grid.y * prepared.block.y,
                      prepared.grid.z * prepared.block.z};
  facts.dynamic_lds_bytes = prepared.lds_bytes;
  write_hidden(taken.hidden, facts, bytes);
}

Result<GraphArguments::Written> GraphArguments::write(uint32_t launch) {
  Taken& taken = taken_.at(launch);
  Written written = Written::kInPlace;
  if (may_be_read(taken)) [[unlikely]] {
    GFXGRAPH_TRY(move(taken));
    written = Written::kElsewhere;
  }
  fill(taken, launch);
  return written;
}

// Callers may have waited for their stream themselves; it is asked once for each run.
bool GraphArguments::may_be_read(const Taken& taken) {
  if (runs_ <= std::max(ended_, taken.since)) return false;
  if (std::exchange(asked_, runs_) != runs_) {
    const Result<bool> idle = instance_.library().is_idle(stream_);
    if (idle && *idle) ended_ = runs_;
  }
  return runs_ > ended_;
}

Result<void> GraphArguments::move(Taken& taken) {
  GFXGRAPH_TRY(fence());
  const size_t next = (taken.at + 1) % kPlaces;
  GFXGRAPH_TRY(wait_for(taken.places[next].last_run));
  taken.places[taken.at].last_run = runs_;
  taken.at = next;
  taken.since = runs_;
  taken.address = reinterpret_cast<uint64_t>(taken.places[next].bytes);
  return {};
}

// Behind the last run, once.
Result<void> GraphArguments::fence() {
  if (fenced_ == runs_) return {};
  const HipLibrary& library = instance_.library();
  Fence& fence = fences_[next_fence_];
  if (fence.event == nullptr) {
    GFXGRAPH_TRY(library.check(
        library.table().hipEventCreateWithFlags(&fence.event, hip::kDisableTiming), "an event"));
  }
  if (fence.pending) GFXGRAPH_TRY(wait_for(fence.run));
  GFXGRAPH_TRY(
      library.check(library.table().hipEventRecord(fence.event, stream_), "hipEventRecord"));
  fence.run = fenced_ = runs_;
  fence.pending = true;
  next_fence_ = (next_fence_ + 1) % kPlaces;
  return {};
}

Result<void> GraphArguments::wait_for(uint64_t run) {
  if (run <= ended_) return {};
  // The earliest fence behind it. There is one: a place is left behind a fence, and a fence that
  // was recorded again had been waited for.
  Fence* first = nullptr;
  for (Fence& fence : fences_) {
    if (fence.pending && fence.run >= run && (first == nullptr || fence.run < first->run))
      first = &fence;
  }
  const HipLibrary& library = instance_.library();
  if (first == nullptr) {
    GFXGRAPH_TRY(library.wait_for(stream_));
    ended_ = runs_;
    return {};
  }
  GFXGRAPH_TRY(
      library.check(library.table().hipEventSynchronize(first->event), "hipEventSynchronize"));
  first->pending = false;
  ended_ = std::max(ended_, first->run);
  return {};
}

// A fence is behind all runs only if they are on one stream.
Result<void> GraphArguments::submitted(hip::Stream stream) {
  if (stream != stream_ && runs_ > ended_ && !taken_.empty()) [[unlikely]] {
    GFXGRAPH_TRY(instance_.library().wait_for(stream_));
    ended_ = runs_;
  }
  stream_ = stream;
  ++runs_;
  return {};
}

}  // namespace gfxgraph::replayer
