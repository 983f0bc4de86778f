#include "tools/extract/extract.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <system_error>
#include <unordered_map>
#include <unordered_set>
#include <variant>

#include "base/demangle.h"
#include "check/run/trace_run.h"
#include "format/walk.h"
#include "pointers/word_resolver.h"
#include "tools/extract/trace_copy.h"

namespace gfxgraph::tools {
namespace {

using Ids = std::unordered_set<format::AllocationId>;

struct Live {
  format::AllocationBegin begin;  // with the name that it has by now
  uint64_t first_event = 0;
};

bool is_launch(const format::Event& event) {
  return std::holds_alternative<format::Launch>(event.action) ||
         std::holds_alternative<format::GraphLaunch>(event.action);
}

// A content that work may read and that the trace does not hold; the name of it, else empty.
struct Lacking {
  format::AllocationId allocation = 0;
  std::string what;
  uint64_t event = 0;
  uint64_t launches = 0;  // before it
};
std::optional<Lacking> lacking(const auto& action) {
  using Action = std::decay_t<decltype(action)>;
  const auto lacks = [](const format::Content& content) {
    return content.size_bytes != 0 && !content.stored;
  };
  if constexpr (std::is_same_v<Action, format::AllocationBegin>) {
    if (lacks(action.initial))
      return Lacking{.allocation = action.id, .what = "the initial contents"};
  } else if constexpr (std::is_same_v<Action, format::HostWrite>) {
    if (lacks(action.content))
      return Lacking{.allocation = action.allocation, .what = "a write of the host"};
  } else if constexpr (std::is_same_v<Action, format::Copy>) {
    if (action.destination.allocation != 0 && lacks(action.host_source))
      return Lacking{.allocation = action.destination.allocation, .what = "a copy from the host"};
  }
  return std::nullopt;
}

class Extraction {
 public:
  Extraction(const format::Trace& trace, const ExtractOptions& options)
      : trace_(trace), options_(options) {}

  Result<std::vector<ExtractReport>> run(std::span<const TracePart> parts,
                                         std::span<const std::string> outputs) {
    GFXGRAPH_ASSIGN_OR_RETURN(run_, check::TraceRun::create(trace_, options_.limits));
    std::vector<std::unique_ptr<format::Writer>> writers;
    std::vector<ExtractReport> reports;
    end_event_ = parts.back().end_event;
    for (size_t n = 0; n < parts.size(); ++n) {
      GFXGRAPH_TRY(add(parts[n], outputs[n]));
      writers.push_back(std::move(writer_));
      reports.push_back(std::exchange(report_, {}));
    }
    // No file has a name before all contents are known to be right.
    GFXGRAPH_TRY(compare_behind(reports.back()));
    for (const auto& writer : writers) GFXGRAPH_TRY(writer->seal());
    reports.back().notes = run_->notes();
    return reports;
  }

 private:
  const format::Event& event(uint64_t index) const { return trace_.events()[index]; }

  // Parts come in the order of the trace.
  Result<void> add(const TracePart& part, const std::string& output) {
    part_ = part;
    needed_.clear();
    words_.clear();
    GFXGRAPH_TRY(execute_before());
    report_.executed = run_->launches();
    find_needed();
    GFXGRAPH_TRY(check_known());
    GFXGRAPH_ASSIGN_OR_RETURN(writer_, format::Writer::create_unnamed(output));
    copy_.emplace(trace_, *writer_);
    GFXGRAPH_TRY(write());
    report_.dropped_relocations = copy_->dropped_relocations();
    return {};
  }

  // ---- everything before ----

  Result<void> execute_before() {
    for (; next_event_ < part_.first_event; ++next_event_) {
      GFXGRAPH_TRY(
          run_->ends().visit(next_event_, [this](const auto& one) { return execute(one); }));
    }
    if (!part_.node) return {};
    const auto& launch = std::get<format::GraphLaunch>(event(part_.first_event).action);
    const std::vector<format::GraphNode>& nodes = trace_.graphs()[launch.graph - 1].nodes;
    for (size_t i = 0; i < *part_.node; ++i) GFXGRAPH_TRY(run_->apply(nodes[i]));
    return {};
  }

