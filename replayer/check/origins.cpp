#include "replayer/check/origins.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <span>

#include "base/checked.h"
#include "replayer/check/verify.h"

namespace gfxgraph::replayer {
namespace {

constexpr size_t kWordBytes = 8;

// Memory and received copies after a run.
struct Leftover {
  std::vector<std::vector<std::byte>> buffers;  // index = id - 1
  std::vector<std::vector<std::byte>> copies;
};

std::span<std::byte> received(const HostResult& result) {
  return std::as_writable_bytes(std::span(result.bytes, result.size_bytes));
}

Result<Leftover> save(const Instance& instance) {
  Leftover left;
  left.buffers.resize(instance.program().allocations().size());
  for (size_t i = 0; i < left.buffers.size(); ++i) {
    const auto id = static_cast<format::AllocationId>(i + 1);
    if (!instance.memory().exists(id)) continue;
    if (instance.program().allocations()[i].begin->object) continue;  // no contents
    left.buffers[i].resize(instance.memory().size(id));
    GFXGRAPH_TRY(instance.memory().read(id, 0, left.buffers[i]));
  }
  for (const HostResult& result : instance.host_results()) {
    const std::span<std::byte> bytes = received(result);
    left.copies.emplace_back(bytes.begin(), bytes.end());
  }
  return left;
}

// `kept_only`: only memory of the caller, which restore() does not set.
Result<void> put_back(const Instance& instance, const Leftover& left, bool kept_only) {
  for (size_t i = 0; i < left.buffers.size(); ++i) {
    const auto id = static_cast<format::AllocationId>(i + 1);
    if (left.buffers[i].empty() || (kept_only && !instance.memory().keeps_content(id))) continue;
    GFXGRAPH_TRY(instance.memory().write(id, 0, left.buffers[i]));
  }
  for (size_t i = 0; i < left.copies.size() && !kept_only; ++i) {
    std::ranges::copy(left.copies[i], received(instance.host_results()[i]).begin());
  }
  return {};
}

Result<void> run_eager(Instance& instance, const ExecutorOptions& options, hip::Stream stream,
                       bool varied) {
  const auto run = [&]() -> Result<void> {
    GFXGRAPH_TRY(instance.restore());
    GFXGRAPH_ASSIGN_OR_RETURN(const std::unique_ptr<Executor> executor,
                              make_eager_executor(instance, options));
    Completion completion(*executor, stream);
    GFXGRAPH_TRY(executor->run(stream));
    GFXGRAPH_TRY(completion.wait());
    return instance.session().synchronize();
  };
  // Shared memory is made fresh by the run itself.
  struct Varied {
    Memory& memory;
    ~Varied() { memory.vary_fresh(false); }
  } fresh{instance.memory()};
  instance.memory().vary_fresh(varied);
  return run();
}

// `now`: after a run with other fresh bytes. Returns whether any byte was derived from those.
bool compare(const Instance& instance, format::AllocationId home, std::span<const std::byte> now,
             Origins& origins) {
  const bool fresh =
      home != 0 && instance.program().allocations()[home - 1].begin->initial.unwritten;
  const std::byte first{instance.memory().fresh_byte(home, false)};
  const std::byte second{instance.memory().fresh_byte(home, true)};
  bool derived = false;
  origins.origins.assign(now.size(), Origin::kWritten);
  for (size_t i = 0; i < now.size(); ++i) {
    if (now[i] == origins.bytes[i]) continue;
    const bool plain = fresh && origins.bytes[i] == first && now[i] == second;
    origins.origins[i] = plain ? Origin::kUnwritten : Origin::kDerived;
    derived = derived || !plain;
  }
  // A computed number may keep some of its bytes unchanged.
  for (size_t word = 0; derived && word < now.size(); word += kWordBytes) {
    const auto bytes =
        std::span(origins.origins).subspan(word, std::min(kWordBytes, now.size() - word));
    if (std::ranges::find(bytes, Origin::kDerived) != bytes.end())
      std::ranges::replace(bytes, Origin::kUnwritten, Origin::kDerived);
  }
  return derived;
}

}  // namespace

uint64_t source_offset(const format::Copy& copy, uint64_t index) {
  const uint64_t pitch = copy.source.pitch_bytes == 0 ? copy.width_bytes : copy.source.pitch_bytes;
  const uint64_t slice =
      copy.source.slice_bytes == 0 ? pitch * copy.height : copy.source.slice_bytes;
  const uint64_t row = index / copy.width_bytes;
  return copy.source.offset_bytes + row / copy.height * slice + row % copy.height * pitch +
         index % copy.width_bytes;
}

bool begins_unwritten(const Program& program) {
  return std::ranges::any_of(program.allocations(), [](const AllocationInfo& info) {
    return info.begin != nullptr && info.begin->initial.unwritten;
  });
}

const Origins* OriginMap::buffer(format::AllocationId id) const {
  const auto found = buffers_.find(id);
  return found == buffers_.end() ? nullptr : &found->second;
}

const Origins* OriginMap::copy(size_t index) const {
  const auto found = copies_.find(index);
  return found == copies_.end() ? nullptr : &found->second;
}

bool OriginMap::covers(const VerifyReport& report) const {
  for (const BufferResult& one : report.buffers) {
    if (one.comparison == Comparison::kDifferent && !buffers_.contains(one.allocation))
      return false;
  }
  for (size_t i = 0; i < report.copies.size(); ++i) {
    if (report.copies[i].comparison == Comparison::kDifferent && !copies_.contains(i)) return false;
  }
  return true;
}

Result<OriginMap> OriginMap::find(Instance& instance, const ExecutorOptions& options,
                                  hip::Stream stream, const VerifyReport& report,
                                  const OriginMap* known, const MachineMemory& machine) {
  OriginMap map;
  if (known != nullptr) {
    for (const auto& [id, origins] : known->buffers_) map.buffers_[id] = {};
    for (const auto& [index, origins] : known->copies_) map.copies_[index] = {};
  }
  for (const BufferResult& one : report.buffers) {
    if (one.comparison == Comparison::kDifferent) map.buffers_[one.allocation] = {};
  }
  for (size_t i = 0; i < report.copies.size(); ++i) {
    if (report.copies[i].comparison == Comparison::kDifferent) map.copies_[i] = {};
  }
  GFXGRAPH_TRY(map.check_memory(instance, machine));
  GFXGRAPH_ASSIGN_OR_RETURN(const Leftover left, save(instance));
  struct PutBack {
    const Instance& instance;
    const Leftover& left;
    bool done = false;
    ~PutBack() {
      if (done) return;
      try {
        (void)put_back(instance, left, false);
      } catch (...) {  // out of memory for an error's text
      }
    }
  } all{instance, left};
  GFXGRAPH_TRY(put_back(instance, left, true));
  GFXGRAPH_TRY(map.look(instance, options, stream));
  GFXGRAPH_TRY(put_back(instance, left, true));
  GFXGRAPH_TRY(put_back(instance, left, false));
  all.done = true;
  GFXGRAPH_TRY(map.find_earlier(instance));
  return map;
}

// All contents are kept meanwhile, and of what is looked at each byte three times. On the software
// agent, fresh memory that is filled with other bytes takes this machine's.
Result<void> OriginMap::check_memory(const Instance& instance, const MachineMemory& machine) const {
  constexpr uint64_t kTimes = 3;
  uint64_t need = 0;
  const auto add = [&](uint64_t bytes) { need = checked_add(need, bytes).value_or(UINT64_MAX); };
  for (const AllocationInfo& info : instance.program().allocations()) {
    if (info.begin == nullptr || info.begin->object || !instance.memory().exists(info.begin->id))
      continue;
    const uint64_t size = instance.memory().size(info.begin->id);
    add(size);
    if (machine.holds_device && info.begin->initial.unwritten) add(size);
    for (uint64_t i = 0; i < kTimes && buffers_.contains(info.begin->id); ++i) add(size);
  }
  if (need <= machine.available_bytes) return {};
  return fail(Status::kOutOfMemory,
              fmt::format("that takes {} bytes of memory, more than this machine has available ({} "
                          "bytes): nothing was run again; replay a range, or where there is more",
                          need, machine.available_bytes));
}

Result<void> OriginMap::look(Instance& instance, const ExecutorOptions& options,
                             hip::Stream stream) {
  // `home`: the allocation that contains these bytes.
  using Visit =
      std::function<void(Origins&, std::span<const std::byte>, format::AllocationId home)>;
  std::vector<std::byte> bytes;
  const auto visit_all = [&](const Visit& visit) -> Result<void> {
    for (auto& [id, origins] : buffers_) {
      bytes.resize(instance.memory().size(id));
      GFXGRAPH_TRY(instance.memory().read(id, 0, bytes));
      visit(origins, bytes, id);
    }
    for (auto& [index, origins] : copies_) {
      const HostResult& result = instance.host_results()[index];
      const format::Copy& copy = *instance.program().operations()[result.operation].copy;
      visit(origins, received(result), copy.source.allocation);
    }
    return {};
  };
  GFXGRAPH_TRY(run_eager(instance, options, stream, false));
  GFXGRAPH_TRY(visit_all([&](Origins& origins, std::span<const std::byte> now, auto) {
    origins.bytes.assign(now.begin(), now.end());
  }));
  GFXGRAPH_TRY(run_eager(instance, options, stream, true));
  bool derived = false;
  GFXGRAPH_TRY(
      visit_all([&](Origins& origins, std::span<const std::byte> now, format::AllocationId home) {
        derived = compare(instance, home, now, origins) || derived;
      }));
  if (!derived) return {};
  // Bytes that differ between equal runs are not evidence.
  GFXGRAPH_TRY(run_eager(instance, options, stream, false));
  return visit_all([&](Origins& origins, std::span<const std::byte> now, auto) {
    for (size_t i = 0; i < now.size(); ++i) {
      if (now[i] != origins.bytes[i]) origins.origins[i] = Origin::kWritten;
    }
  });
}

Result<void> OriginMap::find_earlier(const Instance& instance) {
  GFXGRAPH_TRY(instance.program().trace().load_events());
  const format::EarlierContents contents(instance.program().trace());
  for (auto& [id, origins] : buffers_) {
    GFXGRAPH_ASSIGN_OR_RETURN(origins.earlier, contents.before(id, origins.bytes.size()));
  }
  for (auto& [index, origins] : copies_) {
    origins.earlier.resize(origins.bytes.size());
    const HostResult& result = instance.host_results()[index];
    const format::Copy& copy = *instance.program().operations()[result.operation].copy;
    if (copy.source.allocation == 0 || copy.width_bytes == 0) continue;
    const uint64_t size = instance.memory().size(copy.source.allocation);
    GFXGRAPH_ASSIGN_OR_RETURN(const std::vector<std::byte> source,
                              contents.before(copy.source.allocation, size));
    for (uint64_t i = 0; i < origins.earlier.size(); ++i) {
      const uint64_t offset = source_offset(copy, i);
      if (offset < size) origins.earlier[i] = source[offset];
    }
  }
  return {};
}

}  // namespace gfxgraph::replayer
