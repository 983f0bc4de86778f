// embed_decode in C++: here the weights are memory of this program, as a product has them that
// loads its model itself, and the caches come from the trace.
//
//   embed_decode_cpp TRACE.gfxg TOKENS [eager|batch|graph|packets|auto]
#include <hip/hip_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <gfxgraph/gfxgraph.hpp>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

void check(hipError_t error) {
  if (error != hipSuccess) throw std::runtime_error(hipGetErrorString(error));
}

struct Free {
  void operator()(void* pointer) const { (void)hipFree(pointer); }
};
using DeviceMemory = std::unique_ptr<void, Free>;

DeviceMemory allocate(uint64_t size_bytes) {
  void* pointer = nullptr;
  check(hipMalloc(&pointer, size_bytes));
  return DeviceMemory(pointer);
}

bool is_weight(const std::string& name) {
  for (const char* what : {"query", "key", "value", "output", "gate", "up", "down", "norm"}) {
    const std::string ending = std::string(" ") + what;
    if (name.size() > ending.size() && name.ends_with(ending)) return true;
  }
  return name == "embedding" || name == "head";
}

gfxgraph_mode_t parse_mode(const std::string& text) {
  if (text == "eager") return GFXGRAPH_MODE_EAGER;
  if (text == "batch") return GFXGRAPH_MODE_BATCH;
  if (text == "packets") return GFXGRAPH_MODE_PACKETS;
  return text == "graph" ? GFXGRAPH_MODE_GRAPH : GFXGRAPH_MODE_AUTO;
}

void decode(const char* path, uint64_t tokens, gfxgraph_mode_t mode) {
  const gfxgraph::Trace trace(path);
  gfxgraph_range_t last = trace.find_range("decode");
  for (uint32_t i = 0; i < trace.environment().range_count; ++i) {
    if (trace.range(i).name == std::string("decode") && trace.range(i).ended != 0) last = i;
  }

  // Declared before the session: what is bound must outlive it.
  std::vector<DeviceMemory> weights;
  gfxgraph::Session session(trace);
  for (uint32_t id = 1; id <= trace.environment().buffer_count; ++id) {
    const gfxgraph_buffer_t buffer = trace.buffer(id);
    if (!is_weight(buffer.name)) continue;
    weights.push_back(allocate(buffer.extent_bytes));
    // A product would have its own weights there, and leave GFXGRAPH_BIND_FILL out.
    session.bind(id, weights.back().get(), buffer.extent_bytes, GFXGRAPH_BIND_FILL);
  }

  gfxgraph::Step step(session, last, mode);
  const uint64_t recorded = trace.range(last).ordinal;
  for (uint64_t n = 0; recorded + n < tokens; ++n) {
    step.advance(n);
    step.run(step.stream());
  }
  step.wait();

  std::vector<int> decided(tokens);
  session.read(trace.find_buffer("history", last), 0, decided.data(), tokens * sizeof(int));
  std::printf("tokens:");
  for (const int token : decided) std::printf(" %d", token);
  std::printf("\n%zu buffers are ours\n", weights.size());
}

}  // namespace

int main(int argc, char** argv) {
  const long tokens = argc > 2 ? std::atol(argv[2]) : 0;
  if (tokens < 1 || tokens > 64) {
    std::fprintf(stderr, "usage: embed_decode_cpp TRACE TOKENS [eager|batch|graph|packets|auto]\n");
    return 2;
  }
  try {
    decode(argv[1], static_cast<uint64_t>(tokens), parse_mode(argc > 3 ? argv[3] : "auto"));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "embed_decode_cpp: %s\n", error.what());
    return 1;
  }
}
