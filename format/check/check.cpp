#include "format/check/check.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checked.h"

namespace gfxgraph::format {
namespace {

bool has_nul(const std::string& text) { return text.find('\0') != std::string::npos; }

Result<void> check_name(const std::string& name, const char* what) {
  if (name.empty()) return fail(Status::kCorrupt, fmt::format("{} is empty", what));
  if (has_nul(name)) return fail(Status::kCorrupt, fmt::format("{} contains NUL", what));
  return {};
}

// Code objects, kernels and graphs are found by index = id - 1.
Result<void> check_next_id(uint32_t id, size_t before, const char* what) {
  if (id != before + 1) {
    return fail(Status::kCorrupt, fmt::format("{} has id {}, expected {}", what, id, before + 1));
  }
  return {};
}

// HIP passes 4 KiB of arguments at most; each has a byte or more.
constexpr size_t kMaxArguments = 65536;

Result<void> check_argument(const Kernel& kernel, const Argument& argument, uint32_t from) {
  const bool hidden = argument.kind == ArgumentKind::kHidden;
  const uint32_t limit = hidden ? kernel.kernarg_size_bytes : kernel.explicit_size_bytes;
  if (!range_fits(argument.offset_bytes, argument.size_bytes, limit)) {
    return fail(Status::kCorrupt,
                fmt::format("kernel {}: argument at {} of {} bytes does not lie inside {} bytes",
                            kernel.name, argument.offset_bytes, argument.size_bytes, limit));
  }
  if (argument.offset_bytes < from) {
    return fail(
        Status::kCorrupt,
        fmt::format(
            "kernel {}: argument at {} comes after one at {}; they must be in ascending order",
            kernel.name, argument.offset_bytes, from));
  }
  if (has_nul(argument.name) || has_nul(argument.value_kind)) {
    return fail(Status::kCorrupt,
                fmt::format("kernel {}: an argument's name contains NUL", kernel.name));
  }
  return {};
}

constexpr size_t kMostPathBytes = 4096;

void sort(std::vector<Relocation>& relocations) {
  if (!std::ranges::is_sorted(relocations, {}, &Relocation::offset_bytes)) {
    std::ranges::sort(relocations, {}, &Relocation::offset_bytes);
  }
}

struct Normalizer {
  void operator()(AllocationBegin& action) const { sort(action.initial.relocations); }
  void operator()(AllocationEnd& action) const { sort(action.post.relocations); }
  void operator()(HostWrite& action) const { sort(action.content.relocations); }
  void operator()(Launch& action) const { sort(action.relocations); }
  void operator()(Copy& action) const {
    sort(action.host_source.relocations);
    sort(action.host_result.relocations);
  }
  void operator()(Memset& action) const {
    if (action.element_bytes < 4) action.value &= (1u << (8 * action.element_bytes)) - 1;
  }
  void operator()(Checkpoint& action) const {
    for (Checkpoint::State& state : action.states) sort(state.relocations);
  }
  template <typename Other>
  void operator()(Other&) const {}
};

}  // namespace

Result<void> Checker::add(const Environment&) {
  if (has_environment_) return fail(Status::kCorrupt, "a second environment");
  has_environment_ = true;
  return {};
}

std::optional<KnownBlob> Checker::find_blob(BlobId id) const {
  const auto found = blobs_.find(id);
  if (found != blobs_.end()) return found->second;
  return directory_ != nullptr ? directory_->known(id) : std::nullopt;
}

Result<void> Checker::add_blob(BlobId id, uint64_t size_bytes) {
  if (!blobs_.emplace(id, KnownBlob{size_bytes, false}).second) {
    return fail(Status::kCorrupt,
                fmt::format("blob {:016x}{:016x} is stored twice", id.high, id.low));
  }
  return {};
}

Result<void> Checker::add_chunk_list(BlobId id, const ChunkListView& list) {
  for (size_t i = 0; i < list.count(); ++i) {
    const BlobId chunk = list[i];
    if (is_fill_chunk(chunk)) continue;
    const std::optional<KnownBlob> found = find_blob(chunk);
    if (!found || found->is_list) {
      return fail(Status::kCorrupt,
                  fmt::format("chunk list: its chunk {}, blob {:016x}{:016x}, {}", i, chunk.high,
                              chunk.low, !found ? "does not precede it" : "is a list"));
    }
    if (found->size_bytes != list.bytes_of(i)) {
      return fail(Status::kCorrupt, fmt::format("chunk list: its chunk {} has {} bytes, not {}", i,
                                                found->size_bytes, list.bytes_of(i)));
    }
  }
  GFXGRAPH_TRY(add_blob(id, list.size_bytes));
  blobs_[id].is_list = true;
  return {};
}

Result<void> Checker::add(const CodeObject& code_object) {
  GFXGRAPH_TRY(check_next_id(code_object.id, code_objects_, "code object"));
  GFXGRAPH_TRY(check_name(code_object.target, "code object: target"));
  if (!has_blob(code_object.elf)) {
    return fail(Status::kCorrupt,
                fmt::format("code object {}: its blob {:016x}{:016x} does not precede it",
                            code_object.id, code_object.elf.high, code_object.elf.low));
  }
  GFXGRAPH_TRY(check_device(code_object.device, "code object"));
  if (const CodeObjectId of = code_object.image_of; of != 0) {
    if (of > code_objects_ || code_images_[of - 1] != 0 ||
        code_devices_[of - 1] != code_object.device) {
      return fail(Status::kCorrupt,
                  fmt::format("code object {}: image of {}, which is no earlier code object of its "
                              "device that was loaded",
                              code_object.id, of));
    }
  }
  ++code_objects_;
  code_images_.push_back(code_object.image_of);
  code_devices_.push_back(code_object.device);
  return {};
}

Result<void> Checker::add(const Kernel& kernel) {
  GFXGRAPH_TRY(check_next_id(kernel.id, kernel_explicit_bytes_.size(), "kernel"));
  GFXGRAPH_TRY(check_name(kernel.name, "kernel: name"));
  if (kernel.code_object == 0 || kernel.code_object > code_objects_) {
    return fail(Status::kCorrupt, fmt::format("kernel {}: code object {} does not exist",
                                              kernel.name, kernel.code_object));
  }
  if (code_images_[kernel.code_object - 1] != 0) {
    return fail(Status::kCorrupt, fmt::format("kernel {}: code object {} is for another target",
                                              kernel.name, kernel.code_object));
  }
  if (kernel.explicit_size_bytes > kernel.kernarg_size_bytes) {
    return fail(Status::kCorrupt,
                fmt::format("kernel {}: {} explicit bytes in a kernarg segment of {}", kernel.name,
                            kernel.explicit_size_bytes, kernel.kernarg_size_bytes));
  }
  if (kernel.arguments.size() > kMaxArguments) {
    return fail(Status::kCorrupt, fmt::format("kernel {}: {} arguments, at most {}", kernel.name,
                                              kernel.arguments.size(), kMaxArguments));
  }
  uint32_t from = 0;
  for (const Argument& argument : kernel.arguments) {
    GFXGRAPH_TRY(check_argument(kernel, argument, from));
    from = argument.offset_bytes;
  }
  kernel_explicit_bytes_.push_back(kernel.explicit_size_bytes);
  kernel_devices_.push_back(code_devices_[kernel.code_object - 1]);
  return {};
}

Result<void> Checker::add(const Graph& graph) {
  GFXGRAPH_TRY(check_next_id(graph.id, graphs_, "graph"));
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const GraphNode& node = graph.nodes[i];
    const auto where = [&] { return fmt::format("graph {}: node {}", graph.id, i); };
    for (size_t d = 0; d < node.dependencies.size(); ++d) {
      if (node.dependencies[d] >= i) {
        return fail(Status::kCorrupt, fmt::format("{}: depends on node {}, which is not earlier",
                                                  where(), node.dependencies[d]));
      }
      if (d > 0 && node.dependencies[d] <= node.dependencies[d - 1]) {
        return fail(Status::kCorrupt,
                    fmt::format("{}: its dependencies are not in ascending order", where()));
      }
    }
    Result<void> checked;
    std::visit(
        [&](const auto& action) {
          if constexpr (!std::is_same_v<std::decay_t<decltype(action)>, std::monostate>) {
            checked = check(action);
          }
        },
        node.action);
    if (!checked) return with_context(checked.error(), where());
  }
  ++graphs_;
  graph_nodes_.push_back(static_cast<uint32_t>(graph.nodes.size()));
  graph_host_functions_.push_back(
      static_cast<uint32_t>(std::ranges::count_if(graph.nodes, [](const GraphNode& node) {
        return std::holds_alternative<HostFunction>(node.action);
      })));
  return {};
}

