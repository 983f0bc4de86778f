#include "codeobj/source_lines_internal.h"

#include <llvm/ADT/StringMap.h>
#include <llvm/DebugInfo/DWARF/DWARFContext.h>
#include <llvm/Demangle/Demangle.h>
#include <llvm/Support/MemoryBuffer.h>

#include "codeobj/inflate_internal.h"

namespace gfxgraph::codeobj::internal {
namespace {

// More debug information than this in one object is taken for damage.
constexpr uint64_t kMaxDebugBytes = uint64_t{4} << 30;

// The bytes of an SHF_COMPRESSED section (gABI "Section Compression"), or nothing when damaged.
std::optional<std::vector<std::byte>> decompress_section(std::span<const std::byte> section) {
  if (section.size() < 24) return std::nullopt;
  const uint32_t type = llvm::support::endian::read32le(section.data());
  const uint64_t size = llvm::support::endian::read64le(section.data() + 8);
  if (size > kMaxDebugBytes) return std::nullopt;
  if (type != llvm::ELF::ELFCOMPRESS_ZLIB && type != llvm::ELF::ELFCOMPRESS_ZSTD) {
    return std::nullopt;
  }
  const Compression method =
      type == llvm::ELF::ELFCOMPRESS_ZLIB ? Compression::kZlib : Compression::kZstd;
  Result<Inflated> inflated = inflate_frame(section.subspan(24), method, size);
  if (!inflated) return std::nullopt;
  return std::move(inflated->bytes);
}

}  // namespace

struct SourceLines::State {
  std::vector<std::vector<std::byte>> decompressed;
  llvm::StringMap<std::unique_ptr<llvm::MemoryBuffer>> sections;
  std::unique_ptr<llvm::DWARFContext> context;

  void add(const ElfImage::NamedSection& section) {
    std::span<const std::byte> bytes = section.bytes;
    if (section.compressed) {
      std::optional<std::vector<std::byte>> plain = decompress_section(bytes);
      if (!plain) return;
      decompressed.push_back(std::move(*plain));
      bytes = decompressed.back();
    }
    // The reader asks for names without the dot, and for no terminating zero.
    sections[section.name.substr(1)] = llvm::MemoryBuffer::getMemBuffer(
        llvm::StringRef(reinterpret_cast<const char*>(bytes.data()), bytes.size()), section.name,
        false);
  }
};

SourceLines::SourceLines() = default;
SourceLines::~SourceLines() = default;

std::optional<SourceLocation> SourceLines::find(const ElfImage& image, uint64_t address) const {
  const std::lock_guard lock(mutex_);
  if (!state_) {
    state_ = std::make_unique<State>();
    for (const ElfImage::NamedSection& section : image.sections_with_prefix(".debug_")) {
      state_->add(section);
    }
    const auto silence = [](llvm::Error error) { llvm::consumeError(std::move(error)); };
    if (state_->sections.count("debug_line") != 0) {
      state_->context = llvm::DWARFContext::create(state_->sections, 8, true, silence, silence);
    }
  }
  if (!state_->context) return std::nullopt;
  llvm::DILineInfoSpecifier specifier(
      llvm::DILineInfoSpecifier::FileLineInfoKind::AbsoluteFilePath,
      llvm::DILineInfoSpecifier::FunctionNameKind::LinkageName);
  const llvm::object::SectionedAddress where{address,
                                             llvm::object::SectionedAddress::UndefSection};
  const llvm::DIInliningInfo frames =
      state_->context->getInliningInfoForAddress(where, specifier);
  if (frames.getNumberOfFrames() == 0) return std::nullopt;
  const llvm::DILineInfo& frame = frames.getFrame(0);  // the innermost
  if (frame.Line == 0 || frame.FileName == llvm::DILineInfo::BadString) return std::nullopt;
  SourceLocation location;
  location.file = frame.FileName;
  location.line = frame.Line;
  location.column = frame.Column;
  if (frame.FunctionName != llvm::DILineInfo::BadString) {
    location.function = llvm::demangle(frame.FunctionName);
  }
  return location;
}

}  // namespace gfxgraph::codeobj::internal