  Result<void> execute(const format::Event& event) {
    if (options_.progress) options_.progress(event.sequence, end_event_);
    note_lacking(event);
    GFXGRAPH_TRY(run_->apply(event));
    if (const auto* begin = std::get_if<format::AllocationBegin>(&event.action)) {
      live_[begin->id] = {*begin, event.sequence};
    } else if (const auto* end = std::get_if<format::AllocationEnd>(&event.action)) {
      live_.erase(end->id);
    } else if (const auto* marker = std::get_if<format::Marker>(&event.action)) {
      if (marker->kind == format::MarkerKind::kName && live_.contains(marker->allocation))
        live_[marker->allocation].begin.name = marker->text;
    }
    return {};
  }

  void note_lacking(const format::Event& event) {
    if (unknown_) return;  // the first one is enough
    format::for_each_action(trace_, event, [&](const auto& action) {
      const std::optional<Lacking> found = lacking(action);
      if (!found || unknown_) return;
      unknown_ = Lacking{found->allocation, found->what, event.sequence, run_->launches()};
    });
  }

  // ---- what the part needs ----

  struct Words {
    std::vector<format::Relocation> relocations;
    bool from_trace = false;  // the bytes are those that the trace has of its beginning
  };

  // The pointers of memory as it is now, found as the recorder finds them.
  class Resolver {
   public:
    Resolver(const std::map<format::AllocationId, Live>& live,
             const std::vector<check::LoadedCode>& code)
        : words_(map_) {
      for (const auto& [id, one] : live) {
        if (one.begin.array) continue;  // no word leads to it
        auto target = std::make_shared<pointers::Target>();
        target->object = one.begin.object;
        target->id = id;
        target->kind = one.begin.kind;
        target->address = one.begin.recorded_address;
        target->host_address = one.begin.host_address;
        target->size_bytes = one.begin.size_bytes;
        map_.insert(std::move(target));
        const format::CodeObjectId object = one.begin.code_object;
        if (object == 0 || one.begin.host_address != 0 || object > code.size()) continue;
        const check::LoadedCode& loaded = code[object - 1];
        words_.add_code({&loaded, loaded.load_address, loaded.end, id, one.begin.recorded_address,
                         one.begin.size_bytes});
      }
    }
    std::vector<format::Relocation> memory(std::span<const std::byte> bytes) const {
      return words_.memory(bytes);
    }

   private:
    pointers::TargetMap map_;
    pointers::WordResolver words_;
  };

  void need(format::AllocationId id) {
    if (id != 0 && live_.contains(id) && needed_.insert(id).second) to_look_at_.push_back(id);
  }

  void need(const std::vector<format::Relocation>& relocations) {
    for (const format::Relocation& word : relocations) {
      need(word.allocation);
      if (!word.outside) continue;
      // It may have been made from any buffer that near.
      const auto target = live_.find(word.allocation);
      if (target == live_.end()) continue;
      const format::AllocationBegin& begin = target->second.begin;
      const uint64_t value = begin.recorded_address + static_cast<uint64_t>(word.addend);
      const auto distance = [value](const format::AllocationBegin& other) {
        if (value < other.recorded_address) return other.recorded_address - value;
        const uint64_t into = value - other.recorded_address;
        return into > other.size_bytes ? into - other.size_bytes : 0;
      };
      const uint64_t reach = format::outside_reach(distance(begin));
      for (const auto& [id, other] : live_) {
        if (other.begin.array || other.begin.object) continue;
        if (distance(other.begin) <= reach) need(id);
      }
    }
  }

