#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <utility>

#include "format/check/check.h"
#include "format/write/writer.h"
#include "tests/fuzz/hostile_fields.h"
#include "tests/fuzz/hostile_trace.h"

namespace gfxgraph::fuzz {
namespace {

using namespace format;

constexpr std::array<uint64_t, 26> kNumbers = {0,
                                               1,
                                               2,
                                               3,
                                               4,
                                               7,
                                               8,
                                               9,
                                               31,
                                               63,
                                               64,
                                               255,
                                               4095,
                                               4096,
                                               0xffff,
                                               0x10000,
                                               0x7fffffff,
                                               0x80000000,
                                               0xffffffff,
                                               0x100000000,
                                               uint64_t{3} << 30,
                                               uint64_t{1} << 40,
                                               0x7f0000000000,
                                               uint64_t{1} << 63,
                                               UINT64_MAX - 7,
                                               UINT64_MAX};
constexpr std::array<const char*, 14> kNames = {
    "",
    "x",
    "\x1b[2J\x1b]0;owned\x07",
    "a\nerror: b",
    "\xff\xfe",
    "\u202egnp",
    "_Z5saxpyPf",
    "_Z1f1AIiiES_IS0_S0_ES_IS1_S1_ES_IS2_S2_ES_IS3_S3_ES_IS4_S4_E",
    "vadd",
    "by_value",
    "hidden_block_count_x",
    "hidden_hostcall_buffer",
    "../../etc/passwd",
    "%n%s{}{0}"};

class Mutator {
 public:
  Mutator(std::vector<Part>& parts, Script& script) : parts_(parts), script_(script) {
    for (Part& part : parts_) {
      each_field(part, [&](auto& field) {
        using Field = std::decay_t<decltype(field)>;
        if constexpr (std::is_integral_v<Field> && sizeof(Field) >= 4)
          seen_.push_back(static_cast<uint64_t>(field));
      });
    }
  }

  void run() {
    const uint64_t count = 1 + script_.below(8);
    for (uint64_t n = 0; n < count && !parts_.empty(); ++n) one();
  }

 private:
  template <typename Visit>
  static void each_field(Part& part, const Visit& visit) {
    std::visit(
        [&](auto& item) {
          if constexpr (!std::is_same_v<std::decay_t<decltype(item)>, Blob>)
            for_each_field(item, visit);
        },
        part);
  }

  size_t any_part() { return script_.below(parts_.size()); }

  void one() {
    switch (script_.below(12)) {
      case 0: return duplicate();
      case 1: parts_.erase(parts_.begin() + static_cast<ptrdiff_t>(any_part())); return;
      case 2: std::swap(parts_[any_part()], parts_[any_part()]); return;
      case 3: return move();
      case 4: return change_blob();
      case 5: return change_structure();
      default: return change_field();
    }
  }

  void duplicate() {
    const Part copy = parts_[any_part()];
    const size_t to = any_part();
    const size_t times = script_.one_in(8) ? 1 + script_.below(100) : 1;
    if (parts_.size() < 2000)
      parts_.insert(parts_.begin() + static_cast<ptrdiff_t>(to), times, copy);
  }

  void move() {
    const size_t from = any_part();
    const Part part = parts_[from];
    parts_.erase(parts_.begin() + static_cast<ptrdiff_t>(from));
    parts_.insert(parts_.begin() + static_cast<ptrdiff_t>(script_.below(parts_.size() + 1)), part);
  }

  template <typename Bytes>
  void change_bytes(Bytes& bytes) {
    using Byte = typename Bytes::value_type;
    if (bytes.empty() || script_.one_in(8)) {
      bytes.resize(script_.below(2 * bytes.size() + 64));
      return;
    }
    const size_t at = script_.below(bytes.size());
    if (script_.one_in(2)) {
      bytes[at] = static_cast<Byte>(script_.next());
      return;
    }
    const uint64_t value = number(0);
    for (size_t n = 0; n < 8 && at + n < bytes.size(); ++n)
      bytes[at + n] = static_cast<Byte>(value >> (8 * n));
  }

  void change_blob() {
    std::vector<Blob*> blobs;
    for (Part& part : parts_) {
      if (auto* blob = std::get_if<Blob>(&part)) blobs.push_back(blob);
    }
    if (blobs.empty()) return;
    Blob& blob = *blobs[script_.below(blobs.size())];
    const uint64_t times = 1 + script_.below(4);
    for (uint64_t n = 0; n < times; ++n) change_bytes(blob.bytes);
  }

