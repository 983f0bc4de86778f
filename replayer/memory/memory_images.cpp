// Arrays, textures and surfaces, made again with HIP.
#include <fmt/format.h>

#include "format/image_boxes.h"
#include "format/names.h"
#include "replayer/memory/memory.h"

namespace gfxgraph::replayer {
namespace {

hip::ChannelFormat channel_format(const format::TexelFormat& texels) {
  return {texels.bits[0], texels.bits[1], texels.bits[2], texels.bits[3],
          static_cast<int>(texels.kind)};
}

std::string name_of(const format::AllocationBegin& begin) {
  return fmt::format("{} {}", name_of(begin.kind).key, begin.id);
}

tl::unexpected<Error> lacks(const format::AllocationBegin& begin, const HipLibrary& library) {
  return fail(Status::kUnsupported, fmt::format("{}: {} lacks the calls for arrays and textures",
                                                name_of(begin), library.path()));
}

// HIP 5.2.3 may free an array with a texture that reads its elements as they are, and a second such
// texture crashes it. These textures are left to the end of the process.
bool frees_its_array(const format::ImageObject& object, const format::ArrayShape* array,
                     const HipLibrary& library) {
  constexpr uint8_t kAsTheyAre = 0;  // hipReadModeElementType
  return array != nullptr && object.read_mode == kAsTheyAre &&
         library.avoids(HipQuirk::kTextureFreesItsArray);
}

}  // namespace

Result<void> Memory::make_array(const format::AllocationBegin& begin) {
  const HipTable& hip = library_->table();
  if (hip.hipMalloc3DArray == nullptr || hip.hipFreeArray == nullptr ||
      hip.hipMemcpy3DAsync == nullptr) {
    return lacks(begin, *library_);
  }
  const format::ArrayShape& shape = *begin.array;
  const hip::ChannelFormat format = channel_format(shape.format);
  Buffer& buffer = buffers_[begin.id - 1];
  GFXGRAPH_TRY(
      library_->check(hip.hipMalloc3DArray(&buffer.array, &format,
                                           {shape.width, shape.height, shape.depth}, shape.flags),
                      fmt::format("{} ({} x {} x {} texels of {} bytes)", name_of(begin),
                                  shape.width, shape.height, shape.depth, shape.format.bytes())));
  buffer.used = true;
  buffer.owner = Owner::kArray;
  buffer.shape = &shape;
  return {};
}

Result<void> Memory::make_object(const format::AllocationBegin& begin) {
  const HipTable& hip = library_->table();
  const format::ImageObject& object = *begin.object;
  const bool surface = begin.kind == format::AllocationKind::kSurface;
  if (surface ? hip.hipCreateSurfaceObject == nullptr || hip.hipDestroySurfaceObject == nullptr
              : hip.hipCreateTextureObject == nullptr || hip.hipDestroyTextureObject == nullptr) {
    return lacks(begin, *library_);
  }
  const Buffer& of = buffers_[object.allocation - 1];
  hip::ResourceDescriptor resource;
  if (object.resource == format::ImageResource::kArray) {
    resource.pointer = of.array;
  } else {
    const bool linear = object.resource == format::ImageResource::kLinear;
    resource.type = linear ? hip::ResourceDescriptor::kLinear : hip::ResourceDescriptor::kPitched;
    resource.pointer = of.device + object.offset_bytes;
    resource.format = channel_format(object.format);
    resource.size = linear ? object.size_bytes : object.width;
    resource.height = object.height;
    resource.pitch_bytes = object.pitch_bytes;
  }
  Buffer& buffer = buffers_[begin.id - 1];
  void* handle = nullptr;
  hip::Error code = hip::kSuccess;
  if (surface) {
    code = hip.hipCreateSurfaceObject(&handle, &resource);
  } else {
    hip::TextureDescriptor texture;
    for (size_t i = 0; i < 3; ++i) texture.address_mode[i] = object.address_mode[i];
    texture.filter = object.filter;
    texture.read_mode = object.read_mode;
    texture.srgb = object.srgb;
    for (size_t i = 0; i < 4; ++i) texture.border[i] = object.border[i];
    texture.normalized = object.normalized;
    texture.max_anisotropy = object.max_anisotropy;
    texture.mip_filter = object.mip_filter;
    texture.mip_bias = object.mip_bias;
    texture.mip_least = object.mip_least;
    texture.mip_most = object.mip_most;
    hip::ResourceView view;
    view.format = static_cast<int>(object.view_format);
    view.width = object.view_width;
    view.height = object.view_height;
    view.depth = object.view_depth;
    view.first_level = object.first_level;
    view.last_level = object.last_level;
    view.first_layer = object.first_layer;
    view.last_layer = object.last_layer;
    code =
        hip.hipCreateTextureObject(&handle, &resource, &texture, object.has_view ? &view : nullptr);
  }
  GFXGRAPH_TRY(
      library_->check(code, fmt::format("{} of allocation {}", name_of(begin), object.allocation)));
  buffer.used = true;
  buffer.object = true;
  buffer.base = handle;
  buffer.device = static_cast<uint8_t*>(handle);
  if (surface)
    buffer.owner = Owner::kSurface;
  else if (!frees_its_array(object, of.shape, *library_))
    buffer.owner = Owner::kTexture;
  return {};
}

hip::Error Memory::move_array(const Buffer& buffer, uint64_t offset, std::byte* bytes,
                              uint64_t size, int kind) const {
  const format::ArrayShape& shape = *buffer.shape;
  // Copies move whole texels.
  const uint64_t texel = shape.format.bytes();
  const uint64_t first = offset / texel * texel;
  const uint64_t last = (offset + size + texel - 1) / texel * texel;
  std::vector<std::byte> whole;
  std::byte* packed = bytes;
  if (first != offset || last != offset + size) {
    whole.resize(last - first);
    const hip::Error code =
        kind == hip::kHostToDevice
            ? move_array(buffer, first, whole.data(), whole.size(), hip::kDeviceToHost)
            : hip::kSuccess;
    if (code != hip::kSuccess) return code;
    if (kind == hip::kHostToDevice)
      std::copy_n(bytes, size, whole.begin() + static_cast<ptrdiff_t>(offset - first));
    packed = whole.data();
  }
  for (const format::ArrayBox& box : format::array_boxes(shape, first, last - first)) {
    hip::Memcpy3dParams parameters;
    const hip::Position place{box.x, box.y, box.z};
    const uint64_t row = box.width * texel;
    const hip::PitchedPointer memory{packed + (box.linear_bytes - first), row, row, box.height};
    if (kind == hip::kHostToDevice) {
      parameters.destination_array = buffer.array;
      parameters.destination_position = place;
      parameters.source = memory;
    } else {
      parameters.source_array = buffer.array;
      parameters.source_position = place;
      parameters.destination = memory;
    }
    parameters.extent = {box.width, box.height, box.depth};
    parameters.kind = kind;
    const hip::Error code = source_.move(parameters);
    if (code != hip::kSuccess) return code;
  }
  if (packed != bytes && kind == hip::kDeviceToHost)
    std::copy_n(whole.begin() + static_cast<ptrdiff_t>(offset - first), size, bytes);
  return hip::kSuccess;
}

}  // namespace gfxgraph::replayer
