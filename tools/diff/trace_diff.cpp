#include "tools/diff/trace_diff.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>

#include "codeobj/code_object.h"
#include "format/walk.h"
#include "tools/diff/align.h"
#include "tools/trace/trace_buffers.h"

namespace gfxgraph::tools {
namespace {

constexpr size_t kMostOfOne = 8;  // differences that are named of one launch

// The properties of a kernel that are compared with those of kernels of the same name.
struct Code {
  uint64_t hash = 0;   // of its instructions; where their end is unknown, of its code object
  uint64_t bytes = 0;  // of its instructions; 0: unknown
  const format::Kernel* kernel = nullptr;
  uint32_t vgprs = 0, sgprs = 0;
};

std::string version_text(int32_t version) {
  return fmt::format("{}.{}.{}", version / 10'000'000, version / 100'000 % 100, version % 100'000);
}

template <typename T>
std::string changed(const char* what, const T& before, const T& after, const char* unit = "") {
  return fmt::format("{} {} -> {}{}", what, before, after, unit);
}

std::string shape_text(const std::array<uint32_t, 3>& shape) {
  return fmt::format("{}x{}x{}", shape[0], shape[1], shape[2]);
}

// ---- one trace --------------------------------------------------------------------------------

class Side {
 public:
  explicit Side(const format::Trace& trace) : trace_(trace) {}

  Result<void> read() {
    GFXGRAPH_TRY(read_code());
    for (const format::Event& event : trace_.events()) {
      format::for_each_launch(
          trace_, event, [&](const format::PlacedLaunch& one) { launches_.push_back(one.launch); });
      if (const auto* end = std::get_if<format::AllocationEnd>(&event.action)) {
        last_[end->id] = &end->post;
      }
    }
    // Names are those of one life each: of several with one name, the n-th of both correspond.
    std::map<std::string, uint32_t> seen;
    for (const BufferSummary& buffer : summarize_buffers(trace_)) {
      if (buffer.name.empty()) continue;
      const uint32_t earlier = seen[buffer.name]++;
      const std::string name =
          earlier == 0 ? buffer.name : fmt::format("{} ({})", buffer.name, earlier + 1);
      names_[buffer.begin->id] = name;
      buffers_[name] = buffer.begin->id;
    }
    return {};
  }

  const format::Trace& trace() const { return trace_; }
  const std::vector<const format::Launch*>& launches() const { return launches_; }
  const format::Kernel& kernel(const format::Launch& launch) const {
    return trace_.kernels()[launch.kernel - 1];
  }
  const std::map<std::string, std::vector<Code>>& code() const { return code_; }
  const std::map<std::string, format::AllocationId>& buffers() const { return buffers_; }
  const format::Content* last(format::AllocationId id) const {
    const auto found = last_.find(id);
    return found == last_.end() ? nullptr : found->second;
  }
  std::string buffer_name(format::AllocationId id) const {
    const auto found = names_.find(id);
    return found == names_.end() ? fmt::format("#{}", id) : found->second;
  }

 private:
  Result<void> read_code() {
    std::map<format::CodeObjectId, std::shared_ptr<const codeobj::CodeObject>> objects;
    for (const format::Kernel& kernel : trace_.kernels()) {
      std::shared_ptr<const codeobj::CodeObject>& object = objects[kernel.code_object];
      if (!object) {
        const format::CodeObject& stored = trace_.code_objects()[kernel.code_object - 1];
        GFXGRAPH_ASSIGN_OR_RETURN(const std::span<const std::byte> elf, trace_.blob(stored.elf));
        GFXGRAPH_ASSIGN_OR_RETURN(object, codeobj::CodeObject::parse(elf));
      }
      Code code;
      code.kernel = &kernel;
      code.hash = trace_.code_objects()[kernel.code_object - 1].elf.low;
      if (const codeobj::Kernel* found = object->find_kernel(kernel.name)) {
        code.vgprs = found->vgpr_count;
        code.sgprs = found->sgpr_count;
        if (const auto bytes = code_bytes(*object, *found)) {
          code.hash = XXH3_64bits(bytes->data(), bytes->size());
          code.bytes = bytes->size();
        }
      }
      code_[kernel.name].push_back(code);
    }
    for (auto& [name, codes] : code_) std::ranges::sort(codes, {}, &Code::hash);
    return {};
  }

