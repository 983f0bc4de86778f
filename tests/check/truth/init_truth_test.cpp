// Ground truth of initcheck: values that nobody wrote, and their right twins.
#include <gmock/gmock.h>

#include "tests/check/truth/truth.h"

namespace gfxgraph::check {
namespace {

ToolSet with_init() {
  ToolSet tools = kDefaultTools;
  tools[static_cast<size_t>(Tool::kInitcheck)] = true;
  return tools;
}

constexpr uint64_t kInitBytes = 4096;

enum class Writes { kCopy, kMemset, kKernel, kDeviceCopy };
constexpr std::pair<const char*, Writes> kWrites[] = {
    {"copied", Writes::kCopy},
    {"set", Writes::kMemset},
    {"copied on the device", Writes::kDeviceCopy}};

void write(TraceBuilder& t, const TraceBuilder::Buffer& buffer, Writes how) {
  if (how == Writes::kMemset) {
    format::Memset memset;
    memset.allocation = buffer.id;
    memset.width_elements = buffer.bytes;
    t.add(memset);
    return;
  }
  format::Copy copy;
  copy.destination.allocation = buffer.id;
  copy.width_bytes = buffer.bytes;
  if (how == Writes::kCopy)
    copy.host_source = t.content(std::vector<uint32_t>(buffer.bytes / 4));
  else
    copy.source.allocation = t.buffer(buffer.bytes).id;
  t.add(copy);
}

// A buffer that nobody wrote; for the twin somebody did.
Fault buffer(FindingClass expected, const std::string& kernel, uint32_t block, Writes how,
             const char* name, bool copied_out = false) {
  return {expected, kernel + ", " + name, kernel,
          [=](TraceBuilder& t, const std::string& launched) {
            const auto to = t.buffer(kInitBytes);
            const auto from = t.unwritten_buffer(kInitBytes);
            if (launched.ends_with("_safe")) write(t, from, how);
            t.launch(launched, 2, block, {to, from});
            if (copied_out) t.copy_out(to);
          },
          "unwritten.bundle"};
}

TEST(InitTruth, Buffers) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  std::vector<Fault> faults;
  for (const auto& [name, how] : kWrites) {
    for (const uint32_t block : {32U, 100U}) {
      faults.push_back(buffer(FindingClass::kU1, "as_index", block, how, name));
      faults.push_back(buffer(FindingClass::kU1, "as_byte", block, how, name));
      faults.push_back(buffer(FindingClass::kU2, "as_condition", block, how, name));
      faults.push_back(buffer(FindingClass::kU2, "as_uniform_condition", block, how, name));
    }
    faults.push_back(buffer(FindingClass::kU1, "as_pointer", 32, how, name));
    // It compares the value, too, and memcheck says the same of the scalar load.
    faults.back().also = {FindingClass::kU2, FindingClass::kE3};
    faults.push_back(buffer(FindingClass::kU2, "as_bound", 32, how, name));
    faults.push_back(buffer(FindingClass::kU1, "as_wide", 32, how, name));
    faults.push_back(buffer(FindingClass::kU1, "counted", 64, how, name));
    faults.push_back(buffer(FindingClass::kU1, "as_index_beside_lds", 64, how, name));
    faults.push_back(buffer(FindingClass::kU1, "as_index_by_lds", 32, how, name));
    faults.push_back(buffer(FindingClass::kU3, "computed", 64, how, name, true));
  }
  check_all(faults, with_init());
}

// The first accesses are to what was written, a later one of the same instruction is not.
TEST(InitTruth, BuffersWrittenInPart) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  const auto in_part = [](FindingClass expected, const std::string& kernel, uint32_t block,
                          uint64_t bytes) {
    return Fault{expected, kernel, kernel,
                 [=](TraceBuilder& t, const std::string& launched) {
                   const auto to = t.buffer(kInitBytes);
                   const auto from = t.unwritten_buffer(bytes);
                   const bool safe = launched.ends_with("_safe");
                   const std::vector<uint32_t> ones(bytes / (safe ? 4 : 8), 1);
                   format::Copy copy;
                   copy.destination.allocation = from.id;
                   copy.width_bytes = ones.size() * 4;
                   copy.host_source = t.content(ones);
                   t.add(copy);
                   t.launch(launched, 2, block, {to, from});
                 },
                 "unwritten.bundle"};
  };
  std::vector<Fault> faults = {in_part(FindingClass::kU1, "as_index", 32, 2 * 32 * 4),
                               in_part(FindingClass::kU1, "as_index", 100, 2 * 100 * 4),
                               in_part(FindingClass::kU1, "as_strided_index", 64, 2 * 64 * 8),
                               in_part(FindingClass::kU1, "as_masked_index", 64, 2 * 64 * 4),
                               in_part(FindingClass::kU2, "as_condition", 64, 2 * 64 * 4),
                               in_part(FindingClass::kU2, "as_uniform_condition", 32, 2 * 4),
                               in_part(FindingClass::kU1, "as_next_index", 32, 2 * 4),
                               in_part(FindingClass::kU1, "as_scalar_index", 32, 2 * 4)};
  // memcheck's word for the same scalar load.
  for (Fault& fault : faults)
    if (fault.kernel == "as_next_index" || fault.kernel == "as_scalar_index")
      fault.also = {FindingClass::kE3};
  check_all(faults, with_init());
}

