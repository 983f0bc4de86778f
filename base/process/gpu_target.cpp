#include "base/process/gpu_target.h"

namespace gfxgraph {
namespace {

// Takes the next part off, without the ':' behind it.
std::string_view take_part(std::string_view& text) {
  const size_t end = text.find(':');
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return part;
}

bool has_feature(std::string_view features, std::string_view wanted) {
  while (!features.empty())
    if (take_part(features) == wanted) return true;
  return false;
}

}  // namespace

std::string_view generic_target(std::string_view processor) {
  if (processor.starts_with("gfx94") || processor == "gfx950") return "gfx9-4-generic";
  for (const std::string_view covered :
       {"gfx900", "gfx902", "gfx904", "gfx906", "gfx909", "gfx90c"})
    if (processor == covered) return "gfx9-generic";
  if (processor.size() != 7) return "";
  if (processor.starts_with("gfx103")) return "gfx10-3-generic";
  if (processor.starts_with("gfx101")) return "gfx10-1-generic";
  if (processor.starts_with("gfx11")) return "gfx11-generic";
  if (processor.starts_with("gfx120")) return "gfx12-generic";
  return "";
}

std::string_view short_target(std::string_view target) {
  const size_t at = target.rfind("-gfx");
  return at == std::string_view::npos ? target : target.substr(at + 1);
}

int code_suitability(std::string_view code_target, std::string_view gpu_target) {
  std::string_view code = short_target(code_target);
  std::string_view gpu = short_target(gpu_target);
  const std::string_view processor = take_part(code);
  const std::string_view present = take_part(gpu);
  int score = 0;
  if (processor == present) {
    score = 100;
  } else if (!processor.empty() && processor == generic_target(present)) {
    score = 1;
  } else {
    return 0;
  }
  while (!code.empty()) {
    if (!has_feature(gpu, take_part(code))) return 0;
    ++score;
  }
  return score;
}

}  // namespace gfxgraph
