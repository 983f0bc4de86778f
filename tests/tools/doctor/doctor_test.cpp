// The checks of gfxgraph doctor, on systems that this machine is not.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/doctor/checks.h"
#include "tools/doctor/libraries.h"
#include "tools/doctor/lines.h"
#include "tools/doctor/system_checks.h"

namespace gfxgraph::tools::doctor {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

class Folder : public testing::Test {
 protected:
  Folder() {
    std::string name = testing::TempDir() + "doctor-XXXXXX";
    path_ = ::mkdtemp(name.data());
  }
  ~Folder() override { fs::remove_all(path_); }
  fs::path write(const fs::path& name, const std::string& text) const {
    fs::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name) << text;
    return path_ / name;
  }
  Surroundings system(int error) const {
    return {
        path_.string(), "ada", {"users", "audio"}, [error](const std::string&) { return error; }};
  }

  fs::path path_;
};

// ---- the report ---------------------------------------------------------------------------------

TEST(DoctorReport, TheLastPartOfAMessageIsTheRemedy) {
  const Check check = check_of("x", State::kFailed, "a; b; do c");
  EXPECT_EQ(check.detail, "a; b");
  EXPECT_EQ(check.remedy, "do c");
  EXPECT_EQ(check_of("x", State::kFailed, "a").remedy, "");
}

Report report_of_each_state() {
  Report report;
  report.version = "1.2.3";
  report.device = "real";
  report.chosen = "found";
  report.checks = {{"version", State::kOk, "1.2.3"},
                   {"kfd", State::kOff, "none", "load it"},
                   {"replay-graph", State::kFailed, "differs\n\x1b[1m", "", 1, "last words"},
                   {"step", State::kNotChecked, "no device", "", 0}};
  return report;
}

TEST(DoctorReport, TextHasALinePerCheck) {
  EXPECT_EQ(render_text(report_of_each_state()),
            "gfxgraph 1.2.3 on a GPU (found)\n"
            "ok           version           1.2.3\n"
            "off          kfd               none; load it\n"
            "FAILED       replay graph [1]  differs\\n\\x1b[1m\n"
            "not checked  step [0]          no device\n"
            "1 ok, 1 off, 1 failed, 1 not checked\n");
}

TEST(DoctorReport, JsonHasTheSame) {
  const auto json = nlohmann::json::parse(render_json(report_of_each_state()));
  EXPECT_EQ(json["ok"], false);
  EXPECT_EQ(json["counts"]["not_checked"], 1);
  EXPECT_EQ(json["checks"][1]["remedy"], "load it");
  EXPECT_EQ(json["checks"][1]["gpu"], nullptr);
  EXPECT_EQ(json["checks"][2]["state"], "failed");
  EXPECT_EQ(json["checks"][2]["gpu"], 1);
  EXPECT_EQ(json["checks"][2]["output"], "last words");
  EXPECT_EQ(json["checks"][3]["state"], "not_checked");
}

// ---- devices of the kernel ----------------------------------------------------------------------

TEST_F(Folder, WithoutKfdOnlyARequestedGpuFails) {
  EXPECT_EQ(check_kfd(system(ENOENT), Gpu::kNeeded).state, State::kFailed);
  EXPECT_EQ(check_kfd(system(ENOENT), Gpu::kWanted).state, State::kOff);
  EXPECT_EQ(check_kfd(system(ENOENT), Gpu::kUnneeded).state, State::kOff);
  EXPECT_THAT(check_kfd(system(ENOENT), Gpu::kWanted).remedy, HasSubstr("amdgpu"));
  EXPECT_EQ(check_kfd(system(0), Gpu::kNeeded).state, State::kOk);
}

TEST_F(Folder, KfdThatMayNotBeOpenedNamesUserAndGroup) {
  const fs::path kfd = write("dev/kfd", "");
  ASSERT_EQ(::chmod(kfd.c_str(), 0640), 0);
  const Check check = check_kfd(system(EACCES), Gpu::kWanted);
  EXPECT_EQ(check.state, State::kFailed);
  EXPECT_EQ(check_kfd(system(EACCES), Gpu::kUnneeded).state, State::kOff);
  EXPECT_THAT(check.detail, HasSubstr("mode 0640"));
  EXPECT_THAT(check.detail, HasSubstr("ada is in users, audio"));
  EXPECT_THAT(check.remedy, HasSubstr("sudo usermod -a -G "));
  EXPECT_THAT(check.remedy, HasSubstr(" ada,"));
  EXPECT_THAT(check_kfd(system(EPERM), Gpu::kWanted).remedy, HasSubstr("--device=/dev/kfd"));
  EXPECT_THAT(check_kfd(system(EIO), Gpu::kWanted).remedy, HasSubstr("dmesg"));
}

TEST_F(Folder, AMemberOfTheGroupNeedsItsRights) {
  write("dev/kfd", "");
  Surroundings member = system(EACCES);
  member.groups = surroundings().groups;  // that of the file, which this process made
  EXPECT_THAT(check_kfd(member, Gpu::kWanted).remedy, HasSubstr("chmod g+rw /dev/kfd"));
}

