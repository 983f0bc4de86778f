// What value_flow() says of an instruction, on random instructions: two states that agree in the
// listed sources give the same results, and nothing but the listed destinations changes.
#include "emulator/analysis/relevance.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/emulator/loop_host.h"

namespace gfxgraph::emulator {
namespace {

using testing::LoopHost;

struct Encoding {
  const char* name;
  uint32_t fixed;
  uint32_t free;  // bits of the first dword that are random
};
constexpr Encoding kEncodings[] = {
    {"SOP2", 0x80000000, 0x3fffffff},  {"SOPK", 0xb0000000, 0x0fffffff},
    {"SOP1", 0xbe800000, 0x007fffff},  {"SOPC", 0xbf000000, 0x007fffff},
    {"VOP1", 0x7e000000, 0x01ffffff},  {"VOP2", 0x00000000, 0x7fffffff},
    {"VOPC", 0x7c000000, 0x01ffffff},  {"VOP3", 0xd4000000, 0x03ffffff},
    {"VOP3P", 0xcc000000, 0x03ffffff}, {"DS", 0xd8000000, 0x03ffffff},
};

// All that an instruction can see of a wave, and change.
struct Registers {
  uint32_t sgpr[128];
  uint32_t scc;
  uint32_t mode, trap_status, flat_scratch[2];
  Row vgpr[2][256];
  std::vector<std::byte> lds;
  std::vector<std::byte> data = std::vector<std::byte>(4096);
  uint64_t next = 0;
};

class Machine {
 public:
  explicit Machine(bool wave64) : host_(wave64), wave64_(wave64) {}
  void put(const uint32_t (&words)[3]) {
    host_.start({words[0], words[1], words[2], 0xbf810000u});
    pc_ = host_.wave().resume->pc;
    inst_ = host_.decoded_at(pc_);
  }
  const Inst* inst() const { return inst_; }
  uint64_t data() { return reinterpret_cast<uint64_t>(host_.data()); }
  void load(const Registers& from) {
    Wave& w = host_.wave();
    std::memcpy(w.sgpr, from.sgpr, sizeof(from.sgpr));
    w.sgpr[operand::kNull] = 0;
    w.set_exec(from.sgpr[operand::kExecLo]);
    w.scc = from.scc;
    w.mode = from.mode;
    w.trap_status = from.trap_status;
    std::memcpy(w.flat_scratch, from.flat_scratch, sizeof(w.flat_scratch));
    std::memcpy(w.vgpr, from.vgpr[0], sizeof(from.vgpr[0]));
    if (wave64_) {
      w.write32(operand::kExecHi, from.sgpr[operand::kExecHi]);
      w.upper->mode = w.mode;
      std::memcpy(w.upper->vgpr, from.vgpr[1], sizeof(from.vgpr[1]));
    }
    std::memcpy(w.group->lds, from.lds.data(), from.lds.size());
    std::memcpy(host_.data(), from.data.data(), from.data.size());
  }
  // False: it faults.
  bool run(Registers& to) {
    Wave& w = host_.wave();
    w.resume = inst_;
    host_.run(1);
    if (host_.ended()) return false;
    std::memcpy(to.sgpr, w.sgpr, sizeof(to.sgpr));
    to.scc = w.scc;
    to.mode = w.mode;
    to.trap_status = w.trap_status;
    std::memcpy(to.flat_scratch, w.flat_scratch, sizeof(w.flat_scratch));
    std::memcpy(to.vgpr[0], w.vgpr, sizeof(to.vgpr[0]));
    if (wave64_) std::memcpy(to.vgpr[1], w.upper->vgpr, sizeof(to.vgpr[1]));
    to.lds.assign(w.group->lds, w.group->lds + LoopHost::kLdsBytes);
    to.data.assign(host_.data(), host_.data() + to.data.size());
    to.next = w.resume->pc;
    return true;
  }

 private:
  LoopHost host_;
  const bool wave64_;
  uint64_t pc_ = 0;
  const Inst* inst_ = nullptr;
};

class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  uint32_t word() { return static_cast<uint32_t>(engine_()); }
  // Small numbers, floats and anything.
  uint32_t value() {
    const uint32_t w = word();
    switch (w >> 30) {
      case 0: return w & 0xfff;
      case 1: return 0x3f000000 + (w & 0x1ffffff);
      default: return word();
    }
  }
  void fill(Registers& r) {
    for (uint32_t& s : r.sgpr) s = value();
    r.sgpr[operand::kNull] = 0;
    r.scc = word() & 1;
    for (auto& half : r.vgpr)
      for (Row& row : half)
        for (uint32_t& lane : row.lane) lane = value();
  }

