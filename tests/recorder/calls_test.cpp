// recorder/hooks/calls/hip_calls.inc against the runtime that is installed, and against the preload
// library.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <array>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "tests/recorder/process.h"

namespace gfxgraph::recorder {
namespace {

std::map<std::string, std::string> rows() {
  return {
#define GFXGRAPH_HIP_CALL(policy, name, ...) {#name, #policy},
#include "recorder/hooks/calls/hip_calls.inc"
#undef GFXGRAPH_HIP_CALL
  };
}

// Functions that a shared library exports, without their versions.
std::set<std::string> exported(const std::string& library) {
  const TemporaryFolder folder;
  const ProcessResult result = run("nm -D --defined-only " + library, folder.path());
  EXPECT_EQ(result.code, 0) << result.err;
  std::set<std::string> names;
  std::istringstream lines(result.out);
  for (std::string address, type, name; lines >> address >> type >> name;) {
    if (type == "T" || type == "W") names.insert(name.substr(0, name.find('@')));
  }
  return names;
}

TEST(HipCalls, NoRowTwice) {
  std::multiset<std::string> names = {
#define GFXGRAPH_HIP_CALL(policy, name, ...) #name,
#include "recorder/hooks/calls/hip_calls.inc"
#undef GFXGRAPH_HIP_CALL
  };
  for (const std::string& name : names) EXPECT_EQ(names.count(name), 1u) << name;
  EXPECT_GT(names.size(), 500u);
}

// hip_exports.txt: version, functions.
std::map<std::string, std::set<std::string>> stored_exports() {
  std::map<std::string, std::set<std::string>> exports;
  std::istringstream lines(
      read_text(std::string(GFXGRAPH_SOURCE_DIR) + "/tests/runtimes/hip_exports.txt"));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("#")) continue;
    std::istringstream words(line);
    std::string name, version;
    for (words >> name; words >> version;) exports[version].insert(name);
  }
  return exports;
}

TEST(HipCalls, EveryFunctionOfTheInstalledRuntimeHasARow) {
  const std::set<std::string> functions = exported(HIP_LIBRARY);
  const std::map<std::string, std::string> known = rows();
  EXPECT_GT(functions.size(), 400u);
  for (const std::string& function : functions) {
    EXPECT_TRUE(known.contains(function))
        << function << ": classify it in recorder/hooks/calls/hip_calls.inc";
  }
}

TEST(HipCalls, TheRowsAreTheFunctionsOfTheStoredRuntimes) {
  const std::map<std::string, size_t> sizes = {
      {"5.2.3", 409}, {"5.7.1", 459}, {"6.4.3", 502}, {"7.2.4", 525}, {"10.2", 42}};
  const auto stored = stored_exports();
  ASSERT_EQ(stored.size(), sizes.size());
  std::map<std::string, std::string> known = rows();
  std::set<std::string> anywhere;
  for (const auto& [version, functions] : stored) {
    EXPECT_EQ(functions.size(), sizes.at(version)) << version;
    for (const std::string& function : functions) {
      EXPECT_TRUE(known.contains(function))
          << function << " of HIP " << version
          << ": classify it in recorder/hooks/calls/hip_calls.inc";
    }
    anywhere.insert(functions.begin(), functions.end());
  }
  for (const auto& [name, policy] : known) {
    EXPECT_TRUE(anywhere.contains(name)) << name << ": no stored runtime exports it";
  }
}

TEST(HipCalls, ThePreloadLibraryExportsExactlyTheHooks) {
  std::set<std::string> expected = {"dlsym",       "dlvsym",
                                    "_exit",       "_Exit",
                                    "quick_exit",  "abort",
                                    "execve",      "execv",
                                    "execvp",      "execvpe",
                                    "fexecve",     "execl",
                                    "execlp",      "execle",
                                    "sigaction",   "signal",
                                    "ssignal",     "bsd_signal",
                                    "sysv_signal", "__sysv_signal",
                                    "execveat",    "pthread_setcanceltype"};
  // hooks_marker.cpp
  expected.insert({"roctxMarkA", "roctxRangePushA", "roctxRangePop", "roctxRangeStartA",
                   "roctxRangeStop", "gfxgraph_recorder_range_begin", "gfxgraph_recorder_range_end",
                   "gfxgraph_recorder_mark", "gfxgraph_recorder_name"});
  expected.insert("gfxgraph_recorder_captures");                                 // live_table.cpp
  expected.insert({"gfxgraph_recorder_api_table", "gfxgraph_recorder_detach"});  // api_table.cpp
  for (const auto& [name, policy] : rows()) {
    if (policy != "PASS") expected.insert(name);
  }
  const std::set<std::string> found = exported(PRELOAD_LIBRARY);
  for (const std::string& name : expected)
    EXPECT_TRUE(found.contains(name)) << name << " is missing";
  for (const std::string& name : found)
    EXPECT_TRUE(expected.contains(name)) << name << " leaks out";
}

