// The line of Python code that the calling thread is in, for calls of HIP beneath it.
//
// The thread usually made the call without the interpreter's lock, and this takes no lock and calls
// nothing that needs it: it only reads the frame of its own thread, which no other thread changes,
// as the interpreter's own faulthandler does (python_exit.h: until the interpreter ends). It knows
// the layout of CPython 3.9 to 3.14 and tests it by the types of what it finds; other interpreters,
// and those without the lock (3.13t, 3.14t), have no lines: their calls are named by the native
// caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gfxgraph::recorder {

// How a code object says which instructions belong to which line.
enum class PythonLines : uint8_t {
  kPairs,      // 3.9: co_lnotab
  kRanges,     // 3.10: co_linetable
  kLocations,  // from 3.11 on
};

class PythonCode {
 public:
  // An instruction of Python code, and what shows that it is still the same code: memory of code
  // that is gone is used again. Addresses are the interpreter's.
  struct Place {
    uint64_t code = 0;
    uint64_t begin = 0;  // of its instructions
    uint64_t instruction = 0;
    uint64_t file = 0;
    uint64_t function = 0;
    uint64_t lines = 0;
    int32_t first_line = 0;
    bool operator==(const Place&) const = default;
  };
  struct Line {
    std::string file;      // as in a traceback: "/opt/app/train.py", "<stdin>"; not empty, no NUL
    std::string function;  // "Model.step", "<module>"
    uint32_t line = 0;     // from 1
  };

  // What a library or program of this path is to Python code.
  enum class Caller : uint8_t {
    kOther,
    kInterface,  // it calls any C function for it: libffi, ctypes, cffi, the interpreter itself
    kExtension,  // an extension module by its suffix: pybind11, nanobind, Cython
  };
  static Caller caller(std::string_view path);
  // Whether the process is an interpreter, or has the library of one.
  static bool is_loaded();
  // Whether the calling thread may be executing Python code: it is one of an interpreter that was
  // found. One call of the interpreter, which only reads a variable of the thread.
  static bool may_be_behind() noexcept;

  // Around all reads of a call. In place: of the main thread, whose state ends with the process,
  // and of others as long as the interpreter says before it frees theirs.
  class Reading {
   public:
    Reading() noexcept;
    ~Reading();
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;
    bool in_place() const noexcept { return in_place_; }

   private:
    bool entered_ = false;
    bool in_place_ = false;
  };

  // Whether an interpreter is there whose frames can be read. Looks once: one that a program loads
  // later is not found.
  bool find() noexcept;
  // What the calling thread executes; nothing if this is not known Python code.
  std::optional<Place> here(const Reading& reading) noexcept;
  // Of a place that here() just returned in this thread.
  std::optional<Line> line(const Reading& reading, const Place& place) const;
  // The name of its file as it is in memory, and whether it is still the same.
  std::vector<std::byte> file_name(const Reading& reading, const Place& place) const;
  bool same_file(const Reading& reading, const Place& place,
                 std::span<const std::byte> name) const noexcept;

 private:
  // Offsets in bytes of CPython's structures, which are part of no interface and change from
  // version to version.
  struct Layout {
    size_t thread_frame = 0;  // in the thread's state: its frame, or the record that has it
    size_t record_frame = 0;  // in this record; kNone: there is none
    size_t frame_code = 0, frame_instruction = 0, frame_previous = 0;
    size_t code_first_line = 0, code_file = 0, code_function = 0, code_lines = 0;
    size_t code_begin = 0;   // the instructions, or of 3.9 and 3.10 the bytes object that has them
    size_t ascii_begin = 0;  // the characters of a string
    size_t frame_bytes = 0;  // so many of a frame are read
    PythonLines lines = PythonLines::kLocations;
    // Instructions are in an object of their own, and a frame has a number instead of an address.
    bool in_bytes() const { return lines != PythonLines::kLocations; }
    size_t head_bytes() const { return in_bytes() ? code_lines + sizeof(uint64_t) : code_begin; }
    // Strings of other characters begin so many bytes behind: two words, three until 3.11.
    size_t beyond_ascii() const { return ascii_begin == 48 ? 24 : 16; }
  };
  struct Reader;
  struct Text;
  struct Trail;
  struct Version;
  static bool find_layout(unsigned long version, const void* runtime, Layout& layout) noexcept;
  static Trail& trail() noexcept;
  // The frame of a thread's state and the head of its code object, if they are where the trail
  // leads.
  bool follow(uint64_t state, std::span<std::byte> frame, std::span<std::byte> head) const noexcept;
  bool first_frame(const Reader& reader, uint64_t state, std::span<std::byte> frame) const noexcept;
  uint64_t code_in(std::span<const std::byte> frame) const noexcept;
  std::optional<Place> place_of(uint64_t code, std::span<const std::byte> frame,
                                std::span<const std::byte> head) noexcept;
  void remember(const Reading& reading, uint64_t code, uint64_t file) const noexcept;
  size_t name_bytes(uint64_t length) const noexcept;
  Text text_at(uint64_t string, std::span<const std::byte> head) const noexcept;

  bool looked_ = false;
  bool known_ = false;   // false: no Python, or of an unknown version
  bool proven_ = false;  // code was found where the layout says
  Layout layout_;
  uint64_t code_type_ = 0;
};

// The line of the instruction of index `at` in a line table, whose code begins at `first_line`; 0:
// it has none. (Objects/lnotab_notes.txt and Objects/locations.md of CPython.)
uint32_t python_line(PythonLines form, const std::vector<std::byte>& table, size_t at,
                     int32_t first_line);

}  // namespace gfxgraph::recorder
