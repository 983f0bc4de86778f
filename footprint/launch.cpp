#include "footprint/launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <variant>

#include "codeobj/code_object.h"
#include "codeobj/relocate.h"

namespace gfxgraph::footprint {
namespace {

constexpr uint64_t kMostCodeBytes = uint64_t{1} << 32;
constexpr size_t kMostKernargBytes = 1 << 20;

// Which axis a name like "hidden_group_size_y" ends in.
std::optional<size_t> axis_of(std::string_view kind, std::string_view prefix) {
  if (kind.size() != prefix.size() + 1 || !kind.starts_with(prefix)) return std::nullopt;
  const char last = kind.back();
  if (last < 'x' || last > 'z') return std::nullopt;
  return static_cast<size_t>(last - 'x');
}

// Of hidden arguments that follow from the launch alone (AMDGPUUsage, "Code Object V5 Metadata").
std::optional<uint64_t> hidden_value(std::string_view kind, const format::Launch& launch) {
  if (const auto axis = axis_of(kind, "hidden_block_count_"))
    return launch.grid[*axis] - (launch.grid_remainder[*axis] != 0 ? 1 : 0);
  if (const auto axis = axis_of(kind, "hidden_group_size_")) return launch.block[*axis];
  if (const auto axis = axis_of(kind, "hidden_remainder_")) return launch.grid_remainder[*axis];
  if (axis_of(kind, "hidden_global_offset_") || kind == "hidden_none") return 0;
  return std::nullopt;
}

}  // namespace

struct Launches::Code {
  std::string error;  // not empty: it could not be read
  std::shared_ptr<const codeobj::CodeObject> object;
  std::vector<std::byte> memory;
  std::shared_ptr<const emulator::RegionTable> table;
  std::vector<KernelInput::Constant> constants;
};

struct Launches::Known {
  std::unordered_map<std::string, KernelFootprint> footprints;
};

Launches::Launches(const format::Trace& trace)
    : trace_(trace), codes_(trace.code_objects().size()), known_(std::make_unique<Known>()) {
  for (const format::Event& event : trace.events()) {
    const auto* const begin = std::get_if<format::AllocationBegin>(&event.action);
    if (begin == nullptr || begin->id > (1u << 28)) continue;
    if (sizes_.size() <= begin->id) sizes_.resize(begin->id + 1);
    sizes_[begin->id] = std::max(begin->size_bytes, begin->mapped_bytes);
  }
}

Launches::~Launches() = default;

Result<std::unique_ptr<Launches>> Launches::create(const format::Trace& trace) {
  return std::unique_ptr<Launches>(new Launches(trace));
}

Launches::Code& Launches::code(format::CodeObjectId id) {
  std::unique_ptr<Code>& slot = codes_[id - 1];
  if (slot != nullptr) return *slot;
  slot = std::make_unique<Code>();
  Code& code = *slot;
  const auto read = [&]() -> Result<void> {
    GFXGRAPH_ASSIGN_OR_RETURN(const std::span<const std::byte> elf,
                              trace_.blob(trace_.code_objects()[id - 1].elf));
    GFXGRAPH_ASSIGN_OR_RETURN(code.object, codeobj::CodeObject::parse(elf));
    if (code.object->gpu_arch() != "gfx1030" && code.object->gpu_arch() != "gfx10-3-generic")
      return fail(Status::kUnsupported,
                  fmt::format("its code is for {}, not for gfx1030", code.object->gpu_arch()));
    if (code.object->segments().empty() || code.object->load_size_bytes() > kMostCodeBytes)
      return fail(Status::kCorrupt, "its code object has no segments, or too large ones");
    code.memory.resize(code.object->load_size_bytes());
    const codeobj::SymbolResolver nowhere = [](const std::string&) { return uint64_t{0}; };
    GFXGRAPH_TRY(codeobj::load_segments(*code.object, code.memory, 0, nowhere));
    const uint64_t first = code.object->segments().front().address;
    emulator::MemoryMap map;
    emulator::Region region;
    region.address = first;
    region.requested_bytes = region.mapped_bytes = code.memory.size();
    region.host = code.memory.data();
    region.kind = emulator::RegionKind::kCode;
    GFXGRAPH_TRY(map.add(region));
    code.table = map.snapshot();
    for (const codeobj::Segment& segment : code.object->segments()) {
      const uint64_t end = segment.address + segment.memory_bytes;
      const bool written = std::ranges::any_of(
          code.object->relocations(), [&](const codeobj::DynamicRelocation& one) {
            return one.address + 8 > segment.address && one.address < end;
          });
      if (!segment.writable && !written) code.constants.push_back({segment.address, end});
    }
    return {};
  };
  if (const Result<void> done = read(); !done) code.error = done.error().message;
  return code;
}

const KernelFootprint& Launches::analyse(const format::Launch& launch, const format::Kernel& kernel,
                                         const std::vector<uint32_t>& pointers,
                                         std::span<const OpenArgument> open) {
  // Everything that the analysis sees: not where the pointers lead.
  std::string key;
  const auto add = [&key](const auto& value) {
    key.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  add(launch.kernel);
  add(launch.grid);
  add(launch.grid_remainder);
  add(launch.block);
  const size_t at = key.size();
  key.append(reinterpret_cast<const char*>(launch.kernarg.data()), launch.kernarg.size());
  for (const uint32_t offset : pointers) {
    if (offset + 8 <= launch.kernarg.size()) std::memset(key.data() + at + offset, 0, 8);
    add(offset);
  }
  for (const OpenArgument& one : open) {
    if (uint64_t{one.offset_bytes} + one.size_bytes <= launch.kernarg.size())
      std::memset(key.data() + at + one.offset_bytes, 0, one.size_bytes);
    add(one.offset_bytes);
    add(one.size_bytes);
  }
  const auto [found, added] = known_->footprints.try_emplace(std::move(key));
  KernelFootprint& footprint = found->second;
  if (!added) return footprint;
  ++analysed_;
  Code& from = code(kernel.code_object);
  if (!from.error.empty()) {
    footprint.unknown = from.error;
    return footprint;
  }
  const codeobj::Kernel* const found_kernel = from.object->find_kernel(kernel.name);
  if (found_kernel == nullptr) {
    footprint.unknown = "its code object has no kernel of this name";
    return footprint;
  }
  const size_t size = std::max<size_t>(kernel.kernarg_size_bytes, launch.kernarg.size());
  if (size > kMostKernargBytes) {
    footprint.unknown = "it has too many arguments";
    return footprint;
  }
  std::vector<uint8_t> bytes(size), known(size);
  std::ranges::copy(launch.kernarg, bytes.begin());
  // Padding is zero in the trace, and may be anything when the kernel reads it.
  for (const format::Argument& argument : kernel.arguments) {
    const bool hidden = argument.kind == format::ArgumentKind::kHidden;
    const uint64_t end = uint64_t{argument.offset_bytes} + argument.size_bytes;
    if (end > size || (!hidden && end > launch.kernarg.size())) continue;
    if (hidden) {
      const std::optional<uint64_t> value = hidden_value(argument.value_kind, launch);
      if (!value || argument.size_bytes > 8) continue;
      std::memcpy(bytes.data() + argument.offset_bytes, &*value, argument.size_bytes);
    }
    std::memset(known.data() + argument.offset_bytes, 1, argument.size_bytes);
  }
  for (const OpenArgument& one : open) {
    const uint64_t end = std::min<uint64_t>(uint64_t{one.offset_bytes} + one.size_bytes, size);
    for (uint64_t byte = one.offset_bytes; byte < end; ++byte) known[byte] = 0;
  }
  KernelInput input;
  input.memory = from.table.get();
  input.entry = found_kernel->entry_address;
  input.descriptor = &found_kernel->descriptor;
  input.kernarg = bytes;
  input.known = known;
  input.pointers = pointers;
  input.constants = from.constants;
  for (size_t axis = 0; axis < 3; ++axis) {
    const uint64_t items = uint64_t{launch.grid[axis]} * launch.block[axis];
    const uint64_t rest = launch.grid_remainder[axis];
    const uint64_t all = rest == 0 ? items : items - launch.block[axis] + rest;
    if (all > UINT32_MAX) {
      footprint.unknown = "its grid has too many work items";
      return footprint;
    }
    input.grid[axis] = static_cast<uint32_t>(all);
    input.block[axis] = launch.block[axis];
  }
  footprint = kernel_footprint(input);
  return footprint;
}

const LaunchFootprint& Launches::of(const format::Launch& launch,
                                    std::span<const OpenArgument> open) {
  ++asked_;
  result_ = {};
  if (launch.kernel == 0 || launch.kernel > trace_.kernels().size()) {
    result_.unknown = "its kernel is not in the trace";
    return result_;
  }
  const format::Kernel& kernel = trace_.kernels()[launch.kernel - 1];
  if (kernel.code_object == 0 || kernel.code_object > codes_.size()) {
    result_.unknown = "its code object is not in the trace";
    return result_;
  }
  std::vector<const format::Relocation*> words;
  for (const format::Relocation& word : launch.relocations) {
    if (word.outside) {
      result_.unknown = "an argument points outside of its buffer";
      return result_;
    }
    words.push_back(&word);
  }
  std::ranges::sort(words, {}, &format::Relocation::offset_bytes);
  std::vector<uint32_t> pointers;
  for (const format::Relocation* const word : words)
    pointers.push_back(static_cast<uint32_t>(word->offset_bytes));
  const KernelFootprint& footprint = analyse(launch, kernel, pointers, open);
  if (!footprint.unknown.empty()) {
    result_.unknown = footprint.unknown_pc == 0
                          ? footprint.unknown
                          : fmt::format("at {:#x}: {}", footprint.unknown_pc, footprint.unknown);
    return result_;
  }
  for (const PointerUse& use : footprint.uses) {
    const format::Relocation& word = *words[use.pointer];
    const uint64_t size = word.allocation < sizes_.size() ? sizes_[word.allocation] : 0;
    for (const Span& span : use.spans) {
      Bytes bytes{.allocation = word.allocation, .kind = use.kind, .width = span.width};
      bytes.end = size;
      bytes.whole = span.anywhere() || word.addend <= -kMost64 || word.addend >= kMost64;
      if (!bytes.whole) {
        // Beyond the buffer's ends is no access.
        const int64_t first = word.addend + span.starts.low;
        const int64_t last = word.addend + span.starts.high + span.width;
        if (last <= 0 || first >= static_cast<int64_t>(size)) continue;
        const auto step = static_cast<int64_t>(span.starts.step);
        int64_t begin = first;
        if (begin < 0) begin += (-begin) / step * step;  // the last start at or before 0
        bytes.begin = static_cast<uint64_t>(std::max<int64_t>(begin, 0));
        bytes.end = std::min(size, static_cast<uint64_t>(last));
        if (begin >= 0 && step > span.width) bytes.step = span.starts.step;
      }
      if (bytes.begin < bytes.end) result_.bytes.push_back(bytes);
    }
  }
  std::ranges::stable_sort(result_.bytes, {}, &Bytes::allocation);
  return result_;
}

bool conflict(const Bytes& a, const Bytes& b) {
  if (a.allocation != b.allocation) return false;
  if (a.kind == AccessKind::kRead && b.kind == AccessKind::kRead) return false;
  if (a.end <= b.begin || b.end <= a.begin) return false;
  if (a.step == 0 || b.step == 0) return true;
  // Starts that differ by a + n * step: do any two come closer than the widths?
  const uint64_t step = std::gcd(a.step, b.step);
  const uint64_t apart =
      a.begin > b.begin ? (a.begin - b.begin) % step : (step - (b.begin - a.begin) % step) % step;
  // b's start + apart is a's start, modulo step.
  return apart < b.width || step - apart < a.width;
}

}  // namespace gfxgraph::footprint
