#include "replayer/session/order_proof.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <new>
#include <optional>
#include <span>

#include "base/checked.h"
#include "format/box.h"
#include "replayer/memory/relocation.h"

namespace gfxgraph::replayer {
namespace {

constexpr const char* kOtherArguments = "an argument of a kernel was set to another value";
constexpr const char* kOtherSizes = "a launch, copy or memset was set to another size";
constexpr const char* kOtherPlaces = "a copy or memset was set to another place";
constexpr const char* kSharedBytes =
    "two buffers share bytes that they did not share when recorded";
constexpr const char* kHostEndInBuffer = "a copy from or to the host uses memory of a buffer";

bool same(const hip::Dim3& now, const std::array<uint32_t, 3>& recorded) {
  return now.x == recorded[0] && now.y == recorded[1] && now.z == recorded[2];
}

uint64_t address(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

}  // namespace

OrderProof::OrderProof(const Instance& instance, const order::NeededEdges& edges)
    : instance_(instance), edges_(edges), moves_(instance.session().moves().size()) {}

const char* OrderProof::holds() const noexcept {
  const char* reason = memory_holds();
  for (uint32_t i = 0; reason == nullptr && i < instance_.program().operations().size(); ++i)
    reason = operation_holds(i);
  return reason;
}

const char* OrderProof::holds_for(uint32_t operation) noexcept {
  if (const size_t moves = instance_.session().moves().size(); moves != moves_) [[unlikely]] {
    moves_ = moves;
    if (const char* const reason = memory_holds(); reason != nullptr) return reason;
  }
  return operation_holds(operation);
}

const char* OrderProof::memory_holds() const noexcept {
  return instance_.memory().addresses().shares_as_recorded() ? nullptr : kSharedBytes;
}

const char* OrderProof::operation_holds(uint32_t index) const noexcept {
  const Operation& recorded = instance_.program().operations()[index];
  const PreparedOperation& now = instance_.operation(index);
  const uint32_t work = instance_.program().first_operation() + index;
  switch (recorded.kind) {
    case OperationKind::kLaunch:
      // It is ordered with all work already.
      if (edges_.anything[work] != 0) return nullptr;
      return launch_holds(work, recorded, instance_.launch(now.index));
    case OperationKind::kCopy: return copy_holds(*recorded.copy, instance_.copy(now.index));
    case OperationKind::kMemset: return memset_holds(*recorded.memset, instance_.memset(now.index));
  }
  return nullptr;
}

const char* OrderProof::launch_holds(uint32_t work, const Operation& recorded,
                                     const PreparedLaunch& launch) const noexcept {
  const LaunchShape& shape = *recorded.launch;
  const auto open = [&](size_t at) {
    return std::ranges::any_of(
        std::ranges::equal_range(edges_.open, work, {}, &order::NeededEdges::Open::work),
        [&](const order::NeededEdges::Open& one) {
          return at - one.offset_bytes < one.size_bytes;
        });
  };
  // The size of LDS is no input of the analysis.
  if (!same(launch.grid, shape.grid) || !same(launch.block, shape.block)) return kOtherSizes;
  const std::span<const uint8_t> before = recorded.kernarg();
  const auto moved = [&](const format::Relocation& word) {
    return !(word.ambiguous && instance_.session().options().keep_ambiguous);
  };
  for (size_t at = 0; at < before.size(); ++at) {
    if (launch.kernarg[at] == before[at]) [[likely]]
      continue;
    const bool pointer =
        std::ranges::any_of(shape.relocations, [&](const format::Relocation& word) {
          return at - word.offset_bytes < sizeof(uint64_t) && moved(word);
        });
    if (!pointer && !open(at)) return kOtherArguments;
  }
  const AddressMap& addresses = instance_.memory().addresses();
  const auto now = std::as_bytes(std::span(launch.kernarg, launch.kernarg_bytes));
  for (const format::Relocation& word : shape.relocations) {
    if (!moved(word)) continue;
    if (!range_fits(word.offset_bytes, sizeof(uint64_t), now.size())) return kOtherArguments;
    const uint64_t known = load_word(std::as_bytes(before), word.offset_bytes);
    if (load_word(now, word.offset_bytes) != addresses.relocated(word, known))
      return kOtherArguments;
  }
  return nullptr;
}

const char* OrderProof::copy_holds(const format::Copy& recorded,
                                   const PreparedCopy& copy) const noexcept {
  if (copy.width > recorded.width_bytes || copy.height != recorded.height ||
      copy.depth != recorded.depth)
    return kOtherSizes;
  const Memory& memory = instance_.memory();
  const auto end_holds = [&](const format::CopyEnd& end, const uint8_t* now) -> const char* {
    if (end.allocation == 0) {
      const uint64_t bytes = copy.width * copy.height * copy.depth;
      const bool apart = now == nullptr || now == copy.staged || bytes == 0 ||
                         !memory.addresses().holds_any(address(now), bytes);
      return apart ? nullptr : kHostEndInBuffer;
    }
    uint64_t known = end.offset_bytes;
    if (memory.array(end.allocation) != nullptr) {
      known += PreparedCopy::kArrayBase;
    } else {
      const uint8_t* const host = memory.host_pointer(end.allocation);
      known += address(host != nullptr ? host : memory.device_pointer(end.allocation));
    }
    return address(now) == known ? nullptr : kOtherPlaces;
  };
  if (const char* const reason = end_holds(recorded.source, copy.source); reason != nullptr)
    return reason;
  return end_holds(recorded.destination, copy.destination);
}

const char* OrderProof::memset_holds(const format::Memset& recorded,
                                     const PreparedMemset& memset) const noexcept {
  const Memory& memory = instance_.memory();
  if (address(memset.destination) !=
      address(memory.device_pointer(recorded.allocation)) + recorded.offset_bytes)
    return kOtherPlaces;
  const std::optional<format::Box> box = format::box_of(recorded);
  const std::optional<uint64_t> extent = box ? box->extent() : std::nullopt;
  if (memset.width == 0 || memset.height == 0 || memset.depth == 0) return nullptr;
  const uint64_t now = (memset.depth - 1) * memset.slice + (memset.height - 1) * memset.pitch +
                       memset.width * memset.element_bytes;
  return extent && now <= *extent ? nullptr : kOtherSizes;
}

OrderInUse::OrderInUse(const Instance& instance, const char* refused)
    : instance_(instance),
      recorded_(build_dag(instance.program())),
      edges_(instance.session().order()) {
  if (edges_ == nullptr) return;
  proof_.emplace(instance, *edges_);
  const char* const reason = refused != nullptr ? refused : proof_->holds();
  if (reason != nullptr)
    lose(reason);
  else
    proven_ = needed_dag(instance.program(), recorded_, *edges_);
}

bool OrderInUse::keeps(uint32_t operation) noexcept {
  if (!proven_) return true;
  const char* const reason = proof_->holds_for(operation);
  if (reason == nullptr) [[likely]]
    return true;
  lose(reason);
  return false;
}

void OrderInUse::lose(const char* reason) noexcept {
  reason_ = reason;
  proven_.reset();
  if (instance_.session().options().log.write == nullptr) return;
  try {
    instance_.session().log(
        kLogWarning, fmt::format("the recorded order instead of the proven one: {}", reason));
  } catch (const std::bad_alloc&) {  // it is kept nevertheless
  }
}

OrderUse OrderInUse::use() const {
  OrderUse use;
  use.proven = proven();
  use.reason = reason_;
  use.edges_recorded = recorded_.edges;
  use.edges_needed = dag().edges;
  return use;
}

}  // namespace gfxgraph::replayer
