// Random vector ALU instructions in wave64 against the 32-lane model run once per half: the upper
// half reads and writes the upper words of lane masks, everything else is shared.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>

#include "emulator/engine/wave64.h"
#include "fmt/format.h"
#include "tests/emulator/row_host.h"
#include "tests/emulator/vector/vector_model.h"

namespace gfxgraph::emulator::spec {
namespace {

constexpr unsigned kVcc = 106, kNull = 125, kExec = 126;

// The instruction as lanes 32..63 see it, with the scalar registers that they see. False for cases
// that one model run cannot say: a lane mask register that is read as a number too.
bool upper_view(const Instance& low, Instance& high, std::array<uint32_t, 128>& sgpr) {
  high = low;
  const std::string& types = low.spec->types;
  const bool vop3 = low.row->encoding == "VOP3" || low.row->encoding == "VOP3P";
  const bool mask_in = types.find('m') != types.npos, vcc_in = types.find('v') != types.npos;
  const bool compares = types[0] == 'c';
  const bool masks = mask_in || vcc_in || compares || low.has_carry_out();
  const auto clashes = [&](unsigned code) { return code >= kVcc && code < 128; };
  const unsigned numbers = mask_in ? 2 : 3;
  for (unsigned n = 0; n < numbers && n < low.sources(); ++n) {
    if (low.src[n] == kExec || low.src[n] == kExec + 1 || low.src[n] == kExec - 1) return false;
    if (masks && clashes(low.src[n])) return false;
  }
  sgpr[kExec] = sgpr[kExec + 1];
  if (vcc_in || (masks && !vop3)) sgpr[kVcc] = sgpr[kVcc + 1];
  if (low.extra == Extra::kDpp16) high.row_mask = low.row_mask >> 2;
  if (vop3) {
    if (mask_in && low.src[2] != kExec) ++high.src[2];
    if (mask_in && low.src[2] > kExec - 3) return false;
    if (low.has_carry_out() && low.sdst != kNull) ++high.sdst;
    if (compares && !low.row->mnemonic.starts_with("v_cmpx") && low.vdst != kNull) ++high.vdst;
  } else if (compares && low.sd) {
    return false;
  }
  return true;
}

struct Pair {
  std::unique_ptr<Wave> low = std::make_unique<Wave>();
  std::unique_ptr<Wave> high = std::make_unique<Wave>();
};

void load(const State& from, Wave& w) {
  std::memcpy(w.sgpr, from.sgpr.data(), sizeof(from.sgpr));
  w.set_exec(from.sgpr[kExec]);
  w.mode = 0x3f0;
  for (unsigned n = 0; n < kModelVgprs; ++n)
    std::memcpy(w.vgpr[n].lane, from.vgpr[n].data(), sizeof(emulator::Row));
}
void store(const Wave& w, State& to) {
  for (unsigned n = 0; n < kModelVgprs; ++n)
    std::memcpy(to.vgpr[n].data(), w.vgpr[n].lane, sizeof(emulator::Row));
}

std::string run_pair(const Backend& backend, const std::vector<uint32_t>& words, Pair& waves) {
  Inst inst;
  if (decode(words.data(), words.size(), 0, inst) != DecodeStatus::kOk) return "does not decode";
  HalfInsts store(false);
  std::unique_ptr<HalfPlan> plan;
  const Handler handler = bind_wave64(backend, inst, store, plan);
  if (handler == nullptr) return "not supported";
  return handler(*waves.low, &inst) == inst.next() ? "" : "did not go on";
}

// Where the two models' scalar results belong in the one register file.
void merge_scalars(const Instance& low, const State& low_after, const State& high_before,
                   const State& high_after, std::array<uint32_t, 128>& sgpr) {
  sgpr = low_after.sgpr;
  const bool vop3 = low.row->encoding == "VOP3" || low.row->encoding == "VOP3P";
  const auto& types = low.spec->types;
  if (types[0] != 'c' && !low.has_carry_out()) return;
  for (unsigned n = 0; n < 128; ++n) {
    if (high_after.sgpr[n] == high_before.sgpr[n]) continue;
    if (n == kExec || (n == kVcc && !vop3))
      sgpr[n + 1] = high_after.sgpr[n];
    else
      sgpr[n] = high_after.sgpr[n];
  }
}

std::string check(Random& random, const TableRow& row, const Spec& spec, Extra extra, Pair& waves) {
  const Instance low = random_instance(random, row, spec, extra);
  State low_before, high_before;
  random_state(random, low, low_before);
  random_state(random, low, high_before);
  low_before.sgpr[kExec + 1] = high_before.sgpr[kExec];
  high_before.sgpr = low_before.sgpr;
  Instance high;
  if (!upper_view(low, high, high_before.sgpr)) return "";
  State low_after = low_before, high_after = high_before;
  Freedom low_freedom, high_freedom;
  run_model(low, low_after, low_freedom);
  run_model(high, high_after, high_freedom);
  std::array<uint32_t, 128> sgpr{};
  merge_scalars(low, low_after, high_before, high_after, sgpr);
  const std::vector<uint32_t> words = low.encode();
  for (const Backend* backend : testing::row_backends()) {
    load(low_before, *waves.low);
    load(high_before, *waves.high);
    waves.low->upper = waves.high.get();
    std::string wrong = run_pair(*backend, words, waves);
    if (!wrong.empty()) return wrong;
    State got = low_after;
    store(*waves.low, got);
    if (!same(low, low_freedom, low_after, got, wrong)) return "lower half: " + wrong;
    got = high_after;
    store(*waves.high, got);
    if (!same(high, high_freedom, high_after, got, wrong)) return "upper half: " + wrong;
    for (unsigned n = 0; n < 128; ++n)
      if (waves.low->sgpr[n] != sgpr[n])
        return fmt::format("s{}: {:08x}, expected {:08x}", n, waves.low->sgpr[n], sgpr[n]);
    if (waves.high->exec() != waves.low->sgpr[kExec + 1])
      return "EXEC_HI and the upper half differ";
  }
  return "";
}

TEST(VectorWave64, EveryRowInBothHalves) {
  Pair waves;
  uint64_t seed = 1;
  unsigned failed = 0;
  for (const TableRow& row : table_rows()) {
    const auto spec = all_specs().all().find(row.mnemonic);
    if (!row.encoding.starts_with("VOP") || spec == all_specs().all().end()) continue;
    // The lane's number matters: a kernel's test.
    if (row.mnemonic.starts_with("v_mbcnt")) continue;
    for (const Extra extra : extras_of(row)) {
      Random random(seed++);
      for (unsigned round = 0; round < 12; ++round) {
        const std::string wrong = check(random, row, spec->second, extra, waves);
        if (wrong.empty()) continue;
        ADD_FAILURE() << row.encoding << " " << row.mnemonic << ": " << wrong;
        ++failed;
        break;
      }
      if (failed > 20) FAIL() << "too many failures";
    }
  }
}

}  // namespace
}  // namespace gfxgraph::emulator::spec
