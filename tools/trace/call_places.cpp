#include "tools/trace/call_places.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "format/site_name.h"

namespace gfxgraph::tools {

// A relative path is a redacted one: what has that name here may be anything.
const codeobj::HostProgram* CallPlaces::open(const format::Site& site) {
  const auto [known, added] = programs_.try_emplace(site.module + '\0' + site.build_id);
  if (!added) return known->second.get();
  const std::filesystem::path path = site.module;
  std::error_code error;
  if (!path.is_absolute() || site.build_id.empty() ||
      !std::filesystem::is_regular_file(path, error) ||
      std::filesystem::file_size(path, error) > most_file_bytes_) {
    return nullptr;
  }
  const auto program = codeobj::HostProgram::open(path);
  if (program && (*program)->identity() == site.build_id) known->second = *program;
  return known->second.get();
}

const CallPlace& CallPlaces::find(format::SiteId id) {
  const auto [found, added] = places_.try_emplace(id);
  CallPlace& place = found->second;
  if (!added || id == 0 || id > trace_.sites().size()) return place;
  const format::Site& site = trace_.sites()[id - 1];
  place.name = format::site_name(site);
  place.module = site.module;
  place.offset = site.offset_bytes;
  place.symbol = site.symbol;
  place.caller = format::caller_name(trace_.sites(), site);
  if (site.line != 0) {
    place.file = site.module;
    place.line = site.line;
    return place;
  }
  const codeobj::HostProgram* const program = open(site);
  // The call stands before the address to which it returns.
  if (program == nullptr || site.offset_bytes == 0) return place;
  if (auto line = program->source_location(site.offset_bytes - 1)) {
    place.file = std::move(line->file);
    place.line = line->line;
  }
  return place;
}

std::string CallPlaces::text(format::SiteId site) {
  const CallPlace& place = find(site);
  if (place.file.empty()) return place.name;
  const std::string from = place.caller.empty() ? "" : ", from " + place.caller;
  const bool interpreted = trace_.sites()[site - 1].line != 0;
  if (interpreted && place.symbol.empty()) return place.name + from;
  return fmt::format("{} ({}:{}){}", interpreted ? place.symbol : place.name,
                     std::filesystem::path(place.file).filename().string(), place.line, from);
}

}  // namespace gfxgraph::tools
