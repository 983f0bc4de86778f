// The host side of device code while the check runs a kernel: replies to its host calls (printf,
// assert, device memory), and the device library's malloc and free, which the check performs itself
// where the code object has symbols for them.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "check/budget.h"
#include "check/launch/arguments.h"
#include "check/launch/loaded_code.h"
#include "check/memory/device_heap.h"
#include "check/memory/device_memory.h"
#include "check/report/sites.h"
#include "emulator/engine/engine.h"
#include "emulator/host/host_packets.h"
#include "format/trace.h"

namespace gfxgraph::check {

class HostServices {
 public:
  // All arguments must outlive this.
  HostServices(DeviceMemory& memory, Sites& sites, Budget& budget)
      : memory_(memory), sites_(sites), heap_(budget) {}

  // The functions that replace device code, for EngineOptions.
  const emulator::HostFunctions& functions() const { return functions_; }
  // Call when a wave has sent a message to the host: serves the packets in the hostcall buffer.
  // Thread-safe.
  void on_message();

  // Finds the functions that the check performs itself. Call before any code runs. False: this code
  // has malloc or free in a form that the check cannot replace, so all code uses the device
  // library's heap.
  bool add_code(const LoadedCode& code);
  // Call before a launch: prepares the memory that hidden arguments point to, and sets `values`.
  Result<void> next_launch(const format::Kernel& kernel, uint32_t kernel_id, HiddenValues& values);

  // ---- results of the last launch ----

  // Why a host call was rejected; "": none was.
  const std::string& refused() const { return refused_; }
  // The launch's output to stderr (failed asserts); "": none.
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
  std::mutex mutex_;  // guards packets and texts
  emulator::HostPackets packets_;
  std::byte* bytes_ = nullptr;  // of the packet buffer; null: not created yet
  uint64_t heap_header_ = 0;    // device address for hidden_heap_v1
  uint64_t printf_buffer_ = 0;  // device address for hidden_printf_buffer
  uint32_t kernel_ = 0;
  std::string refused_;
  std::map<uint64_t, std::vector<uint64_t>> messages_;  // unfinished messages to stderr, by number
  uint64_t last_message_ = 1;  // last number used; 1: messages whose text is not kept
  std::set<std::string> error_texts_;
};

}  // namespace gfxgraph::check