  void change_structure() {
    Part& part = parts_[any_part()];
    if (auto* graph = std::get_if<Graph>(&part); graph != nullptr && !graph->nodes.empty()) {
      GraphNode node = graph->nodes[script_.below(graph->nodes.size())];
      node.dependencies.assign(1, static_cast<uint32_t>(script_.below(graph->nodes.size())));
      const size_t times = 1 + script_.below(script_.one_in(4) ? 500 : 2);
      graph->nodes.insert(graph->nodes.end(), times, node);
    } else if (auto* kernel = std::get_if<Kernel>(&part);
               kernel != nullptr && !kernel->arguments.empty()) {
      const Argument argument = kernel->arguments[script_.below(kernel->arguments.size())];
      kernel->arguments.insert(kernel->arguments.end(), 1 + script_.below(20), argument);
    } else if (auto* event = std::get_if<Event>(&part)) {
      // Another action in its place.
      if (const auto* other = std::get_if<Event>(&parts_[any_part()])) {
        const Action action = other->action;
        event->action = action;
      }
    }
  }

  uint64_t number(uint64_t old) {
    switch (script_.below(5)) {
      case 0: return old + 1;
      case 1: return old - 1;
      case 2: return kNumbers[script_.below(kNumbers.size())];
      case 3: return seen_.empty() ? 0 : seen_[script_.below(seen_.size())];
      default: return seen_.empty() ? old : seen_[script_.below(seen_.size())] + script_.below(64);
    }
  }

  void change(std::string& text) {
    if (script_.one_in(4)) {
      change_bytes(text);
    } else {
      text = kNames[script_.below(kNames.size())];
    }
    if (script_.one_in(16)) text = std::string(script_.below(5000), 'P');
  }
  void change(std::vector<uint8_t>& kernarg) { change_bytes(kernarg); }
  void change(std::vector<uint32_t>& dependencies) {
    dependencies.push_back(static_cast<uint32_t>(number(dependencies.size())));
  }
  void change(std::vector<Relocation>& relocations) {
    if (!relocations.empty() && script_.one_in(3)) {
      relocations.pop_back();
      return;
    }
    Relocation& added = relocations.emplace_back();
    added.offset_bytes = number(0);
    added.allocation = static_cast<AllocationId>(number(1));
    added.addend = static_cast<int64_t>(number(0));
    added.source = RelocationSource{static_cast<uint8_t>(script_.below(3))};
    added.ambiguous = script_.one_in(2);
    added.outside = script_.one_in(4);
  }
  template <typename Number>
  void change(Number& value) {
    if constexpr (std::is_same_v<Number, bool>) {
      value = !value;
    } else if constexpr (std::is_enum_v<Number>) {
      value = static_cast<Number>(script_.below(9));
    } else {
      value = static_cast<Number>(number(static_cast<uint64_t>(value)));
    }
  }

  void change_field() {
    Part& part = parts_[any_part()];
    size_t count = 0;
    each_field(part, [&](auto&) { ++count; });
    size_t chosen = script_.below(count);
    each_field(part, [&](auto& field) {
      if (chosen-- == 0) change(field);
    });
  }

  std::vector<Part>& parts_;
  Script& script_;
  std::vector<uint64_t> seen_;
};

// ---- repair ----

class Repairer {
 public:
  explicit Repairer(std::vector<Part>& parts) : parts_(parts) {}

  void run() {
    for (const Part& part : parts_) {
      if (const auto* blob = std::get_if<Blob>(&part)) sizes_[blob->was] = blob->bytes.size();
    }
    remove_doubles();
    for (Part& part : parts_) std::visit([this](auto& item) { fix(item); }, part);
  }

 private:
  // Two blobs with the same bytes, a second environment.
  void remove_doubles() {
    std::map<BlobId, bool> seen;
    bool environment = false;
    std::erase_if(parts_, [&](const Part& part) {
      if (const auto* blob = std::get_if<Blob>(&part))
        return !seen.emplace(hash_bytes(blob->bytes), true).second;
      return std::holds_alternative<Environment>(part) && std::exchange(environment, true);
    });
  }

