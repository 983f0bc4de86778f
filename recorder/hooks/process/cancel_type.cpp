#include "recorder/hooks/process/cancel_type.h"

#include <dlfcn.h>
#include <pthread.h>
#include <unwind.h>

#include <cstdint>
#include <cstring>
#include <utility>

#include "base/process/preload.h"

namespace gfxgraph::recorder {
namespace {

using SetType = int (*)(int type, int* before);

// The type that the innermost hook of this thread began with; -1: outside of hooks.
thread_local int type_before_hook = -1;

// The DWARF reader of what follows a function's language-specific data.
class Lsda {
 public:
  explicit Lsda(const unsigned char* at) : at_(at) {}
  uint8_t byte() { return *at_++; }
  uint64_t uleb128() {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const uint8_t next = byte();
      value |= uint64_t{next & 0x7fu} << shift;
      if ((next & 0x80) == 0) return value;
    }
  }
  uint64_t number(uint8_t encoding) {
    if (encoding != kUdata4) return uleb128();
    uint32_t value = 0;
    std::memcpy(&value, at_, sizeof(value));
    at_ += sizeof(value);
    return value;
  }
  const unsigned char* at() const { return at_; }

  static constexpr uint8_t kUleb128 = 1, kUdata4 = 3, kOmit = 0xff;

 private:
  const unsigned char* at_;
};

// Whether the table of calls of the function has the instruction at which it was left. True if the
// table is not of GCC's kind.
bool is_listed_call(_Unwind_Context* context) {
  const auto* const data =
      static_cast<const unsigned char*>(_Unwind_GetLanguageSpecificData(context));
  if (data == nullptr) return true;
  Lsda lsda(data);
  if (lsda.byte() != Lsda::kOmit) return true;
  if (lsda.byte() != Lsda::kOmit) (void)lsda.uleb128();
  const uint8_t encoding = lsda.byte();
  if (encoding != Lsda::kUleb128 && encoding != Lsda::kUdata4) return true;
  const uint64_t bytes = lsda.uleb128();
  const unsigned char* const end = lsda.at() + bytes;
  int before = 0;  // the address is that of the interrupted instruction, not behind a call
  const uint64_t left = _Unwind_GetIPInfo(context, &before) - (before == 0 ? 1 : 0);
  const uint64_t offset = left - _Unwind_GetRegionStart(context);
  while (lsda.at() < end) {
    const uint64_t start = lsda.number(encoding);
    const uint64_t size = lsda.number(encoding);
    (void)lsda.number(encoding);
    (void)lsda.uleb128();
    if (offset >= start && offset - start < size) return true;
  }
  return false;
}

// The C library's function: this library's own is the hook below.
SetType set_type() noexcept {
  static constinit std::atomic<SetType> found{nullptr};
  SetType function = found.load(std::memory_order_relaxed);
  if (function == nullptr) {
    function = reinterpret_cast<SetType>(
        preload::call_dlsym(preload::system_dlsym(), RTLD_NEXT, "pthread_setcanceltype"));
    found.store(function, std::memory_order_relaxed);
  }
  return function;
}

}  // namespace

constinit std::atomic<bool> asynchronous_was_set{false};

void cancellation_in_runtime() {
  if (type_before_hook >= 0) (void)set_type()(type_before_hook, nullptr);
}

void cancellation_in_hook() noexcept {
  if (type_before_hook >= 0) (void)set_type()(PTHREAD_CANCEL_DEFERRED, nullptr);
}

void DeferredCancellation::begin() {
  (void)set_type()(PTHREAD_CANCEL_DEFERRED, &type_);
  outer_type_ = std::exchange(type_before_hook, type_);
  begun_ = true;
}

void DeferredCancellation::end() const {
  type_before_hook = outer_type_;
  (void)set_type()(type_, nullptr);
}

}  // namespace gfxgraph::recorder

// The personality of this library's functions (linked with --wrap). An asynchronous cancellation
// may unwind from any instruction: also from those of a hook before its DeferredCancellation begins
// and after it has ended, where C++ expects no exception and would end the process. Nothing is held
// there.
extern "C" _Unwind_Reason_Code __real___gxx_personality_v0(int version, _Unwind_Action actions,
                                                           _Unwind_Exception_Class kind,
                                                           _Unwind_Exception* exception,
                                                           _Unwind_Context* context);
extern "C" _Unwind_Reason_Code __wrap___gxx_personality_v0(int version, _Unwind_Action actions,
                                                           _Unwind_Exception_Class kind,
                                                           _Unwind_Exception* exception,
                                                           _Unwind_Context* context) {
  using namespace gfxgraph::recorder;
  if ((actions & _UA_FORCE_UNWIND) != 0 && asynchronous_seen() && !is_listed_call(context))
    return _URC_CONTINUE_UNWIND;
  return __real___gxx_personality_v0(version, actions, kind, exception, context);
}

extern "C" __attribute__((visibility("default"))) int pthread_setcanceltype(int type, int* before) {
  using namespace gfxgraph::recorder;
  const SetType function = set_type();  // looked up while the thread is still safe
  if (type == PTHREAD_CANCEL_ASYNCHRONOUS) asynchronous_was_set.store(true);
  return function(type, before);
}
