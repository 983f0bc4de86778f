// A program or library in this process, read where the dynamic linker has it in memory.
#pragma once

#include <elf.h>
#include <link.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace gfxgraph::recorder {

inline std::string_view file_name(std::string_view path) noexcept {
  return path.substr(path.rfind('/') + 1);
}

// Only inside of a callback of dl_iterate_phdr: the object stays loaded there. Allocates nothing.
class LoadedObject {
 public:
  explicit LoadedObject(const dl_phdr_info& info) noexcept;

  // Whether one of its segments has this address.
  bool contains(uintptr_t address) const noexcept;

  struct Import {
    const LoadedObject* object;
    const ElfW(Rela) * relocation;
    const char* name;
    // Where the dynamic linker writes its address, maybe not aligned; nullptr where that is none of
    // a function. One that is bound by its first call has an address inside of the object until
    // then.
    const void* slot() const noexcept;
  };
  // Calls `visit` with the Import of each symbol that relocations of this object refer to.
  template <typename Visit>
  void each_import(Visit&& visit) const {
    if (strings_ == nullptr || symbols_ == nullptr) return;
    for (const Table& table : relocations_) {
      if (table.begin == nullptr) continue;
      for (size_t i = 0; i < table.bytes / sizeof(ElfW(Rela)); ++i) {
        const uint64_t symbol = ELF64_R_SYM(table.begin[i].r_info);
        if (symbol == 0) continue;
        visit(Import{this, &table.begin[i], strings_ + symbols_[symbol].st_name});
      }
    }
  }

  // A function that it exports, of whichever version comes first. nullptr: there is none.
  void* exported_function(const char* name) const noexcept;

 private:
  struct Table {
    const ElfW(Rela) * begin = nullptr;
    size_t bytes = 0;
  };
  const dl_phdr_info& info_;
  const char* strings_ = nullptr;
  const ElfW(Sym) * symbols_ = nullptr;
  const uint32_t* gnu_hash_ = nullptr;
  Table relocations_[2];
};

}  // namespace gfxgraph::recorder
