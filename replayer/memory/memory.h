// Memory for every recorded allocation: allocated, bound to the caller's, or a module's variable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"
#include "replayer/abi/hip_library.h"
#include "replayer/code/modules.h"
#include "replayer/memory/memory_source.h"
#include "replayer/memory/relocation.h"
#include "replayer/program/options.h"
#include "replayer/program/packing.h"
#include "replayer/program/program.h"
#include "replayer/program/rigid.h"

namespace gfxgraph::replayer {

// Whether the trace has such an allocation and the memory suffices. Needs no device.
Result<void> check_binding(const Program& program, const Binding& binding);

// kInvalidArgument if the memory overlaps `place`, which holds the allocation `other`, and the
// recorded addresses of both do not.
Result<void> check_apart(const Program& program, const Binding& binding, format::AllocationId other,
                         const void* place);

// Whether a session has memory of its own for an allocation, unless that is bound: in place only if
// the allocation lived inside of the capture.
bool is_made(const SessionOptions& options, const AllocationInfo& info);

// An allocation whose address changed. Host addresses are 0 if it has none.
struct Move {
  format::AllocationId allocation = 0;
  uint64_t size_bytes = 0;
  uint64_t old_device = 0, new_device = 0;
  uint64_t old_host = 0, new_host = 0;
  bool shared = false;  // others had the old address at other times

  // The word itself unless it is an address in the allocation, or one past its end.
  uint64_t moved(uint64_t word) const noexcept { return moved_within(word, size_bytes); }
  // The same for a word that was made from the address of `recorded`. Another allocation may begin
  // where this one ended.
  uint64_t moved(uint64_t word, format::AllocationId recorded) const noexcept {
    if (recorded == allocation) return moved(word);
    return size_bytes == 0 || shared ? word : moved_within(word, size_bytes - 1);
  }

 private:
  uint64_t moved_within(uint64_t word, uint64_t last) const noexcept {
    if (old_device != 0 && word - old_device <= last) return word - old_device + new_device;
    if (old_host != 0 && word - old_host <= last) return word - old_host + new_host;
    return word;
  }
};

// Owns its allocations. Not thread-safe. Reads and writes block until the bytes have moved; the
// caller has synchronised with the work that uses them.
class Memory {
 public:
  static Result<std::unique_ptr<Memory>> create(std::shared_ptr<const HipLibrary> library,
                                                const Program& program, const Modules& modules,
                                                const SessionOptions& options, Packing packing);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  const AddressMap& addresses() const { return addresses_; }
  const MemorySource& source() const { return source_; }
  // Writes every allocation's recorded initial content, with relocated pointers and zeros after it;
  // fresh_byte() if it has none, because nobody had written it. Bindings with keep_content are left
  // alone, unless `all`; so are allocations that begin before `first_event`, at `end_event` or
  // later.
  Result<void> restore(const Program& program, bool all = false, uint64_t end_event = UINT64_MAX,
                       uint64_t first_event = 0);

  const Packing& packing() const { return packing_; }
  uint8_t* arena() const { return arena_; }
  // For EndedBytes, what runs keep of them; null: nothing (SessionOptions::keep_freed).
  uint8_t* kept() const { return kept_; }
  // Whether it has bytes that another allocation has at another time: only runs give it content.
  bool shares(format::AllocationId id) const { return buffers_[id - 1].shares; }
  // Whether its final contents are lost when a run is over.
  bool overwritten(format::AllocationId id) const {
    return buffers_[id - 1].reused && kept_ == nullptr;
  }
  // kUnsupported for an allocation that shares memory: it has no content of its own between runs.
  // kNotFound: in place, and the program gave it back.
  Result<void> check_own(format::AllocationId id) const;
  // In place: whether it is the program's memory and not what the caller bound or the session made.
  bool is_live(format::AllocationId id) const { return buffers_[id - 1].live; }
  // Of such memory: whether the program still has it. Thread-safe.
  bool is_there(format::AllocationId id) const;

  bool exists(format::AllocationId id) const {
    return id != 0 && id <= buffers_.size() && buffers_[id - 1].used;
  }
  bool keeps_content(format::AllocationId id) const { return buffers_[id - 1].keep_content; }
  uint64_t size(format::AllocationId id) const { return addresses_.placement(id).size_bytes; }
  uint8_t* device_pointer(format::AllocationId id) const { return buffers_[id - 1].device; }
  // The runtime's; null: no array.
  void* array(format::AllocationId id) const { return buffers_[id - 1].array; }
  // Null if the host cannot access it.
  uint8_t* host_pointer(format::AllocationId id) const { return buffers_[id - 1].host; }

  // The initial bytes of memory that nobody had written: one byte, or, to trace where such bytes
  // go, a different one in each allocation.
  uint8_t fresh_byte(format::AllocationId id, bool varied) const {
    return varied ? fresh_fill_ ^ static_cast<uint8_t>(1 + id % 255) : fresh_fill_;
  }
  void vary_fresh(bool varied) { vary_fresh_ = varied; }
  uint8_t fresh_byte_now(format::AllocationId id) const { return fresh_byte(id, vary_fresh_); }

  // Uses the caller's memory in place of an allocation, from now on, with its current content.
  // kUnsupported: it must keep its distance from others. Words in other buffers that point to it,
  // and that the trace knows as pointers, are updated; values that work has computed from its
  // address are not. On failure nothing has changed.
  Result<Move> bind_anew(const Program& program, const Binding& binding);

