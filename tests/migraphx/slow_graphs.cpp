// A fault that is injected into a program: each graph that libgfxgraph launches takes longer. The
// program is linked statically with the fake (tests/production/slow_graphs.cpp).
#include <cstdlib>

extern "C" int slow_graph_launches(int milliseconds);

namespace {

[[gnu::constructor]] void make_graphs_slow() {
  if (slow_graph_launches(200) == 0) std::abort();
}

}  // namespace
