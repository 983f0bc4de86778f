// How an internal error leaves the recorder's own code: as an exception, which Guard catches at the
// edge of every method that a hook calls. None passes it.
#pragma once

#include <utility>

#include "base/result.h"

namespace gfxgraph::recorder {

struct RecordingError {
  Error error;
};

template <typename T>
T check(Result<T> result) {
  if (!result) throw RecordingError{std::move(result).error()};
  return std::move(*result);
}

inline void check(Result<void> result) {
  if (!result) throw RecordingError{std::move(result).error()};
}

}  // namespace gfxgraph::recorder
