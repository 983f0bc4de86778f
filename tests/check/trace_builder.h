// Builds small traces with format::Writer from the kernels in kernels/, as the recorder would.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "check/check.h"
#include "codeobj/code_object.h"
#include "format/read/reader.h"
#include "format/write/writer.h"

namespace gfxgraph::check {

// Whether the kernels were compiled (hipcc is installed).
bool kernels_available();
#define GFXGRAPH_SKIP_WITHOUT_KERNELS() \
  if (!kernels_available()) GTEST_SKIP() << "hipcc is not installed"

// Whether the file's code has a function of that name.
bool has_function(const std::string& object, const std::string& name);
// clang 17, of HIP 5.7.1, puts malloc into each kernel that calls it.
#define GFXGRAPH_SKIP_WITHOUT_MALLOC(object)    \
  if (!has_function(object, "__ockl_dm_alloc")) \
  GTEST_SKIP() << "the check needs malloc as a function, which this compiler did not leave"

class TraceBuilder {
 public:
  // `object`: the file with the kernels.
  explicit TraceBuilder(const std::string& object = "guards.bundle");
  ~TraceBuilder();

  struct Buffer {
    format::AllocationId id = 0;
    uint64_t address = 0;
    uint64_t bytes = 0;
  };
  // `mapped_bytes` 0: to the end of the page. Contents: `fill` in every byte.
  Buffer buffer(uint64_t bytes, uint64_t mapped_bytes = 0, uint8_t fill = 0);
  // Registered memory. Kernels reach it at `host_address`, too.
  Buffer registered_buffer(uint64_t bytes, uint64_t host_address);
  // Nobody has written it.
  Buffer unwritten_buffer(uint64_t bytes);
  // To the host.
  void copy_out(const Buffer& buffer);
  // The kind of the buffers that follow.
  void set_kind(format::AllocationKind kind) { kind_ = kind; }
  // Directly behind another one, as runtimes place small buffers.
  Buffer buffer_behind(const Buffer& other, uint64_t bytes);
  Buffer buffer_of(const std::vector<uint32_t>& words);
  Buffer global(const std::string& symbol, uint64_t bytes, uint64_t load_address);
  // Of one component of 32 bits: its texels, or nobody has written it. Kernels know no address.
  Buffer array(const format::ArrayShape& shape, const std::vector<uint32_t>& texels);
  Buffer array(uint32_t width, uint32_t height, const std::vector<uint32_t>& texels);
  // The address is the handle.
  Buffer surface(const Buffer& array);
  Buffer texture(const format::ImageObject& object);
  void free(const Buffer& buffer);
  // The end of the trace for a buffer, with the bytes it should have.
  void expect(const Buffer& buffer, const std::vector<uint32_t>& words);

  // Arguments in the kernel's layout: offsets are taken from its metadata.
  struct Value {
    std::vector<uint8_t> bytes;
    template <typename T>
    Value(T value) : bytes(sizeof value) {  // NOLINT: arguments are written as plain values
      std::memcpy(bytes.data(), &value, sizeof value);
    }
    Value(const Buffer& buffer) : Value(buffer.address) {}  // NOLINT
  };
  format::Launch make_launch(const std::string& kernel, uint32_t grid, uint32_t block,
                             const std::vector<Value>& arguments);
  void launch(const std::string& kernel, uint32_t grid, uint32_t block,
              const std::vector<Value>& arguments);
  void add(format::Action action);
  // `chained`: each node follows the one before.
  format::GraphId graph(const std::vector<format::Launch>& launches, bool chained = false);
  format::Content content(const std::vector<uint32_t>& words);

  // Seals and opens.
  std::shared_ptr<const format::Trace> open();
  // Seals, opens and checks; twice, so that each test also shows that watching fewer registers
  // finds the same.
  Result<Report> try_check(const CheckOptions& options = {});
  Report check(MaskedLaneMode mode = MaskedLaneMode::kError, bool strict = false);
  const codeobj::CodeObject& code() const { return *object_; }

 private:
  Buffer image(format::AllocationKind kind, const format::ImageObject& object);

  std::filesystem::path path_;
  std::unique_ptr<format::Writer> writer_;
  std::shared_ptr<const codeobj::CodeObject> object_;
  std::vector<std::string> kernel_names_;
  format::AllocationKind kind_ = format::AllocationKind::kDevice;
  bool unwritten_ = false;     // the next buffer
  uint64_t host_address_ = 0;  // the next buffer's
  uint64_t next_address_ = 0x7f0000000000;
  format::AllocationId next_allocation_ = 1;
};

// For report_schemas.py: writes the JSON and the SARIF into the folder GFXGRAPH_REPORT_FOLDER.
// Without that variable it does nothing.
void keep_for_schemas(const std::vector<TraceReport>& traces);

uint64_t count_of(const Report& report, FindingClass finding_class);
const Finding* first_of(const Report& report, FindingClass finding_class);

}  // namespace gfxgraph::check
