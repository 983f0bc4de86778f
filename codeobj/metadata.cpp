#include <fmt/format.h>
#include <llvm/BinaryFormat/MsgPackReader.h>

#include <algorithm>
#include <bit>
#include <set>

#include "base/checked.h"
#include "codeobj/metadata_internal.h"

namespace gfxgraph::codeobj::internal {
namespace {

constexpr unsigned kMaxDepth = 16;
// A kernel needs about 30 nodes and an argument about 12: room for 300,000 kernels.
constexpr uint64_t kMaxNodes = uint64_t{1} << 24;
constexpr uint64_t kMaxKernargBytes = 1 << 20;
constexpr uint64_t kMaxRegisters = 1024;
constexpr uint64_t kMaxWorkgroupItems = 1 << 16;

// One MessagePack value. Texts point into the note.
struct Field;
struct Value {
  enum class Kind { kNothing, kInteger, kBoolean, kText, kArray, kMap } kind = Kind::kNothing;
  uint64_t integer = 0;
  bool negative = false;
  std::string_view text;
  std::vector<Value> elements;  // kArray
  std::vector<Field> fields;    // kMap

  const Value* find(std::string_view key) const;
};

struct Field {
  std::string_view name;
  Value value;
};

const Value* Value::find(std::string_view key) const {
  for (const Field& field : fields) {
    if (field.name == key) return &field.value;
  }
  return nullptr;
}

class TreeReader {
 public:
  explicit TreeReader(std::span<const std::byte> note)
      : bytes_(note.size()),
        reader_(llvm::StringRef(reinterpret_cast<const char*>(note.data()), note.size())) {}

  Result<Value> read() { return read_value(0); }

 private:
  Result<llvm::msgpack::Object> read_token() {
    if (++nodes_ > kMaxNodes) return fail(Status::kCorrupt, "metadata note: too many values");
    llvm::msgpack::Object token;
    llvm::Expected<bool> more = reader_.read(token);
    if (!more) {
      return fail(Status::kCorrupt, "metadata note: " + llvm::toString(more.takeError()));
    }
    if (!*more) return fail(Status::kTruncated, "metadata note: ends inside a value");
    return token;
  }

  Result<Value> read_value(unsigned depth) {
    if (depth > kMaxDepth) return fail(Status::kCorrupt, "metadata note: nested too deeply");
    GFXGRAPH_ASSIGN_OR_RETURN(const llvm::msgpack::Object token, read_token());
    Value value;
    switch (token.Kind) {
      case llvm::msgpack::Type::Int:
        value.kind = Value::Kind::kInteger;
        value.integer = static_cast<uint64_t>(token.Int);
        value.negative = token.Int < 0;
        return value;
      case llvm::msgpack::Type::UInt:
        value.kind = Value::Kind::kInteger;
        value.integer = token.UInt;
        return value;
      case llvm::msgpack::Type::Boolean:
        value.kind = Value::Kind::kBoolean;
        value.integer = token.Bool ? 1 : 0;
        return value;
      case llvm::msgpack::Type::String:
        value.kind = Value::Kind::kText;
        value.text = {token.Raw.data(), token.Raw.size()};
        return value;
      case llvm::msgpack::Type::Array: return read_array(token.Length, depth);
      case llvm::msgpack::Type::Map: return read_map(token.Length, depth);
      default: return value;  // nil, floats and binary appear in no field that is read
    }
  }

  Result<Value> read_array(size_t length, unsigned depth) {
    GFXGRAPH_TRY(check_length(length));
    Value value;
    value.kind = Value::Kind::kArray;
    for (size_t i = 0; i < length; ++i) {
      GFXGRAPH_ASSIGN_OR_RETURN(Value element, read_value(depth + 1));
      value.elements.push_back(std::move(element));
    }
    return value;
  }

