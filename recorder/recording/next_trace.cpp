#include "recorder/recording/next_trace.h"

#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace gfxgraph::recorder {
namespace {

// Findings about contents apply to one segment only; the next one reads all contents anew.
bool about_contents(std::string_view call) {
  return call == "range" || call == "host function" || call == "host memory";
}

}  // namespace

void NextTrace::begin(std::unique_ptr<format::Writer> writer,
                      const format::Environment& environment, Earlier findings) {
  check(writer->add(environment));
  journal_.begin(std::move(writer));
  forget_last(findings);
  journal_.sites().repeat();
}

// The next use of an object describes it again.
void NextTrace::forget_last(Earlier findings) {
  const LaunchLanes::Alone alone(journal_.lanes());
  const std::vector<std::string> described = code_.number_anew();
  const std::unordered_set<std::string_view> kernels(described.begin(), described.end());

  // Calls that were not recorded may affect later segments as well, so their findings stay.
  for (const Findings::Count& found : journal_.findings().take()) {
    if (findings == Earlier::kForgotten || found.kind != format::FindingKind::kIncomplete ||
        about_contents(found.call) || kernels.contains(found.call)) {
      continue;
    }
    finding_now(found.kind, found.call, found.detail);
  }
  contents_.forget_trace();
  journal_.forget_refused();
  events_.number_anew();
  flights_ = Flights();
  runs_.forget_trace();
  work_.number_anew();
  allocations_.number_anew();
}

}  // namespace gfxgraph::recorder
