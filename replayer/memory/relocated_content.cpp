#include "replayer/memory/relocated_content.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace gfxgraph::replayer {
namespace {

constexpr uint64_t kPieceBytes = UINT64_C(1) << 20;

class Relocator {
 public:
  Relocator(const AddressMap& addresses, const std::vector<format::Relocation>& words,
            const format::Trace::Visitor& visit)
      : addresses_(addresses), words_(words), visit_(visit) {}

  // In order, without gaps.
  Result<void> add(uint64_t offset, std::span<const std::byte> bytes) {
    const uint64_t begin = offset - moved_.size();
    const uint64_t end = offset + bytes.size();
    moved_.insert(moved_.end(), bytes.begin(), bytes.end());
    inside_.clear();
    for (; next_ < words_.size() && words_[next_].offset_bytes + sizeof(uint64_t) <= end; ++next_) {
      inside_.push_back(words_[next_]);
      inside_.back().offset_bytes -= begin;
    }
    GFXGRAPH_TRY(addresses_.apply(moved_, inside_, "pointers"));
    // A word whose remaining bytes come with the next piece.
    uint64_t whole = end;
    if (next_ < words_.size()) whole = std::min(whole, words_[next_].offset_bytes);
    const auto size = static_cast<ptrdiff_t>(whole - begin);
    GFXGRAPH_TRY(visit_(begin, std::span(moved_).first(static_cast<size_t>(size))));
    moved_.erase(moved_.begin(), moved_.begin() + size);
    return {};
  }

  // Behind the last bytes, which end at `end`.
  Result<void> finish(uint64_t end) const {
    if (next_ == words_.size()) return {};
    return fail(Status::kCorrupt,
                fmt::format("relocation at byte {} of {}", words_[next_].offset_bytes, end));
  }

 private:
  const AddressMap& addresses_;
  const std::vector<format::Relocation>& words_;
  const format::Trace::Visitor& visit_;
  size_t next_ = 0;               // word
  std::vector<std::byte> moved_;  // between two calls: of the word at `next_`, less than all of it
  std::vector<format::Relocation> inside_;
};

}  // namespace

Result<void> visit_relocated(const format::Trace& trace, const format::Content& content,
                             const AddressMap& addresses, const std::string& where,
                             const format::Trace::Visitor& visit) {
  Relocator relocator(addresses, content.relocations, visit);
  uint64_t end = 0;
  const auto take = [&](uint64_t offset, std::span<const std::byte> bytes) -> Result<void> {
    end = offset + bytes.size();
    if (content.relocations.empty()) return visit(offset, bytes);
    for (uint64_t at = 0; at < bytes.size(); at += kPieceBytes) {
      const uint64_t size = std::min<uint64_t>(kPieceBytes, bytes.size() - at);
      GFXGRAPH_TRY(relocator.add(offset + at, bytes.subspan(at, size)));
    }
    return {};
  };
  Result<void> done = trace.visit_content(content, take);
  if (done) done = relocator.finish(end);
  return done ? done : with_context(std::move(done).error(), where);
}

}  // namespace gfxgraph::replayer
