// Return addresses as numbers, and as places in files.
#include "recorder/sites/call_sites.h"

#include <dlfcn.h>
#include <sys/mman.h>

#include <thread>

#include "format/site_name.h"
#include "tests/recorder/fake_device/recorder_fixture.h"

namespace gfxgraph::recorder {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::SizeIs;

__attribute__((noinline)) const void* here_now() {
  asm volatile("");  // each call is made
  return __builtin_return_address(0);
}

class CallSitesTest : public RecorderTest {
 protected:
  ~CallSitesTest() override { program_call = nullptr; }
  void allocate(const void* from, void* memory) {
    program_call = from;
    device_memory(memory, 256);
    program_call = nullptr;
  }
  alignas(256) uint64_t a_[32] = {};
  alignas(256) uint64_t b_[32] = {};
  alignas(256) uint64_t c_[32] = {};
};

TEST_F(CallSitesTest, HaveOneNumberEach) {
  CallSites sites(false);
  const void* const one = here_now();
  const void* const other = here_now();
  EXPECT_EQ(sites.at(nullptr), 0u);
  EXPECT_EQ(sites.at(one), 1u);
  EXPECT_EQ(sites.at(other), 2u);
  EXPECT_EQ(sites.at(one), 1u);
  std::thread([&] { EXPECT_EQ(sites.at(other), 2u); }).join();
  EXPECT_EQ(sites.next_ordinal(2), 0u);
  EXPECT_EQ(sites.next_ordinal(1), 0u);
  EXPECT_EQ(sites.next_ordinal(2), 1u);
  EXPECT_EQ(sites.next_ordinal(0), 0u);
  EXPECT_EQ(sites.next_ordinal(0), 0u);
}

TEST_F(CallSitesTest, CodeInNoFileHasNone) {
  void* const page = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  CallSites sites(false);
  EXPECT_EQ(sites.at(page), 0u);
  EXPECT_EQ(sites.at(here_now()), 1u) << "numbers have no gaps";
  munmap(page, 4096);
}

TEST_F(CallSitesTest, MoreThanTheMostHaveNone) {
  CallSites sites(false);
  const auto* const base = static_cast<const char*>(here_now());
  for (size_t i = 0; i < CallSites::kMost; ++i) ASSERT_NE(sites.at(base + i), 0u) << i;
  EXPECT_EQ(sites.at(base + CallSites::kMost), 0u);
  EXPECT_EQ(sites.at(base), 1u);
}

TEST_F(CallSitesTest, AreInTheTraceBeforeWhatNamesThem) {
  const void* const loader = here_now();
  const void* const library = dlsym(RTLD_DEFAULT, "getppid");  // no sanitizer has its own
  ASSERT_NE(library, nullptr);
  allocate(loader, a_);
  allocate(static_cast<const char*>(library) + 4, b_);
  allocate(loader, c_);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  ASSERT_THAT(trace->sites(), SizeIs(2));
  const format::Site& site = trace->sites()[0];
  EXPECT_TRUE(site.program);
  EXPECT_THAT(site.module, EndsWith("recorder_unit_test"));
  EXPECT_THAT(site.symbol, HasSubstr("AreInTheTraceBeforeWhatNamesThem"));
  EXPECT_FALSE(site.build_id.empty());
  EXPECT_FALSE(trace->sites()[1].program);
  EXPECT_THAT(format::site_name(trace->sites()[1]), HasSubstr("libc.so.6"));
  const auto begins = actions<format::AllocationBegin>(*trace);
  ASSERT_THAT(begins, SizeIs(3));
  EXPECT_EQ(begins[0].site, 1u);
  EXPECT_EQ(begins[0].site_ordinal, 0u);
  EXPECT_EQ(begins[1].site, 2u);
  EXPECT_EQ(begins[2].site, 1u);
  EXPECT_EQ(begins[2].site_ordinal, 1u);
  EXPECT_EQ(format::made_name(trace->sites(), begins[2]), format::site_name(site) + "#1");
}

TEST_F(CallSitesTest, OfEventsAreThoseOfTheirCalls) {
  device_memory(a_, sizeof(a_));
  program_call = here_now();
  recorder_->streams().synchronized(format::SynchronizeKind::kDevice, nullptr);
  program_call = nullptr;
  recorder_->streams().synchronized(format::SynchronizeKind::kDevice, nullptr);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  std::vector<format::SiteId> waits;
  for (const format::Event& event : trace->events()) {
    if (std::holds_alternative<format::Synchronize>(event.action)) waits.push_back(event.site);
  }
  ASSERT_GE(waits.size(), 2u);
  EXPECT_EQ(waits[0], 1u);
  EXPECT_EQ(waits[1], 0u);
}

TEST(SiteName, SaysLibraryAndSymbolOrModule) {
  format::Site site{1, "/opt/app/libgemm.so", "", "Gemm::run()", 0x1020, 0x20, false, true};
  EXPECT_EQ(format::site_name(site), "libgemm.so:Gemm::run()+0x20");
  site.program = true;
  EXPECT_EQ(format::site_name(site), "Gemm::run()+0x20");
  site.symbol_unique = false;
  EXPECT_EQ(format::site_name(site), "libgemm.so+0x1020") << "two functions have this symbol";
  site.module = "decode";
  EXPECT_EQ(format::site_name(site), "decode+0x1020");
}

TEST(SiteName, OfInterpretedCodeIsItsLine) {
  format::Site site{1, "/opt/app/train.py", "", "step", 12, 0, false, false, 12};
  EXPECT_EQ(format::site_name(site), "train.py:12");
}

std::vector<std::byte> table_of(std::initializer_list<unsigned> values) {
  std::vector<std::byte> bytes;
  for (const unsigned value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

TEST(PythonLine, IsThatOfTheInstruction) {
  // What CPython 3.11 makes of: def f(a):\n  g(\n    a)\n\n\n  return g
  const auto table = table_of({0x80, 0x00,                    // 1 instruction, line 10
                               0xdb, 0x04, 0x05,              // 4, line 11
                               0xd8, 0x08, 0x09,              // 1, line 12
                               0xf1, 0x03, 0x02, 0x05, 0x0a,  // 2, line 11 to 12
                               0xe8, 0x06,                    // 1, line 14, no column
                               0xf9});                        // 2 without a line
  const std::vector<uint32_t> lines = {10, 11, 11, 11, 11, 12, 11, 11, 14, 0, 0, 0};
  for (size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(python_line(PythonLines::kLocations, table, i, 10), lines[i]) << i;
  }
}

// What CPython makes of: def f(a):\n  for i in a:\n    g(\n      a)\n\n\n  return [\n    i,\n g()\n
// ]
TEST(PythonLine, IsThatOfTheInstructionInOlderTables) {
  const auto pairs = table_of({0, 1, 8, 1, 2, 1, 2, 0xff, 6, 5, 2, 1, 4, 0xfe});   // 3.9
  const auto ranges = table_of({8, 1, 2, 1, 2, 1, 6, 0xff, 2, 5, 4, 1, 4, 0xfe});  // 3.10
  const std::vector<uint32_t> lines = {11, 11, 11, 11, 12, 13, 12, 12, 12, 17, 18, 18, 16, 16};
  for (size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(python_line(PythonLines::kPairs, pairs, i, 10), lines[i]) << i;
    EXPECT_EQ(python_line(PythonLines::kRanges, ranges, i, 10), lines[i]) << i;
  }
  EXPECT_EQ(python_line(PythonLines::kRanges, ranges, lines.size(), 10), 0u);
  const auto without_line = table_of({2, 1, 2, 0x80, 2, 1});
  EXPECT_EQ(python_line(PythonLines::kRanges, without_line, 1, 10), 0u);
  EXPECT_EQ(python_line(PythonLines::kRanges, without_line, 2, 10), 12u);
  EXPECT_EQ(python_line(PythonLines::kRanges, table_of({2}), 0, 10), 0u);
  EXPECT_EQ(python_line(PythonLines::kPairs, {}, 3, 10), 10u);
  EXPECT_EQ(python_line(PythonLines::kPairs, table_of({0, 0x81}), 0, 10), 0u)
      << "no line is negative";
}

TEST(PythonLine, OfADamagedTableIsUnknown) {
  EXPECT_EQ(python_line(PythonLines::kLocations, {}, 0, 1), 0u);
  EXPECT_EQ(python_line(PythonLines::kLocations, table_of({0x00, 0x80}), 0, 1), 0u);
  EXPECT_EQ(python_line(PythonLines::kLocations, table_of({0xf0, 0xff, 0xff, 0xff, 0xff}), 0, 1),
            0u);
  EXPECT_EQ(python_line(PythonLines::kLocations, table_of({0xe8}), 0, -5), 0u);
}

TEST(PythonCode, IsCalledByWhatCallsCFunctionsForIt) {
  using Caller = PythonCode::Caller;
  EXPECT_EQ(PythonCode::caller("/lib/x86_64-linux-gnu/libffi.so.8"), Caller::kInterface);
  EXPECT_EQ(PythonCode::caller("/opt/_ctypes.cpython-312-x86_64-linux-gnu.so"), Caller::kInterface);
  EXPECT_EQ(PythonCode::caller("/usr/bin/python3.11"), Caller::kInterface);
  EXPECT_EQ(PythonCode::caller("/opt/_kernels.cpython-39-x86_64-linux-gnu.so"), Caller::kExtension);
  EXPECT_EQ(PythonCode::caller("/opt/_kernels.abi3.so"), Caller::kExtension);
  EXPECT_EQ(PythonCode::caller("/opt/libtorch_python.so"), Caller::kOther);
  EXPECT_EQ(PythonCode::caller("libc.so.6"), Caller::kOther);
}

TEST(PythonCode, HasNoPlaceWithoutAnInterpreter) {
  const PythonCode::Reading reading;
  EXPECT_TRUE(reading.in_place()) << "the main thread";
  EXPECT_FALSE(PythonCode().here(reading));
  EXPECT_FALSE(PythonCode::is_loaded());
  EXPECT_FALSE(PythonCode::may_be_behind());
  std::thread([] { EXPECT_FALSE(PythonCode::Reading().in_place()); }).join();
}

TEST(SiteTable, CountsAllocationsOfALineTogether) {
  SiteTable table;
  const SiteTable::Module library{"/opt/libgemm.so", "00aa"};
  const SiteTable::Module script{"/opt/train.py", "", false, true};
  const format::SiteId first = table.number(library, 0x10), second = table.number(library, 0x20);
  const format::SiteId line = table.number(script, 12, "step", second);
  const format::SiteId same = table.number(script, 12, "step", first);
  const format::SiteId other = table.number(script, 13, "step", first);
  EXPECT_EQ(table.number(script, 12, "step", second), line);
  EXPECT_NE(line, same);
  EXPECT_EQ(table.line_of(same), line);
  EXPECT_EQ(table.line_of(other), other);
  EXPECT_EQ(table.line_of(second), second);
  const std::vector<format::Site> sites = table.take_added().described(true);
  ASSERT_THAT(sites, SizeIs(5));
  EXPECT_EQ(format::caller_name(sites, sites[line - 1]), "libgemm.so+0x20");
  EXPECT_EQ(format::caller_name(sites, sites[same - 1]), "libgemm.so+0x10");
  EXPECT_EQ(format::caller_name(sites, sites[first - 1]), "");
  EXPECT_EQ(sites[line - 1].symbol, "step");
}

}  // namespace
}  // namespace gfxgraph::recorder
