#include "emulator/isa/memory/image_format.h"

#include <hsa/hsa.h>
#include <hsa/hsa_ext_image.h>

#include <cstring>

namespace gfxgraph::emulator {
namespace {

constexpr uint32_t select(uint32_t x, uint32_t y, uint32_t z, uint32_t w) {
  return x | y << 3 | z << 6 | w << 9;
}
constexpr uint32_t k0 = 0, k1 = 1, kX = 4, kY = 5, kZ = 6, kW = 7;

struct Order {
  uint32_t order;
  uint32_t components;
  uint32_t select;
};
constexpr Order kOrders[] = {
    {HSA_EXT_IMAGE_CHANNEL_ORDER_A, 1, select(k0, k0, k0, kX)},
    {HSA_EXT_IMAGE_CHANNEL_ORDER_R, 1, select(kX, k0, k0, k1)},
    {HSA_EXT_IMAGE_CHANNEL_ORDER_RX, 1, select(kX, k0, k0, k1)},
    {HSA_EXT_IMAGE_CHANNEL_ORDER_RG, 2, select(kX, kY, k0, k1)},
    {HSA_EXT_IMAGE_CHANNEL_ORDER_RGX, 2, select(kX, kY, k0, k1)},
    {HSA_EXT_IMAGE_CHANNEL_ORDER_RA, 2, select(kX, k0, k0, kY)},
    {HSA_EXT_IMAGE_CHANNEL_ORDER_RGBA, 4, select(kX, kY, kZ, kW)},
    {HSA_EXT_IMAGE_CHANNEL_ORDER_BGRA, 4, select(kZ, kY, kX, kW)},
    {HSA_EXT_IMAGE_CHANNEL_ORDER_ARGB, 4, select(kY, kZ, kW, kX)},
    {HSA_EXT_IMAGE_CHANNEL_ORDER_ABGR, 4, select(kW, kZ, kY, kX)},
    {HSA_EXT_IMAGE_CHANNEL_ORDER_INTENSITY, 1, select(kX, kX, kX, kX)},
    {HSA_EXT_IMAGE_CHANNEL_ORDER_LUMINANCE, 1, select(kX, kX, kX, k1)},
    {HSA_EXT_IMAGE_CHANNEL_ORDER_DEPTH, 1, select(kX, k0, k0, k0)},
};

struct Type {
  uint32_t type;
  uint32_t bits;
  NumberFormat number;
};
constexpr Type kTypes[] = {
    {HSA_EXT_IMAGE_CHANNEL_TYPE_SNORM_INT8, 8, NumberFormat::kSnorm},
    {HSA_EXT_IMAGE_CHANNEL_TYPE_SNORM_INT16, 16, NumberFormat::kSnorm},
    {HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT8, 8, NumberFormat::kUnorm},
    {HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT16, 16, NumberFormat::kUnorm},
    {HSA_EXT_IMAGE_CHANNEL_TYPE_SIGNED_INT8, 8, NumberFormat::kSint},
    {HSA_EXT_IMAGE_CHANNEL_TYPE_SIGNED_INT16, 16, NumberFormat::kSint},
    {HSA_EXT_IMAGE_CHANNEL_TYPE_SIGNED_INT32, 32, NumberFormat::kSint},
    {HSA_EXT_IMAGE_CHANNEL_TYPE_UNSIGNED_INT8, 8, NumberFormat::kUint},
    {HSA_EXT_IMAGE_CHANNEL_TYPE_UNSIGNED_INT16, 16, NumberFormat::kUint},
    {HSA_EXT_IMAGE_CHANNEL_TYPE_UNSIGNED_INT32, 32, NumberFormat::kUint},
    {HSA_EXT_IMAGE_CHANNEL_TYPE_HALF_FLOAT, 16, NumberFormat::kFloat},
    {HSA_EXT_IMAGE_CHANNEL_TYPE_FLOAT, 32, NumberFormat::kFloat},
};

void write_buffer(const Image& image, uint32_t* words) {
  // Structured: an index is compared with the number of elements.
  constexpr uint32_t kStructured = 1u << 28;
  words[0] = static_cast<uint32_t>(image.base);
  words[1] = (static_cast<uint32_t>(image.base >> 32) & 0xffff) | uint32_t{image.format.bytes}
                                                                      << 16;
  words[2] = image.width;
  words[3] = image.select | image.format_id << 12 | 1u << 24 | kStructured;
}

}  // namespace

std::optional<ChannelFormat> channel_format(unsigned components, unsigned bits,
                                            NumberFormat number) {
  constexpr uint32_t kPlain[] = {0, HSA_EXT_IMAGE_CHANNEL_ORDER_R, HSA_EXT_IMAGE_CHANNEL_ORDER_RG,
                                 0, HSA_EXT_IMAGE_CHANNEL_ORDER_RGBA};
  if (components != 1 && components != 2 && components != 4) return std::nullopt;
  for (const Type& type : kTypes)
    if (type.bits == bits && type.number == number)
      return ChannelFormat{type.type, kPlain[components]};
  return std::nullopt;
}

std::optional<HardwareFormat> hardware_format(const ChannelFormat& format) {
  for (const Order& order : kOrders) {
    if (order.order != format.order) continue;
    for (const Type& type : kTypes) {
      if (type.type != format.type) continue;
      const uint32_t id = buffer_format_id(order.components, type.bits, type.number);
      if (id == 0) return std::nullopt;
      return HardwareFormat{id, order.select};
    }
  }
  return std::nullopt;
}

void MadeImage::set_format(const HardwareFormat& format) {
  image.format_id = format.id;
  image.format = buffer_format(format.id);
  image.select = format.select;
}

bool MadeImage::size_fits() const {
  const uint32_t most = buffer ? kMostElements : Image::kMostWidth;
  return image.width != 0 && image.height != 0 && image.slices != 0 && image.width <= most &&
         image.height <= Image::kMostHeight && image.slices <= Image::kMostSlices;
}

void MadeImage::set_rows() {
  image.row_bytes = buffer ? uint64_t{image.width} * image.format.bytes
                           : image_row_bytes(image.width, image.format);
}

bool MadeImage::set_row_pitch(uint64_t bytes) {
  const bool free_pitch = image.type == ImageType::k1D || image.type == ImageType::k2D;
  const bool possible = bytes % Image::kAlignment == 0 &&
                        bytes >= uint64_t{image.width} * image.format.bytes &&
                        bytes / image.format.bytes <= Image::kMostWidth;
  if (!possible || (!free_pitch && bytes != image_row_bytes(image.width, image.format)))
    return false;
  image.row_bytes = bytes;
  return true;
}

uint64_t MadeImage::used_bytes() const {
  const uint64_t last = image.address(image.width - 1, image.height - 1, image.slices - 1);
  return last + image.format.bytes - image.base;
}

void write_image_handle(const MadeImage& made, const ChannelFormat& format,
                        uint32_t (&words)[kImageHandleWords]) {
  std::memset(words, 0, sizeof(words));
  if (made.buffer) {
    write_buffer(made.image, words);
  } else {
    uint32_t resource[Image::kWords];
    write_image(made.image, resource);
    std::memcpy(words, resource, sizeof(resource));
  }
  words[8] = format.type;
  words[9] = format.order;
  words[10] = made.image.width;
}

}  // namespace gfxgraph::emulator
