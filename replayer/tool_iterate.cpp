#include "replayer/tool_iterate.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <span>
#include <utility>

#include "base/file.h"
#include "base/print.h"

namespace gfxgraph::replayer {
namespace {

// What the user says of a parameter instead of its recorded pattern.
struct Setting {
  bool step = false;
  int64_t number = 0;
};

struct BufferFile {
  format::AllocationId buffer = 0;
  std::string path;
};

Result<std::pair<std::string, std::string>> split(const std::string& text, const char* option) {
  // A parameter's name may hold '=' itself, a number does not.
  const size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    return fail(Status::kInvalidArgument,
                fmt::format("{} {}: not of the form NAME=VALUE", option, text));
  }
  return std::pair{text.substr(0, equals), text.substr(equals + 1)};
}

Result<Setting> parse_setting(const std::string& option, std::string_view text) {
  Setting setting;
  setting.step = text.starts_with('+') || text.starts_with('-');
  const bool negative = text.starts_with('-');
  std::string_view digits = text.substr(setting.step ? 1 : 0);
  const int base = digits.starts_with("0x") ? 16 : 10;
  if (base == 16) digits.remove_prefix(2);
  uint64_t number = 0;
  const char* const end = digits.data() + digits.size();
  const auto [rest, error] = std::from_chars(digits.data(), end, number, base);
  if (digits.empty() || rest != end || error != std::errc()) {
    return fail(Status::kInvalidArgument,
                fmt::format("--set {}: {} is neither a number nor a step as +1", option, text));
  }
  setting.number = static_cast<int64_t>(negative ? -number : number);
  return setting;
}

std::optional<uint64_t> number_of(std::string_view name) {
  uint64_t number = 0;
  if (!name.starts_with('#')) return std::nullopt;
  const char* const end = name.data() + name.size();
  const auto [rest, error] = std::from_chars(name.data() + 1, end, number);
  return rest == end && name.size() > 1 && error == std::errc() ? std::optional(number)
                                                                : std::nullopt;
}

// By its name, or by its number in the list, from 0: "#0".
Result<size_t> find_parameter(const std::vector<StepParameter>& parameters,
                              const std::string& name) {
  const auto found = std::ranges::find(parameters, name, &StepParameter::name);
  if (found != parameters.end()) return static_cast<size_t>(found - parameters.begin());
  if (const std::optional<uint64_t> number = number_of(name); number && *number < parameters.size())
    return static_cast<size_t>(*number);
  return fail(Status::kNotFound,
              fmt::format("--set {}: the step has no such parameter; --list shows all {}", name,
                          parameters.size()));
}

// By its name, or by its number in the trace: "#3".
Result<format::AllocationId> find_buffer(const Program& program, const std::string& name) {
  std::vector<format::AllocationId> found;
  const std::optional<uint64_t> number = number_of(name);
  for (const AllocationInfo& info : program.allocations()) {
    if (!program.holds(info)) continue;
    if (info.name == name || (number && *number == info.begin->id)) found.push_back(info.begin->id);
  }
  if (found.size() == 1) return found[0];
  if (found.empty()) {
    return fail(Status::kNotFound,
                fmt::format("the range has no buffer {}; --list shows all", name));
  }
  return fail(Status::kInvalidArgument,
              fmt::format("{} buffers of the range are called {}: say #{} for the first",
                          found.size(), name, found[0]));
}

Result<std::vector<BufferFile>> buffer_files(const Program& program,
                                             const std::vector<std::string>& texts,
                                             const char* option) {
  std::vector<BufferFile> files;
  for (const std::string& text : texts) {
    GFXGRAPH_ASSIGN_OR_RETURN(const auto parts, split(text, option));
    GFXGRAPH_ASSIGN_OR_RETURN(const format::AllocationId buffer, find_buffer(program, parts.first));
    files.push_back({buffer, parts.second});
  }
  return files;
}

// What comes in by a copy from the program's own memory would be overwritten by that copy.
Result<void> refuse_overwritten(const Program& program, format::AllocationId buffer) {
  for (uint32_t i = 0; i < program.operations().size(); ++i) {
    const Operation& operation = program.operations()[i];
    if (operation.kind != OperationKind::kCopy || operation.copy->source.allocation != 0 ||
        operation.copy->destination.allocation != buffer) {
      continue;
    }
    return fail(
        Status::kUnsupported,
        fmt::format("--input: {} of the step brings the recorded bytes to this buffer in each "
                    "iteration: its source cannot be replaced yet",
                    program.describe(i)));
  }
  return {};
}

PlaceValue value_of(const StepParameter& parameter, const std::optional<Setting>& setting,
                    uint64_t n) {
  if (!setting) return parameter.value(n);
  if (!setting->step) return {0, setting->number};
  PlaceValue value = parameter.values[parameter.iteration];
  value.number = static_cast<int64_t>(static_cast<uint64_t>(value.number) +
                                      n * static_cast<uint64_t>(setting->number));
  return value;
}

}  // namespace

