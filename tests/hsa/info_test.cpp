// Constants that HIP relies on, entry points, status strings.
#include <dlfcn.h>
#include <gmock/gmock.h>

#include <array>
#include <cstdio>
#include <set>

#include "tests/hsa/agent_fixture.h"

namespace gfxgraph::hsa_test {
namespace {

struct Row {
  const char* name;
  bool refused;
  uint32_t status;
};
constexpr Row kRows[] = {
#define GFXGRAPH_HSA_CALL(name) {#name, false, 0},
#define GFXGRAPH_HSA_REFUSED(name, status) {#name, true, status},
#include "hsa/api/hsa_calls.inc"
};

constexpr const char* kAgentLibrary = GFXGRAPH_BINARY_DIR "/lib/gfxgraph/libhsa-runtime64.so.1";

// The names that `nm -D` prints in a library, without version.
std::set<std::string> dynamic_names(const std::string& arguments) {
  std::set<std::string> names;
  FILE* const pipe = popen(("nm -D " + arguments + " 2>/dev/null").c_str(), "r");
  if (pipe == nullptr) return names;
  std::array<char, 1024> line{};
  while (std::fgets(line.data(), line.size(), pipe) != nullptr) {
    std::string text(line.data());
    text.erase(text.find_last_not_of('\n') + 1);
    const size_t begin = text.rfind(' ') + 1;
    names.insert(text.substr(begin, text.find('@') - begin));
  }
  pclose(pipe);
  return names;
}

using InfoTest = AgentTest;

TEST_F(InfoTest, ExportsExactlyTheTable) {
  std::set<std::string> expected{"ROCR_1", "gfxgraph_agent_fault_state", "gfxgraph_agent_zero"};
  for (const Row& row : kRows) expected.insert(row.name);
  EXPECT_EQ(dynamic_names(std::string("--defined-only ") + kAgentLibrary), expected);
}

TEST_F(InfoTest, ExportsAllThatHipImports) {
  const std::set<std::string> imports =
      dynamic_names("--undefined-only /usr/lib/x86_64-linux-gnu/libamdhip64.so.5");
  if (imports.empty()) GTEST_SKIP() << "no libamdhip64.so.5 here";
  std::set<std::string> have;
  for (const Row& row : kRows) have.insert(row.name);
  size_t asked = 0;
  for (const std::string& name : imports) {
    if (!name.starts_with("hsa_")) continue;
    ++asked;
    EXPECT_TRUE(have.contains(name)) << name;
  }
  EXPECT_GE(asked, 76u);  // of HIP 5.2.3; 79 of 5.7.1
}

TEST_F(InfoTest, SymbolsHaveTheVersionOfRocr) {
  for (const Row& row : kRows)
    EXPECT_NE(dlvsym(RTLD_DEFAULT, row.name, "ROCR_1"), nullptr) << row.name;
}

TEST_F(InfoTest, RefusedCallsAnswerTheirStatus) {
  size_t count = 0;
  for (const Row& row : kRows) {
    if (!row.refused) continue;
    auto* const call = reinterpret_cast<uint32_t (*)(...)>(dlsym(RTLD_DEFAULT, row.name));
    ASSERT_NE(call, nullptr) << row.name;
    EXPECT_EQ(call(nullptr, nullptr, nullptr, nullptr), row.status) << row.name;
    EXPECT_NE(row.status, 0u);
    ++count;
  }
  EXPECT_GT(count, 20u);
}

TEST_F(InfoTest, GpuAnswersWhatHipRequires) {
  char name[64] = {};
  ASSERT_EQ(hsa_agent_get_info(gpu_, HSA_AGENT_INFO_NAME, name), HSA_STATUS_SUCCESS);
  EXPECT_STREQ(name, "gfx1030");
  hsa_device_type_t type{};
  ASSERT_EQ(hsa_agent_get_info(gpu_, HSA_AGENT_INFO_DEVICE, &type), HSA_STATUS_SUCCESS);
  EXPECT_EQ(type, HSA_DEVICE_TYPE_GPU);
  ASSERT_EQ(hsa_agent_get_info(cpu_, HSA_AGENT_INFO_DEVICE, &type), HSA_STATUS_SUCCESS);
  EXPECT_EQ(type, HSA_DEVICE_TYPE_CPU);
  uint32_t value = 0;
  ASSERT_EQ(hsa_agent_get_info(gpu_, HSA_AGENT_INFO_WAVEFRONT_SIZE, &value), HSA_STATUS_SUCCESS);
  EXPECT_EQ(value, 32u);
  uint16_t dimensions[4] = {1, 2, 3, 0xabcd};
  ASSERT_EQ(hsa_agent_get_info(gpu_, HSA_AGENT_INFO_WORKGROUP_MAX_DIM, dimensions),
            HSA_STATUS_SUCCESS);
  EXPECT_EQ(dimensions[2], 1024);
  EXPECT_EQ(dimensions[3], 0xabcd) << "wrote past the attribute";
  uint8_t extensions[128] = {};
  ASSERT_EQ(hsa_agent_get_info(gpu_, HSA_AGENT_INFO_EXTENSIONS, extensions), HSA_STATUS_SUCCESS);
  EXPECT_EQ(extensions[0], 1u << HSA_EXTENSION_IMAGES);
  hsa_amd_hdp_flush_t flush{};
  ASSERT_EQ(
      hsa_agent_get_info(gpu_, number<hsa_agent_info_t>(HSA_AMD_AGENT_INFO_HDP_FLUSH), &flush),
      HSA_STATUS_SUCCESS);
  *flush.HDP_MEM_FLUSH_CNTL = 1;
  *flush.HDP_REG_FLUSH_CNTL = 1;
  char uuid[24] = {};
  ASSERT_EQ(hsa_agent_get_info(gpu_, number<hsa_agent_info_t>(HSA_AMD_AGENT_INFO_UUID), uuid),
            HSA_STATUS_SUCCESS);
  EXPECT_EQ(std::string(uuid, 4), "GPU-");
}

TEST_F(InfoTest, UnknownAttributesAreErrors) {
  uint64_t value[16] = {};
  EXPECT_EQ(hsa_agent_get_info(gpu_, number<hsa_agent_info_t>(0x7fff), value),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(hsa_agent_get_info(hsa_agent_t{77}, HSA_AGENT_INFO_NAME, value),
            HSA_STATUS_ERROR_INVALID_AGENT);
  EXPECT_EQ(hsa_agent_get_info(gpu_, HSA_AGENT_INFO_NAME, nullptr),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(hsa_system_get_info(number<hsa_system_info_t>(0x7fff), value),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
}

TEST_F(InfoTest, TheGenericIsaComesSecond) {
  std::vector<hsa_isa_t> isas;
  ASSERT_EQ(hsa_agent_iterate_isas(
                gpu_,
                [](hsa_isa_t isa, void* list) {
                  static_cast<std::vector<hsa_isa_t>*>(list)->push_back(isa);
                  return HSA_STATUS_SUCCESS;
                },
                &isas),
            HSA_STATUS_SUCCESS);
  ASSERT_EQ(isas.size(), 2u);
  const char* const names[] = {"amdgcn-amd-amdhsa--gfx1030", "amdgcn-amd-amdhsa--gfx10-3-generic"};
  for (size_t i = 0; i < isas.size(); ++i) {
    uint32_t length = 0;
    ASSERT_EQ(hsa_isa_get_info_alt(isas[i], HSA_ISA_INFO_NAME_LENGTH, &length), HSA_STATUS_SUCCESS);
    std::string name(length, '?');
    ASSERT_EQ(hsa_isa_get_info_alt(isas[i], HSA_ISA_INFO_NAME, name.data()), HSA_STATUS_SUCCESS);
    EXPECT_STREQ(name.c_str(), names[i]);
    hsa_isa_t again{};
    EXPECT_EQ(hsa_isa_from_name(names[i], &again), HSA_STATUS_SUCCESS);
    EXPECT_EQ(again.handle, isas[i].handle);
  }
  hsa_isa_t first{};
  ASSERT_EQ(hsa_agent_get_info(gpu_, HSA_AGENT_INFO_ISA, &first), HSA_STATUS_SUCCESS);
  EXPECT_EQ(first.handle, isas[0].handle);
  bool runs = false;
  EXPECT_EQ(hsa_isa_compatible(isas[1], isas[0], &runs), HSA_STATUS_SUCCESS);
  EXPECT_TRUE(runs);
  EXPECT_EQ(hsa_isa_compatible(isas[0], isas[1], &runs), HSA_STATUS_SUCCESS);
  EXPECT_FALSE(runs);
  EXPECT_EQ(hsa_isa_compatible(isas[0], hsa_isa_t{3}, &runs), HSA_STATUS_ERROR_INVALID_ISA);
  EXPECT_EQ(hsa_isa_from_name("amdgcn-amd-amdhsa--gfx11-generic", &first),
            HSA_STATUS_ERROR_INVALID_ISA_NAME);
}

TEST_F(InfoTest, PoolsAndTheirAccess) {
  const auto host = pools(cpu_);
  const auto device = pools(gpu_);
  ASSERT_EQ(host.size(), 3u);
  ASSERT_EQ(device.size(), 2u);
  const uint32_t flags[] = {2, 3, 4};
  for (size_t i = 0; i < host.size(); ++i) {
    uint32_t value = 0;
    ASSERT_EQ(hsa_amd_memory_pool_get_info(host[i], HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &value),
              HSA_STATUS_SUCCESS);
    EXPECT_EQ(value, flags[i]);
  }
  hsa_amd_memory_pool_access_t access{};
  ASSERT_EQ(hsa_amd_agent_memory_pool_get_info(cpu_, device[0],
                                               HSA_AMD_AGENT_MEMORY_POOL_INFO_ACCESS, &access),
            HSA_STATUS_SUCCESS);
  EXPECT_EQ(access, HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED);
  size_t group = 0;
  ASSERT_EQ(hsa_amd_memory_pool_get_info(device[1], HSA_AMD_MEMORY_POOL_INFO_SIZE, &group),
            HSA_STATUS_SUCCESS);
  EXPECT_EQ(group, 65536u);
}

TEST_F(InfoTest, TimestampsAdvance) {
  uint64_t first = 0;
  uint64_t second = 0;
  ASSERT_EQ(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &first), HSA_STATUS_SUCCESS);
  ASSERT_EQ(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &second), HSA_STATUS_SUCCESS);
  EXPECT_GT(first, 0u);
  EXPECT_GE(second, first);
}

TEST_F(InfoTest, StatusStrings) {
  const char* text = nullptr;
  ASSERT_EQ(hsa_status_string(HSA_STATUS_ERROR_INVALID_QUEUE, &text), HSA_STATUS_SUCCESS);
  EXPECT_THAT(text, testing::StartsWith("HSA_STATUS_ERROR_INVALID_QUEUE"));
  EXPECT_EQ(hsa_status_string(number<hsa_status_t>(0x7777), &text),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
}

TEST(Life, CallsBeforeInitAndAfterShutDownAreErrors) {
  uint64_t value = 0;
  EXPECT_EQ(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &value),
            HSA_STATUS_ERROR_NOT_INITIALIZED);
  EXPECT_EQ(hsa_shut_down(), HSA_STATUS_ERROR_NOT_INITIALIZED);
  ASSERT_EQ(hsa_init(), HSA_STATUS_SUCCESS);
  ASSERT_EQ(hsa_init(), HSA_STATUS_SUCCESS);
  ASSERT_EQ(hsa_shut_down(), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &value), HSA_STATUS_SUCCESS);
  ASSERT_EQ(hsa_shut_down(), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &value),
            HSA_STATUS_ERROR_NOT_INITIALIZED);
}

}  // namespace
}  // namespace gfxgraph::hsa_test
