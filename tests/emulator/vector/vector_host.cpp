#include "tests/emulator/vector/vector_host.h"

#include <cstring>
#include <memory>

#include "emulator/engine/wave.h"

namespace gfxgraph::emulator {
namespace isa_v2 {
extern const VectorBinder kVectorBinder;
}
namespace isa_v3 {
extern const VectorBinder kVectorBinder;
}
namespace isa_v4 {
extern const VectorBinder kVectorBinder;
}

namespace spec {

// MXCSR: the default, and its sticky exception flags.
constexpr uint32_t kHostControl = 0x1f80;
constexpr uint32_t kHostFlags = 0x3f;

const std::vector<HostIsa>& host_isas() {
  static const std::vector<HostIsa> isas = [] {
    std::vector<HostIsa> r = {{"x86-64-v2", &isa_v2::kVectorBinder}};
#ifndef GFXGRAPH_ONE_ISA
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
        __builtin_cpu_supports("bmi2"))
      r.push_back({"x86-64-v3", &isa_v3::kVectorBinder});
    if (r.size() == 2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512cd"))
      r.push_back({"x86-64-v4", &isa_v4::kVectorBinder});
#endif
    return r;
  }();
  return isas;
}

std::string run_vector(const HostIsa& isa, const std::vector<uint32_t>& words, State& state,
                       uint32_t mode) {
  static const std::unique_ptr<Wave> wave = std::make_unique<Wave>();
  Wave& w = *wave;
  std::memset(static_cast<void*>(w.sgpr), 0, sizeof w.sgpr);
  std::memcpy(w.sgpr, state.sgpr.data(), sizeof state.sgpr);
  w.set_exec(state.sgpr[operand::kExecLo]);
  w.mode = mode;
  w.upper = nullptr;
  w.exit = WaveExit::kSlice;
  for (unsigned n = 0; n < kModelVgprs; ++n)
    std::memcpy(w.vgpr[n].lane, state.vgpr[n].data(), sizeof(Row));
  Inst inst;
  if (decode(words.data(), words.size(), 0, inst) != DecodeStatus::kOk) return "does not decode";
  if (inst.size_bytes() != 4 * words.size()) return "decodes to another size";
  if (mode != kDefaultMode) inst.flags |= Inst::kAnyMode;
  const Handler handler = isa.binder->bind(inst);
  if (handler == nullptr) return "not supported";
  if (__builtin_ia32_stmxcsr() != kHostControl) __builtin_ia32_ldmxcsr(kHostControl);
  if (handler(w, &inst) != inst.next()) return "did not go on to the next instruction";
  if ((__builtin_ia32_stmxcsr() & ~kHostFlags) != kHostControl)
    return "leaves the host's float control changed";
  for (unsigned l = 0; l < kWaveLanes; ++l)
    if (w.exec_mask.lane[l] != 0u - (w.exec() >> l & 1u)) return "EXEC and its lane mask differ";
  std::memcpy(state.sgpr.data(), w.sgpr, sizeof state.sgpr);
  for (unsigned n = 0; n < kModelVgprs; ++n)
    std::memcpy(state.vgpr[n].data(), w.vgpr[n].lane, sizeof(Row));
  return "";
}

}  // namespace spec
}  // namespace gfxgraph::emulator
