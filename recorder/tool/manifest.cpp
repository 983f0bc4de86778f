#include "recorder/tool/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>

#include "base/file/file.h"

namespace gfxgraph::recorder {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;
constexpr const char* kVersionField = "gfxgraph_manifest";
constexpr std::array<const char*, 4> kStates = {"sealed", "partial", "recording", "failed"};

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json entry_json(const ManifestEntry& entry) {
  Json json = {{"pid", entry.pid},
               {"parent_pid", entry.parent_pid},
               {"rank", or_null(entry.rank)},
               {"command_line", entry.command_line},
               {"file", entry.file},
               {"state", word(entry.state)},
               {"launches", or_null(entry.launches)},
               {"complete", entry.complete},
               {"incomplete", entry.incomplete},
               {"notes", entry.notes},
               {"error", entry.error},
               {"exit_status", or_null(entry.exit_status)}};
  if (!entry.earlier.empty()) json["earlier"] = entry.earlier;
  return json;
}

// Reads the fields of one object; a missing field or a wrong type makes it invalid.
class Fields {
 public:
  explicit Fields(const Json& object) : object_(object), valid_(object.is_object()) {}

  void read(const char* name, std::string& value) {
    if (const Json* field = find(name, &Json::is_string)) value = field->get<std::string>();
  }
  void read(const char* name, bool& value) {
    if (const Json* field = find(name, &Json::is_boolean)) value = field->get<bool>();
  }
  void read(const char* name, int& value) {
    const Json* field = find(name, &Json::is_number_integer);
    if (field == nullptr) return;
    const auto wide = field->get<int64_t>();
    valid_ = wide >= std::numeric_limits<int>::min() && wide <= std::numeric_limits<int>::max();
    if (valid_) value = static_cast<int>(wide);
  }
  void read(const char* name, uint64_t& value) {
    if (const Json* field = find(name, &Json::is_number_unsigned)) value = field->get<uint64_t>();
  }
  template <typename T>
  void read(const char* name, std::optional<T>& value) {
    const Json* field = find(name, nullptr);
    if (field == nullptr || field->is_null()) return;
    read(name, value.emplace());
  }
  void read(const char* name, std::vector<std::string>& values) {
    const Json* field = find(name, &Json::is_array);
    if (field == nullptr) return;
    for (const Json& element : *field) {
      valid_ = valid_ && element.is_string();
      if (valid_) values.push_back(element.get<std::string>());
    }
  }
  const Json* list(const char* name) { return find(name, &Json::is_array); }
  bool has(const char* name) const { return valid_ && object_.contains(name); }
  bool valid() const { return valid_; }
  const char* missing() const { return missing_; }

 private:
  using Is = bool (Json::*)() const noexcept;
  const Json* find(const char* name, Is is) {
    if (!valid_) return nullptr;
    missing_ = name;
    const auto found = object_.find(name);
    valid_ = found != object_.end() && (is == nullptr || ((*found).*is)());
    return valid_ ? &*found : nullptr;
  }

  const Json& object_;
  bool valid_;
  const char* missing_ = "";
};

tl::unexpected<Error> refuse(const std::string& why) {
  return fail(Status::kCorrupt, "not a manifest of gfxgraph-record: " + why);
}

}  // namespace

const char* word(TraceState state) { return kStates[static_cast<size_t>(state)]; }

std::string manifest_text(const Manifest& manifest) {
  Json json = {{kVersionField, kVersion},
               {"gfxgraph_version", manifest.gfxgraph_version},
               {"program", manifest.program},
               {"exit_status", manifest.exit_status},
               {"traces", Json::array()}};
  for (const ManifestEntry& entry : manifest.traces) json["traces"].push_back(entry_json(entry));
  // Command lines need not be UTF-8, and may hold what a terminal obeys.
  return json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

Result<void> write_manifest(const std::filesystem::path& path, const Manifest& manifest) {
  const std::string text = manifest_text(manifest);
  return write_file_atomic(path, std::as_bytes(std::span(text)));
}

Result<Manifest> parse_manifest(const std::string& text) {
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return refuse("not JSON");
  Fields fields(json);
  Manifest manifest;
  int version = 0;
  fields.read(kVersionField, version);
  if (!fields.valid()) return refuse(fmt::format("no field {}", kVersionField));
  if (version != kVersion) return refuse(fmt::format("version {} is unknown", version));
  fields.read("gfxgraph_version", manifest.gfxgraph_version);
  fields.read("program", manifest.program);
  fields.read("exit_status", manifest.exit_status);
  const Json* traces = fields.list("traces");
  if (traces == nullptr) return refuse(fmt::format("field {}", fields.missing()));
  for (const Json& trace : *traces) {
    Fields of(trace);
    ManifestEntry entry;
    std::string state;
    of.read("pid", entry.pid);
    of.read("parent_pid", entry.parent_pid);
    of.read("rank", entry.rank);
    of.read("command_line", entry.command_line);
    of.read("file", entry.file);
    of.read("state", state);
    of.read("launches", entry.launches);
    of.read("complete", entry.complete);
    of.read("incomplete", entry.incomplete);
    of.read("notes", entry.notes);
    of.read("error", entry.error);
    of.read("exit_status", entry.exit_status);
    if (of.has("earlier")) of.read("earlier", entry.earlier);
    const size_t number = manifest.traces.size();
    if (!of.valid()) return refuse(fmt::format("trace {}, field {}", number, of.missing()));
    const auto known = std::ranges::find(kStates, std::string_view(state));
    if (known == kStates.end()) return refuse(fmt::format("trace {}, state '{}'", number, state));
    entry.state = static_cast<TraceState>(known - kStates.begin());
    manifest.traces.push_back(std::move(entry));
  }
  return manifest;
}

bool looks_like_manifest(const std::string& begin) { return begin.starts_with('{'); }

}  // namespace gfxgraph::recorder
