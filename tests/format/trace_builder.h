// Small traces for the tests of format/: one event of each kind, and helpers to patch files.
#pragma once

#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/file/file.h"
#include "format/container/container.h"
#include "format/container/record_index.h"
#include "format/read/reader.h"
#include "format/write/writer.h"

namespace gfxgraph::format {

// A folder of this test alone, removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "gfxgraph-XXXXXX").string();
    GFXGRAPH_CHECK(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

inline std::vector<std::byte> to_bytes(const std::string& text) {
  std::vector<std::byte> bytes(text.size());
  if (!text.empty()) std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

// The same bytes every time; they do not compress.
inline std::vector<std::byte> random_bytes(size_t size) {
  std::vector<std::byte> bytes(size);
  uint64_t state = 1;
  for (std::byte& byte : bytes) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    byte = static_cast<std::byte>(state >> 56);
  }
  return bytes;
}

inline Environment sample_environment() {
  Environment environment;
  environment.gfxgraph_version = "0.1.0";
  environment.gpu_arch = "gfx1030";
  environment.device_name = "test device";
  environment.emulated = true;
  environment.hip_runtime_version = 50221153;
  environment.hip_driver_version = 50221153;
  environment.command_line = {"./saxpy", "--size", "4096"};
  environment.start_unix_ns = 1700000000000000000;
  return environment;
}

// saxpy(float a, const float* x, float* y, int n): a pointer at 8 and one at 16.
inline Kernel sample_kernel(KernelId id = 1) {
  Kernel kernel;
  kernel.id = id;
  kernel.code_object = 1;
  kernel.name = "_Z5saxpyfPKfPfi";
  kernel.kernarg_size_bytes = 40;
  kernel.explicit_size_bytes = 28;
  kernel.arguments = {{"a", "by_value", ArgumentKind::kByValue, 0, 4},
                      {"x", "global_buffer", ArgumentKind::kGlobalBuffer, 8, 8},
                      {"y", "global_buffer", ArgumentKind::kGlobalBuffer, 16, 8},
                      {"n", "by_value", ArgumentKind::kByValue, 24, 4},
                      {"", "hidden_block_count_x", ArgumentKind::kHidden, 32, 4}};
  return kernel;
}

inline Launch sample_launch(AllocationId x, AllocationId y, StreamId stream = 0) {
  Launch launch;
  launch.kernel = 1;
  launch.stream = stream;
  launch.grid = {16, 2, 1};
  launch.grid_remainder = {7, 0, 0};
  launch.block = {256, 1, 1};
  launch.dynamic_lds_bytes = 64;
  launch.kernarg.resize(28);
  for (size_t i = 0; i < launch.kernarg.size(); ++i)
    launch.kernarg[i] = static_cast<uint8_t>(i * 7);
  launch.relocations = {{8, x, 0, RelocationSource::kTyped, false},
                        {16, y, 4096, RelocationSource::kMatched, true}};
  return launch;
}

inline Content blob_content(BlobId blob, uint64_t size) {
  Content content;
  content.size_bytes = size;
  content.blob = blob;
  content.hash = blob;
  return content;
}

inline AllocationBegin sample_allocation(AllocationId id, uint64_t size = 4096) {
  AllocationBegin begin;
  begin.id = id;
  begin.recorded_address = 0x7f0000000000 + id * UINT64_C(0x10000);
  begin.size_bytes = size;
  return begin;
}

// Of memory with 4096 bytes: an array (`first`) of 4 x 3 x 2 texels of 4 bytes, a texture and a
// surface of it, textures of the memory, linear and in rows.
inline std::vector<AllocationBegin> sample_images(AllocationId memory, AllocationId first) {
  AllocationBegin array = sample_allocation(first, 96);
  array.kind = AllocationKind::kArray;
  array.initial.size_bytes = 96;
  array.initial.unwritten = true;
  ArrayShape shape;
  shape.width = 4;
  shape.height = 3;
  shape.depth = 2;
  shape.format = {{16, 16, 0, 0}, TexelKind::kSigned};
  shape.flags = 2;
  array.array = std::make_shared<const ArrayShape>(shape);
  const auto made = [&](AllocationId id, AllocationKind kind, const ImageObject& object) {
    const bool surface = kind == AllocationKind::kSurface;
    AllocationBegin begin = sample_allocation(id, surface ? kSurfaceBytes : kTextureBytes);
    begin.kind = kind;
    begin.object = std::make_shared<const ImageObject>(object);
    return begin;
  };
  ImageObject of_array;
  of_array.allocation = first;
  ImageObject texture = of_array;
  texture.address_mode = {1, 2, 3};
  texture.filter = 1;
  texture.read_mode = 1;
  texture.srgb = 1;
  texture.normalized = 1;
  texture.mip_filter = 1;
  texture.max_anisotropy = 4;
  texture.border = {0.5f, 1, 2, 3};
  texture.mip_bias = 0.25f;
  texture.mip_least = 1;
  texture.mip_most = 2;
  texture.has_view = true;
  texture.view_format = 7;
  texture.view_width = 4;
  texture.view_height = 3;
  texture.view_depth = 2;
  texture.first_level = 1;
  texture.last_level = 2;
  texture.first_layer = 3;
  texture.last_layer = 4;
  ImageObject linear;
  linear.resource = ImageResource::kLinear;
  linear.allocation = memory;
  linear.offset_bytes = 256;
  linear.format = {{32, 0, 0, 0}, TexelKind::kFloat};
  linear.size_bytes = 1024;
  ImageObject pitched = linear;
  pitched.resource = ImageResource::kPitched;
  pitched.size_bytes = 0;
  pitched.width = 10;
  pitched.height = 5;
  pitched.pitch_bytes = 256;
  return {array, made(first + 1, AllocationKind::kTexture, texture),
          made(first + 2, AllocationKind::kSurface, of_array),
          made(first + 3, AllocationKind::kTexture, linear),
          made(first + 4, AllocationKind::kTexture, pitched)};
}

inline Event event_of(Action action) {
  Event event;
  event.action = std::move(action);
  return event;
}

// What must be in place before launches: environment, code object 1, kernel 1.
inline Result<void> add_preamble(Writer& writer) {
  GFXGRAPH_TRY(writer.add(sample_environment()));
  GFXGRAPH_ASSIGN_OR_RETURN(const BlobId elf, writer.add_blob(to_bytes("\x7f"
                                                                       "ELF, as if it were one")));
  GFXGRAPH_TRY(writer.add(CodeObject{1, elf, "amdgcn-amd-amdhsa--gfx1030"}));
  return writer.add(sample_kernel());
}

// One event of every kind, a graph, findings; deterministic, with blobs that are not compressed
// unless `compressed` asks for one that is.
Result<void> write_everything(Writer& writer, bool compressed);

// Every field of it, as text: two traces with equal dumps are equal.
std::string dump_json(const Trace& trace);

// Whole file of a trace that `fill` writes. Events are plain unless asked for: compressed bytes
// depend on the version of zstd.
std::vector<std::byte> trace_bytes(const std::function<void(Writer&)>& fill,
                                   size_t compress_events_min_bytes = SIZE_MAX,
                                   uint64_t index_min_records = kMinIndexedRecords);

// A record, with right hashes and padding.
std::vector<std::byte> record_bytes(RecordKind kind, std::span<const std::byte> payload,
                                    uint32_t flags = 0);
struct RawRecord {
  RecordKind kind;
  uint32_t flags;
  std::vector<std::byte> payload;
};
// All records of a sealed file but the footer; and a sealed file of records, all hashes right.
std::vector<RawRecord> split_records(std::span<const std::byte> file);
std::vector<std::byte> join_records(const std::vector<RawRecord>& records);
// The payload of an index of these records, which has not been compared with a summary.
std::vector<std::byte> index_of(const std::vector<RawRecord>& records);

}  // namespace gfxgraph::format