Result<void> Checker::add(const Site& site) {
  GFXGRAPH_TRY(check_next_id(site.id, static_cast<uint32_t>(site_is_line_.size()), "site"));
  GFXGRAPH_TRY(check_name(site.module, "site: module"));
  if (site.module.size() > kMostPathBytes || site.build_id.size() > kMostPathBytes) {
    return fail(Status::kCorrupt, "site: a module or build id of more than 4096 bytes");
  }
  if (has_nul(site.build_id) || has_nul(site.symbol)) {
    return fail(Status::kCorrupt, "site: build id or symbol contains NUL");
  }
  if (site.symbol.size() > kMostNameBytes) {
    return fail(Status::kCorrupt, fmt::format("site: a symbol of {} bytes", site.symbol.size()));
  }
  if (site.symbol.empty() && (site.symbol_offset_bytes != 0 || site.symbol_unique)) {
    return fail(Status::kCorrupt, "site: an offset without a symbol");
  }
  if (site.symbol_offset_bytes > site.offset_bytes) {
    return fail(Status::kCorrupt, fmt::format("site: {:#x} bytes past a symbol, at {:#x}",
                                              site.symbol_offset_bytes, site.offset_bytes));
  }
  if (site.line != 0 && (site.offset_bytes != site.line || !site.build_id.empty() || site.program ||
                         site.symbol_offset_bytes != 0 || site.symbol_unique)) {
    return fail(Status::kCorrupt,
                fmt::format("site: line {} of interpreted code, at {:#x} of a program or library",
                            site.line, site.offset_bytes));
  }
  if (site.caller != 0 &&
      (site.line == 0 || site.caller > site_is_line_.size() || site_is_line_[site.caller - 1])) {
    return fail(
        Status::kCorrupt,
        fmt::format("site: called from site {}, which is not earlier machine code beneath a "
                    "line of interpreted code",
                    site.caller));
  }
  site_is_line_.push_back(site.line != 0);
  return {};
}

