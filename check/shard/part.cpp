#include "check/shard/part.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <span>

#include "base/cli/print.h"
#include "check/shard/stored.h"
#include "format/write/writer.h"

// The members of each struct in a file. A binding names all of them, so that a new member does not
// compile until it is here, too.
namespace gfxgraph::codeobj {
static auto members(SourceLocation& location) {
  auto& [file, line, column, function] = location;
  return std::tie(file, line, column, function);
}
}  // namespace gfxgraph::codeobj

namespace gfxgraph::check {

// Not in an unnamed namespace, where a lookup by argument does not find them.
static uint64_t limit_of(FindingClass) { return kFindingClasses; }
static uint64_t limit_of(Severity) { return static_cast<uint64_t>(Severity::kError) + 1; }
static uint64_t limit_of(CodeLine::Role) {
  return static_cast<uint64_t>(CodeLine::Role::kFinding) + 1;
}

static auto members(LaunchRange& range) {
  auto& [first, end] = range;
  return std::tie(first, end);
}
static auto members(NearestBuffer& nearest) {
  auto& [allocation, name, address, size_bytes, mapped_bytes, distance_bytes, freed] = nearest;
  return std::tie(allocation, name, address, size_bytes, mapped_bytes, distance_bytes, freed);
}
static auto members(Finding::Place& place) {
  auto& [code_address, kernel_offset, mnemonic, events] = place;
  return std::tie(code_address, kernel_offset, mnemonic, events);
}
static auto members(Finding& finding) {
  auto& [finding_class, severity, kernel, code_address, kernel_offset, mnemonic, source, events,
         lanes_total, launches, in_launches, places, launch, event_sequence, workgroup, wave, lanes,
         exec, address, access_bytes, write, address_class, nearest, written_by, detail,
         suppressed_by] = finding;
  return std::tie(finding_class, severity, kernel, code_address, kernel_offset, mnemonic, source,
                  events, lanes_total, launches, in_launches, places, launch, event_sequence,
                  workgroup, wave, lanes, exec, address, access_bytes, write, address_class,
                  nearest, written_by, detail, suppressed_by);
}
static auto members(FindingCalls& calls) {
  auto& [launched_by, allocated_by, launch_site, allocation_site] = calls;
  return std::tie(launched_by, allocated_by, launch_site, allocation_site);
}
static auto members(CodeLine& line) {
  auto& [code_address, text, role, follows] = line;
  return std::tie(code_address, text, role, follows);
}
static auto members(FindingPlace& place) {
  auto& [inline_stack, code] = place;
  return std::tie(inline_stack, code);
}
static auto members(FailedLaunch& failed) {
  auto& [launch, event_sequence, kernel, reason, has_lines, finding] = failed;
  return std::tie(launch, event_sequence, kernel, reason, has_lines, finding);
}
static auto members(Stop& stop) {
  auto& [reason, event_sequence, launches] = stop;
  return std::tie(reason, event_sequence, launches);
}
static auto members(KernelTotals& totals) {
  auto& [kernel, launches, ended, wave_instructions, dropped_lanes] = totals;
  return std::tie(kernel, launches, ended, wave_instructions, dropped_lanes);
}
static auto members(PerfLine& one) {
  auto& [kernel, file, line, code_address, lds, instructions, executions, lanes, units, least] =
      one;
  return std::tie(kernel, file, line, code_address, lds, instructions, executions, lanes, units,
                  least);
}
static auto members(PerfKernel& one) {
  auto& [kernel, launches, wave_lanes, block_items, idle_lanes, vgprs, lds_bytes, waves_fit,
         limit] = one;
  return std::tie(kernel, launches, wave_lanes, block_items, idle_lanes, vgprs, lds_bytes,
                  waves_fit, limit);
}
static auto members(PerfTable& table) {
  auto& [made, lines, kernels] = table;
  return std::tie(made, lines, kernels);
}
static auto members(ExecutionCounts& counts) {
  auto& [instructions, executed, ways, ways_taken, lanes, lanes_executed] = counts;
  return std::tie(instructions, executed, ways, ways_taken, lanes, lanes_executed);
}
static auto members(ExecutedBranch& branch) {
  auto& [jumped, passed] = branch;
  return std::tie(jumped, passed);
}
static auto members(ExecutedLine& one) {
  auto& [file, line, counts, executions, branches] = one;
  return std::tie(file, line, counts, executions, branches);
}
static auto members(ExecutedKernel& one) {
  auto& [kernel, launches, counts, unknown_calls, incomplete, lines] = one;
  return std::tie(kernel, launches, counts, unknown_calls, incomplete, lines);
}
static auto members(ExecutionTable& table) {
  auto& [made, kernels, stopped] = table;
  return std::tie(made, kernels, stopped);
}
static auto members(Report& report) {
  auto& [tools, findings, calls, places, failed, failed_launches, stopped, kernels, perf, execution,
         notes, emulator_notes, launches, wave_instructions, empty_exec_scalar_loads,
         buffers_compared, buffers_equal] = report;
  return std::tie(tools, findings, calls, places, failed, failed_launches, stopped, kernels, perf,
                  execution, notes, emulator_notes, launches, wave_instructions,
                  empty_exec_scalar_loads, buffers_compared, buffers_equal);
}
static auto members(TraceReport& trace) {
  auto& [name, report, error] = trace;
  return std::tie(name, report, error);
}
static auto members(Shard& shard) {
  auto& [number, of] = shard;
  return std::tie(number, of);
}
static auto members(PartTrace& one) {
  auto& [place, trace, exit_code] = one;
  return std::tie(place, trace, exit_code);
}
static auto members(PartOption& option) {
  auto& [name, value] = option;
  return std::tie(name, value);
}
// All but the version, which decides whether the rest can be read.
static auto members(Part& part) {
  auto& [version, shard, names, options, suppressions, used, traces] = part;
  return std::tie(shard, names, options, suppressions, used, traces);
}

namespace {

constexpr uint32_t kMostShards = 1'000'000;
constexpr const char* kSchema = "gfxgraph-check-part/1";

bool possible(const Shard& shard) {
  return shard.of >= 1 && shard.of <= kMostShards && shard.number >= 1 && shard.number <= shard.of;
}

// Of a finding in memory that the report prints, the nearest buffer is there.
bool possible(const Report& report) {
  for (size_t n = 0; n < report.findings.size() && n < report.calls.size(); ++n)
    if (!report.calls[n].allocated_by.empty() && !report.findings[n].nearest) return false;
  return true;
}

// Whether a shard could have written it: the traces are its own, each one once.
bool possible(const Part& part) {
  if (!possible(part.shard) || part.used.size() != part.suppressions.size()) return false;
  size_t next = 0;
  for (size_t place = 0; place < part.names.size(); ++place) {
    if (!part.shard.has(place)) continue;
    if (next == part.traces.size()) return false;
    const PartTrace& one = part.traces[next++];
    if (one.place != place || one.trace.name != part.names[place]) return false;
    if (one.trace.report && !possible(*one.trace.report)) return false;
  }
  return next == part.traces.size();
}

std::string digest_of(const stored::Json& body) {
  const std::string text = body.dump(-1, ' ', true);
  const format::BlobId id = format::hash_bytes(std::as_bytes(std::span(text)));
  return fmt::format("{:016x}{:016x}", id.high, id.low);
}

}  // namespace

namespace stored {

Json save(const std::string& text) {
  std::string points;
  points.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      points += c;
      continue;
    }
    points += static_cast<char>(0xc0 | byte >> 6);
    points += static_cast<char>(0x80 | (byte & 0x3f));
  }
  return points;
}

