// Whether two contents of a trace have the same bytes, without reading them.
#pragma once

#include <optional>

#include "format/trace.h"

namespace gfxgraph::ranges {

// Empty: the trace does not tell, for example for bytes that were neither stored nor hashed.
inline std::optional<bool> equal_bytes(const format::Content& one, const format::Content& other) {
  if (one.size_bytes != other.size_bytes) return false;
  const auto is_fill = [](const format::Content& content) {
    return content.stored && !content.blob;
  };
  if (is_fill(one) && is_fill(other)) return one.fill == other.fill;
  const auto hash = [](const format::Content& content) {
    return content.blob ? content.blob : content.hash;
  };
  if (!hash(one) || !hash(other)) return std::nullopt;
  return hash(one) == hash(other);
}

}  // namespace gfxgraph::ranges
