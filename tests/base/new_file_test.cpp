#include "base/file/new_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <thread>

namespace gfxgraph {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class NewFileTest : public ::testing::Test {
 protected:
  NewFileTest() {
    std::string name = (fs::temp_directory_path() / "gfxgraph-XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  ~NewFileTest() override { fs::remove_all(folder_); }

  static std::span<const std::byte> bytes_of(std::string_view text) {
    return std::as_bytes(std::span(text));
  }
  fs::path put(const char* name, const char* text) const {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }
  static std::string text_of(const fs::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  size_t names() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), {}));
  }
  static mode_t mode_of(const fs::path& path) {
    struct stat status{};
    return ::lstat(path.c_str(), &status) == 0 ? status.st_mode & 07777 : 0;
  }

  fs::path folder_;
};

TEST_F(NewFileTest, HasItsNameOnlyWhenItIsWhole) {
  const fs::path target = put("f", "old");
  {
    NewFile file = NewFile::create(target, FileUse::kReport).value();
    ASSERT_TRUE(file.write(bytes_of("half")));
    EXPECT_EQ(text_of(target), "old");
  }
  EXPECT_EQ(text_of(target), "old");
  EXPECT_EQ(names(), 1U);
  NewFile file = NewFile::create(target, FileUse::kReport).value();
  // Whoever got the descriptor writes to it.
  ASSERT_EQ(::write(file.fd(), "new", 3), 3);
  ASSERT_TRUE(file.commit());
  EXPECT_EQ(text_of(target), "new");
  EXPECT_EQ(names(), 1U);
}

TEST_F(NewFileTest, AKillLeavesTheOldFileAndNothingElse) {
  const fs::path target = put("f", "old");
  const pid_t child = ::fork();
  if (child == 0) {
    auto file = NewFile::create(target, FileUse::kReport);
    if (!file || !file->write(bytes_of("half"))) ::_exit(1);
    ::raise(SIGKILL);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status)) << status;
  EXPECT_EQ(text_of(target), "old");
  EXPECT_EQ(names(), 1U);
}

TEST_F(NewFileTest, ModesFollowTheUseAndTheUmask) {
  put("old", "of everybody");
  fs::permissions(folder_ / "old", fs::perms(0666));
  for (const mode_t mask : {0000, 0027, 0077}) {
    const mode_t before = ::umask(mask);
    for (const char* name : {"new", "old"}) {
      ASSERT_TRUE(write_new_file(folder_ / name, FileUse::kReport, bytes_of("x")));
      EXPECT_EQ(mode_of(folder_ / name), 0666 & ~mask) << name;
      ASSERT_TRUE(write_new_file(folder_ / name, FileUse::kTrace, bytes_of("x")));
      EXPECT_EQ(mode_of(folder_ / name), 0600U) << name;
    }
    ::umask(before);
  }
}

TEST_F(NewFileTest, ReplacesLinksAndFollowsNone) {
  const fs::path other = put("other", "a stranger's");
  fs::create_symlink(other, folder_ / "link");
  fs::create_hard_link(other, folder_ / "hard");
  fs::create_symlink(folder_ / "nothing", folder_ / "dangling");
  for (const char* name : {"link", "hard", "dangling"}) {
    ASSERT_TRUE(write_new_file(folder_ / name, FileUse::kReport, bytes_of("mine"))) << name;
    EXPECT_EQ(text_of(folder_ / name), "mine") << name;
    EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(folder_ / name))) << name;
  }
  EXPECT_EQ(text_of(other), "a stranger's");
  EXPECT_FALSE(fs::exists(folder_ / "nothing"));
}

