#include "replayer/modes/packet_eligibility.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "replayer/session/instance.h"

namespace gfxgraph::replayer {
namespace {

constexpr uint32_t kMostReasons = 3;

}  // namespace

Result<EligibleKernels> eligible_kernels(const Instance& instance, uint32_t operations) {
  std::map<format::KernelId, std::vector<HiddenField>> eligible;
  std::unordered_set<format::KernelId> refused;  // each is named once
  std::string reasons;
  uint32_t count = 0;
  const auto refuse = [&](uint32_t index, std::string_view reason) {
    if (count++ < kMostReasons)
      reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ",
                             instance.program().describe(index), reason);
  };
  for (uint32_t i = 0; i < operations; ++i) {
    const PreparedOperation& operation = instance.operation(i);
    if (operation.kind == OperationKind::kCopy && instance.copy(operation.index).in_array())
      refuse(i, "a copy from or to an array");
    if (operation.kind != OperationKind::kLaunch) continue;
    const PreparedLaunch& launch = instance.launch(operation.index);
    const SpecialLaunch* const special = instance.special(launch);
    if (special != nullptr && special->cooperative) {
      refuse(i, "cooperative launch");
      continue;
    }
    if (eligible.contains(launch.kernel) || refused.contains(launch.kernel)) continue;
    Result<std::vector<HiddenField>> hidden =
        hidden_fields(instance.program().trace().kernels()[launch.kernel - 1]);
    if (hidden) {
      eligible.emplace(launch.kernel, *std::move(hidden));
    } else {
      refused.insert(launch.kernel);
      refuse(i, hidden.error().message);
    }
  }
  if (count == 0) return eligible;
  if (count > kMostReasons) reasons += fmt::format("; and {} more", count - kMostReasons);
  return fail(Status::kUnsupported, "mode packets: " + reasons);
}

}  // namespace gfxgraph::replayer