  static std::optional<std::span<const std::byte>> code_bytes(const codeobj::CodeObject& object,
                                                              const codeobj::Kernel& kernel) {
    if (kernel.code_bytes == 0) return std::nullopt;
    for (const codeobj::Segment& segment : object.segments()) {
      if (kernel.entry_address < segment.address) continue;
      const uint64_t offset = kernel.entry_address - segment.address;
      if (offset > segment.file_bytes || kernel.code_bytes > segment.file_bytes - offset) continue;
      return object.bytes().subspan(segment.file_offset + offset, kernel.code_bytes);
    }
    return std::nullopt;
  }

  const format::Trace& trace_;
  std::map<std::string, std::vector<Code>> code_;  // by name
  std::vector<const format::Launch*> launches_;
  std::unordered_map<format::AllocationId, const format::Content*> last_;
  std::unordered_map<format::AllocationId, std::string> names_;
  std::map<std::string, format::AllocationId> buffers_;
};

// ---- both -------------------------------------------------------------------------------------

class Differ {
 public:
  Differ(const Side& first, const Side& second) : first_(first), second_(second) {}

  TraceDiff run() {
    environment();
    kernels();
    launches();
    buffers();
    return std::move(diff_);
  }

 private:
  void environment() {
    const format::Environment& a = first_.trace().environment();
    const format::Environment& b = second_.trace().environment();
    const auto note = [&](const char* what, const std::string& before, const std::string& after) {
      if (before != after) diff_.environment.push_back(changed(what, before, after));
    };
    note("device", a.gpu_arch, b.gpu_arch);
    note("HIP runtime", version_text(a.hip_runtime_version), version_text(b.hip_runtime_version));
    note("gfxgraph", a.gfxgraph_version, b.gfxgraph_version);
  }

  void kernels() {
    for (const auto& [name, codes] : first_.code()) {
      const auto other = second_.code().find(name);
      if (other == second_.code().end()) {
        diff_.kernels_gone.push_back(name);
      } else if (std::vector<std::string> what = compare(codes, other->second); !what.empty()) {
        diff_.kernels_changed.push_back({name, std::move(what)});
      }
    }
    for (const auto& [name, codes] : second_.code()) {
      if (!first_.code().contains(name)) diff_.kernels_added.push_back(name);
    }
  }

  static std::vector<std::string> compare(const std::vector<Code>& first,
                                          const std::vector<Code>& second) {
    std::vector<std::string> what;
    if (first.size() != second.size()) {
      what.push_back(changed("code objects with it", first.size(), second.size()));
    } else if (!std::ranges::equal(first, second, {}, &Code::hash, &Code::hash)) {
      const uint64_t before = first.front().bytes, after = second.front().bytes;
      what.push_back(first.size() != 1 || before == 0 || after == 0 ? "code"
                     : before != after ? changed("code", before, after, " bytes")
                                       : fmt::format("code ({} bytes in both)", before));
    }
    const Code& a = first.front();
    const Code& b = second.front();
    if (a.vgprs != b.vgprs) what.push_back(changed("VGPRs", a.vgprs, b.vgprs));
    if (a.sgprs != b.sgprs) what.push_back(changed("SGPRs", a.sgprs, b.sgprs));
    const auto bytes = [&](const char* name, uint32_t before, uint32_t after) {
      if (before != after) what.push_back(changed(name, before, after, " bytes"));
    };
    bytes("LDS", a.kernel->group_segment_bytes, b.kernel->group_segment_bytes);
    bytes("scratch", a.kernel->private_segment_bytes, b.kernel->private_segment_bytes);
    const auto same = [](const format::Argument& x, const format::Argument& y) {
      return x.name == y.name && x.value_kind == y.value_kind && x.offset_bytes == y.offset_bytes &&
             x.size_bytes == y.size_bytes;
    };
    if (!std::ranges::equal(a.kernel->arguments, b.kernel->arguments, same))
      what.emplace_back("arguments");
    return what;
  }

