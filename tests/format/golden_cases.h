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
// bad/<name>.gfxg with bad/<name>.txt, the error: of opening it or of reading its blobs.
std::vector<GoldenCase> bad_cases();

// "" when everything can be read, else the first error as "<status>: <message>".
std::string first_error(std::span<const std::byte> bytes);

std::filesystem::path golden_folder();

}  // namespace gfxgraph::format
