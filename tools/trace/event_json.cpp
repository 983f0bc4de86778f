#include "tools/trace/event_json.h"

#include <fmt/format.h>

#include <string>
#include <variant>

#include "base/cli/print.h"
#include "base/demangle.h"
#include "format/names.h"
#include "format/site_name.h"
#include "tools/trace/trace_summary.h"

namespace gfxgraph::tools {

std::string blob_name(const format::BlobId& id) {
  return id ? fmt::format("{:016x}{:016x}", id.high, id.low) : "";
}

namespace {

using Json = nlohmann::ordered_json;

std::string hexadecimal(uint64_t value) { return fmt::format("{:#x}", value); }

Json relocations_json(const std::vector<format::Relocation>& relocations) {
  Json list = Json::array();
  for (const format::Relocation& word : relocations) {
    list.push_back({{"offset_bytes", word.offset_bytes},
                    {"allocation", word.allocation},
                    {"addend", word.addend},
                    {"source", name_of(word.source).key},
                    {"ambiguous", word.ambiguous},
                    {"outside", word.outside}});
  }
  return list;
}

Json content_json(const format::Content& content) {
  Json json = {{"size_bytes", content.size_bytes},
               {"stored", content.stored},
               {"unwritten", content.unwritten}};
  if (content.blob) {
    json["blob"] = blob_name(content.blob);
  } else {
    json["fill"] = content.fill;
  }
  json["hash"] = blob_name(content.hash);
  json["relocations"] = relocations_json(content.relocations);
  return json;
}

Json end_json(const format::CopyEnd& end) {
  return {{"allocation", end.allocation},
          {"offset_bytes", end.offset_bytes},
          {"pitch_bytes", end.pitch_bytes},
          {"slice_bytes", end.slice_bytes}};
}

Json texels_json(const format::TexelFormat& texels) {
  return {{"bits", texels.bits}, {"kind", name_of(texels.kind).key}};
}

Json array_json(const format::ArrayShape& array) {
  return {{"width", array.width},
          {"height", array.height},
          {"depth", array.depth},
          {"texels", texels_json(array.format)},
          {"flags", array.flags}};
}

// What a texture or surface was made from; numbers are HIP's.
Json image_json(const format::ImageObject& object, bool texture) {
  Json json = {{"allocation", object.allocation}};
  if (object.resource != format::ImageResource::kArray) {
    json["offset_bytes"] = object.offset_bytes;
    json["texels"] = texels_json(object.format);
  }
  if (object.resource == format::ImageResource::kLinear) json["size_bytes"] = object.size_bytes;
  if (object.resource == format::ImageResource::kPitched) {
    json["width"] = object.width;
    json["height"] = object.height;
    json["pitch_bytes"] = object.pitch_bytes;
  }
  if (!texture) return json;
  json["address_mode"] = object.address_mode;
  json["filter"] = object.filter;
  json["read_mode"] = object.read_mode;
  json["srgb"] = object.srgb != 0;
  json["normalized"] = object.normalized != 0;
  json["border"] = object.border;
  json["has_view"] = object.has_view;
  return json;
}

// The fields of one action, by its type.
class Fields {
 public:
  Fields(const format::Trace& trace, EventJson& events) : trace_(trace), events_(events) {}

