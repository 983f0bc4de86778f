// The numbers of call sites: places in files that are the same in every run, which a trace
// describes once. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "format/trace.h"

namespace gfxgraph::recorder {

class SiteTable {
 public:
  struct Module {
    std::string path;
    std::string build_id;  // as in memory; may be empty
    bool program = false;
    bool source = false;  // a file of Python code: offsets are lines
  };
  struct Place {
    size_t module = 0;
    uint64_t offset_bytes = 0;
    std::string function;       // of Python code
    format::SiteId caller = 0;  // the same: the machine code beneath it
    // The first place with this module and offset.
    format::SiteId line = 0;
  };
  struct Added {
    std::vector<Module> modules;
    std::vector<Place> places;
    size_t first = 0;  // their ids are those from `first` + 1

    // Reads the symbol tables of their files.
    std::vector<format::Site> described(bool redact) const;
  };

  // The same number for the same place, from 1.
  format::SiteId number(const Module& module, uint64_t offset_bytes, std::string function = {},
                        format::SiteId caller = 0);
  // The same number for all places of one line of Python code, whatever called beneath it.
  format::SiteId line_of(format::SiteId site) const { return places_[site - 1].line; }
  // Since the last call.
  Added take_added();

 private:
  std::vector<Module> modules_;
  std::vector<Place> places_;  // by id - 1
  std::map<std::tuple<size_t, uint64_t, format::SiteId>, format::SiteId> ids_;
  size_t taken_ = 0;  // of places_
};

}  // namespace gfxgraph::recorder
