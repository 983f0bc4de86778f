#include "emulator/engine/executable.h"

#include "emulator/engine/backend.h"

namespace gfxgraph::emulator {

GFXGRAPH_DECLARE_BACKENDS(kPlainBackend);

bool is_executable(const Inst& inst) {
  Inst copy;  // binding may rewrite it
  copy.copy_fields(inst);
  // All host instruction sets have the same handlers; every build contains this one.
  return kPlainBackend_isa_v2.bind(copy) != nullptr && !is_refused_when_run(inst);
}

}  // namespace gfxgraph::emulator