  void fix(Environment&) {}
  void fix(Blob&) {}
  void fix(CodeObject& item) { item.id = ++code_objects_; }
  void fix(Kernel& item) {
    item.id = ++kernels_;
    if (item.name.empty()) item.name.assign(1, 'k');
    item.explicit_size_bytes = std::min(item.explicit_size_bytes, item.kernarg_size_bytes);
    std::ranges::stable_sort(item.arguments, {}, &Argument::offset_bytes);
    explicit_bytes_.push_back(item.explicit_size_bytes);
  }
  void fix(Graph& item) {
    item.id = ++graphs_;
    for (size_t n = 0; n < item.nodes.size(); ++n) {
      auto& dependencies = item.nodes[n].dependencies;
      std::ranges::sort(dependencies);
      dependencies.erase(std::ranges::unique(dependencies).begin(), dependencies.end());
      std::erase_if(dependencies, [&](uint32_t dependency) { return dependency >= n; });
      std::visit([this](auto& action) { fix_action(action); }, item.nodes[n].action);
      for_each_content(item.nodes[n].action, [this](Content& content) { fix_content(content); });
    }
  }
  void fix(Finding& item) {
    if (item.call.empty()) item.call.assign(1, 'f');
    item.count = std::max<uint64_t>(item.count, 1);
  }
  void fix(Site& item) {
    item.id = ++sites_;
    if (item.module.empty()) item.module.assign(1, 'm');
  }
  void fix(Device&) {}
  void fix(Event& item) {
    item.site = std::min(item.site, sites_);
    std::visit([this](auto& action) { fix_action(action); }, item.action);
    for_each_content(item.action, [this](Content& content) { fix_content(content); });
    normalize(item);
  }

  template <typename Action>
  void fix_action(Action&) {}
  void fix_action(AllocationBegin& item) {
    item.id = ++allocations_;
    item.size_bytes = std::max<uint64_t>(item.size_bytes, 1);
    item.site = std::min(item.site, sites_);
    if (item.kind != AllocationKind::kArray) item.array = nullptr;
    if (!is_image_object(item.kind)) item.object = nullptr;
    if (item.kind != AllocationKind::kModuleGlobal) {
      item.code_object = 0;
      item.symbol.clear();
    }
  }
  void fix_action(Launch& item) {
    if (item.kernel == 0 || item.kernel > explicit_bytes_.size()) item.kernel = 1;
    if (explicit_bytes_.empty()) return;
    const uint32_t size = explicit_bytes_[item.kernel - 1];
    if (size < (1u << 20)) item.kernarg.resize(size);
    for (size_t axis = 0; axis < 3; ++axis) {
      item.grid[axis] = std::max(item.grid[axis], 1u);
      item.block[axis] = std::max(item.block[axis], 1u);
      if (item.grid_remainder[axis] >= item.block[axis]) item.grid_remainder[axis] = 0;
    }
    fix_relocations(item.relocations, item.kernarg.size());
  }
  void fix_action(Copy& item) {
    const uint64_t bytes = item.width_bytes * item.height * item.depth;
    const auto host = [&](const CopyEnd& end, Content& content, bool needed) {
      const uint64_t size = end.allocation == 0 ? bytes : 0;
      if (!needed && content.size_bytes == 0) return;
      if (content.size_bytes == size && size != 0) return;
      content.blob = {};
      content.size_bytes = size;
    };
    host(item.source, item.host_source, true);
    host(item.destination, item.host_result, false);
  }
  void fix_content(Content& content) {
    if (content.blob) {
      const auto found = sizes_.find(content.blob);
      if (found == sizes_.end() || found->second != content.size_bytes) content.blob = {};
    }
    if (!content.blob) content.hash = {};
    if (content.blob) content.stored = true;
    if (content.blob || !content.stored) content.fill = 0;
    content.unwritten = false;
    fix_relocations(content.relocations, content.size_bytes);
  }
  static void fix_relocations(std::vector<Relocation>& list, uint64_t size) {
    std::ranges::sort(list, {}, &Relocation::offset_bytes);
    uint64_t from = 0;
    std::erase_if(list, [&](const Relocation& one) {
      if (size < 8 || one.offset_bytes > size - 8 || one.offset_bytes < from) return true;
      from = one.offset_bytes + 8;
      return false;
    });
  }

  std::vector<Part>& parts_;
  std::map<BlobId, uint64_t> sizes_;
  std::vector<uint32_t> explicit_bytes_;
  uint32_t code_objects_ = 0, kernels_ = 0, graphs_ = 0, allocations_ = 0, sites_ = 0;
};

}  // namespace

void mutate(std::vector<Part>& parts, Script& script) { Mutator(parts, script).run(); }

void repair(std::vector<Part>& parts) { Repairer(parts).run(); }

}  // namespace gfxgraph::fuzz
