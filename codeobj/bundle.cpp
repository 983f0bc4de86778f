// Source: clang's ClangOffloadBundler ("Bundled Binary File Layout", "Compressed Bundled Binary
// File Layout" versions 1 to 3).
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <llvm/Support/Endian.h>
#include <llvm/Support/MD5.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "base/checked.h"
#include "base/file/file.h"
#include "base/process/gpu_target.h"
#include "codeobj/code_object.h"
#include "codeobj/elf_image_internal.h"
#include "codeobj/inflate_internal.h"

namespace gfxgraph::codeobj {
namespace {

using internal::Compression;
using internal::Inflated;

constexpr std::string_view kPlainMagic = "__CLANG_OFFLOAD_BUNDLE__";
constexpr std::string_view kCompressedMagic = "CCOB";
constexpr std::string_view kElfMagic = "\177ELF";
constexpr uint64_t kMaxEntries = 4096;
constexpr uint64_t kMaxIdBytes = 4096;
// Limit for one decompressed bundle; the largest ROCm libraries stay below 4 GiB.
constexpr uint64_t kMaxPlainBytes = uint64_t{8} << 30;

// Reads the little-endian fields of a header in order; a missing byte is an error.
class Header {
 public:
  explicit Header(std::span<const std::byte> bytes) : bytes_(bytes) {}

  Result<uint64_t> number(size_t size, const char* what) {
    if (!range_fits(offset_, size, bytes_.size())) {
      return fail(Status::kTruncated,
                  fmt::format("offload bundle: ends at byte {}, inside {}", bytes_.size(), what));
    }
    uint64_t value = 0;
    std::memcpy(&value, bytes_.data() + offset_, size);
    offset_ += size;
    return value;
  }

  Result<std::string> text(uint64_t size, const char* what) {
    if (!range_fits(offset_, size, bytes_.size())) {
      return fail(Status::kTruncated,
                  fmt::format("offload bundle: ends at byte {}, inside {}", bytes_.size(), what));
    }
    std::string value(reinterpret_cast<const char*>(bytes_.data() + offset_), size);
    offset_ += size;
    return value;
  }

  void skip(size_t size) { offset_ += size; }
  uint64_t offset() const { return offset_; }

