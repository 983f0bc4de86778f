// The packets and arguments of mode packets beside those that HIP writes for the same launches:
// packets_like_hip TRACE..., on the agent, whose rings keep what was written to them. A step in
// batch mode gives HIP's, one of the same session in mode packets ours.
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/process/device.h"
#include "format/read/reader.h"
#include "replayer/abi/hsa_library.h"
#include "replayer/step/step.h"
#include "replayer/step/step_check.h"
#include "tests/support/must.h"

namespace {

using namespace gfxgraph;            // NOLINT
using namespace gfxgraph::replayer;  // NOLINT
using hsa_abi::Packet;

using CreateQueue = hsa_abi::Status (*)(uint64_t agent, uint32_t size, uint32_t type,
                                        hsa_abi::QueueCallback callback, void* data,
                                        uint32_t private_bytes, uint32_t group_bytes,
                                        hsa_abi::Queue** queue);
CreateQueue create_queue = nullptr;  // the agent's
using DestroyQueue = hsa_abi::Status (*)(hsa_abi::Queue* queue);
DestroyQueue destroy_queue = nullptr;
std::vector<hsa_abi::Queue*> hip_queues, our_queues;

hsa_abi::Status create_ours(uint64_t agent, uint32_t size, uint32_t type,
                            hsa_abi::QueueCallback callback, void* data, uint32_t private_bytes,
                            uint32_t group_bytes, hsa_abi::Queue** queue) {
  const auto status =
      create_queue(agent, size, type, callback, data, private_bytes, group_bytes, queue);
  if (status == hsa_abi::kSuccess) our_queues.push_back(*queue);
  return status;
}

void* find(void* handle, const char* name) {
  if (std::string_view(name) == "hsa_queue_create") return reinterpret_cast<void*>(&create_ours);
  return dlsym(handle, name);
}

void require(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error(what);
}
using testing::must;

uint64_t write_index(const hsa_abi::Queue* queue) {
  using Load = uint64_t (*)(const hsa_abi::Queue*);
  static const auto load =
      reinterpret_cast<Load>(dlsym(RTLD_DEFAULT, "hsa_queue_load_write_index_scacquire"));
  return load(queue);
}

const std::byte* memory_at(uint64_t address) { return reinterpret_cast<const std::byte*>(address); }

// Where two kernels have the same one, the code behind it is the same, too, or in another object.
std::array<std::byte, 64> descriptor(uint64_t object) {
  std::array<std::byte, 64> bytes;
  std::memcpy(bytes.data(), memory_at(object), bytes.size());
  return bytes;
}

struct Dispatches {
  hsa_abi::Queue* queue = nullptr;
  std::vector<Packet> packets;
};

// What a run of the step dispatches of these kernels, in order, with its queue.
Dispatches dispatches(Step& step, const std::vector<hsa_abi::Queue*>& queues,
                      const std::set<std::array<std::byte, 64>>& kernels) {
  must(step.restore());
  std::map<const hsa_abi::Queue*, uint64_t> before;
  for (const hsa_abi::Queue* queue : queues) before[queue] = write_index(queue);
  must(step.run());
  must(step.wait());
  const VerifyReport report = must(StepCheck(step).verify());
  require(!report.differs() && report.identical_throughout(), "the replay differs");
  Dispatches found;
  for (hsa_abi::Queue* const queue : queues) {
    const uint64_t end = write_index(queue);
    require(end - before[queue] < queue->size, "the program fills the ring");
    for (uint64_t at = before[queue]; at != end; ++at) {
      const Packet packet = static_cast<const Packet*>(queue->base)[at & (queue->size - 1)];
      // The agent has overwritten the type; barriers have no dimensions.
      if (packet.setup < 1 || packet.setup > 3 || packet.kernel_object == 0 ||
          !kernels.contains(descriptor(packet.kernel_object)))
        continue;
      require(found.queue == nullptr || found.queue == queue, "launches on several queues");
      found.queue = queue;
      found.packets.push_back(packet);
    }
  }
  return found;
}

struct Compared {
  size_t launches = 0, arguments = 0, hidden = 0, second_copies = 0;
};

void compare(const Program& program, const Dispatches& hip, const Dispatches& ours,
             Compared& compared) {
  size_t at = 0;
  for (uint32_t i = 0; i < program.operations().size(); ++i) {
    if (program.operations()[i].kind != OperationKind::kLaunch) continue;
    const format::Kernel& kernel =
        program.trace().kernels()[program.operations()[i].launch->kernel - 1];
    const std::string where = program.describe(i);
    const Packet& theirs = hip.packets[at];
    const Packet& packet = ours.packets[at++];
    // Behind the header, which carries scopes of the place in the run, to the kernel.
    const auto* const a = reinterpret_cast<const std::byte*>(&theirs);
    const auto* const b = reinterpret_cast<const std::byte*>(&packet);
    for (size_t byte = 2; byte < offsetof(Packet, kernel_object); ++byte)
      require(a[byte] == b[byte],
              fmt::format("{}: byte {} of the packet is {:#04x}, HIP's {:#04x}", where, byte,
                          std::to_integer<unsigned>(b[byte]), std::to_integer<unsigned>(a[byte])));
    require(descriptor(theirs.kernel_object) == descriptor(packet.kernel_object),
            where + ": another kernel");
    if (theirs.kernel_object != packet.kernel_object) ++compared.second_copies;
    ++compared.launches;
    for (const format::Argument& argument : kernel.arguments) {
      if (argument.value_kind == "hidden_none") continue;
      uint64_t hip_word = 0, our_word = 0;
      const std::byte* const from = memory_at(theirs.kernarg) + argument.offset_bytes;
      const std::byte* const to = memory_at(packet.kernarg) + argument.offset_bytes;
      if (argument.kind == format::ArgumentKind::kHidden) {
        std::memcpy(&hip_word, from, std::min<size_t>(argument.size_bytes, sizeof(hip_word)));
        std::memcpy(&our_word, to, std::min<size_t>(argument.size_bytes, sizeof(our_word)));
        if (argument.value_kind == "hidden_queue_ptr") {
          require(hip_word == reinterpret_cast<uint64_t>(hip.queue) &&
                      our_word == reinterpret_cast<uint64_t>(ours.queue),
                  where + ": the queue's address");
        } else {
          require(hip_word == our_word, fmt::format("{}: {} is {:#x}, HIP's {:#x}", where,
                                                    argument.value_kind, our_word, hip_word));
        }
        ++compared.hidden;
        continue;
      }
      require(std::memcmp(from, to, argument.size_bytes) == 0,
              fmt::format("{}: argument at {} differs", where, argument.offset_bytes));
      ++compared.arguments;
    }
  }
}

void compare_trace(const char* path, const std::shared_ptr<const HipLibrary>& library) {
  our_queues.clear();  // the steps before are gone
  const auto program = must(Program::build(must(format::Trace::open(path))));
  const auto session = must(Session::load(program, library, SessionOptions()));
  const auto step = [&](Mode mode) {
    StepOptions options;
    options.mode = mode;
    return must(Step::prepare(session, program, options));
  };
  const auto batch = step(Mode::kBatch);
  const auto packets = step(Mode::kPackets);
  std::set<std::array<std::byte, 64>> kernels;
  size_t launches = 0;
  const auto device = must(session->packet_device());
  for (const Operation& operation : program->operations()) {
    if (operation.kind != OperationKind::kLaunch) continue;
    ++launches;
    const format::Kernel& kernel = program->trace().kernels()[operation.launch->kernel - 1];
    kernels.insert(
        descriptor(must(device->code().find(*program, session->modules(), kernel)).object));
  }
  require(!hip_queues.empty(), "HIP's queues were not seen");
  const Dispatches hip = dispatches(*batch, hip_queues, kernels);
  const Dispatches ours = dispatches(*packets, our_queues, kernels);
  require(hip.packets.size() == launches && ours.packets.size() == launches,
          fmt::format("{} launches, {} dispatches of HIP, {} of ours", launches, hip.packets.size(),
                      ours.packets.size()));
  Compared compared;
  compare(*program, hip, ours, compared);
  std::printf(
      "%s: HIP %d: %zu packets, %zu arguments and %zu hidden ones are HIP's; %zu packets "
      "name a second copy of their kernel\n",
      path, library->runtime_version(), compared.launches, compared.arguments, compared.hidden,
      compared.second_copies);
}

}  // namespace

