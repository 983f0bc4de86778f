// Traces whose hashes and summary are right and whose meaning is not. The input is a script of
// changes to a valid trace (hostile_trace.h); eight bytes are enough. What comes out goes through
// everything that claims to be safe with a stranger's trace, and through what a replay does before
// it has a device: each answers within its budget, and touches nothing that is not its own.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "base/cli/print.h"
#include "base/file/file.h"
#include "check/check.h"
#include "format/read/reader.h"
#include "format/read/verify.h"
#include "replayer/code/elf_check.h"
#include "replayer/program/dag.h"
#include "replayer/program/program.h"
#include "tests/fuzz/hostile_trace.h"
#include "tools/trace/trace_summary.h"

namespace gfxgraph::fuzz {
namespace {

std::vector<std::byte> stored(const char* path) {
  const auto bytes = read_file(path);
  GFXGRAPH_CHECK(bytes.has_value());
  return *bytes;
}

const std::vector<std::vector<Part>>& bases() {
  static const std::vector<std::vector<Part>> all = [] {
    std::vector<std::vector<Part>> parts;
    const std::vector<std::byte> kernels = kernel_trace(stored(FUZZ_CORPUS "/codeobj/v5.elf"));
    for (int n = 0; n < 3; ++n) parts.push_back(load_parts(kernels));  // most say most
    const std::vector<std::byte> lives = lives_trace(stored(FUZZ_CORPUS "/codeobj/v5.elf"));
    for (int n = 0; n < 3; ++n) parts.push_back(load_parts(lives));
    parts.push_back(load_parts(stored(FUZZ_GOLDEN "/everything.gfxg")));
    parts.push_back(load_parts(stored(FUZZ_GOLDEN "/smallest.gfxg")));
    return parts;
  }();
  return all;
}

void check_printable(const std::string& text) {
  if (printable(Lines{text}) != text) std::abort();
}

void check(const format::Trace& trace) {
  check::CheckOptions options;
  options.threads = 1;
  options.livelock_instructions = 10000;
  options.limits.seconds = 5;
  options.limits.instructions = 50000;
  options.limits.memory_bytes = uint64_t{64} << 20;
  const auto report = check::check_trace(trace, options);
  if (!report) return;
  check_printable(check::render_text(*report, "t"));
  (void)check::render_json(*report, "t");
}

void replay(const std::shared_ptr<const format::Trace>& trace) {
  for (const format::CodeObject& code_object : trace->code_objects()) {
    if (const auto elf = trace->blob(code_object.elf)) {
      if (replayer::check_code_object(*elf)) (void)replayer::has_variables(*elf);
    }
  }
  const auto program = replayer::Program::build(trace);
  if (!program) return;
  (void)(*program)->check_complete(true);
  (void)(*program)->ambiguous_words();
  constexpr size_t kMostOperations = 20000;
  if ((*program)->operations().size() > kMostOperations) return;
  (void)replayer::build_dag(**program);
  for (uint32_t n = 0; n < (*program)->operations().size() && n < 100; ++n)
    (void)(*program)->describe(n);
}

void drive(std::span<const std::byte> file) {
  (void)format::verify_bytes(file);
  format::ReadOptions options;
  options.max_decompressed_bytes = uint64_t{64} << 20;
  const auto trace = format::Trace::from_bytes(file, options);
  if (!trace) return;
  (void)tools::summarize(**trace);
  check(**trace);
  replay(*trace);
}

}  // namespace
}  // namespace gfxgraph::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace gfxgraph::fuzz;
  Script script(std::as_bytes(std::span(data, size)));
  std::vector<Part> parts = bases()[script.below(bases().size())];
  const bool repaired = !script.one_in(4);
  mutate(parts, script);
  if (repaired) repair(parts);
  drive(write_parts(parts));
  return 0;
}
