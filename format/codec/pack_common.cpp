#include "format/codec/pack_internal.h"

namespace gfxgraph::format {
namespace {

// Generous upper bound for a table with its vtable and offsets, without its vectors.
constexpr uint64_t kTableBytes = 256;
constexpr uint64_t kRelocationBytes = 8 + 4 + 8 + 1 + 1;

uint64_t bound(const std::string& text) { return text.size() + 16; }
uint64_t bound(const std::vector<Relocation>& relocations) {
  return kTableBytes + relocations.size() * kRelocationBytes;
}
uint64_t bound(const Content& content) { return kTableBytes + bound(content.relocations); }

struct Bound {
  uint64_t operator()(const AllocationBegin& a) const {
    return bound(a.symbol) + bound(a.initial) + bound(a.name);
  }
  uint64_t operator()(const AllocationEnd& a) const { return bound(a.post); }
  uint64_t operator()(const HostWrite& a) const { return bound(a.content); }
  uint64_t operator()(const Launch& a) const { return a.kernarg.size() + bound(a.relocations); }
  uint64_t operator()(const Copy& a) const { return bound(a.host_source) + bound(a.host_result); }
  uint64_t operator()(const HostFunction& a) const { return bound(a.call); }
  uint64_t operator()(const Synchronize& a) const { return bound(a.call); }
  uint64_t operator()(const Marker& a) const { return bound(a.text); }
  uint64_t operator()(const Checkpoint& a) const {
    uint64_t total = 0;
    for (const Checkpoint::State& state : a.states) total += kTableBytes + bound(state.relocations);
    return total;
  }
  template <typename Other>
  uint64_t operator()(const Other&) const {
    return 0;
  }
};

}  // namespace

Packer::Packer() : impl_(std::make_unique<Impl>()) {}
Packer::~Packer() = default;
Packer::Packer(Packer&&) noexcept = default;
Packer& Packer::operator=(Packer&&) noexcept = default;

Offset<flatbuffers::String> pack_text(Builder& builder, const std::string& text) {
  if (text.empty()) return 0;
  return builder.CreateString(text);
}

Offset<fbs::Relocations> pack_relocations(Builder& builder,
                                          const std::vector<Relocation>& relocations) {
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

Offset<fbs::Content> pack_content(Builder& builder, const Content& content) {
  const Offset<fbs::Relocations> relocations = pack_relocations(builder, content.relocations);
  if (content.size_bytes == 0 && content.stored && !content.blob && !content.hash &&
      content.fill == 0 && !content.unwritten) {
    return 0;
  }
  fbs::ContentBuilder table(builder);
  table.add_size_bytes(content.size_bytes);
  table.add_blob_low(content.blob.low);
  table.add_blob_high(content.blob.high);
  table.add_fill(content.fill);
  table.add_hash_low(content.hash.low);
  table.add_hash_high(content.hash.high);
  table.add_stored(content.stored);
  table.add_relocations(relocations);
  table.add_unwritten(content.unwritten);
  return table.Finish();
}

uint64_t packed_bytes_bound(const Event& event) {
  return 2 * kTableBytes + std::visit(Bound{}, event.action);
}

uint64_t packed_bytes_bound(const Graph& graph) {
  uint64_t total = kTableBytes;
  for (const GraphNode& node : graph.nodes) {
    total += 2 * kTableBytes + node.dependencies.size() * 4 + std::visit(Bound{}, node.action);
  }
  return total;
}

uint64_t packed_bytes_bound(const Environment& environment) {
  uint64_t total = kTableBytes + bound(environment.gfxgraph_version) + bound(environment.gpu_arch) +
                   bound(environment.device_name);
  for (const std::string& word : environment.command_line) total += bound(word);
  return total;
}

uint64_t packed_bytes_bound(const Kernel& kernel) {
  uint64_t total = kTableBytes + bound(kernel.name);
  for (const Argument& argument : kernel.arguments) {
    total += kTableBytes + bound(argument.name) + bound(argument.value_kind);
  }
  return total;
}

}  // namespace gfxgraph::format