// In front of the agent's for HIP, which is linked to it.
extern "C" __attribute__((visibility("default"))) int hsa_queue_create(
    uint64_t agent, uint32_t size, uint32_t type, hsa_abi::QueueCallback callback, void* data,
    uint32_t private_bytes, uint32_t group_bytes, hsa_abi::Queue** queue) {
  const auto status =
      create_queue(agent, size, type, callback, data, private_bytes, group_bytes, queue);
  if (status == hsa_abi::kSuccess) hip_queues.push_back(*queue);
  return status;
}

extern "C" __attribute__((visibility("default"))) int hsa_queue_destroy(hsa_abi::Queue* queue) {
  std::erase(hip_queues, queue);
  return destroy_queue(queue);
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  try {
    // By its path, or as scripts/with-runtime has it found.
    const auto path = private_library("libhsa-runtime64.so.1");
    void* agent = path ? dlopen(path->c_str(), RTLD_NOW | RTLD_GLOBAL) : nullptr;
    if (agent == nullptr) agent = dlopen("libhsa-runtime64.so.1", RTLD_NOW | RTLD_GLOBAL);
    require(agent != nullptr && dlsym(agent, "gfxgraph_agent_fault_state") != nullptr, "no agent");
    create_queue = reinterpret_cast<CreateQueue>(dlsym(agent, "hsa_queue_create"));
    destroy_queue = reinterpret_cast<DestroyQueue>(dlsym(agent, "hsa_queue_destroy"));
    const auto library = must(HipLibrary::load(0, &find));
    for (int i = 1; i < argc; ++i) compare_trace(argv[i], library);
    std::printf("packets_like_hip: PASS\n");
  } catch (const std::exception& error) {
    std::printf("%s\n", error.what());
    return 1;
  }
  return 0;
}
