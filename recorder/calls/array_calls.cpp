#include "recorder/calls/array_calls.h"

#include <utility>

#include "base/checked.h"
#include "base/hip_quirks.h"
#include "recorder/objects/devices.h"

namespace gfxgraph::recorder {

void ArrayCalls::created(Handle array, const format::ArrayShape& shape,
                         std::string_view call) noexcept {
  guarded([&] {
    if (!shape.format.valid() || shape.width == 0) {
      return finding(format::FindingKind::kIncomplete, call,
                     "an array whose texels do not have 1, 2 or 4 components of 8, 16 or 32 bits");
    }
    auto entry = std::make_shared<Allocation>();
    entry->kind = format::AllocationKind::kArray;
    entry->device = current_device;
    entry->size_bytes = shape.slice_bytes() * shape.slices();
    entry->address = places_.begin(array, entry->size_bytes);
    entry->array = std::make_shared<const format::ArrayShape>(shape);
    entry->array_handle = array;
    traced_.insert_allocation(std::move(entry), {});
  });
  handover_.drain_if_full();
}

bool ArrayCalls::find(Handle array, Place& place) noexcept {
  bool found = false;
  guarded([&] {
    place.address = places_.find(array);
    const Allocation* const known =
        place.address == 0 ? nullptr : allocations_.map().find(place.address);
    if (known == nullptr || known->array == nullptr) return;
    place.shape = known->array;
    found = true;
  });
  return found;
}

uint64_t ArrayCalls::leaves(Handle array) noexcept {
  uint64_t address = 0;
  guarded([&] {
    address = places_.find(array);
    places_.forget(array);
  });
  return address;
}

void ArrayCalls::stays(Handle array, uint64_t address) noexcept {
  if (address == 0) return;
  guarded([&] { places_.put_back(array, address); });
}

bool ArrayCalls::free_waits_for_device() const noexcept {
  return hip_quirk_seen(HipQuirk::kUnregisterWaitsForDevice, facts_.runtime_version);
}

bool ArrayCalls::free_waits_for_null_stream() noexcept {
  if (free_waits_for_device()) return false;
  guarded([&] { host_writes_.look_before_wait(); });
  return true;
}

void ArrayCalls::image_created(const NewImage& image, std::string_view call) noexcept {
  guarded([&] {
    auto object = std::make_shared<format::ImageObject>(image.object);
    std::shared_ptr<Allocation> resource;
    if (object->resource == format::ImageResource::kArray) {
      const uint64_t address = places_.find(image.array);
      if (address != 0) resource = allocations_.map().find_begin(address);
    } else if (const Allocation* const memory = allocations_.find_seen(image.address);
               memory != nullptr && memory->is_memory()) {
      resource = allocations_.map().find_begin(memory->address);
      const bool by_host = image.address - memory->address > memory->size_bytes;
      object->offset_bytes = image.address - (by_host ? memory->host_address : memory->address);
      const uint64_t rows = object->pitch_bytes * (object->height - 1);
      const uint64_t bytes = object->resource == format::ImageResource::kLinear
                                 ? object->size_bytes
                                 : rows + object->width * object->format.bytes();
      if (!object->format.valid() || !range_fits(object->offset_bytes, bytes, memory->size_bytes)) {
        return finding(format::FindingKind::kIncomplete, call,
                       "an image that leaves its memory, or whose texels do not have 1, 2 or 4 "
                       "components of 8, 16 or 32 bits");
      }
    }
    if (!resource) {
      return finding(format::FindingKind::kIncomplete, call,
                     "an image of an array or of memory that is not recorded");
    }
    auto entry = std::make_shared<Allocation>();
    entry->kind = image.kind;
    entry->device = current_device;
    entry->address = image.handle;
    entry->size_bytes = image.kind == format::AllocationKind::kSurface ? format::kSurfaceBytes
                                                                       : format::kTextureBytes;
    entry->object = std::move(object);
    entry->resource = std::move(resource);
    traced_.insert_allocation(std::move(entry), {});
  });
  handover_.drain_if_full();
}

// HIP then calls into memory that it has freed when it copies the array: nothing reads that.
void ArrayCalls::lose_array_of(const Allocation& texture) {
  constexpr uint8_t kAsTheyAre = 0;  // hipReadModeElementType
  const format::ImageObject& object = *texture.object;
  Allocation* const array = texture.resource.get();
  if (!hip_quirk_seen(HipQuirk::kTextureTakesArrayWithIt, facts_.runtime_version) ||
      texture.kind != format::AllocationKind::kTexture || array == nullptr || !array->array ||
      object.has_view || object.read_mode != kAsTheyAre) {
    return;
  }
  const format::TexelFormat& texel = array->array->format;
  if (texel.kind == format::TexelKind::kUnsigned && texel.bits[0] < 32) array->unreadable = true;
}

}  // namespace gfxgraph::recorder
