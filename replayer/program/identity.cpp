#include "replayer/program/identity.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "format/write/writer.h"

namespace gfxgraph::replayer {
namespace {

// Each thing adds as many words whatever its values are, or says how many.
class Words {
 public:
  [[gnu::noinline]] void add(uint64_t word) { words_.push_back(word); }
  void add(const format::BlobId& hash) {
    add(hash.low);
    add(hash.high);
  }
  void add_bytes(const void* bytes, size_t size) {
    add(size);
    add(format::hash_bytes({static_cast<const std::byte*>(bytes), size}));
  }
  void add(const std::vector<format::Relocation>& relocations) {
    add(relocations.size());
    for (const format::Relocation& word : relocations) {
      add(word.offset_bytes);
      add(word.allocation);
      add(static_cast<uint64_t>(word.addend));
      add(uint64_t{word.ambiguous} | uint64_t{word.outside} << 1);
    }
  }
  void add(const LaunchShape& shape) {
    add(shape.kernel);
    for (const auto& sizes : {shape.grid, shape.grid_remainder, shape.block})
      for (const uint32_t size : sizes) add(size);
    add(uint64_t{shape.dynamic_lds_bytes} << 1 | uint64_t{shape.cooperative});
    add(shape.relocations);
  }
  void add(const format::CopyEnd& end) {
    for (const uint64_t word :
         {uint64_t{end.allocation}, end.offset_bytes, end.pitch_bytes, end.slice_bytes})
      add(word);
  }
  void add(const format::Copy& copy) {
    add(copy.destination);
    add(copy.source);
    for (const uint64_t word : {copy.width_bytes, copy.height, copy.depth}) add(word);
    add(copy.host_source.relocations);
  }
  void add(const format::Memset& memset) {
    for (const uint64_t word :
         {uint64_t{memset.allocation}, memset.offset_bytes, memset.pitch_bytes, memset.slice_bytes,
          uint64_t{memset.element_bytes}, memset.width_elements, memset.height, memset.depth})
      add(word);
  }
  format::BlobId hash() const { return format::hash_bytes(std::as_bytes(std::span(words_))); }

 private:
  std::vector<uint64_t> words_;
};

}  // namespace

[[gnu::cold]] format::BlobId identity_of(const Program& program) {
  Words words;
  const format::Trace& trace = program.trace();
  words.add(trace.code_objects().size());
  for (const format::CodeObject& code : trace.code_objects()) {
    words.add(code.elf);
    words.add(uint64_t{code.device} << 32 | code.image_of);
  }
  words.add(trace.kernels().size());
  for (const format::Kernel& kernel : trace.kernels()) {
    words.add_bytes(kernel.name.data(), kernel.name.size());
    words.add(uint64_t{kernel.code_object} << 32 | kernel.kernarg_size_bytes);
  }
  words.add(program.allocations().size());
  for (const AllocationInfo& info : program.allocations()) {
    if (info.begin == nullptr) continue;
    words.add(info.begin_sequence);
    words.add(info.begin->recorded_address);
    words.add(info.begin->size_bytes);
    words.add(info.begin->mapped_bytes);
    words.add(static_cast<uint64_t>(info.begin->kind));
    words.add(info.begin->initial.relocations);
  }
  words.add(program.streams().size());
  for (const StreamInfo& stream : program.streams()) {
    words.add(stream.flags);
    words.add(uint64_t{stream.device} << 32 | stream.null_stream);
  }
  words.add(program.operations().size());
  for (const Operation& operation : program.operations()) {
    words.add(operation.sequence);
    words.add(static_cast<uint64_t>(operation.kind) | uint64_t{operation.blocking} << 8 |
              uint64_t{operation.reaches_host} << 9 | uint64_t{operation.stream} << 32);
    switch (operation.kind) {
      case OperationKind::kLaunch:
        words.add(*operation.launch);
        words.add_bytes(operation.arguments, operation.launch->kernarg_bytes);
        break;
      case OperationKind::kCopy: words.add(*operation.copy); break;
      case OperationKind::kMemset: words.add(*operation.memset); break;
    }
  }
  for (const Call& call : program.calls()) {
    words.add(call.sequence);
    words.add(static_cast<uint64_t>(call.kind) | static_cast<uint64_t>(call.synchronize) << 8 |
              uint64_t{call.stream} << 32);
    words.add(uint64_t{call.first_operation} << 32 | call.operation_count);
    words.add(uint64_t{call.first_host_function} << 32 | call.object);  // whichever it is
    if (call.kind != CallKind::kGraphLaunch) continue;
    for (const format::GraphNode& node : program.graph_of(call).nodes) {
      words.add(uint64_t{node.dependencies.size()} << 32 | node.action.index());
      for (const uint32_t earlier : node.dependencies) words.add(earlier);
    }
  }
  return words.hash();
}

}  // namespace gfxgraph::replayer
