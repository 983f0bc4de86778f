#include "emulator/engine/launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "emulator/engine/code/code_cache.h"
#include "emulator/engine/executable.h"

namespace gfxgraph::emulator {
namespace {

constexpr uint32_t kMaxWorkgroupItems = 1024;
constexpr uint64_t kMaxScratchLaneBytes = 1 << 20;
// Capacity of a board with 72 compute units (36 workgroup processors). Source: RDNA2 ISA guide
// "Work-group processor": 4 SIMDs of 16 waves, 128 KB of LDS.
constexpr uint32_t kWorkgroupProcessors = 36;
constexpr uint32_t kProcessorWaves = 64;
constexpr uint32_t kProcessorLdsBytes = 131072;

// AMDGPUUsage, kernel_code_properties.
enum Property : uint32_t {
  kPrivateSegmentBuffer = 1,
  kDispatchPtr = 2,
  kQueuePtr = 4,
  kKernargPtr = 8,
  kDispatchId = 16,
  kFlatScratchInit = 32,
  kPrivateSegmentSize = 64,
};

tl::unexpected<Fault> refuse(FaultKind kind, const Dispatch& dispatch, std::string text) {
  Fault fault;
  fault.kind = kind;
  fault.address = dispatch.kernel_object;
  fault.detail = std::move(text);
  return tl::unexpected<Fault>(std::move(fault));
}

// Source: AMDGPUUsage "Kernel Descriptor" (COMPUTE_PGM_RSRC1: float modes 12..19, DX10_CLAMP 21,
// IEEE 23).
uint32_t mode_of(uint32_t rsrc1) {
  return (rsrc1 >> 12 & 0xff) | (rsrc1 >> 21 & 1) << 8 | (rsrc1 >> 23 & 1) << 9;
}

tl::expected<void, Fault> check_shape(const Dispatch& d) {
  uint64_t items = 1;
  for (int n = 0; n < 3; ++n) {
    if (d.grid_size[n] == 0 || d.workgroup_size[n] == 0)
      return refuse(FaultKind::kBadDispatch, d,
                    fmt::format("grid size {} or workgroup size {} in dimension {} is zero",
                                d.grid_size[n], d.workgroup_size[n], n));
    items *= d.workgroup_size[n];
  }
  if (items > kMaxWorkgroupItems)
    return refuse(FaultKind::kBadDispatch, d,
                  fmt::format("a workgroup of {} work items; gfx1030 has at most {}", items,
                              kMaxWorkgroupItems));
  return {};
}

tl::expected<void, Fault> check_descriptor(const Launch& launch) {
  const auto& k = launch.descriptor;
  const Dispatch& d = launch.dispatch;
  if (std::string why = why_refused(k); !why.empty())
    return refuse(FaultKind::kBadDispatch, d, std::move(why));
  if (std::string wrong = k.gfx10_error(); !wrong.empty())
    return refuse(FaultKind::kBadDispatch, d, std::move(wrong));
  if (launch.lds_bytes > kMaxLdsBytes)
    return refuse(FaultKind::kBadDispatch, d,
                  fmt::format("{} bytes of LDS ({}); gfx1030 has {}", launch.lds_bytes,
                              d.group_segment_bytes >= k.group_segment_bytes
                                  ? "the packet's group_segment_size"
                                  : "the descriptor's group_segment_fixed_size",
                              kMaxLdsBytes));
  if (launch.scratch_lane_bytes > kMaxScratchLaneBytes)
    return refuse(FaultKind::kBadDispatch, d,
                  fmt::format("{} bytes of scratch per work item ({}); at most {} are supported",
                              launch.scratch_lane_bytes,
                              d.private_segment_bytes >= k.private_segment_bytes
                                  ? "the packet's private_segment_size"
                                  : "the descriptor's private_segment_fixed_size",
                              kMaxScratchLaneBytes));
  if ((k.kernel_code_properties & kDispatchPtr) && d.packet_address == 0)
    return refuse(FaultKind::kBadDispatch, d,
                  "the kernel reads its dispatch packet, but there is none");
  if ((k.kernel_code_properties & kQueuePtr) && d.queue_address == 0)
    return refuse(FaultKind::kBadDispatch, d, "the kernel reads its queue, but there is none");
  return {};
}

// Workgroups that wait for each other must all be resident. Registers are not checked: the runtime
// already did, and waves that lack some behave the same here.
tl::expected<void, Fault> check_cooperative(const Launch& launch) {
  uint32_t per_processor = kProcessorWaves / launch.max_waves;
  if (launch.lds_bytes != 0)
    per_processor = std::min(per_processor, kProcessorLdsBytes / launch.lds_bytes);
  const uint32_t most = kWorkgroupProcessors * per_processor;
  if (launch.group_count <= most) return {};
  return refuse(FaultKind::kBadDispatch, launch.dispatch,
                fmt::format("a cooperative launch of {} workgroups of {} waves and {} bytes of "
                            "LDS; at most {} of them run at the same time",
                            launch.group_count, launch.max_waves, launch.lds_bytes, most));
}

// The buffer resource in s0..s3 that addresses scratch: swizzled, add_tid, index stride 32.
// Source: RDNA2 ISA guide "Buffer Resource"; AMDGPUUsage "Private Segment Buffer".
std::array<uint32_t, 4> scratch_srd(const Launch& launch) {
  const uint64_t base = kScratchWindow;
  const uint64_t bytes = launch.scratch_wave_bytes * launch.max_waves;
  const uint32_t index_stride = launch.lanes == 64 ? 3 : 2;
  const uint32_t records = static_cast<uint32_t>(std::min<uint64_t>(bytes, UINT32_MAX));
  // DST_SEL xyzw, format 32_UINT, INDEX_STRIDE (3: 64, 2: 32), ADD_TID, RESOURCE_LEVEL,
  // OOB_SELECT 2.
  const uint32_t word3 = 4u | 5u << 3 | 6u << 6 | 7u << 9 | 20u << 12 | index_stride << 21 |
                         1u << 23 | 1u << 24 | 2u << 28;
  return {static_cast<uint32_t>(base), static_cast<uint32_t>(base >> 32) | 1u << 31,
          std::max(records, 1u), word3};
}

}  // namespace

tl::expected<Launch, Fault> prepare_launch(const Dispatch& dispatch, MemoryMap& memory,
                                           CodeCaches& code, CodeCaches& code64) {
  Launch launch;
  launch.dispatch = dispatch;
  if (auto ok = check_shape(dispatch); !ok) return tl::unexpected<Fault>(std::move(ok.error()));
  const auto table = memory.snapshot();
  const Region* region = table->find(dispatch.kernel_object);
  if (region == nullptr || !region->contains(dispatch.kernel_object, 64))
    return refuse(
        FaultKind::kBadDispatch, dispatch,
        fmt::format("the kernel object {:#x} is not the device address of a kernel descriptor",
                    dispatch.kernel_object));
  auto descriptor =
      codeobj::decode_descriptor({region->host + (dispatch.kernel_object - region->address), 64});
  if (!descriptor) return refuse(FaultKind::kBadDispatch, dispatch, descriptor.error().message);
  launch.descriptor = *descriptor;
  launch.lanes = descriptor->wave32() ? 32 : 64;
  launch.code = launch.lanes == 64 ? &code64 : &code;
  launch.mode = mode_of(descriptor->compute_pgm_rsrc1);
  CodeCache& cache =
      launch.mode == kDefaultMode ? launch.code->default_mode : launch.code->any_mode;
  launch.entry =
      cache.at(dispatch.kernel_object + static_cast<uint64_t>(descriptor->entry_offset_bytes));
  if (launch.entry == nullptr)
    return refuse(FaultKind::kBadDispatch, dispatch,
                  fmt::format("the descriptor's kernel_code_entry_byte_offset {} is not a valid "
                              "code entry: it must be a multiple of 4 and point into memory",
                              descriptor->entry_offset_bytes));
  unsigned __int128 count = 1;
  for (int n = 0; n < 3; ++n) {
    const uint64_t size = dispatch.workgroup_size[n];
    launch.groups[n] = static_cast<uint32_t>((dispatch.grid_size[n] + size - 1) / size);
    count *= launch.groups[n];
  }
  if (count > UINT64_MAX)
    return refuse(FaultKind::kBadDispatch, dispatch, "more than 2^64 workgroups");
  launch.group_count = static_cast<uint64_t>(count);
  const uint32_t items = uint32_t{dispatch.workgroup_size[0]} * dispatch.workgroup_size[1] *
                         dispatch.workgroup_size[2];
  launch.max_waves = (items + launch.lanes - 1) / launch.lanes;
  launch.lds_bytes = std::max(dispatch.group_segment_bytes, descriptor->group_segment_bytes);
  launch.scratch_lane_bytes =
      std::max(dispatch.private_segment_bytes, descriptor->private_segment_bytes);
  // The hardware allocates scratch in units of 1 KB per wave.
  launch.scratch_wave_bytes =
      (uint64_t{launch.scratch_lane_bytes} * launch.lanes + 1023) / 1024 * 1024;
  launch.vgprs = std::min(descriptor->vgpr_count(launch.lanes == 32), 256u);
  if (auto ok = check_descriptor(launch); !ok) return tl::unexpected<Fault>(std::move(ok.error()));
  launch.lds_requested = launch.lds_bytes;
  launch.lds_bytes = (launch.lds_bytes + 511) / 512 * 512;  // allocation granule
  if (dispatch.cooperative)
    if (auto ok = check_cooperative(launch); !ok)
      return tl::unexpected<Fault>(std::move(ok.error()));
  return launch;
}

GroupShape group_shape(const Launch& launch, uint64_t index) {
  GroupShape shape;
  shape.id[0] = static_cast<uint32_t>(index % launch.groups[0]);
  shape.id[1] = static_cast<uint32_t>(index / launch.groups[0] % launch.groups[1]);
  shape.id[2] = static_cast<uint32_t>(index / launch.groups[0] / launch.groups[1]);
  shape.item_count = 1;
  for (int n = 0; n < 3; ++n) {
    const uint32_t size = launch.dispatch.workgroup_size[n];
    const uint64_t left = launch.dispatch.grid_size[n] - uint64_t{shape.id[n]} * size;
    shape.items[n] = static_cast<uint32_t>(std::min<uint64_t>(size, left));
    shape.item_count *= shape.items[n];
  }
  shape.wave_count = (shape.item_count + launch.lanes - 1) / launch.lanes;
  return shape;
}

namespace {

// Work item ids of `lanes` items from linear item number `first`: x, plus y and z if enabled.
void write_item_ids(const GroupShape& shape, uint32_t first, uint32_t lanes, uint32_t ids,
                    Row* vgpr) {
  const uint32_t width = shape.items[0];
  uint32_t x = first % width;
  if (x + lanes <= width) {
    for (unsigned l = 0; l < kLanes; ++l) vgpr[0].lane[l] = l < lanes ? x + l : 0;
    if (ids == 1 || first < width) return;
  }
  const uint32_t height = shape.items[1];
  uint32_t y = first / width % height;
  uint32_t z = first / width / height;
  for (unsigned l = 0; l < lanes; ++l) {
    vgpr[0].lane[l] = x;
    if (ids > 1) vgpr[1].lane[l] = y;
    if (ids > 2) vgpr[2].lane[l] = z;
    if (++x < width) continue;
    x = 0;
    if (++y < height) continue;
    y = 0;
    ++z;
  }
}

// Starts 32 lanes, from work item `first_item`.
void start_lanes(const Launch& launch, const GroupShape& shape, Wave& wave, uint32_t first_item,
                 uint32_t ids) {
  const uint32_t left = shape.item_count > first_item ? shape.item_count - first_item : 0;
  const uint32_t lanes = std::min(left, kLanes);
  wave.launched_lanes = lanes == kLanes ? ~0u : (1u << lanes) - 1;
  if (lanes == kLanes) {
    wave.sgpr[operand::kExecLo] = ~0u;
    std::memset(&wave.exec_mask, 0xff, sizeof(wave.exec_mask));
  } else {
    wave.set_exec(wave.launched_lanes);
  }
  // Deterministic contents for registers that a correct kernel does not read.
  std::memset(wave.vgpr, 0, launch.vgprs * sizeof(Row));
  write_item_ids(shape, first_item, lanes, ids, wave.vgpr);
}

// Copies the state that the upper half of a wave64 shares with the lower half.
void start_upper(Wave& wave) {
  Wave& upper = *wave.upper;
  std::memset(upper.sgpr, 0, sizeof(upper.sgpr));
  upper.upper = nullptr;
  upper.first_lane = kLanes;
  upper.mode = wave.mode;
  upper.flat_scratch[0] = upper.flat_scratch[1] = 0;
  upper.scratch_base = wave.scratch_base;
  upper.scratch_bytes = wave.scratch_bytes;
  upper.scratch = wave.scratch;
  upper.scratch_row = wave.scratch_row;
  upper.group = wave.group;
  upper.dispatch = wave.dispatch;
  upper.code_cache = wave.code_cache;
  upper.observer = wave.observer;
  upper.index = wave.index;
}

}  // namespace

uint32_t initialised_vgprs(const codeobj::KernelDescriptor& descriptor) {
  return std::min(descriptor.compute_pgm_rsrc2 >> 11 & 3, 2u) + 1;
}

uint32_t initialised_sgprs(const codeobj::KernelDescriptor& descriptor) {
  const uint32_t rsrc2 = descriptor.compute_pgm_rsrc2;
  // Workgroup ids and the workgroup's size; the scratch wave offset.
  return descriptor.user_sgpr_count() + static_cast<uint32_t>(std::popcount(rsrc2 >> 7 & 15)) +
         (rsrc2 & 1);
}

WaveInfo start_wave(const Launch& launch, const GroupShape& shape, Wave& wave) {
  const auto& k = launch.descriptor;
  const Dispatch& d = launch.dispatch;
  std::memset(wave.sgpr, 0, sizeof(wave.sgpr));
  wave.scc = 0;
  wave.mode = launch.mode;
  wave.code_cache =
      launch.mode == kDefaultMode ? &launch.code->default_mode : &launch.code->any_mode;
  wave.trap_status = 0;
  wave.flat_scratch[0] = wave.flat_scratch[1] = 0;
  wave.clock_now = 0;
  wave.read_clock = false;
  wave.first_lane = 0;
  wave.scratch_row = launch.lanes * 4;
  wave.gws_waits = false;
  wave.hw_id = wave.index;
  wave.resume = launch.entry;

  uint32_t n = 0;
  const auto put = [&](uint32_t value) { wave.sgpr[n++] = value; };
  const auto put64 = [&](uint64_t value) {
    put(static_cast<uint32_t>(value));
    put(static_cast<uint32_t>(value >> 32));
  };
  const uint32_t properties = k.kernel_code_properties;
  if (properties & kPrivateSegmentBuffer)
    for (const uint32_t word : scratch_srd(launch)) put(word);
  if (properties & kDispatchPtr) put64(d.packet_address);
  if (properties & kQueuePtr) put64(d.queue_address);
  if (properties & kKernargPtr) put64(d.kernarg_address);
  if (properties & kDispatchId) put64(d.dispatch_id);
  if (properties & kFlatScratchInit) put64(kScratchWindow);
  if (properties & kPrivateSegmentSize) put(launch.scratch_lane_bytes);
  n = k.user_sgpr_count();
  const uint32_t rsrc2 = k.compute_pgm_rsrc2;
  for (int dimension = 0; dimension < 3; ++dimension)
    if (rsrc2 >> (7 + dimension) & 1) put(shape.id[dimension]);
  if (rsrc2 >> 10 & 1) put(shape.wave_count | static_cast<uint32_t>(wave.index == 0) << 31);
  if (rsrc2 & 1) put(static_cast<uint32_t>(wave.scratch_base - kScratchWindow));

  const uint32_t ids = initialised_vgprs(k);
  const uint32_t first_item = wave.index * launch.lanes;
  start_lanes(launch, shape, wave, first_item, ids);
  if (wave.upper != nullptr) {
    start_upper(wave);
    start_lanes(launch, shape, *wave.upper, first_item + kLanes, ids);
    wave.sgpr[operand::kExecHi] = wave.upper->exec();
  }
  WaveInfo info;
  info.workgroup = shape.id;
  info.wave = wave.index;
  info.launched_lanes = wave.launched_lanes;
  info.initialised_sgprs = initialised_sgprs(k);
  info.initialised_vgprs = ids;
  info.vgprs = launch.vgprs;
  return info;
}

std::string why_refused(const codeobj::KernelDescriptor& descriptor) {
  // AMDGPUUsage: COMPUTE_PGM_RSRC1 bit 26, FP16_OVFL.
  if ((descriptor.compute_pgm_rsrc1 >> 26 & 1) != 0)
    return "float mode FP16_OVFL (binary16 results that overflow become the largest number): "
           "compile without it";
  // COMPUTE_PGM_RSRC2 bits 24..30.
  if ((descriptor.compute_pgm_rsrc2 >> 24 & 0x7f) != 0)
    return "floating-point exceptions that trap (the descriptor's ENABLE_EXCEPTION_...): compile "
           "without them";
  // COMPUTE_PGM_RSRC3 of GFX10, bits 0..3.
  if ((descriptor.compute_pgm_rsrc3 & 15) != 0)
    return "VGPRs that the halves of a wave64 share (the descriptor's SHARED_VGPR_COUNT): compile "
           "without them";
  return {};
}

}  // namespace gfxgraph::emulator
