// Which functions of HSA, below HIP, give work to the device.
#pragma once

#include <algorithm>
#include <string_view>

namespace gfxgraph::recorder {

// By parts of their names: later versions of HSA add such functions under similar names. Allocates
// nothing; any thread.
inline bool gives_hsa_work(std::string_view name) noexcept {
  // Also those that make a queue.
  constexpr std::string_view kWork[] = {"queue_create", "queue_acquire", "queue_intercept_create",
                                        "memory_copy",  "async_copy",    "batch_copy",
                                        "memory_fill",  "sdma",          "image_copy",
                                        "image_import", "image_export",  "image_clear",
                                        "svm_discard"};
  constexpr std::string_view kOnlyAsks[] = {"_get_",     "_status",  "_info",
                                            "profiling", "_destroy", "_release"};
  const auto holds = [&](std::string_view part) { return name.find(part) != name.npos; };
  return name.starts_with("hsa_") && std::ranges::any_of(kWork, holds) &&
         std::ranges::none_of(kOnlyAsks, holds);
}

}  // namespace gfxgraph::recorder
