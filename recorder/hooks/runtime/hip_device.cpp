// The recorder's own use of the HIP runtime, on a separate thread.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "base/agent_memory.h"
#include "base/process/signals_blocked.h"
#include "format/image_boxes.h"
#include "recorder/device.h"
#include "recorder/hooks/calls/hooks_internal.h"
#include "recorder/hooks/runtime/bound_around.h"
#include "recorder/hooks/runtime/stream_reads.h"
#include "recorder/lock_order.h"

namespace gfxgraph::recorder {
namespace {

constexpr uint32_t kForEver = 0;
// hipStreamQuery takes some 10 us, unless a thread of the program waits for the device (5.2.3).
constexpr uint32_t kAnswerTimeoutMs = 100;

// A separate thread for the recorder's calls of the runtime, because HIP keeps last error, current
// device and capture mode per thread.
class Worker {
 public:
  // Only jobs that own all that they touch may be given a timeout: they may outlive the caller.
  // They are not begun behind one that took longer than its own.
  bool run(std::function<void()> work, uint32_t timeout_ms = kForEver) {
    const NoCancel own;
    auto job = std::make_shared<Job>();
    job->work = std::move(work);
    std::unique_lock lock(mutex_);
    if (stuck_ && timeout_ms != kForEver) return false;
    if (!started_) start();
    jobs_.push_back(job);
    wake_.notify_one();
    const auto finished = [&] { return job->done; };
    if (timeout_ms == kForEver) {
      done_.wait(lock, finished);
    } else if (!done_.wait_for(lock, std::chrono::milliseconds(timeout_ms), finished)) {
      stuck_ = true;
      return false;
    }
    return true;
  }

  // Like run(), but does not wait for the job.
  void post(std::function<void()> work) {
    auto job = std::make_shared<Job>();
    job->work = std::move(work);
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
    wake_.notify_one();
  }

  bool busy() {
    const std::lock_guard lock(mutex_);
    return working_ || !jobs_.empty();
  }

 private:
  struct Job {
    std::function<void()> work;
    bool done = false;
  };

  void start() {
    const SignalsBlocked blocked;
    std::thread([this] { loop(); }).detach();
    started_ = true;
  }

  void loop() {
    hook_depth = 2;  // nothing that this thread does is the program's: its outermost calls have 1
    // The dynamic linker finds them now, not while the recorder's lock is held: another thread may
    // wait for that lock with the linker's.
    for (const int index : {kCall_hipMemcpyWithStream,  kCall_hipStreamCreateWithFlags,
                            kCall_hipDeviceSynchronize, kCall_hipStreamQuery,
                            kCall_hipStreamIsCapturing, kCall_hipHostGetDevicePointer,
                            kCall_hipGetSymbolAddress,  kCall_hipGetSymbolSize,
                            kCall_hipModuleGetGlobal,   kCall_hipGraphGetNodes,
                            kCall_hipHostMalloc,        kCall_hipMalloc,
                            kCall_hipMemcpyAsync,       kCall_hipEventCreateWithFlags,
                            kCall_hipEventRecord,       kCall_hipEventQuery,
                            kCall_hipSetDevice,         kCall_hipMemcpy3DAsync,
                            kCall_hipStreamSynchronize, kCall_hipStreamDestroy,
                            kCall_hipLibraryGetGlobal}) {
      (void)real_function(index);
    }
    hipStreamCaptureMode mode = hipStreamCaptureModeRelaxed;
    (void)real(kCall_hipThreadExchangeStreamCaptureMode, &mode);
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [&] { return !jobs_.empty(); });
      const std::shared_ptr<Job> job = jobs_.front();
      jobs_.pop_front();
      working_ = true;
      lock.unlock();
      job->work();
      lock.lock();
      working_ = false;
      job->done = true;
      stuck_ = false;
      done_.notify_all();
    }
  }

  Mutex<LockRank::kLast> mutex_;
  Condition wake_;
  Condition done_;
  std::deque<std::shared_ptr<Job>> jobs_;
  bool started_ = false;
  bool stuck_ = false;
  bool working_ = false;
};

// What the unversioned hipGetDeviceProperties fills in every runtime: hipDeviceProp_t of HIP 5's
// headers. That of newer headers is of hipGetDevicePropertiesR0600.
struct DeviceProperties {
  char name[256];
  std::byte numbers[140];
  char gcnArchName[256];
  std::byte more[140];
};
static_assert(sizeof(DeviceProperties) == 792 && offsetof(DeviceProperties, gcnArchName) == 396);

