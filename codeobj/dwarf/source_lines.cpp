#include "codeobj/dwarf/source_lines_internal.h"

#include <string>
#include <unordered_map>
#include <utility>

#include "base/demangle.h"
#include "codeobj/dwarf/dwarf_internal.h"
#include "codeobj/inflate_internal.h"

namespace gfxgraph::codeobj::internal {
namespace {

// A section with more debug information than this counts as damaged.
constexpr uint64_t kMaxSectionBytes = uint64_t{4} << 30;

// The bytes of an SHF_COMPRESSED section (gABI "Section Compression"), or nothing when damaged.
std::optional<std::vector<std::byte>> decompress_section(std::span<const std::byte> section) {
  if (section.size() < 24) return std::nullopt;
  const uint32_t type = llvm::support::endian::read32le(section.data());
  const uint64_t size = llvm::support::endian::read64le(section.data() + 8);
  if (size > kMaxSectionBytes) return std::nullopt;
  if (type != llvm::ELF::ELFCOMPRESS_ZLIB && type != llvm::ELF::ELFCOMPRESS_ZSTD) {
    return std::nullopt;
  }
  const Compression method =
      type == llvm::ELF::ELFCOMPRESS_ZLIB ? Compression::kZlib : Compression::kZstd;
  Result<Inflated> inflated = inflate_frame(section.subspan(24), method, size);
  if (!inflated) return std::nullopt;
  return std::move(inflated->bytes);
}

ByteSpan* member_for(DwarfSections& sections, std::string_view name) {
  const std::pair<std::string_view, ByteSpan*> members[] = {
      {".debug_info", &sections.info},         {".debug_abbrev", &sections.abbrev},
      {".debug_line", &sections.line},         {".debug_str", &sections.str},
      {".debug_line_str", &sections.line_str}, {".debug_str_offsets", &sections.str_offsets},
      {".debug_addr", &sections.addr},         {".debug_ranges", &sections.ranges},
      {".debug_rnglists", &sections.rnglists}};
  for (const auto& [member_name, member] : members) {
    if (member_name == name) return member;
  }
  return nullptr;
}

}  // namespace

struct SourceLines::State {
  std::vector<std::vector<std::byte>> decompressed;
  DwarfSections sections;
  DwarfFunctions functions;
  DwarfLines lines;
  // Some names take a process to demangle (base/demangle.h). Kept up to kMaxReadableBytes.
  std::unordered_map<std::string_view, std::string> readable_names;
  size_t readable_bytes = 0;

  std::string readable(std::string_view name) {
    constexpr size_t kMaxReadableBytes = 1 << 20;
    if (!name.starts_with("_Z")) return std::string(name);
    if (const auto known = readable_names.find(name); known != readable_names.end())
      return known->second;
    std::string text = demangle(std::string(name));
    readable_bytes += text.size();
    if (readable_bytes <= kMaxReadableBytes) readable_names.emplace(name, text);
    return text;
  }

  void read(std::span<const std::byte> file) {
    const Result<ElfImage> image = ElfImage::open(file);
    if (!image) return;
    for (const ElfImage::NamedSection& section : image->sections_with_prefix(".debug_")) {
      ByteSpan* const member = member_for(sections, section.name);
      if (member == nullptr) continue;
      *member = section.bytes;
      if (!section.compressed) continue;
      *member = {};
      std::optional<std::vector<std::byte>> plain = decompress_section(section.bytes);
      if (!plain) continue;
      decompressed.push_back(std::move(*plain));
      *member = decompressed.back();
    }
    functions = read_dwarf_functions(sections);
    lines = read_dwarf_lines(sections, functions.directories);
  }
};

SourceLines::SourceLines() = default;
SourceLines::~SourceLines() = default;

std::optional<SourceLocation> SourceLines::find(std::span<const std::byte> file,
                                                uint64_t address) const {
  std::vector<SourceLocation> stack = find_stack(file, address, 1);
  if (stack.empty()) return std::nullopt;
  return std::move(stack.front());
}

std::vector<SourceLocation> SourceLines::find_stack(std::span<const std::byte> file,
                                                    uint64_t address, size_t most_frames) const {
  const std::lock_guard lock(mutex_);
  if (!state_) {
    state_ = std::make_unique<State>();
    state_->read(file);
  }
  const DwarfRow* const row = state_->lines.find(address);
  if (row == nullptr || row->line == 0) return {};
  std::vector<SourceLocation> stack(1);
  stack.front().file = state_->lines.files[row->file];
  stack.front().line = row->line;
  stack.front().column = row->column;
  const DwarfFunctions& functions = state_->functions;
  const std::vector<const DwarfRange*> frames = functions.frames_at(address, most_frames);
  for (size_t n = 0; n < frames.size(); ++n) {
    if (n != 0) {
      SourceLocation& caller = stack.emplace_back();
      const DwarfCall& call = functions.calls.at(frames[n - 1]->entry);
      const std::string* const path = state_->lines.file_of(call.line_table, call.file);
      if (path != nullptr && call.line != 0) {
        caller.file = *path;
        caller.line = call.line;
        caller.column = call.column;
      }
    }
    stack.back().function = state_->readable(functions.name_of(*frames[n]));
  }
  return stack;
}

}  // namespace gfxgraph::codeobj::internal
