// Which earlier work each piece of work of a trace needs, by proof: made by a tool that can analyse
// code (footprint/needed_order.h), used by a replay, which cannot. What is not named here needs no
// order, so a replay believes such a file as much as its trace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "format/trace.h"

namespace gfxgraph::order {

struct NeededEdges {
  format::BlobId trace;  // replayer::identity_of() its program
  // By work, in the order of issue, nodes of graphs at each launch.
  std::vector<uint64_t> ends;     // where its part of `needs` ends
  std::vector<uint32_t> needs;    // earlier work, rising
  std::vector<uint8_t> anything;  // 1: it may access anything, and is ordered with all
  // Bytes of a launch's arguments for which the proof holds whatever they are. By work.
  struct Open {
    uint32_t work = 0, offset_bytes = 0, size_bytes = 0;
    bool operator==(const Open&) const = default;
  };
  std::vector<Open> open;

  size_t work() const { return ends.size(); }
  std::span<const uint32_t> of(size_t work) const {
    const uint64_t begin = work == 0 ? 0 : ends[work - 1];
    return std::span(needs).subspan(begin, ends[work] - begin);
  }
  void add(std::span<const uint32_t> earlier, bool may_access_anything);
};

// The bytes of a file: docs/production/order.md has its form.
std::vector<std::byte> to_bytes(const NeededEdges& edges);
// kVersion: of another gfxgraph; kCorrupt: damaged.
Result<NeededEdges> read_needed_edges(std::span<const std::byte> bytes);

}  // namespace gfxgraph::order
