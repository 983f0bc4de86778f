// A trace as plain structs: what a recorder writes and every reader gets. docs/format.md
// (container) and format/trace.fbs (payloads) define their encoding; no FlatBuffers type is visible
// outside format/.
//
// Ids: the recorder numbers allocations, kernels, streams, HIP events and graphs from 1, each kind
// separately, and never reuses an id in a trace. 0 means "none" (for a stream: the null stream).
// Addresses are *recorded addresses*: valid only in the recorded process.
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
using DeviceNumber = uint32_t;  // the program's device number

// Identifies a blob: XXH3-128 of its uncompressed bytes. All zero: no blob.
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
  BlobId elf;          // the device's ELF, extracted from its offload bundle
  std::string target;  // "amdgcn-amd-amdhsa--gfx1030"
  // Code that several devices run has one record per device, because its variables differ.
  DeviceNumber device = 0;
  // Not 0: the same code for another target, of a fat program (--all-targets). Kernels and
  // variables name the other one, which was loaded.
  CodeObjectId image_of = 0;
};

// gfxgraph's own numbers, which never change, for the metadata's .value_kind (LLVM AMDGPUUsage,
// "Code Object V3 Metadata"). Append only.
enum class ArgumentKind : uint8_t {
  kByValue = 0,
  kGlobalBuffer = 1,
  kDynamicSharedPointer = 2,  // an LDS offset, never relocated
  kSampler = 3,
  kImage = 4,
  kPipe = 5,
  kQueue = 6,
  kHidden = 7,  // set by the runtime at launch: never stored or relocated
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
  std::string name;                  // as hipModuleGetFunction takes it: mangled, without ".kd"
  uint32_t kernarg_size_bytes = 0;   // with hidden arguments
  uint32_t explicit_size_bytes = 0;  // without hidden arguments
  uint32_t group_segment_bytes = 0;  // static LDS
  uint32_t private_segment_bytes = 0;
  std::vector<Argument> arguments;  // by rising offset
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
  kArray = 6,           // hipMallocArray, hipArray3DCreate, ...: no pointers to it exist
  kTexture = 7,         // hipCreateTextureObject, hipTexObjectCreate: the object at the handle
  kSurface = 8,         // hipCreateSurfaceObject: the object at the handle
};

// Whether it is a texture or surface object, which belongs to the runtime and has no contents of
// the program.
constexpr bool is_image_object(AllocationKind kind) noexcept {
  return kind == AllocationKind::kTexture || kind == AllocationKind::kSurface;
}

// ---- images -------------------------------------------------------------------------------------

// HIP's hipChannelFormatKind. Append only.
enum class TexelKind : uint8_t { kSigned = 0, kUnsigned = 1, kFloat = 2 };

struct TexelFormat {
  std::array<uint8_t, 4> bits = {0, 0, 0, 0};  // of x, y, z, w; 0: no such component
  TexelKind kind = TexelKind::kUnsigned;
  bool operator==(const TexelFormat&) const = default;
  // Whether it is a format of arrays: 1, 2 or 4 components of the same size, 8, 16 or 32 bits.
  // bytes() is then a power of two.
  bool valid() const noexcept;
  uint32_t bytes() const noexcept { return (uint32_t{bits[0]} + bits[1] + bits[2] + bits[3]) / 8; }
};

// The shape of an array. Its contents and offsets into it are in linear order: rows of texels
// without gaps, then slices (depth or layers), regardless of the device's layout.
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

// Bytes that kernels read at a handle: the image descriptor and, for a texture, the sampler
// descriptor.
inline constexpr uint64_t kTextureBytes = 80;
inline constexpr uint64_t kSurfaceBytes = 48;

// Append only.
enum class ImageResource : uint8_t { kArray = 0, kLinear = 1, kPitched = 2 };

// The description that a texture or surface was created from. Numbers without an enum here are
// HIP's.
struct ImageObject {
  ImageResource resource = ImageResource::kArray;
  AllocationId allocation = 0;  // an array, or linear memory
  // For linear memory.
  uint64_t offset_bytes = 0;
  TexelFormat format;
  uint64_t size_bytes = 0;         // kLinear
  uint64_t width = 0, height = 0;  // kPitched; texels
  uint64_t pitch_bytes = 0;        // kPitched
  // For a texture (hipTextureDesc).
  std::array<uint8_t, 3> address_mode = {0, 0, 0};
  uint8_t filter = 0;
  uint8_t read_mode = 0;
  uint8_t srgb = 0;
  uint8_t normalized = 0;
  uint8_t mip_filter = 0;
  uint32_t max_anisotropy = 0;
  std::array<float, 4> border = {0, 0, 0, 0};
  float mip_bias = 0, mip_least = 0, mip_most = 0;
  // The view (hipResourceViewDesc), if any.
  bool has_view = false;
  uint32_t view_format = 0;
  uint64_t view_width = 0, view_height = 0, view_depth = 0;
  uint32_t first_level = 0, last_level = 0, first_layer = 0, last_layer = 0;
};

