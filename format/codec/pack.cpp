#include "format/codec/pack.h"

#include <string>
#include <utility>
#include <vector>

#include "format/codec/fields_internal.h"

namespace gfxgraph::format {
namespace {

using Builder = flatbuffers::FlatBufferBuilder;
template <typename T>
using Offset = flatbuffers::Offset<T>;

// ---- parts: what is written before the table that refers to it. A null offset stands for an empty
// value, which is not stored. ----

template <typename T>
Offset<TableOf<T>> pack_table(Builder& builder, const T& value);
Offset<fbs::GraphNode> pack_table(Builder& builder, const GraphNode& node);

Offset<flatbuffers::String> pack_part(Builder& builder, const std::string& text) {
  if (text.empty()) return 0;
  return builder.CreateString(text);
}

Offset<flatbuffers::Vector<Offset<flatbuffers::String>>> pack_part(
    Builder& builder, const std::vector<std::string>& texts) {
  if (texts.empty()) return 0;
  return builder.CreateVectorOfStrings(texts);
}

template <typename T>
auto pack_part(Builder& builder, const std::vector<T>& all) {
  if constexpr (std::is_arithmetic_v<T>) {
    return all.empty() ? Offset<flatbuffers::Vector<T>>() : builder.CreateVector(all);
  } else {
    std::vector<Offset<TableOf<T>>> tables;
    tables.reserve(all.size());
    for (const T& one : all) tables.push_back(pack_table(builder, one));
    return builder.CreateVector(tables);
  }
}

Offset<fbs::Relocations> pack_part(Builder& builder, const std::vector<Relocation>& relocations) {
  if (relocations.empty()) return 0;
  const size_t count = relocations.size();
  const auto column = [&]<typename T>(T (*value)(const Relocation&)) {
    T* at = nullptr;
    const auto offset = builder.CreateUninitializedVector<T>(count, &at);
    for (const Relocation& relocation : relocations) *at++ = value(relocation);
    return Offset<flatbuffers::Vector<T>>(offset);
  };
  const auto offsets = column(+[](const Relocation& r) { return r.offset_bytes; });
  const auto allocations = column(+[](const Relocation& r) { return r.allocation; });
  const auto addends = column(+[](const Relocation& r) { return static_cast<uint64_t>(r.addend); });
  const auto sources = column(+[](const Relocation& r) {
    return static_cast<uint8_t>(static_cast<uint8_t>(r.source) | (r.outside ? kOutsideSource : 0));
  });
  const auto ambiguous = column(+[](const Relocation& r) { return uint8_t{r.ambiguous}; });
  fbs::RelocationsBuilder table(builder);
  table.add_offset_bytes(offsets);
  table.add_allocation(allocations);
  table.add_addend(addends);
  table.add_source(sources);
  table.add_ambiguous(ambiguous);
  return table.Finish();
}

Offset<fbs::Content> pack_part(Builder& builder, const Content& content) {
  if (content.size_bytes == 0 && content.stored && !content.blob && !content.hash &&
      content.fill == 0 && !content.unwritten && content.relocations.empty()) {
    return 0;
  }
  return pack_table(builder, content);
}

Offset<fbs::TexelFormat> pack_part(Builder& builder, const TexelFormat& format, const char*,
                                   bool wanted = true) {
  return wanted ? pack_table(builder, format) : Offset<fbs::TexelFormat>();
}

Offset<fbs::CopyEnd> pack_part(Builder& builder, const CopyEnd& end, const char*) {
  return pack_table(builder, end);
}

template <typename T>
Offset<TableOf<T>> pack_part(Builder& builder, const std::shared_ptr<const T>& value) {
  return value ? pack_table(builder, *value) : Offset<TableOf<T>>();
}

// ---- tables ----

template <typename T>
constexpr bool kIsPart = !std::is_arithmetic_v<T> && !std::is_enum_v<T>;

// The offsets of a table's parts, in the order of its rows.
struct Parts {
  flatbuffers::uoffset_t offsets[5] = {};
};

template <typename T>
Parts pack_parts(Builder& builder, const T& value) {
  Parts parts;
  size_t count = 0;
  fields(
      [&]<typename M>(const M& member, auto, auto, const auto&... more) {
        if constexpr (kIsPart<M>) parts.offsets[count++] = pack_part(builder, member, more...).o;
      },
      value);
  return parts;
}

// Their parts stand in the file in another order than the rows.
Parts pack_parts(Builder& builder, const Launch& launch) {
  const auto relocations = pack_part(builder, launch.relocations);
  return {{pack_part(builder, launch.kernarg).o, relocations.o}};
}
Parts pack_parts(Builder& builder, const Kernel& kernel) {
  const auto arguments = pack_part(builder, kernel.arguments);
  return {{pack_part(builder, kernel.name).o, arguments.o}};
}

template <typename T>
Offset<TableOf<T>> pack_table(Builder& builder, const T& value) {
  const Parts parts = pack_parts(builder, value);
  typename TableOf<T>::Builder table(builder);
  size_t part = 0;
  fields(
      [&]<typename M, typename Get>(const M& member, Get, auto add, const auto&...) {
        using Field = decltype(Get{}(std::declval<const TableOf<T>&>()));
        if constexpr (kIsPart<M>) {
          using Part = std::remove_const_t<std::remove_pointer_t<Field>>;
          add(table, Offset<Part>(parts.offsets[part++]));
        } else {
          add(table, static_cast<Field>(member));
        }
      },
      value);
  return table.Finish();
}

// The member of the union that holds the table, and the table.
template <template <typename> class Traits, typename Variant>
auto pack_union(Builder& builder, const Variant& action) {
  return std::visit(
      [&]<typename T>(const T& value) {
        if constexpr (std::is_same_v<T, std::monostate>) {
          return std::pair(decltype(Traits<void>::enum_value)(), Offset<void>());
        } else {
          auto type = Traits<TableOf<T>>::enum_value;
          return std::pair(type, pack_table(builder, value).Union());
        }
      },
      action);
}

Offset<fbs::GraphNode> pack_table(Builder& builder, const GraphNode& node) {
  const auto [type, action] = pack_union<fbs::NodeActionTraits>(builder, node.action);
  const auto dependencies = pack_part(builder, node.dependencies);
  fbs::GraphNodeBuilder table(builder);
  table.add_action_type(type);
  table.add_action(action);
  table.add_dependencies(dependencies);
  return table.Finish();
}

Offset<fbs::Event> pack_event(Builder& builder, const Event& event) {
  const auto [type, action] = pack_union<fbs::ActionTraits>(builder, event.action);
  fbs::EventBuilder table(builder);
  table.add_thread(event.thread);
  table.add_time_ns(event.time_ns);
  table.add_action_type(type);
  table.add_action(action);
  table.add_site(event.site);
  return table.Finish();
}

// ---- sizes ----

// Generous upper bound for a table with its vtable and offsets, without its vectors.
constexpr uint64_t kTableBytes = 256;
constexpr uint64_t kRelocationBytes = 8 + 4 + 8 + 1 + 1;

template <typename T>
uint64_t bound_of_fields(const T& value);

uint64_t bound(const auto&) { return 0; }
uint64_t bound(const std::string& text) { return text.size() + 16; }
uint64_t bound(const std::vector<Relocation>& relocations) {
  return kTableBytes + relocations.size() * kRelocationBytes;
}
uint64_t bound(const Content& content) { return kTableBytes + bound(content.relocations); }
uint64_t bound(const GraphNode& node) {
  return 2 * kTableBytes + node.dependencies.size() * sizeof(node.dependencies[0]) +
         std::visit([](const auto& action) { return bound_of_fields(action); }, node.action);
}
template <typename T>
uint64_t bound(const std::vector<T>& all) {
  if constexpr (std::is_arithmetic_v<T>) return all.size() * sizeof(T);
  uint64_t total = 0;
  for (const T& one : all) {
    if constexpr (requires { fields([](auto&&...) {}, one); }) {
      total += kTableBytes + bound_of_fields(one);
    } else {
      total += bound(one);
    }
  }
  return total;
}

template <typename T>
uint64_t bound_of_fields(const T& value) {
  uint64_t total = 0;
  if constexpr (!std::is_same_v<T, std::monostate>)
    fields([&](const auto& member, const auto&...) { total += bound(member); }, value);
  return total;
}

}  // namespace

uint64_t packed_bytes_bound(const Event& event) {
  return 2 * kTableBytes +
         std::visit([](const auto& action) { return bound_of_fields(action); }, event.action);
}
uint64_t packed_bytes_bound(const Graph& graph) { return kTableBytes + bound_of_fields(graph); }
uint64_t packed_bytes_bound(const Environment& environment) {
  return kTableBytes + bound_of_fields(environment);
}
uint64_t packed_bytes_bound(const Kernel& kernel) { return kTableBytes + bound_of_fields(kernel); }

// ---- payloads ----

struct Packer::Impl {
  Builder builder{1u << 16};

