// Names of places for people.
#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "base/demangle.h"
#include "format/ranges/range_parameters.h"

namespace gfxgraph::ranges {
namespace {

constexpr size_t kMostName = 200;  // of a kernel or an argument: names may have megabytes

std::string clipped(std::string name) {
  if (name.size() > kMostName) name = name.substr(0, kMostName) + "...";
  return name;
}

// "gemv<true>" of "void (anonymous namespace)::gemv<true>(float const*, int)": a list of places is
// read by people, and the whole name stands in the table of kernels.
std::string short_name(std::string name) {
  if (!name.empty() && name.back() == ')') {
    int depth = 0;
    for (size_t i = name.size(); i-- > 0;) {
      depth += name[i] == ')' ? 1 : name[i] == '(' ? -1 : 0;
      if (depth != 0) continue;
      if (i != 0) name.resize(i);
      break;
    }
  }
  static constexpr std::string_view kAnonymous = "(anonymous namespace)::", kVoid = "void ";
  if (name.starts_with(kVoid)) name.erase(0, kVoid.size());
  for (size_t at = name.find(kAnonymous); at != std::string::npos; at = name.find(kAnonymous)) {
    name.erase(at, kAnonymous.size());
  }
  return clipped(std::move(name));
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
  const std::string kernel = known ? short_name(demangle(trace.kernels()[place.kernel - 1].name))
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
  // Of a struct passed by value, the part has no name but its place in it.
  const uint32_t inside = place.offset_bytes - argument.offset_bytes;
  if (place.size_bytes != argument.size_bytes) {
    return fmt::format("{} argument {} at {:#x} + {} bytes", kernel, name, argument.offset_bytes,
                       inside);
  }
  return fmt::format("{} argument {} at {:#x}", kernel, name, argument.offset_bytes);
}

}  // namespace gfxgraph::ranges
