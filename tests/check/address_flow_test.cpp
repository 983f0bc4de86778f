// Watching only the instructions that matter finds the same as watching all: over random kernels of
// address arithmetic, accesses in and out of bounds, narrowed EXEC, branches and loops. For
// initcheck also over memory and LDS of which a part was never written.
#include "check/lanes/address_flow.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>

#include "check/deep/deep_observer.h"
#include "emulator/engine/backend.h"

namespace gfxgraph::emulator {
GFXGRAPH_DECLARE_BACKENDS(kDeepBackend);
GFXGRAPH_DECLARE_BACKENDS(kLaneBackend);
}  // namespace gfxgraph::emulator

namespace gfxgraph::check {
namespace {

constexpr uint64_t kCodeAddress = 0x100000000000;
constexpr uint64_t kDataAddress = 0x200000000000;  // buffers a page apart
constexpr uint32_t kBuffers = 3;
constexpr uint32_t kBufferBytes = 128;
constexpr size_t kPage = 4096;
constexpr size_t kEntry = 256;

constexpr uint32_t kLiteral = 255;
constexpr uint32_t kExecLo = 126;
constexpr uint32_t kVcc = 106;
constexpr uint32_t kSaved = 20;    // SGPR with an EXEC mask
constexpr uint32_t kCounter = 24;  // SGPR, and those after it in nested loops
constexpr uint32_t kPointer = 30;  // SGPRs that hold the address of a scalar load
constexpr uint32_t kLdsBytes = 128;
constexpr uint32_t kPairs = 4;  // v[0:1] to v[6:7] hold addresses, v8 to v11 other values
constexpr uint32_t kVgprs = 12;

// Instruction words by hand, as in the RDNA2 ISA guide, "Microcode Formats".
uint32_t vop1(uint32_t op, uint32_t dst, uint32_t src) {
  return 0x7e000000 | dst << 17 | op << 9 | src;
}
uint32_t vop2(uint32_t op, uint32_t dst, uint32_t src0, uint32_t vsrc1) {
  return op << 25 | dst << 17 | vsrc1 << 9 | src0;
}
uint32_t sop1(uint32_t op, uint32_t dst, uint32_t src) {
  return 0xbe800000 | dst << 16 | op << 8 | src;
}
uint32_t sop2(uint32_t op, uint32_t dst, uint32_t src0, uint32_t src1) {
  return 0x80000000 | op << 23 | dst << 16 | src1 << 8 | src0;
}

class Program {
 public:
  explicit Program(uint32_t seed) : random_(seed) {}

  std::vector<uint32_t> write() {
    words_.clear();
    // What a register never written holds is chance; these are as undefined, and 0.
    for (uint32_t code = 1; code < 8; ++code) emit({sop2(0x0e, code, code, 128)});  // s_and_b32
    for (uint32_t n = 1; n < kVgprs; ++n) emit({vop2(0x1b, n, 128, n)});
    emit({sop1(3, kSaved, kExecLo)});
    if (below(2) == 0) address(0);
    snippets(6 + below(10), 0);
    emit({0xbf810000});
    return words_;
  }

 private:
  uint32_t below(uint32_t count) { return static_cast<uint32_t>(random_()) % count; }
  void emit(std::initializer_list<uint32_t> words) { words_.insert(words_.end(), words); }

  void vop3(uint32_t op, uint32_t dst, uint32_t sdst, uint32_t a, uint32_t b, uint32_t c) {
    emit({0xd4000000 | op << 16 | sdst << 8 | dst, a | b << 9 | c << 18});
  }
  uint32_t vgpr() { return below(kVgprs); }
  uint32_t sgpr() { return below(8); }  // s0 is the workgroup's number, the others begin undefined
  uint32_t source() {
    return below(3) == 0 ? sgpr() : below(3) == 0 ? 128 + below(33) : 256 + vgpr();
  }

