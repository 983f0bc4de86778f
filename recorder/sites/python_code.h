// The line of Python code that the calling thread is in, for calls of HIP that Python makes through
// a foreign function interface (ctypes, cffi): their return address is the same everywhere.
//
// The thread usually made the call without the interpreter's lock, and this takes no lock and calls
// nothing that needs it: it only reads the frame of its own thread, which no other thread changes,
// as the interpreter's own faulthandler does. It knows the layout of CPython 3.11 to 3.13 and tests
// it by the types of what it finds; other interpreters have no lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gfxgraph::recorder {

class PythonCode {
 public:
  // An instruction of Python code, and what shows that it is still the same code: memory of code
  // that is gone is used again. Addresses are the interpreter's.
  struct Place {
    uint64_t code = 0;
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

  // Whether a library or program of this path calls C functions for Python code.
  static bool calls_for_it(std::string_view path);

  // What the calling thread executes; nothing if this is not known Python code.
  std::optional<Place> here() noexcept;
  // Of a place that here() just returned in this thread.
  std::optional<Line> line(const Place& place) const;
  // The name of its file as it is in memory, and whether it is still the same.
  std::vector<std::byte> file_name(const Place& place) const;
  bool same_file(const Place& place, std::span<const std::byte> name) const noexcept;

 private:
  struct Layout;
  struct Reader;
  static const Layout* layout_of(unsigned long version);
  bool find() noexcept;
  bool first_frame(const Reader& reader, uint64_t state, std::span<std::byte> frame) const noexcept;
  std::optional<std::string> text(uint64_t string) const;

  bool looked_ = false;
  bool proven_ = false;             // code was found where the layout says
  const Layout* layout_ = nullptr;  // nullptr: no Python, or of an unknown version
  void* (*thread_state_)() = nullptr;
  uint64_t code_type_ = 0;
};

// The line of the instruction of index `at` in a line table of Python 3.11 or later
// (Objects/locations.md of CPython), whose code begins at `first_line`; 0: it has none.
uint32_t python_line(const std::vector<std::byte>& table, size_t at, int32_t first_line);

}  // namespace gfxgraph::recorder
