// Where code goes on: kinds of instructions, and graphs of small pieces of code.
#include "emulator/analysis/control_flow.h"

#include <gtest/gtest.h>

#include <vector>

namespace gfxgraph::emulator {
namespace {

using Kind = Flow::Kind;

constexpr uint64_t kAddress = 0x10000;

// Words of code. Source: RDNA2 ISA guide, "SOPP", "SOP1", "SOPK".
constexpr uint32_t sopp(uint32_t op, int16_t imm = 0) {
  return 0xbf800000u | op << 16 | static_cast<uint16_t>(imm);
}
constexpr uint32_t kNop = sopp(0), kEnd = sopp(1), kCodeEnd = sopp(31);
constexpr uint32_t branch(int16_t by) { return sopp(2, by); }
constexpr uint32_t cbranch_scc0(int16_t by) { return sopp(4, by); }
constexpr uint32_t kSetpc = 0xbe802004;  // s_setpc_b64 s[4:5]

struct Code {
  explicit Code(std::vector<uint32_t> w) : words(std::move(w)) {
    Region region;
    region.address = kAddress;
    region.requested_bytes = region.mapped_bytes = words.size() * 4;
    region.host = reinterpret_cast<std::byte*>(words.data());
    region.kind = RegionKind::kCode;
    static_cast<void>(map.add(region));
  }
  std::optional<ControlFlow> trace(size_t most = 1000) {
    const auto table = map.snapshot();
    CodeReader reader(*table);
    return ControlFlow::trace(kAddress, reader, most, [&](uint32_t n, const Inst& inst) {
      EXPECT_GE(n, visited.size());
      visited.resize(n + 1);
      visited[n] = inst.op;
    });
  }
  std::vector<uint32_t> words;
  std::vector<Op> visited;
  MemoryMap map;
};

TEST(ControlFlow, BranchesGoBothWays) {
  // 0: branch to 3 or on; 1: nop; 2: back to 0; 3: end
  Code code({cbranch_scc0(2), kNop, branch(-3), kEnd});
  const auto graph = code.trace();
  ASSERT_TRUE(graph);
  const auto& nodes = graph->nodes();
  ASSERT_EQ(nodes.size(), 4U);
  EXPECT_EQ(nodes[0].kind, Kind::kBranch);
  ASSERT_EQ(nodes[0].successors, 2U);
  EXPECT_EQ(nodes[nodes[0].successor[0]].pc, kAddress + 12);
  EXPECT_EQ(nodes[nodes[0].successor[1]].pc, kAddress + 4);
  EXPECT_EQ(nodes[0].predecessors, 1U);
  EXPECT_EQ(nodes[nodes[0].successor[0]].kind, Kind::kEnd);
  EXPECT_EQ(nodes[nodes[0].successor[0]].successors, 0U);
  EXPECT_EQ(code.visited.size(), 4U);
}

TEST(ControlFlow, JumpsThroughRegistersEndAWay) {
  Code code({kNop, kSetpc, kNop});
  const auto graph = code.trace();
  ASSERT_TRUE(graph);
  ASSERT_EQ(graph->nodes().size(), 2U);
  EXPECT_EQ(graph->nodes()[1].kind, Kind::kIndirectJump);
  EXPECT_EQ(graph->nodes()[1].successors, 0U);
  EXPECT_TRUE((Flow{graph->nodes()[1].kind, 0}.leaves_graph()));
}

TEST(ControlFlow, TheEndOfMemoryAndBadWordsAreNodes) {
  Code code({cbranch_scc0(1), kCodeEnd, 0xffffffffu});
  const auto graph = code.trace();
  ASSERT_TRUE(graph);
  ASSERT_EQ(graph->nodes().size(), 3U);
  EXPECT_EQ(graph->nodes()[1].kind, Kind::kUndecoded);
  EXPECT_EQ(graph->nodes()[2].kind, Kind::kEnd);
  Code off({kNop});
  const auto past = off.trace();
  ASSERT_TRUE(past);
  ASSERT_EQ(past->nodes().size(), 2U);
  EXPECT_EQ(past->nodes()[1].kind, Kind::kUndecoded);
}

TEST(ControlFlow, TooLongCodeIsRefused) {
  Code code(std::vector<uint32_t>(100, kNop));
  EXPECT_FALSE(code.trace(50));
}

}  // namespace
}  // namespace gfxgraph::emulator
