// The device ELF of tests/hsa/code, compiled by hipcc at build time.
#pragma once

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "codeobj/code_object.h"

namespace gfxgraph::hsa_test {

inline std::vector<std::byte> any_elf(const std::string& name) {
  std::ifstream file(std::string(GFXGRAPH_HSA_TEST_CODE) + "/" + name, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file),
                                std::istreambuf_iterator<char>()};
  const auto all = std::as_bytes(std::span(bytes));
  return {all.begin(), all.end()};
}

// The best for the agent's GPU.
inline std::vector<std::byte> device_elf(const std::string& name) {
  const std::vector<std::byte> bytes = any_elf(name);
  const auto entries = codeobj::extract_device_elves(bytes);
  if (!entries) return {};
  const codeobj::BundleEntry* const entry = codeobj::select_entry(*entries, "gfx1030");
  return entry == nullptr ? std::vector<std::byte>() : entry->bytes;
}

}  // namespace gfxgraph::hsa_test
