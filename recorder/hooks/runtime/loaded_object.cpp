#include "recorder/hooks/runtime/loaded_object.h"

#include <cstring>

namespace gfxgraph::recorder {

LoadedObject::LoadedObject(const dl_phdr_info& info) noexcept : info_(info) {
  const ElfW(Dyn)* dynamic = nullptr;
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    if (info.dlpi_phdr[i].p_type == PT_DYNAMIC) {
      dynamic = reinterpret_cast<const ElfW(Dyn)*>(info.dlpi_addr + info.dlpi_phdr[i].p_vaddr);
    }
  }
  if (dynamic == nullptr) return;
  // The dynamic linker has made addresses of most of these, but not in the vdso's.
  const auto address = [&](uint64_t value) {
    return value < info.dlpi_addr ? value + info.dlpi_addr : value;
  };
  bool other_relocations = false;  // x86-64 has only those with addends
  for (; dynamic->d_tag != DT_NULL; ++dynamic) {
    const uint64_t value = dynamic->d_un.d_val;
    switch (dynamic->d_tag) {
      case DT_STRTAB: strings_ = reinterpret_cast<const char*>(address(value)); break;
      case DT_SYMTAB: symbols_ = reinterpret_cast<const ElfW(Sym)*>(address(value)); break;
      case DT_GNU_HASH: gnu_hash_ = reinterpret_cast<const uint32_t*>(address(value)); break;
      case DT_RELA:
        relocations_[0].begin = reinterpret_cast<const ElfW(Rela)*>(address(value));
        break;
      case DT_RELASZ: relocations_[0].bytes = value; break;
      case DT_JMPREL:
        relocations_[1].begin = reinterpret_cast<const ElfW(Rela)*>(address(value));
        break;
      case DT_PLTRELSZ: relocations_[1].bytes = value; break;
      case DT_PLTREL: other_relocations = value != DT_RELA; break;
      default: break;
    }
  }
  if (other_relocations) relocations_[1] = {};
}

bool LoadedObject::contains(uintptr_t address) const noexcept {
  for (int i = 0; i < info_.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info_.dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    if (address - (info_.dlpi_addr + segment.p_vaddr) < segment.p_memsz) return true;
  }
  return false;
}

const void* LoadedObject::Import::slot() const noexcept {
  switch (ELF64_R_TYPE(relocation->r_info)) {
    case R_X86_64_JUMP_SLOT:
    case R_X86_64_GLOB_DAT:
    case R_X86_64_64: break;
    default: return nullptr;
  }
  const uintptr_t slot = object->info_.dlpi_addr + relocation->r_offset;
  if (!object->contains(slot) || !object->contains(slot + sizeof(uintptr_t) - 1)) return nullptr;
  return reinterpret_cast<const void*>(slot);
}

void* LoadedObject::exported_function(const char* name) const noexcept {
  if (strings_ == nullptr || symbols_ == nullptr || gnu_hash_ == nullptr) return nullptr;
  uint32_t hash = 5381;
  for (const char* c = name; *c != '\0'; ++c) hash = hash * 33 + static_cast<unsigned char>(*c);
  // Four words, a Bloom filter of 64-bit words, the buckets, and the chains: the hash of each
  // symbol from `first` on, its lowest bit set at the end of a bucket.
  const uint32_t buckets_size = gnu_hash_[0];
  const uint32_t first = gnu_hash_[1];
  const uint32_t* const buckets = gnu_hash_ + 4 + size_t{2} * gnu_hash_[2];
  const uint32_t* const chains = buckets + buckets_size;
  if (buckets_size == 0) return nullptr;
  for (uint32_t i = buckets[hash % buckets_size]; i >= first; ++i) {
    const ElfW(Sym)& symbol = symbols_[i];
    const uint32_t chain = chains[i - first];
    if ((chain | 1) == (hash | 1) && symbol.st_shndx != SHN_UNDEF &&
        ELF64_ST_TYPE(symbol.st_info) == STT_FUNC &&
        std::strcmp(strings_ + symbol.st_name, name) == 0) {
      return reinterpret_cast<void*>(info_.dlpi_addr + symbol.st_value);
    }
    if ((chain & 1) != 0) break;
  }
  return nullptr;
}

}  // namespace gfxgraph::recorder
