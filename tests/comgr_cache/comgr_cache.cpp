// Cache of AMD's code object manager (comgr) for the tests, which start thousands of processes with
// HIP. The runtime compiles its own copy kernels in each of them, always to the same code. This
// takes 70% of the CPU time of a small replay.
//
// HIP opens libamd_comgr.so.2 by this name. The tests find this library first (LD_LIBRARY_PATH,
// comgr_cache.cmake.in). It depends on the real one, which provides all other functions. An entry
// is named by the 128-bit hash of everything that the action reads, and contains a hash of its
// content. In doubt comgr does the work.
#include <amd_comgr.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace {

using SetFolder = decltype(&amd_comgr_action_info_set_working_directory_path);
using Action = decltype(&amd_comgr_do_action);

struct Item {
  amd_comgr_data_kind_t kind;
  std::string name;
  std::string bytes;
};

std::string text_of(XXH128_hash_t value) {
  std::array<char, 33> text{};
  std::snprintf(text.data(), text.size(), "%016llx%016llx",
                static_cast<unsigned long long>(value.high64),
                static_cast<unsigned long long>(value.low64));
  return text.data();
}

std::string hash(std::string_view bytes) {
  return text_of(XXH3_128bits(bytes.data(), bytes.size()));
}

// Text that `get` returns in comgr's way: first its size, then the characters.
template <typename Get>
std::optional<std::string> text_from(Get get) {
  std::size_t size = 0;
  if (get(&size, nullptr) != AMD_COMGR_STATUS_SUCCESS) return std::nullopt;
  std::string text(size, '\0');
  if (get(&size, text.data()) != AMD_COMGR_STATUS_SUCCESS) return std::nullopt;
  return text;
}

// Calls `take(kind, data)` for each element of a set until it returns false.
template <typename Take>
bool for_each(amd_comgr_data_set_t set, Take take) {
  for (int kind = AMD_COMGR_DATA_KIND_SOURCE; kind <= AMD_COMGR_DATA_KIND_LAST; ++kind) {
    const auto wanted = static_cast<amd_comgr_data_kind_t>(kind);
    std::size_t count = 0;
    if (amd_comgr_action_data_count(set, wanted, &count) != AMD_COMGR_STATUS_SUCCESS) return false;
    for (std::size_t i = 0; i < count; ++i) {
      amd_comgr_data_t data{};
      if (amd_comgr_action_data_get_data(set, wanted, i, &data) != AMD_COMGR_STATUS_SUCCESS)
        return false;
      const bool good = take(wanted, data);
      amd_comgr_release_data(data);
      if (!good) return false;
    }
  }
  return true;
}

std::optional<std::string> name_of(amd_comgr_data_t data) {
  return text_from(
      [&](std::size_t* size, char* out) { return amd_comgr_get_data_name(data, size, out); });
}

bool is_empty(amd_comgr_data_set_t set) {
  return for_each(set, [](amd_comgr_data_kind_t, amd_comgr_data_t) { return false; });
}

// The hash of all that an action reads.
class Key {
 public:
  Key() { XXH3_128bits_reset(state_.get()); }

  void number(std::uint64_t number) { XXH3_128bits_update(state_.get(), &number, sizeof number); }
  void text(std::string_view text) {
    number(text.size());
    XXH3_128bits_update(state_.get(), text.data(), text.size());
  }
  bool set(amd_comgr_data_set_t set) {
    return for_each(set, [this](amd_comgr_data_kind_t kind, amd_comgr_data_t data) {
      if (kind == AMD_COMGR_DATA_KIND_LOG) return true;  // no action reads it
      const auto name = name_of(data);
      std::size_t size = 0;
      if (!name || amd_comgr_get_data(data, &size, nullptr) != AMD_COMGR_STATUS_SUCCESS)
        return false;
      if (size > size_) {
        buffer_ = std::make_unique_for_overwrite<char[]>(size);
        size_ = size;
      }
      if (amd_comgr_get_data(data, &size, buffer_.get()) != AMD_COMGR_STATUS_SUCCESS) return false;
      number(kind);
      text(*name);
      text({buffer_.get(), size});
      return true;
    });
  }
  std::string end() const { return text_of(XXH3_128bits_digest(state_.get())); }