  void launches() {
    std::unordered_map<std::string, uint32_t> numbers;
    const auto sequence = [&](const Side& side) {
      std::vector<uint32_t> result;
      result.reserve(side.launches().size());
      for (const format::Launch* launch : side.launches()) {
        const auto next = static_cast<uint32_t>(numbers.size());
        result.push_back(numbers.emplace(side.kernel(*launch).name, next).first->second);
      }
      return result;
    };
    const std::vector<uint32_t> a = sequence(first_);
    const std::vector<uint32_t> b = sequence(second_);
    diff_.launches[0] = a.size();
    diff_.launches[1] = b.size();
    const Alignment aligned = align(a, b);
    diff_.aligned = aligned.pairs.size();
    diff_.alignment_given_up = aligned.given_up;
    size_t x = 0;
    size_t y = 0;
    const auto up_to = [&](size_t next_x, size_t next_y) {
      if (next_x != x) {
        diff_.launches_gone.push_back({x, next_x - x, first_.kernel(*first_.launches()[x]).name});
      }
      if (next_y != y) {
        diff_.launches_added.push_back(
            {y, next_y - y, second_.kernel(*second_.launches()[y]).name});
      }
    };
    for (const auto& [next_x, next_y] : aligned.pairs) {
      up_to(next_x, next_y);
      compare_launches(next_x, next_y);
      x = next_x + 1;
      y = next_y + 1;
    }
    up_to(a.size(), b.size());
  }

  void compare_launches(size_t x, size_t y) {
    const format::Launch& a = *first_.launches()[x];
    const format::Launch& b = *second_.launches()[y];
    std::vector<std::string> what;
    if (a.grid != b.grid) what.push_back(changed("grid", shape_text(a.grid), shape_text(b.grid)));
    if (a.grid_remainder != b.grid_remainder) {
      what.push_back(changed("work items of partial workgroups", shape_text(a.grid_remainder),
                             shape_text(b.grid_remainder)));
    }
    if (a.block != b.block)
      what.push_back(changed("block", shape_text(a.block), shape_text(b.block)));
    if (a.dynamic_lds_bytes != b.dynamic_lds_bytes)
      what.push_back(changed("dynamic LDS", a.dynamic_lds_bytes, b.dynamic_lds_bytes, " bytes"));
    if (a.cooperative != b.cooperative) what.emplace_back("cooperative");
    compare_arguments(a, b, what);
    if (what.empty()) return;
    ++diff_.launches_changed_count;
    if (diff_.launches_changed.size() < TraceDiff::kMostChanges)
      diff_.launches_changed.push_back({x, y, first_.kernel(a).name, std::move(what)});
  }

  // Pointers by the names of their buffers, all else by its bytes.
  void compare_arguments(const format::Launch& a, const format::Launch& b,
                         std::vector<std::string>& what) const {
    if (a.kernarg.size() != b.kernarg.size()) {
      what.push_back(changed("argument bytes", a.kernarg.size(), b.kernarg.size()));
      return;
    }
    std::map<uint64_t, std::array<const format::Relocation*, 2>> words;
    for (const format::Relocation& word : a.relocations) words[word.offset_bytes][0] = &word;
    for (const format::Relocation& word : b.relocations) words[word.offset_bytes][1] = &word;
    const format::Kernel& kernel = first_.kernel(a);
    for (uint64_t at = 0; at < a.kernarg.size();) {
      const auto word = words.find(at);
      if (word != words.end()) {
        const std::string before = target(first_, word->second[0], a, at);
        const std::string after = target(second_, word->second[1], b, at);
        if (before != after) add(what, argument_text(kernel, at), before, after);
        at += sizeof(uint64_t);
        continue;
      }
      const format::Argument* const argument = argument_at(kernel, at);
      uint64_t end = at + 1;
      if (argument != nullptr) end = uint64_t{argument->offset_bytes} + argument->size_bytes;
      end = std::min<uint64_t>(end, a.kernarg.size());
      const auto next = words.lower_bound(at);
      if (next != words.end()) end = std::min(end, next->first);
      if (std::memcmp(&a.kernarg[at], &b.kernarg[at], end - at) != 0) {
        add(what, argument_text(kernel, at), value(a, at, end), value(b, at, end));
      }
      at = end;
    }
  }
  static void add(std::vector<std::string>& what, const std::string& place,
                  const std::string& before, const std::string& after) {
    if (what.size() < kMostOfOne) what.push_back(place + ": " + before + " -> " + after);
    if (what.size() == kMostOfOne) what.back() += ", and more";
  }

