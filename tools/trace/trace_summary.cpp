#include "tools/trace/trace_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>

#include "base/hash.h"
#include "codeobj/pointer_arguments.h"
#include "format/names.h"
#include "tools/cli.h"
#include "tools/trace/trace_walk.h"

namespace gfxgraph::tools {
namespace {

class Summarizer {
 public:
  explicit Summarizer(const format::Trace& trace) : trace_(trace) {}

  TraceSummary run() {
    for (const format::Kernel& kernel : trace_.kernels()) summary_.kernels.push_back({&kernel});
    for (const format::Event& event : trace_.events()) count_event(event);
    for (const format::Graph& graph : trace_.graphs()) {
      for (const format::GraphNode& node : graph.nodes) {
        if (const auto* launch = std::get_if<format::Launch>(&node.action)) {
          if (KernelSummary* kernel = kernel_of(*launch)) ++kernel->graph_nodes;
        }
      }
    }
    if (!trace_.events().empty()) {
      summary_.span_ns = trace_.events().back().time_ns - trace_.events().front().time_ns;
    }
    collect_relocations();
    return std::move(summary_);
  }

 private:
  KernelSummary* kernel_of(const format::Launch& launch) {
    if (launch.kernel == 0 || launch.kernel > summary_.kernels.size()) return nullptr;
    return &summary_.kernels[launch.kernel - 1];
  }

  // Where an end of a copy lies: what the program asked for, not how the runtime moves the bytes.
  const char* memory_name(const format::CopyEnd& end) {
    if (end.allocation == 0) return "host";
    switch (kinds_[end.allocation]) {
      case format::AllocationKind::kHostPinned: return "pinned";
      case format::AllocationKind::kHostRegistered: return "registered";
      case format::AllocationKind::kManaged: return "managed";
      default: return "device";
    }
  }

  void count_event(const format::Event& event) {
    ++summary_.events[name_of(event.action).key];
    summary_.threads = std::max<uint64_t>(summary_.threads, event.thread + 1u);
    if (const auto* launch = std::get_if<format::Launch>(&event.action)) {
      if (KernelSummary* kernel = kernel_of(*launch)) ++kernel->launches;
    } else if (const auto* begin = std::get_if<format::AllocationBegin>(&event.action)) {
      AllocationSummary& kind = summary_.allocations[name_of(begin->kind).key];
      ++kind.count;
      kind.bytes += begin->size_bytes;
      kind.unwritten += begin->initial.unwritten ? 1 : 0;
      sizes_[begin->id] = begin->size_bytes;
      kinds_[begin->id] = begin->kind;
      live_bytes_ += begin->size_bytes;
      summary_.peak_bytes = std::max(summary_.peak_bytes, live_bytes_);
    } else if (const auto* end = std::get_if<format::AllocationEnd>(&event.action)) {
      live_bytes_ -= sizes_[end->id];
    } else if (const auto* copy = std::get_if<format::Copy>(&event.action)) {
      CopySummary& direction = summary_.copies[fmt::format("{}_to_{}", memory_name(copy->source),
                                                           memory_name(copy->destination))];
      ++direction.count;
      direction.bytes += copy->width_bytes * copy->height * copy->depth;
    } else if (std::holds_alternative<format::StreamCreate>(event.action)) {
      ++summary_.streams;
    }
  }

  // The parts of place texts, made once for each kernel and not for each launch.
  struct KernelPlaces {
    std::string name;
    std::vector<const format::Argument*> arguments;  // by offset
  };

  const KernelPlaces& places_of(const format::Kernel& kernel) {
    const auto [found, added] = kernel_places_.try_emplace(kernel.id);
    KernelPlaces& places = found->second;
    if (!added) return places;
    places.name = demangle(kernel.name);
    if (places.name.size() > kMaxPlaceName) {
      places.name = fmt::format("{}... (kernel {})", clipped(places.name), kernel.id);
    }
    for (const format::Argument& argument : kernel.arguments) places.arguments.push_back(&argument);
    std::ranges::stable_sort(places.arguments, {}, &format::Argument::offset_bytes);
    return places;
  }

  static std::string_view clipped(const std::string& name) {
    return std::string_view(name).substr(0, kMaxPlaceName);
  }

  // The rule of pointers/word_resolver.h by which the recorder took the word for a pointer.
  // `argument` holds the word; nullptr: none does. `in_memory`: it is not in a launch's arguments.
  static const char* reason_of(const format::Relocation& relocation,
                               const format::Argument* argument, bool in_memory,
                               std::string_view kernel) {
    switch (relocation.source) {
      case format::RelocationSource::kTyped: {
        const char* const rule =
            argument == nullptr || argument->kind != format::ArgumentKind::kByValue
                ? nullptr
                : codeobj::pointer_argument(kernel, argument->name, argument->size_bytes);
        return rule == nullptr ? "argument type" : rule;
      }
      case format::RelocationSource::kProven: return "use as an address";
      case format::RelocationSource::kMatched: break;
    }
    if (relocation.ambiguous) return "its value only";
    if (in_memory) return "pointers next to it";
    if (argument == nullptr) return "value in a kernel without argument metadata";
    return argument->size_bytes > 8 ? "field of a struct" : "argument name";
  }

