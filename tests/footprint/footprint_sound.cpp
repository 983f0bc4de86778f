// footprint_sound [--shrink BYTES] TRACE...: executes traces in the emulator and compares each
// access with the launch's footprint, and the data that launches share with their needed order.
// Exit code 1: an access lies outside, or launches are out of order. --shrink is a fault: each
// range of writes loses its last bytes.
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>

#include "footprint/needed_order.h"
#include "sound.h"

int main(int argc, char** argv) {
  using namespace gfxgraph;
  int code = argc < 2 ? 2 : 0;
  const bool faulty = argc > 2 && std::strcmp(argv[1], "--shrink") == 0;
  const uint64_t shrink = faulty ? std::strtoull(argv[2], nullptr, 10) : 0;
  for (int n = faulty ? 3 : 1; n < argc; ++n) {
    const auto trace = format::Trace::open(argv[n]);
    if (!trace) {
      fmt::print("{}: {}\n", argv[n], trace.error().message);
      code = 1;
      continue;
    }
    const auto sound = footprint::soundness(
        **trace, faulty ? footprint::shrink_by(shrink) : footprint::PlantFault());
    if (!sound) {
      fmt::print("{}: {}\n", argv[n], sound.error().message);
      code = 1;
      continue;
    }
    fmt::print(
        "{}: {} launches, {} known, {} dwords, {} outside, {} failed, {} unordered{}{}{}{}\n",
        argv[n], sound->launches, sound->known, sound->dwords, sound->outside, sound->failed,
        sound->unordered, sound->first.empty() ? "" : "; first: ", sound->first,
        sound->first_unordered.empty() ? "" : "; first: ", sound->first_unordered);
    if (sound->outside != 0 || sound->unordered != 0) code = 1;
  }
  return code;
}
