#include "base/file/file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

namespace gfxgraph {
namespace {

using ::testing::HasSubstr;

class FileTest : public ::testing::Test {
 protected:
  FileTest() {
    std::string name = (std::filesystem::temp_directory_path() / "gfxgraph-XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  ~FileTest() override { std::filesystem::remove_all(folder_); }

  static std::vector<std::byte> bytes_of(const std::string& text) {
    const auto* at = reinterpret_cast<const std::byte*>(text.data());
    return {at, at + text.size()};
  }

  std::filesystem::path folder_;
};

TEST_F(FileTest, NewFilesAreForTheirUserAlone) {
  const mode_t before = ::umask(0);
  {
    const File file = File::open_write(folder_ / "f").value();
    ASSERT_TRUE(write_file_atomic(folder_ / "g", bytes_of("g")));
  }
  ::umask(before);
  for (const char* name : {"f", "g"}) {
    struct stat status{};
    ASSERT_EQ(::stat((folder_ / name).c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600U) << name;
  }
}

TEST_F(FileTest, WritesAllPartsAndReadsThemBack) {
  File file = File::open_write(folder_ / "f").value();
  std::vector<std::vector<std::byte>> owned;
  std::vector<std::span<const std::byte>> parts;
  std::string expected;
  // More parts than one system call takes here, some of them empty.
  for (int i = 0; i < 30; ++i) {
    owned.push_back(bytes_of(std::string(i % 3, static_cast<char>('a' + i % 26))));
    expected += std::string(i % 3, static_cast<char>('a' + i % 26));
  }
  for (const auto& part : owned) parts.emplace_back(part);
  ASSERT_TRUE(file.write_all(parts));
  ASSERT_TRUE(file.sync());
  EXPECT_EQ(file.size().value(), expected.size());
  EXPECT_EQ(read_file(folder_ / "f").value(), bytes_of(expected));
  std::vector<std::byte> some(4);
  ASSERT_TRUE(file.read_at(2, some));
  EXPECT_EQ(some, bytes_of(expected.substr(2, 4)));
  EXPECT_EQ(file.read_at(expected.size() - 1, some).error().status, Status::kTruncated);
  ASSERT_TRUE(file.truncate(1));
  EXPECT_EQ(file.size().value(), 1u);
}

TEST_F(FileTest, ContinuesShortWrites) {
  // A pipe takes as much as fits, which is less than this.
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  File file = File::open_write("/proc/self/fd/" + std::to_string(ends[1])).value();
  ::close(ends[1]);
  const std::vector<std::byte> sent(1 << 20, std::byte{7});
  size_t received = 0;
  std::thread reader([&] {
    std::vector<char> buffer(3001);
    for (ssize_t got; (got = ::read(ends[0], buffer.data(), buffer.size())) > 0;) {
      received += static_cast<size_t>(got);
    }
  });
  EXPECT_TRUE(file.write_all(sent));
  file.close();
  reader.join();
  ::close(ends[0]);
  EXPECT_EQ(received, sent.size());
}

TEST_F(FileTest, NamesThePathAndTheReason) {
  const auto missing = File::open_read(folder_ / "none");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().status, Status::kNotFound);
  EXPECT_THAT(missing.error().message, HasSubstr((folder_ / "none").string()));
  EXPECT_THAT(missing.error().message, HasSubstr("No such file or directory"));
  EXPECT_EQ(File::open_write(folder_).error().status, Status::kIo);
  EXPECT_EQ(errno_message(ENOSPC), "No space left on device");
  EXPECT_EQ(errno_message(99999), "system error 99999");
}

TEST_F(FileTest, ReportsAFullDevice) {
  File full = File::open_write("/dev/full").value();
  const auto written = full.write_all(bytes_of("x"));
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().status, Status::kIo);
  EXPECT_THAT(written.error().message, HasSubstr("No space left on device"));
}

TEST_F(FileTest, ReportsAFileSizeLimitInsteadOfDying) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    struct rlimit limit = {100, 100};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    Result<File> file = File::open_write(folder_ / "f");
    const bool small = file && file->write_all(std::vector<std::byte>(100));
    const bool large = file && file->write_all(std::vector<std::byte>(1));
    ::_exit(small && !large ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST_F(FileTest, LocksAgainstOtherOpenFiles) {
  File first = File::open_write(folder_ / "f").value();
  File second = File::open_write(folder_ / "f").value();
  EXPECT_TRUE(first.try_lock().value());
  EXPECT_FALSE(second.try_lock().value());
  first.close();
  EXPECT_TRUE(second.try_lock().value());
}

TEST_F(FileTest, KnowsWhetherItsNameStillIsItsOwn) {
  File file = File::open_write(folder_ / "f").value();
  EXPECT_TRUE(file.is_current());
  ASSERT_TRUE(rename_file(folder_ / "f", folder_ / "g"));
  EXPECT_FALSE(file.is_current());
  EXPECT_EQ(rename_file(folder_ / "f", folder_ / "g").error().status, Status::kNotFound);
  EXPECT_TRUE(sync_folder(folder_));
  EXPECT_TRUE(sync_folder(""));
  EXPECT_FALSE(sync_folder(folder_ / "none"));
}

TEST_F(FileTest, MovesItsDescriptor) {
  File first = File::open_write(folder_ / "f").value();
  const int fd = first.fd();
  File second = std::move(first);
  EXPECT_FALSE(first.is_open());  // NOLINT(bugprone-use-after-move): what the test is about
  EXPECT_EQ(second.fd(), fd);
  second = File::open_write(folder_ / "g").value();
  EXPECT_EQ(::fcntl(fd, F_GETFD) == -1 || second.fd() == fd, true);
}

TEST_F(FileTest, ReplacesAtomically) {
  ASSERT_TRUE(write_file_atomic(folder_ / "f", bytes_of("old")));
  ASSERT_TRUE(write_file_atomic(folder_ / "f", bytes_of("new")));
  EXPECT_EQ(read_file(folder_ / "f").value(), bytes_of("new"));
  EXPECT_FALSE(write_file_atomic(folder_ / "no" / "f", bytes_of("x")));
  size_t entries = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder_)) ++entries;
  EXPECT_EQ(entries, 1u) << "a temporary file is left";
}

TEST_F(FileTest, ReadsUpToALimit) {
  ASSERT_TRUE(write_file_atomic(folder_ / "f", bytes_of("12345")));
  EXPECT_TRUE(read_file(folder_ / "f", 5));
  EXPECT_EQ(read_file(folder_ / "f", 4).error().status, Status::kInvalidArgument);
  EXPECT_FALSE(read_file("/proc/self/status").value().empty());
  EXPECT_FALSE(read_file(folder_));
}

TEST_F(FileTest, MapsRegularFilesOnly) {
  ASSERT_TRUE(write_file_atomic(folder_ / "f", bytes_of("mapped")));
  ASSERT_TRUE(write_file_atomic(folder_ / "empty", {}));
  MappedFile file = MappedFile::open(folder_ / "f").value();
  MappedFile moved = std::move(file);
  EXPECT_TRUE(file.bytes().empty());  // NOLINT(bugprone-use-after-move)
  EXPECT_TRUE(std::ranges::equal(moved.bytes(), bytes_of("mapped")));
  moved = MappedFile::open(folder_ / "empty").value();
  EXPECT_TRUE(moved.bytes().empty());
  EXPECT_EQ(MappedFile::open(folder_ / "none").error().status, Status::kNotFound);
  EXPECT_THAT(MappedFile::open(folder_).error().message, HasSubstr("Is a directory"));
  EXPECT_THAT(MappedFile::open("/dev/null").error().message, HasSubstr("not a regular file"));
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(MappedFile::open(folder_ / "pipe").error().message, HasSubstr("not a regular file"));
  EXPECT_GT(physical_memory_bytes(), 1u << 20);
}

TEST_F(FileTest, AGuardedFileIsItsOwnersAndRegular) {
  ::umask(0);
  File file = File::open_guarded(folder_ / "f").value();
  EXPECT_GT(file.fd(), 100) << "closefrom(3) and the like come from below";
  EXPECT_NE(::fcntl(file.fd(), F_GETFD) & FD_CLOEXEC, 0);
  struct stat status{};
  ASSERT_EQ(::stat((folder_ / "f").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600u);
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  std::filesystem::create_symlink(folder_ / "f", folder_ / "link");
  std::filesystem::create_symlink("/dev/null", folder_ / "null");
  for (const char* name : {"pipe", "link", "null"}) {
    const auto refused = File::open_guarded(folder_ / name);
    ASSERT_FALSE(refused) << name;
    EXPECT_THAT(refused.error().message, HasSubstr("not a regular file")) << name;
  }
  EXPECT_EQ(File::open_guarded("/dev/null").error().status, Status::kInvalidArgument);
}

TEST_F(FileTest, AGuardedFileIsNeverWrittenIntoAnother) {
  const auto text = bytes_of("text");
  File file = File::open_guarded(folder_ / "f").value();
  File other = File::open_write(folder_ / "other").value();
  ASSERT_TRUE(file.write_all(text));
  ASSERT_GE(::dup2(other.fd(), file.fd()), 0);
  const auto written = file.write_all(text);
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().message, HasSubstr("the program closed its file descriptor"));
  EXPECT_FALSE(file.truncate(0));
  EXPECT_FALSE(file.sync());
  EXPECT_FALSE(file.size());
  EXPECT_EQ(other.size().value(), 0u);
  const int fd = file.fd();
  file.close();
  EXPECT_GE(::fcntl(fd, F_GETFD), 0) << "the program's file was closed";
  ::close(fd);
  File closed = File::open_guarded(folder_ / "f").value();
  ::close(closed.fd());
  EXPECT_FALSE(closed.write_all(text));
  EXPECT_EQ(read_file(folder_ / "f").value(), text);
}

TEST_F(FileTest, RenamesInAFolderThatIsKept) {
  const File file = File::open_guarded(folder_ / "f").value();
  const File folder = File::open_guarded_folder(folder_).value();
  ASSERT_TRUE(rename_in(folder, file, "f", "g"));
  EXPECT_TRUE(file.is_named(folder, "g"));
  EXPECT_FALSE(rename_in(folder, file, "f", "h")) << "it is not there any more";
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(rename_in(folder, file, "g", "pipe").error().message,
              HasSubstr("not a regular file"));
  std::filesystem::rename(folder_ / "g", folder_ / "moved");
  (void)File::open_guarded(folder_ / "g").value();
  EXPECT_THAT(rename_in(folder, file, "g", "h").error().message, HasSubstr("replaced"));
}

}  // namespace
}  // namespace gfxgraph
