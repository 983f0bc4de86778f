// Payloads of all records except events.
#include "format/codec/unpack_internal.h"

namespace gfxgraph::format {
namespace {

GraphNode unpack_node(Unpacker& unpacker, const fbs::GraphNode& from) {
  GraphNode to;
  to.dependencies = unpacker.numbers(from.dependencies());
  const void* action = from.action();
  if (from.action_type() == fbs::NodeAction::NONE) return to;
  if (action == nullptr) {
    unpacker.refuse(Status::kCorrupt, "graph: a node lacks its action");
    return to;
  }
  switch (from.action_type()) {
    case fbs::NodeAction::Launch: to.action = unpacker.action(*from.action_as_Launch()); return to;
    case fbs::NodeAction::Copy: to.action = unpacker.action(*from.action_as_Copy()); return to;
    case fbs::NodeAction::Memset: to.action = unpacker.action(*from.action_as_Memset()); return to;
    case fbs::NodeAction::HostFunction:
      to.action = unpacker.action(*from.action_as_HostFunction());
      return to;
    case fbs::NodeAction::NONE: break;
  }
  unpacker.member(static_cast<uint8_t>(from.action_type()), fbs::NodeAction::MAX,
                  "kind of graph node");
  return to;
}

}  // namespace

Result<Environment> unpack_environment(std::span<const std::byte> payload) {
  GFXGRAPH_ASSIGN_OR_RETURN(const fbs::Environment* from,
                            verified_root<fbs::Environment>(payload, "environment"));
  Unpacker unpacker(payload.size());
  Environment to;
  to.gfxgraph_version = unpacker.text(from->gfxgraph_version());
  to.gpu_arch = unpacker.text(from->gpu_arch());
  to.device_name = unpacker.text(from->device_name());
  to.emulated = from->emulated();
  to.hip_runtime_version = from->hip_runtime_version();
  to.hip_driver_version = from->hip_driver_version();
  to.command_line = unpacker.texts(from->command_line());
  to.start_unix_ns = from->start_unix_ns();
  if (unpacker.failed()) return tl::unexpected<Error>(unpacker.error());
  return to;
}

Result<CodeObject> unpack_code_object(std::span<const std::byte> payload) {
  GFXGRAPH_ASSIGN_OR_RETURN(const fbs::CodeObject* from,
                            verified_root<fbs::CodeObject>(payload, "code object"));
  Unpacker unpacker(payload.size());
  CodeObject to;
  to.id = from->id();
  to.elf = {from->elf_low(), from->elf_high()};
  to.target = unpacker.text(from->target());
  to.device = from->device();
  if (unpacker.failed()) return tl::unexpected<Error>(unpacker.error());
  return to;
}

Result<Kernel> unpack_kernel(std::span<const std::byte> payload) {
  GFXGRAPH_ASSIGN_OR_RETURN(const fbs::Kernel* from, verified_root<fbs::Kernel>(payload, "kernel"));
  Unpacker unpacker(payload.size());
  Kernel to;
  to.id = from->id();
  to.code_object = from->code_object();
  to.name = unpacker.text(from->name());
  to.kernarg_size_bytes = from->kernarg_size_bytes();
  to.explicit_size_bytes = from->explicit_size_bytes();
  to.group_segment_bytes = from->group_segment_bytes();
  to.private_segment_bytes = from->private_segment_bytes();
  if (from->arguments() != nullptr &&
      unpacker.spend(uint64_t{from->arguments()->size()} * Unpacker::kTableBytes)) {
    to.arguments.reserve(from->arguments()->size());
    for (const fbs::Argument* argument : *from->arguments()) {
      to.arguments.push_back({unpacker.text(argument->name()),
                              unpacker.text(argument->value_kind()),
                              unpacker.member(static_cast<uint8_t>(argument->kind()),
                                              ArgumentKind::kHidden, "argument kind"),
                              argument->offset_bytes(), argument->size_bytes()});
    }
  }
  if (unpacker.failed()) return tl::unexpected<Error>(unpacker.error());
  return to;
}

Result<Graph> unpack_graph(std::span<const std::byte> payload) {
  GFXGRAPH_ASSIGN_OR_RETURN(const fbs::Graph* from, verified_root<fbs::Graph>(payload, "graph"));
  Unpacker unpacker(payload.size());
  Graph to;
  to.id = from->id();
  if (from->nodes() != nullptr &&
      unpacker.spend(uint64_t{from->nodes()->size()} * Unpacker::kTableBytes)) {
    for (const fbs::GraphNode* node : *from->nodes()) {
      to.nodes.push_back(unpack_node(unpacker, *node));
      if (unpacker.failed()) break;
    }
  }
  if (unpacker.failed()) return tl::unexpected<Error>(unpacker.error());
  return to;
}

Result<Finding> unpack_finding(std::span<const std::byte> payload) {
  GFXGRAPH_ASSIGN_OR_RETURN(const fbs::Finding* from,
                            verified_root<fbs::Finding>(payload, "finding"));
  Unpacker unpacker(payload.size());
  Finding to;
  to.kind = unpacker.member(static_cast<uint8_t>(from->kind()), FindingKind::kNote, "finding kind");
  to.call = unpacker.text(from->call());
  to.count = from->count();
  to.detail = unpacker.text(from->detail());
  if (unpacker.failed()) return tl::unexpected<Error>(unpacker.error());
  return to;
}

Result<Site> unpack_site(std::span<const std::byte> payload) {
  GFXGRAPH_ASSIGN_OR_RETURN(const fbs::Site* from, verified_root<fbs::Site>(payload, "site"));
  Unpacker unpacker(payload.size());
  Site to;
  to.id = from->id();
  to.module = unpacker.text(from->module_());
  to.build_id = unpacker.text(from->build_id());
  to.symbol = unpacker.text(from->symbol());
  to.offset_bytes = from->offset_bytes();
  to.symbol_offset_bytes = from->symbol_offset_bytes();
  to.program = from->program();
  to.symbol_unique = from->symbol_unique();
  to.line = from->line();
  if (unpacker.failed()) return tl::unexpected<Error>(unpacker.error());
  return to;
}

Result<Device> unpack_device(std::span<const std::byte> payload) {
  GFXGRAPH_ASSIGN_OR_RETURN(const fbs::Device* from, verified_root<fbs::Device>(payload, "device"));
  return Device{from->number(), from->null_stream()};
}

Result<std::vector<KnownWords>> unpack_provenance(std::span<const std::byte> payload) {
  GFXGRAPH_ASSIGN_OR_RETURN(const fbs::Provenance* from,
                            verified_root<fbs::Provenance>(payload, "provenance"));
  Unpacker unpacker(payload.size());
  std::vector<KnownWords> to;
  if (from->places() == nullptr ||
      !unpacker.spend(uint64_t{from->places()->size()} * Unpacker::kTableBytes))
    return to;
  to.reserve(from->places()->size());
  for (const fbs::KnownWords* one : *from->places()) {
    KnownWords known;
    known.place = {one->event(), one->graph(), one->node(),
                   unpacker.member(static_cast<uint8_t>(one->part()), WordPart::kCopyResult,
                                   "part of an event")};
    const auto* offsets = one->offset_bytes();
    const auto* data = one->data();
    if (offsets == nullptr || data == nullptr || offsets->size() != data->size()) {
      unpacker.refuse(Status::kCorrupt, "provenance: columns of different length");
    } else if (reinterpret_cast<uintptr_t>(offsets->Data()) % alignof(uint64_t) != 0) {
      // The FlatBuffers verifier checks only the alignment of a vector's length.
      unpacker.refuse(Status::kCorrupt, "provenance: a column of 64-bit numbers is not aligned");
    } else if (unpacker.spend(uint64_t{offsets->size()} * 9)) {
      known.words.reserve(offsets->size());
      for (flatbuffers::uoffset_t i = 0; i < offsets->size(); ++i) {
        if (data->Get(i) > 1)
          unpacker.refuse(Status::kCorrupt, "provenance: a boolean is neither 0 nor 1");
        known.words.push_back(
            {offsets->Get(i), data->Get(i) != 0 ? WordVerdict::kData : WordVerdict::kPointer});
      }
    }
    if (unpacker.failed()) return tl::unexpected<Error>(unpacker.error());
    to.push_back(std::move(known));
  }
  return to;
}

Result<Summary> unpack_summary(std::span<const std::byte> payload) {
  GFXGRAPH_ASSIGN_OR_RETURN(const fbs::Summary* from,
                            verified_root<fbs::Summary>(payload, "summary"));
  Summary to;
  Statistics& counts = to.statistics;
  counts.events = from->events();
  counts.launches = from->launches();
  counts.copies = from->copies();
  counts.allocations = from->allocations();
  counts.kernels = from->kernels();
  counts.code_objects = from->code_objects();
  counts.blobs = from->blobs();
  counts.blob_bytes = from->blob_bytes();
  counts.stored_blob_bytes = from->stored_blob_bytes();
  counts.relocations_typed = from->relocations_typed();
  counts.relocations_proven = from->relocations_proven();
  counts.relocations_matched = from->relocations_matched();
  counts.relocations_ambiguous = from->relocations_ambiguous();
  to.graphs = from->graphs();
  to.findings = from->findings();
  to.index_offset = from->index_offset();
  return to;
}

}  // namespace gfxgraph::format
