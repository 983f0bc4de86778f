#include "replayer/session/session.h"
#include "base/amount.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <set>
#include <string>
#include <string_view>

#include "base/process/gpu_target.h"
#include "replayer/program/dag.h"

namespace gfxgraph::replayer {
namespace {

// "amdgcn-amd-amdhsa--gfx90a:xnack-" and "gfx90a:xnack-" are both gfx90a.
std::string base_architecture(const std::string& text) {
  const size_t begin = text.rfind("gfx");
  if (begin == std::string::npos) return text;
  return text.substr(begin, text.find(':', begin) == std::string::npos
                                ? std::string::npos
                                : text.find(':', begin) - begin);
}

}  // namespace

Result<std::shared_ptr<Session>> Session::load(std::shared_ptr<const Program> program,
                                               std::shared_ptr<const HipLibrary> library,
                                               const SessionOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  std::shared_ptr<Session> session(new Session(std::move(program), std::move(library), options));
  GFXGRAPH_ASSIGN_OR_RETURN(session->device_, session->library_->select_device(options.device));
  GFXGRAPH_TRY(check_architecture(session->program_->trace(), session->device_));
  session->start_deadline();
  for (const Binding& binding : options.bindings) GFXGRAPH_TRY(check_fill(options, binding));
  if (options.live != nullptr && options.layout == Layout::kShift) {
    return fail(Status::kUnsupported,
                "a shifted layout in place: the memory is the program's, and stays where it is; "
                "create a session apart (GFXGRAPH_PLACE_APART)");
  }
  if (options.packing == nullptr) {
    session->options_.packing =
        std::make_shared<const Packing>(plan_packing(*session->program_, options));
  }
  const Packing& packing = *session->options_.packing;
  GFXGRAPH_TRY(check_memory(*session->program_, options, packing, *session->library_));
  session->log_memory();
  if (options.live != nullptr) {
    session->modules_ = Modules::take(session->library_, *session->program_, *options.live);
    if (session->library_->avoids(HipQuirk::kGraphKernelsMix))
      session->launch_lock_ = LaunchLock::of_process();
  } else {
    GFXGRAPH_ASSIGN_OR_RETURN(
        session->modules_,
        Modules::load(session->library_, *session->program_, session->device_.target));
  }
  if (options.layout == Layout::kShift &&
      session->modules_->at_recorded_address(*session->program_)) {
    // The loader chooses where variables stand; while the first copy is there, a second one cannot
    // be.
    session->displaced_modules_ = std::move(session->modules_);
    GFXGRAPH_ASSIGN_OR_RETURN(
        session->modules_,
        Modules::load(session->library_, *session->program_, session->device_.target));
  }
  GFXGRAPH_ASSIGN_OR_RETURN(session->memory_, Memory::create(session->library_, *session->program_,
                                                             *session->modules_, options, packing));
  session->load_us_ =
      std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
  session->log_loaded();
  return session;
}

Result<void> Session::check_architecture(const format::Trace& trace, const HipDevice& device) {
  const std::string recorded = base_architecture(trace.environment().gpu_arch);
  const std::string present = base_architecture(device.arch);
  if (recorded.empty() || recorded == present) return {};
  // What the trace has for several targets is chosen when it is loaded.
  std::set<std::string_view> targets;
  for (const format::CodeObject& code : trace.code_objects()) {
    if (code.image_of != 0 && code_suits(code.target, device.target)) return {};
    targets.insert(short_target(code.target));
  }
  return fail(Status::kUnsupported,
              fmt::format("the trace was recorded on {} and device '{}' is {}: its code objects do "
                          "not run there, they are for {}; record on {}, or with --all-targets a "
                          "program that is compiled for both, or replay on {}",
                          recorded, device.name, device.target,
                          targets.empty() ? recorded : fmt::format("{}", fmt::join(targets, ", ")),
                          present, recorded));
}

void Session::log_memory() const {
  if (options_.log.write == nullptr) return;
  if (const std::optional<MemoryNeed> need = memory_need(*program_, options_, *options_.packing))
    log(kLogInfo, memory_text(*need, options_.memory));
}

void Session::log_loaded() const {
  if (options_.log.write == nullptr) return;
  log(kLogInfo,
      fmt::format("{} {} and {}, {} of them the caller's, {} {} ({}), HIP {} from {}, in {:.1f} ms",
                  in_place() ? "in place:" : "loaded",
                  counted(program_->trace().code_objects().size(), "code object"),
                  counted(memory_->movable() + options_.bindings.size(), "buffer"),
                  options_.bindings.size(), in_place() ? "on" : "onto", device_.name, device_.arch,
                  library_->runtime_version(), library_->path(), load_us_ / 1000));
  if (const size_t more = program_->trace().devices().size(); more != 0) {
    log(kLogInfo, fmt::format("this device does the work of the program's {} devices", more + 1));
  }
  if (in_place()) return;  // no word changes
  const std::vector<AmbiguousWord> words = program_->ambiguous_words();
  if (words.empty()) return;
  log(kLogWarning, fmt::format("words that only look like pointers, in {}: {} (docs/replay.md, "
                               "\"Pointers\")",
                               counted(words.size(), "place"),
                               options_.keep_ambiguous ? "left alone" : "relocated"));
}

Result<void> check_apart(const SessionOptions& options, const char* what) {
  if (options.live == nullptr) return {};
  return fail(Status::kUnsupported,
              fmt::format("{}: this session runs in place, over the program's own memory, to which "
                          "no recorded contents are written; capture with contents, and create the "
                          "session with GFXGRAPH_PLACE_APART",
                          what));
}

Result<void> check_fill(const SessionOptions& options, const Binding& binding) {
  return binding.keep_content ? Result<void>() : check_apart(options, "GFXGRAPH_BIND_FILL");
}

Result<void> Session::bind(const Binding& binding) {
  GFXGRAPH_TRY(check_fill(options_, binding));
  changed();
  GFXGRAPH_TRY(synchronize());
  moves_.reserve(moves_.size() + 1);
  GFXGRAPH_ASSIGN_OR_RETURN(const Move move, memory_->bind_anew(*program_, binding));
  moves_.push_back(move);
  if (options_.log.write == nullptr) return {};
  try {
    log(kLogInfo, fmt::format("buffer {} is the caller's memory at {:#x} now", binding.allocation,
                              move.new_device));
  } catch (const std::bad_alloc&) {  // it is bound nevertheless
  }
  return {};
}

Result<void> Session::use_order(std::shared_ptr<const order::NeededEdges> edges) {
  if (edges == nullptr) {
    order_ = nullptr;
    return {};
  }
  if (!memory_->packing().tenants.empty()) {
    return fail(Status::kUnsupported,
                "proven order: buffers share memory one after another, which the recorded order "
                "allows: give each its own (--memory apart, GFXGRAPH_MEMORY_APART)");
  }
  const std::string recorded = base_architecture(program_->trace().environment().gpu_arch);
  if (recorded != base_architecture(device_.arch)) {
    return fail(Status::kUnsupported,
                fmt::format("proven order: the code for {} was analysed, and {} runs that for {}",
                            recorded, device_.name, device_.arch));
  }
  GFXGRAPH_TRY(check_edges(*program_, *edges));
  order_ = std::move(edges);
  return {};
}

// In a single pass, which several threads can share.
Result<void> Session::check_contents(uint64_t end_event) {
  if (end_event <= checked_until_) return {};
  std::vector<format::BlobId> blobs;
  for (const AllocationInfo& info : program_->allocations()) {
    if (info.begin == nullptr || info.begin_sequence >= end_event) continue;
    const bool kept = !memory_->exists(info.begin->id) || memory_->keeps_content(info.begin->id);
    if (info.begin->initial.blob && !kept) blobs.push_back(info.begin->initial.blob);
  }
  GFXGRAPH_TRY(program_->trace().check_blobs(blobs));
  checked_until_ = end_event;
  return {};
}

Result<void> Session::restore(uint64_t end_event, bool all) {
  changed();
  GFXGRAPH_TRY(synchronize());
  GFXGRAPH_TRY(check_contents(end_event));
  GFXGRAPH_TRY(memory_->restore(*program_, all, end_event));
  restored_until_ = std::max(restored_until_, end_event);
  return {};
}

Result<void> Session::restore_rest(uint64_t end_event) {
  if (end_event <= restored_until_) return {};
  GFXGRAPH_TRY(check_contents(end_event));
  GFXGRAPH_TRY(memory_->restore(*program_, false, end_event, restored_until_));
  restored_until_ = end_event;
  return {};
}

Result<std::shared_ptr<PacketDevice>> Session::packet_device() {
  std::shared_ptr<PacketDevice> device = packet_device_.lock();
  if (device) return device;
  GFXGRAPH_ASSIGN_OR_RETURN(device, PacketDevice::open(library_, device_));
  packet_device_ = device;
  return device;
}

}  // namespace gfxgraph::replayer