TEST(InitTruth, LdsAndRegisters) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  const auto local = [](FindingClass expected, const std::string& kernel) {
    return Fault{expected, kernel, kernel,
                 [](TraceBuilder& t, const std::string& launched) {
                   const auto to = t.buffer(kInitBytes);
                   t.launch(launched, 2, 64, {to, t.buffer(kInitBytes)});
                 },
                 "unwritten.bundle"};
  };
  check_all(
      {local(FindingClass::kU1, "lds_as_index"), local(FindingClass::kU1, "second_of_two"),
       local(FindingClass::kU2, "lds_as_condition"), local(FindingClass::kU1, "register_as_index"),
       local(FindingClass::kU2, "scalar_as_condition"), local(FindingClass::kU2, "spilled_mask"),
       local(FindingClass::kU1, "dpp_old"), local(FindingClass::kU1, "dpp_zero"),
       local(FindingClass::kU1, "dpp_selected"), local(FindingClass::kU1, "by_vcc"),
       local(FindingClass::kU1, "exchanged_second")},
      with_init());
}

Report check(TraceBuilder& trace) {
  CheckOptions options;
  options.selection.tools = with_init();
  Result<Report> report = trace.try_check(options);
  EXPECT_TRUE(report) << report.error().message;
  return report ? std::move(*report) : Report();
}

TEST(InitTruth, CopiesToTheHost) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  for (const bool written : {false, true}) {
    TraceBuilder trace("unwritten.bundle");
    const auto data = trace.unwritten_buffer(kInitBytes);
    if (written) write(trace, data, Writes::kMemset);
    trace.copy_out(data);
    const Report report = check(trace);
    EXPECT_EQ(count_of(report, FindingClass::kU4), written ? 0U : 1U) << render_text(report, "t");
  }
}

// Padding, and parts of a dword: copied along, and never looked at.
TEST(InitTruth, PaddingIsNoFault) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  TraceBuilder trace("unwritten.bundle");
  const auto made = trace.unwritten_buffer(64 * 16);
  const auto copied = trace.unwritten_buffer(64 * 16);
  const auto halves = trace.unwritten_buffer(128);
  const auto to = trace.buffer(kInitBytes);
  trace.launch("make_padded", 1, 64, {made, 7});
  trace.launch("copy_padded", 1, 64, {copied, made});
  trace.launch("use_padded", 1, 64, {to, copied});
  trace.launch("half_of_it", 1, 64, {halves, to});
  trace.launch("read_halves", 1, 64, {to, halves});
  trace.copy_out(to);
  trace.copy_out(made);
  trace.copy_out(copied);
  const Report report = check(trace);
  EXPECT_TRUE(report.findings.empty()) << render_text(report, "t");
}

// The finding names the store that made the value, in its launch, not the copy.
TEST(InitTruth, ResultsNameTheirStore) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  TraceBuilder trace("unwritten.bundle");
  const auto from = trace.unwritten_buffer(kInitBytes);
  const auto to = trace.buffer(kInitBytes);
  const auto other = trace.buffer(kInitBytes);
  trace.launch("as_index", 1, 32, {other, to});
  trace.launch("computed", 2, 64, {to, from});
  trace.launch("as_index", 1, 32, {other, other});
  trace.copy_out(to);
  const Report report = check(trace);
  const Finding* const found = first_of(report, FindingClass::kU3);
  ASSERT_NE(found, nullptr) << render_text(report, "t");
  EXPECT_EQ(found->kernel, "computed");
  EXPECT_EQ(found->mnemonic, "global_store_dword");
  EXPECT_EQ(found->launch, 1U);
  EXPECT_NE(found->event_sequence, 0U);
  EXPECT_EQ(found->lanes, 0xffffffffU);
  ASSERT_TRUE(found->nearest);
  EXPECT_EQ(found->nearest->allocation, to.id);
}

}  // namespace
}  // namespace gfxgraph::check
