// The places where the program's code calls HIP: return addresses, as places in files that are the
// same in every run. Hooks store the address, the recorder adds it to events as a number, and the
// function at this place is determined when the trace is written.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "format/trace.h"
#include "format/write/writer.h"
#include "recorder/lock_order.h"
#include "recorder/sites/python_sites.h"
#include "recorder/sites/site_table.h"

namespace gfxgraph::recorder {

// The return address of this thread's current HIP call by the program; nullptr: none. If the thread
// executes Python code, the line of that code is the site, with the place of the address beneath
// it.
inline constinit thread_local const void* program_call = nullptr;

class CallSites {
 public:
  // More return addresses than these have no site.
  static constexpr size_t kMost = 8192;

  explicit CallSites(bool redact) : redact_(redact) {}

  // Of a call that this thread is in. Allocates nothing and takes no lock for an address that was
  // seen before, if the thread is none of Python's. 0: nullptr, in no file, or too many sites.
  format::SiteId at(const void* address) noexcept;
  // Of the program's call that this thread is in.
  format::SiteId here() noexcept { return at(program_call); }
  // The same if a trace stores a site for such an event.
  format::SiteId here(const format::Action& action) noexcept;
  // Counts an allocation: returns the number of earlier ones of the site, or of the whole line of
  // Python code. With the recorder's lock.
  uint32_t next_ordinal(format::SiteId site);
  // Call before the events that name them: writes the sites that are not in the trace yet. With the
  // order's lock. Reads the symbol tables of their files.
  Result<void> write(format::Writer& writer);
  // For several consecutive traces: written sites are kept, and written again into the next trace
  // after repeat(), which needs the order's lock.
  void remember() noexcept { remember_ = true; }
  void repeat() noexcept { repeat_ = true; }

 private:
  struct Slot {
    std::atomic<const void*> address{nullptr};
    // Of the machine code; 0: none, or what calls for Python. Before `address` is stored.
    format::SiteId id = 0;
    bool for_python = false;  // the process has an interpreter
  };
  static constexpr size_t kSlots = 2 * kMost;  // a power of 2
  format::SiteId add(const void* address);
  // Needs `mutex_`.
  format::SiteId site_of(const void* address, const Slot& slot);
  // Needs `mutex_`. The site of the machine code; 0: what calls for Python, or in no file.
  format::SiteId add_module(const void* address, bool& for_python);

  const bool redact_;
  std::atomic<Slot*> slots_{nullptr};
  std::unique_ptr<Slot[]> own_slots_;

  Mutex<LockRank::kLast> mutex_;  // held while the dynamic linker's is taken
  size_t addresses_ = 0;
  std::string program_;  // its path, once asked for
  SiteTable table_;
  PythonSites python_{table_};
  // With the order's lock.
  bool remember_ = false;
  bool repeat_ = false;
  std::vector<format::Site> remembered_;

  std::vector<uint32_t> ordinals_;  // by id - 1; guarded by the recorder's lock
};

}  // namespace gfxgraph::recorder
