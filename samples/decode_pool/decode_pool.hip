// A decode step of an inference engine as a captured step: a batch of sequences, each with a length
// and a table of blocks in a cache. Captured with the length as an argument, the step is right
// once: gfxgraph_pool_lint names the argument. A decode pool keeps lengths and block tables at
// fixed addresses, and its step is right for whatever comes.
//   gfxgraph run --capture-api -- decode_pool
#include <hip/hip_runtime.h>

#include <algorithm>
#include <cstdio>
#include <gfxgraph/decode.hpp>
#include <stdexcept>
#include <vector>

constexpr int kWidth = 64;       // numbers of a token
constexpr int kBlockTokens = 4;  // tokens of a block
constexpr int kMaxBlocks = 8;    // of a sequence
constexpr int kBlocks = 64;      // of the cache
constexpr int kMostSequences = 8;
constexpr int kSteps = 20;

static void check(hipError_t error, const char* what) {
  if (error != hipSuccess)
    throw std::runtime_error(std::string(what) + ": " + hipGetErrorString(error));
}

// Puts the token of a sequence, the last of `length`, into the cache, and adds up what the sequence
// has there, weighted by its place: every token counts, and each at its place.
__device__ void decode_one(const int* token, int* out, int* cache, const int* blocks, int length) {
  const int column = static_cast<int>(threadIdx.x);
  if (length == 0) {  // padding
    out[column] = 0;
    return;
  }
  const auto place = [&](int t) {
    return (blocks[t / kBlockTokens] * kBlockTokens + t % kBlockTokens) * kWidth + column;
  };
  cache[place(length - 1)] = token[0] + column;
  int sum = 0;
  for (int t = 0; t < length; ++t) sum += (t + 1) * cache[place(t)];
  out[column] = sum;
}

__global__ void decode(const int* tokens, int* out, int* cache, const int* block_table,
                       const int* lengths) {
  const int sequence = static_cast<int>(blockIdx.x);
  decode_one(tokens + sequence, out + sequence * kWidth, cache, block_table + sequence * kMaxBlocks,
             lengths[sequence]);
}

// The same for sequences of one length, which the host passes.
__global__ void decode_by_value(const int* tokens, int* out, int* cache, const int* block_table,
                                int length) {
  const int sequence = static_cast<int>(blockIdx.x);
  decode_one(tokens + sequence, out + sequence * kWidth, cache, block_table + sequence * kMaxBlocks,
             length);
}

// What the host knows of a sequence, and what its cache should hold.
struct Sequence {
  std::vector<int> blocks;
  std::vector<int> tokens;
};

struct Engine {
  int *tokens = nullptr, *out = nullptr, *cache = nullptr;
  hipStream_t stream = nullptr;
  std::vector<Sequence> sequences;
  int next_block = 1;  // block 0 is that of padding
  int length_now = 1;  // what decode_by_value is launched with

  Engine() {
    check(hipMalloc(&tokens, kMostSequences * sizeof(int)), "hipMalloc");
    check(hipMalloc(&out, kMostSequences * kWidth * sizeof(int)), "hipMalloc");
    check(hipMalloc(&cache, kBlocks * kBlockTokens * kWidth * sizeof(int)), "hipMalloc");
    check(hipMemset(cache, 0, kBlocks * kBlockTokens * kWidth * sizeof(int)), "hipMemset");
    check(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking), "hipStreamCreateWithFlags");
  }
  ~Engine() {
    (void)hipStreamDestroy(stream);
    (void)hipFree(tokens);
    (void)hipFree(out);
    (void)hipFree(cache);
  }

  // Each sequence gets its next token, and a block where its last one is full.
  void next_tokens(int step) {
    for (Sequence& one : sequences) {
      if (one.tokens.size() % kBlockTokens == 0) one.blocks.push_back(next_block++);
      one.tokens.push_back(static_cast<int>(one.blocks[0] * 31 + step * 7 + 1));
    }
  }

  // One step of all sequences; how many of its numbers are wrong.
  int step(gfxgraph::DecodePool& pool) {
    const auto batch = static_cast<int>(sequences.size());
    std::vector<int> last, lengths, table(static_cast<size_t>(batch) * kMaxBlocks);
    for (int i = 0; i < batch; ++i) {
      last.push_back(sequences[i].tokens.back());
      lengths.push_back(static_cast<int>(sequences[i].tokens.size()));
      std::copy(sequences[i].blocks.begin(), sequences[i].blocks.end(),
                table.begin() + i * kMaxBlocks);
    }
    length_now = lengths[0];
    check(hipMemcpyAsync(tokens, last.data(), last.size() * sizeof(int), hipMemcpyHostToDevice,
                         stream),
          "copy of tokens");

    void* const memory[] = {tokens, out};
    gfxgraph_decode_run_t run = gfxgraph_decode_run_default();
    run.batch = static_cast<uint64_t>(batch);
    run.memory = memory;
    run.hip_stream = stream;
    run.lengths = lengths.data();  // host memory, free when the call returns
    run.block_table = table.data();
    pool.run(run);  // asynchronous, as a launch

    std::vector<int> got(static_cast<size_t>(batch) * kWidth);
    check(hipMemcpyAsync(got.data(), out, got.size() * sizeof(int), hipMemcpyDeviceToHost, stream),
          "copy of results");
    check(hipStreamSynchronize(stream), "hipStreamSynchronize");
    int wrong = 0;
    for (int i = 0; i < batch; ++i) {
      for (int column = 0; column < kWidth; ++column) {
        int sum = 0;
        for (size_t t = 0; t < sequences[i].tokens.size(); ++t)
          sum += static_cast<int>(t + 1) * (sequences[i].tokens[t] + column);
        wrong += got[i * kWidth + column] != sum ? 1 : 0;
      }
    }
    return wrong;
  }
};

