// What traces of all sources have in common: their blobs. Internal to format/.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "format/held_trace.h"
#include "format/read/blob_store.h"
#include "format/read/loader.h"
#include "format/read/reader.h"

namespace gfxgraph::format {

class StoredTrace : public Trace {
 public:
  bool complete() const override;
  Result<std::span<const std::byte>> blob(BlobId id) const override;
  Result<void> read_blob(BlobId id, std::span<std::byte> out) const override;
  Result<std::vector<std::byte>> content(const Content& content) const override;
  Result<void> visit_content(const Content& given, const Visitor& visit) const override;
  uint64_t nonzero_bytes(const Content& content) const override;
  Result<void> check_blobs(std::span<const BlobId> ids) const override;
  ReadCounts read_counts() const override { return blobs_.counts(); }

 protected:
  // As BlobStore takes them. The bytes of the table's blobs must outlive this.
  StoredTrace(BlobTable table, std::string name, uint64_t limit_bytes)
      : table_(std::move(table)), blobs_(table_, std::move(name), limit_bytes) {}
  const BlobTable& table() const { return table_; }

 private:
  const BlobTable table_;
  BlobStore blobs_;
};

// Reads items where they are. May throw std::bad_alloc.
std::shared_ptr<const Trace> open_held(std::shared_ptr<const HeldTrace> held);

}  // namespace gfxgraph::format
