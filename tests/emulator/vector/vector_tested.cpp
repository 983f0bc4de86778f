#include "tests/emulator/vector/vector_tested.h"

#include <set>
#include <string_view>

#include "fmt/format.h"
#include "tests/emulator/vector/vector_spec.h"

namespace gfxgraph::emulator::spec {

bool has_float_operand(const Spec& spec) {
  return spec.types.find_first_of("fdhbpxF") != std::string::npos;
}

std::string how_tested(const std::string& mnemonic) {
  static const std::set<std::string> moves = {
      "v_readfirstlane_b32", "v_readlane_b32",  "v_writelane_b32", "v_permlane16_b32",
      "v_permlanex16_b32",   "v_swap_b32",      "v_swaprel_b32",   "v_nop",
      "v_pipeflush",         "v_clrexcp",       "v_movreld_b32",   "v_movrels_b32",
      "v_movrelsd_b32",      "v_movrelsd_2_b32"};
  static const std::set<std::string> folded = {
#define GFXGRAPH_FOLD(name, ...) #name,
#include "tests/emulator/vector/llvm_folding.inc"
#undef GFXGRAPH_FOLD
  };
  const auto spec = all_specs().all().find(mnemonic);
  if (spec == all_specs().all().end()) return moves.contains(mnemonic) ? "vector_lane_test" : "";
  std::string tests = "vector_random_test";
  if (has_float_operand(spec->second)) tests += ", float_mode_test";
  if (ulp_bound(mnemonic) != 0) tests += ", transcendental_test";
  if (folded.contains(mnemonic)) tests += ", llvm_folding_test";
  return tests;
}

double ulp_bound(const std::string& mnemonic) {
  static const std::set<std::string> functions = {"rcp", "rcp_iflag", "rsq", "sqrt",
                                                  "exp", "log",       "sin", "cos"};
  if (!mnemonic.starts_with("v_")) return 0;
  const size_t end = mnemonic.rfind('_');
  // Correct rounding would be 0.5.
  return functions.contains(mnemonic.substr(2, end - 2)) ? 0.501 : 0;
}

std::string accuracy(const std::string& mnemonic) {
  const double bound = ulp_bound(mnemonic);
  if (bound == 0) return "exact";
  return fmt::format("{} ulp{}", bound, mnemonic.ends_with("f32") ? ", denormals flushed" : "");
}

}  // namespace gfxgraph::emulator::spec
