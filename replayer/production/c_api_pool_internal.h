// What the files of the C ABI of pools share.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "replayer/capi/c_api_internal.h"
#include "replayer/production/pool.h"

struct gfxgraph_pool_s {
  gfxgraph::replayer::Pool pool;
  uint32_t made_in = gfxgraph::replayer::process_number();
  gfxgraph_pool_s(std::unique_ptr<const gfxgraph::replayer::PoolSettings> settings,
                  std::shared_ptr<const gfxgraph::replayer::HipLibrary> library,
                  const gfxgraph::replayer::HipDevice& device)
      : pool(std::move(settings), std::move(library), device) {}
};

namespace gfxgraph::replayer {

// A callable of a function of the C ABI, which lives as long as the call: one guard is compiled for
// all.
class PoolBody {
 public:
  template <typename Callable>
  PoolBody(const Callable& callable)  // NOLINT: the callers' lambdas become it
      : callable_(&callable), call_([](const void* one, Pool& pool) {
          return Result<void>((*static_cast<const Callable*>(one))(pool));
        }) {}
  Result<void> operator()(Pool& pool) const { return call_(callable_, pool); }

 private:
  const void* callable_;
  Result<void> (*call_)(const void*, Pool&);
};

enum class On : uint8_t { kHost, kDevice };  // the pool's

gfxgraph_status_t on_pool(gfxgraph_pool_t pool, On place, const PoolBody& body) noexcept;

// `decode`: null: no decode pool.
gfxgraph_status_t create_pool(const gfxgraph_pool_options_t* options,
                              const gfxgraph_decode_options_t* decode,
                              gfxgraph_pool_t* pool) noexcept;
// The stream's order must be that of what the pool submits to it.
Result<void> check_stream(const HipLibrary& library, void* stream);
Result<void> check_memory(const PoolSettings& settings, void* const* memory);
// Runs it; the status of a function is worth more than a wrong structure.
Result<void> run_pool(Pool& pool, const Run& run, gfxgraph_pool_result_t* result);
Result<void> give_text(const std::string& text, char* to, uint64_t capacity, uint64_t* size);

}  // namespace gfxgraph::replayer
