// The fast path of plain instructions against the general path.
#include "check/provenance/provenance_observer.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <new>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace gfxgraph::check {
namespace {

using emulator::Inst;
using emulator::InstOperands;
using emulator::kLanes;
using emulator::Wave;

constexpr unsigned kVcc = emulator::operand::kVccLo, kFirst = RegisterTags::kFirstVector;
constexpr uint64_t kBuffer = 0x7f0000000000;
constexpr uint32_t kWords = 4;
constexpr unsigned kGeneral = 2 * static_cast<unsigned>(TagRule::kCombine);

// One decoded instruction with its operand list, as the code cache keeps them.
class Code {
 public:
  Code(ProvenanceObserver& observer, std::vector<uint32_t> words)
      : bytes_(::operator new(2 * sizeof(Inst) * emulator::kChunkSlots, std::align_val_t{64})) {
    std::memset(bytes_, 0, 2 * sizeof(Inst) * emulator::kChunkSlots);
    words.resize(5);
    Inst* const inst = new (bytes_) Inst;
    EXPECT_EQ(emulator::decode(words.data(), words.size(), 0, *inst), emulator::DecodeStatus::kOk);
    auto& operands = const_cast<InstOperands&>(emulator::operands_of(*inst));
    emulator::describe_operands(*inst, operands);
    observer.decoded(*inst, operands);
  }
  ~Code() { ::operator delete(bytes_, std::align_val_t{64}); }
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;
  const Inst& inst() const { return *static_cast<const Inst*>(bytes_); }
  unsigned kind() const { return ProvenanceObserver::hook_kind(emulator::operands_of(inst())); }

 private:
  void* bytes_;
};

// A trace with a buffer of recorded words, and a wave.
struct Subject {
  Subject() {
    format::AllocationBegin begin;
    begin.id = 1;
    begin.recorded_address = kBuffer;
    begin.size_bytes = begin.initial.size_bytes = kWords * 8;
    for (uint32_t n = 0; n < kWords; ++n)
      begin.initial.relocations.push_back({uint64_t{n} * 8, 1, n});
    words.next_event(1);
    EXPECT_TRUE(words.allocated(begin));
    for (uint32_t n = 1; n <= kWords; ++n)
      for (unsigned half = 0; half < 2; ++half) words.read(Tags::of(n, half));
    // Comparisons with it decide about others.
    words.reach(Tags::of(1, 1), Tags::of(1, 0), kBuffer);
  }
  // Of each word, whether it is unclear, data or a pointer, and why.
  std::vector<std::string> verdicts() {
    ProvenanceReport report;
    words.finish(report, true);
    std::vector<std::string> result;
    for (const auto& word : report.list) result.emplace_back(word.verdict);
    for (const auto& [reason, count] : report.reasons)
      result.push_back(reason + " " + std::to_string(count));
    return result;
  }
  // What a tag names. Sets are numbered as they are made.
  std::set<Tag> halves(Tag tag) {
    Tags::Elements elements;
    EXPECT_TRUE(words.tags().elements(tag, elements));
    return {elements.element, elements.element + elements.count};
  }
  Budget budget{BudgetLimits()};
  Provenance words{budget};
  ProvenanceObserver observer{&words, nullptr};
  std::unique_ptr<ProvenanceWave> state = std::make_unique<ProvenanceWave>();
};

constexpr uint32_t vop2(uint32_t op, uint32_t dst, uint32_t first, uint32_t second) {
  return op << 25 | dst << 17 | second << 9 | first;
}
constexpr uint32_t sop2(uint32_t op, uint32_t dst, uint32_t first, uint32_t second) {
  return 2U << 30 | op << 23 | dst << 16 | second << 8 | first;
}
std::vector<uint32_t> vop3(uint32_t op, uint32_t dst, uint32_t carry,
                           std::array<uint32_t, 3> from) {
  return {0x35U << 26 | op << 16 | carry << 8 | dst, from[0] | from[1] << 9 | from[2] << 18};
}

// Sums, differences, masks and others, with sources that overlap their result, and constants.
std::vector<std::vector<uint32_t>> instructions() {
  constexpr uint32_t kV0 = 256, kV1 = 257, kV2 = 258, kConstant = 129;
  return {
      {vop2(0x25, 2, kV0, 1)},                   // v_add_nc_u32 v2, v0, v1
      {vop2(0x25, 2, 0, 1)},                     // v_add_nc_u32 v2, s0, v1
      {vop2(0x25, 0, kV0, 0)},                   // v_add_nc_u32 v0, v0, v0
      {vop2(0x26, 2, kV0, 1)},                   // v_sub_nc_u32 v2, v0, v1
      {vop2(0x28, 2, 1, 1)},                     // v_add_co_ci_u32 v2, vcc, s1, v1, vcc
      {vop2(0x29, 2, 1, 1)},                     // v_sub_co_ci_u32 v2, vcc, s1, v1, vcc
      {vop2(0x1b, 2, kV0, 1)},                   // v_and_b32
      {vop2(0x1d, 2, kV0, 1)},                   // v_xor_b32
      {vop2(0x1a, 2, kConstant, 1)},             // v_lshlrev_b32 v2, 1, v1
      vop3(0x30f, 2, kVcc, {0, kV0, 0}),         // v_add_co_u32 v2, vcc, s0, v0
      vop3(0x30f, 2, 1, {0, kV0, 0}),            // v_add_co_u32 v2, s1, s0, v0
      vop3(0x36d, 2, 0, {kV0, kV1, 1}),          // v_add3_u32 v2, v0, v1, s1
      vop3(0x346, 2, 0, {kV0, kConstant, kV1}),  // v_lshl_add_u32 v2, v0, 1, v1
      vop3(0x371, 2, 0, {kV0, kV1, kV2}),        // v_and_or_b32 v2, v0, v1, v2
      {sop2(0, 2, 0, 1)},                        // s_add_u32 s2, s0, s1
      {sop2(0, 0, 0, kConstant)},                // s_add_u32 s0, s0, 1
      {sop2(1, 2, 0, 1)},                        // s_sub_u32 s2, s0, s1
      {sop2(4, 2, 0, 1)},                        // s_addc_u32 s2, s0, s1
      {sop2(0x26, 2, 0, 1)},                     // s_mul_i32 s2, s0, s1
  };
}

struct Params {
  const char* name;
  uint32_t launched;
};
class PlainInstructions : public ::testing::TestWithParam<Params> {};
INSTANTIATE_TEST_SUITE_P(Waves, PlainInstructions,
                         ::testing::Values(Params{"Whole", ~0U}, Params{"Partial", 0x1fff}),
                         [](const auto& of) { return of.param.name; });

// Runs plain instructions as the run loop does, or only by the general path. What they compute is
// random.
class Runner {
 public:
  Runner(Subject& run, Wave& wave, bool general) : run_(run), wave_(wave), general_(general) {}

