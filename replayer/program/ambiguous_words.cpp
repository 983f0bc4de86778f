// Lists the words that a program relocates although only their values mark them as pointers.
#include <fmt/format.h>

#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "replayer/program/program.h"

namespace gfxgraph::replayer {

std::vector<AmbiguousWord> Program::ambiguous_words() const {
  // Kernel and offset, or the way in which the host gave the words and the buffer.
  using Place = std::tuple<format::KernelId, std::string_view, uint64_t>;
  struct Words {
    AmbiguousWord word;
    std::set<format::AllocationId> targets;
  };
  std::map<Place, Words> places;
  const auto count = [&](const Place& place, const format::Relocation& relocation) {
    Words& words = places[place];
    words.targets.insert(relocation.allocation);
    if (words.word.words++ != 0) return static_cast<AmbiguousWord*>(nullptr);
    words.word.offset_bytes = relocation.offset_bytes;
    words.word.allocation = relocation.allocation;
    return &words.word;
  };
  const auto memory = [&](std::string_view what, format::AllocationId buffer,
                          const format::Content& content, uint64_t sequence) {
    for (const format::Relocation& relocation : content.relocations) {
      if (!relocation.ambiguous) continue;
      AmbiguousWord* const word = count({0, what, buffer}, relocation);
      if (word == nullptr) continue;
      word->content = what;
      word->buffer = buffer;
      word->first_event = sequence;
    }
  };
  for (const Operation& operation : operations_) {
    if (operation.kind == OperationKind::kCopy) {
      memory("copy to", operation.copy->destination.allocation, operation.copy->host_source,
             operation.sequence);
    }
    if (operation.kind != OperationKind::kLaunch) continue;
    const format::Kernel& launched = kernel(*operation.launch);
    for (const format::Relocation& relocation : operation.launch->relocations) {
      if (!relocation.ambiguous) continue;
      AmbiguousWord* const word = count({launched.id, "", relocation.offset_bytes}, relocation);
      if (word == nullptr) continue;
      word->kernel = launched.name;
      word->first_launch = operation.launch_index;
      word->first_event = operation.sequence;
      for (size_t i = 0; i < launched.arguments.size(); ++i) {
        const format::Argument& argument = launched.arguments[i];
        if (relocation.offset_bytes - argument.offset_bytes >= argument.size_bytes) continue;
        word->argument = argument.name.empty() ? fmt::format("#{}", i) : argument.name;
      }
    }
  }
  for (const AllocationInfo& info : allocations_) {
    if (info.begin == nullptr) continue;
    memory("initial content of", info.begin->id, info.begin->initial, info.begin_sequence);
  }
  for (const Call& call : calls_) {
    if (call.kind != CallKind::kHostWrite) continue;
    const format::HostWrite& write = *host_writes_[call.host_write];
    memory("host write to", write.allocation, write.content, call.sequence);
  }
  std::vector<AmbiguousWord> result;
  result.reserve(places.size());
  for (auto& [place, words] : places) {
    words.word.targets = words.targets.size();
    result.push_back(std::move(words.word));
  }
  return result;
}

}  // namespace gfxgraph::replayer
