#include "replayer/session/live_use.h"

#include <fmt/format.h>

#include <algorithm>

#include "replayer/session/session.h"
#include "replayer/session/session_steps.h"

namespace gfxgraph::replayer {
namespace {

// Index = id - 1.
std::vector<bool> named_buffers(const Program& program) {
  std::vector<bool> named(program.allocations().size());
  const auto name = [&](format::AllocationId id) {
    if (id != 0) named[id - 1] = true;
  };
  for (const Operation& operation : program.operations()) {
    switch (operation.kind) {
      case OperationKind::kLaunch:
        for (const format::Relocation& word : operation.launch->relocations) name(word.allocation);
        break;
      case OperationKind::kCopy:
        name(operation.copy->source.allocation);
        name(operation.copy->destination.allocation);
        break;
      case OperationKind::kMemset: name(operation.memset->allocation); break;
    }
  }
  return named;
}

// Or one past its end.
bool is_in(const Placement& place, uint64_t address) {
  return (place.replay_device != 0 && address - place.replay_device <= place.size_bytes) ||
         (place.replay_host != 0 && address - place.replay_host <= place.size_bytes);
}

}  // namespace

Result<LiveUse> LiveUse::find(const Session& session, const Program& program) {
  LiveUse use;
  if (!session.in_place()) return use;
  use.session_ = &session;
  use.program_ = &program;
  use.gone_ = session.options().live->gone;
  GFXGRAPH_TRY(use.check_devices());
  use.find_kernels();
  GFXGRAPH_TRY(use.check_kernels());
  GFXGRAPH_TRY(use.check_recorded());
  use.find_places();
  return use;
}

// The functions are those of one device, and no work is moved to another one.
Result<void> LiveUse::check_devices() const {
  const auto ours = static_cast<format::DeviceNumber>(session_->device().ordinal);
  for (uint32_t i = 0; i < program_->operations().size(); ++i) {
    const format::DeviceNumber device =
        program_->streams()[program_->operations()[i].stream].device;
    if (device == ours) continue;
    return fail(Status::kUnsupported,
                fmt::format("{} was on device {}, and the session in place is on device {}: it "
                            "needs the device that was captured",
                            program_->describe(i), device, ours));
  }
  return {};
}

void LiveUse::find_kernels() {
  for (const Operation& operation : program_->operations()) {
    if (operation.kind == OperationKind::kLaunch) kernels_.push_back(operation.launch->kernel);
  }
  std::ranges::sort(kernels_);
  kernels_.erase(std::ranges::unique(kernels_).begin(), kernels_.end());
}

Result<void> LiveUse::check_kernels() const {
  const live::Objects& objects = *session_->options().live;
  const Modules& modules = session_->modules();
  for (const format::KernelId id : kernels_) {
    const live::Code code = objects.code(objects.self, id);
    const bool there = code.function != nullptr || code.stub != nullptr;
    if (there && (modules.function(id) != nullptr || modules.stub(id) != nullptr)) continue;
    return fail(Status::kNotFound,
                fmt::format("kernel {}: the program does not have its code any more: it has "
                            "unloaded the module; capture the step again",
                            program_->trace().kernels()[id - 1].name));
  }
  return {};
}

tl::unexpected<Error> LiveUse::gone(format::AllocationId id) const {
  return fail(Status::kNotFound,
              fmt::format("{}: the step uses it, and the program does not have it any more: bind "
                          "memory in its place, or capture the step again",
                          text_of(program_->allocations()[id - 1])));
}

// Memory that lived only inside of the capture is there for the operations between its beginning
// and its end; a step that begins later would find nothing in it.
Result<void> LiveUse::check_recorded() {
  const Memory& memory = session_->memory();
  const std::vector<bool> named = named_buffers(*program_);
  std::vector<bool> used = find_used_buffers(*program_).used;
  const auto launches = [&](format::CodeObjectId object) {
    return std::ranges::any_of(kernels_, [&](format::KernelId id) {
      return program_->trace().kernels()[id - 1].code_object == object;
    });
  };
  for (const AllocationInfo& info : program_->allocations()) {
    if (info.begin != nullptr && info.begin->object && used[info.begin->id - 1])
      used[info.begin->object->allocation - 1] = true;
  }
  for (const AllocationInfo& info : program_->allocations()) {
    if (info.begin == nullptr) continue;
    const format::AllocationId id = info.begin->id;
    if (!used[id - 1]) continue;
    if (!named[id - 1]) {
      // Kernels reach the variables of their own code.
      if (info.begin->kind == format::AllocationKind::kModuleGlobal &&
          !launches(info.begin->code_object)) {
        continue;
      }
      reached_.push_back(id);
    }
    const bool brought = memory.exists(id) && memory.keeps_content(id);
    const bool there = memory.exists(id) && memory.is_live(id) ? memory.is_there(id)
                       : brought
                           ? true
                           : memory.exists(id) && info.begin_sequence >= program_->first_event();
    if (!there) return gone(id);
  }
  return {};
}

void LiveUse::find_places() {
  const Memory& memory = session_->memory();
  const auto add = [&](const void* pointer, format::AllocationId id) {
    if (pointer != nullptr)
      places_.push_back({reinterpret_cast<uint64_t>(pointer), memory.size(id), id});
  };
  for (const AllocationInfo& info : program_->allocations()) {
    if (info.begin == nullptr || !memory.exists(info.begin->id) || !memory.is_live(info.begin->id))
      continue;
    add(memory.device_pointer(info.begin->id), info.begin->id);
    if (memory.host_pointer(info.begin->id) != memory.device_pointer(info.begin->id))
      add(memory.host_pointer(info.begin->id), info.begin->id);
  }
  std::ranges::sort(places_, {}, &Place::begin);
}

Result<void> LiveUse::check_place(format::AllocationId id) const {
  return session_->memory().is_there(id) ? Result<void>() : gone(id);
}

// Memory of the caller, which may have an address that the program gave back, is nobody's here.
Result<void> LiveUse::check_address(uint64_t address) const {
  const auto behind = std::ranges::upper_bound(places_, address, {}, &Place::begin);
  if (behind == places_.begin()) return {};
  const Place& place = *std::prev(behind);
  if (address - place.begin > place.size_bytes) return {};
  const Memory& memory = session_->memory();
  if (memory.is_there(place.allocation)) return {};
  for (const AllocationInfo& info : program_->allocations()) {
    if (info.begin == nullptr || !memory.exists(info.begin->id) || memory.is_live(info.begin->id))
      continue;
    if (is_in(memory.addresses().placement(info.begin->id), address)) return {};
  }
  return gone(place.allocation);
}

Result<void> LiveUse::check_word(uint64_t address, format::AllocationId recorded) const {
  const Memory& memory = session_->memory();
  if (!is_in(memory.addresses().placement(recorded), address)) return check_address(address);
  return memory.is_live(recorded) ? check_place(recorded) : Result<void>();
}

Result<void> LiveUse::check_operation(const PreparedOperations& operations, uint32_t index) const {
  const Operation& recorded = program_->operations()[index];
  const PreparedOperation& prepared = operations.all[index];
  const auto number = [](const void* pointer) { return reinterpret_cast<uint64_t>(pointer); };
  const auto check_end = [&](const format::CopyEnd& end, const void* pointer,
                             const void* array) -> Result<void> {
    if (end.allocation == 0) return {};
    return array != nullptr ? check_place(end.allocation)
                            : check_word(number(pointer), end.allocation);
  };
  switch (prepared.kind) {
    case OperationKind::kLaunch: {
      const PreparedLaunch& launch = operations.launches[prepared.index];
      const auto bytes = std::as_bytes(std::span(launch.kernarg, launch.kernarg_bytes));
      for (const format::Relocation& word : recorded.launch->relocations) {
        const uint64_t value = load_word(bytes, word.offset_bytes);
        // A pointer beside its buffer stands in no other one.
        const uint64_t inside = word.outside ? value - static_cast<uint64_t>(word.addend) : value;
        GFXGRAPH_TRY(check_word(inside, word.allocation));
      }
      return {};
    }
    case OperationKind::kCopy: {
      const PreparedCopy& copy = operations.copies[prepared.index];
      GFXGRAPH_TRY(check_end(recorded.copy->source, copy.source, copy.source_array));
      return check_end(recorded.copy->destination, copy.destination, copy.destination_array);
    }
    case OperationKind::kMemset: break;
  }
  return check_word(number(operations.memsets[prepared.index].destination),
                    recorded.memset->allocation);
}

Result<void> LiveUse::check_each(const PreparedOperations& operations) const {
  GFXGRAPH_TRY(check_kernels());
  const Memory& memory = session_->memory();
  for (uint32_t i = 0; i < operations.all.size(); ++i) GFXGRAPH_TRY(check_operation(operations, i));
  for (const format::AllocationId id : reached_) {
    if (memory.is_live(id)) GFXGRAPH_TRY(check_place(id));
  }
  for (const format::HostWrite* write : program_->host_writes()) {
    if (memory.is_live(write->allocation)) GFXGRAPH_TRY(check_place(write->allocation));
  }
  return {};
}

}  // namespace gfxgraph::replayer
