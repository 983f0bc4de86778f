#include <gmock/gmock.h>
#include <zlib.h>
#include <zstd.h>

#include "tests/codeobj/test_objects.h"

namespace gfxgraph::codeobj {
namespace {

using testing::HasSubstr;

constexpr std::string_view kMagic = "__CLANG_OFFLOAD_BUNDLE__";

struct Part {
  std::string id;
  std::string content;
};

void append(Bytes& bytes, const void* data, size_t size) {
  const std::byte* const first = static_cast<const std::byte*>(data);
  bytes.insert(bytes.end(), first, first + size);
}

template <typename T>
void append_number(Bytes& bytes, T value) {
  append(bytes, &value, sizeof value);
}

Bytes plain_bundle(const std::vector<Part>& parts) {
  Bytes bytes;
  append(bytes, kMagic.data(), kMagic.size());
  append_number<uint64_t>(bytes, parts.size());
  uint64_t offset = 4096;
  for (const Part& part : parts) {
    append_number<uint64_t>(bytes, offset);
    append_number<uint64_t>(bytes, part.content.size());
    append_number<uint64_t>(bytes, part.id.size());
    append(bytes, part.id.data(), part.id.size());
    offset += part.content.size();
  }
  bytes.resize(4096);
  for (const Part& part : parts) append(bytes, part.content.data(), part.content.size());
  return bytes;
}

Bytes compress(const Bytes& plain, bool zstd) {
  if (zstd) {
    Bytes out(ZSTD_compressBound(plain.size()));
    out.resize(ZSTD_compress(out.data(), out.size(), plain.data(), plain.size(), 3));
    return out;
  }
  uLongf size = compressBound(plain.size());
  Bytes out(size);
  ::compress(reinterpret_cast<Bytef*>(out.data()), &size,
             reinterpret_cast<const Bytef*>(plain.data()), plain.size());
  out.resize(size);
  return out;
}

// The hash that clang's bundler wrote is not known here: taken from a rejected bundle is no test,
// so the compiler's own file gives the reference and these bundles borrow its plain bytes.
struct Reference {
  Bytes plain;
  uint64_t hash = 0;
};

Bytes compressed_bundle(const Reference& reference, unsigned version, bool zstd) {
  const Bytes data = compress(reference.plain, zstd);
  Bytes bytes;
  append(bytes, "CCOB", 4);
  append_number<uint16_t>(bytes, static_cast<uint16_t>(version));
  append_number<uint16_t>(bytes, zstd ? 1 : 0);
  const size_t header = version == 1 ? 20 : version == 2 ? 24 : 32;
  if (version == 2) append_number(bytes, static_cast<uint32_t>(header + data.size()));
  if (version == 3) {
    append_number<uint64_t>(bytes, header + data.size());
    append_number<uint64_t>(bytes, reference.plain.size());
  } else {
    append_number(bytes, static_cast<uint32_t>(reference.plain.size()));
  }
  append_number<uint64_t>(bytes, reference.hash);
  append(bytes, data.data(), data.size());
  return bytes;
}

// The plain form and the hash of the bundle that clang-19 compressed (version 2).
Reference reference_of(const Bytes& file) {
  Reference reference;
  EXPECT_EQ(read_at<uint16_t>(file, 4), 2);
  const uint32_t size = read_at<uint32_t>(file, 12);
  reference.hash = read_at<uint64_t>(file, 16);
  reference.plain.resize(size);
  if (read_at<uint16_t>(file, 6) == 1) {
    ZSTD_decompress(reference.plain.data(), size, file.data() + 24, file.size() - 24);
  } else {
    uLongf length = size;
    ::uncompress(reinterpret_cast<Bytef*>(reference.plain.data()), &length,
                 reinterpret_cast<const Bytef*>(file.data() + 24), file.size() - 24);
  }
  return reference;
}

TEST(Bundle, GivesEveryEntry) {
  const Bytes bundle = plain_bundle({{"host-x86_64-unknown-linux", ""},
                                     {"hipv4-amdgcn-amd-amdhsa--gfx1030", "abc"},
                                     {"hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+", "de"}});
  const Result<std::vector<BundleEntry>> entries = unbundle(bundle);
  ASSERT_TRUE(entries) << entries.error().message;
  ASSERT_EQ(entries->size(), 3U);
  EXPECT_EQ((*entries)[0].target, "");
  EXPECT_EQ((*entries)[1].target, "amdgcn-amd-amdhsa--gfx1030");
  EXPECT_EQ((*entries)[1].bytes.size(), 3U);
  EXPECT_EQ((*entries)[2].target, "amdgcn-amd-amdhsa--gfx90a:xnack+");
  EXPECT_EQ(bundle_size(bundle.data(), bundle.size()).value(), 4101U);
  EXPECT_EQ(bundle_size(bundle.data(), bundle.size() - 1).error().status, Status::kTruncated);
}

TEST(Bundle, ReadsSeveralInARow) {
  Bytes row = plain_bundle({{"hipv4-amdgcn-amd-amdhsa--gfx1030", "abc"}});
  const Bytes second = plain_bundle({{"hipv4-amdgcn-amd-amdhsa--gfx1031", "defg"}});
  row.resize(8192);
  row.insert(row.end(), second.begin(), second.end());
  row.resize(row.size() + 100);
  const Result<std::vector<BundleEntry>> entries = unbundle(row);
  ASSERT_TRUE(entries) << entries.error().message;
  ASSERT_EQ(entries->size(), 2U);
  EXPECT_EQ((*entries)[1].bytes.size(), 4U);
  EXPECT_EQ(bundle_size(row.data(), row.size()).value(), 4099U);
  row.back() = std::byte{7};
  EXPECT_THAT(unbundle(row).error().message, HasSubstr("neither padding nor the next bundle"));
}

TEST(Bundle, RejectsDamage) {
  EXPECT_FALSE(unbundle({}));
  EXPECT_FALSE(unbundle(Bytes(100)));
  EXPECT_EQ(bundle_size(nullptr, 0).error().status, Status::kInvalidArgument);
  const Bytes good = plain_bundle({{"hipv4-amdgcn-amd-amdhsa--gfx1030", "abc"}});
  for (size_t size = 1; size < good.size(); size += 7) {
    EXPECT_FALSE(unbundle(std::span(good).first(size))) << size;
  }
  Bytes count = good;
  write_at<uint64_t>(count, 24, uint64_t{1} << 60);
  EXPECT_THAT(unbundle(count).error().message, HasSubstr("entries"));
  Bytes wrap = good;
  write_at<uint64_t>(wrap, 32, ~uint64_t{0});
  EXPECT_THAT(unbundle(wrap).error().message, HasSubstr("gfx1030"));
  Bytes id = good;
  write_at<uint64_t>(id, 48, 1 << 20);
  EXPECT_THAT(unbundle(id).error().message, HasSubstr("id of"));
}

TEST(Bundle, ReadsTheCompilersBundleOfTwoTargets) {
  GFXGRAPH_OBJECT_OR_SKIP(file, "two_targets.bundle");
  const Result<std::vector<BundleEntry>> entries = extract_device_elves(file);
  ASSERT_TRUE(entries) << entries.error().message;
  EXPECT_EQ(entries->size(), 2U);
  const BundleEntry* const best = select_entry(*entries, "gfx1100");
  ASSERT_NE(best, nullptr);
  EXPECT_EQ(best->target, "amdgcn-amd-amdhsa--gfx1100");
  EXPECT_EQ(select_entry(*entries, "gfx906"), nullptr);
  EXPECT_EQ(bundle_size(file.data(), file.size()).value(), file.size());
}

TEST(Bundle, ReadsTheFatBinaryOfALibrary) {
  GFXGRAPH_OBJECT_OR_SKIP(file, "two_files.so");
  const Result<std::vector<BundleEntry>> entries = extract_device_elves(file);
  ASSERT_TRUE(entries) << entries.error().message;
  ASSERT_EQ(entries->size(), 2U);
  for (size_t i = 0; i < 2; ++i) {
    const auto object = CodeObject::parse((*entries)[i].bytes);
    ASSERT_TRUE(object) << object.error().message;
    EXPECT_NE((*object)->find_kernel(i == 0 ? "first_kernel" : "second_kernel"), nullptr);
  }
}

TEST(Bundle, TakesADeviceElfAsItIs) {
  GFXGRAPH_OBJECT_OR_SKIP(file, "v5_dwarf5.elf");
  const Result<std::vector<BundleEntry>> entries = extract_device_elves(file);
  ASSERT_TRUE(entries) << entries.error().message;
  ASSERT_EQ(entries->size(), 1U);
  EXPECT_EQ((*entries)[0].target, "amdgcn-amd-amdhsa--gfx1030");
  // An image in memory has no length: its own headers give it, whatever lies behind it.
  Bytes longer = file;
  longer.resize(file.size() + 5000, std::byte{9});
  EXPECT_EQ(bundle_size(longer.data(), longer.size()).value(), file.size());
}

TEST(Bundle, SaysThatAHostProgramHasNoDeviceCode) {
  std::ifstream self("/proc/self/exe", std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(self)), {});
  EXPECT_EQ(extract_device_elves(std::as_bytes(std::span(text))).error().status, Status::kNotFound);
}

TEST(Bundle, SelectsByFeatures) {
  std::vector<BundleEntry> entries(4);
  entries[0].target = "amdgcn-amd-amdhsa--gfx90a:xnack+";
  entries[1].target = "amdgcn-amd-amdhsa--gfx90a";
  entries[2].target = "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-";
  entries[3].target = "amdgcn-amd-amdhsa--gfx10-3-generic";
  EXPECT_EQ(select_entry(entries, "gfx90a:sramecc+:xnack-"), &entries[2]);
  EXPECT_EQ(select_entry(entries, "gfx90a:sramecc-:xnack-"), &entries[1]);
  EXPECT_EQ(select_entry(entries, "gfx90a:sramecc+:xnack+"), &entries[0]);
  EXPECT_EQ(select_entry(entries, "gfx1034"), &entries[3]);
  EXPECT_EQ(select_entry(entries, "gfx1100"), nullptr);
}

TEST(CompressedBundle, ReadsTheCompilersFile) {
  GFXGRAPH_OBJECT_OR_SKIP(file, "compressed.bundle");
  const Result<std::vector<BundleEntry>> entries = extract_device_elves(file);
  ASSERT_TRUE(entries) << entries.error().message;
  ASSERT_EQ(entries->size(), 1U);
  EXPECT_TRUE(CodeObject::parse((*entries)[0].bytes));
}

TEST(CompressedBundle, ReadsEveryVersionAndMethodAloneAndInARow) {
  GFXGRAPH_OBJECT_OR_SKIP(file, "compressed.bundle");
  const Reference reference = reference_of(file);
  Bytes row;
  for (const unsigned version : {1U, 2U, 3U}) {
    for (const bool zstd : {false, true}) {
      const Bytes bundle = compressed_bundle(reference, version, zstd);
      const Result<std::vector<BundleEntry>> entries = unbundle(bundle);
      ASSERT_TRUE(entries) << version << zstd << entries.error().message;
      EXPECT_EQ(bundle_size(bundle.data(), bundle.size()).value(), bundle.size());
      row.insert(row.end(), bundle.begin(), bundle.end());
      row.resize((row.size() + 4095) / 4096 * 4096);
    }
  }
  const Result<std::vector<BundleEntry>> all = unbundle(row);
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(all->size(), 6 * unbundle(file)->size());
}

TEST(DeviceElves, ArchivesAreRefusedByName) {
  const auto error_of = [](std::string_view text) {
    const auto bytes = std::as_bytes(std::span(text));
    const auto entries = extract_device_elves(bytes);
    return entries ? Error{} : entries.error();
  };
  using namespace std::string_view_literals;
  EXPECT_THAT(error_of("!<arch>\nlib.o/"sv).message, HasSubstr("static library"));
  EXPECT_THAT(error_of("PK\x03\x04...."sv).message, HasSubstr("zip archive"));
  EXPECT_THAT(error_of("\x1f\x8b......"sv).message, HasSubstr("gzip"));
  EXPECT_THAT(error_of("\x28\xb5\x2f\xfd..."sv).message, HasSubstr("zstd"));
  EXPECT_EQ(error_of("PK\x03\x04...."sv).status, Status::kUnsupported);
  EXPECT_EQ(error_of("PK..."sv).status, Status::kCorrupt);
}

TEST(CompressedBundle, RejectsDamage) {
  GFXGRAPH_OBJECT_OR_SKIP(file, "compressed.bundle");
  const Reference reference = reference_of(file);
  Reference other = reference;
  other.hash ^= 1;
  EXPECT_THAT(unbundle(compressed_bundle(other, 2, true)).error().message, HasSubstr("hash"));
  const Bytes good = compressed_bundle(reference, 2, true);
  Bytes method = good;
  write_at<uint16_t>(method, 6, 2);
  EXPECT_EQ(unbundle(method).error().status, Status::kUnsupported);
  Bytes version = good;
  write_at<uint16_t>(version, 4, 4);
  EXPECT_EQ(unbundle(version).error().status, Status::kUnsupported);
  for (const int difference : {-1, 1, 1 << 30}) {
    Bytes size = good;
    write_at<uint32_t>(size, 12, static_cast<uint32_t>(reference.plain.size() + difference));
    EXPECT_FALSE(unbundle(size));
  }
  Bytes total = good;
  write_at<uint32_t>(total, 8, 5);
  EXPECT_THAT(unbundle(total).error().message, HasSubstr("total size"));
  for (const bool zstd : {false, true}) {
    const Bytes whole = compressed_bundle(reference, 1, zstd);
    for (size_t size = 4; size < whole.size(); size += 3) {
      EXPECT_FALSE(unbundle(std::span(whole).first(size))) << size;
    }
  }
  Reference nonsense = reference;
  nonsense.plain[0] = std::byte{'x'};
  EXPECT_FALSE(unbundle(compressed_bundle(nonsense, 3, true)));
}

}  // namespace
}  // namespace gfxgraph::codeobj
