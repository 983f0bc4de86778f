// The run loop and the binding of handlers for one observer. Include it in a source file of
// gfxgraph_isa_sources() and use GFXGRAPH_DEFINE_BACKEND.
#pragma once

#include <new>
#include <utility>

#include "emulator/engine/backend.h"
#include "emulator/isa/memory/buffer_format.inl"
#include "emulator/isa/memory/image.inl"
#include "emulator/isa/memory/lds.inl"
#include "emulator/isa/memory/mubuf.inl"

namespace gfxgraph::emulator {
inline namespace GFXGRAPH_ISA {

inline uint64_t run_wave(Wave& wave) {
  const Inst* inst = wave.resume;
  uint64_t left = wave.slice;
  for (;;) {
    do {
      inst = inst->handler.load(std::memory_order_acquire)(wave, inst);
      --left;
    } while (inst != nullptr && left != 0);
    if (inst != nullptr) {
      wave.exit = WaveExit::kSlice;
      wave.resume = inst;
      break;
    }
    if (wave.exit != WaveExit::kClock) [[likely]]
      break;
    // Only the loop knows the position in the slice.
    ++left;
    wave.clock_now = wave.clock + (wave.slice - left);
    inst = wave.resume;
  }
  const uint64_t ran = wave.slice - left;
  wave.clock += ran;
  return ran;
}

// Runs an instruction between the observer's hooks. `work`: what Observer::work() returned.
template <class Observer, unsigned kKind>
GFXGRAPH_INLINE const Inst* run_hooked(Wave& wave, const Inst* inst, uint32_t work) {
  auto& observer = *static_cast<Observer*>(wave.observer);
  auto& state = *static_cast<typename Observer::WaveState*>(wave.observer_state);
  constexpr bool kKinds = requires { Observer::kHookKinds; };
  if constexpr (requires { Observer::kTestsForWork; })
    observer.template before<kKind>(state, wave, *inst, work);
  else if constexpr (kKinds)
    observer.template before<kKind>(state, wave, *inst);
  else
    observer.before(state, wave, *inst);
  const Inst* next = operands_of(*inst).handler(wave, inst);
  if (next == nullptr && (wave.exit == WaveExit::kFault || wave.exit == WaveExit::kClock))
      [[unlikely]]
    return nullptr;
  if constexpr (kKinds)
    observer.template after<kKind>(state, wave, *inst);
  else
    observer.after(state, wave, *inst);
  return next;
}
template <class Observer, unsigned kKind>
[[gnu::noinline]] const Inst* run_hooked_apart(Wave& wave, const Inst* inst, uint32_t work) {
  return run_hooked<Observer, kKind>(wave, inst, work);
}

// Whether the observer's done_first() may do, before an instruction of this kind, all that its
// hooks would.
template <class Observer, unsigned kKind>
constexpr bool may_be_done_first() {
  if constexpr (requires { Observer::template may_be_done_first<kKind>(); })
    return Observer::template may_be_done_first<kKind>();
  return false;
}

// The handler of an instruction with hooks. Without work for them it saves no registers.
template <class Observer, unsigned kKind>
const Inst* hooked(Wave& wave, const Inst* inst) {
  if constexpr (requires { Observer::kTestsForWork; }) {
    const auto& state = *static_cast<const typename Observer::WaveState*>(wave.observer_state);
    if constexpr (Observer::template has_work_test<kKind>()) {
      const uint32_t work = Observer::template work<kKind>(state, *inst);
      if (work == 0) [[likely]]
        return operands_of(*inst).handler(wave, inst);
      if constexpr (may_be_done_first<Observer, kKind>()) {
        auto& own = *static_cast<typename Observer::WaveState*>(wave.observer_state);
        if (Observer::template done_first<kKind>(own, wave, *inst, work)) [[likely]]
          return operands_of(*inst).handler(wave, inst);
      }
      return run_hooked_apart<Observer, kKind>(wave, inst, work);
    }
  } else if constexpr (may_be_done_first<Observer, kKind>()) {
    auto& state = *static_cast<typename Observer::WaveState*>(wave.observer_state);
    const auto& observer = *static_cast<const Observer*>(wave.observer);
    if (observer.template done_first<kKind>(state, wave, *inst)) [[likely]]
      return operands_of(*inst).handler(wave, inst);
    return run_hooked_apart<Observer, kKind>(wave, inst, 0);
  }
  return run_hooked<Observer, kKind>(wave, inst, 0);
}

template <class Observer, unsigned... kKind>
Handler hook_of_kind(unsigned kind, std::integer_sequence<unsigned, kKind...>) {
  static constexpr Handler kHandlers[] = {hooked<Observer, kKind>...};
  return kHandlers[kind];
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
    case Format::kMimg: return bind_image<Observer>(inst);
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
  static void before_halves(void* low, void* high, const HalfPlan& plan) {
    if constexpr (requires { &Observer::before_halves; })
      Observer::before_halves(*static_cast<State*>(low), *static_cast<State*>(high), plan);
  }
  static void after_halves(void* o, void* low, void* high, const HalfPlan& plan) {
    if constexpr (requires { &Observer::after_halves; })
      self(o).after_halves(*static_cast<State*>(low), *static_cast<State*>(high), plan);
  }
  static constexpr bool kHalves = requires { &Observer::before_halves; };
  static Handler hook(const InstOperands& operands) {
    if constexpr (!Observer::kInstructions)
      return operands.handler;
    else if constexpr (requires { Observer::kHookKinds; })
      return hook_of_kind<Observer>(Observer::hook_kind(operands),
                                    std::make_integer_sequence<unsigned, Observer::kHookKinds>());
    else
      return hooked<Observer, 0>;
  }
  static constexpr Backend make(const char* isa) {
    if constexpr (!Observer::kInstructions && !Observer::kMemory && !Observer::kOperands)
      return Backend{.isa = isa, .run = run_wave, .bind = bind<Observer>};
    else
      return Backend{.isa = isa,
                     .run = run_wave,
                     .bind = bind<Observer>,
                     .keeps_operands = Observer::kOperands || Observer::kInstructions,
                     .hook = hook,
                     .decoded = decoded,
                     .wave_state_bytes = sizeof(State),
                     .wave_state_align = alignof(State),
                     .construct_state = construct,
                     .destroy_state = destroy,
                     .dispatch_begin = dispatch_begin,
                     .dispatch_end = dispatch_end,
                     .wave_begin = wave_begin,
                     .wave_end = wave_end,
                     .before_halves = kHalves ? before_halves : nullptr,
                     .after_halves = kHalves ? after_halves : nullptr};
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
// instruction set gives it all three names.
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
