// C++17 over flow.h: branches, loops, compositions and pipelines as objects; failures, and
// exceptions of the caller's own functions, as exceptions. Header-only.
#pragma once

#include <gfxgraph/flow.h>

#include <deque>
#include <exception>
#include <functional>
#include <gfxgraph/gfxgraph.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace gfxgraph {

namespace detail {

// A function of the caller's, as the C functions call it. What it throws comes out of the run that
// called it, on the same thread.
class Function {
 public:
  using Call = std::function<void(const gfxgraph_call_t&)>;
  explicit Function(Call call) : call_(std::move(call)) {}

  static int32_t call(void* context, const gfxgraph_call_t* call) noexcept {
    try {
      static_cast<Function*>(context)->call_(*call);
      return 0;
    } catch (...) {
      if (!thrown()) thrown() = std::current_exception();  // of several in a warm-up the first
      return GFXGRAPH_INTERNAL;
    }
  }
  static gfxgraph_status_t passed(gfxgraph_status_t status) {
    if (const std::exception_ptr one = std::exchange(thrown(), nullptr))
      std::rethrow_exception(one);
    return status;
  }

 private:
  static std::exception_ptr& thrown() noexcept {
    thread_local std::exception_ptr one;
    return one;
  }
  Call call_;
};

// The text may grow between two calls.
template <typename Write>
std::string text(Write write) {
  std::string result(4095, '\0');
  for (;;) {
    uint64_t size = 0;
    const gfxgraph_status_t status = write(result.data(), result.size() + 1, &size);
    if (status == GFXGRAPH_OK || size <= result.size()) check(status);
    const bool done = status == GFXGRAPH_OK;
    result.resize(done ? size : size + size / 8);
    if (done) return result;
  }
}

template <typename Handle, void (*Destroy)(Handle) GFXGRAPH_NOEXCEPT>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Destroyer<Handle, Destroy>>;

}  // namespace detail

// A piece of work: a function, a step, or both, which do the same (gfxgraph_piece_t).
struct Piece {
  using Work = std::function<void(const gfxgraph_call_t&)>;

  Piece(Work function) : work(std::move(function)) {}  // NOLINT: a function is a piece
  template <typename Callable,
            typename = std::enable_if_t<std::is_invocable_v<Callable&, const gfxgraph_call_t&>>>
  Piece(Callable function) : work(std::move(function)) {}  // NOLINT
  // The step outlives what it is given to.
  Piece(const Step& captured, bool advances_it = false, Work function = nullptr)  // NOLINT
      : work(std::move(function)), step(captured.get()), advances(advances_it) {}

  Work work;
  gfxgraph_step_t step = nullptr;
  bool advances = false;
  uint32_t first_way = GFXGRAPH_WAY_GRAPH;
};

namespace detail {

// Pieces as C has them.
class Pieces {
 public:
  gfxgraph_piece_t add(const Piece& piece) {
    gfxgraph_piece_t one{};
    if (piece.work) {
      functions_.emplace_back(piece.work);
      one.work = &Function::call;
      one.work_context = &functions_.back();
    }
    one.step = piece.step;
    one.advances = piece.advances ? 1 : 0;
    one.first_way = piece.first_way;
    return one;
  }

 private:
  std::deque<Function> functions_;  // which stay where they are
};

}  // namespace detail

struct Branch {
  std::string name;
  int64_t value;
  Piece piece;
};

// One of several pieces of work per run.
class Branches {
 public:
  // `options` without branches; with `flag`: chosen by the device.
  Branches(const std::vector<Branch>& branches,
           gfxgraph_branches_options_t options = gfxgraph_branches_options_default()) {
    std::vector<gfxgraph_branch_t> all;
    for (const Branch& one : branches)
      all.push_back({one.name.c_str(), one.value, pieces_->add(one.piece)});
    options.branches = all.data();
    options.branch_count = static_cast<uint32_t>(all.size());
    gfxgraph_branches_t handle = nullptr;
    detail::check(gfxgraph_branches_create(&options, &handle));
    handle_.reset(handle);
  }

