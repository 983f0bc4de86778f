#include "format/site_name.h"

#include <fmt/format.h>

#include <string_view>

namespace gfxgraph::format {

std::string site_name(const Site& site) {
  const std::string_view path = site.module;
  const std::string_view module = path.substr(path.rfind('/') + 1);
  if (site.line != 0) return fmt::format("{}:{}", module, site.line);
  if (!site.symbol_unique) return fmt::format("{}+{:#x}", module, site.offset_bytes);
  return fmt::format("{}{}{}+{:#x}", site.program ? "" : module, site.program ? "" : ":",
                     site.symbol, site.symbol_offset_bytes);
}

std::string caller_name(const std::vector<Site>& sites, const Site& site) {
  if (site.caller == 0 || site.caller > sites.size()) return {};
  return site_name(sites[site.caller - 1]);
}

std::string made_name(const std::vector<Site>& sites, const AllocationBegin& begin) {
  if (begin.site == 0 || begin.site > sites.size()) return {};
  return fmt::format("{}#{}", site_name(sites[begin.site - 1]), begin.site_ordinal);
}

}  // namespace gfxgraph::format
