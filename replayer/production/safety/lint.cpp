#include "replayer/production/safety/lint.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <string_view>

#include "base/demangle.h"
#include "format/ranges/range_parameters.h"
#include "format/ranges/work_shape.h"
#include "replayer/capi/c_api_internal.h"

namespace gfxgraph::replayer {
namespace {

// By GFXGRAPH_BAKED_...: what a step does with the value, and what to do.
struct Advice {
  const char* consequence;
  const char* remedy;
};
constexpr std::array<Advice, GFXGRAPH_BAKED_KINDS> kAdvice = {{
    {"", ""},
    {"a step passes the first one in every run",
     "let the kernel read it from memory at a fixed address (lengths, block table, an input)"},
    {"a step uses the first place in every run",
     "pass the beginning of the memory, and let the kernel find the place"},
    {"a step launches the first one in every run",
     "launch for the bucket's largest, and let work without anything to do end"},
    {"a step copies the first one in every run", "copy to and from fixed places, of one size"},
    {"a step fills the first one in every run", "fill a fixed place with a fixed value"},
    {"a step copies the first ones in every run",
     "make the bytes an input, or copy them from pinned memory"},
    {"a step repeats the first one in every run",
     "make a bucket for each of the two, or let the function submit the same work for both"},
}};

uint32_t kind_of(const ranges::Place& place, const ranges::Parameter& parameter) {
  using ranges::PlaceKind;
  if (place.kind == PlaceKind::kArgument) {
    const bool number = std::ranges::all_of(
        parameter.values, [](const ranges::ParameterValue& value) { return value.memory == 0; });
    return number ? GFXGRAPH_BAKED_NUMBER : GFXGRAPH_BAKED_ADDRESS;
  }
  if (place.kernel != 0) return GFXGRAPH_BAKED_GRID;
  return place.memset ? GFXGRAPH_BAKED_FILL : GFXGRAPH_BAKED_COPY;
}

template <size_t kSize>
void write(char (&to)[kSize], std::string_view text) {
  const size_t bytes = std::min(text.size(), kSize - 1);
  std::memcpy(to, text.data(), bytes);
  to[bytes] = '\0';
}

class Lint {
 public:
  Lint(const format::Trace& trace, std::span<const ranges::RangeSummary> found,
       const std::vector<NamedMemory>& names)
      : trace_(trace), ranges_(found), names_(names) {}

  Result<std::vector<gfxgraph_baked_t>> run() {
    if (ranges_[0].shape != ranges_[1].shape) {
      compare_sequences();
      return std::move(baked_);
    }
    const ranges::RangeComparisons all = ranges::compare_iterations(
        trace_, ranges::group_iterations({ranges_.begin(), ranges_.end()}));
    if (all.comparisons.size() != 1 || !all.comparisons[0].not_compared.empty()) {
      return fail(Status::kUnsupported,
                  fmt::format("two captures cannot be compared: {}",
                              all.comparisons.empty() ? "they are not of one shape"
                                                      : all.comparisons[0].not_compared));
    }
    const ranges::RangeComparison& both = all.comparisons[0];
    for (const ranges::Parameter& parameter : both.parameters) {
      for (const ranges::Place& place : parameter.places) add(place, parameter);
    }
    for (const ranges::Transfer& input : both.inputs) {
      if (input.bytes == ranges::Bytes::kChange) add_bytes(input);
    }
    std::ranges::stable_sort(baked_, {}, &gfxgraph_baked_t::work);
    return std::move(baked_);
  }

 private:
  gfxgraph_baked_t& add(uint32_t kind, uint64_t work, std::string_view place,
                        std::string_view difference) {
    gfxgraph_baked_t& one = baked_.emplace_back();
    one.kind = kind;
    one.argument = UINT32_MAX;
    one.work = work;
    write(one.place, place);
    write(one.text, fmt::format("work {}, {}: {}; {}: {}", work, place, difference,
                                kAdvice[kind].consequence, kAdvice[kind].remedy));
    return one;
  }

  void add(const ranges::Place& place, const ranges::Parameter& parameter) {
    const uint32_t kind = kind_of(place, parameter);
    gfxgraph_baked_t& one =
        add(kind, place.work, ranges::place_text(trace_, place),
            fmt::format("{} in the first capture, {} in the second", value(parameter.values[0]),
                        value(parameter.values[1])));
    one.argument = place.kind == ranges::PlaceKind::kArgument ? place.argument : UINT32_MAX;
    one.offset_bytes = place.offset_bytes;
    one.size_bytes = place.size_bytes;
    one.first = parameter.values[0].number;
    one.second = parameter.values[1].number;
  }

