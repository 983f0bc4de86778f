#include "tools/doctor/libraries.h"

#include <elf.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <set>
#include <span>
#include <system_error>

#include "base/file/file.h"
#include "base/process/own_process.h"

namespace gfxgraph::tools::doctor {
namespace {

namespace fs = std::filesystem;

void add_list(std::vector<fs::path>& folders, std::string_view list) {
  while (!list.empty()) {
    const size_t end = std::min(list.find(':'), list.size());
    if (end != 0) folders.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
}

// The folders that ld.so.conf and the files that it includes name; ldconfig reads the same.
void add_configured(std::vector<fs::path>& folders, const fs::path& file) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('/')) folders.emplace_back(line);
  }
}

void add_system(std::vector<fs::path>& folders) {
  add_configured(folders, "/etc/ld.so.conf");
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator("/etc/ld.so.conf.d", error))
    add_configured(folders, entry.path());
  for (const char* folder : {"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64",
                             "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib"})
    folders.emplace_back(folder);
}

void add_rocm(std::vector<fs::path>& folders) {
  if (const char* root = std::getenv("ROCM_PATH"); root != nullptr)
    folders.push_back(fs::path(root) / "lib");
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator("/opt", error)) {
    if (entry.path().filename().string().starts_with("rocm"))
      folders.push_back(entry.path() / "lib");
  }
}

bool is_named(std::string_view file, std::string_view name) {
  if (!file.starts_with(name)) return false;
  const std::string_view rest = file.substr(name.size());
  return rest.starts_with(".so") || (rest.starts_with('-') && rest.find(".so") != rest.npos);
}

// "libx.so.5" before "libx.so" and "libx.so.5.2.3".
size_t unlikeness(const fs::path& path) {
  const std::string file = path.filename().string();
  const std::string_view version = std::string_view(file).substr(file.find(".so") + 3);
  const auto dots = static_cast<size_t>(std::ranges::count(version, '.'));
  return dots == 1 ? 0 : dots + 1;
}

// The tables of a file that may be anything: what lies outside of it does not exist.
class Elf {
 public:
  explicit Elf(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <typename T>
  std::optional<T> at(uint64_t offset) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof(T));
    return value;
  }
  std::string text(uint64_t offset) const {
    constexpr uint64_t kMost = 256;
    if (offset >= bytes_.size()) return {};
    const auto rest = bytes_.subspan(offset, std::min<uint64_t>(kMost, bytes_.size() - offset));
    const auto end = std::ranges::find(rest, std::byte{0});
    return {reinterpret_cast<const char*>(rest.data()), static_cast<size_t>(end - rest.begin())};
  }

 private:
  std::span<const std::byte> bytes_;
};

std::vector<Elf64_Phdr> segments_of(const Elf& elf) {
  const auto header = elf.at<Elf64_Ehdr>(0);
  std::vector<Elf64_Phdr> segments;
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_machine != EM_X86_64)
    return segments;
  for (uint64_t i = 0; i < header->e_phnum; ++i) {
    const auto segment = elf.at<Elf64_Phdr>(header->e_phoff + i * sizeof(Elf64_Phdr));
    if (!segment) break;
    segments.push_back(*segment);
  }
  return segments;
}

// Where an address of the loaded file stands in it.
uint64_t offset_of(const std::vector<Elf64_Phdr>& segments, uint64_t address) {
  for (const Elf64_Phdr& one : segments) {
    if (one.p_type == PT_LOAD && address >= one.p_vaddr && address - one.p_vaddr < one.p_filesz)
      return one.p_offset + (address - one.p_vaddr);
  }
  return UINT64_MAX;
}

}  // namespace

std::vector<fs::path> library_folders() {
  std::vector<fs::path> folders;
  if (const char* list = std::getenv("LD_LIBRARY_PATH"); list != nullptr) add_list(folders, list);
  const std::vector<std::string> loader = own_loader();
  const auto option = std::ranges::find(loader, "--library-path");
  if (option != loader.end() && option + 1 != loader.end()) {
    add_list(folders, option[1]);
  } else {
    add_system(folders);
    add_rocm(folders);
  }
  return folders;
}

std::vector<Library> find_libraries(const std::vector<fs::path>& folders, std::string_view name) {
  std::vector<Library> found;
  for (const fs::path& folder : folders) {
    std::vector<fs::path> files;
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
      if (is_named(entry.path().filename().string(), name)) files.push_back(entry.path());
    }
    std::ranges::sort(files, [](const fs::path& a, const fs::path& b) {
      return std::pair(unlikeness(a), a) < std::pair(unlikeness(b), b);
    });
    for (const fs::path& file : files) {
      const std::string real = fs::canonical(file, error).string();
      if (error || std::ranges::find(found, real, &Library::file) != found.end()) continue;
      found.push_back({std::string(name), file.string(), real, soname_of(real)});
    }
  }
  return found;
}

std::string soname_of(const fs::path& file) {
  const Result<MappedFile> mapped = MappedFile::open(file);
  if (!mapped) return {};
  const Elf elf(mapped->bytes());
  const std::vector<Elf64_Phdr> segments = segments_of(elf);
  const auto dynamic = std::ranges::find(segments, Elf64_Word{PT_DYNAMIC}, &Elf64_Phdr::p_type);
  if (dynamic == segments.end()) return {};
  std::optional<uint64_t> name;
  uint64_t names = UINT64_MAX;
  for (uint64_t at = 0; at < dynamic->p_filesz; at += sizeof(Elf64_Dyn)) {
    const auto entry = elf.at<Elf64_Dyn>(dynamic->p_offset + at);
    if (!entry || entry->d_tag == DT_NULL) break;
    if (entry->d_tag == DT_SONAME) name = entry->d_un.d_val;
    if (entry->d_tag == DT_STRTAB) names = offset_of(segments, entry->d_un.d_ptr);
  }
  if (!name || names == UINT64_MAX || *name > UINT64_MAX - names) return {};
  return elf.text(names + *name);
}

void mark_loaded(std::vector<Library>& libraries, const std::string& name,
                 const std::string& path) {
  if (path.empty()) return;
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  const std::string file = error ? path : real.string();
  const auto known = std::ranges::find(libraries, file, &Library::file);
  if (known != libraries.end()) {
    known->loaded = true;
    known->path = path;
  } else {
    libraries.push_back({name, path, file, soname_of(file), true});
  }
}

}  // namespace gfxgraph::tools::doctor
