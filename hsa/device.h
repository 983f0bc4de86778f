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

// All static, created at first use, never destroyed; thread-safe. Each GPU agent has its own
// engine, with its own clock and global wave sync; all share one memory map and one error state.
// `device`: the GPU's number, from 0.
class Device {
 public:
  static emulator::MemoryMap& memory_map();

  // Runs one kernel to its end, on the calling thread and the engine's workers. False if it
  // faulted, or if an earlier fault put the device into the error state: then nothing is executed.
  // With $GFXGRAPH_NULL_DEVICE no kernel is executed (target.h).
  static bool run(const emulator::Dispatch& dispatch, uint32_t device);

  static Result<void> add_code(uint32_t device, uint64_t load_address,
                               std::shared_ptr<const codeobj::CodeObject> code);
  // Removes the code, and releases its memory once no kernel is running.
  static void remove_code(uint32_t device, uint64_t load_address, std::byte* memory);

  // Whether a loaded kernel has its descriptor there.
  static bool has_kernel(uint64_t descriptor);

  // Whether a kernel faulted in this process; fault_text() describes the fault. Like a real device,
  // it stays in the error state: calls that can report the fault return an error, and if the
  // program would exit with status 0, the agent changes the status to 1.
  static bool faulted() noexcept;
  static std::string fault_text();
  // The kind of the first fault (agent_fault.h); valid forever.
  static const uint32_t* fault_state() noexcept;
  // Records a fault found outside the engine (a bad packet).
  static void record_fault(const std::string& text, gfxgraph_agent_fault kind, uint64_t address,
                           uint32_t device = 0);
  // As record_fault(), for a packet that could not be processed because an allocation failed.
  static void record_out_of_memory() noexcept;

  // The device's clock, in shader clocks (emulator/engine/clock.h).
  static uint64_t clock(uint32_t device);

  // Stops running kernels, because the process ends or the device is in the error state.
  static void stop() noexcept;
  static bool stopping() noexcept;
};

}  // namespace gfxgraph::hsa
