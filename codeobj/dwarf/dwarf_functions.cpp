#include <algorithm>
#include <functional>
#include <optional>
#include <unordered_map>

#include "codeobj/dwarf/dwarf_internal.h"

namespace gfxgraph::codeobj::internal {
namespace {

constexpr size_t kMaxAttributes = 256;  // per abbreviation
constexpr size_t kMaxRangesPerEntry = 1 << 16;
constexpr uint32_t kMaxDepth = 1 << 12;

// DW_TAG, DW_AT, DW_FORM and DW_RLE numbers: DWARF 5, section 7.
constexpr uint64_t kTagInlinedSubroutine = 0x1d, kTagSubprogram = 0x2e;
constexpr uint64_t kAtName = 0x03, kAtStmtList = 0x10, kAtLowPc = 0x11, kAtHighPc = 0x12,
                   kAtCompDir = 0x1b, kAtAbstractOrigin = 0x31, kAtSpecification = 0x47,
                   kAtRanges = 0x55, kAtLinkageName = 0x6e, kAtCallColumn = 0x57,
                   kAtCallFile = 0x58, kAtCallLine = 0x59, kAtStrOffsetsBase = 0x72,
                   kAtAddrBase = 0x73, kAtRnglistsBase = 0x74;

struct Attribute {
  uint64_t name = 0;
  uint64_t form = 0;
  int64_t implicit = 0;
};

struct Abbreviation {
  uint64_t tag = 0;
  bool children = false;
  std::vector<Attribute> attributes;
};

using Abbreviations = std::unordered_map<uint64_t, Abbreviation>;

Abbreviations read_abbreviations(ByteSpan section, uint64_t offset) {
  Abbreviations result;
  DwarfCursor cursor(section, offset);
  while (!cursor.at_end()) {
    const uint64_t code = cursor.uleb();
    if (code == 0) break;
    Abbreviation abbreviation;
    abbreviation.tag = cursor.uleb();
    abbreviation.children = cursor.u8() != 0;
    while (!cursor.failed()) {
      Attribute attribute;
      attribute.name = cursor.uleb();
      attribute.form = cursor.uleb();
      if (attribute.form == 0x21) attribute.implicit = cursor.sleb();  // implicit_const
      if (attribute.name == 0 && attribute.form == 0) break;
      if (abbreviation.attributes.size() == kMaxAttributes) return result;
      abbreviation.attributes.push_back(attribute);
    }
    result.emplace(code, std::move(abbreviation));
  }
  return result;
}

struct Unit {
  uint64_t offset = 0;  // offset of its header in .debug_info
  bool wide = false;
  uint16_t version = 0;
  uint8_t address_bytes = 8;
  uint64_t low_pc = 0;
  uint64_t str_offsets_base = 8;
  uint64_t addr_base = 8;
  uint64_t rnglists_base = 12;
  uint64_t line_table = ~uint64_t{0};  // there is none
};

struct Value {
  uint64_t number = 0;
  std::string_view text;
  enum class Kind {
    kNumber,
    kText,
    kTextIndex,
    kAddressIndex,
    kRangesIndex,
    kReference
  } kind = Kind::kNumber;
};

// Reads one attribute value; nothing if the form is unknown.
std::optional<Value> read_value(DwarfCursor& cursor, uint64_t form, int64_t implicit,
                                const Unit& unit, const DwarfSections& sections) {
  using Kind = Value::Kind;
  const auto number = [](uint64_t value, Kind kind = Kind::kNumber) {
    return Value{value, {}, kind};
  };
  const auto text = [](std::string_view value) { return Value{0, value, Kind::kText}; };
  const auto block = [&](uint64_t size) {
    cursor.skip(size);
    return Value{};
  };
  const auto local = [&](uint64_t value) { return number(unit.offset + value, Kind::kReference); };
  switch (form) {
    case 0x01: return number(cursor.number(unit.address_bytes));
    case 0x03: return block(cursor.u16());
    case 0x04: return block(cursor.number(4));
    case 0x05: return number(cursor.u16());
    case 0x06: return number(cursor.number(4));
    case 0x07: return number(cursor.number(8));
    case 0x08: return text(cursor.text());
    case 0x09:
    case 0x18: return block(cursor.uleb());
    case 0x0a: return block(cursor.u8());
    case 0x0b:
    case 0x0c: return number(cursor.u8());
    case 0x0d: return number(static_cast<uint64_t>(cursor.sleb()));
    case 0x0e: return text(dwarf_text(sections.str, cursor.sized(unit.wide)));
    case 0x0f: return number(cursor.uleb());
    case 0x10:
      return number(unit.version == 2 ? cursor.number(unit.address_bytes) : cursor.sized(unit.wide),
                    Kind::kReference);
    case 0x11: return local(cursor.u8());
    case 0x12: return local(cursor.u16());
    case 0x13: return local(cursor.number(4));
    case 0x14: return local(cursor.number(8));
    case 0x15: return local(cursor.uleb());
    case 0x17: return number(cursor.sized(unit.wide));
    case 0x19: return number(1);
    case 0x1a: return number(cursor.uleb(), Kind::kTextIndex);
    case 0x1b: return number(cursor.uleb(), Kind::kAddressIndex);
    case 0x1c: return block(4);
    case 0x1d: return block(unit.wide ? 8 : 4);
    case 0x1e: return block(16);
    case 0x1f: return text(dwarf_text(sections.line_str, cursor.sized(unit.wide)));
    case 0x20:
    case 0x24: return block(8);
    case 0x21: return number(static_cast<uint64_t>(implicit));
    case 0x22: return number(cursor.uleb());
    case 0x23: return number(cursor.uleb(), Kind::kRangesIndex);
    case 0x25:
    case 0x26:
    case 0x27:
    case 0x28: return number(cursor.number(static_cast<unsigned>(form - 0x24)), Kind::kTextIndex);
    case 0x29:
    case 0x2a:
    case 0x2b:
    case 0x2c:
      return number(cursor.number(static_cast<unsigned>(form - 0x28)), Kind::kAddressIndex);
    default: return std::nullopt;  // compilers for this target emit no indirect forms
  }
}

class FunctionReader {
 public:
  FunctionReader(const DwarfSections& sections, DwarfFunctions& functions)
      : sections_(sections), functions_(functions) {}

