#include "check/run/execution.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

namespace gfxgraph::check {

emulator::EngineOptions Execution::with_budget(emulator::EngineOptions options,
                                               uint64_t scratch_shadow) {
  const auto with_shadow = [scratch_shadow](uint64_t size_bytes) {
    return size_bytes + (scratch_shadow == 0 ? 0 : size_bytes / scratch_shadow);
  };
  options.take_scratch = [this, with_shadow](uint64_t size_bytes) {
    return budget_.take_memory(with_shadow(size_bytes), "the scratch memory of a wave").has_value();
  };
  options.give_scratch = [this, with_shadow](uint64_t size_bytes) {
    budget_.give_memory(with_shadow(size_bytes));
  };
  options.take_code = [this](uint64_t size_bytes) {
    return budget_.take_memory(size_bytes, "decoded code").has_value();
  };
  options.give_code = [this](uint64_t size_bytes) { budget_.give_memory(size_bytes); };
  return options;
}

Result<void> Execution::load(emulator::Engine& engine, HostServices* services) {
  engine_ = &engine;
  services_ = services;
  GFXGRAPH_ASSIGN_OR_RETURN(code_,
                            load_code(trace_, memory_, *engine_, budget_, notes_, policy_.taken));
  GFXGRAPH_ASSIGN_OR_RETURN(frame_, LaunchFrame::create(trace_, memory_));
  return {};
}

Result<void> Execution::within_budget() {
  if (budget_.go_on()) return {};
  return fail(Status::kOutOfMemory, budget_.reason());
}

template <typename... Method, typename... Arguments>
Result<void> Execution::tell(Result<void> (Listener::*what)(Method...),
                             const Arguments&... arguments) {
  for (Listener* const listener : listeners_) GFXGRAPH_TRY((listener->*what)(arguments...));
  return {};
}

// ---- events ----

Result<void> Execution::run_event(size_t index) {
  at_.sequence = trace_.events()[index].sequence;
  for (Listener* const listener : listeners_) listener->next_event(at_.sequence);
  GFXGRAPH_TRY(within_budget());
  return ends_.visit(index, [this](const format::Event& event) {
    return std::visit([this](const auto& action) { return carry_out(action); }, event.action);
  });
}

Result<void> Execution::apply(const format::Event& event) {
  at_.sequence = event.sequence;
  for (Listener* const listener : listeners_) listener->next_event(at_.sequence);
  GFXGRAPH_TRY(within_budget());
  return std::visit([this](const auto& action) { return carry_out(action); }, event.action);
}

Result<void> Execution::apply(const format::GraphNode& node) {
  return std::visit([this](const auto& action) { return carry_out(action); }, node.action);
}

// Of streams, events and markers nothing is left to do: the order of the events is a valid order.
template <typename Action>
Result<void> Execution::carry_out(const Action& action) {
  if constexpr (requires { images_.see(action); }) images_.see(action);
  if constexpr (std::is_same_v<Action, format::HostWrite>)
    GFXGRAPH_TRY(tell(&Listener::will_write, action));
  if constexpr (requires { events_.apply(action); }) GFXGRAPH_TRY(events_.apply(action));
  if constexpr (std::is_same_v<Action, format::AllocationEnd>)
    return tell(&Listener::freed, action);
  else if constexpr (std::is_same_v<Action, format::HostWrite>)
    return tell(&Listener::written, action);
  else if constexpr (std::is_same_v<Action, format::Memset>)
    return tell(&Listener::filled, action);
  else if constexpr (std::is_same_v<Action, format::Checkpoint>)
    return tell(&Listener::checkpoint, action);
  else if constexpr (std::is_same_v<Action, format::CallFault>)
    return tell(&Listener::call_fault, action);
  else
    return {};
}

Result<void> Execution::carry_out(const format::Copy& recorded) {
  images_.see(recorded);
  format::Copy room;
  const format::Copy& copy = images_.placed(recorded, room);
  GFXGRAPH_TRY(tell(&Listener::will_copy, copy));
  GFXGRAPH_TRY(events_.apply(copy));
  return tell(&Listener::copied, copy);
}

Result<void> Execution::begin(const format::AllocationBegin& placed) {
  GFXGRAPH_TRY(events_.apply(placed));
  return tell(&Listener::allocated, placed);
}

Result<void> Execution::carry_out(const format::AllocationBegin& allocation) {
  images_.see(allocation);
  format::AllocationBegin room;
  if (allocation.kind == format::AllocationKind::kModuleGlobal) {
    GFXGRAPH_TRY(place_variable(allocation, room));
    return begin(room);
  }
  GFXGRAPH_ASSIGN_OR_RETURN(const auto* const here, images_.placed(allocation, room));
  return begin(*here);
}

Result<void> Execution::place_variable(const format::AllocationBegin& variable,
                                       format::AllocationBegin& placed) {
  placed = variable;
  if (variable.host_address != 0) {  // a __managed__ variable: memory that a pointer leads to
    point_to_managed(code_, variable, memory_);
    placed.kind = format::AllocationKind::kManaged;
    return {};
  }
  const uint64_t here = global_address(code_, variable);
  if (policy_.taken == Taken::kStays) {
    placed.recorded_address = here;
    events_.variable_moved(variable.id, here - variable.recorded_address);
    return {};
  }
  // Pointers to it that memory holds would lead elsewhere.
  if (here != variable.recorded_address) {
    GFXGRAPH_TRY(move_code(
        code_, variable, [this](format::CodeObjectId code) { return variables_live(code); },
        memory_, *engine_));
  }
  variables_[variable.code_object].push_back(variable.id);
  return {};
}

bool Execution::variables_live(format::CodeObjectId code) const {
  const auto found = variables_.find(code);
  return found != variables_.end() &&
         std::ranges::any_of(found->second, [&](format::AllocationId id) {
           return memory_.address_of(id).has_value();
         });
}

// ---- launches ----

Result<void> Execution::carry_out(const format::GraphLaunch& launch) {
  if (launch.graph == 0 || launch.graph > trace_.graphs().size())
    return fail(Status::kCorrupt, fmt::format("graph {} does not exist", launch.graph));
  uint32_t index = 0;
  for (const format::GraphNode& node : trace_.graphs()[launch.graph - 1].nodes) {
    GFXGRAPH_TRY(within_budget());
    for (Listener* const listener : listeners_) listener->next_node(launch.graph, index);
    GFXGRAPH_TRY(apply(node));
    ++index;
  }
  return {};
}

Result<void> Execution::carry_out(const format::Launch& launch) {
  const uint64_t index = at_.launches++;
  for (Listener* const listener : listeners_) listener->next_launch(index, launch);
  if (launch.kernel == 0 || launch.kernel > trace_.kernels().size())
    return fail(Status::kCorrupt, fmt::format("kernel {} does not exist", launch.kernel));
  const format::Kernel& kernel = trace_.kernels()[launch.kernel - 1];
  Result<void> done = dispatch(index, kernel, launch);
  return done ? Result<void>{} : policy_.failed(index, kernel, std::move(done).error());
}

Result<void> Execution::dispatch(uint64_t index, const format::Kernel& kernel,
                                 const format::Launch& recorded) {
  const std::optional<format::Launch> moved = events_.moved(recorded);
  const format::Launch& launch = moved ? *moved : recorded;
  GFXGRAPH_ASSIGN_OR_RETURN(const LaunchCode found, find_launch_code(code_, kernel));
  if (!found.code->loaded())
    return fail(Status::kUnsupported, "variables of other code are where its code was loaded");
  GFXGRAPH_ASSIGN_OR_RETURN(const LaunchShape shape, launch_shape(launch));
  GFXGRAPH_TRY(can_run(shape));
  if (std::optional<std::string> why = images_.refuses(launch))
    return fail(Status::kUnsupported, *std::move(why));
  GFXGRAPH_ASSIGN_OR_RETURN(
      const emulator::Dispatch dispatch,
      frame_.fill(index, launch, kernel, shape, *found.code, *found.kernel, services_));
  const LaunchRun run{index, launch, *found.code, *found.kernel, dispatch};
  for (Listener* const listener : listeners_) listener->before_run(run);
  const tl::expected<emulator::RunStatistics, emulator::Fault> ran = engine_->run(dispatch);
  budget_.settle(ran ? ran->wave_instructions : UINT64_MAX);
  if (!ran && ran.error().kind == emulator::FaultKind::kOutOfMemory)
    budget_.host_is_out_of_memory();
  for (Listener* const listener : listeners_) listener->after_run(run, ran);
  if (budget_.exhausted()) return fail(Status::kOutOfMemory, budget_.reason());
  if (!ran) return fail(Status::kDevice, ran.error().to_string());
  if (services_ != nullptr && !services_->refused().empty())
    return fail(Status::kUnsupported, services_->refused());
  return {};
}

// Each wave executes one instruction at least.
Result<void> Execution::can_run(const LaunchShape& shape) {
  constexpr uint64_t kMaxLanes = 64;
  unsigned __int128 items = 1;
  unsigned __int128 groups = 1;
  for (size_t axis = 0; axis < 3; ++axis) {
    items *= shape.grid_items[axis];
    groups *= (uint64_t{shape.grid_items[axis]} + shape.block[axis] - 1) / shape.block[axis];
  }
  const unsigned __int128 waves = std::max(groups, items / kMaxLanes);
  if (budget_.can_spend(waves > UINT64_MAX ? UINT64_MAX : static_cast<uint64_t>(waves))) return {};
  return fail(Status::kOutOfMemory, budget_.reason());
}

}  // namespace gfxgraph::check
