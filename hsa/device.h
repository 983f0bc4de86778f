// The emulated GPU behind the agents: memory map, engine, loaded code, and the state after a kernel
// fault.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "codeobj/code_object.h"
#include "emulator/engine/engine.h"
#include "emulator/memory/memory_map.h"
#include "hsa/agent_fault.h"

namespace gfxgraph::hsa {

// All static, created at first use, never destroyed. Each GPU agent has its own engine, with clock
// and global wave sync; all share one memory map and one error state. `device`: the number of the
// agent.
class Device {
 public:
  static emulator::MemoryMap& memory_map();

  // Runs one kernel to its end on the calling thread and the engine's workers. False if it faulted,
  // or if an earlier fault has put the device into the error state: then nothing is executed. With
  // $GFXGRAPH_NULL_DEVICE=1 no kernel is ever executed (for measuring the host code around them).
  static bool run(const emulator::Dispatch& dispatch, uint32_t device);

  static Result<void> add_code(uint32_t device, uint64_t load_address,
                               std::shared_ptr<const codeobj::CodeObject> code);
  // Forgets the code and releases its memory once no kernel is running.
  static void remove_code(uint32_t device, uint64_t load_address, std::byte* memory);

  // Whether a kernel faulted in this process, with its description. The device stays in the error
  // state, as a real one does: calls that can report it return an error, and a program that ends
  // with exit status 0 ends with 1 instead.
  static bool faulted() noexcept;
  static std::string fault_text();
  // The kind of the first fault (agent_fault.h); valid forever.
  static const uint32_t* fault_state() noexcept;
  // Records a fault found outside the engine (a bad packet).
  static void record_fault(const std::string& text, gfxgraph_agent_fault kind, uint64_t address,
                           uint32_t device = 0);
  // The same for a packet that could not be processed because an allocation failed.
  static void record_out_of_memory() noexcept;

  // A device's clock, in shader clocks (emulator/engine/clock.h).
  static uint64_t clock(uint32_t device);

  // Stops running kernels: the process ends, or the device is in the error state.
  static void stop() noexcept;
  static bool stopping() noexcept;
};

}  // namespace gfxgraph::hsa
