// Human-readable names of places.
#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "base/demangle.h"
#include "format/ranges/range_parameters.h"

namespace gfxgraph::ranges {
namespace {

constexpr size_t kMostName = 200;  // for kernels and arguments: names may have megabytes

std::string clipped(std::string name) {
  if (name.size() > kMostName) name = name.substr(0, kMostName) + "...";
  return name;
}

}  // namespace

const char* place_kind_name(PlaceKind kind) {
  static constexpr std::array kNames = {"argument",
                                        "grid x",
                                        "grid y",
                                        "grid z",
                                        "remainder x",
                                        "remainder y",
                                        "remainder z",
                                        "block x",
                                        "block y",
                                        "block z",
                                        "dynamic LDS",
                                        "source",
                                        "destination",
                                        "width",
                                        "height",
                                        "depth",
                                        "source pitch",
                                        "source slice",
                                        "destination pitch",
                                        "destination slice",
                                        "value"};
  const auto index = static_cast<size_t>(kind);
  return index < kNames.size() ? kNames[index] : "unknown";
}

std::string place_text(const format::Trace& trace, const Place& place) {
  if (place.kernel == 0) {
    return fmt::format("{} {}", place.memset ? "memset" : "copy", place_kind_name(place.kind));
  }
  const bool known = place.kernel <= trace.kernels().size();
  const std::string kernel =
      known ? short_function_name(demangle(trace.kernels()[place.kernel - 1].name), kMostName)
            : fmt::format("kernel {}", place.kernel);
  if (place.kind != PlaceKind::kArgument) {
    return fmt::format("{} {}", kernel, place_kind_name(place.kind));
  }
  if (place.argument == kNone || !known) {
    return fmt::format("{} kernarg at {:#x}", kernel, place.offset_bytes);
  }
  const format::Argument& argument = trace.kernels()[place.kernel - 1].arguments[place.argument];
  const std::string name = argument.name.empty() ? std::to_string(place.argument)
                                                 : fmt::format("'{}'", clipped(argument.name));
  // A part of a struct passed by value has only an offset, no name.
  const uint32_t inside = place.offset_bytes - argument.offset_bytes;
  if (place.size_bytes != argument.size_bytes) {
    return fmt::format("{} argument {} at {:#x} + {} bytes", kernel, name, argument.offset_bytes,
                       inside);
  }
  return fmt::format("{} argument {} at {:#x}", kernel, name, argument.offset_bytes);
}

}  // namespace gfxgraph::ranges
