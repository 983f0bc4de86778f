// Where the program's code calls HIP: return addresses, as places in files that are the same in
// every run. Hooks leave the address, the recorder takes it into events as a number; what function
// stands there is found out when the trace is written.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "format/trace.h"
#include "format/writer.h"

namespace gfxgraph::recorder {

// The return address of the program's call of HIP that this thread is in; nullptr: none.
inline constinit thread_local const void* program_call = nullptr;

class CallSites {
 public:
  // More return addresses than these have no site.
  static constexpr size_t kMost = 8192;

  explicit CallSites(bool redact) : redact_(redact) {}

  // Any thread. Allocates nothing and takes no lock for an address that was seen before. 0:
  // nullptr, in no file, or too many.
  format::SiteId at(const void* address) noexcept;
  // Of the program's call that this thread is in.
  format::SiteId here() noexcept { return at(program_call); }
  // The same if a trace says of such an event where it was asked for.
  format::SiteId here(const format::Action& action) noexcept;
  // Counts an allocation: how many the site made before. With the recorder's lock.
  uint32_t next_ordinal(format::SiteId site);
  // Before the events that name them: the sites that are not in the trace yet. With the recorder's
  // drain lock. Reads the symbol tables of their files.
  Result<void> write(format::Writer& writer);
  // For several traces one after another: what is written is kept, and written again into the next
  // one after repeat(), which needs the drain lock.
  void remember() noexcept { remember_ = true; }
  void repeat() noexcept { repeat_ = true; }

 private:
  struct Slot {
    std::atomic<const void*> address{nullptr};
    format::SiteId id = 0;  // before `address` is stored
  };
  static constexpr size_t kSlots = 2 * kMost;  // a power of 2
  struct Module {
    std::string path;
    std::string build_id;  // as in memory; may be empty
    bool program = false;
  };
  struct Place {
    size_t module = 0;
    uint64_t offset_bytes = 0;
  };
  format::SiteId add(const void* address);
  format::SiteId find_or_add(const Module& module, uint64_t offset_bytes);

  const bool redact_;
  std::atomic<Slot*> slots_{nullptr};
  std::unique_ptr<Slot[]> own_slots_;

  std::mutex mutex_;  // the last one but that of the dynamic linker
  size_t addresses_ = 0;
  std::string program_;  // its path, once asked for
  std::vector<Module> modules_;
  std::vector<Place> places_;  // by id - 1
  std::map<std::pair<size_t, uint64_t>, format::SiteId> ids_;
  size_t written_ = 0;  // of places_
  // With the recorder's drain lock.
  bool remember_ = false;
  bool repeat_ = false;
  std::vector<format::Site> remembered_;

  std::vector<uint32_t> ordinals_;  // by id - 1; guarded by the recorder's lock
};

}  // namespace gfxgraph::recorder
