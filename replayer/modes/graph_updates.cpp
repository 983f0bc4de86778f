#include "replayer/abi/graph_updates.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <vector>

#include "replayer/abi/hip_library.h"
#include "replayer/code/entry_code.h"
#include "replayer/code/own_code.h"
#include "replayer/packets/packet_device.h"

namespace gfxgraph::replayer {
namespace {

// Words of the scratch memory.
enum Place : size_t { kKernel = 0, kCopy = 4, kSet = 8, kOther = 16, kSources = 48, kWords = 64 };
using ScratchWords = std::array<uint32_t, kWords>;

// The values that the three nodes write: one word each, `shift` words after their places.
struct Values {
  size_t shift = 0;
  uint32_t kernel = 0;
  size_t source = 0;
  uint32_t set = 0;
};

class Trial {
 public:
  // `device` and `code`: the kernel is launched through entry code; or null.
  Trial(const HipLibrary& library, const PacketDevice* device, PacketCode* code)
      : hip_(library.table()), device_of_entry_(device), packet_code_(code) {}
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;
  ~Trial() {
    if (executable_ != nullptr) hip_.hipGraphExecDestroy(executable_);
    if (graph_ != nullptr) hip_.hipGraphDestroy(graph_);
    if (stream_ != nullptr) hip_.hipStreamDestroy(stream_);
    if (module_ != nullptr) hip_.hipModuleUnload(module_);
    if (device_ != nullptr) hip_.hipFree(device_);
    if (host_ != nullptr) hip_.hipHostFree(host_);
    if (entry_arguments_ != nullptr) device_of_entry_->release(entry_arguments_);
    hip_.hipGetLastError();  // clear an error that the program did not cause
  }

  GraphUpdates run(const std::string& architecture) {
    code_ = own_code(architecture);
    if (device_of_entry_ != nullptr && !make_entry(architecture)) return {};
    if (!prepare()) return {};
    const Values first{0, 0x11111111, 0, 0x22222222};
    const Values second{1, 0x33333333, 1, 0x44444444};
    set(first);
    if (!build() || !launch()) return {};
    GraphUpdates works{function_ != nullptr, true, true};
    look(first, works);
    for (const Values& values : {second, first, second}) {
      set(values);
      update(works);
      if (!launch()) return {};
      look(values, works);
    }
    return works;
  }

 private:
  bool prepare() {
    if (hip_.hipMalloc(&device_, sizeof(ScratchWords)) != hip::kSuccess) return false;
    void* host = nullptr;
    if (hip_.hipHostMalloc(&host, sizeof(ScratchWords), 0) != hip::kSuccess) return false;
    host_ = new (host) ScratchWords();
    // Non-blocking: neither the null stream nor the caller's streams wait for it.
    if (hip_.hipStreamCreateWithFlags(&stream_, hip::kStreamNonBlocking) != hip::kSuccess)
      return false;
    // Without the kernel, test the other two.
    if (code_.empty() || hip_.hipModuleLoadData(&module_, code_.data()) != hip::kSuccess ||
        hip_.hipModuleGetFunction(&function_, module_,
                                  entry_arguments_ != nullptr ? kEntryKernel : kTrialKernel) !=
            hip::kSuccess) {
      function_ = nullptr;
    }
    return true;
  }

  bool make_entry(const std::string& architecture) {
    const auto kernel = packet_code_->own(architecture, kTrialKernel);
    const auto descriptor = find_descriptor(code_, kTrialKernel);
    if (!kernel || !descriptor) return false;
    auto entry = make_entry_code(architecture, *descriptor, kernel->object);
    const auto memory = device_of_entry_->allocate(sizeof(Arguments), "a trial");
    if (memory) entry_arguments_ = *memory;
    if (!entry || !memory) return false;
    entry_address_ = reinterpret_cast<uint64_t>(entry_arguments_);
    code_ = *std::move(entry);
    return true;
  }

  uint32_t* at(size_t word) const { return static_cast<uint32_t*>(device_) + word; }

  void set(const Values& values) {
    arguments_.out = at(kKernel + values.shift);
    arguments_.value = values.kernel;
    if (entry_arguments_ != nullptr) std::memcpy(entry_arguments_, &arguments_, sizeof(arguments_));
    copy_to_ = at(kCopy + values.shift);
    copy_from_ = at(kSources + values.source);
    memset_.destination = at(kSet + values.shift);
    memset_.element_bytes = sizeof(uint32_t);
    memset_.value = values.set;
    memset_.width = 1;
  }

  hip::KernelNodeParams kernel() {
    const bool entry = entry_arguments_ != nullptr;
    arguments_bytes_ = entry ? sizeof(entry_address_) : sizeof(Arguments);
    extra_ = {hip::kLaunchBufferPointer, entry ? static_cast<void*>(&entry_address_) : &arguments_,
              hip::kLaunchBufferSize, &arguments_bytes_, hip::kLaunchEnd};
    hip::KernelNodeParams parameters;
    parameters.function = function_;
    parameters.extra = extra_.data();
    return parameters;
  }