  void need_of(const auto& action) {
    using Action = std::decay_t<decltype(action)>;
    if constexpr (std::is_same_v<Action, format::Launch>) {
      need(action.relocations);
      const format::CodeObjectId code = trace_.kernels()[action.kernel - 1].code_object;
      for (const auto& [id, one] : live_)
        if (one.begin.code_object == code) need(id);
    } else if constexpr (std::is_same_v<Action, format::Copy>) {
      need(action.destination.allocation);
      need(action.source.allocation);
      need(action.host_source.relocations);
    } else if constexpr (std::is_same_v<Action, format::Memset>) {
      need(action.allocation);
    } else if constexpr (std::is_same_v<Action, format::HostWrite>) {
      need(action.allocation);
      need(action.content.relocations);
    } else if constexpr (std::is_same_v<Action, format::AllocationBegin>) {
      need(action.initial.relocations);
      if (action.object) need(action.object->allocation);
    }
  }

  void find_needed() {
    if (part_.node) {
      const auto& launch = std::get<format::GraphLaunch>(event(part_.first_event).action);
      need_of(
          std::get<format::Launch>(trace_.graphs()[launch.graph - 1].nodes[*part_.node].action));
    } else {
      for (uint64_t i = part_.first_event; i < part_.end_event; ++i)
        format::for_each_action(trace_, event(i), [&](const auto& action) { need_of(action); });
    }
    const Resolver resolver(live_, run_->code());
    while (!to_look_at_.empty()) {
      const format::AllocationId id = to_look_at_.back();
      to_look_at_.pop_back();
      const format::AllocationBegin& begin = live_[id].begin;
      if (begin.object) {
        need(begin.object->allocation);
        continue;
      }
      Words words = words_of(resolver, begin);
      need(words.relocations);
      words_[id] = std::move(words);
    }
  }

  std::span<const std::byte> bytes_of(const format::AllocationBegin& begin) {
    const Result<std::span<const std::byte>> bytes = run_->bytes(begin.id, begin.size_bytes);
    return bytes ? *bytes : std::span<const std::byte>();
  }

  Words words_of(const Resolver& resolver, const format::AllocationBegin& begin) {
    Words words;
    const std::span<const std::byte> bytes = bytes_of(begin);
    words.relocations = resolver.memory(bytes);
    const format::Content& initial = begin.initial;
    words.from_trace = initial.stored && !initial.unwritten && initial.size_bytes == bytes.size() &&
                       initial.hash && format::hash_bytes(bytes) == initial.hash;
    // A recorded relocation stays valid while its word points to the same place.
    for (format::Relocation& word : words.relocations) {
      const auto known = std::ranges::find_if(initial.relocations, [&](const auto& other) {
        return other.offset_bytes == word.offset_bytes;
      });
      if (known != initial.relocations.end() && known->allocation == word.allocation &&
          known->addend == word.addend)
        word = *known;
    }
    return words;
  }

  Result<void> check_known() const {
    if (!unknown_) return {};
    const bool used = needed_.contains(unknown_->allocation);
    if (!used && unknown_->launches == run_->launches()) return {};
    return fail(Status::kUnsupported,
                fmt::format("{}: the trace lacks contents that it depends on: {} of buffer #{} at "
                            "event {}",
                            part_.text, unknown_->what, unknown_->allocation, unknown_->event));
  }

  // ---- the new trace ----

  Result<void> write() {
    GFXGRAPH_TRY(writer_->add(trace_.environment()));
    for (const format::Finding& finding : trace_.findings()) GFXGRAPH_TRY(writer_->add(finding));
    GFXGRAPH_TRY(begin_buffers());
    GFXGRAPH_TRY(copy_part());
    GFXGRAPH_TRY(end_buffers());
    format::Finding note;
    note.kind = format::FindingKind::kNote;
    note.call = "gfxgraph extract";
    note.detail = fmt::format(
        "{}, events {} to {}; of {} buffers at its beginning {} are as recorded and {} as the "
        "emulator computed them",
        part_.text, part_.first_event, part_.end_event - 1,
        report_.from_trace + report_.from_emulator, report_.from_trace, report_.from_emulator);
    return writer_->add(note);
  }

