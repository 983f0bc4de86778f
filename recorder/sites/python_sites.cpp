#include "recorder/sites/python_sites.h"

#include <optional>

namespace gfxgraph::recorder {

void PythonSites::add_caller(const void* address, const SiteTable::Module& module,
                             uint64_t offset_bytes) {
  callers_.try_emplace(address, module, offset_bytes);
}

// Memory of code that is gone is used for other code: its file's name tells them apart.
format::SiteId PythonSites::at(const void* address, format::SiteId caller) {
  const PythonCode::Reading reading;
  const auto place = code_.here(reading);
  if (!place) return caller != 0 ? caller : without_line(address);
  const Key key{place->instruction, caller};
  const auto found = lines_.find(key);
  if (found != lines_.end() && found->second.place == *place &&
      code_.same_file(reading, *place, found->second.file)) {
    return found->second.id;
  }
  if (found == lines_.end() && lines_.size() >= kMost) return 0;
  auto line = code_.line(reading, *place);
  if (!line) return caller != 0 ? caller : without_line(address);
  const format::SiteId id = table_.number({std::move(line->file), "", false, true}, line->line,
                                          std::move(line->function), caller);
  lines_.insert_or_assign(key, Line{*place, code_.file_name(reading, *place), id});
  return id;
}

format::SiteId PythonSites::without_line(const void* address) {
  const auto& [module, offset_bytes] = callers_.at(address);
  return table_.number(module, offset_bytes);
}

}  // namespace gfxgraph::recorder
