// random_program SEED: performs one random legal HIP program and compares memory with a model on
// the host. Exit code 0: equal, 1: the first difference is printed, 2: usage.
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>

#include "program.h"

namespace random_programs {
namespace {

struct FeatureRow {
  const char* name;
  bool on;
  const char* help;
};
constexpr FeatureRow kFeatures[] = {
#define RANDOM_FEATURE(name, on, help) {#name, on, help},
#include "features.inc"
#undef RANDOM_FEATURE
};

int usage() {
  std::printf(
      "random_program SEED [--size ACTIONS] [--to SEED] [--drop 3,7,9.1] [--list] [--code FILE]\n"
      "               [--features all|none|default,+NAME,-NAME]\n"
      "               [--names] [--ends] [--dump FOLDER] [--steps ITERATIONS [--fresh]]\n"
      "--to: one program after another in this process. --list: the program in words, without "
      "HIP.\n"
      "--names: memory of the device is named. --ends: with the range \"cut\". --dump: what memory "
      "holds then.\n"
      "--steps: a step again and again; --fresh: the last time with other inputs and numbers.\n");
  for (const FeatureRow& row : kFeatures)
    std::printf("  %-18s %-3s %s\n", row.name, row.on ? "on" : "off", row.help);
  return 2;
}

std::set<std::string> words(const std::string& list) {
  std::set<std::string> found;
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    if (end > begin) found.insert(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return found;
}

uint64_t default_features() {
  uint64_t bits = 0;
  for (size_t i = 0; i < std::size(kFeatures); ++i)
    bits |= static_cast<uint64_t>(kFeatures[i].on) << i;
  return bits;
}

bool choose(const std::string& list, uint64_t& features) {
  for (size_t begin = 0; begin < list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    const std::string word = list.substr(begin, end - begin);
    begin = end + 1;
    if (word == "all")
      features = ~0ull;
    else if (word == "none")
      features = 0;
    else if (word == "default")
      features = default_features();
    else {
      uint64_t bit = 0;
      for (size_t i = 0; i < std::size(kFeatures); ++i) {
        if (word.size() > 1 && word.substr(1) == kFeatures[i].name) bit = 1ull << i;
      }
      if (bit == 0 || (word[0] != '+' && word[0] != '-')) return false;
      features = word[0] == '+' ? features | bit : features & ~bit;
    }
  }
  return true;
}

bool has(const Options& options, Feature feature) {
  return (options.features >> static_cast<int>(feature) & 1) != 0;
}

// The program that follows a reset begins with nothing, like the one before it.
uint64_t run_after_reset(Options options) {
  if (!options.list) check(hipDeviceReset(), "hipDeviceReset");
  options.seed += 1ull << 32;
  // HIP 5 goes on with the stream that the reset has freed (kThreadKeepsFreedStream).
  options.features &= ~(decltype(options.features){1} << static_cast<int>(Feature::per_thread));
  return Program(options).run();
}

int perform(const Options& options) {
  Program program(options);
  try {
    uint64_t hash = options.steps > 0 ? program.run_steps() : program.run();
    if (has(options, Feature::resets)) hash = mix64(hash) ^ run_after_reset(options);
    std::printf("seed %llu: ok %016llx\n", static_cast<unsigned long long>(options.seed),
                static_cast<unsigned long long>(hash));
    std::fflush(stdout);
    return 0;
  } catch (const std::exception& error) {
    std::printf("seed %llu: wrong: %s\n", static_cast<unsigned long long>(options.seed),
                error.what());
    if (!options.list && !program.lines().empty())
      std::printf("  after: %s\n", program.lines().back().c_str());
    std::fflush(stdout);
    return 1;
  }
}

int run(int argc, char** argv) {
  Options options;
  options.features = default_features();
  options.code_object = std::string(argv[0]) + "_kernels.co";
  if (argc < 2) return usage();
  char* end = nullptr;
  options.seed = std::strtoull(argv[1], &end, 10);
  uint64_t last = options.seed;
  if (end == argv[1] || *end != '\0') return usage();
  for (int i = 2; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--list") {
      options.list = true;
      continue;
    }
    if (word == "--fresh") {
      options.fresh = true;
      continue;
    }
    if (word == "--names") {
      options.names = true;
      continue;
    }
    if (word == "--ends") {
      options.ends = true;
      continue;
    }
    if (i + 1 == argc) return usage();
    const std::string value = argv[++i];
    if (word == "--size")
      options.size = std::atoi(value.c_str());
    else if (word == "--steps")
      options.steps = std::atoi(value.c_str());
    else if (word == "--dump")
      options.dump = value;
    else if (word == "--to")
      last = std::strtoull(value.c_str(), nullptr, 10);
    else if (word == "--drop")
      options.drop = words(value);
    else if (word == "--code")
      options.code_object = value;
    else if (word != "--features" || !choose(value, options.features))
      return usage();
  }
  // Before HIP's first call, unless the environment has it.
  if (has(options, Feature::devices))
    setenv("GFXGRAPH_DEVICES", std::to_string(kMostDevices).c_str(), 0);
  int result = 0;
  for (; options.seed <= last && result == 0; ++options.seed) result = perform(options);
  return result;
}

}  // namespace
}  // namespace random_programs

int main(int argc, char** argv) { return random_programs::run(argc, argv); }
