#include "recorder/sites/site_table.h"

#include <algorithm>
#include <iterator>

#include "base/demangle.h"
#include "codeobj/host_program.h"
#include "recorder/program_memory.h"

namespace gfxgraph::recorder {
namespace {

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

// A library that is loaded again is the same one, even at another address.
format::SiteId SiteTable::number(const Module& module, uint64_t offset_bytes, std::string function,
                                 format::SiteId caller) {
  size_t index = 0;
  while (index < modules_.size() &&
         (modules_[index].path != module.path || modules_[index].build_id != module.build_id ||
          modules_[index].source != module.source)) {
    ++index;
  }
  if (index == modules_.size()) modules_.push_back(module);
  const auto [found, added] = ids_.try_emplace({index, offset_bytes, caller}, 0);
  if (!added) return found->second;
  const auto id = static_cast<format::SiteId>(places_.size() + 1);
  const auto is_same = [&](auto near) {
    return near != ids_.end() && near != found && std::get<0>(near->first) == index &&
           std::get<1>(near->first) == offset_bytes;
  };
  format::SiteId line = id;
  if (is_same(std::next(found))) {
    line = line_of(std::next(found)->second);
  } else if (found != ids_.begin() && is_same(std::prev(found))) {
    line = line_of(std::prev(found)->second);
  }
  places_.push_back({index, offset_bytes, std::move(function), caller, line});
  return found->second = id;
}

SiteTable::Added SiteTable::take_added() {
  if (taken_ == places_.size()) return {};
  const size_t first = std::exchange(taken_, places_.size());
  return {modules_, {places_.begin() + static_cast<ptrdiff_t>(first), places_.end()}, first};
}

std::vector<format::Site> SiteTable::Added::described(bool redact) const {
  std::vector<format::Site> sites(places.size());
  for (size_t i = 0; i < modules.size(); ++i) {
    std::vector<size_t> here;
    std::vector<uint64_t> calls;  // the last byte of the call
    for (size_t n = 0; n < places.size(); ++n) {
      if (places[n].module != i) continue;
      here.push_back(n);
      calls.push_back(places[n].offset_bytes - 1);
    }
    if (here.empty()) continue;
    if (modules[i].source) {
      for (const size_t n : here) {
        format::Site& site = sites[n];
        site.id = static_cast<format::SiteId>(first + n + 1);
        site.module = redact ? base_name(modules[i].path) : modules[i].path;
        site.symbol = cut_name(places[n].function.c_str());
        site.offset_bytes = places[n].offset_bytes;
        site.line = static_cast<uint32_t>(places[n].offset_bytes);
        site.caller = places[n].caller;
      }
      continue;
    }
    std::string identity = modules[i].build_id;
    std::vector<codeobj::HostFunction> functions(calls.size());
    if (const auto file = codeobj::HostProgram::open(modules[i].path)) {
      const std::string there = (*file)->identity();
      // Another file may have taken its name meanwhile.
      if (identity.empty() || identity == there) functions = (*file)->functions_at(calls);
      if (identity.empty()) identity = there;
    }
    for (size_t n = 0; n < here.size(); ++n) {
      format::Site& site = sites[here[n]];
      site.id = static_cast<format::SiteId>(first + here[n] + 1);
      site.module = redact ? base_name(modules[i].path) : modules[i].path;
      site.build_id = identity;
      site.offset_bytes = places[here[n]].offset_bytes;
      site.program = modules[i].program;
      const codeobj::HostFunction& function = functions[n];
      if (function.symbol.empty()) continue;
      const std::string readable = demangle_trusted(function.symbol);
      site.symbol = cut_name(readable.c_str());
      site.symbol_offset_bytes = site.offset_bytes - function.address;
      site.symbol_unique = function.unique && readable.size() <= format::kMostNameBytes;
    }
  }
  return sites;
}

}  // namespace gfxgraph::recorder
