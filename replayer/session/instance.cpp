#include "replayer/session/instance.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "replayer/memory/relocated_content.h"
#include "replayer/session/executor.h"

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

// Executes the part of the trace before the selected one.
struct Before {
  std::unique_ptr<Instance> instance;
  std::unique_ptr<Executor> executor;
};

Instance::Instance(std::shared_ptr<Session> session, std::shared_ptr<const Program> program)
    : session_(std::move(session)),
      program_(std::move(program)),
      moves_followed_(session_->moves().size()),
      staged_(*program_, session_->memory()) {}

Instance::~Instance() = default;

[[gnu::cold]] Result<std::unique_ptr<Instance>> Instance::load(
    std::shared_ptr<Session> session, std::shared_ptr<const Program> program) {
  std::unique_ptr<Instance> instance(new Instance(std::move(session), std::move(program)));
  GFXGRAPH_TRY(instance->prepare());
  return instance;
}

// In a single pass, which several threads can share.
[[gnu::cold]] Result<void> Instance::check_contents() const {
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

[[gnu::cold]] Result<void> Instance::prepare() {
  GFXGRAPH_TRY(check_contents());
  uint64_t arena_bytes = 0;
  size_t arguments = 1;  // the place is there without any
  for (const Operation& operation : program_->operations()) {
    if (operation.kind == OperationKind::kLaunch) {
      arena_bytes +=
          aligned(std::max<uint64_t>(operation.launch->kernarg_bytes, 1), kKernargAlignment);
      if (operation.launch->cooperative ||
          session_->modules().function(operation.launch->kernel) == nullptr)
        arguments += program_->kernel(*operation.launch).arguments.size();
    }
  }
  prepared_.arena.resize(arena_bytes);
  prepared_.parameters.reserve(arguments);
  GFXGRAPH_TRY(staged_.allocate(session_->options().staging_bytes));
  prepared_.all.reserve(program_->operations().size());
  prepared_.launches.reserve(program_->launch_count());
  if (session_->in_place()) prepared_.specials.reserve(program_->launch_count());  // by stubs
  uint64_t arena_offset = 0;
  for (uint32_t i = 0; i < program_->operations().size(); ++i) {
    const Operation& operation = program_->operations()[i];
    GFXGRAPH_TRY(session_->deadline().check("preparing the operations"));
    switch (operation.kind) {
      case OperationKind::kLaunch: GFXGRAPH_TRY(prepare_launch(operation, arena_offset)); break;
      case OperationKind::kCopy: GFXGRAPH_TRY(prepare_copy(i, operation)); break;
      case OperationKind::kMemset: GFXGRAPH_TRY(prepare_memset(operation)); break;
    }
  }
  GFXGRAPH_TRY(prepare_turnovers());
  return host_writes_.prepare(*program_, memory());
}

[[gnu::cold]] Result<void> Instance::prepare_launch(const Operation& operation,
                                                    uint64_t& arena_offset) {
  const LaunchShape& recorded = *operation.launch;
  prepared_.all.push_back({.kind = OperationKind::kLaunch,
                           .empty = false,
                           .index = static_cast<uint32_t>(prepared_.launches.size())});
  PreparedLaunch& launch = prepared_.launches.emplace_back();
  launch.kernel = recorded.kernel;
  launch.grid = {recorded.grid[0], recorded.grid[1], recorded.grid[2]};
  launch.block = {recorded.block[0], recorded.block[1], recorded.block[2]};
  launch.lds_bytes = recorded.dynamic_lds_bytes;
  const auto index = static_cast<uint32_t>(prepared_.all.size() - 1);
  GFXGRAPH_TRY(check_sizes(*program_, index, launch.grid, launch.block));

  launch.kernarg = prepared_.arena.data() + arena_offset;
  launch.kernarg_bytes = recorded.kernarg_bytes;
  arena_offset += aligned(std::max<uint64_t>(recorded.kernarg_bytes, 1), kKernargAlignment);
  std::ranges::copy(operation.kernarg(), launch.kernarg);
  if (!recorded.relocations.empty()) {
    const Result<void> moved = memory().addresses().apply(
        std::as_writable_bytes(std::span(launch.kernarg, launch.kernarg_bytes)),
        recorded.relocations, "arguments");
    if (!moved) return with_context(moved.error(), name_of(operation));
  }
  if (recorded.cooperative || recorded.grid_remainder != std::array<uint32_t, 3>{} ||
      function(launch) == nullptr)
    return prepare_special(operation, launch);
  return {};
}

[[gnu::cold]] Result<void> Instance::prepare_special(const Operation& operation,
                                                     PreparedLaunch& launch) {
  const LaunchShape& recorded = *operation.launch;
  SpecialLaunch special;
  const bool by_stub = function(launch) == nullptr ||
                       (recorded.cooperative && hip().hipModuleLaunchCooperativeKernel == nullptr);
  if (by_stub) special.stub = session_->modules().stub(recorded.kernel);
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
  if (special.stub != nullptr) GFXGRAPH_TRY(check_stub(operation, special));
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
  if (special.cooperative || special.stub != nullptr) {
    const std::vector<format::Argument>& arguments = program_->kernel(recorded).arguments;
    std::vector<void*>& all = prepared_.parameters;  // which has room
    special.parameters = all.data() + all.size();
    for (const format::Argument& argument : arguments) {
      if (argument.kind == format::ArgumentKind::kHidden) continue;
      if (!range_fits(argument.offset_bytes, argument.size_bytes, launch.kernarg_bytes)) {
        return fail(Status::kCorrupt, fmt::format("{}: argument {} lies outside of its bytes",
                                                  name_of(operation), argument.name));
      }
      all.push_back(launch.kernarg + argument.offset_bytes);
    }
  }
  prepared_.specials.push_back(special);
  launch.special = static_cast<uint32_t>(prepared_.specials.size());
  return {};
}

// What HIP does with a kernel of which only the stub is known.
[[gnu::cold]] Result<void> Instance::check_stub(const Operation& operation,
                                                const SpecialLaunch& special) const {
  if (special.partial) {
    return fail(Status::kUnsupported,
                fmt::format("{}: partial workgroups need the kernel's function, and {} tells only "
                            "its stub; create a session apart (GFXGRAPH_PLACE_APART)",
                            name_of(operation), library().path()));
  }
  const bool known = special.cooperative ? hip().hipLaunchCooperativeKernel != nullptr
                                         : hip().hipLaunchKernel != nullptr;
  if (known) return {};
  return fail(Status::kUnsupported,
              fmt::format("{}: {} lacks {}", name_of(operation), library().path(),
                          special.cooperative ? "hipLaunchCooperativeKernel" : "hipLaunchKernel"));
}

[[gnu::cold]] std::string Instance::name_of(const Operation& operation) const {
  return fmt::format("launch {} kernel {}", operation.launch_index,
                     program_->kernel(*operation.launch).name);
}

[[gnu::cold]] Result<void> Instance::prepare_copy(uint32_t index, const Operation& operation) {
  const format::Copy& recorded = *operation.copy;
  const uint64_t packed = packed_bytes(recorded);
  prepared_.all.push_back({.kind = OperationKind::kCopy,
                           .empty = packed == 0,
                           .index = static_cast<uint32_t>(prepared_.copies.size())});
  PreparedCopy& copy = prepared_.copies.emplace_back();
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
    return staged_.add(recorded, copy);
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
  prepared_.all.back().streamed = copy.streamed != 0;
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
      prepared_.host_results.push_back(
          HostResult{index, &recorded.host_result, copy.destination, packed});
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

[[gnu::cold]] Result<void> Instance::prepare_memset(const Operation& operation) {
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
  prepared_.all.push_back({.kind = OperationKind::kMemset,
                           .empty = empty,
                           .index = static_cast<uint32_t>(prepared_.memsets.size())});
  prepared_.memsets.push_back(memset);
  return {};
}

hip::Error Instance::submit(uint32_t operation, hip::Stream stream) noexcept {
  const PreparedOperation& prepared = prepared_.all[operation];
  if (prepared.turns) [[unlikely]] {
    const hip::Error code = submit_turnovers(operation, stream);
    if (code != hip::kSuccess) return code;
  }
  if (prepared.kind == OperationKind::kLaunch) [[likely]]
    return submit_launch(prepared_.launches[prepared.index], stream);
  if (prepared.empty) return hip::kSuccess;
  if (prepared.streamed) [[unlikely]]
    return submit_streamed(operation, stream);
  if (prepared.kind == OperationKind::kCopy)
    return prepared_.copies[prepared.index].submit(hip(), stream);
  return prepared_.memsets[prepared.index].submit(hip(), stream);
}

hip::Error Instance::submit_streamed(uint32_t operation, hip::Stream stream) noexcept {
  return staged_.submit(*program_->operations()[operation].copy,
                        prepared_.copies[prepared_.all[operation].index], stream);
}

tl::unexpected<Error> Instance::failure(hip::Error code, uint32_t operation) {
  const std::string where = program_->describe(operation);
  if (std::optional<Error> error = staged_.take_error())
    return with_context(*std::move(error), where);
  return tl::unexpected<Error>(library().check(code, where).error());
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
  SpecialLaunch& special = prepared_.specials[launch.special - 1];
  const auto lock = session_->launch_lock().launching();
  if (special.in_graph()) {
    return hip().hipLaunchKernel(special.stub, launch.grid, launch.block, special.parameters,
                                 launch.lds_bytes, stream);
  }
  if (!special.cooperative) {
    LaunchArguments arguments(launch);
    return hip().hipExtModuleLaunchKernel(
        function(launch), special.work_items.x, special.work_items.y, special.work_items.z,
        launch.block.x, launch.block.y, launch.block.z, launch.lds_bytes, stream, nullptr,
        arguments.extra(), nullptr, nullptr, 0);
  }
  if (special.stub != nullptr) {
    return hip().hipLaunchCooperativeKernel(special.stub, launch.grid, launch.block,
                                            special.parameters, launch.lds_bytes, stream);
  }
  return hip().hipModuleLaunchCooperativeKernel(
      function(launch), launch.grid.x, launch.grid.y, launch.grid.z, launch.block.x, launch.block.y,
      launch.block.z, launch.lds_bytes, stream, special.parameters);
}

Result<void> Instance::host_acts(const HostPart& part) {
  for (uint32_t i = part.first_border; i < part.first_border + part.borders; ++i) {
    const Border& border = program_->borders()[i];
    if (!border_call_ || border_call_(border, i) == 0) continue;
    return fail(
        Status::kInvalidArgument,
        fmt::format("the caller ended the run at border {} ({}), before operation {} of {}", i,
                    border.name, border.operations_before, program_->operations().size()));
  }
  host_writes_.apply(part.first_write, part.writes);
  return {};
}

[[gnu::cold]] Result<void> Instance::restore() {
  host_writes_.restored();
  const std::vector<Call>& calls = session_->program()->calls();
  const bool begins_later = std::ranges::any_of(calls, [&](const Call& call) {
    return call.acts() && call.sequence < program_->first_event();
  });
  if (!begins_later) return session_->restore(program_->end_event());
  // The work before needs what the recorded program had in the caller's buffers, too.
  GFXGRAPH_TRY(session_->synchronize());
  GFXGRAPH_ASSIGN_OR_RETURN(KeptContents kept, KeptContents::take(memory()));
  GFXGRAPH_TRY(session_->restore(program_->end_event(), true));
  GFXGRAPH_TRY(run_before());
  return kept.put_back();
}

[[gnu::cold]] Result<void> Instance::run_before() {
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
  return session_->synchronize();
}

}  // namespace gfxgraph::replayer
