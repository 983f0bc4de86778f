#include "replayer/program/range.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

namespace gfxgraph::replayer {
namespace {

std::optional<uint64_t> number_of(std::string_view name) {
  uint64_t number = 0;
  if (name.size() < 2 || name.front() != '#') return std::nullopt;
  const char* const end = name.data() + name.size();
  const auto [rest, error] = std::from_chars(name.data() + 1, end, number);
  return rest == end && error == std::errc() ? std::optional(number) : std::nullopt;
}

template <typename Thing>
Result<uint32_t> find_named(std::span<const Thing> things, std::string_view name,
                            std::string_view what) {
  const auto found = std::ranges::find(things, name, &Thing::name);
  if (found != things.end()) return static_cast<uint32_t>(found - things.begin());
  if (const std::optional<uint64_t> number = number_of(name); number && *number < things.size())
    return static_cast<uint32_t>(*number);
  return fail(Status::kNotFound,
              fmt::format("the range has no {} {}: there are {}", what, name, things.size()));
}

// A place that a caller named, with what the trace has there.
struct FoundPlace {
  PlaceTarget target;
  PlaceValue value;
};

Result<FoundPlace> find_place(const Program& program, const ArgumentPlace& place) {
  const uint32_t first = program.first_launch();
  if (place.launch < first || place.launch - first >= program.launch_count()) {
    return fail(Status::kInvalidArgument,
                fmt::format("the range has no launch {}: it has {}, from {}", place.launch,
                            program.launch_count(), first));
  }
  const uint32_t index = program.launch_operation(place.launch);
  const Operation& operation = program.operations()[index];
  const format::Kernel& kernel = program.kernel(*operation.launch);
  const auto hidden = std::ranges::find_if(kernel.arguments, [&](const format::Argument& one) {
    return one.offset_bytes >= kernel.explicit_size_bytes;
  });
  const auto count = static_cast<uint64_t>(hidden - kernel.arguments.begin());
  if (place.argument >= count) {
    return fail(Status::kInvalidArgument, fmt::format("kernel {} has no argument {}: it has {}",
                                                      kernel.name, place.argument, count));
  }
  const format::Argument& argument = kernel.arguments[place.argument];
  const uint32_t rest = argument.size_bytes - std::min(place.offset_bytes, argument.size_bytes);
  const uint32_t size = place.size_bytes != 0 ? place.size_bytes : rest;
  FoundPlace found;
  const uint32_t offset = argument.offset_bytes + place.offset_bytes;
  const std::span<const uint8_t> bytes = operation.kernarg();
  if (size == 0 || size > rest || size > sizeof found.value.number ||
      uint64_t{offset} + size > bytes.size()) {
    return fail(
        Status::kInvalidArgument,
        fmt::format("bytes {}+{} of argument {} of kernel {}, which has {} bytes: a place "
                    "has 1 to 8 bytes in it",
                    place.offset_bytes, size, place.argument, kernel.name, argument.size_bytes));
  }
  found.target = {index, ranges::PlaceKind::kArgument, offset, size};
  for (const format::Relocation& word : operation.launch->relocations) {
    if (word.offset_bytes + sizeof(uint64_t) <= offset || word.offset_bytes >= offset + size)
      continue;
    if (word.offset_bytes != offset || size != sizeof(uint64_t)) {
      return fail(Status::kInvalidArgument,
                  fmt::format("bytes {}+{} of argument {} of kernel {} are a part of an address",
                              place.offset_bytes, size, place.argument, kernel.name));
    }
    found.value = {word.allocation, word.addend};
    return found;
  }
  uint64_t number = 0;
  std::memcpy(&number, bytes.data() + offset, size);
  found.value.number = static_cast<int64_t>(number);
  return found;
}

}  // namespace

Result<std::shared_ptr<const Range>> name_parameter(const Range& range, std::string_view name,
                                                    int64_t step,
                                                    std::span<const ArgumentPlace> places) {
  if (name.empty() || name.front() == '#' || places.empty())
    return fail(Status::kInvalidArgument, "a parameter needs a name, not with #, and a place");
  if (std::ranges::find(range.parameters, name, &StepParameter::name) != range.parameters.end()) {
    return fail(Status::kInvalidArgument,
                fmt::format("range {} has a parameter {} already", range.name, name));
  }
  StepParameter parameter;
  parameter.name = name;
  parameter.match.pattern = ranges::Pattern::kStep;
  parameter.match.step = step;
  for (const ArgumentPlace& place : places) {
    GFXGRAPH_ASSIGN_OR_RETURN(FoundPlace found, find_place(*range.program, place));
    if (parameter.values.empty()) parameter.values.push_back(found.value);
    const PlaceValue& value = parameter.values.front();
    if (found.value.allocation != value.allocation) {
      return fail(
          Status::kInvalidArgument,
          fmt::format("argument {} of launch {} and argument {} of launch {} are not of one "
                      "kind: numbers, or addresses in one buffer",
                      places[0].argument, places[0].launch, place.argument, place.launch));
    }
    found.target.distance = static_cast<int64_t>(static_cast<uint64_t>(found.value.number) -
                                                 static_cast<uint64_t>(value.number));
    parameter.targets.push_back(found.target);
  }
  auto named = std::make_shared<Range>(range);
  named->parameters.push_back(std::move(parameter));
  return std::shared_ptr<const Range>(std::move(named));
}

Result<std::shared_ptr<const Range>> open_range(const std::shared_ptr<const Program>& whole,
                                                const ranges::RangeSummary* range) {
  auto result = std::make_shared<Range>();
  if (range == nullptr) {
    result->name = "all";
    result->program = whole;
  } else {
    result->name = fmt::format("{}#{}", range->name, range->ordinal);
    if (!range->ended) {
      return fail(Status::kIncomplete,
                  fmt::format("range {} was not ended in the trace", result->name));
    }
    result->program = whole->cut(range->first_event, range->end_event);
    GFXGRAPH_ASSIGN_OR_RETURN(result->parameters, find_parameters(*result->program, *range));
  }
  result->inputs = find_inputs(*result->program);
  result->outputs = find_outputs(*result->program);
  return std::shared_ptr<const Range>(std::move(result));
}

Result<format::AllocationId> find_buffer(const Program& program, std::string_view name) {
  std::vector<format::AllocationId> found;
  const std::optional<uint64_t> number = number_of(name);
  for (const AllocationInfo& info : program.allocations()) {
    if (!program.holds(info)) continue;
    if (info.name == name || (number && *number == info.begin->id)) found.push_back(info.begin->id);
  }
  if (found.size() == 1) return found[0];
  if (found.empty())
    return fail(Status::kNotFound, fmt::format("the range has no buffer {}", name));
  return fail(Status::kInvalidArgument,
              fmt::format("{} buffers of the range are named {}; use #{} for the first",
                          found.size(), name, found[0]));
}

Result<uint32_t> find_parameter(const Range& range, std::string_view name) {
  return find_named(std::span<const StepParameter>(range.parameters), name, "parameter");
}

Result<uint32_t> find_transfer(std::span<const Transfer> transfers, std::string_view name,
                               std::string_view what) {
  return find_named(transfers, name, what);
}

}  // namespace gfxgraph::replayer