  // The target of a pointer begins before the buffer that holds it, except in cycles. A texture or
  // surface always begins after its array or memory; without that there is none.
  std::vector<format::AllocationId> beginning_order() {
    std::vector<format::AllocationId> ids(needed_.begin(), needed_.end());
    std::ranges::sort(ids, {}, [this](format::AllocationId id) { return live_[id].first_event; });
    std::vector<format::AllocationId> order;
    Ids seen, ordered;
    std::unordered_map<format::AllocationId, std::vector<format::AllocationId>> waiting;
    const auto put = [&](format::AllocationId id) {
      order.push_back(id);
      ordered.insert(id);
    };
    struct Visit {
      format::AllocationId id = 0;
      size_t next = 0;  // of its relocations
    };
    for (const format::AllocationId id : ids) {
      std::vector<Visit> path;
      if (seen.insert(id).second) path.push_back({id});
      while (!path.empty()) {
        Visit& visit = path.back();
        const std::vector<format::Relocation>& words = words_[visit.id].relocations;
        const auto& object = live_[visit.id].begin.object;
        if (object && visit.next == 0) {
          ++visit.next;
          if (needed_.contains(object->allocation) && seen.insert(object->allocation).second)
            path.push_back({object->allocation});
        } else if (object) {
          if (ordered.contains(object->allocation))
            put(visit.id);
          else
            waiting[object->allocation].push_back(visit.id);
          path.pop_back();
        } else if (visit.next == words.size()) {
          put(visit.id);
          for (const format::AllocationId object_id : waiting[visit.id]) put(object_id);
          path.pop_back();
        } else if (const format::AllocationId to = words[visit.next++].allocation;
                   needed_.contains(to) && seen.insert(to).second) {
          path.push_back({to});
        }
      }
    }
    return order;
  }

  Result<void> begin_buffers() {
    const format::Event& at = event(part_.first_event);
    std::vector<format::AllocationId> again;  // of those that point to what begins behind them
    for (const format::AllocationId id : beginning_order()) {
      format::AllocationBegin begin = live_[id].begin;
      if (begin.object) {
        GFXGRAPH_TRY(copy_->add(at, begin));
        continue;
      }
      const Words& words = words_[id];
      ++(words.from_trace ? report_.from_trace : report_.from_emulator);
      GFXGRAPH_ASSIGN_OR_RETURN(begin.initial, copy_->store(bytes_of(begin)));
      for (const format::Relocation& word : words.relocations) {
        if (copy_->has(word.allocation)) begin.initial.relocations.push_back(word);
      }
      if (begin.initial.relocations.size() != words.relocations.size()) again.push_back(id);
      GFXGRAPH_TRY(copy_->add(at, begin));
    }
    for (const format::AllocationId id : again) {
      const format::AllocationBegin& begin = live_[id].begin;
      GFXGRAPH_ASSIGN_OR_RETURN(format::Content whole, copy_->store(bytes_of(begin)));
      whole.relocations = words_[id].relocations;
      if (begin.host_address != 0) {
        GFXGRAPH_TRY(copy_->add(at, format::HostWrite{id, 0, std::move(whole)}));
        continue;
      }
      format::Copy copy;
      copy.destination.allocation = id;
      copy.width_bytes = begin.size_bytes;
      copy.host_source = std::move(whole);
      GFXGRAPH_TRY(copy_->add(at, std::move(copy)));
    }
    return {};
  }

  Result<void> copy_part() {
    if (part_.node) {
      const format::Event& at = event(part_.first_event);
      const auto& launch = std::get<format::GraphLaunch>(at.action);
      const format::GraphNode& node = trace_.graphs()[launch.graph - 1].nodes[*part_.node];
      auto alone = std::get<format::Launch>(node.action);
      alone.stream = launch.stream;
      GFXGRAPH_TRY(copy_->add(at, alone));
      GFXGRAPH_TRY(run_->apply(node));
      report_.launches = 1;
      return {};
    }
    for (uint64_t i = part_.first_event; i < part_.end_event; ++i) {
      std::optional<Lacking> lost;
      format::for_each_action(trace_, event(i), [&](const auto& one) {
        if (!lost) lost = lacking(one);
      });
      if (lost) {
        return fail(Status::kUnsupported,
                    fmt::format("{}: the trace lacks contents that it depends on: {} of buffer #{} "
                                "at event {}",
                                part_.text, lost->what, lost->allocation, i));
      }
      GFXGRAPH_TRY(
          run_->ends().visit(i, [this](const format::Event& one) { return copy_event(one); }));
    }
    next_event_ = part_.end_event;
    report_.launches = run_->launches() - report_.executed;
    return {};
  }

