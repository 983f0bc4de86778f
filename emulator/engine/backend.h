// The hot part of the engine as compiled for one observer and one host instruction set.
#pragma once

#include <cstddef>
#include <memory>

#include "emulator/engine/engine.h"
#include "emulator/engine/observer.h"

namespace gfxgraph::emulator {

struct HalfPlan;

// All functions are set unless said otherwise. `observer` is the object given to create_engine().
struct Backend {
  const char* isa = "";  // "x86-64-v3"
  // Runs the wave from wave.resume for at most wave.slice instructions; sets wave.exit and
  // wave.resume. Returns the number of instructions run.
  uint64_t (*run)(Wave& wave) = nullptr;
  // Chooses the handler of any decoded instruction; null: unsupported.
  Handler (*bind)(Inst& inst) = nullptr;
  bool keeps_operands = false;
  // The handler of an instruction with hooks: runs InstOperands::handler between them. Null: none.
  Handler (*hook)(const InstOperands& operands) = nullptr;
  // Null when the observer has no state or hooks.
  void (*decoded)(void* observer, const Inst& inst, InstOperands& operands) = nullptr;
  size_t wave_state_bytes = 0;
  size_t wave_state_align = 1;
  void (*construct_state)(void* state) = nullptr;
  void (*destroy_state)(void* state) = nullptr;
  void (*dispatch_begin)(void* observer, const DispatchInfo& info) = nullptr;
  void (*dispatch_end)(void* observer) = nullptr;
  void (*wave_begin)(void* observer, void* state, const Wave& wave, const WaveInfo& info) = nullptr;
  void (*wave_end)(void* observer, void* state, const Wave& wave) = nullptr;
  // Around the two halves of a wave64's vector instruction. May be null.
  void (*before_halves)(void* low_state, void* high_state, const HalfPlan& plan) = nullptr;
  void (*after_halves)(void* observer, void* low_state, void* high_state,
                       const HalfPlan& plan) = nullptr;
};

// One backend per host instruction set.
struct BackendSet {
  const Backend* v2;
  const Backend* v3;
  const Backend* v4;
};
// Declares and collects what GFXGRAPH_DEFINE_BACKEND(..., name) defined, at namespace scope and in
// an expression.
#define GFXGRAPH_DECLARE_BACKENDS(name) \
  extern const ::gfxgraph::emulator::Backend name##_isa_v2, name##_isa_v3, name##_isa_v4
#define GFXGRAPH_BACKEND_SET(name) \
  ::gfxgraph::emulator::BackendSet { &name##_isa_v2, &name##_isa_v3, &name##_isa_v4 }
// The best one for this CPU, or the one that $GFXGRAPH_ISA (v2, v3, v4) names if the CPU has it.
const Backend& select_backend(const BackendSet& set);

// As Engine::create, with an observer, which must outlive the engine.
std::unique_ptr<Engine> create_engine(MemoryMap& memory, const EngineOptions& options,
                                      const Backend& backend, void* observer);

}  // namespace gfxgraph::emulator
