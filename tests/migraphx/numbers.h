// What the programs of this folder share: an input for each seed, and files.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

inline void must(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "failed: %s\n", what);
  std::exit(1);
}

inline std::vector<float> numbers_of(unsigned seed, size_t count) {
  std::mt19937 engine(seed);
  std::vector<float> numbers(count);
  for (float& number : numbers) number = static_cast<float>(engine() >> 8) / (1 << 23) - 1;
  return numbers;
}

inline void write_file(const char* name, const std::vector<char>& bytes) {
  std::ofstream file(name, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  must(file.good(), name);
}

inline std::vector<char> read_file(const char* name) {
  std::ifstream file(name, std::ios::binary);
  std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  must(!bytes.empty(), name);
  return bytes;
}
