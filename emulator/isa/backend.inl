// The run loop and the binding of handlers for one observer. Include it in a source file of
// gfxgraph_isa_sources() and use GFXGRAPH_DEFINE_BACKEND.
#pragma once

#include <new>

#include "emulator/backend.h"
#include "emulator/isa/buffer_format.inl"
#include "emulator/isa/lds.inl"
#include "emulator/isa/mubuf.inl"

namespace gfxgraph::emulator {
inline namespace GFXGRAPH_ISA {

template <class Observer>
uint64_t run_wave(Wave& wave) {
  const Inst* inst = wave.resume;
  uint64_t left = wave.slice;
  if constexpr (!Observer::kInstructions) {
    do {
      inst = inst->handler.load(std::memory_order_acquire)(wave, inst);
      --left;
    } while (inst != nullptr && left != 0);
  } else {
    auto& observer = *static_cast<Observer*>(wave.observer);
    auto& state = *static_cast<typename Observer::WaveState*>(wave.observer_state);
    do {
      const Handler handler = inst->handler.load(std::memory_order_acquire);
      if (handler == decode_only || handler == cross_only) [[unlikely]] {
        inst = handler(wave, inst);
        continue;
      }
      observer.before(state, wave, *inst);
      const Inst* ran = inst;
      inst = handler(wave, inst);
      --left;
      if (inst != nullptr || wave.exit != WaveExit::kFault) observer.after(state, wave, *ran);
    } while (inst != nullptr && left != 0);
  }
  if (inst != nullptr) {
    wave.exit = WaveExit::kSlice;
    wave.resume = inst;
  }
  return wave.slice - left;
}

template <class Observer>
Handler bind(Inst& inst) {
  switch (inst.format) {
    case Format::kSop1:
    case Format::kSop2:
    case Format::kSopc:
    case Format::kSopk:
    case Format::kSopp: return bind_scalar(inst);
    case Format::kVop1:
    case Format::kVop2:
    case Format::kVopc:
    case Format::kVop3:
    case Format::kVop3p: return kVectorBinder.bind(inst);
    case Format::kSmem: return bind_smem<Observer>(inst);
    case Format::kDs: return bind_ds<Observer>(inst);
    case Format::kFlat:
    case Format::kGlobal:
    case Format::kScratch:
    case Format::kMubuf: return bind_vector_memory<Observer>(inst);
    case Format::kMtbuf: return bind_buffer_format<Observer>(inst);
    default: return nullptr;
  }
}

template <class Observer>
struct BackendFor {
  using State = typename Observer::WaveState;
  static Observer& self(void* observer) { return *static_cast<Observer*>(observer); }
  static void decoded(void* o, const Inst& inst, InstOperands& operands) {
    self(o).decoded(inst, operands);
  }
  static void construct(void* state) { new (state) State(); }
  static void destroy(void* state) { static_cast<State*>(state)->~State(); }
  static void dispatch_begin(void* o, const DispatchInfo& info) { self(o).dispatch_begin(info); }
  static void dispatch_end(void* o) { self(o).dispatch_end(); }
  static void wave_begin(void* o, void* s, const Wave& w, const WaveInfo& info) {
    self(o).wave_begin(*static_cast<State*>(s), w, info);
  }
  static void wave_end(void* o, void* s, const Wave& w) {
    self(o).wave_end(*static_cast<State*>(s), w);
  }
  static constexpr Backend make(const char* isa) {
    if constexpr (!Observer::kInstructions && !Observer::kMemory && !Observer::kOperands)
      return Backend{.isa = isa, .run = run_wave<Observer>, .bind = bind<Observer>};
    else
      return Backend{.isa = isa,
                     .run = run_wave<Observer>,
                     .bind = bind<Observer>,
                     .keeps_operands = Observer::kOperands,
                     .instruction_hooks = Observer::kInstructions,
                     .decoded = decoded,
                     .wave_state_bytes = sizeof(State),
                     .wave_state_align = alignof(State),
                     .construct_state = construct,
                     .destroy_state = destroy,
                     .dispatch_begin = dispatch_begin,
                     .dispatch_end = dispatch_end,
                     .wave_begin = wave_begin,
                     .wave_end = wave_end};
  }
};

#define GFXGRAPH_BACKEND_TEXT_INNER(x) #x
#define GFXGRAPH_BACKEND_TEXT(x) GFXGRAPH_BACKEND_TEXT_INNER(x)
#define GFXGRAPH_BACKEND_JOIN_INNER(a, b) a##_##b
#define GFXGRAPH_BACKEND_JOIN(a, b) GFXGRAPH_BACKEND_JOIN_INNER(a, b)

#define GFXGRAPH_DEFINE_BACKEND_AS(Observer, name) \
  extern const ::gfxgraph::emulator::Backend name; \
  const ::gfxgraph::emulator::Backend name =       \
      ::gfxgraph::emulator::BackendFor<Observer>::make(GFXGRAPH_BACKEND_TEXT(GFXGRAPH_ISA));
// Defines `const Backend <name>_isa_v2` (v3, v4) in the present namespace. A build with one
// instruction set (sanitizers) gives it all three names.
#ifdef GFXGRAPH_ONE_ISA
#define GFXGRAPH_DEFINE_BACKEND(Observer, name)       \
  GFXGRAPH_DEFINE_BACKEND_AS(Observer, name##_isa_v2) \
  GFXGRAPH_DEFINE_BACKEND_AS(Observer, name##_isa_v3) \
  GFXGRAPH_DEFINE_BACKEND_AS(Observer, name##_isa_v4)
#else
#define GFXGRAPH_DEFINE_BACKEND(Observer, name) \
  GFXGRAPH_DEFINE_BACKEND_AS(Observer, GFXGRAPH_BACKEND_JOIN(name, GFXGRAPH_ISA))
#endif

}  // namespace GFXGRAPH_ISA
}  // namespace gfxgraph::emulator
