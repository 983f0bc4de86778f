// Any bytes as a kernel: the first 32 say what its descriptor and dispatch ask for, the rest is its
// code. Runs in the emulator within a small budget, wave32 or wave64: it ends or faults, and
// touches nothing outside of the memory map.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "emulator/engine/engine.h"

namespace {

using namespace gfxgraph::emulator;

struct Head {
  uint32_t rsrc1;
  uint32_t rsrc2;
  uint16_t properties;
  uint16_t items[3];  // of a workgroup
  uint16_t grid[3];
  uint16_t lds;
  uint16_t scratch;
  uint8_t flags;  // 1: float mode and properties that compilers use
  uint8_t unused[5];
};
static_assert(sizeof(Head) == 32);

constexpr uint64_t kEntry = 256;  // of the code, from the descriptor
constexpr size_t kMostCode = 16384;
constexpr size_t kDataBytes = 8192;
constexpr uint64_t kMostInstructions = 4000;  // without a wave's end

struct Memory {
  explicit Memory(size_t bytes)
      : size(bytes), host(new(std::align_val_t{4096}) std::byte[bytes]()) {}
  ~Memory() { ::operator delete[](host, std::align_val_t{4096}); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  uint64_t address() const { return reinterpret_cast<uint64_t>(host); }
  size_t size;
  std::byte* host;
};

void add(MemoryMap& map, const Memory& memory, RegionKind kind, bool read_only) {
  Region region;
  region.address = memory.address();
  region.requested_bytes = region.mapped_bytes = memory.size;
  region.host = memory.host;
  region.kind = kind;
  region.read_only = read_only;
  region.name = "fuzz";
  if (!map.add(region)) std::abort();
}

void write_descriptor(const Head& head, std::byte* to) {
  uint32_t rsrc1 = head.rsrc1;
  uint16_t properties = head.properties & 0x0c7f;
  if ((head.flags & 1) != 0) {
    constexpr uint32_t kModes = 0xffu << 12 | 1u << 21 | 1u << 23;
    constexpr uint32_t kUsual = 0xf0u << 12 | 1u << 21 | 1u << 23;
    rsrc1 = (rsrc1 & ~kModes) | kUsual;
  }
  const uint32_t words[3] = {head.lds, head.scratch, 64};
  const int64_t entry = kEntry;
  std::memcpy(to, words, sizeof(words));
  std::memcpy(to + 16, &entry, sizeof(entry));
  std::memcpy(to + 48, &rsrc1, sizeof(rsrc1));
  std::memcpy(to + 52, &head.rsrc2, sizeof(head.rsrc2));
  std::memcpy(to + 56, &properties, sizeof(properties));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Head head;
  if (size < sizeof(head) + 4) return 0;
  std::memcpy(&head, data, sizeof(head));
  const size_t code_bytes = std::min(size - sizeof(head), kMostCode) / 4 * 4;

  Memory code(kEntry + code_bytes);
  Memory buffer(kDataBytes);
  Memory system(4096);
  write_descriptor(head, code.host);
  std::memcpy(code.host + kEntry, data + sizeof(head), code_bytes);
  for (size_t n = 0; n < kDataBytes; ++n) buffer.host[n] = static_cast<std::byte>(n * 37 >> 3);
  // Arguments: pointers into the buffer.
  const std::array<uint64_t, 4> pointers = {buffer.address(), buffer.address() + 1024,
                                            buffer.address() + 4096, 16};
  std::memcpy(system.host + 1024, pointers.data(), sizeof(pointers));

  MemoryMap map;
  add(map, code, RegionKind::kCode, true);
  add(map, buffer, RegionKind::kDevice, false);
  add(map, system, RegionKind::kSystem, false);
  EngineOptions options;
  options.threads = 1;
  options.livelock_instructions = kMostInstructions;
  const auto engine = Engine::create(map, options);
  if (!engine->add_raw_code(code.address() + kEntry, code_bytes)) std::abort();

  Dispatch dispatch;
  dispatch.kernel_object = code.address();
  for (size_t n = 0; n < 3; ++n) {
    dispatch.workgroup_size[n] = static_cast<uint16_t>(head.items[n] % 96);
    dispatch.grid_size[n] = std::min<uint32_t>(head.grid[n] % 256, dispatch.workgroup_size[n] * 2u);
  }
  dispatch.kernarg_address = system.address() + 1024;
  dispatch.packet_address = system.address();
  dispatch.queue_address = system.address() + 2048;
  const auto result = engine->run(dispatch);
  if (!result && result.error().to_string().empty()) std::abort();
  return 0;
}
