#include "codeobj/host_program.h"

#include <fmt/format.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <new>
#include <utility>

#include "base/file/file.h"
#include "codeobj/dwarf/source_lines_internal.h"
#include "codeobj/elf_image_internal.h"

namespace gfxgraph::codeobj {
namespace {

class MappedProgram final : public HostProgram {
 public:
  MappedProgram(MappedFile file, internal::ElfImage image)
      : file_(std::move(file)), image_(std::move(image)) {}

  std::string identity() const override {
    std::string text;
    if (const auto ids = image_.notes("GNU", llvm::ELF::NT_GNU_BUILD_ID); ids && !ids->empty()) {
      for (const std::byte byte : ids->front()) {
        text += fmt::format("{:02x}", static_cast<unsigned>(byte));
      }
    } else if (file_.bytes().size() <= kMostHashedBytes) {
      text = fmt::format("xxh3-{:016x}", XXH3_64bits(file_.bytes().data(), file_.bytes().size()));
    }
    return text;
  }

  std::vector<HostFunction> functions_at(std::span<const uint64_t> addresses) const override {
    return image_.host_functions_at(addresses);
  }

  std::optional<SourceLocation> source_location(uint64_t address) const override {
    return lines_.find(file_.bytes(), address);
  }

 private:
  MappedFile file_;
  internal::ElfImage image_;
  internal::SourceLines lines_;
};

}  // namespace

Result<std::shared_ptr<const HostProgram>> HostProgram::open(const std::filesystem::path& path) {
  try {
    GFXGRAPH_ASSIGN_OR_RETURN(MappedFile file, MappedFile::open(path));
    GFXGRAPH_ASSIGN_OR_RETURN(internal::ElfImage image, internal::ElfImage::open(file.bytes()));
    return std::make_shared<const MappedProgram>(std::move(file), std::move(image));
  } catch (const std::bad_alloc&) {
    return fail(Status::kOutOfMemory, fmt::format("{}: out of memory", path.string()));
  }
}

}  // namespace gfxgraph::codeobj
