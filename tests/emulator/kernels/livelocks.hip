// Loops without an end that change something all the time; and loops that look like them and end.
// Without HIP's headers, which refuse wave64.
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define KERNEL extern "C" __attribute__((global)) void
#define THREAD __builtin_amdgcn_workitem_id_x()
#define GROUP __builtin_amdgcn_workgroup_id_x()

__device__ void synchronize() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
__device__ unsigned long long clock64() { return __builtin_amdgcn_s_memtime(); }
__device__ unsigned exchange_if(unsigned* p, unsigned expected, unsigned value) {
  __hip_atomic_compare_exchange_strong(p, &expected, value, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED,
                                       __HIP_MEMORY_SCOPE_AGENT);
  return expected;
}
__device__ unsigned add(unsigned* p, unsigned value) {
  return __hip_atomic_fetch_add(p, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

__device__ unsigned load(const unsigned* p) {
  return __hip_atomic_load(p, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT);
}
__device__ void store(unsigned* p, unsigned value) {
  __hip_atomic_store(p, value, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
}
__device__ unsigned item() { return GROUP * __builtin_amdgcn_workgroup_size_x() + THREAD; }

// ---- without an end; words are 0 ----

KERNEL count_in_vain(unsigned* words) {
  unsigned n = 0;
  while (load(words) == 0) ++n;
  words[1 + item()] = n;
}
KERNEL count_in_floats(unsigned* words) {
  float n = 0.5f;
  double m = 1;
  while (load(words) == 0) n = n * 1.0001f + 1, m += n;
  words[1 + item()] = static_cast<unsigned>(n + m);
}
KERNEL clock_in_vain(unsigned* words) {
  unsigned long long waited = 0;
  while (load(words) == 0) {
    const unsigned long long begin = clock64();
    __builtin_amdgcn_s_sleep(1);
    waited += clock64() - begin;
  }
  words[1 + item()] = static_cast<unsigned>(waited);
}
KERNEL lock_in_vain(unsigned* words) {
  unsigned tries = 0;
  for (;;) {
    while (exchange_if(words, 0u, 1u) != 0) __builtin_amdgcn_s_sleep(1);
    const bool found = load(words + 1) != 0;
    store(words, 0);
    ++tries;
    if (found) break;
  }
  words[2 + item()] = tries;
}
// Each takes one of two locks and holds it while it tries the other one a few times.
KERNEL lock_with_owner(unsigned* words) {
  for (;;) {
    if (exchange_if(words, 0u, GROUP + 1) == 0) {
      if (load(words + 1) != 0) break;
      store(words, 0);
    }
  }
}
KERNEL lock_in_lds(unsigned* words) {
  __shared__ unsigned lock;
  if (THREAD == 0) lock = 0;
  synchronize();
  if (THREAD % 32 != 0) return;
  for (;;) {
    if (exchange_if(&lock, 0u, 1u) == 0) {
      const bool found = load(words) != 0;
      __hip_atomic_store(&lock, 0u, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_WORKGROUP);
      if (found) break;
    }
  }
  words[1] = 1;
}
// One wave changes a word of its own, with all lanes.
KERNEL add_and_subtract(unsigned* words) {
  for (;;) {
    add(words + 1 + GROUP, 3);
    add(words + 1 + GROUP, -3u);
    if (load(words) != 0) break;
  }
}
KERNEL count_through_barriers(unsigned* words) {
  __shared__ unsigned seen;
  unsigned n = 0;
  do {
    synchronize();
    if (THREAD == 0) seen = load(words);
    synchronize();
    ++n;
  } while (seen == 0);
  words[1 + item()] = n;
}
// Two workgroups pass a word back and forth, and wait for another one.
KERNEL to_and_fro(unsigned* words) {
  if (THREAD != 0) return;
  while (load(words + 1) == 0) {
    if (load(words) == GROUP) store(words, 1 - GROUP);
  }
}
// Some lanes leave the loop's body early.
KERNEL count_by_lane(unsigned* words) {
  unsigned n = THREAD;
  while (load(words) == 0) {
    if (THREAD % 3 == 0) n += 5;
    if (THREAD < 7) n ^= n >> 3;
  }
  words[1 + item()] = n;
}

// ---- with an end ----

// The two of them get both locks sooner or later, in some order of their steps.
KERNEL two_locks(unsigned* words, unsigned* out, unsigned rounds) {
  if (THREAD != 0) return;
  unsigned* const first = words + GROUP;
  unsigned* const second = words + 1 - GROUP;
  for (;;) {
    while (exchange_if(first, 0u, 1u) != 0) {
    }
    const bool both = exchange_if(second, 0u, 1u) == 0;
    if (both && add(out, 1) > rounds) {
      store(second, 0);
      store(first, 0);
      break;
    }
    if (both) store(second, 0);
    store(first, 0);
  }
}
KERNEL turns_under_lock(unsigned* words, unsigned rounds) {
  if (THREAD != 0) return;
  for (;;) {
    while (exchange_if(words, 0u, 1u) != 0) {
    }
    const unsigned n = load(words + 1);
    if (n < rounds) store(words + 1, n + 1);
    store(words, 0);
    if (n >= rounds) break;
  }
}
// A worker computes for long, then sets a flag that the others see under a lock.
KERNEL lock_until_worked(unsigned* words, unsigned* out, unsigned rounds, unsigned groups) {
  if (THREAD != 0) return;
  unsigned v = 1;
  if (GROUP + 1 == groups) {
    for (unsigned r = 0; r < rounds; ++r) v = v * 1664525u + 1013904223u + (v >> 7);
    while (exchange_if(words, 0u, 1u) != 0) {
    }
    store(words + 1, v | 1);
    store(words, 0);
  } else {
    bool found = false;
    while (!found) {
      while (exchange_if(words, 0u, 1u) != 0) {
      }
      found = load(words + 1) != 0;
      store(words, 0);
    }
  }
  out[GROUP] = v;
}
KERNEL count_in_scratch(unsigned* words, unsigned rounds) {
  volatile unsigned n[4] = {0, 0, 0, 0};
  while (n[words[0]] < rounds && load(words) == 0) n[words[0]] = n[words[0]] + 1;
  words[1 + item()] = n[0];
}
KERNEL count_in_lds(unsigned* words, unsigned rounds) {
  __shared__ volatile unsigned n[32];
  n[THREAD] = 0;
  while (n[THREAD] < rounds && load(words) == 0) n[THREAD] = n[THREAD] + 1;
  words[1 + THREAD] = n[THREAD];
}
KERNEL wait_for_clock(unsigned* words, unsigned ticks) {
  const unsigned long long begin = clock64();
  unsigned n = 0;
  while (clock64() - begin < ticks && load(words) == 0) ++n;
  words[1 + item()] = 7;
}
