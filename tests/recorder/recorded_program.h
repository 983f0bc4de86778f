// A program under gfxgraph-record, on the software agent.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "base/sanitized.h"
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

  TemporaryFolder folder_;
};

}  // namespace gfxgraph::recorder
