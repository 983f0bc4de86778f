#include "replayer/abi/hsa_library.h"

#include <fmt/format.h>
#include <link.h>

#include <string>

namespace gfxgraph::replayer {
namespace {

constexpr const char* kName = "libhsa-runtime64.so.1";

// Python wheels contain the runtime under a different file name.
int find_loaded(dl_phdr_info* info, size_t, void* path) {
  const std::string_view name(info->dlpi_name == nullptr ? "" : info->dlpi_name);
  const std::string_view file = name.substr(name.rfind('/') + 1);
  if (file.find("hsa-runtime64") == std::string_view::npos) return 0;
  *static_cast<std::string*>(path) = name;
  return 1;
}

void* open_loaded() {
  if (void* const handle = dlopen(kName, RTLD_NOW | RTLD_NOLOAD); handle != nullptr) return handle;
  std::string path;
  if (dl_iterate_phdr(find_loaded, &path) != 1) return nullptr;
  return dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
}

}  // namespace

void* loaded_hsa_function(const char* name) {
  void* const handle = open_loaded();  // never closed, like HIP's
  return handle == nullptr ? nullptr : dlsym(handle, name);
}

Result<std::shared_ptr<const HsaLibrary>> HsaLibrary::load(Lookup find) {
  void* const handle = open_loaded();  // never closed, like HIP's
  if (handle == nullptr)
    return fail(Status::kUnsupported, "mode packets: the process has no libhsa-runtime64");
  std::shared_ptr<HsaLibrary> library(new HsaLibrary());
#define GFXGRAPH_HSA_SYMBOL(result, name, arguments)                                            \
  library->table_.name = reinterpret_cast<decltype(hsa_abi::Table::name)>(find(handle, #name)); \
  if (library->table_.name == nullptr)                                                          \
    return fail(Status::kUnsupported, "mode packets: libhsa-runtime64 lacks " #name);
#include "replayer/abi/hsa_symbols.inc"
#undef GFXGRAPH_HSA_SYMBOL
  GFXGRAPH_TRY(library->check(library->table_.hsa_init(), "hsa_init"));
  library->initialised_ = true;
  GFXGRAPH_TRY(library->check(
      library->table_.hsa_system_get_major_extension_table(
          hsa_abi::kExtensionLoader, 1, sizeof(hsa_abi::LoaderTable), &library->loader_),
      "hsa_system_get_major_extension_table of the AMD loader"));
  if (library->loader_.query_executable == nullptr ||
      library->loader_.iterate_executables == nullptr) {
    return fail(Status::kUnsupported,
                "mode packets: the AMD loader extension of this HSA runtime is older than 1.3");
  }
  return std::shared_ptr<const HsaLibrary>(std::move(library));
}

HsaLibrary::~HsaLibrary() {
  if (initialised_) table_.hsa_shut_down();
}

Result<void> HsaLibrary::check(hsa_abi::Status status, std::string_view what) const {
  if (status == hsa_abi::kSuccess) [[likely]]
    return {};
  const char* text = nullptr;
  if (table_.hsa_status_string(status, &text) != hsa_abi::kSuccess || text == nullptr)
    text = "HSA error";
  return fail(status == hsa_abi::kErrorOutOfResources ? Status::kOutOfMemory : Status::kDevice,
              fmt::format("mode packets: {}: {} ({:#x})", what, text, status));
}

std::vector<uint64_t> HsaLibrary::executables() const {
  std::vector<uint64_t> list;
  loader_.iterate_executables(
      [](uint64_t executable, void* data) {
        static_cast<std::vector<uint64_t>*>(data)->push_back(executable);
        return hsa_abi::kSuccess;
      },
      &list);
  return list;
}

}  // namespace gfxgraph::replayer