  void add_bytes(const ranges::Transfer& input) {
    gfxgraph_baked_t& one =
        add(GFXGRAPH_BAKED_BYTES, input.work, input.host_write ? "host write" : "copy",
            fmt::format("{} bytes of host memory differ between the captures", input.size_bytes));
    one.size_bytes = static_cast<uint32_t>(std::min<uint64_t>(input.size_bytes, UINT32_MAX));
  }

  std::string value(const ranges::ParameterValue& value) const {
    if (value.memory == 0) return fmt::to_string(value.number);
    for (const format::Event& event : trace_.events()) {
      const auto* const begin = std::get_if<format::AllocationBegin>(&event.action);
      if (begin == nullptr || begin->id != value.memory) continue;
      const uint64_t address = begin->recorded_address;
      for (const NamedMemory& known : names_) {
        if (address - known.address < known.bytes || known.address - address < begin->size_bytes)
          return at(known.name, static_cast<int64_t>(address - known.address) + value.number);
      }
      return at(begin->name.empty() ? fmt::format("memory at {:#x}", address) : begin->name,
                value.number);
    }
    return at("memory of the step's own", value.number);
  }
  static std::string at(std::string_view name, int64_t offset) {
    return fmt::format("{} {} {} bytes", name, offset < 0 ? "-" : "+",
                       offset < 0 ? -offset : offset);
  }

  // The first work that is not the same.
  void compare_sequences() {
    const ranges::WorkShapes shapes(trace_);
    const std::vector<const format::Event*> first = works(ranges_[0]), second = works(ranges_[1]);
    size_t work = 0;
    while (work < std::min(first.size(), second.size()) &&
           shapes.of(first[work]->action) == shapes.of(second[work]->action)) {
      ++work;
    }
    const auto one = [&](const std::vector<const format::Event*>& all) {
      return work < all.size() ? name(all[work]->action) : std::string("nothing more");
    };
    gfxgraph_baked_t& added =
        add(GFXGRAPH_BAKED_SEQUENCE, work, "sequence of the work",
            fmt::format("{} in the first capture ({} works), {} in the second ({})", one(first),
                        first.size(), one(second), second.size()));
    added.first = static_cast<int64_t>(first.size());
    added.second = static_cast<int64_t>(second.size());
  }
  std::vector<const format::Event*> works(const ranges::RangeSummary& range) const {
    std::vector<const format::Event*> all;
    for (uint64_t event = range.first_event; event < range.end_event; ++event) {
      if (ranges::is_work(trace_.events()[event].action)) all.push_back(&trace_.events()[event]);
    }
    return all;
  }
  std::string name(const format::Action& action) const {
    if (const auto* const launch = std::get_if<format::Launch>(&action)) {
      return launch->kernel <= trace_.kernels().size() && launch->kernel != 0
                 ? short_function_name(demangle(trace_.kernels()[launch->kernel - 1].name), 100)
                 : std::string("a kernel");
    }
    if (std::holds_alternative<format::Copy>(action)) return "a copy";
    if (std::holds_alternative<format::Memset>(action)) return "a memset";
    if (std::holds_alternative<format::GraphLaunch>(action)) return "a graph";
    return "a host function";
  }

  const format::Trace& trace_;
  std::span<const ranges::RangeSummary> ranges_;
  const std::vector<NamedMemory>& names_;
  std::vector<gfxgraph_baked_t> baked_;
};

}  // namespace

Result<std::vector<gfxgraph_baked_t>> find_baked(gfxgraph_trace_t trace,
                                                 const std::vector<NamedMemory>& names) {
  OpenTrace& open = *trace->open;
  GFXGRAPH_ASSIGN_OR_RETURN(const std::span<const ranges::RangeSummary> found, open.ranges());
  if (found.size() != 2 || !found[0].ended || !found[1].ended) {
    return fail(Status::kInternal,
                fmt::format("a capture of two iterations has {} ranges", found.size()));
  }
  GFXGRAPH_TRY(open.trace().load_events());
  return Lint(open.trace(), found, names).run();
}

}  // namespace gfxgraph::replayer