  // `compute` gives the destination its value.
  template <typename Compute>
  void step(const Code& code, const Compute& compute) {
    if (general_)
      step_general(code, compute);
    else if (code.kind() == ProvenanceObserver::kPlainVector)
      step_plain<ProvenanceObserver::kPlainVector>(code, compute);
    else
      step_plain<ProvenanceObserver::kPlainScalar>(code, compute);
  }
  unsigned idle = 0, at_once = 0;  // instructions without work for the hooks; without hooks

 private:
  template <typename Compute>
  void step_general(const Code& code, const Compute& compute) {
    constexpr uint32_t kAny = ProvenanceObserver::kTaggedSource | ProvenanceObserver::kTaggedDest;
    run_.observer.before<kGeneral>(*run_.state, wave_, code.inst(), kAny);
    compute();
    run_.observer.after<kGeneral>(*run_.state, wave_, code.inst());
  }
  template <unsigned kKind, typename Compute>
  void step_plain(const Code& code, const Compute& compute) {
    const Inst& inst = code.inst();
    const uint32_t work = ProvenanceObserver::work<kKind>(*run_.state, inst);
    if (work == 0) {
      ++idle;
      return compute();
    }
    if constexpr (ProvenanceObserver::may_be_done_first<kKind>()) {
      if (ProvenanceObserver::done_first<kKind>(*run_.state, wave_, inst, work)) {
        ++at_once;
        return compute();
      }
    }
    run_.observer.before<kKind>(*run_.state, wave_, inst, work);
    compute();
    run_.observer.after<kKind>(*run_.state, wave_, inst);
  }