  gfxgraph_branches_result_t run(int64_t value, void* hip_stream) {
    auto result = detail::sized<gfxgraph_branches_result_t>();
    detail::check(
        detail::Function::passed(gfxgraph_branches_run(get(), value, hip_stream, &result)));
    return result;
  }
  // By the flag.
  gfxgraph_branches_result_t run(void* hip_stream) { return run(0, hip_stream); }
  void warm(void* hip_stream) {
    detail::check(detail::Function::passed(gfxgraph_branches_warm(get(), hip_stream)));
  }
  void recapture(uint32_t branch) { detail::check(gfxgraph_branches_recapture(get(), branch)); }
  gfxgraph_branches_info_t info(uint32_t branch) const {
    return detail::described<gfxgraph_branches_info_t>(gfxgraph_branches_info, get(), branch);
  }
  std::string reason(uint32_t branch, uint32_t way = GFXGRAPH_WAY_GRAPH) const {
    return detail::text([&](char* to, uint64_t capacity, uint64_t* size) {
      return gfxgraph_branches_reason(get(), branch, way, to, capacity, size);
    });
  }
  gfxgraph_branches_t get() const noexcept { return handle_.get(); }

 private:
  std::unique_ptr<detail::Pieces> pieces_ = std::make_unique<detail::Pieces>();  // outlive them
  detail::Owned<gfxgraph_branches_t, gfxgraph_branches_destroy> handle_;
};

// One piece of work again and again.
class Loop {
 public:
  // `options` without body; with `flag`: as long as that is not zero.
  explicit Loop(const Piece& body,
                gfxgraph_loop_options_t options = gfxgraph_loop_options_default()) {
    options.body = pieces_->add(body);
    gfxgraph_loop_t handle = nullptr;
    detail::check(gfxgraph_loop_create(&options, &handle));
    handle_.reset(handle);
  }

  // Where max_iterations ended it, that is a result, and no exception.
  gfxgraph_loop_result_t run(uint64_t count, void* hip_stream) {
    auto result = detail::sized<gfxgraph_loop_result_t>();
    const gfxgraph_status_t status =
        detail::Function::passed(gfxgraph_loop_run(get(), count, hip_stream, &result));
    if (status != GFXGRAPH_NOT_READY || result.end != GFXGRAPH_LOOP_LIMIT) detail::check(status);
    return result;
  }
  // By the flag.
  gfxgraph_loop_result_t run(void* hip_stream) { return run(0, hip_stream); }
  void recapture() { detail::check(gfxgraph_loop_recapture(get())); }
  gfxgraph_loop_info_t info() const {
    return detail::described<gfxgraph_loop_info_t>(gfxgraph_loop_info, get());
  }
  std::string reason(uint32_t way = GFXGRAPH_WAY_GRAPH) const {
    return detail::text([&](char* to, uint64_t capacity, uint64_t* size) {
      return gfxgraph_loop_reason(get(), way, to, capacity, size);
    });
  }
  gfxgraph_loop_t get() const noexcept { return handle_.get(); }

 private:
  std::unique_ptr<detail::Pieces> pieces_ = std::make_unique<detail::Pieces>();  // outlives it
  detail::Owned<gfxgraph_loop_t, gfxgraph_loop_destroy> handle_;
};

// Steps as one graph.
class Composition {
 public:
  explicit Composition(
      const std::vector<gfxgraph_part_t>& parts,
      gfxgraph_composition_options_t options = gfxgraph_composition_options_default()) {
    options.parts = parts.data();
    options.part_count = static_cast<uint32_t>(parts.size());
    gfxgraph_composition_t handle = nullptr;
    detail::check(gfxgraph_composition_create(&options, &handle));
    handle_.reset(handle);
  }
  // One after the other, or beside each other.
  static Composition sequence(const std::vector<const Step*>& steps) {
    return Composition(parts_of(steps, 1));
  }
  static Composition parallel(const std::vector<const Step*>& steps) {
    return Composition(parts_of(steps, 0));
  }

  // Whether it ran as one graph.
  bool run(void* hip_stream) {
    uint32_t one_graph = 0;
    detail::check(gfxgraph_composition_run(get(), hip_stream, &one_graph));
    return one_graph != 0;
  }
  gfxgraph_composition_info_t info() const {
    return detail::described<gfxgraph_composition_info_t>(gfxgraph_composition_info, get());
  }
  std::string reason() const {
    return detail::text([&](char* to, uint64_t capacity, uint64_t* size) {
      return gfxgraph_composition_reason(get(), to, capacity, size);
    });
  }
  gfxgraph_composition_t get() const noexcept { return handle_.get(); }

