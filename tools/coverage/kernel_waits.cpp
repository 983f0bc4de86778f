#include "tools/coverage/kernel_waits.h"

#include <fmt/format.h>

#include <map>
#include <tuple>

#include "base/cli/print.h"
#include "codeobj/dwarf/function_at.h"
#include "emulator/decode/assembly.h"

namespace gfxgraph::tools {
namespace {

using What = check::MissingWait::What;

CodePlace describe_place(const CodeImage& image, uint64_t pc, bool wave64) {
  CodePlace place;
  place.pc = pc;
  place.function = codeobj::function_at(image.object(), pc);
  emulator::Inst inst;
  if (image.decode(pc, inst) == emulator::DecodeStatus::kOk)
    place.instruction = emulator::assembly(inst, wave64);
  place.source = image.object().source_location(pc);
  return place;
}

std::string why_incomplete(const KernelWalk& walk, const check::WaitFindings& found) {
  if (!found.incomplete.empty()) return found.incomplete;
  if (!walk.bad_code.empty()) return walk.bad_code;
  if (walk.unknown_jump)
    return fmt::format("the target of the jump at {:#x} is known only at run time",
                       *walk.unknown_jump);
  return {};
}

}  // namespace

Result<KernelWaits> find_kernel_waits(const CodeImage& image,
                                      const std::vector<KernelWalk>& walks) {
  KernelWaits result;
  GFXGRAPH_ASSIGN_OR_RETURN(const std::shared_ptr<const emulator::RegionTable> memory,
                            image.code_regions());
  std::map<std::tuple<uint64_t, uint64_t, What>, size_t> known;
  const std::vector<codeobj::Kernel>& kernels = image.object().kernels();
  for (size_t n = 0; n < kernels.size() && n < walks.size(); ++n) {
    const codeobj::Kernel& kernel = kernels[n];
    const check::WaitFindings found =
        check::find_missing_waits(kernel.entry_address, *memory, SIZE_MAX, &walks[n].jumps);
    result.instructions += found.instructions;
    result.unknown_calls += walks[n].unknown_calls;
    if (std::string why = why_incomplete(walks[n], found); !why.empty())
      result.incomplete.push_back({kernel.name, std::move(why)});
    else
      ++result.kernels;
    for (const check::MissingWait& wait : found.places) {
      const auto [at, added] =
          known.try_emplace({wait.pc, wait.load_pc, wait.what}, result.findings.size());
      if (!added) {
        WaitFinding& first = result.findings[at->second];
        if (first.entry != kernel.entry_address) ++first.kernels;
        continue;
      }
      const bool wave64 = kernel.wavefront_size == 64;
      result.findings.push_back({wait, kernel.name, kernel.entry_address, 1,
                                 describe_place(image, wait.pc, wave64),
                                 describe_place(image, wait.load_pc, wave64)});
    }
  }
  return result;
}

std::string wait_text(const WaitFinding& finding) {
  const check::MissingWait& wait = finding.wait;
  std::string what;
  switch (wait.what) {
    case What::kRegister:
      what = fmt::format("{} is {}", check::register_name(wait.code),
                         wait.overwrites ? "overwritten" : "read");
      break;
    case What::kSource:
      what = fmt::format("{} is overwritten", check::register_name(wait.code));
      break;
    case What::kReturn:
      what = fmt::format("the function returns {}", check::register_name(wait.code));
      break;
    case What::kLds: what = "LDS is read"; break;
    case What::kStore:
    case What::kLoad: what = "reached"; break;
  }
  const std::string condition =
      wait.flat || wait.flat_load ? ", if its addresses are in LDS" : std::string();
  return format_printable("{} before {} at {:#x} has completed{}; it needs {}", what,
                          finding.pending.instruction, wait.load_pc, condition,
                          check::needed_wait(wait));
}

}  // namespace gfxgraph::tools
