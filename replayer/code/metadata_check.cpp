#include "replayer/code/metadata_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/checked.h"

namespace gfxgraph::replayer {
namespace {

constexpr unsigned kMaxDepth = 16;                        // real metadata: 4
constexpr uint64_t kMaxKernargBytes = uint64_t{1} << 20;  // HIP passes 4 KiB of arguments

enum class Kind : uint8_t { kNumber, kText, kArray, kMap, kOther };

struct Value {
  Kind kind = Kind::kOther;
  uint64_t number = 0;  // negative numbers count as very large
  uint64_t count = 0;   // number of elements or pairs
  std::string_view text;
};

// Source: MessagePack specification, "Formats".
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  bool at_end() const { return bytes_.empty(); }

  // The head of a value: of an array or map, its elements follow.
  std::optional<Value> next() {
    const std::optional<uint64_t> tag = take_number(1);
    if (!tag) return std::nullopt;
    const uint64_t first = *tag;
    if (first < 0x80) return number(first);
    if (first < 0x90) return group(Kind::kMap, first & 15);
    if (first < 0xa0) return group(Kind::kArray, first & 15);
    if (first < 0xc0) return text(first & 31);
    if (first >= 0xe0) return number(UINT64_MAX);
    switch (first) {
      case 0xc0:  // nil, false, true
      case 0xc2:
      case 0xc3: return Value{};
      case 0xc4: return skip(take_number(1));  // bytes
      case 0xc5: return skip(take_number(2));
      case 0xc6: return skip(take_number(4));
      case 0xca: return skip(4);  // float, double
      case 0xcb: return skip(8);
      case 0xcc: return number(take_number(1));
      case 0xcd: return number(take_number(2));
      case 0xce: return number(take_number(4));
      case 0xcf: return number(take_number(8));
      case 0xd0: return signed_number(1);
      case 0xd1: return signed_number(2);
      case 0xd2: return signed_number(4);
      case 0xd3: return signed_number(8);
      case 0xd9: return text(take_number(1));
      case 0xda: return text(take_number(2));
      case 0xdb: return text(take_number(4));
      case 0xdc: return group(Kind::kArray, take_number(2));
      case 0xdd: return group(Kind::kArray, take_number(4));
      case 0xde: return group(Kind::kMap, take_number(2));
      case 0xdf: return group(Kind::kMap, take_number(4));
      default: return std::nullopt;  // extensions and unassigned formats
    }
  }

  // Skips everything that follows the head of `value`.
  bool skip_rest(const Value& value, unsigned depth = 0) {
    if (value.kind != Kind::kArray && value.kind != Kind::kMap) return true;
    if (depth >= kMaxDepth) return false;
    const uint64_t elements = value.kind == Kind::kMap ? 2 * value.count : value.count;
    for (uint64_t n = 0; n < elements; ++n) {
      const std::optional<Value> element = next();
      if (!element || !skip_rest(*element, depth + 1)) return false;
    }
    return true;
  }

 private:
  std::optional<uint64_t> take_number(size_t size) {
    if (bytes_.size() < size) return std::nullopt;
    uint64_t value = 0;
    for (size_t n = 0; n < size; ++n) value = value << 8 | std::to_integer<uint64_t>(bytes_[n]);
    bytes_ = bytes_.subspan(size);
    return value;
  }
  std::optional<Value> number(std::optional<uint64_t> value) {
    if (!value) return std::nullopt;
    return Value{Kind::kNumber, *value, 0, {}};
  }
  std::optional<Value> signed_number(size_t size) {
    const std::optional<uint64_t> value = take_number(size);
    if (!value) return std::nullopt;
    return number(*value >> (8 * size - 1) != 0 ? UINT64_MAX : *value);
  }
  std::optional<Value> text(std::optional<uint64_t> size) {
    if (!size || *size > bytes_.size()) return std::nullopt;
    const std::string_view all(reinterpret_cast<const char*>(bytes_.data()), *size);
    bytes_ = bytes_.subspan(*size);
    return Value{Kind::kText, 0, 0, all};
  }
  std::optional<Value> skip(std::optional<uint64_t> size) {
    std::optional<Value> value = text(size);
    if (value) *value = Value{};
    return value;
  }
  // Each element takes at least one byte.
  std::optional<Value> group(Kind kind, std::optional<uint64_t> count) {
    if (!count || *count * (kind == Kind::kMap ? 2 : 1) > bytes_.size()) return std::nullopt;
    return Value{kind, 0, *count, {}};
  }

