// Damaged traces of several devices, and of arrays, textures and surfaces.
#include "golden/golden_bad.h"

namespace gfxgraph::format {

// What names a second device, in a trace that has one, with the null stream 2, or none.
void add_device_cases(std::vector<GoldenCase>& cases) {
  const auto device = [](Device one) { return with_record(RecordKind::kDevice, packed(one)); };
  cases.push_back({"device_zero", device({0, 2})});
  cases.push_back({"device_out_of_range", device({64, 2})});
  cases.push_back({"device_null_stream_zero", device({1, 0})});
  cases.push_back({"device_null_stream_not_new", device({1, 1})});
  cases.push_back({"device_null_stream_out_of_range", device({1, 1u << 30})});
  const auto behind = [](std::vector<Action> actions, std::vector<Device> devices = {{1, 2}}) {
    std::vector<RawRecord> records = base_records();
    std::vector<RawRecord> added;
    for (const Device& one : devices) added.push_back({RecordKind::kDevice, 0, packed(one)});
    added.push_back({RecordKind::kEvents, 0, packed_events(std::move(actions), 4)});
    records.insert(records.end() - 1, added.begin(), added.end());
    return join_records(records);
  };
  const Synchronize second{SynchronizeKind::kDevice, 1, ""};
  cases.push_back({"device_twice", behind({second}, {{1, 2}, {1, 3}})});
  cases.push_back({"device_same_null_stream", behind({second}, {{1, 2}, {2, 2}})});
  cases.push_back({"device_null_stream_created", behind({StreamCreate{2, 0, 0}})});
  cases.push_back({"device_null_stream_destroyed", behind({StreamDestroy{2}})});
  cases.push_back(
      {"device_null_stream_itself", behind({Synchronize{SynchronizeKind::kStreamItself, 2, ""}})});
  cases.push_back({"device_of_stream_missing", behind({StreamCreate{3, 0, 0, 2}})});
  cases.push_back({"device_of_allocation_missing", with_begin([](auto& b) { b.device = 1; })});
  cases.push_back(
      {"device_synchronized_missing", behind({Synchronize{SynchronizeKind::kDevice, 2}})});
  cases.push_back({"device_of_code_object_missing",
                   with_record(RecordKind::kCodeObject,
                               packed(CodeObject{2,
                                                 hash_bytes(to_bytes("\x7f"
                                                                     "ELF, as if it were one")),
                                                 "t", 1}))});
  AllocationBegin variable = sample_allocation(3, 64);
  variable.kind = AllocationKind::kModuleGlobal;
  variable.code_object = 1;
  variable.symbol = "counter";
  variable.device = 1;
  cases.push_back({"device_of_variable_not_its_codes", behind({variable})});
  cases.push_back({"device_of_launch_not_its_codes", behind({sample_launch(1, 1, 2)})});
}

// Each field of an array, a texture or a surface that can be wrong.
void add_image_cases(std::vector<GoldenCase>& cases) {
  using Images = std::vector<AllocationBegin>;
  const auto image = [&](const char* name, const std::function<void(Images&)>& change,
                         std::vector<Action> more = {}) {
    cases.push_back({name, with_images(change, std::move(more))});
  };
  const auto nothing = [](Images&) {};
  image("array_without_shape", [](Images& all) { all[0].array = nullptr; });
  image("array_shape_of_memory", [](Images& all) { all[0].kind = AllocationKind::kDevice; });
  image("array_with_host_address", [](Images& all) { all[0].host_address = 4096; });
  image("array_of_other_size",
        [](Images& all) { all[0].initial.size_bytes = ++all[0].size_bytes; });
  cases.push_back({"array_without_texels", with_array([](auto& a) { a.width = 0; })});
  cases.push_back(
      {"array_of_three_components", with_array([](auto& a) { a.format.bits = {16, 16, 16, 0}; })});
  cases.push_back({"array_of_small_floats",
                   with_array([](auto& a) { a.format = {{8, 8, 8, 8}, TexelKind::kFloat}; })});
  cases.push_back(
      {"array_of_unlike_components", with_array([](auto& a) { a.format.bits = {16, 8, 0, 0}; })});
  cases.push_back({"array_texel_kind", with_array([](auto& a) { a.format.kind = TexelKind{9}; })});
  cases.push_back(
      {"array_wraps", with_array([](auto& a) { a.width = a.height = a.depth = UINT32_MAX; })});
  image("texture_of_nothing", [](Images& all) { all[1].object = nullptr; });
  image("texture_that_is_memory", [](Images& all) { all[1].kind = AllocationKind::kDevice; });
  image("texture_of_other_size", [](Images& all) { all[1].size_bytes = 81; });
  image("texture_with_content", [](Images& all) { all[1].initial.size_bytes = 80; });
  image("texture_with_stream", [](Images& all) { all[1].stream = 1; });
  cases.push_back({"texture_of_none", with_object(1, [](auto& o) { o.allocation = 9; })});
  cases.push_back(
      {"texture_of_array_that_is_memory", with_object(1, [](auto& o) { o.allocation = 1; })});
  cases.push_back(
      {"texture_of_array_at_offset", with_object(1, [](auto& o) { o.offset_bytes = 4; })});
  cases.push_back(
      {"texture_resource", with_object(1, [](auto& o) { o.resource = ImageResource{7}; })});
  cases.push_back({"surface_with_filter", with_object(2, [](auto& o) { o.filter = 1; })});
  cases.push_back({"surface_of_memory", with_object(2, [](auto& o) {
                     o.resource = ImageResource::kLinear;
                     o.allocation = 1;
                     o.format = {{32, 0, 0, 0}, TexelKind::kFloat};
                     o.size_bytes = 16;
                   })});
  cases.push_back({"linear_of_array", with_object(3, [](auto& o) { o.allocation = 3; })});
  cases.push_back({"linear_outside", with_object(3, [](auto& o) { o.size_bytes = 4096; })});
  cases.push_back({"linear_without_texels", with_object(3, [](auto& o) { o.size_bytes = 0; })});
  cases.push_back({"linear_with_rows", with_object(3, [](auto& o) { o.height = 2; })});
  cases.push_back({"linear_format", with_object(3, [](auto& o) { o.format.bits[0] = 24; })});
  cases.push_back({"pitched_outside", with_object(4, [](auto& o) { o.height = 100; })});
  cases.push_back({"pitched_too_narrow", with_object(4, [](auto& o) { o.pitch_bytes = 8; })});
  cases.push_back({"pitched_with_size", with_object(4, [](auto& o) { o.size_bytes = 8; })});
  cases.push_back({"pitched_wraps", with_object(4, [](auto& o) { o.width = UINT64_MAX; })});
  Copy copy;
  copy.destination = {3, 4, 16, 48};
  copy.width_bytes = 4;
  copy.height = 3;
  copy.depth = 2;
  copy.host_source.size_bytes = 24;
  const auto copied = [&](const char* name, const std::function<void(Copy&)>& change) {
    Copy changed = copy;
    change(changed);
    changed.host_source.size_bytes = changed.width_bytes * changed.height * changed.depth;
    image(name, nothing, {changed});
  };
  copied("copy_into_array_pitch", [](auto& c) { c.destination.pitch_bytes = 12; });
  copied("copy_into_array_slice", [](auto& c) { c.destination.slice_bytes = 0; });
  copied("copy_into_array_across_rows", [](auto& c) { c.width_bytes = 16; });
  copied("copy_into_array_rows", [](auto& c) { c.height = 4; });
  copied("copy_into_array_slices", [](auto& c) { c.depth = 3; });
  copied("copy_into_half_a_texel", [](auto& c) { c.width_bytes = 2; });
  copied("copy_into_texture", [](auto& c) { c.destination.allocation = 4; });
  Memset memset;
  memset.allocation = 3;
  memset.width_elements = 4;
  image("memset_of_array", nothing, {memset});
  HostWrite write{3, 0, {}};
  write.content.size_bytes = 4;
  image("host_write_into_array", nothing, {write});
  Launch launch = sample_launch(1, 1);
  launch.relocations = {{0, 3, 0, RelocationSource::kTyped, false, false}};
  image("word_to_array", nothing, {launch});
  launch.relocations = {{0, 4, 8, RelocationSource::kTyped, false, false}};
  image("word_into_texture", nothing, {launch});
  AllocationEnd end{4, true, 0, {}, false};
  end.post.size_bytes = 80;
  image("texture_with_last_content", nothing, {end});
}

}  // namespace gfxgraph::format
