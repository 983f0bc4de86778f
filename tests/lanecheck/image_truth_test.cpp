// Ground truth of accesses to images: outside of their memory, unwritten texels, races.
#include <gmock/gmock.h>

#include "tests/lanecheck/truth.h"

namespace gfxgraph::lanecheck {
namespace {

constexpr uint64_t kRowBytes = 256;
constexpr int kRows = 8;

ToolSet with(Tool tool) {
  ToolSet tools = kDefaultTools;
  tools[static_cast<size_t>(tool)] = true;
  return tools;
}

// A launch of kRows workgroups on an image whose texels lie in `texels`.
void launch(TraceBuilder& t, const std::string& kernel, const TraceBuilder::Buffer& texels) {
  const auto words = t.buffer(64);
  const auto to = t.buffer(4096);
  t.launch("describe", 1, 1, {words, texels, kRows});
  t.launch(kernel, kRows, 16, {to, words});
}
bool is_twin(const std::string& kernel) { return kernel.ends_with("_safe"); }

// The memory of the faulty one ends after four rows.
Fault too_small(const std::string& kernel) {
  return {FindingClass::kE2, kernel, kernel,
          [](TraceBuilder& t, const std::string& launched) {
            launch(t, launched, t.buffer(is_twin(launched) ? kRows * kRowBytes : 4 * kRowBytes));
          },
          "images.bundle"};
}

TEST(ImageTruth, Memcheck) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  check_all({too_small("load_rows"), too_small("store_rows")});
}

TEST(ImageTruth, Initcheck) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  check_all({{FindingClass::kU1, "texel_as_index", "texel_as_index",
              [](TraceBuilder& t, const std::string& launched) {
                launch(t, launched,
                       is_twin(launched) ? t.buffer(kRows * kRowBytes)
                                         : t.unwritten_buffer(kRows * kRowBytes));
              },
              "images.bundle"},
             // An image that a kernel has written.
             {FindingClass::kU1, "texel_as_index, stored before", "texel_as_index",
              [](TraceBuilder& t, const std::string& launched) {
                const auto texels = t.unwritten_buffer(kRows * kRowBytes);
                if (is_twin(launched)) launch(t, "store_rows", texels);
                launch(t, launched, texels);
              },
              "images.bundle"}},
            with(Tool::kInitcheck));
}

TEST(ImageTruth, Racecheck) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  check_all({{FindingClass::kR4, "store_one_row", "store_one_row",
              [](TraceBuilder& t, const std::string& launched) {
                launch(t, launched, t.buffer(kRows * kRowBytes));
              },
              "images.bundle"}},
            with(Tool::kRacecheck));
}

}  // namespace
}  // namespace gfxgraph::lanecheck
