// Ground truth of accesses to images: outside of their memory, unwritten texels, races; in memory
// with a resource that a kernel makes, and in arrays through surfaces.
#include <gmock/gmock.h>

#include "tests/check/truth/truth.h"

namespace gfxgraph::check {
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

// The same on a surface of an array.
constexpr uint32_t kColumns = 13;
void launch_on(TraceBuilder& t, const std::string& kernel, const TraceBuilder::Buffer& surface) {
  t.launch(kernel, kRows, 16, {t.buffer(4096), surface});
}
std::vector<uint32_t> texels() { return std::vector<uint32_t>(kColumns * kRows, 7); }

TEST(ImageTruth, MemcheckOfArrays) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  const auto freed = [](const std::string& kernel) {
    return Fault{FindingClass::kE5, kernel + " of a freed array", kernel,
                 [](TraceBuilder& t, const std::string& launched) {
                   const auto array = t.array(kColumns, kRows, texels());
                   const auto surface = t.surface(array);
                   if (!is_twin(launched)) t.free(array);
                   launch_on(t, launched, surface);
                 },
                 "images.bundle"};
  };
  check_all({freed("load_rows"), freed("store_rows")});
}

TEST(ImageTruth, InitcheckOfArrays) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  check_all({{FindingClass::kU1, "an array", "texel_as_index",
              [](TraceBuilder& t, const std::string& launched) {
                const auto array = t.array(kColumns, kRows, {});
                if (is_twin(launched)) {
                  format::Copy copy;
                  copy.destination = {array.id, 0, kColumns * 4, kColumns * 4 * kRows};
                  copy.width_bytes = kColumns * 4;
                  copy.height = kRows;
                  copy.host_source = t.content(texels());
                  t.add(copy);
                }
                launch_on(t, launched, t.surface(array));
              },
              "images.bundle"},
             {FindingClass::kU1, "an array, stored before", "texel_as_index",
              [](TraceBuilder& t, const std::string& launched) {
                const auto surface = t.surface(t.array(kColumns, kRows, {}));
                if (is_twin(launched)) launch_on(t, "store_rows", surface);
                launch_on(t, launched, surface);
              },
              "images.bundle"}},
            with(Tool::kInitcheck));
}

TEST(ImageTruth, RacecheckOfArrays) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  check_all({{FindingClass::kR4, "an array", "store_one_row",
              [](TraceBuilder& t, const std::string& launched) {
                launch_on(t, launched, t.surface(t.array(kColumns, kRows, texels())));
              },
              "images.bundle"}},
            with(Tool::kRacecheck));
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
}  // namespace gfxgraph::check
