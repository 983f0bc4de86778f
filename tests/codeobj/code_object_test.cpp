#include <gmock/gmock.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "codeobj/function_at.h"
#include "codeobj/inline_stack.h"
#include "tests/codeobj/test_objects.h"

namespace gfxgraph::codeobj {
namespace {

using std::string_literals::operator""s;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsSupersetOf;
using ObjectPtr = std::shared_ptr<const CodeObject>;

std::string error_of(const Result<ObjectPtr>& result) {
  return result ? "no error" : result.error().message;
}

const Symbol* find_symbol(const CodeObject& object, std::string_view name) {
  for (const Symbol& symbol : object.symbols()) {
    if (symbol.name == name) return &symbol;
  }
  return nullptr;
}

TEST(CodeObject, ReadsKernelsOfVersion4) {
  GFXGRAPH_OBJECT_OR_SKIP(bundle, "v4.bundle");
  const Result<ObjectPtr> object = CodeObject::parse(device_elf(bundle));
  ASSERT_TRUE(object) << error_of(object);
  EXPECT_EQ((*object)->abi_version(), 2U);
  EXPECT_EQ((*object)->target(), "amdgcn-amd-amdhsa--gfx1030");
  EXPECT_EQ((*object)->gpu_arch(), "gfx1030");
  ASSERT_EQ((*object)->kernels().size(), 2U);
  const Kernel* const kernel = (*object)->find_kernel("vadd");
  ASSERT_NE(kernel, nullptr);
  EXPECT_EQ((*object)->find_kernel("vadd.kd"), kernel);
  EXPECT_EQ((*object)->find_kernel("vad"), nullptr);
  EXPECT_EQ(kernel->symbol, "vadd.kd");
  EXPECT_EQ(kernel->explicit_size_bytes(), 28U);
  EXPECT_EQ(kernel->wavefront_size, 32U);
  EXPECT_TRUE(kernel->descriptor.wave32());
  EXPECT_GE(kernel->descriptor.vgpr_count(true), kernel->vgpr_count);
  EXPECT_GT(kernel->code_bytes, 0U);
  ASSERT_GE(kernel->arguments.size(), 4U);
  EXPECT_EQ(kernel->arguments[2].value_kind, "global_buffer");
  EXPECT_EQ(kernel->arguments[2].offset_bytes, 16U);
  EXPECT_EQ(kernel->arguments[3].value_kind, "by_value");
  EXPECT_EQ(kernel->arguments[3].size_bytes, 4U);
  const Kernel* const by_value = (*object)->find_kernel("by_value");
  ASSERT_NE(by_value, nullptr);
  EXPECT_EQ(by_value->arguments[0].size_bytes, 16U);
  EXPECT_EQ(by_value->arguments[2].offset_bytes, 24U);
}

TEST(CodeObject, ReadsVersion3AndItsTargetFromTheElfHeader) {
  GFXGRAPH_OBJECT_OR_SKIP(bundle, "v3.bundle");
  const Result<ObjectPtr> object = CodeObject::parse(device_elf(bundle));
  ASSERT_TRUE(object) << error_of(object);
  EXPECT_EQ((*object)->abi_version(), 1U);
  EXPECT_EQ((*object)->target(), "amdgcn-amd-amdhsa--gfx1030");
  EXPECT_EQ((*object)->kernels().size(), 2U);
}

TEST(CodeObject, ReadsHiddenArgumentsOfVersion5) {
  GFXGRAPH_OBJECT_OR_SKIP(bytes, "v5_dwarf5.elf");
  const Result<ObjectPtr> object = CodeObject::parse(bytes);
  ASSERT_TRUE(object) << error_of(object);
  EXPECT_EQ((*object)->abi_version(), 3U);
  const Kernel* const kernel = (*object)->find_kernel("vadd");
  ASSERT_NE(kernel, nullptr);
  const Argument* const count = kernel->find_hidden("hidden_block_count_x");
  ASSERT_NE(count, nullptr);
  EXPECT_TRUE(count->hidden());
  EXPECT_EQ(count->offset_bytes, 32U);
  EXPECT_EQ(kernel->explicit_size_bytes(), 28U);
  EXPECT_GT(kernel->kernarg_size_bytes, 200U);
  EXPECT_EQ(kernel->find_hidden("hidden_nothing"), nullptr);
}

TEST(CodeObject, ReadsVersion6ForAGenericTarget) {
  GFXGRAPH_OBJECT_OR_SKIP(bytes, "v6.elf");
  const Result<ObjectPtr> object = CodeObject::parse(bytes);
  ASSERT_TRUE(object) << error_of(object);
  EXPECT_EQ((*object)->abi_version(), 4U);
  EXPECT_EQ((*object)->gpu_arch(), "gfx10-3-generic");
}

TEST(CodeObject, ReadsSymbolsSegmentsAndRelocations) {
  GFXGRAPH_OBJECT_OR_SKIP(bytes, "v5_dwarf5.elf");
  const Result<ObjectPtr> object = CodeObject::parse(bytes);
  ASSERT_TRUE(object) << error_of(object);
  const Symbol* const table = find_symbol(**object, "g_table");
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(table->size_bytes, 64U);
  EXPECT_EQ(table->type, Symbol::Type::kObject);
  EXPECT_FALSE(table->constant);
  const Symbol* const bias = find_symbol(**object, "c_bias");
  ASSERT_NE(bias, nullptr);
  EXPECT_EQ(bias->size_bytes, 4U);
  const Symbol* const pointer = find_symbol(**object, "g_pointer");
  ASSERT_NE(pointer, nullptr);
  ASSERT_EQ((*object)->relocations().size(), 1U);
  EXPECT_EQ((*object)->relocations()[0].address, pointer->address);
  uint64_t end = 0;
  bool code = false;
  for (const Segment& segment : (*object)->segments()) {
    EXPECT_GE(segment.address, end);
    end = segment.address + segment.memory_bytes;
    code |= segment.executable;
  }
  EXPECT_TRUE(code);
  EXPECT_EQ((*object)->load_size_bytes(), end);
}

TEST(CodeObject, FindsTheCodeOfAKernelWithoutASizedFunction) {
  GFXGRAPH_OBJECT_OR_SKIP(bytes, "unsized.elf");
  const Result<ObjectPtr> object = CodeObject::parse(bytes);
  ASSERT_TRUE(object) << error_of(object);
  const Kernel* const kernel = (*object)->find_kernel("unsized");
  ASSERT_NE(kernel, nullptr);
  EXPECT_EQ(kernel->code_bytes, 0U);
  EXPECT_EQ(kernel->descriptor.vgpr_count(true), 40U);
  EXPECT_EQ((*object)->kernel_at(kernel->entry_address + 4), kernel);
  EXPECT_EQ((*object)->kernel_at(0), nullptr);
  EXPECT_EQ((*object)->source_location(kernel->entry_address), std::nullopt);
}

TEST(CodeObject, NamesTheKernelOfAnAddress) {
  GFXGRAPH_OBJECT_OR_SKIP(bytes, "v5_dwarf5.elf");
  const Result<ObjectPtr> object = CodeObject::parse(bytes);
  ASSERT_TRUE(object) << error_of(object);
  for (const Kernel& kernel : (*object)->kernels()) {
    EXPECT_EQ((*object)->kernel_at(kernel.entry_address), &kernel);
    EXPECT_EQ((*object)->kernel_at(kernel.entry_address + kernel.code_bytes - 4), &kernel);
  }
}

TEST(CodeObject, NamesTheFunctionOfAnAddress) {
  GFXGRAPH_OBJECT_OR_SKIP(bytes, "v5_dwarf5.elf");
  const Result<ObjectPtr> object = CodeObject::parse(bytes);
  ASSERT_TRUE(object) << error_of(object);
  for (const Kernel& kernel : (*object)->kernels()) {
    EXPECT_EQ(function_at(**object, kernel.entry_address), kernel.name);
    EXPECT_EQ(function_at(**object, kernel.entry_address + kernel.code_bytes - 4), kernel.name);
    EXPECT_EQ(function_address(**object, kernel.name), kernel.entry_address);
  }
  EXPECT_FALSE(function_address(**object, "no_such_function"));
  EXPECT_TRUE(has_function(**object, (*object)->kernels().front().name));
  EXPECT_FALSE(has_function(**object, "no_such_function"));
  EXPECT_EQ(function_at(**object, 0), "");
  EXPECT_EQ(function_at(**object, ~uint64_t{0}), "");
}

TEST(CodeObject, NamesAFunctionThatOnlyTheStaticSymbolTableHas) {
  GFXGRAPH_OBJECT_OR_SKIP(bytes, "unsized.elf");
  const Result<ObjectPtr> object = CodeObject::parse(bytes);
  ASSERT_TRUE(object) << error_of(object);
  const uint64_t entry = (*object)->find_kernel("unsized")->entry_address;
  EXPECT_EQ(function_at(**object, entry), "");  // has no size
  uint64_t helper = entry;
  while (helper < entry + 256 && function_at(**object, helper) != "helper") helper += 4;
  ASSERT_LT(helper, entry + 256);
  EXPECT_EQ(function_at(**object, helper + 7), "helper");
  EXPECT_EQ(function_at(**object, helper + 8), "");
}

class SourceLines : public testing::TestWithParam<const char*> {};

TEST_P(SourceLines, GiveTheInnermostInlinedFrame) {
  GFXGRAPH_OBJECT_OR_SKIP(file, GetParam());
  const Result<ObjectPtr> object =
      CodeObject::parse(file.front() == std::byte{0x7f} ? file : device_elf(file));
  ASSERT_TRUE(object) << error_of(object);
  const Kernel* const kernel = (*object)->find_kernel("vadd");
  ASSERT_NE(kernel, nullptr);
  bool inlined = false;
  bool own = false;
  std::set<std::string> stacks;
  for (uint64_t offset = 0; offset < kernel->code_bytes; offset += 4) {
    const std::optional<SourceLocation> location =
        (*object)->source_location(kernel->entry_address + offset);
    if (!location) continue;
    EXPECT_THAT(location->file, EndsWith("kernels.hip"));
    inlined |= location->line == 11 && location->function == "doubled(float const*, int)";
    own |= location->function == "vadd";
    const std::vector<SourceLocation> stack =
        inline_stack(**object, kernel->entry_address + offset);
    ASSERT_FALSE(stack.empty());
    EXPECT_EQ(stack[0].line, location->line);
    EXPECT_EQ(stack[0].function, location->function);
    EXPECT_EQ(stack.back().function, "vadd");
    std::string text = stack[0].function;
    for (size_t n = 1; n < stack.size(); ++n) {
      EXPECT_THAT(stack[n].file, EndsWith("kernels.hip"));
      text += " < " + stack[n].function + ":" + std::to_string(stack[n].line) + ":" +
              std::to_string(stack[n].column);
    }
    stacks.insert(text);
  }
  EXPECT_TRUE(inlined);
  EXPECT_TRUE(own);
  const std::string doubled = "doubled(float const*, int)";
  EXPECT_THAT(stacks,
              IsSupersetOf({"vadd"s, doubled + " < vadd:26:21",
                            doubled + " < quadrupled(float const*, int):15:10 < vadd:26:37"}));
  EXPECT_TRUE(inline_stack(**object, uint64_t{1} << 60).empty());
  EXPECT_EQ((*object)->source_location(uint64_t{1} << 60), std::nullopt);
}

INSTANTIATE_TEST_SUITE_P(Dwarf, SourceLines,
                         testing::Values("v4.bundle", "v5_dwarf4.elf", "v5_dwarf5.elf",
                                         "v5_compressed_debug.elf"));

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

TEST(Descriptor, DecodesFields) {
  Bytes bytes(64);
  write_at<uint32_t>(bytes, 0, 1024);
  write_at<uint32_t>(bytes, 4, 96);
  write_at<uint32_t>(bytes, 8, 280);
  write_at<int64_t>(bytes, 16, -256);
  write_at<uint32_t>(bytes, 48, 5);
  write_at<uint32_t>(bytes, 52, 6 << 1);
  write_at<uint16_t>(bytes, 56, 1 << 10 | 1 << 11 | 8);
  const Result<KernelDescriptor> descriptor = decode_descriptor(bytes);
  ASSERT_TRUE(descriptor) << descriptor.error().message;
  EXPECT_EQ(descriptor->group_segment_bytes, 1024U);
  EXPECT_EQ(descriptor->private_segment_bytes, 96U);
  EXPECT_EQ(descriptor->kernarg_bytes, 280U);
  EXPECT_EQ(descriptor->entry_offset_bytes, -256);
  EXPECT_EQ(descriptor->vgpr_count(true), 48U);
  EXPECT_EQ(descriptor->vgpr_count(false), 24U);
  EXPECT_EQ(descriptor->user_sgpr_count(), 6U);
  EXPECT_TRUE(descriptor->wave32());
  EXPECT_TRUE(descriptor->dynamic_stack());
  write_at<uint16_t>(bytes, 56, 1 << 15);
  EXPECT_FALSE(decode_descriptor(bytes));
  EXPECT_EQ(decode_descriptor(std::span(bytes).first(63)).error().status, Status::kTruncated);
}

}  // namespace
}  // namespace gfxgraph::codeobj
