// C++17 over production.h: pools as objects; failures, and exceptions of the caller's own function,
// as exceptions. Header-only.
#pragma once

#include <gfxgraph/production.h>
#include <gfxgraph/safety.h>

#include <exception>
#include <functional>
#include <gfxgraph/gfxgraph.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace gfxgraph {

// Captured steps by size (gfxgraph/production.h).
class Pool {
 public:
  // Submits the work of one call. What it throws comes out of the run that called it.
  using Work = std::function<void(const gfxgraph_call_t&)>;

  // What the host does at a border of a step (gfxgraph_pool_border_t). What it throws comes out of
  // the run, too.
  using Border = std::function<void(const gfxgraph_border_t&, const gfxgraph_call_t&)>;

  // `options` without sizes, tensors, work and border.
  Pool(const std::vector<uint64_t>& sizes, const std::vector<gfxgraph_tensor_t>& tensors, Work work,
       gfxgraph_pool_options_t options = gfxgraph_pool_options_default(), Border border = {})
      : Pool(sizes, tensors, std::move(work), options, std::move(border), gfxgraph_pool_create) {}

  void warm(void* hip_stream) { check(gfxgraph_pool_warm(get(), hip_stream)); }
  // `memory`: one address for each tensor.
  gfxgraph_pool_result_t run(uint64_t size, void* const* memory, void* hip_stream,
                             bool timed = false) {
    gfxgraph_pool_run_t one = gfxgraph_pool_run_default();
    one.size = size;
    one.memory = memory;
    one.hip_stream = hip_stream;
    one.timed = timed ? 1 : 0;
    auto result = detail::sized<gfxgraph_pool_result_t>();
    check(gfxgraph_pool_run(get(), &one, &result));
    return result;
  }
  // What two captures of a bucket differ in (gfxgraph/safety.h). `vary` may be empty.
  using VaryCall = std::function<void(uint32_t which, const gfxgraph_call_t& call)>;
  std::vector<gfxgraph_baked_t> lint(uint32_t bucket, void* hip_stream, const VaryCall& vary) {
    gfxgraph_lint_t options = gfxgraph_lint_default();
    options.bucket = bucket;
    options.hip_stream = hip_stream;
    if (vary) options.vary = &call_vary;
    options.vary_context = const_cast<VaryCall*>(&vary);
    std::vector<gfxgraph_baked_t> found(64);  // of more, the first
    uint32_t count = 0;
    const gfxgraph_status_t status =
        gfxgraph_pool_lint(get(), &options, found.data(), static_cast<uint32_t>(found.size()),
                           sizeof(gfxgraph_baked_t), &count);
    if (status != GFXGRAPH_MISMATCH || count == 0) check(status);
    found.resize(count < found.size() ? count : found.size());
    return found;
  }
  void recapture(uint32_t bucket) { detail::check(gfxgraph_pool_recapture(get(), bucket)); }

  gfxgraph_bucket_info_t info(uint32_t bucket = GFXGRAPH_BUCKET_ALL) const {
    return detail::described<gfxgraph_bucket_info_t>(gfxgraph_pool_info, get(), bucket);
  }
  std::string reason(uint32_t bucket, uint32_t way = GFXGRAPH_WAY_GRAPH) const {
    return text([&](char* to, uint64_t capacity, uint64_t* size) {
      return gfxgraph_pool_reason(get(), bucket, way, to, capacity, size);
    });
  }
  std::string metrics() const {
    const gfxgraph_pool_t pool = get();
    return text([&](char* to, uint64_t capacity, uint64_t* size) {
      return gfxgraph_pool_metrics(&pool, 1, to, capacity, size);
    });
  }

  std::string fingerprint() const { return text_of(gfxgraph_pool_fingerprint); }
  std::string report() const { return text_of(gfxgraph_pool_report); }

  gfxgraph_pool_t get() const noexcept { return handle_.get(); }

 protected:
  template <typename Create>
  Pool(const std::vector<uint64_t>& sizes, const std::vector<gfxgraph_tensor_t>& tensors, Work work,
       gfxgraph_pool_options_t options, Border border, const Create& create)
      : work_(std::make_unique<Work>(std::move(work))),
        border_(std::make_unique<Border>(std::move(border))) {
    options.sizes = sizes.data();
    options.size_count = static_cast<uint32_t>(sizes.size());
    options.tensors = tensors.data();
    options.tensor_count = static_cast<uint32_t>(tensors.size());
    options.work = &call;
    options.work_context = work_.get();
    if (*border_) {
      options.border = &call_border;
      options.border_context = border_.get();
    }
    gfxgraph_pool_t handle = nullptr;
    detail::check(create(&options, &handle));
    handle_.reset(handle);
  }
  // A function of the caller's, whose exception check() throws.
  template <typename Function>
  static int32_t catching(const Function& function) noexcept {
    try {
      function();
      return 0;
    } catch (...) {
      if (!thrown()) thrown() = std::current_exception();  // of several in a warm-up the first
      return GFXGRAPH_INTERNAL;
    }
  }
  static void check(gfxgraph_status_t status) {
    if (const std::exception_ptr one = std::exchange(thrown(), nullptr))
      std::rethrow_exception(one);
    detail::check(status);
  }

 private:
  // Between the function and the run that called it, which are on one thread.
  static std::exception_ptr& thrown() noexcept {
    thread_local std::exception_ptr one;
    return one;
  }
  static int32_t call(void* context, const gfxgraph_call_t* call) noexcept {
    return catching([&] { (*static_cast<Work*>(context))(*call); });
  }
  static int32_t call_border(void* context, const gfxgraph_border_t* border,
                             const gfxgraph_call_t* call) noexcept {
    return catching([&] { (*static_cast<Border*>(context))(*border, *call); });
  }
  // The text may grow between two calls.
  template <typename Write>
  static std::string text(Write write) {
    std::string result(4095, '\0');
    for (;;) {
      uint64_t size = 0;
      const gfxgraph_status_t status = write(result.data(), result.size() + 1, &size);
      if (status == GFXGRAPH_OK || size <= result.size()) detail::check(status);
      const bool done = status == GFXGRAPH_OK;
      result.resize(done ? size : size + size / 8);
      if (done) return result;
    }
  }

  template <typename Function>
  std::string text_of(const Function& function) const {
    return text([&](char* to, uint64_t capacity, uint64_t* size) {
      return function(get(), to, capacity, size);
    });
  }

  static int32_t call_vary(void* context, uint32_t which, const gfxgraph_call_t* call) noexcept {
    return catching([&] { (*static_cast<const VaryCall*>(context))(which, *call); });
  }

  std::unique_ptr<Work> work_;  // both outlive the pool
  std::unique_ptr<Border> border_;
  std::unique_ptr<gfxgraph_pool_s, detail::Destroyer<gfxgraph_pool_t, gfxgraph_pool_destroy>>
      handle_;
};

}  // namespace gfxgraph
