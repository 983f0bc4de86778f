/* Why the software agent's device is in the error state. gfxgraph's libhsa-runtime64.so.1 exports
   this beyond HSA, like the function of base/agent_memory.h. In C, so that any library in the same
   process can read it:

       const uint32_t* (*state)(void) = dlsym(agent, "gfxgraph_agent_fault_state");

   hsa/hip_errors derives HIP errors from it. */
#ifndef GFXGRAPH_HSA_AGENT_FAULT_H
#define GFXGRAPH_HSA_AGENT_FAULT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Values never change or get reused: a library from another build may read them. */
enum gfxgraph_agent_fault {
  GFXGRAPH_AGENT_FAULT_NONE = 0,
  GFXGRAPH_AGENT_FAULT_MEMORY = 1,  /* an access outside every allocation, or misaligned */
  GFXGRAPH_AGENT_FAULT_ASSERT = 2,  /* s_trap of an assert in device code */
  GFXGRAPH_AGENT_FAULT_TRAP = 3,    /* any other s_trap */
  GFXGRAPH_AGENT_FAULT_ILLEGAL = 4, /* an illegal or unsupported instruction */
  GFXGRAPH_AGENT_FAULT_TIMEOUT = 5, /* a kernel that cannot finish, or took too long */
  GFXGRAPH_AGENT_FAULT_OTHER = 6    /* an invalid packet or dispatch, no host memory */
};

/* Points to one of the values above, or one that a newer agent defines. It is 0 until a kernel
   faults and then never changes, because the device stays in the error state. The agent writes it
   after it prints the diagnosis and before it decrements the kernel's completion signal, so a
   thread that waited for the kernel sees both. Read it with acquire order. The pointer is valid
   until the process ends. A forked child keeps the value from the fork. */
const uint32_t* gfxgraph_agent_fault_state(void);

#ifdef __cplusplus
}
#endif

#endif
