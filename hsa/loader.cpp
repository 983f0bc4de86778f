#include "hsa/loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>
#include <shared_mutex>

#include "base/checked.h"
#include "base/process/gpu_target.h"
#include "codeobj/printf_formats.h"
#include "codeobj/relocate.h"
#include "hsa/device.h"
#include "hsa/memory.h"
#include "hsa/queue/host_calls.h"
#include "hsa/runtime.h"
#include "hsa/target.h"

namespace gfxgraph::hsa {
namespace {

// Larger than any real code object; keeps a corrupt header from reserving too much memory.
constexpr uint64_t kMaxLoadBytes = uint64_t{4} << 30;

struct Reader {
  std::vector<std::byte> owned;
  std::span<const std::byte> bytes;
};

struct Executable {
  bool frozen = false;
  std::map<std::string, uint64_t> definitions;
  std::map<std::string, uint64_t> symbols;  // name -> handle
  std::vector<uint64_t> objects;
};

struct Tables {
  std::shared_mutex mutex;
  uint64_t next_handle = 1;
  std::map<uint64_t, std::shared_ptr<Reader>> readers;
  std::map<uint64_t, Executable> executables;
  std::map<uint64_t, LoadedSymbol> symbols;
  std::map<uint64_t, LoadedObject> objects;
};

Tables& tables() {
  static auto* const instance = new Tables();
  return *instance;
}

tl::unexpected<Error> no_executable(uint64_t handle) {
  return fail(Status::kInvalidArgument, fmt::format("there is no executable {}", handle));
}

uint64_t add_reader(std::shared_ptr<Reader> reader) {
  Tables& t = tables();
  const std::lock_guard lock(t.mutex);
  const uint64_t handle = t.next_handle++;
  t.readers.emplace(handle, std::move(reader));
  return handle;
}

// The lowest address of all segments, and the size from there to the end.
Result<std::pair<uint64_t, uint64_t>> load_range(const codeobj::CodeObject& code) {
  uint64_t first = UINT64_MAX;
  for (const codeobj::Segment& segment : code.segments()) first = std::min(first, segment.address);
  if (first == UINT64_MAX) return fail(Status::kCorrupt, "the code object has no loadable segment");
  first &= ~uint64_t{kPageBytes - 1};
  uint64_t end = first;
  for (const codeobj::Segment& segment : code.segments()) {
    const auto segment_end = checked_add(segment.address, segment.memory_bytes);
    if (!segment_end || segment.file_bytes > segment.memory_bytes) {
      return fail(Status::kCorrupt,
                  fmt::format("segment at {:#x} has impossible sizes", segment.address));
    }
    if (segment.align_bytes > kPageBytes) {
      return fail(Status::kUnsupported,
                  fmt::format("segment at {:#x}: p_align {:#x} exceeds the page size {:#x}, to "
                              "which memory is aligned",
                              segment.address, segment.align_bytes, uint64_t{kPageBytes}));
    }
    end = std::max(end, *segment_end);
  }
  if (end - first > kMaxLoadBytes || end == first) {
    return fail(Status::kCorrupt,
                fmt::format("the segments (p_vaddr and p_memsz) span {} bytes; at most {} can be "
                            "loaded",
                            end - first, kMaxLoadBytes));
  }
  return std::pair(first, end - first);
}

LoadedSymbol describe_kernel(const codeobj::Kernel& kernel, uint64_t load_address) {
  LoadedSymbol symbol;
  symbol.name = kernel.symbol;
  symbol.kernel = true;
  symbol.constant = true;
  symbol.address = load_address + kernel.descriptor_address;
  symbol.size_bytes = 64;
  symbol.descriptor = kernel.descriptor;
  symbol.kernarg_size_bytes = std::max(kernel.kernarg_size_bytes, kernel.descriptor.kernarg_bytes);
  symbol.kernarg_align_bytes = std::max<uint32_t>(kernel.kernarg_align_bytes, 16);
  return symbol;
}

std::vector<LoadedSymbol> describe_symbols(const codeobj::CodeObject& code, uint64_t load_address) {
  std::vector<LoadedSymbol> symbols;
  for (const codeobj::Kernel& kernel : code.kernels()) {
    symbols.push_back(describe_kernel(kernel, load_address));
  }
  for (const codeobj::Symbol& entry : code.symbols()) {
    if (entry.undefined || entry.type != codeobj::Symbol::Type::kObject ||
        entry.name.ends_with(".kd"))
      continue;
    LoadedSymbol symbol;
    symbol.name = entry.name;
    symbol.constant = entry.constant;
    symbol.address = load_address + entry.address;
    symbol.size_bytes = entry.size_bytes;
    symbols.push_back(symbol);
  }
  return symbols;
}

// Owns code memory and frees it unless it is kept.
class CodeMemory {
 public:
  explicit CodeMemory(std::byte* memory) : memory_(memory) {}
  ~CodeMemory() {
    if (memory_ != nullptr) release_agent_memory(memory_);
  }
  CodeMemory(const CodeMemory&) = delete;
  CodeMemory& operator=(const CodeMemory&) = delete;
  std::byte* keep() { return std::exchange(memory_, nullptr); }

