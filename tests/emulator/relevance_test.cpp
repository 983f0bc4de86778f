// What value_flow() says of an instruction, on random instructions: two states that agree in the
// listed sources give the same results, and nothing but the listed destinations changes.
#include "emulator/relevance.h"

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
  return a.lds == b.lds ? "" : "LDS";
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
    if (encoding.name[3] >= '1' && encoding.name[0] == 'V' && encoding.fixed < 0x80000000 &&
        special < 3)
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
#ifndef GFXGRAPH_ONE_ISA
  EXPECT_GT(count, 1500u);
  EXPECT_GT(tested.count(), 300u);
#endif
}

}  // namespace
}  // namespace gfxgraph::emulator
