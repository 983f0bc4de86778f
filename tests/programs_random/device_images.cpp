// HIP's side of arrays, textures and surfaces.
#include <cstdlib>

#include "device.h"

// hipMemcpyToArray and hipMemcpyFromArray
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace random_programs {
namespace {

hipChannelFormatDesc format_of(const Texels& texels) {
  const auto bits = [&](uint32_t component) {
    return component < texels.components ? static_cast<int>(texels.bits) : 0;
  };
  const hipChannelFormatKind kind = texels.kind == TexelKind::kUnsigned
                                        ? hipChannelFormatKindUnsigned
                                    : texels.kind == TexelKind::kSigned ? hipChannelFormatKindSigned
                                                                        : hipChannelFormatKindFloat;
  return hipCreateChannelDesc(bits(0), bits(1), bits(2), bits(3), kind);
}

hipArray_Format driver_format(const Texels& texels) {
  static constexpr hipArray_Format kFormats[3][3] = {
      {HIP_AD_FORMAT_UNSIGNED_INT8, HIP_AD_FORMAT_UNSIGNED_INT16, HIP_AD_FORMAT_UNSIGNED_INT32},
      {HIP_AD_FORMAT_SIGNED_INT8, HIP_AD_FORMAT_SIGNED_INT16, HIP_AD_FORMAT_SIGNED_INT32},
      {HIP_AD_FORMAT_HALF, HIP_AD_FORMAT_HALF, HIP_AD_FORMAT_FLOAT}};
  return kFormats[static_cast<size_t>(texels.kind)][texels.bits / 16];
}

hipArray_t array_of(const Region& region) { return static_cast<hipArray_t>(region.handle); }

struct Position {
  uint64_t x = 0;  // bytes
  uint64_t y = 0;
  uint64_t z = 0;
};
Position position_in(const Region& array, uint64_t offset) {
  const uint64_t row = array.texels.row_bytes();
  return {offset % row, offset / row % array.texels.rows(), offset / row / array.texels.rows()};
}

}  // namespace

bool of_array(const Work& work, const Memory& memory) {
  return work.kind == WorkKind::kCopy && (memory.at(work.to.ref.region).kind == Kind::kArray ||
                                          memory.at(work.from.ref.region).kind == Kind::kArray);
}

void Device::create_array(Region& region, uint32_t variant) {
  const Texels& texels = region.texels;
  const hipChannelFormatDesc format = format_of(texels);
  const auto& [width, height, depth] = texels.size;
  hipArray_t array = nullptr;
  if (dry_) {
    region.handle = &region;
    return;
  }
  if (depth == 0 && variant % 3 == 0) {
    HIP_ARRAY_DESCRIPTOR desc = {};
    desc.Width = width;
    desc.Height = height;
    desc.Format = driver_format(texels);
    desc.NumChannels = texels.components;
    HIP(hipArrayCreate(&array, &desc));
  } else if (depth == 0 && variant % 3 == 1) {
    HIP(hipMallocArray(&array, &format, width, height, hipArrayDefault));
  } else if (variant % 2 == 0 && !texels.layered) {
    HIP_ARRAY3D_DESCRIPTOR desc = {};
    desc.Width = width;
    desc.Height = height;
    desc.Depth = depth;
    desc.Format = driver_format(texels);
    desc.NumChannels = texels.components;
    HIP(hipArray3DCreate(&array, &desc));
  } else {
    HIP(hipMalloc3DArray(&array, &format, make_hipExtent(width, height, depth),
                         texels.layered ? hipArrayLayered : hipArrayDefault));
  }
  region.handle = array;
}

void Device::create_object(Region& object, const Memory& memory) {
  const Region& shown = memory.at(object.shows.region);
  const Texels& texels = object.texels;
  if (dry_) {
    object.handle = &object;
    return;
  }
  hipResourceDesc resource = {};
  if (shown.kind == Kind::kArray) {
    resource.resType = hipResourceTypeArray;
    resource.res.array.array = array_of(shown);
  } else if (object.pitch == 0) {
    resource.resType = hipResourceTypeLinear;
    resource.res.linear.devPtr = shown.device + object.shows.offset;
    resource.res.linear.desc = format_of(texels);
    resource.res.linear.sizeInBytes = texels.row_bytes();
  } else {
    resource.resType = hipResourceTypePitch2D;
    resource.res.pitch2D.devPtr = shown.device + object.shows.offset;
    resource.res.pitch2D.desc = format_of(texels);
    resource.res.pitch2D.width = texels.size[0];
    resource.res.pitch2D.height = texels.size[1];
    resource.res.pitch2D.pitchInBytes = object.pitch;
  }
  if (object.kind == Kind::kSurface) {
    hipSurfaceObject_t surface = nullptr;
    HIP(hipCreateSurfaceObject(&surface, &resource));
    object.handle = surface;
    return;
  }
  hipTextureDesc desc = {};
  for (hipTextureAddressMode& mode : desc.addressMode)
    mode = static_cast<hipTextureAddressMode>(texels.mode);
  desc.normalizedCoords = (texels.how & kNormalized) != 0;
  desc.filterMode = (texels.how & kLinear) != 0 ? hipFilterModeLinear : hipFilterModePoint;
  desc.readMode =
      (texels.how & kFraction) != 0 ? hipReadModeNormalizedFloat : hipReadModeElementType;
  hipTextureObject_t texture = nullptr;
  HIP(hipCreateTextureObject(&texture, &resource, &desc, nullptr));
  object.handle = texture;
}

void Device::destroy_image(Region& image) {
  if (image.kind == Kind::kArray) HIP(hipFreeArray(array_of(image)));
  if (image.kind == Kind::kTexture)
    HIP(hipDestroyTextureObject(static_cast<hipTextureObject_t>(image.handle)));
  if (image.kind == Kind::kSurface)
    HIP(hipDestroySurfaceObject(static_cast<hipSurfaceObject_t>(image.handle)));
}

hipMemcpy3DParms array_parameters(const Work& work, const Memory& memory) {
  const auto api = static_cast<CopyApi>(work.api);
  const bool as_position = api == CopyApi::kArray3DAt || api == CopyApi::kArray3DAtAsync;
  hipMemcpy3DParms copy = {};
  const auto side = [&](const Side& of, hipArray_t& array, hipPos& position,
                        hipPitchedPtr& memory_side) {
    const Region& region = memory.at(of.ref.region);
    if (region.kind == Kind::kArray) {
      const Position at = position_in(region, of.ref.offset);
      array = array_of(region);
      position = make_hipPos(at.x / region.texels.texel_bytes(), at.y, at.z);
      copy.extent = make_hipExtent(work.shape.width / region.texels.texel_bytes(),
                                   work.shape.height, work.shape.depth);
      return;
    }
    Side begin = of;
    if (as_position) {
      position = make_hipPos(of.ref.offset, 0, 0);
      begin.ref.offset = 0;
    }
    memory_side = make_hipPitchedPtr(side_address(begin, memory), of.pitch, work.shape.width,
                                     of.slice / of.pitch);
  };
  side(work.to, copy.dstArray, copy.dstPos, copy.dstPtr);
  side(work.from, copy.srcArray, copy.srcPos, copy.srcPtr);
  copy.kind = direction(work, memory);
  return copy;
}

void Device::submit_array_copy(const Work& work, const Memory& memory, hipStream_t s) {
  const Region& target = memory.at(work.to.ref.region);
  const Region& source = memory.at(work.from.ref.region);
  const bool to_array = target.kind == Kind::kArray;
  const Region& one = to_array ? target : source;
  const Position at = position_in(one, (to_array ? work.to : work.from).ref.offset);
  const Side& other = to_array ? work.from : work.to;
  const hipMemcpyKind kind = direction(work, memory);
  const uint64_t width = work.shape.width, height = work.shape.height;
  const auto api = static_cast<CopyApi>(work.api);
  switch (api) {
    case CopyApi::kArray2D:
      if (to_array)
        HIP(hipMemcpy2DToArray(array_of(one), at.x, at.y, side_address(other, memory), other.pitch,
                               width, height, kind));
      else
        HIP(hipMemcpy2DFromArray(side_address(other, memory), other.pitch, array_of(one), at.x,
                                 at.y, width, height, kind));
      return;
    case CopyApi::kArray2DAsync:
      if (to_array)
        HIP(hipMemcpy2DToArrayAsync(array_of(one), at.x, at.y, side_address(other, memory),
                                    other.pitch, width, height, kind, s));
      else
        HIP(hipMemcpy2DFromArrayAsync(side_address(other, memory), other.pitch, array_of(one), at.x,
                                      at.y, width, height, kind, s));
      return;
    case CopyApi::kArray3D:
    case CopyApi::kArray3DAt: {
      const hipMemcpy3DParms copy = array_parameters(work, memory);
      HIP(hipMemcpy3D(&copy));
      return;
    }
    case CopyApi::kArray3DAsync:
    case CopyApi::kArray3DAtAsync: {
      const hipMemcpy3DParms copy = array_parameters(work, memory);
      HIP(hipMemcpy3DAsync(&copy, s));
      return;
    }
    case CopyApi::kArrayParam2D:
    case CopyApi::kArrayParam2DAsync: {
      hip_Memcpy2D copy = {};
      copy.WidthInBytes = width;
      copy.Height = height;
      const Position to = to_array ? at : Position{};
      const Position from =
          source.kind == Kind::kArray ? position_in(source, work.from.ref.offset) : Position{};
      copy.dstXInBytes = to.x;
      copy.dstY = to.y;
      copy.srcXInBytes = from.x;
      copy.srcY = from.y;
      if (to_array) {
        copy.dstMemoryType = hipMemoryTypeArray;
        copy.dstArray = array_of(target);
      } else {
        const bool host = host_side(target.kind);
        copy.dstMemoryType = host ? hipMemoryTypeHost : hipMemoryTypeDevice;
        (host ? copy.dstHost : copy.dstDevice) = side_address(work.to, memory);
        copy.dstPitch = work.to.pitch;
      }
      if (source.kind == Kind::kArray) {
        copy.srcMemoryType = hipMemoryTypeArray;
        copy.srcArray = array_of(source);
      } else {
        const bool host = host_side(source.kind);
        copy.srcMemoryType = host ? hipMemoryTypeHost : hipMemoryTypeDevice;
        if (host)
          copy.srcHost = side_address(work.from, memory);
        else
          copy.srcDevice = side_address(work.from, memory);
        copy.srcPitch = work.from.pitch;
      }
      if (api == CopyApi::kArrayParam2D)
        HIP(hipMemcpyParam2D(&copy));
      else
        HIP(hipMemcpyParam2DAsync(&copy, s));
      return;
    }
    case CopyApi::kArrayRow:
      if (to_array)
        HIP(hipMemcpyHtoA(array_of(one), at.x, side_address(other, memory), width));
      else
        HIP(hipMemcpyAtoH(side_address(other, memory), array_of(one), at.x, width));
      return;
    case CopyApi::kArrayWhole:
      if (to_array)
        HIP(hipMemcpyToArray(array_of(one), 0, 0, side_address(other, memory), width * height,
                             kind));
      else
        HIP(hipMemcpyFromArray(side_address(other, memory), array_of(one), 0, 0, width * height,
                               kind));
      return;
    default: throw Failure("no call copies an array in this form");
  }
}

std::vector<uint8_t> Device::array_bytes(const Region& array) {
  std::vector<uint8_t> bytes(array.size);
  const Texels& texels = array.texels;
  hipMemcpy3DParms copy = {};
  copy.srcArray = array_of(array);
  copy.dstPtr = make_hipPitchedPtr(bytes.data(), texels.row_bytes(), texels.size[0], texels.rows());
  copy.extent = make_hipExtent(texels.size[0], texels.rows(), texels.slices());
  copy.kind = hipMemcpyDeviceToHost;
  HIP(hipMemcpy3D(&copy));
  return bytes;
}

}  // namespace random_programs