  template <typename T>
  std::span<const std::byte> finish(Offset<T> root) {
    builder.Finish(root);
    return {reinterpret_cast<const std::byte*>(builder.GetBufferPointer()), builder.GetSize()};
  }
  template <typename T>
  std::span<const std::byte> pack(const T& value) {
    builder.Clear();
    return finish(pack_table(builder, value));
  }
};

Packer::Packer() : impl_(std::make_unique<Impl>()) {}
Packer::~Packer() = default;
Packer::Packer(Packer&&) noexcept = default;
Packer& Packer::operator=(Packer&&) noexcept = default;

std::span<const std::byte> Packer::pack(const Environment& environment) {
  return impl_->pack(environment);
}
std::span<const std::byte> Packer::pack(const CodeObject& code_object) {
  return impl_->pack(code_object);
}
std::span<const std::byte> Packer::pack(const Kernel& kernel) { return impl_->pack(kernel); }
std::span<const std::byte> Packer::pack(const Graph& graph) { return impl_->pack(graph); }
std::span<const std::byte> Packer::pack(const Finding& finding) { return impl_->pack(finding); }
std::span<const std::byte> Packer::pack(const Site& site) { return impl_->pack(site); }
std::span<const std::byte> Packer::pack(const Device& device) { return impl_->pack(device); }
std::span<const std::byte> Packer::pack_summary(const Statistics& statistics, uint64_t graphs,
                                                uint64_t findings, uint64_t index_offset) {
  return impl_->pack(Summary{statistics, graphs, findings, index_offset});
}

std::span<const std::byte> Packer::pack_provenance(std::span<const KnownWords> places) {
  Builder& builder = impl_->builder;
  builder.Clear();
  std::vector<Offset<fbs::KnownWords>> packed;
  packed.reserve(places.size());
  for (const KnownWords& known : places) {
    std::vector<uint64_t> offsets;
    std::vector<uint8_t> data;
    for (const KnownWord& word : known.words) {
      offsets.push_back(word.offset_bytes);
      data.push_back(word.verdict == WordVerdict::kData ? 1 : 0);
    }
    const auto offset_vector = builder.CreateVector(offsets);
    const auto data_vector = builder.CreateVector(data);
    fbs::KnownWordsBuilder table(builder);
    table.add_event(known.place.event);
    table.add_graph(known.place.graph);
    table.add_node(known.place.node);
    table.add_part(static_cast<fbs::WordPart>(known.place.part));
    table.add_offset_bytes(offset_vector);
    table.add_data(data_vector);
    packed.push_back(table.Finish());
  }
  return impl_->finish(fbs::CreateProvenance(builder, builder.CreateVector(packed)));
}

std::span<const std::byte> Packer::pack(std::span<const Event> events) {
  Builder& builder = impl_->builder;
  builder.Clear();
  std::vector<Offset<fbs::Event>> offsets;
  offsets.reserve(events.size());
  for (const Event& event : events) offsets.push_back(pack_event(builder, event));
  const auto event_vector = builder.CreateVector(offsets);
  fbs::EventChunkBuilder table(builder);
  table.add_first_sequence(events.front().sequence);
  table.add_events(event_vector);
  return impl_->finish(table.Finish());
}

}  // namespace gfxgraph::format