  Result<Value> read_map(size_t length, unsigned depth) {
    GFXGRAPH_TRY(check_length(length));
    Value value;
    value.kind = Value::Kind::kMap;
    for (size_t i = 0; i < length; ++i) {
      GFXGRAPH_ASSIGN_OR_RETURN(const llvm::msgpack::Object key, read_token());
      if (key.Kind != llvm::msgpack::Type::String) {
        return fail(Status::kCorrupt, "metadata note: a map key is no string");
      }
      GFXGRAPH_ASSIGN_OR_RETURN(Value element, read_value(depth + 1));
      value.fields.push_back(
          {std::string_view(key.Raw.data(), key.Raw.size()), std::move(element)});
    }
    return value;
  }

  // Each element takes a byte at least.
  Result<void> check_length(size_t length) const {
    if (length <= bytes_) return {};
    return fail(
        Status::kCorrupt,
        fmt::format("metadata note: a container of {} elements in {} bytes", length, bytes_));
  }

  size_t bytes_;
  llvm::msgpack::Reader reader_;
  uint64_t nodes_ = 0;
};

// Reads the fields of one map; `where` names it in errors.
struct Fields {
  const Value& map;
  std::string where;

  Result<std::string> text(std::string_view key, bool required) const {
    const Value* const value = map.find(key);
    if (value == nullptr && !required) return std::string();
    if (value == nullptr || value->kind != Value::Kind::kText) {
      return fail(Status::kCorrupt, fmt::format("{}: field {} is {}", where, key,
                                                value == nullptr ? "missing" : "no string"));
    }
    return std::string(value->text);
  }

