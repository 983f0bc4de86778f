// What the holder needs of HIP. Tests substitute it.
#pragma once

#include <cstdint>
#include <string>

#include "accelerate/hold/launch.h"
#include "base/result.h"

namespace gfxgraph::accelerate {

class Device {
 public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;

  // Submits the i-th launch as the program did; HIP's error, 0: success.
  virtual int submit(const Launches& launches, size_t i) = 0;
  // The launches as a graph of one chain, ready to be launched, until destroy(). An Error has HIP's
  // error.
  virtual Result<void*> prepare(const Launches& launches) = 0;
  // Gives the i-th node the values of the launch; HIP's error. The graph does not run.
  virtual int update(void* prepared, const Launches& launches, size_t i) = 0;
  // HIP's error; then nothing was submitted.
  virtual int launch(void* prepared, void* stream) = 0;
  // The graph's event behind all that the stream has; false: there is none.
  virtual bool mark(void* prepared, void* stream) = 0;
  // Whether that event has come.
  virtual bool done(void* prepared) = 0;
  // It does not run.
  virtual void destroy(void* prepared) = 0;
  // Why graphs of this runtime are not given other values; nullptr: they are.
  virtual const char* refuses_updates() = 0;
  // The calling thread's last error; 0: none.
  virtual int last_error() = 0;
  // Never before the time that was returned last.
  virtual uint64_t now_ns() = 0;
  // Arguments of the kernel; nullptr: not known. May allocate and parse code.
  virtual const Layout* layout(const Launch& launch) = 0;
  // Why a copy or a fill cannot be held; nullptr: it can.
  virtual const char* refuses(const Launch& memory_work) = 0;
  // Why this process must not hold anything, if something besides HIP's calls can reach the device;
  // "": nothing does. Slow: before a graph is made.
  virtual std::string other_ways() = 0;
  // Something is held since `since_ns`: release it after the bound, from another thread.
  virtual void watch(uint64_t since_ns) = 0;
};

}  // namespace gfxgraph::accelerate
