#include "recorder/model/call_sites.h"

#include <elf.h>
#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <span>
#include <system_error>
#include <utility>

#include "base/demangle.h"
#include "base/own_process.h"
#include "codeobj/host_program.h"
#include "recorder/recorder_internal.h"

namespace gfxgraph::recorder {
namespace {

struct Search {
  uintptr_t address = 0;
  size_t seen = 0;
  // Facts of the ELF file that contains the code; valid while the file is loaded.
  bool found = false;
  bool program = false;
  const char* name = nullptr;
  uintptr_t bias = 0;
  std::span<const std::byte> notes;
};

// The program comes first and has no name.
int look_at(dl_phdr_info* info, size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  const bool program = search.seen++ == 0;
  const std::span headers(info->dlpi_phdr, info->dlpi_phnum);
  for (const auto& header : headers) {
    if (header.p_type != PT_LOAD ||
        search.address - (info->dlpi_addr + header.p_vaddr) >= header.p_memsz) {
      continue;
    }
    search.found = true;
    search.program = program;
    search.name = info->dlpi_name;
    search.bias = info->dlpi_addr;
  }
  if (!search.found) return 0;
  for (const auto& header : headers) {
    if (header.p_type != PT_NOTE) continue;
    const std::span<const std::byte> notes(
        reinterpret_cast<const std::byte*>(info->dlpi_addr + header.p_vaddr), header.p_memsz);
    for (size_t at = 0; notes.size() - at >= sizeof(ElfW(Nhdr));) {
      ElfW(Nhdr) note;
      std::memcpy(&note, notes.data() + at, sizeof(note));
      const size_t name = at + sizeof(note);
      const size_t content = name + ((size_t{note.n_namesz} + 3) & ~size_t{3});
      const size_t next = content + ((size_t{note.n_descsz} + 3) & ~size_t{3});
      if (next < at || next > notes.size()) break;
      if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
          std::memcmp(notes.data() + name, "GNU", 4) == 0) {
        search.notes = notes.subspan(content, note.n_descsz);
      }
      at = next;
    }
  }
  return 1;
}

std::string hexadecimal(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned>(byte));
  return text;
}

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

size_t first_slot(const void* address, size_t slots) {
  const auto value = reinterpret_cast<uintptr_t>(address);
  return (value * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (slots - 1);
}

}  // namespace

[[gnu::hot]] format::SiteId CallSites::at(const void* address) noexcept {
  if (address == nullptr) return 0;
  if (const Slot* const slots = slots_.load(std::memory_order_acquire); slots != nullptr) {
    for (size_t i = first_slot(address, kSlots);; i = (i + 1) & (kSlots - 1)) {
      const void* const seen = slots[i].address.load(std::memory_order_acquire);
      if (seen == address && !slots[i].for_python) [[likely]]
        return slots[i].id;
      if (seen == address || seen == nullptr) break;
    }
  }
  try {
    return add(address);
  } catch (...) {
    return 0;  // out of memory for it
  }
}

// This takes a different linker lock from the one held while library constructors run; its holder
// waits for no other thread.
format::SiteId CallSites::add(const void* address) {
  const std::lock_guard lock(mutex_);
  if (!own_slots_) {
    own_slots_ = std::make_unique<Slot[]>(kSlots);
    slots_.store(own_slots_.get(), std::memory_order_release);
  }
  size_t i = first_slot(address, kSlots);
  for (const void* seen = nullptr; (seen = own_slots_[i].address) != nullptr;
       i = (i + 1) & (kSlots - 1)) {
    if (seen == address) return own_slots_[i].for_python ? python_site(address) : own_slots_[i].id;
  }
  if (addresses_ == kMost) return 0;
  bool for_python = false;
  const format::SiteId id = add_module(address, for_python);
  own_slots_[i].id = id;
  own_slots_[i].for_python = for_python;
  own_slots_[i].address.store(address, std::memory_order_release);
  ++addresses_;
  return id;
}

format::SiteId CallSites::add_module(const void* address, bool& for_python) {
  Search search;
  search.address = reinterpret_cast<uintptr_t>(address);
  (void)dl_iterate_phdr(look_at, &search);
  if (!search.found) return 0;
  Module module{search.name == nullptr ? "" : search.name, hexadecimal(search.notes),
                search.program};
  if (search.program) {
    if (program_.empty()) program_ = own_program().string();
    module.path = program_;
  }
  if (module.path.empty()) return 0;
  for_python = PythonCode::calls_for_it(module.path);
  if (for_python) {
    python_callers_.try_emplace(address, module, search.address - search.bias);
    return python_site(address);
  }
  return find_or_add(module, search.address - search.bias, {});
}

// Memory of code that is gone is used for other code: its file's name tells them apart.
format::SiteId CallSites::python_site(const void* address) {
  const auto place = python_.here();
  if (!place) return without_python(address);
  const auto found = python_sites_.find(place->instruction);
  if (found != python_sites_.end() && found->second.place == *place &&
      python_.same_file(*place, found->second.file)) {
    return found->second.id;
  }
  auto line = python_.line(*place);
  if (!line) return without_python(address);
  if (python_sites_.size() >= kMost) return 0;
  const format::SiteId id =
      find_or_add({std::move(line->file), "", false, true}, line->line, std::move(line->function));
  python_sites_.insert_or_assign(place->instruction,
                                 PythonSite{*place, python_.file_name(*place), id});
  return id;
}