  bool build() {
    if (hip_.hipGraphCreate(&graph_, 0) != hip::kSuccess) return false;
    if (function_ != nullptr) {
      const hip::KernelNodeParams parameters = kernel();
      if (hip_.hipGraphAddKernelNode(&nodes_[0], graph_, nullptr, 0, &parameters) != hip::kSuccess)
        return false;
    }
    const size_t before = function_ == nullptr ? 0 : 1;
    if (hip_.hipGraphAddMemcpyNode1D(&nodes_[1], graph_, nodes_.data(), before, copy_to_,
                                     copy_from_, sizeof(uint32_t),
                                     hip::kDeviceToDevice) != hip::kSuccess ||
        hip_.hipGraphAddMemsetNode(&nodes_[2], graph_, &nodes_[1], 1, &memset_) != hip::kSuccess) {
      return false;
    }
    return hip_.hipGraphInstantiate(&executable_, graph_, nullptr, nullptr, 0) == hip::kSuccess;
  }

  // A rejected update changes nothing.
  void update(GraphUpdates& works) {
    if (works.kernels && entry_arguments_ == nullptr) {
      const hip::KernelNodeParams parameters = kernel();
      works.kernels = hip_.hipGraphExecKernelNodeSetParams != nullptr &&
                      hip_.hipGraphExecKernelNodeSetParams(executable_, nodes_[0], &parameters) ==
                          hip::kSuccess;
    }
    if (works.copies) {
      works.copies = hip_.hipGraphExecMemcpyNodeSetParams1D != nullptr &&
                     hip_.hipGraphExecMemcpyNodeSetParams1D(executable_, nodes_[1], copy_to_,
                                                            copy_from_, sizeof(uint32_t),
                                                            hip::kDeviceToDevice) == hip::kSuccess;
    }
    if (works.memsets) {
      works.memsets =
          hip_.hipGraphExecMemsetNodeSetParams != nullptr &&
          hip_.hipGraphExecMemsetNodeSetParams(executable_, nodes_[2], &memset_) == hip::kSuccess;
    }
  }

  // From a known content of the scratch memory; what it holds then is in *host_.
  bool launch() {
    host_->fill(kUntouched);
    for (size_t i = kSources; i < kWords; ++i) (*host_)[i] = static_cast<uint32_t>(100 + i);
    return hip_.hipMemcpyAsync(device_, host_, sizeof(ScratchWords), hip::kHostToDevice, stream_) ==
               hip::kSuccess &&
           hip_.hipStreamSynchronize(stream_) == hip::kSuccess &&
           hip_.hipGraphLaunch(executable_, stream_) == hip::kSuccess &&
           hip_.hipMemcpyAsync(host_, device_, sizeof(ScratchWords), hip::kDeviceToHost, stream_) ==
               hip::kSuccess &&
           hip_.hipStreamSynchronize(stream_) == hip::kSuccess;
  }

  // Only at its place, and nothing at the other one.
  bool wrote(size_t place, size_t shift, uint32_t value) const {
    return (*host_)[place + shift] == value && (*host_)[place + 1 - shift] == kUntouched;
  }

  void look(const Values& values, GraphUpdates& works) const {
    works.kernels = works.kernels && wrote(kKernel, values.shift, values.kernel);
    works.copies = works.copies && wrote(kCopy, values.shift,
                                         static_cast<uint32_t>(100 + kSources + values.source));
    works.memsets = works.memsets && wrote(kSet, values.shift, values.set);
    // A write to any other place cannot be attributed, so no update counts as working.
    for (size_t i = 0; i < kSources; ++i) {
      const bool place = i % 4 < 2 && i < kSet + 4;
      if (!place && (*host_)[i] != kUntouched) works = {};
    }
  }

  static constexpr uint32_t kUntouched = 0x5a5a5a5a;
  static constexpr const char* kTrialKernel = "gfxgraph_trial";

  const HipTable& hip_;
  const PacketDevice* device_of_entry_;
  PacketCode* packet_code_;
  std::byte* entry_arguments_ = nullptr;
  uint64_t entry_address_ = 0;
  std::vector<std::byte> code_;
  hip::Module module_ = nullptr;
  hip::Function function_ = nullptr;
  hip::Stream stream_ = nullptr;
  hip::Graph graph_ = nullptr;
  hip::GraphExec executable_ = nullptr;
  void* device_ = nullptr;
  ScratchWords* host_ = nullptr;
  std::array<hip::GraphNode, 3> nodes_ = {};
  struct Arguments {
    uint32_t* out = nullptr;
    uint32_t value = 0;
    uint32_t padding = 0;
  } arguments_;
  size_t arguments_bytes_ = sizeof(Arguments);
  std::array<void*, 5> extra_ = {};
  uint32_t* copy_to_ = nullptr;
  const uint32_t* copy_from_ = nullptr;
  hip::MemsetParams memset_;
};

}  // namespace

GraphUpdates UpdateTrials::find(const HipLibrary& library, const std::string& architecture) {
  const std::lock_guard lock(mutex_);
  for (const auto& [name, updates] : found_) {
    if (name == architecture) return updates;
  }
  const GraphUpdates updates = Trial(library, nullptr, nullptr).run(architecture);
  found_.emplace_back(architecture, updates);
  return updates;
}

bool UpdateTrials::find_entries(const HipLibrary& library, const PacketDevice& device,
                                PacketCode& code, const std::string& architecture) {
  const std::lock_guard lock(mutex_);
  for (const auto& [name, works] : found_entries_) {
    if (name == architecture) return works;
  }
  const bool works = Trial(library, &device, &code).run(architecture).kernels;
  found_entries_.emplace_back(architecture, works);
  return works;
}

void UpdateTrials::assume(const std::string& architecture, GraphUpdates updates, bool entries) {
  const std::lock_guard lock(mutex_);
  found_.emplace_back(architecture, updates);
  found_entries_.emplace_back(architecture, entries);
}

}  // namespace gfxgraph::replayer
