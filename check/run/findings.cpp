#include "check/run/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "base/demangle.h"
#include "check/launch/kernel_fault.h"
#include "check/report/call_sites.h"
#include "check/report/code_window.h"
#include "check/report/grouping.h"
#include "check/report/user_line.h"
#include "codeobj/dwarf/inline_stack.h"

namespace gfxgraph::check {
namespace {

// Reports repeat names and texts in several forms; names are readable there, too.
constexpr uint64_t kCopies = 8;

Severity severity_of(FindingClass finding_class, const CheckOptions& options) {
  Severity severity = class_text(finding_class).severity;
  if (finding_class == FindingClass::kW1 && options.masked_lane != MaskedLaneMode::kWarn)
    severity = Severity::kError;
  return severity == Severity::kWarning && options.strict ? Severity::kError : severity;
}

// Found at a copy, memset, host write, allocation or free, of which no launch is told.
bool of_transfer(FindingClass finding_class) {
  switch (finding_class) {
    case FindingClass::kR7:
    case FindingClass::kR8:
    case FindingClass::kR10:
    case FindingClass::kR11:
    case FindingClass::kU3:
    case FindingClass::kU4: return true;
    default: return false;
  }
}

uint64_t stack_bytes(const std::vector<codeobj::SourceLocation>& stack) {
  uint64_t size = sizeof(FindingPlace);
  for (const codeobj::SourceLocation& frame : stack)
    size += sizeof(frame) + frame.file.size() + frame.function.size();
  return size;
}

}  // namespace

void Findings::describe(uint64_t launches, uint64_t sequence, bool of_transfers) {
  for (auto& [key, site] : sites_.all()) {
    const bool late = of_transfer(key.finding_class);
    if (site.nearest) continue;
    if (!(of_transfers && late) && site.first.place.launch + 1 != launches) continue;
    site.event_sequence = site.first.trace_event != 0 ? site.first.trace_event : sequence;
    if (site.first.access_bytes == 0) continue;  // no access
    site.nearest = nearest_to(site.first);
    if (site.nearest && key.finding_class == FindingClass::kR11) {  // the free has just taken place
      site.nearest->freed = false;
      site.nearest->distance_bytes = static_cast<int64_t>(
          site.first.address - site.nearest->address - site.nearest->size_bytes);
    }
    add_heap_places(site.first);
    if (site.first.pointer != 0) site.owner = memory_.owner(site.first.address);
  }
}

// Where the block of an access to the heap was requested, and freed.
void Findings::add_heap_places(LaneEvent& event) const {
  if (event.space != emulator::Space::kGlobal || !heap_.holds(event.address)) return;
  const auto block = heap_.nearest(event.address);
  if (!block || block->allocated_at == 0) return;
  event.detail = "allocated at " + place_text(code_, block->allocated_at);
  if (event.finding_class == FindingClass::kE11)
    event.detail += " and freed at " + place_text(code_, block->freed_at);
}

std::optional<NearestBuffer> Findings::nearest_to(const LaneEvent& event) const {
  if (event.pointer != 0) return memory_.relative_to(event.pointer, event.address);
  if (event.space == emulator::Space::kGlobal && heap_.holds(event.address)) {
    const auto block = heap_.nearest(event.address);
    return block ? std::optional(check::describe(*block, event.address)) : std::nullopt;
  }
  if (event.space == emulator::Space::kGlobal) return memory_.nearest(event.address);
  NearestBuffer local;
  local.name = event.space == emulator::Space::kLds ? "the workgroup's LDS" : "the lane's scratch";
  local.size_bytes = local.mapped_bytes = event.space_bytes;
  local.distance_bytes = static_cast<int64_t>(event.address - event.space_bytes);
  return local;
}

Finding Findings::make_finding(const Sites::Key& key, const Site& site) const {
  Finding finding;
  finding.finding_class = key.finding_class;
  finding.severity = severity_of(key.finding_class, options_);
  finding.kernel = key.kernel == 0 ? "(none)" : trace_.kernels()[key.kernel - 1].name;
  finding.mnemonic =
      site.first.mnemonic.empty() ? emulator::op_name(site.first.op) : site.first.mnemonic;
  if (const LoadedCode* const code = find_code(code_, key.pc)) {
    finding.code_address = key.pc - code->load_address;
    finding.source = user_line(*code->object, finding.code_address);
    const codeobj::Kernel* const kernel = code->object->find_kernel(finding.kernel);
    if (kernel != nullptr) {
      finding.kernel_offset = finding.code_address - kernel->entry_address;
      const uint64_t entry = code->load_address + kernel->entry_address;
      if (site.first.written_by != 0) {
        const uint64_t writer = (key.pc & ~uint64_t{UINT32_MAX}) | site.first.written_by;
        finding.written_by = writer - entry;
      }
    }
  }
  finding.events = site.events;
  finding.lanes_total = site.lanes_total;
  finding.in_launches = site.launches;
  finding.launches = count_of(site.launches);
  finding.launch = site.first.place.launch;
  finding.event_sequence = site.event_sequence;
  finding.workgroup = site.first.place.workgroup;
  finding.wave = site.first.place.wave;
  finding.lanes = site.first.lanes;
  finding.exec = site.first.exec;
  finding.address = site.first.address;
  finding.access_bytes = site.first.access_bytes;
  finding.write = site.first.write;
  finding.address_class = site.first.address_class;
  finding.nearest = site.nearest;
  finding.detail = site.first.detail;
  if (site.first.other_pc != 0) finding.detail += " at " + place_text(code_, site.first.other_pc);
  finding.places = {
      {finding.code_address, finding.kernel_offset, finding.mnemonic, finding.events}};
  if (!site.owner.empty()) finding.detail = "lands in " + site.owner;
  return finding;
}

// Counts a finding's text. False: over the budget.
bool Findings::take_text(uint64_t size_bytes) {
  return budget_.take_memory(kCopies * size_bytes, "the report's text").has_value();
}

uint64_t Findings::text_bytes(const Sites::Key& key, const Site& site) {
  uint64_t size = sizeof(Finding) + site.first.detail.size() + site.owner.size();
  if (site.nearest) size += site.nearest->name.size();
  if (key.kernel == 0) return size;
  const std::string& name = trace_.kernels()[key.kernel - 1].name;
  uint64_t& readable = readable_bytes_[key.kernel];
  if (readable == 0) readable = 1 + demangle(name).size();
  return size + name.size() + readable;
}

bool Findings::finish(Report& report) {
  bool whole = true;
  // Kernels with the same name may come from several objects.
  std::map<std::tuple<std::string, uint64_t>, const codeobj::CodeObject*> objects;
  for (const auto& [key, site] : sites_.all()) {
    if (!take_text(text_bytes(key, site))) {
      whole = false;
      break;
    }
    const Finding& finding = report.findings.emplace_back(make_finding(key, site));
    if (const LoadedCode* const code = find_code(code_, key.pc))
      objects.try_emplace({finding.kernel, finding.code_address}, code->object.get());
  }
  group_by_line(report.findings);
  std::stable_sort(report.findings.begin(), report.findings.end(),
                   [](const Finding& a, const Finding& b) {
                     return std::tuple(-static_cast<int>(a.severity), a.launch, a.code_address) <
                            std::tuple(-static_cast<int>(b.severity), b.launch, b.code_address);
                   });
  const CallSites calls(trace_);
  CodeWindows windows;
  for (const Finding& finding : report.findings) {
    FindingPlace& place = report.places.emplace_back();
    const auto object = objects.find({finding.kernel, finding.code_address});
    if (object != objects.end()) {
      place.inline_stack = codeobj::inline_stack(*object->second, finding.code_address);
      if (!take_text(stack_bytes(place.inline_stack))) {
        place.inline_stack.clear();
        whole = false;
      }
      place.code = windows.around(*object->second, finding.code_address);
    }
    report.calls.push_back(
        {calls.of_event(finding.event_sequence),
         finding.nearest ? calls.of_allocation(finding.nearest->allocation) : std::string(),
         calls.site_of_event(finding.event_sequence),
         finding.nearest ? calls.site_of_allocation(finding.nearest->allocation) : 0});
  }
  return whole;
}

}  // namespace gfxgraph::check
