#include <fmt/format.h>
#include <llvm/BinaryFormat/MsgPackDocument.h>
#include <llvm/BinaryFormat/MsgPackReader.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <set>

#include "base/checked.h"
#include "codeobj/metadata_internal.h"

namespace gfxgraph::codeobj::internal {
namespace {

constexpr size_t kMaxNesting = 16;
constexpr uint64_t kMaxKernargBytes = 1 << 20;
constexpr uint64_t kMaxRegisters = 1024;
constexpr uint64_t kMaxWorkgroupItems = 1 << 16;

using llvm::msgpack::DocNode;
using llvm::msgpack::Document;
using llvm::msgpack::Type;

llvm::StringRef text_of(std::span<const std::byte> note) {
  return {reinterpret_cast<const char*>(note.data()), note.size()};
}

// Checks what llvm::msgpack::Document assumes: keys are scalars (its comparison of other types is
// undefined behaviour; here keys must be strings), containers are as long as declared, and nesting
// depth is bounded. Also returns an error message, which Document does not.
Result<void> check_note(std::span<const std::byte> note) {
  struct Level {
    uint64_t left;  // tokens, keys included
    bool map;
  };
  llvm::msgpack::Reader reader(text_of(note));
  std::vector<Level> levels = {{1, false}};
  uint64_t promised = 0;  // tokens; each takes at least one byte
  while (!levels.empty()) {
    Level& level = levels.back();
    if (level.left == 0) {
      levels.pop_back();
      continue;
    }
    llvm::msgpack::Object token;
    llvm::Expected<bool> more = reader.read(token);
    if (!more) {
      return fail(Status::kCorrupt, "metadata note: " + llvm::toString(more.takeError()));
    }
    if (!*more) return fail(Status::kTruncated, "metadata note: ends inside a value");
    if (level.map && level.left % 2 == 0 && token.Kind != Type::String) {
      return fail(Status::kCorrupt, "metadata note: a map key is not a string");
    }
    --level.left;
    if (token.Kind != Type::Map && token.Kind != Type::Array) continue;
    const bool map = token.Kind == Type::Map;
    const uint64_t tokens = uint64_t{token.Length} * (map ? 2 : 1);
    promised += tokens;
    if (token.Length > note.size() || promised > note.size()) {
      return fail(Status::kCorrupt, fmt::format("metadata note: a container of {} elements in {} "
                                                "bytes",
                                                token.Length, note.size()));
    }
    if (levels.size() > kMaxNesting) {
      return fail(Status::kCorrupt, "metadata note: nested too deeply");
    }
    levels.push_back({tokens, map});
  }
  return {};
}

std::optional<DocNode> find(DocNode map, std::string_view key) {
  if (!map.isMap()) return std::nullopt;
  const auto found = map.getMap().find(llvm::StringRef(key.data(), key.size()));
  if (found == map.getMap().end()) return std::nullopt;
  return found->second;
}

// Reads the fields of one map; `where` names it in errors.
struct Fields {
  DocNode map;
  std::string where;

  Result<std::string> text(std::string_view key, bool required) const {
    const std::optional<DocNode> value = find(map, key);
    if (!value && !required) return std::string();
    if (!value || !value->isString()) {
      return fail(Status::kCorrupt, fmt::format("{}: field {} is {}", where, key,
                                                value ? "not a string" : "missing"));
    }
    return value->getString().str();
  }

