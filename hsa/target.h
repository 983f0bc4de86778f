// The GPU that the agent describes: gfx1030, which the emulator executes, or the target that
// $GFXGRAPH_NULL_DEVICE names, of which no kernel is executed (targets.inc has their properties).
#pragma once

#include <hsa/hsa.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace gfxgraph::hsa {

struct TargetRow {
  std::string_view processor;  // "gfx90a"
  uint32_t wavefront;          // lanes
  uint32_t simds;              // of a compute unit
  uint32_t waves;              // of a compute unit
  uint32_t compute_units;
  uint32_t lds_kib;  // most for a workgroup
  uint32_t xccs;
  bool images;
  std::string_view features;  // ":sramecc+:xnack-", "" for none
};

// Code that a GPU runs. The generic target that covers it has a row of its own.
struct IsaRow {
  hsa_isa_t isa;
  std::string name;  // "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-"
};

enum class Execution : uint8_t {
  kEmulated,  // $GFXGRAPH_NULL_DEVICE unset, empty or 0
  kNone,      // 1: no kernel, not even HIP's own
  kCopies,    // a target: HIP's own fills and copies, carried out by the host (host_kernels.h)
};

class Target {
 public:
  // "gfx90a", "gfx90a:xnack+", or a generic target, which is taken as a member of its family. Error
  // if there is no such target, or it has no such feature.
  static Result<Target> parse(std::string_view name);

  const TargetRow& row() const { return *row_; }
  const std::string& features() const { return features_; }
  std::string name() const { return std::string(row_->processor) + features_; }
  // What it executes, the best first; one or two.
  std::span<const IsaRow> isas() const { return {isas_, isa_count_}; }

 private:
  const TargetRow* row_ = nullptr;
  std::string features_;
  IsaRow isas_[2];
  size_t isa_count_ = 0;
};

// Both are read at first use and never change. target(): gfx1030 if the variable names no target,
// or an unknown one, which hsa_init rejects (target_error()).
const Target& target();
Execution execution() noexcept;
// Why $GFXGRAPH_NULL_DEVICE cannot be followed; success if it can.
const Result<void>& target_error();

}  // namespace gfxgraph::hsa