// Why a word is relocated, most reliable reason first (docs/architecture.md). Append only.
enum class RelocationSource : uint8_t {
  kTyped = 0,    // the metadata says global_buffer
  kProven = 1,   // in the emulator the word reached an address operand
  kMatched = 2,  // the value is an address in a live allocation: a likely pointer
};

// A typed pointer outside every live allocation was computed from a nearby one. If the nearest is
// `distance` bytes away, all within outside_reach(distance) bytes are candidates; if it is farther
// than kOutsideMostBytes, nothing is known. Part of the format: see Relocation::outside.
constexpr uint64_t kOutsideMostBytes = UINT64_C(1) << 30;
constexpr uint64_t outside_reach(uint64_t distance) {
  return distance < 4096 ? 65536 : 16 * distance;
}

// The 8-byte little-endian word at `offset_bytes` is the allocation's address + addend, modulo
// 2^64.
struct Relocation {
  uint64_t offset_bytes = 0;  // in the kernarg segment, or in the content
  AllocationId allocation = 0;
  // From 0 to the allocation's size, the larger of requested and mapped (one past the end is
  // valid). If `outside`: negative, or beyond the end.
  int64_t addend = 0;
  RelocationSource source = RelocationSource::kMatched;
  // A matched word whose value is the only sign of a pointer (an 8-byte scalar argument, an
  // unaligned target). Replay relocates it like the others, but reports it.
  bool ambiguous = false;
  // The word points outside its allocation. Typed: for example `x - 2048`, which the kernel indexes
  // from 2048; `allocation` is the nearest live one. A replay must move all live allocations within
  // outside_reach() of the word by the same distance, because the word may have been computed from
  // any of them. Matched: a tagged pointer, whose upper 16 bits are not part of the address.
  bool outside = false;
  bool operator==(const Relocation&) const = default;
};

// Bytes and the pointers in them. The bytes are `blob`, or `fill` repeated if there is no blob.
struct Content {
  uint64_t size_bytes = 0;
  BlobId blob;  // none: all bytes equal `fill`
  uint8_t fill = 0;
  BlobId hash;         // XXH3-128 of the bytes; also when `blob` is not stored (hash-only traces)
  bool stored = true;  // false: only `hash` is known
  std::vector<Relocation> relocations;
  // Only in an AllocationBegin: nobody had written the memory since it was allocated, and its
  // contents were not read. They are indeterminate; readers get zeros.
  bool unwritten = false;
};

// ---- events -------------------------------------------------------------------------------------

// In the order in which the program's calls returned from the recorder. format/trace.fbs has the
// rules for each field; the writer rejects items that break them.

struct AllocationBegin {
  AllocationId id = 0;
  AllocationKind kind = AllocationKind::kDevice;
  uint64_t recorded_address = 0;  // device address
  uint64_t host_address = 0;      // kHostPinned, kHostRegistered, kManaged: the host's address;
                                  // kModuleGlobal: not 0 for a __managed__ variable
  uint64_t size_bytes = 0;        // as requested
  uint64_t mapped_bytes = 0;      // as mapped; 0: unknown
  uint32_t flags = 0;             // hipHostMalloc / hipHostRegister / hipMallocManaged flags
  StreamId stream = 0;            // kStreamOrdered
  CodeObjectId code_object = 0;   // kModuleGlobal
  std::string symbol;             // kModuleGlobal
  Content initial;                // contents when the program got the memory
  std::string name = {};          // given by the program (gfxgraph_name); may be empty
  SiteId site = 0;                // of the allocating call; 0: unknown
  uint32_t site_ordinal = 0;      // number of earlier allocations by that site, recorded or not
  DeviceNumber device = 0;        // whose memory it is
  std::shared_ptr<const ArrayShape> array = nullptr;    // kArray
  std::shared_ptr<const ImageObject> object = nullptr;  // kTexture, kSurface
};

// Whether the program's own threads can read and write it.
inline bool host_visible(const AllocationBegin& begin) noexcept {
  switch (begin.kind) {
    case AllocationKind::kManaged:
    case AllocationKind::kHostPinned:
    case AllocationKind::kHostRegistered: return true;
    case AllocationKind::kModuleGlobal: return begin.host_address != 0;
    default: return false;
  }
}

