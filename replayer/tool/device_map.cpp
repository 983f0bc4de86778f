#include "replayer/tool/device_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <vector>

namespace gfxgraph::replayer {
namespace {

// All of `text` as a number; -1: it is none.
int number(std::string_view text) {
  int value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? value : -1;
}

tl::unexpected<Error> wrong(std::string_view text, std::string_view what) {
  return fail(Status::kInvalidArgument,
              fmt::format("--map {}: {}; for two devices, for example: --map 0:0,1:0", text, what));
}

}  // namespace

Result<int> parse_device_map(std::string_view text, size_t recorded) {
  std::vector<int> device_of(recorded, -1);
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view pair = text.substr(begin, end - begin);
    const size_t colon = std::min(pair.find(':'), pair.size());
    const int from = number(pair.substr(0, colon));
    const int to = colon == pair.size() ? -1 : number(pair.substr(colon + 1));
    if (from < 0 || to < 0) return wrong(text, fmt::format("'{}' is not RECORDED:DEVICE", pair));
    if (static_cast<size_t>(from) >= recorded) {
      return wrong(text, fmt::format("the trace has no device {}: its devices are 0 to {}", from,
                                     recorded - 1));
    }
    if (device_of[from] >= 0) return wrong(text, fmt::format("device {} stands twice", from));
    device_of[from] = to;
    begin = end + 1;
  }
  if (const auto missing = std::ranges::find(device_of, -1); missing != device_of.end()) {
    return wrong(text,
                 fmt::format("device {} of the trace is missing", missing - device_of.begin()));
  }
  if (std::ranges::any_of(device_of, [&](int device) { return device != device_of.front(); }))
    return wrong(text, "one device does the work of all: give each the same");
  return device_of.front();
}

}  // namespace gfxgraph::replayer
