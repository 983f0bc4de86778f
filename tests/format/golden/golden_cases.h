// The files in tests/golden/: how they are made. The same code makes the corpus of the fuzzer.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace gfxgraph::format {

struct GoldenCase {
  std::string name;
  std::vector<std::byte> bytes;
  bool torn = false;        // readable with allow_torn only
  bool compressed = false;  // the bytes depend on the version of zstd
};

// <name>.gfxg with <name>.json, what a reader sees in it.
std::vector<GoldenCase> golden_cases();
// Damaged ones, which no reader takes.
std::vector<GoldenCase> bad_cases();
// bad.txt: a line for each, with its name and first_error().
std::string bad_messages();

// "" when everything can be read, else the first error as "<status>: <message>".
std::string first_error(std::span<const std::byte> bytes);

std::filesystem::path golden_folder();

}  // namespace gfxgraph::format
