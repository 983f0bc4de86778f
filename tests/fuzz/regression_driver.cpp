// Runs a fuzz target over stored inputs without a fuzzing engine, so that every test run repeats
// every input that once mattered. Each input also runs cut short and with single bytes changed,
// which costs little and keeps a small corpus useful. Usage: driver [--seeds N] [--seed S]
// FOLDER...: with --seeds also over the eight bytes of each number below N, with --seed over one.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

namespace fs = std::filesystem;

constexpr int kVariants = 60;

// An own heap block per run: the address sanitizer then sees the first byte behind the input.
void run(const std::vector<uint8_t>& input) {
  const std::vector<uint8_t> exact(input);
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

void run_variants(const std::vector<uint8_t>& input) {
  run(input);
  if (input.empty()) return;
  std::mt19937 random(static_cast<uint32_t>(input.size()));
  for (int i = 0; i < kVariants; ++i) {
    std::vector<uint8_t> variant(input);
    if (i % 2 == 0) {
      variant.resize(random() % variant.size());
    } else {
      variant[random() % variant.size()] = static_cast<uint8_t>(random());
    }
    run(variant);
  }
}

void run_seed(uint64_t seed) {
  std::vector<uint8_t> input(sizeof(seed));
  std::memcpy(input.data(), &seed, sizeof(seed));
  run(input);
}

}  // namespace

int main(int argc, char** argv) {
  size_t inputs = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if ((argument == "--seeds" || argument == "--seed") && i + 1 < argc) {
      const uint64_t number = std::stoull(argv[++i]);
      for (uint64_t seed = argument == "--seed" ? number : 0;
           seed < number + (argument == "--seed" ? 1 : 0); ++seed, ++inputs) {
        run_seed(seed);
      }
      continue;
    }
    std::vector<fs::path> files;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(argv[i])) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    for (const fs::path& path : files) {
      std::ifstream file(path, std::ios::binary);
      run_variants({std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()});
      ++inputs;
    }
  }
  std::printf("%zu inputs\n", inputs);
  return inputs == 0 ? 1 : 0;
}
