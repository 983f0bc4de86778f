/* What has put the software agent's device out of use: what libhsa-runtime64.so.1 of gfxgraph
   exports beyond HSA, beside the function of base/kernel_code.h. C, so that anything loaded into
   the same process may ask:

       const uint32_t* (*state)(void) = dlsym(agent, "gfxgraph_agent_fault_state");

   hsa/hip_errors asks it to make errors of HIP from it. */
#ifndef GFXGRAPH_HSA_AGENT_FAULT_H
#define GFXGRAPH_HSA_AGENT_FAULT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Numbers are never reused: a library of another build may read them. */
enum gfxgraph_agent_fault {
  GFXGRAPH_AGENT_FAULT_NONE = 0,
  GFXGRAPH_AGENT_FAULT_MEMORY = 1,  /* an access outside of allocations, or misaligned */
  GFXGRAPH_AGENT_FAULT_ASSERT = 2,  /* a trap in the assert of device code */
  GFXGRAPH_AGENT_FAULT_TRAP = 3,    /* another s_trap */
  GFXGRAPH_AGENT_FAULT_ILLEGAL = 4, /* an instruction that device or emulator lacks */
  GFXGRAPH_AGENT_FAULT_TIMEOUT = 5, /* a kernel that cannot end, or took too long */
  GFXGRAPH_AGENT_FAULT_OTHER = 6    /* a packet or dispatch that cannot be run */
};

/* A word that holds one of the numbers above, or a later one. It is 0 until a kernel faults and
   does not change any more after that: the device stays out of use. It is written after the
   diagnosis has been printed and before the kernel's completion signal is given, so that whoever
   waited for the kernel sees both; read it with acquire order. It is there as long as the process
   is. In a forked child it is what it was at the fork. */
const uint32_t* gfxgraph_agent_fault_state(void);

#ifdef __cplusplus
}
#endif

#endif