bool load(const Json& json, std::string& text) {
  if (!json.is_string()) return false;
  const auto& points = json.get_ref<const std::string&>();
  text.clear();
  text.reserve(points.size());
  for (size_t at = 0; at < points.size(); ++at) {
    const auto first = static_cast<unsigned char>(points[at]);
    if (first < 0x80) {
      text += points[at];
      continue;
    }
    if ((first & 0xfc) != 0xc0 || at + 1 == points.size()) return false;
    text += static_cast<char>((first & 3) << 6 | (points[++at] & 0x3f));
  }
  return true;
}

}  // namespace stored

Result<Shard> parse_shard(std::string_view text) {
  Shard shard;
  const char* const end = text.data() + text.size();
  const auto [slash, wrong] = std::from_chars(text.data(), end, shard.number);
  if (wrong == std::errc() && slash != end && *slash == '/') {
    const auto [rest, also] = std::from_chars(slash + 1, end, shard.of);
    if (also == std::errc() && rest == end && possible(shard)) return shard;
  }
  return fail(Status::kInvalidArgument,
              format_printable("--shard '{}': expected K/N, as 1/8 to 8/8, with N at most {}",
                               std::string(text), kMostShards));
}

std::string encode(const Part& part) {
  stored::Json body = stored::save(part);
  const stored::Json document = {{"schema", kSchema},          {"version", part.version},
                                 {"shard", part.shard.number}, {"shards", part.shard.of},
                                 {"digest", digest_of(body)},  {"body", std::move(body)}};
  // Parts of the file that are not of the body are ASCII.
  return document.dump(-1, ' ', true, stored::Json::error_handler_t::replace) + "\n";
}

Result<Part> decode(const nlohmann::ordered_json& document, std::string_view version) {
  const auto broken = [] {
    return fail(Status::kCorrupt,
                "not a whole part of gfxgraph check --shard: it was damaged, written by another "
                "program, or copied before it was complete");
  };
  const auto text_of = [&document](const char* name) {
    const auto found = document.find(name);
    return found != document.end() && found->is_string() ? found->get<std::string>() : "";
  };
  if (!document.is_object() || !text_of("schema").starts_with("gfxgraph-check-part/"))
    return broken();
  if (text_of("schema") != kSchema || text_of("version") != version) {
    return fail(Status::kVersion,
                format_printable("the part of gfxgraph {} cannot be merged by gfxgraph {}; run all "
                                 "shards and the merge with one version",
                                 text_of("version"), std::string(version)));
  }
  const auto body = document.find("body");
  Part part;
  if (body == document.end() || digest_of(*body) != text_of("digest") ||
      !stored::load(*body, part) || !possible(part))
    return broken();
  part.version = version;
  return part;
}

}  // namespace gfxgraph::check
