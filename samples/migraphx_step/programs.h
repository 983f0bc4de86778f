// A model's programs behind a pool of captured steps, and the requests that the pool gets.
#pragma once

#include <algorithm>
#include <cmath>
#include <gfxgraph/production.hpp>
#include <map>

#include "compiled.h"

// A model's programs by their number of rows, for the device and for the CPU.
class Programs {
 public:
  Programs(Model model, std::vector<uint64_t> sizes) : sizes_(std::move(sizes)) {
    for (const uint64_t rows : sizes_) {
      device_.try_emplace(rows, model, rows, "gpu");
      host_.try_emplace(rows, model, rows, "ref");
    }
  }
  size_t count() const { return sizes_.size(); }
  uint64_t least() const { return sizes_.front(); }
  Compiled& of(uint64_t rows) { return device_.at(rows); }
  int calls() const { return calls_; }  // of pools to MIGraphX

  // One bucket for each program. The pool calls MIGraphX to capture a bucket, and where a bucket
  // has no step that runs.
  gfxgraph::Pool pool(gfxgraph_pool_options_t options = gfxgraph_pool_options_default()) {
    const auto work = [this](const gfxgraph_call_t& call) {
      ++calls_;
      of(call.size).run(call.memory[0], call.memory[1], static_cast<hipStream_t>(call.hip_stream));
    };
    return {sizes_,
            {{"x", kRow, GFXGRAPH_TENSOR_INPUT, GFXGRAPH_TYPE_F32},
             {"y", kRow, GFXGRAPH_TENSOR_OUTPUT, GFXGRAPH_TYPE_F32}},
            work,
            options};
  }

  // What MIGraphX itself computes of these rows, and zeros behind them, on the device.
  Numbers own(const Numbers& in, hipStream_t stream) {
    const Numbers padded = with_zeros(in);
    const Rows x(padded), y(padded.size() / kWidth);
    of(padded.size() / kWidth).run(x.data(), y.data(), stream);
    HIP(hipStreamSynchronize(stream));
    Numbers out = y.numbers();
    out.resize(in.size());
    return out;
  }
  void compare(const Numbers& in, const Numbers& got, hipStream_t stream, const char* what) {
    expect(same_bytes(got, own(in, stream)), what, "MIGraphX's own run has other bytes");
    const Numbers padded = with_zeros(in);
    const Numbers reference = host_.at(padded.size() / kWidth).compute(padded);
    for (size_t i = 0; i < got.size(); ++i)
      expect(std::abs(got[i] - reference[i]) < 1e-5f, what, "the reference has another number");
  }

 private:
  Numbers with_zeros(Numbers in) const {
    const auto fits = [&](uint64_t rows) { return rows * kWidth >= in.size(); };
    in.resize(*std::ranges::find_if(sizes_, fits) * kWidth);
    return in;
  }
  std::vector<uint64_t> sizes_;
  std::map<uint64_t, Compiled> device_, host_;
  int calls_ = 0;
};

// A run with memory of its own for input and output, as requests of a service have.
struct Request {
  Numbers in;
  Rows x, y;
  explicit Request(Numbers values) : in(std::move(values)), x(in), y(in.size() / kWidth) {}
  void run(gfxgraph::Pool& pool, hipStream_t stream, bool timed = false) const {
    void* const memory[] = {x.data(), y.data()};
    pool.run(in.size() / kWidth, memory, stream, timed);  // asynchronous, as a launch
  }
};
