#include "steps.h"

#include <cstdio>
#include <cstring>

namespace {

std::mutex failure_mutex;
std::string failure;

}  // namespace

extern "C" __global__ void add(int* a, int v, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) a[i] += v;
}

void expect(bool right, const std::string& what) {
  const std::lock_guard lock(failure_mutex);
  if (!right && failure.empty()) failure = what;
}

const std::string& first_failure() { return failure; }

void succeeds(hipError_t result, const char* call) {
  expect(result == hipSuccess, std::string(call) + ": " + std::to_string(result));
}

void refuses(gfxgraph_status_t wanted, const std::string& word, const std::function<void()>& call,
             const char* what) {
  try {
    call();
  } catch (const gfxgraph::Failure& failed) {
    const std::string text = failed.what();
    expect(failed.status() == wanted, std::string(what) + ": status " +
                                          std::to_string(failed.status()) + " (" + text + ")");
    expect(text.find(word) != std::string::npos,
           std::string(what) + ": \"" + text + "\" does not say \"" + word + "\"");
    return;
  }
  expect(false, std::string(what) + ": not refused");
}

Buffer::Buffer() {
  OK(hipMalloc(&data, kBytes));
  fill(0);
}
Buffer::~Buffer() { free(); }
void Buffer::free() {
  if (data != nullptr) OK(hipFree(data));
  data = nullptr;
}
void Buffer::fill(int value) const {
  const std::vector<int> values(kCount, value);
  OK(hipMemcpy(data, values.data(), kBytes, hipMemcpyHostToDevice));
}
std::vector<int> Buffer::now() const {
  std::vector<int> values(kCount);
  OK(hipMemcpy(values.data(), data, kBytes, hipMemcpyDeviceToHost));
  return values;
}
void Buffer::holds(int value, const std::string& what) const {
  for (const int one : now()) {
    if (one == value) continue;
    return expect(false,
                  what + ": " + std::to_string(one) + " instead of " + std::to_string(value));
  }
}

Stream::Stream() { OK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking)); }
Stream::~Stream() { OK(hipStreamDestroy(stream)); }

void launch(hipStream_t stream, int* a, int v, int n) {
  void* arguments[] = {&a, &v, &n};
  OK(hipLaunchKernel(reinterpret_cast<const void*>(add), kGrid, kBlock, arguments, 0, stream));
}
void wait(hipStream_t stream) { OK(hipStreamSynchronize(stream)); }

const char* mode_name(gfxgraph_mode_t mode) {
  constexpr const char* kNames[] = {"eager", "batch", "graph", "auto", "packets"};
  return kNames[mode];
}

gfxgraph::Trace captured(hipStream_t stream, const std::function<void()>& work, uint32_t mode) {
  gfxgraph_capture_options_t options = gfxgraph_capture_options_default();
  options.mode = mode;
  gfxgraph::Capture capture(stream, options);
  work();
  return capture.end();
}

void in_each_mode(const gfxgraph::Trace& trace,
                  const std::function<void(gfxgraph::Step&, gfxgraph::Session&)>& use,
                  const char* range) {
  OK(hipDeviceSynchronize());  // the captured work may go on
  for (const gfxgraph_mode_t mode : kModes) {
    gfxgraph::Session session(trace);
    try {
      gfxgraph::Step step(session, trace.find_range(range), mode);
      use(step, session);
    } catch (const gfxgraph::Failure& failed) {
      const bool packets =
          mode == GFXGRAPH_MODE_PACKETS && failed.status() == GFXGRAPH_UNSUPPORTED;
      expect(packets, std::string(mode_name(mode)) + ": " + failed.what());
      if (packets) std::printf("packets: %s\n", failed.what());
    }
  }
}

int run_form(int argc, char** argv, const std::vector<NamedForm>& forms) {
  for (const NamedForm& one : forms) {
    if (argc < 2 || std::strcmp(argv[1], one.name) != 0) continue;
    try {
      one.form();
    } catch (const std::exception& thrown) {
      expect(false, std::string("exception: ") + thrown.what());
    }
    std::printf("%s: %s\n", one.name, first_failure().empty() ? "PASS" : first_failure().c_str());
    return first_failure().empty() ? 0 : 1;
  }
  std::fprintf(stderr, "usage: %s FORM, one of:", argv[0]);
  for (const NamedForm& one : forms) std::fprintf(stderr, " %s", one.name);
  std::fprintf(stderr, "\n");
  return 2;
}
