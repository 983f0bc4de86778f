// A worker process (base/process/sandbox.h) that does what a test wants, in a folder of its own.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <system_error>

#include "base/cli/exit_code.h"
#include "base/file/file.h"
#include "base/process/sandbox.h"
#include "base/sanitized.h"

namespace gfxgraph::sandbox {

// What is executed after the call that must not return.
inline constexpr int kWentOn = 77;

class SandboxTest : public testing::Test {
 protected:
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "the sanitizers need more system calls: no sandbox there";
    std::string name =
        (std::filesystem::temp_directory_path() / "gfxgraph-sandbox-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override {
    std::error_code ignored;
    if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
  }

  // The code that gfxgraph would end with; message_ is what it printed.
  int run(const std::function<int()>& work, const Access& access = {}) {
    testing::internal::CaptureStderr();
    const int code = enter("test", access);
    if (code < 0) ::_exit(work());
    message_ = testing::internal::GetCapturedStderr();
    return code;
  }
  void expect_stopped(const char* what, const std::function<void()>& attack) {
    const int code = run([&] {
      attack();
      return kWentOn;
    });
    EXPECT_EQ(code, kExitDataLost) << what;
    EXPECT_THAT(message_, testing::HasSubstr(std::string("gfxgraph: test: stopped ") + what));
    EXPECT_THAT(message_, testing::HasSubstr("SECURITY.md"));
  }
  std::filesystem::path write(const char* name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }
  static std::string text_of(const std::filesystem::path& path) {
    const auto bytes = read_file(path);
    return bytes ? std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size())
                 : "error: " + bytes.error().message;
  }

  std::filesystem::path folder_;
  std::string message_;
};

}  // namespace gfxgraph::sandbox