  Result<void> copy_event(const format::Event& one) {
    format::Action action = one.action;
    if (auto* end = std::get_if<format::AllocationEnd>(&action); end && copy_->has(end->id)) {
      GFXGRAPH_ASSIGN_OR_RETURN(end->post, end_content(live_[end->id].begin));
    }
    GFXGRAPH_TRY(execute(one));
    return copy_->add(one, std::move(action));
  }

  Result<format::Content> end_content(const format::AllocationBegin& begin) {
    if (begin.object) {
      format::Content none;
      none.stored = false;
      return none;
    }
    const std::span<const std::byte> bytes = bytes_of(begin);
    GFXGRAPH_ASSIGN_OR_RETURN(format::Content content, copy_->store(bytes));
    content.relocations = Resolver(live_, run_->code()).memory(bytes);
    return content;
  }

  Result<void> end_buffers() {
    const format::Event& last = event(part_.end_event - 1);
    for (const auto& [id, one] : live_) {
      if (!copy_->has(id)) continue;
      format::AllocationEnd end;
      end.id = id;
      end.freed = false;
      GFXGRAPH_ASSIGN_OR_RETURN(end.post, end_content(one.begin));
      GFXGRAPH_TRY(copy_->add(last, end));
    }
    return {};
  }

  // Up to the next launch memory is as the part left it: what the trace holds of it can be
  // compared.
  Result<void> compare_behind(ExtractReport& report) {
    const std::vector<format::Event>& events = trace_.events();
    for (uint64_t i = part_.end_event; i < events.size() && !part_.node; ++i) {
      if (is_launch(events[i])) break;
      GFXGRAPH_TRY(run_->ends().visit(
          i, [this](const format::Event& one) -> Result<void> { return run_->apply(one); }));
    }
    report.compared = run_->compared();
    report.different = run_->different();
    if (report.different == 0 || options_.allow_diverged) return {};
    return fail(
        Status::kMismatch,
        fmt::format(
            "{} of {} contents that the trace holds up to the next launch differ from what the "
            "emulator computed (first: {}): kernels of this trace give other results in another "
            "order or on another device; --allow-diverged extracts the emulator's memory",
            report.different, report.compared, run_->first_different()));
  }

  const format::Trace& trace_;
  const ExtractOptions& options_;
  uint64_t next_event_ = 0;  // the first one that was not executed
  uint64_t end_event_ = 0;   // of the last part
  // Of the part that is being written:
  TracePart part_;
  ExtractReport report_;
  Ids needed_;
  std::vector<format::AllocationId> to_look_at_;
  std::unordered_map<format::AllocationId, Words> words_;
  std::unique_ptr<format::Writer> writer_;
  std::optional<TraceCopy> copy_;
  // Of everything before it:
  std::unique_ptr<check::TraceRun> run_;
  std::map<format::AllocationId, Live> live_;
  std::optional<Lacking> unknown_;
};

}  // namespace

Result<ExtractReport> extract(const format::Trace& trace, const TracePart& part,
                              const std::string& output, const ExtractOptions& options) {
  GFXGRAPH_ASSIGN_OR_RETURN(std::vector<ExtractReport> reports,
                            extract(trace, std::span(&part, 1), std::span(&output, 1), options));
  return std::move(reports.front());
}

Result<std::vector<ExtractReport>> extract(const format::Trace& trace,
                                           std::span<const TracePart> parts,
                                           std::span<const std::string> outputs,
                                           const ExtractOptions& options) {
  return Extraction(trace, options).run(parts, outputs);
}

}  // namespace gfxgraph::tools
