// Output files of gfxgraph's programs, and the one rule for them (docs/security.md, "Files"):
// written under no name or an unpredictable one beside the target, then renamed over it, so that
// readers see the old or the new file, and a failure leaves the old one. A link at the target is
// replaced, never followed. Pipes, /dev/null and this process's own descriptors (/dev/stdout,
// /dev/fd/N) are written as they are.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/file/file.h"
#include "base/result.h"

namespace gfxgraph {

enum class FileUse {
  kMemory,  // holds memory of a recorded program: mode 0600
  kTrace,   // the same, and never a pipe or device: it is read back
  kReport,  // anything else: mode 0666 without the umask's bits
};

// Open early: nothing has the target's name before commit(), and what is wrong with the target is
// an error of create(). Another process may write to fd(). Move-only; not thread-safe.
class NewFile {
 public:
  // kInvalidArgument: the target is a directory, or a device that is not written; its folder does
  // not exist. Opening a pipe waits for its reader.
  static Result<NewFile> create(const std::filesystem::path& path, FileUse use);
  NewFile(NewFile&& other) noexcept = default;
  NewFile& operator=(NewFile&&) = delete;
  ~NewFile();  // without commit(): the target is as it was

  [[nodiscard]] int fd() const noexcept { return file_.fd(); }
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  [[nodiscard]] Result<void> write(std::span<const std::span<const std::byte>> parts);
  [[nodiscard]] Result<void> write(std::span<const std::byte> bytes);
  [[nodiscard]] const File& file() const noexcept { return file_; }
  // Data to the disk, then the target's name. At most once.
  [[nodiscard]] Result<void> commit();

 private:
  NewFile() = default;
  Result<void> open_temporary(FileUse use);
  Result<void> name_it();

  File file_;
  File folder_;            // not open: `file_` is the target itself
  std::string temporary_;  // the name in `folder_`; empty: it has none
  std::filesystem::path path_;
};

// create(), write() and commit().
Result<void> write_new_file(const std::filesystem::path& path, FileUse use,
                            std::span<const std::byte> bytes);

// What create() would say of the target, before long work. Opens no pipe and changes nothing.
Result<void> check_new_file(const std::filesystem::path& path, FileUse use);

// Before a command reads or writes anything: kInvalidArgument, with both names, if an output is one
// of the inputs, or two outputs are one file, by whatever links, spellings or descriptors. An empty
// output is standard output.
Result<void> check_distinct(std::span<const std::string> outputs,
                            std::span<const std::string> inputs);

}  // namespace gfxgraph
