#include "check/memory/image_words.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/checked.h"
#include "emulator/isa/memory/image_format.h"

namespace gfxgraph::check {
namespace {

using emulator::ChannelFormat;
using emulator::Clamp;
using emulator::Image;
using emulator::ImageType;
using emulator::MadeImage;
using emulator::NumberFormat;
using emulator::Sampler;
using format::ImageObject;
using format::ImageResource;

// HIP's numbers.
constexpr uint32_t kLayered = 1, kCubemap = 4;             // hipArrayLayered, ...
constexpr uint8_t kWrap = 0, kMirror = 2, kBorder = 3;     // hipTextureAddressMode
constexpr uint8_t kLinear = 1;                             // hipTextureFilterMode
constexpr uint8_t kElementType = 0, kNormalizedFloat = 1;  // hipTextureReadMode
// Older versions give all axes the mode of the first one (5.2.3, 6.4.3), newer ones give each its
// own (7.2.4). Between the two: unknown.
constexpr int32_t kOneModeUntil = 6'05'00000, kThreeModesFrom = 7'02'00000;

tl::unexpected<Error> refuse(const char* why) { return fail(Status::kUnsupported, why); }

std::optional<ChannelFormat> channels_of(const format::TexelFormat& texel, bool fraction) {
  if (!texel.valid()) return std::nullopt;
  const auto components = static_cast<unsigned>(
      std::ranges::count_if(texel.bits, [](uint8_t bits) { return bits != 0; }));
  const unsigned bits = texel.bits[0];
  // Integers of 32 bits stay integers.
  const bool normalized = fraction && bits < 32;
  NumberFormat number = NumberFormat::kFloat;
  if (texel.kind == format::TexelKind::kSigned)
    number = normalized ? NumberFormat::kSnorm : NumberFormat::kSint;
  if (texel.kind == format::TexelKind::kUnsigned)
    number = normalized ? NumberFormat::kUnorm : NumberFormat::kUint;
  return emulator::channel_format(components, bits, number);
}

// The extent of an image of a whole array; null, or why there is none.
const char* shape_of_array(const format::ArrayShape& array, Image& image) {
  if ((array.flags & kCubemap) != 0) return "a cube map";
  const bool layered = (array.flags & kLayered) != 0;
  const bool possible = layered ? array.depth != 0 : array.depth == 0 || array.height != 0;
  if (!possible) return "an array of these dimensions";
  image.width = array.width;
  image.height = static_cast<uint32_t>(array.rows());
  image.slices = static_cast<uint32_t>(array.slices());
  if (array.height == 0)
    image.type = layered ? ImageType::k1DArray : ImageType::k1D;
  else if (array.depth == 0)
    image.type = ImageType::k2D;
  else
    image.type = layered ? ImageType::k2DArray : ImageType::k3D;
  return nullptr;
}

uint32_t at_most_32_bits(uint64_t value) {
  return static_cast<uint32_t>(std::min<uint64_t>(value, UINT32_MAX));
}

const char* shape_of(const ImageObject& object, const ImageSource& source, MadeImage& made) {
  Image& image = made.image;
  if (object.resource == ImageResource::kArray) return shape_of_array(*source.array, image);
  if (object.resource == ImageResource::kLinear) {
    image.type = ImageType::k1D;
    image.width = at_most_32_bits(object.size_bytes / object.format.bytes());
    made.buffer = true;
    return nullptr;
  }
  image.type = ImageType::k2D;
  image.width = at_most_32_bits(object.width);
  image.height = at_most_32_bits(object.height);
  return nullptr;
}

// HIP does not look at modes of linear memory, except those that need normalized coordinates.
Clamp clamp_of(const ImageObject& object, uint8_t mode) {
  if (object.normalized == 0 && (mode == kWrap || mode == kMirror)) return Clamp::kEdge;
  if (object.resource == ImageResource::kLinear) return Clamp::kWrap;
  switch (mode) {
    case kWrap: return Clamp::kWrap;
    case kMirror: return Clamp::kMirror;
    case kBorder: return Clamp::kBorder;
    default: return Clamp::kEdge;
  }
}

const char* sampler_of(const ImageObject& object, const Image& image, int32_t hip_version,
                       Sampler& sampler) {
  const bool linear_memory = object.resource == ImageResource::kLinear;
  if (object.filter > kLinear) return "an unknown filter";
  if (object.max_anisotropy > 1 && !linear_memory) return "an anisotropic filter";
  std::array<uint8_t, 3> modes = object.address_mode;
  for (const uint8_t mode : modes)
    if (mode > kBorder) return "an unknown address mode";
  if (hip_version < kThreeModesFrom) {
    const unsigned axes = image.slices > 1 ? 3 : image.height > 1 ? 2 : 1;
    const bool alike = std::all_of(modes.begin(), modes.begin() + axes,
                                   [&](uint8_t mode) { return mode == modes[0]; });
    if (!alike && hip_version >= kOneModeUntil)
      return "address modes that differ, which this version of HIP may not tell apart";
    modes.fill(modes[0]);
  }
  for (size_t axis = 0; axis < 3; ++axis) sampler.clamp[axis] = clamp_of(object, modes[axis]);
  const bool bordered = std::ranges::find(sampler.clamp, Clamp::kBorder) != std::end(sampler.clamp);
  // HIP does not pass a colour on, so it would be 0, which is not what the program wants.
  if (bordered && std::ranges::any_of(object.border, [](float part) { return part != 0; }))
    return "a border that is not 0";
  sampler.unnormalized = object.normalized == 0;
  sampler.linear = linear_memory || object.filter == kLinear;
  return nullptr;
}

}  // namespace

Result<std::vector<uint32_t>> image_words(const format::AllocationBegin& begin,
                                          const ImageSource& source, int32_t hip_version) {
  const ImageObject& object = *begin.object;
  const bool texture = begin.kind == format::AllocationKind::kTexture;
  if (object.srgb != 0) return refuse("sRGB");
  if (object.has_view) return refuse("a view of its resource");
  if (object.read_mode > kNormalizedFloat) return refuse("an unknown read mode");
  const bool of_array = object.resource == ImageResource::kArray;
  const format::TexelFormat& texels = of_array ? source.array->format : object.format;
  const auto channels = channels_of(texels, texture && object.read_mode != kElementType);
  const auto hardware = channels ? emulator::hardware_format(*channels) : std::nullopt;
  if (!hardware) return refuse("this texel format");
  MadeImage made;
  if (const char* why = shape_of(object, source, made)) return refuse(why);
  if (!made.size_fits()) return refuse("an image of this size");
  made.set_format(*hardware);
  made.set_rows();
  if (object.resource == ImageResource::kPitched && !made.set_row_pitch(object.pitch_bytes))
    return refuse("rows with this pitch");
  made.image.base = source.address + object.offset_bytes;
  if (made.image.base % made.base_alignment() != 0) return refuse("memory with this alignment");

  uint32_t image[emulator::kImageHandleWords];
  emulator::write_image_handle(made, *channels, image);
  std::vector<uint32_t> words(std::begin(image), std::end(image));
  static_assert(sizeof(image) == format::kSurfaceBytes);
  if (!texture) return words;
  Sampler sampler;
  if (const char* why = sampler_of(object, made.image, hip_version, sampler)) return refuse(why);
  uint32_t resource[Sampler::kWords];
  emulator::write_sampler(sampler, resource);
  words.insert(words.end(), std::begin(resource), std::end(resource));
  static_assert(sizeof(image) + 4 * emulator::kSamplerHandleWords == format::kTextureBytes);
  words.resize(format::kTextureBytes / 4);
  return words;
}

}  // namespace gfxgraph::check