 private:
  std::span<const std::byte> bytes_;
  uint64_t offset_ = 0;
};

bool starts_with(std::span<const std::byte> bytes, std::string_view magic) {
  return bytes.size() >= magic.size() && std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
}

// ---- plain --------------------------------------------------------------------------------------

struct PlainEntry {
  std::string id;
  uint64_t offset = 0;
  uint64_t size = 0;
};

struct PlainLayout {
  std::vector<PlainEntry> entries;
  uint64_t total_bytes = 0;
};

// Reads and checks the header. The entries it describes need not be readable yet.
Result<PlainLayout> plain_layout(std::span<const std::byte> bytes) {
  Header header(bytes);
  header.skip(kPlainMagic.size());
  GFXGRAPH_ASSIGN_OR_RETURN(const uint64_t count, header.number(8, "its entry count"));
  if (count > kMaxEntries) {
    return fail(
        Status::kCorrupt,
        fmt::format("offload bundle: declares {} entries, the limit is {}", count, kMaxEntries));
  }
  PlainLayout layout;
  for (uint64_t i = 0; i < count; ++i) {
    PlainEntry entry;
    GFXGRAPH_ASSIGN_OR_RETURN(entry.offset, header.number(8, "an entry's offset"));
    GFXGRAPH_ASSIGN_OR_RETURN(entry.size, header.number(8, "an entry's size"));
    GFXGRAPH_ASSIGN_OR_RETURN(const uint64_t id_bytes, header.number(8, "an entry's id size"));
    if (id_bytes > kMaxIdBytes) {
      return fail(Status::kCorrupt,
                  fmt::format("offload bundle: entry {} declares an id of {} bytes", i, id_bytes));
    }
    GFXGRAPH_ASSIGN_OR_RETURN(entry.id, header.text(id_bytes, "an entry's id"));
    const std::optional<uint64_t> end = checked_add(entry.offset, entry.size);
    if (!end) {
      return fail(Status::kCorrupt,
                  fmt::format("offload bundle: entry {}: offset {:#x} + size {:#x} overflows",
                              entry.id, entry.offset, entry.size));
    }
    layout.total_bytes = std::max(layout.total_bytes, *end);
    layout.entries.push_back(std::move(entry));
  }
  layout.total_bytes = std::max(layout.total_bytes, header.offset());
  return layout;
}

std::string target_of_id(const std::string& id) {
  const size_t dash = id.find('-');
  if (dash == std::string::npos || id.starts_with("host")) return "";
  return id.substr(dash + 1);
}

// Appends the entries of the bundle at the start of `bytes` and returns its size.
Result<uint64_t> read_plain(std::span<const std::byte> bytes, std::vector<BundleEntry>& entries) {
  GFXGRAPH_ASSIGN_OR_RETURN(const PlainLayout layout, plain_layout(bytes));
  for (const PlainEntry& found : layout.entries) {
    if (!range_fits(found.offset, found.size, bytes.size())) {
      return fail(Status::kTruncated,
                  fmt::format("offload bundle: entry {} lies at {:#x} + {:#x}, the file has {:#x} "
                              "bytes",
                              found.id, found.offset, found.size, bytes.size()));
    }
    BundleEntry entry;
    entry.id = found.id;
    entry.target = target_of_id(found.id);
    const std::span<const std::byte> content = bytes.subspan(found.offset, found.size);
    entry.bytes.assign(content.begin(), content.end());
    entries.push_back(std::move(entry));
  }
  return layout.total_bytes;
}

// ---- compressed ---------------------------------------------------------------------------------

struct CompressedHeader {
  uint64_t header_bytes = 0;
  uint64_t total_bytes = 0;  // 0: version 1 does not store it
  uint64_t plain_bytes = 0;
  uint64_t hash = 0;  // low half of the MD5 of the plain bytes
  Compression method = Compression::kZlib;
};

Result<CompressedHeader> compressed_header(std::span<const std::byte> bytes) {
  Header header(bytes);
  header.skip(kCompressedMagic.size());
  GFXGRAPH_ASSIGN_OR_RETURN(const uint64_t version, header.number(2, "its version"));
  GFXGRAPH_ASSIGN_OR_RETURN(const uint64_t method, header.number(2, "its compression method"));
  if (version < 1 || version > 3) {
    return fail(
        Status::kUnsupported,
        fmt::format("compressed offload bundle: version {}; this build reads 1 to 3", version));
  }
  if (method > 1) {
    return fail(Status::kUnsupported,
                fmt::format("compressed offload bundle: method {}; this build reads zlib (0) and "
                            "zstd (1)",
                            method));
  }
  CompressedHeader result;
  result.method = method == 0 ? Compression::kZlib : Compression::kZstd;
  const size_t width = version == 3 ? 8 : 4;
  if (version >= 2) {
    GFXGRAPH_ASSIGN_OR_RETURN(result.total_bytes, header.number(width, "its total size"));
  }
  GFXGRAPH_ASSIGN_OR_RETURN(result.plain_bytes, header.number(width, "its uncompressed size"));
  GFXGRAPH_ASSIGN_OR_RETURN(result.hash, header.number(8, "its hash"));
  result.header_bytes = header.offset();
  if (result.plain_bytes > kMaxPlainBytes) {
    return fail(
        Status::kCorrupt,
        fmt::format("compressed offload bundle: declares {} uncompressed bytes, the limit is {}",
                    result.plain_bytes, kMaxPlainBytes));
  }
  if (version >= 2 && result.total_bytes < result.header_bytes) {
    return fail(Status::kCorrupt,
                fmt::format("compressed offload bundle: its total size {} is less "
                            "than its header",
                            result.total_bytes));
  }
  return result;
}

Result<Inflated> inflate_bundle(std::span<const std::byte> bytes, const CompressedHeader& header) {
  uint64_t end = bytes.size();
  if (header.total_bytes != 0) {
    if (header.total_bytes > bytes.size()) {
      return fail(Status::kTruncated,
                  fmt::format("compressed offload bundle: declares {} bytes, has {}",
                              header.total_bytes, bytes.size()));
    }
    end = header.total_bytes;
  }
  return internal::inflate_frame(bytes.subspan(header.header_bytes, end - header.header_bytes),
                                 header.method, header.plain_bytes);
}

Result<uint64_t> read_compressed(std::span<const std::byte> bytes,
                                 std::vector<BundleEntry>& entries) {
  GFXGRAPH_ASSIGN_OR_RETURN(const CompressedHeader header, compressed_header(bytes));
  Result<Inflated> inflated = inflate_bundle(bytes, header);
  if (!inflated) return with_context(std::move(inflated).error(), "compressed offload bundle");
  llvm::MD5 md5;
  md5.update(llvm::ArrayRef<uint8_t>(reinterpret_cast<const uint8_t*>(inflated->bytes.data()),
                                     inflated->bytes.size()));
  llvm::MD5::MD5Result digest;
  md5.final(digest);
  if (digest.low() != header.hash) {
    return fail(Status::kCorrupt,
                "compressed offload bundle: the hash of the uncompressed bytes is wrong");
  }
  if (!starts_with(inflated->bytes, kPlainMagic)) {
    return fail(Status::kCorrupt,
                "compressed offload bundle: the uncompressed bytes are not an offload bundle");
  }
  GFXGRAPH_TRY(read_plain(inflated->bytes, entries));
  return header.total_bytes != 0 ? header.total_bytes
                                 : header.header_bytes + inflated->consumed_bytes;
}

// ---- sizes --------------------------------------------------------------------------------------

Result<uint64_t> elf_size(std::span<const std::byte> bytes) {
  // Computes the file size from the raw headers: section contents need not be valid.
  llvm::object::ELF64LE::Ehdr header;
  if (bytes.size() < sizeof header) return fail(Status::kTruncated, "elf header is cut off");
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.e_ident[llvm::ELF::EI_CLASS] != llvm::ELF::ELFCLASS64) {
    return fail(Status::kUnsupported, "not a 64-bit elf file");
  }
  uint64_t size = sizeof header;
  const auto grow = [&](uint64_t offset, uint64_t length) -> Result<void> {
    const std::optional<uint64_t> end = checked_add(offset, length);
    if (!end || *end > bytes.size()) {
      return fail(Status::kTruncated, fmt::format("elf file: {:#x} + {:#x} reaches past the {} "
                                                  "readable bytes",
                                                  offset, length, bytes.size()));
    }
    size = std::max(size, *end);
    return {};
  };
  const uint64_t section_table_bytes = uint64_t{header.e_shnum} * sizeof(internal::SectionHeader);
  const uint64_t program_table_bytes =
      uint64_t{header.e_phnum} * sizeof(llvm::object::ELF64LE::Phdr);
  GFXGRAPH_TRY(grow(header.e_shoff, section_table_bytes));
  GFXGRAPH_TRY(grow(header.e_phoff, program_table_bytes));
  for (uint64_t i = 0; i < header.e_shnum; ++i) {
    internal::SectionHeader section;
    std::memcpy(&section, bytes.data() + header.e_shoff + i * sizeof section, sizeof section);
    if (section.sh_type == llvm::ELF::SHT_NOBITS) continue;
    GFXGRAPH_TRY(grow(section.sh_offset, section.sh_size));
  }
  for (uint64_t i = 0; i < header.e_phnum; ++i) {
    llvm::object::ELF64LE::Phdr segment;
    std::memcpy(&segment, bytes.data() + header.e_phoff + i * sizeof segment, sizeof segment);
    GFXGRAPH_TRY(grow(segment.p_offset, segment.p_filesz));
  }
  return size;
}

// ---- selection ----------------------------------------------------------------------------------

// For files that contain no device code directly: the file type and the next step. "": unknown
// type.
std::string_view kind_of_archive(std::span<const std::byte> file) {
  struct Kind {
    std::string_view magic;
    std::string_view text;
  };
  constexpr Kind kKinds[] = {
      {"!<arch>\n", "a static library: unpack its objects with \"ar x\""},
      {"!<thin>\n", "a thin static library: pass the objects that it names"},
      {"PK\x03\x04", "a zip archive, as wheels are: unpack it"},
      {"\x1f\x8b", "compressed with gzip: unpack it"},
      {"\xfd"
       "7zXZ",
       "compressed with xz: unpack it"},
      {"\x28\xb5\x2f\xfd", "compressed with zstd: unpack it"},
  };
  for (const Kind& kind : kKinds)
    if (starts_with(file, kind.magic)) return kind.text;
  return {};
}

}  // namespace

