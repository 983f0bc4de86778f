// wait_mutations [--every N] [--most-waits M] FILE...: which missing waits `gfxgraph coverage
// --waits` finds, of planted ones.
//
// Takes every Nth gfx1030 kernel of the files, and at most M waits of each (spread over its code).
// Each wait is removed, and each of its counts that may be higher is raised by one, one change at a
// time. What the analysis does not find is explained by walks along random paths of the changed
// kernel (path_walk.h), which know nothing of the analysis:
//   nothing under way   on no path does the wait complete anything that its change leaves pending
//   only stores         what it completes are stores and atomics without a result
//   not used            what it completes is not used before another wait completes it
//   not reached         no path came to the wait
//   MISSED              a path uses a register too early
// Exit code 1: the analysis missed one, or has a finding in an unchanged kernel.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "base/file/file.h"
#include "check/waits/wait_analysis.h"
#include "tests/tools/waits/path_walk.h"
#include "tools/coverage/code_image.h"
#include "tools/coverage/kernel_walk.h"

namespace gfxgraph::tools {
namespace {

using emulator::Op;

constexpr uint32_t kNop = 0xbf800000;

struct Counts {
  uint64_t kernels = 0, skipped = 0, false_findings = 0, mutants = 0, found = 0, confirmed = 0;
  std::map<std::string, uint64_t> not_found;
  std::vector<std::string> missed;
};

struct Options {
  unsigned every = 1, most_waits = 1000, paths = 24, steps = 6000;
  std::vector<std::string> files;
};

// The changed words of a wait.
std::vector<uint32_t> changes_of(Op op, uint32_t word) {
  std::vector<uint32_t> changed = {kNop};
  const auto raise = [&](unsigned shift, uint32_t mask, uint32_t value, uint32_t most) {
    if (value < most) changed.push_back((word & ~(mask << shift)) | (value + 1) << shift);
  };
  const uint32_t imm = word & 0xffff;
  switch (op) {
    case Op::s_waitcnt: {
      const uint32_t vector = (imm & 15) | (imm >> 14 & 3) << 4;
      if (vector < 63)
        changed.push_back((word & ~0xc00fu) | ((vector + 1) & 15) | ((vector + 1) >> 4 & 3) << 14);
      raise(8, 63, imm >> 8 & 63, 63);
      return changed;
    }
    case Op::s_waitcnt_vmcnt:
    case Op::s_waitcnt_vscnt:
    case Op::s_waitcnt_lgkmcnt: raise(0, 63, imm & 63, 63); return changed;
    default: return {};
  }
}

class Mutations {
 public:
  Mutations(const Options& options, Counts& counts) : options_(options), counts_(counts) {}

  void kernel(const emulator::RegionTable& memory, const codeobj::Kernel& kernel,
              const KernelWalk& walk) {
    const check::WaitFindings before =
        check::find_missing_waits(kernel.entry_address, memory, SIZE_MAX, &walk.jumps);
    if (!before.incomplete.empty() || walk.unknown_jump) {
      ++counts_.skipped;
      return;
    }
    ++counts_.kernels;
    if (!before.places.empty()) {
      ++counts_.false_findings;
      return;
    }
    KernelCode code;
    if (!code.read(kernel.entry_address, memory, walk.jumps)) return;
    std::vector<uint32_t> waits;
    for (uint32_t n = 0; n < code.nodes.size(); ++n)
      if (!changes_of(code.nodes[n].inst.op, 0).empty()) waits.push_back(n);
    const size_t step = waits.size() / options_.most_waits + 1;
    for (size_t n = 0; n < waits.size(); n += step) change(memory, kernel, walk, code, waits[n]);
  }

 private:
  void change(const emulator::RegionTable& memory, const codeobj::Kernel& kernel,
              const KernelWalk& walk, const KernelCode& code, uint32_t n) {
    const uint64_t pc = code.nodes[n].pc;
    const emulator::Region* region = memory.find(pc);
    std::byte* const at = region->host + (pc - region->address);
    uint32_t word = 0;
    std::memcpy(&word, at, sizeof(word));
    for (const uint32_t changed : changes_of(code.nodes[n].inst.op, word)) {
      std::memcpy(at, &changed, sizeof(changed));
      const bool found =
          !check::find_missing_waits(kernel.entry_address, memory, SIZE_MAX, &walk.jumps)
               .places.empty();
      std::memcpy(at, &word, sizeof(word));
      ++counts_.mutants;
      explain(kernel, code, pc, word, changed, found);
    }
  }

