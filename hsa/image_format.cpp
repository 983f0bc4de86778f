#include "hsa/image_format.h"

#include "emulator/isa/buffer_format.h"

namespace gfxgraph::hsa {
namespace {

using emulator::NumberFormat;

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

}  // namespace

std::optional<HardwareFormat> hardware_format(const hsa_ext_image_format_t& format) {
  for (const Order& order : kOrders) {
    if (order.order != format.channel_order) continue;
    for (const Type& type : kTypes) {
      if (type.type != format.channel_type) continue;
      const uint32_t id = emulator::buffer_format_id(order.components, type.bits, type.number);
      if (id == 0) return std::nullopt;
      return HardwareFormat{id, order.select};
    }
  }
  return std::nullopt;
}

}  // namespace gfxgraph::hsa
