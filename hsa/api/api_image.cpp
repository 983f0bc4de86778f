// Images and samplers: descriptors, and copies between images and memory.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <unordered_map>

#include "emulator/isa/memory/image_format.h"
#include "hsa/api/image_extension.h"
#include "hsa/copy.h"
#include "hsa/device.h"
#include "hsa/memory.h"
#include "hsa/queue/watchdog.h"
#include "hsa/runtime.h"
#include "hsa/target.h"

using namespace gfxgraph;       // NOLINT: entry points are C
using namespace gfxgraph::hsa;  // NOLINT

namespace {

using emulator::Image;
using emulator::ImageType;

// The extension's numbers lie outside of the range of hsa_status_t's enumerators.
hsa_status_t status_number(uint32_t number) {
  hsa_status_t status{};
  static_assert(sizeof(status) == sizeof(number));
  std::memcpy(&status, &number, sizeof(status));
  return status;
}
const hsa_status_t kFormatUnsupported =
    status_number(HSA_EXT_STATUS_ERROR_IMAGE_FORMAT_UNSUPPORTED);
const hsa_status_t kSizeUnsupported = status_number(HSA_EXT_STATUS_ERROR_IMAGE_SIZE_UNSUPPORTED);
const hsa_status_t kPitchUnsupported = status_number(HSA_EXT_STATUS_ERROR_IMAGE_PITCH_UNSUPPORTED);
const hsa_status_t kSamplerUnsupported =
    status_number(HSA_EXT_STATUS_ERROR_SAMPLER_DESCRIPTOR_UNSUPPORTED);

// An image beside the descriptor that kernels see.
using Made = emulator::MadeImage;
using emulator::ChannelFormat;

// hsa_ext_image_descriptor_v2_t
struct ImageDescriptorV2 {
  hsa_ext_image_descriptor_t plain;
  size_t mip_levels;
};
static_assert(sizeof(ImageDescriptorV2) == 56);
constexpr const char* kNoMipLevels = "mip levels are not supported";

// What a handle points to.
struct Descriptor {
  uint32_t words[emulator::kImageHandleWords];
};
static_assert(emulator::kSamplerHandleWords <= emulator::kImageHandleWords);

ChannelFormat channels_of(const hsa_ext_image_format_t& format) {
  return {static_cast<uint32_t>(format.channel_type), static_cast<uint32_t>(format.channel_order)};
}

std::mutex& images_mutex() {
  static auto* const mutex = new std::mutex();
  return *mutex;
}
std::unordered_map<uint64_t, Made>& images() {
  static auto* const map = new std::unordered_map<uint64_t, Made>();
  return *map;
}
bool find_image(hsa_ext_image_t handle, Made& made) {
  const std::lock_guard lock(images_mutex());
  const auto found = images().find(handle.handle);
  if (found == images().end()) return false;
  made = found->second;
  return true;
}

hsa_status_t type_of(const hsa_ext_image_descriptor_t& d, Made& made) {
  Image& image = made.image;
  size_t height = 1;
  size_t slices = 1;
  switch (d.geometry) {
    case HSA_EXT_IMAGE_GEOMETRY_1D: image.type = ImageType::k1D; break;
    case HSA_EXT_IMAGE_GEOMETRY_1DB:
      image.type = ImageType::k1D;
      made.buffer = true;
      break;
    case HSA_EXT_IMAGE_GEOMETRY_2D:
    case HSA_EXT_IMAGE_GEOMETRY_2DDEPTH:
      image.type = ImageType::k2D;
      height = d.height;
      break;
    case HSA_EXT_IMAGE_GEOMETRY_3D:
      image.type = ImageType::k3D;
      height = d.height;
      slices = d.depth;
      break;
    case HSA_EXT_IMAGE_GEOMETRY_1DA:
      image.type = ImageType::k1DArray;
      slices = d.array_size;
      break;
    case HSA_EXT_IMAGE_GEOMETRY_2DA:
    case HSA_EXT_IMAGE_GEOMETRY_2DADEPTH:
      image.type = ImageType::k2DArray;
      height = d.height;
      slices = d.array_size;
      break;
    default: return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
  const auto size = [](size_t value) {
    return static_cast<uint32_t>(std::min<size_t>(value, UINT32_MAX));
  };
  image.width = size(d.width);
  image.height = size(height);
  image.slices = size(slices);
  return made.size_fits() ? HSA_STATUS_SUCCESS : kSizeUnsupported;
}

// Everything but the base.
hsa_status_t lay_out(const char* call, const hsa_ext_image_descriptor_t* descriptor,
                     hsa_ext_image_data_layout_t layout, size_t row_pitch, size_t slice_pitch,
                     Made& made) {
  if (descriptor == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const auto format = emulator::hardware_format(channels_of(descriptor->format));
  if (!format) {
    return refuse(kFormatUnsupported, call,
                  fmt::format("channel type {} in order {} is not supported",
                              descriptor->format.channel_type, descriptor->format.channel_order)
                      .c_str());
  }
  if (const hsa_status_t status = type_of(*descriptor, made); status != HSA_STATUS_SUCCESS)
    return refuse(status, call, "the size or the geometry is not supported");
  made.set_format(*format);
  made.set_rows();
  if (layout == HSA_EXT_IMAGE_DATA_LAYOUT_OPAQUE || made.buffer) return HSA_STATUS_SUCCESS;
  if (row_pitch != 0 && !made.set_row_pitch(row_pitch))
    return refuse(kPitchUnsupported, call, "the row pitch is not supported");
  if (slice_pitch != 0 && slice_pitch != made.image.slice_bytes())
    return refuse(kPitchUnsupported, call, "the slice pitch is not supported");
  return HSA_STATUS_SUCCESS;
}

Result<Descriptor*> new_descriptor() {
  const auto memory = allocate(Pool::kHostFine, sizeof(Descriptor), 0);
  if (!memory) return tl::unexpected(memory.error());
  return reinterpret_cast<Descriptor*>(*memory);
}

hsa_status_t create(const char* call, hsa_agent_t agent,
                    const hsa_ext_image_descriptor_t* descriptor, const void* data,
                    hsa_ext_image_data_layout_t layout, size_t row_pitch, size_t slice_pitch,
                    hsa_ext_image_t* handle) {
  return entry(call, [&] {
    if (!is_gpu(agent)) return HSA_STATUS_ERROR_INVALID_AGENT;
    if (data == nullptr || handle == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    if (execution() == Execution::kCopies)
      return refuse(kFormatUnsupported, call,
                    "images on the null device of a target: nothing executes HIP's copies of them");
    Made made;
    const hsa_status_t status = lay_out(call, descriptor, layout, row_pitch, slice_pitch, made);
    if (status != HSA_STATUS_SUCCESS) return status;
    made.image.base = reinterpret_cast<uint64_t>(data);
    if (made.image.base % made.base_alignment() != 0)
      return refuse(HSA_STATUS_ERROR_INVALID_ARGUMENT, call, "the memory is not aligned");
    if (!device_range_is_allowed(data, made.used_bytes()))
      return refuse(HSA_STATUS_ERROR_INVALID_ARGUMENT, call, "the image is larger than its memory");
    const auto place = new_descriptor();
    if (!place) return refuse(status_of(place.error()), call, place.error());
    emulator::write_image_handle(made, channels_of(descriptor->format), (*place)->words);
    handle->handle = reinterpret_cast<uint64_t>(*place);
    const std::lock_guard lock(images_mutex());
    images()[handle->handle] = made;
    return HSA_STATUS_SUCCESS;
  });
}

// ---- copies ----

struct Box {
  uint32_t x, y, slice;
  uint32_t columns, rows, slices;
};
// The index of a 1D array may be in y or in z. False if the box leaves the image.
bool box_of(const Made& made, const hsa_dim3_t& offset, const hsa_dim3_t& range, Box& box) {
  const Image& image = made.image;
  box = {offset.x, offset.y, offset.z, range.x, std::max(range.y, 1u), std::max(range.z, 1u)};
  if (image.type == ImageType::k1DArray && offset.z == 0 && range.z <= 1) {
    std::swap(box.y, box.slice);
    std::swap(box.rows, box.slices);
  }
  const auto fits = [](uint32_t at, uint32_t count, uint32_t size) {
    return at <= size && count <= size - at;
  };
  return fits(box.x, box.columns, image.width) && fits(box.y, box.rows, image.height) &&
         fits(box.slice, box.slices, image.slices);
}

std::byte* at(const Image& image, const Box& box) {
  return host_pointer(reinterpret_cast<std::byte*>(image.address(box.x, box.y, box.slice)));
}

hsa_status_t import_or_export(const char* call, hsa_agent_t agent, hsa_ext_image_t handle,
                              void* memory, size_t row_pitch, size_t slice_pitch,
                              const hsa_ext_image_region_t* region, bool import) {
  return entry(call, [&] {
    if (!is_gpu(agent)) return HSA_STATUS_ERROR_INVALID_AGENT;
    Made made;
    Box box;
    if (memory == nullptr || region == nullptr || !find_image(handle, made))
      return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    if (!box_of(made, region->offset, region->range, box))
      return refuse(HSA_STATUS_ERROR_INVALID_ARGUMENT, call, "the region exceeds the image");
    if (Device::faulted()) return refuse_after_fault(call);
    const Image& image = made.image;
    const uint64_t row = uint64_t{box.columns} * image.format.bytes;
    const uint64_t pitch = std::max<uint64_t>(row_pitch, row);
    const uint64_t slice = std::max<uint64_t>(slice_pitch, pitch * box.rows);
    const uint64_t used_bytes = slice * (box.slices - 1) + pitch * (box.rows - 1) + row;
    if (!host_range_is_allowed(memory, used_bytes))
      return refuse(HSA_STATUS_ERROR_INVALID_ARGUMENT, call, "the range exceeds its allocation");
    if (!import && is_code(memory, used_bytes))
      return refuse(HSA_STATUS_ERROR_INVALID_ARGUMENT, call, "the destination is loaded code");
    CopyShape shape;
    shape.row_bytes = row;
    shape.rows = box.rows;
    shape.planes = box.slices;
    auto* const plain = static_cast<std::byte*>(host_pointer(memory));
    shape.to = import ? at(image, box) : plain;
    shape.from = import ? plain : at(image, box);
    shape.to_pitch_bytes = import ? image.row_bytes : pitch;
    shape.to_slice_bytes = import ? image.slice_bytes() : slice;
    shape.from_pitch_bytes = import ? pitch : image.row_bytes;
    shape.from_slice_bytes = import ? slice : image.slice_bytes();
    copy_now(shape);
    return HSA_STATUS_SUCCESS;
  });
}

// ---- samplers ----

bool clamp_of(uint32_t mode, emulator::Clamp& clamp) {
  switch (mode) {
    case HSA_EXT_SAMPLER_ADDRESSING_MODE_UNDEFINED:
    case HSA_EXT_SAMPLER_ADDRESSING_MODE_REPEAT: clamp = emulator::Clamp::kWrap; return true;
    case HSA_EXT_SAMPLER_ADDRESSING_MODE_CLAMP_TO_EDGE: clamp = emulator::Clamp::kEdge; return true;
    case HSA_EXT_SAMPLER_ADDRESSING_MODE_CLAMP_TO_BORDER:
      clamp = emulator::Clamp::kBorder;
      return true;
    case HSA_EXT_SAMPLER_ADDRESSING_MODE_MIRRORED_REPEAT:
      clamp = emulator::Clamp::kMirror;
      return true;
    default: return false;
  }
}

hsa_status_t create_sampler(const char* call, hsa_agent_t agent, uint32_t coordinates,
                            uint32_t filter, const uint32_t (&modes)[3],
                            hsa_ext_sampler_t* handle) {
  return entry(call, [&] {
    if (!is_gpu(agent)) return HSA_STATUS_ERROR_INVALID_AGENT;
    if (handle == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    emulator::Sampler sampler;
    bool known = coordinates <= HSA_EXT_SAMPLER_COORDINATE_MODE_NORMALIZED &&
                 filter <= HSA_EXT_SAMPLER_FILTER_MODE_LINEAR;
    for (int n = 0; n < 3; ++n) known = known && clamp_of(modes[n], sampler.clamp[n]);
    if (!known) return refuse(kSamplerUnsupported, call, "an unknown mode");
    sampler.unnormalized = coordinates == HSA_EXT_SAMPLER_COORDINATE_MODE_UNNORMALIZED;
    sampler.linear = filter == HSA_EXT_SAMPLER_FILTER_MODE_LINEAR;
    const auto place = new_descriptor();
    if (!place) return refuse(status_of(place.error()), call, place.error());
    uint32_t words[emulator::Sampler::kWords];
    emulator::write_sampler(sampler, words);
    std::memcpy((*place)->words, words, sizeof(words));
    handle->handle = reinterpret_cast<uint64_t>(*place);
    return HSA_STATUS_SUCCESS;
  });
}

}  // namespace

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_ext_image_get_capability_with_layout(
    hsa_agent_t agent, hsa_ext_image_geometry_t geometry, const hsa_ext_image_format_t* format,
    hsa_ext_image_data_layout_t, uint32_t* mask) {
  return entry("hsa_ext_image_get_capability", [&] {
    if (!is_agent(agent)) return HSA_STATUS_ERROR_INVALID_AGENT;
    if (format == nullptr || mask == nullptr || geometry > HSA_EXT_IMAGE_GEOMETRY_2DADEPTH)
      return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    constexpr uint32_t kAll =
        HSA_EXT_IMAGE_CAPABILITY_READ_ONLY | HSA_EXT_IMAGE_CAPABILITY_WRITE_ONLY |
        HSA_EXT_IMAGE_CAPABILITY_READ_WRITE | HSA_EXT_IMAGE_CAPABILITY_ACCESS_INVARIANT_DATA_LAYOUT;
    *mask = is_gpu(agent) && emulator::hardware_format(channels_of(*format)) ? kAll : 0u;
    return HSA_STATUS_SUCCESS;
  });
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_ext_image_get_capability(hsa_agent_t agent,
                                                              hsa_ext_image_geometry_t geometry,
                                                              const hsa_ext_image_format_t* format,
                                                              uint32_t* mask) {
  return hsa_ext_image_get_capability_with_layout(agent, geometry, format,
                                                  HSA_EXT_IMAGE_DATA_LAYOUT_OPAQUE, mask);
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_ext_image_data_get_info_with_layout(
    hsa_agent_t agent, const hsa_ext_image_descriptor_t* descriptor, hsa_access_permission_t,
    hsa_ext_image_data_layout_t layout, size_t row_pitch, size_t slice_pitch,
    hsa_ext_image_data_info_t* info) {
  constexpr const char* kCall = "hsa_ext_image_data_get_info";
  return entry(kCall, [&] {
    if (!is_gpu(agent)) return HSA_STATUS_ERROR_INVALID_AGENT;
    if (info == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    Made made;
    const hsa_status_t status = lay_out(kCall, descriptor, layout, row_pitch, slice_pitch, made);
    if (status != HSA_STATUS_SUCCESS) return status;
    info->size = made.image.slice_bytes() * made.image.slices;
    info->alignment = Image::kAlignment;
    return HSA_STATUS_SUCCESS;
  });
}

GFXGRAPH_HSA_EXPORT hsa_status_t
hsa_ext_image_data_get_info(hsa_agent_t agent, const hsa_ext_image_descriptor_t* descriptor,
                            hsa_access_permission_t permission, hsa_ext_image_data_info_t* info) {
  return hsa_ext_image_data_get_info_with_layout(agent, descriptor, permission,
                                                 HSA_EXT_IMAGE_DATA_LAYOUT_OPAQUE, 0, 0, info);
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_ext_image_create(hsa_agent_t agent,
                                                      const hsa_ext_image_descriptor_t* descriptor,
                                                      const void* data, hsa_access_permission_t,
                                                      hsa_ext_image_t* image) {
  return create("hsa_ext_image_create", agent, descriptor, data, HSA_EXT_IMAGE_DATA_LAYOUT_OPAQUE,
                0, 0, image);
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_ext_image_create_with_layout(
    hsa_agent_t agent, const hsa_ext_image_descriptor_t* descriptor, const void* data,
    hsa_access_permission_t, hsa_ext_image_data_layout_t layout, size_t row_pitch,
    size_t slice_pitch, hsa_ext_image_t* image) {
  return create("hsa_ext_image_create_with_layout", agent, descriptor, data, layout, row_pitch,
                slice_pitch, image);
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_ext_image_destroy(hsa_agent_t, hsa_ext_image_t image) {
  return entry("hsa_ext_image_destroy", [&] {
    {
      const std::lock_guard lock(images_mutex());
      if (images().erase(image.handle) == 0) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    }
    return release(reinterpret_cast<const void*>(image.handle)) ? HSA_STATUS_SUCCESS
                                                                : HSA_STATUS_ERROR;
  });
}

// Only in newer headers: descriptors with a number of mip levels, of which 0 and 1 are no mipmap.
GFXGRAPH_HSA_NEWER_CALL(hsa_ext_image_data_get_info_v2, hsa_agent_t agent,
                        const ImageDescriptorV2* descriptor, uint32_t,
                        hsa_ext_image_data_info_t* info) {
  constexpr const char* kCall = "hsa_ext_image_data_get_info_v2";
  return entry(kCall, [&] {
    if (descriptor == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    if (descriptor->mip_levels > 1) return refuse(kSizeUnsupported, kCall, kNoMipLevels);
    return hsa_ext_image_data_get_info(agent, &descriptor->plain, HSA_ACCESS_PERMISSION_RW, info);
  });
}

GFXGRAPH_HSA_NEWER_CALL(hsa_ext_image_create_v2, hsa_agent_t agent,
                        const ImageDescriptorV2* descriptor, const void* data, uint32_t,
                        hsa_ext_image_t* image) {
  constexpr const char* kCall = "hsa_ext_image_create_v2";
  return entry(kCall, [&] {
    if (descriptor == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    if (descriptor->mip_levels > 1) return refuse(kSizeUnsupported, kCall, kNoMipLevels);
    return hsa_ext_image_create(agent, &descriptor->plain, data, HSA_ACCESS_PERMISSION_RW, image);
  });
}

GFXGRAPH_HSA_NEWER_CALL(hsa_ext_image_destroy_v2, hsa_agent_t agent, hsa_ext_image_t image) {
  return hsa_ext_image_destroy(agent, image);
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_ext_image_copy(hsa_agent_t agent, hsa_ext_image_t from,
                                                    const hsa_dim3_t* from_offset,
                                                    hsa_ext_image_t to, const hsa_dim3_t* to_offset,
                                                    const hsa_dim3_t* range) {
  constexpr const char* kCall = "hsa_ext_image_copy";
  return entry(kCall, [&] {
    if (!is_gpu(agent)) return HSA_STATUS_ERROR_INVALID_AGENT;
    Made source;
    Made target;
    Box read;
    Box written;
    if (from_offset == nullptr || to_offset == nullptr || range == nullptr ||
        !find_image(from, source) || !find_image(to, target))
      return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    if (source.image.format_id != target.image.format_id)
      return refuse(kFormatUnsupported, kCall, "the images differ in their formats");
    if (!box_of(source, *from_offset, *range, read) || !box_of(target, *to_offset, *range, written))
      return refuse(HSA_STATUS_ERROR_INVALID_ARGUMENT, kCall, "the region exceeds an image");
    if (read.rows != written.rows)
      return refuse(HSA_STATUS_ERROR_INVALID_ARGUMENT, kCall, "the geometries differ");
    if (Device::faulted()) return refuse_after_fault(kCall);
    CopyShape shape;
    shape.row_bytes = uint64_t{read.columns} * source.image.format.bytes;
    shape.rows = read.rows;
    shape.planes = read.slices;
    shape.to = at(target.image, written);
    shape.from = at(source.image, read);
    shape.to_pitch_bytes = target.image.row_bytes;
    shape.to_slice_bytes = target.image.slice_bytes();
    shape.from_pitch_bytes = source.image.row_bytes;
    shape.from_slice_bytes = source.image.slice_bytes();
    copy_now(shape);
    return HSA_STATUS_SUCCESS;
  });
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_ext_image_import(hsa_agent_t agent, const void* from,
                                                      size_t row_pitch, size_t slice_pitch,
                                                      hsa_ext_image_t image,
                                                      const hsa_ext_image_region_t* region) {
  return import_or_export("hsa_ext_image_import", agent, image, const_cast<void*>(from), row_pitch,
                          slice_pitch, region, true);
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_ext_image_export(hsa_agent_t agent, hsa_ext_image_t image,
                                                      void* to, size_t row_pitch,
                                                      size_t slice_pitch,
                                                      const hsa_ext_image_region_t* region) {
  return import_or_export("hsa_ext_image_export", agent, image, to, row_pitch, slice_pitch, region,
                          false);
}

// `data` has four components: integers for integer formats, else floats.
GFXGRAPH_HSA_EXPORT hsa_status_t hsa_ext_image_clear(hsa_agent_t agent, hsa_ext_image_t handle,
                                                     const void* data,
                                                     const hsa_ext_image_region_t* region) {
  constexpr const char* kCall = "hsa_ext_image_clear";
  return entry(kCall, [&] {
    if (!is_gpu(agent)) return HSA_STATUS_ERROR_INVALID_AGENT;
    Made made;
    Box box;
    if (data == nullptr || region == nullptr || !find_image(handle, made) ||
        !box_of(made, region->offset, region->range, box))
      return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    if (Device::faulted()) return refuse_after_fault(kCall);
    const Image& image = made.image;
    uint32_t component[4];
    uint32_t memory[4];
    uint8_t texel[16];
    std::memcpy(component, data, sizeof(component));
    emulator::unselect_components(image.select, component, memory);
    if (const char* why = emulator::pack_format(image.format, memory, false, texel))
      return refuse(HSA_STATUS_ERROR_INVALID_ARGUMENT, kCall, why);
    note_activity();
    for (uint32_t slice = 0; slice < box.slices; ++slice) {
      for (uint32_t y = 0; y < box.rows; ++y) {
        std::byte* place = at(image, {box.x, box.y + y, box.slice + slice, box.columns, 1, 1});
        for (uint32_t x = 0; x < box.columns; ++x, place += image.format.bytes)
          std::memcpy(place, texel, image.format.bytes);
      }
    }
    return HSA_STATUS_SUCCESS;
  });
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_ext_sampler_create(
    hsa_agent_t agent, const hsa_ext_sampler_descriptor_t* descriptor, hsa_ext_sampler_t* sampler) {
  if (descriptor == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const uint32_t mode = descriptor->address_mode;
  return create_sampler("hsa_ext_sampler_create", agent, descriptor->coordinate_mode,
                        descriptor->filter_mode, {mode, mode, mode}, sampler);
}

// Only in newer headers: a mode per axis.
struct SamplerDescriptor2 {
  uint32_t coordinate_mode;
  uint32_t filter_mode;
  uint32_t address_modes[3];
};
GFXGRAPH_HSA_NEWER_CALL(hsa_ext_sampler_create_v2, hsa_agent_t agent,
                        const SamplerDescriptor2* descriptor, hsa_ext_sampler_t* sampler) {
  if (descriptor == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  return create_sampler("hsa_ext_sampler_create_v2", agent, descriptor->coordinate_mode,
                        descriptor->filter_mode, descriptor->address_modes, sampler);
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_ext_sampler_destroy(hsa_agent_t, hsa_ext_sampler_t sampler) {
  return entry("hsa_ext_sampler_destroy", [&] {
    return release(reinterpret_cast<const void*>(sampler.handle))
               ? HSA_STATUS_SUCCESS
               : HSA_STATUS_ERROR_INVALID_ARGUMENT;
  });
}

namespace gfxgraph::hsa {

std::span<const std::byte> image_extension_table() {
  // hsa_ext_images_1_pfn_t of newer headers: Debian 12's ends before the last one.
  using Function = void (*)();
  const auto table_of = [](auto*... functions) {
    return std::array{reinterpret_cast<Function>(functions)...};
  };
  static const auto kTable = table_of(
      hsa_ext_image_get_capability, hsa_ext_image_data_get_info, hsa_ext_image_create,
      hsa_ext_image_destroy, hsa_ext_image_copy, hsa_ext_image_import, hsa_ext_image_export,
      hsa_ext_image_clear, hsa_ext_sampler_create, hsa_ext_sampler_destroy,
      hsa_ext_image_get_capability_with_layout, hsa_ext_image_data_get_info_with_layout,
      hsa_ext_image_create_with_layout, newer_hsa_ext_sampler_create_v2);
  return std::as_bytes(std::span(kTable));
}

}  // namespace gfxgraph::hsa
