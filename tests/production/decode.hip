// Decode pools: lengths and block tables at fixed addresses; and what a lint finds baked into
// captures. decode FORM
#include "pools.h"

#include <gfxgraph/decode.hpp>

#include <array>
#include <cstdio>
#include <random>
#include <thread>

namespace {

constexpr int kBlocks = 6;     // of a sequence
constexpr int kTokens = 8;     // of a block
constexpr int kBatch = 12;     // sequences of the largest bucket

// What a sequence has, in one number; rows of padding that have anything are counted.
__global__ void describe(const int* in, int* out, const int* lengths, const int* table, int batch,
                         int longest, int* bad) {
  const int sequence = static_cast<int>(blockIdx.x);
  const int column = static_cast<int>(threadIdx.x);
  const int length = lengths[sequence];
  int sum = in[sequence * kColumns + column] + length * 1000 + longest * 100000;
  for (int i = 0; i < kBlocks; ++i) sum += (i + 1) * table[sequence * kBlocks + i];
  if (sequence >= batch && (length != 0 || sum != longest * 100000)) atomicAdd(bad, 1);
  out[sequence * kColumns + column] = sum;
}

struct Batch {
  std::vector<int> lengths, table, in;
  Batch(int sequences, int seed, int longest = kBlocks * kTokens, int columns = kBlocks) {
    std::mt19937 random(static_cast<unsigned>(seed));
    for (int i = 0; i < sequences; ++i) {
      lengths.push_back(static_cast<int>(random() % static_cast<unsigned>(longest + 1)));
      for (int c = 0; c < columns; ++c) table.push_back(static_cast<int>(random() % 1000));
    }
    in = numbers(sequences, seed);
  }
  int count() const { return static_cast<int>(lengths.size()); }
  std::vector<int> expected(int max_length) const {
    const auto columns = static_cast<int>(table.size() / lengths.size());
    std::vector<int> result = in;
    for (size_t i = 0; i < result.size(); ++i) {
      const size_t sequence = i / kColumns;
      result[i] += lengths[sequence] * 1000 + max_length * 100000;
      for (int c = 0; c < columns; ++c) result[i] += (c + 1) * table[sequence * columns + c];
    }
    return result;
  }
};

struct Decoder {
  int* bad = nullptr;
  std::atomic<int> calls{0};
  std::atomic<int> batch{0};  // rows beyond it are padding; 0: not known
  Decoder() {
    OK(hipMalloc(&bad, sizeof(int)));
    OK(hipMemset(bad, 0, sizeof(int)));
  }
  ~Decoder() { OK(hipFree(bad)); }
  void submit(const gfxgraph_call_t& call) {
    ++calls;
    describe<<<static_cast<unsigned>(call.size), kColumns, 0,
               static_cast<hipStream_t>(call.hip_stream)>>>(
        static_cast<const int*>(call.memory[0]), static_cast<int*>(call.memory[1]), call.lengths,
        call.block_table, batch == 0 ? static_cast<int>(call.size) : batch.load(),
        static_cast<int>(call.max_length), bad);
    OK(hipGetLastError());
  }
  int padded_wrong() const {
    int result = 0;
    OK(hipMemcpy(&result, bad, sizeof result, hipMemcpyDeviceToHost));
    return result;
  }
};

gfxgraph_decode_options_t decoding(const std::vector<uint64_t>* lengths = nullptr) {
  gfxgraph_decode_options_t options = gfxgraph_decode_options_default();
  options.max_blocks = kBlocks;
  options.block_tokens = kTokens;
  if (lengths != nullptr) {
    options.max_lengths = lengths->data();
    options.max_length_count = static_cast<uint32_t>(lengths->size());
  }
  return options;
}

gfxgraph::DecodePool pool_of(Decoder& decoder,
                             const gfxgraph_decode_options_t& decode = decoding(),
                             gfxgraph_pool_options_t options = gfxgraph_pool_options_default()) {
  return gfxgraph::DecodePool(
      {3, kBatch}, kTensors, [&decoder](const gfxgraph_call_t& call) { decoder.submit(call); },
      decode, options);
}

gfxgraph_decode_run_t run_of(const Batch& batch, void* const* memory, hipStream_t stream) {
  gfxgraph_decode_run_t run = gfxgraph_decode_run_default();
  run.batch = batch.lengths.size();
  run.memory = memory;
  run.hip_stream = stream;
  run.lengths = batch.lengths.data();
  run.block_table = batch.table.data();
  run.block_columns = static_cast<uint32_t>(batch.table.size() / batch.lengths.size());
  return run;
}

void outputs_are(const Batch& batch, const Rows& out, int max_length, const std::string& what) {
  std::vector<int> got(batch.in.size());
  OK(hipMemcpy(got.data(), out.data, got.size() * sizeof(int), hipMemcpyDeviceToHost));
  compare(got, batch.expected(max_length), what);
}

gfxgraph_pool_result_t check_batch(gfxgraph::DecodePool& pool, const Batch& batch, const Rows& in,
                                   const Rows& out, hipStream_t stream, int max_length = 0) {
  OK(hipMemcpyAsync(in.data, batch.in.data(), batch.in.size() * sizeof(int), hipMemcpyDefault, stream));
  void* const memory[] = {in.data, out.data};
  const gfxgraph_pool_result_t result = pool.run(run_of(batch, memory, stream));
  wait(stream);
  outputs_are(batch, out, max_length, std::to_string(batch.count()) + " sequences");
  return result;
}

// Long after short and short after long: what an earlier run left is no length of padding.
void values() {
  Decoder decoder;
  const Rows in, out;
  const Stream stream;
  gfxgraph::DecodePool pool = pool_of(decoder);
  pool.warm(stream);
  for (int i = 0; i < 24; ++i) {
    const int sequences = i % 2 == 0 ? 1 + i % kBatch : kBatch - i % kBatch;
    const gfxgraph_pool_result_t result =
        check_batch(pool, Batch(sequences, i), in, out, stream);
    is(result.way, GFXGRAPH_WAY_GRAPH, "way");
    is(result.bucket_size, sequences <= 3 ? 3 : kBatch, "bucket");
  }
  is(static_cast<uint64_t>(decoder.calls), 2, "calls of the function");
  is(pool.info(0).device_bytes, 3 * (2 * kRow + 4 + 4 * kBlocks), "device bytes");
  const Batch narrow(5, 77, 2 * kTokens, 2);
  check_batch(pool, narrow, in, out, stream);
}

void padding() {
  Decoder decoder;
  decoder.batch = 7;
  const Rows in, out;
  const Stream stream;
  gfxgraph::DecodePool pool = pool_of(decoder);
  check_batch(pool, Batch(kBatch, 1), in, out, stream);
  OK(hipMemset(decoder.bad, 0, sizeof(int)));  // that run had no padding
  for (int i = 0; i < 3; ++i) check_batch(pool, Batch(7, 50 + i), in, out, stream);
  is(static_cast<uint64_t>(decoder.padded_wrong()), 0, "rows of padding with lengths or blocks");
}

void longest() {
  Decoder decoder;
  const Rows in, out;
  const Stream stream;
  const std::vector<uint64_t> lengths = {10, kBlocks * kTokens};
  gfxgraph::DecodePool pool = pool_of(decoder, decoding(&lengths));
  pool.warm(stream);
  is(static_cast<uint64_t>(decoder.calls), 4, "buckets");
  is(pool.info(3).max_length, kBlocks * kTokens, "the longest of the last bucket");
  is(pool.info(3).size, kBatch, "its size");
  for (int i = 0; i < 8; ++i) {
    Batch batch(1 + i, i, i % 2 == 0 ? 10 : kBlocks * kTokens);
    if (i % 2 == 1) batch.lengths[i / 2] = 11;
    const gfxgraph_pool_result_t result =
        check_batch(pool, batch, in, out, stream, i % 2 == 0 ? 10 : kBlocks * kTokens);
    is(result.bucket, (i < 3 ? 0u : 1u) + (i % 2 == 0 ? 0u : 2u), "bucket");
  }
  contains(pool.metrics(), "bucket=\"12\",max_length=\"10\"", "metrics");
}

void on_device() {
  Decoder decoder;
  const Rows in, out;
  const Stream stream;
  const std::vector<uint64_t> lengths = {kBlocks * kTokens};
  gfxgraph::DecodePool pool = pool_of(decoder, decoding(&lengths));
  int *device_lengths = nullptr, *device_table = nullptr;
  OK(hipMalloc(&device_lengths, kBatch * sizeof(int)));
  OK(hipMalloc(&device_table, kBatch * kBlocks * sizeof(int)));
  for (int i = 0; i < 4; ++i) {
    const Batch batch(2 + 3 * i, i);
    OK(hipMemcpyAsync(in.data, batch.in.data(), batch.in.size() * sizeof(int), hipMemcpyDefault, stream));
    OK(hipMemcpyAsync(device_lengths, batch.lengths.data(), batch.lengths.size() * sizeof(int),
                      hipMemcpyHostToDevice, stream));
    OK(hipMemcpyAsync(device_table, batch.table.data(), batch.table.size() * sizeof(int),
                      hipMemcpyHostToDevice, stream));
    void* const memory[] = {in.data, out.data};
    gfxgraph_decode_run_t run = run_of(batch, memory, stream);
    run.lengths = device_lengths;
    run.block_table = device_table;
    run.on_device = 1;
    refuses(GFXGRAPH_INVALID_ARGUMENT, "max_length is 0", [&] { pool.run(run); }, "no max_length");
    run.max_length = kBlocks * kTokens;
    pool.run(run);
    wait(stream);
    outputs_are(batch, out, kBlocks * kTokens, "lengths in device memory");
  }
  OK(hipFree(device_lengths));
  OK(hipFree(device_table));
}

// The host's arrays change as soon as a run returns, with more runs in flight than there are places.
void in_flight() {
  Decoder decoder;
  constexpr int kRuns = 21;
  const Stream stream;
  gfxgraph::DecodePool pool = pool_of(decoder);
  pool.warm(stream);
  std::vector<std::unique_ptr<Rows>> ins, outs;
  std::vector<Batch> batches;
  for (int i = 0; i < kRuns; ++i) {
    ins.push_back(std::make_unique<Rows>());
    outs.push_back(std::make_unique<Rows>());
    batches.emplace_back(4 + i % 8, i);
    OK(hipMemcpy(ins[i]->data, batches[i].in.data(), batches[i].in.size() * sizeof(int), hipMemcpyDefault));
  }
  for (int i = 0; i < kRuns; ++i) {
    Batch given = batches[i];
    void* const memory[] = {ins[i]->data, outs[i]->data};
    pool.run(run_of(given, memory, stream));
    std::fill(given.lengths.begin(), given.lengths.end(), -1);
    std::fill(given.table.begin(), given.table.end(), -1);
  }
  wait(stream);
  for (int i = 0; i < kRuns; ++i)
    outputs_are(batches[i], *outs[i], 0, "run " + std::to_string(i));
}

// Without room for a bucket the function gets the run's own rows, lengths and tables.
void without_room() {
  Decoder decoder;
  const Rows in, out;
  const Stream stream;
  gfxgraph_pool_options_t options = gfxgraph_pool_options_default();
  options.max_device_bytes = 100;
  options.beyond = GFXGRAPH_BEYOND_WORK;
  gfxgraph::DecodePool pool = pool_of(decoder, decoding(), options);
  for (int i = 0; i < 6; ++i) {
    const gfxgraph_pool_result_t result = check_batch(pool, Batch(5, i), in, out, stream);
    is(result.way, GFXGRAPH_WAY_WORK, "way");
    is(result.fall, GFXGRAPH_FALL_CAP, "reason");
  }
  refuses(GFXGRAPH_UNSUPPORTED, "on_device",
          [&] { check_batch(pool, Batch(kBatch + 1, 1), in, out, stream); },
          "values of the host beyond the largest bucket");
}

void misuse() {
  Decoder decoder;
  const Rows in, out;
  const Stream stream;
  const std::vector<uint64_t> lengths = {10, 20};
  gfxgraph::DecodePool pool = pool_of(decoder, decoding(&lengths));
  void* const memory[] = {in.data, out.data};
  const auto refused = [&](const Batch& batch, gfxgraph_status_t status, const char* word,
                           const std::function<void(gfxgraph_decode_run_t&)>& change = nullptr) {
    gfxgraph_decode_run_t run = run_of(batch, memory, stream);
    if (change) change(run);
    refuses(status, word, [&] { pool.run(run); }, word);
  };
  Batch batch(4, 1, 5);
  batch.lengths[2] = -3;
  refused(batch, GFXGRAPH_INVALID_ARGUMENT, "lengths[2] is -3");
  batch.lengths[2] = kBlocks * kTokens + 1;
  refused(batch, GFXGRAPH_INVALID_ARGUMENT, "lengths[2] is 49");
  batch.lengths[2] = 21;
  refused(batch, GFXGRAPH_NOT_FOUND, "sequences of 20");
  batch.lengths[2] = 9;
  refused(batch, GFXGRAPH_INVALID_ARGUMENT, "max_length 8", [](auto& run) { run.max_length = 8; });
  refused(batch, GFXGRAPH_INVALID_ARGUMENT, "lengths is null", [](auto& run) { run.lengths = nullptr; });
  refused(batch, GFXGRAPH_INVALID_ARGUMENT, "block_table is null",
          [](auto& run) { run.block_table = nullptr; });
  refused(batch, GFXGRAPH_INVALID_ARGUMENT, "block_columns is 7",
          [](auto& run) { run.block_columns = 7; });
  refused(batch, GFXGRAPH_INVALID_ARGUMENT, "0 sequences", [](auto& run) { run.batch = 0; });
  refused(batch, GFXGRAPH_INVALID_ARGUMENT, "in has no memory", [&](auto& run) {
    static void* const none[] = {nullptr, nullptr};
    run.memory = none;
  });
  refused(Batch(kBatch + 1, 1, 5), GFXGRAPH_NOT_FOUND, "largest bucket");
  refuses(GFXGRAPH_UNSUPPORTED, "gfxgraph_decode_run",
          [&] { pool.Pool::run(1, memory, stream); }, "a run without lengths");
  is(static_cast<uint64_t>(decoder.calls), 0, "nothing was called");
  check_batch(pool, Batch(4, 1, 5), in, out, stream, 10);
  gfxgraph_decode_options_t none = gfxgraph_decode_options_default();
  refuses(GFXGRAPH_INVALID_ARGUMENT, "max_blocks", [&] { pool_of(decoder, none); }, "no blocks");
  const std::vector<uint64_t> falling = {20, 10};
  refuses(GFXGRAPH_INVALID_ARGUMENT, "max_length 1", [&] { pool_of(decoder, decoding(&falling)); },
          "lengths that do not ascend");
  Model model;
  gfxgraph::Pool other = ::pool_of(model);
  gfxgraph_decode_run_t run = run_of(batch, memory, stream);
  is(static_cast<uint64_t>(gfxgraph_decode_run(other.get(), &run, nullptr)), GFXGRAPH_UNSUPPORTED,
     "a pool that is no decode pool");
}

// Eight threads, while another one reads.
void threads() {
  Decoder decoder;
  const Stream streams[8];
  gfxgraph::DecodePool pool = pool_of(decoder);
  std::atomic<bool> done{false};
  std::vector<std::thread> all;
  for (int thread = 0; thread < 8; ++thread) {
    all.emplace_back([&, thread] {
      try {
        const Rows in, out;
        for (int i = 0; i < 5; ++i)
          check_batch(pool, Batch(1 + (thread + 3 * i) % kBatch, thread * 10 + i), in, out,
                      streams[thread]);
      } catch (const std::exception& thrown) {
        expect(false, thrown.what());
      }
    });
  }
  std::thread reader([&] {
    while (!done) {
      const gfxgraph_bucket_info_t info = pool.info();
      expect(info.padded_rows <= info.padded_bytes, "a reader");
    }
  });
  for (std::thread& one : all) one.join();
  done = true;
  reader.join();
  uint64_t runs = 0;
  for (const uint64_t one : pool.info().runs) runs += one;
  is(runs, 40, "runs");
}

// ---- lint

// What a function may bake in.
struct Odd {
  int number = 0;    // an argument
  int place = 0;     // a pointer into the state, in numbers
  int rows = 1;      // a grid
  int fill = 0;      // a memset value
  int bytes = 0;     // from plain host memory
  int launches = 1;  // of the same kernel
};

__global__ void add_number(int* state, int number) {
  atomicAdd(state + threadIdx.x, number);
}

std::vector<gfxgraph_baked_t> lint_of(const Odd& first, const Odd& second) {
  const Rows in, out, state;
  const Stream stream;
  const std::vector<int> before = numbers(8, 5);
  OK(hipMemcpy(state.data, before.data(), 8 * kRow, hipMemcpyHostToDevice));
  Odd now = first;
  int calls = 0;
  gfxgraph_pool_options_t options = gfxgraph_pool_options_default();
  const gfxgraph_state_t kept = {"state", state.data, 8 * kRow, GFXGRAPH_TYPE_BYTES, 0};
  options.states = &kept;
  options.state_count = 1;
  std::array<int, 4> host{};
  gfxgraph::Pool pool({2}, kTensors,
                      [&](const gfxgraph_call_t& call) {
                        ++calls;
                        const auto own = static_cast<hipStream_t>(call.hip_stream);
                        auto* const rows = static_cast<int*>(call.memory[1]);
                        for (int i = 0; i < now.launches; ++i) {
                          add_number<<<static_cast<unsigned>(now.rows), kColumns, 0, own>>>(
                              state.data + now.place, now.number);
                        }
                        OK(hipMemsetAsync(rows, now.fill, kRow, own));
                        host.fill(now.bytes);
                        OK(hipMemcpyAsync(rows, host.data(), sizeof host, hipMemcpyHostToDevice, own));
                      },
                      options);
  const std::vector<gfxgraph_baked_t> found =
      pool.lint(0, stream, [&](uint32_t which, const gfxgraph_call_t& call) {
        is(call.size, 2, "the size that is varied");
        now = which == 0 ? first : second;
      });
  for (const gfxgraph_baked_t& one : found) std::printf("%s\n", one.text);
  is(static_cast<uint64_t>(calls), 2, "calls of the function");
  std::vector<int> got(before.size());
  OK(hipMemcpy(got.data(), state.data, 8 * kRow, hipMemcpyDeviceToHost));
  compare(got, before, "the state after a lint");
  is(pool.info(0).captures, 0, "a lint is no capture");
  is(pool.info(0).way, GFXGRAPH_WAY_CAPTURE, "the bucket is as it was");
  return found;
}

void is_baked(const Odd& second, uint32_t kind, int64_t before, int64_t after, const char* word) {
  const std::vector<gfxgraph_baked_t> found = lint_of({}, second);
  is(found.size(), 1, std::string("findings: ") + word);
  if (found.size() != 1) return;
  is(found[0].kind, kind, std::string("kind: ") + word);
  is(static_cast<uint64_t>(found[0].first), static_cast<uint64_t>(before), "the first value");
  is(static_cast<uint64_t>(found[0].second), static_cast<uint64_t>(after), "the second value");
  contains(found[0].text, word, "the text");
}

void lint() {
  is(lint_of({}, {}).size(), 0, "findings of equal captures");
  Odd odd;
  odd.number = 41;
  is_baked(odd, GFXGRAPH_BAKED_NUMBER, 0, 41, "add_number argument");
  odd = {};
  odd.place = 3;
  is_baked(odd, GFXGRAPH_BAKED_ADDRESS, 0, 12, "state + 12 bytes in the second");
  odd = {};
  odd.rows = 2;
  is_baked(odd, GFXGRAPH_BAKED_GRID, 1, 2, "add_number grid x");
  odd = {};
  odd.fill = 7;
  is_baked(odd, GFXGRAPH_BAKED_FILL, 0, 7, "memset value");
  odd = {};
  odd.bytes = 9;
  is_baked(odd, GFXGRAPH_BAKED_BYTES, 0, 0, "16 bytes of host memory");
  odd = {};
  odd.launches = 3;
  is_baked(odd, GFXGRAPH_BAKED_SEQUENCE, 3, 5, "sequence of the work");
}

// Of a decode pool, with lengths that differ in memory alone; then a bucket that runs goes on.
void lint_decode() {
  Decoder decoder;
  const Rows in, out;
  const Stream stream;
  gfxgraph::DecodePool pool = pool_of(decoder);
  check_batch(pool, Batch(2, 1), in, out, stream);
  const auto found = pool.lint(0, stream, [&](uint32_t which, const gfxgraph_call_t& call) {
    OK(hipMemsetAsync(call.lengths, static_cast<int>(which), call.size * sizeof(int),
                      static_cast<hipStream_t>(call.hip_stream)));
  });
  is(found.size(), 0, "nothing is baked");
  is(check_batch(pool, Batch(3, 2), in, out, stream).way, GFXGRAPH_WAY_GRAPH, "the next run");
  try {
    (void)pool.lint(0, stream, [](uint32_t which, const gfxgraph_call_t&) {
      if (which == 1) throw std::runtime_error("no second case");
    });
    expect(false, "no exception");
  } catch (const std::runtime_error& thrown) {
    contains(thrown.what(), "no second case", "the exception");
  }
  is(check_batch(pool, Batch(1, 3), in, out, stream).way, GFXGRAPH_WAY_GRAPH, "the run after that");
  refuses(GFXGRAPH_NOT_FOUND, "bucket 2", [&] { pool.lint(2, stream, nullptr); }, "no such bucket");
}

}  // namespace

int main(int argc, char** argv) {
  return run_form(argc, argv,
                  {{"values", values},
                   {"padding", padding},
                   {"longest", longest},
                   {"on_device", on_device},
                   {"in_flight", in_flight},
                   {"without_room", without_room},
                   {"misuse", misuse},
                   {"threads", threads},
                   {"lint", lint},
                   {"lint_decode", lint_decode}});
}
