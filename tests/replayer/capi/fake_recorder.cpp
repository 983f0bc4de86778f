#include "capi/fake_recorder.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cstring>

namespace gfxgraph::replayer::testing {

FakeRecorder* recorder = nullptr;

live::Answer FakeRecorder::called(const char* name) {
  calls.emplace_back(name);
  live::Answer answer;
  if (fails != name) return answer;
  answer.status = static_cast<int32_t>(status);
  std::strcpy(answer.text, (fails + " fails").c_str());
  return answer;
}

namespace {

constexpr live::CaptureTable kTable = {
    live::kCaptureVersion,
    [](const live::CaptureRequest&, uint64_t* capture) {
      const live::Answer answer = recorder->called("begin");
      if (answer.status == 0) *capture = recorder->open = 7;
      return answer;
    },
    [](uint64_t) { return recorder->called("pause"); },
    [](uint64_t) { return recorder->called("resume"); },
    [](uint64_t, const char*) { return recorder->called("mark"); },
    [](uint64_t, void*, void*) { return recorder->called("hold"); },
    [](uint64_t, uint64_t* count) {
      *count = 5;
      return recorder->called("launches");
    },
    [](uint64_t, int* descriptor, live::Objects* objects) {
      const live::Answer answer = recorder->called("end");
      if (answer.status != 0) return answer;
      recorder->open = 0;
      *descriptor = ::open(recorder->path.c_str(), O_RDONLY | O_CLOEXEC);
      *objects = recorder->objects;
      return answer;
    },
    [](uint64_t capture) {
      recorder->called("abandon");
      EXPECT_EQ(capture, recorder->open);
      recorder->open = 0;
    },
    [] { return recorder->capturing; },
    [] { return false; },
    nullptr};

}  // namespace
}  // namespace gfxgraph::replayer::testing

// Exported, so that dlsym finds it.
extern "C" __attribute__((visibility("default"))) const gfxgraph::live::CaptureTable*
gfxgraph_recorder_captures(uint32_t version) {
  const bool known = gfxgraph::replayer::testing::recorder != nullptr &&
                     version == gfxgraph::live::kCaptureVersion;
  return known ? &gfxgraph::replayer::testing::kTable : nullptr;
}
