// Shared by pack_*.cpp: one function per table. A null offset stands for an empty value, which is
// not stored.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <string>
#include <vector>

#include "format/codec/outside_source.h"
#include "format/codec/pack.h"
#include "format/trace.h"
#include "format/trace_generated.h"

namespace gfxgraph::format {

using Builder = flatbuffers::FlatBufferBuilder;
template <typename T>
using Offset = flatbuffers::Offset<T>;

struct Packer::Impl {
  Builder builder{1u << 16};

  template <typename T>
  std::span<const std::byte> finish(Offset<T> root) {
    builder.Finish(root);
    return {reinterpret_cast<const std::byte*>(builder.GetBufferPointer()), builder.GetSize()};
  }
};

Offset<flatbuffers::String> pack_text(Builder& builder, const std::string& text);
Offset<fbs::Relocations> pack_relocations(Builder& builder,
                                          const std::vector<Relocation>& relocations);
Offset<fbs::Content> pack_content(Builder& builder, const Content& content);
// images.cpp
Offset<fbs::ArrayShape> pack_array(Builder& builder, const ArrayShape& array);
Offset<fbs::ImageObject> pack_object(Builder& builder, const ImageObject& object);

Offset<fbs::Launch> pack_action(Builder& builder, const Launch& action);
Offset<fbs::Copy> pack_action(Builder& builder, const Copy& action);
Offset<fbs::Memset> pack_action(Builder& builder, const Memset& action);
Offset<fbs::HostFunction> pack_action(Builder& builder, const HostFunction& action);

}  // namespace gfxgraph::format
