#include "check/launch/loaded_code.h"

#include <fmt/format.h>

#include <cstring>
#include <variant>

#include "base/checked.h"
#include "codeobj/relocate.h"
#include "codeobj/variables.h"

namespace gfxgraph::check {
namespace {

// What add_own() maps.
uint64_t in_pages(uint64_t size_bytes) {
  constexpr uint64_t kMapped = 4096;
  return (size_bytes + kMapped - 1) / kMapped * kMapped;
}

// Module globals by code object; index = id - 1.
using Globals = std::vector<std::vector<const format::AllocationBegin*>>;

Globals find_globals(const format::Trace& trace) {
  Globals globals(trace.code_objects().size());
  for (const format::Event& event : trace.events()) {
    const auto* const begin = std::get_if<format::AllocationBegin>(&event.action);
    if (begin == nullptr || begin->kind != format::AllocationKind::kModuleGlobal ||
        begin->host_address != 0 || begin->code_object == 0 ||
        begin->code_object > globals.size()) {
      continue;  // a __managed__ variable stands outside of its code object
    }
    globals[begin->code_object - 1].push_back(begin);
  }
  return globals;
}

// Where the recorded process must have loaded an object, by its first global with a known address.
std::optional<uint64_t> recorded_load_address(
    const std::vector<const format::AllocationBegin*>& globals, const LoadedCode& code,
    format::CodeObjectId id, std::vector<std::string>& notes) {
  std::optional<uint64_t> address;
  for (const format::AllocationBegin* const begin : globals) {
    const auto symbol = code.symbols->find(begin->symbol);
    if (symbol == code.symbols->end()) continue;
    const uint64_t base = begin->recorded_address - symbol->second;
    if (!address) address = base;
    if (*address == base) continue;
    notes.push_back(fmt::format(
        "code object {}: the recorded address {:#x} of {} does not fit the other globals; code "
        "reaches it at {:#x}",
        id, begin->recorded_address, begin->symbol, *address + symbol->second));
  }
  return address;
}

// Objects with the same bytes are parsed once: a record that names them costs a few bytes.
using Parsed = std::map<format::BlobId, LoadedCode>;

Result<LoadedCode> parse(const format::Trace& trace, const format::CodeObject& code,
                         Parsed& parsed) {
  if (const auto found = parsed.find(code.elf); found != parsed.end()) return found->second;
  GFXGRAPH_ASSIGN_OR_RETURN(const std::span<const std::byte> elf, trace.blob(code.elf));
  LoadedCode loaded;
  GFXGRAPH_ASSIGN_OR_RETURN(loaded.object, codeobj::CodeObject::parse(elf));
  if (loaded.object->gpu_arch() != "gfx1030" && loaded.object->gpu_arch() != "gfx10-3-generic") {
    return fail(Status::kUnsupported,
                fmt::format("it is for {}; the check executes gfx1030", loaded.object->gpu_arch()));
  }
  auto symbols = std::make_shared<std::map<std::string_view, uint64_t>>();
  for (const codeobj::Symbol& symbol : loaded.object->symbols()) {
    if (!symbol.undefined) symbols->emplace(symbol.name, symbol.address);
  }
  loaded.symbols = std::move(symbols);
  parsed.emplace(code.elf, loaded);
  return loaded;
}

// Data may look like one: then the check assumes an order that does not exist.
void find_fences(std::span<const std::byte> bytes, LoadedCode& loaded) {
  constexpr uint32_t kGl0Inv = 0xe1c40000;  // buffer_gl0_inv, what an acquiring fence ends with
  constexpr uint32_t kGl1Inv = 0xe1c80000;  // the same across workgroups
  constexpr uint32_t kBarrier = 0xbf8a0000;
  const auto word = [&](size_t at) {
    uint32_t value = 0;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
  };
  const auto waits = [](uint32_t value) {
    return value >> 16 == 0xbf8c || value >> 16 == 0xbbfd;  // s_waitcnt, s_waitcnt_vscnt null
  };
  for (size_t at = 0; at + 4 <= bytes.size(); at += 4) {
    const uint32_t value = word(at);
    if (value == kGl1Inv) loaded.has_fences = true;
    if (value != kGl0Inv || loaded.has_group_fences) continue;
    size_t before = at;
    while (before >= 4 && waits(word(before - 4))) before -= 4;
    // Otherwise it is the end of __syncthreads().
    loaded.has_group_fences = before < 4 || word(before - 4) != kBarrier;
  }
}

// Loads it into own memory of the check that begins there.
Result<void> fill(LoadedCode& loaded, uint64_t begin, DeviceMemory& memory) {
  const uint64_t first = loaded.object->segments().front().address;
  const uint64_t size = loaded.object->load_size_bytes();
  loaded.load_address = begin - first;
  loaded.end = begin + size;
  const codeobj::SymbolResolver nobody = [](const std::string&) { return std::nullopt; };
  GFXGRAPH_TRY(codeobj::load_segments(*loaded.object, memory.own_bytes(begin).first(size),
                                      loaded.load_address, nobody));
  find_fences(memory.own_bytes(begin).first(size), loaded);
  std::vector<DeviceMemory::Part> parts;
  for (const codeobj::Variable& variable : codeobj::variables_of(*loaded.object)) {
    if (variable.address < first ||
        !range_fits(variable.address - first, variable.room_bytes, size))
      continue;
    parts.push_back(
        {variable.name, variable.address - first, variable.size_bytes, variable.room_bytes});
  }
  if (!parts.empty()) GFXGRAPH_TRY(memory.divide_own(begin, parts));
  return {};
}

Result<LoadedCode> load_one(const format::Trace& trace, const format::CodeObject& code,
                            const std::vector<const format::AllocationBegin*>& globals,
                            Parsed& parsed, DeviceMemory& memory, std::vector<std::string>& notes,
                            Taken taken) {
  GFXGRAPH_ASSIGN_OR_RETURN(LoadedCode loaded, parse(trace, code, parsed));
  const uint64_t first = loaded.object->segments().front().address;
  const uint64_t size = loaded.object->load_size_bytes();
  const std::optional<uint64_t> recorded = recorded_load_address(globals, loaded, code.id, notes);
  const std::string name = fmt::format("code object {}", code.id);
  Result<uint64_t> placed =
      memory.add_own(size, emulator::RegionKind::kCode, name, recorded ? *recorded + first : 0);
  if (!placed && recorded) {
    // A module that was unloaded before: both cannot be loaded at the same time.
    if (taken == Taken::kStays)
      notes.push_back(fmt::format(
          "{}: recorded address in use ({}); loaded elsewhere, where the trace's pointers to its "
          "variables and code lead, too",
          name, placed.error().message));
    placed = memory.add_own(size, emulator::RegionKind::kCode, name);
  }
  GFXGRAPH_ASSIGN_OR_RETURN(const uint64_t begin, std::move(placed));
  GFXGRAPH_TRY(fill(loaded, begin, memory));
  return loaded;
}

void unload(LoadedCode& code, DeviceMemory& memory, emulator::Engine& engine) {
  engine.remove_code(code.load_address);
  memory.remove_own(code.load_address + code.object->segments().front().address);
  code.load_address = code.end = 0;
}

}  // namespace

Result<std::vector<LoadedCode>> load_code(const format::Trace& trace, DeviceMemory& memory,
                                          emulator::Engine& engine, Budget& budget,
                                          std::vector<std::string>& notes, Taken taken) {
  std::vector<LoadedCode> result;
  const Globals globals = find_globals(trace);
  Parsed parsed;
  for (const format::CodeObject& code : trace.code_objects()) {
    if (!budget.go_on()) return fail(Status::kOutOfMemory, budget.reason());
    if (code.image_of != 0) {  // for another target: no launch names it
      result.emplace_back();
      continue;
    }
    Result<LoadedCode> loaded =
        load_one(trace, code, globals[code.id - 1], parsed, memory, notes, taken);
    if (!loaded) {
      return with_context(std::move(loaded).error(), fmt::format("code object {}", code.id));
    }
    GFXGRAPH_TRY(engine.add_code(loaded->load_address, loaded->object));
    result.push_back(std::move(*loaded));
  }
  return result;
}

Result<void> move_code(std::vector<LoadedCode>& loaded, const format::AllocationBegin& global,
                       const std::function<bool(format::CodeObjectId)>& in_use,
                       DeviceMemory& memory, emulator::Engine& engine) {
  LoadedCode& code = loaded[global.code_object - 1];
  const auto symbol = code.symbols->find(global.symbol);
  const auto refused = [&] {
    return fail(Status::kUnsupported,
                fmt::format("variable {}: its recorded address {:#x} is in use", global.symbol,
                            global.recorded_address));
  };
  const uint64_t first = code.object->segments().front().address;
  const uint64_t size = code.object->load_size_bytes();
  if (symbol == code.symbols->end() || symbol->second < first ||
      symbol->second - first > global.recorded_address || in_use(global.code_object))
    return refused();
  const uint64_t begin = global.recorded_address - (symbol->second - first);
  if (!checked_add(begin, in_pages(size))) return refused();
  for (size_t i = 0; i < loaded.size(); ++i) {
    LoadedCode& other = loaded[i];
    if (!other.loaded()) continue;
    const uint64_t start = other.load_address + other.object->segments().front().address;
    const bool overlaps =
        start < begin + in_pages(size) && begin < start + in_pages(other.end - start);
    if (&other != &code && !overlaps) continue;
    if (in_use(static_cast<format::CodeObjectId>(i + 1))) return refused();
    unload(other, memory, engine);
  }
  const std::string name = fmt::format("code object {}", global.code_object);
  if (!memory.add_own(size, emulator::RegionKind::kCode, name, begin)) return refused();
  GFXGRAPH_TRY(fill(code, begin, memory));
  return engine.add_code(code.load_address, code.object);
}

std::optional<uint64_t> LoadedCode::address_of(const std::string& symbol) const {
  const auto found = symbols->find(symbol);
  if (found == symbols->end()) return std::nullopt;
  return load_address + found->second;
}

uint64_t global_address(const std::vector<LoadedCode>& loaded,
                        const format::AllocationBegin& global) {
  if (global.code_object == 0 || global.code_object > loaded.size()) return global.recorded_address;
  return loaded[global.code_object - 1].address_of(global.symbol).value_or(global.recorded_address);
}

void point_to_managed(const std::vector<LoadedCode>& loaded, const format::AllocationBegin& global,
                      DeviceMemory& memory) {
  if (global.code_object == 0 || global.code_object > loaded.size()) return;
  const LoadedCode& code = loaded[global.code_object - 1];
  const std::optional<uint64_t> place = code.address_of(global.symbol);
  if (!place) return;
  const uint64_t begin = code.load_address + code.object->segments().front().address;
  const std::span<std::byte> bytes = memory.own_bytes(begin);
  const uint64_t address = global.recorded_address;
  if (!range_fits(*place - begin, sizeof(address), bytes.size()) ||
      memory.is_read_only(*place, sizeof(address)))
    return;
  std::memcpy(bytes.data() + (*place - begin), &address, sizeof(address));
}

const LoadedCode* find_code(const std::vector<LoadedCode>& loaded, uint64_t pc) {
  for (const LoadedCode& code : loaded) {
    if (pc >= code.load_address && pc < code.end) return &code;
  }
  return nullptr;
}

}  // namespace gfxgraph::check
