#include "recorder/sites/call_sites.h"

#include <elf.h>
#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <span>
#include <system_error>
#include <utility>

#include "base/process/own_process.h"
#include "recorder/program_memory.h"

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
      if (seen == address) [[likely]] {
        const Slot& slot = slots[i];
        if (!slot.for_python || (slot.id != 0 && !PythonCode::may_be_behind())) return slot.id;
        break;
      }
      if (seen == nullptr) break;
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
    if (seen == address) return site_of(address, own_slots_[i]);
  }
  if (addresses_ == kMost) return 0;
  own_slots_[i].id = add_module(address, own_slots_[i].for_python);
  own_slots_[i].address.store(address, std::memory_order_release);
  ++addresses_;
  return site_of(address, own_slots_[i]);
}

format::SiteId CallSites::site_of(const void* address, const Slot& slot) {
  return slot.for_python ? python_.at(address, slot.id) : slot.id;
}

format::SiteId CallSites::add_module(const void* address, bool& for_python) {
  Search search;
  search.address = reinterpret_cast<uintptr_t>(address);
  (void)dl_iterate_phdr(look_at, &search);
  if (!search.found) return 0;
  SiteTable::Module module{search.name == nullptr ? "" : search.name, hexadecimal(search.notes),
                           search.program};
  if (search.program) {
    if (program_.empty()) program_ = own_program().string();
    module.path = program_;
  }
  if (module.path.empty()) return 0;
  const PythonCode::Caller caller = PythonCode::caller(module.path);
  if (caller == PythonCode::Caller::kInterface) {
    for_python = true;
    python_.add_caller(address, module, search.address - search.bias);
    return 0;
  }
  for_python = caller == PythonCode::Caller::kExtension ||
               (PythonCode::is_loaded() && python_.has_interpreter());
  return table_.number(module, search.address - search.bias);
}

format::SiteId CallSites::here(const format::Action& action) noexcept {
  if (program_call == nullptr) return 0;
  bool told = std::holds_alternative<format::Launch>(action) ||
              std::holds_alternative<format::Copy>(action) ||
              std::holds_alternative<format::Memset>(action) ||
              std::holds_alternative<format::HostFunction>(action) ||
              std::holds_alternative<format::GraphLaunch>(action) ||
              std::holds_alternative<format::StreamCreate>(action) ||
              std::holds_alternative<format::EventCreate>(action) ||
              std::holds_alternative<format::CallFault>(action);
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
  {
    const std::lock_guard lock(mutex_);
    site = table_.line_of(site);
  }
  if (ordinals_.size() < site) ordinals_.resize(site);
  return ordinals_[site - 1]++;
}

Result<void> CallSites::write(format::Writer& writer) {
  if (std::exchange(repeat_, false)) {
    for (const format::Site& site : remembered_) GFXGRAPH_TRY(writer.add(site));
  }
  SiteTable::Added added;
  {
    const std::lock_guard lock(mutex_);
    added = table_.take_added();
  }
  if (added.places.empty()) return {};
  std::vector<format::Site> sites = added.described(redact_);
  for (const format::Site& site : sites) GFXGRAPH_TRY(writer.add(site));
  if (remember_) std::ranges::move(sites, std::back_inserter(remembered_));
  return {};
}

}  // namespace gfxgraph::recorder
