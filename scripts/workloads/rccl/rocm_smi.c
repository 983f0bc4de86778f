/* Stands in for AMD's system management library (librocm_smi64.so.7), which reads what only the
 * kernel driver of a GPU has. RCCL asks it for the PCI address of each device, as the software
 * agent's devices have it, and how two of them are connected: by XGMI, over which it copies from
 * device to device. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static uint32_t devices(void) {
  const char* const number = getenv("GFXGRAPH_DEVICES");
  return number == NULL ? 1 : (uint32_t)strtoul(number, NULL, 10);
}

enum { kSuccess = 0, kInvalidArguments = 1 };

int rsmi_init(uint64_t flags) {
  (void)flags;
  return kSuccess;
}
int rsmi_num_monitor_devices(uint32_t* number) {
  *number = devices();
  return kSuccess;
}
int rsmi_dev_pci_id_get(uint32_t device, uint64_t* address) {
  enum { kFirstBus = 3 };
  if (device >= devices()) return kInvalidArguments;
  *address = (uint64_t)(kFirstBus + device) << 8;
  return kSuccess;
}
int rsmi_topo_get_link_type(uint32_t from, uint32_t to, uint64_t* hops, int* type) {
  enum { kXgmi = 2 };
  if (from >= devices() || to >= devices()) return kInvalidArguments;
  *hops = 1;
  *type = kXgmi;
  return kSuccess;
}
int rsmi_topo_get_link_weight(uint32_t from, uint32_t to, uint64_t* weight) {
  if (from >= devices() || to >= devices()) return kInvalidArguments;
  *weight = 40; /* as the agent's HSA_AMD_AGENT_MEMORY_POOL_INFO_LINK_INFO */
  return kSuccess;
}
int rsmi_dev_firmware_version_get(uint32_t device, int block, uint64_t* version) {
  (void)block;
  if (device >= devices()) return kInvalidArguments;
  *version = 0;
  return kSuccess;
}
int rsmi_version_get(uint32_t* version) {
  enum { kBytes = 24 };
  memset(version, 0, kBytes);
  version[0] = 7;
  return kSuccess;
}
int rsmi_status_string(int status, const char** text) {
  *text = status == kSuccess ? "success" : "invalid arguments";
  return kSuccess;
}
