#include "replayer/flow/branches.h"

#include <fmt/format.h>

#include <algorithm>

namespace gfxgraph::replayer {

Branches::Branches(std::shared_ptr<const FlowDevice> device)
    : device_(std::move(device)), flag_(device_->library()) {}

Result<void> Branches::create(const gfxgraph_branches_options_t& options) {
  const auto wrong = [](std::string what) {
    return fail(Status::kInvalidArgument, fmt::format("branches: {}", what));
  };
  if (options.branches == nullptr || options.branch_count == 0) return wrong("there is none");
  if (options.default_branch != GFXGRAPH_BRANCH_NONE &&
      options.default_branch >= options.branch_count) {
    return wrong(
        fmt::format("default_branch is {} of {}", options.default_branch, options.branch_count));
  }
  name_ = options.name != nullptr ? options.name : "branches";
  default_branch_ = options.default_branch;
  for (uint32_t i = 0; i < options.branch_count; ++i) {
    const gfxgraph_branch_t& one = options.branches[i];
    if (one.name == nullptr || one.name[0] == '\0')
      return wrong(fmt::format("branch {} has no name", i));
    for (uint32_t k = 0; k < i; ++k) {
      if (names_[k] == one.name) return wrong(fmt::format("two are called {}", one.name));
      if (values_[k] == one.value)
        return wrong(fmt::format("{} and {} have the value {}", names_[k], one.name, one.value));
    }
    names_.emplace_back(one.name);
    values_.push_back(one.value);
    works_.emplace_back(device_, fmt::format("branch {}", one.name), options.capture_milliseconds);
    GFXGRAPH_TRY(works_.back().use(one.piece));
  }
  return flag_.use(options.flag);
}

tl::unexpected<Error> Branches::unknown(int64_t value) const {
  std::string known;
  for (uint32_t i = 0; i < count(); ++i)
    known += fmt::format("{}{} ({})", i == 0 ? "" : ", ", names_[i], values_[i]);
  return fail(Status::kNotFound,
              fmt::format("{}: no branch has the value {}, and there is no default_branch; there "
                          "are {}",
                          name_, value, known));
}

Result<uint32_t> Branches::choose(int64_t value) {
  const auto found = std::ranges::find(values_, value);
  if (found != values_.end()) [[likely]]
    return static_cast<uint32_t>(found - values_.begin());
  replayer::count(default_branch_ == GFXGRAPH_BRANCH_NONE ? unknown_ : by_default_);
  if (default_branch_ == GFXGRAPH_BRANCH_NONE) return unknown(value);
  return default_branch_;
}

Result<void> Branches::run(int64_t value, hip::Stream stream, gfxgraph_branches_result_t& result) {
  if (flag_.is_used()) {
    if (value != 0)
      return fail(Status::kInvalidArgument,
                  "value is not 0, and the flag of the branches chooses (flag)");
    GFXGRAPH_ASSIGN_OR_RETURN(value, flag_.read(stream));
  }
  result.value = value;
  GFXGRAPH_ASSIGN_OR_RETURN(result.branch, choose(value));
  WorkResult done;
  Result<void> ran = works_[result.branch].run(stream, done);
  result.way = done.way;
  result.fall = done.fall;
  result.work_status = done.work_status;
  return ran;
}

Result<void> Branches::warm(hip::Stream stream) {
  Result<void> first;
  for (CapturedWork& one : works_) {
    Result<void> warmed = one.warm(stream);
    if (!warmed && first) first = std::move(warmed);  // the others are captured
  }
  return first;
}

Result<CapturedWork*> Branches::branch(uint32_t number) {
  if (number < count()) [[likely]]
    return &works_[number];
  return fail(Status::kNotFound,
              fmt::format("branch {} does not exist: {} has {}", number, name_, count()));
}

void Branches::add_up(uint32_t number, gfxgraph_branches_info_t& info, WorkSums& sums) {
  info.way = works_[number].next_way();
  info.unknown = unknown_;
  info.by_default = by_default_;
  info.flag_reads = flag_.reads();
  sums.add(works_[number].counts());
}

}  // namespace gfxgraph::replayer
