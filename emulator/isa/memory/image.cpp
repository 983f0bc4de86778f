#include "emulator/isa/memory/image.h"

#include <algorithm>
#include <cmath>

namespace gfxgraph::emulator {
namespace {

bool is_array(ImageType type) { return type == ImageType::k1DArray || type == ImageType::k2DArray; }
bool is_1d(ImageType type) { return type == ImageType::k1D || type == ImageType::k1DArray; }
// Their resource has the pitch instead of a number of slices.
bool has_pitch(ImageType type) { return type == ImageType::k1D || type == ImageType::k2D; }

constexpr uint32_t kPitchMask = 0x3fff;

uint32_t folded(int64_t index, uint32_t size, Clamp clamp, bool& outside) {
  const auto n = static_cast<int64_t>(size);
  outside = false;
  switch (clamp) {
    case Clamp::kWrap: return static_cast<uint32_t>((index % n + n) % n);
    case Clamp::kMirror: {
      const int64_t within = (index % (2 * n) + 2 * n) % (2 * n);
      return static_cast<uint32_t>(within < n ? within : 2 * n - 1 - within);
    }
    case Clamp::kEdge: break;
    case Clamp::kBorder: outside = index < 0 || index >= n; break;
  }
  return static_cast<uint32_t>(std::clamp<int64_t>(index, 0, n - 1));
}

}  // namespace

uint64_t image_row_bytes(uint32_t width, const BufferFormat& format) {
  const uint64_t bytes = uint64_t{width} * format.bytes;
  return (bytes + Image::kAlignment - 1) / Image::kAlignment * Image::kAlignment;
}

const char* read_image(const uint32_t* words, Image& image) {
  const uint32_t type = words[3] >> 28;
  if (type == 11) return "a cube map";
  if (type == 14 || type == 15) return "a multisampled image";
  if (type < 8) return "a buffer resource, or none, in an image instruction";
  image.type = static_cast<ImageType>(type);
  if ((words[3] >> 20 & 31) != 0) return "an image that is not linear";
  if ((words[3] >> 12 & 255) != 0) return "an image with mip levels";
  if ((words[6] >> 21 & 1) != 0) return "a compressed image";
  image.format_id = words[1] >> 20 & 511;
  image.format = buffer_format(image.format_id);
  if (image.format.components == 0) return "this image format number";
  image.base = uint64_t{words[0]} << 8 | uint64_t{words[1] & 255} << 40;
  image.width = ((words[1] >> 30) | (words[2] & 0xfff) << 2) + 1;
  image.height = is_1d(image.type) ? 1 : (words[2] >> 14 & 0x3fff) + 1;
  image.select = words[3] & 0xfff;
  image.slices = 1;
  image.row_bytes = image_row_bytes(image.width, image.format);
  if (has_pitch(image.type)) {
    image.row_bytes = uint64_t{(words[4] & kPitchMask) + 1} * image.format.bytes;
  } else {
    const uint32_t first = words[4] >> 16 & 0x1fff;
    const uint32_t last = words[4] & 0x1fff;
    if (is_array(image.type) && first != 0) return "an image array that begins at another layer";
    image.slices = last + 1;
  }
  return nullptr;
}

void write_image(const Image& image, uint32_t (&words)[Image::kWords]) {
  const uint32_t width = image.width - 1;
  const uint64_t pitch = image.row_bytes / image.format.bytes;
  words[0] = static_cast<uint32_t>(image.base >> 8);
  words[1] =
      (static_cast<uint32_t>(image.base >> 40) & 255) | image.format_id << 20 | (width & 3) << 30;
  words[2] = width >> 2 | (image.height - 1) << 14 | 1u << 31;  // RESOURCE_LEVEL
  words[3] = image.select | static_cast<uint32_t>(image.type) << 28;
  words[4] =
      has_pitch(image.type) ? static_cast<uint32_t>(pitch - 1) & kPitchMask : image.slices - 1;
  words[5] = words[6] = words[7] = 0;
}

void unselect_components(uint32_t select, const uint32_t (&from)[4], uint32_t (&to)[4]) {
  for (unsigned n = 0; n < 4; ++n) {
    to[n] = 0;
    for (unsigned reads = 4; reads-- > 0;)
      if ((select >> (3 * reads) & 7) == 4 + n) to[n] = from[reads];
  }
}

const char* read_sampler(const uint32_t* words, Sampler& sampler) {
  for (unsigned n = 0; n < 3; ++n) {
    const uint32_t clamp = words[0] >> (3 * n) & 7;
    if (clamp > 2 && clamp != 6) return "a sampler that mirrors once or blends with the border";
    sampler.clamp[n] = static_cast<Clamp>(clamp);
  }
  sampler.unnormalized = (words[0] >> 15 & 1) != 0;
  const uint32_t magnify = words[2] >> 20 & 3;
  const uint32_t minify = words[2] >> 22 & 3;
  if (magnify != minify) return "a sampler with two different filters";
  if (magnify > 1 || (words[0] >> 9 & 7) != 0) return "an anisotropic filter";
  if ((words[0] >> 29 & 3) != 0) return "a sampler that takes the minimum or maximum";
  if ((words[0] >> 27 & 1) != 0) return "a sampler that truncates coordinates";
  sampler.linear = magnify == 1;
  sampler.border = words[3] >> 30;
  return sampler.border == 3 ? "a border colour from memory" : nullptr;
}

void write_sampler(const Sampler& sampler, uint32_t (&words)[Sampler::kWords]) {
  words[0] = sampler.unnormalized ? 1u << 15 : 0;
  for (unsigned n = 0; n < 3; ++n) words[0] |= static_cast<uint32_t>(sampler.clamp[n]) << (3 * n);
  words[1] = 0xfffu << 12;  // MAX_LOD
  words[2] = sampler.linear ? 1u << 20 | 1u << 22 : 0;
  words[3] = sampler.border << 30;
}

AxisTexels axis_texels(float coordinate, uint32_t size, Clamp clamp, bool unnormalized,
                       bool linear) {
  // Wrapping is defined for normalized coordinates only.
  if (unnormalized && (clamp == Clamp::kWrap || clamp == Clamp::kMirror)) clamp = Clamp::kEdge;
  double at = static_cast<double>(coordinate) * (unnormalized ? 1.0 : size);
  if (std::isnan(at)) at = 0;
  constexpr double kFar = 0x1p40;  // beyond, the fraction of a float is gone
  if ((clamp == Clamp::kWrap || clamp == Clamp::kMirror) && std::fabs(at) > kFar)
    at = std::isinf(at) ? 0 : std::fmod(at, 2.0 * size);
  at = std::clamp(at, -kFar, kFar);
  AxisTexels texels;
  // Rounding comes first: HIP's device library moves the coordinates of a point filter to the edge
  // of their texel, and a reciprocal may leave them a little before it.
  const auto fixed = static_cast<int64_t>(std::floor((linear ? at - 0.5 : at) * 256 + 0.5));
  if (!linear) {
    texels.index[0] = folded(fixed >> 8, size, clamp, texels.outside[0]);
    texels.index[1] = texels.index[0];
    texels.outside[1] = texels.outside[0];
    texels.share = 0;
    return texels;
  }
  for (int n = 0; n < 2; ++n)
    texels.index[n] = folded((fixed >> 8) + n, size, clamp, texels.outside[n]);
  texels.share = static_cast<float>(fixed & 255) / 256;
  return texels;
}

uint32_t layer_of(float coordinate, uint32_t layers) {
  if (!(coordinate > 0)) return 0;  // NaN too
  const double rounded = std::nearbyint(static_cast<double>(coordinate));
  return static_cast<uint32_t>(std::min(rounded, static_cast<double>(layers - 1)));
}

}  // namespace gfxgraph::emulator