static const std::vector<gfxgraph_tensor_t> kTensors = {
    {"token", sizeof(int), GFXGRAPH_TENSOR_INPUT, 0},
    {"out", kWidth * sizeof(int), GFXGRAPH_TENSOR_OUTPUT, 0}};

static gfxgraph::DecodePool make_pool(Engine& engine, gfxgraph::Pool::Work work) {
  gfxgraph_decode_options_t decode = gfxgraph_decode_options_default();
  decode.max_blocks = kMaxBlocks;
  decode.block_tokens = kBlockTokens;
  const gfxgraph_state_t cache = {
      "cache", engine.cache, kBlocks * kBlockTokens * kWidth * sizeof(int), GFXGRAPH_TYPE_BYTES, 0};
  gfxgraph_pool_options_t options = gfxgraph_pool_options_default();
  options.states = &cache;  // a lint and a warm-up leave it as it was
  options.state_count = 1;
  return gfxgraph::DecodePool({2, 4, kMostSequences}, kTensors, std::move(work), decode, options);
}

// The host's values are other ones before each of the two captures.
static size_t lint(Engine& engine, gfxgraph::DecodePool& pool) {
  const auto vary = [&](uint32_t which, const gfxgraph_call_t&) {
    engine.length_now = which == 0 ? 3 : 9;
  };
  const std::vector<gfxgraph_baked_t> baked = pool.lint(0, engine.stream, vary);
  for (const gfxgraph_baked_t& one : baked) std::printf("  %s\n", one.text);
  return baked.size();
}

// Two sequences of one length, token by token.
static int run_by_value(size_t& baked) {
  Engine engine;
  gfxgraph::DecodePool pool = make_pool(engine, [&](const gfxgraph_call_t& call) {
    decode_by_value<<<static_cast<unsigned>(call.size), kWidth, 0,
                      static_cast<hipStream_t>(call.hip_stream)>>>(
        static_cast<const int*>(call.memory[0]), static_cast<int*>(call.memory[1]), engine.cache,
        call.block_table, engine.length_now);
    check(hipGetLastError(), "decode_by_value");
  });
  std::printf("the length by value:\n");
  baked = lint(engine, pool);
  engine.sequences.resize(2);
  int wrong = 0;
  for (int i = 0; i < 4; ++i) {
    engine.next_tokens(i);
    wrong += engine.step(pool);
  }
  return wrong;
}

// Sequences that join and leave, of all lengths.
static int run_decode_pool(size_t& baked) {
  Engine engine;
  gfxgraph::DecodePool pool = make_pool(engine, [&](const gfxgraph_call_t& call) {
    decode<<<static_cast<unsigned>(call.size), kWidth, 0,
             static_cast<hipStream_t>(call.hip_stream)>>>(
        static_cast<const int*>(call.memory[0]), static_cast<int*>(call.memory[1]), engine.cache,
        call.block_table, call.lengths);
    check(hipGetLastError(), "decode");
  });
  std::printf("lengths at fixed addresses:\n");
  baked = lint(engine, pool);
  pool.warm(engine.stream);
  int wrong = 0;
  for (int i = 0; i < kSteps; ++i) {
    if (i % 3 == 0 && engine.sequences.size() < kMostSequences) engine.sequences.emplace_back();
    if (i == 11) engine.sequences.erase(engine.sequences.begin());
    engine.next_tokens(i);
    wrong += engine.step(pool);
  }
  const gfxgraph_bucket_info_t info = pool.info();
  std::printf("  %llu runs as a graph, %llu sequences, %llu of padding\n",
              static_cast<unsigned long long>(info.runs[GFXGRAPH_WAY_GRAPH]),
              static_cast<unsigned long long>(info.rows),
              static_cast<unsigned long long>(info.padded_rows));
  return wrong + (info.runs[GFXGRAPH_WAY_GRAPH] == kSteps ? 0 : 1);
}

int main() {
  try {
    size_t baked_by_value = 0, baked = 0;
    const int wrong_by_value = run_by_value(baked_by_value);
    const int wrong = run_decode_pool(baked);
    const bool passed = baked_by_value == 1 && wrong_by_value > 0 && baked == 0 && wrong == 0;
    std::printf("by value: %zu baked, %d wrong values; decode pool: %zu baked, %d wrong values\n",
                baked_by_value, wrong_by_value, baked, wrong);
    std::printf("decode_pool: %s\n", passed ? "PASS" : "FAIL");
    return passed ? 0 : 1;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "decode_pool: %s\n", failure.what());
    return 1;
  }
}