 private:
  std::mt19937 engine_;
};

bool is_tested(const Inst& inst) {
  constexpr uint16_t kLeft = OpInfo::kBranch | OpInfo::kEndsBlock;
  if ((op_info(inst.op).flags & kLeft) != 0 || is_gws(inst.op)) return false;
  if (inst.format == Format::kDs && op_info(inst.op).access_bytes != 0) {
    return inst.op != Op::ds_append && inst.op != Op::ds_consume;  // never followed
  }
  return true;
}

// The locations of operands: 0..255 scalars, then lanes of VGPRs, both halves.
struct Set {
  std::bitset<256> scalar;
  std::vector<uint64_t> vgpr = std::vector<uint64_t>(256);
};
Set all_of(const OperandRef* list, unsigned count, uint64_t lanes) {
  Set set;
  for (unsigned n = 0; n < count; ++n)
    for (unsigned d = 0; d < list[n].dwords; ++d) {
      const unsigned code = list[n].code + d;
      if (code < 256)
        set.scalar.set(code);
      else if (code < 512)
        set.vgpr[code - 256] |= lanes;
    }
  return set;
}

uint64_t lane_mask(const Registers& r, bool wave64) {
  return r.sgpr[operand::kExecLo] |
         (wave64 ? uint64_t{r.sgpr[operand::kExecHi]} << 32 : uint64_t{0});
}

class Relevance : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Waves, Relevance, ::testing::Bool(),
                         [](const auto& i) { return i.param ? "wave64" : "wave32"; });

// Keeps of `from` what may have a say; `to` is random elsewhere.
void keep(const Registers& from, const ValueFlow& flow, uint64_t exec, Registers& to) {
  uint64_t lanes = exec;
  if (flow.other_lanes) lanes = flow.lane < 0 ? ~uint64_t{0} : uint64_t{1} << flow.lane;
  Set kept = all_of(flow.operands.source, flow.operands.source_count, lanes);
  const Set dests = all_of(flow.operands.dest, flow.operands.dest_count, ~uint64_t{0});
  // Destinations keep what the analysis does not take for replaced.
  kept.scalar |= dests.scalar & ~flow.replaced;
  for (unsigned n = 0; n < flow.operands.dest_count; ++n) {
    const OperandRef& ref = flow.operands.dest[n];
    const bool replaced =
        !flow.may_keep && !flow.other_lanes && (ref.role & OperandRef::kPartial) == 0;
    uint64_t stays = replaced ? ~exec : ~uint64_t{0};
    if (flow.writes_lane && flow.lane >= 0) stays = ~(uint64_t{1} << flow.lane);
    for (unsigned d = 0; d < ref.dwords; ++d)
      if (ref.code + d >= 256 && ref.code + d < 512) kept.vgpr[ref.code + d - 256] |= stays;
  }
  kept.scalar.set(operand::kExecLo);
  kept.scalar.set(operand::kExecHi);
  for (unsigned code = 0; code < 128; ++code)
    if (kept.scalar[code]) to.sgpr[code] = from.sgpr[code];
  if (kept.scalar[operand::kScc]) to.scc = from.scc;
  for (unsigned v = 0; v < 256; ++v)
    for (unsigned l = 0; l < 64; ++l)
      if (kept.vgpr[v] >> l & 1)
        to.vgpr[l / 32][v].lane[l % 32] = from.vgpr[l / 32][v].lane[l % 32];
  to.mode = from.mode;
  to.trap_status = from.trap_status;
  std::memcpy(to.flat_scratch, from.flat_scratch, sizeof(to.flat_scratch));
  to.lds = from.lds;
  to.data = from.data;
}

