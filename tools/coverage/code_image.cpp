#include "tools/coverage/code_image.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/checked.h"
#include "base/file/file.h"
#include "codeobj/relocate.h"
#include "emulator/engine/executable.h"

namespace gfxgraph::tools {

Result<CodeImage> CodeImage::load(std::shared_ptr<const codeobj::CodeObject> object) {
  CodeImage image(std::move(object));
  const codeobj::CodeObject& code = *image.object_;
  const uint64_t size = code.load_size_bytes();
  if (size > physical_memory_bytes() / 2) {
    return fail(Status::kCorrupt,
                fmt::format("the code object's segments span {} bytes, more than fits", size));
  }
  image.first_ = code.segments().front().address;
  image.memory_.resize(size);
  image.known_.resize(size / 4 + 1);
  // Symbols that another object defines stand at 0, where there is no code.
  const codeobj::SymbolResolver nowhere = [](const std::string&) { return uint64_t{0}; };
  GFXGRAPH_TRY(codeobj::load_segments(code, image.memory_, 0, nowhere));
  for (const codeobj::DynamicRelocation& relocation : code.relocations()) {
    image.relocated_.insert(relocation.address);
    image.relocated_.insert(relocation.address + 4);
  }
  return image;
}

bool CodeImage::has_code(uint64_t address) const {
  return std::ranges::any_of(object_->segments(), [&](const codeobj::Segment& segment) {
    return segment.executable && address >= segment.address &&
           address - segment.address < segment.memory_bytes;
  });
}

Result<std::shared_ptr<const emulator::RegionTable>> CodeImage::code_regions() const {
  emulator::MemoryMap map;
  for (const codeobj::Segment& segment : object_->segments()) {
    if (!segment.executable || segment.memory_bytes == 0) continue;
    emulator::Region region;
    region.address = segment.address;
    region.requested_bytes = region.mapped_bytes = segment.memory_bytes;
    // A region's bytes are not const, though these are only read.
    region.host = const_cast<std::byte*>(memory_.data()) + (segment.address - first_);
    region.kind = emulator::RegionKind::kCode;
    region.read_only = true;
    GFXGRAPH_TRY(map.add(std::move(region)));
  }
  return map.snapshot();
}

emulator::DecodeStatus CodeImage::decode(uint64_t address, emulator::Inst& inst) const {
  if (address % 4 != 0 || !has_code(address)) return emulator::DecodeStatus::kTruncated;
  std::array<uint32_t, 5> words = {};
  const uint64_t offset = address - first_;
  const size_t available = std::min<uint64_t>(words.size(), (memory_.size() - offset) / 4);
  std::memcpy(words.data(), memory_.data() + offset, available * 4);
  return emulator::decode(words.data(), available, address, inst);
}

bool CodeImage::is_executable(const emulator::Inst& inst) {
  uint8_t& known = known_[(inst.pc - first_) / 4];
  if (known == 0) known = emulator::is_executable(inst) ? 1 : 2;
  return known == 1;
}

std::optional<uint32_t> CodeImage::constant(uint64_t address) const {
  if (address < first_ || !range_fits(address - first_, 4, memory_.size())) return std::nullopt;
  const bool read_only = std::ranges::any_of(object_->segments(), [&](const auto& segment) {
    return !segment.writable && address >= segment.address &&
           range_fits(address - segment.address, 4, segment.memory_bytes);
  });
  if (!read_only && !relocated_.contains(address)) return std::nullopt;
  uint32_t value = 0;
  std::memcpy(&value, memory_.data() + (address - first_), sizeof(value));
  return value;
}

}  // namespace gfxgraph::tools