 private:
  struct Free {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };
  std::unique_ptr<XXH3_state_t, Free> state_{XXH3_createState()};
  std::unique_ptr<char[]> buffer_;  // kept from one datum to the next: some have megabytes
  std::size_t size_ = 0;
};

// comgr's getter of an action's folder crashes when none is set, which is the usual case.
std::atomic<bool> folder_set = false;

// Actions that take long, and read nothing but their arguments if no option names a file or folder.
bool is_cached(amd_comgr_action_kind_t kind) {
  return kind == AMD_COMGR_ACTION_COMPILE_SOURCE_TO_BC || kind == AMD_COMGR_ACTION_LINK_BC_TO_BC ||
         kind == AMD_COMGR_ACTION_CODEGEN_BC_TO_RELOCATABLE ||
         kind == AMD_COMGR_ACTION_LINK_RELOCATABLE_TO_EXECUTABLE ||
         kind == AMD_COMGR_ACTION_COMPILE_SOURCE_WITH_DEVICE_LIBS_TO_BC;
}

std::optional<std::string> key_of(amd_comgr_action_kind_t kind, amd_comgr_action_info_t info,
                                  amd_comgr_data_set_t input) {
  struct stat comgr{};
  if (folder_set || !is_cached(kind) || std::getenv("AMD_COMGR_SAVE_TEMPS") != nullptr ||
      std::getenv("AMD_COMGR_REDIRECT_LOGS") != nullptr || ::stat(COMGR_LIBRARY, &comgr) != 0) {
    return std::nullopt;
  }
  Key key;
  key.text(COMGR_LIBRARY);
  key.number(static_cast<std::uint64_t>(comgr.st_size));
  key.number(static_cast<std::uint64_t>(comgr.st_mtim.tv_sec));
  key.number(kind);
  const auto isa = text_from([&](std::size_t* size, char* out) {
    return amd_comgr_action_info_get_isa_name(info, size, out);
  });
  amd_comgr_language_t language{};
  bool logging = false;
  std::size_t options = 0;
  if (!isa || amd_comgr_action_info_get_language(info, &language) != AMD_COMGR_STATUS_SUCCESS ||
      amd_comgr_action_info_get_logging(info, &logging) != AMD_COMGR_STATUS_SUCCESS ||
      amd_comgr_action_info_get_option_list_count(info, &options) != AMD_COMGR_STATUS_SUCCESS) {
    return std::nullopt;
  }
  key.text(*isa);
  key.number(language);
  key.number(logging ? 1 : 0);
  key.number(options);
  for (std::size_t i = 0; i < options; ++i) {
    const auto option = text_from([&](std::size_t* size, char* out) {
      return amd_comgr_action_info_get_option_list_item(info, i, size, out);
    });
    if (!option || option->find('/') != std::string::npos || option->starts_with("-I") ||
        option->starts_with("-include")) {
      return std::nullopt;
    }
    key.text(*option);
  }
  if (!key.set(input)) return std::nullopt;
  return key.end();
}

void put_number(std::string& out, std::uint64_t number) {
  out.append(reinterpret_cast<const char*>(&number), sizeof number);
}

void put_text(std::string& out, std::string_view text) {
  put_number(out, text.size());
  out += text;
}

class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  std::optional<std::uint64_t> number() {
    std::uint64_t number = 0;
    if (rest_.size() < sizeof number) return std::nullopt;
    std::memcpy(&number, rest_.data(), sizeof number);
    rest_.remove_prefix(sizeof number);
    return number;
  }
  std::optional<std::string> text() {
    const auto size = number();
    if (!size || *size > rest_.size()) return std::nullopt;
    std::string text(rest_.substr(0, *size));
    rest_.remove_prefix(*size);
    return text;
  }
  bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

std::optional<std::string> read_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  struct stat status{};
  std::string bytes;
  bool good = ::fstat(file, &status) == 0;
  if (good) {
    bytes.resize(static_cast<std::size_t>(status.st_size));
    good = ::read(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
  }
  ::close(file);
  return good ? std::optional(std::move(bytes)) : std::nullopt;
}

