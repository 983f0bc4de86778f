#include "codeobj/code_object.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "base/checked.h"
#include "codeobj/dwarf/function_at.h"
#include "codeobj/dwarf/inline_stack.h"
#include "codeobj/dwarf/source_lines_internal.h"
#include "codeobj/elf_image_internal.h"
#include "codeobj/metadata_internal.h"
#include "codeobj/printf_formats.h"
#include "codeobj/relocate.h"

namespace gfxgraph::codeobj {
namespace {

constexpr uint64_t kEntryAlign = 256;
constexpr uint32_t kMetadataNote = 32;  // NT_AMDGPU_METADATA

// "" for a number unknown to this build.
std::string_view processor_name(uint32_t flags) {
  switch (flags & llvm::ELF::EF_AMDGPU_MACH) {
#define GFXGRAPH_MACH(value, name) \
  case value: return name;
#include "codeobj/mach.inc"
#undef GFXGRAPH_MACH
    default: return "";
  }
}

bool is_known_processor(std::string_view processor) {
#define GFXGRAPH_MACH(value, name) \
  if (processor == (name)) return true;
#include "codeobj/mach.inc"
#undef GFXGRAPH_MACH
  return false;
}

std::string processor_of_target(const std::string& target) {
  const size_t at = target.rfind("-gfx");
  if (at == std::string::npos) return "";
  return target.substr(at + 1, target.find(':', at) - at - 1);
}

Result<std::string> v3_target(uint32_t flags) {
  const std::string_view processor = processor_name(flags);
  if (processor.empty()) {
    return fail(
        Status::kUnsupported,
        fmt::format("code object: EF_AMDGPU_MACH {:#x} is not a processor that this build knows",
                    flags & llvm::ELF::EF_AMDGPU_MACH));
  }
  std::string target = fmt::format("amdgcn-amd-amdhsa--{}", processor);
  if ((flags & llvm::ELF::EF_AMDGPU_FEATURE_SRAMECC_V3) != 0) target += ":sramecc+";
  if ((flags & llvm::ELF::EF_AMDGPU_FEATURE_XNACK_V3) != 0) target += ":xnack+";
  return target;
}

class ParsedCodeObject final : public CodeObject {
 public:
  explicit ParsedCodeObject(std::span<const std::byte> bytes)
      : bytes_(bytes.begin(), bytes.end()) {}

  Result<void> parse() {
    GFXGRAPH_ASSIGN_OR_RETURN(const internal::ElfImage image, internal::ElfImage::open(bytes_));
    GFXGRAPH_TRY(check_header(image));
    GFXGRAPH_ASSIGN_OR_RETURN(segments_, image.segments());
    if (segments_.empty()) return fail(Status::kCorrupt, "code object: no loadable segment");
    GFXGRAPH_ASSIGN_OR_RETURN(symbols_, image.symbols(segments_));
    GFXGRAPH_ASSIGN_OR_RETURN(relocations_, image.relocations());
    GFXGRAPH_TRY(check_relocations());
    GFXGRAPH_ASSIGN_OR_RETURN(const std::vector<std::span<const std::byte>> notes,
                              image.notes("AMDGPU", kMetadataNote));
    GFXGRAPH_ASSIGN_OR_RETURN(internal::Metadata metadata, internal::parse_metadata(notes));
    GFXGRAPH_TRY(set_target(image, metadata.target));
    kernels_ = std::move(metadata.kernels);
    has_printf_formats_ = metadata.has_printf_formats;
    GFXGRAPH_TRY(place_kernels());
    for (size_t i = 0; i < kernels_.size(); ++i)
      GFXGRAPH_TRY(check_agreement(kernels_[i], metadata.sizes[i]));
    return {};
  }

  const std::string& target() const override { return target_; }
  const std::string& gpu_arch() const override { return gpu_arch_; }
  uint32_t abi_version() const override { return abi_version_; }
  bool has_printf_formats() const { return has_printf_formats_; }
  const std::vector<Kernel>& kernels() const override { return kernels_; }
  const std::vector<Segment>& segments() const override { return segments_; }
  const std::vector<Symbol>& symbols() const override { return symbols_; }
  const std::vector<DynamicRelocation>& relocations() const override { return relocations_; }
  std::span<const std::byte> bytes() const override { return bytes_; }

