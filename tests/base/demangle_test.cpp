#include "base/demangle.h"

#include <gtest/gtest.h>

#include <string>

#include "base/sanitized.h"

namespace gfxgraph {
namespace {

TEST(Demangle, MakesNamesReadable) {
  EXPECT_EQ(demangle("_Z5saxpyiPKfPf"), "saxpy(int, float const*, float*)");
  EXPECT_EQ(demangle("saxpy"), "saxpy");
  EXPECT_EQ(demangle("_Zx"), "_Zx");
  EXPECT_EQ(demangle(""), "");
  EXPECT_EQ(demangle("f"), "f");  // not "float"
  EXPECT_EQ(demangle_trusted("_Z5saxpyiPKfPf"), "saxpy(int, float const*, float*)");
  EXPECT_EQ(demangle_trusted("f"), "f");
  EXPECT_EQ(demangle_trusted("_Zx"), "_Zx");
}

TEST(ShortFunctionName, LeavesOutWhatIsNotTheName) {
  EXPECT_EQ(short_function_name("saxpy(int, float const*, float*)", 80), "saxpy");
  EXPECT_EQ(
      short_function_name("void ns::(anonymous namespace)::gemv<true>(void (*)(int), int)", 80),
      "ns::gemv<true>");
  EXPECT_EQ(short_function_name("saxpy", 80), "saxpy");
  EXPECT_EQ(short_function_name("", 80), "");
  EXPECT_EQ(short_function_name("(odd)", 80), "(odd)");
}

TEST(ShortFunctionName, ShortensWhatIsTooLong) {
  EXPECT_EQ(short_function_name("void a<b<int>, c>::d<e>(f<g>)", 10), "a<...>::d<...");
  EXPECT_EQ(short_function_name("void a<b<int>, c>::d<e>(f<g>)", 14), "a<...>::d<...>");
  EXPECT_EQ(short_function_name("Cijk_Ailk_Bljk_SB_MT128x64x16", 14), "Cijk_Ailk_Bljk...");
  EXPECT_EQ(short_function_name("a>b<c>d>e", 4), "a>b<...");  // brackets that do not fit
  EXPECT_EQ(short_function_name(std::string(1 << 20, '<'), 8), "<<<<<<<<...");
}

// f(A<int, int>, A<S0_, S0_>, ...): every part is twice the one before.
std::string doubling(size_t parts) {
  constexpr const char* kDigits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  std::string name = "_Z1f1AIiiE";
  for (size_t n = 0; n < parts; ++n) {
    const std::string before = std::string("S") + kDigits[n] + "_";
    name += "S_I" + before + before + "E";
  }
  return name;
}

TEST(Demangle, ManyReferencesAreNoHindrance) {
  if (kSanitized) GTEST_SKIP() << "sanitizers need more memory than the child process may have";
  const std::string text = demangle(doubling(8));
  EXPECT_TRUE(text.starts_with("f(A<int, int>, A<A<int, int>, A<int, int> >,")) << text;
  EXPECT_GT(text.size(), 4000U);
}

TEST(Demangle, PackExpansionsInEachOtherAreBounded) {
  std::string name = "_Z1fIJ";
  for (int n = 0; n < 60; ++n) name += 'i';
  name += "EEv";
  for (int n = 0; n < 8; ++n) name += "Dp1AIT_";
  name += "iEEEEEEEE";
  EXPECT_LE(demangle(name).size(), size_t{1} << 16);
}

TEST(Demangle, ANameThatUnfoldsWithoutEndStaysAsItIs) {
  const std::string bomb = doubling(34);
  ASSERT_LT(bomb.size(), 400U);
  for (int n = 0; n < 20; ++n) EXPECT_EQ(demangle(bomb), bomb);
}

}  // namespace
}  // namespace gfxgraph
