// What device code gets from the host while the check runs a kernel: answers to its calls (printf,
// assert, device memory), and malloc and free of the device library, which the check performs
// itself where the code object's symbols show them.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "emulator/engine/engine.h"
#include "emulator/host/host_packets.h"
#include "format/trace.h"
#include "lanecheck/arguments.h"
#include "lanecheck/budget.h"
#include "lanecheck/device_heap.h"
#include "lanecheck/device_memory.h"
#include "lanecheck/loaded_code.h"
#include "lanecheck/sites.h"

namespace gfxgraph::lanecheck {

class HostServices {
 public:
  // All must outlive this.
  HostServices(DeviceMemory& memory, Sites& sites, Budget& budget)
      : memory_(memory), sites_(sites), heap_(budget) {}

  // For EngineOptions.
  const emulator::HostFunctions& functions() const { return functions_; }
  void on_message();

  // Looks for the functions that the check performs itself. Before any code runs. False: this code
  // has malloc or free in a form that it cannot perform, so all code uses the device library's
  // heap.
  bool add_code(const LoadedCode& code);
  // Before a launch: sets up what the kernel's hidden arguments point to.
  Result<void> next_launch(const format::Kernel& kernel, uint32_t kernel_id, HiddenValues& values);

  // ---- of the launch that has ended ----
  // Why a call was not answered; "": all were.
  const std::string& refused() const { return refused_; }
  // What its waves have printed to stderr, as failed asserts do; "": nothing.
  std::string error_text() const;

  DeviceHeap& heap() { return heap_; }
  const DeviceHeap& heap() const { return heap_; }

 private:
  void allocate(emulator::Wave& wave);
  void release(emulator::Wave& wave);
  void bad_free(const emulator::Wave& wave, uint64_t address, uint64_t lanes, bool twice,
                uint64_t before);
  uint64_t take_message(const std::array<uint64_t, 8>& payload);
  Result<void> make_packets();
  void serve(const emulator::HostPackets::Packet& packet);

  DeviceMemory& memory_;
  Sites& sites_;
  DeviceHeap heap_;
  emulator::HostFunctions functions_;
  bool has_library_heap_ = false;
  std::mutex mutex_;  // of packets and texts
  emulator::HostPackets packets_;
  std::byte* bytes_ = nullptr;  // of the packets' buffer; null: there is none yet
  uint64_t heap_header_ = 0;    // device address of what hidden_heap_v1 points to
  uint64_t printf_buffer_ = 0;  // the same of hidden_printf_buffer
  uint32_t kernel_ = 0;
  std::string refused_;
  std::map<uint64_t, std::vector<uint64_t>> messages_;  // to stderr, unfinished, by number
  uint64_t last_message_ = 1;                           // number of those to stdout
  std::set<std::string> error_texts_;
};

}  // namespace gfxgraph::lanecheck
