#include "check/order/data_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

namespace gfxgraph::check {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr uint64_t kDevice = 0x7e0000001000;
constexpr uint64_t kHost = 0x555500001000;

// Memory of three pages, and nodes that read or write 64 bytes of it.
class DataOrderTest : public testing::Test {
 protected:
  const std::vector<uint32_t>& node(uint64_t address, bool write) {
    order_.begin({});
    if (write)
      order_.write(address, 64);
    else
      order_.read(address, 64);
    order_.end();
    return order_.nodes().back().needs;
  }
  const std::vector<uint32_t>& write(uint64_t address) { return node(address, true); }
  const std::vector<uint32_t>& read(uint64_t address) { return node(address, false); }

  Budget budget_{BudgetLimits{}};
  DataOrder order_{budget_};
};

TEST_F(DataOrderTest, AReaderNeedsTheWriterAndTheNextWriterNeedsBoth) {
  order_.add_memory(kDevice, 0, 3 * 4096);
  EXPECT_THAT(write(kDevice), IsEmpty());
  EXPECT_THAT(read(kDevice), ElementsAre(0));
  EXPECT_THAT(read(kDevice + 64), IsEmpty());
  EXPECT_THAT(write(kDevice), ElementsAre(0, 1));
}

TEST_F(DataOrderTest, SecondAddressesAreTheSameMemory) {
  order_.add_memory(kDevice, kHost, 3 * 4096);
  EXPECT_THAT(write(kDevice + 4096), IsEmpty());
  EXPECT_THAT(read(kHost + 4096), ElementsAre(0));
  EXPECT_THAT(write(kHost + 4096), ElementsAre(0, 1));
  EXPECT_THAT(read(kDevice + 4096), ElementsAre(2));
  EXPECT_THAT(write(kHost), IsEmpty());
}

TEST_F(DataOrderTest, MemoryThatBeginsAtASecondAddressIsOtherMemory) {
  order_.add_memory(kDevice, kHost, 4096);
  EXPECT_THAT(write(kDevice), IsEmpty());
  order_.remove_memory(kDevice);
  order_.add_memory(kHost, 0, 4096);
  EXPECT_THAT(read(kHost), IsEmpty());
  order_.add_memory(kDevice, 0, 4096);
  EXPECT_THAT(write(kDevice), IsEmpty());
  EXPECT_THAT(write(kHost), ElementsAre(1));
}

TEST(SecondAddresses, AgreesWithATableOfChunks) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    SecondAddresses<16> seconds;
    std::map<uint64_t, uint64_t> chunks;
    for (int step = 0; step < 20; ++step) {
      const uint64_t second = random() % 1024, bytes = random() % 200;
      const uint64_t from = second / 16, end = bytes == 0 ? from : (second + bytes - 1) / 16 + 1;
      if (random() % 3 == 0) {
        seconds.remove(second, bytes);
        for (uint64_t n = from; n < end; ++n) chunks.erase(n);
        continue;
      }
      const uint64_t first = second + 16 * (100 + random() % 3);
      bool fine = true;
      for (uint64_t n = from; n < end; ++n) {
        const auto [known, added] = chunks.try_emplace(n, n + (first - second) / 16);
        fine &= known->second == n + (first - second) / 16;
        known->second = n + (first - second) / 16;
      }
      ASSERT_EQ(seconds.add(second, first, bytes), fine);
      for (uint64_t n = 0; n < 90; ++n) {
        const auto known = chunks.find(n);
        ASSERT_EQ(seconds.chunk(n), known == chunks.end() ? n : known->second) << n;
      }
    }
    EXPECT_FALSE(seconds.add(0, 8, 1)) << "not a multiple of a chunk";
  }
}

}  // namespace
}  // namespace gfxgraph::check