class HipDevice final : public Device {
 public:
  DeviceFacts facts() override {
    auto facts = std::make_shared<DeviceFacts>();
    if (const char* const direct = std::getenv("AMD_DIRECT_DISPATCH"); direct != nullptr)
      facts->direct = std::atoi(direct) != 0;  // what HIP takes for true as a number
    waiter_.run([] {});  // started now: later the dynamic linker's lock may be held
    run([facts] {
      DeviceProperties properties{};
      if (real(kCall_hipGetDeviceProperties, &properties, 0) == hipSuccess) {
        facts->gpu_arch = properties.gcnArchName;
        facts->device_name = properties.name;
      }
      int version = 0;
      if (real(kCall_hipRuntimeGetVersion, &version) == hipSuccess)
        facts->runtime_version = version;
      if (real(kCall_hipDriverGetVersion, &version) == hipSuccess) facts->driver_version = version;
      facts->runs_in_process = is_agent_device(facts->device_name) && only_agent_is_loaded();
    });
    return *facts;
  }

  bool read(void* destination, uint64_t address, size_t size_bytes) override {
    bool done = false;
    run([&] {
      done = read_once(stream_, destination, address, size_bytes);
      if (done) return;
      stream_ = nullptr;  // a device reset destroyed it
      done = read_once(stream_, destination, address, size_bytes);
    });
    return done;
  }

  std::string use(format::DeviceNumber device) override {
    std::string arch;
    run([&] {
      DeviceProperties properties{};
      if (real(kCall_hipGetDeviceProperties, &properties, static_cast<int>(device)) == hipSuccess)
        arch = properties.gcnArchName;
    });
    const std::lock_guard lock(used_mutex_);
    if (std::ranges::find(used_, device) == used_.end()) used_.push_back(device);
    return arch;
  }

  bool read_on(format::DeviceNumber device, void* destination, uint64_t address,
               size_t size_bytes) override {
    if (device == 0) return read(destination, address, size_bytes);
    bool done = false;
    run([&] {
      const OnDevice on(device);
      hipStream_t& stream = streams_[device];
      done = read_once(stream, destination, address, size_bytes);
      if (done) return;
      stream = nullptr;
      done = read_once(stream, destination, address, size_bytes);
    });
    return done;
  }

  bool symbol_on(format::DeviceNumber device, const void* host_symbol, uint64_t* address,
                 uint64_t* size_bytes) override {
    bool done = false;
    run([&] {
      const OnDevice on(device);
      done = symbol_here(host_symbol, address, size_bytes);
    });
    return done;
  }

  bool module_global_on(format::DeviceNumber device, void* module, const char* name,
                        uint64_t* address, uint64_t* size_bytes) override {
    bool done = false;
    run([&] {
      const OnDevice on(device);
      done = module_global_here(module, name, address, size_bytes);
    });
    return done;
  }

  bool library_global_on(format::DeviceNumber device, void* library, const char* name,
                         uint64_t* address, uint64_t* size_bytes) override {
    bool done = false;
    run([&] {
      const OnDevice on(device);
      void* found = nullptr;
      size_t size = 0;
      done = real(kCall_hipLibraryGetGlobal, &found, &size, library, name) == hipSuccess;
      *address = address_of(found);
      *size_bytes = size;
    });
    return done;
  }

  bool read_array(format::DeviceNumber device, void* destination, const void* array,
                  const format::ArrayShape& shape, uint64_t offset, size_t size_bytes) override {
    bool done = false;
    run([&] {
      const OnDevice on(device);
      hipStream_t& stream = device == 0 ? stream_ : streams_[device];
      done = read_array_once(stream, destination, array, shape, offset, size_bytes);
      if (done) return;
      stream = nullptr;
      done = read_array_once(stream, destination, array, shape, offset, size_bytes);
    });
    return done;
  }

  bool synchronize(uint32_t timeout_ms) override {
    // Work may be behind the function, which ends after this: _exit() in it, for example.
    if (host_function_depth != 0) return false;
    std::vector<format::DeviceNumber> devices;
    {
      const std::lock_guard lock(used_mutex_);
      devices = used_;
    }
    auto result = std::make_shared<bool>(false);
    const bool in_time = waiter_.run(
        [result, devices] {
          *result = std::ranges::all_of(devices, [](format::DeviceNumber device) {
            const OnDevice on(device);
            return real(kCall_hipDeviceSynchronize) == hipSuccess;
          });
        },
        timeout_ms);
    return in_time && *result;
  }

