#include "recorder/sites/python_code.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <charconv>
#include <climits>
#include <cstring>
#include <span>

#include "base/process/own_process.h"
#include "base/process/preload.h"
#include "recorder/program_memory.h"
#include "recorder/sites/python_exit.h"

namespace gfxgraph::recorder {

namespace {

constexpr size_t kNone = SIZE_MAX;
// The same in all of them.
constexpr size_t kTypeOffset = 8;
constexpr size_t kSizeOffset = 16;
constexpr size_t kStateOffset = 32;  // of a string
constexpr size_t kBytesOffset = 32;  // the content of a bytes object
constexpr size_t kMostCodeBytes = 256;
constexpr size_t kMostFrameBytes = 112;
constexpr size_t kMostCompared = 512;    // of the name of a file
constexpr size_t kMostTextBytes = 4096;  // as long as the module of a site may be
constexpr size_t kMostLineTable = size_t{1} << 20;
constexpr uint64_t kLowest = 4096;  // no object lies in the first page
// Frames that are not Python code lie between those that are.
constexpr int kMostFrames = 8;

bool on_main_thread() noexcept {
  thread_local const bool main_thread = gettid() == getpid();
  return main_thread;
}

// The interpreter's function for the state of the calling thread, once an interpreter was found.
constinit std::atomic<void* (*)()> thread_state{nullptr};

template <typename T>
T value_at(std::span<const std::byte> bytes, size_t offset) {
  T value{};
  if (bytes.size() >= sizeof(T) && offset <= bytes.size() - sizeof(T))
    std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

void append_utf8(std::string& text, uint32_t character) {
  // A byte of a file name that is not UTF-8, as Python stores it.
  if (character >= 0xdc80 && character <= 0xdcff) {
    text += static_cast<char>(character - 0xdc00);
  } else if (character < 0x80) {
    text += static_cast<char>(character);
  } else if (character < 0x800) {
    text += static_cast<char>(0xc0 | character >> 6);
    text += static_cast<char>(0x80 | (character & 0x3f));
  } else if (character < 0x10000) {
    text += static_cast<char>(0xe0 | character >> 12);
    text += static_cast<char>(0x80 | (character >> 6 & 0x3f));
    text += static_cast<char>(0x80 | (character & 0x3f));
  } else {
    text += static_cast<char>(0xf0 | (character >> 18 & 7));
    text += static_cast<char>(0x80 | (character >> 12 & 0x3f));
    text += static_cast<char>(0x80 | (character >> 6 & 0x3f));
    text += static_cast<char>(0x80 | (character & 0x3f));
  }
}

// "3.10.4 (main, ...": as PY_VERSION_HEX of a release; 0: it is none, or something else.
unsigned long python_version(const char* text) {
  if (text == nullptr) return 0;
  unsigned major = 0, minor = 0;
  const char* const end = text + strnlen(text, 16);
  const auto [dot, error] = std::from_chars(text, end, major);
  if (error != std::errc{} || dot == end || *dot != '.') return 0;
  const auto [second, other] = std::from_chars(dot + 1, end, minor);
  if (other != std::errc{} || second == end || *second != '.') return 0;
  unsigned patch = 0;
  const auto [last, wrong] = std::from_chars(second + 1, end, patch);
  const bool release = wrong == std::errc{} && last != end && (*last == ' ' || *last == '+');
  return release ? major << 24 | minor << 16 | 0xf0 : 0;
}

}  // namespace

struct PythonCode::Reader {
  bool in_place = false;
  bool read(uint64_t address, std::span<std::byte> to) const noexcept {
    if (!in_place) return read_program(address, to);
    std::memcpy(to.data(), reinterpret_cast<const void*>(address), to.size());
    return true;
  }
  bool read(const std::array<ProgramBytes, 3>& parts, std::span<std::byte> to) const noexcept {
    if (!in_place) return read_program(parts, to);
    size_t at = 0;
    for (const ProgramBytes& part : parts) {
      if (part.size_bytes != 0 && part.address < kLowest) return false;
      if (!read(part.address, to.subspan(at, part.size_bytes))) return false;
      at += part.size_bytes;
    }
    return true;
  }
  // 0: unreadable.
  uint64_t word(uint64_t address) const noexcept {
    std::array<std::byte, sizeof(uint64_t)> bytes{};
    if (address < kLowest || !read(address, bytes)) return 0;
    return value_at<uint64_t>(bytes, 0);
  }
};

PythonCode::Caller PythonCode::caller(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  const auto begins = [&](std::string_view begin) { return name.starts_with(begin); };
  if (std::ranges::any_of(
          std::array<std::string_view, 6>{"libffi.so", "libffi-", "_ctypes.", "_cffi_backend.",
                                          "libpython3.", "python3"},
          begins)) {
    return Caller::kInterface;
  }
  return name.find(".cpython-3") != std::string_view::npos || name.ends_with(".abi3.so")
             ? Caller::kExtension
             : Caller::kOther;
}

bool PythonCode::is_loaded() {
  static const bool program = own_program().filename().string().starts_with("python3");
  char path[PATH_MAX];
  return program || preload::find_loaded("libpython3.", path);
}

bool PythonCode::may_be_behind() noexcept {
  void* (*const state)() = thread_state.load(std::memory_order_acquire);
  return state != nullptr && state() != nullptr;
}

PythonCode::Reading::Reading() noexcept
    : entered_(!on_main_thread() && PythonExit::enter()), in_place_(entered_ || on_main_thread()) {}

PythonCode::Reading::~Reading() {
  if (entered_) PythonExit::leave();
}

// From 3.13 on the interpreter says itself where its structures lie: words of _Py_DebugOffsets at
// the begin of _PyRuntime, whose places differ between versions.
struct PythonCode::Version {
  unsigned long version;  // PY_VERSION_HEX without its last 16 bits
  Layout layout;
  struct Words {
    size_t current_frame, previous, executable, instruction, file, function, lines, first_line,
        begin, type, bytes, length, state, ascii_size;
  };
  Words words;  // all 0: `layout` has the offsets
};

bool PythonCode::find_layout(unsigned long version, const void* runtime, Layout& layout) noexcept {
  static constexpr std::array<Version, 6> kVersions = {{
      {0x0309, {24, kNone, 32, 104, 24, 40, 104, 112, 120, 48, 48, 112, PythonLines::kPairs}, {}},
      {0x030a, {24, kNone, 32, 96, 24, 40, 104, 112, 120, 48, 48, 112, PythonLines::kRanges}, {}},
      {0x030b, {56, 8, 32, 56, 48, 72, 112, 128, 136, 184, 48, 64, PythonLines::kLocations}, {}},
      {0x030c, {56, 0, 0, 56, 8, 68, 112, 128, 136, 192, 40, 64, PythonLines::kLocations}, {}},
      {0x030d, {}, {23, 29, 30, 31, 35, 37, 38, 39, 43, 45, 66, 69, 68, 70}},
      {0x030e, {}, {26, 32, 33, 34, 40, 42, 43, 44, 48, 51, 76, 79, 78, 80}},
  }};
  constexpr unsigned long kReleaseBits = 0xf0;  // 0xf: not a preview
  if ((version & kReleaseBits) != kReleaseBits) return false;
  const auto* const found = std::ranges::find(kVersions, version >> 16, &Version::version);
  if (found == kVersions.end()) return false;
  layout = found->layout;
  const Version::Words& at = found->words;
  if (at.begin == 0) return true;
  constexpr size_t kMostWords = 81;
  std::array<uint64_t, kMostWords> words{};
  const Reader careful;
  if (runtime == nullptr || !careful.read(reinterpret_cast<uint64_t>(runtime),
                                          std::as_writable_bytes(std::span(words)))) {
    return false;
  }
  constexpr uint64_t kCookie = UINT64_C(0x7970677562656478);  // "xdebugpy"
  constexpr uint64_t kMostThreadBytes = 4096;
  const bool without_lock = words[2] != 0;
  if (words[0] != kCookie || words[1] != version || without_lock || words[at.type] != kTypeOffset ||
      words[at.bytes] != kBytesOffset || words[at.length] != kSizeOffset ||
      words[at.state] != kStateOffset || words[at.current_frame] > kMostThreadBytes) {
    return false;
  }
  constexpr size_t kFrameBytes = 64;
  layout = {words[at.current_frame], kNone,
            words[at.executable],    words[at.instruction],
            words[at.previous],      words[at.first_line],
            words[at.file],          words[at.function],
            words[at.lines],         words[at.begin],
            words[at.ascii_size],    kFrameBytes,
            PythonLines::kLocations};
  const auto in_frame = [&](size_t offset) { return offset + sizeof(uint64_t) <= kFrameBytes; };
  const auto in_code = [&](size_t offset) {
    return offset + sizeof(uint64_t) <= layout.code_begin;
  };
  return in_frame(layout.frame_code) && in_frame(layout.frame_instruction) &&
         in_frame(layout.frame_previous) && layout.code_begin <= kMostCodeBytes &&
         in_code(layout.code_first_line) && in_code(layout.code_file) &&
         in_code(layout.code_function) && in_code(layout.code_lines) &&
         layout.ascii_begin <= kMostCodeBytes;
}

bool PythonCode::find() noexcept {
  if (looked_) return known_;
  looked_ = true;
  const auto look_up = [](const char* name) {
    return preload::call_dlsym(preload::system_dlsym(), RTLD_DEFAULT, name);
  };
  void* const type = look_up("PyCode_Type");
  void* const state = look_up("PyGILState_GetThisThreadState");
  if (type == nullptr || state == nullptr) return false;
  unsigned long version = 0;
  if (const void* const number = look_up("Py_Version"); number != nullptr) {
    version = *static_cast<const unsigned long*>(number);
  } else if (void* const get = look_up("Py_GetVersion"); get != nullptr) {
    // Before 3.11: needs no lock, and always writes the same text.
    version = python_version(reinterpret_cast<const char* (*)()>(get)());
  }
  code_type_ = reinterpret_cast<uint64_t>(type);
  known_ = find_layout(version, look_up("_PyRuntime"), layout_);
  if (!known_) return false;
  thread_state.store(reinterpret_cast<void* (*)()>(state), std::memory_order_release);
  PythonExit::want();
  return true;
}

// Where this thread's frames led to last. They mostly lead there again, so that where each read is
// a system call one for all of them is enough.
struct PythonCode::Trail {
  uint64_t record = 0, frame = 0, code = 0, file = 0;
  size_t name_bytes = 0;
  std::array<std::byte, kMostCompared> name{};  // of the file of `code`, as in memory
  bool name_is_new = false;                     // it was read for the last place
};
PythonCode::Trail& PythonCode::trail() noexcept {
  thread_local constinit Trail last;
  return last;
}

bool PythonCode::follow(uint64_t state, std::span<std::byte> frame,
                        std::span<std::byte> head) const noexcept {
  const Layout& at = layout_;
  Trail& last = trail();
  if (last.code == 0) return false;
  constexpr size_t kWord = sizeof(uint64_t);
  const bool has_record = at.record_frame != kNone;
  const std::array<ProgramBytes, 5> parts = {
      {{state + at.thread_frame, kWord},
       {last.record + at.record_frame, has_record ? kWord : 0},
       {last.frame, frame.size()},
       {last.code, head.size()},
       {last.file + kSizeOffset, last.name_bytes}}};
  std::array<std::byte, 2 * kWord + kMostFrameBytes + kMostCodeBytes + kMostCompared> memory;
  const size_t links = has_record ? 2 * kWord : kWord;
  const auto read = std::span(memory).first(links + frame.size() + head.size() + last.name_bytes);
  if (!read_program(parts, read) ||
      value_at<uint64_t>(read, 0) != (has_record ? last.record : last.frame) ||
      value_at<uint64_t>(read, links - kWord) != last.frame) {
    return false;
  }
  const auto read_frame = read.subspan(links, frame.size());
  const auto read_head = read.subspan(links + frame.size(), head.size());
  if (code_in(read_frame) != last.code ||
      value_at<uint64_t>(read_head, kTypeOffset) != code_type_ ||
      value_at<uint64_t>(read_head, at.code_file) != last.file) {
    return false;
  }
  std::ranges::copy(read_frame, frame.begin());
  std::ranges::copy(read_head, head.begin());
  std::ranges::copy(read.last(last.name_bytes), last.name.begin());
  last.name_is_new = true;
  return true;
}

bool PythonCode::first_frame(const Reader& reader, uint64_t state,
                             std::span<std::byte> frame) const noexcept {
  const Layout& at = layout_;
  Trail& last = trail();
  last.code = 0;
  last.frame = reader.word(state + at.thread_frame);
  if (at.record_frame != kNone) {
    last.record = last.frame;
    if (last.record != 0) last.frame = reader.word(last.record + at.record_frame);
  }
  return last.frame != 0 && reader.read(last.frame, frame);
}

// From 3.14 on the lowest bits of a reference in a frame are flags.
uint64_t PythonCode::code_in(std::span<const std::byte> frame) const noexcept {
  return value_at<uint64_t>(frame, layout_.frame_code) & ~uint64_t{7};
}

std::optional<PythonCode::Place> PythonCode::place_of(uint64_t code,
                                                      std::span<const std::byte> frame,
                                                      std::span<const std::byte> head) noexcept {
  const Layout& at = layout_;
  Place place;
  place.code = code;
  if (at.in_bytes()) {
    const auto last = value_at<int32_t>(frame, at.frame_instruction);
    if (last < 0) return std::nullopt;  // not begun
    place.begin = value_at<uint64_t>(head, at.code_begin) + kBytesOffset;
    const bool pairs = at.lines == PythonLines::kPairs;
    place.instruction = place.begin + static_cast<uint64_t>(last) * (pairs ? 1 : 2);
  } else {
    place.begin = place.code + at.code_begin;
    place.instruction = value_at<uint64_t>(frame, at.frame_instruction);
  }
  place.file = value_at<uint64_t>(head, at.code_file);
  place.function = value_at<uint64_t>(head, at.code_function);
  place.lines = value_at<uint64_t>(head, at.code_lines);
  place.first_line = value_at<int32_t>(head, at.code_first_line);
  proven_ = true;
  return place;
}

std::optional<PythonCode::Place> PythonCode::here(const Reading& reading) noexcept {
  if (!find()) return std::nullopt;
  const auto state = reinterpret_cast<uint64_t>(thread_state.load(std::memory_order_relaxed)());
  if (state == 0) return std::nullopt;
  // A layout that this process has not shown to be right yet is read with care.
  const Reader reader{proven_ && reading.in_place()};
  std::array<std::byte, kMostFrameBytes> frame_memory;
  std::array<std::byte, kMostCodeBytes> code_memory;
  const std::span<std::byte> frame = std::span(frame_memory).first(layout_.frame_bytes);
  const std::span<std::byte> head = std::span(code_memory).first(layout_.head_bytes());
  Trail& last = trail();
  last.name_is_new = false;
  if (!reader.in_place && follow(state, frame, head)) return place_of(last.code, frame, head);
  bool found = first_frame(reader, state, frame);
  for (int i = 0; i < kMostFrames && found; ++i) {
    const uint64_t code = code_in(frame);
    if (code != 0 && reader.read(code, head) &&
        value_at<uint64_t>(head, kTypeOffset) == code_type_) {
      if (i == 0) remember(reading, code, value_at<uint64_t>(head, layout_.code_file));
      return place_of(code, frame, head);
    }
    const auto previous = value_at<uint64_t>(frame, layout_.frame_previous);
    found = previous != 0 && reader.read(previous, frame);
  }
  return std::nullopt;
}

size_t PythonCode::name_bytes(uint64_t length) const noexcept {
  return std::min(layout_.ascii_begin - kSizeOffset + length, uint64_t{kMostCompared});
}

void PythonCode::remember(const Reading& reading, uint64_t code, uint64_t file) const noexcept {
  if (reading.in_place()) return;
  const Reader careful;
  Trail& last = trail();
  last.name_bytes = name_bytes(careful.word(file + kSizeOffset));
  last.file = file;
  last.code = code;
}

// Where the characters of a string lie, by the words behind its type.
struct PythonCode::Text {
  uint64_t begin = 0;
  size_t characters = 0, width = 0;  // bytes of a character
  size_t size_bytes() const { return characters * width; }
};

PythonCode::Text PythonCode::text_at(uint64_t string,
                                     std::span<const std::byte> head) const noexcept {
  constexpr uint32_t kCompactBit = 1U << 5, kAsciiBit = 1U << 6;
  const auto length = value_at<uint64_t>(head, 0);
  const auto state = value_at<uint32_t>(head, kStateOffset - kSizeOffset);
  const size_t width = state >> 2 & 7;
  if (length == 0 || length > kMostTextBytes || (state & kCompactBit) == 0 ||
      (width != 1 && width != 2 && width != 4)) {
    return {};
  }
  const size_t behind = (state & kAsciiBit) != 0 ? 0 : layout_.beyond_ascii();
  return {string + layout_.ascii_begin + behind, length, width};
}

namespace {

// Nothing: it has a null character, or is too long.
std::optional<std::string> as_utf8(std::span<const std::byte> bytes, size_t width) {
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += width) {
    uint32_t character = 0;
    std::memcpy(&character, bytes.data() + i, width);
    if (character == 0) return std::nullopt;
    append_utf8(text, character);
  }
  if (text.size() > kMostTextBytes) return std::nullopt;
  return text;
}

}  // namespace

std::optional<PythonCode::Line> PythonCode::line(const Reading& reading, const Place& place) const {
  constexpr size_t kWord = sizeof(uint64_t), kTextHead = kStateOffset - kSizeOffset + kWord;
  const Reader reader{proven_ && reading.in_place()};
  std::array<std::byte, kWord + 2 * kTextHead> heads;
  if (!reader.read({{{place.lines + kSizeOffset, kWord},
                     {place.file + kSizeOffset, kTextHead},
                     {place.function + kSizeOffset, kTextHead}}},
                   heads)) {
    return std::nullopt;
  }
  const auto table_bytes = value_at<uint64_t>(heads, 0);
  const std::span<const std::byte> head(heads);
  const Text file = text_at(place.file, head.subspan(kWord, kTextHead));
  const Text function = text_at(place.function, head.last(kTextHead));
  if (table_bytes > kMostLineTable || place.instruction < place.begin || file.width == 0)
    return std::nullopt;
  std::vector<std::byte> table(table_bytes + file.size_bytes() + function.size_bytes());
  if (!reader.read({{{place.lines + kBytesOffset, table_bytes},
                     {file.begin, file.size_bytes()},
                     {function.begin, function.size_bytes()}}},
                   table)) {
    return std::nullopt;
  }
  const std::vector<std::byte> texts(table.begin() + static_cast<std::ptrdiff_t>(table_bytes),
                                     table.end());
  table.resize(table_bytes);
  Line found;
  found.line =
      python_line(layout_.lines, table, (place.instruction - place.begin) / 2, place.first_line);
  auto name = as_utf8(std::span(texts).first(file.size_bytes()), file.width);
  if (found.line == 0 || !name) return std::nullopt;
  found.file = std::move(*name);
  if (function.width != 0) {
    found.function =
        as_utf8(std::span(texts).last(function.size_bytes()), function.width).value_or("");
  }
  return found;
}

bool PythonCode::same_file(const Reading& reading, const Place& place,
                           std::span<const std::byte> name) const noexcept {
  const Trail& last = trail();
  if (last.name_is_new && last.file == place.file)
    return std::ranges::equal(std::span(last.name).first(last.name_bytes), name);
  const Reader reader{reading.in_place()};
  std::array<std::byte, kMostCompared> bytes;
  const std::span<std::byte> now = std::span(bytes).first(std::min(name.size(), bytes.size()));
  return reader.read(place.file + kSizeOffset, now) && std::ranges::equal(now, name);
}

std::vector<std::byte> PythonCode::file_name(const Reading& reading, const Place& place) const {
  const Reader careful{proven_ && reading.in_place()};
  const Trail& last = trail();
  std::vector<std::byte> bytes(last.code == place.code && last.file == place.file
                                   ? last.name_bytes
                                   : name_bytes(careful.word(place.file + kSizeOffset)));
  if (!careful.read(place.file + kSizeOffset, bytes)) bytes.clear();
  return bytes;
}

namespace {

// A number in groups of 6 bits, the lowest first; bit 6 says that another follows.
uint32_t varint(const std::vector<std::byte>& table, size_t& at) {
  uint32_t value = 0;
  for (unsigned shift = 0; at < table.size() && shift < 32; shift += 6) {
    const auto byte = std::to_integer<uint32_t>(table[at++]);
    value |= (byte & 0x3f) << shift;
    if ((byte & 0x40) == 0) break;
  }
  return value;
}

uint32_t line_number(int64_t line) {
  return line < 1 || line > INT32_MAX ? 0 : static_cast<uint32_t>(line);
}

int64_t signed_varint(const std::vector<std::byte>& table, size_t& at) {
  const uint32_t value = varint(table, at);
  const auto size = static_cast<int64_t>(value >> 1);
  return (value & 1) != 0 ? -size : size;
}

// Pairs of bytes: so many bytes of code further, the line is so many further. The first pair says
// where a line begins (3.9), or how long a range is and that its line is so much further (3.10).
uint32_t line_of_pairs(PythonLines form, const std::vector<std::byte>& table, size_t at,
                       int32_t first_line) {
  constexpr int8_t kNoLine = -128;
  int64_t line = first_line;
  size_t covered = 0;
  for (size_t i = 0; i + 1 < table.size(); i += 2) {
    covered += std::to_integer<size_t>(table[i]);
    const auto more = std::bit_cast<int8_t>(table[i + 1]);
    if (form == PythonLines::kPairs) {
      if (covered > at) break;
      line += more;
      continue;
    }
    if (more != kNoLine) line += more;
    if (at < covered) return more == kNoLine ? 0 : line_number(line);
  }
  return form == PythonLines::kPairs ? line_number(line) : 0;
}

uint32_t line_of_locations(const std::vector<std::byte>& table, size_t at, int32_t first_line) {
  constexpr uint32_t kBegin = 0x80, kOneLine = 10, kNoColumn = 13, kLong = 14, kNoLine = 15;
  int64_t line = first_line;
  size_t covered = 0;
  for (size_t i = 0; i < table.size();) {
    const auto head = std::to_integer<uint32_t>(table[i++]);
    if ((head & kBegin) == 0) return 0;
    const uint32_t kind = head >> 3 & 15;
    if (kind == kNoColumn || kind == kLong) {
      line += signed_varint(table, i);
    } else if (kind >= kOneLine && kind < kNoColumn) {
      line += kind - kOneLine;
    }
    covered += (head & 7) + 1;
    if (at < covered) return kind == kNoLine ? 0 : line_number(line);
    while (i < table.size() && (std::to_integer<uint32_t>(table[i]) & kBegin) == 0) ++i;
  }
  return 0;
}

}  // namespace

uint32_t python_line(PythonLines form, const std::vector<std::byte>& table, size_t at,
                     int32_t first_line) {
  if (form == PythonLines::kLocations) return line_of_locations(table, at, first_line);
  return line_of_pairs(form, table, 2 * at, first_line);
}

}  // namespace gfxgraph::recorder
