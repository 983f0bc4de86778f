// The model of what kernels do with textures and surfaces.
#include <cstring>

#include "work.h"

namespace random_programs {
namespace {

struct Shown {
  const Region& region;  // an array, or memory
  const Texels& texels;
  uint64_t begin, row, slice;

  Shown(const Memory& memory, const Region& object)
      : region(memory.at(object.shows.region)), texels(object.texels), begin(object.shows.offset) {
    row = object.pitch == 0 ? texels.row_bytes() : object.pitch;
    slice = row * texels.rows();
  }
  uint64_t place(uint32_t x, uint32_t y, uint32_t z) const {
    return begin + z * slice + y * row + uint64_t{x} * texels.texel_bytes();
  }
};

// Of rows, because the bytes between them may be anything.
void shown_accesses(const Memory& memory, const Region& object, Accesses& list) {
  const Shown shown(memory, object);
  for (uint32_t z = 0; z < shown.texels.slices(); ++z) {
    for (uint32_t y = 0; y < shown.texels.rows(); ++y) {
      const uint64_t at = shown.place(0, y, z);
      list.push_back({shown.region.id, at, at + shown.texels.row_bytes(), false});
    }
  }
}

void part_accesses(const Work& work, const Memory& memory, bool write, Accesses& list) {
  const Shown shown(memory, memory.at(work.refs[1].region));
  const ImageShape& shape = work.image;
  for (uint32_t z = 0; z < shape.part[2]; ++z) {
    for (uint32_t y = 0; y < shape.part[1]; ++y) {
      const uint64_t at = shown.place(shape.at[0], shape.at[1] + y, shape.at[2] + z);
      list.push_back({shown.region.id, at, at + shape.part[0] * shown.texels.texel_bytes(), write});
    }
  }
}

uint32_t float_bits(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

uint32_t float_bits_of_half(uint32_t half) {
  const uint32_t sign = half >> 15 << 31, exponent = half >> 10 & 31, fraction = half & 1023;
  if (exponent == 31) return sign | 0x7f800000 | fraction << 13;
  if (exponent != 0) return sign | (exponent + 112) << 23 | fraction << 13;
  return sign | float_bits(static_cast<float>(fraction) / 16777216.0f);
}

// Of an integer below 2048.
uint32_t half_bits(uint32_t number) {
  if (number == 0) return 0;
  uint32_t exponent = 25;
  for (; number < 1024; number <<= 1) --exponent;
  return exponent << 10 | (number & 1023);
}

uint32_t load_component(const Shown& shown, uint64_t at, uint32_t component) {
  uint32_t raw = 0;
  const uint32_t bytes = shown.texels.bits / 8;
  std::memcpy(&raw, shown.region.bytes.data() + at + component * bytes, bytes);
  if (shown.texels.bits == 32) return raw;
  if (shown.texels.kind == TexelKind::kFloat) return float_bits_of_half(raw);
  const bool negative =
      shown.texels.kind == TexelKind::kSigned && (raw >> (shown.texels.bits - 1)) != 0;
  return negative ? raw | ~((1u << shown.texels.bits) - 1) : raw;
}

// The texel of an axis that a texture shows at a place; -1: none, which reads as 0.
int64_t folded(int64_t at, int64_t size, AddressMode mode, bool normalized) {
  const bool repeats = mode == AddressMode::kWrap || mode == AddressMode::kMirror;
  if (repeats && !normalized) mode = AddressMode::kClamp;
  const int64_t within = (at % (2 * size) + 2 * size) % (2 * size);
  switch (mode) {
    case AddressMode::kWrap: return within % size;
    case AddressMode::kMirror: return within < size ? within : 2 * size - 1 - within;
    case AddressMode::kBorder: return at < 0 || at >= size ? -1 : at;
    case AddressMode::kClamp: break;
  }
  return std::clamp<int64_t>(at, 0, size - 1);
}

// What point i reads: a component, or what the kernel makes of a fraction.
uint32_t read_point(const Shown& shown, const ImageShape& shape, bool surface, uint32_t i,
                    uint32_t a, uint32_t component) {
  const bool layers = shape.dimension == Dimension::k2DLayers;
  const uint32_t axes = shape.dimension == Dimension::k3D             ? 3
                        : shape.dimension == Dimension::k2D || layers ? 2
                                                                      : 1;
  int64_t at[3] = {0, 0, 0};
  for (uint32_t axis = 0; axis < axes; ++axis) {
    at[axis] = texel_at(i, a, axis, shape.size[axis]);
    const bool plain = surface || shape.dimension == Dimension::kFetch;
    const bool inside = at[axis] >= 0 && at[axis] < shape.size[axis];
    if (plain ? !inside : false) return 0;
    if (!plain) {
      at[axis] =
          folded(at[axis], shape.size[axis], shown.texels.mode, (shape.how & kNormalized) != 0);
    }
    if (at[axis] < 0) return 0;
  }
  if (layers) at[2] = mix(a + i) % shape.size[2];
  const uint32_t bits =
      load_component(shown,
                     shown.place(static_cast<uint32_t>(at[0]), static_cast<uint32_t>(at[1]),
                                 static_cast<uint32_t>(at[2])),
                     component);
  if ((shape.how & kFraction) == 0) return plain_bits(shape, bits);
  const auto least = -static_cast<int32_t>(most_of(shape));
  const auto number = static_cast<int32_t>(bits);
  return shape.kind == TexelKind::kSigned && number < least ? static_cast<uint32_t>(least) : bits;
}

}  // namespace

bool is_image_kernel(Kernel kernel) {
  return kernel == Kernel::fetch || kernel == Kernel::fetch_table ||
         kernel == Kernel::surface_read || kernel == Kernel::surface_write ||
         kernel == Kernel::surface_update;
}

void image_accesses(const Work& work, const Memory& memory, Accesses& list) {
  const Ref& d = work.refs[0];
  if (d.region >= 0) {
    const uint64_t bytes = uint64_t{4} * work.n * work.image.components;
    list.push_back({d.region, d.offset, d.offset + bytes, true});
  }
  if (work.kernel == Kernel::fetch_table) return;
  const Region& object = memory.at(work.refs[1].region);
  list.push_back({object.id, 0, 1, false});
  if (work.kernel == Kernel::surface_update) part_accesses(work, memory, false, list);
  if (work.kernel == Kernel::surface_update || work.kernel == Kernel::surface_write)
    return part_accesses(work, memory, true, list);
  shown_accesses(memory, object, list);
}

void table_accesses(const Memory& memory, const Region& texture, Accesses& list) {
  list.push_back({texture.id, 0, 1, false});
  shown_accesses(memory, texture, list);
}

void apply_image_kernel(const Work& work, Memory& memory, const Region& object) {
  const uint32_t a = delay(work.a, work.spin);
  const Shown shown(memory, object);
  const ImageShape& shape = work.image;
  if (work.refs[0].region >= 0) {
    uint8_t* d = memory.bytes(work.refs[0]);
    for (uint32_t i = 0; i < work.n; ++i) {
      for (uint32_t c = 0; c < shape.components; ++c) {
        const uint32_t value =
            read_point(shown, shape, work.kernel == Kernel::surface_read, i, a, c);
        std::memcpy(d + 4 * (i * shape.components + c), &value, 4);
      }
    }
    return;
  }
  Region& array = memory.at(shown.region.id);
  const uint32_t bytes = shape.bits / 8;
  for (uint32_t i = 0; i < work.n; ++i) {
    const uint64_t at = shown.place(shape.at[0] + i % shape.part[0],
                                    shape.at[1] + i / shape.part[0] % shape.part[1],
                                    shape.at[2] + i / shape.part[0] / shape.part[1]);
    for (uint32_t c = 0; c < shape.components; ++c) {
      const uint32_t before =
          work.kernel == Kernel::surface_update ? load_component(shown, at, c) : 0;
      uint32_t value = component_of(shape, mix(a + 4 * i + c) + before);
      if (shape.kind == TexelKind::kFloat && shape.bits == 16) value = half_bits(value);
      std::memcpy(array.bytes.data() + at + c * bytes, &value, bytes);
    }
  }
}

}  // namespace random_programs