Result<void> Checker::add(const KnownWords& known) {
  const WordPlace& place = known.place;
  if (place.graph == 0 && place.node != 0) {
    return fail(Status::kCorrupt, fmt::format("provenance: node {} without a graph", place.node));
  }
  if (place.graph == 0 && place.event >= events_) {
    return fail(Status::kCorrupt,
                fmt::format("provenance: event {} does not precede it", place.event));
  }
  if (place.graph != 0 && (place.graph > graph_nodes_.size() || place.event != 0 ||
                           place.node >= graph_nodes_[place.graph - 1])) {
    return fail(Status::kCorrupt,
                fmt::format("provenance: graph {} has no node {}", place.graph, place.node));
  }
  if (has_known_ && !(last_known_ < place)) {
    return fail(Status::kCorrupt, "provenance: its places are not in ascending order");
  }
  if (known.words.empty()) return fail(Status::kCorrupt, "provenance: a place without words");
  for (size_t n = 1; n < known.words.size(); ++n) {
    if (known.words[n].offset_bytes <= known.words[n - 1].offset_bytes)
      return fail(Status::kCorrupt, "provenance: its offsets are not in ascending order");
  }
  last_known_ = place;
  has_known_ = true;
  return {};
}

Result<void> Checker::add(const Finding& finding) {
  GFXGRAPH_TRY(check_name(finding.call, "finding: call"));
  if (finding.count == 0) return fail(Status::kCorrupt, "finding: its count is 0");
  return {};
}

void normalize(Event& event) { std::visit(Normalizer{}, event.action); }

void normalize(Graph& graph) {
  for (GraphNode& node : graph.nodes) {
    std::visit(
        [](auto& action) {
          if constexpr (!std::is_same_v<std::decay_t<decltype(action)>, std::monostate>) {
            Normalizer{}(action);
          }
        },
        node.action);
    std::ranges::sort(node.dependencies);
    const auto doubled = std::ranges::unique(node.dependencies);
    node.dependencies.erase(doubled.begin(), doubled.end());
  }
}

}  // namespace gfxgraph::format
