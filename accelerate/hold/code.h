// Which arguments the program's kernels take: the code that it registered or loaded, parsed when a
// kernel of it is first looked at. Thread-safe. Layouts live until the process ends.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "accelerate/hold/launch.h"

namespace gfxgraph::accelerate {

class Code {
 public:
  // `wrapper`: the argument of __hipRegisterFatBinary.
  void fat_binary(const void* handle, const void* wrapper);
  void host_function(const void* fat_binary, const void* stub, const char* name);
  void remove_fat_binary(const void* handle);
  // The bytes are copied before the program can change them. Both: nothing is known of a module
  // whose bytes cannot be read.
  void module(const void* handle, const void* image);
  void module_file(const void* handle, const char* path);
  void function(const void* handle, const void* module, const char* name);
  void remove_module(const void* handle);

  // Arguments of what a launch names, as the code for `gpu_arch` has them; nullptr: not known.
  // `stub`: a host function is looked for first; HIP 7 takes both.
  const Layout* layout(const void* function, bool stub, const std::string& gpu_arch);

 private:
  struct Object;
  struct Function {
    std::shared_ptr<Object> object;
    std::string name;
    bool resolved = false;
    const Layout* layout = nullptr;
  };
  using Functions = std::unordered_map<const void*, Function>;
  const Layout* find(Functions& functions, const void* function, const std::string& gpu_arch);
  void add_module(const void* handle, std::vector<std::byte> bytes);

  std::mutex mutex_;
  std::unordered_map<const void*, std::shared_ptr<Object>> fat_binaries_;
  std::unordered_map<const void*, std::shared_ptr<Object>> modules_;
  Functions stubs_;
  Functions functions_;
  std::vector<std::unique_ptr<const Layout>> layouts_;
};

}  // namespace gfxgraph::accelerate
