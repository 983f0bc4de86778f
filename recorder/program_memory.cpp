#include "recorder/program_memory.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "format/trace.h"

namespace gfxgraph::recorder {
namespace {

constexpr uint64_t kPageBytes = 4096;
constexpr size_t kMostAtOnce = size_t{1} << 30;

enum class Copied { kYes, kUnreadable, kForbidden };

// The kernel copies from the program's memory as from any buffer that a process hands it, and says
// so where a page is missing. As a "write" and not as a "read" of a process: the other direction
// refuses memory that a driver mapped, such as pinned memory of a GPU.
Copied copy_by_kernel(std::byte* to, uint64_t address, size_t size_bytes) noexcept {
  // Not the process: its first thread may have ended, and then it has no memory. And never a
  // remembered one: a forked child would write to its parent.
  const pid_t self = gettid();
  while (size_bytes != 0) {
    const size_t size = std::min(kMostAtOnce, size_bytes);
    const iovec from{reinterpret_cast<void*>(address), size};
    const iovec into{to, size};
    // Not by its name: the address sanitizer's own would refuse what only the kernel can judge.
    const ssize_t count = syscall(SYS_process_vm_writev, self, &from, 1L, &into, 1L, 0L);
    if (count < 0)
      return errno == EPERM || errno == ENOSYS ? Copied::kForbidden : Copied::kUnreadable;
    if (count == 0) return Copied::kUnreadable;
    to += count;
    address += static_cast<uint64_t>(count);
    size_bytes -= static_cast<size_t>(count);
  }
  return Copied::kYes;
}

// Where the process may not use that call (seccomp): through a file in memory.
bool copy_by_file(std::byte* to, uint64_t address, size_t size_bytes) noexcept {
  const int file = memfd_create("gfxgraph", MFD_CLOEXEC);
  if (file < 0) return false;
  constexpr size_t kMostInFile = size_t{1} << 20;
  bool done = true;
  while (done && size_bytes != 0) {
    const size_t size = std::min(kMostInFile, size_bytes);
    const ssize_t count = pwrite(file, reinterpret_cast<const void*>(address), size, 0);
    done = count > 0 && pread(file, to, static_cast<size_t>(count), 0) == count;
    if (!done) break;
    to += count;
    address += static_cast<uint64_t>(count);
    size_bytes -= static_cast<size_t>(count);
  }
  (void)close(file);
  return done;
}

StackInUse whole_stack() noexcept {
  StackInUse stack;
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return stack;
  void* begin = nullptr;
  size_t size = 0;
  if (pthread_attr_getstack(&attributes, &begin, &size) == 0) {
    stack.begin = reinterpret_cast<uintptr_t>(begin);
    stack.end = stack.begin + size;
  }
  (void)pthread_attr_destroy(&attributes);
  return stack;
}

}  // namespace

bool read_program(std::span<const ProgramBytes> parts, std::span<std::byte> to) noexcept {
  std::array<iovec, 8> from;
  size_t size_bytes = 0;
  if (parts.size() > from.size()) return false;
  for (size_t i = 0; i < parts.size(); ++i) {
    from[i] = {reinterpret_cast<void*>(parts[i].address), parts[i].size_bytes};
    size_bytes += parts[i].size_bytes;
  }
  if (size_bytes != to.size()) return false;
  const iovec into{to.data(), to.size()};
  const int error = errno;  // the program's
  const ssize_t count =
      syscall(SYS_process_vm_writev, gettid(), from.data(), parts.size(), &into, 1L, 0L);
  errno = error;
  return count >= 0 && static_cast<size_t>(count) == to.size();
}

bool read_program(uint64_t address, std::span<std::byte> to) noexcept {
  if (to.empty()) return true;
  const int error = errno;  // the program's
  const Copied copied = copy_by_kernel(to.data(), address, to.size());
  const bool done = copied == Copied::kYes ||
                    (copied == Copied::kForbidden && copy_by_file(to.data(), address, to.size()));
  errno = error;
  return done;
}

[[gnu::hot]] StackInUse own_stack() noexcept {
  static thread_local bool known = false;
  static thread_local StackInUse whole;
  if (!known) [[unlikely]] {
    const int error = errno;
    whole = whole_stack();
    errno = error;
    known = true;
  }
  const auto frame = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  if (frame < whole.begin || frame >= whole.end) return {};
  return {frame, whole.end};
}

std::optional<std::string> read_text(const char* text, size_t most) {
  std::string result;
  char piece[256];
  for (uint64_t address = reinterpret_cast<uint64_t>(text); result.size() < most;) {
    // Not across pages: the next one may be missing.
    const size_t size = std::min<uint64_t>(
        {sizeof(piece), kPageBytes - address % kPageBytes, most - result.size()});
    if (!read_program(address, std::as_writable_bytes(std::span(piece, size)))) return std::nullopt;
    const size_t length = strnlen(piece, size);
    result.append(piece, length);
    if (length < size) break;
    address += size;
  }
  return result;
}

std::string cut_name(const char* text) {
  using format::kMostNameBytes;
  constexpr const char* kUnreadableText = "(a name that cannot be read)";
  if (text == nullptr) return {};
  std::string name = read_text(text, kMostNameBytes + 1).value_or(kUnreadableText);
  if (name.size() <= kMostNameBytes) return name;
  size_t end = kMostNameBytes;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0) == 0x80) --end;  // UTF-8
  name.resize(end);
  return name;
}

}  // namespace gfxgraph::recorder
