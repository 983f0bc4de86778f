// The C ABI of traces: opening them and querying their contents.
#include "replayer/capi/c_api_internal.h"

namespace gfxgraph::replayer {

Result<std::span<const ranges::RangeSummary>> OpenTrace::ranges() {
  const std::lock_guard lock(mutex_);
  if (!ranges_known_) {
    GFXGRAPH_ASSIGN_OR_RETURN(ranges_, ranges_of(*trace_));
    ranges_known_ = true;
  }
  return std::span<const ranges::RangeSummary>(ranges_);
}

Result<gfxgraph_range_t> OpenTrace::find(std::string_view name) {
  GFXGRAPH_ASSIGN_OR_RETURN(const std::span<const ranges::RangeSummary> marked, ranges());
  if (const Result<size_t> found = find_range(marked, name); found)
    return static_cast<gfxgraph_range_t>(*found);
  if (name == "all") return GFXGRAPH_RANGE_ALL;
  GFXGRAPH_ASSIGN_OR_RETURN(ranges::RangeSummary period, find_range_or_period(*trace_, name));
  const std::lock_guard lock(mutex_);
  const auto known =
      std::ranges::find(periods_, period.first_event, &ranges::RangeSummary::first_event);
  const size_t number = marked.size() + static_cast<size_t>(known - periods_.begin());
  if (known == periods_.end()) periods_.push_back(std::move(period));
  return static_cast<gfxgraph_range_t>(number);
}

Result<const ranges::RangeSummary*> OpenTrace::summary(gfxgraph_range_t range) {
  GFXGRAPH_ASSIGN_OR_RETURN(const std::span<const ranges::RangeSummary> marked, ranges());
  if (range < marked.size()) return &marked[range];
  const std::lock_guard lock(mutex_);
  if (range - marked.size() < periods_.size()) return &periods_[range - marked.size()];
  return fail(Status::kNotFound,
              fmt::format("range {} does not exist: the trace has {}", range, marked.size()));
}

Result<std::shared_ptr<const Range>> OpenTrace::range(gfxgraph_range_t range) {
  const ranges::RangeSummary* found = nullptr;
  if (range != GFXGRAPH_RANGE_ALL) {
    GFXGRAPH_ASSIGN_OR_RETURN(found, summary(range));
  }
  const std::lock_guard lock(mutex_);
  std::shared_ptr<const Range>& known = open_[range];
  if (!known) {
    GFXGRAPH_ASSIGN_OR_RETURN(known, open_range(program_, found));
  }
  return known;
}

Result<uint32_t> OpenTrace::name_parameter(gfxgraph_range_t range, std::string_view name,
                                           int64_t step, std::span<const ArgumentPlace> places) {
  GFXGRAPH_TRY(this->range(range));
  const std::lock_guard lock(mutex_);
  std::shared_ptr<const Range>& known = open_[range];
  GFXGRAPH_ASSIGN_OR_RETURN(std::shared_ptr<const Range> named,
                            replayer::name_parameter(*known, name, step, places));
  replaced_.push_back(known);
  known = std::move(named);
  return static_cast<uint32_t>(known->parameters.size() - 1);
}

namespace {

// Releases what the recorder in this process handed over; also if there is no memory for it.
template <typename Handed>
std::shared_ptr<const Handed> own(const Handed& handed) {
  struct Release {
    void operator()(const Handed* owned) const noexcept {
      owned->release(owned->self);
      delete owned;
    }
  };
  std::unique_ptr<const Handed, Release> guard;
  try {
    guard.reset(new Handed(handed));
  } catch (const std::bad_alloc&) {
    handed.release(handed.self);
    throw;
  }
  return guard;
}

Result<gfxgraph_trace_t> open_in_place(std::unique_ptr<gfxgraph_trace_s> handle,
                                       std::shared_ptr<const format::Trace> trace,
                                       std::shared_ptr<const live::Objects> objects) {
  if (objects->version != live::kObjectsVersion) {
    return fail(Status::kUnsupported,
                fmt::format("the recorder in this process hands over objects of version {}, and "
                            "libgfxgraph {} takes version {}",
                            objects->version, gfxgraph_version(), live::kObjectsVersion));
  }
  GFXGRAPH_ASSIGN_OR_RETURN(std::shared_ptr<const Program> program,
                            Program::build(trace, kDefaultMaxOperations, /*borders=*/true));
  handle->open =
      std::make_shared<OpenTrace>(std::move(trace), std::move(program), false, std::move(objects));
  return handle.release();
}

}  // namespace

Result<gfxgraph_trace_t> open_captured_trace(const File& file, const live::Objects& objects) {
  std::shared_ptr<const live::Objects> owned = own(objects);
  auto handle = std::make_unique<gfxgraph_trace_s>();
  GFXGRAPH_ASSIGN_OR_RETURN(handle->file, file.duplicate());
  format::ReadOptions read;
  read.lazy = true;
  GFXGRAPH_ASSIGN_OR_RETURN(std::shared_ptr<const format::Trace> trace,
                            format::Trace::open_descriptor(handle->file.fd(), read));
  return open_in_place(std::move(handle), std::move(trace), std::move(owned));
}

Result<gfxgraph_trace_t> open_captured_trace(const live::Held& held, const live::Objects& objects) {
  // Each releases what it has if the other one fails.
  const auto take = [&] {
    try {
      return own(objects);
    } catch (const std::bad_alloc&) {
      held.release(held.self);
      throw;
    }
  };
  std::shared_ptr<const live::Objects> owned = take();
  auto handle = std::make_unique<gfxgraph_trace_s>();
  handle->held = own(held);
  const std::shared_ptr<const format::HeldTrace> kept(
      handle->held, static_cast<const format::HeldTrace*>(held.trace));
  GFXGRAPH_ASSIGN_OR_RETURN(std::shared_ptr<const format::Trace> trace, format::Trace::of(kept));
  return open_in_place(std::move(handle), std::move(trace), std::move(owned));
}

}  // namespace gfxgraph::replayer