format::SiteId CallSites::without_python(const void* address) {
  const auto& [module, offset_bytes] = python_callers_.at(address);
  return find_or_add(module, offset_bytes, {});
}

// A library that is loaded again is the same one, even at another address.
format::SiteId CallSites::find_or_add(const Module& module, uint64_t offset_bytes,
                                      std::string function) {
  size_t index = 0;
  while (index < modules_.size() &&
         (modules_[index].path != module.path || modules_[index].build_id != module.build_id ||
          modules_[index].source != module.source)) {
    ++index;
  }
  if (index == modules_.size()) modules_.push_back(module);
  const auto [found, added] = ids_.try_emplace({index, offset_bytes}, 0);
  if (!added) return found->second;
  places_.push_back({index, offset_bytes, std::move(function)});
  return found->second = static_cast<format::SiteId>(places_.size());
}

format::SiteId CallSites::here(const format::Action& action) noexcept {
  if (program_call == nullptr) return 0;
  bool told = std::holds_alternative<format::Launch>(action) ||
              std::holds_alternative<format::Copy>(action) ||
              std::holds_alternative<format::Memset>(action) ||
              std::holds_alternative<format::HostFunction>(action) ||
              std::holds_alternative<format::GraphLaunch>(action);
  if (const auto* begin = std::get_if<format::AllocationBegin>(&action)) {
    told = begin->kind == format::AllocationKind::kModuleGlobal;  // of others the maker counts
  } else if (const auto* end = std::get_if<format::AllocationEnd>(&action)) {
    told = end->freed;
  } else if (const auto* wait = std::get_if<format::Synchronize>(&action)) {
    told = wait->kind != format::SynchronizeKind::kHostFunction;
  }
  return told ? here() : 0;
}

uint32_t CallSites::next_ordinal(format::SiteId site) {
  if (site == 0) return 0;
  if (ordinals_.size() < site) ordinals_.resize(site);
  return ordinals_[site - 1]++;
}

Result<void> CallSites::write(format::Writer& writer) {
  if (std::exchange(repeat_, false)) {
    for (const format::Site& site : remembered_) GFXGRAPH_TRY(writer.add(site));
  }
  std::vector<Module> modules;
  std::vector<Place> places;
  size_t first = 0;
  {
    const std::lock_guard lock(mutex_);
    if (written_ == places_.size()) return {};
    first = std::exchange(written_, places_.size());
    places.assign(places_.begin() + static_cast<ptrdiff_t>(first), places_.end());
    modules = modules_;
  }
  std::vector<format::Site> sites = described(modules, places, first);
  for (const format::Site& site : sites) GFXGRAPH_TRY(writer.add(site));
  if (remember_) std::ranges::move(sites, std::back_inserter(remembered_));
  return {};
}

// Of places with the ids from `first` + 1.
std::vector<format::Site> CallSites::described(const std::vector<Module>& modules,
                                               const std::vector<Place>& places,
                                               size_t first) const {
  std::vector<format::Site> sites(places.size());
  for (size_t i = 0; i < modules.size(); ++i) {
    std::vector<size_t> here;
    std::vector<uint64_t> calls;  // the last byte of the call
    for (size_t n = 0; n < places.size(); ++n) {
      if (places[n].module != i) continue;
      here.push_back(n);
      calls.push_back(places[n].offset_bytes - 1);
    }
    if (here.empty()) continue;
    if (modules[i].source) {
      for (const size_t n : here) {
        format::Site& site = sites[n];
        site.id = static_cast<format::SiteId>(first + n + 1);
        site.module = redact_ ? base_name(modules[i].path) : modules[i].path;
        site.symbol = cut_name(places[n].function.c_str());
        site.offset_bytes = places[n].offset_bytes;
        site.line = static_cast<uint32_t>(places[n].offset_bytes);
      }
      continue;
    }
    std::string identity = modules[i].build_id;
    std::vector<codeobj::HostFunction> functions(calls.size());
    if (const auto file = codeobj::HostProgram::open(modules[i].path)) {
      const std::string there = (*file)->identity();
      // Another file may have taken its name meanwhile.
      if (identity.empty() || identity == there) functions = (*file)->functions_at(calls);
      if (identity.empty()) identity = there;
    }
    for (size_t n = 0; n < here.size(); ++n) {
      format::Site& site = sites[here[n]];
      site.id = static_cast<format::SiteId>(first + here[n] + 1);
      site.module = redact_ ? base_name(modules[i].path) : modules[i].path;
      site.build_id = identity;
      site.offset_bytes = places[here[n]].offset_bytes;
      site.program = modules[i].program;
      const codeobj::HostFunction& function = functions[n];
      if (function.symbol.empty()) continue;
      const std::string readable = demangle_trusted(function.symbol);
      site.symbol = cut_name(readable.c_str());
      site.symbol_offset_bytes = site.offset_bytes - function.address;
      site.symbol_unique = function.unique && readable.size() <= format::kMostNameBytes;
    }
  }
  return sites;
}

}  // namespace gfxgraph::recorder
