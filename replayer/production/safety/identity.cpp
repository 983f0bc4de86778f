#include "replayer/production/safety/identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <set>
#include <span>

#include "format/container/container.h"
#include "format/ranges/trace_ranges.h"
#include "format/walk.h"
#include "replayer/capi/c_api_internal.h"

namespace gfxgraph::replayer {
namespace {

class Hasher {
 public:
  explicit Hasher(const format::Trace& trace) : trace_(trace) {}

  // All of the trace, before add().
  void know(const format::AllocationBegin& begin) { sizes_[begin.id] = begin.size_bytes; }
  void add(const format::Event& event) {
    if (const auto* const launch = std::get_if<format::Launch>(&event.action)) return add(*launch);
    if (const auto* const copy = std::get_if<format::Copy>(&event.action)) return add(*copy);
    if (const auto* const set = std::get_if<format::Memset>(&event.action)) return add(*set);
    if (const auto* const graph = std::get_if<format::GraphLaunch>(&event.action))
      return add(*graph);
    if (const auto* const record = std::get_if<format::EventRecord>(&event.action))
      return numbers({kRecord, stream(record->stream), number(events_, record->event)});
    if (const auto* const wait = std::get_if<format::StreamWait>(&event.action))
      return numbers({kWait, stream(wait->stream), number(events_, wait->event)});
    if (const auto* const call = std::get_if<format::HostFunction>(&event.action))
      return numbers({kFunction, stream(call->stream)});
  }

  Identity result() {
    Identity identity;
    identity.sequence = format::hash64(work_);
    std::vector<uint64_t> code;  // in the order of their hashes
    for (const format::BlobId& one : code_) code.insert(code.end(), {one.low, one.high});
    identity.code = format::hash64(std::as_bytes(std::span(code)));
    return identity;
  }

 private:
  enum Kind : uint64_t { kLaunch = 1, kCopy, kMemset, kGraph, kRecord, kWait, kFunction, kNode };
  using Numbers = std::map<uint32_t, uint64_t>;  // in the order of first use, by id

  static uint64_t number(Numbers& known, uint32_t id) {
    return id == 0 ? 0 : known.try_emplace(id, known.size() + 1).first->second;
  }
  uint64_t stream(format::StreamId id) { return number(streams_, id); }
  void numbers(std::initializer_list<uint64_t> all) {
    append(std::as_bytes(std::span(all.begin(), all.size())));
  }
  void bytes(std::span<const std::byte> all) {
    numbers({all.size()});
    append(all);
  }
  // Long work is hashed in parts, each with the hash of those before it.
  void append(std::span<const std::byte> all) {
    constexpr size_t kMost = 1 << 20;
    if (work_.size() > kMost) {
      const uint64_t before = format::hash64(work_);
      work_.clear();
      append(std::as_bytes(std::span(&before, 1)));
    }
    work_.insert(work_.end(), all.begin(), all.end());
  }
  void memory(format::AllocationId id, uint64_t offset) {
    const auto size = sizes_.find(id);
    numbers({number(memory_, id), size == sizes_.end() ? 0 : size->second, offset});
  }

  void add(const format::Launch& launch) {
    numbers({kLaunch, stream(launch.stream)});
    if (launch.kernel != 0 && launch.kernel <= trace_.kernels().size()) {
      const format::Kernel& kernel = trace_.kernels()[launch.kernel - 1];
      bytes(std::as_bytes(std::span(kernel.name)));
      if (kernel.code_object != 0 && kernel.code_object <= trace_.code_objects().size())
        code_.insert(trace_.code_objects()[kernel.code_object - 1].elf);
    }
    numbers({launch.grid[0], launch.grid[1], launch.grid[2], launch.grid_remainder[0],
             launch.grid_remainder[1], launch.grid_remainder[2], launch.block[0], launch.block[1],
             launch.block[2], launch.dynamic_lds_bytes, launch.cooperative ? 1u : 0u});
    std::vector<uint8_t> arguments = launch.kernarg;
    for (const format::Relocation& word : launch.relocations) {
      if (word.offset_bytes + sizeof(uint64_t) > arguments.size()) continue;
      std::memset(arguments.data() + word.offset_bytes, 0, sizeof(uint64_t));
      memory(word.allocation, static_cast<uint64_t>(word.addend));
    }
    bytes(std::as_bytes(std::span(arguments)));
  }
  void add(const format::CopyEnd& end) {
    memory(end.allocation, end.offset_bytes);
    numbers({end.pitch_bytes, end.slice_bytes});
  }
  void add(const format::Copy& copy) {
    numbers({kCopy, stream(copy.stream), copy.width_bytes, copy.height, copy.depth});
    add(copy.destination);
    add(copy.source);
    // Bytes of plain host memory, which a step passes in every run.
    if (copy.source.allocation == 0 && !copy.source_is_pinned)
      numbers({copy.host_source.blob.low, copy.host_source.blob.high, copy.host_source.fill});
  }
  void add(const format::Memset& set) {
    numbers({kMemset, stream(set.stream), set.element_bytes, set.value, set.width_elements,
             set.height, set.depth, set.pitch_bytes, set.slice_bytes});
    memory(set.allocation, set.offset_bytes);
  }
  void add(const format::GraphLaunch& launch) {
    const format::Graph* const graph = format::graph_of(trace_, launch);
    numbers({kGraph, stream(launch.stream), graph == nullptr ? 0 : graph->nodes.size()});
    if (graph == nullptr) return;
    for (const format::GraphNode& node : graph->nodes) {
      numbers({kNode, node.action.index(), node.dependencies.size()});
      for (const uint32_t dependency : node.dependencies) numbers({dependency});
      if (const auto* const one = std::get_if<format::Launch>(&node.action)) add(*one);
      if (const auto* const one = std::get_if<format::Copy>(&node.action)) add(*one);
      if (const auto* const one = std::get_if<format::Memset>(&node.action)) add(*one);
    }
  }

