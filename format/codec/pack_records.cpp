// Payloads of all records except events.
#include "format/codec/pack_internal.h"

namespace gfxgraph::format {
namespace {

Offset<fbs::Argument> pack_argument(Builder& builder, const Argument& argument) {
  const Offset<flatbuffers::String> name = pack_text(builder, argument.name);
  const Offset<flatbuffers::String> value_kind = pack_text(builder, argument.value_kind);
  fbs::ArgumentBuilder table(builder);
  table.add_name(name);
  table.add_value_kind(value_kind);
  table.add_kind(static_cast<fbs::ArgumentKind>(argument.kind));
  table.add_offset_bytes(argument.offset_bytes);
  table.add_size_bytes(argument.size_bytes);
  return table.Finish();
}

struct NodePacker {
  Builder& builder;

  std::pair<fbs::NodeAction, Offset<void>> operator()(std::monostate) const {
    return {fbs::NodeAction::NONE, 0};
  }
  std::pair<fbs::NodeAction, Offset<void>> operator()(const Launch& a) const {
    return {fbs::NodeAction::Launch, pack_action(builder, a).Union()};
  }
  std::pair<fbs::NodeAction, Offset<void>> operator()(const Copy& a) const {
    return {fbs::NodeAction::Copy, pack_action(builder, a).Union()};
  }
  std::pair<fbs::NodeAction, Offset<void>> operator()(const Memset& a) const {
    return {fbs::NodeAction::Memset, pack_action(builder, a).Union()};
  }
  std::pair<fbs::NodeAction, Offset<void>> operator()(const HostFunction& a) const {
    return {fbs::NodeAction::HostFunction, pack_action(builder, a).Union()};
  }
};

}  // namespace

std::span<const std::byte> Packer::pack(const Environment& environment) {
  Builder& builder = impl_->builder;
  builder.Clear();
  const auto version = pack_text(builder, environment.gfxgraph_version);
  const auto arch = pack_text(builder, environment.gpu_arch);
  const auto device = pack_text(builder, environment.device_name);
  Offset<flatbuffers::Vector<Offset<flatbuffers::String>>> command_line = 0;
  if (!environment.command_line.empty()) {
    command_line = builder.CreateVectorOfStrings(environment.command_line);
  }
  fbs::EnvironmentBuilder table(builder);
  table.add_gfxgraph_version(version);
  table.add_gpu_arch(arch);
  table.add_device_name(device);
  table.add_emulated(environment.emulated);
  table.add_hip_runtime_version(environment.hip_runtime_version);
  table.add_hip_driver_version(environment.hip_driver_version);
  table.add_command_line(command_line);
  table.add_start_unix_ns(environment.start_unix_ns);
  return impl_->finish(table.Finish());
}

std::span<const std::byte> Packer::pack(const CodeObject& code_object) {
  Builder& builder = impl_->builder;
  builder.Clear();
  const auto target = pack_text(builder, code_object.target);
  fbs::CodeObjectBuilder table(builder);
  table.add_id(code_object.id);
  table.add_elf_low(code_object.elf.low);
  table.add_elf_high(code_object.elf.high);
  table.add_target(target);
  table.add_device(code_object.device);
  return impl_->finish(table.Finish());
}

std::span<const std::byte> Packer::pack(const Kernel& kernel) {
  Builder& builder = impl_->builder;
  builder.Clear();
  std::vector<Offset<fbs::Argument>> arguments;
  arguments.reserve(kernel.arguments.size());
  for (const Argument& argument : kernel.arguments) {
    arguments.push_back(pack_argument(builder, argument));
  }
  const auto argument_vector = builder.CreateVector(arguments);
  const auto name = pack_text(builder, kernel.name);
  fbs::KernelBuilder table(builder);
  table.add_id(kernel.id);
  table.add_code_object(kernel.code_object);
  table.add_name(name);
  table.add_kernarg_size_bytes(kernel.kernarg_size_bytes);
  table.add_explicit_size_bytes(kernel.explicit_size_bytes);
  table.add_group_segment_bytes(kernel.group_segment_bytes);
  table.add_private_segment_bytes(kernel.private_segment_bytes);
  table.add_arguments(argument_vector);
  return impl_->finish(table.Finish());
}

std::span<const std::byte> Packer::pack(const Graph& graph) {
  Builder& builder = impl_->builder;
  builder.Clear();
  std::vector<Offset<fbs::GraphNode>> nodes;
  nodes.reserve(graph.nodes.size());
  for (const GraphNode& node : graph.nodes) {
    const auto [type, action] = std::visit(NodePacker{builder}, node.action);
    Offset<flatbuffers::Vector<uint32_t>> dependencies = 0;
    if (!node.dependencies.empty()) dependencies = builder.CreateVector(node.dependencies);
    fbs::GraphNodeBuilder table(builder);
    table.add_action_type(type);
    table.add_action(action);
    table.add_dependencies(dependencies);
    nodes.push_back(table.Finish());
  }
  const auto node_vector = builder.CreateVector(nodes);
  fbs::GraphBuilder table(builder);
  table.add_id(graph.id);
  table.add_nodes(node_vector);
  return impl_->finish(table.Finish());
}

std::span<const std::byte> Packer::pack(const Finding& finding) {
  Builder& builder = impl_->builder;
  builder.Clear();
  const auto call = pack_text(builder, finding.call);
  const auto detail = pack_text(builder, finding.detail);
  fbs::FindingBuilder table(builder);
  table.add_kind(static_cast<fbs::FindingKind>(finding.kind));
  table.add_call(call);
  table.add_count(finding.count);
  table.add_detail(detail);
  return impl_->finish(table.Finish());
}

std::span<const std::byte> Packer::pack(const Site& site) {
  Builder& builder = impl_->builder;
  builder.Clear();
  const auto module = pack_text(builder, site.module);
  const auto build_id = pack_text(builder, site.build_id);
  const auto symbol = pack_text(builder, site.symbol);
  fbs::SiteBuilder table(builder);
  table.add_id(site.id);
  table.add_module_(module);
  table.add_build_id(build_id);
  table.add_symbol(symbol);
  table.add_offset_bytes(site.offset_bytes);
  table.add_symbol_offset_bytes(site.symbol_offset_bytes);
  table.add_program(site.program);
  table.add_symbol_unique(site.symbol_unique);
  table.add_line(site.line);
  return impl_->finish(table.Finish());
}

std::span<const std::byte> Packer::pack(const Device& device) {
  Builder& builder = impl_->builder;
  builder.Clear();
  return impl_->finish(fbs::CreateDevice(builder, device.number, device.null_stream));
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
  const auto vector = builder.CreateVector(packed);
  fbs::ProvenanceBuilder table(builder);
  table.add_places(vector);
  return impl_->finish(table.Finish());
}

std::span<const std::byte> Packer::pack_summary(const Statistics& statistics, uint64_t graphs,
                                                uint64_t findings, uint64_t index_offset) {
  Builder& builder = impl_->builder;
  builder.Clear();
  fbs::SummaryBuilder table(builder);
  table.add_events(statistics.events);
  table.add_launches(statistics.launches);
  table.add_copies(statistics.copies);
  table.add_allocations(statistics.allocations);
  table.add_kernels(statistics.kernels);
  table.add_code_objects(statistics.code_objects);
  table.add_blobs(statistics.blobs);
  table.add_blob_bytes(statistics.blob_bytes);
  table.add_stored_blob_bytes(statistics.stored_blob_bytes);
  table.add_relocations_typed(statistics.relocations_typed);
  table.add_relocations_proven(statistics.relocations_proven);
  table.add_relocations_matched(statistics.relocations_matched);
  table.add_relocations_ambiguous(statistics.relocations_ambiguous);
  table.add_graphs(graphs);
  table.add_findings(findings);
  table.add_index_offset(index_offset);
  return impl_->finish(table.Finish());
}

}  // namespace gfxgraph::format
