#include "replayer/range.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
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

}  // namespace

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
    GFXGRAPH_TRY(whole->trace().load_events());
    result->parameters = find_parameters(*result->program, *range);
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