  void name_argument(const format::Launch& launch, const format::Relocation& relocation,
                     RelocationSite& site) {
    const uint64_t offset = relocation.offset_bytes;
    std::string name = fmt::format("kernel {}", launch.kernel);
    site.kernel = launch.kernel;
    site.argument = fmt::format("at {:#x}", offset);
    const format::Argument* argument = nullptr;
    std::string_view symbol;
    if (const KernelSummary* kernel = kernel_of(launch)) {
      const KernelPlaces& places = places_of(*kernel->kernel);
      name = places.name;
      symbol = kernel->kernel->name;
      site.argument = fmt::format("kernarg at {:#x}", offset);
      const auto after =
          std::ranges::upper_bound(places.arguments, offset, {}, &format::Argument::offset_bytes);
      if (after != places.arguments.begin()) argument = *std::prev(after);
      if (argument != nullptr && offset - argument->offset_bytes >= argument->size_bytes)
        argument = nullptr;
    }
    if (argument != nullptr) {
      site.argument = fmt::format(
          "argument{} at {:#x}",
          argument->name.empty() ? "" : fmt::format(" '{}'", clipped(argument->name)), offset);
    }
    site.place = name + " " + site.argument;
    site.reason = reason_of(relocation, argument, false, symbol);
  }

  // A word that only its value makes one, and which lies in no allocation, is a tagged pointer, or
  // the address of a function or a vtable.
  bool leads_into_code(const format::Relocation& relocation) const {
    constexpr int kTagShift = 48;
    const auto target = kinds_.find(relocation.allocation);
    return relocation.source == format::RelocationSource::kMatched && relocation.outside &&
           target != kinds_.end() && target->second == format::AllocationKind::kModuleGlobal &&
           std::abs(relocation.addend) >> kTagShift == 0;
  }

  // `site` numbers the place of a relocation. For a new one `place` names it, and `where` returns
  // its example.
  template <typename Key>
  using Sites = std::map<std::tuple<Key, format::RelocationSource, bool, bool>, size_t>;

  template <typename Key, typename Place, typename Where>
  void count_site(Sites<Key>& sites, const Key& site, const format::Relocation& relocation,
                  const Place& place, const Where& where) {
    switch (relocation.source) {
      case format::RelocationSource::kTyped: ++summary_.relocations.typed; break;
      case format::RelocationSource::kProven: ++summary_.relocations.proven; break;
      case format::RelocationSource::kMatched: ++summary_.relocations.matched; break;
    }
    if (relocation.ambiguous) ++summary_.relocations.ambiguous;
    const auto key = std::tuple(site, relocation.source, relocation.ambiguous, relocation.outside);
    const auto [found, inserted] = sites.try_emplace(key, summary_.sites.size());
    if (inserted) {
      RelocationSite added;
      added.source = relocation.source;
      added.ambiguous = relocation.ambiguous;
      added.outside = relocation.outside;
      added.code = leads_into_code(relocation);
      place(added);
      added.example =
          fmt::format("{}: allocation {} {} {}", where(), relocation.allocation,
                      relocation.addend < 0 ? '-' : '+',
                      relocation.addend < 0 ? 0 - static_cast<uint64_t>(relocation.addend)
                                            : static_cast<uint64_t>(relocation.addend));
      summary_.sites.push_back(std::move(added));
    }
    ++summary_.sites[found->second].count;
  }

  void collect_relocations() {
    for_each_stored_launch(trace_, [&](const format::Launch& launch, const std::string& where) {
      for (const format::Relocation& relocation : launch.relocations) {
        count_site(
            argument_sites_, std::pair(launch.kernel, relocation.offset_bytes), relocation,
            [&](RelocationSite& site) { name_argument(launch, relocation, site); },
            [&] { return where; });
      }
    });
    for_each_content(trace_, [&](const format::Content& content, const std::string& what) {
      const size_t colon = what.find(": ");
      for (const format::Relocation& relocation : content.relocations) {
        const std::string place = what.substr(colon + 2);
        count_site(
            content_sites_, place, relocation,
            [&](RelocationSite& site) {
              site.place = place;
              site.reason = reason_of(relocation, nullptr, true, {});
            },
            [&] {
              return fmt::format("{} at {:#x}", what.substr(0, colon), relocation.offset_bytes);
            });
      }
    });
  }

  // Place texts are shown once for each argument of a kernel: a long name must not be repeated
  // whole.
  static constexpr size_t kMaxPlaceName = 500;

  const format::Trace& trace_;
  TraceSummary summary_;
  std::unordered_map<format::AllocationId, format::AllocationKind, SeededHash> kinds_;
  std::unordered_map<format::AllocationId, uint64_t, SeededHash> sizes_;
  uint64_t live_bytes_ = 0;
  std::map<format::KernelId, KernelPlaces> kernel_places_;
  Sites<std::pair<format::KernelId, uint64_t>> argument_sites_;
  Sites<std::string> content_sites_;
};

}  // namespace

TraceSummary summarize(const format::Trace& trace) { return Summarizer(trace).run(); }

}  // namespace gfxgraph::tools
