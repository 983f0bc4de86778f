// The library that rocprofiler-register loads, with a fake HIP's table.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <vector>

namespace {

using Set = int (*)(const char*, uint64_t, uint64_t, void**, uint64_t);
using Function = int (*)();

constexpr size_t kEntries = 507;
constexpr size_t kApiName = 0, kMalloc = 215;  // of api_table.inc: passed on, recorded
constexpr uint64_t kVersion = 70204;

class DoorTest : public testing::Test {
 protected:
  void SetUp() override {
    void* const hip = dlopen(GFXGRAPH_FAKE_TABLE_HIP, RTLD_NOW | RTLD_GLOBAL);
    ASSERT_NE(hip, nullptr) << dlerror();
    void* const door = dlopen(GFXGRAPH_DOOR_LIBRARY, RTLD_LAZY | RTLD_GLOBAL);
    ASSERT_NE(door, nullptr) << dlerror();
    set_ = reinterpret_cast<Set>(dlsym(door, "rocprofiler_set_api_table"));
    ASSERT_NE(set_, nullptr);
    table_ = reinterpret_cast<void* (*)()>(dlsym(hip, "fake_table"))();
    calls_ = reinterpret_cast<Function>(dlsym(hip, "fake_table_calls"));
  }
  std::vector<Function> entries() const {
    std::vector<Function> result(kEntries);
    std::memcpy(result.data(), static_cast<char*>(table_) + sizeof(size_t),
                kEntries * sizeof(void*));
    return result;
  }

  Set set_ = nullptr;
  void* table_ = nullptr;
  Function calls_ = nullptr;
};

TEST_F(DoorTest, OtherTablesAndOlderOnesStayAsTheyAre) {
  const std::vector<Function> before = entries();
  EXPECT_EQ(set_("hsa", kVersion, 0, &table_, 1), 0);
  EXPECT_EQ(set_(nullptr, kVersion, 0, &table_, 1), 0);
  EXPECT_EQ(set_("hip", 50703, 0, &table_, 1), 1);
  EXPECT_EQ(set_("hip", kVersion, 0, nullptr, 1), 1);
  EXPECT_EQ(set_("hip", kVersion, 0, &table_, 0), 1);
  EXPECT_EQ(set_("hip", kVersion, 1, &table_, 1), 0);  // a second runtime
  size_t empty = 0;
  void* no_entries = &empty;
  EXPECT_EQ(set_("hip", kVersion, 0, &no_entries, 1), 1);
  EXPECT_EQ(entries(), before);
}

TEST_F(DoorTest, HooksReachTheFunctionsThatStoodInTheTable) {
  const std::vector<Function> before = entries();
  ASSERT_EQ(set_("hip", kVersion, 0, &table_, 1), 0);
  const std::vector<Function> after = entries();
  EXPECT_EQ(after[kApiName], before[kApiName]);
  EXPECT_NE(after[kMalloc], before[kMalloc]);
  EXPECT_NE(after[kEntries - 1], before[kEntries - 1]);  // without a name
  for (const size_t entry : {kMalloc, kEntries - 1}) {
    const int calls = calls_();
    EXPECT_EQ(after[entry](), calls + 1) << entry;
    EXPECT_EQ(calls_(), calls + 1) << entry;
  }
  // Handed over again, as to a second tool: no hook calls itself.
  ASSERT_EQ(set_("hip", kVersion, 0, &table_, 1), 0);
  EXPECT_EQ(entries()[kMalloc], after[kMalloc]);
  const int calls = calls_();
  EXPECT_EQ(entries()[kMalloc](), calls + 1);
}

}  // namespace