  const Kernel* find_kernel(std::string_view name) const override {
    if (name.ends_with(".kd")) name.remove_suffix(3);
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : &kernels_[found->second];
  }

  const Kernel* kernel_at(uint64_t address) const override {
    auto next = std::upper_bound(
        by_entry_.begin(), by_entry_.end(), address,
        [this](uint64_t value, size_t index) { return value < kernels_[index].entry_address; });
    if (next == by_entry_.begin() || !in_code(address)) return nullptr;
    return &kernels_[*(next - 1)];
  }

  uint64_t load_size_bytes() const override {
    const Segment& last = segments_.back();
    return last.address + last.memory_bytes - segments_.front().address;
  }

  std::optional<SourceLocation> source_location(uint64_t address) const override {
    return lines_.find(bytes_, address);
  }
  std::vector<SourceLocation> inline_stack(uint64_t address) const {
    constexpr size_t kMostFrames = 256;
    return lines_.find_stack(bytes_, address, kMostFrames);
  }

 private:
  Result<void> check_header(const internal::ElfImage& image) {
    if (image.machine() != llvm::ELF::EM_AMDGPU) {
      return fail(
          Status::kUnsupported,
          fmt::format("code object: e_machine is {}, not EM_AMDGPU (224)", image.machine()));
    }
    if (image.os_abi() != llvm::ELF::ELFOSABI_AMDGPU_HSA) {
      return fail(
          Status::kUnsupported,
          fmt::format("code object: os abi {} (EI_OSABI) is not AMDGPU_HSA (64)", image.os_abi()));
    }
    if (image.type() != llvm::ELF::ET_DYN) {
      return fail(Status::kUnsupported,
                  fmt::format("code object: e_type is {}; only linked objects (ET_DYN) can be "
                              "loaded",
                              image.type()));
    }
    abi_version_ = image.abi_version();
    if (abi_version_ < llvm::ELF::ELFABIVERSION_AMDGPU_HSA_V3 ||
        abi_version_ > llvm::ELF::ELFABIVERSION_AMDGPU_HSA_V6) {
      return fail(Status::kUnsupported,
                  fmt::format("code object: abi version {} (EI_ABIVERSION) is not V3 (1) to V6 "
                              "(4); rebuild with -mcode-object-version=4 or 5",
                              abi_version_));
    }
    return {};
  }

  Result<void> set_target(const internal::ElfImage& image, const std::string& note_target) {
    const std::string_view header_processor = processor_name(image.flags());
    target_ = note_target;
    if (target_.empty()) {
      GFXGRAPH_ASSIGN_OR_RETURN(target_, v3_target(image.flags()));
    }
    gpu_arch_ = processor_of_target(target_);
    if (gpu_arch_.empty()) {
      return fail(Status::kCorrupt,
                  fmt::format("code object: amdhsa.target {} does not name a processor", target_));
    }
    if (header_processor == gpu_arch_) return {};
    // A processor unknown to this build also has an unknown number.
    if (header_processor.empty() && !is_known_processor(gpu_arch_)) return {};
    return fail(Status::kCorrupt,
                fmt::format("code object: the elf header says {} (e_flags {:#x}), the metadata's "
                            "amdhsa.target says {}",
                            header_processor.empty() ? "an unknown processor" : header_processor,
                            image.flags(), gpu_arch_));
  }

  Result<void> check_relocations() const {
    for (const DynamicRelocation& relocation : relocations_) {
      const uint32_t size = relocation_bytes(relocation.type);
      const bool inside =
          std::any_of(segments_.begin(), segments_.end(), [&](const Segment& segment) {
            return relocation.address >= segment.address &&
                   range_fits(relocation.address - segment.address, size, segment.memory_bytes);
          });
      if (!inside && size != 0) {
        return fail(Status::kCorrupt,
                    fmt::format("relocation at {:#x} (r_offset), of {} bytes, lies outside every "
                                "segment",
                                relocation.address, size));
      }
    }
    return {};
  }

  bool in_code(uint64_t address) const {
    return std::any_of(segments_.begin(), segments_.end(), [&](const Segment& segment) {
      return segment.executable && address >= segment.address &&
             address - segment.address < segment.memory_bytes;
    });
  }

