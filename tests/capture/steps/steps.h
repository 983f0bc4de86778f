// What programs that capture their own steps share: buffers of numbers, launches, and every mode.
#pragma once

#include <hip/hip_runtime.h>

#include <functional>
#include <gfxgraph/gfxgraph.hpp>
#include <mutex>
#include <string>
#include <vector>

// The kernel that launch() launches: adds v to each of n numbers.
extern "C" __global__ void add(int* a, int v, int n);

constexpr int kCount = 1024;
constexpr size_t kBytes = kCount * sizeof(int);
constexpr dim3 kGrid(4), kBlock(256);

// Of any thread; the first one is told.
void expect(bool right, const std::string& what);
const std::string& first_failure();

void succeeds(hipError_t result, const char* call);
#define OK(call) succeeds(call, #call)

// The call fails with this status, and its text has the word.
void refuses(gfxgraph_status_t wanted, const std::string& word, const std::function<void()>& call,
             const char* what);

struct Buffer {
  int* data = nullptr;
  Buffer();
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  void fill(int value) const;
  std::vector<int> now() const;
  void holds(int value, const std::string& what) const;
  void free();
};

struct Stream {
  hipStream_t stream = nullptr;
  Stream();
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator hipStream_t() const { return stream; }
};

void launch(hipStream_t stream, int* a, int v, int n = kCount);
void wait(hipStream_t stream);

inline constexpr gfxgraph_mode_t kModes[] = {GFXGRAPH_MODE_EAGER, GFXGRAPH_MODE_BATCH,
                                             GFXGRAPH_MODE_GRAPH, GFXGRAPH_MODE_AUTO,
                                             GFXGRAPH_MODE_PACKETS};
const char* mode_name(gfxgraph_mode_t mode);

gfxgraph::Trace captured(hipStream_t stream, const std::function<void()>& work,
                         uint32_t mode = GFXGRAPH_CAPTURE_RUN);
// A step of the range in each mode. Packets that this runtime refuses by name are left out.
void in_each_mode(const gfxgraph::Trace& trace,
                  const std::function<void(gfxgraph::Step&, gfxgraph::Session&)>& use,
                  const char* range = "step");

using Form = void (*)();
struct NamedForm {
  const char* name;
  Form form;
};
// Of the one that the command line names; "PASS" or the first failure on stdout.
int run_form(int argc, char** argv, const std::vector<NamedForm>& forms);