  bool idle(const std::vector<void*>& streams) override {
    if (waiter_.busy()) return false;
    auto result = std::make_shared<bool>(false);
    const bool in_time = waiter_.run(
        [result, streams] {
          *result = std::ranges::all_of(streams,
                                        [](void* stream) { return query(stream) == hipSuccess; });
        },
        kAnswerTimeoutMs);
    return in_time && *result;
  }

  std::unique_ptr<StreamRead> read_behind(void* stream, uint64_t address, size_t size_bytes,
                                          bool host_memory) override {
    std::shared_ptr<StreamReads::Place> place;
    run([&] { place = reads_.take(size_bytes, host_memory); });
    if (!place) return nullptr;
    bool copied = false;
    if (stream == per_thread_stream()) {
      // No other thread can name it. The program's call follows, and its result is the last error.
      ++hook_depth;  // the program did not make these calls
      copied = StreamReads::copy(*place, hipStreamPerThread, address, size_bytes);
      --hook_depth;
    } else {
      run([&] {
        copied = StreamReads::copy(*place, static_cast<hipStream_t>(stream), address, size_bytes);
      });
    }
    if (!copied) return nullptr;
    return std::make_unique<Read>(*this, std::move(place), size_bytes);
  }

  void resetting() override {
    run([&] {
      reads_.forget();
      const auto destroy = [](hipStream_t& stream) {
        if (stream != nullptr) (void)real(kCall_hipStreamDestroy, std::exchange(stream, nullptr));
      };
      destroy(stream_);
      for (auto& [device, stream] : streams_) {
        const OnDevice on(device);
        destroy(stream);
      }
    });
  }

  void was_reset() override {
    run([&] {
      reads_.lost();
      stream_ = nullptr;
      streams_.clear();
    });
  }

  StreamState stream_state(void* stream) override {
    StreamState state = StreamState::kError;
    run([&] {
      const hipError_t result = query(stream);
      if (result == hipSuccess) state = StreamState::kIdle;
      if (result == hipErrorNotReady) state = StreamState::kBusy;
    });
    return state;
  }

  bool capturing(void* stream) override {
    if (device_of_null_stream(stream) != 0) return false;  // no null stream is captured
    hipStreamCaptureStatus status = hipStreamCaptureStatusNone;
    bool known = false;
    run([&] {
      known =
          real(kCall_hipStreamIsCapturing, static_cast<hipStream_t>(stream), &status) == hipSuccess;
    });
    return known && status != hipStreamCaptureStatusNone;
  }

  uint64_t device_address(void* host) override {
    void* address = nullptr;
    run([&] {
      if (real(kCall_hipHostGetDevicePointer, &address, host, 0u) != hipSuccess) address = nullptr;
    });
    return address_of(address);
  }

  bool symbol(const void* host_symbol, uint64_t* address, uint64_t* size_bytes) override {
    return symbol_on(0, host_symbol, address, size_bytes);
  }

  bool module_global(void* module, const char* name, uint64_t* address,
                     uint64_t* size_bytes) override {
    return module_global_on(0, module, name, address, size_bytes);
  }

  size_t graph_nodes(void* graph, void** nodes, size_t capacity) override {
    size_t total = 0;
    run([&] {
      hipGraphNode_t* none = nullptr;
      if (real(kCall_hipGraphGetNodes, static_cast<hipGraph_t>(graph), none, &total) !=
          hipSuccess) {
        total = 0;
        return;
      }
      size_t room = total;
      if (total != 0 && total <= capacity) {
        (void)real(kCall_hipGraphGetNodes, static_cast<hipGraph_t>(graph),
                   reinterpret_cast<hipGraphNode_t*>(nodes), &room);
      }
    });
    return total;
  }

  std::vector<Bypass> bypasses() override { return ways_around(); }

 private:
  class Read final : public StreamRead {
   public:
    Read(HipDevice& device, std::shared_ptr<StreamReads::Place> place, size_t size_bytes)
        : device_(device), place_(std::move(place)), size_bytes_(size_bytes) {}
    ~Read() override {
      device_.helper_.post([&reads = device_.reads_, place = place_] { reads.give_back(place); });
    }
    StreamState state() override {
      hipError_t result = hipErrorNotReady;
      device_.run([&] { result = device_.reads_.state(*place_); });
      if (result == hipErrorNotReady) return StreamState::kBusy;
      return result == hipSuccess ? StreamState::kIdle : StreamState::kError;
    }
    std::span<const std::byte> bytes() const override {
      return {static_cast<const std::byte*>(place_->pinned), size_bytes_};
    }

