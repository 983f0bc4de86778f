// The HSA runtime under the process's HIP runtime, called through one table of entry points.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "replayer/abi/hsa_abi.h"

namespace gfxgraph::hsa_abi {

// A pointer per row of hsa_symbols.inc, under the row's name.
struct Table {
#define GFXGRAPH_HSA_SYMBOL(result, name, arguments) result(*name) arguments = nullptr;
#include "replayer/abi/hsa_symbols.inc"
#undef GFXGRAPH_HSA_SYMBOL
};

}  // namespace gfxgraph::hsa_abi

namespace gfxgraph::replayer {

// A function of the HSA runtime that the process has loaded; null: it has none, or that one lacks
// it.
void* loaded_hsa_function(const char* name);

// Initialised while it lives; HIP has its own reference count of HSA. Thread-safe as HSA is.
class HsaLibrary {
 public:
  using Lookup = void* (*)(void* handle, const char* name);
  // The one that the process has already loaded; none is loaded here. kUnsupported: there is none,
  // or it lacks a row. `find` returns its functions, or wrappers of them.
  static Result<std::shared_ptr<const HsaLibrary>> load(Lookup find = &dlsym);
  ~HsaLibrary();
  HsaLibrary(const HsaLibrary&) = delete;
  HsaLibrary& operator=(const HsaLibrary&) = delete;

  const hsa_abi::Table& table() const { return table_; }
  const hsa_abi::LoaderTable& loader() const { return loader_; }
  Result<void> check(hsa_abi::Status status, std::string_view what) const;

  std::vector<uint64_t> executables() const;

 private:
  HsaLibrary() = default;
  hsa_abi::Table table_;
  hsa_abi::LoaderTable loader_;
  bool initialised_ = false;
};

}  // namespace gfxgraph::replayer
