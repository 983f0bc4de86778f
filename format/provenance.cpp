#include "format/provenance.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <optional>
#include <type_traits>

#include "base/file/file.h"
#include "format/codec/pack.h"
#include "format/container/container_writer.h"
#include "format/read/loader.h"

namespace gfxgraph::format {
namespace {

// For one event or node.
class Pointers {
 public:
  Pointers(const Provenance& known, PointerUse use, WordPlace place)
      : known_(known), use_(use), place_(place) {}

  void operator()(Launch& action) { choose(action.relocations, WordPart::kArguments); }
  void operator()(AllocationBegin& action) {
    choose(action.initial.relocations, WordPart::kInitial);
  }
  void operator()(HostWrite& action) { choose(action.content.relocations, WordPart::kHostWrite); }
  void operator()(Copy& action) {
    choose(action.host_source.relocations, WordPart::kCopySource);
    choose(action.host_result.relocations, WordPart::kCopyResult);
  }
  void operator()(AllocationEnd& action) { choose(action.post.relocations, WordPart::kFinal); }
  template <typename Other>
  void operator()(Other&) {}

 private:
  void choose(std::vector<Relocation>& words, WordPart part) {
    if (words.empty()) return;
    if (use_ == PointerUse::kTyped) {
      std::erase_if(
          words, [](const Relocation& word) { return word.source == RelocationSource::kMatched; });
      return;
    }
    place_.part = part;
    const auto found = std::ranges::lower_bound(known_.places, place_, {}, &KnownWords::place);
    if (found == known_.places.end() || found->place != place_) return;
    const auto is_data = [&](Relocation& word) {
      const auto one =
          std::ranges::lower_bound(found->words, word.offset_bytes, {}, &KnownWord::offset_bytes);
      if (one == found->words.end() || one->offset_bytes != word.offset_bytes) return false;
      if (one->verdict == WordVerdict::kData) return word.source == RelocationSource::kMatched;
      word.ambiguous = false;
      if (word.source == RelocationSource::kMatched) word.source = RelocationSource::kProven;
      return false;
    };
    std::erase_if(words, is_data);
  }

  const Provenance& known_;
  const PointerUse use_;
  WordPlace place_;
};

bool changes_nothing(const Provenance& known, PointerUse use) {
  return use == PointerUse::kRecorded || (use == PointerUse::kProven && known.places.empty());
}

// All records except the summary and the earlier provenance.
Result<void> copy_records(std::span<const std::byte> file, ContainerWriter& out) {
  RecordScanner scanner(file, true);  // the hashes have been checked
  GFXGRAPH_TRY(scanner.read_head());
  for (;;) {
    GFXGRAPH_ASSIGN_OR_RETURN(const std::optional<RecordView> record, scanner.next());
    GFXGRAPH_CHECK(record.has_value());
    if (record->kind == RecordKind::kSummary) return {};
    // An index of the original records would be wrong: a file may lack an index.
    if (record->kind == RecordKind::kProvenance || record->kind == RecordKind::kIndex) continue;
    GFXGRAPH_TRY(out.append(PreparedRecord(record->kind, record->payload, {}, record->flags)));
  }
}

Result<void> append(const Provenance& known, ContainerWriter& out) {
  // Far below the limit for a payload.
  constexpr size_t kWordsPerRecord = 1 << 22;
  Packer packer;
  size_t from = 0;
  do {
    size_t words = 0, to = from;
    while (to < known.places.size() && words < kWordsPerRecord)
      words += 8 + known.places[to++].words.size();
    const std::span<const KnownWords> some(known.places.data() + from, to - from);
    GFXGRAPH_TRY(out.append(
        PreparedRecord(RecordKind::kProvenance, packer.pack_provenance(some), {}, kFlagOptional)));
    from = to;
  } while (from < known.places.size());
  return {};
}

}  // namespace

uint64_t count_data(const Provenance& known) {
  uint64_t count = 0;
  for (const KnownWords& place : known.places)
    for (const KnownWord& word : place.words) count += word.verdict == WordVerdict::kData ? 1 : 0;
  return count;
}

void use_pointers(Event& event, const Provenance& known, PointerUse use) {
  if (changes_nothing(known, use)) return;
  std::visit(Pointers(known, use, {event.sequence, 0, 0, WordPart::kArguments}), event.action);
}

void use_pointers(Graph& graph, const Provenance& known, PointerUse use) {
  if (changes_nothing(known, use)) return;
  for (uint32_t node = 0; node < graph.nodes.size(); ++node)
    std::visit(Pointers(known, use, {0, graph.id, node, WordPart::kArguments}),
               graph.nodes[node].action);
}

Result<void> write_provenance(const std::filesystem::path& in, const std::filesystem::path& out,
                              const Provenance& known) {
  try {
    GFXGRAPH_ASSIGN_OR_RETURN(const MappedFile mapped, MappedFile::open(in));
    Result<LoadedTrace> loaded = load_trace(mapped.bytes(), {.lazy = true});
    if (!loaded) return with_context(std::move(loaded).error(), in.string());
    GFXGRAPH_ASSIGN_OR_RETURN(std::unique_ptr<OutputFile> file, create_new_file(out));
    ContainerWriter writer(std::move(file));
    GFXGRAPH_TRY(writer.write_head());
    GFXGRAPH_TRY(copy_records(mapped.bytes(), writer));
    GFXGRAPH_TRY(append(known, writer));
    Packer packer;
    return writer.seal(PreparedRecord(
        RecordKind::kSummary,
        packer.pack_summary(loaded->statistics, loaded->graphs.size(), loaded->findings.size())));
  } catch (const std::bad_alloc&) {
    return fail(Status::kOutOfMemory, fmt::format("{}: out of memory", in.string()));
  }
}

}  // namespace gfxgraph::format
