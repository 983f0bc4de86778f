#include "replayer/step/step_arguments.h"

#include <fmt/format.h>

#include <string>

#include "replayer/program/dag.h"
#include "replayer/session/instance.h"

namespace gfxgraph::replayer {
namespace {

tl::unexpected<Error> differs(const Instance& step, uint32_t operation, std::string_view what) {
  return fail(Status::kUnsupported, fmt::format("{}: the step and the other one differ in {}",
                                                step.program().describe(operation), what));
}

bool same(const hip::Dim3& a, const hip::Dim3& b) { return a.x == b.x && a.y == b.y && a.z == b.z; }

Result<void> check_launch(const Instance& step, const Instance& other, uint32_t i) {
  const PreparedLaunch& a = step.launch(step.operation(i).index);
  const PreparedLaunch& b = other.launch(other.operation(i).index);
  const auto code = [](const Instance& one, const PreparedLaunch& launch) {
    const SpecialLaunch* const special = one.special(launch);
    return special != nullptr && special->stub != nullptr
               ? special->stub
               : static_cast<const void*>(one.function(launch));
  };
  if (code(step, a) != code(other, b)) return differs(step, i, "their kernels");
  if (a.kernarg_bytes != b.kernarg_bytes) return differs(step, i, "the size of their arguments");
  const SpecialLaunch* const own = step.special(a);
  const SpecialLaunch* const others = other.special(b);
  const bool partial = (own != nullptr && own->partial) || (others != nullptr && others->partial);
  const bool cooperative = own != nullptr && own->cooperative;
  if (cooperative != (others != nullptr && others->cooperative))
    return differs(step, i, "whether they are cooperative");
  if (partial &&
      (own == nullptr || others == nullptr || !same(own->work_items, others->work_items)))
    return differs(step, i, "partial workgroups, which cannot be set");
  return {};
}

Result<void> check_copy(const Instance& step, const Instance& other, uint32_t i) {
  const PreparedCopy& a = step.copy(step.operation(i).index);
  const PreparedCopy& b = other.copy(other.operation(i).index);
  const format::Copy& own = *step.program().operations()[i].copy;
  const format::Copy& others = *other.program().operations()[i].copy;
  if (a.kind != b.kind || (own.source.allocation == 0) != (others.source.allocation == 0) ||
      (own.destination.allocation == 0) != (others.destination.allocation == 0)) {
    return differs(step, i, "the kinds of memory that they copy between");
  }
  if (a.linear() && b.linear()) {
    const bool staged = own.source.allocation == 0 || own.destination.allocation == 0;
    if (staged && a.width != b.width) return differs(step, i, "the bytes that the host has");
    return {};
  }
  const bool equal = a.width == b.width && a.height == b.height && a.depth == b.depth &&
                     a.source == b.source && a.destination == b.destination &&
                     a.source_array == b.source_array && a.destination_array == b.destination_array;
  if (equal) return {};
  return differs(step, i, "boxes or arrays, which cannot be set");
}

Result<void> check_memset(const Instance& step, const Instance& other, uint32_t i) {
  const PreparedMemset& a = step.memset(step.operation(i).index);
  const PreparedMemset& b = other.memset(other.operation(i).index);
  if (a.element_bytes != b.element_bytes || a.height != b.height || a.depth != b.depth)
    return differs(step, i, "rows or elements, which cannot be set");
  if ((a.small_row != nullptr || b.small_row != nullptr) &&
      (a.value != b.value || a.width != b.width ||
       (a.small_row == nullptr) != (b.small_row == nullptr)))
    return differs(step, i, "a small fill, which cannot be set");
  return {};
}

}  // namespace

StepArguments arguments_of(const PreparedOperations& operations) {
  StepArguments all;
  all.launches = operations.launches;
  all.copies = operations.copies;
  all.memsets = operations.memsets;
  for (PreparedLaunch& launch : all.launches) {
    all.kernargs.insert(all.kernargs.end(), launch.kernarg, launch.kernarg + launch.kernarg_bytes);
    launch.kernarg = nullptr;
  }
  return all;
}

Result<void> check_same_work(const Instance& step, const Instance& other) {
  if (&step == &other) return {};
  const Program& a = step.program();
  const Program& b = other.program();
  if (a.operations().size() != b.operations().size()) {
    return fail(Status::kUnsupported,
                fmt::format("the step has {} launches, copies and fills, the other one {}",
                            a.operations().size(), b.operations().size()));
  }
  for (uint32_t i = 0; i < a.operations().size(); ++i) {
    if (a.operations()[i].kind != b.operations()[i].kind) return differs(step, i, "its kind");
    switch (a.operations()[i].kind) {
      case OperationKind::kLaunch: GFXGRAPH_TRY(check_launch(step, other, i)); break;
      case OperationKind::kCopy: GFXGRAPH_TRY(check_copy(step, other, i)); break;
      case OperationKind::kMemset: GFXGRAPH_TRY(check_memset(step, other, i)); break;
    }
  }
  const auto dependencies = [](const Program& program) { return build_dag(program).dependencies; };
  if (dependencies(a) != dependencies(b)) {
    return fail(Status::kUnsupported,
                "the step and the other one differ in their order: the "
                "streams and events between their launches are not the same");
  }
  if (a.borders().size() != b.borders().size() || a.host_writes().size() != b.host_writes().size())
    return fail(Status::kUnsupported, "the step and the other one differ in what the host does");
  return {};
}

}  // namespace gfxgraph::replayer