 private:
  static std::vector<gfxgraph_part_t> parts_of(const std::vector<const Step*>& steps,
                                               uint32_t stages) {
    std::vector<gfxgraph_part_t> parts;
    for (const Step* const one : steps)
      parts.push_back({one->get(), stages * static_cast<uint32_t>(parts.size()), 0});
    return parts;
  }
  detail::Owned<gfxgraph_composition_t, gfxgraph_composition_destroy> handle_;
};

// One piece of work over several sets of buffers, whose runs overlap.
class Pipeline {
 public:
  using Work = std::function<void(const gfxgraph_call_t&)>;

  // `options` without rows, tensors and work.
  Pipeline(uint64_t rows, const std::vector<gfxgraph_tensor_t>& tensors, Work work,
           gfxgraph_pipeline_options_t options = gfxgraph_pipeline_options_default())
      : work_(std::make_unique<detail::Function>(std::move(work))) {
    options.rows = rows;
    options.tensors = tensors.data();
    options.tensor_count = static_cast<uint32_t>(tensors.size());
    options.work = &detail::Function::call;
    options.work_context = work_.get();
    gfxgraph_pipeline_t handle = nullptr;
    detail::check(gfxgraph_pipeline_create(&options, &handle));
    handle_.reset(handle);
  }

  void warm() { detail::check(detail::Function::passed(gfxgraph_pipeline_warm(get()))); }
  // Its number. `memory`: one address for each tensor.
  uint64_t submit(uint64_t size, void* const* memory) {
    gfxgraph_pipeline_run_t run = gfxgraph_pipeline_run_default();
    run.size = size;
    run.memory = memory;
    return submit(run);
  }
  uint64_t submit(const gfxgraph_pipeline_run_t& run) {
    uint64_t number = 0;
    detail::check(detail::Function::passed(gfxgraph_pipeline_submit(get(), &run, &number)));
    return number;
  }
  // False: every set of buffers is in use.
  bool try_submit(uint64_t size, void* const* memory) {
    gfxgraph_pipeline_run_t run = gfxgraph_pipeline_run_default();
    run.size = size;
    run.memory = memory;
    run.no_wait = 1;
    const gfxgraph_status_t status =
        detail::Function::passed(gfxgraph_pipeline_submit(get(), &run, nullptr));
    if (status != GFXGRAPH_NOT_READY) detail::check(status);
    return status == GFXGRAPH_OK;
  }
  // The oldest run's, whose outputs are complete then. An error of the run is an exception; the
  // next call is of the next run.
  gfxgraph_pipeline_result_t next() {
    auto result = detail::sized<gfxgraph_pipeline_result_t>();
    detail::check(gfxgraph_pipeline_next(get(), &result));
    return result;
  }
  gfxgraph_pipeline_info_t info() const {
    return detail::described<gfxgraph_pipeline_info_t>(gfxgraph_pipeline_info, get());
  }
  std::string reason(uint32_t set, uint32_t way = GFXGRAPH_WAY_GRAPH) const {
    return detail::text([&](char* to, uint64_t capacity, uint64_t* size) {
      return gfxgraph_pipeline_reason(get(), set, way, to, capacity, size);
    });
  }
  gfxgraph_pipeline_t get() const noexcept { return handle_.get(); }

 private:
  std::unique_ptr<detail::Function> work_;  // outlives it
  detail::Owned<gfxgraph_pipeline_t, gfxgraph_pipeline_destroy> handle_;
};

// What is to be in one text of metrics.
struct Flow {
  std::vector<gfxgraph_branches_t> branches;
  std::vector<gfxgraph_loop_t> loops;
  std::vector<gfxgraph_composition_t> compositions;
  std::vector<gfxgraph_pipeline_t> pipelines;

  std::string metrics() const {
    auto flow = detail::sized<gfxgraph_flow_t>();
    flow.branches = branches.data();
    flow.branches_count = static_cast<uint32_t>(branches.size());
    flow.loops = loops.data();
    flow.loop_count = static_cast<uint32_t>(loops.size());
    flow.compositions = compositions.data();
    flow.composition_count = static_cast<uint32_t>(compositions.size());
    flow.pipelines = pipelines.data();
    flow.pipeline_count = static_cast<uint32_t>(pipelines.size());
    return detail::text([&](char* to, uint64_t capacity, uint64_t* size) {
      return gfxgraph_flow_metrics(&flow, to, capacity, size);
    });
  }
};

}  // namespace gfxgraph
