#include "capi/fake_recorder.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>

#include "format/read/reader.h"
#include "format/write/held_copy.h"
#include "format/write/writer.h"

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

using HeldTrace = std::shared_ptr<const format::HeldTrace>;

const format::Content* contents_of(const format::Event& event, size_t index) {
  if (const auto* begin = std::get_if<format::AllocationBegin>(&event.action))
    return index == 0 ? &begin->initial : nullptr;
  if (const auto* end = std::get_if<format::AllocationEnd>(&event.action))
    return index == 0 ? &end->post : nullptr;
  if (const auto* write = std::get_if<format::HostWrite>(&event.action))
    return index == 0 ? &write->content : nullptr;
  if (const auto* copy = std::get_if<format::Copy>(&event.action))
    return index == 0 ? &copy->host_source : index == 1 ? &copy->host_result : nullptr;
  return nullptr;
}

HeldTrace held_of(const std::string& file) {
  const auto from = format::Trace::open(file).value();
  const auto to = format::Writer::create_held().value();
  EXPECT_TRUE(to->add(from->environment()));
  for (const format::Site& site : from->sites()) EXPECT_TRUE(to->add(site));
  for (const format::CodeObject& object : from->code_objects()) {
    EXPECT_TRUE(to->add_blob(from->blob(object.elf).value()));
    EXPECT_TRUE(to->add(object));
  }
  for (const format::Kernel& kernel : from->kernels()) EXPECT_TRUE(to->add(kernel));
  for (const format::Event& event : from->events()) {
    for (size_t i = 0; const format::Content* content = contents_of(event, i); ++i) {
      if (content->blob && content->stored) {
        EXPECT_TRUE(to->add_blob(from->blob(content->blob).value()));
      }
    }
    EXPECT_TRUE(to->add(event));
  }
  EXPECT_TRUE(from->graphs().empty());
  for (const format::Finding& finding : from->findings()) EXPECT_TRUE(to->add(finding));
  EXPECT_TRUE(to->seal());
  return to->held();
}

live::Answer write_held(void* self, int* descriptor) {
  File file;
  const auto writer = format::Writer::create_in_memory(file).value();
  EXPECT_TRUE(format::copy_held(**static_cast<HeldTrace*>(self), *writer));
  *descriptor = ::fcntl(file.fd(), F_DUPFD_CLOEXEC, 3);
  return {};
}

}  // namespace

void FakeRecorder::hold(const std::string& file) { held = held_of(file); }

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
    [](uint64_t, int* descriptor, live::Held* held, live::Objects* objects) {
      const live::Answer answer = recorder->called("end");
      if (answer.status != 0) return answer;
      recorder->open = 0;
      *descriptor = -1;
      if (recorder->held != nullptr) {
        held->trace = recorder->held.get();
        held->self = new HeldTrace(recorder->held);
        held->write = &write_held;
        held->release = [](void* self) {
          if (recorder != nullptr) ++recorder->released;
          delete static_cast<HeldTrace*>(self);
        };
      } else {
        *descriptor = ::open(recorder->path.c_str(), O_RDONLY | O_CLOEXEC);
      }
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
