#include "base/process/gpu_target.h"

#include <gtest/gtest.h>

namespace gfxgraph {
namespace {

TEST(Targets, GenericTargetsCoverTheirFamilies) {
  EXPECT_EQ(generic_target("gfx900"), "gfx9-generic");
  EXPECT_EQ(generic_target("gfx90c"), "gfx9-generic");
  EXPECT_EQ(generic_target("gfx908"), "");
  EXPECT_EQ(generic_target("gfx90a"), "");
  EXPECT_EQ(generic_target("gfx942"), "gfx9-4-generic");
  EXPECT_EQ(generic_target("gfx950"), "gfx9-4-generic");
  EXPECT_EQ(generic_target("gfx1010"), "gfx10-1-generic");
  EXPECT_EQ(generic_target("gfx1036"), "gfx10-3-generic");
  EXPECT_EQ(generic_target("gfx1153"), "gfx11-generic");
  EXPECT_EQ(generic_target("gfx1201"), "gfx12-generic");
  EXPECT_EQ(generic_target("gfx803"), "");
  EXPECT_EQ(generic_target("gfx11-generic"), "");
}

TEST(Targets, CodeNeedsItsFeatures) {
  EXPECT_TRUE(code_suits("amdgcn-amd-amdhsa--gfx90a", "gfx90a:sramecc+:xnack-"));
  EXPECT_TRUE(code_suits("amdgcn-amd-amdhsa--gfx90a:xnack-", "gfx90a:sramecc+:xnack-"));
  EXPECT_FALSE(code_suits("amdgcn-amd-amdhsa--gfx90a:xnack+", "gfx90a:sramecc+:xnack-"));
  EXPECT_FALSE(code_suits("amdgcn-amd-amdhsa--gfx90a:sramecc-", "gfx90a:sramecc+:xnack-"));
  EXPECT_TRUE(code_suits("amdgcn-amd-amdhsa--gfx9-4-generic:xnack-", "gfx950:sramecc+:xnack-"));
  EXPECT_FALSE(code_suits("amdgcn-amd-amdhsa--gfx9-4-generic", "gfx90a:sramecc+:xnack-"));
  EXPECT_FALSE(code_suits("amdgcn-amd-amdhsa--gfx942", "gfx950:sramecc+:xnack-"));
  EXPECT_TRUE(code_suits("amdgcn-amd-amdhsa--gfx11-generic", "gfx1101"));
  EXPECT_FALSE(code_suits("", "gfx1101"));
}

}  // namespace
}  // namespace gfxgraph