  void run() {
    DwarfCursor section(sections_.info);
    while (!section.at_end()) {
      unit_ = {};
      unit_.offset = section.offset();
      DwarfCursor cursor = section.unit(unit_.wide);
      if (section.failed()) break;
      read_unit(cursor);
    }
    resolve_names();
  }

 private:
  struct Entry {
    uint64_t offset = 0;
    Value low, high, ranges, name, linkage_name;
    bool has_low = false, has_high = false, has_ranges = false, high_is_address = false;
    uint64_t origin = 0;
    DwarfCall call;
  };

  void read_unit(DwarfCursor& cursor) {
    unit_.version = cursor.u16();
    if (unit_.version < 2 || unit_.version > 5) return;
    uint64_t abbreviations_at = 0;
    if (unit_.version == 5) {
      const uint8_t type = cursor.u8();
      unit_.address_bytes = cursor.u8();
      abbreviations_at = cursor.sized(unit_.wide);
      if (type != 1 && type != 3) return;  // only compile and partial units contain functions
    } else {
      abbreviations_at = cursor.sized(unit_.wide);
      unit_.address_bytes = cursor.u8();
    }
    if (cursor.failed() || unit_.address_bytes != 8) return;
    const auto [found, added] = abbreviations_.try_emplace(abbreviations_at);
    if (added) found->second = read_abbreviations(sections_.abbrev, abbreviations_at);
    read_entries(cursor, found->second);
  }

  void read_entries(DwarfCursor& cursor, const Abbreviations& abbreviations) {
    uint32_t depth = 0;
    bool first = true;
    while (!cursor.at_end()) {
      const uint64_t offset = cursor.offset();
      const uint64_t code = cursor.uleb();
      if (code == 0) {
        if (depth-- <= 1) return;
        continue;
      }
      const auto abbreviation = abbreviations.find(code);
      if (abbreviation == abbreviations.end()) return;
      Entry entry;
      entry.offset = offset;
      if (!read_attributes(cursor, abbreviation->second, first, entry)) return;
      const uint64_t tag = abbreviation->second.tag;
      if (first && entry.has_low) unit_.low_pc = address(entry.low);
      if (tag == kTagSubprogram || tag == kTagInlinedSubroutine) add_function(entry, depth);
      if (tag == kTagInlinedSubroutine) {
        entry.call.line_table = unit_.line_table;
        functions_.calls[entry.offset] = entry.call;
      }
      first = false;
      if (abbreviation->second.children && ++depth > kMaxDepth) return;
      if (depth == 0) return;
    }
  }