 private:
  std::byte* memory_;
};

Result<LoadedObject> load(const Reader& reader, uint32_t device,
                          const std::map<std::string, uint64_t>& definitions) {
  GFXGRAPH_ASSIGN_OR_RETURN(std::shared_ptr<const codeobj::CodeObject> code,
                            codeobj::CodeObject::parse(reader.bytes));
  if (!code_suits(code->target(), target().name())) {
    return fail(
        Status::kUnsupported,
        fmt::format("the code object is for {}, the {} GPU is {}", code->target(),
                    execution() == Execution::kCopies ? "described" : "emulated", target().name()));
  }
  if (host_calls_denied() && codeobj::has_printf_formats(*code)) {
    return fail(Status::kUnsupported,
                "the code object prints through a buffer that HIP reads unchecked (amdhsa.printf); "
                "GFXGRAPH_HOST_CALLS=allow runs it");
  }
  GFXGRAPH_ASSIGN_OR_RETURN(const auto range, load_range(*code));
  const auto [first, bytes] = range;
  const std::string name =
      code->kernels().empty() ? "code" : fmt::format("code of {}", code->kernels().front().name);
  GFXGRAPH_ASSIGN_OR_RETURN(std::byte* const memory, allocate_code_memory(bytes, name));
  CodeMemory guard(memory);
  const std::span<std::byte> span(memory, bytes);
  const uint64_t load_address = reinterpret_cast<uint64_t>(memory) - first;
  const auto resolve = [&](const std::string& symbol_name) -> std::optional<uint64_t> {
    const auto defined = definitions.find(symbol_name);
    if (defined == definitions.end()) return std::nullopt;
    return defined->second;
  };
  // The block begins at a page boundary; the first segment may begin inside the page.
  const uint64_t begin = code->segments().front().address - first;
  GFXGRAPH_TRY(codeobj::load_segments(*code, span.subspan(begin), load_address, resolve));
  GFXGRAPH_TRY(Device::add_code(device, load_address, code));

  LoadedObject object;
  object.code = std::move(code);
  object.device = device;
  object.memory = guard.keep();
  object.memory_bytes = bytes;
  object.load_address = load_address;
  object.storage = reinterpret_cast<uint64_t>(reader.bytes.data());
  object.storage_bytes = reader.bytes.size();
  return object;
}

}  // namespace

uint64_t create_reader(std::span<const std::byte> bytes) {
  auto reader = std::make_shared<Reader>();
  reader->bytes = bytes;
  return add_reader(std::move(reader));
}

uint64_t create_owning_reader(std::vector<std::byte> bytes) {
  auto reader = std::make_shared<Reader>();
  reader->owned = std::move(bytes);
  reader->bytes = reader->owned;
  return add_reader(std::move(reader));
}

bool destroy_reader(uint64_t reader) {
  Tables& t = tables();
  const std::lock_guard lock(t.mutex);
  return t.readers.erase(reader) != 0;
}

bool reader_exists(uint64_t reader) {
  Tables& t = tables();
  const std::shared_lock lock(t.mutex);
  return t.readers.contains(reader);
}

uint64_t create_executable() {
  Tables& t = tables();
  const std::lock_guard lock(t.mutex);
  const uint64_t handle = t.next_handle++;
  t.executables.emplace(handle, Executable{});
  return handle;
}

bool executable_exists(uint64_t executable) {
  Tables& t = tables();
  const std::shared_lock lock(t.mutex);
  return t.executables.contains(executable);
}

Result<bool> is_frozen(uint64_t executable) {
  Tables& t = tables();
  const std::shared_lock lock(t.mutex);
  const auto found = t.executables.find(executable);
  if (found == t.executables.end()) return no_executable(executable);
  return found->second.frozen;
}

Result<void> destroy_executable(uint64_t executable) {
  Tables& t = tables();
  std::vector<LoadedObject> gone;
  {
    const std::lock_guard lock(t.mutex);
    const auto found = t.executables.find(executable);
    if (found == t.executables.end()) return no_executable(executable);
    for (const auto& [name, handle] : found->second.symbols) t.symbols.erase(handle);
    for (const uint64_t handle : found->second.objects) {
      gone.push_back(t.objects.at(handle));
      t.objects.erase(handle);
    }
    t.executables.erase(found);
  }
  for (const LoadedObject& object : gone)
    Device::remove_code(object.device, object.load_address, object.memory);
  return {};
}

Result<void> define_variable(uint64_t executable, uint32_t device, const std::string& name,
                             uint64_t address) {
  Tables& t = tables();
  const std::lock_guard lock(t.mutex);
  const auto found = t.executables.find(executable);
  if (found == t.executables.end()) return no_executable(executable);
  Executable& e = found->second;
  if (e.symbols.contains(name) || !e.definitions.emplace(name, address).second) {
    return fail(Status::kMismatch, fmt::format("variable {} is already defined", name));
  }
  LoadedSymbol symbol;
  symbol.name = name;
  symbol.address = address;
  symbol.executable = executable;
  symbol.device = device;
  const uint64_t handle = t.next_handle++;
  e.symbols.emplace(name, handle);
  t.symbols.emplace(handle, std::move(symbol));
  return {};
}

Result<uint64_t> load_code_object(uint64_t executable, uint32_t device, uint64_t reader) {
  Tables& t = tables();
  std::shared_ptr<Reader> source;
  std::map<std::string, uint64_t> definitions;
  {
    const std::shared_lock lock(t.mutex);
    const auto found = t.executables.find(executable);
    if (found == t.executables.end()) return no_executable(executable);
    const auto found_reader = t.readers.find(reader);
    if (found_reader == t.readers.end()) {
      return fail(Status::kInvalidArgument,
                  fmt::format("there is no code object reader {}", reader));
    }
    source = found_reader->second;
    definitions = found->second.definitions;
  }
  Result<LoadedObject> loaded = load(*source, device, definitions);
  if (!loaded) {
    return with_context(std::move(loaded).error(),
                        fmt::format("the code object of {} bytes at {}", source->bytes.size(),
                                    static_cast<const void*>(source->bytes.data())));
  }
  LoadedObject object = std::move(*loaded);
  const std::vector<LoadedSymbol> symbols = describe_symbols(*object.code, object.load_address);

  const std::lock_guard lock(t.mutex);
  const auto found = t.executables.find(executable);
  if (found == t.executables.end()) {
    Device::remove_code(object.device, object.load_address, object.memory);
    return no_executable(executable);
  }
  for (const LoadedSymbol& symbol : symbols) {
    if (!found->second.symbols.contains(symbol.name)) continue;
    Device::remove_code(object.device, object.load_address, object.memory);
    return fail(Status::kMismatch,
                fmt::format("{} {}: executable {} already defines it and would keep using the "
                            "first one; load the code object into its own executable",
                            symbol.kernel ? "kernel" : "variable", symbol.name, executable));
  }
  const uint64_t object_handle = t.next_handle++;
  object.executable = executable;
  found->second.objects.push_back(object_handle);
  t.objects.emplace(object_handle, std::move(object));
  for (LoadedSymbol symbol : symbols) {
    const uint64_t handle = t.next_handle++;
    symbol.executable = executable;
    symbol.device = device;
    if (found->second.symbols.emplace(symbol.name, handle).second)
      t.symbols.emplace(handle, std::move(symbol));
  }
  return object_handle;
}

Result<void> freeze_executable(uint64_t executable) {
  Tables& t = tables();
  const std::lock_guard lock(t.mutex);
  const auto found = t.executables.find(executable);
  if (found == t.executables.end()) return no_executable(executable);
  found->second.frozen = true;
  return {};
}

Result<uint64_t> find_symbol(uint64_t executable, const std::string& name) {
  Tables& t = tables();
  const std::shared_lock lock(t.mutex);
  const auto found = t.executables.find(executable);
  if (found == t.executables.end()) return no_executable(executable);
  const auto symbol = found->second.symbols.find(name);
  if (symbol == found->second.symbols.end()) {
    return fail(Status::kNotFound, fmt::format("the executable has no symbol {}", name));
  }
  return symbol->second;
}

Result<std::vector<uint64_t>> symbols_of(uint64_t executable) {
  Tables& t = tables();
  const std::shared_lock lock(t.mutex);
  const auto found = t.executables.find(executable);
  if (found == t.executables.end()) return no_executable(executable);
  std::vector<uint64_t> handles;
  for (const auto& [name, handle] : found->second.symbols) handles.push_back(handle);
  return handles;
}

Result<std::vector<uint64_t>> loaded_objects_of(uint64_t executable) {
  Tables& t = tables();
  const std::shared_lock lock(t.mutex);
  const auto found = t.executables.find(executable);
  if (found == t.executables.end()) return no_executable(executable);
  return found->second.objects;
}

std::vector<uint64_t> executables() {
  Tables& t = tables();
  const std::shared_lock lock(t.mutex);
  std::vector<uint64_t> handles;
  for (const auto& [handle, executable] : t.executables) handles.push_back(handle);
  return handles;
}

std::optional<LoadedSymbol> get_symbol(uint64_t symbol) {
  Tables& t = tables();
  const std::shared_lock lock(t.mutex);
  const auto found = t.symbols.find(symbol);
  if (found == t.symbols.end()) return std::nullopt;
  return found->second;
}

std::optional<LoadedObject> get_loaded_object(uint64_t object) {
  Tables& t = tables();
  const std::shared_lock lock(t.mutex);
  const auto found = t.objects.find(object);
  if (found == t.objects.end()) return std::nullopt;
  return found->second;
}

std::optional<LoadedObject> loaded_object_at(uint64_t address) {
  Tables& t = tables();
  const std::shared_lock lock(t.mutex);
  for (const auto& [handle, object] : t.objects) {
    if (address - reinterpret_cast<uint64_t>(object.memory) < object.memory_bytes) return object;
  }
  return std::nullopt;
}

void reset_loader_after_fork() noexcept { new (&tables().mutex) std::shared_mutex(); }

}  // namespace gfxgraph::hsa
