// A random program that runs one step again and again, as a decoder or a solver does: the same work
// on the same streams, with numbers, offsets and buffers that change by rules, and inputs that the
// host gives before each iteration. Data goes on from one iteration to the next in memory.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>

#include "../../include/gfxgraph/record.h"
#include "program.h"

namespace random_programs {
namespace {

// So that every pattern shows in what is recorded: swaps of three take two turns.
constexpr int kInputIterations = 6;
// For which the work must be legal: fewer do the same.
constexpr int kMostIterations = 12;

}  // namespace

// The number that the program gives a work, if it is one that a replay can set.
uint32_t* Program::number_of(Work& work) {
  if (work.kind == WorkKind::kSet) {
    const bool rows = work.shape.height * work.shape.depth != 1;
    return work.element == 4 && !rows ? &work.value : nullptr;
  }
  const bool takes_none = work.kernel == Kernel::reverse || work.kernel == Kernel::histogram;
  return work.kind == WorkKind::kKernel && !takes_none ? &work.a : nullptr;
}

bool Program::number_changes(const StepWork& step) {
  return step.rule == Rule::kNumberStep || step.rule == Rule::kNumberSwap;
}

// Where the rule changes it.
uint32_t Program::step_number(StepWork step, int iteration, bool fresh) {
  const auto n = static_cast<uint32_t>(iteration);
  uint32_t number = *number_of(step.work);
  number =
      step.rule == Rule::kNumberStep ? number + n * step.by : number ^ mix(step.by + n % step.turn);
  return fresh ? mix(number ^ 0x5eed) : number;
}

Work Program::step_work(const StepWork& step, int iteration) const {
  Work work = step.work;
  const auto n = static_cast<uint32_t>(iteration);
  switch (step.rule) {
    case Rule::kConstant: break;
    case Rule::kNumberStep:
    case Rule::kNumberSwap:
      *number_of(work) = step_number(step, iteration, is_fresh(iteration));
      break;
    case Rule::kOffsetStep:
      work.refs[static_cast<size_t>(step.ref)].offset += 4ull * n * step.by;
      break;
    case Rule::kBufferSwap:
      if (n % 2 != 0) std::swap(work.refs[0], work.refs[1]);
      break;
    case Rule::kSizeStep: work.n += n * work.block; break;
  }
  return work;
}

Accesses Program::all_accesses(const StepWork& step) const {
  Accesses all;
  for (int iteration = 0; iteration < kMostIterations; ++iteration) {
    const Accesses now = static_accesses(step_work(step, iteration), memory_);
    all.insert(all.end(), now.begin(), now.end());
  }
  return all;
}

bool Program::fits(const Accesses& accesses) const {
  return std::all_of(accesses.begin(), accesses.end(), [&](const Access& access) {
    return access.end <= memory_.at(access.region).size;
  });
}

// Memory of all kinds but pageable: what goes through that is in a trace as the recorded bytes.
void Program::make_step_memory() {
  Rng rng(options_.seed, 4ull << 40);
  for (int slot = 0; slot < 7; ++slot) {
    Kind kind = std::array<Kind, 3>{Kind::kPinned, Kind::kManaged, Kind::kRegistered}[rng.below(3)];
    const bool may = kind == Kind::kPinned    ? on(Feature::pinned)
                     : kind == Kind::kManaged ? on(Feature::managed)
                                              : on(Feature::registered);
    if (slot < 4 || !may) kind = Kind::kDevice;
    Region& region = memory_.add(kind, 4 * rng.between(64, 1200));
    device_.allocate(region, rng.word());
    slots_[static_cast<size_t>(slot)] = region.id;
    const std::string name = text("r%d", region.id);
    say("allocate " + ref_text(memory_, {region.id, 0}) +
        text(", %u bytes", static_cast<unsigned>(region.size)));
    if (!device_.dry()) gfxgraph_name(region.on_host() ? region.host : region.device, name.c_str());
    define({region.id, 0, region.size, true}, rng);
    // Given to a kernel, or else a trace need not have what the host wrote to it.
    Work update;
    update.kind = WorkKind::kKernel;
    update.kernel = Kernel::update;
    update.refs[0] = {region.id, 0};
    update.n = static_cast<uint32_t>(region.size / 4);
    issue(kNullStream, update, rng);
    if (slot < 2) inputs_.push_back(region.id);
  }
  Region& source = memory_.add(Kind::kPageable, 4 * 1200);
  device_.allocate(source, 0);
  source_ = source.id;
  for (int slot = 2; slot < 4; ++slot) act_stream(rng, slot);
  if (on(Feature::modules) && rng.chance(30)) act_module(rng);
  sync_device();
}

void Program::make_steps() {
  for (int number = 0;
       static_cast<int>(steps_.size()) < options_.size / 4 && number < options_.size; ++number) {
    if (dropped(number)) continue;
    Rng rng(options_.seed, static_cast<uint64_t>(number));
    StepWork step;
    if (!make_work(rng, step.work, false)) continue;
    const auto is_source = [&](const Side& side) { return side.ref.region == source_; };
    if (is_source(step.work.to) || is_source(step.work.from)) continue;
    step.stream = stream_of(step.work, pick_stream(rng));
    step.by = rng.between(1, 1000);
    step.turn = rng.between(2, 3);
    step.rule = static_cast<Rule>(rng.below(6));
    const bool kernel = step.work.kind == WorkKind::kKernel;
    const bool globals = kernel && (step.work.kernel == Kernel::read_globals ||
                                    step.work.kernel == Kernel::write_globals);
    switch (step.rule) {
      case Rule::kNumberStep:
      case Rule::kNumberSwap:
        if (number_of(step.work) == nullptr) step.rule = Rule::kConstant;
        break;
      case Rule::kOffsetStep:
        step.by = rng.between(1, 4);
        step.ref = static_cast<int>(rng.below(2));
        if (!kernel || step.work.refs[static_cast<size_t>(step.ref)].region < 0)
          step.rule = Rule::kConstant;
        break;
      case Rule::kBufferSwap:
        if (!kernel || (step.work.kernel != Kernel::add && step.work.kernel != Kernel::packed &&
                        step.work.kernel != Kernel::reverse))
          step.rule = Rule::kConstant;
        break;
      case Rule::kSizeStep:
        if (!kernel || globals) step.rule = Rule::kConstant;
        break;
      default: break;
    }
    if (!fits(all_accesses(step))) step.rule = Rule::kConstant;
    step.all = all_accesses(step);
    if (fits(step.all)) steps_.push_back(step);
  }
}

// Copies that stand before the step. From kInputIterations on the inputs stay.
void Program::write_inputs(int iteration) {
  const bool fresh = is_fresh(iteration);
  if (iteration >= kInputIterations && !fresh) return;
  for (const int id : inputs_) {
    Region& region = memory_.at(id);
    Rng rng(options_.seed, (5ull << 40) + static_cast<uint64_t>(id),
            static_cast<uint64_t>(iteration) + (fresh ? 1000 : 0));
    const uint32_t a = rng.word();
    Region& source = memory_.at(source_);
    host_function(memory_.bytes({source_, 0}), nullptr, region.size, a);
    memory_.written(source_, 0, region.size);
    if (!device_.dry()) host_function(source.host, nullptr, region.size, a);
    Work copy;
    copy.kind = WorkKind::kCopy;
    copy.to.ref = {id, 0};
    copy.from.ref = {source_, 0};
    copy.shape.width = region.size;
    copy.api = static_cast<uint32_t>(CopyApi::kSync);
    issue(kNullStream, copy, rng);
    sync_device();
    if (!fresh || options_.dump.empty()) continue;
    std::ofstream file(options_.dump + text("/r%d.input", id), std::ios::binary);
    file.write(reinterpret_cast<const char*>(memory_.bytes({id, 0})),
               static_cast<std::streamsize>(region.size));
  }
}

uint64_t Program::run_steps() {
  begin();
  make_step_memory();
  make_steps();
  for (int iteration = 0; iteration < options_.steps; ++iteration) {
    now_ = iteration;
    // What was under way before, and so what has to wait, is the same each time.
    sync_device();
    write_inputs(iteration);
    gfxgraph_range_begin("step");
    for (size_t i = 0; i < steps_.size(); ++i) {
      Rng rng(options_.seed, (6ull << 40) + i);
      settle(steps_[i].stream, steps_[i].all, rng);
      if (!issue(steps_[i].stream, step_work(steps_[i], iteration), rng))
        throw Failure("an illegal step");
      memory_.used(order_.count() - 1, steps_[i].all);
    }
    gfxgraph_range_end("step");
  }
  const int last = options_.steps - 1;
  for (const StepWork& step : steps_) {
    if (is_fresh(last) && number_changes(step))
      std::printf("number %u instead of %u\n", step_number(step, last, true),
                  step_number(step, last, false));
  }
  const uint64_t hash = finish();
  for (const int id : slots_) {
    if (id >= 0 && !options_.dump.empty()) dump(memory_.at(id));
  }
  return hash;
}

}  // namespace random_programs
