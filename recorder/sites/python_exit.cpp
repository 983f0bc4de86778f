#include "recorder/sites/python_exit.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>

#include <cstdint>

#include "base/process/preload.h"

namespace gfxgraph::recorder {
namespace python_exit {
namespace {

enum class State : uint8_t { kUnknown, kSaysSo, kEnded };
constinit std::atomic<State> state{State::kUnknown};
constinit std::atomic<uint32_t> readers{0};

// The interpreter's thread, which holds its lock. Readers wait for nothing.
void ended() noexcept {
  state.store(State::kEnded);
  while (readers.load() != 0) (void)sched_yield();
}

// A child has none of the threads that were reading.
void forked_child() noexcept { readers.store(0); }

// Of CPython 3.9 to 3.14, as its stable interface has them.
struct Method {
  const char* name;
  void* (*function)(void*, void*);
  int flags;
  const char* text;
};
struct Python {
  void* (*import)(const char*) = nullptr;
  void* (*new_capsule)(void*, const char*, void (*)(void*)) = nullptr;
  void* (*new_function)(Method*, void*, void*) = nullptr;
  void* (*call_method)(void*, const char*, const char*, ...) = nullptr;
  void (*hold)(void*) = nullptr;
  void (*let_go)(void*) = nullptr;
  void (*clear_error)() = nullptr;
  int (*call_later)(int (*)(void*), void*) = nullptr;
  void* none = nullptr;

  bool find() noexcept {
    return find(import, "PyImport_ImportModule") && find(new_capsule, "PyCapsule_New") &&
           find(new_function, "PyCFunction_NewEx") && find(call_method, "PyObject_CallMethod") &&
           find(hold, "Py_IncRef") && find(let_go, "Py_DecRef") &&
           find(clear_error, "PyErr_Clear") && find(call_later, "Py_AddPendingCall") &&
           find(none, "_Py_NoneStruct");
  }

 private:
  template <typename T>
  static bool find(T& pointer, const char* name) noexcept {
    pointer = reinterpret_cast<T>(preload::call_dlsym(preload::system_dlsym(), RTLD_DEFAULT, name));
    return pointer != nullptr;
  }
};
constinit Python python;

void* called_at_exit(void*, void*) noexcept {
  ended();
  python.hold(python.none);
  return python.none;
}

// Also when a program empties atexit's list, which would else be the end of being told.
void let_go_of(void*) noexcept { ended(); }

// On the interpreter's main thread, with its lock.
int register_at_exit(void*) noexcept {
  constexpr int kNoArguments = 4;  // METH_NOARGS
  static constinit Method method = {"gfxgraph_ends", called_at_exit, kNoArguments, nullptr};
  void* const capsule = python.new_capsule(&method, "gfxgraph_ends", let_go_of);
  if (capsule == nullptr) {
    python.clear_error();
    return 0;
  }
  void* const function = python.new_function(&method, capsule, nullptr);
  void* const module = python.import("atexit");
  void* registered = nullptr;
  if (function != nullptr && module != nullptr) {
    state.store(State::kSaysSo);  // before it is registered: it may be called at once
    registered = python.call_method(module, "register", "O", function);
  }
  if (registered == nullptr) python.clear_error();
  // What was not registered is gone with the last reference, which ends reading in place.
  for (void* const object : {registered, module, function, capsule}) {
    if (object != nullptr) python.let_go(object);
  }
  return 0;
}

}  // namespace
}  // namespace python_exit

// An interpreter that ended and is made anew is not asked again.
void PythonExit::ask() noexcept {
  if (!wanted_.exchange(false)) return;
  static constinit std::atomic<bool> asked{false};
  if (asked.exchange(true) || !python_exit::python.find()) return;
  (void)pthread_atfork(nullptr, nullptr, python_exit::forked_child);
  (void)python_exit::python.call_later(python_exit::register_at_exit, nullptr);
}

bool PythonExit::enter() noexcept {
  if (python_exit::state.load(std::memory_order_relaxed) != python_exit::State::kSaysSo)
    return false;
  python_exit::readers.fetch_add(1);
  if (python_exit::state.load() == python_exit::State::kSaysSo) return true;
  python_exit::readers.fetch_sub(1);
  return false;
}

void PythonExit::leave() noexcept { python_exit::readers.fetch_sub(1, std::memory_order_release); }

}  // namespace gfxgraph::recorder