using namespace gfxgraph;            // NOLINT: this file is the border between the two worlds
using namespace gfxgraph::replayer;  // NOLINT

namespace {

// `open` takes format::ReadOptions.
template <typename Open>
gfxgraph_status_t open_trace(const gfxgraph_trace_options_t* options, gfxgraph_trace_t* trace,
                             Open&& open) noexcept {
  return guarded([&]() -> Result<void> {
    GFXGRAPH_TRY(require(trace != nullptr, "trace is null"));
    GFXGRAPH_ASSIGN_OR_RETURN(
        const gfxgraph_trace_options_t chosen,
        read_in(options, gfxgraph_trace_options_default(), "gfxgraph_trace_options_t"));
    GFXGRAPH_TRY(require_flags(
        "gfxgraph_trace_options_t",
        {{"allow_torn", chosen.allow_torn}, {"allow_incomplete", chosen.allow_incomplete}}));
    GFXGRAPH_TRY(require(chosen.pointers <= GFXGRAPH_POINTERS_MATCHED,
                         "pointers of gfxgraph_trace_options_t is not a GFXGRAPH_POINTERS_..."));
    format::ReadOptions read;
    read.allow_torn = chosen.allow_torn != 0;
    read.lazy = true;
    read.pointers = chosen.pointers == GFXGRAPH_POINTERS_TYPED     ? format::PointerUse::kTyped
                    : chosen.pointers == GFXGRAPH_POINTERS_MATCHED ? format::PointerUse::kRecorded
                                                                   : format::PointerUse::kProven;
    GFXGRAPH_ASSIGN_OR_RETURN(std::shared_ptr<const format::Trace> file, open(read));
    if (chosen.pointers == GFXGRAPH_POINTERS_PROVEN && !file->provenance().made)
      return fail(Status::kInvalidArgument,
                  "the trace does not say which words are pointers; `gfxgraph provenance TRACE "
                  "--write` finds out");
    const uint64_t most =
        chosen.max_operations == 0 ? kDefaultMaxOperations : chosen.max_operations;
    GFXGRAPH_ASSIGN_OR_RETURN(std::shared_ptr<const Program> program, Program::build(file, most));
    auto handle = std::make_unique<gfxgraph_trace_s>();
    handle->open = std::make_shared<OpenTrace>(std::move(file), std::move(program),
                                               chosen.allow_incomplete != 0);
    *trace = handle.release();
    return {};
  });
}

Result<const Operation*> find_launch(gfxgraph_trace_t trace, uint32_t launch) {
  GFXGRAPH_TRY(require(trace != nullptr, "trace is null"));
  if (launch >= trace->open->program()->launch_count()) {
    return fail(Status::kNotFound, fmt::format("launch {} does not exist: the trace has {}", launch,
                                               trace->open->program()->launch_count()));
  }
  return &trace->open->program()->operations()[trace->open->program()->launch_operation(launch)];
}

Result<const format::Kernel*> find_kernel(gfxgraph_trace_t trace, uint32_t kernel) {
  GFXGRAPH_TRY(require(trace != nullptr, "trace is null"));
  if (kernel >= trace->open->trace().kernels().size()) {
    return fail(Status::kNotFound, fmt::format("kernel {} does not exist: the trace has {}", kernel,
                                               trace->open->trace().kernels().size()));
  }
  return &trace->open->trace().kernels()[kernel];
}

Result<std::shared_ptr<const Range>> open_range(gfxgraph_trace_t trace, gfxgraph_range_t range) {
  GFXGRAPH_TRY(require(trace != nullptr, "trace is null"));
  return trace->open->range(range);
}

void count_work(const Program& program, gfxgraph_range_info_t& info) {
  info.launches = program.launch_count();
  for (const Operation& operation : program.operations()) {
    if (operation.kind == OperationKind::kMemset) ++info.memsets;
    if (operation.kind != OperationKind::kCopy) continue;
    ++info.copies;
    info.copy_bytes += operation.copy->width_bytes * operation.copy->height * operation.copy->depth;
  }
  info.host_writes = program.host_writes().size();
}

// How many of something a range has.
template <typename Count>
gfxgraph_status_t count_of(gfxgraph_trace_t trace, gfxgraph_range_t range, uint32_t* count,
                           Count&& of) noexcept {
  return guarded([&]() -> Result<void> {
    GFXGRAPH_TRY(require(count != nullptr, "count is null"));
    GFXGRAPH_ASSIGN_OR_RETURN(const std::shared_ptr<const Range> open, open_range(trace, range));
    *count = static_cast<uint32_t>(of(*open).size());
    return {};
  });
}

// The index of the element with this name in its list.
template <typename Find>
gfxgraph_status_t find_in(gfxgraph_trace_t trace, gfxgraph_range_t range, const char* name,
                          uint32_t* found, Find&& find) noexcept {
  return guarded([&]() -> Result<void> {
    GFXGRAPH_TRY(require(name != nullptr && found != nullptr, "name or result is null"));
    GFXGRAPH_ASSIGN_OR_RETURN(const std::shared_ptr<const Range> open, open_range(trace, range));
    GFXGRAPH_ASSIGN_OR_RETURN(*found, find(*open));
    return {};
  });
}

gfxgraph_status_t describe_transfer(gfxgraph_trace_t trace, gfxgraph_range_t range, uint32_t index,
                                    std::vector<Transfer> Range::* list, const char* what,
                                    gfxgraph_transfer_t* description) noexcept {
  return guarded([&]() -> Result<void> {
    GFXGRAPH_ASSIGN_OR_RETURN(const std::shared_ptr<const Range> open, open_range(trace, range));
    const std::vector<Transfer>& all = (*open).*list;
    if (index >= all.size()) {
      return fail(Status::kNotFound, fmt::format("{} {} does not exist: range {} has {}", what,
                                                 index, open->name, all.size()));
    }
    const Transfer& transfer = all[index];
    gfxgraph_transfer_t result{};
    result.kind = static_cast<uint32_t>(transfer.kind);
    result.name = transfer.name.c_str();
    result.size_bytes = transfer.size_bytes;
    result.buffer = transfer.buffer;
    result.offset_bytes = transfer.offset_bytes;
    return write_out(result, description);
  });
}

}  // namespace

