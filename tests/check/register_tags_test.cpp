// Tags of registers against a plain table of all lanes.
#include "check/provenance/register_tags.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <memory>
#include <random>

namespace gfxgraph::check {
namespace {

using emulator::kLanes;

constexpr unsigned kFirstVector = RegisterTags::kFirstVector;
constexpr unsigned kVectors = 3;
constexpr unsigned kScalars = 3;

class Model {
 public:
  using Row = std::array<Tag, kLanes>;
  Row& row(unsigned code) {
    return code < kFirstVector ? rows_[code] : rows_[kScalars + code - kFirstVector];
  }
  void set(unsigned code, uint32_t lanes, const Row& tags) {
    for (unsigned l = 0; l < kLanes; ++l)
      if ((lanes >> l & 1) != 0) row(code)[l] = tags[l];
  }

 private:
  std::array<Row, kScalars + kVectors> rows_ = {};
};

struct LaunchedLanes {
  const char* name;
  uint32_t launched;
};

class RegisterTagsTest : public ::testing::TestWithParam<LaunchedLanes> {};
INSTANTIATE_TEST_SUITE_P(Waves, RegisterTagsTest,
                         ::testing::Values(LaunchedLanes{"Whole", ~0U},
                                           LaunchedLanes{"Partial", 0x1fff},
                                           LaunchedLanes{"OneLane", 1}),
                         [](const auto& of) { return of.param.name; });

TEST_P(RegisterTagsTest, HoldWhatATableOfAllLanesHolds) {
  const uint32_t launched = GetParam().launched;
  std::mt19937 random(7);
  const auto below = [&](uint32_t end) { return static_cast<uint32_t>(random() % end); };
  const auto some_lanes = [&]() -> uint32_t {
    const uint32_t masks[] = {~0U, launched, 0, 1U << below(32), static_cast<uint32_t>(random())};
    return masks[below(5)];
  };
  const auto tags = std::make_unique<RegisterTags>();
  std::array<emulator::Row, kVectors> values = {};
  tags->reset(launched, RegisterTags::kNoRegister, values.data());
  Model model;
  unsigned mixed = 0, uniform = 0, passed = 0;
  for (unsigned step = 0; step < 20000; ++step) {
    const unsigned code = kFirstVector + below(kVectors);
    const uint32_t exec = some_lanes() & launched;
    const Tag tag = below(3) * 5;  // 0 often
    Model::Row row = {};
    switch (below(7)) {
      case 5:
      case 6: {
        // An instruction whose result, known afterwards, has the tag of one register.
        const unsigned from = below(2) == 0 ? below(kScalars) : kFirstVector + below(kVectors);
        if (!tags->any(from)) break;
        const Model::Row tags_of_source = model.row(from);
        if (!tags->pass_on(from, code, exec)) break;
        ++passed;
        for (unsigned l = 0; l < kLanes; ++l) {
          if ((exec >> l & 1) == 0) continue;
          const uint32_t results[] = {0x7f00, 0x7f01, 0x7f00, below(40) == 0 ? 0U : 5,
                                      below(40) == 0 ? ~0U : ~1U};
          values[code - kFirstVector].lane[l] = results[below(5)];
          row[l] = Tags::ends(values[code - kFirstVector].lane[l])
                       ? 0
                       : tags_of_source[from < kFirstVector ? 0 : l];
        }
        model.set(code, exec, row);
        break;
      }
      case 0: {
        const uint32_t lanes = some_lanes();
        for (unsigned l = 0; l < kLanes; ++l) row[l] = (lanes >> l & 1) != 0 ? tag : 0;
        tags->fill(code, exec, tag, lanes);
        model.set(code, exec, row);
        break;
      }
      case 1: {
        row.fill(tag);
        tags->fill_quickly(code, exec, tag);
        model.set(code, exec, row);
        break;
      }
      case 2: {
        const bool alike = below(2) == 0;
        for (Tag& one : row) one = alike ? tag : below(3) * 5;
        tags->set(code, exec, row.data());
        model.set(code, exec, row);
        break;
      }
      case 3: {
        const unsigned lane = below(32);
        row.fill(tag);
        tags->set_lane(code, lane, tag);
        model.set(code, 1U << lane, row);
        break;
      }
      default: {
        const unsigned scalar = below(kScalars);
        row.fill(tag);
        tags->set_scalar(scalar, tag);
        model.set(scalar, ~0U, row);
        break;
      }
    }
    // A look at all of them would test all values at once.
    if (below(3) != 0) continue;
    for (unsigned n = 0; n < kScalars + kVectors; ++n) {
      const unsigned at = n < kScalars ? n : kFirstVector + n - kScalars;
      const Model::Row& expected = model.row(at);
      bool any = false, same = true;
      const uint32_t look = launched & (exec | 1);
      const Tag first = expected[static_cast<unsigned>(std::countr_zero(look))];
      // Whichever question comes first tests the values.
      Tag one = 0;
      uint32_t lanes = 0;
      const bool asked = below(2) == 0 && tags->one(at, one, lanes);
      for (unsigned l = 0; asked && l < kLanes; ++l)
        if ((launched >> l & 1) != 0) {
          ASSERT_EQ((lanes >> l & 1) != 0 ? one : 0, expected[l]) << "step " << step;
        }
      for (unsigned l = 0; l < kLanes; ++l) {
        if ((launched >> l & 1) == 0) continue;
        ASSERT_EQ(tags->get(at, l), expected[l]) << "step " << step << " code " << at;
        any |= expected[l] != 0;
        if ((look >> l & 1) != 0) same &= expected[l] == first;
      }
      if (any) {
        ASSERT_TRUE(tags->any(at)) << "step " << step;
      }
      ASSERT_EQ(tags->same_in(at, look), same) << "step " << step;
      Tag tag_of_all = 0;
      // A register that once differed may be kept as a row; then it is only not told.
      if (tags->all_have_one(at, look, tag_of_all)) {
        ASSERT_TRUE(same && tag_of_all == first && first != 0) << "step " << step;
      }
      if (!tags->one(at, one, lanes)) {
        ++mixed;
        continue;
      }
      ++uniform;
      for (unsigned l = 0; l < kLanes; ++l)
        if ((launched >> l & 1) != 0) {
          ASSERT_EQ((lanes >> l & 1) != 0 ? one : 0, expected[l]) << "step " << step;
        }
    }
  }
  EXPECT_GT(passed, 500U);
  EXPECT_GT(uniform, 1000U);
  if (launched != 1) {
    EXPECT_GT(mixed, 1000U);
  }
}

// Compilers keep scalars in lanes that a partial wave does not have.
TEST(RegisterTags, LanesThatWereNotLaunchedKeepWhatIsPutThere) {
  const auto tags = std::make_unique<RegisterTags>();
  tags->reset(1);
  tags->set_lane(kFirstVector, 5, 10);
  tags->set_lane(kFirstVector, 6, 20);
  EXPECT_EQ(tags->get(kFirstVector, 5), 10U);
  EXPECT_EQ(tags->get(kFirstVector, 6), 20U);
}

TEST(RegisterTags, OtherCodesHaveNone) {
  const auto tags = std::make_unique<RegisterTags>();
  tags->reset(~0U);
  tags->set_scalar(emulator::operand::kNull, 5);
  tags->set_scalar(200, 5);
  tags->fill(emulator::operand::kNone, ~0U, 5);
  tags->fill(7, ~0U, 5);
  for (unsigned code = 0; code < RegisterTags::kCodes; ++code) EXPECT_FALSE(tags->any(code));
  EXPECT_EQ(tags->get(emulator::operand::kNone, 0), 0U);
}

}  // namespace
}  // namespace gfxgraph::check
