// Checks a whole trace and lists all problems, whereas the reader stops at the first.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace gfxgraph::format {

struct Problem {
  uint64_t offset = 0;  // byte offset of the record (or the damage) in the file
  Status status = Status::kCorrupt;
  std::string message;  // names the record
};

struct VerifyReport {
  uint64_t file_bytes = 0;
  uint64_t records = 0;  // intact ones
  uint64_t blobs = 0;    // of these: blobs whose decompressed bytes match their id
  bool sealed = false;
  std::vector<Problem> problems;  // empty: the trace is intact and consistent
  bool problems_cut = false;      // there are more than kMaxProblems
  static constexpr size_t kMaxProblems = 1000;
};

// Checks the structure, every hash, every blob's bytes, and the meaning of all records up to the
// first that is damaged or inconsistent (later ones refer to it). Fails only if the file cannot be
// read.
Result<VerifyReport> verify(const std::filesystem::path& path);
Result<VerifyReport> verify_bytes(std::span<const std::byte> bytes);

}  // namespace gfxgraph::format
