#include "base/device.h"

#include <gtest/gtest.h>

namespace gfxgraph {
namespace {

TEST(AppendPreload, KeepsWhatIsThereInFront) {
  EXPECT_EQ(append_preload(nullptr, "/lib/ours.so", false).value(), "/lib/ours.so");
  EXPECT_EQ(append_preload("", "/lib/ours.so", false).value(), "/lib/ours.so");
  EXPECT_EQ(append_preload("libasan.so.8", "/lib/ours.so", false).value(),
            "libasan.so.8:/lib/ours.so");
  EXPECT_EQ(append_preload("a.so b.so::c.so ", "/lib/ours.so", false).value(),
            "a.so:b.so:c.so:/lib/ours.so");
}

TEST(AppendPreload, PutsItAtTheEndOnce) {
  EXPECT_EQ(append_preload("/lib/ours.so:a.so:/lib/ours.so", "/lib/ours.so", false).value(),
            "a.so:/lib/ours.so");
  EXPECT_EQ(append_preload("/other/lib/ours.so", "/lib/ours.so", false).value(),
            "/other/lib/ours.so:/lib/ours.so");
}

TEST(AppendPreload, RefusesWhatTheLoaderWouldSplit) {
  for (const char* path : {"/a folder/ours.so", "/a:b/ours.so"}) {
    const Result<std::string> list = append_preload("a.so", path, false);
    ASSERT_FALSE(list);
    EXPECT_NE(list.error().message.find(path), std::string::npos);
    EXPECT_NE(list.error().message.find("GFXGRAPH_LIBDIR"), std::string::npos);
    EXPECT_EQ(append_preload("a.so:ours.so", path, true).value(), "a.so:ours.so");
  }
}

TEST(AsanOptions, AreKept) {
  EXPECT_EQ(asan_options_for_preload(nullptr), "verify_asan_link_order=0");
  EXPECT_EQ(asan_options_for_preload("detect_leaks=0"), "detect_leaks=0:verify_asan_link_order=0");
}

}  // namespace
}  // namespace gfxgraph