  const format::Trace& trace_;
  std::vector<std::byte> work_;
  Numbers memory_, streams_, events_;
  std::map<format::AllocationId, uint64_t> sizes_;
  std::set<format::BlobId> code_;
};

}  // namespace

Result<Identity> identity_of(gfxgraph_trace_t trace, gfxgraph_range_t range) {
  GFXGRAPH_ASSIGN_OR_RETURN(const ranges::RangeSummary* const found, trace->open->summary(range));
  const format::Trace& all = trace->open->trace();
  Hasher hasher(all);
  const auto know = [&](const format::Event& event) -> Result<void> {
    if (const auto* const begin = std::get_if<format::AllocationBegin>(&event.action))
      hasher.know(*begin);
    return {};
  };
  GFXGRAPH_TRY(all.visit_events(format::kinds_of<format::AllocationBegin>(), know));
  const auto add = [&](const format::Event& event) -> Result<void> {
    if (event.sequence >= found->first_event && event.sequence < found->end_event)
      hasher.add(event);
    return {};
  };
  GFXGRAPH_TRY(all.visit_events(format::kEveryAction, add));
  return hasher.result();
}

std::vector<Fact> environment_facts(const HipLibrary& library, const HipDevice& device) {
  std::vector<Fact> facts = {{"device", device.name},
                             {"arch", device.arch},
                             {"runtime", fmt::to_string(library.runtime_version())}};
  const HipTable& hip = library.table();
  int driver = 0;
  if (hip.hipDriverGetVersion != nullptr && hip.hipDriverGetVersion(&driver) == hip::kSuccess)
    facts.push_back({"driver", fmt::to_string(driver)});
  std::array<uint8_t, 16> uuid{};
  if (hip.hipDeviceGetUuid == nullptr ||
      hip.hipDeviceGetUuid(uuid.data(), device.ordinal) != hip::kSuccess ||
      std::ranges::all_of(uuid, [](uint8_t byte) { return byte == 0; })) {
    hip.hipGetLastError();  // the program must not see ours
    return facts;
  }
  Fact& added = facts.emplace_back(Fact{"uuid", {}});
  for (const uint8_t byte : uuid) added.value += fmt::format("{:02x}", byte);
  return facts;
}

std::string bucket_line(uint64_t size, uint64_t max_length, const Identity& identity) {
  return fmt::format("bucket {} {} {:016x} {:016x}", size, max_length, identity.code,
                     identity.sequence);
}

Result<SavedFingerprint> SavedFingerprint::read(std::string_view text) {
  SavedFingerprint saved;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    saved.lines_.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (!saved.lines_.empty() && saved.lines_[0] == kFirstLine) return saved;
  return fail(Status::kInvalidArgument,
              fmt::format("fingerprint does not begin with {}: give what gfxgraph_pool_fingerprint "
                          "wrote",
                          kFirstLine));
}

Result<void> SavedFingerprint::check(const std::vector<Fact>& facts) const {
  for (const Fact& fact : facts) {
    const std::string name = fmt::format("{} ", fact.name);
    for (const std::string& line : lines_) {
      if (!line.starts_with(name) || line.substr(name.size()) == fact.value) continue;
      return fail(Status::kMismatch,
                  fmt::format("the {} is {}, and that of the fingerprint {}: check the steps here, "
                              "and save a fingerprint of this one",
                              fact.name, fact.value, line.substr(name.size())));
    }
  }
  return {};
}

Result<void> SavedFingerprint::check(uint64_t size, uint64_t max_length, const Identity& identity,
                                     bool needed) const {
  const std::string wanted = bucket_line(size, max_length, identity);
  const std::string name = fmt::format("bucket {} {} ", size, max_length);
  const auto line =
      std::ranges::find_if(lines_, [&](const std::string& one) { return one.starts_with(name); });
  if (line == lines_.end() && !needed) return {};
  if (line != lines_.end() && *line == wanted) return {};
  return fail(
      Status::kMismatch,
      fmt::format("the captured step (code, sequence) is {}, and the fingerprint has {}",
                  wanted.substr(name.size()),
                  line == lines_.end() ? "none of this bucket" : line->substr(name.size())));
}

}  // namespace gfxgraph::replayer
