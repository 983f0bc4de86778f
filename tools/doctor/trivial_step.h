// The step that gfxgraph doctor records, captures and replays: three launches, each over bytes of
// the one before, so that one that is lost, repeated or out of order changes the result.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "replayer/abi/hip_library.h"

namespace gfxgraph::tools::doctor {

// On device 0 of this process. Owns its memory, code and stream. Not thread-safe.
class TrivialStep {
 public:
  // Whether there is code for the architecture: that of the replay library's own kernels.
  static bool has_code(const std::string& arch);

  // Calls HIP by `library`, whose functions may be those of a recorder in front of it.
  static Result<std::unique_ptr<TrivialStep>> make(
      std::shared_ptr<const replayer::HipLibrary> library);
  ~TrivialStep();
  TrivialStep(const TrivialStep&) = delete;
  TrivialStep& operator=(const TrivialStep&) = delete;

  // Gives the result other bytes than the step does. Waits.
  Result<void> spoil();
  // The three launches, on stream(). Does not wait.
  Result<void> submit();
  // Waits. kMismatch: the first word that is wrong.
  Result<void> compare();
  [[nodiscard]] hip::Stream stream() const { return stream_; }

 private:
  explicit TrivialStep(std::shared_ptr<const replayer::HipLibrary> library);
  Result<void> prepare();
  Result<void> launch(void* function, uint32_t groups, const void* arguments, size_t bytes);
  Result<void> check(hip::Error code, const char* call) const {
    return library_->check(code, call);
  }

  std::shared_ptr<const replayer::HipLibrary> library_;
  const replayer::HipTable& hip_;
  void* module_ = nullptr;
  void *fill_ = nullptr, *copy_ = nullptr, *store_ = nullptr;  // hipFunction_t
  hip::Stream stream_ = nullptr;
  uint32_t *input_ = nullptr, *result_ = nullptr;  // on the device
};

}  // namespace gfxgraph::tools::doctor
