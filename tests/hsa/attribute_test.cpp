// Every attribute of every ..._get_info call: no byte beyond its documented size is written, all
// within are, and an attribute that the agent does not have is an error that writes nothing.
#include <hsa/hsa_ven_amd_loader.h>

#include <array>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include "hsa/api/attributes.h"
#include "tests/hsa/agent_fixture.h"
#include "tests/hsa/code_file.h"
#include "tests/hsa/newer_calls.h"

namespace gfxgraph::hsa_test {
namespace {

using hsa::AttributeOf;
using hsa::kTextBytes;

struct Row {
  AttributeOf of;
  const char* name;
  uint32_t number;
  size_t bytes;
};
constexpr Row kRows[] = {
#define GFXGRAPH_ATTRIBUTE(family, name, number, bytes) {AttributeOf::family, #name, number, bytes},
#define GFXGRAPH_ATTRIBUTE_NEWER(family, name, number, bytes) \
  {AttributeOf::family, #name, number, bytes},
#include "hsa/api/attributes.inc"
#undef GFXGRAPH_ATTRIBUTE
#undef GFXGRAPH_ATTRIBUTE_NEWER
};

using Ask = std::function<hsa_status_t(uint32_t, void*)>;

constexpr size_t kCanaryBytes = 4096;

class AttributeTest : public AgentTest {
 protected:
  void SetUp() override {
    AgentTest::SetUp();
    elf_ = device_elf("loader_kernels.co");
    ASSERT_GT(elf_.size(), 1000u);
    hsa_code_object_reader_t reader{};
    ASSERT_EQ(hsa_code_object_reader_create_from_memory(elf_.data(), elf_.size(), &reader),
              HSA_STATUS_SUCCESS);
    ASSERT_EQ(hsa_executable_create_alt(HSA_PROFILE_BASE, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT,
                                        nullptr, &executable_),
              HSA_STATUS_SUCCESS);
    ASSERT_EQ(
        hsa_executable_load_agent_code_object(executable_, gpu_, reader, nullptr, &loaded_object_),
        HSA_STATUS_SUCCESS);
    ASSERT_EQ(hsa_executable_freeze(executable_, nullptr), HSA_STATUS_SUCCESS);
    queue_ = queue();
    ASSERT_NE(queue_, nullptr);
    SdmaQueueDescriptor wished;
    ASSERT_EQ(newer_hsa_amd_queue_create(gpu_, reinterpret_cast<QueueDescriptor*>(&wished), 1),
              HSA_STATUS_SUCCESS);
    sdma_queue_ = wished.queue;
    fill_asks();
  }
  void TearDown() override {
    EXPECT_EQ(hsa_queue_destroy(queue_), HSA_STATUS_SUCCESS);
    EXPECT_EQ(hsa_queue_destroy(sdma_queue_), HSA_STATUS_SUCCESS);
    EXPECT_EQ(hsa_executable_destroy(executable_), HSA_STATUS_SUCCESS);
    AgentTest::TearDown();
  }

  void fill_asks() {
    for (const hsa_agent_t agent : {cpu_, gpu_}) {
      asks_[AttributeOf::kAgent].push_back([agent](uint32_t n, void* value) {
        return hsa_agent_get_info(agent, number<hsa_agent_info_t>(n), value);
      });
      for (const hsa_amd_memory_pool_t pool : pools(agent)) {
        asks_[AttributeOf::kPool].push_back([pool](uint32_t n, void* value) {
          return hsa_amd_memory_pool_get_info(pool, number<hsa_amd_memory_pool_info_t>(n), value);
        });
        asks_[AttributeOf::kRegion].push_back([pool](uint32_t n, void* value) {
          return hsa_region_get_info(hsa_region_t{pool.handle}, number<hsa_region_info_t>(n),
                                     value);
        });
        for (const hsa_agent_t from : {cpu_, gpu_}) {
          asks_[AttributeOf::kAgentPool].push_back([from, pool](uint32_t n, void* value) {
            return hsa_amd_agent_memory_pool_get_info(
                from, pool, number<hsa_amd_agent_memory_pool_info_t>(n), value);
          });
        }
      }
    }
    asks_[AttributeOf::kSystem].push_back([](uint32_t n, void* value) {
      return hsa_system_get_info(number<hsa_system_info_t>(n), value);
    });
    hsa_isa_t isa{};
    ASSERT_EQ(hsa_isa_from_name("amdgcn-amd-amdhsa--gfx1030", &isa), HSA_STATUS_SUCCESS);
    asks_[AttributeOf::kIsa].push_back([isa](uint32_t n, void* value) {
      return hsa_isa_get_info_alt(isa, number<hsa_isa_info_t>(n), value);
    });
    asks_[AttributeOf::kExecutable].push_back([this](uint32_t n, void* value) {
      return hsa_executable_get_info(executable_, number<hsa_executable_info_t>(n), value);
    });
    for (const char* const name : {"fill.kd", "counter"}) {
      hsa_executable_symbol_t symbol{};
      ASSERT_EQ(hsa_executable_get_symbol_by_name(executable_, name, &gpu_, &symbol),
                HSA_STATUS_SUCCESS);
      asks_[AttributeOf::kSymbol].push_back([symbol](uint32_t n, void* value) {
        return hsa_executable_symbol_get_info(symbol, number<hsa_executable_symbol_info_t>(n),
                                              value);
      });
    }
    for (hsa_queue_t* const one : {queue_, sdma_queue_}) {
      asks_[AttributeOf::kQueue].push_back(
          [one](uint32_t n, void* value) { return newer_hsa_amd_queue_get_info(one, n, value); });
    }
    hsa_ven_amd_loader_1_03_pfn_t table{};
    ASSERT_EQ(
        hsa_system_get_major_extension_table(HSA_EXTENSION_AMD_LOADER, 1, sizeof(table), &table),
        HSA_STATUS_SUCCESS);
    asks_[AttributeOf::kLoadedObject].push_back([this, table](uint32_t n, void* value) {
      return table.hsa_ven_amd_loader_loaded_code_object_get_info(
          loaded_object_, number<hsa_ven_amd_loader_loaded_code_object_info_t>(n), value);
    });
  }

  // Of newer headers.

  // Bytes from the first to the last that the call wrote, learnt with two different canaries.
  static size_t written(const Ask& ask, uint32_t n, hsa_status_t* status) {
    size_t last = 0;
    for (const uint8_t canary : {uint8_t{0xa5}, uint8_t{0x5a}}) {
      std::array<uint8_t, kCanaryBytes> buffer{};
      buffer.fill(canary);
      *status = ask(n, buffer.data() + kCanaryBytes / 2);
      for (size_t i = 0; i < kCanaryBytes / 2; ++i)
        EXPECT_EQ(buffer[i], canary) << "before the value";
      for (size_t i = kCanaryBytes / 2; i < kCanaryBytes; ++i) {
        if (buffer[i] != canary) last = std::max(last, i + 1 - kCanaryBytes / 2);
      }
    }
    return last;
  }

  uint32_t length(AttributeOf of, uint32_t n, const Ask& ask) {
    uint32_t length = 0;
    if (of == AttributeOf::kAgentPool)
      return ask(1, &length) == HSA_STATUS_SUCCESS
                 ? length * uint32_t{sizeof(hsa_amd_memory_pool_link_info_t)}
                 : 0;
    EXPECT_EQ(ask(n - 1, &length), HSA_STATUS_SUCCESS);
    return length;
  }

  std::vector<std::byte> elf_;
  hsa_executable_t executable_{};
  hsa_loaded_code_object_t loaded_object_{};
  hsa_queue_t* queue_ = nullptr;
  hsa_queue_t* sdma_queue_ = nullptr;
  std::map<AttributeOf, std::vector<Ask>> asks_;
};

TEST_F(AttributeTest, EachWritesItsDocumentedBytesAndNoOthers) {
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.name);
    size_t answers = 0;
    for (const Ask& ask : asks_[row.of]) {
      hsa_status_t status{};
      const size_t bytes = written(ask, row.number, &status);
      if (status != HSA_STATUS_SUCCESS) {
        EXPECT_EQ(status, HSA_STATUS_ERROR_INVALID_ARGUMENT);
        EXPECT_EQ(bytes, 0u) << "wrote although it failed";
        continue;
      }
      ++answers;
      EXPECT_EQ(bytes, row.bytes == kTextBytes ? length(row.of, row.number, ask) : row.bytes);
    }
    EXPECT_GT(answers, 0u) << "nothing has this attribute";
  }
}

TEST_F(AttributeTest, UnknownOnesAreErrorsThatWriteNothing) {
  std::set<std::pair<AttributeOf, uint32_t>> known;
  for (const Row& row : kRows) known.emplace(row.of, row.number);
  std::vector<uint32_t> numbers = {0x7fff, 0xffffffff};
  for (const uint32_t first : {0u, 0x200u, 0x3000u, 0xA000u, 0xA100u})
    for (uint32_t n = first; n < first + 0x30; ++n) numbers.push_back(n);
  for (const auto& [of, asks] : asks_) {
    for (const uint32_t n : numbers) {
      if (known.contains({of, n})) continue;
      for (const Ask& ask : asks) {
        hsa_status_t status{};
        EXPECT_EQ(written(ask, n, &status), 0u) << n;
        EXPECT_EQ(status, HSA_STATUS_ERROR_INVALID_ARGUMENT) << n;
      }
    }
  }
  for (const auto& [of, asks] : asks_) {
    for (const Ask& ask : asks) EXPECT_EQ(ask(1, nullptr), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  }
}

// Numbers of the installed headers, read as text: also those that are newer than HIP 5.2.3.
TEST_F(AttributeTest, NumbersAreThoseOfTheInstalledHeaders) {
  std::map<std::string, uint32_t> defined;
  for (const char* const name :
       {"hsa.h", "hsa_ext_amd.h", "hsa_ext_image.h", "hsa_ven_amd_loader.h"}) {
    std::ifstream file(std::string(GFXGRAPH_HSA_INCLUDE) + "/hsa/" + name);
    ASSERT_TRUE(file) << name;
    std::string line;
    while (std::getline(file, line)) {
      std::istringstream words(line);
      std::string constant;
      std::string equals;
      std::string value;
      if (words >> constant >> equals >> value && equals == "=" && constant.starts_with("HSA_") &&
          std::isdigit(static_cast<unsigned char>(value[0])) != 0) {
        defined[constant] = static_cast<uint32_t>(std::stoul(value, nullptr, 0));
      }
    }
  }
  size_t compared = 0;
  for (const Row& row : kRows) {
    const auto found = defined.find(row.name);
    if (found == defined.end()) continue;
    EXPECT_EQ(found->second, row.number) << row.name;
    ++compared;
  }
  EXPECT_GT(compared, 120u);
}

// At least what HSA demands.
TEST_F(AttributeTest, ImageLimits) {
  for (const Row& row : kRows) {
    if (row.of != AttributeOf::kAgent || row.number < 0x3000 || row.number > 0x300B) continue;
    std::array<uint32_t, 3> limits{};
    ASSERT_EQ(hsa_agent_get_info(gpu_, number<hsa_agent_info_t>(row.number), limits.data()),
              HSA_STATUS_SUCCESS);
    const uint32_t least = row.number <= 0x3006   ? 16384
                           : row.number <= 0x3008 ? 2048
                           : row.number == 0x3009 ? 128
                           : row.number == 0x300A ? 64
                                                  : 16;
    for (size_t n = 0; n < row.bytes / 4; ++n) EXPECT_GE(limits[n], least) << row.name;
    ASSERT_EQ(hsa_agent_get_info(cpu_, number<hsa_agent_info_t>(row.number), limits.data()),
              HSA_STATUS_SUCCESS);
    EXPECT_EQ(limits[0], 0u) << row.name;
  }
}

TEST_F(AttributeTest, ADeviceOfItsOwn) {
  uint64_t properties = UINT64_MAX;
  ASSERT_EQ(hsa_agent_get_info(gpu_, number<hsa_agent_info_t>(0xA114), &properties),
            HSA_STATUS_SUCCESS);
  EXPECT_EQ(properties & 1, 0u) << "HIP 6.4 reports an integrated device";
  hsa_agent_t nearest{};
  ASSERT_EQ(hsa_agent_get_info(gpu_, number<hsa_agent_info_t>(0xA113), &nearest),
            HSA_STATUS_SUCCESS);
  EXPECT_EQ(nearest.handle, cpu_.handle);
}

}  // namespace
}  // namespace gfxgraph::hsa_test
