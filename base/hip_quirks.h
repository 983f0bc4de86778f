// Defects of HIP runtimes that gfxgraph works around: one table (hip_quirks.inc), read by recorder
// and replayer. Constants only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace gfxgraph {

enum class HipQuirk : uint8_t {
#define GFXGRAPH_HIP_QUIRK(name, ...) name,
#include "base/hip_quirks.inc"
#undef GFXGRAPH_HIP_QUIRK
};

// from <= version < until, as hipRuntimeGetVersion counts.
struct HipVersionRange {
  int from = 0;
  int until = 0;
  constexpr bool contains(int version) const { return version >= from && version < until; }
};

struct HipQuirkRow {
  HipQuirk quirk;
  const char* name;
  HipVersionRange seen;
  HipVersionRange avoided;
  const char* where;
  const char* defect;
  const char* measure;
  const char* test;
};

// Index = the quirk's value.
inline constexpr std::array kHipQuirks = {
#define GFXGRAPH_HIP_QUIRK(name, seen_from, seen_until, avoided_from, avoided_until, where, \
                           defect, measure, test)                                           \
  HipQuirkRow{HipQuirk::name,                                                               \
              #name,                                                                        \
              {seen_from, seen_until},                                                      \
              {avoided_from, avoided_until},                                                \
              where,                                                                        \
              defect,                                                                       \
              measure,                                                                      \
              test},
#include "base/hip_quirks.inc"
#undef GFXGRAPH_HIP_QUIRK
};

// Whether this runtime is known to have the defect: determines the contents of its recordings.
constexpr bool hip_quirk_seen(HipQuirk quirk, int runtime_version) {
  return kHipQuirks[static_cast<size_t>(quirk)].seen.contains(runtime_version);
}
// Whether a replay avoids it on this runtime.
constexpr bool hip_quirk_avoided(HipQuirk quirk, int runtime_version) {
  return kHipQuirks[static_cast<size_t>(quirk)].avoided.contains(runtime_version);
}

// From this version on (ROCm 10.0, by its published notes), hipStreamWriteValue32,
// hipStreamWaitValue32 and related calls on a capturing stream become nodes:
// kStreamValueNotCaptured is over. No such runtime was at hand.
inline constexpr int kStreamValueNodesFrom = 71500000;

// kDeepGraphOverflowsStack: nodes in one graph, unless --graph-max-nodes is given. The runtimes
// recurse over a chain, 130 to 250 bytes of stack per node: 5.2.3 and 6.4.3 handle 4,096 nodes in 1
// MiB, 5.2.3 handles 16,384 in 8 MiB but not in 2 MiB, and 60,000 in neither.
inline constexpr uint32_t kMaxGraphNodes = 4096;

}  // namespace gfxgraph
