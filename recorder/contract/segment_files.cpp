#include "recorder/contract/segment_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/file/file.h"
#include "recorder/contract/output_pattern.h"

namespace gfxgraph::recorder {
namespace {

constexpr unsigned kMostNames = 100'000;

// "T.WORD.gfxg" of "T.gfxg".
std::string beside(const std::string& output, const std::string& word) {
  std::string path = output;
  const bool usual = path.ends_with(kExtension);
  return path.insert(path.size() - (usual ? kExtension.size() : 0), "." + word);
}

// Returns false if a file of that name exists.
Result<bool> rename_to_free_name(const std::string& from, const std::string& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) {
    return true;
  }
  if (errno == EEXIST) return false;
  if (errno != EINVAL && errno != ENOSYS) {
    return fail(Status::kIo, fmt::format("rename {} to {}: {}", from, to, std::strerror(errno)));
  }
  if (path_exists(to)) return false;  // of a file system that cannot do both at once
  GFXGRAPH_TRY(rename_file(from, to));
  return true;
}

}  // namespace

bool path_exists(const std::string& path) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0;
}

std::string previous_segment(const std::string& output) { return beside(output, "previous"); }

std::string segment_list(const std::string& status_folder, const std::string& key) {
  return status_folder + "/segments" + key;
}

void SegmentFiles::note(const std::string& path) noexcept {
  if (list_.empty()) return;
  const int file = ::open(list_.c_str(), O_CREAT | O_APPEND | O_WRONLY | O_CLOEXEC, 0600);
  if (file < 0) return;
  (void)!::write(file, path.data(), path.size());
  (void)!::write(file, "\n", 1);
  ::close(file);
}

Result<void> SegmentFiles::move_to_kept(const std::string& from) {
  for (unsigned tries = 0; tries < kMostNames; ++tries) {
    const std::string to = beside(output_, fmt::format("kept-{}", ++kept_));
    GFXGRAPH_ASSIGN_OR_RETURN(const bool moved, rename_to_free_name(from, to));
    if (!moved) continue;
    note(to);
    return {};
  }
  return fail(Status::kIo, fmt::format("{}: no free name for a kept segment", output_));
}

Result<void> SegmentFiles::sealed(bool keep) {
  struct stat there{};
  const bool ours = !previous_.path.empty() && ::lstat(previous_.path.c_str(), &there) == 0 &&
                    there.st_dev == previous_.device && there.st_ino == previous_.number &&
                    there.st_mtim.tv_sec == previous_.changed.tv_sec &&
                    there.st_mtim.tv_nsec == previous_.changed.tv_nsec;
  if (keep) {
    if (ours) GFXGRAPH_TRY(move_to_kept(previous_.path));
    previous_ = {};
    return move_to_kept(output_);
  }
  std::string to = ours ? previous_.path : previous_segment(output_);
  if (ours || (previous_.path.empty() && replace_)) {
    GFXGRAPH_TRY(rename_file(output_, to));
  } else {
    for (unsigned number = 2;; ++number) {
      GFXGRAPH_ASSIGN_OR_RETURN(const bool moved, rename_to_free_name(output_, to));
      if (moved) break;
      if (number == kMostNames) {
        return fail(Status::kIo, fmt::format("{}: no free name for its segments", output_));
      }
      to = beside(output_, fmt::format("previous-{}", number));
    }
  }
  if (to != previous_.path) note(to);
  previous_.path = std::move(to);
  if (::lstat(previous_.path.c_str(), &there) == 0) {
    previous_.device = there.st_dev;
    previous_.number = there.st_ino;
    previous_.changed = there.st_mtim;
  }
  return {};
}

std::vector<std::string> read_segment_list(const std::string& list) {
  std::vector<std::string> paths;
  std::ifstream file(list);
  for (std::string line; std::getline(file, line);) {
    std::erase(paths, line);  // an earlier one of this name is gone
    if (path_exists(line)) paths.push_back(line);
  }
  return paths;
}

}  // namespace gfxgraph::recorder
