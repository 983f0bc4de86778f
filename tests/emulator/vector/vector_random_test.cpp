// Random instructions of every implemented vector ALU row against the model, on every instruction
// set of this host; and the coverage rule: a row is implemented and has a specification, or is
// refused and has none.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <set>

#include "emulator/decode/inst.h"
#include "emulator/engine/wave.h"
#include "fmt/format.h"
#include "tests/emulator/vector/vector_host.h"
#include "tests/emulator/vector/vector_model.h"

namespace gfxgraph::emulator::spec {
namespace {

bool is_vector(const std::string& encoding) { return encoding.starts_with("VOP"); }

const Spec* spec_of(const std::string& mnemonic) {
  const auto at = all_specs().all().find(mnemonic);
  return at == all_specs().all().end() ? nullptr : &at->second;
}

std::string hex(const std::vector<uint32_t>& words) {
  std::string r;
  for (uint32_t w : words) r += fmt::format("{:08x} ", w);
  return r;
}

std::string inputs(const Instance& i, const State& s, const std::string& difference) {
  unsigned lane = 0;
  if (const size_t at = difference.find("lane "); at != std::string::npos)
    lane = static_cast<unsigned>(std::atoi(difference.c_str() + at + 5));
  std::string r;
  for (unsigned n = 0; n < i.sources(); ++n) {
    const unsigned code = i.src[n];
    const uint32_t low = code >= 256 ? s.vgpr[code - 256][lane] : code < 128 ? s.sgpr[code] : 0;
    const uint32_t high = code >= 256  ? s.vgpr[code - 255][lane]
                          : code < 127 ? s.sgpr[code + 1]
                                       : 0;
    r += fmt::format(" src{}: code {} = {:08x}_{:08x}", n, code, high, low);
  }
  return r +
         fmt::format(
             " exec {:08x} literal {:08x} neg {} abs {} op_sel {} op_sel_hi {} clamp {} extra {}",
             s.sgpr[126], i.literal, i.neg, i.abs, i.op_sel, i.op_sel_hi, i.clamp,
             static_cast<int>(i.extra));
}

// Returns false at the first failure, which it reports.
bool check_once(Random& random, const TableRow& row, const Spec& spec, Extra extra) {
  const Instance instance = random_instance(random, row, spec, extra);
  State before;
  random_state(random, instance, before);
  State expected = before;
  Freedom freedom;
  run_model(instance, expected, freedom);
  const std::vector<uint32_t> words = instance.encode();
  for (const HostIsa& isa : host_isas()) {
    State got = before;
    std::string difference = run_vector(isa, words, got);
    if (difference.empty() && same(instance, freedom, expected, got, difference)) continue;
    ADD_FAILURE() << row.encoding << " " << row.mnemonic << " on " << isa.name << ": " << difference
                  << "\n  words " << hex(words) << "\n " << inputs(instance, before, difference);
    return false;
  }
  return true;
}

TEST(VectorRandom, EveryRowInEveryForm) {
  const unsigned rounds =
      std::getenv("GFXGRAPH_TEST_ROUNDS") != nullptr
          ? static_cast<unsigned>(std::atoi(std::getenv("GFXGRAPH_TEST_ROUNDS")))
          : 60;
  unsigned failed = 0;
  uint64_t seed = 1;
  for (const TableRow& row : table_rows()) {
    if (!is_vector(row.encoding)) continue;
    const Spec* spec = spec_of(row.mnemonic);
    if (spec == nullptr) continue;
    for (const Extra extra : extras_of(row)) {
      Random random(seed++);
      for (unsigned n = 0; n < rounds; ++n) {
        if (check_once(random, row, *spec, extra)) continue;
        ++failed;
        break;
      }
    }
    if (failed > 60) FAIL() << "too many failures";
  }
}

}  // namespace
}  // namespace gfxgraph::emulator::spec