void write_file(const std::string& path, std::string_view bytes) {
  std::string next = path + ".XXXXXX";
  const int file = ::mkostemp(next.data(), O_CLOEXEC);
  if (file < 0) return;
  const bool good = ::write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
  ::close(file);
  if (!good || ::rename(next.c_str(), path.c_str()) != 0) ::unlink(next.c_str());
}

constexpr std::size_t kHashSize = 32;

std::optional<std::vector<Item>> load(const std::string& path) {
  const auto bytes = read_file(path);
  if (!bytes || bytes->size() < kHashSize) return std::nullopt;
  const std::string_view content = std::string_view(*bytes).substr(kHashSize);
  if (hash(content) != std::string_view(*bytes).substr(0, kHashSize)) return std::nullopt;
  Reader reader(content);
  std::vector<Item> items;
  while (!reader.at_end()) {
    const auto kind = reader.number();
    auto name = reader.text();
    auto data = reader.text();
    if (!kind || !name || !data) return std::nullopt;
    items.push_back(
        {static_cast<amd_comgr_data_kind_t>(*kind), std::move(*name), std::move(*data)});
  }
  return items;
}

// An empty log is left out, because comgr lets nobody set empty data. Callers then find no log.
void store(const std::string& path, amd_comgr_data_set_t result) {
  std::string content;
  const bool good = for_each(result, [&](amd_comgr_data_kind_t kind, amd_comgr_data_t data) {
    const auto name = name_of(data);
    const auto bytes = text_from(
        [&](std::size_t* size, char* out) { return amd_comgr_get_data(data, size, out); });
    if (!name || !bytes) return false;
    if (bytes->empty()) return kind == AMD_COMGR_DATA_KIND_LOG;
    put_number(content, kind);
    put_text(content, *name);
    put_text(content, *bytes);
    return true;
  });
  if (good) write_file(path, hash(content) + content);
}

bool add(amd_comgr_data_set_t set, const Item& item) {
  amd_comgr_data_t data{};
  if (amd_comgr_create_data(item.kind, &data) != AMD_COMGR_STATUS_SUCCESS) return false;
  const bool good =
      amd_comgr_set_data(data, item.bytes.size(), item.bytes.data()) == AMD_COMGR_STATUS_SUCCESS &&
      amd_comgr_set_data_name(data, item.name.c_str()) == AMD_COMGR_STATUS_SUCCESS &&
      amd_comgr_data_set_add(set, data) == AMD_COMGR_STATUS_SUCCESS;
  amd_comgr_release_data(data);
  return good;
}

// A function of the real library, which is in the process because this one depends on it.
void* real_function(const char* name) {
  void* library = ::dlopen(COMGR_LIBRARY, RTLD_LAZY | RTLD_NOLOAD);
  void* function = library == nullptr ? nullptr : ::dlsym(library, name);
  if (function == nullptr) std::abort();
  return function;
}

}  // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED amd_comgr_status_t
amd_comgr_action_info_set_working_directory_path(amd_comgr_action_info_t info, const char* path) {
  static const auto real = reinterpret_cast<SetFolder>(
      real_function("amd_comgr_action_info_set_working_directory_path"));
  if (path != nullptr) folder_set = true;
  return real(info, path);
}

EXPORTED amd_comgr_status_t amd_comgr_do_action(amd_comgr_action_kind_t kind,
                                                amd_comgr_action_info_t info,
                                                amd_comgr_data_set_t input,
                                                amd_comgr_data_set_t result) {
  static const auto real = reinterpret_cast<Action>(real_function("amd_comgr_do_action"));
  const char* folder = std::getenv("GFXGRAPH_TEST_COMGR_CACHE");
  const bool wanted = folder != nullptr && *folder != '\0' && is_empty(result);
  const auto key = wanted ? key_of(kind, info, input) : std::nullopt;
  if (!key) return real(kind, info, input, result);
  const std::string path = std::string(folder) + "/" + *key;
  if (const auto items = load(path)) {
    for (const Item& item : *items) {
      if (!add(result, item)) return AMD_COMGR_STATUS_ERROR;
    }
    return AMD_COMGR_STATUS_SUCCESS;
  }
  const amd_comgr_status_t status = real(kind, info, input, result);
  if (status == AMD_COMGR_STATUS_SUCCESS) store(path, result);
  return status;
}