Result<void> iterate(const IterateRequest& request, const std::vector<StepParameter>& parameters,
                     Step& step) {
  const Program& program = step.instance().program();
  std::vector<std::optional<Setting>> settings(parameters.size());
  for (const std::string& text : request.set) {
    GFXGRAPH_ASSIGN_OR_RETURN(const auto parts, split(text, "--set"));
    GFXGRAPH_ASSIGN_OR_RETURN(const size_t index, find_parameter(parameters, parts.first));
    GFXGRAPH_ASSIGN_OR_RETURN(settings[index], parse_setting(text, parts.second));
  }
  GFXGRAPH_ASSIGN_OR_RETURN(const std::vector<BufferFile> inputs,
                            buffer_files(program, request.inputs, "--input"));
  GFXGRAPH_ASSIGN_OR_RETURN(const std::vector<BufferFile> outputs,
                            buffer_files(program, request.outputs, "--output"));
  Memory& memory = step.instance().memory();
  GFXGRAPH_TRY(step.restore());
  for (const BufferFile& input : inputs) {
    GFXGRAPH_TRY(refuse_overwritten(program, input.buffer));
    GFXGRAPH_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes, read_file(input.path));
    GFXGRAPH_TRY(memory.write(input.buffer, 0, bytes));
  }
  for (uint64_t n = 0; n < request.iterations; ++n) {
    for (size_t i = 0; i < parameters.size(); ++i) {
      const PlaceValue value = value_of(parameters[i], settings[i], n);
      if (n != 0 && value == value_of(parameters[i], settings[i], n - 1)) continue;
      for (const PlaceTarget& target : parameters[i].targets) {
        Result<void> set = step.set_place(target, value);
        if (!set) {
          return with_context(std::move(set).error(),
                              fmt::format("iteration {}: {}", n, parameters[i].name));
        }
      }
    }
    GFXGRAPH_TRY(step.run());
    GFXGRAPH_TRY(step.wait());
  }
  for (const BufferFile& output : outputs) {
    std::vector<std::byte> bytes(program.allocations()[output.buffer - 1].begin->size_bytes);
    GFXGRAPH_TRY(memory.read(output.buffer, 0, bytes));
    GFXGRAPH_TRY(write_file_atomic(output.path, bytes));
  }
  return {};
}

std::string list_text(const Program& program, const std::vector<StepParameter>& parameters) {
  std::string text = format_printable("parameters: {}\n", parameters.size());
  for (size_t i = 0; i < parameters.size(); ++i) {
    const StepParameter& one = parameters[i];
    const PlaceValue& value = one.values[one.iteration];
    text += format_printable("  #{} {}: {}", i, one.name, ranges::pattern_name(one.match.pattern));
    if (one.match.pattern == ranges::Pattern::kStep)
      text += format_printable(" {:+}", one.match.step);
    if (one.match.pattern == ranges::Pattern::kSwap)
      text += format_printable(" of {}", one.match.period);
    text += value.allocation == 0
                ? format_printable(", {} here", value.number)
                : format_printable(", buffer #{} + {} here", value.allocation, value.number);
    text += format_printable(", in {} places\n", one.targets.size());
  }
  text += "buffers:\n";
  for (const AllocationInfo& info : program.allocations()) {
    if (!program.holds(info)) continue;
    text += format_printable("  #{} {}{} bytes\n", info.begin->id,
                             info.name.empty() ? "" : info.name + ": ", info.begin->size_bytes);
  }
  return text;
}

}  // namespace gfxgraph::replayer