Result<std::vector<BundleEntry>> unbundle(std::span<const std::byte> bytes) {
  std::vector<BundleEntry> entries;
  uint64_t offset = 0;
  if (!starts_with(bytes, kPlainMagic) && !starts_with(bytes, kCompressedMagic)) {
    return fail(Status::kCorrupt,
                "no offload bundle: neither __CLANG_OFFLOAD_BUNDLE__ nor CCOB at "
                "byte 0");
  }
  while (offset < bytes.size()) {
    const std::span<const std::byte> rest = bytes.subspan(offset);
    uint64_t used = 0;
    if (starts_with(rest, kPlainMagic)) {
      GFXGRAPH_ASSIGN_OR_RETURN(used, read_plain(rest, entries));
    } else if (starts_with(rest, kCompressedMagic)) {
      GFXGRAPH_ASSIGN_OR_RETURN(used, read_compressed(rest, entries));
    } else {
      return fail(
          Status::kCorrupt,
          fmt::format("bytes at {:#x}, after an offload bundle, are neither padding nor the "
                      "next bundle",
                      offset));
    }
    offset += used;
    // The linker pads between the bundles of several object files with zeros.
    while (offset < bytes.size() && bytes[offset] == std::byte{0}) ++offset;
  }
  return entries;
}

Result<uint64_t> bundle_size(const std::byte* bytes, uint64_t readable_bytes) {
  if (bytes == nullptr) return fail(Status::kInvalidArgument, "no bytes");
  const std::span<const std::byte> readable(bytes, readable_bytes);
  if (starts_with(readable, kElfMagic)) return elf_size(readable);
  uint64_t size = 0;
  if (starts_with(readable, kPlainMagic)) {
    GFXGRAPH_ASSIGN_OR_RETURN(const PlainLayout layout, plain_layout(readable));
    size = layout.total_bytes;
  } else if (starts_with(readable, kCompressedMagic)) {
    GFXGRAPH_ASSIGN_OR_RETURN(const CompressedHeader header, compressed_header(readable));
    size = header.total_bytes;
    if (size == 0) {
      GFXGRAPH_ASSIGN_OR_RETURN(const Inflated inflated, inflate_bundle(readable, header));
      size = header.header_bytes + inflated.consumed_bytes;
    }
  } else {
    return fail(Status::kCorrupt, "neither an offload bundle nor an elf file");
  }
  if (size > readable_bytes) {
    return fail(
        Status::kTruncated,
        fmt::format("offload bundle: declares {} bytes, {} are readable", size, readable_bytes));
  }
  return size;
}