  // Both check the range, and take what runs have kept for the end of the allocation's life.
  Result<void> read(format::AllocationId id, uint64_t offset, std::span<std::byte> bytes) const;
  Result<void> write(format::AllocationId id, uint64_t offset,
                     std::span<const std::byte> bytes) const;

  // Of the allocations that do not belong to the caller: how many stand elsewhere than recorded.
  size_t moved() const;
  size_t movable() const;

 private:
  enum class Owner : uint8_t {
    kNone,
    kDevice,
    kManaged,
    kPinned,
    kRegistered,
    kArray,
    kTexture,
    kSurface
  };
  struct Buffer {
    bool used = false;
    bool bound = false;
    bool keep_content = false;
    bool live = false;                    // the program's, in place
    bool in_group = false;                // RigidGroup
    bool shares = false, reused = false;  // as Tenant's
    Owner owner = Owner::kNone;
    void* base = nullptr;  // what is freed
    uint8_t* device = nullptr;
    uint8_t* host = nullptr;
    void* array = nullptr;
    const format::ArrayShape* shape = nullptr;  // of an array
    bool object = false;                        // a texture or surface; `device` is its handle
  };

  Memory(std::shared_ptr<const HipLibrary> library, const SessionOptions& options)
      : library_(library), source_(std::move(library), options.allocator), live_(options.live) {}
  Result<void> place_arena(const Program& program, Layout layout, bool keep_freed);
  // Both: of the range, checked before. What is kept of the allocation.
  void read_kept(format::AllocationId id, uint64_t offset, std::span<std::byte> bytes) const;
  Result<void> write_kept(format::AllocationId id, uint64_t offset,
                          std::span<const std::byte> bytes) const;
  Result<void> write_device(format::AllocationId id, uint64_t offset,
                            std::span<const std::byte> bytes) const;
  Result<void> place_group(const Program& program, const RigidGroup& group, Layout layout);
  // In place, where nothing moves: whether nothing has to be done for a group.
  Result<bool> stays_together(const Program& program, const RigidGroup& group,
                              const SessionOptions& options);
  // memory_live.cpp
  void take_live(const Program& program, const SessionOptions& options);
  Result<void> check_live_words(const Program& program, const Binding& binding) const;
  Result<void> place(const AllocationInfo& info, const Modules& modules, Layout layout);
  Result<void> allocate(const AllocationInfo& info, Layout layout);
  // memory_images.cpp
  Result<void> make_array(const format::AllocationBegin& begin);
  // Of arrays and memory that stand in their places.
  Result<void> make_object(const format::AllocationBegin& begin);
  hip::Error move_array(const Buffer& buffer, uint64_t offset, std::byte* bytes, uint64_t size,
                        int kind) const;
  Result<Buffer> bind(const Program& program, const Binding& binding) const;
  Result<void> check_apart_from_all(const Program& program, const Binding& binding) const;
  Result<void> check_device(const Program& program, const Binding& binding) const;
  Result<void> find_device_address(Buffer& buffer, const format::AllocationBegin& begin) const;
  // memory_restore.cpp
  Result<void> restore_words(const format::AllocationBegin& begin, const std::string& where);
  Result<void> fill(format::AllocationId id, uint64_t offset, uint8_t value, uint64_t size) const;
  void map(const Program& program, bool keep_ambiguous);
  void release(Buffer& buffer) const;
  void put_in_place(format::AllocationId id, const Buffer& buffer) noexcept;
  // What bindings with keep_content hold; index = id - 1, empty for all others.
  Result<std::vector<std::vector<std::byte>>> kept_contents() const;

  friend class KeptContents;
  friend class MovedWords;

  std::shared_ptr<const HipLibrary> library_;
  MemorySource source_;
  std::shared_ptr<const live::Objects> live_;  // null: not in place
  std::vector<Buffer> buffers_;                // index = id - 1
  void* guard_ = nullptr;                      // keeps the first recorded address taken
  Packing packing_;
  void* arena_base_ = nullptr;  // what is freed
  uint8_t* arena_ = nullptr;
  uint8_t* kept_ = nullptr;
  // Of what is kept; by offset in the allocation.
  std::map<format::AllocationId, std::vector<EndedBytes>> kept_of_;
  AddressMap addresses_;
  bool zero_unknown_ = false;  // SessionOptions::zero_unknown
  uint8_t fresh_fill_ = 0;
  bool vary_fresh_ = false;
};

// What bindings with keep_content held. Written back by put_back(), or where this goes out of scope
// because something failed; whoever may write that memory has ended then.
class KeptContents {
 public:
  static Result<KeptContents> take(const Memory& memory);
  ~KeptContents();
  KeptContents(KeptContents&& other) noexcept
      : memory_(other.memory_),
        bytes_(std::move(other.bytes_)),
        pending_(std::exchange(other.pending_, false)) {}
  KeptContents& operator=(KeptContents&&) = delete;

  Result<void> put_back();
  // As often as needed, before that.
  Result<void> write() const;

 private:
  explicit KeptContents(const Memory& memory) : memory_(&memory) {}

  const Memory* memory_;
  std::vector<std::vector<std::byte>> bytes_;
  bool pending_ = false;
};

}  // namespace gfxgraph::replayer
