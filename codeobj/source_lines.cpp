#include "codeobj/source_lines_internal.h"

#include <llvm/Demangle/Demangle.h>

#include <utility>

#include "codeobj/dwarf_internal.h"
#include "codeobj/inflate_internal.h"

namespace gfxgraph::codeobj::internal {
namespace {

// A section with more debug information than this counts as damaged.
constexpr uint64_t kMaxSectionBytes = uint64_t{4} << 30;
constexpr size_t kMaxMangledBytes = 4096;

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
  const std::lock_guard lock(mutex_);
  if (!state_) {
    state_ = std::make_unique<State>();
    state_->read(file);
  }
  const DwarfRow* const row = state_->lines.find(address);
  if (row == nullptr || row->line == 0) return std::nullopt;
  SourceLocation location;
  location.file = state_->lines.files[row->file];
  location.line = row->line;
  location.column = row->column;
  const std::string_view function = state_->functions.name_at(address);
  // The demangler recurses: names longer than any compiler emits are returned mangled.
  location.function =
      function.size() <= kMaxMangledBytes ? llvm::demangle(function) : std::string(function);
  return location;
}

}  // namespace gfxgraph::codeobj::internal
