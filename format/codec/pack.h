// Converts trace.h structs to FlatBuffers payloads. Internal to format/ and its tests; exposes no
// FlatBuffers types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "format/provenance.h"
#include "format/trace.h"

namespace gfxgraph::format {

// Reuses its memory between payloads. Not thread-safe. A result is valid until the next call. A
// payload must not exceed kMaxStructuredBytes: check packed_bytes_bound() first. May throw
// std::bad_alloc.
class Packer {
 public:
  Packer();
  ~Packer();
  Packer(Packer&&) noexcept;
  Packer& operator=(Packer&&) noexcept;

  std::span<const std::byte> pack(const Environment& environment);
  std::span<const std::byte> pack(const CodeObject& code_object);
  std::span<const std::byte> pack(const Kernel& kernel);
  std::span<const std::byte> pack(const Graph& graph);
  std::span<const std::byte> pack(const Finding& finding);
  std::span<const std::byte> pack(const Site& site);
  std::span<const std::byte> pack(const Device& device);
  std::span<const std::byte> pack_provenance(std::span<const KnownWords> places);
  // `events` must not be empty, and their sequence numbers must be consecutive.
  std::span<const std::byte> pack(std::span<const Event> events);
  std::span<const std::byte> pack_summary(const Statistics& statistics, uint64_t graphs,
                                          uint64_t findings, uint64_t index_offset = 0);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// A lower bound of the item's size in a payload, computed without packing it.
uint64_t packed_bytes_bound(const Event& event);
uint64_t packed_bytes_bound(const Graph& graph);
uint64_t packed_bytes_bound(const Environment& environment);
uint64_t packed_bytes_bound(const Kernel& kernel);

}  // namespace gfxgraph::format