  static const format::Argument* argument_at(const format::Kernel& kernel, uint64_t offset) {
    for (const format::Argument& argument : kernel.arguments) {
      if (argument.kind == format::ArgumentKind::kHidden) continue;
      if (offset >= argument.offset_bytes &&
          offset < uint64_t{argument.offset_bytes} + argument.size_bytes) {
        return &argument;
      }
    }
    return nullptr;
  }
  static std::string argument_text(const format::Kernel& kernel, uint64_t offset) {
    const format::Argument* const argument = argument_at(kernel, offset);
    if (argument == nullptr) return fmt::format("argument bytes at {:#x}", offset);
    const uint64_t inside = offset - argument->offset_bytes;
    const std::string name =
        argument->name.empty() ? fmt::format("at {:#x}", argument->offset_bytes) : argument->name;
    return inside == 0 ? "argument " + name : fmt::format("argument {} + {}", name, inside);
  }
  static std::string target(const Side& side, const format::Relocation* word,
                            const format::Launch& launch, uint64_t at) {
    if (word == nullptr)
      return value(launch, at, std::min<uint64_t>(at + sizeof(uint64_t), launch.kernarg.size()));
    const std::string name = side.buffer_name(word->allocation);
    return word->addend == 0 ? name : fmt::format("{} {:+}", name, word->addend);
  }
  static std::string value(const format::Launch& launch, uint64_t begin, uint64_t end) {
    uint64_t number = 0;
    if (end - begin > sizeof(number)) return fmt::format("{} bytes", end - begin);
    std::memcpy(&number, &launch.kernarg[begin], end - begin);
    return fmt::format("{:#x}", number);
  }

  void buffers() {
    for (const auto& [name, id] : first_.buffers()) {
      const auto other = second_.buffers().find(name);
      if (other == second_.buffers().end()) {
        diff_.buffers_gone.push_back(name);
        continue;
      }
      const format::Content* const a = first_.last(id);
      const format::Content* const b = second_.last(other->second);
      if (a == nullptr || b == nullptr) continue;
      if (a->size_bytes != b->size_bytes) {
        diff_.buffers_changed.push_back(
            {name, changed("size", a->size_bytes, b->size_bytes, " bytes")});
        continue;
      }
      const bool known = (a->hash || a->stored) && (b->hash || b->stored);
      if (!known) continue;
      ++diff_.buffers_compared;
      // Addresses differ between recordings.
      if (!a->relocations.empty() || !b->relocations.empty()) {
        if (!same_with_pointers(*a, *b)) diff_.buffers_changed.push_back({name, "final contents"});
      } else if (a->hash != b->hash) {
        diff_.buffers_changed.push_back({name, "final contents"});
      }
    }
    for (const auto& [name, id] : second_.buffers()) {
      if (!first_.buffers().contains(name)) diff_.buffers_added.push_back(name);
    }
  }

  bool same_with_pointers(const format::Content& a, const format::Content& b) const {
    if (a.relocations.size() != b.relocations.size() || !a.stored || !b.stored) return false;
    for (size_t i = 0; i < a.relocations.size(); ++i) {
      const format::Relocation& x = a.relocations[i];
      const format::Relocation& y = b.relocations[i];
      if (x.offset_bytes != y.offset_bytes || x.addend != y.addend ||
          first_.buffer_name(x.allocation) != second_.buffer_name(y.allocation)) {
        return false;
      }
    }
    Result<std::vector<std::byte>> first = first_.trace().content(a);
    Result<std::vector<std::byte>> second = second_.trace().content(b);
    if (!first || !second || first->size() != second->size()) return false;
    for (const format::Relocation& word : a.relocations) {
      for (uint64_t i = word.offset_bytes; i < word.offset_bytes + 8 && i < first->size(); ++i)
        (*first)[i] = (*second)[i];
    }
    return *first == *second;
  }

  const Side& first_;
  const Side& second_;
  TraceDiff diff_;
};

}  // namespace

Result<TraceDiff> diff_traces(const format::Trace& first, const format::Trace& second) {
  Side a(first);
  Side b(second);
  GFXGRAPH_TRY(a.read());
  GFXGRAPH_TRY(b.read());
  return Differ(a, b).run();
}

}  // namespace gfxgraph::tools
