#include "tools/result_file.h"

#include <array>
#include <cstddef>
#include <vector>

#include "base/file/file.h"

namespace gfxgraph::tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kMostResultBytes = UINT64_C(256) << 20;

}  // namespace

Result<nlohmann::ordered_json> read_result(const std::string& path) {
  GFXGRAPH_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes, read_file(path, kMostResultBytes));
  // Results of gfxgraph are never deeper; a deeper one would exhaust the stack when it is written.
  constexpr int kMostDepth = 32;
  bool too_deep = false;
  const char* const text = reinterpret_cast<const char*>(bytes.data());
  Json result = Json::parse(
      text, text + bytes.size(),
      [&](int depth, Json::parse_event_t /*event*/, Json& /*parsed*/) {
        too_deep = too_deep || depth > kMostDepth;
        return !too_deep;
      },
      /*allow_exceptions=*/false);
  if (too_deep || result.is_discarded() || !result.is_object()) return Json();
  return result;
}

bool looks_like_result(const std::string& path) {
  const Result<File> file = File::open_read(path);
  std::array<std::byte, 1> first = {};
  return file && file->read_at(0, first) && first[0] == std::byte{'{'};
}

}  // namespace gfxgraph::tools
