// Annotations by the program: ranges and marks of roctx (libroctx64, librocprofiler-sdk-roctx),
// hipProfilerStart and hipProfilerStop, and gfxgraph/record.h. The hooks also call the library's
// own function if the process has it.
#include "recorder/hooks/calls/hooks_marker.h"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "recorder/hooks/calls/hooks_internal.h"
#include "recorder/lock_order.h"
#include "recorder/program_memory.h"
#include "recorder/recorder.h"

namespace gfxgraph::recorder {
namespace {

// roctracer's roctx.h.
using MarkFunction = void (*)(const char*);
using PushFunction = int (*)(const char*);
using PopFunction = int (*)();
using StartFunction = uint64_t (*)(const char*);
using StopFunction = void (*)(uint64_t);

enum RoctxIndex : int {
  kRoctxMark,
  kRoctxRangePush,
  kRoctxRangePop,
  kRoctxRangeStart,
  kRoctxRangeStop,
  kRoctxCount
};

struct RoctxRow {
  const char* name;
  void* hook;
};

std::atomic<void*> found_functions[kRoctxCount];

template <typename Function>
Function next_function(RoctxIndex index, const char* name) noexcept {
  std::atomic<void*>& found = found_functions[index];
  void* function = found.load(std::memory_order_acquire);
  if (function == nullptr) {
    function = preload::call_dlsym(preload::system_dlsym(), RTLD_NEXT, name);
    if (function == nullptr) return nullptr;  // the library may be loaded later
    found.store(function, std::memory_order_release);
  }
  return reinterpret_cast<Function>(function);
}

// Ranges that this thread pushed and has not popped. 0: pushed while nothing was recorded.
std::vector<format::RangeId>& pushed() {
  thread_local std::vector<format::RangeId> ranges;
  return ranges;
}

// Ranges by the number that the program has: started by one thread, stopped by any.
struct Started {
  Mutex<LockRank::kLast> mutex;
  std::unordered_map<uint64_t, format::RangeId> ranges;
  uint64_t next = 1;
};
Started& started() {
  static Started* const instance = new Started;  // hooks live as long as the process
  return *instance;
}

struct Open {
  format::RangeId range = 0;
  uint32_t thread = 0;  // the thread that began it
};

// By name: gfxgraph_range_end("step") ends the last one that its thread began. Where that began
// none, another one did so for it: the last one of all.
struct Named {
  Mutex<LockRank::kLast> mutex;
  std::unordered_map<std::string, std::vector<Open>> ranges;  // in the order in which they began
};
Named& named() {
  static Named* const instance = new Named;
  return *instance;
}

void begin_named(const char* name) noexcept {
  const format::RangeId range = recorder().marks().range_begins(name);
  if (range == 0) return;
  try {
    Named& all = named();
    const std::lock_guard lock(all.mutex);
    all.ranges[cut_name(name)].push_back({range, thread_number()});
  } catch (const std::exception& caught) {
    recorder().marks().note("gfxgraph_range_begin", caught.what());
  }
}

void end_named(const char* name, const char* call) noexcept {
  if (!recorder().active()) return;
  format::RangeId range = 0;
  try {
    Named& all = named();
    const std::lock_guard lock(all.mutex);
    const auto found = all.ranges.find(cut_name(name));
    if (found != all.ranges.end()) {
      std::vector<Open>& open = found->second;
      const auto own =
          std::ranges::find(open.rbegin(), open.rend(), thread_number(), &Open::thread);
      const auto ended = own == open.rend() ? open.end() - 1 : own.base() - 1;
      range = ended->range;
      open.erase(ended);
      if (open.empty()) all.ranges.erase(found);
    }
  } catch (const std::exception& caught) {
    recorder().marks().note(call, caught.what());
  }
  if (range != 0) return recorder().marks().range_ends(range);
  recorder().marks().note(call, "of a range that was not begun");
}

constexpr const char* kProfilerRange = "hipProfiler";

}  // namespace
}  // namespace gfxgraph::recorder

using namespace gfxgraph::recorder;
namespace format = gfxgraph::format;

// ---- roctx --------------------------------------------------------------------------------------

GFXGRAPH_HOOK void roctxMarkA(const char* text) {
  recorder().marks().mark(text);
  if (const auto next = next_function<MarkFunction>(kRoctxMark, "roctxMarkA")) next(text);
}

