#include "replayer/tool/schedule.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/file/file.h"
#include "emulator/decode/memory_effects.h"
#include "replayer/code/elf_check.h"

namespace gfxgraph::replayer {
namespace {

constexpr uint32_t kLeastThreads = 4;
constexpr uint32_t kRuns = 3;
// What varies rarely does not vary in a few runs: more are made in this time, up to so many.
constexpr uint32_t kMostRuns = 48;
constexpr std::chrono::seconds kRareTime(15);
constexpr const char* kLongSlice = "4000";
constexpr std::chrono::seconds kSearchTime(60);
// Limit for a reply of a probe (run count, hash count, hashes).
constexpr uint32_t kMaxHashes = 1u << 26;

bool send_all(int socket, const void* data, size_t size) {
  const auto* bytes = static_cast<const char*>(data);
  while (size != 0) {
    const ssize_t sent = ::send(socket, bytes, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes += sent;
    size -= static_cast<size_t>(sent);
  }
  return true;
}

bool receive_all(int socket, void* data, size_t size) {
  auto* bytes = static_cast<char*>(data);
  while (size != 0) {
    const ssize_t got = ::recv(socket, bytes, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    bytes += got;
    size -= static_cast<size_t>(got);
  }
  return true;
}

// One answer: the number of runs (0: failed), of hashes in each, the hashes.
void answer(int socket, const Result<Fingerprints>& fingerprints) {
  const bool good = fingerprints && !fingerprints->empty();
  const std::array<uint32_t, 2> head = {
      good ? static_cast<uint32_t>(fingerprints->size()) : 0,
      good ? static_cast<uint32_t>(fingerprints->front().size()) : 0};
  if (!send_all(socket, head.data(), sizeof(head)) || !good) return;
  for (const std::vector<format::BlobId>& run : *fingerprints) {
    if (!send_all(socket, run.data(), run.size() * sizeof(run[0]))) return;
  }
}

// The process that waits for requests. A child runs each one; only children load HIP.
[[noreturn]] void serve(int socket, const Probe& probe) {
  ProbeRequest request;
  while (receive_all(socket, &request, sizeof(request))) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::setenv("GFXGRAPH_THREADS", std::to_string(request.threads).c_str(), 1);
      // Data races between waves of one workgroup show with long slices (docs/software-agent.md).
      if (request.threads > 1 && request.long_slices)
        ::setenv("GFXGRAPH_TIME_SLICE", kLongSlice, 1);
      try {
        answer(socket, probe(request));
      } catch (const std::exception&) {
        ::_exit(1);
      }
      ::_exit(0);
    }
    int status = 0;
    while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    // A probe that died may have sent part of an answer: no message can follow.
    if (child < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0) break;
  }
  ::_exit(0);
}

using Differences = std::set<size_t>;

// The places where any two runs differ.
Differences differing(const Fingerprints& runs) {
  Differences places;
  for (const std::vector<format::BlobId>& run : runs) {
    for (size_t i = 0; i < std::min(run.size(), runs.front().size()); ++i) {
      if (!(run[i] == runs.front()[i])) places.insert(i);
    }
  }
  return places;
}

Result<Fingerprints> run_both(const Probe& probe, uint32_t threads, uint32_t more,
                              uint32_t operations) {
  GFXGRAPH_ASSIGN_OR_RETURN(Fingerprints runs, probe({1, 1, operations}));
  GFXGRAPH_ASSIGN_OR_RETURN(Fingerprints others, probe({threads, more, operations}));
  runs.insert(runs.end(), others.begin(), others.end());
  return runs;
}

// Whether a place of a fingerprint differs from the recording. Buffers come first there, by id;
// copies follow in the order of the report.
bool differs(size_t place, const VerifyReport& report, size_t allocations) {
  if (place >= allocations) {
    const size_t copy = place - allocations;
    return copy < report.copies.size() && report.copies[copy].comparison == Comparison::kDifferent;
  }
  return std::ranges::any_of(report.buffers, [&](const BufferResult& buffer) {
    return buffer.allocation == place + 1 && buffer.comparison == Comparison::kDifferent;
  });
}

// Whether each buffer and copy that differs from the recording is among them.
bool explained(const Differences& found, const VerifyReport& report, size_t allocations) {
  for (const BufferResult& buffer : report.buffers)
    if (buffer.comparison == Comparison::kDifferent && !found.contains(buffer.allocation - 1))
      return false;
  for (size_t i = 0; i < report.copies.size(); ++i)
    if (report.copies[i].comparison == Comparison::kDifferent && !found.contains(allocations + i))
      return false;
  return !found.empty();
}

// The places where a run with one thread differs whose memory lies elsewhere than that of `here`.
Result<Differences> moved(const Probe& probe, Elsewhere elsewhere, uint32_t operations,
                          Fingerprints here) {
  GFXGRAPH_ASSIGN_OR_RETURN(const Fingerprints there, probe({1, 1, operations, true, elsewhere}));
  here.insert(here.end(), there.begin(), there.end());
  return differing(here);
}

// The first operation after which `places` show it; they do after all later ones, too.
// `differences`: of that many operations.
std::optional<uint32_t> first_of(const Differences& places, uint32_t operations,
                                 const std::function<Result<Differences>(uint32_t)>& differences) {
  if (places.empty() || operations == 0) return std::nullopt;
  const auto start = std::chrono::steady_clock::now();
  uint32_t low = 0;
  uint32_t high = operations - 1;
  while (low < high) {
    if (std::chrono::steady_clock::now() - start > kSearchTime) return std::nullopt;
    const uint32_t middle = low + (high - low) / 2;
    const Result<Differences> found = differences(middle + 1);
    if (!found) return std::nullopt;
    if (std::ranges::any_of(*found, [&](size_t place) { return places.contains(place); })) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

// Of runs that follow each other in processes of `size` runs, which have one address for each
// thing.
Differences differing_in_one_process(std::span<const std::vector<format::BlobId>> runs,
                                     size_t size) {
  Differences places;
  for (size_t i = 0; i < runs.size(); i += size) {
    const auto of_process = runs.subspan(i, std::min(size, runs.size() - i));
    places.merge(differing(Fingerprints(of_process.begin(), of_process.end())));
  }
  return places;
}

void add_places(const Differences& places, size_t allocations,
                std::vector<format::AllocationId>& buffers, size_t& copies) {
  for (const size_t place : places) {
    if (place < allocations) {
      buffers.push_back(static_cast<format::AllocationId>(place + 1));
    } else {
      ++copies;
    }
  }
}

}  // namespace

std::optional<ProbeServer> ProbeServer::start(const Probe& probe) {
  std::array<int, 2> sockets{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) != 0)
    return std::nullopt;
  const pid_t process = ::fork();
  if (process == 0) {
    ::close(sockets[0]);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    serve(sockets[1], probe);
  }
  ::close(sockets[1]);
  if (process > 0) return ProbeServer(process, sockets[0]);
  ::close(sockets[0]);
  return std::nullopt;
}

ProbeServer::ProbeServer(ProbeServer&& other) noexcept
    : process_(std::exchange(other.process_, -1)), socket_(std::exchange(other.socket_, -1)) {}

ProbeServer::~ProbeServer() {
  if (socket_ >= 0) ::close(socket_);
  while (process_ > 0 && ::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) continue;
}

Result<Fingerprints> ProbeServer::run(const ProbeRequest& request) {
  std::array<uint32_t, 2> head{};
  if (!send_all(socket_, &request, sizeof(request)) ||
      !receive_all(socket_, head.data(), sizeof(head)) || head[0] == 0 || head[1] > kMaxHashes)
    return fail(Status::kDevice, "a run in another process failed");
  Fingerprints runs(head[0]);
  for (std::vector<format::BlobId>& run : runs) {
    run.resize(head[1]);
    if (!receive_all(socket_, run.data(), run.size() * sizeof(run[0])))
      return fail(Status::kDevice, "a run in another process ended early");
  }
  return runs;
}

ScheduleReport compare_schedules(const Probe& probe, const VerifyReport& report, size_t allocations,
                                 uint32_t operations) {
  ScheduleReport schedule;
  schedule.threads = std::max(kLeastThreads, std::thread::hardware_concurrency());
  Result<Fingerprints> runs = run_both(probe, schedule.threads, kRuns, operations);
  if (!runs) {
    schedule.failure = runs.error().message;
    return schedule;
  }
  const Fingerprints first(1, runs->front());
  // Each process has its host memory elsewhere, so what differs between two may be due to that.
  const Differences host =
      moved(probe, Elsewhere::kHostMemory, operations, first).value_or(Differences());
  const auto all = [&] {
    Differences places = differing(*runs);
    places.insert(host.begin(), host.end());
    return places;
  };
  const auto start = std::chrono::steady_clock::now();
  while (runs->size() < kMostRuns && !explained(all(), report, allocations) &&
         std::chrono::steady_clock::now() - start < kRareTime) {
    // In turn with other numbers of threads and other slices: they show other orders.
    const uint32_t turn = static_cast<uint32_t>(runs->size()) / kRuns;
    Result<Fingerprints> more =
        probe({schedule.threads - turn % 2, kRuns, operations, turn % 4 < 2});
    if (!more) break;
    runs->insert(runs->end(), more->begin(), more->end());
  }
  schedule.runs = static_cast<uint32_t>(runs->size());
  Differences known = all();
  schedule.explains = schedule.complete = explained(known, report, allocations);
  const Differences in_one = differing_in_one_process(std::span(*runs).subspan(1), kRuns);
  Differences by_order = differing(*runs);
  std::erase_if(by_order,
                [&](size_t place) { return host.contains(place) && !in_one.contains(place); });
  Differences by_host = host;
  std::erase_if(by_host, [&](size_t place) { return by_order.contains(place); });
  add_places(by_order, allocations, schedule.varying, schedule.varying_copies);
  add_places(by_host, allocations, schedule.host_addresses.buffers, schedule.host_addresses.copies);
  schedule.operation = first_of(by_order, operations, [&](uint32_t count) -> Result<Differences> {
    GFXGRAPH_ASSIGN_OR_RETURN(const Fingerprints found,
                              run_both(probe, schedule.threads, schedule.runs - 1, count));
    return differing(found);
  });
  const auto moves = [&](Elsewhere elsewhere) {
    return [&probe, elsewhere](uint32_t count) -> Result<Differences> {
      GFXGRAPH_ASSIGN_OR_RETURN(Fingerprints here, probe({1, 1, count}));
      return moved(probe, elsewhere, count, std::move(here));
    };
  };
  schedule.host_addresses.operation = first_of(by_host, operations, moves(Elsewhere::kHostMemory));
  if (schedule.explains) return schedule;
  Differences by_layout =
      moved(probe, Elsewhere::kBuffers, operations, first).value_or(Differences());
  std::erase_if(by_layout, [&](size_t place) {
    return known.contains(place) || !differs(place, report, allocations);
  });
  AddressReport& layout = schedule.buffer_addresses;
  add_places(by_layout, allocations, layout.buffers, layout.copies);
  layout.operation = first_of(by_layout, operations, moves(Elsewhere::kBuffers));
  known.merge(by_layout);
  schedule.complete = explained(known, report, allocations);
  return schedule;
}

const char* cause_name(uint32_t effects) noexcept {
  using namespace emulator::memory_effect;  // its bits
  constexpr const char* kEither = "atomics or a data race";
  const auto has = [&](uint32_t bit) { return (effects & bit) != 0; };
  if (has(kOther)) return kEither;
  if (!has(kAtomics)) return has(kStores) ? "a data race" : kEither;
  if (has(kStores)) return kEither;
  if (has(kFloatAtomics)) return "floating-point atomics";
  // Integer sums do not depend on order: something reads them meanwhile.
  return has(kReturningAtomics) ? "atomics" : kEither;
}

namespace {

// "amdgcn-amd-amdhsa--gfx1030:xnack-"
bool decodable(std::string_view target) {
  for (const std::string_view name : {"gfx1030", "gfx10-3-generic"}) {
    const size_t at = target.find(name);
    const std::string_view rest =
        at == std::string_view::npos ? "?" : target.substr(at + name.size());
    if (rest.empty() || rest.front() == ':') return true;
  }
  return false;
}

}  // namespace

const char* cause_of(const Program& program, uint32_t operation) {
  constexpr const char* kUnknown = "atomics or a data race";
  const Operation& found = program.operations()[operation];
  // Copies and memsets leave what they find: the search ends at one if what varies does so rarely.
  if (found.kind != OperationKind::kLaunch) return nullptr;
  const format::Trace& trace = program.trace();
  const format::Kernel& kernel = trace.kernels()[found.launch->kernel - 1];
  const format::CodeObject& object = trace.code_objects()[kernel.code_object - 1];
  if (!decodable(object.target)) return kUnknown;
  const auto elf = trace.blob(object.elf);
  if (!elf || !check_code_object(*elf)) return kUnknown;
  const std::optional<KernelCode> code = find_kernel_code(*elf, kernel.name);
  if (!code) return kUnknown;
  std::vector<uint32_t> words(code->bytes.size() / sizeof(uint32_t));
  std::memcpy(words.data(), code->bytes.data(), words.size() * sizeof(uint32_t));
  return cause_name(emulator::memory_effects(words, code->address));
}

}  // namespace gfxgraph::replayer
