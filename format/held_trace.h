// A trace that stays in memory: what a Writer keeps where there is no file, and what readers of the
// same process read (Trace::of). Every item has passed the writer's checks, which are those of a
// reader, so nothing is checked again, and nothing is packed.
//
// Two libraries of one build may share one (base/live/captures.h): who made it changes it no more,
// and destroys it; the other one only looks. held_layout() tells them that they are of one build.
// Internal to format/, but for the name of the type.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "format/container/container.h"
#include "format/trace.h"

namespace gfxgraph::format {

// Keeps copies of small arrays, which never move.
class KeptArrays {
 public:
  template <typename T>
  const T* keep(const std::vector<T>& items) {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= kAlignment);
    const size_t bytes = items.size() * sizeof(T);
    return bytes == 0 ? nullptr : static_cast<const T*>(copy(items.data(), bytes));
  }

 private:
  static constexpr size_t kAlignment = 8;
  static constexpr size_t kBlockBytes = 64u << 10;  // malloc maps pages for larger ones
  const void* copy(const void* bytes, size_t size);

  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  std::span<std::byte> room_;  // what is left of the last one
};

// An event with a Launch, without vectors of its own: a step has thousands of them.
struct HeldLaunch {
  uint64_t sequence = 0;
  uint64_t time_ns = 0;
  const uint8_t* kernarg = nullptr;
  const Relocation* relocations = nullptr;
  uint32_t kernarg_bytes = 0;
  uint32_t relocation_count = 0;
  uint32_t thread = 0;
  SiteId site = 0;
  KernelId kernel = 0;
  StreamId stream = 0;
  std::array<uint32_t, 3> grid = {1, 1, 1};
  std::array<uint32_t, 3> grid_remainder = {0, 0, 0};
  std::array<uint32_t, 3> block = {1, 1, 1};
  uint32_t dynamic_lds_bytes = 0;
  bool cooperative = false;

  // Makes `event` this one; memory that its vectors have is used again.
  void put_into(Event& event) const;
};

// As its record in a file: the header, then what is stored.
struct HeldBlob {
  BlobHeader header;
  std::vector<std::byte> record;
  [[nodiscard]] std::span<const std::byte> stored() const {
    return std::span(record).subspan(kBlobHeaderBytes);
  }
};

struct HeldTrace {
  Environment environment;
  std::vector<CodeObject> code_objects;
  std::vector<Kernel> kernels;
  std::vector<Graph> graphs;
  std::vector<uint64_t> events_before_graphs;  // by graph: how many events were kept before it
  std::vector<Site> sites;
  std::vector<Device> devices;
  std::vector<Finding> findings;
  std::vector<HeldLaunch> launches;  // these two in order, each by rising sequence
  std::vector<Event> events;         // all others
  std::vector<HeldBlob> blobs;       // chunks before their lists
  Statistics statistics;

  // May throw std::bad_alloc. Of a launch only a copy is kept; other events are moved from.
  void keep(const Environment& item) { environment = item; }
  void keep(const CodeObject& item) { code_objects.push_back(item); }
  void keep(const Kernel& item) { kernels.push_back(item); }
  void keep(const Graph& item);
  void keep(const Site& item) { sites.push_back(item); }
  void keep(const Device& item) { devices.push_back(item); }
  void keep(const Finding& item) { findings.push_back(item); }
  void keep(Event& event);
  void keep(const BlobHeader& header, std::span<const std::byte> stored);

 private:
  KeptArrays arrays_;
};

// Names the layout of HeldTrace and of all that is in it, as this library was built. Static text.
const char* held_layout() noexcept;

}  // namespace gfxgraph::format
