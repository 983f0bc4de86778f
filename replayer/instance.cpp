#include "replayer/instance.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "format/image_boxes.h"
#include "replayer/executor.h"
#include "replayer/relocated_content.h"

namespace gfxgraph::replayer {
namespace {

// Limit for a kernarg segment; the runtime copies what a launch passes.
constexpr uint64_t kKernargAlignment = 16;

uint64_t aligned(uint64_t size, uint64_t alignment) {
  return (size + alignment - 1) & ~(alignment - 1);
}

uint64_t packed_bytes(const format::Copy& copy) {
  return copy.width_bytes * copy.height * copy.depth;
}

bool host_kind(const Program& program, format::AllocationId id) {
  return host_visible(*program.allocations()[id - 1].begin);
}

bool pinned(const Program& program, format::AllocationId id) {
  return program.allocations()[id - 1].begin->kind == format::AllocationKind::kHostPinned;
}

}  // namespace

hip::Memcpy3dParams PreparedCopy::parameters() const {
  hip::Memcpy3dParams result;
  result.destination = {destination, destination_pitch, width,
                        destination_slice / destination_pitch};
  result.source = {const_cast<uint8_t*>(source), source_pitch, width, source_slice / source_pitch};
  result.extent = {width, height, depth};
  result.kind = kind;
  if (!in_array()) return result;
  // Widths and places in arrays count texels.
  result.extent.width = width / shape->format.bytes();
  const auto place = [](const format::ArrayShape& array, const uint8_t* pointer) {
    const format::ArrayBox box =
        format::array_place(array, reinterpret_cast<uint64_t>(pointer) - kArrayBase);
    return hip::Position{box.x, box.y, box.z};
  };
  if (destination_array != nullptr) {
    result.destination_array = destination_array;
    result.destination = {};
    result.destination_position = place(*shape, destination);
  }
  if (source_array != nullptr) {
    result.source_array = source_array;
    result.source = {};
    result.source_position = place(*source_shape, source);
  }
  return result;
}

// kArrayCopyFromBeginning: the pointer must be that of the allocation, and the rest a position.
hip::Memcpy3dParams PreparedCopy::parameters(const HipTable& hip) const noexcept {
  hip::Memcpy3dParams result = parameters();
  if (!in_array() || hip.hipMemGetAddressRange == nullptr) return result;
  const auto split = [&](hip::PitchedPointer& memory, hip::Position& position, uint64_t offset) {
    void* base = nullptr;
    size_t size = 0;
    if (memory.pointer == nullptr) return;
    if (hip.hipMemGetAddressRange(&base, &size, memory.pointer) != hip::kSuccess) {
      hip.hipGetLastError();  // memory that HIP does not know
      return;
    }
    // Of registered memory HIP 5.2.3 gives no base. Memory registers whole pages, and shifts a
    // buffer by less than one.
    if (base == nullptr) {
      constexpr uintptr_t kPage = 4096;
      const auto begin = reinterpret_cast<uintptr_t>(memory.pointer) - offset;
      base = reinterpret_cast<void*>(begin / kPage * kPage);
    }
    position.x =
        static_cast<size_t>(static_cast<uint8_t*>(memory.pointer) - static_cast<uint8_t*>(base));
    memory.pointer = base;
  };
  split(result.source, result.source_position, source_offset);
  split(result.destination, result.destination_position, destination_offset);
  return result;
}

// Executes the part of the trace before the selected one.
struct Before {
  std::unique_ptr<Instance> instance;
  std::unique_ptr<Executor> executor;
};

Instance::Instance(std::shared_ptr<Session> session, std::shared_ptr<const Program> program)
    : session_(std::move(session)),
      program_(std::move(program)),
      moves_followed_(session_->moves().size()) {}

Instance::~Instance() { memory().source().release(MemoryKind::kPinned, staging_); }

Result<std::unique_ptr<Instance>> Instance::load(std::shared_ptr<Session> session,
                                                 std::shared_ptr<const Program> program) {
  std::unique_ptr<Instance> instance(new Instance(std::move(session), std::move(program)));
  GFXGRAPH_TRY(instance->prepare());
  return instance;
}

// In a single pass, which several threads can share.
Result<void> Instance::check_contents() const {
  std::vector<format::BlobId> blobs;
  for (const Operation& operation : program_->operations()) {
    if (operation.kind != OperationKind::kCopy || operation.copy->source.allocation != 0) continue;
    const format::Content& source = operation.copy->host_source;
    if (source.blob) blobs.push_back(source.blob);
  }
  for (const format::HostWrite* write : program_->host_writes()) {
    if (write->content.blob) blobs.push_back(write->content.blob);
  }
  return program_->trace().check_blobs(blobs);
}

Result<void> Instance::prepare() {
  GFXGRAPH_TRY(check_contents());
  uint64_t arena_bytes = 0;
  for (const Operation& operation : program_->operations()) {
    if (operation.kind == OperationKind::kLaunch) {
      arena_bytes +=
          aligned(std::max<uint64_t>(operation.launch->kernarg_bytes, 1), kKernargAlignment);
    }
  }
  arena_.resize(arena_bytes);
  GFXGRAPH_TRY(prepare_staging());
  operations_.reserve(program_->operations().size());
  launches_.reserve(program_->launch_count());
  uint64_t arena_offset = 0;
  for (uint32_t i = 0; i < program_->operations().size(); ++i) {
    const Operation& operation = program_->operations()[i];
    GFXGRAPH_TRY(deadline().check("preparing the operations"));
    switch (operation.kind) {
      case OperationKind::kLaunch: GFXGRAPH_TRY(prepare_launch(operation, arena_offset)); break;
      case OperationKind::kCopy: GFXGRAPH_TRY(prepare_copy(i, operation)); break;
      case OperationKind::kMemset: GFXGRAPH_TRY(prepare_memset(operation)); break;
    }
  }
  GFXGRAPH_TRY(prepare_turnovers());
  return prepare_host_writes();
}

Result<void> Instance::prepare_launch(const Operation& operation, uint64_t& arena_offset) {
  const LaunchShape& recorded = *operation.launch;
  operations_.push_back({.kind = OperationKind::kLaunch,
                         .empty = false,
                         .index = static_cast<uint32_t>(launches_.size())});
  PreparedLaunch& launch = launches_.emplace_back();
  launch.kernel = recorded.kernel;
  launch.grid = {recorded.grid[0], recorded.grid[1], recorded.grid[2]};
  launch.block = {recorded.block[0], recorded.block[1], recorded.block[2]};
  launch.lds_bytes = recorded.dynamic_lds_bytes;
  GFXGRAPH_TRY(check_sizes(static_cast<uint32_t>(operations_.size() - 1), nullptr));

  launch.kernarg = arena_.data() + arena_offset;
  launch.kernarg_bytes = recorded.kernarg_bytes;
  arena_offset += aligned(std::max<uint64_t>(recorded.kernarg_bytes, 1), kKernargAlignment);
  std::ranges::copy(operation.kernarg(), launch.kernarg);
  if (!recorded.relocations.empty()) {
    const Result<void> moved = memory().addresses().apply(
        std::as_writable_bytes(std::span(launch.kernarg, launch.kernarg_bytes)),
        recorded.relocations, "arguments");
    if (!moved) return with_context(moved.error(), name_of(operation));
  }
  if (recorded.cooperative || recorded.grid_remainder != std::array<uint32_t, 3>{})
    return prepare_special(operation, launch);
  return {};
}

Result<void> Instance::prepare_special(const Operation& operation, PreparedLaunch& launch) {
  const LaunchShape& recorded = *operation.launch;
  SpecialLaunch special;
  special.stub = session_->modules().stub(recorded.kernel);
  special.cooperative = recorded.cooperative;
  uint32_t* const items[3] = {&special.work_items.x, &special.work_items.y, &special.work_items.z};
  for (size_t i = 0; i < 3; ++i) {
    const uint32_t remainder = recorded.grid_remainder[i];
    const uint64_t whole = uint64_t{recorded.grid[i]} * recorded.block[i];
    if (remainder != 0) special.partial = true;
    // The grid's last workgroup is the partial one.
    const uint64_t total = remainder == 0 ? whole : whole - recorded.block[i] + remainder;
    if (remainder >= std::max(recorded.block[i], 1u) || total > UINT32_MAX) {
      if (!special.partial) continue;  // the plain launch counts workgroups
      return fail(Status::kCorrupt, fmt::format("{}: partial workgroup of {} work items of {}",
                                                name_of(operation), remainder, recorded.block[i]));
    }
    *items[i] = static_cast<uint32_t>(total);
  }
  if (special.partial && hip().hipExtModuleLaunchKernel == nullptr) {
    return fail(Status::kUnsupported,
                fmt::format("{}: partial workgroups need hipExtModuleLaunchKernel, which {} lacks",
                            name_of(operation), library().path()));
  }
  if (special.cooperative && special.stub == nullptr &&
      hip().hipModuleLaunchCooperativeKernel == nullptr) {
    return fail(Status::kUnsupported,
                fmt::format("{}: a cooperative launch needs hipModuleLaunchCooperativeKernel, "
                            "which {} lacks",
                            name_of(operation), library().path()));
  }
  if (special.cooperative) {
    for (const format::Argument& argument : program_->kernel(recorded).arguments) {
      if (argument.kind == format::ArgumentKind::kHidden) continue;
      if (!range_fits(argument.offset_bytes, argument.size_bytes, launch.kernarg_bytes)) {
        return fail(Status::kCorrupt, fmt::format("{}: argument {} lies outside of its bytes",
                                                  name_of(operation), argument.name));
      }
      special.parameters.push_back(launch.kernarg + argument.offset_bytes);
    }
  }
  specials_.push_back(std::move(special));
  launch.special = static_cast<uint32_t>(specials_.size());
  return {};
}

std::string Instance::name_of(const Operation& operation) const {
  return fmt::format("launch {} kernel {}", operation.launch_index,
                     program_->kernel(*operation.launch).name);
}

Result<void> Instance::prepare_copy(uint32_t index, const Operation& operation) {
  const format::Copy& recorded = *operation.copy;
  const uint64_t packed = packed_bytes(recorded);
  operations_.push_back({.kind = OperationKind::kCopy,
                         .empty = packed == 0,
                         .index = static_cast<uint32_t>(copies_.size())});
  PreparedCopy& copy = copies_.emplace_back();
  copy.width = recorded.width_bytes;
  copy.height = recorded.height;
  copy.depth = recorded.depth;

  const auto resolve = [&](const format::CopyEnd& end, uint64_t& pitch,
                           uint64_t& slice) -> uint8_t* {
    pitch = end.allocation == 0 || end.pitch_bytes == 0 ? recorded.width_bytes : end.pitch_bytes;
    slice = end.allocation == 0 || end.slice_bytes == 0 ? pitch * recorded.height : end.slice_bytes;
    if (end.allocation != 0 && memory().array(end.allocation) != nullptr)
      return reinterpret_cast<uint8_t*>(PreparedCopy::kArrayBase + end.offset_bytes);
    if (end.allocation != 0) return memory().device_pointer(end.allocation) + end.offset_bytes;
    return stage(recorded, copy);
  };
  copy.destination = resolve(recorded.destination, copy.destination_pitch, copy.destination_slice);
  uint8_t* const source = resolve(recorded.source, copy.source_pitch, copy.source_slice);
  copy.source = source;
  const auto array_of = [&](const format::CopyEnd& end) -> const format::ArrayShape* {
    return end.allocation == 0 ? nullptr
                               : program_->allocations()[end.allocation - 1].begin->array.get();
  };
  copy.shape = array_of(recorded.destination);
  if (copy.shape != nullptr)
    copy.destination_array = memory().array(recorded.destination.allocation);
  copy.source_shape = array_of(recorded.source);
  if (copy.source_shape != nullptr) copy.source_array = memory().array(recorded.source.allocation);
  if (copy.shape == nullptr) copy.shape = copy.source_shape;
  copy.destination_offset = recorded.destination.offset_bytes;
  copy.source_offset = recorded.source.offset_bytes;
  operations_.back().streamed = copy.streamed != 0;
  const auto apart = [&](const format::CopyEnd& end, const format::ArrayShape* shape) {
    if (shape != nullptr || end.allocation == 0) return false;
    return (copy.height * copy.depth > 1 && end.pitch_bytes != 0 &&
            end.pitch_bytes != copy.width) ||
           (copy.depth > 1 && end.slice_bytes != 0 && end.slice_bytes != copy.width * copy.height);
  };
  if (copy.in_array() && library().avoids(HipQuirk::kArrayCopyIgnoresPitch) &&
      (apart(recorded.destination, array_of(recorded.destination)) ||
       apart(recorded.source, copy.source_shape))) {
    return fail(Status::kUnsupported,
                fmt::format("{}: this HIP ignores the pitch of memory that is copied from or to "
                            "an array; replay with HIP 5.7 or newer",
                            program_->describe(index)));
  }
  if (recorded.depth > 1 && packed != 0 &&
      (copy.destination_slice % copy.destination_pitch != 0 ||
       copy.source_slice % copy.source_pitch != 0)) {
    return fail(Status::kUnsupported,
                fmt::format("{}: slices that are not whole rows", program_->describe(index)));
  }
  if (!copy.linear() && copy.depth > 1 && hip().hipMemcpy3DAsync == nullptr) {
    return fail(Status::kUnsupported, fmt::format("{}: {} lacks hipMemcpy3DAsync",
                                                  program_->describe(index), library().path()));
  }

  if (recorded.source.allocation == 0) {
    copy.kind = hip::kHostToDevice;
    const std::string where = program_->describe(index) + ": host source";
    if (!recorded.host_source.stored) {
      return fail(Status::kIncomplete, fmt::format("{} is not in the trace, only its hash", where));
    }
    if (recorded.host_source.size_bytes != packed)
      return fail(Status::kCorrupt, fmt::format("{}: {} bytes, not {}", where,
                                                recorded.host_source.size_bytes, packed));
    if (copy.streamed == 0)
      GFXGRAPH_TRY(
          visit_relocated(program_->trace(), recorded.host_source, memory().addresses(), where,
                          [&](uint64_t offset, std::span<const std::byte> piece) -> Result<void> {
                            if (!range_fits(offset, piece.size(), packed))
                              return fail(Status::kCorrupt, "more bytes than it has");
                            std::memcpy(source + offset, piece.data(), piece.size());
                            return {};
                          }));
  } else if (recorded.destination.allocation == 0) {
    copy.kind = hip::kDeviceToHost;
    if (packed != 0)
      host_results_.push_back(HostResult{index, &recorded.host_result, copy.destination, packed});
  } else if (!host_kind(*program_, recorded.source.allocation) &&
             !host_kind(*program_, recorded.destination.allocation)) {
    copy.kind = hip::kDeviceToDevice;
  } else if (copy.in_array()) {
    const bool from_host = host_kind(*program_, recorded.source.allocation);
    copy.kind = from_host ? hip::kHostToDevice : hip::kDeviceToHost;
  } else if (!copy.linear() && library().avoids(HipQuirk::kPitchedCopyNeedsItsKind)) {
    const bool from_pinned = pinned(*program_, recorded.source.allocation);
    const bool to_pinned = pinned(*program_, recorded.destination.allocation);
    if (to_pinned && !host_kind(*program_, recorded.source.allocation)) {
      copy.kind = hip::kDeviceToHost;
    } else if (from_pinned && !host_kind(*program_, recorded.destination.allocation)) {
      copy.kind = hip::kHostToDevice;
    }
  }
  // A copy into the caller's kind of host memory uses the address known to the host.
  if (recorded.destination.allocation != 0 &&
      memory().host_pointer(recorded.destination.allocation) != nullptr) {
    copy.destination =
        memory().host_pointer(recorded.destination.allocation) + recorded.destination.offset_bytes;
  }
  if (recorded.source.allocation != 0 &&
      memory().host_pointer(recorded.source.allocation) != nullptr) {
    copy.source = memory().host_pointer(recorded.source.allocation) + recorded.source.offset_bytes;
  }
  return {};
}

namespace {

// Whether a fill of one row may end before the next multiple of 8 bytes, and does not begin at one.
bool has_small_rows(const PreparedMemset& memset) {
  constexpr uint64_t kWord = 8;
  const auto place = reinterpret_cast<uintptr_t>(memset.destination);
  if (memset.width * memset.element_bytes >= kWord) return false;
  const bool one = memset.height == 1 && memset.depth == 1;
  return place % kWord != 0 || (!one && (memset.pitch % kWord != 0 || memset.slice % kWord != 0));
}

}  // namespace

Result<void> Instance::prepare_memset(const Operation& operation) {
  const format::Memset& recorded = *operation.memset;
  PreparedMemset memset;
  memset.destination = memory().device_pointer(recorded.allocation) + recorded.offset_bytes;
  uint8_t* const host = memory().host_pointer(recorded.allocation);
  memset.copy_destination = host == nullptr ? memset.destination : host + recorded.offset_bytes;
  memset.element_bytes = recorded.element_bytes;
  memset.value = recorded.value;
  memset.width = recorded.width_elements;
  memset.height = recorded.height;
  memset.depth = recorded.depth;
  memset.pitch = recorded.pitch_bytes == 0 ? recorded.width_elements * recorded.element_bytes
                                           : recorded.pitch_bytes;
  memset.slice = recorded.slice_bytes == 0 ? memset.pitch * recorded.height : recorded.slice_bytes;
  // Rows and slices without gaps form one row: fewer calls, and no pitched node where those fail.
  if (memset.pitch == memset.width * memset.element_bytes) {
    if (memset.slice == memset.pitch * memset.height) {
      memset.height *= memset.depth;
      memset.depth = 1;
    }
    if (memset.depth == 1) {
      memset.width *= memset.height;
      memset.height = 1;
    }
  }
  const bool empty = memset.width == 0 || memset.height == 0 || memset.depth == 0;
  if (!empty && library().avoids(HipQuirk::kSmallFillOverruns) && has_small_rows(memset)) {
    GFXGRAPH_ASSIGN_OR_RETURN(
        const PatternBuffer* const pattern,
        small_rows_.get(memory().source(), memset.element_bytes, memset.value));
    memset.small_row = pattern->pointer;
  }
  operations_.push_back({.kind = OperationKind::kMemset,
                         .empty = empty,
                         .index = static_cast<uint32_t>(memsets_.size())});
  memsets_.push_back(memset);
  return {};
}

Result<void> Instance::prepare_host_writes() {
  for (size_t i = 0; i < program_->host_writes().size(); ++i) {
    const format::HostWrite& recorded = *program_->host_writes()[i];
    const std::string where = fmt::format("host write {} to allocation {}", i, recorded.allocation);
    if (!recorded.content.stored)
      return fail(Status::kIncomplete, fmt::format("{} is not in the trace, only its hash", where));
    PreparedHostWrite write;
    write.destination = memory().host_pointer(recorded.allocation) + recorded.offset_bytes;
    write.in_doubt = recorded.in_doubt;
    GFXGRAPH_ASSIGN_OR_RETURN(write.bytes, program_->trace().content(recorded.content));
    if (write.bytes.size() != recorded.content.size_bytes)
      return fail(Status::kCorrupt, where + ": wrong size");
    GFXGRAPH_TRY(memory().addresses().apply(write.bytes, recorded.content.relocations, where));
    host_writes_.push_back(std::move(write));
  }
  return {};
}

hip::Error Instance::submit(uint32_t operation, hip::Stream stream) noexcept {
  const PreparedOperation& prepared = operations_[operation];
  if (prepared.turns) [[unlikely]] {
    const hip::Error code = submit_turnovers(operation, stream);
    if (code != hip::kSuccess) return code;
  }
  if (prepared.kind == OperationKind::kLaunch) [[likely]]
    return submit_launch(launches_[prepared.index], stream);
  if (prepared.empty) return hip::kSuccess;
  if (prepared.streamed) [[unlikely]]
    return submit_streamed(operation, stream);
  if (prepared.kind == OperationKind::kCopy) return submit_copy(copies_[prepared.index], stream);
  return submit_memset(memsets_[prepared.index], stream);
}

hip::Error Instance::submit_launch(const PreparedLaunch& launch, hip::Stream stream) noexcept {
  if (launch.special != 0) [[unlikely]]
    return submit_special(launch, stream);
  LaunchArguments arguments(launch);
  const auto lock = session_->launch_lock().launching();
  return hip().hipModuleLaunchKernel(function(launch), launch.grid.x, launch.grid.y, launch.grid.z,
                                     launch.block.x, launch.block.y, launch.block.z,
                                     launch.lds_bytes, stream, nullptr, arguments.extra());
}

hip::Error Instance::submit_special(const PreparedLaunch& launch, hip::Stream stream) noexcept {
  SpecialLaunch& special = specials_[launch.special - 1];
  const auto lock = session_->launch_lock().launching();
  if (!special.cooperative) {
    LaunchArguments arguments(launch);
    return hip().hipExtModuleLaunchKernel(
        function(launch), special.work_items.x, special.work_items.y, special.work_items.z,
        launch.block.x, launch.block.y, launch.block.z, launch.lds_bytes, stream, nullptr,
        arguments.extra(), nullptr, nullptr, 0);
  }
  if (special.stub != nullptr) {
    return hip().hipLaunchCooperativeKernel(special.stub, launch.grid, launch.block,
                                            special.parameters.data(), launch.lds_bytes, stream);
  }
  return hip().hipModuleLaunchCooperativeKernel(
      function(launch), launch.grid.x, launch.grid.y, launch.grid.z, launch.block.x, launch.block.y,
      launch.block.z, launch.lds_bytes, stream, special.parameters.data());
}

hip::Error Instance::submit_copy(const PreparedCopy& copy, hip::Stream stream) noexcept {
  if (copy.linear()) {
    return hip().hipMemcpyAsync(copy.destination, copy.source, copy.width, copy.kind, stream);
  }
  if (copy.depth == 1 && !copy.in_array()) {
    return hip().hipMemcpy2DAsync(copy.destination, copy.destination_pitch, copy.source,
                                  copy.source_pitch, copy.width, copy.height, copy.kind, stream);
  }
  const hip::Memcpy3dParams parameters = copy.parameters(hip());
  return hip().hipMemcpy3DAsync(&parameters, stream);
}

hip::Error Instance::submit_memset(const PreparedMemset& memset, hip::Stream stream) noexcept {
  const auto value = static_cast<int>(memset.value);
  for (uint64_t slice = 0; slice < memset.depth; ++slice) {
    uint8_t* const plane = memset.destination + slice * memset.slice;
    if (memset.element_bytes == 1 && memset.height > 1) {
      const hip::Error code =
          hip().hipMemset2DAsync(plane, memset.pitch, value, memset.width, memset.height, stream);
      if (code != hip::kSuccess) return code;
      continue;
    }
    for (uint64_t row = 0; row < memset.height; ++row) {
      uint8_t* const line = plane + row * memset.pitch;
      hip::Error code = hip::kSuccess;
      if (memset.small_row != nullptr) {
        code = hip().hipMemcpyAsync(memset.copy_destination + (line - memset.destination),
                                    memset.small_row, memset.width * memset.element_bytes,
                                    hip::kCopyDefault, stream);
        if (code != hip::kSuccess) return code;
        continue;
      }
      if (memset.element_bytes == 1) code = hip().hipMemsetAsync(line, value, memset.width, stream);
      if (memset.element_bytes == 2) {
        code = hip().hipMemsetD16Async(line, static_cast<unsigned short>(memset.value),
                                       memset.width, stream);
      }
      if (memset.element_bytes == 4)
        code = hip().hipMemsetD32Async(line, value, memset.width, stream);
      if (code != hip::kSuccess) return code;
    }
  }
  return hip::kSuccess;
}

void Instance::apply_host_write(uint32_t index) noexcept {
  PreparedHostWrite& write = host_writes_[index];
  if (index == 0) {
    doubtful_ = {};
    ++runs_;
  }
  if (write.bytes.empty()) return;
  if (write.in_doubt) {
    const bool stands = std::memcmp(write.destination, write.bytes.data(), write.bytes.size()) == 0;
    // In later runs it may stand there since the one before.
    if (stands && runs_ == 1) write.made = true;
    // Effects of a kernel with other arguments are not undone.
    if (stands || write.made) {
      ++doubtful_.made;
      return;
    }
    if (doubtful_.given++ == 0) doubtful_.first_given = index;
  }
  std::memcpy(write.destination, write.bytes.data(), write.bytes.size());
}

Result<void> Instance::restore() {
  runs_ = 0;
  const std::vector<Call>& calls = session_->program()->calls();
  const bool begins_later = std::ranges::any_of(calls, [&](const Call& call) {
    return call.acts() && call.sequence < program_->first_event();
  });
  if (!begins_later) return session_->restore(program_->end_event());
  // The work before needs what the recorded program had in the caller's buffers, too.
  GFXGRAPH_TRY(synchronize());
  GFXGRAPH_ASSIGN_OR_RETURN(KeptContents kept, KeptContents::take(memory()));
  GFXGRAPH_TRY(session_->restore(program_->end_event(), true));
  GFXGRAPH_TRY(run_before());
  return kept.put_back();
}

Result<void> Instance::run_before() {
  if (!before_) {
    auto before = std::make_unique<Before>();
    GFXGRAPH_ASSIGN_OR_RETURN(before->instance,
                              load(session_, session_->program()->cut(0, program_->first_event())));
    GFXGRAPH_ASSIGN_OR_RETURN(before->executor, make_eager_executor(*before->instance, {}));
    before_ = std::move(before);
  }
  before_->instance->follow_moves(before_->executor.get());
  Completion completion(*before_->executor, nullptr);
  GFXGRAPH_TRY(before_->executor->run(nullptr));
  GFXGRAPH_TRY(completion.wait());
  return synchronize();
}

Result<bool> Instance::set_kernarg(uint32_t launch_index, uint64_t offset,
                                   std::span<const std::byte> bytes) {
  const uint32_t first = program_->first_launch();
  if (launch_index < first || launch_index - first >= launches_.size()) {
    return fail(Status::kNotFound, fmt::format("launch {} does not exist: there are {}, from {}",
                                               launch_index, launches_.size(), first));
  }
  PreparedLaunch& launch = launches_[launch_index - first];
  if (!range_fits(offset, bytes.size(), launch.kernarg_bytes)) {
    return fail(Status::kInvalidArgument,
                fmt::format("bytes {}+{} lie outside the {} argument bytes of launch {}", offset,
                            bytes.size(), launch.kernarg_bytes, launch_index));
  }
  if (bytes.empty() || std::memcmp(launch.kernarg + offset, bytes.data(), bytes.size()) == 0)
    return false;
  std::memcpy(launch.kernarg + offset, bytes.data(), bytes.size());
  return true;
}

}  // namespace gfxgraph::replayer
