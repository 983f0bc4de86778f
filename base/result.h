// Errors as values. Every fallible function of gfxgraph returns Result<T>; nothing throws across a
// module's boundary. The numeric values of Status are those of gfxgraph_status_t in the C ABI
// (include/gfxgraph/gfxgraph.h) and never change.
#pragma once

#include <cstdint>
#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace gfxgraph {

enum class Status : int32_t {
  kOk = 0,
  kInvalidArgument = 1,
  kNotFound = 2,
  kUnsupported = 3,
  kCorrupt = 4,    // bytes are there but wrong: bad hash, bad structure
  kTruncated = 5,  // bytes are missing
  kVersion = 6,    // made by a newer gfxgraph
  kIo = 7,
  kOutOfMemory = 8,
  kDevice = 9,     // HIP, HSA or the emulator reported an error
  kMismatch = 10,  // a verification found a difference
  kUnsafeLane = 11,
  kInternal = 12,    // a bug of gfxgraph
  kIncomplete = 13,  // the trace lacks calls that changed device state
  kNotReady = 14,    // work is still in flight; not a failure
};

// "corrupt", "truncated", ...: a stable word for messages and JSON.
const char* status_name(Status status) noexcept;

// The message states the object and location (record, byte offset, kernel, launch), the problem,
// and the next step. Lower case, no full stop.
struct Error {
  Status status = Status::kInternal;
  std::string message;
  int32_t hip_error = 0;  // the hipError_t behind it; 0: it did not come from HIP
};

template <typename T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using tl::expected<T, Error>::expected;
};

inline tl::unexpected<Error> fail(Status status, std::string message) {
  return tl::unexpected<Error>(Error{status, std::move(message)});
}

// Prefixes the message with `context` and ": ": the place where a lower layer's error surfaced.
inline tl::unexpected<Error> with_context(Error error, const std::string& context) {
  error.message = context + ": " + error.message;
  return tl::unexpected<Error>(std::move(error));
}

}  // namespace gfxgraph

// Returns the error of a Result<...> expression from the enclosing function.
#define GFXGRAPH_TRY(expression)                                                        \
  do {                                                                                  \
    auto gfxgraph_try_result = (expression);                                            \
    if (!gfxgraph_try_result)                                                           \
      return tl::unexpected<::gfxgraph::Error>(std::move(gfxgraph_try_result).error()); \
  } while (false)

#define GFXGRAPH_CONCAT_INNER(a, b) a##b
#define GFXGRAPH_CONCAT(a, b) GFXGRAPH_CONCAT_INNER(a, b)

// GFXGRAPH_ASSIGN_OR_RETURN(const Foo foo, make_foo());
#define GFXGRAPH_ASSIGN_OR_RETURN(declaration, expression)                                 \
  GFXGRAPH_ASSIGN_OR_RETURN_IMPL(GFXGRAPH_CONCAT(gfxgraph_result_, __LINE__), declaration, \
                                 expression)
#define GFXGRAPH_ASSIGN_OR_RETURN_IMPL(temporary, declaration, expression)                \
  auto temporary = (expression);                                                          \
  if (!temporary) return tl::unexpected<::gfxgraph::Error>(std::move(temporary).error()); \
  declaration = std::move(*temporary)

// An invariant of gfxgraph itself, checked in release too. Input is never checked this way.
#define GFXGRAPH_CHECK(condition)                               \
  do {                                                          \
    if (!(condition)) [[unlikely]]                              \
      ::gfxgraph::check_failed(#condition, __FILE__, __LINE__); \
  } while (false)

namespace gfxgraph {
[[noreturn]] void check_failed(const char* condition, const char* file, int line) noexcept;
}  // namespace gfxgraph
