// Processes of gfxgraph doctor: how they end, and that nothing of them stays.
#include "tools/doctor/child.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <map>
#include <string>
#include <thread>

namespace gfxgraph::tools::doctor {
namespace {

constexpr double kLong = 60;
constexpr double kShort = 0.2;

ChildEnd shell(const std::string& script, double seconds = kLong,
               const std::map<std::string, std::string>& environment = {}) {
  const Result<ChildEnd> end = run_child({{"/bin/sh", "-c", script}, environment, seconds});
  EXPECT_TRUE(end.has_value());
  return end.value_or(ChildEnd{});
}

bool is_running(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string number, name, state;
  return file >> number >> name >> state && state != "Z" && state != "X";
}

// Whether the process ends, now or soon: SIGKILL takes a moment.
bool ends(pid_t process) {
  for (int i = 0; i < 1000; ++i) {
    if (!is_running(process)) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

TEST(DoctorChild, ItsEndAndOutputAreTold) {
  const ChildEnd end = shell("echo out; echo err >&2; exit 3");
  EXPECT_EQ(end.code, 3);
  EXPECT_EQ(end.out, "out\n");
  EXPECT_EQ(end.err, "err\n");
  EXPECT_EQ(end.how(), "exit code 3");
  EXPECT_EQ(end.last_line(), "err");
  EXPECT_FALSE(end.ok());
  EXPECT_TRUE(shell("true").ok());
}

TEST(DoctorChild, SignalsHaveNames) {
  EXPECT_EQ(shell("kill -SEGV $$").how(), "killed by SIGSEGV (Segmentation fault)");
  EXPECT_EQ(shell("exit 134").how(), "killed by SIGABRT (Aborted)");
  EXPECT_EQ(shell("exit 255").how(), "exit code 255");
}

TEST(DoctorChild, OneThatHangsIsKilledWithAllOfItsGroup) {
  const ChildEnd end = shell("sleep 1000 & echo $!; wait", kShort);
  EXPECT_TRUE(end.late);
  EXPECT_EQ(end.how(), "no end after 0.2 s");
  const pid_t grandchild = std::stoi(end.out);
  EXPECT_TRUE(ends(grandchild));
}

TEST(DoctorChild, WhatItLeavesBehindIsKilled) {
  // It holds the pipes, too: nobody waits for it.
  const ChildEnd end = shell("sleep 1000 & echo $!");
  EXPECT_TRUE(end.ok());
  EXPECT_TRUE(ends(std::stoi(end.out)));
}

TEST(DoctorChild, OneThatIgnoresSignalsAndClosesItsOutputIsKilled) {
  EXPECT_TRUE(
      shell("trap '' TERM INT HUP; exec >&- 2>&-; while :; do sleep 0.01; done", kShort).late);
}

TEST(DoctorChild, OfMuchOutputTheEndIsKept) {
  const ChildEnd end = shell("i=0; while [ $i -lt 9999 ]; do echo line $i; i=$((i+1)); done");
  EXPECT_LE(end.out.size(), 16384u);
  EXPECT_TRUE(end.out.ends_with("line 9998\n"));
  EXPECT_EQ(end.last_line(), "line 9998");
}

TEST(DoctorChild, ItsEnvironmentIsReplacedByName) {
  ::setenv("DOCTOR_TEST", "mine", 1);
  ::setenv("DOCTOR_TEST_2", "kept", 1);
  const ChildEnd end = shell("echo $DOCTOR_TEST $DOCTOR_TEST_2", kLong, {{"DOCTOR_TEST", "its"}});
  EXPECT_EQ(end.out, "its kept\n");
}

TEST(DoctorChild, OneThatCannotBeStartedIsAnExitCode) {
  const Result<ChildEnd> end = run_child({{"/no/such/program"}, {}, kLong});
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->how(), "exit code 127");
}

TEST(DoctorChild, ASignalEndsTheChildFirst) {
  EXPECT_EXIT(
      {
        // The child signals its parent, and would then sleep.
        const ChildEnd end = shell("kill -TERM $PPID; sleep 1000");
        const bool told = interrupted() && !end.late && end.signal == SIGKILL;
        std::_Exit(told ? 7 : 1);
      },
      testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace gfxgraph::tools::doctor
