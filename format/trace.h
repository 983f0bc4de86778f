// The trace as gfxgraph's own structs: what a recorder writes and every reader sees. How these
// become bytes is docs/format.md (container) and format/trace.fbs (payloads); no FlatBuffers type
// leaves format/.
//
// Identities: allocations, kernels, streams, HIP events and graphs carry ids that the recorder
// hands out from 1 upwards, each kind by itself, never reused in one trace. 0 means "none" (for a
// stream: the null stream). Addresses are *recorded addresses*: valid in the recorded process only.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

namespace gfxgraph::format {

using AllocationId = uint32_t;
using CodeObjectId = uint32_t;
using KernelId = uint32_t;
using StreamId = uint32_t;
using EventId = uint32_t;
using GraphId = uint32_t;
using HostFunctionId = uint32_t;
using SiteId = uint32_t;
using DeviceNumber = uint32_t;  // as the program counts devices

// XXH3-128 of the uncompressed bytes; the name of a blob. All zero: no blob.
struct BlobId {
  uint64_t low = 0;
  uint64_t high = 0;
  auto operator<=>(const BlobId&) const = default;
  explicit operator bool() const { return low != 0 || high != 0; }
};

struct Environment {
  std::string gfxgraph_version;
  std::string gpu_arch;  // "gfx1030", from hipDeviceProp_t::gcnArchName
  std::string device_name;
  bool emulated = false;            // recorded on the software agent
  int32_t hip_runtime_version = 0;  // hipRuntimeGetVersion: 50221153 is 5.2.21153
  int32_t hip_driver_version = 0;
  std::vector<std::string> command_line;  // empty when redacted
  uint64_t start_unix_ns = 0;
};

// ---- code ---------------------------------------------------------------------------------------

struct CodeObject {
  CodeObjectId id = 0;
  BlobId elf;          // the plain ELF for the device, already out of its offload bundle
  std::string target;  // "amdgcn-amd-amdhsa--gfx1030"
  DeviceNumber device =
      0;  // code that several devices run has a record for each: their variables differ
};

// Our own numbering, stable for ever; made from the metadata's .value_kind (LLVM AMDGPUUsage,
// "Code Object V3 Metadata"). Append only.
enum class ArgumentKind : uint8_t {
  kByValue = 0,
  kGlobalBuffer = 1,
  kDynamicSharedPointer = 2,  // an LDS offset, never relocated
  kSampler = 3,
  kImage = 4,
  kPipe = 5,
  kQueue = 6,
  kHidden = 7,  // filled by the runtime at launch: never stored, never relocated
};

struct Argument {
  std::string name;        // may be empty
  std::string value_kind;  // as in the metadata: "hidden_block_count_x"
  ArgumentKind kind = ArgumentKind::kByValue;
  uint32_t offset_bytes = 0;  // in the kernarg segment
  uint32_t size_bytes = 0;
};

struct Kernel {
  KernelId id = 0;
  CodeObjectId code_object = 0;
  std::string name;                 // the symbol hipModuleGetFunction takes: mangled, without ".kd"
  uint32_t kernarg_size_bytes = 0;  // explicit and hidden
  uint32_t explicit_size_bytes = 0;  // what a launch passes
  uint32_t group_segment_bytes = 0;  // static LDS
  uint32_t private_segment_bytes = 0;
  std::vector<Argument> arguments;  // in order of offset
};

// ---- memory -------------------------------------------------------------------------------------

// Append only.
enum class AllocationKind : uint8_t {
  kDevice = 0,          // hipMalloc, hipMallocPitch, hipMalloc3D, ...
  kManaged = 1,         // hipMallocManaged
  kHostPinned = 2,      // hipHostMalloc
  kHostRegistered = 3,  // hipHostRegister: the program's own memory
  kStreamOrdered = 4,   // hipMallocAsync
  kModuleGlobal = 5,    // a __device__ or __constant__ variable
  kArray = 6,           // hipMallocArray, hipArray3DCreate, ...: no pointer leads into it
  kTexture = 7,         // hipCreateTextureObject, hipTexObjectCreate: what the handle points to
  kSurface = 8,         // hipCreateSurfaceObject, likewise
};

// Handles of textures and surfaces: objects of the runtime, without contents of the program.
constexpr bool is_image_object(AllocationKind kind) noexcept {
  return kind == AllocationKind::kTexture || kind == AllocationKind::kSurface;
}

// "device", "host_pinned": as tools, findings and JSON name it.
constexpr const char* allocation_kind_name(AllocationKind kind) noexcept {
  switch (kind) {
    case AllocationKind::kDevice: return "device";
    case AllocationKind::kManaged: return "managed";
    case AllocationKind::kHostPinned: return "host_pinned";
    case AllocationKind::kHostRegistered: return "host_registered";
    case AllocationKind::kStreamOrdered: return "stream_ordered";
    case AllocationKind::kModuleGlobal: return "module_global";
    case AllocationKind::kArray: return "array";
    case AllocationKind::kTexture: return "texture";
    case AllocationKind::kSurface: return "surface";
  }
  return "unknown";
}

// ---- images -------------------------------------------------------------------------------------

// As in HIP. Append only.
enum class TexelKind : uint8_t { kSigned = 0, kUnsigned = 1, kFloat = 2 };

struct TexelFormat {
  std::array<uint8_t, 4> bits = {0, 0, 0, 0};  // of x, y, z, w; 0: it has no such component
  TexelKind kind = TexelKind::kUnsigned;
  bool operator==(const TexelFormat&) const = default;
  // Of 1, 2 or 4 components of 8, 16 or 32 bits, all alike: what arrays have. A power of two.
  bool valid() const noexcept;
  uint32_t bytes() const noexcept { return (uint32_t{bits[0]} + bits[1] + bits[2] + bits[3]) / 8; }
};

// An array. Its contents, and the places of copies in it, are in linear order: rows of texels
// follow each other, and so do slices (of depth, or layers), however the device has them.
struct ArrayShape {
  uint32_t width = 0;   // texels
  uint32_t height = 0;  // 0: one row
  uint32_t depth = 0;   // 0: one slice
  TexelFormat format;
  uint32_t flags = 0;  // hipArrayLayered, hipArraySurfaceLoadStore, ...