  Result<void> place_kernels() {
    std::unordered_map<std::string_view, const Symbol*> by_symbol;
    for (const Symbol& symbol : symbols_) {
      if (!symbol.undefined) by_symbol.emplace(symbol.name, &symbol);
    }
    for (size_t i = 0; i < kernels_.size(); ++i) {
      Kernel& kernel = kernels_[i];
      const auto found = by_symbol.find(kernel.symbol);
      if (found == by_symbol.end()) {
        return fail(Status::kCorrupt, fmt::format("kernel {}: its descriptor symbol {} is missing",
                                                  kernel.name, kernel.symbol));
      }
      kernel.descriptor_address = found->second->address;
      GFXGRAPH_TRY(place_kernel(kernel));
      const auto function = by_symbol.find(kernel.name);
      if (function != by_symbol.end() && function->second->type == Symbol::Type::kFunction &&
          function->second->address == kernel.entry_address) {
        kernel.code_bytes = function->second->size_bytes;
      }
      by_name_.emplace(kernel.name, i);
      by_entry_.push_back(i);
    }
    std::sort(by_entry_.begin(), by_entry_.end(), [this](size_t a, size_t b) {
      return kernels_[a].entry_address < kernels_[b].entry_address;
    });
    return {};
  }

  Result<void> place_kernel(Kernel& kernel) const {
    const std::string where = "kernel " + kernel.name;
    const std::optional<std::span<const std::byte>> bytes =
        internal::bytes_at(segments_, bytes_, kernel.descriptor_address, kDescriptorBytes);
    if (!bytes) {
      return fail(Status::kCorrupt, fmt::format("{}: its descriptor at {:#x}, the value of symbol "
                                                "{}, lies outside the file",
                                                where, kernel.descriptor_address, kernel.symbol));
    }
    if (kernel.descriptor_address % kDescriptorBytes != 0) {
      return fail(Status::kCorrupt, fmt::format("{}: its descriptor at {:#x}, the value of symbol "
                                                "{}, is not aligned to 64",
                                                where, kernel.descriptor_address, kernel.symbol));
    }
    Result<KernelDescriptor> descriptor = decode_descriptor(*bytes);
    if (!descriptor) return with_context(std::move(descriptor).error(), where);
    kernel.descriptor = *descriptor;
    kernel.entry_address =
        kernel.descriptor_address + static_cast<uint64_t>(descriptor->entry_offset_bytes);
    const auto code = internal::bytes_at(segments_, bytes_, kernel.entry_address, 4);
    if (!code || !in_code(kernel.entry_address) || kernel.entry_address % kEntryAlign != 0) {
      return fail(Status::kCorrupt,
                  fmt::format("{}: kernel_code_entry_byte_offset {} leads to {:#x}, which is not a "
                              "256-byte aligned address in code",
                              where, descriptor->entry_offset_bytes, kernel.entry_address));
    }
    kernel.uses_dynamic_stack |= descriptor->dynamic_stack();
    return {};
  }

  // Checks that the metadata and the descriptor of one kernel agree where both state a value.
  // Kernels written in assembly may leave the descriptor's kernarg_size at zero.
  Result<void> check_agreement(const Kernel& kernel, const internal::FixedSizes& sizes) const {
    const KernelDescriptor& d = kernel.descriptor;
    const auto differ = [&](std::string_view field, uint64_t note, std::string_view name,
                            uint64_t value) {
      return fail(Status::kCorrupt,
                  fmt::format("kernel {}: the metadata's {} is {}, its descriptor's {} is {}",
                              kernel.name, field, note, name, value));
    };
    if (d.kernarg_bytes != 0 && d.kernarg_bytes != kernel.kernarg_size_bytes)
      return differ(".kernarg_segment_size", kernel.kernarg_size_bytes, "kernarg_size",
                    d.kernarg_bytes);
    if (sizes.group_segment_bytes && *sizes.group_segment_bytes != d.group_segment_bytes)
      return differ(".group_segment_fixed_size", *sizes.group_segment_bytes,
                    "group_segment_fixed_size", d.group_segment_bytes);
    if (sizes.private_segment_bytes && *sizes.private_segment_bytes != d.private_segment_bytes)
      return differ(".private_segment_fixed_size", *sizes.private_segment_bytes,
                    "private_segment_fixed_size", d.private_segment_bytes);
    // The granules and wave sizes below are those of GFX10.
    if (!gpu_arch_.starts_with("gfx10")) return {};
    const uint32_t lanes = d.wave32() ? 32 : 64;
    if (kernel.wavefront_size != lanes)
      return differ(".wavefront_size", kernel.wavefront_size, "wave size", lanes);
    if (kernel.vgpr_count > d.vgpr_count(d.wave32()))
      return differ(".vgpr_count", kernel.vgpr_count, "allocated VGPRs", d.vgpr_count(d.wave32()));
    constexpr uint32_t kSgprs = 108;  // every GFX10 wave gets all of them; includes VCC
    if (kernel.sgpr_count > kSgprs)
      return differ(".sgpr_count", kernel.sgpr_count, "allocated SGPRs", kSgprs);
    return check_gfx10(kernel);
  }