  std::span<const std::byte> bytes_;
};

tl::unexpected<Error> refuse_metadata(const std::string& what) {
  return fail(Status::kCorrupt, "not a code object: metadata: " + what);
}
tl::unexpected<Error> malformed() { return refuse_metadata("malformed MessagePack"); }

// Calls `visit` with each key of a map and the head of its value; `visit` must read the rest.
template <typename Visit>
Result<void> for_each_pair(Reader& reader, const Value& map, const Visit& visit) {
  for (uint64_t n = 0; n < map.count; ++n) {
    const std::optional<Value> key = reader.next();
    if (!key) return malformed();
    if (key->kind != Kind::kText) return refuse_metadata("a key is not a string");
    const std::optional<Value> value = reader.next();
    if (!value) return malformed();
    GFXGRAPH_TRY(visit(key->text, *value));
  }
  return {};
}

Result<void> skip_rest(Reader& reader, const Value& value) {
  if (!reader.skip_rest(value)) return malformed();
  return {};
}

Result<uint64_t> number_of(std::string_view key, const Value& value) {
  if (value.kind == Kind::kNumber && value.number <= UINT32_MAX) return value.number;
  return refuse_metadata(fmt::format("{} is not a 32-bit number", key));
}

// Where the argument ends in the kernarg segment.
Result<uint64_t> check_argument(Reader& reader, const Value& argument) {
  if (argument.kind != Kind::kMap) return refuse_metadata("an argument is not a map");
  uint64_t end = 0;
  const Result<void> read = for_each_pair(
      reader, argument, [&](std::string_view key, const Value& value) -> Result<void> {
        if (key != ".offset" && key != ".size") return skip_rest(reader, value);
        GFXGRAPH_ASSIGN_OR_RETURN(const uint64_t bytes, number_of(key, value));
        end += bytes;
        return {};
      });
  if (!read) return tl::unexpected<Error>(read.error());
  return end;
}

Result<void> check_kernel(Reader& reader, const Value& kernel) {
  if (kernel.kind != Kind::kMap) return refuse_metadata("a kernel is not a map");
  uint64_t segment = 0;
  uint64_t end = 0;
  const Result<void> read =
      for_each_pair(reader, kernel, [&](std::string_view key, const Value& value) -> Result<void> {
        if (key == ".name" || key == ".symbol") {
          if (value.kind == Kind::kText && value.text.find('\0') == std::string_view::npos)
            return {};
          return refuse_metadata(fmt::format("{} of a kernel is not a name", key));
        }
        if (key == ".kernarg_segment_size") {
          GFXGRAPH_ASSIGN_OR_RETURN(segment, number_of(key, value));
          return {};
        }
        if (key != ".args") return skip_rest(reader, value);
        if (value.kind != Kind::kArray)
          return refuse_metadata("the arguments of a kernel are not a list");
        for (uint64_t n = 0; n < value.count; ++n) {
          const std::optional<Value> argument = reader.next();
          if (!argument) return malformed();
          GFXGRAPH_ASSIGN_OR_RETURN(const uint64_t argument_end, check_argument(reader, *argument));
          end = std::max(end, argument_end);
        }
        return {};
      });
  if (!read) return tl::unexpected<Error>(read.error());
  if (segment > kMaxKernargBytes)
    return refuse_metadata(fmt::format("{} bytes of arguments", segment));
  if (end <= segment) return {};
  return refuse_metadata(
      fmt::format("an argument ends at byte {} of a kernarg segment of {}", end, segment));
}

}  // namespace

Result<void> check_metadata(std::span<const std::byte> note) {
  Reader reader(note);
  const std::optional<Value> root = reader.next();
  if (!root) return malformed();
  if (root->kind != Kind::kMap) return refuse_metadata("it is not a map");
  const Result<void> read =
      for_each_pair(reader, *root, [&](std::string_view key, const Value& value) -> Result<void> {
        if (key != "amdhsa.kernels") return skip_rest(reader, value);
        if (value.kind != Kind::kArray) return refuse_metadata("the kernels are not a list");
        for (uint64_t n = 0; n < value.count; ++n) {
          const std::optional<Value> kernel = reader.next();
          if (!kernel) return malformed();
          GFXGRAPH_TRY(check_kernel(reader, *kernel));
        }
        return {};
      });
  if (!read) return tl::unexpected<Error>(read.error());
  if (!reader.at_end()) return refuse_metadata("bytes follow it");
  return {};
}

}  // namespace gfxgraph::replayer
