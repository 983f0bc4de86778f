// Values as JSON that lose nothing: a struct is the array of its members, in the order of its
// members() function. Only for files that the same version of gfxgraph reads.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace gfxgraph::check::stored {

using Json = nlohmann::ordered_json;

// JSON has only UTF-8, and names of a trace may be any bytes: each byte becomes the code point of
// its number.
Json save(const std::string& text);
bool load(const Json& json, std::string& text);

inline Json save(bool value) { return value; }
inline bool load(const Json& json, bool& value) {
  if (!json.is_boolean()) return false;
  value = json.get<bool>();
  return true;
}

template <typename T>
concept Number = std::integral<T> && !std::same_as<T, bool>;

template <Number T>
Json save(T value) {
  return value;
}
template <Number T>
bool load(const Json& json, T& value) {
  if constexpr (std::is_signed_v<T>) {
    static_assert(sizeof(T) == sizeof(int64_t));
    // An unsigned number counts as an integer, too.
    if (!json.is_number_integer() ||
        (json.is_number_unsigned() && json.get<uint64_t>() > INT64_MAX))
      return false;
  } else {
    if (!json.is_number_unsigned() || json.get<uint64_t>() > std::numeric_limits<T>::max())
      return false;
  }
  value = json.get<T>();
  return true;
}

// limit_of(T) is found beside T: one more than its greatest value.
template <typename T>
  requires std::is_enum_v<T>
Json save(T value) {
  return static_cast<uint64_t>(value);
}
template <typename T>
  requires std::is_enum_v<T>
bool load(const Json& json, T& value) {
  uint64_t number = 0;
  if (!load(json, number) || number >= limit_of(T())) return false;
  value = static_cast<T>(number);
  return true;
}

// A struct: members(value) is a tuple of references to all of them.
template <typename T>
concept Struct = requires(T& value) { members(value); };

template <Struct T>
Json save(const T& value);
template <Struct T>
bool load(const Json& json, T& value);
template <typename T>
Json save(const std::optional<T>& value);
template <typename T>
bool load(const Json& json, std::optional<T>& value);
template <typename T>
Json save(const std::vector<T>& values);
template <typename T>
bool load(const Json& json, std::vector<T>& values);
template <typename T, size_t kSize>
Json save(const std::array<T, kSize>& values);
template <typename T, size_t kSize>
bool load(const Json& json, std::array<T, kSize>& values);

template <Struct T>
Json save(const T& value) {
  // members() takes what load() may change.
  return std::apply(
      [](const auto&... member) {
        Json json = Json::array();
        (json.push_back(save(member)), ...);
        return json;
      },
      members(const_cast<T&>(value)));
}
template <Struct T>
bool load(const Json& json, T& value) {
  return std::apply(
      [&json](auto&... member) {
        if (!json.is_array() || json.size() != sizeof...(member)) return false;
        size_t at = 0;
        return (load(json[at++], member) && ...);
      },
      members(value));
}

template <typename T>
Json save(const std::optional<T>& value) {
  return value ? save(*value) : Json();
}
template <typename T>
bool load(const Json& json, std::optional<T>& value) {
  value.reset();
  return json.is_null() || load(json, value.emplace());
}

template <typename T>
Json save(const std::vector<T>& values) {
  Json json = Json::array();
  for (const T& value : values) json.push_back(save(value));
  return json;
}
template <typename T>
bool load(const Json& json, std::vector<T>& values) {
  if (!json.is_array()) return false;
  values.clear();
  for (const Json& one : json) {
    T value{};
    if (!load(one, value)) return false;
    values.push_back(std::move(value));
  }
  return true;
}

template <typename T, size_t kSize>
Json save(const std::array<T, kSize>& values) {
  Json json = Json::array();
  for (const T& value : values) json.push_back(save(value));
  return json;
}
template <typename T, size_t kSize>
bool load(const Json& json, std::array<T, kSize>& values) {
  if (!json.is_array() || json.size() != kSize) return false;
  size_t at = 0;
  for (T& value : values)
    if (!load(json[at++], value)) return false;
  return true;
}

}  // namespace gfxgraph::check::stored
