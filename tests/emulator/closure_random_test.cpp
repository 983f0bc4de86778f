// Random loops. Those that end after a known number of rounds, which the counter decides by some
// detour, are never said to go on for ever; those without an end are.
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "tests/emulator/loop_host.h"
#include "tests/emulator/loop_words.h"

namespace gfxgraph::emulator {
namespace {

using testing::LoopHost;
using testing::LoopWords;

#ifdef GFXGRAPH_ONE_ISA
constexpr unsigned kLoops = 10;
#else
constexpr unsigned kLoops = 150;
#endif

// Registers: s2 counts to s3; s[4:5] is the data's address; s24.. and v10.. carry the counter to
// the loop's end; s8..s19, VCC and v1..v7 are anybody's.
constexpr uint32_t kCounter = 2, kLimit = 3, kBase = 4, kFree = 8, kCarried = 24, kCarriedV = 10;
constexpr uint32_t kBetween = 20;  // s20..s22: the value on its way
constexpr uint32_t kOffset = 20;   // VGPR

class Loop {
 public:
  Loop(uint32_t seed, bool wave64, const std::byte* data)
      : random_(seed), wave64_(wave64), data_(reinterpret_cast<uint64_t>(data)) {}

  // One that ends after about `rounds`.
  std::vector<uint32_t> that_ends(uint32_t rounds) {
    begin(rounds);
    const size_t head = w_.here();
    w_.s_add(kCounter, kCounter, LoopWords::number(1));
    anything();
    const uint32_t carried = carry();
    anything();
    come_to_end(carried, head);
    w_.end();
    return w_.words();
  }
  // One without an end: its counter and whatever comes of it are looked at by nobody.
  std::vector<uint32_t> without_end() {
    begin(5);
    const size_t head = w_.here();
    w_.s_add(kCounter, kCounter, LoopWords::number(1));
    anything();
    if (pick(2) == 0) w_.s_clock(kFree);
    static_cast<void>(carry_in_registers(kCounter, pick(3)));
    anything();
    if (pick(2) == 0) {
      w_.branch(LoopWords::kAlways, head);
    } else {
      w_.v_mov(kOffset, LoopWords::kZero);
      w_.global_load(kOffset, kOffset, kBase);
      w_.v_readfirstlane(kCarried + 7, kOffset);
      w_.s_differ(kCarried + 7, LoopWords::kZero);
      w_.branch(LoopWords::kScc1, head);  // there is a one
    }
    w_.end();
    return w_.words();
  }

 private:
  uint32_t pick(uint32_t n) { return static_cast<uint32_t>(random_()) % n; }

  void begin(uint32_t rounds) {
    w_.s_mov(kCounter, LoopWords::kZero);
    w_.s_literal(kLimit, rounds);
    w_.s_literal(kBase, static_cast<uint32_t>(data_));
    w_.s_literal(kBase + 1, static_cast<uint32_t>(data_ >> 32));
    w_.v_mov(kOffset, LoopWords::kZero);
    for (uint32_t n = kBetween; n < kCarried + 8; ++n) w_.s_mov(n, LoopWords::kZero);
    for (uint32_t n = 0; n < 8; ++n) w_.v_mov(kCarriedV + n, LoopWords::kZero);
    w_.s_clock(kCarried + 4);
  }

  // ---- what has no say ----

  void anything() {
    for (uint32_t n = pick(6); n != 0;) n -= add_random();
  }
  uint32_t scalar_source() { return pick(3) == 0 ? 128 + pick(60) : 2 + pick(18); }
  uint32_t free_scalar() { return kFree + pick(11); }
  uint32_t vector_source() { return pick(2) == 0 ? scalar_source() : 256 + pick(16); }

  // Whether one was added.
  bool add_random() {
    std::vector<uint32_t> words;
    switch (pick(6)) {
      case 0:
      case 1:
        words = {0x80000000u | pick(44) << 23 | free_scalar() << 16 | scalar_source() << 8 |
                 scalar_source()};
        break;
      case 2: words = {0xbe800000u | free_scalar() << 16 | pick(64) << 8 | scalar_source()}; break;
      case 3: words = {0x7e000000u | (1 + pick(6)) << 17 | pick(100) << 9 | vector_source()}; break;
      case 4:
        words = {pick(58) << 25 | (1 + pick(7)) << 17 | pick(16) << 9 | vector_source()};
        if (pick(4) == 0) {
          words[0] = (words[0] & ~0x1ffu) | 250;
          words.push_back(pick(16) | (0x101 + pick(15)) << 8 | 0xffu << 24);
        }
        break;
      default: words = {0x7c000000u | pick(256) << 17 | pick(16) << 9 | vector_source()}; break;
    }
    if (!is_harmless(words)) return false;
    for (const uint32_t word : words) w_.add(word);
    return true;
  }

