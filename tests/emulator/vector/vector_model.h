// A slow, plain model of a whole vector ALU instruction: operand fetch, modifiers, SDWA and DPP,
// the lane function of vector_spec.h, write-back. And a generator of random instructions from the
// opcode table.
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tests/emulator/vector/mode_spec.h"
#include "tests/emulator/vector/vector_spec.h"

namespace gfxgraph::emulator::spec {

inline constexpr unsigned kWaveLanes = 32;
inline constexpr unsigned kModelVgprs = 40;

struct TableRow {
  std::string encoding;
  unsigned opcode;
  std::string mnemonic;
  bool sdwa, dpp16, dpp8;
};
const std::vector<TableRow>& table_rows();

struct State {
  std::array<std::array<uint32_t, kWaveLanes>, kModelVgprs> vgpr{};
  std::array<uint32_t, 128> sgpr{};  // by operand code: VCC 106, EXEC 126
};

enum class Extra { kNone, kSdwa, kDpp16, kDpp8 };
// Those that the row can have.
std::vector<Extra> extras_of(const TableRow& row);

// An instruction by its fields; names as in the ISA guide.
struct Instance {
  const TableRow* row = nullptr;
  const Spec* spec = nullptr;
  Extra extra = Extra::kNone;
  unsigned vdst = 0;  // VGPR number, or SGPR of a VOP3 comparison
  unsigned sdst = 106;
  unsigned src[3] = {0, 0, 0};  // 9-bit codes
  uint32_t literal = 0;
  unsigned neg = 0, abs = 0, op_sel = 0, op_sel_hi = 7, omod = 0;
  bool clamp = false;
  // SDWA
  unsigned sel[2] = {6, 6}, dst_sel = 6, dst_unused = 0;
  bool sext[2] = {false, false};
  bool sd = false;
  // DPP
  unsigned control = 0, row_mask = 15, bank_mask = 15;
  bool bound_control = false, fetch_inactive = false;
  uint32_t dpp8_selectors = 0;

  unsigned sources() const;  // in the types of the spec
  char source_type(unsigned n) const;
  char dst_type() const { return spec->types[0]; }
  bool has_carry_out() const { return spec->types.find('+') != std::string::npos; }
  bool clamps_integers() const { return spec->types.find('~') != std::string::npos; }
  std::vector<uint32_t> encode() const;
};

using Random = std::mt19937_64;

// A random instruction of this row in that form, and a state with values that matter to it.
Instance random_instance(Random& random, const TableRow& row, const Spec& spec, Extra extra);
void random_state(Random& random, const Instance& instance, State& state);
// The destination is a source, too.
bool accumulates(const std::string& mnemonic);

// What the comparison needs to know about a result that need not match bit by bit.
struct Freedom {
  std::array<double, kWaveLanes> ulps{};
  std::array<bool, kWaveLanes>
      any_nan{};  // a NaN is expected and several inputs, or none, could have given it
  // Without IEEE a NaN may stay signalling.
  bool nans_alike = false;
};
void run_model(const Instance& instance, State& state, Freedom& freedom, Mode mode = {});

// Equal but for the freedom in the destination. `difference` names the first register that is not.
bool same(const Instance& instance, const Freedom& freedom, const State& expected, const State& got,
          std::string& difference);

}  // namespace gfxgraph::emulator::spec
