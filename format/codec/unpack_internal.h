// Shared by unpack_*.cpp.
#pragma once

#include <flatbuffers/flatbuffers.h>
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "format/codec/outside_source.h"
#include "format/codec/unpack.h"
#include "format/container/container.h"
#include "format/trace_generated.h"

namespace gfxgraph::format {

// Converts tables. Keeps the first error; results after an error must not be used.
//
// In a FlatBuffer many offsets may refer to the same part, so a small payload that passes the
// verifier could expand to gigabytes. The sum of all copied bytes therefore must not exceed the
// payload.
class Unpacker {
 public:
  explicit Unpacker(size_t payload_bytes) : budget_(payload_bytes) {}

  std::string text(const flatbuffers::String* from);
  std::vector<std::string> texts(
      const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>* from);
  template <typename T>
  std::vector<T> numbers(const flatbuffers::Vector<T>* from) {
    if (from == nullptr || !spend(uint64_t{from->size()} * sizeof(T))) return {};
    return {from->begin(), from->end()};
  }
  std::vector<Relocation> relocations(const fbs::Relocations* from);
  Content content(const fbs::Content* from);
  CopyEnd copy_end(const fbs::CopyEnd* from, const char* what);
  // images.cpp
  TexelFormat texel_format(const fbs::TexelFormat* from, const char* what);
  std::shared_ptr<const ArrayShape> array(const fbs::ArrayShape& from);
  std::shared_ptr<const ImageObject> object(const fbs::ImageObject& from);

  Launch action(const fbs::Launch& from);
  Copy action(const fbs::Copy& from);
  Memset action(const fbs::Memset& from);
  HostFunction action(const fbs::HostFunction& from);

  // Converts `raw` to E, whose last member is `last`; a larger value is kVersion.
  template <typename E, typename Raw>
  E member(Raw raw, E last, const char* what) {
    if (static_cast<uint64_t>(raw) > static_cast<uint64_t>(last)) {
      refuse(Status::kVersion,
             fmt::format("{} {} is unknown: the trace was made by a newer gfxgraph", what,
                         static_cast<uint64_t>(raw)));
      return E{};
    }
    return static_cast<E>(raw);
  }

  // The minimum size of a table in a vector.
  static constexpr uint64_t kTableBytes = 8;
  bool spend(uint64_t bytes);
  void refuse(Status status, std::string message);
  [[nodiscard]] bool failed() const { return error_.has_value(); }
  [[nodiscard]] Error& error() { return *error_; }

 private:
  uint64_t budget_;
  std::optional<Error> error_;
};

// Runs the verifier and returns the root table, which is borrowed from the payload.
template <typename Table>
Result<const Table*> verified_root(std::span<const std::byte> payload, const char* what) {
  if (payload.size() > kMaxStructuredBytes) {
    return fail(Status::kCorrupt,
                fmt::format("{}: payload of {} bytes is larger than the limit of {}", what,
                            payload.size(), kMaxStructuredBytes));
  }
  const uint8_t* bytes = reinterpret_cast<const uint8_t*>(payload.data());
  constexpr flatbuffers::uoffset_t kMaxDepth = 16;
  // Every table that is not shared takes at least 8 bytes: itself, and an offset to it.
  const auto max_tables = static_cast<flatbuffers::uoffset_t>(payload.size() / 8 + 1);
  flatbuffers::Verifier verifier(bytes, payload.size(), kMaxDepth, max_tables);
  // The verifier asserts, rather than checks, that there is room for the root offset.
  if (payload.size() < 8 || !verifier.VerifyBuffer<Table>(nullptr)) {
    return fail(Status::kCorrupt, fmt::format("{}: payload is not a valid FlatBuffer", what));
  }
  return flatbuffers::GetRoot<Table>(bytes);
}

}  // namespace gfxgraph::format
