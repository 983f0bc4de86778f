// C++17 over decode.h. Header-only.
#pragma once

#include <gfxgraph/decode.h>

#include <gfxgraph/production.hpp>

namespace gfxgraph {

// A pool of decode steps; what Pool has, but for its runs.
class DecodePool : public Pool {
 public:
  DecodePool(const std::vector<uint64_t>& batches, const std::vector<gfxgraph_tensor_t>& tensors,
             Work work, const gfxgraph_decode_options_t& decode,
             gfxgraph_pool_options_t options = gfxgraph_pool_options_default(), Border border = {})
      : Pool(batches, tensors, std::move(work), options, std::move(border),
             [&](const gfxgraph_pool_options_t* chosen, gfxgraph_pool_t* pool) {
               return gfxgraph_decode_pool_create(chosen, &decode, pool);
             }) {}

  gfxgraph_pool_result_t run(const gfxgraph_decode_run_t& run) {
    auto result = detail::sized<gfxgraph_pool_result_t>();
    check(gfxgraph_decode_run(get(), &run, &result));
    return result;
  }
};

}  // namespace gfxgraph
