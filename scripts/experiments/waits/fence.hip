// A barrier with fences at the head of a loop, and a store at its end: the store must have finished
// before the next round's barrier. check-waits compiles it with each clang of this machine.
extern "C" __attribute__((global)) void fenced_loop(float* out, const float* in, int rounds) {
  const int item = __builtin_amdgcn_workitem_id_x();
  float sum = 0;
  for (int round = 0; round < rounds; ++round) {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    sum += in[(item + round) % 256];
    if (item + round < rounds) out[item] = sum;
  }
}
