// A program under gfxgraph-record, on the software agent.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/sanitized.h"
#include "format/read/reader.h"
#include "tests/recorder/process.h"

namespace gfxgraph::recorder {

class RecordedProgramTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (kSanitized) {
      GTEST_SKIP() << "a sanitizer's runtime cannot be preloaded into the recorded program";
    }
  }

  std::string path() const { return (folder_.path() / "t.gfxg").string(); }

  // `program`: with its arguments.
  ProcessResult record(const std::string& program, const std::string& options = "") {
    return run(std::string(RECORD_TOOL) + " --device emulated --force -o " + path() + " " +
                   options + " -- " + program,
               folder_.path());
  }

  std::shared_ptr<const format::Trace> open() {
    auto trace = format::Trace::open(path());
    EXPECT_TRUE(trace) << (trace ? "" : trace.error().message);
    return trace ? *trace : nullptr;
  }

  template <typename T>
  static std::vector<T> actions(const format::Trace& trace) {
    std::vector<T> found;
    for (const format::Event& event : trace.events()) {
      if (const T* action = std::get_if<T>(&event.action)) found.push_back(*action);
    }
    return found;
  }

  TemporaryFolder folder_;
};

}  // namespace gfxgraph::recorder
