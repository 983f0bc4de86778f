// Looks at a whole trace and lists all that is wrong with it, where the reader stops at the first.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace gfxgraph::format {

struct Problem {
  uint64_t offset = 0;  // byte in the file where the record (or the damage) stands
  Status status = Status::kCorrupt;
  std::string message;  // names the record
};

struct VerifyReport {
  uint64_t file_bytes = 0;
  uint64_t records = 0;  // whole ones
  uint64_t blobs = 0;    // of these: blobs whose bytes were decompressed and compared with their id
  bool sealed = false;
  std::vector<Problem> problems;  // empty: every byte is what a recorder wrote, and makes sense
  bool problems_cut = false;      // there are more than kMaxProblems
  static constexpr size_t kMaxProblems = 1000;
};

// Structure, every hash, every blob's bytes, and meaning up to the first record that is damaged or
// makes no sense (what follows refers to it). Error only when the file cannot be read.
Result<VerifyReport> verify(const std::filesystem::path& path);
Result<VerifyReport> verify_bytes(std::span<const std::byte> bytes);

}  // namespace gfxgraph::format
