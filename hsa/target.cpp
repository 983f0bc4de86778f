#include "hsa/target.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

#include "base/process/gpu_target.h"
#include "base/process/null_device.h"

namespace gfxgraph::hsa {
namespace {

constexpr TargetRow kTargets[] = {
#define GFXGRAPH_TARGET(...) {__VA_ARGS__},
#define GFXGRAPH_GENERIC(...)
#include "hsa/targets.inc"
#undef GFXGRAPH_TARGET
#undef GFXGRAPH_GENERIC
};

struct GenericRow {
  std::string_view name;
  std::string_view member;
  std::string_view features;
};

constexpr GenericRow kGenerics[] = {
#define GFXGRAPH_TARGET(...)
#define GFXGRAPH_GENERIC(...) {__VA_ARGS__},
#include "hsa/targets.inc"
#undef GFXGRAPH_TARGET
#undef GFXGRAPH_GENERIC
};

constexpr bool has_row(std::string_view name) {
  return std::ranges::find(kTargets, name, &TargetRow::processor) != std::end(kTargets) ||
         std::ranges::find(kGenerics, name, &GenericRow::name) != std::end(kGenerics);
}
#define GFXGRAPH_MACH(value, name) static_assert(has_row(name), name " has no row in targets.inc");
#include "codeobj/mach.inc"
#undef GFXGRAPH_MACH

const TargetRow* find_row(std::string_view processor) {
  const auto* const row = std::ranges::find(kTargets, processor, &TargetRow::processor);
  return row == std::end(kTargets) ? nullptr : row;
}

const GenericRow* find_generic(std::string_view name) {
  const auto* const row = std::ranges::find(kGenerics, name, &GenericRow::name);
  return row == std::end(kGenerics) ? nullptr : row;
}

// ":sramecc+:xnack-": `known`, each as `wished` ("xnack+") sets it.
std::string with_settings(std::string_view known, const std::vector<std::string_view>& wished) {
  std::string features(known);
  for (const std::string_view setting : wished) {
    const std::string_view name = setting.substr(0, setting.size() - 1);
    const size_t at = features.find(fmt::format(":{}", name));
    if (at != std::string::npos) features[at + 1 + name.size()] = setting.back();
  }
  return features;
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  for (size_t end = 0; end != std::string_view::npos; text.remove_prefix(end + 1)) {
    end = text.find(':');
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
  }
  return parts;
}

Result<void> check_feature(const TargetRow& row, std::string_view setting) {
  const std::string_view name = setting.substr(0, setting.empty() ? 0 : setting.size() - 1);
  const bool set = setting.ends_with('+') || setting.ends_with('-');
  if (set && !name.empty() && row.features.find(fmt::format(":{}", name)) != std::string_view::npos)
    return {};
  return fail(Status::kInvalidArgument,
              fmt::format("{} has no feature '{}'; {}", row.processor, setting,
                          row.features.empty() ? "it has none that can be set"
                                               : fmt::format("it has {}", row.features.substr(1))));
}

struct Chosen {
  Target target;
  Execution execution = Execution::kEmulated;
  Result<void> error;
};

const Chosen& chosen() {
  static const Chosen* const instance = [] {
    auto* const made = new Chosen();
    made->target = *Target::parse(kEmulatedProcessor);
    const char* const text = std::getenv(kNullDeviceVariable);
    const std::string_view value = text == nullptr ? "" : text;
    if (value.empty() || value == "0") return made;
    made->execution = value == "1" ? Execution::kNone : Execution::kCopies;
    if (value == "1") return made;
    Result<Target> named = Target::parse(value);
    if (named) {
      made->target = *std::move(named);
    } else {
      made->error = fail(named.error().status,
                         fmt::format("${}: {}", kNullDeviceVariable, named.error().message));
    }
    return made;
  }();
  return *instance;
}

}  // namespace

Result<Target> Target::parse(std::string_view name) {
  const std::vector<std::string_view> parts = split(name);
  Target made;
  const GenericRow* const family = find_generic(parts.front());
  made.row_ = find_row(family == nullptr ? parts.front() : family->member);
  if (made.row_ == nullptr) {
    std::vector<std::string_view> known;
    for (const TargetRow& row : kTargets) known.push_back(row.processor);
    for (const GenericRow& row : kGenerics) known.push_back(row.name);
    return fail(Status::kInvalidArgument, fmt::format("'{}' is no target that is known here: {}",
                                                      parts.front(), fmt::join(known, ", ")));
  }
  const std::vector<std::string_view> wished(parts.begin() + 1, parts.end());
  for (const std::string_view setting : wished) GFXGRAPH_TRY(check_feature(*made.row_, setting));
  made.features_ = with_settings(made.row_->features, wished);
  const auto add = [&](std::string_view processor, std::string_view features) {
    made.isas_[made.isa_count_] = {
        {made.isa_count_ + 1},
        fmt::format("amdgcn-amd-amdhsa--{}{}", processor, with_settings(features, wished))};
    ++made.isa_count_;
  };
  add(made.row_->processor, made.row_->features);
  if (const auto* const generic = find_generic(generic_target(made.row_->processor)))
    add(generic->name, generic->features);
  return made;
}

const Target& target() { return chosen().target; }
Execution execution() noexcept { return chosen().execution; }
const Result<void>& target_error() { return chosen().error; }

}  // namespace gfxgraph::hsa
