#include "recorder/sites/python_code.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "base/process/preload.h"
#include "recorder/program_memory.h"

namespace gfxgraph::recorder {

// Offsets in bytes of CPython's structures, which are part of no interface and change from version
// to version.
struct PythonCode::Layout {
  unsigned long version;  // PY_VERSION_HEX without its last 16 bits
  size_t thread_frame;    // in the thread's state: its frame, or the record that has it
  size_t record_frame;    // in this record; kNone: there is none
  size_t frame_code, frame_instruction, frame_previous;
  size_t code_first_line, code_file, code_function, code_lines, code_begin;
  size_t ascii_begin, compact_begin;  // the characters of a string
};

namespace {

constexpr size_t kNone = SIZE_MAX;
// The same in all of them.
constexpr size_t kTypeOffset = 8;
constexpr size_t kSizeOffset = 16;
constexpr size_t kStateOffset = 32;  // of a string
constexpr size_t kBytesOffset = 32;  // the content of a bytes object
constexpr size_t kMostCodeBytes = 256;
constexpr size_t kFrameBytes = 64;       // of a frame, those that are read
constexpr size_t kMostCompared = 512;    // of the name of a file
constexpr size_t kMostTextBytes = 4096;  // as long as the module of a site may be
constexpr size_t kMostLineTable = size_t{1} << 20;
// Frames that are not Python code lie between those that are.
constexpr int kMostFrames = 8;

// Memory of the main thread's state ends with the process: it is read in place. That of another
// thread is freed beneath it if the interpreter ends first.
bool reads_in_place() noexcept {
  thread_local const bool main_thread = gettid() == getpid();
  return main_thread;
}

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

}  // namespace

struct PythonCode::Reader {
  bool in_place = false;
  bool read(uint64_t address, std::span<std::byte> to) const noexcept {
    if (!in_place) return read_program(address, to);
    std::memcpy(to.data(), reinterpret_cast<const void*>(address), to.size());
    return true;
  }
  // 0: unreadable.
  uint64_t word(uint64_t address) const noexcept {
    std::array<std::byte, sizeof(uint64_t)> bytes{};
    if (address < 4096 || !read(address, bytes)) return 0;
    return value_at<uint64_t>(bytes, 0);
  }
};

const PythonCode::Layout* PythonCode::layout_of(unsigned long version) {
  static constexpr std::array<Layout, 3> kLayouts = {{
      {0x030b, 56, 8, 32, 56, 48, 72, 112, 128, 136, 184, 48, 72},
      {0x030c, 56, 0, 0, 56, 8, 68, 112, 128, 136, 192, 40, 56},
      {0x030d, 72, kNone, 0, 56, 8, 68, 112, 128, 136, 200, 40, 56},
  }};
  constexpr unsigned long kReleaseBits = 0xf0;  // 0xf: not a preview
  if ((version & kReleaseBits) != kReleaseBits) return nullptr;
  const auto* const found = std::ranges::find(kLayouts, version >> 16, &Layout::version);
  return found == kLayouts.end() ? nullptr : found;
}

bool PythonCode::calls_for_it(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return std::ranges::any_of(
      std::array<std::string_view, 6>{"libffi.so", "libffi-", "_ctypes.", "_cffi_backend.",
                                      "libpython3.", "python3"},
      [&](std::string_view begin) { return name.starts_with(begin); });
}

// Once: an interpreter that a program loads after its first such call is not found.
bool PythonCode::find() noexcept {
  if (looked_) return layout_ != nullptr;
  looked_ = true;
  const auto look_up = [](const char* name) {
    return preload::call_dlsym(preload::system_dlsym(), RTLD_DEFAULT, name);
  };
  const auto* const version = static_cast<const unsigned long*>(look_up("Py_Version"));
  void* const type = look_up("PyCode_Type");
  void* const state = look_up("PyGILState_GetThisThreadState");
  if (version == nullptr || type == nullptr || state == nullptr) return false;
  layout_ = layout_of(*version);
  code_type_ = reinterpret_cast<uint64_t>(type);
  thread_state_ = reinterpret_cast<void* (*)()>(state);
  return layout_ != nullptr;
}

// Follows the chain from the thread's state to its frame, whose begin goes to `frame`. Where each
// link costs a system call, all are read at once: mostly they lead where they led before.
bool PythonCode::first_frame(const Reader& reader, uint64_t state,
                             std::span<std::byte> frame) const noexcept {
  const Layout& at = *layout_;
  thread_local uint64_t last_record = 0, last_frame = 0;
  if (!reader.in_place && last_frame != 0) {
    std::array<std::byte, kFrameBytes + 2 * sizeof(uint64_t)> bytes;
    const bool has_record = at.record_frame != kNone;
    const std::array<ProgramBytes, 3> parts = {
        {{state + at.thread_frame, sizeof(uint64_t)},
         {last_record + at.record_frame, has_record ? sizeof(uint64_t) : 0},
         {last_frame, kFrameBytes}}};
    const size_t links = has_record ? 2 * sizeof(uint64_t) : sizeof(uint64_t);
    const std::span<std::byte> read = std::span(bytes).first(links + kFrameBytes);
    if (read_program(parts, read) &&
        value_at<uint64_t>(bytes, 0) == (has_record ? last_record : last_frame) &&
        value_at<uint64_t>(bytes, links - sizeof(uint64_t)) == last_frame) {
      std::ranges::copy(read.subspan(links), frame.begin());
      return true;
    }
  }
  last_frame = reader.word(state + at.thread_frame);
  if (at.record_frame != kNone) {
    last_record = last_frame;
    if (last_record != 0) last_frame = reader.word(last_record + at.record_frame);
  }
  return last_frame != 0 && reader.read(last_frame, frame);
}

std::optional<PythonCode::Place> PythonCode::here() noexcept {
  if (!find()) return std::nullopt;
  const auto state = reinterpret_cast<uint64_t>(thread_state_());
  if (state == 0) return std::nullopt;
  const Layout& at = *layout_;
  // A layout that this process has not shown to be right yet is read with care.
  const Reader reader{proven_ && reads_in_place()};
  std::array<std::byte, kFrameBytes> frame;
  bool found = first_frame(reader, state, frame);
  for (int i = 0; i < kMostFrames && found; ++i) {
    Place place;
    std::array<std::byte, kMostCodeBytes> bytes;
    const std::span<std::byte> head = std::span(bytes).first(at.code_begin);
    place.code = value_at<uint64_t>(frame, at.frame_code);
    if (place.code != 0 && reader.read(place.code, head) &&
        value_at<uint64_t>(head, kTypeOffset) == code_type_) {
      place.instruction = value_at<uint64_t>(frame, at.frame_instruction);
      place.file = value_at<uint64_t>(head, at.code_file);
      place.function = value_at<uint64_t>(head, at.code_function);
      place.lines = value_at<uint64_t>(head, at.code_lines);
      place.first_line = value_at<int32_t>(head, at.code_first_line);
      proven_ = true;
      return place;
    }
    const auto previous = value_at<uint64_t>(frame, at.frame_previous);
    found = previous != 0 && reader.read(previous, frame);
  }
  return std::nullopt;
}

std::optional<std::string> PythonCode::text(uint64_t string) const {
  constexpr uint32_t kCompactBit = 1U << 5, kAsciiBit = 1U << 6;
  const Reader careful;
  const uint64_t length = careful.word(string + kSizeOffset);
  const auto state = static_cast<uint32_t>(careful.word(string + kStateOffset));
  const size_t width = state >> 2 & 7;  // bytes of a character
  if (length == 0 || length > kMostTextBytes || (state & kCompactBit) == 0 ||
      (width != 1 && width != 2 && width != 4)) {
    return std::nullopt;
  }
  std::vector<std::byte> bytes(length * width);
  const size_t begin = (state & kAsciiBit) != 0 ? layout_->ascii_begin : layout_->compact_begin;
  if (!careful.read(string + begin, bytes)) return std::nullopt;
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

std::optional<PythonCode::Line> PythonCode::line(const Place& place) const {
  const Reader careful;
  const uint64_t table_bytes = careful.word(place.lines + kSizeOffset);
  const uint64_t begin = place.code + layout_->code_begin;
  if (table_bytes == 0 || table_bytes > kMostLineTable || place.instruction < begin)
    return std::nullopt;
  std::vector<std::byte> table(table_bytes);
  if (!careful.read(place.lines + kBytesOffset, table)) return std::nullopt;
  Line found;
  found.line = python_line(table, (place.instruction - begin) / 2, place.first_line);
  auto file = text(place.file);
  if (found.line == 0 || !file) return std::nullopt;
  found.file = std::move(*file);
  found.function = text(place.function).value_or("");
  return found;
}

bool PythonCode::same_file(const Place& place, std::span<const std::byte> name) const noexcept {
  const Reader reader{reads_in_place()};
  std::array<std::byte, kMostCompared> bytes;
  const std::span<std::byte> now = std::span(bytes).first(std::min(name.size(), bytes.size()));
  return reader.read(place.file + kSizeOffset, now) && std::ranges::equal(now, name);
}

std::vector<std::byte> PythonCode::file_name(const Place& place) const {
  const Reader careful;
  const uint64_t length = careful.word(place.file + kSizeOffset);
  std::vector<std::byte> bytes(
      std::min(layout_->ascii_begin - kSizeOffset + length, uint64_t{kMostCompared}));
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

int64_t signed_varint(const std::vector<std::byte>& table, size_t& at) {
  const uint32_t value = varint(table, at);
  const auto size = static_cast<int64_t>(value >> 1);
  return (value & 1) != 0 ? -size : size;
}

}  // namespace

uint32_t python_line(const std::vector<std::byte>& table, size_t at, int32_t first_line) {
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
    if (at < covered)
      return kind == kNoLine || line < 1 || line > INT32_MAX ? 0 : static_cast<uint32_t>(line);
    while (i < table.size() && (std::to_integer<uint32_t>(table[i]) & kBegin) == 0) ++i;
  }
  return 0;
}

}  // namespace gfxgraph::recorder