TEST_F(Folder, EachRenderNodeIsOpened) {
  EXPECT_EQ(check_render_nodes(system(0), Gpu::kWanted).state, State::kOff);
  write("dev/dri/renderD129", "");
  write("dev/dri/renderD128", "");
  write("dev/dri/card0", "");
  EXPECT_EQ(check_render_nodes(system(0), Gpu::kWanted).detail,
            "/dev/dri/renderD128, /dev/dri/renderD129 can be opened");
  Surroundings second = system(0);
  second.open = [](const std::string& path) { return path.ends_with("129") ? EACCES : 0; };
  const Check check = check_render_nodes(second, Gpu::kWanted);
  EXPECT_EQ(check.state, State::kFailed);
  EXPECT_THAT(check.detail, HasSubstr("/dev/dri/renderD129 (group "));
}

TEST_F(Folder, TheDriverListsGpusByTheirTarget) {
  const std::string nodes = "sys/class/kfd/kfd/topology/nodes/";
  write(nodes + "0/properties", "cpu_cores_count 16\ngfx_target_version 0\n");
  EXPECT_EQ(check_driver(system(0), Gpu::kNeeded).state, State::kFailed);
  EXPECT_EQ(check_driver(system(0), Gpu::kWanted).state, State::kOff);
  write(nodes + "1/properties", "simd_count 144\ngfx_target_version 100300\n");
  write(nodes + "2/properties", "gfx_target_version 90010\n");
  write("sys/module/amdgpu/version", "6.3.6\n");
  const Check check = check_driver(system(0), Gpu::kNeeded);
  EXPECT_EQ(check.state, State::kOk);
  EXPECT_EQ(check.detail, "amdgpu 6.3.6: gfx1030 (node 1), gfx90a (node 2)");
}

// ---- the system ---------------------------------------------------------------------------------

TEST(DoctorSystem, LimitsThatAreTooLowFail) {
  const rlimit none{RLIM_INFINITY, RLIM_INFINITY};
  EXPECT_EQ(check_limits({none, none, none, none}).state, State::kOk);
  const Check files = check_limits({{255, 4096}, none, none, none});
  EXPECT_EQ(files.state, State::kFailed);
  EXPECT_EQ(files.remedy, "allow 256 open files: ulimit -n 256");
  EXPECT_THAT(files.detail, HasSubstr("open files 255 (at most 4096)"));
  const rlimit addresses{rlim_t{15} << 30, RLIM_INFINITY};
  EXPECT_THAT(check_limits({none, none, addresses, none}).remedy, HasSubstr("ulimit -v"));
}

TEST_F(Folder, FilesMustBePossibleInTheTemporaryFolder) {
  EXPECT_EQ(check_temporary_folder(path_).state, State::kOk);
  EXPECT_TRUE(fs::is_empty(path_));
  const Check check = check_temporary_folder(path_ / "missing");
  EXPECT_EQ(check.state, State::kFailed);
  EXPECT_THAT(check.detail, HasSubstr("No such file or directory"));
  EXPECT_THAT(check.remedy, HasSubstr("TMPDIR"));
}

TEST_F(Folder, WithoutTheRightToReadAChildThereIsNoSandbox) {
  write("proc/sys/kernel/yama/ptrace_scope", "3\n");
  EXPECT_EQ(check_sandbox(system(0)).state, State::kOff);
}

TEST_F(Folder, ProgramsThatCannotBeRecordedAreNamed) {
  EXPECT_THAT(check_program((path_ / "none").string(), false).detail, HasSubstr("no such program"));
  const fs::path script = write("script", "#!/bin/sh\n");
  fs::permissions(script, fs::perms::owner_all);
  EXPECT_EQ(check_program(script.string(), false).state, State::kOff);
  const fs::path copy = path_ / "copy";
  fs::copy_file("/bin/true", copy);
  EXPECT_EQ(check_program(copy.string(), false).state, State::kOk);
  ASSERT_EQ(::chmod(copy.c_str(), 04755), 0);
  EXPECT_THAT(check_program(copy.string(), false).detail, HasSubstr("has set-user-ID"));
  // A file without a program interpreter, as a static program is.
  std::string elf(64, '\0');
  elf.replace(0, 5,
              "\x7f"
              "ELF\2");
  elf[18] = 62;  // e_machine: x86-64
  elf[54] = 56;  // e_phentsize
  const fs::path still = write("static", elf);
  fs::permissions(still, fs::perms::owner_all);
  EXPECT_THAT(check_program(still.string(), false).detail, HasSubstr("statically linked"));
}

// ---- libraries ----------------------------------------------------------------------------------

