// The names of what a trace holds (names.inc). `key`: in JSON and tables. `words`: in messages.
#pragma once

#include <type_traits>
#include <variant>

#include "format/trace.h"

namespace gfxgraph::format {

struct Name {
  const char* key = "unknown";
  const char* words = "unknown";
};

// Of an action, also of a graph's node: std::monostate is an empty one.
template <typename Action>
constexpr Name name_of_action() noexcept {
  if constexpr (std::is_same_v<Action, std::monostate>) return {"empty", "empty"};
#define GFXGRAPH_ACTION_NAME(type, key, words) \
  if constexpr (std::is_same_v<Action, type>) return {key, words};
#include "format/names.inc"
#undef GFXGRAPH_ACTION_NAME
}
template <typename... Actions>
constexpr Name name_of(const std::variant<Actions...>& action) noexcept {
  constexpr Name kNames[] = {name_of_action<Actions>()...};
  return action.valueless_by_exception() ? Name{} : kNames[action.index()];
}

// Of a value of an enumeration of trace.h.
template <typename Value>
  requires std::is_enum_v<Value>
constexpr Name name_of(Value value) noexcept {
#define GFXGRAPH_VALUE_NAME(type, name, key, words) \
  if constexpr (std::is_same_v<Value, type>)        \
    if (value == type::name) return {key, words};
#include "format/names.inc"
#undef GFXGRAPH_VALUE_NAME
  return {};
}

}  // namespace gfxgraph::format
