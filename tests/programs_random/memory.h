// The host's model of all memory that a random program touches: bytes, which of them are defined,
// which words are pointers, and which operations used them.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "images.h"
#include "order.h"

namespace random_programs {

enum class Kind {
  kDevice,
  kManaged,
  kPinned,
  kRegistered,
  kPageable,
  kGlobal,
  kPool,
  kArray,
  kTexture,
  kSurface
};
const char* kind_name(Kind kind);

// A place in a region.
struct Ref {
  int region = -1;
  uint64_t offset = 0;
};

// Bytes that an operation reads or writes.
struct Access {
  int region = -1;
  uint64_t begin = 0;
  uint64_t end = 0;
  bool write = false;
};

struct Use {
  int op = 0;
  uint64_t begin = 0;
  uint64_t end = 0;
  bool write = false;
};

// An array's shape, or that of what a texture or surface shows.
struct Texels {
  uint32_t size[3] = {1, 0, 0};  // 0: fewer dimensions
  bool layered = false;
  TexelKind kind = TexelKind::kUnsigned;
  uint32_t bits = 8;
  uint32_t components = 1;
  // Of a texture, beside kNormalized, kLinear and kFraction:
  Dimension dimension = Dimension::k2D;
  uint32_t how = 0;
  AddressMode mode = AddressMode::kClamp;

  uint32_t texel_bytes() const { return components * bits / 8; }
  uint32_t rows() const { return size[1] == 0 ? 1 : size[1]; }
  uint32_t slices() const { return size[2] == 0 ? 1 : size[2]; }
  uint64_t row_bytes() const { return uint64_t{size[0]} * texel_bytes(); }
  uint64_t bytes() const { return row_bytes() * rows() * slices(); }
};

struct Region {
  int id = -1;
  Kind kind = Kind::kDevice;
  uint64_t size = 0;
  bool live = true;
  uint8_t* device = nullptr;  // where kernels see it; null: not at all
  uint8_t* host = nullptr;    // where the host sees it; null: not at all
  int symbol = -1;            // a global's number in globals.inc
  int on = 0;                 // the device that was current when it was made
  int module = -1;            // the loaded module that owns the global; -1: the program
  // An array's bytes are its texels, row by row. A texture or surface has one byte, which kernels
  // read that use it, and shows an array or memory.
  Texels texels;
  Ref shows;
  uint64_t pitch = 0;       // of a texture of memory
  void* handle = nullptr;   // hipArray_t, hipTextureObject_t or hipSurfaceObject_t
  bool left_alone = false;  // never destroyed
  std::vector<uint8_t> bytes;
  std::vector<uint8_t> defined;
  std::map<uint64_t, Ref> pointers;  // by offset: words that hold an address
  std::vector<Use> uses;

  bool is_image() const {
    return kind == Kind::kArray || kind == Kind::kTexture || kind == Kind::kSurface;
  }
  // What a kernel gets as an argument, or finds in memory.
  uint64_t address() const { return reinterpret_cast<uint64_t>(is_image() ? handle : device); }
  bool on_device() const { return device != nullptr; }
  bool on_host() const { return host != nullptr; }
};

class Memory {
 public:
  Region& add(Kind kind, uint64_t size);
  Region& at(int region) { return *regions_[static_cast<size_t>(region)]; }
  const Region& at(int region) const { return *regions_[static_cast<size_t>(region)]; }
  int count() const { return static_cast<int>(regions_.size()); }

  uint8_t* bytes(const Ref& ref) { return at(ref.region).bytes.data() + ref.offset; }
  // The bytes have a known value and are no pointers from now on.
  void written(int region, uint64_t begin, uint64_t end);
  void set_pointer(const Ref& at, const Ref& target);
  void copy(const Ref& to, const Ref& from, uint64_t size);
  bool defined(const Access& access) const;
  // A part of an address is a value that differs from run to run.
  bool splits_pointer(const Access& access) const;
  // An operation that conflicts with the access and is not in `before`; -1: none.
  int conflict(const Access& access, const OpSet& before) const;
  void used(int op, const std::vector<Access>& accesses);

  // Contents only, for a trial.
  struct Content {
    std::vector<uint8_t> bytes;
    std::vector<uint8_t> defined;
    std::map<uint64_t, Ref> pointers;
  };
  using State = std::vector<Content>;
  State save() const;
  void restore(const State& state);

 private:
  std::vector<std::unique_ptr<Region>> regions_;
};

}  // namespace random_programs