extern "C" {

gfxgraph_trace_options_t gfxgraph_trace_options_default(void) noexcept {
  return gfxgraph_trace_options_t{sizeof(gfxgraph_trace_options_t), 0, 0, 0, 0};
}

gfxgraph_status_t gfxgraph_trace_open(const char* path, const gfxgraph_trace_options_t* options,
                                      gfxgraph_trace_t* trace) noexcept {
  return open_trace(
      options, trace,
      [&](const format::ReadOptions& read) -> Result<std::shared_ptr<const format::Trace>> {
        GFXGRAPH_TRY(require(path != nullptr, "path is null"));
        return format::Trace::open(path, read);
      });
}

gfxgraph_status_t gfxgraph_trace_open_descriptor(int descriptor,
                                                 const gfxgraph_trace_options_t* options,
                                                 gfxgraph_trace_t* trace) noexcept {
  return open_trace(options, trace, [&](const format::ReadOptions& read) {
    return format::Trace::open_descriptor(descriptor, read);
  });
}

gfxgraph_status_t gfxgraph_trace_open_memory(const void* bytes, size_t size_bytes,
                                             const gfxgraph_trace_options_t* options,
                                             gfxgraph_trace_t* trace) noexcept {
  return open_trace(
      options, trace,
      [&](const format::ReadOptions& read) -> Result<std::shared_ptr<const format::Trace>> {
        GFXGRAPH_TRY(require(bytes != nullptr, "bytes is null"));
        return format::Trace::view({static_cast<const std::byte*>(bytes), size_bytes}, read);
      });
}

void gfxgraph_trace_destroy(gfxgraph_trace_t trace) noexcept { delete trace; }

gfxgraph_status_t gfxgraph_trace_environment(gfxgraph_trace_t trace,
                                             gfxgraph_environment_t* environment) noexcept {
  return guarded([&]() -> Result<void> {
    GFXGRAPH_TRY(require(trace != nullptr, "trace is null"));
    const format::Environment& recorded = trace->open->trace().environment();
    gfxgraph_environment_t result{};
    result.emulated = recorded.emulated ? 1 : 0;
    result.gfxgraph_version = recorded.gfxgraph_version.c_str();
    result.gpu_arch = recorded.gpu_arch.c_str();
    result.device_name = recorded.device_name.c_str();
    result.hip_runtime_version = recorded.hip_runtime_version;
    result.sealed = trace->open->trace().sealed() ? 1 : 0;
    result.complete = trace->open->trace().sealed() && trace->open->trace().complete() ? 1 : 0;
    result.launch_count = trace->open->program()->launch_count();
    result.kernel_count = static_cast<uint32_t>(trace->open->trace().kernels().size());
    result.buffer_count = static_cast<uint32_t>(trace->open->program()->allocations().size());
    GFXGRAPH_ASSIGN_OR_RETURN(const std::span<const ranges::RangeSummary> all,
                              trace->open->ranges());
    result.range_count = static_cast<uint32_t>(all.size());
    return write_out(result, environment);
  });
}

gfxgraph_status_t gfxgraph_trace_kernel(gfxgraph_trace_t trace, uint32_t kernel,
                                        gfxgraph_kernel_t* description) noexcept {
  return guarded([&]() -> Result<void> {
    GFXGRAPH_ASSIGN_OR_RETURN(const format::Kernel* const found, find_kernel(trace, kernel));
    gfxgraph_kernel_t result{};
    result.argument_count = static_cast<uint32_t>(found->arguments.size());
    result.name = found->name.c_str();
    result.explicit_size_bytes = found->explicit_size_bytes;
    result.group_segment_bytes = found->group_segment_bytes;
    result.private_segment_bytes = found->private_segment_bytes;
    return write_out(result, description);
  });
}

gfxgraph_status_t gfxgraph_trace_argument(gfxgraph_trace_t trace, uint32_t kernel,
                                          uint32_t argument,
                                          gfxgraph_argument_t* description) noexcept {
  return guarded([&]() -> Result<void> {
    GFXGRAPH_ASSIGN_OR_RETURN(const format::Kernel* const found, find_kernel(trace, kernel));
    if (argument >= found->arguments.size()) {
      return fail(Status::kNotFound,
                  fmt::format("kernel {} has no argument {}", found->name, argument));
    }
    const format::Argument& recorded = found->arguments[argument];
    gfxgraph_argument_t result{};
    result.offset_bytes = recorded.offset_bytes;
    result.size_bytes = recorded.size_bytes;
    result.is_pointer = recorded.kind == format::ArgumentKind::kGlobalBuffer ? 1 : 0;
    result.is_hidden = recorded.kind == format::ArgumentKind::kHidden ? 1 : 0;
    result.name = recorded.name.c_str();
    return write_out(result, description);
  });
}

gfxgraph_status_t gfxgraph_trace_launch(gfxgraph_trace_t trace, uint32_t launch,
                                        gfxgraph_launch_t* description) noexcept {
  return guarded([&]() -> Result<void> {
    GFXGRAPH_ASSIGN_OR_RETURN(const Operation* const operation, find_launch(trace, launch));
    const LaunchShape& recorded = *operation->launch;
    gfxgraph_launch_t result{};
    result.kernel = recorded.kernel - 1;
    std::copy(recorded.grid.begin(), recorded.grid.end(), result.grid);
    std::copy(recorded.block.begin(), recorded.block.end(), result.block);
    result.dynamic_lds_bytes = recorded.dynamic_lds_bytes;
    result.stream = operation->stream;
    result.kernarg_size_bytes = recorded.kernarg_bytes;
    result.relocation_count = static_cast<uint32_t>(recorded.relocations.size());
    result.kernarg = operation->arguments;
    return write_out(result, description);
  });
}

gfxgraph_status_t gfxgraph_trace_relocation(gfxgraph_trace_t trace, uint32_t launch,
                                            uint32_t relocation,
                                            gfxgraph_relocation_t* description) noexcept {
  return guarded([&]() -> Result<void> {
    GFXGRAPH_ASSIGN_OR_RETURN(const Operation* const operation, find_launch(trace, launch));
    if (relocation >= operation->launch->relocations.size()) {
      return fail(Status::kNotFound,
                  fmt::format("launch {} has no relocation {}", launch, relocation));
    }
    const format::Relocation& recorded = operation->launch->relocations[relocation];
    gfxgraph_relocation_t result{};
    result.offset_bytes = static_cast<uint32_t>(recorded.offset_bytes);
    result.buffer = recorded.allocation;
    result.source = static_cast<uint32_t>(recorded.source);
    result.ambiguous = recorded.ambiguous ? 1 : 0;
    result.addend_bytes = static_cast<uint64_t>(recorded.addend);
    return write_out(result, description);
  });
}

gfxgraph_status_t gfxgraph_trace_buffer(gfxgraph_trace_t trace, uint32_t buffer,
                                        gfxgraph_buffer_t* description) noexcept {
  return guarded([&]() -> Result<void> {
    GFXGRAPH_TRY(require(trace != nullptr, "trace is null"));
    const std::vector<AllocationInfo>& all = trace->open->program()->allocations();
    if (buffer == 0 || buffer > all.size() || all[buffer - 1].begin == nullptr) {
      return fail(Status::kNotFound, fmt::format("buffer {} does not exist", buffer));
    }
    const AllocationInfo& info = all[buffer - 1];
    gfxgraph_buffer_t result{};
    result.kind = static_cast<uint32_t>(info.begin->kind);
    result.size_bytes = info.begin->size_bytes;
    result.extent_bytes = info.extent_bytes;
    result.recorded_address = info.begin->recorded_address;
    result.begin_sequence = info.begin_sequence;
    result.end_sequence = info.end == nullptr ? UINT64_MAX : info.end_sequence;
    result.post_state_known =
        info.end != nullptr && (info.end->post.stored || info.end->post.hash) ? 1 : 0;
    result.initial_state_unknown = info.begin->initial.stored ? 0 : 1;
    result.symbol = info.begin->symbol.c_str();
    result.name = info.name.c_str();
    result.name_source = static_cast<uint32_t>(info.name_source);
    return write_out(result, description);
  });
}

// ---- ranges ----

gfxgraph_status_t gfxgraph_trace_range(gfxgraph_trace_t trace, gfxgraph_range_t range,
                                       gfxgraph_range_info_t* info) noexcept {
  return guarded([&]() -> Result<void> {
    GFXGRAPH_TRY(require(trace != nullptr, "trace is null"));
    gfxgraph_range_info_t result{};
    if (range == GFXGRAPH_RANGE_ALL) {
      result.name = "all";
      result.end_event = trace->open->trace().statistics().events;
      result.ended = 1;
      count_work(*trace->open->program(), result);
      return write_out(result, info);
    }
    GFXGRAPH_ASSIGN_OR_RETURN(const ranges::RangeSummary* const summary,
                              trace->open->summary(range));
    result.shape = summary->shape;
    result.name = summary->name.c_str();
    result.ordinal = summary->ordinal;
    result.first_event = summary->first_event;
    result.end_event = summary->end_event;
    result.launches = summary->launches;
    result.copies = summary->copies;
    result.copy_bytes = summary->copy_bytes;
    result.memsets = summary->memsets;
    result.host_writes = summary->host_writes;
    result.ended = summary->ended ? 1 : 0;
    if (result.shape == 0) {  // a period's range, which only knows its events
      GFXGRAPH_ASSIGN_OR_RETURN(const std::shared_ptr<const Range> open, open_range(trace, range));
      count_work(*open->program, result);
    }
    return write_out(result, info);
  });
}

gfxgraph_status_t gfxgraph_trace_find_range(gfxgraph_trace_t trace, const char* name,
                                            gfxgraph_range_t* range) noexcept {
  return guarded([&]() -> Result<void> {
    GFXGRAPH_TRY(require(trace != nullptr && name != nullptr && range != nullptr,
                         "trace, name or range is null"));
    GFXGRAPH_ASSIGN_OR_RETURN(*range, trace->open->find(name));
    return {};
  });
}

gfxgraph_status_t gfxgraph_trace_find_buffer(gfxgraph_trace_t trace, gfxgraph_range_t range,
                                             const char* name, uint32_t* buffer) noexcept {
  return find_in(trace, range, name, buffer,
                 [&](const Range& open) { return find_buffer(*open.program, name); });
}

gfxgraph_status_t gfxgraph_trace_parameter_count(gfxgraph_trace_t trace, gfxgraph_range_t range,
                                                 uint32_t* count) noexcept {
  return count_of(trace, range, count,
                  [](const Range& open) -> const auto& { return open.parameters; });
}

gfxgraph_status_t gfxgraph_trace_parameter(gfxgraph_trace_t trace, gfxgraph_range_t range,
                                           uint32_t parameter,
                                           gfxgraph_parameter_t* description) noexcept {
  return guarded([&]() -> Result<void> {
    GFXGRAPH_ASSIGN_OR_RETURN(const std::shared_ptr<const Range> open, open_range(trace, range));
    if (parameter >= open->parameters.size()) {
      return fail(Status::kNotFound, fmt::format("parameter {} does not exist: range {} has {}",
                                                 parameter, open->name, open->parameters.size()));
    }
    const StepParameter& found = open->parameters[parameter];
    const PlaceValue& value = found.values[found.iteration];
    gfxgraph_parameter_t result{};
    result.pattern = static_cast<uint32_t>(found.match.pattern);
    result.name = found.name.c_str();
    result.step = found.match.step;
    result.period = static_cast<uint32_t>(found.match.period);
    result.place_count = static_cast<uint32_t>(found.targets.size());
    result.buffer = value.allocation;
    result.number = value.number;
    return write_out(result, description);
  });
}

gfxgraph_status_t gfxgraph_trace_find_parameter(gfxgraph_trace_t trace, gfxgraph_range_t range,
                                                const char* name, uint32_t* parameter) noexcept {
  return find_in(trace, range, name, parameter,
                 [&](const Range& open) { return find_parameter(open, name); });
}

gfxgraph_status_t gfxgraph_trace_name_parameter(gfxgraph_trace_t trace, gfxgraph_range_t range,
                                                const char* name, int64_t step,
                                                const gfxgraph_place_t* places,
                                                uint32_t place_count,
                                                uint32_t* parameter) noexcept {
  return guarded([&]() -> Result<void> {
    GFXGRAPH_TRY(require(trace != nullptr && name != nullptr && parameter != nullptr,
                         "trace, name or parameter is null"));
    GFXGRAPH_TRY(require(places != nullptr || place_count == 0, "places is null"));
    std::vector<ArgumentPlace> wanted;
    for (const gfxgraph_place_t& place : std::span(places, place_count))
      wanted.push_back({place.launch, place.argument, place.offset_bytes, place.size_bytes});
    GFXGRAPH_ASSIGN_OR_RETURN(*parameter, trace->open->name_parameter(range, name, step, wanted));
    return {};
  });
}

gfxgraph_status_t gfxgraph_trace_input_count(gfxgraph_trace_t trace, gfxgraph_range_t range,
                                             uint32_t* count) noexcept {
  return count_of(trace, range, count,
                  [](const Range& open) -> const auto& { return open.inputs; });
}

gfxgraph_status_t gfxgraph_trace_input(gfxgraph_trace_t trace, gfxgraph_range_t range,
                                       uint32_t input, gfxgraph_transfer_t* description) noexcept {
  return describe_transfer(trace, range, input, &Range::inputs, "input", description);
}

gfxgraph_status_t gfxgraph_trace_find_input(gfxgraph_trace_t trace, gfxgraph_range_t range,
                                            const char* name, uint32_t* input) noexcept {
  return find_in(trace, range, name, input,
                 [&](const Range& open) { return find_transfer(open.inputs, name, "input"); });
}

gfxgraph_status_t gfxgraph_trace_output_count(gfxgraph_trace_t trace, gfxgraph_range_t range,
                                              uint32_t* count) noexcept {
  return count_of(trace, range, count,
                  [](const Range& open) -> const auto& { return open.outputs; });
}

gfxgraph_status_t gfxgraph_trace_output(gfxgraph_trace_t trace, gfxgraph_range_t range,
                                        uint32_t output,
                                        gfxgraph_transfer_t* description) noexcept {
  return describe_transfer(trace, range, output, &Range::outputs, "output", description);
}

gfxgraph_status_t gfxgraph_trace_find_output(gfxgraph_trace_t trace, gfxgraph_range_t range,
                                             const char* name, uint32_t* output) noexcept {
  return find_in(trace, range, name, output,
                 [&](const Range& open) { return find_transfer(open.outputs, name, "output"); });
}

}  // extern "C"
