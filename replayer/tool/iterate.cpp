#include "replayer/tool/iterate.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <span>
#include <utility>

#include "base/amount.h"
#include "base/cli/print.h"
#include "base/file/file.h"
#include "base/file/new_file.h"
#include "replayer/tool/interrupt.h"

namespace gfxgraph::replayer {
namespace {

// The user's setting for a parameter, in place of its recorded pattern.
struct Setting {
  bool step = false;
  int64_t number = 0;
};

// The source or target of a file: a transfer of the step, or a part of a buffer.
struct Stream {
  const Transfer* transfer = nullptr;
  format::AllocationId buffer = 0;
  uint64_t offset_bytes = 0;
  uint64_t size_bytes = 0;  // as the user specified, else to the buffer's end
  std::string path;
  std::vector<std::byte> bytes;
};

Result<std::pair<std::string, std::string>> split(const std::string& text, const char* option) {
  // A parameter's name may contain '=', a number cannot.
  const size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    return fail(Status::kInvalidArgument,
                fmt::format("{} {}: not of the form NAME=VALUE", option, text));
  }
  return std::pair{text.substr(0, equals), text.substr(equals + 1)};
}

// "7", "-5", "0x10": a value; "+1", "+-1": a step.
Result<Setting> parse_setting(const std::string& option, std::string_view text) {
  Setting setting;
  setting.step = text.starts_with('+');
  std::string_view digits = text.substr(setting.step ? 1 : 0);
  const bool negative = digits.starts_with('-');
  if (negative) digits.remove_prefix(1);
  const int base = digits.starts_with("0x") ? 16 : 10;
  if (base == 16) digits.remove_prefix(2);
  uint64_t number = 0;
  const char* const end = digits.data() + digits.size();
  const auto [rest, error] = std::from_chars(digits.data(), end, number, base);
  constexpr uint64_t kMostNegative = uint64_t{1} << 63;
  if (digits.empty() || rest != end || error != std::errc() ||
      (negative && number > kMostNegative)) {
    return fail(Status::kInvalidArgument,
                fmt::format("--set {}: {} is neither a number nor a step (+1, +-1)", option, text));
  }
  setting.number = static_cast<int64_t>(negative ? -number : number);
  return setting;
}

// Removes `mark` and the number after it from the end of `name`, if it ends so.
std::optional<uint64_t> take_number(std::string& name, char mark) {
  const size_t at = name.rfind(mark);
  if (at == std::string::npos) return std::nullopt;
  uint64_t number = 0;
  const char* const end = name.data() + name.size();
  const auto [rest, error] = std::from_chars(name.data() + at + 1, end, number);
  if (rest != end || error != std::errc()) return std::nullopt;
  name.resize(at);
  return number;
}

// By its name, or by its number in the trace, "#3"; with a part of it: "#3+4096:16" are 16 bytes at
// 4096. Names may hold '+' and ':' themselves.
Result<Stream> find_part(const Program& program, const std::string& text) {
  std::string name = text;
  Result<format::AllocationId> found = find_buffer(program, name);
  const auto missing = [&] { return !found && found.error().status == Status::kNotFound; };
  std::optional<uint64_t> offset, size;
  if (missing() && (size = take_number(name, ':'))) found = find_buffer(program, name);
  if (missing() && (offset = take_number(name, '+'))) found = find_buffer(program, name);
  if (missing()) {
    return fail(Status::kNotFound,
                fmt::format("the range has no buffer {}; --list shows all", text));
  }
  if (!found) return tl::unexpected<Error>(std::move(found).error());
  const uint64_t whole = program.allocations()[*found - 1].begin->size_bytes;
  const uint64_t begin = offset.value_or(0);
  if (begin > whole || size.value_or(0) > whole - begin) {
    return fail(Status::kInvalidArgument, fmt::format("{}: the buffer has {} bytes", text, whole));
  }
  return Stream{nullptr, *found, begin, size.value_or(whole - begin), {}, {}};
}

// Transfers take precedence over buffers of the same name: a copy into a buffer would overwrite the
// bytes from a file.
Result<std::vector<Stream>> streams(const Range& range, const std::vector<Transfer>& transfers,
                                    const std::vector<std::string>& texts, const char* option) {
  std::vector<Stream> result;
  for (const std::string& text : texts) {
    GFXGRAPH_ASSIGN_OR_RETURN(auto parts, split(text, option));
    Stream stream;
    const auto found = std::ranges::find(transfers, parts.first, &Transfer::name);
    if (found != transfers.end()) {
      stream.transfer = &*found;
    } else {
      Result<Stream> part = find_part(*range.program, parts.first);
      if (!part) return with_context(std::move(part).error(), option);
      stream = std::move(*part);
    }
    stream.path = std::move(parts.second);
    result.push_back(std::move(stream));
  }
  return result;
}

Result<void> read_input(Stream& input, uint64_t iterations, const Memory& memory) {
  GFXGRAPH_ASSIGN_OR_RETURN(input.bytes, read_file(input.path));
  if (input.transfer == nullptr) {
    if (input.bytes.size() > input.size_bytes) {
      return fail(Status::kInvalidArgument,
                  fmt::format("--input: {} has {} bytes, and {} fit", input.path,
                              input.bytes.size(), input.size_bytes));
    }
    return memory.write(input.buffer, input.offset_bytes, input.bytes);
  }
  const uint64_t size = input.transfer->size_bytes;
  if (input.bytes.size() == size ||
      (input.bytes.size() % size == 0 && input.bytes.size() / size == iterations)) {
    return {};
  }
  return fail(Status::kInvalidArgument,
              fmt::format("--input {}: {} has {} bytes, not {} for all iterations, nor {} for {}",
                          input.transfer->name, input.path, input.bytes.size(), size,
                          size * iterations, iterations));
}

Result<void> give_input(const Stream& input, uint64_t n, Step& step) {
  if (input.transfer == nullptr) return {};
  const uint64_t size = input.transfer->size_bytes;
  const bool once = input.bytes.size() == size;
  if (once && n != 0) return {};
  return step.set_input(*input.transfer,
                        std::span<const std::byte>(input.bytes).subspan(once ? 0 : n * size, size));
}

Result<void> take_output(Stream& output, Step& step) {
  if (output.transfer == nullptr) return {};
  const size_t before = output.bytes.size();
  output.bytes.resize(before + output.transfer->size_bytes);
  return step.read_output(*output.transfer, std::span(output.bytes).subspan(before));
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

Result<uint64_t> iterate(const IterateRequest& request, const Range& range, Step& step,
                         const Progress& progress) {
  const std::vector<StepParameter>& parameters = range.parameters;
  std::vector<std::optional<Setting>> settings(parameters.size());
  for (const std::string& text : request.set) {
    GFXGRAPH_ASSIGN_OR_RETURN(const auto parts, split(text, "--set"));
    Result<uint32_t> index = find_parameter(range, parts.first);
    if (!index) {
      index.error().message += "; --list shows all";
      return with_context(std::move(index).error(), "--set");
    }
    GFXGRAPH_ASSIGN_OR_RETURN(settings[*index], parse_setting(text, parts.second));
  }
  GFXGRAPH_ASSIGN_OR_RETURN(std::vector<Stream> inputs,
                            streams(range, range.inputs, request.inputs, "--input"));
  GFXGRAPH_ASSIGN_OR_RETURN(std::vector<Stream> outputs,
                            streams(range, range.outputs, request.outputs, "--output"));
  Memory& memory = step.instance().memory();
  for (const std::vector<Stream>* const streams : {&inputs, &outputs}) {
    for (const Stream& stream : *streams) {
      if (stream.transfer == nullptr) GFXGRAPH_TRY(memory.check_own(stream.buffer));
    }
  }
  GFXGRAPH_TRY(step.restore());
  for (Stream& input : inputs) GFXGRAPH_TRY(read_input(input, request.iterations, memory));
  const InterruptWatch watch;
  uint64_t n = 0;
  for (; n < request.iterations && !watch.interrupted(); ++n) {
    if (progress.count) progress.count("iteration", n, request.iterations);
    for (size_t i = 0; i < parameters.size(); ++i) {
      const PlaceValue value = value_of(parameters[i], settings[i], n);
      if (n != 0 && value == value_of(parameters[i], settings[i], n - 1)) continue;
      if (Result<void> set = step.values().set(parameters[i], value); !set)
        return with_context(std::move(set).error(), fmt::format("iteration {}", n));
    }
    for (const Stream& input : inputs) GFXGRAPH_TRY(give_input(input, n, step));
    GFXGRAPH_TRY(step.run());
    for (Stream& output : outputs) GFXGRAPH_TRY(take_output(output, step));
  }
  GFXGRAPH_TRY(step.wait());
  for (Stream& output : outputs) {
    if (output.transfer == nullptr) {
      output.bytes.resize(output.size_bytes);
      GFXGRAPH_TRY(memory.read(output.buffer, output.offset_bytes, output.bytes));
    }
    GFXGRAPH_TRY(write_new_file(output.path, FileUse::kMemory, output.bytes));
  }
  return n;
}

std::string list_text(const Range& range) {
  const std::vector<StepParameter>& parameters = range.parameters;
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
    text += format_printable(", in {}\n", counted(one.targets.size(), "place"));
  }
  const auto transfers = [&](const char* title, const std::vector<Transfer>& all) {
    text += format_printable("{}: {}\n", title, all.size());
    for (const Transfer& transfer : all) {
      text += format_printable("  {}: {} bytes, {}\n", transfer.name, transfer.size_bytes,
                               transfer.kind == TransferKind::kCopy ? "copy" : "host write");
    }
  };
  transfers("inputs", range.inputs);
  transfers("outputs", range.outputs);
  text += "buffers:\n";
  for (const AllocationInfo& info : range.program->allocations()) {
    if (!range.program->holds(info)) continue;
    text += format_printable("  #{} {}{} bytes\n", info.begin->id,
                             info.name.empty() ? "" : info.name + ": ", info.begin->size_bytes);
  }
  return text;
}

}  // namespace gfxgraph::replayer
