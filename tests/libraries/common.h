// What the library programs share: each compares with the host, prints one line, and ends with 1
// when it differs.
#pragma once

#include <hip/hip_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

inline void check(int error, const char* what) {
  if (error == 0) return;
  std::printf("%s: error %d\n", what, error);
  std::exit(1);
}

template <typename T>
struct Device {
  explicit Device(size_t count) : count(count) {
    check(hipMalloc(reinterpret_cast<void**>(&data), count * sizeof(T)), "hipMalloc");
  }
  explicit Device(const std::vector<T>& values) : Device(values.size()) {
    check(hipMemcpy(data, values.data(), count * sizeof(T), hipMemcpyHostToDevice), "hipMemcpy");
  }
  ~Device() { (void)hipFree(data); }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  void set(const std::vector<T>& values) const {
    check(hipMemcpy(data, values.data(), count * sizeof(T), hipMemcpyHostToDevice), "hipMemcpy");
  }
  void clear() const { check(hipMemset(data, 0, count * sizeof(T)), "hipMemset"); }
  std::vector<T> values() const {
    std::vector<T> result(count);
    check(hipMemcpy(result.data(), data, count * sizeof(T), hipMemcpyDeviceToHost), "hipMemcpy");
    return result;
  }
  T* data = nullptr;
  size_t count;
};

// Work that a library gives to a stream. With "capture" as the program's argument it runs once to
// load what it needs, and then as a graph that a stream capture made of it.
struct Stream {
  Stream(int argc, char** argv) : captures(argc > 1 && std::string(argv[1]) == "capture") {
    check(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking), "hipStreamCreateWithFlags");
  }
  ~Stream() { (void)hipStreamDestroy(stream); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  template <typename Work, typename Clear>
  void run(const Work& work, const Clear& clear_results) const {
    work();
    check(hipStreamSynchronize(stream), "hipStreamSynchronize");
    if (!captures) return;
    clear_results();
    hipGraph_t graph = nullptr;
    hipGraphExec_t executable = nullptr;
    check(hipStreamBeginCapture(stream, hipStreamCaptureModeThreadLocal), "hipStreamBeginCapture");
    work();
    check(hipStreamEndCapture(stream, &graph), "hipStreamEndCapture");
    size_t nodes = 0;
    check(hipGraphGetNodes(graph, nullptr, &nodes), "hipGraphGetNodes");
    std::printf("captured: %zu nodes\n", nodes);
    if (nodes == 0) std::exit(1);
    check(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0), "hipGraphInstantiate");
    check(hipGraphLaunch(executable, stream), "hipGraphLaunch");
    check(hipStreamSynchronize(stream), "hipStreamSynchronize");
    check(hipGraphExecDestroy(executable), "hipGraphExecDestroy");
    check(hipGraphDestroy(graph), "hipGraphDestroy");
  }

  hipStream_t stream = nullptr;
  bool captures;
};

// The same numbers in every run.
inline float number(size_t i) {
  return static_cast<float>((i * 2654435761u >> 8) % 2001) / 1000 - 1;
}
inline std::vector<float> numbers(size_t count, size_t from = 0) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = number(from + i);
  return values;
}

// Ends the program: what it prints is the result.
inline int compared(const char* name, const std::vector<float>& got,
                    const std::vector<double>& expected, double tolerance) {
  double most = 0;
  for (size_t i = 0; i < got.size(); ++i) most = std::fmax(most, std::fabs(got[i] - expected[i]));
  const bool right = got.size() == expected.size() && most <= tolerance;
  std::printf("%s: %zu numbers, %s (tolerance %g)\n", name, got.size(),
              right ? "as on the host" : "WRONG", tolerance);
  return right ? 0 : 1;
}
