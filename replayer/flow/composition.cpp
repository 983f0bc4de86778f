#include "replayer/flow/composition.h"

#include <fmt/format.h>

#include <algorithm>

#include "replayer/capi/c_api_internal.h"
#include "replayer/production/ways/captured_step.h"

namespace gfxgraph::replayer {

Composition::~Composition() {
  try {
    (void)order_.wait();
  } catch (...) {  // no memory for an error's text
  }
  for (const Part& part : parts_) part.step->executor().forget(part.nodes);
  destroy_graph();
}

void Composition::destroy_graph() noexcept {
  const HipTable& hip = device_->library().table();
  if (executable_ != nullptr) hip.hipGraphExecDestroy(std::exchange(executable_, nullptr));
  if (graph_ != nullptr) hip.hipGraphDestroy(std::exchange(graph_, nullptr));
  for (Part& part : parts_) {
    part.nodes.executable = nullptr;
    part.nodes.stale = true;
  }
}

tl::unexpected<Error> Composition::wrong(size_t part, Status status,
                                         const std::string& what) const {
  return fail(status, fmt::format("composition {}, part {}: {}", name_, part, what));
}

Result<void> Composition::check_parts() const {
  for (size_t i = 0; i < parts_.size(); ++i) {
    const Part& one = parts_[i];
    const auto refuse = [&](const std::string& what) {
      return wrong(i, Status::kInvalidArgument, what);
    };
    if (!one.step->instance().session().in_place())
      return refuse("its step is not in place: only steps that this process captured compose");
    if (const int device = one.step->instance().device().ordinal; device != device_->ordinal()) {
      return refuse(fmt::format("its step is of device {}, and the composition of device {}",
                                device, device_->ordinal()));
    }
    if (i > 0 && one.stage < parts_[i - 1].stage) return refuse("stages do not ascend");
    for (size_t k = 0; k < i; ++k) {
      if (parts_[k].stage != one.stage) continue;
      if (parts_[k].step == one.step)
        return refuse(fmt::format("part {} of the same stage is the same step", k));
      if (parts_[k].step->conflicts_with(*one.step)) {
        return refuse(
            fmt::format("part {} of the same stage and this one use a buffer that one of them "
                        "writes: give them stages, or say that they may run beside each other "
                        "(gfxgraph_session_options_t.concurrent_steps)",
                        k));
      }
    }
  }
  return {};
}

Result<void> Composition::create(const gfxgraph_composition_options_t& options) {
  name_ = options.name != nullptr ? options.name : "composition";
  must_be_graph_ = options.one_graph != 0;
  if (options.parts == nullptr || options.part_count == 0)
    return fail(Status::kInvalidArgument, fmt::format("composition {} has no parts", name_));
  for (uint32_t i = 0; i < options.part_count; ++i) {
    const gfxgraph_part_t& given = options.parts[i];
    if (given.advances > 1)
      return wrong(i, Status::kInvalidArgument, "advances is neither 0 nor 1");
    if (given.step == nullptr) return wrong(i, Status::kInvalidArgument, "it has no step");
    GFXGRAPH_TRY(require_own(given.step->made_in));
    Part& part = parts_.emplace_back();
    part.range = given.step->range;
    part.step = given.step->step;
    part.stage = given.stage;
    part.advances = given.advances != 0;
    if (std::ranges::find(steps_, part.step.get()) == steps_.end())
      steps_.push_back(part.step.get());
  }
  GFXGRAPH_TRY(check_parts());
  Result<void> built = build();
  is_graph_ = built.has_value();
  if (built || must_be_graph_) return built;
  fall(built.error().message);
  return {};
}

// ---- the graph

// Behind `before`, which their last nodes become.
Result<void> Composition::add_stage(hip::Graph graph, size_t first, size_t end,
                                    std::vector<hip::GraphNode>& before, size_t& count) {
  std::vector<hip::GraphNode> ends;
  for (size_t i = first; i < end; ++i) {
    std::vector<hip::GraphNode> one = before;
    const Result<void> added =
        parts_[i].step->executor().add_to(graph, one, count, parts_[i].nodes);
    if (!added) return wrong(i, added.error().status, added.error().message);
    for (const hip::GraphNode node : one) {
      if (std::ranges::find(ends, node) == ends.end()) ends.push_back(node);
    }
  }
  before = std::move(ends);
  return {};
}

Result<void> Composition::add_parts(hip::Graph graph, size_t& count) {
  const HipLibrary& library = device_->library();
  std::vector<hip::GraphNode> before;
  const auto join = [&]() -> Result<void> {
    hip::GraphNode node = nullptr;
    GFXGRAPH_TRY(library.check(
        library.table().hipGraphAddEmptyNode(&node, graph, before.data(), before.size()),
        "hipGraphAddEmptyNode"));
    before.assign(1, node);
    ++count;
    return {};
  };
  // Parts beside each other would begin before the stream's earlier work.
  if (library.avoids(HipQuirk::kRootsBeginEarly)) GFXGRAPH_TRY(join());
  for (size_t first = 0; first < parts_.size();) {
    size_t end = first + 1;
    while (end < parts_.size() && parts_[end].stage == parts_[first].stage) ++end;
    // One node between stages: no runtime loses edges between it and what has no others.
    if (before.size() > 1) GFXGRAPH_TRY(join());
    GFXGRAPH_TRY(add_stage(graph, first, end, before, count));
    first = end;
  }
  return {};
}

Result<void> Composition::build() {
  const HipLibrary& library = device_->library();
  const HipTable& hip = library.table();
  if (!library.has_graphs())
    return fail(Status::kUnsupported, fmt::format("{} has no explicit graphs", library.path()));
  destroy_graph();
  const auto lock = parts_.front().step->instance().session().launch_lock().in_graph();
  GFXGRAPH_TRY(library.check(hip.hipGraphCreate(&graph_, 0), "hipGraphCreate"));
  size_t expected = 0, found = 0;
  GFXGRAPH_TRY(add_parts(graph_, expected));
  if (expected > kMaxGraphNodes) {
    return fail(Status::kUnsupported,
                fmt::format("composition {} has {} nodes, more than a graph should have ({})",
                            name_, expected, kMaxGraphNodes));
  }
  GFXGRAPH_TRY(library.check(hip.hipGraphGetNodes(graph_, nullptr, &found), "hipGraphGetNodes"));
  if (found != expected) {
    return fail(Status::kDevice, fmt::format("the runtime's graph has {} instead of {} nodes: it "
                                             "dropped some",
                                             found, expected));
  }
  GFXGRAPH_TRY(library.check(hip.hipGraphInstantiate(&executable_, graph_, nullptr, nullptr, 0),
                             "hipGraphInstantiate"));
  for (Part& part : parts_) {
    part.nodes.executable = executable_;
    part.nodes.stale = false;
  }
  nodes_ = expected;
  count(counts_.builds);
  return {};
}

void Composition::fall(std::string why) {
  is_graph_ = false;
  for (const Part& part : parts_) part.step->executor().forget(part.nodes);
  destroy_graph();
  nodes_ = 0;
  const std::lock_guard lock(reason_mutex_);
  reason_ = std::move(why);
}

// ---- runs

Result<void> Composition::advance() {
  ++advanced_;
  for (const Part& part : parts_) {
    if (!part.advances) continue;
    for (const StepParameter& parameter : part.range->parameters)
      GFXGRAPH_TRY(part.step->values().set(parameter, parameter.value(advanced_)));
  }
  return {};
}

Result<void> Composition::launch(hip::Stream stream) {
  GFXGRAPH_TRY(SessionSteps::begin_together(steps_, stream));
  for (SessionStep* const one : steps_) {
    Step& step = *static_cast<Step*>(one);
    step.instance().session().changed();
    step.executor().runs().begin(step.executor().runs().last() + 1, stream);
  }
  hip::Error code = hip::kSuccess;
  {
    const auto lock = parts_.front().step->instance().session().launch_lock().in_graph();
    code = device_->library().table().hipGraphLaunch(executable_, stream);
  }
  SessionSteps::end_together(steps_);
  return device_->library().check(code, "hipGraphLaunch");
}

// Whether it is one graph, which has the values that its steps are set to.
Result<bool> Composition::make_ready() {
  if (!is_graph_) return false;
  for (size_t i = 0; i < parts_.size(); ++i) {
    const Result<void> set = parts_[i].step->commit();
    if (!set) return wrong(i, set.error().status, set.error().message);
  }
  if (std::ranges::none_of(parts_, [](const Part& part) { return part.nodes.stale; })) [[likely]]
    return true;
  GFXGRAPH_TRY(order_.wait());
  const Result<void> built = build();
  if (built) return true;
  if (must_be_graph_) return tl::unexpected<Error>(built.error());
  fall(built.error().message);
  return false;
}

Result<void> Composition::run_steps() {
  for (Part& part : parts_) {
    GFXGRAPH_TRY(part.step->run());
    // What comes later on the stream does not follow it by itself.
    if (!part.step->holds_its_stream()) GFXGRAPH_TRY(part.step->wait());
  }
  return {};
}

Result<void> Composition::submit(hip::Stream stream) {
  GFXGRAPH_TRY(advance());
  for (const Part& part : parts_) part.step->set_stream(stream);
  GFXGRAPH_ASSIGN_OR_RETURN(const bool as_graph, make_ready());
  GFXGRAPH_TRY(order_.follow(stream));
  return as_graph ? launch(stream) : run_steps();
}

Result<void> Composition::run(hip::Stream stream, uint32_t& one_graph) {
  const std::lock_guard lock(mutex_);
  const Stopwatch time;
  Result<void> ran = submit(stream);
  one_graph = is_graph_ ? 1 : 0;
  if (!ran) {
    count(counts_.failures);
    return ran;
  }
  count(is_graph_ ? counts_.graph_runs : counts_.ordered_runs);
  counts_.submit.add(time.nanoseconds());
  return {};
}

void Composition::add_up(gfxgraph_composition_info_t& info, Durations& submit) const {
  info.one_graph = is_graph_ ? 1 : 0;
  info.graph_runs = counts_.graph_runs;
  info.ordered_runs = counts_.ordered_runs;
  info.failures = counts_.failures;
  info.builds = counts_.builds;
  info.nodes = nodes_;
  submit.add(counts_.submit);
}

std::string Composition::reason() const {
  const std::lock_guard lock(reason_mutex_);
  return reason_;
}

}  // namespace gfxgraph::replayer
