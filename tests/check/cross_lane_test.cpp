// The shortcuts for waves whose lanes are all active, against the lanes one by one.
#include "check/lanes/cross_lane.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

namespace gfxgraph::check {
namespace {

using emulator::Inst;

// v_mov_b32_dpp v1, v0 with the 32 bits of a DPP16 or DPP8 (ISA guide, microcode formats DPP16 and
// DPP8).
void decode_move(uint32_t source, uint32_t control, Inst& inst) {
  const uint32_t words[] = {0x7e020200u | source, control};
  EXPECT_EQ(emulator::decode(words, 2, 0, inst), emulator::DecodeStatus::kOk)
      << std::hex << control;
}

std::unique_ptr<emulator::Wave> whole_wave() {
  auto wave = std::make_unique<emulator::Wave>();
  wave->set_exec(~0u);
  return wave;
}

TEST(CrossLaneTest, ShortcutsOfDppAgreeWithItsLanes) {
  const auto wave = whole_wave();
  int whole = 0, partial = 0;
  for (uint32_t control = 0; control < 0x170; ++control) {
    if (control >= 0x100 && (control & 15) == 0 && control < 0x140) continue;  // reserved
    if (control >= 0x130 && control < 0x140) continue;                         // wave shifts: GFX9
    if (control >= 0x142 && control < 0x150) continue;                         // broadcasts: GFX9
    for (const uint32_t masks : {0xffu, 0x7fu, 0xf3u}) {
      for (const uint32_t bound : {0u, 1u}) {
        Inst inst;
        decode_move(0xfa, control << 8 | bound << 19 | masks << 24, inst);
        const CrossLane lanes = cross_lane(inst, *wave);
        EXPECT_TRUE(misses_none_if_all_active(inst));
        EXPECT_EQ(lanes.past | lanes.inactive, 0u) << std::hex << control;
        EXPECT_EQ(writes_all_if_all_active(inst), lanes.written == ~0u)
            << std::hex << control << " " << masks << " " << bound;
        ++(lanes.written == ~0u ? whole : partial);
      }
    }
  }
  EXPECT_GT(whole, 100);
  EXPECT_GT(partial, 100);
}

TEST(CrossLaneTest, ShortcutsOfDpp8AgreeWithItsLanes) {
  const auto wave = whole_wave();
  for (const uint32_t selectors : {0xfac688u, 0u, 0xffffffu, 0x053977u}) {
    Inst inst;
    decode_move(0xe9, selectors << 8, inst);
    EXPECT_TRUE(writes_all_if_all_active(inst));
    EXPECT_EQ(cross_lane(inst, *wave).written, ~0u);
  }
}

}  // namespace
}  // namespace gfxgraph::check