  // Sometimes with a step missing.
  void address(uint32_t pair) {
    const uint64_t buffer = kDataAddress + below(kBuffers) * 2 * kPage;
    const uint32_t low = 2 * pair;
    if (below(8) != 0) emit({vop2(0x1a, low, 128 + 2, vgpr())});  // v_lshlrev_b32
    if (below(3) == 0) emit({vop2(0x1b, low, 128 + 60, low)});    // v_and_b32
    if (below(8) != 0)
      emit({vop2(0x25, low, kLiteral, low), static_cast<uint32_t>(buffer)});  // v_add_nc_u32
    if (below(8) != 0) emit({vop1(1, low + 1, kLiteral), static_cast<uint32_t>(buffer >> 32)});
  }
  void access() {
    const uint32_t pair = below(kPairs);
    if (below(3) == 0)
      emit({0xdc708000, 0x7d << 16 | vgpr() << 8 | 2 * pair});  // global_store_dword
    else
      emit({0xdc308000, vgpr() << 24 | 0x7d << 16 | 2 * pair});  // global_load_dword
  }
  void scalar_load() {
    const uint64_t buffer = kDataAddress + below(kBuffers) * 2 * kPage;
    emit({sop1(3, kPointer, kLiteral), static_cast<uint32_t>(buffer)});
    emit({sop1(3, kPointer + 1, kLiteral), static_cast<uint32_t>(buffer >> 32)});
    emit({0xf4000000 | sgpr() << 6 | kPointer / 2, 0x7du << 25 | 4 * below(32)});
  }
  void lds() {
    const uint32_t at = vgpr();
    emit({vop2(0x1b, at, 128 + 60, at)});  // v_and_b32
    if (below(2) == 0)
      emit({0xd8000000 | 13 << 18, vgpr() << 8 | at});  // ds_write_b32
    else
      emit({0xd8000000 | 54 << 18, vgpr() << 24 | at});  // ds_read_b32
  }
  void arithmetic() {
    constexpr uint32_t kTwo[] = {0x25, 0x1b, 0x1d, 0x1a, 0x01, 0x28};
    switch (below(13)) {
      case 0: return emit({vop1(1, vgpr(), source())});
      case 1: return emit({vop1(2, sgpr(), 256 + vgpr())});  // v_readfirstlane_b32
      case 2: return emit({sop2(0, sgpr(), sgpr(), sgpr())});
      case 3: return vop3(0x30f, vgpr(), kVcc, source(), 256 + vgpr(), 0);  // v_add_co_u32
      case 4: return vop3(0x2ff, 2 * below(kPairs), 0, 128 + below(4), 256 + 2 * below(kPairs), 0);
      case 5: return vop3(0x176, 2 * below(kPairs), 125, source(), sgpr(), 256 + 2 * below(kPairs));
      case 6: return emit({0x7c000000 | 0xc4 << 17 | vgpr() << 9 | source()});  // v_cmp_gt_u32
      case 7: return vop3(0x360, sgpr(), 0, 256 + vgpr(), 128 + below(32), 0);  // v_readlane_b32
      case 8: return emit({vop1(0x65, vgpr(), 256 + vgpr())});                  // v_swap_b32
      case 9: return emit({sop2(below(2) == 0 ? 0x0e : 0x10, sgpr(), sgpr(), sgpr())});
      case 10: return scalar_load();
      case 11: return lds();
      default: return emit({vop2(kTwo[below(6)], vgpr(), source(), vgpr())});
    }
  }
  void exec() {
    switch (below(4)) {
      case 0: return emit({0x7c000000 | 0xd4 << 17 | vgpr() << 9 | source()});  // v_cmpx_gt_u32
      case 1: return emit({sop1(0x3c, kSaved + below(2), kVcc)});  // s_and_saveexec_b32
      default: return emit({sop1(3, kExecLo, kSaved)});
    }
  }
  void snippets(uint32_t count, uint32_t depth) {
    for (uint32_t n = 0; n < count; ++n) {
      const uint32_t kind = below(depth < 2 ? 20 : 17);
      if (kind < 5) {
        address(below(kPairs));
      } else if (kind < 10) {
        access();
      } else if (kind < 15) {
        arithmetic();
      } else if (kind < 17) {
        exec();
      } else if (kind < 19) {  // s_cbranch_execz, _scc1 or _vccnz over some
        constexpr uint32_t kBranches[] = {0xbf880000, 0xbf850000, 0xbf870000};
        const size_t at = words_.size();
        emit({kBranches[below(3)]});
        snippets(1 + below(3), depth + 1);
        words_[at] |= static_cast<uint32_t>(words_.size() - at - 1);
      } else {  // a loop of two or three rounds
        emit({sop1(3, kCounter + depth, 128)});
        const size_t at = words_.size();
        snippets(2 + below(4), depth + 1);
        emit({sop2(0, kCounter + depth, kCounter + depth, 129),
              0xbf0a0000 | (130 + below(2)) << 8 | (kCounter + depth)});  // s_cmp_lt_u32
        emit({0xbf850000 | static_cast<uint16_t>(at - words_.size() - 1)});
      }
    }
  }

