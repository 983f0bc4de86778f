// replay_many [--auto] [--packed] TRACE...: replays each trace in every mode and layout, in one
// process, through the C interface, and compares. Half of these with freed buffers packed and kept,
// all with --packed. A line per trace, and one that counts what mode packets has refused by name;
// exit code 0: all else identical, nothing uncompared.
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "gfxgraph/gfxgraph.h"

namespace {

struct Combination {
  gfxgraph_mode_t mode;
  int32_t layout;
  uint32_t memory;
  const char* name;
};
constexpr Combination kCombinations[] = {
    {GFXGRAPH_MODE_EAGER, GFXGRAPH_LAYOUT_SAME, GFXGRAPH_MEMORY_PACKED_KEPT, "eager same"},
    {GFXGRAPH_MODE_EAGER, GFXGRAPH_LAYOUT_SHIFT, GFXGRAPH_MEMORY_APART, "eager shift"},
    {GFXGRAPH_MODE_BATCH, GFXGRAPH_LAYOUT_SAME, GFXGRAPH_MEMORY_APART, "batch same"},
    {GFXGRAPH_MODE_BATCH, GFXGRAPH_LAYOUT_SHIFT, GFXGRAPH_MEMORY_PACKED_KEPT, "batch shift"},
    {GFXGRAPH_MODE_GRAPH, GFXGRAPH_LAYOUT_SAME, GFXGRAPH_MEMORY_PACKED_KEPT, "graph same"},
    {GFXGRAPH_MODE_GRAPH, GFXGRAPH_LAYOUT_SHIFT, GFXGRAPH_MEMORY_APART, "graph shift"},
    {GFXGRAPH_MODE_PACKETS, GFXGRAPH_LAYOUT_SAME, GFXGRAPH_MEMORY_APART, "packets same"},
    {GFXGRAPH_MODE_PACKETS, GFXGRAPH_LAYOUT_SHIFT, GFXGRAPH_MEMORY_PACKED_KEPT, "packets shift"},
    {GFXGRAPH_MODE_AUTO, GFXGRAPH_LAYOUT_SAME, GFXGRAPH_MEMORY_PACKED_KEPT, "auto same"},
};

unsigned packets_replayed = 0;
unsigned packets_refused = 0;

std::string failed(const char* step, gfxgraph_status_t status) {
  return std::string(step) + ": " + gfxgraph_status_name(status) + ": " + gfxgraph_last_error();
}

std::string differences(const gfxgraph_verification_t& sums,
                        const std::vector<gfxgraph_buffer_result_t>& results) {
  std::string line;
  char text[160];
  for (const gfxgraph_buffer_result_t& result : results) {
    if (result.struct_size == 0 || result.comparison != GFXGRAPH_DIFFERENT) continue;
    std::snprintf(text, sizeof text,
                  " buffer %u: %" PRIu64 " of %" PRIu64 " bytes, the first at %" PRIu64
                  ": %02x, not %02x;",
                  result.buffer, result.differing_bytes, result.size_bytes, result.first_difference,
                  result.got, result.expected);
    line += text;
  }
  std::snprintf(text, sizeof text, " buffers %u same %u different %u uncompared, copies %u %u %u",
                sums.identical, sums.different, sums.uncompared, sums.copies_identical,
                sums.copies_different, sums.copies_uncompared);
  return line + text;
}

std::string compare(gfxgraph_step_t step, uint32_t buffers) {
  gfxgraph_verification_t sums = {};
  sums.struct_size = sizeof sums;
  std::vector<gfxgraph_buffer_result_t> results(64);
  const gfxgraph_status_t status =
      gfxgraph_step_verify(step, &sums, results.data(), 64, sizeof results[0]);
  const bool other = sums.different != 0 || sums.copies_different != 0 || sums.uncompared != 0 ||
                     sums.copies_uncompared != 0;
  if (status == GFXGRAPH_MISMATCH || (status == GFXGRAPH_OK && other))
    return "differs:" + differences(sums, results);
  if (status != GFXGRAPH_OK) return failed("verify", status);
  return sums.identical == 0 && buffers != 0 ? "nothing was compared" : "";
}

std::string replay(gfxgraph_trace_t trace, uint32_t buffers, const Combination& combination) {
  gfxgraph_session_options_t options = gfxgraph_session_options_default();
  options.layout = combination.layout;
  options.memory = combination.memory;
  gfxgraph_session_t session = nullptr;
  gfxgraph_status_t status = gfxgraph_session_create(trace, &options, &session);
  if (status != GFXGRAPH_OK) return failed("session", status);
  gfxgraph_step_options_t step_options = gfxgraph_step_options_default();
  step_options.mode = combination.mode;
  gfxgraph_step_t step = nullptr;
  status = gfxgraph_step_create(session, GFXGRAPH_RANGE_ALL, &step_options, &step);
  std::string wrong;
  const bool refused = combination.mode == GFXGRAPH_MODE_PACKETS &&
                       status == GFXGRAPH_UNSUPPORTED &&
                       std::strstr(gfxgraph_last_error(), "mode packets: ") != nullptr;
  if (combination.mode == GFXGRAPH_MODE_PACKETS) ++(refused ? packets_refused : packets_replayed);
  if (refused) {
    gfxgraph_session_destroy(session);
    return "";
  }
  if (status != GFXGRAPH_OK) wrong = failed("create", status);
  void* stream = nullptr;
  if (wrong.empty()) status = gfxgraph_step_stream(step, &stream);
  if (wrong.empty() && status == GFXGRAPH_OK) status = gfxgraph_step_run(step, stream);
  if (wrong.empty() && status != GFXGRAPH_OK) wrong = failed("run", status);
  if (wrong.empty()) wrong = compare(step, buffers);
  gfxgraph_step_destroy(step);
  gfxgraph_session_destroy(session);
  return wrong;
}

bool replay_trace(const char* path, bool automatic, bool packed) {
  const auto report = [path](const char* name, const std::string& wrong) {
    std::printf("%s %s: %s\n", path, name, wrong.c_str());
    std::fflush(stdout);
    return false;
  };
  gfxgraph_trace_t trace = nullptr;
  gfxgraph_status_t status = gfxgraph_trace_open(path, nullptr, &trace);
  if (status != GFXGRAPH_OK) return report("open", failed("open", status));
  gfxgraph_environment_t environment = {};
  environment.struct_size = sizeof environment;
  status = gfxgraph_trace_environment(trace, &environment);
  if (status != GFXGRAPH_OK) return report("environment", failed("environment", status));
  bool good = true;
  for (Combination combination : kCombinations) {
    if (packed) combination.memory = GFXGRAPH_MEMORY_PACKED_KEPT;
    if (combination.mode == GFXGRAPH_MODE_AUTO && !automatic) continue;
    const std::string wrong = replay(trace, environment.buffer_count, combination);
    if (!wrong.empty()) good = report(combination.name, wrong);
  }
  gfxgraph_trace_destroy(trace);
  if (good) {
    std::printf("%s ok\n", path);
    std::fflush(stdout);
  }
  return good;
}

}  // namespace

int main(int argc, char** argv) {
  bool good = argc > 1;
  bool automatic = false;
  bool packed = false;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--auto") == 0)
      automatic = true;
    else if (std::strcmp(argv[i], "--packed") == 0)
      packed = true;
    else
      good = replay_trace(argv[i], automatic, packed) && good;
  }
  std::printf("packets: %u replayed, %u refused\n", packets_replayed, packets_refused);
  return good ? 0 : 1;
}