  void explain(const codeobj::Kernel& kernel, const KernelCode& code, uint64_t pc, uint32_t word,
               uint32_t changed, bool found) {
    PathWalk walk(code, pc, word, changed);
    PathWalk::Outcome all;
    for (unsigned n = 0; n < options_.paths && all.violation.empty(); ++n) {
      const PathWalk::Outcome one = walk.run(random_, options_.steps);
      all.reached |= one.reached;
      all.retired |= one.retired;
      all.only_stores &= one.only_stores;
      all.violation = one.violation;
    }
    if (found) {
      ++counts_.found;
      if (!all.violation.empty()) ++counts_.confirmed;
      return;
    }
    const char* why = !all.violation.empty() ? "MISSED"
                      : !all.reached         ? "not reached"
                      : !all.retired         ? "nothing under way"
                      : all.only_stores      ? "only stores"
                                             : "not used";
    ++counts_.not_found[why];
    if (!all.violation.empty())
      counts_.missed.push_back(fmt::format("{}: {:#x}: {:#x} for {:#x}: {}", kernel.name, pc,
                                           changed, word, all.violation));
  }

  const Options& options_;
  Counts& counts_;
  std::mt19937 random_{1};
};

Result<void> mutate_object(std::span<const std::byte> elf, const Options& options, uint64_t& number,
                           Counts& counts) {
  GFXGRAPH_ASSIGN_OR_RETURN(std::shared_ptr<const codeobj::CodeObject> object,
                            codeobj::CodeObject::parse(elf));
  GFXGRAPH_ASSIGN_OR_RETURN(CodeImage image, CodeImage::load(object));
  GFXGRAPH_ASSIGN_OR_RETURN(const auto memory, image.code_regions());
  const std::vector<KernelWalk> walks = walk_kernels(image);
  Mutations mutations(options, counts);
  for (size_t n = 0; n < walks.size(); ++n)
    if (number++ % options.every == 0) mutations.kernel(*memory, object->kernels()[n], walks[n]);
  return {};
}

Result<void> mutate_file(const std::string& path, const Options& options, uint64_t& number,
                         Counts& counts) {
  GFXGRAPH_ASSIGN_OR_RETURN(const MappedFile mapped, MappedFile::open(path));
  GFXGRAPH_ASSIGN_OR_RETURN(const auto entries, codeobj::extract_device_elves(mapped.bytes()));
  for (const codeobj::BundleEntry& entry : entries) {
    if (entry.target.find("gfx1030") == std::string::npos) continue;
    GFXGRAPH_TRY(mutate_object(entry.bytes, options, number, counts));
  }
  return {};
}

int run(const Options& options) {
  Counts counts;
  uint64_t number = 0;
  int code = EXIT_SUCCESS;
  for (const std::string& path : options.files) {
    if (const Result<void> done = mutate_file(path, options, number, counts); !done) {
      fmt::print(stderr, "{}: {}\n", path, done.error().message);
      code = EXIT_FAILURE;
    }
  }
  fmt::print("{} kernels, {} not analysed whole, {} with findings before any change\n",
             counts.kernels, counts.skipped, counts.false_findings);
  fmt::print("{} changes of waits: {} found, {} of these on a random path, too\n", counts.mutants,
             counts.found, counts.confirmed);
  for (const auto& [why, count] : counts.not_found) fmt::print("  not found, {}: {}\n", why, count);
  for (const std::string& text : counts.missed) fmt::print("  {}\n", text);
  return counts.missed.empty() && counts.false_findings == 0 ? code : EXIT_FAILURE;
}

}  // namespace
}  // namespace gfxgraph::tools

int main(int argc, char** argv) {
  gfxgraph::tools::Options options;
  for (int n = 1; n < argc; ++n) {
    const std::string argument = argv[n];
    const auto number = [&](unsigned& to) {
      if (n + 1 < argc)
        to = std::max(1U, static_cast<unsigned>(std::strtoul(argv[++n], nullptr, 10)));
    };
    if (argument == "--every")
      number(options.every);
    else if (argument == "--most-waits")
      number(options.most_waits);
    else
      options.files.push_back(argument);
  }
  if (options.files.empty()) {
    fmt::print(stderr, "usage: wait_mutations [--every N] [--most-waits M] FILE...\n");
    return 2;
  }
  return gfxgraph::tools::run(options);
}
