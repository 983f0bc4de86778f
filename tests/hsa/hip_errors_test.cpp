// hsa/hip_errors/hip_errors.inc against the installed runtime and the recorder's list of HIP's
// functions; the library that is made from it against what may be preloaded into any process.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace gfxgraph::hsa_test {
namespace {

struct Row {
  std::string name;
  bool declared;  // in the header of 5.2.3
};

const std::vector<Row>& rows() {
  static const std::vector<Row> all = {
#define GFXGRAPH_HIP_CALL(moment, name) {#name, true},
#define GFXGRAPH_HIP_OVERLOADED(moment, name, ...) {#name, true},
#define GFXGRAPH_HIP_UNDECLARED(moment, name, ...) {#name, false},
#define GFXGRAPH_HIP_OWN(name) {#name, false},
#include "hsa/hip_errors/hip_errors.inc"
#undef GFXGRAPH_HIP_CALL
  };
  return all;
}

// What the recorder knows of HIP: every function of 5.2.3 and of later runtimes, and whether it
// concerns the device.
const std::map<std::string, std::string>& hip_functions() {
  static const std::map<std::string, std::string> all = {
#define GFXGRAPH_HIP_CALL(policy, name, ...) {#name, #policy},
#include "recorder/hooks/calls/hip_calls.inc"
#undef GFXGRAPH_HIP_CALL
  };
  return all;
}

std::vector<std::string> lines_of(const std::string& command) {
  std::vector<std::string> lines;
  FILE* const pipe = popen((command + " 2>/dev/null").c_str(), "r");
  if (pipe == nullptr) return lines;
  std::array<char, 4096> line{};
  while (std::fgets(line.data(), line.size(), pipe) != nullptr) {
    lines.emplace_back(line.data());
    if (lines.back().ends_with('\n')) lines.back().pop_back();
  }
  pclose(pipe);
  return lines;
}

// Names that `nm -D` lists, without version.
std::set<std::string> symbols(const std::string& arguments) {
  std::set<std::string> names;
  for (const std::string& line : lines_of("nm -D " + arguments)) {
    const size_t begin = line.rfind(' ') + 1;
    names.insert(line.substr(begin, line.find('@') - begin));
  }
  return names;
}

constexpr const char* kLibrary = HIP_ERRORS_LIBRARY;

TEST(HipErrors, NoRowTwice) {
  std::set<std::string> names;
  for (const Row& row : rows()) EXPECT_TRUE(names.insert(row.name).second) << row.name;
  EXPECT_GT(names.size(), 140u);
}

TEST(HipErrors, EveryRowIsAFunctionOfHip) {
  const std::set<std::string> runtime = symbols("--defined-only " HIP_LIBRARY);
  if (runtime.empty()) GTEST_SKIP() << "no HIP runtime here";
  for (const Row& row : rows()) {
    EXPECT_TRUE(hip_functions().contains(row.name)) << row.name << ": no runtime has it";
    if (row.declared) {
      EXPECT_TRUE(runtime.contains(row.name)) << row.name << ": not in " HIP_LIBRARY;
    }
  }
}

// Everything of the installed runtime that records device work, or might, has a row, unless it
// stands here.
TEST(HipErrors, NoFunctionThatNeedsTheDeviceIsForgotten) {
  const char* const kNotTheDevice[] = {
      // Building and changing graphs; destroying.
      "hipGraph", "hipDrvGraph", "hipEventDestroy", "hipStreamDestroy", "hipModuleUnload",
      "hipDestroy", "_Z23hipDestroySurfaceObject", "hipExternalMemory", "hipImportExternal",
      "hipStreamUpdateCaptureDependencies", "hipStreamGetCaptureInfo",
      // Registration, look-ups and the current device.
      "__hip", "hipModuleGet", "hipGetSymbolAddress", "hipGetFuncBySymbol", "hipSetDevice",
      "hipSetValidDevices", "hipCtxCreate", "hipDevicePrimaryCtx", "hipDeviceSetLimit",
      // What the program says of itself.
      "hipProfiler",
      // Returns nothing: the launch is one of hipModuleLaunchKernel.
      "_ZN8hip_impl22hipLaunchKernelGGLImpl",
      // Descriptors of textures and surfaces, made without work of the device.
      "_Z22hipCreateSurfaceObject", "hipCreateSurfaceObject", "hipBindTexture",
      "hipCreateTextureObject", "hipTexRefSet", "hipTexObject",
      // The agent refuses these, and HIP says so: graphics, other processes, virtual memory.
      "hipGraphics", "hipIpc", "hipMipmappedArrayCreate", "hipMemCreate", "hipMemMap",
      "hipMemUnmap", "hipMemSetAccess", "hipMemExport", "hipMemImport", "hipMemPoolExport",
      "hipMemPoolImport", "hipSignalExternal", "hipWaitExternal"};
  std::set<std::string> known;
  for (const Row& row : rows()) known.insert(row.name);
  size_t compared = 0;
  for (const std::string& name : symbols("--defined-only " HIP_LIBRARY)) {
    const auto policy = hip_functions().find(name);
    if (policy == hip_functions().end() || policy->second == "PASS") continue;
    bool excused = false;
    for (const char* prefix : kNotTheDevice) excused = excused || name.starts_with(prefix);
    ++compared;
    EXPECT_TRUE(excused || known.contains(name))
        << name << ": add it to hsa/hip_errors/hip_errors.inc";
  }
  EXPECT_GT(compared, 150u);
}

TEST(HipErrors, TheLibraryExportsExactlyTheRowsAndDlsym) {
  std::set<std::string> expected = {"dlsym", "gfxgraph_hip_errors_dlsym"};
  for (const Row& row : rows()) expected.insert(row.name);
  EXPECT_EQ(symbols(std::string("--defined-only ") + kLibrary), expected);
}

// It is loaded into children that have nothing to do with HIP, before their own libraries.
TEST(HipErrors, TheLibraryNeedsNothingButLibcAndDoesNothingAtStart) {
  if (std::string(GFXGRAPH_SANITIZE_FLAGS) != "") GTEST_SKIP() << "a sanitizer adds its own";
  size_t needed = 0;
  for (const std::string& line : lines_of(std::string("readelf -dW ") + kLibrary)) {
    if (line.find("(NEEDED)") == std::string::npos) continue;
    ++needed;
    EXPECT_NE(line.find("[libc.so.6]"), std::string::npos) << line;
  }
  EXPECT_EQ(needed, 1u);
  for (const std::string& name : symbols(std::string("--undefined-only ") + kLibrary)) {
    EXPECT_FALSE(name.starts_with("_Z") || name.starts_with("__cxa_guard") ||
                 name.starts_with("__gxx"))
        << name;
  }
  // The compiler's own start-up function is the only one.
  bool found = false;
  for (const std::string& line : lines_of(std::string("readelf -SW ") + kLibrary)) {
    if (line.find(" .init_array ") == std::string::npos) continue;
    found = true;
    EXPECT_NE(line.find(" 000008 "), std::string::npos) << line;
  }
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace gfxgraph::hsa_test