  Result<uint32_t> number(std::string_view key, bool required, uint64_t limit) const {
    const std::optional<DocNode> value = find(map, key);
    if (!value && !required) return 0U;
    const Type kind = value ? value->getKind() : Type::Nil;
    if (kind != Type::Int && kind != Type::UInt && kind != Type::Boolean) {
      return fail(Status::kCorrupt, fmt::format("{}: field {} is {}", where, key,
                                                value ? "not a number" : "missing"));
    }
    const bool negative = kind == Type::Int && value->getInt() < 0;
    const uint64_t number = kind == Type::Boolean ? (value->getBool() ? 1 : 0)
                            : kind == Type::Int   ? static_cast<uint64_t>(value->getInt())
                                                  : value->getUInt();
    if (negative || number > limit) {
      return fail(Status::kCorrupt, fmt::format("{}: field {} is {}, more than the limit of {}",
                                                where, key, number, limit));
    }
    return static_cast<uint32_t>(number);
  }
};

Result<void> read_arguments(const DocNode& map, Kernel& kernel) {
  const std::string where = "kernel " + kernel.name;
  std::optional<DocNode> list = find(map, ".args");
  if (!list) return {};
  if (!list->isArray()) {
    return fail(Status::kCorrupt, where + ": field .args is not an array");
  }
  for (size_t i = 0; i < list->getArray().size(); ++i) {
    const Fields fields{list->getArray()[i], fmt::format("{}: argument {}", where, i)};
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
    constexpr uint32_t kPointerBytes = 8;
    if (argument.value_kind == "global_buffer" && argument.size_bytes != kPointerBytes) {
      return fail(Status::kCorrupt, fmt::format("{}: field .size is {}, a global_buffer has {}",
                                                fields.where, argument.size_bytes, kPointerBytes));
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

Result<Kernel> read_kernel(const DocNode& map, size_t index) {
  Fields fields{map, fmt::format("amdhsa.kernels[{}]", index)};
  if (!map.isMap()) return fail(Status::kCorrupt, fields.where + " is not a map");
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
  if (kernel.max_flat_workgroup_size == 0 && find(map, ".max_flat_workgroup_size")) {
    return fail(Status::kCorrupt, fields.where + ": field .max_flat_workgroup_size is 0");
  }
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
                fmt::format("{}: field .kernarg_segment_align is {}, not a power of two",
                            fields.where, kernel.kernarg_align_bytes));
  }
  GFXGRAPH_TRY(read_arguments(map, kernel));
  return kernel;
}

Result<FixedSizes> read_sizes(const DocNode& map, const std::string& kernel) {
  const Fields fields{map, "kernel " + kernel};
  FixedSizes sizes;
  if (find(map, ".group_segment_fixed_size")) {
    GFXGRAPH_ASSIGN_OR_RETURN(sizes.group_segment_bytes,
                              fields.number(".group_segment_fixed_size", true, UINT32_MAX));
  }
  if (find(map, ".private_segment_fixed_size")) {
    GFXGRAPH_ASSIGN_OR_RETURN(sizes.private_segment_bytes,
                              fields.number(".private_segment_fixed_size", true, UINT32_MAX));
  }
  return sizes;
}

Result<void> check_version(const DocNode& root) {
  std::optional<DocNode> version = find(root, "amdhsa.version");
  if (!version || !version->isArray() || version->getArray().size() != 2) {
    return fail(Status::kCorrupt, "metadata note: field amdhsa.version is missing or not a pair");
  }
  DocNode major = version->getArray()[0];
  if (major.getKind() == Type::UInt && major.getUInt() == 1) return {};
  if (major.getKind() == Type::Int && major.getInt() == 1) return {};
  return fail(Status::kUnsupported, fmt::format("metadata note: amdhsa.version {} is not known; "
                                                "this build reads 1.x",
                                                major.isScalar() ? major.toString() : "?"));
}

// Adds the note's kernels to `metadata`; `names` contains the kernels of earlier notes.
Result<void> read_note(std::span<const std::byte> note, Metadata& metadata,
                       std::set<std::string>& names) {
  GFXGRAPH_TRY(check_note(note));
  Document document;
  if (!document.readFromBlob(text_of(note), false)) {
    return fail(Status::kCorrupt, "metadata note: a duplicate key in a map, or an extension value");
  }
  DocNode root = document.getRoot();
  if (!root.isMap()) return fail(Status::kCorrupt, "metadata note: not a map");
  GFXGRAPH_TRY(check_version(root));
  GFXGRAPH_ASSIGN_OR_RETURN(std::string target,
                            (Fields{root, "metadata note"}.text("amdhsa.target", false)));
  if (metadata.target.empty()) metadata.target = target;
  if (metadata.target != target) {
    return fail(Status::kCorrupt,
                fmt::format("metadata notes: field amdhsa.target is {} in one and {} in another",
                            metadata.target, target));
  }
  if (find(root, "amdhsa.printf")) metadata.has_printf_formats = true;
  std::optional<DocNode> kernels = find(root, "amdhsa.kernels");
  if (!kernels) return {};  // an object with variables only
  if (!kernels->isArray()) {
    return fail(Status::kCorrupt, "metadata note: field amdhsa.kernels is not an array");
  }
  for (size_t i = 0; i < kernels->getArray().size(); ++i) {
    GFXGRAPH_ASSIGN_OR_RETURN(Kernel kernel, read_kernel(kernels->getArray()[i], i));
    if (!names.insert(kernel.name).second) {
      return fail(Status::kCorrupt, fmt::format("kernel {} is listed twice", kernel.name));
    }
    GFXGRAPH_ASSIGN_OR_RETURN(const FixedSizes sizes,
                              read_sizes(kernels->getArray()[i], kernel.name));
    metadata.sizes.push_back(sizes);
    metadata.kernels.push_back(std::move(kernel));
  }
  return {};
}

}  // namespace

Result<Metadata> parse_metadata(std::span<const std::span<const std::byte>> notes) {
  Metadata metadata;
  std::set<std::string> names;
  for (const std::span<const std::byte> note : notes) {
    GFXGRAPH_TRY(read_note(note, metadata, names));
  }
  return metadata;
}

}  // namespace gfxgraph::codeobj::internal