TEST_F(NewFileTest, RefusesWhatItCannotReplace) {
  fs::create_directory(folder_ / "folder");
  fs::create_symlink("/dev/null", folder_ / "null");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = folder_ / "socket";
  ASSERT_LT(name.copy(address.sun_path, sizeof(address.sun_path) - 1), sizeof(address.sun_path));
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  ::close(socket);
  for (const fs::path& path :
       {folder_ / "folder", folder_ / "folder/", folder_ / "..", folder_ / "null",
        folder_ / "socket", fs::path("/dev/full"), folder_ / "no/f", put("file", "") / "f"}) {
    const auto made = NewFile::create(path, FileUse::kReport);
    ASSERT_FALSE(made) << path;
    EXPECT_EQ(made.error().status, Status::kInvalidArgument) << path;
    EXPECT_THAT(made.error().message, HasSubstr(path.string()));
  }
  // No file can be made there, whoever asks.
  EXPECT_FALSE(NewFile::create("/proc/a.gfxg", FileUse::kTrace));
}

TEST_F(NewFileTest, WritesPipesAndItsOwnDescriptors) {
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::string got;
  std::thread reader([&] { got = text_of(pipe); });
  EXPECT_TRUE(write_new_file(pipe, FileUse::kReport, bytes_of("through a pipe")));
  reader.join();
  EXPECT_EQ(got, "through a pipe");
  EXPECT_FALSE(NewFile::create(pipe, FileUse::kTrace));
  EXPECT_TRUE(write_new_file("/dev/null", FileUse::kReport, bytes_of("x")));

  const int fd = ::open((folder_ / "open").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  ASSERT_GE(fd, 0);
  const std::string number = std::to_string(fd);
  for (const std::string folder : {"/dev/fd/", "/proc/self/fd/", "/proc/../dev/./fd/"})
    EXPECT_TRUE(write_new_file(folder + number, FileUse::kReport, bytes_of("x"))) << folder;
  EXPECT_FALSE(NewFile::create("/dev/fd/" + number, FileUse::kTrace));
  EXPECT_EQ(text_of(folder_ / "open"), "xxx");
  ::close(fd);
  EXPECT_FALSE(NewFile::create("/dev/fd/" + number, FileUse::kReport));
}

TEST_F(NewFileTest, AnOutputIsNoInputByAnyName) {
  const std::string input = put("t", "trace").string();
  fs::create_symlink(input, folder_ / "link");
  fs::create_symlink(folder_ / "link", folder_ / "chain");
  fs::create_hard_link(input, folder_ / "hard");
  fs::create_directory_symlink(folder_, folder_ / "loop");
  const int fd = ::open(input.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  const std::string folder = folder_.string();
  for (const std::string& output :
       {input, folder + "/link", folder + "/chain", folder + "/hard", folder + "/loop/t",
        folder + "//./t", "/dev/fd/" + std::to_string(fd), "/proc/self/fd/" + std::to_string(fd)}) {
    const std::vector<std::string> outputs = {folder + "/free", output};
    const auto refused = check_distinct(outputs, std::span(&input, 1));
    ASSERT_FALSE(refused) << output;
    EXPECT_THAT(refused.error().message, HasSubstr(output + ": is the same file as the input"));
  }
  ::close(fd);
  const std::vector<std::string> fine = {folder + "/free", folder + "/free2", "/dev/null",
                                         "/dev/null"};
  EXPECT_TRUE(check_distinct(fine, std::span(&input, 1)));
}

TEST_F(NewFileTest, TwoOutputsAreTwoFiles) {
  const std::string there = put("there", "").string();
  fs::create_hard_link(there, folder_ / "hard");
  fs::create_directory_symlink(folder_, folder_ / "loop");
  const std::string folder = folder_.string();
  const std::pair<std::string, std::string> pairs[] = {
      {there, folder + "/hard"},
      {folder + "/new", folder + "/new"},
      {folder + "/new", folder + "/loop/new"},
      {folder + "/new", folder + "/./new"},
  };
  for (const auto& [a, b] : pairs) {
    const std::vector<std::string> outputs = {a, b};
    EXPECT_FALSE(check_distinct(outputs, {})) << a << " " << b;
  }
  const std::vector<std::string> fine = {folder + "/new", folder + "/new2", there};
  EXPECT_TRUE(check_distinct(fine, {}));
}

}  // namespace
}  // namespace gfxgraph
