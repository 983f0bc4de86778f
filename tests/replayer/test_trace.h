// Records a small program for tests: every call is done at once on host memory (the recorded
// process), with the fake runtime's kernels, and written to a trace. A replay that used a recorded
// address would read or change that memory, which is freed when the trace is finished.
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "fake_hip.h"
#include "format/read/reader.h"
#include "format/write/writer.h"
#include "replayer/program/program.h"

namespace gfxgraph::replayer::testing {

// An ELF header for AMDGPU and one segment without bytes.
std::vector<uint8_t> smallest_code_object();

// Kernarg bytes and the pointers in them.
class Arguments {
 public:
  template <typename Value>
  Arguments& value(Value v) {
    const size_t offset = (bytes.size() + sizeof(v) - 1) / sizeof(v) * sizeof(v);
    bytes.resize(offset + sizeof(v));
    std::memcpy(bytes.data() + offset, &v, sizeof(v));
    return *this;
  }
  std::vector<uint8_t> bytes;
};

// Larger contents are stored in chunks of it.
inline constexpr size_t kTestChunkBytes = 4096;

class TestTrace {
 public:
  explicit TestTrace(FakeHip& fake,
                     const std::function<void(std::vector<uint8_t>&)>& edit_code = {});
  ~TestTrace();

  format::AllocationId allocate(size_t size, const std::vector<uint8_t>& initial = {},
                                format::AllocationKind kind = format::AllocationKind::kDevice,
                                const std::string& symbol = {});
  format::AllocationId allocate_words(
      const std::vector<uint32_t>& words,
      format::AllocationKind kind = format::AllocationKind::kDevice);
  void free(format::AllocationId id);
  uint64_t address(format::AllocationId id) const;  // recorded
  uint32_t* words(format::AllocationId id) {
    return reinterpret_cast<uint32_t*>(memory_.at(id).data());
  }

  void stream(format::StreamId id, uint32_t flags = 0) { add(format::StreamCreate{id, flags, 0}); }
  void event(format::EventId id) { add(format::EventCreate{id, 2}); }
  void record(format::EventId event, format::StreamId stream) {
    add(format::EventRecord{event, stream});
  }
  void wait(format::StreamId stream, format::EventId event) {
    add(format::StreamWait{stream, event, 0});
  }
  void synchronize_device() { add(format::Synchronize{}); }
  void synchronize_stream_itself(format::StreamId id) {
    add(format::Synchronize{format::SynchronizeKind::kStreamItself, id});
  }
  void synchronize_stream(format::StreamId id) {
    add(format::Synchronize{format::SynchronizeKind::kStream, id});
  }
  void synchronize_event(format::EventId id) {
    add(format::Synchronize{format::SynchronizeKind::kEvent, id});
  }
  // A host function of a stream; ran(): the host knew that it had run.
  void host_function(format::StreamId stream, format::HostFunctionId id) {
    add(format::HostFunction{stream, "hipStreamAddCallback", id});
  }
  void ran(format::HostFunctionId id) {
    add(format::Synchronize{format::SynchronizeKind::kHostFunction, id});
  }
  void name(format::AllocationId id, const std::string& text) {
    add(format::Marker{text, format::MarkerKind::kName, 0, 0, id});
  }
  void range_begins(const std::string& text, format::RangeId range, uint32_t ordinal) {
    add(format::Marker{text, format::MarkerKind::kRangeBegin, range, ordinal, 0});
  }
  void range_ends(const std::string& text, format::RangeId range) {
    add(format::Marker{text, format::MarkerKind::kRangeEnd, range, 0, 0});
  }
  void launch(const std::string& kernel, const Arguments& arguments, format::StreamId stream = 0);
  void copy(format::Copy copy);
  void copy_to_device(format::AllocationId to, const std::vector<uint8_t>& bytes,
                      format::StreamId stream = 0, bool asynchronous = false);
  void copy_to_host(format::AllocationId from, format::StreamId stream = 0);
  // From or to memory of the program, whose end has no gaps: `packed` are its bytes, or become
  // them.
  void copy_packed(format::Copy copy, std::vector<uint8_t>& packed);
  void memset(format::Memset memset);
  void host_write(format::AllocationId id, uint64_t offset, const std::vector<uint8_t>& bytes,
                  bool in_doubt = false);
  // `again`: the id that an earlier launch of the same nodes has returned.
  format::GraphId graph_launch(const format::Graph& graph, format::StreamId stream = 0,
                               format::GraphId again = 0);
  void checkpoint();
  void incomplete(const std::string& call);

  // For graph nodes.
  format::Launch make_launch(const std::string& kernel, const Arguments& arguments,
                             format::StreamId stream = 0);
  format::Copy make_copy(format::AllocationId to, format::AllocationId from, uint64_t size);

  bool mark_ambiguous = false;   // relocations made from now on
  bool hash_only = false;        // post-states made from now on
  bool keep_memory = false;      // finish() does not free it: the recorded process goes on
  bool whole_arguments = false;  // kernels made from now on have their last half word, too
  std::string arch = "gfx1030";
  std::function<void(format::Launch&)> edit_launch;
  std::function<void(format::AllocationBegin&)> edit_begin;
  std::function<void(format::Content&)> edit_post;
  std::set<format::AllocationId> gone;                // that graphs had freed
  std::function<void(format::Content&)> edit_result;  // of copies to the host

  // Ends what is alive, seals, opens.
  std::shared_ptr<const format::Trace> finish();
  // `borders`: as of a step in place.
  std::shared_ptr<const Program> program(bool borders = false);
  const std::map<std::string, format::KernelId>& kernels() const { return kernels_; }
  const std::map<format::AllocationId, std::vector<uint8_t>>& memory() const { return memory_; }
  const std::filesystem::path& path() const { return path_; }

 private:
  void add(format::Action action);
  format::KernelId kernel_id(const std::string& name, size_t explicit_bytes);
  format::Content content(const uint8_t* bytes, size_t size, bool stored = true);
  std::vector<format::Relocation> match(const uint8_t* bytes, size_t size,
                                        format::RelocationSource source) const;
  uint8_t* at(format::AllocationId id, uint64_t offset) { return memory_.at(id).data() + offset; }
  void execute(const format::Launch& launch);
  void execute(const format::Copy& copy);
  void execute(const format::Memset& memset);
  void end(format::AllocationId id, bool freed);

  FakeHip& fake_;
  std::filesystem::path path_;
  std::unique_ptr<format::Writer> writer_;
  std::map<format::AllocationId, std::vector<uint8_t>> memory_;
  std::map<std::string, format::KernelId> kernels_;
  std::map<format::KernelId, std::string> names_;
  format::AllocationId next_allocation_ = 1;
  format::GraphId next_graph_ = 1;
};

// The fake runtime's kernels of the tests.
//   fill(u32* out, u32 value, u32 n)    add(u32* a, u32* b, u32* out, u32 n)
//   double(u32* data, u32 n)            chase(node* list, u32* out): follows next pointers, sums
//   number(u64* out, u64 value)
void add_test_kernels(FakeHip& fake);

}  // namespace gfxgraph::replayer::testing
