#include "format/codec/unpack_internal.h"

namespace gfxgraph::format {
bool Unpacker::spend(uint64_t bytes) {
  if (failed()) return false;
  if (bytes > budget_) {
    refuse(Status::kCorrupt, "the payload refers to the same bytes more than once");
    return false;
  }
  budget_ -= bytes;
  return true;
}

void Unpacker::refuse(Status status, std::string message) {
  if (!error_) error_ = Error{status, std::move(message)};
}

std::string Unpacker::text(const flatbuffers::String* from) {
  if (from == nullptr || !spend(from->size())) return {};
  return from->str();
}

std::vector<std::string> Unpacker::texts(
    const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>* from) {
  std::vector<std::string> all;
  if (from == nullptr || !spend(uint64_t{from->size()} * kTableBytes)) return all;
  all.reserve(from->size());
  for (const flatbuffers::String* one : *from) all.push_back(text(one));
  return all;
}

std::vector<Relocation> Unpacker::relocations(const fbs::Relocations* from) {
  if (from == nullptr) return {};
  const auto* offsets = from->offset_bytes();
  const auto* allocations = from->allocation();
  const auto* addends = from->addend();
  const auto* sources = from->source();
  const auto* ambiguous = from->ambiguous();
  const size_t count = offsets != nullptr ? offsets->size() : 0;
  const auto has_count = [count](const auto* column) {
    return (column != nullptr ? column->size() : 0) == count;
  };
  if (!has_count(allocations) || !has_count(addends) || !has_count(sources) ||
      !has_count(ambiguous)) {
    refuse(Status::kCorrupt, "relocations: columns of different length");
    return {};
  }
  if (count == 0 || !spend(uint64_t{count} * 22)) return {};
  // The FlatBuffers verifier checks only the alignment of a vector's length.
  const auto misaligned = [](const auto* column) {
    return reinterpret_cast<uintptr_t>(column->Data()) % alignof(uint64_t) != 0;
  };
  if (misaligned(offsets) || misaligned(addends)) {
    refuse(Status::kCorrupt, "relocations: a column of 64-bit numbers is not aligned");
    return {};
  }
  std::vector<Relocation> all(count);
  for (flatbuffers::uoffset_t i = 0; i < count; ++i) {
    if (ambiguous->Get(i) > 1) {
      refuse(Status::kCorrupt, "relocations: a boolean is neither 0 nor 1");
    }
    const uint8_t source = sources->Get(i);
    const bool outside = (source & kOutsideSource) != 0;
    all[i] = {offsets->Get(i),
              allocations->Get(i),
              static_cast<int64_t>(addends->Get(i)),
              member(static_cast<uint8_t>(outside ? source - kOutsideSource : source),
                     RelocationSource::kMatched, "relocation source"),
              ambiguous->Get(i) != 0,
              outside};
  }
  return all;
}

Content Unpacker::content(const fbs::Content* from) {
  Content to;
  if (from == nullptr) return to;
  to.size_bytes = from->size_bytes();
  to.blob = {from->blob_low(), from->blob_high()};
  to.fill = from->fill();
  to.hash = {from->hash_low(), from->hash_high()};
  to.stored = from->stored();
  to.relocations = relocations(from->relocations());
  to.unwritten = from->unwritten();
  return to;
}

CopyEnd Unpacker::copy_end(const fbs::CopyEnd* from, const char* what) {
  if (from == nullptr) {
    refuse(Status::kCorrupt, fmt::format("copy: has no {}", what));
    return {};
  }
  return {from->allocation(), from->offset_bytes(), from->pitch_bytes(), from->slice_bytes()};
}

Launch Unpacker::action(const fbs::Launch& from) {
  Launch to;
  to.kernel = from.kernel();
  to.stream = from.stream();
  to.grid = {from.grid_x(), from.grid_y(), from.grid_z()};
  to.grid_remainder = {from.remainder_x(), from.remainder_y(), from.remainder_z()};
  to.block = {from.block_x(), from.block_y(), from.block_z()};
  to.dynamic_lds_bytes = from.dynamic_lds_bytes();
  to.cooperative = from.cooperative();
  to.kernarg = numbers(from.kernarg());
  to.relocations = relocations(from.relocations());
  return to;
}

Copy Unpacker::action(const fbs::Copy& from) {
  Copy to;
  to.destination = copy_end(from.destination(), "destination");
  to.source = copy_end(from.source(), "source");
  to.width_bytes = from.width_bytes();
  to.height = from.height();
  to.depth = from.depth();
  to.host_source = content(from.host_source());
  to.host_result = content(from.host_result());
  to.asynchronous = from.asynchronous();
  to.stream = from.stream();
  to.source_is_pinned = from.source_is_pinned();
  return to;
}

Memset Unpacker::action(const fbs::Memset& from) {
  Memset to;
  to.allocation = from.allocation();
  to.offset_bytes = from.offset_bytes();
  to.pitch_bytes = from.pitch_bytes();
  to.slice_bytes = from.slice_bytes();
  to.element_bytes = from.element_bytes();
  to.value = from.value();
  to.width_elements = from.width_elements();
  to.height = from.height();
  to.depth = from.depth();
  to.asynchronous = from.asynchronous();
  to.stream = from.stream();
  return to;
}

HostFunction Unpacker::action(const fbs::HostFunction& from) {
  return {from.stream(), text(from.call()), from.id()};
}

}  // namespace gfxgraph::format