// Destinations have the same values in both; nothing else has changed in either.
std::string compare(const Registers& before, const Registers& a, const Registers& b,
                    const Registers& b_before, const ValueFlow& flow, uint64_t exec, bool wave64) {
  const uint64_t lanes = flow.other_lanes ? ~uint64_t{0} : exec;
  const Set dests = all_of(flow.operands.dest, flow.operands.dest_count, lanes);
  for (unsigned code = 0; code < 128; ++code) {
    const bool dest = dests.scalar[code];
    if (dest && a.sgpr[code] != b.sgpr[code]) return "result s" + std::to_string(code);
    if (!dest && (a.sgpr[code] != before.sgpr[code] || b.sgpr[code] != b_before.sgpr[code]))
      return "unlisted s" + std::to_string(code);
  }
  const bool scc = dests.scalar[operand::kScc];
  if (scc ? a.scc != b.scc : a.scc != before.scc) return "SCC";
  for (unsigned v = 0; v < 256; ++v)
    for (unsigned l = 0; l < (wave64 ? 64u : 32u); ++l) {
      const auto lane = [&](const Registers& r) { return r.vgpr[l / 32][v].lane[l % 32]; };
      const bool dest = dests.vgpr[v] >> l & 1;
      if (dest && lane(a) != lane(b)) return "result v" + std::to_string(v);
      if (!dest && (lane(a) != lane(before) || lane(b) != lane(b_before)))
        return "unlisted v" + std::to_string(v);
    }
  const bool hidden = a.mode == b.mode && a.trap_status == b.trap_status && a.next == b.next &&
                      std::memcmp(a.flat_scratch, b.flat_scratch, sizeof(a.flat_scratch)) == 0;
  if (!hidden) return "hidden registers";
  return a.lds == b.lds && a.data == b.data ? "" : "memory";
}

TEST_P(Relevance, OfRandomInstructions) {
  const bool wave64 = GetParam();
  Random random(wave64 ? 7 : 3);
  Machine machine(wave64);
  auto before = std::make_unique<Registers>();
  auto other = std::make_unique<Registers>();
  auto a = std::make_unique<Registers>();
  auto b = std::make_unique<Registers>();
  std::bitset<static_cast<size_t>(Op::kCount)> tested;
  unsigned count = 0;
#ifdef GFXGRAPH_ONE_ISA
  constexpr unsigned kTries = 4000;
#else
  constexpr unsigned kTries = 8000;
#endif
  for (unsigned n = 0; n < kTries; ++n) {
    const Encoding& encoding = kEncodings[n % std::size(kEncodings)];
    uint32_t words[3] = {encoding.fixed | (random.word() & encoding.free), random.word(),
                         random.word()};
    const uint32_t special = random.word() % 8;  // SDWA, DPP
    const bool may_have_extra =
        encoding.fixed < 0x80000000 && encoding.name[0] == 'V';  // VOP1, VOP2, VOPC
    if (may_have_extra && special < 3)
      words[0] = (words[0] & ~0x1ffu) | (special == 0 ? 249u : special == 1 ? 250u : 233u);
    Inst decoded;
    if (decode(words, 3, 0, decoded) != DecodeStatus::kOk || !is_tested(decoded)) continue;
    machine.put(words);
    const Inst* const inst = machine.inst();
    if (inst == nullptr) continue;
    const ValueFlow flow = value_flow(*inst, wave64);
    if (flow.kind != ValueFlow::Kind::kOrdinary) continue;
    random.fill(*before);
    before->mode = kDefaultMode;
    before->trap_status = 0;
    before->flat_scratch[0] = before->flat_scratch[1] = 0;
    before->lds.resize(LoopHost::kLdsBytes);
    for (std::byte& byte : before->lds) byte = static_cast<std::byte>(random.word());
    const uint64_t exec = lane_mask(*before, wave64);
    machine.load(*before);
    if (!machine.run(*a)) continue;
    for (unsigned repeat = 0; repeat < 2; ++repeat) {
      random.fill(*other);
      keep(*before, flow, exec, *other);
      machine.load(*other);
      ASSERT_TRUE(machine.run(*b)) << op_name(inst->op);
      const std::string what = compare(*before, *a, *b, *other, flow, exec, wave64);
      ASSERT_EQ(what, "") << op_name(decoded.op) << " " << encoding.name << std::hex << " "
                          << words[0] << " " << words[1];
    }
    tested.set(static_cast<size_t>(decoded.op));
    ++count;
  }
  EXPECT_GT(count, kTries / 8);
  EXPECT_GT(tested.count(), 200u);
}