  bool is_harmless(std::vector<uint32_t> words) const {
    const size_t size = words.size();
    words.resize(5);
    Inst inst;
    if (decode(words.data(), words.size(), 0, inst) != DecodeStatus::kOk) return false;
    if (inst.size_bytes() != 4 * size) return false;  // wants a literal
    const ValueFlow flow = value_flow(inst, wave64_);
    if (flow.kind != ValueFlow::Kind::kOrdinary || flow.always) return false;
    const Backend& backend = select_backend(GFXGRAPH_BACKEND_SET(kPlainBackend));
    if (backend.bind(inst) == nullptr) return false;
    for (unsigned n = 0; n < flow.operands.dest_count; ++n)
      for (unsigned d = 0; d < flow.operands.dest[n].dwords; ++d) {
        const unsigned code = flow.operands.dest[n].code + d;
        const bool free = (code >= kFree && code < 20) || code == 106 || code == 107 ||
                          code == operand::kScc || (code > 256 && code < 256 + kCarriedV);
        if (!free) return false;
      }
    return true;
  }

  // ---- the counter's way ----

  uint32_t carry() {
    uint32_t from = kCounter;
    const uint32_t steps = pick(4);
    for (uint32_t n = 0; n < steps; ++n) {
      const uint32_t to = kCarried + n;
      if (pick(3) == 0)
        carry_in_memory(from, to, n);
      else
        carry_in_register(from, to, n);
      from = to;
    }
    return from;
  }
  uint32_t carry_in_registers(uint32_t from, uint32_t steps) {
    for (uint32_t n = 0; n < steps; ++n) {
      carry_in_register(from, kCarried + n, n);
      from = kCarried + n;
    }
    return from;
  }
  // The value comes to `to`, perhaps a round late.
  void carry_in_register(uint32_t from, uint32_t to, uint32_t n) {
    const uint32_t v = kCarriedV + n;
    const uint32_t lane = LoopWords::number(5);
    const bool late = pick(3) == 0;
    switch (pick(6)) {
      case 0:
        if (late) w_.s_mov(to, kBetween + n);
        w_.s_mov(kBetween + n, from);
        if (!late) w_.s_mov(to, kBetween + n);
        break;
      case 1:
        if (late) w_.v_readlane(to, v, lane);
        w_.v_mov(v, from);
        if (!late) w_.v_readlane(to, v, lane);
        break;
      case 2:
        if (late) w_.v_readlane(to, v, lane);
        w_.v_writelane(v, from, lane);
        if (!late) w_.v_readlane(to, v, lane);
        break;
      case 3:
        w_.v_mov(v, from);
        w_.v_mov_from_lane_before(v + 4, v);
        w_.v_readlane(to, v + 4, lane);
        break;
      case 4:
        w_.s_xor(to, from, LoopWords::number(37));
        w_.s_xor(to, to, LoopWords::number(37));
        break;
      default:
        w_.s_and(kCarried + 7, from, LoopWords::number(63));
        w_.sop2(32, to, from, LoopWords::number(6));  // s_lshr_b32
        w_.sop2(30, to, to, LoopWords::number(6));    // s_lshl_b32
        w_.s_or(to, to, kCarried + 7);
        break;
    }
  }
  void carry_in_memory(uint32_t from, uint32_t to, uint32_t n) {
    const uint32_t v = kCarriedV + n;
    w_.v_mov(kOffset, LoopWords::number(16 + 4 * n));
    w_.v_mov(v, from);
    const bool lds = pick(2) == 0;
    if (lds) {
      w_.lds_write(kOffset, v);
      w_.lds_read(v + 4, kOffset);
    } else {
      w_.global_store(kOffset, v, kBase);
      w_.global_load(v + 4, kOffset, kBase);
    }
    if (!lds && pick(2) == 0)
      w_.scalar_load(to, kBase, 16 + 4 * n);
    else
      w_.v_readfirstlane(to, v + 4);
  }

  // ---- the loop's end ----