// The end of an allocation. `freed` false: it is alive at the end of the trace or of a recorded
// range.
struct AllocationEnd {
  AllocationId id = 0;
  bool freed = true;
  StreamId stream = 0;  // hipFreeAsync
  Content post;         // final contents, before the free: the reference for --verify
  bool gone = false;    // a graph freed it: the final contents could not be read, `post` is unknown
};

// The program's own write to host-visible memory (pinned, registered, managed).
struct HostWrite {
  AllocationId allocation = 0;
  uint64_t offset_bytes = 0;
  Content content;
  // An earlier kernel may have written these bytes instead: it had the memory's address and was not
  // known to have finished. If the kernels produce the same bytes in a replay, they did.
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

// What the host knew: all later events of the trace, of any thread, were issued after the work of
// `object` had finished. Recorded for calls that wait, calls that return only then (hipFree),
// queries that returned "done", and host functions that ran. Blocking copies and memsets have
// `asynchronous` false instead.
enum class SynchronizeKind : uint8_t {
  kDevice = 0,
  // All that the stream's next work would follow: for a blocking stream, also the null stream's.
  kStream = 1,
  kEvent = 2,
  kHostFunction = 3,
  kStreamItself = 4,  // its own work and what that follows; not for the null stream
};
struct Synchronize {
  SynchronizeKind kind = SynchronizeKind::kDevice;
  uint32_t object = 0;
  std::string call = {};  // the HIP call; may be empty
};

struct Launch {
  KernelId kernel = 0;
  StreamId stream = 0;
  std::array<uint32_t, 3> grid = {1, 1, 1};            // in workgroups
  std::array<uint32_t, 3> grid_remainder = {0, 0, 0};  // work items of partial workgroups; 0: none
  std::array<uint32_t, 3> block = {1, 1, 1};           // in work items
  uint32_t dynamic_lds_bytes = 0;
  bool cooperative = false;
  std::vector<uint8_t> kernarg;         // explicit arguments, padding zeroed
  std::vector<Relocation> relocations;  // offsets into `kernarg`
};

// Source or destination of a copy: a place in an allocation, or the program's memory outside all
// allocations.
struct CopyEnd {
  AllocationId allocation = 0;  // 0: plain host memory
  uint64_t offset_bytes = 0;
  uint64_t pitch_bytes = 0;  // of a 2D or 3D copy; 0: linear
  uint64_t slice_bytes = 0;  // of a 3D copy; 0: one slice
};

// Copies width x height x depth bytes; linear if height = depth = 1.
struct Copy {
  CopyEnd destination;
  CopyEnd source;
  uint64_t width_bytes = 0;
  uint64_t height = 1;
  uint64_t depth = 1;
  Content host_source;  // bytes from plain host memory: packed rows, without pitch
  // For a copy to plain host memory: the bytes that the program received. --verify checks them if
  // they are stored.
  Content host_result;
  bool asynchronous = false;  // false: the copy had finished when the call returned
  StreamId stream = 0;
  // `host_source` was in memory known to HIP (pinned, registered or managed). The trace does not
  // name it, because only its bytes matter.
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

// A host function in a stream (hipLaunchHostFunc, hipStreamAddCallback). Replay cannot call it: its
// writes to recorded memory are recorded before it as copies from plain host memory, in the same
// stream or graph.
struct HostFunction {
  StreamId stream = 0;
  std::string call;
  HostFunctionId id = 0;  // 0: it is unknown when it ran; always 0 in graph nodes
};

struct GraphLaunch {
  GraphId graph = 0;
  StreamId stream = 0;
  // The id of the graph's first host function node; the others have the next ids, in order. 0: it
  // is unknown when they ran.
  HostFunctionId first_host_function = 0;
};

using RangeId = uint32_t;

enum class MarkerKind : uint8_t { kMark = 0, kRangeBegin = 1, kRangeEnd = 2, kName = 3 };

// Maximum length of an allocation's name.
constexpr size_t kMostNameBytes = 1000;

// A mark, range or name set by the program (roctx, gfxgraph/record.h). A range contains all events
// of every thread between its two markers; ranges may nest and overlap, and one that was not ended
// extends to the end of the trace. A name applies to a live allocation from then on, and replaces
// earlier names and AllocationBegin::name.
struct Marker {
  std::string text;  // of a range: its name, in both markers
  MarkerKind kind = MarkerKind::kMark;
  RangeId range = 0;  // of a range: from 1, in order of beginning
  // kRangeBegin: number of earlier ranges with this name, recorded or not.
  uint32_t ordinal = 0;
  AllocationId allocation = 0;  // kName
};

// The hashes of all live allocations after the preceding event (gfxgraph-record --checkpoints): the
// reference for gfxgraph-replay --bisect.
struct Checkpoint {
  struct State {
    AllocationId allocation = 0;
    BlobId hash;
    std::vector<Relocation> relocations;
  };
  std::vector<State> states;
};

// A HIP call that failed, or that HIP accepted although its arguments leave the memory that they
// name. It stands in place of what the call would have done, or beside it; a replay skips it.
struct CallFault {
  std::string call;   // "hipMemcpy"
  std::string error;  // HIP's name: "hipErrorInvalidValue"; empty: HIP accepted the call
  // The memory that the arguments of a copy, memset or free lead to, also if it has ended; 0: none,
  // or they are right.
  AllocationId allocation = 0;
  uint64_t offset_bytes = 0;  // of the first byte
  uint64_t size_bytes = 0;    // from there to the last byte; 0: a free
  bool write = false;
};

using Action = std::variant<AllocationBegin, AllocationEnd, HostWrite, StreamCreate, StreamDestroy,
                            EventCreate, EventDestroy, EventRecord, StreamWait, Synchronize, Launch,
                            Copy, Memset, HostFunction, GraphLaunch, Marker, Checkpoint, CallFault>;

// The Action::index() of a kind.
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
  uint32_t thread = 0;    // the recorded process's threads, numbered from 0 as they appear
  uint64_t time_ns = 0;   // since the start of the recording (host clock)
  Action action;
  SiteId site = 0;  // of the HIP call; 0: unknown
};

// ---- graphs -------------------------------------------------------------------------------------

// An instantiated hipGraph as it was at a launch. If the program changes the executable graph, it
// gets a new id.
struct GraphNode {
  std::variant<std::monostate, Launch, Copy, Memset, HostFunction> action;  // monostate: empty node
  std::vector<uint32_t> dependencies;  // indices of earlier nodes
};

struct Graph {
  GraphId id = 0;
  std::vector<GraphNode> nodes;  // in topological order
};

// ---- findings -----------------------------------------------------------------------------------

// kIncomplete: a call that could change device state was not recorded, and replay rejects the trace
// without --allow-incomplete. kNote: information.
enum class FindingKind : uint8_t { kIncomplete = 0, kNote = 1 };
struct Finding {
  FindingKind kind = FindingKind::kIncomplete;
  std::string call;  // "hipMemcpyToArray"
  uint64_t count = 1;
  std::string detail;
};

// ---- call sites ---------------------------------------------------------------------------------

// Where the program called HIP: a return address as an ELF virtual address of its module, which is
// the same in every run of the same file; or the line of interpreted code (Python), whose file is
// the module.
struct Site {
  SiteId id = 0;
  std::string module;    // path of the program or library; if redacted, its base name
  std::string build_id;  // hexadecimal, or "xxh3-" and a hash of the file; may be empty
  std::string symbol;    // the function's demangled name, at most kMostNameBytes; empty: unknown
  uint64_t offset_bytes = 0;
  uint64_t symbol_offset_bytes = 0;
  bool program = false;        // the module is the program, not a library
  bool symbol_unique = false;  // no other function of the module has this symbol
  uint32_t line = 0;  // of interpreted code, and then offset_bytes as well; 0: machine code
  // Of interpreted code: the machine code that called HIP beneath this line, a smaller id; 0: only
  // what calls for the interpreter (libffi), which is the same for all calls.
  SiteId caller = 0;
};

// ---- devices ------------------------------------------------------------------------------------

// A device of the program other than device 0. Each has its own null stream, with a stream id like
// any other; the null stream of device 0 is 0. The work of a stream runs on the stream's device.
struct Device {
  DeviceNumber number = 0;
  StreamId null_stream = 0;
};
inline constexpr DeviceNumber kMostDevices = 64;

// Counts of a whole trace; the rules of each field are at Summary in format/trace.fbs.
struct Statistics {
  uint64_t events = 0, launches = 0, copies = 0, allocations = 0, kernels = 0, code_objects = 0;
  uint64_t blobs = 0, blob_bytes = 0, stored_blob_bytes = 0;
  uint64_t relocations_typed = 0, relocations_proven = 0, relocations_matched = 0,
           relocations_ambiguous = 0;
};

}  // namespace gfxgraph::format
