#include "tools/trace/work_text.h"

#include <fmt/format.h>

#include <type_traits>
#include <variant>

namespace gfxgraph::tools {

std::string work_text(EventJson& events, const format::Launch& launch) {
  return fmt::format("{} {}x{}x{}", events.kernel_name(launch.kernel), launch.grid[0],
                     launch.grid[1], launch.grid[2]);
}

std::string work_text(EventJson& /*events*/, const format::Copy& copy) {
  const auto end = [](const format::CopyEnd& one) {
    return one.allocation == 0 ? std::string("host") : fmt::format("#{}", one.allocation);
  };
  return fmt::format("copy {} -> {} ({} bytes)", end(copy.source), end(copy.destination),
                     copy.width_bytes * copy.height * copy.depth);
}

std::string work_text(EventJson& /*events*/, const format::Memset& set) {
  return fmt::format("memset #{}", set.allocation);
}

std::string work_text(EventJson& /*events*/, const format::HostFunction& function) {
  return "host function " + function.call;
}

std::string node_text(EventJson& events, const format::GraphNode& node) {
  return std::visit(
      [&]<typename T>(const T& work) -> std::string {
        if constexpr (std::is_same_v<T, std::monostate>) {
          return "empty";
        } else {
          return work_text(events, work);
        }
      },
      node.action);
}

}  // namespace gfxgraph::tools
