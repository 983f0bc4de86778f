#include <gmock/gmock.h>

#include <set>
#include <string>
#include <vector>

#include "codeobj/dwarf/function_at.h"
#include "codeobj/dwarf/inline_stack.h"
#include "tests/codeobj/test_objects.h"

namespace gfxgraph::codeobj {
namespace {

using std::string_literals::operator""s;
using testing::EndsWith;
using testing::IsSupersetOf;

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