  std::mt19937 random_;
  std::vector<uint32_t> words_;
};

class Runner {
 public:
  explicit Runner(std::vector<uint32_t> words) : words_(std::move(words)) {
    code_ = add(kCodeAddress, 4 * kPage);
    for (uint32_t n = 0; n < kBuffers; ++n)
      data_[n] = add(kDataAddress + n * 2 * kPage, kBufferBytes);
  }

  // `values`: with initcheck.
  std::map<Sites::Key, Site> run(bool all, bool literal, bool values = false) {
    fill();
    Sites sites;
    Budget budget{BudgetLimits()};
    InitCheck init(sites, budget);
    init.next_launch(1, 0);
    for (uint32_t n = 0; n < kBuffers; ++n) {
      EXPECT_TRUE(init.memory().begin(kDataAddress + n * 2 * kPage, kBufferBytes));
      init.memory().set_written(kDataAddress + n * 2 * kPage, kBufferBytes / 2);
    }
    DeepObserver observer(memory_, sites, {true, literal}, nullptr, values ? &init : nullptr);
    if (!all) observer.add_kernel(kCodeAddress);
    emulator::EngineOptions options;
    options.threads = 1;
    using namespace emulator;
    const BackendSet lanes = GFXGRAPH_BACKEND_SET(kLaneBackend);
    const BackendSet deep = GFXGRAPH_BACKEND_SET(kDeepBackend);
    LaneObserver* const only_lanes = &observer;
    const auto engine = values ? create_engine(memory_, options, select_backend(deep), &observer)
                               : create_engine(memory_, options, select_backend(lanes), only_lanes);
    EXPECT_TRUE(engine->add_raw_code(kCodeAddress, 4 * kPage));
    emulator::Dispatch dispatch;
    dispatch.kernel_object = kCodeAddress;
    dispatch.grid_size = {96, 1, 1};
    dispatch.workgroup_size = {48, 1, 1};
    dispatch.group_segment_bytes = kLdsBytes;
    observer.next_launch(0, 1);
    const auto ran = engine->run(dispatch);
    ended_ = ran ? "" : ran.error().to_string();
    return sites.all();
  }
  const std::string& ended() const { return ended_; }

 private:
  std::byte* add(uint64_t address, uint64_t bytes) {
    const uint64_t mapped = (bytes + kPage - 1) / kPage * kPage;
    storage_.push_back(std::make_unique<std::byte[]>(mapped));
    emulator::Region region;
    region.address = address;
    region.requested_bytes = bytes;
    region.mapped_bytes = mapped;
    region.host = storage_.back().get();
    EXPECT_TRUE(memory_.add(region));
    return region.host;
  }
  // Each time: kernels that write where they like reach their own code, too.
  void fill() {
    std::memset(code_, 0, 4 * kPage);
    const auto put = [&](size_t at, auto value) { std::memcpy(code_ + at, &value, sizeof value); };
    put(0, kLdsBytes);
    put(16, uint64_t{kEntry});
    // 16 VGPRs, float mode as compilers set it; s0 is the workgroup's number, v0 the work item's.
    put(48, uint32_t{1 | 0xf0u << 12 | 1u << 21 | 1u << 23});
    put(52, uint32_t{1u << 7});
    put(56, uint16_t{1 << 10});  // wave32
    std::memcpy(code_ + kEntry, words_.data(), words_.size() * 4);
    for (uint32_t n = 0; n < kBuffers; ++n)
      for (uint32_t at = 0; at < kPage; ++at) data_[n][at] = std::byte(at * 7 + n);
  }

