// Code object readers, executables, symbols, relocations; damaged code objects.
#include <hsa/hsa_ven_amd_loader.h>

#include <cstring>
#include <map>

#include "tests/hsa/agent_fixture.h"
#include "tests/hsa/code_file.h"

namespace gfxgraph::hsa_test {
namespace {

class LoaderTest : public AgentTest {
 protected:
  void SetUp() override {
    AgentTest::SetUp();
    elf_ = device_elf("loader_kernels.co");
    ASSERT_GT(elf_.size(), 1000u);
  }

  hsa_status_t load(const std::vector<std::byte>& bytes, hsa_executable_t* executable) {
    hsa_code_object_reader_t reader{};
    EXPECT_EQ(hsa_code_object_reader_create_from_memory(bytes.data(), bytes.size(), &reader),
              HSA_STATUS_SUCCESS);
    EXPECT_EQ(hsa_executable_create_alt(HSA_PROFILE_BASE, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT,
                                        nullptr, executable),
              HSA_STATUS_SUCCESS);
    const hsa_status_t status =
        hsa_executable_load_agent_code_object(*executable, gpu_, reader, nullptr, nullptr);
    EXPECT_EQ(hsa_code_object_reader_destroy(reader), HSA_STATUS_SUCCESS);
    return status;
  }

  hsa_executable_symbol_t symbol(hsa_executable_t executable, const char* name) {
    hsa_executable_symbol_t found{};
    EXPECT_EQ(hsa_executable_get_symbol_by_name(executable, name, &gpu_, &found),
              HSA_STATUS_SUCCESS)
        << name;
    return found;
  }

  template <typename T>
  T info(hsa_executable_symbol_t s, hsa_executable_symbol_info_t attribute) {
    T value{};
    EXPECT_EQ(hsa_executable_symbol_get_info(s, attribute, &value), HSA_STATUS_SUCCESS);
    return value;
  }

