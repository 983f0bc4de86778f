#include <algorithm>

#include "codeobj/dwarf/dwarf_internal.h"

namespace gfxgraph::codeobj::internal {
namespace {

constexpr size_t kMaxFiles = 1 << 20;
constexpr uint64_t kMaxFormats = 16;

// One directory or file entry of a version 5 table.
struct PathEntry {
  std::string_view path;
  uint64_t directory = 0;
};

struct EntryFormat {
  uint64_t content = 0;  // DW_LNCT_*
  uint64_t form = 0;
};

struct Program {
  bool wide = false;
  uint16_t version = 0;
  uint8_t min_length = 1;
  int8_t line_base = 0;
  uint8_t line_range = 1;
  uint8_t opcode_base = 1;
  std::vector<uint8_t> opcode_lengths;
  std::vector<std::string_view> directories;
  std::vector<uint32_t> files;  // indices into DwarfLines::files
};

std::string join(std::string_view directory, std::string_view path) {
  if (path.starts_with('/') || directory.empty()) return std::string(path);
  std::string result(directory);
  if (!result.ends_with('/')) result += '/';
  return result += path;
}

bool read_form(DwarfCursor& cursor, const EntryFormat& format, bool wide,
               const DwarfSections& sections, PathEntry& entry) {
  std::string_view text;
  uint64_t number = 0;
  switch (format.form) {
    case 0x08: text = cursor.text(); break;                                      // string
    case 0x0e: text = dwarf_text(sections.str, cursor.sized(wide)); break;       // strp
    case 0x1f: text = dwarf_text(sections.line_str, cursor.sized(wide)); break;  // line_strp
    case 0x0b: number = cursor.u8(); break;                                      // data1
    case 0x05: number = cursor.u16(); break;                                     // data2
    case 0x06: number = cursor.number(4); break;                                 // data4
    case 0x07: number = cursor.number(8); break;                                 // data8
    case 0x0f: number = cursor.uleb(); break;                                    // udata
    case 0x1e: cursor.skip(16); break;                                           // data16: MD5
    case 0x09: cursor.skip(cursor.uleb()); break;                                // block
    default: return false;
  }
  if (format.content == 1) entry.path = text;         // DW_LNCT_path
  if (format.content == 2) entry.directory = number;  // DW_LNCT_directory_index
  return !cursor.failed();
}

bool read_entries(DwarfCursor& cursor, bool wide, const DwarfSections& sections,
                  std::vector<PathEntry>& entries) {
  const uint64_t format_count = cursor.u8();
  if (format_count > kMaxFormats) return false;
  std::vector<EntryFormat> formats(format_count);
  for (EntryFormat& format : formats) {
    format.content = cursor.uleb();
    format.form = cursor.uleb();
  }
  const uint64_t count = cursor.uleb();
  if (count > kMaxFiles || (formats.empty() && count != 0)) return false;
  for (uint64_t i = 0; i < count; ++i) {
    PathEntry entry;
    for (const EntryFormat& format : formats) {
      if (!read_form(cursor, format, wide, sections, entry)) return false;
    }
    entries.push_back(entry);
  }
  return !cursor.failed();
}

class LineReader {
 public:
  LineReader(const DwarfSections& sections, const std::map<uint64_t, std::string_view>& directories,
             DwarfLines& lines)
      : sections_(sections), directories_(directories), lines_(lines) {}

  void run() {
    DwarfCursor section(sections_.line);
    while (!section.at_end()) {
      const uint64_t offset = section.offset();
      const auto directory = directories_.find(offset);
      directory_ = directory == directories_.end() ? std::string_view() : directory->second;
      Program program;
      DwarfCursor unit = section.unit(program.wide);
      if (section.failed()) return;
      if (!read_header(unit, program)) continue;
      run_program(unit, program);
      lines_.numbered.emplace(offset, std::move(program.files));
    }
  }

 private:
  bool read_header(DwarfCursor& cursor, Program& program) {
    program.version = cursor.u16();
    if (program.version < 2 || program.version > 5) return false;
    if (program.version == 5) cursor.skip(2);  // address and segment selector sizes
    const uint64_t header_bytes = cursor.sized(program.wide);
    const uint64_t start = cursor.offset();
    program.min_length = cursor.u8();
    if (program.version >= 4) cursor.skip(1);  // operations per instruction: no VLIW here
    cursor.skip(1);                            // default is_stmt
    program.line_base = static_cast<int8_t>(cursor.u8());
    program.line_range = cursor.u8();
    program.opcode_base = cursor.u8();
    if (cursor.failed() || program.line_range == 0 || program.opcode_base == 0) return false;
    for (unsigned i = 1; i < program.opcode_base; ++i)
      program.opcode_lengths.push_back(cursor.u8());
    const bool good =
        program.version == 5 ? read_files_v5(cursor, program) : read_files_v4(cursor, program);
    if (!good || cursor.failed() || cursor.offset() - start > header_bytes) return false;
    cursor.skip(header_bytes - (cursor.offset() - start));
    return !cursor.failed();
  }

  uint32_t add_file(std::string_view path, std::string_view directory) {
    if (lines_.files.size() >= kMaxFiles) return 0;
    lines_.files.push_back(join(directory_, join(directory, path)));
    return static_cast<uint32_t>(lines_.files.size() - 1);
  }

  bool read_files_v5(DwarfCursor& cursor, Program& program) {
    std::vector<PathEntry> directories;
    std::vector<PathEntry> files;
    if (!read_entries(cursor, program.wide, sections_, directories)) return false;
    if (!read_entries(cursor, program.wide, sections_, files)) return false;
    for (const PathEntry& file : files) {
      std::string_view directory;
      if (file.directory < directories.size()) directory = directories[file.directory].path;
      program.files.push_back(add_file(file.path, directory));
    }
    return true;
  }

