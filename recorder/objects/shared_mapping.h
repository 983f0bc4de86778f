// Memory of the host that this process has mapped at two addresses: what is written at one is seen
// at the other, and a trace that has both has two memories.
#pragma once

#include <cstdint>
#include <istream>
#include <string>

namespace gfxgraph::recorder {

// The file of the mapping ("/dev/shm/x") if a part of these bytes lies at another address of this
// process, too; empty: no part does, or nothing can be read. Any thread; no lock.
std::string mapped_at_two_addresses(uint64_t address, uint64_t size_bytes);
// By what is read there, as /proc/self/maps has it (proc_pid_maps(5)).
std::string mapped_at_two_addresses(std::istream& maps, uint64_t address, uint64_t size_bytes);

}  // namespace gfxgraph::recorder
