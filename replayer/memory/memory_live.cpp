// Memory of the program in place (SessionOptions::live).
#include <fmt/format.h>

#include <optional>

#include "replayer/memory/memory.h"

namespace gfxgraph::replayer {
namespace {

// What the program has now.
std::optional<live::Place> place_of(const live::Objects& objects, format::AllocationId id) {
  const live::Place place = objects.place(objects.self, id);
  if (place.device == nullptr && place.host == nullptr && place.array == nullptr)
    return std::nullopt;
  return place;
}

// It began with bytes that nobody had written, and ended: no byte of it came in or went out. A
// texture or surface has none.
bool lived_inside(const AllocationInfo& info) {
  return info.end != nullptr && info.end->freed &&
         (info.begin->initial.unwritten || info.begin->object);
}

}  // namespace

bool is_made(const SessionOptions& options, const AllocationInfo& info) {
  if (options.live == nullptr) return true;
  return lived_inside(info) && !place_of(*options.live, info.begin->id);
}

bool Memory::is_there(format::AllocationId id) const { return place_of(*live_, id).has_value(); }

// Its address here is the recorded one, so that words that lead to it stay as they are.
void Memory::take_live(const Program& program, const SessionOptions& options) {
  if (options.live == nullptr) return;
  for (const AllocationInfo& info : program.allocations()) {
    if (info.begin == nullptr || buffers_[info.begin->id - 1].used) continue;
    const std::optional<live::Place> place = place_of(*options.live, info.begin->id);
    if (!place) continue;
    Buffer& buffer = buffers_[info.begin->id - 1];
    buffer.used = buffer.live = buffer.keep_content = true;
    buffer.device = static_cast<uint8_t*>(place->device);
    buffer.host = static_cast<uint8_t*>(place->host);
    buffer.array = place->array;
    buffer.shape = info.begin->array.get();
    buffer.object = info.begin->object != nullptr;
  }
}

// Memory of the program is not rewritten, nor are its textures made anew: neither may lead to what
// is replaced.
Result<void> Memory::check_live_words(const Program& program, const Binding& binding) const {
  if (live_ == nullptr) return {};
  const auto leads = [&](const format::Content& content) {
    for (const format::Relocation& word : content.relocations) {
      if (word.allocation == binding.allocation) return true;
    }
    return false;
  };
  for (const AllocationInfo& info : program.allocations()) {
    if (info.begin == nullptr) continue;
    const bool texture = info.begin->object && info.begin->object->allocation == binding.allocation;
    if (!texture && !leads(info.begin->initial) &&
        (info.end == nullptr || !leads(info.end->post))) {
      continue;
    }
    return fail(Status::kUnsupported,
                fmt::format("cannot bind {} in place: {} holds its address, and is the program's",
                            text_of(program.allocations()[binding.allocation - 1]), text_of(info)));
  }
  return {};
}

}  // namespace gfxgraph::replayer