  bool read_attributes(DwarfCursor& cursor, const Abbreviation& abbreviation, bool root,
                       Entry& entry) {
    for (const Attribute& attribute : abbreviation.attributes) {
      const std::optional<Value> value =
          read_value(cursor, attribute.form, attribute.implicit, unit_, sections_);
      if (!value || cursor.failed()) return false;
      if (root) take_unit_attribute(attribute.name, *value);
      switch (attribute.name) {
        case kAtName: entry.name = *value; break;
        case kAtLinkageName: entry.linkage_name = *value; break;
        case kAtLowPc:
          entry.low = *value;
          entry.has_low = true;
          break;
        case kAtHighPc:
          entry.high = *value;
          entry.has_high = true;
          entry.high_is_address =
              attribute.form == 0x01 || value->kind == Value::Kind::kAddressIndex;
          break;
        case kAtRanges:
          entry.ranges = *value;
          entry.has_ranges = true;
          break;
        case kAtAbstractOrigin:
        case kAtSpecification:
          if (value->kind == Value::Kind::kReference) entry.origin = value->number;
          break;
        case kAtCallFile: entry.call.file = value->number; break;
        case kAtCallLine: entry.call.line = static_cast<uint32_t>(value->number); break;
        case kAtCallColumn: entry.call.column = static_cast<uint32_t>(value->number); break;
        default: break;
      }
    }
    if (root) {
      const std::string_view directory = text(directory_);
      if (has_line_table_) {
        functions_.directories[line_table_] = directory;
        unit_.line_table = line_table_;
      }
      has_line_table_ = false;
      directory_ = {};
    }
    return true;
  }

  void take_unit_attribute(uint64_t name, const Value& value) {
    switch (name) {
      case kAtStmtList:
        line_table_ = value.number;
        has_line_table_ = true;
        break;
      case kAtCompDir: directory_ = value; break;
      case kAtStrOffsetsBase: unit_.str_offsets_base = value.number; break;
      case kAtAddrBase: unit_.addr_base = value.number; break;
      case kAtRnglistsBase: unit_.rnglists_base = value.number; break;
      default: break;
    }
  }

  std::string_view text(const Value& value) const {
    if (value.kind != Value::Kind::kTextIndex) return value.text;
    const uint64_t size = unit_.wide ? 8 : 4;
    if (value.number > sections_.str_offsets.size()) return {};
    DwarfCursor cursor(sections_.str_offsets, unit_.str_offsets_base);
    cursor.skip(value.number * size);
    const uint64_t offset = cursor.sized(unit_.wide);
    return cursor.failed() ? std::string_view() : dwarf_text(sections_.str, offset);
  }

  uint64_t address_of_index(uint64_t index) const {
    if (index > sections_.addr.size()) return 0;
    DwarfCursor cursor(sections_.addr, unit_.addr_base);
    cursor.skip(index * 8);
    return cursor.number(8);
  }

  uint64_t address(const Value& value) const {
    return value.kind == Value::Kind::kAddressIndex ? address_of_index(value.number) : value.number;
  }

  void add_function(const Entry& entry, uint32_t depth) {
    const std::string_view linkage_name = text(entry.linkage_name);
    const std::string_view name = linkage_name.empty() ? text(entry.name) : linkage_name;
    if (!name.empty()) functions_.names[entry.offset] = name;
    if (entry.origin != 0) origins_[entry.offset] = entry.origin;
    if (entry.has_ranges) {
      add_ranges(entry, depth);
    } else if (entry.has_low && entry.has_high) {
      const uint64_t low = address(entry.low);
      const uint64_t high = entry.high_is_address ? address(entry.high) : low + entry.high.number;
      add_range(low, high, depth, entry.offset);
    }
  }

  void add_range(uint64_t low, uint64_t high, uint32_t depth, uint64_t offset) {
    if (low < high) functions_.ranges.push_back({low, high, depth, offset});
  }