  void come_to_end(uint32_t carried, size_t head) {
    const uint32_t t = kCarried + 7;
    switch (pick(7)) {
      case 0:
        w_.s_less(carried, kLimit);
        w_.branch(LoopWords::kScc1, head);
        break;
      case 1:
        w_.v_mov(kOffset, carried);
        w_.v_greater_u32(kLimit, kOffset);
        w_.branch(LoopWords::kVccnz, head);
        break;
      case 2:
        w_.v_mov(kOffset, carried);
        w_.v_greater_u32(kLimit, kOffset);
        w_.sop2(wave64_ ? 15 : 14, LoopWords::kExec, LoopWords::kExec, LoopWords::kVcc);
        w_.branch(LoopWords::kExecnz, head);
        break;
      case 3:
        w_.s_less(carried, kLimit);
        w_.s_status(t);
        w_.s_and(t, t, LoopWords::number(1));
        w_.s_differ(t, LoopWords::kZero);
        w_.branch(LoopWords::kScc1, head);
        break;
      case 4:  // by the address of a load: there are a one and a zero
        w_.s_less(carried, kLimit);
        w_.s_select(t, LoopWords::kZero, LoopWords::number(4));
        w_.v_mov(kOffset, t);
        w_.global_load(kOffset, kOffset, kBase);
        w_.v_readfirstlane(t, kOffset);
        w_.s_differ(t, LoopWords::kZero);
        w_.branch(LoopWords::kScc1, head);
        break;
      case 5:  // looked at every 64 rounds
        w_.s_and(t, kCounter, LoopWords::number(63));
        w_.branch(LoopWords::kScc1, head);
        w_.s_less(carried, kLimit);
        w_.branch(LoopWords::kScc1, head);
        break;
      default:  // so many ticks
        w_.s_clock(kCarried + 6);
        w_.sop2(1, kCarried + 6, kCarried + 6, kCarried + 4);  // s_sub_u32
        w_.s_less(kCarried + 6, kLimit);
        w_.branch(LoopWords::kScc1, head);
        break;
    }
  }

  std::mt19937 random_;
  const bool wave64_;
  const uint64_t data_;
  LoopWords w_;
};

class RandomLoops : public ::testing::TestWithParam<bool> {
 protected:
  RandomLoops() : host_(GetParam()) { reset_data(); }
  void reset_data() {
    const uint32_t table[2] = {1, 0};
    std::memset(host_.data(), 0, 256);
    std::memcpy(host_.data(), table, sizeof(table));
  }
  LoopHost host_;
};
INSTANTIATE_TEST_SUITE_P(Waves, RandomLoops, ::testing::Bool(),
                         [](const auto& i) { return i.param ? "wave64" : "wave32"; });

TEST_P(RandomLoops, WithAnEnd) {
  std::mt19937 random(11);
  for (uint32_t seed = 0; seed < kLoops; ++seed) {
    const uint32_t rounds = 2u << random() % 16;
    reset_data();
    host_.start(Loop(seed, GetParam(), host_.data()).that_ends(rounds));
    uint64_t ran = 0;
    for (unsigned look = 0; look < 3 && !host_.ended(); ++look) {
      const uint64_t more = 1 + random() % (4 * rounds);
      host_.run(more);
      ran += more;
      ASSERT_FALSE(!host_.ended() && host_.never_end()) << "loop " << seed << " after " << ran;
    }
    host_.run(uint64_t{rounds + 200} * 80);
    ASSERT_TRUE(host_.ended()) << "loop " << seed;
    ASSERT_EQ(host_.wave().exit, WaveExit::kEnded) << "loop " << seed;
  }
}

TEST_P(RandomLoops, WithoutEnd) {
  std::mt19937 random(12);
  for (uint32_t seed = 0; seed < kLoops; ++seed) {
    reset_data();
    host_.start(Loop(seed, GetParam(), host_.data()).without_end());
    host_.run(1 + random() % 5000);
    EXPECT_TRUE(!host_.ended() && host_.never_end()) << "loop " << seed;
  }
}

// ---- several waves that share words ----

constexpr uint32_t kWaves = 3;

// The same random code for all: s0 is the wave's number, s[4:5] the words' address, s6 what was
// read last. One lane.
class SharedLoop {
 public:
  SharedLoop(uint32_t seed, const std::byte* data)
      : random_(seed), data_(reinterpret_cast<uint64_t>(data)) {}

