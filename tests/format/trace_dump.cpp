#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "format/check/check.h"
#include "format/names.h"
#include "trace_builder.h"

namespace gfxgraph::format {
namespace {

using Json = nlohmann::ordered_json;

std::string hex(const BlobId& id) { return fmt::format("{:016x}{:016x}", id.high, id.low); }

std::string hex(const std::vector<uint8_t>& bytes) {
  std::string text;
  for (const uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

Json dump(const std::vector<Relocation>& relocations) {
  Json all = Json::array();
  for (const Relocation& r : relocations) {
    all.push_back(
        {r.offset_bytes, r.allocation, r.addend, static_cast<int>(r.source), r.ambiguous});
    if (r.outside) all.back().push_back("outside");
  }
  return all;
}

Json dump(const Content& c) {
  Json json = {{"size", c.size_bytes}, {"blob", hex(c.blob)}, {"fill", c.fill},
               {"hash", hex(c.hash)},  {"stored", c.stored},  {"relocations", dump(c.relocations)}};
  if (c.unwritten) json["unwritten"] = true;
  return json;
}

Json dump(const CopyEnd& e) { return {e.allocation, e.offset_bytes, e.pitch_bytes, e.slice_bytes}; }

Json dump(const TexelFormat& format) { return {format.bits, static_cast<int>(format.kind)}; }

Json dump(const ImageObject& o) {
  return {{"resource", static_cast<int>(o.resource)},
          {"allocation", o.allocation},
          {"offset", o.offset_bytes},
          {"format", dump(o.format)},
          {"size", o.size_bytes},
          {"width", o.width},
          {"height", o.height},
          {"pitch", o.pitch_bytes},
          {"address_mode", o.address_mode},
          {"filter", o.filter},
          {"read_mode", o.read_mode},
          {"srgb", o.srgb},
          {"normalized", o.normalized},
          {"mip_filter", o.mip_filter},
          {"max_anisotropy", o.max_anisotropy},
          {"border", o.border},
          {"mip", {o.mip_bias, o.mip_least, o.mip_most}},
          {"has_view", o.has_view},
          {"view", {o.view_format, o.view_width, o.view_height, o.view_depth}},
          {"levels", {o.first_level, o.last_level}},
          {"layers", {o.first_layer, o.last_layer}}};
}

struct ActionDumper {
  Json operator()(std::monostate) const { return nullptr; }
  Json operator()(const AllocationBegin& a) const {
    Json json = {{"id", a.id},
                 {"kind", static_cast<int>(a.kind)},
                 {"address", a.recorded_address},
                 {"host", a.host_address},
                 {"size", a.size_bytes},
                 {"mapped", a.mapped_bytes},
                 {"flags", a.flags},
                 {"stream", a.stream},
                 {"code_object", a.code_object},
                 {"symbol", a.symbol},
                 {"initial", dump(a.initial)}};
    if (!a.name.empty()) json["name"] = a.name;
    if (a.site != 0) json["site"] = {a.site, a.site_ordinal};
    if (a.device != 0) json["device"] = a.device;
    if (a.array) {
      json["array"] = {{"width", a.array->width},
                       {"height", a.array->height},
                       {"depth", a.array->depth},
                       {"format", dump(a.array->format)},
                       {"flags", a.array->flags}};
    }
    if (a.object) json["object"] = dump(*a.object);
    return json;
  }
  Json operator()(const AllocationEnd& a) const {
    Json json = {{"id", a.id}, {"freed", a.freed}, {"stream", a.stream}, {"post", dump(a.post)}};
    if (a.gone) json["gone"] = true;
    return json;
  }
  Json operator()(const HostWrite& a) const {
    Json json = {
        {"allocation", a.allocation}, {"offset", a.offset_bytes}, {"content", dump(a.content)}};
    if (a.in_doubt) json["in_doubt"] = true;
    return json;
  }
  Json operator()(const StreamCreate& a) const {
    Json json = {a.id, a.flags, a.priority};
    if (a.device != 0) json.push_back(a.device);
    return json;
  }
  Json operator()(const StreamDestroy& a) const { return a.id; }
  Json operator()(const EventCreate& a) const { return {a.id, a.flags}; }
  Json operator()(const EventDestroy& a) const { return a.id; }
  Json operator()(const EventRecord& a) const { return {a.event, a.stream}; }
  Json operator()(const StreamWait& a) const { return {a.stream, a.event, a.flags}; }
  Json operator()(const Synchronize& a) const {
    Json json = {static_cast<int>(a.kind), a.object};
    if (!a.call.empty()) json.push_back(a.call);
    return json;
  }
  Json operator()(const Launch& a) const {
    return {{"kernel", a.kernel},
            {"stream", a.stream},
            {"grid", a.grid},
            {"remainder", a.grid_remainder},
            {"block", a.block},
            {"lds", a.dynamic_lds_bytes},
            {"cooperative", a.cooperative},
            {"kernarg", hex(a.kernarg)},
            {"relocations", dump(a.relocations)}};
  }
  Json operator()(const Copy& a) const {
    Json json = {{"destination", dump(a.destination)},
                 {"source", dump(a.source)},
                 {"width", a.width_bytes},
                 {"height", a.height},
                 {"depth", a.depth},
                 {"host_source", dump(a.host_source)},
                 {"host_result", dump(a.host_result)},
                 {"asynchronous", a.asynchronous},
                 {"stream", a.stream}};
    if (a.source_is_pinned) json["source_is_pinned"] = true;
    return json;
  }
  Json operator()(const Memset& a) const {
    return {
        {"allocation", a.allocation},     {"offset", a.offset_bytes},   {"pitch", a.pitch_bytes},
        {"slice", a.slice_bytes},         {"element", a.element_bytes}, {"value", a.value},
        {"width", a.width_elements},      {"height", a.height},         {"depth", a.depth},
        {"asynchronous", a.asynchronous}, {"stream", a.stream}};
  }
  Json operator()(const HostFunction& a) const {
    Json json = {a.stream, a.call};
    if (a.id != 0) json.push_back(a.id);
    return json;
  }
  Json operator()(const GraphLaunch& a) const {
    Json json = {a.graph, a.stream};
    if (a.first_host_function != 0) json.push_back(a.first_host_function);
    return json;
  }
  Json operator()(const Marker& a) const {
    if (a.kind == MarkerKind::kMark) return a.text;
    Json json = {a.text, static_cast<int>(a.kind), a.range};
    if (a.ordinal != 0) json.push_back(a.ordinal);
    if (a.kind == MarkerKind::kName) json = {a.text, static_cast<int>(a.kind), a.allocation};
    return json;
  }
  Json operator()(const Checkpoint& a) const {
    Json all = Json::array();
    for (const Checkpoint::State& s : a.states) {
      all.push_back({s.allocation, hex(s.hash), dump(s.relocations)});
    }
    return all;
  }
  Json operator()(const CallFault& a) const {
    return {a.call, a.error, a.allocation, a.offset_bytes, a.size_bytes, a.write};
  }
};

Json dump(const Environment& e) {
  return {{"version", e.gfxgraph_version},    {"arch", e.gpu_arch},
          {"device", e.device_name},          {"emulated", e.emulated},
          {"runtime", e.hip_runtime_version}, {"driver", e.hip_driver_version},
          {"command", e.command_line},        {"start", e.start_unix_ns}};
}

Json dump(const Kernel& k) {
  Json arguments = Json::array();
  for (const Argument& a : k.arguments) {
    arguments.push_back(
        {a.name, a.value_kind, static_cast<int>(a.kind), a.offset_bytes, a.size_bytes});
  }
  return {{"id", k.id},
          {"code_object", k.code_object},
          {"name", k.name},
          {"kernarg", k.kernarg_size_bytes},
          {"explicit", k.explicit_size_bytes},
          {"group", k.group_segment_bytes},
          {"private", k.private_segment_bytes},
          {"arguments", arguments}};
}

Json dump(const Graph& graph) {
  Json nodes = Json::array();
  for (const GraphNode& node : graph.nodes) {
    nodes.push_back({{"kind", node.action.index()},
                     {"action", std::visit(ActionDumper{}, node.action)},
                     {"after", node.dependencies}});
  }
  return {{"id", graph.id}, {"nodes", nodes}};
}

Json dump(const Statistics& s) {
  return {{"events", s.events},
          {"launches", s.launches},
          {"copies", s.copies},
          {"allocations", s.allocations},
          {"kernels", s.kernels},
          {"code_objects", s.code_objects},
          {"blobs", s.blobs},
          {"blob_bytes", s.blob_bytes},
          {"typed", s.relocations_typed},
          {"proven", s.relocations_proven},
          {"matched", s.relocations_matched},
          {"ambiguous", s.relocations_ambiguous}};
}

}  // namespace

// Without stored_blob_bytes, which is zstd's affair.
std::string dump_json(const Trace& trace) {
  Json json;
  json["sealed"] = trace.sealed();
  json["torn_reason"] = trace.torn_reason();
  json["complete"] = trace.complete();
  json["environment"] = dump(trace.environment());
  json["code_objects"] = Json::array();
  for (const CodeObject& c : trace.code_objects()) {
    json["code_objects"].push_back({c.id, hex(c.elf), c.target});
    if (c.device != 0 || c.image_of != 0) json["code_objects"].back().push_back(c.device);
    if (c.image_of != 0) json["code_objects"].back().push_back(c.image_of);
  }
  json["kernels"] = Json::array();
  for (const Kernel& kernel : trace.kernels()) json["kernels"].push_back(dump(kernel));
  json["graphs"] = Json::array();
  for (const Graph& graph : trace.graphs()) json["graphs"].push_back(dump(graph));
  for (const Site& s : trace.sites()) {
    json["sites"].push_back({s.id, s.module, s.build_id, s.symbol, s.offset_bytes,
                             s.symbol_offset_bytes, s.program, s.symbol_unique});
    if (s.line != 0) json["sites"].back().push_back(s.line);
    if (s.caller != 0) json["sites"].back().push_back(s.caller);
  }
  for (const Device& d : trace.devices()) json["devices"].push_back({d.number, d.null_stream});
  for (const KnownWords& known : trace.provenance().places) {
    Json words = Json::array();
    for (const KnownWord& word : known.words)
      words.push_back({word.offset_bytes, static_cast<int>(word.verdict)});
    json["provenance"].push_back({known.place.event, known.place.graph, known.place.node,
                                  static_cast<int>(known.place.part), words});
  }
  json["events"] = Json::array();
  for (const Event& event : trace.events()) {
    json["events"].push_back({{"sequence", event.sequence},
                              {"thread", event.thread},
                              {"time", event.time_ns},
                              {"kind", name_of(event.action).words},
                              {"action", std::visit(ActionDumper{}, event.action)}});
    if (event.site != 0) json["events"].back()["site"] = event.site;
  }
  json["findings"] = Json::array();
  for (const Finding& f : trace.findings()) {
    json["findings"].push_back({static_cast<int>(f.kind), f.call, f.count, f.detail});
  }
  json["statistics"] = dump(trace.statistics());
  return json.dump(1) + "\n";
}

}  // namespace gfxgraph::format
