// The objects that tests/codeobj/CMakeLists.txt compiles, and ways to damage them.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codeobj/code_object.h"

namespace gfxgraph::codeobj {

using Bytes = std::vector<std::byte>;

// Empty when the compiler that makes it is not installed.
inline Bytes read_object(const std::string& name) {
  std::ifstream file(std::filesystem::path(CODEOBJ_TEST_OBJECTS) / name, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const std::span<const std::byte> bytes = std::as_bytes(std::span(text));
  return Bytes(bytes.begin(), bytes.end());
}

#define GFXGRAPH_OBJECT_OR_SKIP(variable, name) \
  const Bytes variable = read_object(name);     \
  if (variable.empty()) GTEST_SKIP() << "not compiled: " << name

using ObjectPtr = std::shared_ptr<const CodeObject>;

inline std::string error_of(const Result<ObjectPtr>& result) {
  return result ? "no error" : result.error().message;
}

inline const Symbol* find_symbol(const CodeObject& object, std::string_view name) {
  for (const Symbol& symbol : object.symbols()) {
    if (symbol.name == name) return &symbol;
  }
  return nullptr;
}

inline Bytes device_elf(const Bytes& bundle) {
  Result<std::vector<BundleEntry>> entries = extract_device_elves(bundle);
  return entries && !entries->empty() ? entries->front().bytes : Bytes();
}

// Offset of the first byte after the n-th occurrence of `text`; 0 when there is none.
inline size_t after(const Bytes& bytes, std::string_view text, size_t occurrence = 0) {
  const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  size_t at = all.find(text);
  while (at != std::string_view::npos && occurrence-- > 0) at = all.find(text, at + 1);
  return at == std::string_view::npos ? 0 : at + text.size();
}

template <typename T>
T read_at(const Bytes& bytes, size_t offset) {
  T value{};
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

template <typename T>
void write_at(Bytes& bytes, size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

}  // namespace gfxgraph::codeobj
