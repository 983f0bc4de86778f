// To preload: delays each function that waits for a signal by GFXGRAPH_TEST_DELAY_US before the
// runtime gets it, as a busy machine may. Reports one that is called after HSA was shut down, with
// exit status 3.
#include <dlfcn.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <memory>

namespace {

struct Slow {
  hsa_amd_signal_handler function;
  void* data;
};

std::atomic<bool> shut_down{false};

template <typename Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

bool call_slowly(hsa_signal_value_t value, void* data) {
  static const unsigned delay_us = [] {
    const char* const text = std::getenv("GFXGRAPH_TEST_DELAY_US");
    return text == nullptr ? 0 : static_cast<unsigned>(std::atoi(text));
  }();
  if (shut_down) {
    constexpr char kText[] = "slow_handlers: called after hsa_shut_down\n";
    (void)!write(STDERR_FILENO, kText, sizeof(kText) - 1);
    _exit(3);
  }
  usleep(delay_us);
  std::unique_ptr<Slow> slow(static_cast<Slow*>(data));
  const bool again = slow->function(value, slow->data);
  if (again) (void)slow.release();
  return again;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) hsa_status_t
hsa_amd_signal_async_handler(hsa_signal_t signal, hsa_signal_condition_t condition,
                             hsa_signal_value_t value, hsa_amd_signal_handler handler, void* arg) {
  static const auto real =
      next<decltype(&hsa_amd_signal_async_handler)>("hsa_amd_signal_async_handler");
  return real(signal, condition, value, call_slowly, new Slow{handler, arg});
}

extern "C" __attribute__((visibility("default"))) hsa_status_t hsa_shut_down() {
  static const auto real = next<decltype(&hsa_shut_down)>("hsa_shut_down");
  const hsa_status_t status = real();
  shut_down = true;
  return status;
}