   private:
    HipDevice& device_;
    const std::shared_ptr<StreamReads::Place> place_;
    const size_t size_bytes_;
  };

  // The calls of one of the recorder's threads go to the device while it lives.
  class OnDevice {
   public:
    explicit OnDevice(format::DeviceNumber device) noexcept : device_(device) {
      if (device_ != 0) (void)real(kCall_hipSetDevice, static_cast<int>(device_));
    }
    ~OnDevice() {
      if (device_ != 0) (void)real(kCall_hipSetDevice, 0);
    }
    OnDevice(const OnDevice&) = delete;
    OnDevice& operator=(const OnDevice&) = delete;

   private:
    const format::DeviceNumber device_;
  };

  static hipError_t query(void* stream) {
    const format::DeviceNumber device = device_of_null_stream(stream);
    const OnDevice on(device);
    return real(kCall_hipStreamQuery, device != 0 ? nullptr : static_cast<hipStream_t>(stream));
  }

  static bool symbol_here(const void* host_symbol, uint64_t* address, uint64_t* size_bytes) {
    void* found = nullptr;
    size_t size = 0;
    const bool done = real(kCall_hipGetSymbolAddress, &found, host_symbol) == hipSuccess &&
                      real(kCall_hipGetSymbolSize, &size, host_symbol) == hipSuccess;
    *address = address_of(found);
    *size_bytes = size;
    return done;
  }

  static bool module_global_here(void* module, const char* name, uint64_t* address,
                                 uint64_t* size_bytes) {
    void* found = nullptr;
    size_t size = 0;
    const bool done = real(kCall_hipModuleGetGlobal, &found, &size,
                           static_cast<hipModule_t>(module), name) == hipSuccess;
    *address = address_of(found);
    *size_bytes = size;
    return done;
  }

  // A stream of its own that waits for none of the program's.
  static bool have_stream(hipStream_t& stream) {
    return stream != nullptr || real(kCall_hipStreamCreateWithFlags, &stream,
                                     static_cast<unsigned>(hipStreamNonBlocking)) == hipSuccess;
  }

  static bool read_array_once(hipStream_t& stream, void* destination, const void* array,
                              const format::ArrayShape& shape, uint64_t offset, size_t size_bytes) {
    if (!have_stream(stream)) return false;
    auto* const bytes = static_cast<char*>(destination);
    for (const format::ArrayBox& box : format::array_boxes(shape, offset, size_bytes)) {
      hipMemcpy3DParms params{};
      params.srcArray = static_cast<hipArray*>(const_cast<void*>(array));
      params.srcPos = {box.x, box.y, box.z};
      const size_t row = box.width * shape.format.bytes();
      params.dstPtr = {bytes + (box.linear_bytes - offset), row, row, box.height};
      params.extent = {box.width, box.height, box.depth};
      params.kind = hipMemcpyDeviceToHost;
      const hipMemcpy3DParms* const box_params = &params;
      if (real(kCall_hipMemcpy3DAsync, box_params, stream) != hipSuccess) return false;
    }
    return real(kCall_hipStreamSynchronize, stream) == hipSuccess;
  }

  static bool read_once(hipStream_t& stream, void* destination, uint64_t address,
                        size_t size_bytes) {
    if (!have_stream(stream)) return false;
    // One call: HIP 5.7 refuses to wait for a stream while the program captures another one, but
    // waits in this call.
    const void* source = reinterpret_cast<const void*>(address);
    return real(kCall_hipMemcpyWithStream, destination, source, size_bytes, hipMemcpyDeviceToHost,
                stream) == hipSuccess;
  }

  bool run(std::function<void()> work) { return helper_.run(std::move(work)); }

  Worker helper_;
  Worker waiter_;  // what the device waits for may need the other
  // Used by the helper thread only.
  hipStream_t stream_ = nullptr;
  StreamReads reads_;
  std::map<format::DeviceNumber, hipStream_t> streams_;  // of other devices than 0
  Mutex<LockRank::kLast> used_mutex_;
  std::vector<format::DeviceNumber> used_ = {0};
};

}  // namespace

std::unique_ptr<Device> make_hip_device() { return std::make_unique<HipDevice>(); }

}  // namespace gfxgraph::recorder
