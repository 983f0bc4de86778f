// Converts FlatBuffers payloads to trace.h structs. Internal to format/ and its tests; exposes no
// FlatBuffers types. Every function first runs the FlatBuffers verifier; the caller must have
// checked the payload's hash. Errors are kCorrupt, or kVersion for enum and union members of a
// newer gfxgraph.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "format/provenance.h"
#include "format/trace.h"

namespace gfxgraph::format {

Result<Environment> unpack_environment(std::span<const std::byte> payload);
Result<CodeObject> unpack_code_object(std::span<const std::byte> payload);
Result<Kernel> unpack_kernel(std::span<const std::byte> payload);
Result<Graph> unpack_graph(std::span<const std::byte> payload);
Result<Finding> unpack_finding(std::span<const std::byte> payload);
Result<Site> unpack_site(std::span<const std::byte> payload);
Result<Device> unpack_device(std::span<const std::byte> payload);
Result<std::vector<KnownWords>> unpack_provenance(std::span<const std::byte> payload);
// The events have their sequence numbers.
Result<std::vector<Event>> unpack_events(std::span<const std::byte> payload);

struct Summary {
  Statistics statistics;
  uint64_t graphs = 0;
  uint64_t findings = 0;
  uint64_t index_offset = 0;  // 0: none
};
Result<Summary> unpack_summary(std::span<const std::byte> payload);

}  // namespace gfxgraph::format
