#include "tools/coverage/coverage.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/file/file.h"
#include "format/container/container.h"
#include "format/read/reader.h"

namespace gfxgraph::tools {
namespace {

bool is_trace(std::span<const std::byte> bytes) {
  return bytes.size() >= format::kMagic.size() &&
         std::memcmp(bytes.data(), format::kMagic.data(), format::kMagic.size()) == 0;
}

// Whether code for this target runs on a gfx1030. Features (":xnack-") do not matter to it.
bool runs_on_gfx1030(std::string_view target) {
  const std::string_view processor = target.substr(0, target.find(':'));
  return processor.ends_with("-gfx1030") || processor.ends_with("-gfx10-3-generic");
}

Result<void> walk_object(std::span<const std::byte> elf, bool waits, ObjectCoverage& to) {
  GFXGRAPH_ASSIGN_OR_RETURN(std::shared_ptr<const codeobj::CodeObject> object,
                            codeobj::CodeObject::parse(elf));
  GFXGRAPH_ASSIGN_OR_RETURN(CodeImage image, CodeImage::load(std::move(object)));
  std::vector<KernelWalk> kernels = walk_kernels(image);
  if (waits) {
    GFXGRAPH_ASSIGN_OR_RETURN(to.waits, find_kernel_waits(image, kernels));
  }
  for (KernelWalk& kernel : kernels) kernel.jumps = {};  // of many kernels, much memory
  to.kernels = std::move(kernels);
  return {};
}

void add_elf(FileCoverage& file, bool waits, const std::string& target,
             std::span<const std::byte> elf) {
  if (!runs_on_gfx1030(target)) {
    ++file.skipped[target];
    return;
  }
  ObjectCoverage object;
  object.target = target;
  if (const Result<void> done = walk_object(elf, waits, object); !done)
    object.error = done.error().message;
  file.objects.push_back(std::move(object));
}

Result<void> cover_trace(FileCoverage& file, bool waits) {
  GFXGRAPH_ASSIGN_OR_RETURN(const std::shared_ptr<const format::Trace> trace,
                            format::Trace::open(file.path, {.allow_torn = true}));
  for (const format::CodeObject& code : trace->code_objects()) {
    GFXGRAPH_ASSIGN_OR_RETURN(const std::span<const std::byte> elf, trace->blob(code.elf));
    const auto object = codeobj::CodeObject::parse(elf);
    if (!object) {
      return with_context(object.error(), fmt::format("{}: code object {}", file.path, code.id));
    }
    add_elf(file, waits, (*object)->target(), elf);
  }
  if (!trace->sealed()) {
    return fail(Status::kTruncated, fmt::format("{}: truncated, only the intact part was read: {}",
                                                file.path, trace->torn_reason()));
  }
  return {};
}

Result<void> cover(FileCoverage& file, const CoverageProgress& progress, bool waits) {
  GFXGRAPH_ASSIGN_OR_RETURN(const MappedFile mapped, MappedFile::open(file.path));
  if (is_trace(mapped.bytes())) return cover_trace(file, waits);
  Result<std::vector<codeobj::BundleEntry>> entries = codeobj::extract_device_elves(mapped.bytes());
  if (!entries) return with_context(entries.error(), file.path);
  uint64_t number = 0;
  for (codeobj::BundleEntry& entry : *entries) {
    if (progress) progress(number++, entries->size());
    add_elf(file, waits, entry.target, entry.bytes);
    entry.bytes = {};
  }
  return {};
}

}  // namespace

uint64_t FileCoverage::kernels() const {
  uint64_t count = 0;
  for (const ObjectCoverage& object : objects) count += object.kernels.size();
  return count;
}

uint64_t FileCoverage::complete() const {
  uint64_t count = 0;
  for (const ObjectCoverage& object : objects) {
    count += static_cast<uint64_t>(std::ranges::count_if(object.kernels, &KernelWalk::complete));
  }
  return count;
}

bool FileCoverage::damaged() const {
  return error.status != Status::kOk ||
         std::ranges::any_of(objects, [](const auto& object) { return !object.error.empty(); });
}

FileCoverage cover_file(const std::string& path, const CoverageProgress& progress, bool waits) {
  FileCoverage file;
  file.path = path;
  file.error = {.status = Status::kOk, .message = {}};
  if (const Result<void> result = cover(file, progress, waits); !result)
    file.error = result.error();
  return file;
}

std::vector<MissingOpcode> missing_opcodes(const std::vector<FileCoverage>& files) {
  std::map<std::string, MissingOpcode> by_name;
  for (const FileCoverage& file : files) {
    for (const ObjectCoverage& object : file.objects) {
      for (const KernelWalk& kernel : object.kernels) {
        for (const auto& [name, instructions] : kernel.missing) {
          MissingOpcode& opcode = by_name[name];
          opcode.name = name;
          opcode.instructions += instructions;
          ++opcode.kernels;
        }
      }
    }
  }
  std::vector<MissingOpcode> sorted;
  for (auto& [name, opcode] : by_name) sorted.push_back(std::move(opcode));
  std::ranges::stable_sort(sorted, std::ranges::greater(), &MissingOpcode::kernels);
  return sorted;
}

}  // namespace gfxgraph::tools
