#include "check/memory/images.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "check/memory/image_words.h"

namespace gfxgraph::check {

Result<const format::AllocationBegin*> Images::placed(const format::AllocationBegin& begin,
                                                      format::AllocationBegin& room) {
  if (!begin.array) return &begin;
  GFXGRAPH_ASSIGN_OR_RETURN(const ArrayLayout layout, ArrayLayout::of(*begin.array));
  GFXGRAPH_ASSIGN_OR_RETURN(const uint64_t address, memory_.choose_address(layout.bytes()));
  arrays_[begin.id] = {begin.array, layout};
  room = begin;
  room.recorded_address = address;
  room.size_bytes = layout.bytes();
  return &room;
}

const ArrayLayout* Images::layout(format::AllocationId id) const {
  const auto found = arrays_.find(id);
  return found == arrays_.end() ? nullptr : &found->second.layout;
}

const format::Copy& Images::placed(const format::Copy& copy, format::Copy& room) const {
  const ArrayLayout* const to = layout(copy.destination.allocation);
  const ArrayLayout* const from = layout(copy.source.allocation);
  if (to == nullptr && from == nullptr) return copy;
  room = copy;
  const auto place = [](const ArrayLayout* array, format::CopyEnd& end) {
    if (array == nullptr) return;
    end.offset_bytes = array->offset(end.offset_bytes);
    end.pitch_bytes = array->pitch_bytes;
    end.slice_bytes = array->slice_bytes();
  };
  place(to, room.destination);
  place(from, room.source);
  return room;
}

Result<void> Images::describe(const format::AllocationBegin& begin) {
  ImageSource source;
  const std::optional<uint64_t> address = memory_.address_of(begin.object->allocation);
  const auto array = arrays_.find(begin.object->allocation);
  if (array != arrays_.end()) source.array = array->second.shape.get();
  const bool of_array = begin.object->resource == format::ImageResource::kArray;
  if (!address || of_array != (source.array != nullptr)) {
    undescribed_[begin.id] = "its memory was freed";
    return {};
  }
  source.address = *address;
  const Result<std::vector<uint32_t>> words =
      image_words(begin, source, trace_.environment().hip_runtime_version);
  if (!words) {
    undescribed_[begin.id] = words.error().message;
    return {};
  }
  GFXGRAPH_ASSIGN_OR_RETURN(const std::span<std::byte> bytes,
                            memory_.bytes(begin.id, 0, words->size() * sizeof(uint32_t)));
  std::memcpy(bytes.data(), words->data(), bytes.size());
  return {};
}

Images::Undescribed::const_iterator Images::first_of(
    const std::vector<format::Relocation>& words) const {
  if (undescribed_.empty()) return undescribed_.end();
  for (const format::Relocation& word : words) {
    const auto found = undescribed_.find(word.allocation);
    if (found != undescribed_.end()) return found;
  }
  return undescribed_.end();
}

std::string Images::text(Undescribed::const_iterator object) const {
  return fmt::format("texture or surface #{}, which the check does not support: {}", object->first,
                     object->second);
}

void Images::look(const std::vector<format::Relocation>& words) {
  if (!in_memory_.empty()) return;
  const auto found = first_of(words);
  if (found != undescribed_.end()) in_memory_ = text(found);
}

std::optional<std::string> Images::refuses(const format::Launch& launch) const {
  const auto found = first_of(launch.relocations);
  if (found != undescribed_.end()) return "it is passed " + text(found);
  if (in_memory_.empty()) return std::nullopt;
  return "memory holds " + in_memory_;
}

}  // namespace gfxgraph::check
