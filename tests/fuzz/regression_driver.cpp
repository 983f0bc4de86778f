// Runs a fuzz target over stored inputs without a fuzzing engine, so that every test run repeats
// every input that once mattered. Each input also runs cut short and with single bytes changed,
// which costs little and keeps a small corpus useful. Usage: driver FOLDER...
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
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

}  // namespace

int main(int argc, char** argv) {
  size_t inputs = 0;
  for (int i = 1; i < argc; ++i) {
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