TEST_F(Folder, LibrariesAreFoundOnceByTheNameThatLoadersAskFor) {
  write("a/libamdhip64.so.6.4.3", "");
  fs::create_symlink("libamdhip64.so.6.4.3", path_ / "a/libamdhip64.so");
  fs::create_symlink("libamdhip64.so.6.4.3", path_ / "a/libamdhip64.so.6");
  write("b/libamdhip64-3f2a.so.6", "");
  write("b/libamdhip64.py", "");
  write("b/libamdhip6.so", "");
  fs::create_symlink(path_ / "a/libamdhip64.so.6.4.3", path_ / "b/libamdhip64.so.6");
  std::vector<Library> found =
      find_libraries({path_ / "a", path_ / "b", path_ / "none"}, "libamdhip64");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].path, path_ / "a/libamdhip64.so.6");
  EXPECT_EQ(found[0].file, fs::canonical(path_ / "a/libamdhip64.so.6.4.3"));
  EXPECT_EQ(found[0].soname, "");
  EXPECT_EQ(found[1].path, path_ / "b/libamdhip64-3f2a.so.6");

  mark_loaded(found, "libamdhip64", (path_ / "b/libamdhip64.so.6").string());
  ASSERT_EQ(found.size(), 2u);
  EXPECT_TRUE(found[0].loaded);
  EXPECT_EQ(found[0].path, path_ / "b/libamdhip64.so.6");
  mark_loaded(found, "libamdhip64", "/opt/elsewhere/libamdhip64.so.7");
  ASSERT_EQ(found.size(), 3u);
  EXPECT_TRUE(found[2].loaded);
  mark_loaded(found, "libamdhip64", "");
  EXPECT_EQ(found.size(), 3u);
}

TEST_F(Folder, TheSonameIsThatOfTheFile) {
  const fs::path library = GFXGRAPH_BINARY_DIR "/lib/gfxgraph/libhsa-runtime64.so.1";
  EXPECT_EQ(soname_of(library), "libhsa-runtime64.so.1");
  EXPECT_EQ(soname_of(path_ / "none"), "");
  EXPECT_EQ(soname_of(write("text", "no library")), "");
  // Cut off anywhere, it has a name or none.
  std::ifstream file(library, std::ios::binary);
  std::string bytes(4096, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  for (size_t size = 0; size <= bytes.size(); size += 61)
    EXPECT_EQ(soname_of(write("cut", bytes.substr(0, size))), "") << size;
}

// ---- what the processes say ---------------------------------------------------------------------

TEST_F(Folder, HalfALineIsNone) {
  const fs::path file = write("lines", "{\"id\": \"run\"}\n[1]\n{\"id\": \"run-ea");
  const std::vector<nlohmann::json> lines = read_lines(file);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0]["id"], "run");
  EXPECT_TRUE(read_lines(path_ / "none").empty());
}

std::vector<nlohmann::json> lines_of(const std::vector<std::string>& ids) {
  std::vector<nlohmann::json> lines;
  for (const std::string& id : ids) lines.push_back({{"id", id}, {"state", "ok"}});
  return lines;
}

std::vector<State> states_of(const std::vector<Check>& checks) {
  std::vector<State> states;
  for (const Check& check : checks) states.push_back(check.state);
  return states;
}

TEST(DoctorCaptures, AProcessThatDiesFailsTheModeThatItWasIn) {
  ChildEnd end;
  end.signal = SIGSEGV;
  end.err = "first\ngfxgraph: last\n";
  const auto checks = capture_checks("run", lines_of({"run", "run-eager"}), end);
  EXPECT_EQ(states_of(checks), (std::vector{State::kOk, State::kOk, State::kFailed,
                                            State::kNotChecked, State::kNotChecked}));
  EXPECT_EQ(checks[2].id, "capture-run-batch");
  EXPECT_EQ(checks[2].detail, "killed by SIGSEGV (Segmentation fault): last");
  EXPECT_EQ(checks[2].output, end.err);
}

TEST(DoctorCaptures, AProcessThatDiesAtItsEndFailsBesideItsModes) {
  ChildEnd end;
  end.late = true;
  end.seconds = 7;
  const auto checks = capture_checks(
      "hold", lines_of({"hold", "hold-eager", "hold-batch", "hold-graph", "hold-packets"}), end);
  ASSERT_EQ(checks.size(), 6u);
  EXPECT_EQ(checks[5].id, "capture-hold-end");
  EXPECT_EQ(checks[5].state, State::kFailed);
  EXPECT_EQ(checks[5].detail, "no end after 7 s");
}

TEST(DoctorCaptures, StatesOfLinesArePassedOn) {
  ChildEnd end;
  end.code = 0;
  auto lines = lines_of({"run", "run-eager", "run-batch"});
  lines.push_back({{"id", "run-graph"}, {"state", "failed"}, {"detail", "word 3 is wrong"}});
  lines.push_back({{"id", "run-packets"}, {"state", "off"}, {"detail", "no HSA"}});
  const auto checks = capture_checks("run", lines, end);
  EXPECT_EQ(states_of(checks),
            (std::vector{State::kOk, State::kOk, State::kOk, State::kFailed, State::kOff}));
  EXPECT_EQ(checks[3].detail, "word 3 is wrong");
  EXPECT_EQ(checks[3].remedy, "send this report");
}

}  // namespace
}  // namespace gfxgraph::tools::doctor
