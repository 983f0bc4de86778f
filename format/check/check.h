// Checks what a trace means, beyond its structure: ids exist and are in order, ranges lie within
// their containers, enum values are known. Writer and reader share this checker, so a trace that
// was written can be read. Internal to format/ and its tests.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/hash.h"
#include "base/result.h"
#include "format/box.h"
#include "format/container/chunks.h"
#include "format/provenance.h"
#include "format/trace.h"

namespace gfxgraph::format {

struct BlobIdHash {
  // Ids are hashes already, but of an untrusted file: hash them again with a secret.
  size_t operator()(const BlobId& id) const noexcept {
    return SeededHash{}(id.low ^ mix(id.high ^ process_secret()));
  }
};

struct KnownBlob {
  uint64_t size_bytes = 0;
  bool is_list = false;
};
// Source of blobs that are not added with add_blob().
class BlobDirectory {
 public:
  virtual ~BlobDirectory() = default;
  // The blob, if its record comes before the one being checked.
  [[nodiscard]] virtual std::optional<KnownBlob> known(BlobId id) const = 0;
};

// Receives all items in file order. A rejected item changes nothing. Not thread-safe. Errors are
// kCorrupt and begin with the item: "launch: kernel 7 does not exist". May throw std::bad_alloc.
class Checker {
 public:
  // `directory` must outlive the checker; null: all blobs are added with add_blob().
  explicit Checker(const BlobDirectory* directory = nullptr) : directory_(directory) {}
  Checker(const Checker&) = delete;
  Checker& operator=(const Checker&) = delete;
  Result<void> add(const Environment& environment);
  Result<void> add_blob(BlobId id, uint64_t size_bytes);
  // The chunks must have been added, have the size that their place requires, and not be lists.
  Result<void> add_chunk_list(BlobId id, const ChunkListView& list);
  Result<void> add(const CodeObject& code_object);
  Result<void> add(const Kernel& kernel);
  Result<void> add(const Graph& graph);
  Result<void> add(const Finding& finding);
  Result<void> add(const Site& site);
  Result<void> add(const Device& device);
  Result<void> add(const KnownWords& known);
  Result<void> add(const Event& event);  // event.sequence: the number of events before

  [[nodiscard]] bool has_blob(BlobId id) const { return find_blob(id).has_value(); }

 private:
  friend class EventChecker;
  struct Allocation {
    uint64_t limit_bytes = 0;  // the larger of requested and mapped bytes
    bool ended = false;
    std::shared_ptr<const ArrayShape> array = nullptr;  // null: no array
    bool object = false;                                // a texture or surface
  };

  [[nodiscard]] std::optional<KnownBlob> find_blob(BlobId id) const;
  // Null: it has not begun. Each launch asks for the same few.
  [[nodiscard]] const Allocation* find_allocation(AllocationId id) const {
    Recent& recent = recent_[id % recent_.size()];
    if (recent.allocation != nullptr && recent.id == id) [[likely]]
      return recent.allocation;
    const auto found = allocations_.find(id);
    if (found == allocations_.end()) return nullptr;
    recent = {id, &found->second};
    return recent.allocation;
  }

  // check_memory.cpp
  Result<void> check_content(const Content& content, const char* what) const;
  Result<void> check_unwritten(const AllocationBegin& begin) const;
  Result<void> check_relocations(const std::vector<Relocation>& relocations, uint64_t size_bytes,
                                 const char* what) const;
  Result<void> check_range(AllocationId id, uint64_t offset, uint64_t size, const char* what) const;
  Result<void> check_box(AllocationId id, uint64_t offset, const Box& box, const char* what) const;
  Result<uint64_t> allocation_limit(AllocationId id, const char* what) const;
  Result<void> check(const Copy& copy) const;
  Result<void> check(const Memset& memset) const;

  // check_images.cpp
  Result<void> check_image(const AllocationBegin& begin) const;
  Result<void> check_array(const AllocationBegin& begin) const;
  Result<void> check_object(const AllocationBegin& begin) const;
  Result<void> check_array_box(const ArrayShape& array, uint64_t offset, const Box& box,
                               const char* what) const;
  Result<void> check_copy_end(const Copy& copy, const CopyEnd& end, const char* what) const;
  // Rejects arrays, textures and surfaces.
  Result<void> check_memory(AllocationId id, const char* what) const;
  // The relocation's allocation must have begun.
  Result<void> check_target(const Relocation& relocation, const char* what) const;

  // check_events.cpp
  Result<void> check(const Launch& launch) const;
  Result<void> check(const HostFunction& function) const;
  Result<void> check_stream(StreamId id, const char* what) const;
  Result<void> check_site(SiteId id, const char* what) const;
  // check_devices.cpp
  Result<void> check_device(DeviceNumber device, const char* what) const;
  Result<void> check_device(const Launch& launch) const;
  [[nodiscard]] DeviceNumber device_of(StreamId stream) const;
  [[nodiscard]] bool is_null_stream(StreamId id) const;
  Result<void> check_event_id(EventId id, const char* what) const;

  bool has_environment_ = false;
  const BlobDirectory* directory_;
  std::unordered_map<BlobId, KnownBlob, BlobIdHash> blobs_;
  uint32_t code_objects_ = 0;
  std::vector<uint32_t> kernel_explicit_bytes_;
  std::vector<uint32_t> graph_nodes_;  // node counts, by graph
  WordPlace last_known_;
  bool has_known_ = false;
  uint32_t graphs_ = 0;
  std::vector<StreamId> null_streams_ = {0};  // by device; 0 for a device other than 0: unknown
  std::unordered_map<StreamId, DeviceNumber, SeededHash>
      stream_devices_;                          // without those of device 0
  std::vector<DeviceNumber> code_devices_;      // by code object
  std::vector<DeviceNumber> kernel_devices_;    // by kernel
  std::vector<bool> site_is_line_;              // by id - 1
  std::vector<CodeObjectId> code_images_;       // CodeObject::image_of, by code object
  std::vector<uint32_t> graph_host_functions_;  // number of such nodes, by graph
  HostFunctionId last_host_function_ = 0;
  RangeId last_range_ = 0;
  std::unordered_set<RangeId, SeededHash> open_ranges_;
  uint64_t events_ = 0;
  std::unordered_map<AllocationId, Allocation, SeededHash> allocations_;
  struct Recent {
    AllocationId id = 0;
    const Allocation* allocation = nullptr;  // stays where it is
  };
  mutable std::array<Recent, 64> recent_;
  std::unordered_map<StreamId, bool, SeededHash> streams_;  // id -> destroyed
  std::unordered_map<EventId, bool, SeededHash> hip_events_;
};

// Brings an item into the form that is stored: relocations sorted by offset, memset values
// truncated to their element size.
void normalize(Event& event);
void normalize(Graph& graph);

}  // namespace gfxgraph::format