  static Result<void> check_gfx10(const Kernel& kernel) {
    constexpr uint32_t kWorkgroupItems = 1024;
    if (kernel.max_flat_workgroup_size > kWorkgroupItems)
      return fail(Status::kCorrupt,
                  fmt::format("kernel {}: the metadata's .max_flat_workgroup_size is {}; a "
                              "workgroup has {} work items at most",
                              kernel.name, kernel.max_flat_workgroup_size, kWorkgroupItems));
    const std::string wrong = kernel.descriptor.gfx10_error();
    if (!wrong.empty())
      return fail(Status::kCorrupt, fmt::format("kernel {}: {}", kernel.name, wrong));
    return {};
  }

  std::vector<std::byte> bytes_;
  std::string target_;
  std::string gpu_arch_;
  uint32_t abi_version_ = 0;
  bool has_printf_formats_ = false;
  std::vector<Segment> segments_;
  std::vector<Symbol> symbols_;
  std::vector<DynamicRelocation> relocations_;
  std::vector<Kernel> kernels_;
  std::unordered_map<std::string_view, size_t> by_name_;  // keys point into kernels_
  std::vector<size_t> by_entry_;
  internal::SourceLines lines_;
};

}  // namespace

Result<std::shared_ptr<const CodeObject>> CodeObject::parse(std::span<const std::byte> bytes) {
  auto object = std::make_shared<ParsedCodeObject>(bytes);
  GFXGRAPH_TRY(object->parse());
  return std::shared_ptr<const CodeObject>(std::move(object));
}

uint32_t Kernel::explicit_size_bytes() const {
  uint32_t end = 0;
  for (const Argument& argument : arguments) {
    if (!argument.hidden()) end = std::max(end, argument.offset_bytes + argument.size_bytes);
  }
  return end;
}

const Argument* Kernel::find_hidden(std::string_view value_kind) const {
  for (const Argument& argument : arguments) {
    if (argument.value_kind == value_kind) return &argument;
  }
  return nullptr;
}

std::vector<SourceLocation> inline_stack(const CodeObject& code, uint64_t address) {
  if (const auto* const parsed = dynamic_cast<const ParsedCodeObject*>(&code))
    return parsed->inline_stack(address);
  const std::optional<SourceLocation> location = code.source_location(address);
  return location ? std::vector<SourceLocation>{*location} : std::vector<SourceLocation>();
}

bool has_printf_formats(const CodeObject& code) {
  const auto* const parsed = dynamic_cast<const ParsedCodeObject*>(&code);
  return parsed != nullptr && parsed->has_printf_formats();
}

std::string function_at(const CodeObject& code, uint64_t address) {
  const Result<internal::ElfImage> image = internal::ElfImage::open(code.bytes());
  return image ? image->function_at(address) : std::string();
}

std::optional<uint64_t> function_address(const CodeObject& code, std::string_view name) {
  const Result<internal::ElfImage> image = internal::ElfImage::open(code.bytes());
  return image ? image->function_address(name) : std::nullopt;
}

bool has_function(const CodeObject& code, std::string_view name) {
  return function_address(code, name).has_value();
}

}  // namespace gfxgraph::codeobj
