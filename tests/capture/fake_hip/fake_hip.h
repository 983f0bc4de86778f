// What a test asks the fake HIP runtime behind the capture layer (fake_hip.cpp).
#pragma once

namespace gfxgraph::capture::testing {

// Called around the fake's own allocations, which are not to fail (tests/support/allocations.h).
void pause_with(void (*pause)(bool paused) noexcept) noexcept;
// Whether two threads were at once in calls that HIP 5 mixes (HipQuirk::kGraphKernelsMix).
bool mixed() noexcept;
// Each hipGraphLaunch from now on waits until as many threads are in one; 0 ends that. After
// half a minute it goes on alone.
void meet_in_launches(int threads) noexcept;
// How many went on alone.
int went_on_alone() noexcept;

}  // namespace gfxgraph::capture::testing