// What a row says of waiting is measured: these programs ask each runtime (the last one a
// stand-in).
TEST(HipCalls, EveryCallThatWaitsIsAskedOfTheRuntime) {
  std::set<std::string> words;
  for (const char* program : {"program_waits.hip", "program_array_waits.hip", "program_order.hip",
                              "devices/program_launch_list.hip", "newer/program_newer.hip"}) {
    std::istringstream lines(
        read_text(std::string(GFXGRAPH_SOURCE_DIR) + "/tests/recorder/programs/" + program));
    for (std::string line; std::getline(lines, line);) {
      std::string word;
      for (const char one : line.substr(0, line.find("//")) + " ") {
        if (std::isalnum(static_cast<unsigned char>(one)) != 0 || one == '_') {
          word += one;
        } else {
          words.insert(std::exchange(word, {}));
        }
      }
    }
  }
  const std::pair<std::string, std::string> calls[] = {
#define GFXGRAPH_HIP_CALL(policy, name, ...) {#name, "" __VA_OPT__(#__VA_ARGS__)},
#include "recorder/hooks/calls/hip_calls.inc"
#undef GFXGRAPH_HIP_CALL
  };
  size_t waiting = 0;
  for (const auto& [name, knows] : calls) {
    if (knows.empty() || knows.starts_with("NOTHING")) continue;
    ++waiting;
    EXPECT_TRUE(words.contains(name))
        << name << " tells the host something: let program_waits.hip measure what";
  }
  EXPECT_GT(waiting, 50u);
}

// Hooks run before the library's own constructors when the program is linked to a library with
// kernels: whatever had to be initialised by then would not be.
TEST(HipCalls, ThePreloadLibraryInitialisesNothingAtStart) {
  if (std::string(GFXGRAPH_SANITIZE_FLAGS) != "") GTEST_SKIP() << "a sanitizer adds its own";
  const TemporaryFolder folder;
  const ProcessResult sections = run("readelf -SW " PRELOAD_LIBRARY, folder.path());
  const size_t at = sections.out.find(" .init_array ");
  ASSERT_NE(at, std::string::npos);
  const std::string line = sections.out.substr(at, sections.out.find('\n', at) - at);
  // From fmt 10 on, base/fmt.cpp has one, too: it sets a byte of a facet's id, which nothing here
  // asks for.
  EXPECT_NE(line.find(FMT_VERSION < 100000 ? " 000008 " : " 000010 "), std::string::npos)
      << "more than the compiler's own function, e.g. a table without constinit:" << line;
}

TEST(HipCalls, ThePageInDocsIsTheTable) {
  const std::pair<std::string, std::string> parts[] = {
      {"RECORD", "Recorded"},
      {"CONDITIONAL", "Recorded, except with some arguments (arrays, another device, limits)"},
      {"UNSUPPORTED",
       "Unsupported: passed through; a successful call marks the trace incomplete with its name "
       "and count"},
      {"PASS", "Passed through: changes no state that a trace describes"}};
  const std::array<std::string, 3> calls[] = {
#define GFXGRAPH_HIP_CALL(policy, name, ...) {#policy, #name, "" __VA_OPT__(#__VA_ARGS__)},
#include "recorder/hooks/calls/hip_calls.inc"
#undef GFXGRAPH_HIP_CALL
  };
  const std::map<std::string, std::string> known = {
      {"", ""},
      {"NOTHING", ""},
      {"STREAM", ": tells the host that its stream is done"},
      {"STREAMS", ": tells the host that its streams are done, unless its flags forbid that"},
      {"EVENT", ": tells the host that its events are complete"},
      {"DEVICE", ": tells the host that the device is idle"},
      {"BY_ARGUMENT",
       ": tells the host that its stream is done if one end is plain host memory, or both ends are "
       "host memory"}};
  const std::string path = std::string(GFXGRAPH_SOURCE_DIR) + "/docs/hip-calls.md";
  const std::string page = read_text(path);
  std::string expected = page.substr(0, page.find("\n## "));
  for (const auto& [policy, title] : parts) {
    expected += "\n## " + title + "\n\n";
    for (const auto& [of_call, name, knows] : calls) {
      if (of_call != policy) continue;
      const std::string devices = knows.ends_with(", ALL_DEVICES") ? ", on all devices" : "";
      expected += "- `" + name + "`" + devices + known.at(knows.substr(0, knows.find(','))) + "\n";
    }
  }
  if (std::getenv("GFXGRAPH_UPDATE_DOCS") != nullptr) {
    std::ofstream(path, std::ios::binary) << expected;
    return;
  }
  EXPECT_TRUE(page == expected) << "docs/hip-calls.md is not recorder/hooks/calls/hip_calls.inc";
}

}  // namespace
}  // namespace gfxgraph::recorder