  Json operator()(const format::AllocationBegin& begin) const {
    Json json = {
        {"allocation", begin.id},
        {"kind", name_of(begin.kind).key},
        {"address", hexadecimal(begin.recorded_address)},
        {"host_address", hexadecimal(begin.host_address)},
        {"size_bytes", begin.size_bytes},
        {"mapped_bytes", begin.mapped_bytes},
        {"flags", begin.flags},
        {"stream", begin.stream},
        {"code_object", begin.code_object},
        {"symbol", begin.symbol},
        {"name", begin.name.empty() ? format::made_name(trace_.sites(), begin) : begin.name},
        {"initial", content_json(begin.initial)}};
    if (begin.device != 0) json["device"] = begin.device;
    if (begin.array) json["array"] = array_json(*begin.array);
    if (begin.object)
      json["image"] = image_json(*begin.object, begin.kind == format::AllocationKind::kTexture);
    return json;
  }
  Json operator()(const format::AllocationEnd& end) const {
    return {{"allocation", end.id},
            {"freed", end.freed},
            {"stream", end.stream},
            {"post", content_json(end.post)},
            {"gone", end.gone}};
  }
  Json operator()(const format::HostWrite& write) const {
    return {{"allocation", write.allocation},
            {"offset_bytes", write.offset_bytes},
            {"in_doubt", write.in_doubt},
            {"content", content_json(write.content)}};
  }
  Json operator()(const format::StreamCreate& create) const {
    Json json = {{"stream", create.id}, {"flags", create.flags}, {"priority", create.priority}};
    if (create.device != 0) json["device"] = create.device;
    return json;
  }
  Json operator()(const format::StreamDestroy& destroy) const { return {{"stream", destroy.id}}; }
  Json operator()(const format::EventCreate& create) const {
    return {{"hip_event", create.id}, {"flags", create.flags}};
  }
  Json operator()(const format::EventDestroy& destroy) const { return {{"hip_event", destroy.id}}; }
  Json operator()(const format::EventRecord& record) const {
    return {{"hip_event", record.event}, {"stream", record.stream}};
  }
  Json operator()(const format::StreamWait& wait) const {
    return {{"stream", wait.stream}, {"hip_event", wait.event}, {"flags", wait.flags}};
  }
  Json operator()(const format::Synchronize& wait) const {
    return {{"kind", name_of(wait.kind).key}, {"object", wait.object}, {"call", wait.call}};
  }
  Json operator()(const format::Launch& launch) const {
    std::string bytes;
    bytes.reserve(2 * launch.kernarg.size());
    for (const uint8_t byte : launch.kernarg) bytes += fmt::format("{:02x}", byte);
    return {{"kernel", launch.kernel},
            {"name", events_.kernel_name(launch.kernel)},
            {"stream", launch.stream},
            {"grid", launch.grid},
            {"grid_remainder", launch.grid_remainder},
            {"block", launch.block},
            {"dynamic_lds_bytes", launch.dynamic_lds_bytes},
            {"cooperative", launch.cooperative},
            {"kernarg", std::move(bytes)},
            {"relocations", relocations_json(launch.relocations)}};
  }
  Json operator()(const format::Copy& copy) const {
    Json json = {{"destination", end_json(copy.destination)},
                 {"source", end_json(copy.source)},
                 {"width_bytes", copy.width_bytes},
                 {"height", copy.height},
                 {"depth", copy.depth},
                 {"stream", copy.stream},
                 {"asynchronous", copy.asynchronous},
                 {"source_is_pinned", copy.source_is_pinned}};
    if (copy.source.allocation == 0) json["host_source"] = content_json(copy.host_source);
    if (copy.destination.allocation == 0) json["host_result"] = content_json(copy.host_result);
    return json;
  }
  Json operator()(const format::Memset& set) const {
    return {{"allocation", set.allocation},
            {"offset_bytes", set.offset_bytes},
            {"pitch_bytes", set.pitch_bytes},
            {"slice_bytes", set.slice_bytes},
            {"element_bytes", set.element_bytes},
            {"value", set.value},
            {"width_elements", set.width_elements},
            {"height", set.height},
            {"depth", set.depth},
            {"stream", set.stream},
            {"asynchronous", set.asynchronous}};
  }
  Json operator()(const format::HostFunction& function) const {
    return {{"stream", function.stream}, {"call", function.call}, {"host_function", function.id}};
  }
  Json operator()(const format::GraphLaunch& launch) const {
    return {{"graph", launch.graph},
            {"stream", launch.stream},
            {"first_host_function", launch.first_host_function}};
  }
  Json operator()(const format::Marker& marker) const {
    return {{"kind", name_of(marker.kind).key},
            {"text", marker.text},
            {"range", marker.range},
            {"ordinal", marker.ordinal},
            {"allocation", marker.allocation}};
  }
  Json operator()(const format::Checkpoint& checkpoint) const {
    Json states = Json::array();
    for (const format::Checkpoint::State& state : checkpoint.states) {
      states.push_back({{"allocation", state.allocation}, {"hash", blob_name(state.hash)}});
    }
    return {{"states", std::move(states)}};
  }
  Json operator()(const format::CallFault& fault) const {
    return {{"call", fault.call},
            {"error", fault.error},
            {"allocation", fault.allocation},
            {"offset_bytes", fault.offset_bytes},
            {"size_bytes", fault.size_bytes},
            {"write", fault.write}};
  }
  Json operator()(std::monostate) const { return Json::object(); }

 private:
  const format::Trace& trace_;
  EventJson& events_;
};

}  // namespace

const std::string& EventJson::kernel_name(format::KernelId kernel) {
  std::string& name = names_[kernel - 1];
  if (name.empty()) name = demangle(trace_.kernels()[kernel - 1].name);
  return name;
}

Json EventJson::event(const format::Event& event) {
  Json json = {{"event", event.sequence},
               {"type", name_of(event.action).key},
               {"thread", event.thread},
               {"time_ns", event.time_ns}};
  if (event.site != 0) {
    const format::Site& site = trace_.sites()[event.site - 1];
    json["site"] = format::site_name(site);
    if (site.caller != 0) json["site_from"] = format::caller_name(trace_.sites(), site);
  }
  json.update(std::visit(Fields(trace_, *this), event.action));
  return json;
}

Json EventJson::graph(const format::Graph& graph) {
  Json nodes = Json::array();
  for (const format::GraphNode& node : graph.nodes) {
    Json json = {{"type", name_of(node.action).key}, {"dependencies", node.dependencies}};
    json.update(std::visit(Fields(trace_, *this), node.action));
    nodes.push_back(std::move(json));
  }
  return {{"type", "graph"}, {"graph", graph.id}, {"nodes", std::move(nodes)}};
}

Json arguments_json(const format::Kernel& kernel) {
  Json arguments = Json::array();
  for (const format::Argument& argument : kernel.arguments) {
    arguments.push_back({{"name", argument.name},
                         {"kind", argument.value_kind},
                         {"offset_bytes", argument.offset_bytes},
                         {"size_bytes", argument.size_bytes}});
  }
  return arguments;
}

Json finding_json(const format::Finding& finding) {
  const bool incomplete = finding.kind == format::FindingKind::kIncomplete;
  return {{"kind", incomplete ? "incomplete" : "note"},
          {"call", finding.call},
          {"count", finding.count},
          {"detail", finding.detail}};
}

Json displayable(const Json& value) {
  if (value.is_string()) return printable(Lines{value.get_ref<const std::string&>()});
  if (!value.is_structured()) return value;
  Json result = value.is_array() ? Json::array() : Json::object();
  for (const auto& [key, element] : value.items()) {
    if (value.is_array()) {
      result.push_back(displayable(element));
    } else {
      result[printable(key)] = displayable(element);
    }
  }
  return result;
}

std::string one_line(const Json& value) {
  return value.dump(-1, ' ', true, Json::error_handler_t::replace);
}

}  // namespace gfxgraph::tools