Result<std::vector<BundleEntry>> extract_device_elves(std::span<const std::byte> file) {
  if (const std::string_view kind = kind_of_archive(file); !kind.empty())
    return fail(Status::kUnsupported, fmt::format("this is {}", kind));
  if (!starts_with(file, kElfMagic)) {
    GFXGRAPH_ASSIGN_OR_RETURN(std::vector<BundleEntry> entries, unbundle(file));
    std::erase_if(entries, [](const BundleEntry& entry) {
      return entry.target.empty() || !starts_with(entry.bytes, kElfMagic);
    });
    return entries;
  }
  GFXGRAPH_ASSIGN_OR_RETURN(const internal::ElfImage image, internal::ElfImage::open(file));
  if (image.machine() == llvm::ELF::EM_AMDGPU) {
    GFXGRAPH_ASSIGN_OR_RETURN(const std::shared_ptr<const CodeObject> object,
                              CodeObject::parse(file));
    BundleEntry entry;
    entry.target = object->target();
    entry.id = "hipv4-" + entry.target;
    entry.bytes.assign(file.begin(), file.end());
    return std::vector<BundleEntry>{std::move(entry)};
  }
  GFXGRAPH_ASSIGN_OR_RETURN(const std::optional<std::span<const std::byte>> fat,
                            image.section(".hip_fatbin"));
  if (!fat || fat->empty()) {
    return fail(Status::kNotFound, "the elf file has no device code: no .hip_fatbin section");
  }
  Result<std::vector<BundleEntry>> entries = extract_device_elves(*fat);
  if (!entries) return with_context(std::move(entries).error(), ".hip_fatbin");
  return entries;
}

const BundleEntry* select_entry(const std::vector<BundleEntry>& entries,
                                const std::string& gpu_arch) {
  const BundleEntry* best = nullptr;
  int best_score = 0;
  for (const BundleEntry& entry : entries) {
    const int score = entry.target.empty() ? 0 : code_suitability(entry.target, gpu_arch);
    if (score > best_score) {
      best = &entry;
      best_score = score;
    }
  }
  return best;
}

std::string explain_other_targets(const std::filesystem::path& program,
                                  const std::string& gpu_arch) {
  const Result<MappedFile> file = MappedFile::open(program);
  if (!file) return {};
  const Result<std::vector<BundleEntry>> entries = extract_device_elves(file->bytes());
  if (!entries || entries->empty() || select_entry(*entries, gpu_arch) != nullptr) return {};
  std::set<std::string> targets;
  for (const BundleEntry& entry : *entries) {
    const size_t processor = entry.target.rfind("--");
    targets.insert(processor == std::string::npos ? entry.target
                                                  : entry.target.substr(processor + 2));
  }
  return fmt::format("{} has code for {} only, the device is {}: compile it with --offload-arch={}",
                     program.string(), fmt::join(targets, ", "), gpu_arch, gpu_arch);
}

}  // namespace gfxgraph::codeobj