  std::vector<uint32_t> words() {
    w_.s_literal(kBase, static_cast<uint32_t>(data_));
    w_.s_literal(kBase + 1, static_cast<uint32_t>(data_ >> 32));
    w_.s_mov(LoopWords::kExec, LoopWords::number(1));
    w_.s_add(7, 0, LoopWords::number(1));
    w_.s_mov(kRead, LoopWords::kZero);
    w_.s_mov(9, LoopWords::kZero);
    const size_t head = w_.here();
    if (pick(2) == 0) w_.s_add(9, 9, LoopWords::number(1));
    std::vector<size_t> exits;
    const uint32_t steps = 2 + pick(7);
    for (uint32_t n = 0; n < steps; ++n) add_step(exits, head);
    w_.branch(LoopWords::kAlways, head);
    const size_t end = w_.here();
    w_.end();
    std::vector<uint32_t> words = w_.words();
    has_exit_ = !exits.empty();
    for (const size_t exit : exits) words[exit] |= static_cast<uint32_t>(end - exit - 1);
    return words;
  }

  bool has_exit() const { return has_exit_; }

 private:
  static constexpr uint32_t kRead = 6;
  uint32_t pick(uint32_t n) { return static_cast<uint32_t>(random_()) % n; }
  // 0 to 2, or the wave's number, and one.
  uint32_t value() { return pick(4) == 0 ? 7 : LoopWords::number(pick(3)); }

  void add_step(std::vector<size_t>& exits, size_t head) {
    w_.v_mov(kOffset, LoopWords::number(4 * pick(3)));
    w_.v_mov(1, value());
    w_.v_mov(2, value());
    switch (pick(6)) {
      case 0: w_.global_store(kOffset, 1, kBase); break;
      case 1:
        w_.global_load(3, kOffset, kBase);
        w_.v_readfirstlane(kRead, 3);
        break;
      case 2:
      case 3:
        w_.global_atomic(LoopWords::kCompareSwap, 3, kOffset, 1, kBase);
        w_.v_readfirstlane(kRead, 3);
        break;
      case 4: {
        constexpr LoopWords::Atomic kOps[] = {LoopWords::kSwap, LoopWords::kAdd, LoopWords::kSub,
                                              LoopWords::kAnd, LoopWords::kOr};
        w_.global_atomic(kOps[pick(5)], 3, kOffset, 1, kBase);
        w_.v_readfirstlane(kRead, 3);
        break;
      }
      default: break;
    }
    if (pick(3) == 0) return;
    w_.s_differ(kRead, value());
    const auto when = pick(2) == 0 ? LoopWords::kScc0 : LoopWords::kScc1;
    if (pick(3) != 0) return w_.branch(when, head);
    exits.push_back(w_.here());
    w_.branch(when, w_.here() + 1);
  }

  std::mt19937 random_;
  const uint64_t data_;
  bool has_exit_ = false;
  LoopWords w_;
};

TEST(RandomSharedLoops, WhatIsProvenHoldsInAnyOrder) {
#ifdef GFXGRAPH_ONE_ISA
  constexpr unsigned kPrograms = 120;
#else
  constexpr unsigned kPrograms = 2000;
#endif
  LoopHost host(false, kWaves);
  std::mt19937 engine(5);
  const auto random = [&] { return static_cast<uint32_t>(engine()); };
  unsigned proven = 0;
  unsigned ended = 0;
  for (uint32_t seed = 0; seed < kPrograms; ++seed) {
    std::memset(host.data(), 0, 64);
    SharedLoop loop(seed, host.data());
    host.start(loop.words());
    const auto run_some = [&](unsigned turns) {
      for (unsigned turn = 0; turn < turns; ++turn)
        host.run(1 + random() % (turn % 4 == 0 ? 200 : 7), random() % kWaves);
    };
    const auto live = [&] {
      unsigned count = 0;
      for (uint32_t n = 0; n < kWaves; ++n) count += !host.ended(n);
      return count;
    };
    run_some(1 + random() % 100);
    const unsigned before = live();
    if (before == 0 || !host.never_end()) {
      ended += before != kWaves;
      continue;
    }
    proven += loop.has_exit();
    run_some(1500);
    ASSERT_EQ(live(), before) << "program " << seed;
  }
  EXPECT_GT(proven, kPrograms / 20);
  EXPECT_GT(ended, kPrograms / 20);
  RecordProperty("proven", static_cast<int>(proven));
}

}  // namespace
}  // namespace gfxgraph::emulator
