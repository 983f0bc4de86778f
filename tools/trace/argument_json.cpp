#include "tools/trace/argument_json.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <span>
#include <string>

namespace gfxgraph::tools {
namespace {

template <typename Value>
Value read(std::span<const uint8_t> bytes) {
  Value value{};
  std::memcpy(&value, bytes.data(), sizeof(value));
  return value;
}

// " or float 1.5", where few integers have the bits of such a number.
template <typename Float>
std::string float_text(std::span<const uint8_t> bytes, const char* type) {
  const Float value = read<Float>(bytes);
  const Float size = std::abs(value);
  if (!(size >= Float(1e-6) && size <= Float(1e9))) return "";
  return fmt::format(" or {} {}", type, value);
}

std::string value_text(std::span<const uint8_t> bytes) {
  switch (bytes.size()) {
    case 1: return fmt::format("{} (1 byte)", bytes[0]);
    case 2: return fmt::format("{} (2 bytes)", read<int16_t>(bytes));
    case 4: return fmt::format("int {}{}", read<int32_t>(bytes), float_text<float>(bytes, "float"));
    case 8:
      return fmt::format("long {}{}", read<int64_t>(bytes), float_text<double>(bytes, "double"));
    default: break;
  }
  std::string text = fmt::format("{} bytes: ", bytes.size());
  for (const uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

std::string pointer_text(const format::Relocation& word) {
  std::string text = fmt::format("buffer #{}", word.allocation);
  if (word.addend > 0) text += fmt::format(" + {}", word.addend);
  if (word.addend < 0) text += fmt::format(" - {}", 0 - static_cast<uint64_t>(word.addend));
  return text + (word.ambiguous ? ", if it is a pointer" : "");
}

}  // namespace

nlohmann::ordered_json launch_arguments_json(const format::Trace& trace,
                                             const format::Launch& launch) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  const std::span<const uint8_t> bytes(launch.kernarg);
  size_t number = 0;
  for (const format::Argument& argument : trace.kernels()[launch.kernel - 1].arguments) {
    if (argument.kind == format::ArgumentKind::kHidden) continue;
    const uint64_t begin = argument.offset_bytes;
    const uint64_t end = begin + argument.size_bytes;
    std::string name = argument.name.empty() ? fmt::format("argument {}", number) : argument.name;
    ++number;
    if (end > bytes.size()) continue;
    std::string text;
    for (const format::Relocation& word : launch.relocations) {
      if (word.offset_bytes < begin || word.offset_bytes >= end) continue;
      if (!text.empty()) text += ", ";
      if (word.offset_bytes != begin) text += fmt::format("at {}: ", word.offset_bytes - begin);
      text += pointer_text(word);
    }
    if (argument.size_bytes != sizeof(uint64_t) || text.empty()) {
      std::string value = value_text(bytes.subspan(begin, argument.size_bytes));
      if (argument.kind == format::ArgumentKind::kGlobalBuffer &&
          argument.size_bytes == sizeof(uint64_t))
        value = fmt::format("{:#x}", read<uint64_t>(bytes.subspan(begin, sizeof(uint64_t))));
      text = text.empty() ? std::move(value) : fmt::format("{}, {}", value, text);
    }
    json[name] = std::move(text);
  }
  return json;
}

}  // namespace gfxgraph::tools