  const std::vector<uint32_t> words_;
  emulator::MemoryMap memory_;
  std::vector<std::unique_ptr<std::byte[]>> storage_;
  std::byte* code_ = nullptr;
  std::byte* data_[kBuffers] = {};
  std::string ended_;
};

// The offset that masked lanes would use comes out of a register that was never written otherwise.
TEST(AddressFlow, ASwapMovesWhatIsKnownOfBothRegisters) {
  constexpr uint64_t kLast = kDataAddress + kPage - 16 * 4;
  const std::vector<uint32_t> words = {
      vop2(0x1a, 2, 128 + 2, 0),  // v_lshlrev_b32 v2, 2, v0
      vop2(0x25, 2, kLiteral, 2),
      static_cast<uint32_t>(kLast),  // v_add_nc_u32 v2, ..., v2
      vop1(1, 5, kLiteral),
      kLast >> 32,                           // v_mov_b32 v5, ...
      vop1(0x65, 2, 256 + 4),                // v_swap_b32 v2, v4
      0x7c000000 | 0xd4 << 17 | (128 + 16),  // v_cmpx_gt_u32 16, v0
      0xdc308000,
      6 << 24 | 0x7d << 16 | 4,  // global_load_dword v6, v[4:5]
      0xbf810000};
  Runner runner(words);
  for (const bool all : {true, false}) {
    const auto sites = runner.run(all, false);
    EXPECT_EQ(runner.ended(), "");
    const Sites::Key key{1, kCodeAddress + kEntry + 4 * 7, FindingClass::kW1};
    ASSERT_EQ(sites.count(key), 1U) << all;
    EXPECT_EQ(sites.at(key).first.lanes, 0xffff0000U);
  }
}

auto content(const LaneEvent& e) {
  return std::tuple(e.finding_class, e.place.group, e.place.wave, e.pc, e.op, e.lanes, e.exec,
                    e.address, e.access_bytes, e.write, e.written_by, std::string(e.address_class));
}

// Of each class, the number of kernels that have a finding of it.
template <size_t kCount>
void find_the_same(const FindingClass (&classes)[kCount], bool values) {
  unsigned kernels_with[kCount] = {};
  for (uint32_t seed = 0; seed < 10000; ++seed) {
    Runner runner(Program(seed).write());
    const bool literal = seed % 2 != 0;
    const auto all = runner.run(true, literal, values);
    const std::string ended = runner.ended();
    const auto few = runner.run(false, literal, values);
    ASSERT_EQ(ended, runner.ended()) << "seed " << seed;
    ASSERT_EQ(all.size(), few.size()) << "seed " << seed;
    bool found[kCount] = {};
    for (auto a = all.begin(), b = few.begin(); a != all.end(); ++a, ++b) {
      ASSERT_EQ(a->first, b->first) << "seed " << seed;
      ASSERT_EQ(content(a->second.first), content(b->second.first))
          << "seed " << seed << " pc " << a->first.pc - kCodeAddress;
      ASSERT_EQ(a->second.events, b->second.events) << "seed " << seed;
      ASSERT_EQ(a->second.lanes_total, b->second.lanes_total) << "seed " << seed;
      for (size_t n = 0; n < kCount; ++n)
        found[n] = found[n] || a->first.finding_class == classes[n];
    }
    for (size_t n = 0; n < kCount; ++n) kernels_with[n] += found[n] ? 1 : 0;
  }
  for (const unsigned kernels : kernels_with) EXPECT_GT(kernels, 20U);
}

TEST(AddressFlow, FindsTheSameInRandomKernels) {
  find_the_same({FindingClass::kE1, FindingClass::kW1, FindingClass::kW2, FindingClass::kI1,
                 FindingClass::kI2},
                false);
}

TEST(AddressFlow, FindsTheSameOfValuesInRandomKernels) {
  find_the_same({FindingClass::kE1, FindingClass::kU1, FindingClass::kU2}, true);
}

}  // namespace
}  // namespace gfxgraph::check
