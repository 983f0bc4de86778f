#include "tests/emulator/vector_tested.h"

#include <set>
#include <string_view>

#include "tests/emulator/vector_spec.h"

namespace gfxgraph::emulator::spec {

const char* how_tested(const std::string& mnemonic) {
  static const std::set<std::string> moves = {
      "v_readfirstlane_b32", "v_readlane_b32",  "v_writelane_b32", "v_permlane16_b32",
      "v_permlanex16_b32",   "v_swap_b32",      "v_swaprel_b32",   "v_nop",
      "v_pipeflush",         "v_clrexcp",       "v_movreld_b32",   "v_movrels_b32",
      "v_movrelsd_b32",      "v_movrelsd_2_b32"};
  if (all_specs().all().contains(mnemonic)) return "vector_random_test";
  return moves.contains(mnemonic) ? "vector_lane_test" : nullptr;
}

std::string accuracy(const std::string& mnemonic) {
  static const std::set<std::string> functions = {"rcp", "rcp_iflag", "rsq", "sqrt",
                                                  "exp", "log",       "sin", "cos"};
  if (!mnemonic.starts_with("v_")) return "exact";
  const size_t end = mnemonic.rfind('_');
  const std::string stem = mnemonic.substr(2, end - 2);
  if (functions.contains(stem)) {
    return mnemonic.ends_with("f32") ? "1 ulp, denormals flushed" : "1 ulp";
  }
  return "exact";
}

}  // namespace gfxgraph::emulator::spec