  void add_ranges(const Entry& entry, uint32_t depth) {
    if (unit_.version < 5) {
      add_ranges_v4(entry, depth);
      return;
    }
    uint64_t offset = entry.ranges.number;
    if (entry.ranges.kind == Value::Kind::kRangesIndex) {
      if (offset > sections_.rnglists.size()) return;
      DwarfCursor table(sections_.rnglists, unit_.rnglists_base);
      table.skip(offset * (unit_.wide ? 8 : 4));
      offset = unit_.rnglists_base + table.sized(unit_.wide);
      if (table.failed()) return;
    }
    add_ranges_v5(DwarfCursor(sections_.rnglists, offset), depth, entry.offset);
  }

  void add_ranges_v4(const Entry& entry, uint32_t depth) {
    DwarfCursor cursor(sections_.ranges, entry.ranges.number);
    uint64_t base = unit_.low_pc;
    for (size_t i = 0; i < kMaxRangesPerEntry; ++i) {
      const uint64_t low = cursor.number(8);
      const uint64_t high = cursor.number(8);
      if (cursor.failed() || (low == 0 && high == 0)) return;
      if (low == ~uint64_t{0}) {
        base = high;
      } else {
        add_range(base + low, base + high, depth, entry.offset);
      }
    }
  }

  void add_ranges_v5(DwarfCursor cursor, uint32_t depth, uint64_t offset) {
    uint64_t base = unit_.low_pc;
    for (size_t i = 0; i < kMaxRangesPerEntry && !cursor.failed(); ++i) {
      uint64_t low = 0;
      uint64_t high = 0;
      switch (cursor.u8()) {
        case 1: base = address_of_index(cursor.uleb()); continue;  // base_addressx
        case 2:                                                    // startx_endx
          low = address_of_index(cursor.uleb());
          high = address_of_index(cursor.uleb());
          break;
        case 3:  // startx_length
          low = address_of_index(cursor.uleb());
          high = low + cursor.uleb();
          break;
        case 4:  // offset_pair
          low = base + cursor.uleb();
          high = base + cursor.uleb();
          break;
        case 5: base = cursor.number(8); continue;  // base_address
        case 6:                                     // start_end
          low = cursor.number(8);
          high = cursor.number(8);
          break;
        case 7:  // start_length
          low = cursor.number(8);
          high = low + cursor.uleb();
          break;
        default: return;  // end_of_list
      }
      if (!cursor.failed()) add_range(low, high, depth, offset);
    }
  }

  // Inlined entries and out-of-line definitions take the name of the entry they refer to; compilers
  // emit chains of at most two references.
  void resolve_names() {
    for (const auto& [offset, first_origin] : origins_) {
      uint64_t origin = first_origin;
      for (int step = 0; step < 4 && !functions_.names.contains(offset); ++step) {
        const auto name = functions_.names.find(origin);
        if (name != functions_.names.end()) {
          functions_.names[offset] = name->second;
          break;
        }
        const auto next = origins_.find(origin);
        if (next == origins_.end()) break;
        origin = next->second;
      }
    }
  }

  const DwarfSections& sections_;
  DwarfFunctions& functions_;
  Unit unit_;
  std::map<uint64_t, Abbreviations> abbreviations_;
  std::map<uint64_t, uint64_t> origins_;
  uint64_t line_table_ = 0;
  bool has_line_table_ = false;
  Value directory_;
};

}  // namespace

DwarfFunctions read_dwarf_functions(const DwarfSections& sections) {
  DwarfFunctions functions;
  FunctionReader(sections, functions).run();
  return functions;
}

std::string_view DwarfFunctions::name_of(const DwarfRange& range) const {
  const auto name = names.find(range.entry);
  return name == names.end() ? std::string_view() : name->second;
}

std::vector<const DwarfRange*> DwarfFunctions::frames_at(uint64_t address, size_t most) const {
  std::vector<const DwarfRange*> frames;
  for (const DwarfRange& range : ranges)
    if (address >= range.low && address < range.high) frames.push_back(&range);
  std::ranges::stable_sort(frames, std::ranges::greater(), &DwarfRange::depth);
  // Of two entries at one depth, which only damaged information has, the first one counts. A
  // subprogram is not inlined into what contains its entry.
  size_t kept = 0;
  for (const DwarfRange* const frame : frames) {
    if (kept != 0 && frame->depth == frames[kept - 1]->depth) continue;
    frames[kept++] = frame;
    if (!calls.contains(frame->entry) || kept == most) break;
  }
  frames.resize(kept);
  return frames;
}

}  // namespace gfxgraph::codeobj::internal
