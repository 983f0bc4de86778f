// The process's own HIP runtime, found by dlopen and called through one table of entry points.
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/hip_quirks.h"
#include "base/result.h"
#include "replayer/abi/graph_updates.h"
#include "replayer/abi/hip_abi.h"

namespace gfxgraph::replayer {

// A pointer per row of hip_symbols.inc, under the row's name; OPTIONAL ones may be null.
struct HipTable {
#define GFXGRAPH_HIP_SYMBOL(requirement, result, name, arguments) result(*name) arguments = nullptr;
#include "replayer/abi/hip_symbols.inc"
#undef GFXGRAPH_HIP_SYMBOL
};

// The properties of a device that replay needs.
struct HipDevice {
  int ordinal = 0;
  std::string name;
  std::string arch;         // "gfx1030", without feature suffixes
  std::string target = {};  // with them: "gfx90a:sramecc+:xnack-"
};

// Debian's package with the runtime of a trace's major version; for other versions all existing
// packages.
std::string hip_package(int recorded_version);

// Immutable after creation; thread-safe as far as the HIP runtime is.
class HipLibrary {
 public:
  using Lookup = void* (*)(void* handle, const char* name);
  // Uses a libamdhip64 that the process already has, otherwise loads libamdhip64.so.7, .6 or .5.
  // The version that a trace was recorded with (0: unknown) is only for the error message. `find`
  // returns the functions of the runtime, or wrappers of them.
  static Result<std::shared_ptr<const HipLibrary>> load(int recorded_version = 0,
                                                        Lookup find = &dlsym);
  // For tests and for programs that bring their own table. REQUIRED rows must be filled. `find`
  // gives HSA's functions; null: mode packets is refused.
  static Result<std::shared_ptr<const HipLibrary>> from_table(const HipTable& table,
                                                              std::string path,
                                                              Lookup find = nullptr);

  const HipTable& table() const { return table_; }
  // What load() or from_table() was given.
  Lookup lookup() const { return lookup_; }
  const std::string& path() const { return path_; }
  int runtime_version() const { return runtime_version_; }
  // Whether replay avoids a defect on this runtime (base/hip_quirks.h).
  bool avoids(HipQuirk quirk) const { return hip_quirk_avoided(quirk, runtime_version_); }
  // Whether every entry point of graph mode is there.
  bool has_graphs() const;
  // Tried once in a process where load() found the runtime.
  UpdateTrials& update_trials() const { return *update_trials_; }

  // Initialises HIP, makes device `ordinal` the calling thread's current one (-1: leaves the
  // current one) and describes it. kDevice when there is none.
  Result<HipDevice> select_device(int ordinal) const;

  // Waits for a stream's work. If the caller has destroyed the stream meanwhile, which does not end
  // its work, waits for the device.
  Result<void> wait_for(hip::Stream stream) const;
  // Whether the stream's work is done, without waiting for it, unless the stream was destroyed.
  Result<bool> is_idle(hip::Stream stream) const;
  // Ok, or an error with `what` and HIP's name for `error`.
  Result<void> check(hip::Error error, std::string_view what) const;
  Error error(hip::Error code, std::string_view what) const;

 private:
  static Result<std::shared_ptr<HipLibrary>> make(const HipTable& table, std::string path);

  HipTable table_;
  Lookup lookup_ = nullptr;
  std::string path_;
  int runtime_version_ = 0;
  std::shared_ptr<UpdateTrials> update_trials_ = std::make_shared<UpdateTrials>();
};

}  // namespace gfxgraph::replayer
