// AMDGPU code objects: bundles, ELF, metadata notes, kernel descriptors, symbols. LLVM is used in
// the .cpp files only. Source: LLVM AMDGPUUsage ("Code Object", "Kernel Descriptor", metadata
// V3-V6) and clang's ClangOffloadBundler ("Bundled Binary File Layout", compressed bundles "CCOB").
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace gfxgraph::codeobj {

// ---- bundles ------------------------------------------------------------------------------------

// One entry of an offload bundle.
struct BundleEntry {
  std::string id;  // "hipv4-amdgcn-amd-amdhsa--gfx1030"
  std::string
      target;  // "amdgcn-amd-amdhsa--gfx1030", with features such as :xnack+; "" for the host
  std::vector<std::byte> bytes;
};

// Unpacks plain ("__CLANG_OFFLOAD_BUNDLE__") and compressed ("CCOB", zlib or zstd) bundles. Returns
// the entries of all bundles if several follow each other, as in the .hip_fatbin section of a
// program linked from several files.
Result<std::vector<BundleEntry>> unbundle(std::span<const std::byte> bytes);

// The size in bytes of the bundle at `bytes`, for registration calls, which pass a pointer without
// a length. Reads only what the bundle's headers declare.
Result<uint64_t> bundle_size(const std::byte* bytes, uint64_t readable_bytes);

// Every device ELF in a file: the file itself if it is an AMDGPU ELF, else the entries of an
// offload bundle or of a host executable's or library's .hip_fatbin section.
Result<std::vector<BundleEntry>> extract_device_elves(std::span<const std::byte> file);

// The best entry for a GPU: an exact target wins over one whose features are unset ("any").
const BundleEntry* select_entry(const std::vector<BundleEntry>& entries,
                                const std::string& gpu_arch);

// Explains why no code in a program's file can run on `gpu_arch`: the targets it was built for and
// the next step. "" if it has code for that GPU, has no device code, or is not such a file.
std::string explain_other_targets(const std::filesystem::path& program,
                                  const std::string& gpu_arch);

// ---- one device ELF -----------------------------------------------------------------------------

struct Argument {
  std::string name;
  std::string value_kind;  // "global_buffer", "by_value", "hidden_block_count_x", ...
  uint32_t offset_bytes = 0;
  uint32_t size_bytes = 0;
  bool hidden() const { return value_kind.starts_with("hidden_"); }
};

// Size of a kernel descriptor.
inline constexpr uint64_t kDescriptorBytes = 64;

// The 64 bytes at `<name>.kd`, unpacked (AMDGPUUsage, "Kernel Descriptor").
struct KernelDescriptor {
  uint32_t group_segment_bytes = 0;    // static LDS
  uint32_t private_segment_bytes = 0;  // scratch per lane
  uint32_t kernarg_bytes = 0;
  int64_t entry_offset_bytes = 0;  // from the descriptor's address to the first instruction
  uint32_t compute_pgm_rsrc1 = 0;
  uint32_t compute_pgm_rsrc2 = 0;
  uint32_t compute_pgm_rsrc3 = 0;
  uint16_t kernel_code_properties = 0;
  uint16_t kernarg_preload = 0;  // for other GPUs only

  uint32_t vgpr_count(bool wave32) const;  // allocated, from GRANULATED_WORKITEM_VGPR_COUNT
  bool wave32() const { return (kernel_code_properties >> 10 & 1) != 0; }
  bool dynamic_stack() const { return (kernel_code_properties >> 11 & 1) != 0; }
  uint32_t user_sgpr_count() const { return compute_pgm_rsrc2 >> 1 & 31; }
  // The number of user SGPRs that kernel_code_properties enables.
  uint32_t user_sgprs_asked() const;
  // Names the field whose value is invalid for GFX10 kernels and the reason; "": none.
  std::string gfx10_error() const;
};

// Decodes 64 bytes in memory; returns kCorrupt if a reserved bit is set.
Result<KernelDescriptor> decode_descriptor(std::span<const std::byte> bytes);

struct Kernel {
  std::string name;                 // without ".kd"
  std::string symbol;               // with ".kd"
  uint64_t descriptor_address = 0;  // virtual address in the ELF
  uint64_t entry_address = 0;       // descriptor_address + entry_offset_bytes
  uint64_t code_bytes = 0;          // from the STT_FUNC symbol; 0 if there is none (Tensile)
  KernelDescriptor descriptor;
  // From the metadata note:
  uint32_t kernarg_size_bytes = 0;
  uint32_t kernarg_align_bytes = 0;
  uint32_t max_flat_workgroup_size = 0;
  uint32_t sgpr_count = 0;
  uint32_t vgpr_count = 0;
  uint32_t wavefront_size = 0;
  bool uses_dynamic_stack = false;
  std::vector<Argument> arguments;  // explicit and hidden, in order of offset

  // The end of the last explicit argument: the size of a launch's argument buffer.
  uint32_t explicit_size_bytes() const;
  const Argument* find_hidden(std::string_view value_kind) const;
};

struct Segment {  // PT_LOAD
  uint64_t address = 0;
  uint64_t memory_bytes = 0;
  uint64_t file_offset = 0;
  uint64_t file_bytes = 0;
  uint64_t align_bytes = 0;
  bool writable = false;
  bool executable = false;
};

struct Symbol {  // from .dynsym, or from .symtab if there is no .dynsym
  std::string name;
  uint64_t address = 0;
  uint64_t size_bytes = 0;
  enum class Type { kNone, kObject, kFunction, kOther } type = Type::kNone;
  bool undefined = false;
  bool constant = false;  // lies in a segment that is not writable
};

struct DynamicRelocation {
  uint64_t address = 0;
  uint32_t type = 0;  // R_AMDGPU_*
  int64_t addend = 0;
  std::string symbol;  // may be empty
};

struct SourceLocation {
  std::string file;
  uint32_t line = 0;
  uint32_t column = 0;
  std::string function;  // demangled, may be empty
};

// Immutable after parse(); all methods are thread-safe. Owns a copy of the bytes.
class CodeObject {
 public:
  // `bytes` is one ELF64 for EM_AMDGPU. parse() checks every offset, size and count in it.
  static Result<std::shared_ptr<const CodeObject>> parse(std::span<const std::byte> bytes);
  virtual ~CodeObject() = default;

  virtual const std::string& target() const = 0;    // "amdgcn-amd-amdhsa--gfx1030", with features
  virtual const std::string& gpu_arch() const = 0;  // "gfx1030"
  virtual uint32_t abi_version() const = 0;         // ELFABIVERSION: 1 = V3, 2 = V4, 3 = V5, 4 = V6
  virtual const std::vector<Kernel>& kernels() const = 0;
  virtual const Kernel* find_kernel(std::string_view name) const = 0;  // with or without ".kd"
  // The kernel whose code contains `address` (by entry and size, else the nearest entry before it).
  virtual const Kernel* kernel_at(uint64_t address) const = 0;
  virtual const std::vector<Segment>& segments() const = 0;
  virtual const std::vector<Symbol>& symbols() const = 0;
  virtual const std::vector<DynamicRelocation>& relocations() const = 0;
  virtual std::span<const std::byte> bytes() const = 0;
  // [min address, max address + size) over all segments: the range a loader must reserve.
  virtual uint64_t load_size_bytes() const = 0;
  // The object does not interpret device printf format strings and other notes.

  // The DWARF line of the instruction at ELF virtual address `address`; for inlined code, the
  // innermost frame. Empty if the object has no line table. The first call parses the DWARF
  // sections: do not call it on a hot path.
  virtual std::optional<SourceLocation> source_location(uint64_t address) const = 0;
};

}  // namespace gfxgraph::codeobj
