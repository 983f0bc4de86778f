// Code objects that are refused, with the object and the field in the message: compiled ones with a
// field changed in place.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "tests/codeobj/test_objects.h"

namespace gfxgraph::codeobj {
namespace {

using testing::HasSubstr;

TEST(CodeObject, RejectsWhatIsNoDeviceElf) {
  EXPECT_EQ(CodeObject::parse({}).error().status, Status::kTruncated);
  EXPECT_EQ(CodeObject::parse(Bytes(200, std::byte{1})).error().status, Status::kCorrupt);
  GFXGRAPH_OBJECT_OR_SKIP(bytes, "v5_dwarf5.elf");
  Bytes host = bytes;
  write_at<uint16_t>(host, 18, 62);  // e_machine
  EXPECT_THAT(error_of(CodeObject::parse(host)), HasSubstr("EM_AMDGPU"));
  Bytes narrow = bytes;
  narrow[4] = std::byte{1};  // EI_CLASS
  EXPECT_THAT(error_of(CodeObject::parse(narrow)), HasSubstr("64-bit"));
  Bytes system = bytes;
  system[7] = std::byte{0};  // EI_OSABI
  EXPECT_THAT(error_of(CodeObject::parse(system)), HasSubstr("os abi"));
  Bytes version = bytes;
  version[8] = std::byte{0};  // EI_ABIVERSION: V2
  EXPECT_THAT(error_of(CodeObject::parse(version)), HasSubstr("abi version 0"));
  Bytes relocatable = bytes;
  write_at<uint16_t>(relocatable, 16, 1);  // e_type
  EXPECT_THAT(error_of(CodeObject::parse(relocatable)), HasSubstr("e_type"));
  Bytes other = bytes;
  other[48] = std::byte{0x37};  // EF_AMDGPU_MACH: gfx1031
  EXPECT_THAT(error_of(CodeObject::parse(other)), HasSubstr("the elf header says gfx1031"));
  for (const unsigned mach : {0x00u, 0xffu}) {
    other[48] = std::byte(mach);
    EXPECT_THAT(error_of(CodeObject::parse(other)),
                HasSubstr("the elf header says an unknown processor (e_flags 0x"));
  }
}

// A field of the metadata note, changed in place: the object and the field must be in the message.
struct Contradiction {
  const char* name;
  const char* key;  // MessagePack text before the value
  size_t occurrence;
  unsigned value;  // a positive fixint, or the first byte of another type
  const char* message;
};

class Metadata : public testing::TestWithParam<Contradiction> {};

TEST_P(Metadata, ContradictionIsAnError) {
  GFXGRAPH_OBJECT_OR_SKIP(bytes, "unsized.elf");
  Bytes changed = bytes;
  const size_t at = after(changed, GetParam().key, GetParam().occurrence);
  ASSERT_NE(at, 0U);
  changed[at] = std::byte(GetParam().value);
  EXPECT_THAT(error_of(CodeObject::parse(changed)), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Fields, Metadata,
    testing::Values(
        Contradiction{"PastSegment", ".kernarg_segment_size", 0, 4,
                      "kernel unsized: argument 0: field .offset 0 and .size 8 reach past "
                      ".kernarg_segment_size 4"},
        Contradiction{"OffsetPastSegment", ".offset", 0, 1, "field .offset 1"},
        Contradiction{"PointerOfNoBytes", ".size", 0, 0,
                      "kernel unsized: argument 0: field .size is 0, a global_buffer has 8"},
        Contradiction{"Lds", ".group_segment_fixed_size", 0, 64,
                      "kernel unsized: the metadata's .group_segment_fixed_size is 64, its "
                      "descriptor's group_segment_fixed_size is 0"},
        Contradiction{"Scratch", ".private_segment_fixed_size", 0, 64,
                      "kernel unsized: the metadata's .private_segment_fixed_size is 64, its "
                      "descriptor's private_segment_fixed_size is 0"},
        Contradiction{"NegativeSize", ".size", 0, 0xff, "field .size"},
        Contradiction{"SizeIsMap", ".kernarg_segment_size", 0, 0x80,
                      ".kernarg_segment_size is not a number"},
        Contradiction{"Wavefront", ".wavefront_size", 0, 31, ".wavefront_size is 31"},
        Contradiction{"Sgprs", ".sgpr_count", 0, 109,
                      "kernel unsized: the metadata's .sgpr_count is 109, its descriptor's "
                      "allocated SGPRs is 108"},
        Contradiction{"Vgprs", ".vgpr_count", 0, 41, "the metadata's .vgpr_count is 41"},
        Contradiction{"Align", ".kernarg_segment_align", 0, 7, ".kernarg_segment_align is 7"},
        Contradiction{"ValueKind", ".value_kind", 0, 5, "metadata note"},
        Contradiction{"Version", "amdhsa.version\x92", 0, 2, "amdhsa.version 2"}),
    [](const testing::TestParamInfo<Contradiction>& row) { return row.param.name; });

TEST(Metadata, EveryNoteCounts) {
  GFXGRAPH_OBJECT_OR_SKIP(bytes, "two_notes.elf");
  const Result<ObjectPtr> object = CodeObject::parse(bytes);
  ASSERT_TRUE(object) << error_of(object);
  EXPECT_EQ((*object)->kernels().size(), 2U);
  EXPECT_NE((*object)->find_kernel("unsized"), nullptr);
  EXPECT_NE((*object)->find_kernel("second"), nullptr);
  Bytes other = bytes;  // the second note's target
  other[after(other, "amdhsa--gfx103", 1)] = std::byte{'1'};
  EXPECT_THAT(error_of(CodeObject::parse(other)), HasSubstr("amdhsa.target"));
}

TEST(Metadata, RejectsKeysThatAreNoStrings) {
  GFXGRAPH_OBJECT_OR_SKIP(bytes, "unsized.elf");
  for (const unsigned type :
       {0x81u, 0x91u, 0x05u, 0xc0u, 0xcau}) {  // map, array, number, nil, float
    Bytes changed = bytes;
    changed[after(changed, ".symbol") - 8] = std::byte(type);
    EXPECT_THAT(error_of(CodeObject::parse(changed)), HasSubstr("a map key is not a string"))
        << type;
  }
  Bytes twice = bytes;
  std::memcpy(twice.data() + after(twice, ".size") - 5, ".name", 5);
  EXPECT_THAT(error_of(CodeObject::parse(twice)), HasSubstr("a duplicate key"));
}

TEST(Metadata, RejectsOverlappingArguments) {
  GFXGRAPH_OBJECT_OR_SKIP(bundle, "v4.bundle");
  Bytes bytes = device_elf(bundle);
  const size_t at = after(bytes, ".offset", 1);
  ASSERT_NE(at, 0U);
  bytes[at] = std::byte{4};
  EXPECT_THAT(error_of(CodeObject::parse(bytes)), HasSubstr("overlaps"));
}

TEST(Metadata, RejectsMissingFieldsAndAbsurdCounts) {
  GFXGRAPH_OBJECT_OR_SKIP(bytes, "unsized.elf");
  Bytes renamed = bytes;
  renamed[after(renamed, ".kernarg_segment_siz")] = std::byte{'X'};
  EXPECT_THAT(error_of(CodeObject::parse(renamed)),
              HasSubstr("kernel unsized: field .kernarg_segment_size is missing"));
  Bytes many = bytes;
  many[after(many, "amdhsa.kernels")] = std::byte{0x9f};  // 15 kernels in place of one
  EXPECT_FALSE(CodeObject::parse(many));
  Bytes symbol = bytes;
  symbol[after(symbol, "unsized.k")] = std::byte{'x'};
  EXPECT_FALSE(CodeObject::parse(symbol));
}

TEST(Metadata, RejectsAbsurdWorkgroups) {
  GFXGRAPH_OBJECT_OR_SKIP(bytes, "unsized.elf");
  Bytes changed = bytes;
  const size_t at = after(changed, ".max_flat_workgroup_size");
  ASSERT_EQ(changed[at], std::byte{0xcd});  // a number of two bytes, the upper one first
  changed[at + 1] = std::byte{0x80};
  EXPECT_THAT(error_of(CodeObject::parse(changed)),
              HasSubstr("kernel unsized: the metadata's .max_flat_workgroup_size is 32768"));
  changed[at + 1] = std::byte{0};
  EXPECT_THAT(error_of(CodeObject::parse(changed)),
              HasSubstr("kernel unsized: field .max_flat_workgroup_size is 0"));
}

// Where in the file the value of a symbol is: the first copy of it with the symbol's size behind.
size_t symbol_value_offset(const Bytes& bytes, uint64_t value, uint64_t size) {
  for (size_t i = 0; i + 16 <= bytes.size(); i += 8)
    if (read_at<uint64_t>(bytes, i) == value && read_at<uint64_t>(bytes, i + 8) == size) return i;
  return 0;
}

TEST(Symbols, OutsideOfEverySegmentAreRefused) {
  GFXGRAPH_OBJECT_OR_SKIP(bytes, "v5_dwarf5.elf");
  const Result<ObjectPtr> object = CodeObject::parse(bytes);
  ASSERT_TRUE(object) << error_of(object);
  const size_t at = symbol_value_offset(bytes, find_symbol(**object, "g_table")->address, 64);
  ASSERT_NE(at, 0U);
  Bytes changed = bytes;
  write_at<uint64_t>(changed, at, 1 << 30);
  EXPECT_THAT(error_of(CodeObject::parse(changed)),
              HasSubstr("symbol g_table: st_value 0x40000000 lies outside every segment"));
  changed = bytes;
  write_at<uint64_t>(changed, at + 8, 1 << 20);
  EXPECT_THAT(error_of(CodeObject::parse(changed)), HasSubstr("st_size 0x100000 reach past"));
  changed = bytes;
  write_at<uint64_t>(changed, at, 1 << 30);
  write_at<uint64_t>(changed, at + 8, 0);  // without bytes
  EXPECT_THAT(error_of(CodeObject::parse(changed)),
              HasSubstr("symbol g_table: st_value 0x40000000 lies outside every segment"));
}

// HIP would be handed load address + st_value: memory of the process.
TEST(Symbols, AbsoluteVariablesAreRefused) {
  GFXGRAPH_OBJECT_OR_SKIP(bytes, "v5_dwarf5.elf");
  const Result<ObjectPtr> object = CodeObject::parse(bytes);
  ASSERT_TRUE(object) << error_of(object);
  const uint64_t value = find_symbol(**object, "g_table")->address;
  const size_t at = symbol_value_offset(bytes, value, 64);
  ASSERT_NE(at, 0U);
  for (const uint64_t address : {value, uint64_t{1} << 30, uint64_t{0} - 4096}) {
    for (const uint64_t size : {uint64_t{64}, uint64_t{0}}) {
      Bytes changed = bytes;
      write_at<uint16_t>(changed, at - 2, 0xfff1);  // st_shndx: SHN_ABS
      write_at<uint64_t>(changed, at, address);
      write_at<uint64_t>(changed, at + 8, size);
      EXPECT_THAT(error_of(CodeObject::parse(changed)), HasSubstr("symbol g_table: SHN_ABS"));
    }
  }
}

TEST(Relocations, OutsideOfEverySegmentAreRefused) {
  GFXGRAPH_OBJECT_OR_SKIP(bytes, "v5_dwarf5.elf");
  const Result<ObjectPtr> object = CodeObject::parse(bytes);
  ASSERT_TRUE(object) << error_of(object);
  constexpr uint64_t kRelative64 = 13, kAbs32 = 1;
  const uint64_t address = (*object)->relocations()[0].address;
  const size_t at = symbol_value_offset(bytes, address, kRelative64);
  ASSERT_NE(at, 0U);
  Bytes changed = bytes;
  write_at<uint64_t>(changed, at, 1 << 30);
  EXPECT_THAT(error_of(CodeObject::parse(changed)),
              HasSubstr("relocation at 0x40000000 (r_offset), of 8 bytes, lies outside"));
  // Four bytes before the end there is room for a relocation of four.
  const Segment& last = (*object)->segments().back();
  write_at<uint64_t>(changed, at, last.address + last.memory_bytes - 4);
  EXPECT_THAT(error_of(CodeObject::parse(changed)), HasSubstr("of 8 bytes, lies outside"));
  write_at<uint64_t>(changed, at + 8, kAbs32);
  EXPECT_TRUE(CodeObject::parse(changed)) << error_of(CodeObject::parse(changed));
}

// Where in the file the first kernel's descriptor is.
size_t descriptor_offset(const CodeObject& object) {
  const uint64_t address = object.kernels()[0].descriptor_address;
  const auto segment =
      std::find_if(object.segments().begin(), object.segments().end(),
                   [&](const Segment& s) { return address - s.address < s.file_bytes; });
  return address - segment->address + segment->file_offset;
}

TEST(Descriptor, RejectsWhatLiesOutsideTheFileOrCode) {
  GFXGRAPH_OBJECT_OR_SKIP(bytes, "unsized.elf");
  const Result<ObjectPtr> object = CodeObject::parse(bytes);
  ASSERT_TRUE(object) << error_of(object);
  const Kernel& kernel = (*object)->kernels()[0];
  const size_t at = descriptor_offset(**object);
  Bytes far = bytes;
  write_at<int64_t>(far, at + 16, int64_t{1} << 40);
  EXPECT_THAT(error_of(CodeObject::parse(far)),
              HasSubstr("kernel unsized: kernel_code_entry_byte_offset"));
  Bytes reserved = bytes;
  reserved[at + 12] = std::byte{1};
  EXPECT_THAT(error_of(CodeObject::parse(reserved)), HasSubstr("reserved byte 12"));
  const size_t symbol = symbol_value_offset(bytes, kernel.descriptor_address, 64);
  ASSERT_NE(symbol, 0U);
  Bytes moved = bytes;
  write_at<uint64_t>(moved, symbol, 1 << 30);
  EXPECT_THAT(error_of(CodeObject::parse(moved)), HasSubstr("symbol unsized.kd: st_value"));
  write_at<uint8_t>(moved, symbol - 4, 0x10);  // st_info: of no type
  EXPECT_THAT(error_of(CodeObject::parse(moved)),
              HasSubstr("kernel unsized: its descriptor at 0x40000000, the value of symbol "
                        "unsized.kd, lies outside the file"));
}

// Values that no GFX10 kernel has; those before and after them are good.
TEST(Descriptor, RejectsWhatGfx10CannotHave) {
  GFXGRAPH_OBJECT_OR_SKIP(bytes, "unsized.elf");
  const Result<ObjectPtr> object = CodeObject::parse(bytes);
  ASSERT_TRUE(object) << error_of(object);
  const size_t at = descriptor_offset(**object);
  const auto expect = [&](size_t offset, unsigned shift, uint32_t mask, uint32_t value,
                          const std::string& message) {
    Bytes changed = bytes;
    write_at<uint32_t>(changed, at + offset,
                       (read_at<uint32_t>(bytes, at + offset) & ~(mask << shift)) | value << shift);
    EXPECT_THAT(error_of(CodeObject::parse(changed)), HasSubstr(message)) << offset;
  };
  constexpr size_t kRsrc1 = 48, kRsrc2 = 52, kProperties = 56;
  expect(kRsrc1, 0, 63, 31, "no error");
  expect(kRsrc1, 0, 63, 32,
         "kernel unsized: the descriptor's GRANULATED_WORKITEM_VGPR_COUNT allocates 264 VGPRs");
  expect(kRsrc2, 1, 31, 16, "no error");
  expect(kRsrc2, 1, 31, 17, "kernel unsized: the descriptor's USER_SGPR_COUNT is 17");
  expect(kProperties, 0, 127, 127,
         "kernel unsized: the descriptor enables 15 user SGPRs (kernel_code_properties), but "
         "USER_SGPR_COUNT is");
  expect(kRsrc2, 11, 3, 2, "no error");
  expect(kRsrc2, 11, 3, 3, "the descriptor's ENABLE_VGPR_WORKITEM_ID is 3");
  expect(kRsrc1, 20, 1, 1, "the descriptor's compute_pgm_rsrc1 0x");
  expect(kRsrc2, 13, 1, 1, "the descriptor's compute_pgm_rsrc2 0x");
  expect(kProperties, 16, 0xffff, 1, "the descriptor's kernarg_preload is 0x1");
}

// What the descriptor says, changed in place, against the metadata: the kernel and both fields must
// be in the message.
struct Disagreement {
  const char* name;
  size_t offset;  // in the descriptor
  uint32_t bits;  // flipped there
  const char* message;
};

class Disagreements : public testing::TestWithParam<Disagreement> {};

TEST_P(Disagreements, AreErrors) {
  GFXGRAPH_OBJECT_OR_SKIP(bytes, "unsized.elf");
  const Result<ObjectPtr> object = CodeObject::parse(bytes);
  ASSERT_TRUE(object) << error_of(object);
  const size_t at = descriptor_offset(**object);
  Bytes changed = bytes;
  write_at<uint32_t>(changed, at + GetParam().offset,
                     read_at<uint32_t>(bytes, at + GetParam().offset) ^ GetParam().bits);
  EXPECT_THAT(error_of(CodeObject::parse(changed)), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Fields, Disagreements,
    testing::Values(
        Disagreement{"Lds", 0, 1024,
                     "kernel unsized: the metadata's .group_segment_fixed_size is 0, its "
                     "descriptor's group_segment_fixed_size is 1024"},
        Disagreement{"Scratch", 4, 16,
                     "kernel unsized: the metadata's .private_segment_fixed_size is 0, its "
                     "descriptor's private_segment_fixed_size is 16"},
        Disagreement{"Kernarg", 8, 256,
                     "kernel unsized: the metadata's .kernarg_segment_size is 8, its descriptor's "
                     "kernarg_size is 256"},
        Disagreement{"Vgprs", 48, 4,  // granules less one: 4 becomes 0
                     "kernel unsized: the metadata's .vgpr_count is 40, its descriptor's allocated "
                     "VGPRs is 8"},
        Disagreement{"WaveSize", 56, 1 << 10,
                     "kernel unsized: the metadata's .wavefront_size is 32, its descriptor's wave "
                     "size is 64"}),
    [](const testing::TestParamInfo<Disagreement>& row) { return row.param.name; });

// A program header's field, changed in place: ELF64 layout, offsets in the header.
struct BadSegment {
  const char* name;
  size_t field;
  uint64_t value;
  const char* message;
};

class SegmentFields : public testing::TestWithParam<BadSegment> {};

TEST_P(SegmentFields, AreRefused) {
  GFXGRAPH_OBJECT_OR_SKIP(bytes, "unsized.elf");
  const auto headers = read_at<uint64_t>(bytes, 0x20);
  const auto count = read_at<uint16_t>(bytes, 0x38);
  for (size_t n = 0; n < count; ++n) {
    const size_t header = headers + n * 56;
    const bool code = read_at<uint32_t>(bytes, header) == 1 &&  // PT_LOAD, executable
                      (read_at<uint32_t>(bytes, header + 4) & 1) != 0;
    if (!code) continue;
    Bytes changed = bytes;
    write_at<uint64_t>(changed, header + GetParam().field, GetParam().value);
    EXPECT_THAT(error_of(CodeObject::parse(changed)), HasSubstr(GetParam().message));
    return;
  }
  FAIL() << "no code segment";
}

TEST(Segments, ThatOverlapAreRefused) {
  GFXGRAPH_OBJECT_OR_SKIP(bytes, "unsized.elf");
  size_t header = read_at<uint64_t>(bytes, 0x20);
  while (read_at<uint32_t>(bytes, header) != 1) header += 56;  // the first PT_LOAD
  Bytes changed = bytes;
  write_at<uint64_t>(changed, header + 0x28, 0x8000);  // p_memsz
  EXPECT_THAT(error_of(CodeObject::parse(changed)), HasSubstr("overlap"));
}

INSTANTIATE_TEST_SUITE_P(
    Fields, SegmentFields,
    testing::Values(BadSegment{"FilePastEnd", 0x20, 1 << 30, "lies outside the file"},
                    BadSegment{"FileRangeWraps", 0x08, ~uint64_t{0}, "lies outside the file"},
                    BadSegment{"MoreInFileThanInMemory", 0x28, 1,
                               "p_filesz is larger than p_memsz"},
                    BadSegment{"FarAway", 0x10, uint64_t{1} << 62, "reach past the limit"},
                    BadSegment{"Huge", 0x28, uint64_t{1} << 50, "reach past the limit"},
                    BadSegment{"NoPowerOfTwo", 0x30, 48, "p_align 0x30 is not a power of two"},
                    BadSegment{"Unaligned", 0x10, 0x1004, "differ modulo p_align"}),
    [](const testing::TestParamInfo<BadSegment>& row) { return row.param.name; });

}  // namespace
}  // namespace gfxgraph::codeobj
