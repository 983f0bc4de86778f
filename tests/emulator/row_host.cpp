#include "tests/emulator/row_host.h"

#include <cstring>
#include <map>
#include <utility>

#include "emulator/decode/inst.h"

namespace gfxgraph::emulator {

GFXGRAPH_DECLARE_BACKENDS(kPlainBackend);

namespace testing {

uint32_t opcode_of(const std::string& encoding, const std::string& mnemonic) {
  static const std::map<std::pair<std::string, std::string>, uint32_t> table = {
#define X(encoding, opcode, mnemonic, ...) {{#encoding, #mnemonic}, opcode},
#include "emulator/table/gfx1030.inc"
#undef X
  };
  const auto at = table.find({encoding, mnemonic});
  return at == table.end() ? ~0u : at->second;
}

const std::vector<const Backend*>& row_backends() {
  static const std::vector<const Backend*> backends = [] {
    std::vector<const Backend*> r = {&kPlainBackend_isa_v2};
#ifndef GFXGRAPH_ONE_ISA
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
        __builtin_cpu_supports("bmi2"))
      r.push_back(&kPlainBackend_isa_v3);
    if (r.size() == 2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512cd"))
      r.push_back(&kPlainBackend_isa_v4);
#endif
    return r;
  }();
  return backends;
}

RowHost::RowHost()
    : memory_(new uint8_t[kRowMemoryBytes]()),
      lds_(new uint8_t[kRowLdsBytes + 64]()),
      scratch_(new uint8_t[kRowScratchBytes]()),
      wave_(new Wave()) {
  Region region;
  region.address = memory_address();
  region.requested_bytes = region.mapped_bytes = kRowMemoryBytes;
  region.host = reinterpret_cast<std::byte*>(memory_.get());
  region.name = "memory";
  static_cast<void>(map_.add(region));
  context_.memory = &map_;
  context_.gws = &gws_;
  context_.group_aperture_hi = Dispatch::kDefaultGroupApertureHi;
  context_.private_aperture_hi = Dispatch::kDefaultPrivateApertureHi;
  group_.lds = reinterpret_cast<std::byte*>(lds_.get());
  group_.lds_bytes = kRowLdsBytes;
  group_.wave_count = 1;
  wave_->dispatch = &context_;
  code_cache_ =
      std::make_unique<CodeCache>(no_code_, map_, *row_backends().front(), nullptr,
                                  CodeCache::WaveSize::k32, CodeCache::Mode::kDefault, nullptr);
  wave_->code_cache = code_cache_.get();
  wave_->group = &group_;
  wave_->mode = 0x3f0;
  wave_->scratch_row = 128;
  wave_->scratch = reinterpret_cast<std::byte*>(scratch_.get());
  wave_->scratch_base = kScratchWindow;
  wave_->scratch_bytes = kRowScratchBytes;
  wave_->flat_scratch[0] = static_cast<uint32_t>(kScratchWindow);
  wave_->flat_scratch[1] = static_cast<uint32_t>(kScratchWindow >> 32);
  wave_->set_exec(~0u);
}

std::string RowHost::run(const Backend& backend, const std::vector<uint32_t>& words) {
  Inst inst;
  if (decode(words.data(), words.size(), 0x1000, inst) != DecodeStatus::kOk)
    return "does not decode";
  if (inst.size_bytes() != 4 * words.size()) return "decodes to another size";
  const Handler handler = backend.bind(inst);
  if (handler == nullptr) return "not supported";
  const Inst* next = handler(*wave_, &inst);
  if (next == nullptr && wave_->exit == WaveExit::kClock) {  // as the run loop does
    wave_->clock_now = ++wave_->clock;
    next = handler(*wave_, &inst);
  }
  if (next == nullptr && wave_->exit == WaveExit::kFault)
    return std::string("fault: ") +
           (wave_->fault.detail != nullptr ? wave_->fault.detail : "memory");
  if (next != inst.next()) return "did not go on to the next instruction";
  for (unsigned l = 0; l < kLanes; ++l)
    if (wave_->exec_mask.lane[l] != 0u - (wave_->exec() >> l & 1u))
      return "EXEC and its lane mask differ";
  return "";
}

}  // namespace testing
}  // namespace gfxgraph::emulator
