#include "lanecheck/loaded_code.h"

#include <fmt/format.h>

#include <cstring>
#include <variant>

#include "base/checked.h"
#include "codeobj/relocate.h"

namespace gfxgraph::lanecheck {
namespace {

// Where the recorded process must have loaded an object, by its first global with a known address.
std::optional<uint64_t> recorded_load_address(const format::Trace& trace,
                                              const format::CodeObject& code,
                                              const codeobj::CodeObject& object,
                                              std::vector<std::string>& notes) {
  std::optional<uint64_t> address;
  for (const format::Event& event : trace.events()) {
    const auto* const begin = std::get_if<format::AllocationBegin>(&event.action);
    if (begin == nullptr || begin->kind != format::AllocationKind::kModuleGlobal ||
        begin->code_object != code.id || begin->host_address != 0) {
      continue;  // a __managed__ variable stands outside of its code object
    }
    for (const codeobj::Symbol& symbol : object.symbols()) {
      if (symbol.name != begin->symbol || symbol.undefined) continue;
      const uint64_t base = begin->recorded_address - symbol.address;
      if (!address) address = base;
      if (*address != base) {
        notes.push_back(fmt::format(
            "code object {}: the recorded address {:#x} of {} does not fit the other globals; code "
            "reaches it at {:#x}",
            code.id, begin->recorded_address, symbol.name, *address + symbol.address));
      }
    }
  }
  return address;
}

Result<LoadedCode> load_one(const format::Trace& trace, const format::CodeObject& code,
                            DeviceMemory& memory, std::vector<std::string>& notes) {
  GFXGRAPH_ASSIGN_OR_RETURN(const std::span<const std::byte> elf, trace.blob(code.elf));
  LoadedCode loaded;
  GFXGRAPH_ASSIGN_OR_RETURN(loaded.object, codeobj::CodeObject::parse(elf));
  if (loaded.object->gpu_arch() != "gfx1030" && loaded.object->gpu_arch() != "gfx10-3-generic") {
    return fail(Status::kUnsupported,
                fmt::format("it is for {}; the check executes gfx1030", loaded.object->gpu_arch()));
  }
  const uint64_t first = loaded.object->segments().front().address;
  const uint64_t size = loaded.object->load_size_bytes();
  const std::optional<uint64_t> recorded =
      recorded_load_address(trace, code, *loaded.object, notes);
  const std::string name = fmt::format("code object {}", code.id);
  Result<uint64_t> placed =
      memory.add_own(size, emulator::RegionKind::kCode, name, recorded ? *recorded + first : 0);
  if (!placed && recorded) {
    // A module that was unloaded before: both cannot be there at once.
    notes.push_back(
        fmt::format("{}: its recorded place is taken ({}); pointers to its variables that "
                    "the program stored lead elsewhere",
                    name, placed.error().message));
    placed = memory.add_own(size, emulator::RegionKind::kCode, name);
  }
  GFXGRAPH_ASSIGN_OR_RETURN(const uint64_t begin, std::move(placed));
  loaded.load_address = begin - first;
  loaded.end = begin + size;
  const codeobj::SymbolResolver nobody = [](const std::string&) { return std::nullopt; };
  GFXGRAPH_TRY(codeobj::load_segments(*loaded.object, memory.own_bytes(begin).first(size),
                                      loaded.load_address, nobody));
  return loaded;
}

}  // namespace

Result<std::vector<LoadedCode>> load_code(const format::Trace& trace, DeviceMemory& memory,
                                          emulator::Engine& engine,
                                          std::vector<std::string>& notes) {
  std::vector<LoadedCode> result;
  for (const format::CodeObject& code : trace.code_objects()) {
    Result<LoadedCode> loaded = load_one(trace, code, memory, notes);
    if (!loaded) {
      return with_context(std::move(loaded).error(), fmt::format("code object {}", code.id));
    }
    GFXGRAPH_TRY(engine.add_code(loaded->load_address, loaded->object));
    result.push_back(std::move(*loaded));
  }
  return result;
}

uint64_t global_address(const std::vector<LoadedCode>& loaded,
                        const format::AllocationBegin& global) {
  if (global.code_object == 0 || global.code_object > loaded.size()) return global.recorded_address;
  const LoadedCode& code = loaded[global.code_object - 1];
  for (const codeobj::Symbol& symbol : code.object->symbols()) {
    if (symbol.name == global.symbol && !symbol.undefined) {
      return code.load_address + symbol.address;
    }
  }
  return global.recorded_address;
}

void point_to_managed(const std::vector<LoadedCode>& loaded, const format::AllocationBegin& global,
                      DeviceMemory& memory) {
  if (global.code_object == 0 || global.code_object > loaded.size()) return;
  const LoadedCode& code = loaded[global.code_object - 1];
  const uint64_t begin = code.load_address + code.object->segments().front().address;
  const std::span<std::byte> bytes = memory.own_bytes(begin);
  for (const codeobj::Symbol& symbol : code.object->symbols()) {
    if (symbol.name != global.symbol || symbol.undefined) continue;
    const uint64_t offset = code.load_address + symbol.address - begin;
    const uint64_t address = global.recorded_address;
    if (!range_fits(offset, sizeof(address), bytes.size())) continue;
    std::memcpy(bytes.data() + offset, &address, sizeof(address));
  }
}

const LoadedCode* find_code(const std::vector<LoadedCode>& loaded, uint64_t pc) {
  for (const LoadedCode& code : loaded) {
    if (pc >= code.load_address && pc < code.end) return &code;
  }
  return nullptr;
}

}  // namespace gfxgraph::lanecheck