  // Entry 0 of a version 2-4 table stands for the compile directory and the primary file.
  bool read_files_v4(DwarfCursor& cursor, Program& program) {
    program.directories.push_back("");
    while (!cursor.failed()) {
      const std::string_view path = cursor.text();
      if (path.empty()) break;
      program.directories.push_back(path);
    }
    program.files.push_back(add_file("", ""));
    while (!cursor.failed() && program.files.size() < kMaxFiles) {
      if (!read_file_v4(cursor, program)) break;
    }
    return !cursor.failed();
  }

  bool read_file_v4(DwarfCursor& cursor, Program& program) {
    const std::string_view path = cursor.text();
    if (path.empty()) return false;
    const uint64_t directory = cursor.uleb();
    cursor.uleb();  // time
    cursor.uleb();  // length
    program.files.push_back(add_file(
        path, directory < program.directories.size() ? program.directories[directory] : ""));
    return true;
  }

  struct Registers {
    uint64_t address = 0;
    uint64_t file = 1;
    uint64_t line = 1;
    uint64_t column = 0;
  };

  void add_row(const Program& program, const Registers& now, DwarfSequence& sequence) const {
    DwarfRow row;
    row.address = now.address;
    // The table lacks this file number: the line is useless without its file.
    row.line = now.file < program.files.size() ? static_cast<uint32_t>(now.line) : 0;
    row.file = row.line == 0 ? 0 : program.files[now.file];
    row.column = static_cast<uint32_t>(now.column);
    sequence.rows.push_back(row);
  }

  void end_sequence(const Registers& now, DwarfSequence& sequence) {
    if (!sequence.rows.empty()) {
      std::stable_sort(sequence.rows.begin(), sequence.rows.end(),
                       [](const DwarfRow& a, const DwarfRow& b) { return a.address < b.address; });
      sequence.low = sequence.rows.front().address;
      sequence.high = now.address;
      if (sequence.high > sequence.low) lines_.sequences.push_back(std::move(sequence));
    }
    sequence = {};
  }

  void extended(DwarfCursor& cursor, Registers& now, DwarfSequence& sequence) {
    const uint64_t length = cursor.uleb();
    const uint64_t start = cursor.offset();
    if (cursor.failed() || length == 0) return;
    switch (cursor.u8()) {
      case 1:  // end_sequence
        end_sequence(now, sequence);
        now = {};
        break;
      case 2:  // set_address
        if (length == 9) now.address = cursor.number(8);
        break;
      default: break;
    }
    const uint64_t used = cursor.offset() - start;
    if (used < length) cursor.skip(length - used);
  }

  void run_program(DwarfCursor& cursor, const Program& program) {
    Registers now;
    DwarfSequence sequence;
    while (!cursor.at_end()) {
      const uint8_t opcode = cursor.u8();
      if (opcode >= program.opcode_base) {
        const unsigned adjusted = opcode - program.opcode_base;
        now.address += uint64_t{adjusted / program.line_range} * program.min_length;
        now.line += static_cast<uint64_t>(int64_t{program.line_base} +
                                          static_cast<int64_t>(adjusted % program.line_range));
        add_row(program, now, sequence);
        continue;
      }
      switch (opcode) {
        case 0: extended(cursor, now, sequence); break;
        case 1: add_row(program, now, sequence); break;                    // copy
        case 2: now.address += cursor.uleb() * program.min_length; break;  // advance_pc
        case 3: now.line += static_cast<uint64_t>(cursor.sleb()); break;   // advance_line
        case 4: now.file = cursor.uleb(); break;                           // set_file
        case 5: now.column = cursor.uleb(); break;                         // set_column
        case 8:                                                            // const_add_pc
          now.address +=
              uint64_t{(255u - program.opcode_base) / program.line_range} * program.min_length;
          break;
        case 9: now.address += cursor.u16(); break;  // fixed_advance_pc
        default:
          for (unsigned i = 0; i < program.opcode_lengths[opcode - 1u]; ++i) cursor.uleb();
      }
    }
  }

  const DwarfSections& sections_;
  const std::map<uint64_t, std::string_view>& directories_;
  DwarfLines& lines_;
  std::string_view directory_;
};

}  // namespace

DwarfLines read_dwarf_lines(const DwarfSections& sections,
                            const std::map<uint64_t, std::string_view>& directories) {
  DwarfLines lines;
  LineReader(sections, directories, lines).run();
  std::stable_sort(lines.sequences.begin(), lines.sequences.end(),
                   [](const DwarfSequence& a, const DwarfSequence& b) { return a.low < b.low; });
  return lines;
}

const DwarfRow* DwarfLines::find(uint64_t address) const {
  auto next = std::upper_bound(
      sequences.begin(), sequences.end(), address,
      [](uint64_t value, const DwarfSequence& sequence) { return value < sequence.low; });
  // Sequences of one object do not overlap, except those of discarded functions at address 0.
  for (int tries = 0; next != sequences.begin() && tries < 16; ++tries) {
    --next;
    if (address >= next->high) continue;
    const auto row = std::upper_bound(
        next->rows.begin(), next->rows.end(), address,
        [](uint64_t value, const DwarfRow& candidate) { return value < candidate.address; });
    return &*(row - 1);
  }
  return nullptr;
}

const std::string* DwarfLines::file_of(uint64_t line_table, uint64_t number) const {
  const auto table = numbered.find(line_table);
  if (table == numbered.end() || number >= table->second.size()) return nullptr;
  return &files[table->second[number]];
}

}  // namespace gfxgraph::codeobj::internal