  uint64_t row_bytes() const noexcept { return uint64_t{width} * format.bytes(); }
  uint64_t rows() const noexcept { return height == 0 ? 1 : height; }
  uint64_t slices() const noexcept { return depth == 0 ? 1 : depth; }
  uint64_t slice_bytes() const noexcept { return row_bytes() * rows(); }
};

// Bytes that kernels read at a handle: the image's descriptor, and of a texture the sampler's.
inline constexpr uint64_t kTextureBytes = 80;
inline constexpr uint64_t kSurfaceBytes = 48;

// Append only.
enum class ImageResource : uint8_t { kArray = 0, kLinear = 1, kPitched = 2 };

// What a texture or surface was made of. Numbers without a name here are those of HIP.
struct ImageObject {
  ImageResource resource = ImageResource::kArray;
  AllocationId allocation = 0;  // an array, or memory
  // Of memory.
  uint64_t offset_bytes = 0;
  TexelFormat format;
  uint64_t size_bytes = 0;         // kLinear
  uint64_t width = 0, height = 0;  // kPitched; texels
  uint64_t pitch_bytes = 0;        // kPitched
  // Of a texture (hipTextureDesc).
  std::array<uint8_t, 3> address_mode = {0, 0, 0};
  uint8_t filter = 0;
  uint8_t read_mode = 0;
  uint8_t srgb = 0;
  uint8_t normalized = 0;
  uint8_t mip_filter = 0;
  uint32_t max_anisotropy = 0;
  std::array<float, 4> border = {0, 0, 0, 0};
  float mip_bias = 0, mip_least = 0, mip_most = 0;
  // Its view (hipResourceViewDesc), if it has one.
  bool has_view = false;
  uint32_t view_format = 0;
  uint64_t view_width = 0, view_height = 0, view_depth = 0;
  uint32_t first_level = 0, last_level = 0, first_layer = 0, last_layer = 0;
};

// Where a relocation's knowledge comes from, best first (architecture.md, "Pointers"). Append only.
enum class RelocationSource : uint8_t {
  kTyped = 0,    // metadata says global_buffer
  kProven = 1,   // the emulator saw the word reach an address operand
  kMatched = 2,  // the value lies in a live allocation: likely, not proven
};

// A typed pointer outside of every live allocation was made from one of those around it. With the
// nearest one `distance` bytes away, the others count up to this many bytes away; farther than
// kOutsideMostBytes from all of them, nothing is known. A part of the format: see
// Relocation::outside.
constexpr uint64_t kOutsideMostBytes = UINT64_C(1) << 30;
constexpr uint64_t outside_reach(uint64_t distance) {
  return distance < 4096 ? 65536 : 16 * distance;
}

// The 8-byte little-endian word at `offset_bytes` is the address allocation + addend, modulo 2^64.
struct Relocation {
  uint64_t offset_bytes = 0;  // in the kernarg segment, or in the bytes it is attached to
  AllocationId allocation = 0;
  // 0 ... size of the allocation, the larger of requested and mapped (one past the end is legal),
  // unless `outside`: then negative, or beyond the end.
  int64_t addend = 0;
  RelocationSource source = RelocationSource::kMatched;
  // A matched word that has no sign of being a pointer but its value (a plain 8-byte scalar
  // argument, an unaligned target): replay relocates it as the rest, but reports it by name.
  bool ambiguous = false;
  // The word points outside of its allocation. Typed: `x - 2048`, which the kernel indexes by at
  // least 2048; `allocation` is the nearest live one, and whoever moves memory must move all live
  // allocations within outside_reach() of the word by the same distance, since it may have been
  // made from any of them. Matched: a tagged pointer, whose upper 16 bits are not part of the
  // address.
  bool outside = false;
  bool operator==(const Relocation&) const = default;
};

// Bytes with the pointers in them. Exactly one of `blob` and `fill` describes the bytes.
struct Content {
  uint64_t size_bytes = 0;
  BlobId blob;  // none: all bytes equal `fill`
  uint8_t fill = 0;
  BlobId hash;         // XXH3-128 of the bytes; also when `blob` is not stored (hash-only traces)
  bool stored = true;  // false: only `hash` is known
  std::vector<Relocation> relocations;
  // Of an AllocationBegin: nobody had written the memory since the program got it, and what it held
  // was not looked at. It means nothing; as bytes it reads as zeros.
  bool unwritten = false;
};

// ---- events -------------------------------------------------------------------------------------

// In the order in which the program's calls returned from the recorder. What a field must be is
// said at the same field in format/trace.fbs; the writer refuses the rest.

struct AllocationBegin {
  AllocationId id = 0;
  AllocationKind kind = AllocationKind::kDevice;
  uint64_t recorded_address = 0;  // device address
  uint64_t host_address = 0;      // kHostPinned, kHostRegistered, kManaged: as the host sees
                                  // it; kModuleGlobal: not 0 for a __managed__ variable
  uint64_t size_bytes = 0;        // as requested
  uint64_t mapped_bytes = 0;      // as mapped, 0 when unknown
  uint32_t flags = 0;             // hipHostMalloc / hipHostRegister / hipMallocManaged flags
  StreamId stream = 0;            // kStreamOrdered
  CodeObjectId code_object = 0;   // kModuleGlobal
  std::string symbol;             // kModuleGlobal
  Content initial;                // what the memory held when the program got it
  std::string name = {};          // as the program named it (gfxgraph_name); empty: it did not
  SiteId site = 0;                // of the call that made it; 0: unknown
  uint32_t site_ordinal = 0;      // how many allocations that site made before, recorded or not
  DeviceNumber device = 0;        // whose memory it is
  std::shared_ptr<const ArrayShape> array = nullptr;    // kArray
  std::shared_ptr<const ImageObject> object = nullptr;  // kTexture, kSurface
};

// The end of its life; `freed` false: of what the trace, or a recorded range, says of it.
struct AllocationEnd {
  AllocationId id = 0;
  bool freed = true;
  StreamId stream = 0;  // hipFreeAsync
  Content post;         // the state before it was freed: what --verify compares with
  bool gone = false;    // a graph freed it: no program can read its last contents, and `post` is
                        // not known
};

// The program wrote host-visible memory (pinned, registered, managed) by itself.
struct HostWrite {
  AllocationId allocation = 0;
  uint64_t offset_bytes = 0;
  Content content;
  // A kernel before it may have written these bytes instead: it was given the memory, and had not
  // been seen to end. A replay whose own kernels make the same bytes has shown that they did.
  bool in_doubt = false;
};

struct StreamCreate {
  StreamId id = 0;
  uint32_t flags = 0;
  int32_t priority = 0;
  DeviceNumber device = 0;
};
struct StreamDestroy {
  StreamId id = 0;
};
struct EventCreate {
  EventId id = 0;
  uint32_t flags = 0;
};
struct EventDestroy {
  EventId id = 0;
};
struct EventRecord {
  EventId event = 0;
  StreamId stream = 0;
};
struct StreamWait {
  StreamId stream = 0;
  EventId event = 0;
  uint32_t flags = 0;
};

// What the host knew: everything that stands later in the trace was issued, by any thread, when the
// work that `object` stands for was done. A call that was asked to wait, one that returns only then
// (hipFree), a query that answered "done", a host function that ran. Copies and memsets that block
// say so themselves (`asynchronous` false).
enum class SynchronizeKind : uint8_t {
  kDevice = 0,
  kStream = 1,  // what its next work would follow: of a blocking stream the null stream's, too
  kEvent = 2,
  kHostFunction = 3,
  kStreamItself = 4,  // what it was given, and what that follows; not of the null stream
};
struct Synchronize {
  SynchronizeKind kind = SynchronizeKind::kDevice;
  uint32_t object = 0;
  std::string call = {};  // what told the host; may be empty
};

struct Launch {
  KernelId kernel = 0;
  StreamId stream = 0;
  std::array<uint32_t, 3> grid = {1, 1, 1};            // in workgroups
  std::array<uint32_t, 3> grid_remainder = {0, 0, 0};  // work items of partial workgroups, 0: none
  std::array<uint32_t, 3> block = {1, 1, 1};           // in work items
  uint32_t dynamic_lds_bytes = 0;
  bool cooperative = false;
  std::vector<uint8_t> kernarg;         // the explicit part, padding zeroed
  std::vector<Relocation> relocations;  // offsets into `kernarg`
};

// One end of a copy: an allocation (with an offset), or bytes of the program outside any
// allocation.
struct CopyEnd {
  AllocationId allocation = 0;  // 0: plain host memory
  uint64_t offset_bytes = 0;
  uint64_t pitch_bytes = 0;  // rows of a 2D or 3D copy; 0: linear
  uint64_t slice_bytes = 0;  // slices of a 3D copy; 0: one slice
};

// width x height x depth bytes; linear when height = depth = 1.
struct Copy {
  CopyEnd destination;
  CopyEnd source;
  uint64_t width_bytes = 0;
  uint64_t height = 1;
  uint64_t depth = 1;
  Content host_source;  // what plain host memory held: packed rows, without pitch
  // Of a copy to plain host memory: what the program received. Checked by --verify where stored.
  Content host_result;
  bool asynchronous = false;  // false: the host knew it done when the call returned
  StreamId stream = 0;
  // host_source: HIP knew the memory (pinned, registered or managed). It is not named, as only its
  // bytes count.
  bool source_is_pinned = false;
};

struct Memset {
  AllocationId allocation = 0;
  uint64_t offset_bytes = 0;
  uint64_t pitch_bytes = 0;  // 0: linear
  uint64_t slice_bytes = 0;
  uint32_t element_bytes = 1;  // 1, 2 or 4
  uint32_t value = 0;
  uint64_t width_elements = 0;
  uint64_t height = 1;
  uint64_t depth = 1;
  bool asynchronous = false;
  StreamId stream = 0;
};

// A host function in a stream (hipLaunchHostFunc, hipStreamAddCallback). It cannot be replayed:
// what it wrote to recorded memory are copies from plain host memory before it, in the same stream
// or graph.
struct HostFunction {
  StreamId stream = 0;
  std::string call;
  HostFunctionId id = 0;  // 0: when it ran was not seen; and in graph nodes
};

struct GraphLaunch {
  GraphId graph = 0;
  StreamId stream = 0;
  // The graph's host function nodes, in order, have this id and the next ones; 0: not seen.
  HostFunctionId first_host_function = 0;
};

using RangeId = uint32_t;

enum class MarkerKind : uint8_t { kMark = 0, kRangeBegin = 1, kRangeEnd = 2, kName = 3 };

// Longest name of an allocation.
constexpr size_t kMostNameBytes = 1000;

// What the program said of itself, where it stood at that time. A range holds all events between
// its two markers, of every thread; ranges may nest and overlap, and one that was not ended goes on
// to the end of the trace. A name is that of a live allocation from then on: of several the last
// one counts, also against AllocationBegin::name.
struct Marker {
  std::string text;  // of a range: its name, in both
  MarkerKind kind = MarkerKind::kMark;
  RangeId range = 0;  // of a range: from 1, in the order in which they began
  // Of a beginning: how many ranges of this name the program began before, recorded or not.
  uint32_t ordinal = 0;
  AllocationId allocation = 0;  // of a name
};

// All live allocations' hashes after the event before it (gfxgraph-record --checkpoints): the
// reference of gfxgraph-replay --bisect.
struct Checkpoint {
  struct State {
    AllocationId allocation = 0;
    BlobId hash;
    std::vector<Relocation> relocations;
  };
  std::vector<State> states;
};

using Action = std::variant<AllocationBegin, AllocationEnd, HostWrite, StreamCreate, StreamDestroy,
                            EventCreate, EventDestroy, EventRecord, StreamWait, Synchronize, Launch,
                            Copy, Memset, HostFunction, GraphLaunch, Marker, Checkpoint>;

// Action::index() of one kind.
template <typename Kind, size_t kIndex = 0>
constexpr size_t action_index() {
  if constexpr (std::is_same_v<Kind, std::variant_alternative_t<kIndex, Action>>) {
    return kIndex;
  } else {
    return action_index<Kind, kIndex + 1>();
  }
}

struct Event {
  uint64_t sequence = 0;  // position in the stream, from 0, without gaps
  uint32_t thread = 0;    // the recorded process's threads, numbered from 0 in order of appearance
  uint64_t time_ns = 0;   // since the start of the recording (host clock)
  Action action;
  SiteId site = 0;  // of the call that appended it; 0: unknown
};

// ---- graphs -------------------------------------------------------------------------------------

// An instantiated hipGraph as it stood at a launch; a changed executable graph gets a new id.
struct GraphNode {
  std::variant<std::monostate, Launch, Copy, Memset, HostFunction> action;  // monostate: empty node
  std::vector<uint32_t> dependencies;  // indices of earlier nodes
};

struct Graph {
  GraphId id = 0;
  std::vector<GraphNode> nodes;  // in topological order
};

// ---- findings -----------------------------------------------------------------------------------

// A call that could change device state and was not recorded (kIncomplete: replay refuses unless
// told --allow-incomplete), or something worth knowing (kNote).
enum class FindingKind : uint8_t { kIncomplete = 0, kNote = 1 };
struct Finding {
  FindingKind kind = FindingKind::kIncomplete;
  std::string call;  // "hipMemcpyToArray"
  uint64_t count = 1;
  std::string detail;
};

// ---- call sites ---------------------------------------------------------------------------------

// Where the program's code called HIP: a return address, as the module's ELF file counts addresses,
// which is the same in every run of the same file.
struct Site {
  SiteId id = 0;
  std::string module;    // path of the program or library; redacted: its base name
  std::string build_id;  // hexadecimal; without one "xxh3-" and a hash of the file; may be empty
  std::string symbol;    // the function's name, readable, at most kMostNameBytes; empty: unknown
  uint64_t offset_bytes = 0;
  uint64_t symbol_offset_bytes = 0;
  bool program = false;        // the module is the program, not a library
  bool symbol_unique = false;  // no other function of the module has this symbol
};

// ---- devices ------------------------------------------------------------------------------------

// A device of the program other than device 0. Each has a null stream of its own, which is a stream
// with an id like others; device 0's is 0. A stream's device is the device of its work.
struct Device {
  DeviceNumber number = 0;
  StreamId null_stream = 0;
};
inline constexpr DeviceNumber kMostDevices = 64;

struct Statistics {
  uint64_t events = 0, launches = 0, copies = 0, allocations = 0, kernels = 0, code_objects = 0;
  uint64_t blobs = 0, blob_bytes = 0, stored_blob_bytes = 0;
  uint64_t relocations_typed = 0, relocations_proven = 0, relocations_matched = 0,
           relocations_ambiguous = 0;
};

}  // namespace gfxgraph::format
