// A Trace put together by hand, for tests of what reads traces.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "format/read/reader.h"

namespace gfxgraph::format::testing {

class FakeTrace : public format::Trace {
 public:
  const format::Environment& environment() const override { return environment_; }
  const std::vector<format::CodeObject>& code_objects() const override { return code_objects_; }
  const std::vector<format::Kernel>& kernels() const override { return kernels_; }
  const std::vector<format::Graph>& graphs() const override { return graphs_; }
  const std::vector<format::Site>& sites() const override { return sites_; }
  const std::vector<format::Event>& events() const override { return events_; }
  const std::vector<format::Finding>& findings() const override { return findings_; }
  const format::Statistics& statistics() const override { return statistics_; }
  bool sealed() const override { return true; }
  const std::string& torn_reason() const override { return torn_reason_; }
  bool complete() const override { return findings_.empty(); }
  Result<void> read_blob(format::BlobId, std::span<std::byte>) const override {
    return fail(Status::kNotFound, "no blobs");
  }
  Result<std::span<const std::byte>> blob(format::BlobId) const override {
    return fail(Status::kNotFound, "no blobs here");
  }
  Result<std::vector<std::byte>> content(const format::Content&) const override {
    return fail(Status::kNotFound, "no contents here");
  }

  Result<void> visit_content(const format::Content&, const Visitor&) const override {
    return fail(Status::kNotFound, "no contents here");
  }

  void add(format::Action action, uint32_t thread = 0) {
    const uint64_t sequence = events_.size();
    events_.push_back({sequence, thread, 1000 + sequence * 10, std::move(action)});
  }

  format::Environment environment_;
  std::vector<format::CodeObject> code_objects_;
  std::vector<format::Kernel> kernels_;
  std::vector<format::Graph> graphs_;
  std::vector<format::Site> sites_;
  std::vector<format::Event> events_;
  std::vector<format::Finding> findings_;
  format::Statistics statistics_;
  std::string torn_reason_;
};

}  // namespace gfxgraph::format::testing