// Accesses of memory, with addresses that are good in the registers that they may be in: v10, v11,
// s[4:5], s[8:11] and s12.
struct MemoryCase {
  uint32_t words[3] = {0, 0, 0};
  bool whole_address = false;  // v[10:11] hold one
};
MemoryCase memory_case(Random& random) {
  MemoryCase c;
  const uint32_t glc = random.word() & 1;
  const uint32_t op = random.word() & 127;
  const uint32_t offset = (random.word() & 63) * 4;
  switch (random.word() % 5) {
    case 0:  // FLAT
      c.words[0] = 0xdc000000u | op << 18 | glc << 16 | offset;
      c.words[1] = 10 | 20u << 8 | 0x7du << 16 | 30u << 24;
      c.whole_address = true;
      break;
    case 1:  // GLOBAL
      c.whole_address = random.word() % 2 == 0;
      c.words[0] = 0xdc008000u | op << 18 | glc << 16 | offset;
      c.words[1] = 10 | 20u << 8 | (c.whole_address ? 0x7du : 4u) << 16 | 30u << 24;
      break;
    case 2:  // MUBUF
      c.words[0] = 0xe0000000u | op << 18 | glc << 14 | (random.word() & 3) << 12 | offset;
      c.words[1] = 10 | 20u << 8 | 2u << 16 | (random.word() % 2 == 0 ? 12u : 128u) << 24;
      break;
    case 3:  // MTBUF
      c.words[0] = 0xe8000000u | (random.word() & 127) << 19 | (op & 7) << 16 |
                   (random.word() & 3) << 12 | offset;
      c.words[1] = 10 | 20u << 8 | 2u << 16 | 12u << 24 | (op >> 3 & 1) << 21;
      break;
    default:  // SMEM
      c.words[0] = 0xf4000000u | (op & 15) << 18 | 32u << 6 | (op % 16 < 8 ? 2u : 4u);
      c.words[1] = 0xfa000000u | offset;
      if (random.word() % 2 == 0) c.words[1] = 12u << 25 | offset;
      break;
  }
  return c;
}
void put_addresses(const MemoryCase& c, uint64_t data, Registers& r) {
  r.sgpr[4] = static_cast<uint32_t>(data);
  r.sgpr[5] = static_cast<uint32_t>(data >> 32);
  r.sgpr[8] = r.sgpr[4];
  r.sgpr[9] = r.sgpr[5];
  r.sgpr[10] = 4096;
  r.sgpr[11] = 22u << 12 | 3u << 28 | 4 | 5 << 3 | 6 << 6 | 7 << 9;  // 32-bit format, raw
  r.sgpr[12] = 64;
  for (unsigned l = 0; l < 64; ++l) {
    const uint64_t address = data + l * 16;
    r.vgpr[l / 32][10].lane[l % 32] = c.whole_address ? static_cast<uint32_t>(address) : l * 16;
    r.vgpr[l / 32][11].lane[l % 32] = static_cast<uint32_t>(address >> 32);
  }
}

TEST_P(Relevance, OfAccesses) {
  const bool wave64 = GetParam();
  Random random(wave64 ? 17 : 13);
  Machine machine(wave64);
  auto before = std::make_unique<Registers>();
  auto other = std::make_unique<Registers>();
  auto a = std::make_unique<Registers>();
  auto b = std::make_unique<Registers>();
  std::bitset<static_cast<size_t>(Op::kCount)> tested;
#ifdef GFXGRAPH_ONE_ISA
  constexpr unsigned kTries = 1000;
#else
  constexpr unsigned kTries = 4000;
#endif
  for (unsigned n = 0; n < kTries; ++n) {
    const MemoryCase c = memory_case(random);
    Inst decoded;
    if (decode(c.words, 3, 0, decoded) != DecodeStatus::kOk) continue;
    machine.put(c.words);
    const Inst* const inst = machine.inst();
    if (inst == nullptr) continue;
    ValueFlow flow = value_flow(*inst, wave64);
    if (flow.kind != ValueFlow::Kind::kOrdinary) continue;
    random.fill(*before);
    before->mode = kDefaultMode;
    before->trap_status = 0;
    before->flat_scratch[0] = before->flat_scratch[1] = 0;
    before->lds.resize(LoopHost::kLdsBytes);
    for (std::byte& byte : before->data) byte = static_cast<std::byte>(random.word());
    put_addresses(c, machine.data(), *before);
    const uint64_t exec = lane_mask(*before, wave64);
    machine.load(*before);
    if (!machine.run(*a)) continue;
    random.fill(*other);
    keep(*before, flow, exec, *other);
    machine.load(*other);
    ASSERT_TRUE(machine.run(*b)) << op_name(inst->op) << std::hex << " " << c.words[0];
    const std::string what = compare(*before, *a, *b, *other, flow, exec, wave64);
    ASSERT_EQ(what, "") << op_name(decoded.op) << std::hex << " " << c.words[0] << " "
                        << c.words[1];
    tested.set(static_cast<size_t>(decoded.op));
  }
  EXPECT_GT(tested.count(), 60u);
}

}  // namespace
}  // namespace gfxgraph::emulator
