// Image instructions (MIMG): loads, stores, samples and gathers of linear images with one mip
// level. Source: RDNA2 ISA guide, "Image Instructions".
//
// To observers each texel of a sample is an access of its own, of the lanes that read it.
// Derivatives and levels of detail choose nothing when there is one level.
#pragma once

#include "emulator/decode/image_operands.h"
#include "emulator/isa/half.h"
#include "emulator/isa/memory/access.inl"
#include "emulator/isa/memory/image.h"

namespace gfxgraph::emulator {
inline namespace GFXGRAPH_ISA {

// One texel per lane.
struct Texels {
  Row64 address;
  uint32_t inside = 0;  // lanes with a texel in the image
};

GFXGRAPH_INLINE uint32_t image_lane(const Wave& w, const Inst* i, unsigned n, unsigned l) {
  return w.v(image_address(*i, n)).lane[l];
}

inline bool has_rows(ImageDim dim) {
  return dim == ImageDim::k2D || dim == ImageDim::k3D || dim == ImageDim::k2DArray;
}
inline bool has_slices(ImageDim dim) {
  return dim == ImageDim::k3D || dim == ImageDim::k1DArray || dim == ImageDim::k2DArray;
}
inline bool is_plain_dim(ImageDim dim) {
  return dim == ImageDim::k1D || has_rows(dim) || has_slices(dim);
}

// Emits the event of an access to the texels of the lanes of `lanes`; returns those to perform.
template <class Observer>
GFXGRAPH_INLINE uint32_t report_texels(Wave& w, const Inst* i, const Image& image,
                                       const Texels& texels, AccessKind kind, uint32_t lanes) {
  if constexpr (Observer::kMemory) {
    if (lanes == 0) return 0;
    MemoryEvent event;
    event.kind = kind;
    event.access_bytes = image.format.bytes;
    event.address = texels.address.lane;
    event.exec = lanes;
    event.in_range = texels.inside;
    event.pointer = image.base;
    return static_cast<Observer*>(w.observer)
        ->memory(*static_cast<typename Observer::WaveState*>(w.observer_state), w, *i, event);
  }
  return lanes;
}

// The texels that integer coordinates name; the mip level, if there is one, must be 0.
GFXGRAPH_INLINE void texels_of_coordinates(const Wave& w, const Inst* i, const Image& image,
                                           Texels& texels) {
  const ImageDim dim = image_fields(*i).dim;
  const ImageShape shape = image_shape(*i);
  for (unsigned l = 0; l < kLanes; ++l) {
    const uint32_t x = image_lane(w, i, 0, l);
    const uint32_t y = has_rows(dim) ? image_lane(w, i, 1, l) : 0;
    const uint32_t slice = has_slices(dim) ? image_lane(w, i, shape.axes - 1u, l) : 0;
    const uint32_t level = shape.level != 0 ? image_lane(w, i, shape.axes, l) : 0;
    const bool inside = x < image.width && y < image.height && slice < image.slices && level == 0;
    texels.address.lane[l] = inside ? image.address(x, y, slice) : image.base;
    texels.inside |= static_cast<uint32_t>(inside) << l;
  }
}

// Writes the components that DMASK selects.
GFXGRAPH_INLINE void set_texel(Wave& w, const Inst* i, const ImageFields& fields, unsigned l,
                               const uint32_t (&component)[4], bool integer) {
  Row* dst = &w.v(i->dst);
  unsigned at = 0;
  for (unsigned n = 0; n < 4; ++n) {
    if ((fields.dmask >> n & 1) == 0) continue;
    if (!fields.d16) {
      dst[at++].lane[l] = component[n];
      continue;
    }
    const uint32_t half =
        (integer ? component[n] : float_to_half(__builtin_bit_cast(float, component[n]))) & 0xffffu;
    uint32_t& word = dst[at / 2].lane[l];
    word = at % 2 != 0 ? (word & 0xffffu) | half << 16 : (word & 0xffff0000u) | half;
    ++at;
  }
}

// DST_SEL of the resource.
GFXGRAPH_INLINE void select_texel(const Image& image, const uint32_t (&from)[4],
                                  uint32_t (&to)[4]) {
  const bool integer = is_integer(image.format.number);
  for (unsigned n = 0; n < 4; ++n) {
    const uint32_t select = image.select >> (3 * n) & 7;
    to[n] = select >= 4 ? from[select - 4] : select == 1 ? (integer ? 1u : 0x3f800000u) : 0;
  }
}

template <class Observer>
const Inst* image_load(Wave& w, const Inst* i) {
  const ImageFields fields = image_fields(*i);
  Image image;
  if (const char* why = read_image(&w.sgpr[i->sdst], image)) return w.unsupported(i, why);
  Texels texels;
  texels_of_coordinates(w, i, image, texels);
  const uint32_t exec = w.exec();
  const uint32_t read =
      report_texels<Observer>(w, i, image, texels, AccessKind::kLoad, exec) & texels.inside;
  for (uint32_t m = exec; m != 0; m &= m - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    uint32_t selected[4] = {};
    if ((read >> l & 1) != 0) {
      const uint64_t a = texels.address.lane[l];
      uintptr_t host = 0;
      if (!resolve<false>(w, i, a, Bounds{0, 0}, image.format.bytes, host))
        return raise_access(w, i, FaultKind::kMemory, l, a, image.format.bytes, false,
                            "a texel of an image");
      uint32_t component[4];
      unpack_format(image.format, reinterpret_cast<const uint8_t*>(host), false, component);
      select_texel(image, component, selected);
    }
    set_texel(w, i, fields, l, selected, is_integer(image.format.number));
  }
  return i->next();
}

template <class Observer>
const Inst* image_store(Wave& w, const Inst* i) {
  const ImageFields fields = image_fields(*i);
  Image image;
  if (const char* why = read_image(&w.sgpr[i->sdst], image)) return w.unsupported(i, why);
  Texels texels;
  texels_of_coordinates(w, i, image, texels);
  const uint32_t exec = w.exec();
  const uint32_t written =
      report_texels<Observer>(w, i, image, texels, AccessKind::kStore, exec) & texels.inside;
  const Row* data = &w.v(i->src[1]);
  for (uint32_t m = written; m != 0; m &= m - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    uint32_t component[4] = {};  // those that DMASK leaves out are stored as 0
    unsigned at = 0;
    for (unsigned n = 0; n < 4; ++n)
      if ((fields.dmask >> n & 1) != 0) component[n] = data[at++].lane[l];
    uint32_t memory[4];
    unselect_components(image.select, component, memory);
    uint8_t packed[16];
    if (const char* why = pack_format(image.format, memory, false, packed))
      return w.unsupported(i, why);
    const uint64_t a = texels.address.lane[l];
    uintptr_t host = 0;
    if (!resolve<true>(w, i, a, Bounds{0, 0}, image.format.bytes, host))
      return raise_access(w, i, FaultKind::kMemory, l, a, image.format.bytes, true,
                          "a texel of an image");
    std::memcpy(reinterpret_cast<void*>(host), packed, image.format.bytes);
  }
  return i->next();
}

// Where the lanes of a sample read: the texels along each axis.
struct Footprint {
  AxisTexels axis[3][kLanes];
  bool filtered[3];  // axes with two texels
};
GFXGRAPH_INLINE void footprint_of(const Wave& w, const Inst* i, const Image& image,
                                  const Sampler& sampler, bool linear, Footprint& f) {
  const ImageFields fields = image_fields(*i);
  const ImageShape shape = image_shape(*i);
  const bool plain = sampler.unnormalized || fields.unnormalized;
  const uint32_t size[3] = {image.width, image.height, image.slices};
  const bool used[3] = {true, has_rows(fields.dim), has_slices(fields.dim)};
  const bool layers = fields.dim != ImageDim::k3D;
  unsigned at = shape.first;
  for (unsigned n = 0; n < 3; ++n) {
    f.filtered[n] = linear && used[n] && (n < 2 || !layers);
    for (unsigned l = 0; l < kLanes; ++l) {
      AxisTexels& texels = f.axis[n][l];
      if (!used[n]) {
        texels = AxisTexels{};
        continue;
      }
      const float c = __builtin_bit_cast(float, image_lane(w, i, at, l));
      if (n == 2 && layers) {
        texels = AxisTexels{};
        texels.index[0] = layer_of(c, size[2]);
      } else {
        texels = axis_texels(c, size[n], sampler.clamp[n], plain, linear);
      }
    }
    at += used[n] ? 1 : 0;
  }
}

// Texel `corner` of the footprint: bit n chooses along axis n.
GFXGRAPH_INLINE void texels_of_corner(const Image& image, const Footprint& f, unsigned corner,
                                      Texels& texels) {
  texels.inside = 0;
  for (unsigned l = 0; l < kLanes; ++l) {
    bool outside = false;
    uint32_t index[3];
    for (unsigned n = 0; n < 3; ++n) {
      index[n] = f.axis[n][l].index[corner >> n & 1];
      outside = outside || f.axis[n][l].outside[corner >> n & 1];
    }
    texels.address.lane[l] = image.address(index[0], index[1], index[2]);
    texels.inside |= static_cast<uint32_t>(!outside) << l;
  }
}

// Reads the components of one texel per lane in `lanes`; the border's of the other ones. False
// after a fault.
template <class Observer>
bool read_corner(Wave& w, const Inst* i, const Image& image, const Sampler& sampler,
                 const Texels& texels, uint32_t lanes, uint32_t (&out)[kLanes][4]) {
  const uint32_t read =
      report_texels<Observer>(w, i, image, texels, AccessKind::kLoad, lanes & texels.inside);
  const uint32_t one = is_integer(image.format.number) ? 1u : 0x3f800000u;
  for (uint32_t m = lanes; m != 0; m &= m - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    for (unsigned n = 0; n < 4; ++n) {
      const bool white = sampler.border == 2 || (sampler.border == 1 && n == 3);
      out[l][n] = white && (texels.inside >> l & 1) == 0 ? one : 0;
    }
    if ((read >> l & 1) == 0) continue;
    const uint64_t a = texels.address.lane[l];
    uintptr_t host = 0;
    if (!resolve<false>(w, i, a, Bounds{0, 0}, image.format.bytes, host)) {
      raise_access(w, i, FaultKind::kMemory, l, a, image.format.bytes, false,
                   "a texel of an image");
      return false;
    }
    unpack_format(image.format, reinterpret_cast<const uint8_t*>(host), false, out[l]);
  }
  return true;
}

// The resources of a sample, or why it is not supported.
inline const char* read_sample(const Wave& w, const Inst* i, Image& image, Sampler& sampler) {
  if (const char* why = read_image(&w.sgpr[i->sdst], image)) return why;
  if (const char* why = read_sampler(&w.sgpr[i->src[2]], sampler)) return why;
  const bool deep = image.type == ImageType::k3D;
  const ImageDim dim = image_fields(*i).dim;
  if (deep != (dim == ImageDim::k3D)) return "a sample whose dimension is not that of its image";
  return nullptr;
}

template <class Observer>
const Inst* image_sample(Wave& w, const Inst* i) {
  const ImageFields fields = image_fields(*i);
  Image image;
  Sampler sampler;
  if (const char* why = read_sample(w, i, image, sampler)) return w.unsupported(i, why);
  const bool integer = is_integer(image.format.number);
  if (sampler.linear && integer) return w.unsupported(i, "a linear filter on an image of integers");
  Footprint f;
  footprint_of(w, i, image, sampler, sampler.linear, f);
  const uint32_t exec = w.exec();
  double sum[kLanes][4] = {};
  uint32_t texel[kLanes][4];
  const unsigned which =
      (f.filtered[0] ? 1u : 0) | (f.filtered[1] ? 2u : 0) | (f.filtered[2] ? 4u : 0);
  for (unsigned corner = 0; corner < 8; ++corner) {
    if ((corner & ~which) != 0) continue;
    double share[kLanes];
    uint32_t lanes = 0;
    for (unsigned l = 0; l < kLanes; ++l) {
      share[l] = 1;
      for (unsigned n = 0; n < 3; ++n) {
        const auto second = static_cast<double>(f.axis[n][l].share);
        if (f.filtered[n]) share[l] *= (corner >> n & 1) != 0 ? second : 1 - second;
      }
      lanes |= static_cast<uint32_t>(share[l] > 0) << l;
    }
    lanes &= exec;
    Texels texels;
    texels_of_corner(image, f, corner, texels);
    if (!read_corner<Observer>(w, i, image, sampler, texels, lanes, texel)) return nullptr;
    if (!sampler.linear) break;
    for (uint32_t m = lanes; m != 0; m &= m - 1) {
      const auto l = static_cast<unsigned>(std::countr_zero(m));
      for (unsigned n = 0; n < 4; ++n)
        sum[l][n] += share[l] * static_cast<double>(__builtin_bit_cast(float, texel[l][n]));
    }
  }
  for (uint32_t m = exec; m != 0; m &= m - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    if (sampler.linear)
      for (unsigned n = 0; n < 4; ++n)
        texel[l][n] = __builtin_bit_cast(uint32_t, static_cast<float>(sum[l][n]));
    uint32_t selected[4];
    select_texel(image, texel[l], selected);
    set_texel(w, i, fields, l, selected, integer);
  }
  return i->next();
}

// One component of the four texels that a linear filter would blend.
template <class Observer>
const Inst* image_gather4(Wave& w, const Inst* i) {
  ImageFields fields = image_fields(*i);
  Image image;
  Sampler sampler;
  if (const char* why = read_sample(w, i, image, sampler)) return w.unsupported(i, why);
  if (fields.dim != ImageDim::k2D && fields.dim != ImageDim::k2DArray)
    return w.unsupported(i, "a gather from an image that has not two dimensions");
  Footprint f;
  footprint_of(w, i, image, sampler, true, f);
  const auto component = static_cast<unsigned>(std::countr_zero(fields.dmask));
  const uint32_t exec = w.exec();
  constexpr unsigned kCorner[4] = {2, 3, 1, 0};  // x, y, z, w of the result
  uint32_t result[kLanes][4];
  for (unsigned n = 0; n < 4; ++n) {
    Texels texels;
    texels_of_corner(image, f, kCorner[n], texels);
    uint32_t texel[kLanes][4];
    if (!read_corner<Observer>(w, i, image, sampler, texels, exec, texel)) return nullptr;
    for (uint32_t m = exec; m != 0; m &= m - 1) {
      const auto l = static_cast<unsigned>(std::countr_zero(m));
      uint32_t selected[4];
      select_texel(image, texel[l], selected);
      result[l][n] = selected[component];
    }
  }
  fields.dmask = 15;
  for (uint32_t m = exec; m != 0; m &= m - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    set_texel(w, i, fields, l, result[l], is_integer(image.format.number));
  }
  return i->next();
}

// Width, height, slices and number of levels.
inline const Inst* image_get_resinfo(Wave& w, const Inst* i) {
  const ImageFields fields = image_fields(*i);
  Image image;
  if (const char* why = read_image(&w.sgpr[i->sdst], image)) return w.unsupported(i, why);
  for (uint32_t m = w.exec(); m != 0; m &= m - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    const bool exists = image_lane(w, i, 0, l) == 0;
    const uint32_t info[4] = {exists ? image.width : 0, exists ? image.height : 0,
                              exists ? image.slices : 0, 1};
    set_texel(w, i, fields, l, info, true);
  }
  return i->next();
}

template <class O>
Handler bind_image(Inst& inst) {
  const ImageFields fields = image_fields(inst);
  if (inst.sdst == operand::kNone || fields.refused || fields.dmask == 0) return nullptr;
  if (!is_plain_dim(fields.dim)) return nullptr;
  switch (inst.op) {
    case Op::image_load:
    case Op::image_load_mip: return image_load<O>;
    case Op::image_store:
    case Op::image_store_mip: return fields.d16 ? nullptr : image_store<O>;
    case Op::image_get_resinfo: return fields.d16 ? nullptr : image_get_resinfo;
    case Op::image_sample:
    case Op::image_sample_l:
    case Op::image_sample_lz:
    case Op::image_sample_d:
    case Op::image_sample_d_g16: return image_sample<O>;
    case Op::image_gather4:
    case Op::image_gather4_l:
    case Op::image_gather4_lz: return image_gather4<O>;
    default: return nullptr;
  }
}

}  // namespace GFXGRAPH_ISA
}  // namespace gfxgraph::emulator