  Subject& run_;
  Wave& wave_;
  const bool general_;
};

// Random tags, values, EXEC masks and successors: both paths leave the same tags and the same
// verdicts.
TEST_P(PlainInstructions, DoWhatTheGeneralPathDoes) {
  const uint32_t launched = GetParam().launched;
  std::mt19937 random(11);
  const auto below = [&](uint32_t end) { return static_cast<uint32_t>(random() % end); };
  const auto wave = std::make_unique<Wave>();
  std::memset(static_cast<void*>(wave.get()), 0, sizeof(Wave));
  unsigned idle = 0, at_once = 0, tagged = 0, untagged = 0;
  Subject decoder;
  std::vector<std::unique_ptr<Code>> all;
  for (const auto& words : instructions()) {
    all.push_back(std::make_unique<Code>(decoder.observer, words));
    ASSERT_GE(all.back()->kind(), ProvenanceObserver::kPlainScalar) << std::hex << words[0];
  }
  for (size_t first = 0; first < all.size(); ++first) {
    for (unsigned trial = 0; trial < 1000; ++trial) {
      Subject fast, general;
      for (Subject* const run : {&fast, &general})
        run->state->registers.reset(launched, RegisterTags::kNoRegister, wave->vgpr);
      const unsigned codes[] = {0, 1, 2, kVcc, kFirst, kFirst + 1, kFirst + 2};
      const auto tag = [&]() -> Tag {
        if (below(2) == 0) return 0;
        const Tag one = Tags::of(1 + below(kWords), below(2));
        return below(6) == 0 ? one | Tags::kWeak : one;
      };
      // Mostly one tag in all lanes; sets, too.
      for (const unsigned at : codes) {
        const bool rows = at >= kFirst && below(4) == 0;
        const bool set = below(8) == 0;
        const Tag one = tag(), other = tag();
        Tag row[kLanes];
        for (Tag& lane : row) lane = rows ? tag() : one;
        const uint32_t lanes = below(4) == 0 ? static_cast<uint32_t>(random()) : ~0U;
        for (Subject* const run : {&fast, &general}) {
          // Sometimes a difference of two words, which lanes outside of EXEC keep.
          const bool difference = at == kFirst + 2 && trial % 4 == 0;
          const Tag made =
              difference ? run->words.tags().unite(Tags::of(1, 1), Tags::of(2, 1) | Tags::kWeak)
              : set      ? run->words.tags().unite(one, other)
                         : one;
          if (at < kFirst)
            run->state->registers.set_scalar(at, made);
          else if (rows)
            run->state->registers.set(at, launched, row);
          else
            run->state->registers.fill(at, launched, made, lanes);
        }
      }
      const uint32_t usual = below(3);
      const auto value = [&]() -> uint32_t {
        const uint32_t values[] = {0x7f00, 0, ~0U, 1, ~1U, 15, ~15U};
        return values[below(6) == 0 || usual == 0 ? below(7) : 0];
      };
      for (uint32_t& one : wave->sgpr)
        if (&one - wave->sgpr < 100) one = value();
      for (unsigned n = 0; n < 3; ++n)
        for (uint32_t& lane : wave->vgpr[n].lane) lane = value();
      // Both see the same values: those of the other path are put back.
      Runner runner(fast, *wave, false), reference(general, *wave, true);
      bool active = true;
      const unsigned steps = 1 + below(4);
      for (unsigned step = 0; step < steps; ++step) {
        const Code& code = *all[step == 0 ? first : below(static_cast<uint32_t>(all.size()))];
        const Inst& inst = code.inst();
        const uint32_t masks[] = {launched, launched, launched & static_cast<uint32_t>(random()),
                                  0};
        wave->set_exec(masks[below(step == 0 ? 4 : 3)]);
        active = active && wave->exec() != 0;
        const bool scalar = inst.dst < kFirst;
        const uint32_t made_scalar = value();
        emulator::Row before = {}, made = {};
        emulator::Row& row = wave->vgpr[scalar ? 0 : inst.dst - kFirst];
        uint32_t& single = wave->sgpr[scalar ? inst.dst : 0];
        const uint32_t before_scalar = single;
        for (unsigned l = 0; l < kLanes; ++l) {
          before.lane[l] = row.lane[l];
          made.lane[l] = (wave->exec() >> l & 1) != 0 ? value() : row.lane[l];
        }
        const auto compute = [&] {
          if (scalar)
            single = made_scalar;
          else
            row = made;
        };
        reference.step(code, compute);
        row = before;
        single = before_scalar;
        runner.step(code, compute);
        if (below(3) == 0) break;
      }
      idle += runner.idle;
      at_once += runner.at_once;
      for (const unsigned at : codes)
        for (unsigned l = 0; l < kLanes; ++l)
          if ((launched >> l & 1) != 0) {
            const Tag expected = general.state->registers.get(at, l);
            ASSERT_EQ(fast.halves(fast.state->registers.get(at, l)), general.halves(expected))
                << "instruction " << first << " trial " << trial << " code " << at << " lane " << l;
            ++(expected != 0 ? tagged : untagged);
          }
      // Without an active lane, the fast path may relate what lanes hold that were not launched.
      if (!active) continue;
      ASSERT_EQ(fast.verdicts(), general.verdicts()) << "instruction " << first;
    }
  }
  EXPECT_GT(idle, 1000U);
  EXPECT_GT(at_once, 1000U);
  EXPECT_GT(tagged, 100000U);
  EXPECT_GT(untagged, 100000U);
}

// A wave starts without the tags that the one before it left in any register.
TEST(ProvenanceObserver, WavesStartWithoutTags) {
  for (const uint32_t dst : {0U, 41U, 64U, 130U, 255U}) {
    Subject run;
    const auto wave = std::make_unique<Wave>();
    std::memset(static_cast<void*>(wave.get()), 0, sizeof(Wave));
    emulator::Workgroup group;
    wave->group = &group;
    wave->set_exec(~0U);
    emulator::WaveInfo info;
    info.launched_lanes = ~0U;
    run.observer.wave_begin(*run.state, *wave, info);
    const Code code(run.observer, {vop2(0x25, dst, 0, 1)});  // v_add_nc_u32 v[dst], s0, v1
    run.state->registers.set_scalar(0, Tags::of(1, 1));
    for (uint32_t& lane : wave->vgpr[dst].lane) lane = 0x7f00;
    constexpr unsigned kKind = ProvenanceObserver::kPlainVector;
    const uint32_t work = ProvenanceObserver::work<kKind>(*run.state, code.inst());
    EXPECT_TRUE(ProvenanceObserver::done_first<kKind>(*run.state, *wave, code.inst(), work));
    EXPECT_TRUE(run.state->registers.any(kFirst + dst));
    run.observer.wave_begin(*run.state, *wave, info);
    for (unsigned at = 0; at < RegisterTags::kCodes; ++at)
      EXPECT_FALSE(run.state->registers.any(at)) << "v" << dst << ", code " << at;
  }
}

TEST(ProvenanceObserver, WavesStartWithoutTagsOfWideLoads) {
  Subject run;
  const auto wave = std::make_unique<Wave>();
  std::memset(static_cast<void*>(wave.get()), 0, sizeof(Wave));
  emulator::Workgroup group;
  wave->group = &group;
  emulator::WaveInfo info;
  info.launched_lanes = ~0U;
  // global_load_dwordx4 v[125:128], v[0:1], off
  const Code code(run.observer, {0xdc388000, 125U << 24 | 0x7dU << 16});
  ASSERT_EQ(code.inst().dst, kFirst + 125);
  for (unsigned d = 0; d < 4; ++d) run.state->registers.set_lane(kFirst + 125 + d, 3, 4);
  run.observer.wave_begin(*run.state, *wave, info);
  for (unsigned at = 0; at < RegisterTags::kCodes; ++at)
    EXPECT_FALSE(run.state->registers.any(at)) << at;
}

// A scalar load takes the tags of its dwords, across the pieces in which memory keeps them, too.
TEST(ProvenanceObserver, ScalarLoadsTakeTheTagsOfMemory) {
  Subject run;
  constexpr uint64_t kPiece = 1 << 16;
  const uint64_t base = kBuffer + kPiece;
  for (uint64_t at = base - 16; at < base + 16; at += 8)
    run.words.memory().store(at, 4, Tags::of(1 + at / 8 % kWords, 1));
  const Code code(run.observer, {0xf4080003, 0xfa000000});  // s_load_dwordx4 s[0:3], s[6:7], 0
  const auto wave = std::make_unique<Wave>();
  std::memset(static_cast<void*>(wave.get()), 0, sizeof(Wave));
  ASSERT_TRUE(run.words.is_proven(Tags::of(1, 1)));
  // The value tells which of them it is.
  const Tag either = run.words.tags().unite(Tags::of(1, 1) | Tags::kWeak, Tags::of(2, 1));
  ASSERT_NE(run.words.narrow(either, 0x7f00), either);
  unsigned known = 0;
  for (unsigned round = 0; round < 3; ++round) {
    if (round == 2) run.words.memory().store(base, 4, either);  // other tags than before
    for (const uint64_t address :
         {base - 16, base - 8, base, base + 8, base + 16, kBuffer + 64, kBuffer + 64 + 32 * 4}) {
      ProvenanceWave& state = *run.state;
      state.registers.reset(~0U);
      state.registers.set_scalar(2, Tags::of(3, 1));  // to be replaced
      state.registers.set_scalar(7, Tags::of(1, 1));
      for (unsigned d = 0; d < 4; ++d)
        wave->sgpr[d] = d == 2 && address == base - 16 ? 0 : 0x7f00 + d;
      if (run.observer.scalar_span(state, *wave, code.inst(), address, 16)) {
        ++known;
      } else {
        emulator::ScalarEvent event;
        event.address = address;
        event.bytes = 16;
        event.mapped = event.requested = true;
        ASSERT_TRUE(run.observer.scalar_load(state, *wave, code.inst(), event));
      }
      if (ProvenanceObserver::wants_scalars<4>(state, code.inst()))
        run.observer.scalar_loaded<4>(state, *wave, code.inst());
      for (unsigned d = 0; d < 4; ++d) {
        const Tag expected =
            run.words.narrow(run.words.memory().get(address + 4 * d), wave->sgpr[d]);
        EXPECT_EQ(state.registers.get(d, 0), expected) << std::hex << address << " " << d;
      }
    }
  }
  // In the second round, all but those across two pieces and the two that share a place.
  EXPECT_EQ(known, 4U);
}

// The fast paths leave accesses that prove something, or that may, to the slow ones.
TEST(ProvenanceObserver, OnlyProvenPointersAreFollowedQuickly) {
  Subject run;
  const Tag proven = Tags::of(1, 1);
  const auto wave = std::make_unique<Wave>();
  std::memset(static_cast<void*>(wave.get()), 0, sizeof(Wave));
  wave->set_exec(~0U);
  RegisterTags& registers = run.state->registers;
  registers.reset(~0U, RegisterTags::kNoRegister, wave->vgpr);

  const Code scalar(run.observer, {0xf4000003, 0xfa000000});  // s_load_dword s0, s[6:7], 0
  const auto load_scalar = [&](Tag base, uint32_t bytes) {
    registers.set_scalar(7, base);
    if (run.observer.scalar_span(*run.state, *wave, scalar.inst(), kBuffer, bytes)) return true;
    emulator::ScalarEvent event;
    event.address = kBuffer;
    event.bytes = bytes;
    event.mapped = event.requested = true;
    run.observer.scalar_load(*run.state, *wave, scalar.inst(), event);
    return false;
  };
  EXPECT_FALSE(load_scalar(proven, 4));
  EXPECT_TRUE(load_scalar(proven, 4));
  EXPECT_FALSE(load_scalar(proven, 8));
  EXPECT_FALSE(load_scalar(0, 8)) << "of recorded memory, by an address from nowhere";
  EXPECT_FALSE(load_scalar(Tags::of(2, 1), 8)) << "proves it";
  EXPECT_TRUE(load_scalar(Tags::of(2, 1), 8));

  // global_load_dword v2, v[0:1], off
  const Code load(run.observer, {0xdc308000, 2U << 24 | 0x7dU << 16});
  const uint64_t far = kBuffer + 0x100000;  // has no tags
  const auto load_row = [&](uint64_t address) {
    return run.observer.row(*run.state, *wave, load.inst(), emulator::AccessKind::kLoad, address);
  };
  registers.fill(kFirst + 1, ~0U, proven);
  EXPECT_TRUE(load_row(far));
  EXPECT_FALSE(load_row(kBuffer)) << "has tags";
  registers.fill(kFirst + 1, ~0U, proven, ~2U);
  EXPECT_FALSE(load_row(far)) << "one lane without";
  registers.fill(kFirst + 1, ~0U, Tags::of(3, 1));
  EXPECT_FALSE(load_row(far)) << "not proven";
  // A sum whose results were not looked at yet.
  registers.set_scalar(0, proven);
  ASSERT_TRUE(registers.pass_on(0, kFirst + 1, ~0U));
  EXPECT_TRUE(load_row(far));
  for (const uint64_t address : {uint64_t{0x1000}, uint64_t{0x100001000}, ~uint64_t{0xfff}})
    EXPECT_FALSE(load_row(address)) << "the results may be 0 or -1";
}

}  // namespace
}  // namespace gfxgraph::check
