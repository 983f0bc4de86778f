#include "device.h"

#include <sched.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

namespace random_programs {

// kernels.hip
const void* global_symbol(Global global);
void launch_fill(uint32_t grid, uint32_t block, hipStream_t stream, uint32_t* d, uint32_t n,
                 uint32_t a, uint32_t spin);

namespace {

constexpr const char* kGlobalNames[] = {
#define RANDOM_GLOBAL(name, type, elements, initial) #name,
#include "kernels/globals.inc"
#undef RANDOM_GLOBAL
};

void run_callback(hipStream_t, hipError_t, void* data) { run_host_call(data); }

// Asks until the answer is another one than "not ready".
template <typename Call>
void ask(const char* name, const Call& call) {
  while (true) {
    const hipError_t result = [&] {
      const auto held = apart();
      return call();
    }();
    if (result != hipErrorNotReady) return check(result, name);
    sched_yield();
  }
}

hipPitchedPtr pitched(const Side& side, const Work& work, const Memory& memory) {
  const uint64_t pitch = side.pitch == 0 ? work.shape.width : side.pitch;
  const uint64_t rows = side.slice == 0 ? work.shape.height : side.slice / pitch;
  return make_hipPitchedPtr(side_address(side, memory), pitch, work.shape.width, rows);
}

}  // namespace

void run_host_call(void* data) {
  auto* call = static_cast<HostCall*>(data);
  if (call->to != nullptr) host_function(call->to, call->from, call->size, call->a);
  call->done.store(true, std::memory_order_release);
}

hipMemcpy3DParms parameters_3d(const Work& work, const Memory& memory) {
  hipMemcpy3DParms parameters = {};
  parameters.srcPtr = pitched(work.from, work, memory);
  parameters.dstPtr = pitched(work.to, work, memory);
  parameters.extent = make_hipExtent(work.shape.width, work.shape.height, work.shape.depth);
  parameters.kind = direction(work, memory);
  return parameters;
}

hipMemsetParams memset_parameters(const Work& work, const Memory& memory) {
  hipMemsetParams parameters = {};
  parameters.dst = side_address(work.to, memory);
  parameters.elementSize = work.element;
  parameters.value = work.value;
  parameters.width = work.shape.width / work.element;
  parameters.height = work.shape.height;
  parameters.pitch = work.to.pitch == 0 ? work.shape.width : work.to.pitch;
  return parameters;
}

uint8_t* side_address(const Side& side, const Memory& memory) {
  const Region& region = memory.at(side.ref.region);
  return (host_side(region.kind) ? region.host : region.device) + side.ref.offset;
}

hipMemcpyKind direction(const Work& work, const Memory& memory) {
  const bool from_host = host_side(memory.at(work.from.ref.region).kind);
  const bool to_host = host_side(memory.at(work.to.ref.region).kind);
  if (from_host) return to_host ? hipMemcpyHostToHost : hipMemcpyHostToDevice;
  return to_host ? hipMemcpyDeviceToHost : hipMemcpyDeviceToDevice;
}

void check(hipError_t result, const char* call) {
  if (result != hipSuccess) throw Failure(text("%s: %s", call, hipGetErrorName(result)));
}

bool host_side(Kind kind) {
  return kind == Kind::kPinned || kind == Kind::kRegistered || kind == Kind::kPageable;
}

void Device::allocate(Region& region, uint32_t variant) {
  const auto fake = reinterpret_cast<uint8_t*>(static_cast<uint64_t>(region.id + 1) << 32);
  const bool host = host_side(region.kind) || region.kind == Kind::kManaged;
  if (dry_) {
    region.host = host ? fake : nullptr;
    region.device = region.kind == Kind::kPageable ? nullptr : fake;
    return;
  }
  void* pointer = nullptr;
  switch (region.kind) {
    case Kind::kDevice:
      HIP(hipMalloc(&pointer, region.size));
      region.device = static_cast<uint8_t*>(pointer);
      return;
    case Kind::kPool:
      HIP(hipMallocAsync(&pointer, region.size, stream(static_cast<int>(variant))));
      region.device = static_cast<uint8_t*>(pointer);
      return;
    case Kind::kManaged:
      HIP(hipMallocManaged(&pointer, region.size, hipMemAttachGlobal));
      region.device = region.host = static_cast<uint8_t*>(pointer);
      return;
    case Kind::kPinned:
      HIP(hipHostMalloc(&pointer, region.size,
                        (variant % 2 == 0 ? hipHostMallocDefault : hipHostMallocMapped) |
                            (devices_ > 1 ? hipHostMallocPortable : 0)));
      region.host = static_cast<uint8_t*>(pointer);
      HIP(hipHostGetDevicePointer(&pointer, pointer, 0));
      region.device = static_cast<uint8_t*>(pointer);
      return;
    case Kind::kRegistered:
      region.host =
          static_cast<uint8_t*>(std::aligned_alloc(4096, (region.size + 4095) / 4096 * 4096));
      HIP(hipHostRegister(region.host, region.size,
                          devices_ > 1 ? hipHostRegisterPortable : hipHostRegisterDefault));
      HIP(hipHostGetDevicePointer(&pointer, region.host, 0));
      if (host_addresses_ && variant % 2 == 0) pointer = region.host;
      region.device = static_cast<uint8_t*>(pointer);
      return;
    case Kind::kPageable: region.host = static_cast<uint8_t*>(std::malloc(region.size)); return;
    case Kind::kGlobal: return find_global(region);
    case Kind::kArray: return create_array(region, variant);
    case Kind::kTexture:
    case Kind::kSurface: return;
  }
}

void Device::release(Region& region) {
  switch (region.kind) {
    case Kind::kDevice:
    case Kind::kManaged: HIP(hipFree(region.device)); break;
    case Kind::kPinned: HIP(hipHostFree(region.host)); break;
    case Kind::kRegistered:
      HIP(hipHostUnregister(region.host));
      if (!dry_) std::free(region.host);
      break;
    case Kind::kPageable:
      if (!dry_) std::free(region.host);
      break;
    case Kind::kArray:
    case Kind::kTexture:
    case Kind::kSurface: destroy_image(region); break;
    case Kind::kPool:
    case Kind::kGlobal: break;
  }
}

void Device::find_global(Region& region) {
  const auto symbol = static_cast<size_t>(region.symbol);
  if (dry_) {
    region.device = reinterpret_cast<uint8_t*>(static_cast<uint64_t>(region.id + 1) << 32);
    return;
  }
  void* pointer = nullptr;
  if (region.module < 0) {
    HIP(hipGetSymbolAddress(&pointer, global_symbol(static_cast<Global>(symbol))));
    // Left behind by another program of this process.
    static bool used[kMostDevices][static_cast<size_t>(Global::count)];
    bool& before = used[region.on][symbol];
    if (before) HIP(hipMemcpy(pointer, region.bytes.data(), region.size, hipMemcpyHostToDevice));
    before = true;
  } else {
    size_t bytes = 0;
    HIP(hipModuleGetGlobal(&pointer, &bytes, modules_[static_cast<size_t>(region.module)],
                           kGlobalNames[symbol]));
    if (bytes != region.size) throw Failure(text("%s has %zu bytes", kGlobalNames[symbol], bytes));
  }
  region.device = static_cast<uint8_t*>(pointer);
}

int Device::open_devices(int wanted) {
  devices_ = wanted;
  if (dry_) return wanted;
  int count = 0;
  HIP(hipGetDeviceCount(&count));
  if (count < wanted) throw Failure(text("%d devices, not %d", count, wanted));
  static bool open = false;
  for (int device = 0; device < count && !open; ++device) {
    HIP(hipSetDevice(device));
    for (int other = 0; other < count; ++other) {
      if (other != device) HIP(hipDeviceEnablePeerAccess(other, 0));
    }
  }
  open = true;
  HIP(hipSetDevice(0));
  return wanted;
}

void Device::set_device(int device) { HIP(hipSetDevice(device)); }

void Device::add_null_stream(int number) {
  grow(streams_, number);
  streams_[static_cast<size_t>(number)] = nullptr;
}

void Device::create_stream(int number, StreamFlags flags) {
  grow(streams_, number);
  hipStream_t& created = streams_[static_cast<size_t>(number)];
  switch (flags) {
    case StreamFlags::kBlocking: HIP(hipStreamCreate(&created)); return;
    case StreamFlags::kNonBlocking:
      HIP(hipStreamCreateWithFlags(&created, hipStreamNonBlocking));
      return;
    case StreamFlags::kPriority:
      HIP(hipStreamCreateWithPriority(&created, hipStreamDefault, -1));
      return;
  }
}

void Device::destroy_stream(int number) { HIP(hipStreamDestroy(stream(number))); }

void Device::wait_stream(int number, Waiting how) {
  if (dry_) return;
  if (how == Waiting::kSynchronize) {
    HIP(hipStreamSynchronize(stream(number)));
    return;
  }
  ask("hipStreamQuery", [&] { return hipStreamQuery(stream(number)); });
}

void Device::wait_device() { HIP(hipDeviceSynchronize()); }

void Device::create_event(int event, unsigned flags) {
  grow(events_, event);
  HIP(hipEventCreateWithFlags(&events_[static_cast<size_t>(event)], flags));
}
void Device::destroy_event(int event) { HIP(hipEventDestroy(events_[static_cast<size_t>(event)])); }
void Device::record(int event, int number) {
  HIP(hipEventRecord(events_[static_cast<size_t>(event)], stream(number)));
}
void Device::stream_wait(int number, int event) {
  HIP(hipStreamWaitEvent(stream(number), events_[static_cast<size_t>(event)], 0));
}

void Device::wait_event(int event, Waiting how) {
  if (dry_) return;
  hipEvent_t handle = events_[static_cast<size_t>(event)];
  if (how == Waiting::kSynchronize) {
    HIP(hipEventSynchronize(handle));
    return;
  }
  ask("hipEventQuery", [&] { return hipEventQuery(handle); });
}

void Device::elapsed(int first, int second) {
  if (dry_) return;
  float milliseconds = 0;
  ask("hipEventElapsedTime", [&] {
    return hipEventElapsedTime(&milliseconds, events_[static_cast<size_t>(first)],
                               events_[static_cast<size_t>(second)]);
  });
}

void Device::free_something(bool host_memory) {
  if (dry_) return;
  void* pointer = nullptr;
  if (host_memory) {
    HIP(hipHostMalloc(&pointer, 64, 0));
    HIP(hipHostFree(pointer));
  } else {
    HIP(hipMalloc(&pointer, 64));
    HIP(hipFree(pointer));
  }
}

HostCall* Device::host_call(const Work& work, const Memory& memory) {
  calls_.push_back(std::make_unique<HostCall>());
  HostCall& call = *calls_.back();
  if (work.kind == WorkKind::kHost) {
    call.to = memory.at(work.to.ref.region).host + work.to.ref.offset;
    if (work.from.ref.region >= 0)
      call.from = memory.at(work.from.ref.region).host + work.from.ref.offset;
    call.size = work.shape.width;
    call.a = work.a;
  }
  return &call;
}

void Device::callback_and_wait(int number) {
  if (dry_) return;
  calls_.push_back(std::make_unique<HostCall>());
  HostCall& call = *calls_.back();
  HIP(hipStreamAddCallback(stream(number), run_callback, &call, 0));
  while (!call.done.load(std::memory_order_acquire)) sched_yield();
}

void Device::submit(const Work& work, const Memory& memory, int number) {
  if (dry_) return;
  switch (work.kind) {
    case WorkKind::kKernel: return submit_kernel(work, memory, stream(number));
    case WorkKind::kCopy: return submit_copy(work, memory, stream(number));
    case WorkKind::kSet: return submit_set(work, memory, stream(number));
    case WorkKind::kHost:
      HIP(hipStreamAddCallback(stream(number), run_callback, host_call(work, memory), 0));
      return;
    case WorkKind::kEmpty:
    case WorkKind::kChild: return;
  }
}

hipFunction_t Device::function(const Work& work) {
  hipFunction_t found = nullptr;
  HIP(hipModuleGetFunction(&found, modules_[static_cast<size_t>(work.module)],
                           kernel_name(work.kernel)));
  return found;
}

void Device::submit_kernel(const Work& work, const Memory& memory, hipStream_t to) {
  Arguments arguments;
  pack_arguments(work, memory, arguments);
  const uint32_t grid = grid_of(work);
  if (work.module >= 0) {
    size_t size = arguments.size;
    void* config[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, arguments.bytes.data(),
                      HIP_LAUNCH_PARAM_BUFFER_SIZE, &size, HIP_LAUNCH_PARAM_END};
    hipFunction_t kernel = function(work);
    HIP(hipModuleLaunchKernel(kernel, grid, 1, 1, work.block, 1, 1, 0, to,
                              work.extra ? nullptr : arguments.pointers.data(),
                              work.extra ? config : nullptr));
  } else if (work.kernel == Kernel::fill) {
    const auto held = apart();
    launch_fill(
        grid, work.block, to,
        reinterpret_cast<uint32_t*>(memory.at(work.refs[0].region).device + work.refs[0].offset),
        work.n, work.a, work.spin);
    check(hipGetLastError(), "launch_fill");
  } else {
    HIP(hipLaunchKernel(kernel_function(work.kernel), dim3(grid), dim3(work.block),
                        arguments.pointers.data(), 0, to));
  }
}

void Device::submit_list(const std::vector<Work>& works, const Memory& memory,
                         const std::vector<int>& streams, unsigned flags) {
  if (dry_) return;
  std::vector<Arguments> arguments(works.size());
  std::vector<hipLaunchParams> list(works.size());
  for (size_t i = 0; i < works.size(); ++i) {
    pack_arguments(works[i], memory, arguments[i]);
    list[i].func = const_cast<void*>(kernel_function(works[i].kernel));
    list[i].gridDim = dim3(grid_of(works[i]));
    list[i].blockDim = dim3(works[i].block);
    list[i].args = arguments[i].pointers.data();
    list[i].stream = stream(streams[i]);
  }
  HIP(hipExtLaunchMultiKernelMultiDevice(list.data(), static_cast<int>(list.size()), flags));
}

void Device::submit_copy(const Work& work, const Memory& memory, hipStream_t s) {
  if (of_array(work, memory)) return submit_array_copy(work, memory, s);
  uint8_t* to = side_address(work.to, memory);
  uint8_t* from = side_address(work.from, memory);
  const hipMemcpyKind kind = direction(work, memory);
  const uint64_t width = work.shape.width;
  const uint64_t to_pitch = work.to.pitch == 0 ? width : work.to.pitch;
  const uint64_t from_pitch = work.from.pitch == 0 ? width : work.from.pitch;
  const Region& target = memory.at(work.to.ref.region);
  const Region& source = memory.at(work.from.ref.region);
  const bool to_symbol = target.kind == Kind::kGlobal;
  const void* symbol = nullptr;
  uint64_t offset = 0;
  if (to_symbol || source.kind == Kind::kGlobal) {
    symbol = global_symbol(static_cast<Global>(to_symbol ? target.symbol : source.symbol));
    offset = to_symbol ? work.to.ref.offset : work.from.ref.offset;
  }
  hipMemcpy3DParms block = {};
  switch (static_cast<CopyApi>(work.api)) {
    case CopyApi::kAsync: HIP(hipMemcpyAsync(to, from, width, kind, s)); return;
    case CopyApi::kAsyncDefault: HIP(hipMemcpyAsync(to, from, width, hipMemcpyDefault, s)); return;
    case CopyApi::kTypedAsync:
      if (kind == hipMemcpyHostToDevice)
        HIP(hipMemcpyHtoDAsync(to, from, width, s));
      else if (kind == hipMemcpyDeviceToHost)
        HIP(hipMemcpyDtoHAsync(to, from, width, s));
      else
        HIP(hipMemcpyDtoDAsync(to, from, width, s));
      return;
    case CopyApi::kPeerAsync:
      HIP(hipMemcpyPeerAsync(to, target.on, from, source.on, width, s));
      return;
    case CopyApi::kPeer: HIP(hipMemcpyPeer(to, target.on, from, source.on, width)); return;
    case CopyApi::kWithStream: HIP(hipMemcpyWithStream(to, from, width, kind, s)); return;
    case CopyApi::k2DAsync:
      HIP(hipMemcpy2DAsync(to, to_pitch, from, from_pitch, width, work.shape.height, kind, s));
      return;
    case CopyApi::k3DAsync:
      block = parameters_3d(work, memory);
      HIP(hipMemcpy3DAsync(&block, s));
      return;
    case CopyApi::kSymbolAsync:
      if (to_symbol)
        HIP(hipMemcpyToSymbolAsync(symbol, from, width, offset, kind, s));
      else
        HIP(hipMemcpyFromSymbolAsync(to, symbol, width, offset, kind, s));
      return;
    case CopyApi::kSync: HIP(hipMemcpy(to, from, width, kind)); return;
    case CopyApi::kTyped:
      if (kind == hipMemcpyHostToDevice)
        HIP(hipMemcpyHtoD(to, from, width));
      else if (kind == hipMemcpyDeviceToHost)
        HIP(hipMemcpyDtoH(to, from, width));
      else
        HIP(hipMemcpyDtoD(to, from, width));
      return;
    case CopyApi::k2D:
      HIP(hipMemcpy2D(to, to_pitch, from, from_pitch, width, work.shape.height, kind));
      return;
    case CopyApi::k3D:
      block = parameters_3d(work, memory);
      HIP(hipMemcpy3D(&block));
      return;
    default: return;
    case CopyApi::kSymbol:
      if (to_symbol)
        HIP(hipMemcpyToSymbol(symbol, from, width, offset, kind));
      else
        HIP(hipMemcpyFromSymbol(to, symbol, width, offset, kind));
      return;
  }
}

void Device::submit_set(const Work& work, const Memory& memory, hipStream_t s) {
  uint8_t* to = side_address(work.to, memory);
  const int value = static_cast<int>(work.value);
  const uint64_t width = work.shape.width;
  const uint64_t pitch = work.to.pitch == 0 ? width : work.to.pitch;
  const auto byte = static_cast<unsigned char>(work.value);
  const auto half = static_cast<unsigned short>(work.value);
  const hipExtent extent = make_hipExtent(width, work.shape.height, work.shape.depth);
  switch (static_cast<SetApi>(work.api)) {
    case SetApi::kAsync: HIP(hipMemsetAsync(to, value, width, s)); return;
    case SetApi::kD8Async: HIP(hipMemsetD8Async(to, byte, width, s)); return;
    case SetApi::kD16Async: HIP(hipMemsetD16Async(to, half, width / 2, s)); return;
    case SetApi::kD32Async: HIP(hipMemsetD32Async(to, value, width / 4, s)); return;
    case SetApi::k2DAsync:
      HIP(hipMemset2DAsync(to, pitch, value, width, work.shape.height, s));
      return;
    case SetApi::k3DAsync:
      HIP(hipMemset3DAsync(pitched(work.to, work, memory), value, extent, s));
      return;
    case SetApi::kSync: HIP(hipMemset(to, value, width)); return;
    case SetApi::kD8: HIP(hipMemsetD8(to, byte, width)); return;
    case SetApi::kD16: HIP(hipMemsetD16(to, half, width / 2)); return;
    case SetApi::kD32: HIP(hipMemsetD32(to, value, width / 4)); return;
    case SetApi::k2D: HIP(hipMemset2D(to, pitch, value, width, work.shape.height)); return;
    case SetApi::k3D: HIP(hipMemset3D(pitched(work.to, work, memory), value, extent)); return;
  }
}

int Device::load_module() {
  modules_.push_back(nullptr);
  if (!dry_ && code_.empty()) {
    std::ifstream file(code_object_, std::ios::binary);
    code_.assign(std::istreambuf_iterator<char>(file), {});
    if (code_.empty()) throw Failure(code_object_ + " cannot be read");
  }
  HIP(hipModuleLoadData(&modules_.back(), code_.data()));
  return static_cast<int>(modules_.size()) - 1;
}

void Device::unload_module(int module) {
  HIP(hipModuleUnload(modules_[static_cast<size_t>(module)]));
}

std::string Device::compare(const Region& region, const Memory& memory) {
  if (dry_) return "";
  std::vector<uint8_t> bytes(region.size);
  if (region.kind == Kind::kTexture || region.kind == Kind::kSurface) return "";
  if (region.kind == Kind::kArray)
    bytes = array_bytes(region);
  else if (region.on_host())
    std::memcpy(bytes.data(), region.host, region.size);
  else
    HIP(hipMemcpy(bytes.data(), region.device, region.size, hipMemcpyDeviceToHost));
  for (uint64_t i = 0; i < region.size; ++i) {
    if (region.defined[i] != 0 && bytes[i] != region.bytes[i]) {
      return text("%s: byte %llu of %llu is %#04x, not %#04x",
                  ref_text(memory, {region.id, 0}).c_str(), static_cast<unsigned long long>(i),
                  static_cast<unsigned long long>(region.size), bytes[i], region.bytes[i]);
    }
  }
  return "";
}

}  // namespace random_programs