  Result<uint32_t> number(std::string_view key, bool required, uint64_t limit) const {
    const Value* const value = map.find(key);
    if (value == nullptr && !required) return 0U;
    if (value == nullptr ||
        (value->kind != Value::Kind::kInteger && value->kind != Value::Kind::kBoolean)) {
      return fail(Status::kCorrupt, fmt::format("{}: field {} is {}", where, key,
                                                value == nullptr ? "missing" : "no number"));
    }
    if (value->negative || value->integer > limit) {
      return fail(Status::kCorrupt, fmt::format("{}: field {} is {}, more than the limit of {}",
                                                where, key, value->integer, limit));
    }
    return static_cast<uint32_t>(value->integer);
  }
};

Result<void> read_arguments(const Value& map, Kernel& kernel) {
  const std::string where = "kernel " + kernel.name;
  const Value* const list = map.find(".args");
  if (list == nullptr) return {};
  if (list->kind != Value::Kind::kArray) {
    return fail(Status::kCorrupt, where + ": field .args is no array");
  }
  for (size_t i = 0; i < list->elements.size(); ++i) {
    const Fields fields{list->elements[i], fmt::format("{}: argument {}", where, i)};
    Argument argument;
    GFXGRAPH_ASSIGN_OR_RETURN(argument.name, fields.text(".name", false));
    GFXGRAPH_ASSIGN_OR_RETURN(argument.value_kind, fields.text(".value_kind", true));
    GFXGRAPH_ASSIGN_OR_RETURN(argument.offset_bytes,
                              fields.number(".offset", true, kMaxKernargBytes));
    GFXGRAPH_ASSIGN_OR_RETURN(argument.size_bytes, fields.number(".size", true, kMaxKernargBytes));
    if (!range_fits(argument.offset_bytes, argument.size_bytes, kernel.kernarg_size_bytes)) {
      return fail(Status::kCorrupt, fmt::format("{}: field .offset {} and .size {} reach past "
                                                ".kernarg_segment_size {}",
                                                fields.where, argument.offset_bytes,
                                                argument.size_bytes, kernel.kernarg_size_bytes));
    }
    kernel.arguments.push_back(std::move(argument));
  }
  std::stable_sort(
      kernel.arguments.begin(), kernel.arguments.end(),
      [](const Argument& a, const Argument& b) { return a.offset_bytes < b.offset_bytes; });
  uint32_t end = 0;
  for (const Argument& argument : kernel.arguments) {
    if (argument.offset_bytes < end) {
      return fail(Status::kCorrupt,
                  fmt::format("{}: the argument {} at .offset {} overlaps the "
                              "one before it, which ends at {}",
                              where, argument.value_kind, argument.offset_bytes, end));
    }
    end = argument.offset_bytes + argument.size_bytes;
  }
  return {};
}

Result<Kernel> read_kernel(const Value& map, size_t index) {
  Fields fields{map, fmt::format("amdhsa.kernels[{}]", index)};
  if (map.kind != Value::Kind::kMap) return fail(Status::kCorrupt, fields.where + " is no map");
  Kernel kernel;
  GFXGRAPH_ASSIGN_OR_RETURN(kernel.name, fields.text(".name", true));
  fields.where = "kernel " + kernel.name;
  GFXGRAPH_ASSIGN_OR_RETURN(kernel.symbol, fields.text(".symbol", true));
  GFXGRAPH_ASSIGN_OR_RETURN(kernel.kernarg_size_bytes,
                            fields.number(".kernarg_segment_size", true, kMaxKernargBytes));
  GFXGRAPH_ASSIGN_OR_RETURN(kernel.kernarg_align_bytes,
                            fields.number(".kernarg_segment_align", true, 1 << 16));
  GFXGRAPH_ASSIGN_OR_RETURN(kernel.max_flat_workgroup_size,
                            fields.number(".max_flat_workgroup_size", false, kMaxWorkgroupItems));
  GFXGRAPH_ASSIGN_OR_RETURN(kernel.sgpr_count, fields.number(".sgpr_count", false, kMaxRegisters));
  GFXGRAPH_ASSIGN_OR_RETURN(kernel.vgpr_count, fields.number(".vgpr_count", false, kMaxRegisters));
  GFXGRAPH_ASSIGN_OR_RETURN(kernel.wavefront_size, fields.number(".wavefront_size", true, 64));
  GFXGRAPH_ASSIGN_OR_RETURN(const uint32_t dynamic_stack,
                            fields.number(".uses_dynamic_stack", false, 1));
  kernel.uses_dynamic_stack = dynamic_stack != 0;
  if (kernel.wavefront_size != 32 && kernel.wavefront_size != 64) {
    return fail(Status::kCorrupt, fmt::format("{}: field .wavefront_size is {}, not 32 or 64",
                                              fields.where, kernel.wavefront_size));
  }
  if (!std::has_single_bit(kernel.kernarg_align_bytes)) {
    return fail(Status::kCorrupt,
                fmt::format("{}: field .kernarg_segment_align is {}, no power of two", fields.where,
                            kernel.kernarg_align_bytes));
  }
  GFXGRAPH_TRY(read_arguments(map, kernel));
  return kernel;
}

Result<void> check_version(const Value& root) {
  const Value* const version = root.find("amdhsa.version");
  if (version == nullptr || version->elements.size() != 2) {
    return fail(Status::kCorrupt, "metadata note: field amdhsa.version is missing or no pair");
  }
  if (version->elements[0].integer != 1) {
    return fail(Status::kUnsupported,
                fmt::format("metadata note: amdhsa.version {} is not known; this build reads 1.x",
                            version->elements[0].integer));
  }
  return {};
}

}  // namespace

Result<Metadata> parse_metadata(std::span<const std::byte> note) {
  TreeReader reader(note);
  GFXGRAPH_ASSIGN_OR_RETURN(const Value root, reader.read());
  if (root.kind != Value::Kind::kMap) return fail(Status::kCorrupt, "metadata note: not a map");
  GFXGRAPH_TRY(check_version(root));
  Metadata metadata;
  GFXGRAPH_ASSIGN_OR_RETURN(metadata.target,
                            (Fields{root, "metadata note"}.text("amdhsa.target", false)));
  const Value* const kernels = root.find("amdhsa.kernels");
  if (kernels == nullptr) return metadata;  // an object with variables only
  if (kernels->kind != Value::Kind::kArray) {
    return fail(Status::kCorrupt, "metadata note: field amdhsa.kernels is no array");
  }
  std::set<std::string> names;
  for (size_t i = 0; i < kernels->elements.size(); ++i) {
    GFXGRAPH_ASSIGN_OR_RETURN(Kernel kernel, read_kernel(kernels->elements[i], i));
    if (!names.insert(kernel.name).second) {
      return fail(Status::kCorrupt, fmt::format("kernel {} is listed twice", kernel.name));
    }
    metadata.kernels.push_back(std::move(kernel));
  }
  return metadata;
}

}  // namespace gfxgraph::codeobj::internal
