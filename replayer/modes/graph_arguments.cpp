#include "replayer/modes/graph_arguments.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "replayer/abi/graph_updates.h"
#include "replayer/code/entry_code.h"
#include "replayer/session/instance.h"

namespace gfxgraph::replayer {
namespace {

constexpr uint32_t kCacheLine = 64;

// Values that only the queue of the launch decides, which is HIP's.
bool needs_queue(const HiddenField& field) {
  return field.value == HiddenValue::kQueue || field.value == HiddenValue::kPrivateBase ||
         field.value == HiddenValue::kSharedBase;
}

}  // namespace

GraphArguments::GraphArguments(Instance& instance, RunsInFlight& runs,
                               std::shared_ptr<PacketDevice> device)
    : instance_(instance),
      runs_(runs),
      device_(std::move(device)),
      code_(instance.session().shared_library(), device_->shared_hsa(), device_->agent()) {}

std::unique_ptr<GraphArguments> GraphArguments::open(Instance& instance, RunsInFlight& runs) {
  Result<std::shared_ptr<PacketDevice>> device = instance.session().packet_device();
  if (!device) {
    instance.hip().hipGetLastError();
    return nullptr;
  }
  return std::unique_ptr<GraphArguments>(new GraphArguments(instance, runs, *std::move(device)));
}

GraphArguments::~GraphArguments() {
  const HipTable& hip = instance_.hip();
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
    taken.places = Rotation<std::byte*>(runs_);
    taken.bytes = std::max(entry.kernarg_bytes, prepared.kernarg_bytes);
    if (!allocate(taken)) return false;
    fill(taken, launch);
    Taken& kept = taken_.emplace(launch, std::move(taken)).first->second;
    kept.address = reinterpret_cast<uint64_t>(kept.places.current());
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
  const format::CodeObject& object =
      instance_.session().modules().image(program, recorded.code_object);
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
  auto& places = taken.places.places();
  memory_.reserve(memory_.size() + 1);
  GFXGRAPH_ASSIGN_OR_RETURN(std::byte* const memory,
                            device_->allocate(stride * places.size(), "arguments of a launch"));
  memory_.push_back(memory);
  std::memset(memory, 0, stride * places.size());
  for (size_t i = 0; i < places.size(); ++i) places[i] = memory + i * stride;
  return {};
}

void GraphArguments::fill(const Taken& taken, uint32_t launch) const {
  const PreparedLaunch& prepared = instance_.launch(launch);
  std::byte* const bytes = taken.places.current();
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
  if (!taken.places.is_free(runs_) && !runs_.ask()) [[unlikely]] {
    GFXGRAPH_TRY(taken.places.free_next(runs_));
    taken.places.turn(runs_);
    taken.address = reinterpret_cast<uint64_t>(taken.places.current());
    written = Written::kElsewhere;
  }
  fill(taken, launch);
  return written;
}

}  // namespace gfxgraph::replayer