  std::vector<std::byte> elf_;
};

// Debian's and others' libraries have code for generic targets only.
TEST_F(LoaderTest, CodeForTheGenericTargetOfTheFamilyIsLoaded) {
  if (device_elf("generic.elf").empty()) GTEST_SKIP() << "no clang-19";
  hsa_executable_t executable{};
  EXPECT_EQ(load(device_elf("generic.elf"), &executable), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_executable_freeze(executable, nullptr), HSA_STATUS_SUCCESS);
  const uint64_t object =
      info<uint64_t>(symbol(executable, "store.kd"), HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT);
  hsa_queue_t* const q = queue();
  auto** const arguments = allocate<uint32_t*>(kernarg_pool(), 1);
  *arguments = allocate<uint32_t>(device_pool(), 1);
  hsa_kernel_dispatch_packet_t packet{};
  packet.header = 0x0b02;
  packet.setup = 1;
  packet.grid_size_x = packet.grid_size_y = packet.grid_size_z = 1;
  packet.workgroup_size_x = packet.workgroup_size_y = packet.workgroup_size_z = 1;
  packet.kernel_object = object;
  packet.kernarg_address = arguments;
  packet.completion_signal = signal(1);
  submit(q, packet);
  ASSERT_TRUE(wait_until_zero(packet.completion_signal));
  EXPECT_EQ(**arguments, 42u);
  hsa_queue_destroy(q);
  hsa_executable_destroy(executable);
  EXPECT_NE(load(any_elf("other_generic.elf"), &executable), HSA_STATUS_SUCCESS);
  hsa_executable_destroy(executable);
}

// HIP would read the buffer of printf without any check.
TEST_F(LoaderTest, CodeThatPrintfsThroughABufferIsRefusedIfHostCallsAre) {
  if (device_elf("printf.elf").empty()) GTEST_SKIP() << "no clang-19";
  const char* const calls = std::getenv("GFXGRAPH_HOST_CALLS");
  const bool denied = calls != nullptr && std::string(calls) == "deny";
  hsa_executable_t executable{};
  EXPECT_EQ(load(device_elf("printf.elf"), &executable) == HSA_STATUS_SUCCESS, !denied);
  hsa_executable_destroy(executable);
}

// The runtime hands load address + st_value to copies, so a hostile one would be any address of the
// process.
TEST_F(LoaderTest, AbsoluteVariablesAreRefused) {
  hsa_executable_t executable{};
  size_t refused = 0;
  const auto parsed = codeobj::CodeObject::parse(elf_);
  ASSERT_TRUE(parsed);
  for (const codeobj::Symbol& symbol : (*parsed)->symbols()) {
    if (symbol.name != "counter") continue;
    const uint64_t words[2] = {symbol.address, symbol.size_bytes};
    for (size_t at = 8; at + sizeof(words) <= elf_.size(); at += 8) {
      if (std::memcmp(elf_.data() + at, words, sizeof(words)) != 0) continue;
      std::vector<std::byte> changed = elf_;
      const uint16_t absolute = 0xfff1;
      const uint64_t address = uint64_t{1} << 40;
      std::memcpy(changed.data() + at - 2, &absolute, sizeof(absolute));
      std::memcpy(changed.data() + at, &address, sizeof(address));
      if (load(changed, &executable) == HSA_STATUS_ERROR_INVALID_CODE_OBJECT) ++refused;
      EXPECT_EQ(hsa_executable_destroy(executable), HSA_STATUS_SUCCESS);
    }
  }
  EXPECT_GT(refused, 0u);
}

TEST_F(LoaderTest, KernelsAndVariables) {
  hsa_executable_t executable{};
  ASSERT_EQ(load(elf_, &executable), HSA_STATUS_SUCCESS);
  ASSERT_EQ(hsa_executable_freeze(executable, nullptr), HSA_STATUS_SUCCESS);

  const hsa_executable_symbol_t fill = symbol(executable, "fill.kd");
  EXPECT_EQ(info<hsa_symbol_kind_t>(fill, HSA_EXECUTABLE_SYMBOL_INFO_TYPE), HSA_SYMBOL_KIND_KERNEL);
  const auto object = info<uint64_t>(fill, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT);
  EXPECT_EQ(object % 64, 0u);
  EXPECT_GE(info<uint32_t>(fill, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE), 16u);
  EXPECT_FALSE(info<bool>(fill, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_DYNAMIC_CALLSTACK));
  EXPECT_EQ(info<uint32_t>(fill, HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH), 7u);

  const hsa_executable_symbol_t counter = symbol(executable, "counter");
  EXPECT_EQ(info<hsa_symbol_kind_t>(counter, HSA_EXECUTABLE_SYMBOL_INFO_TYPE),
            HSA_SYMBOL_KIND_VARIABLE);
  EXPECT_EQ(info<uint32_t>(counter, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SIZE), 4u);
  EXPECT_EQ(
      *reinterpret_cast<int*>(info<uint64_t>(counter, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS)),
      41);

  // R_AMDGPU_RELATIVE64 or ABS64: the table must point into the loaded copy.
  const auto table = info<uint64_t>(symbol(executable, "pointer_table"),
                                    HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS);
  const auto targets =
      info<uint64_t>(symbol(executable, "targets"), HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS);
  EXPECT_EQ(reinterpret_cast<uint64_t*>(table)[0], targets + 4);
  EXPECT_EQ(reinterpret_cast<uint64_t*>(table)[1], targets + 12);

  hsa_executable_symbol_t none{};
  EXPECT_EQ(hsa_executable_get_symbol_by_name(executable, "nothing", &gpu_, &none),
            HSA_STATUS_ERROR_INVALID_SYMBOL_NAME);
  EXPECT_EQ(hsa_executable_destroy(executable), HSA_STATUS_SUCCESS);
  uint32_t value = 0;
  EXPECT_EQ(hsa_executable_symbol_get_info(fill, HSA_EXECUTABLE_SYMBOL_INFO_TYPE, &value),
            HSA_STATUS_ERROR_INVALID_EXECUTABLE_SYMBOL);
  EXPECT_EQ(hsa_executable_destroy(executable), HSA_STATUS_ERROR_INVALID_EXECUTABLE);
}

TEST_F(LoaderTest, LoadedCodeCannotBeChanged) {
  hsa_executable_t executable{};
  ASSERT_EQ(load(elf_, &executable), HSA_STATUS_SUCCESS);
  ASSERT_EQ(hsa_executable_freeze(executable, nullptr), HSA_STATUS_SUCCESS);
  const auto object =
      info<uint64_t>(symbol(executable, "fill.kd"), HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT);
  int64_t entry = 0;
  std::memcpy(&entry, reinterpret_cast<void*>(object + 16), sizeof(entry));
  auto* const code = reinterpret_cast<uint32_t*>(object + static_cast<uint64_t>(entry));
  const uint32_t before = *code;
  auto* const data = allocate<uint32_t>(device_pool(), 64);
  EXPECT_EQ(hsa_memory_copy(code, data, 64), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(hsa_amd_memory_fill(code, 0, 1), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  const hsa_signal_t done = signal(1);
  EXPECT_EQ(hsa_amd_memory_async_copy(code, gpu_, data, gpu_, 4, 0, nullptr, done),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(*code, before);
  // It can be read, and variables can be written.
  EXPECT_EQ(hsa_memory_copy(data, code, 4), HSA_STATUS_SUCCESS);
  EXPECT_EQ(*data, before);
  const auto counter =
      info<uint64_t>(symbol(executable, "counter"), HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS);
  EXPECT_EQ(hsa_memory_copy(reinterpret_cast<void*>(counter), data, 4), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_executable_destroy(executable), HSA_STATUS_SUCCESS);
  hsa_amd_memory_pool_free(data);
}

TEST_F(LoaderTest, AFrozenExecutableTakesNothing) {
  hsa_executable_t executable{};
  ASSERT_EQ(load(elf_, &executable), HSA_STATUS_SUCCESS);
  ASSERT_EQ(hsa_executable_freeze(executable, nullptr), HSA_STATUS_SUCCESS);
  hsa_code_object_reader_t reader{};
  ASSERT_EQ(hsa_code_object_reader_create_from_memory(elf_.data(), elf_.size(), &reader),
            HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_executable_load_agent_code_object(executable, gpu_, reader, nullptr, nullptr),
            HSA_STATUS_ERROR_FROZEN_EXECUTABLE);
  int variable = 0;
  EXPECT_EQ(hsa_executable_agent_global_variable_define(executable, gpu_, "late", &variable),
            HSA_STATUS_ERROR_FROZEN_EXECUTABLE);
  hsa_executable_destroy(executable);
}

TEST_F(LoaderTest, VariablesAreDefinedOnce) {
  hsa_executable_t executable{};
  ASSERT_EQ(hsa_executable_create_alt(HSA_PROFILE_BASE, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT,
                                      nullptr, &executable),
            HSA_STATUS_SUCCESS);
  int variable = 0;
  EXPECT_EQ(hsa_executable_agent_global_variable_define(executable, gpu_, "mine", &variable),
            HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_executable_agent_global_variable_define(executable, gpu_, "mine", &variable),
            HSA_STATUS_ERROR_VARIABLE_ALREADY_DEFINED);
  EXPECT_EQ(info<uint64_t>(symbol(executable, "mine"), HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS),
            reinterpret_cast<uint64_t>(&variable));
  hsa_executable_destroy(executable);
}

TEST_F(LoaderTest, AnExecutableTakesNoSymbolTwice) {
  hsa_executable_t executable{};
  ASSERT_EQ(load(elf_, &executable), HSA_STATUS_SUCCESS);
  const auto address =
      info<uint64_t>(symbol(executable, "counter"), HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS);
  hsa_code_object_reader_t reader{};
  ASSERT_EQ(hsa_code_object_reader_create_from_memory(elf_.data(), elf_.size(), &reader),
            HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_executable_load_agent_code_object(executable, gpu_, reader, nullptr, nullptr),
            HSA_STATUS_ERROR_VARIABLE_ALREADY_DEFINED);
  // The first definition stays, and nothing of the second object.
  EXPECT_EQ(
      info<uint64_t>(symbol(executable, "counter"), HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS),
      address);
  EXPECT_EQ(hsa_executable_destroy(executable), HSA_STATUS_SUCCESS);

  // A variable that the program defined, and the code object as well.
  ASSERT_EQ(hsa_executable_create_alt(HSA_PROFILE_BASE, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT,
                                      nullptr, &executable),
            HSA_STATUS_SUCCESS);
  int counter = 0;
  ASSERT_EQ(hsa_executable_agent_global_variable_define(executable, gpu_, "counter", &counter),
            HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_executable_load_agent_code_object(executable, gpu_, reader, nullptr, nullptr),
            HSA_STATUS_ERROR_VARIABLE_ALREADY_DEFINED);
  EXPECT_EQ(hsa_executable_destroy(executable), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_code_object_reader_destroy(reader), HSA_STATUS_SUCCESS);
}

TEST_F(LoaderTest, StaleHandlesAreErrors) {
  const hsa_executable_t none{123456};
  EXPECT_EQ(hsa_executable_freeze(none, nullptr), HSA_STATUS_ERROR_INVALID_EXECUTABLE);
  EXPECT_EQ(hsa_code_object_reader_destroy({123456}), HSA_STATUS_ERROR_INVALID_CODE_OBJECT_READER);
  hsa_executable_t executable{};
  ASSERT_EQ(hsa_executable_create_alt(HSA_PROFILE_BASE, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT,
                                      nullptr, &executable),
            HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_executable_load_agent_code_object(executable, gpu_, {123456}, nullptr, nullptr),
            HSA_STATUS_ERROR_INVALID_CODE_OBJECT_READER);
  EXPECT_EQ(hsa_executable_load_agent_code_object(executable, cpu_, {123456}, nullptr, nullptr),
            HSA_STATUS_ERROR_INVALID_AGENT);
}

TEST_F(LoaderTest, AnotherGpusCodeIsRefused) {
  std::vector<std::byte> other = elf_;
  // e_flags, low byte: the machine. 0x36 is gfx1030, 0x33 gfx1010.
  ASSERT_EQ(other[48], std::byte{0x36});
  other[48] = std::byte{0x33};
  hsa_executable_t executable{};
  EXPECT_NE(load(other, &executable), HSA_STATUS_SUCCESS);
  hsa_executable_destroy(executable);
}

TEST_F(LoaderTest, EveryTruncationIsAnErrorOrHarmless) {
  for (size_t size = 1; size < elf_.size(); size += size < 1024 ? 1 : 61) {
    const std::vector<std::byte> cut(elf_.begin(), elf_.begin() + static_cast<ptrdiff_t>(size));
    hsa_executable_t executable{};
    const hsa_status_t status = load(cut, &executable);
    // Sections at the end are not needed to load.
    if (size < 4096) {
      EXPECT_NE(status, HSA_STATUS_SUCCESS) << size;
    }
    hsa_executable_destroy(executable);
  }
}

TEST_F(LoaderTest, FlippedBytesNeverCrash) {
  for (size_t i = 0; i < elf_.size(); i += i < 2048 ? 1 : 37) {
    for (const uint8_t mask : std::initializer_list<uint8_t>{0x01, 0x80, 0xff}) {
      std::vector<std::byte> bad = elf_;
      bad[i] ^= std::byte{mask};
      hsa_executable_t executable{};
      load(bad, &executable);
      hsa_executable_destroy(executable);
    }
  }
}

// The first segment without its first 64 bytes (the ELF header): all else must stay where it was.
TEST_F(LoaderTest, TheFirstSegmentMayBeginInsideAPage) {
  constexpr uint64_t kCut = 64;
  std::vector<std::byte> cut = elf_;
  const auto get = [&](size_t at) {
    uint64_t value = 0;
    std::memcpy(&value, &cut[at], 8);
    return value;
  };
  const auto put = [&](size_t at, uint64_t value) { std::memcpy(&cut[at], &value, 8); };
  size_t header = get(0x20);
  while (static_cast<uint32_t>(get(header)) != 1) header += 56;  // PT_LOAD
  ASSERT_EQ(get(header + 0x10), 0u);
  for (const size_t field : {0x08, 0x10, 0x18}) put(header + field, get(header + field) + kCut);
  for (const size_t field : {0x20, 0x28}) put(header + field, get(header + field) - kCut);
  hsa_executable_t whole{};
  hsa_executable_t executable{};
  ASSERT_EQ(load(elf_, &whole), HSA_STATUS_SUCCESS);
  ASSERT_EQ(load(cut, &executable), HSA_STATUS_SUCCESS);
  const auto object = [&](hsa_executable_t e) {
    return reinterpret_cast<const void*>(
        info<uint64_t>(symbol(e, "fill.kd"), HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT));
  };
  EXPECT_EQ(std::memcmp(object(executable), object(whole), 64), 0);
  hsa_executable_destroy(whole);
  hsa_executable_destroy(executable);
}

TEST_F(LoaderTest, AnErrorNamesTheObjectAndTheField) {
  std::vector<std::byte> bad = elf_;
  uint64_t headers = 0;
  std::memcpy(&headers, &bad[0x20], 8);
  size_t header = headers;
  while (bad[header] != std::byte{1}) header += 56;
  bad[header + 0x30] = std::byte{3};  // p_align
  testing::internal::CaptureStderr();
  hsa_executable_t executable{};
  EXPECT_EQ(load(bad, &executable), HSA_STATUS_ERROR_INVALID_CODE_OBJECT);
  hsa_executable_destroy(executable);
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("the code object of " + std::to_string(bad.size()) + " bytes"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("p_align"), std::string::npos) << text;
}

TEST_F(LoaderTest, LoaderExtension) {
  hsa_ven_amd_loader_1_01_pfn_t table{};
  ASSERT_EQ(
      hsa_system_get_major_extension_table(HSA_EXTENSION_AMD_LOADER, 1, sizeof(table), &table),
      HSA_STATUS_SUCCESS);
  EXPECT_NE(
      hsa_system_get_major_extension_table(HSA_EXTENSION_AMD_LOADER, 2, sizeof(table), &table),
      HSA_STATUS_SUCCESS);
  EXPECT_NE(hsa_system_get_major_extension_table(HSA_EXTENSION_FINALIZER, 1, sizeof(table), &table),
            HSA_STATUS_SUCCESS);
  hsa_executable_t executable{};
  ASSERT_EQ(load(elf_, &executable), HSA_STATUS_SUCCESS);
  const auto object =
      info<uint64_t>(symbol(executable, "fill.kd"), HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT);
  hsa_executable_t owner{};
  ASSERT_EQ(table.hsa_ven_amd_loader_query_executable(reinterpret_cast<void*>(object), &owner),
            HSA_STATUS_SUCCESS);
  EXPECT_EQ(owner.handle, executable.handle);
  const void* host = nullptr;
  ASSERT_EQ(table.hsa_ven_amd_loader_query_host_address(reinterpret_cast<void*>(object), &host),
            HSA_STATUS_SUCCESS);
  EXPECT_EQ(host, reinterpret_cast<void*>(object));
  size_t count = 0;
  ASSERT_EQ(table.hsa_ven_amd_loader_query_segment_descriptors(nullptr, &count),
            HSA_STATUS_SUCCESS);
  EXPECT_EQ(count, 1u);
  hsa_executable_destroy(executable);
}

}  // namespace
}  // namespace gfxgraph::hsa_test
