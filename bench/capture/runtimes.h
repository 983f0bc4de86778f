// The runtime's own functions, behind whatever answers the program's calls: found in its file, so
// that no layer sees the search.
#pragma once

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

inline void* runtimes_address(const char* name) {
  std::pair<std::string, ElfW(Addr)> library;  // its file, and where it is loaded
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* found) {
        if (std::strstr(info->dlpi_name, "/libamdhip64.so") == nullptr) return 0;
        *static_cast<decltype(library)*>(found) = {info->dlpi_name, info->dlpi_addr};
        return 1;
      },
      &library);
  const int file = open(library.first.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status = {};
  if (file < 0 || fstat(file, &status) != 0) return nullptr;
  const auto size = static_cast<size_t>(status.st_size);
  void* const mapped = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
  if (mapped == MAP_FAILED) return nullptr;
  const auto* const bytes = static_cast<const char*>(mapped);
  const auto* const elf = reinterpret_cast<const Elf64_Ehdr*>(bytes);
  const auto* const sections = reinterpret_cast<const Elf64_Shdr*>(bytes + elf->e_shoff);
  void* address = nullptr;
  for (int i = 0; i < elf->e_shnum; ++i) {
    if (sections[i].sh_type != SHT_DYNSYM) continue;
    const char* const names = bytes + sections[sections[i].sh_link].sh_offset;
    const auto* const symbols = reinterpret_cast<const Elf64_Sym*>(bytes + sections[i].sh_offset);
    for (size_t n = 0; n < sections[i].sh_size / sizeof(Elf64_Sym); ++n) {
      if (symbols[n].st_value == 0 || std::strcmp(names + symbols[n].st_name, name) != 0) continue;
      address = reinterpret_cast<void*>(library.second + symbols[n].st_value);
    }
  }
  munmap(mapped, size);
  return address;
}

template <typename Function>
Function* runtimes(const char* name, Function* own) {
  if (void* const found = runtimes_address(name)) return reinterpret_cast<Function*>(found);
  std::printf("the runtime's %s is not found: its rows are those of the program's calls\n", name);
  return own;
}
#define RUNTIMES(name) runtimes(#name, &name)