// Returns the number of open ranges, as roctx counts them.
GFXGRAPH_HOOK int roctxRangePushA(const char* name) {
  int level = -1;
  try {
    level = static_cast<int>(pushed().size());
    pushed().push_back(recorder().marks().range_begins(name));
  } catch (const std::exception& caught) {
    recorder().marks().note("roctxRangePush", caught.what());
  }
  const auto next = next_function<PushFunction>(kRoctxRangePush, "roctxRangePushA");
  return next != nullptr ? next(name) : level;
}

GFXGRAPH_HOOK int roctxRangePop() {
  int level = -1;
  if (std::vector<format::RangeId>& ranges = pushed(); !ranges.empty()) {
    recorder().marks().range_ends(ranges.back());
    ranges.pop_back();
    level = static_cast<int>(ranges.size());
  } else {
    recorder().marks().note("roctxRangePop", "no range is open on the thread");
  }
  const auto next = next_function<PopFunction>(kRoctxRangePop, "roctxRangePop");
  return next != nullptr ? next() : level;
}

GFXGRAPH_HOOK uint64_t roctxRangeStartA(const char* name) {
  const format::RangeId range = recorder().marks().range_begins(name);
  const auto next = next_function<StartFunction>(kRoctxRangeStart, "roctxRangeStartA");
  uint64_t number = next != nullptr ? next(name) : 0;
  try {
    Started& all = started();
    const std::lock_guard lock(all.mutex);
    if (next == nullptr) number = all.next++;
    all.ranges[number] = range;
  } catch (const std::exception& caught) {
    recorder().marks().note("roctxRangeStart", caught.what());
  }
  return number;
}

GFXGRAPH_HOOK void roctxRangeStop(uint64_t number) {
  format::RangeId range = 0;
  bool known = false;
  {
    Started& all = started();
    const std::lock_guard lock(all.mutex);
    if (const auto found = all.ranges.find(number); found != all.ranges.end()) {
      range = found->second;
      known = true;
      all.ranges.erase(found);
    }
  }
  if (known) {
    recorder().marks().range_ends(range);
  } else {
    recorder().marks().note("roctxRangeStop", "of a range that was not started");
  }
  if (const auto next = next_function<StopFunction>(kRoctxRangeStop, "roctxRangeStop"))
    next(number);
}

namespace gfxgraph::recorder {
namespace {

const RoctxRow kRoctxRows[kRoctxCount] = {
    {"roctxMarkA", reinterpret_cast<void*>(&roctxMarkA)},
    {"roctxRangePushA", reinterpret_cast<void*>(&roctxRangePushA)},
    {"roctxRangePop", reinterpret_cast<void*>(&roctxRangePop)},
    {"roctxRangeStartA", reinterpret_cast<void*>(&roctxRangeStartA)},
    {"roctxRangeStop", reinterpret_cast<void*>(&roctxRangeStop)},
};

}  // namespace

bool may_be_roctx(const char* name) noexcept { return std::strncmp(name, "roctx", 5) == 0; }

void* hook_roctx(const char* name, void* found) noexcept {
  if (found == nullptr) return nullptr;
  for (int index = 0; index < kRoctxCount; ++index) {
    if (std::strcmp(kRoctxRows[index].name, name) != 0) continue;
    if (found == kRoctxRows[index].hook) return found;
    found_functions[index].store(found, std::memory_order_release);
    return kRoctxRows[index].hook;
  }
  return found;
}

}  // namespace gfxgraph::recorder

// ---- HIP ----------------------------------------------------------------------------------------

// Runtimes return that they do not support it: only the program's call counts.
GFXGRAPH_HOOK hipError_t hipProfilerStart() {
  const Scope scope(CallKind::kMayJoin);
  if (scope.record) begin_named(kProfilerRange);
  return real(kCall_hipProfilerStart);
}
GFXGRAPH_HOOK hipError_t hipProfilerStop() {
  const Scope scope;
  if (scope.record) end_named(kProfilerRange, "hipProfilerStop");
  return real(kCall_hipProfilerStop);
}

// ---- gfxgraph/record.h --------------------------------------------------------------------------

GFXGRAPH_HOOK void gfxgraph_recorder_range_begin(const char* name) { begin_named(name); }
GFXGRAPH_HOOK void gfxgraph_recorder_range_end(const char* name) {
  end_named(name, "gfxgraph_range_end");
}
GFXGRAPH_HOOK void gfxgraph_recorder_name(const void* pointer, const char* name) {
  recorder().marks().name_memory(pointer, name);
}
GFXGRAPH_HOOK void gfxgraph_recorder_mark(const char* text) { recorder().marks().mark(text); }
