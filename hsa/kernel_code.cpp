// What a kernel's instructions can do to shared memory, for gfxgraph-replay (base/kernel_code.h).
#include "base/kernel_code.h"

#include <cstring>
#include <exception>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codeobj/code_object.h"
#include "emulator/decode/inst.h"

namespace gfxgraph::hsa {
namespace {

using emulator::Format;
using emulator::Inst;
using emulator::Op;
using emulator::OpInfo;

// The bytes of the file from `address` to the end of its segment.
std::span<const std::byte> bytes_at(const codeobj::CodeObject& object, uint64_t address) {
  for (const codeobj::Segment& segment : object.segments()) {
    if (!segment.executable || address < segment.address) continue;
    const uint64_t offset = address - segment.address;
    if (offset >= segment.file_bytes) continue;
    return object.bytes().subspan(segment.file_offset + offset, segment.file_bytes - offset);
  }
  return {};
}

uint32_t code_of(const Inst& inst) {
  switch (inst.op) {
    case Op::s_swappc_b64:
    case Op::s_setpc_b64:
    case Op::s_call_b64: return kernel_code::kOther;
    default: break;
  }
  if (inst.format == Format::kMimg) return kernel_code::kOther;
  const OpInfo& info = emulator::op_info(inst.op);
  if (inst.format == Format::kScratch) return 0;
  if ((info.flags & OpInfo::kAtomic) == 0) {
    return (info.flags & OpInfo::kStore) != 0 ? kernel_code::kStores : 0;
  }
  const bool returns =
      inst.format == Format::kDs ? info.dst_dwords != 0 : (inst.mods & emulator::mmod::kGlc) != 0;
  return kernel_code::kAtomics | (returns ? kernel_code::kReturningAtomics : 0) |
         ((info.flags & OpInfo::kFloatAtomic) != 0 ? kernel_code::kFloatAtomics : 0);
}

uint32_t code_of(std::span<const std::byte> elf, std::string_view name) {
  const auto object = codeobj::CodeObject::parse(elf);
  if (!object) return kernel_code::kOther;
  const std::string& arch = (*object)->gpu_arch();
  const codeobj::Kernel* const kernel = (*object)->find_kernel(name);
  if (kernel == nullptr || (arch != "gfx1030" && arch != "gfx10-3-generic"))
    return kernel_code::kOther;
  const std::span<const std::byte> bytes = bytes_at(**object, kernel->entry_address);
  if (kernel->code_bytes == 0 || kernel->code_bytes > bytes.size()) return kernel_code::kOther;
  std::vector<uint32_t> words(kernel->code_bytes / sizeof(uint32_t));
  std::memcpy(words.data(), bytes.data(), words.size() * sizeof(uint32_t));
  uint32_t code = 0;
  for (size_t i = 0; i < words.size();) {
    Inst inst;
    const uint64_t pc = kernel->entry_address + i * sizeof(uint32_t);
    if (emulator::decode(words.data() + i, words.size() - i, pc, inst) !=
        emulator::DecodeStatus::kOk)
      return code | kernel_code::kOther;
    code |= code_of(inst);
    i += inst.size_bytes() / sizeof(uint32_t);
  }
  return code;
}

}  // namespace
}  // namespace gfxgraph::hsa

extern "C" __attribute__((visibility("default"))) uint32_t
gfxgraph_agent_kernel_code(const void* elf, size_t elf_bytes, const char* kernel) {
  try {
    return gfxgraph::hsa::code_of({static_cast<const std::byte*>(elf), elf_bytes}, kernel);
  } catch (const std::exception&) {  // out of memory
    return gfxgraph::kernel_code::kOther;
  }
}
