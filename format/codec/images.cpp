// Arrays, textures and surfaces as tables, both ways.
#include <memory>

#include "format/codec/pack_internal.h"
#include "format/codec/unpack_internal.h"

namespace gfxgraph::format {

bool TexelFormat::valid() const noexcept {
  if (bits[0] != 8 && bits[0] != 16 && bits[0] != 32) return false;
  if (kind == TexelKind::kFloat && bits[0] == 8) return false;
  const bool two = bits[1] != 0;
  const bool four = bits[2] != 0;
  return bits[1] == (two ? bits[0] : 0) && bits[2] == (four ? bits[0] : 0) && bits[3] == bits[2] &&
         (two || !four);
}

namespace {

Offset<fbs::TexelFormat> pack_format(Builder& builder, const TexelFormat& format) {
  fbs::TexelFormatBuilder table(builder);
  table.add_x_bits(format.bits[0]);
  table.add_y_bits(format.bits[1]);
  table.add_z_bits(format.bits[2]);
  table.add_w_bits(format.bits[3]);
  table.add_kind(static_cast<fbs::TexelKind>(format.kind));
  return table.Finish();
}

}  // namespace

Offset<fbs::ArrayShape> pack_array(Builder& builder, const ArrayShape& array) {
  const auto format = pack_format(builder, array.format);
  fbs::ArrayShapeBuilder table(builder);
  table.add_width(array.width);
  table.add_height(array.height);
  table.add_depth(array.depth);
  table.add_format(format);
  table.add_flags(array.flags);
  return table.Finish();
}

Offset<fbs::ImageObject> pack_object(Builder& builder, const ImageObject& object) {
  Offset<fbs::TexelFormat> format;
  if (object.resource != ImageResource::kArray) format = pack_format(builder, object.format);
  fbs::ImageObjectBuilder table(builder);
  table.add_resource(static_cast<fbs::ImageResource>(object.resource));
  table.add_allocation(object.allocation);
  table.add_offset_bytes(object.offset_bytes);
  if (!format.IsNull()) table.add_format(format);
  table.add_size_bytes(object.size_bytes);
  table.add_width(object.width);
  table.add_height(object.height);
  table.add_pitch_bytes(object.pitch_bytes);
  table.add_address_mode_x(object.address_mode[0]);
  table.add_address_mode_y(object.address_mode[1]);
  table.add_address_mode_z(object.address_mode[2]);
  table.add_filter(object.filter);
  table.add_read_mode(object.read_mode);
  table.add_srgb(object.srgb);
  table.add_normalized(object.normalized);
  table.add_mip_filter(object.mip_filter);
  table.add_max_anisotropy(object.max_anisotropy);
  table.add_border_x(object.border[0]);
  table.add_border_y(object.border[1]);
  table.add_border_z(object.border[2]);
  table.add_border_w(object.border[3]);
  table.add_mip_bias(object.mip_bias);
  table.add_mip_least(object.mip_least);
  table.add_mip_most(object.mip_most);
  table.add_has_view(object.has_view);
  table.add_view_format(object.view_format);
  table.add_view_width(object.view_width);
  table.add_view_height(object.view_height);
  table.add_view_depth(object.view_depth);
  table.add_first_level(object.first_level);
  table.add_last_level(object.last_level);
  table.add_first_layer(object.first_layer);
  table.add_last_layer(object.last_layer);
  return table.Finish();
}

TexelFormat Unpacker::texel_format(const fbs::TexelFormat* from, const char* what) {
  if (from == nullptr) {
    refuse(Status::kCorrupt, fmt::format("{}: no texel format", what));
    return {};
  }
  TexelFormat to;
  to.bits = {from->x_bits(), from->y_bits(), from->z_bits(), from->w_bits()};
  to.kind = member(static_cast<uint8_t>(from->kind()), TexelKind::kFloat, "texel kind");
  return to;
}

std::shared_ptr<const ArrayShape> Unpacker::array(const fbs::ArrayShape& from) {
  auto to = std::make_shared<ArrayShape>();
  to->width = from.width();
  to->height = from.height();
  to->depth = from.depth();
  to->format = texel_format(from.format(), "array");
  to->flags = from.flags();
  return to;
}

std::shared_ptr<const ImageObject> Unpacker::object(const fbs::ImageObject& from) {
  auto to = std::make_shared<ImageObject>();
  to->resource =
      member(static_cast<uint8_t>(from.resource()), ImageResource::kPitched, "image resource");
  to->allocation = from.allocation();
  to->offset_bytes = from.offset_bytes();
  if (to->resource != ImageResource::kArray) {
    to->format = texel_format(from.format(), "image of memory");
  } else if (from.format() != nullptr) {
    refuse(Status::kCorrupt, "image of an array: it has a texel format of its own");
  }
  to->size_bytes = from.size_bytes();
  to->width = from.width();
  to->height = from.height();
  to->pitch_bytes = from.pitch_bytes();
  to->address_mode = {from.address_mode_x(), from.address_mode_y(), from.address_mode_z()};
  to->filter = from.filter();
  to->read_mode = from.read_mode();
  to->srgb = from.srgb();
  to->normalized = from.normalized();
  to->mip_filter = from.mip_filter();
  to->max_anisotropy = from.max_anisotropy();
  to->border = {from.border_x(), from.border_y(), from.border_z(), from.border_w()};
  to->mip_bias = from.mip_bias();
  to->mip_least = from.mip_least();
  to->mip_most = from.mip_most();
  to->has_view = from.has_view();
  to->view_format = from.view_format();
  to->view_width = from.view_width();
  to->view_height = from.view_height();
  to->view_depth = from.view_depth();
  to->first_level = from.first_level();
  to->last_level = from.last_level();
  to->first_layer = from.first_layer();
  to->last_layer = from.last_layer();
  return to;
}

}  // namespace gfxgraph::format
