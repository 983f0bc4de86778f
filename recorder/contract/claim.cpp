#include "recorder/contract/claim.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string_view>

#include "base/process/own_process.h"
#include "recorder/contract/output_pattern.h"
#include "recorder/contract/segment_files.h"

namespace gfxgraph::recorder {
namespace {

constexpr unsigned kMostImages = 10'000;  // that would get one name
constexpr std::string_view kClaim = "claim";
constexpr size_t kFields = 5;  // of a claim, before the command line

bool descriptors_are_few() noexcept {
  constexpr rlim_t kFew = 32;
  struct rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < kFew;
}

std::string contents_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Each ends with a zero byte, which neither paths nor arguments hold.
std::vector<std::string> zero_ended(std::string_view text) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\0', begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

template <typename Number>
std::optional<Number> number(std::string_view text) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Not std::filesystem's iterator, which ends the process when memory runs out.
void for_each_name(const std::string& folder, const std::function<void(const std::string&)>& see) {
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(folder.c_str()), &::closedir);
  while (const dirent* entry = open ? ::readdir(open.get()) : nullptr) see(entry->d_name);
}

enum class Taken { kMine, kOthers, kNoFolder };

Taken make_claim(const Options& options, const ProcessIdentity& process, const Claim& claim) {
  const std::string path = fmt::format("{}/{}{}", options.status_folder, kClaim, claim.key);
  const int file = ::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  if (file < 0) return errno == EEXIST ? Taken::kOthers : Taken::kNoFolder;
  const uint64_t now =
      static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                std::chrono::system_clock::now().time_since_epoch())
                                .count());
  std::string text;
  const auto add = [&text](const std::string& field) { text.append(field).push_back('\0'); };
  add(std::to_string(process.pid));
  add(std::to_string(::getppid()));
  add(process.rank ? std::to_string(*process.rank) : "");
  add(std::to_string(now));
  add(claim.output);
  if (!options.redact) {
    for (const std::string& argument : own_command_line()) add(argument);
  }
  (void)!::write(file, text.data(), text.size());
  ::close(file);
  return Taken::kMine;
}

}  // namespace

Result<Claim> claim_recording(const Options& options) {
  const ProcessIdentity process{::getpid(), rank_from_environment()};
  Claim claim;
  bool told = !options.status_folder.empty();
  if (!options.per_process) {
    claim.output = options.output;
    const Taken taken = told ? make_claim(options, process, claim) : Taken::kNoFolder;
    if (taken == Taken::kOthers) return claim;
    claim.mine = true;
    told = taken == Taken::kMine;
  } else {
    const size_t slash = options.output.rfind('/') + 1;
    const std::string folder = options.output.substr(0, slash);
    GFXGRAPH_ASSIGN_OR_RETURN(const OutputPattern pattern,
                              OutputPattern::parse(std::string_view(options.output).substr(slash)));
    for (unsigned image = 1; !claim.mine; ++image) {
      if (image > kMostImages) {
        return fail(Status::kIo, fmt::format("{} and {} more names of this pattern are in use",
                                             folder + pattern.file_name(process), kMostImages - 1));
      }
      claim.output = folder + pattern.file_name(process, image);
      claim.key = pattern.key(process, image);
      // Without the folder, the traces of this recording are unknown.
      const bool replace = options.replace && told;
      if (!replace && (path_exists(claim.output) || path_exists(claim.output + ".partial")))
        continue;
      if (!replace && !options.flight_recorder.empty() &&
          path_exists(previous_segment(claim.output))) {
        continue;
      }
      const Taken taken = told ? make_claim(options, process, claim) : Taken::kNoFolder;
      if (taken == Taken::kOthers) continue;
      if (taken == Taken::kNoFolder && std::exchange(told, false) && options.replace) {
        image = 0;
        continue;
      }
      claim.mine = true;
    }
  }
  // Where the program may have few open files, the report is opened when it is written.
  if (told && !descriptors_are_few()) {
    GFXGRAPH_ASSIGN_OR_RETURN(claim.report,
                              File::open_guarded(options.status_folder + "/report" + claim.key));
  }
  return claim;
}

std::vector<ClaimRecord> read_claims(const std::string& status_folder) {
  std::vector<ClaimRecord> records;
  for_each_name(status_folder, [&](const std::string& name) {
    if (!name.starts_with(kClaim)) return;
    ClaimRecord record;
    record.key = name.substr(kClaim.size());
    const std::string text = contents_of(status_folder + "/" + name);
    const std::vector<std::string> fields = zero_ended(text);
    if (fields.size() >= kFields && text.ends_with('\0')) {
      record.pid = number<pid_t>(fields[0]).value_or(0);
      record.parent_pid = number<pid_t>(fields[1]).value_or(0);
      record.rank = number<uint64_t>(fields[2]);
      record.start_unix_ns = number<uint64_t>(fields[3]).value_or(0);
      record.output = fields[4];
      record.command_line.assign(fields.begin() + kFields, fields.end());
    }
    records.push_back(std::move(record));
  });
  std::ranges::sort(records, [](const ClaimRecord& a, const ClaimRecord& b) {
    return std::tie(a.start_unix_ns, a.key) < std::tie(b.start_unix_ns, b.key);
  });
  return records;
}

std::optional<Report> read_report(const std::string& status_folder, const std::string& key) {
  Report report = parse_report(contents_of(status_folder + "/report" + key));
  if (!report.whole) return std::nullopt;
  return report;
}

std::string denied_processes(const std::string& denied_file) {
  constexpr size_t kMost = 400;
  std::string text = contents_of(denied_file).substr(0, kMost);
  while (text.ends_with('\n')) text.pop_back();
  std::ranges::replace_if(text, [](unsigned char c) { return c < 0x20 || c >= 0x7f; }, ' ');
  return text;
}

std::vector<std::string> unrecorded_processes(const std::string& status_folder,
                                              const std::string& key) {
  std::vector<std::string> texts;
  if (status_folder.empty()) return texts;
  for_each_name(status_folder, [&](const std::string& name) {
    if (!name.starts_with("unrecorded" + key + ".")) return;
    std::string text = contents_of(status_folder + "/" + name);
    std::ranges::replace_if(text, [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
    texts.push_back(std::move(text));
  });
  std::ranges::sort(texts);
  return texts;
}

}  // namespace gfxgraph::recorder
