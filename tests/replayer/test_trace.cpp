#include "test_trace.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>

#include "format/write/content_writer.h"

namespace gfxgraph::replayer::testing {
namespace {

std::span<const std::byte> as_bytes(const uint8_t* bytes, size_t size) {
  return {reinterpret_cast<const std::byte*>(bytes), size};
}

template <typename Value>
Value expect(Result<Value> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(*result);
}
void expect(const Result<void>& result) {
  if (!result) throw std::runtime_error(result.error().message);
}

}  // namespace

std::vector<uint8_t> smallest_code_object() {
  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_machine = 224;
  header.e_phoff = sizeof(header);
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 1;
  const Elf64_Phdr segment = {};
  constexpr char kNames[16] = "\0.strtab";
  Elf64_Shdr sections[2] = {};
  sections[1].sh_name = 1;
  sections[1].sh_type = SHT_STRTAB;
  sections[1].sh_offset = sizeof(header) + sizeof(segment);
  sections[1].sh_size = sizeof(kNames);
  header.e_shoff = sections[1].sh_offset + sizeof(kNames);
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 2;
  header.e_shstrndx = 1;
  std::vector<uint8_t> bytes(header.e_shoff + sizeof(sections));
  std::memcpy(bytes.data(), &header, sizeof(header));
  std::memcpy(bytes.data() + sizeof(header), &segment, sizeof(segment));
  std::memcpy(bytes.data() + sections[1].sh_offset, kNames, sizeof(kNames));
  std::memcpy(bytes.data() + header.e_shoff, sections, sizeof(sections));
  return bytes;
}

TestTrace::TestTrace(FakeHip& fake, const std::function<void(std::vector<uint8_t>&)>& edit_code)
    : fake_(fake) {
  static std::atomic<int> number = 0;
  path_ = std::filesystem::temp_directory_path() /
          ("gfxgraph-replayer-test-" + std::to_string(getpid()) + "-" + std::to_string(number++) +
           ".gfxg");
  format::WriterOptions options;
  options.content_chunk_bytes = kTestChunkBytes;
  options.threads = 1;
  writer_ = expect(format::Writer::create(path_, options));
  std::vector<uint8_t> elf = smallest_code_object();
  if (edit_code) edit_code(elf);
  const format::BlobId blob = expect(writer_->add_blob(as_bytes(elf.data(), elf.size())));
  format::CodeObject object;
  object.id = 1;
  object.elf = blob;
  object.target = "amdgcn-amd-amdhsa--gfx1030";
  expect(writer_->add(object));
}

TestTrace::~TestTrace() {
  writer_.reset();
  std::error_code error;
  std::filesystem::remove(path_, error);
  std::filesystem::remove(path_.string() + ".partial", error);
}

void TestTrace::add(format::Action action) {
  format::Event event;
  event.action = std::move(action);
  expect(writer_->add(std::move(event)));
}

uint64_t TestTrace::address(format::AllocationId id) const {
  return reinterpret_cast<uint64_t>(memory_.at(id).data());
}

std::vector<format::Relocation> TestTrace::match(const uint8_t* bytes, size_t size,
                                                 format::RelocationSource source) const {
  std::vector<format::Relocation> relocations;
  for (size_t offset = 0; offset + 8 <= size; offset += 8) {
    uint64_t word = 0;
    std::memcpy(&word, bytes + offset, 8);
    for (const auto& [id, memory] : memory_) {
      const auto base = reinterpret_cast<uint64_t>(memory.data());
      if (word < base || word >= base + memory.size()) continue;
      relocations.push_back(
          {offset, id, static_cast<int64_t>(word - base), source, mark_ambiguous});
    }
  }
  return relocations;
}

format::Content TestTrace::content(const uint8_t* bytes, size_t size, bool stored) {
  format::Content result;
  result.size_bytes = size;
  result.hash = format::hash_bytes(as_bytes(bytes, size));
  result.stored = stored;
  if (stored && size > kTestChunkBytes) {
    format::ContentWriter content(*writer_, size);
    for (size_t at = 0; at < size; at += kTestChunkBytes) {
      const std::span<std::byte> room = expect(content.room());
      std::memcpy(room.data(), bytes + at, room.size());
      expect(content.put());
    }
    result = expect(content.finish());
  } else if (stored) {
    result.blob = expect(writer_->add_blob(as_bytes(bytes, size)));
  }
  result.relocations = match(bytes, size, format::RelocationSource::kMatched);
  return result;
}

format::AllocationId TestTrace::allocate(size_t size, const std::vector<uint8_t>& initial,
                                         format::AllocationKind kind, const std::string& symbol) {
  const format::AllocationId id = next_allocation_++;
  std::vector<uint8_t>& memory = memory_[id];
  memory = initial;
  memory.resize(size, 0x5A);
  format::AllocationBegin begin;
  begin.id = id;
  begin.kind = kind;
  begin.recorded_address = address(id);
  begin.size_bytes = size;
  if (kind == format::AllocationKind::kModuleGlobal) {
    begin.code_object = 1;
    begin.symbol = symbol;
  }
  begin.initial = content(memory.data(), size);
  if (edit_begin) edit_begin(begin);
  add(begin);
  return id;
}

format::AllocationId TestTrace::allocate_words(const std::vector<uint32_t>& words,
                                               format::AllocationKind kind) {
  std::vector<uint8_t> bytes(words.size() * 4);
  std::memcpy(bytes.data(), words.data(), bytes.size());
  return allocate(bytes.size(), bytes, kind);
}

void TestTrace::end(format::AllocationId id, bool freed) {
  format::AllocationEnd end;
  end.id = id;
  end.freed = freed;
  end.post = content(memory_.at(id).data(), memory_.at(id).size(), !hash_only);
  if (edit_post) edit_post(end.post);
  if (gone.contains(id)) {
    end.gone = true;
    end.post = {};
    end.post.stored = false;
  }
  add(end);
}

void TestTrace::free(format::AllocationId id) {
  end(id, true);
  memory_.erase(id);
}

format::KernelId TestTrace::kernel_id(const std::string& name, size_t explicit_bytes) {
  const auto found = kernels_.find(name);
  if (found != kernels_.end()) return found->second;
  format::Kernel kernel;
  kernel.id = static_cast<format::KernelId>(kernels_.size() + 1);
  kernel.code_object = 1;
  kernel.name = name;
  kernel.explicit_size_bytes = static_cast<uint32_t>(explicit_bytes);
  kernel.kernarg_size_bytes = kernel.explicit_size_bytes + 64;
  for (uint32_t offset = 0; offset + 8 <= explicit_bytes; offset += 8) {
    kernel.arguments.push_back({"word" + std::to_string(offset / 8), "by_value",
                                format::ArgumentKind::kByValue, offset, 8});
  }
  if (whole_arguments && explicit_bytes % 8 == 4) {
    kernel.arguments.push_back({"half", "by_value", format::ArgumentKind::kByValue,
                                static_cast<uint32_t>(explicit_bytes - 4), 4});
  }
  expect(writer_->add(kernel));
  names_[kernel.id] = name;
  return kernels_[name] = kernel.id;
}

format::Launch TestTrace::make_launch(const std::string& kernel, const Arguments& arguments,
                                      format::StreamId stream) {
  format::Launch launch;
  launch.kernel = kernel_id(kernel, arguments.bytes.size());
  launch.stream = stream;
  launch.grid = {2, 1, 1};
  launch.block = {32, 1, 1};
  launch.kernarg = arguments.bytes;
  launch.relocations =
      match(launch.kernarg.data(), launch.kernarg.size(), format::RelocationSource::kTyped);
  if (edit_launch) edit_launch(launch);
  return launch;
}

format::Copy TestTrace::make_copy(format::AllocationId to, format::AllocationId from,
                                  uint64_t size) {
  format::Copy copy;
  copy.destination.allocation = to;
  copy.source.allocation = from;
  copy.width_bytes = size;
  copy.asynchronous = true;
  return copy;
}

void TestTrace::execute(const format::Launch& launch) {
  FakeLaunch fake;
  fake.kernarg = launch.kernarg.data();
  fake.kernarg_bytes = launch.kernarg.size();
  fake_.kernels.at(names_.at(launch.kernel))(fake);
}

void TestTrace::execute(const format::Copy& copy) {
  if (copy.source.allocation == 0 || copy.destination.allocation == 0) return;
  for (uint64_t z = 0; z < copy.depth; ++z) {
    for (uint64_t y = 0; y < copy.height; ++y) {
      std::memmove(
          at(copy.destination.allocation, copy.destination.offset_bytes +
                                              z * copy.destination.slice_bytes +
                                              y * copy.destination.pitch_bytes),
          at(copy.source.allocation,
             copy.source.offset_bytes + z * copy.source.slice_bytes + y * copy.source.pitch_bytes),
          copy.width_bytes);
    }
  }
}

void TestTrace::execute(const format::Memset& memset) {
  for (uint64_t z = 0; z < memset.depth; ++z) {
    for (uint64_t y = 0; y < memset.height; ++y) {
      for (uint64_t x = 0; x < memset.width_elements; ++x) {
        std::memcpy(at(memset.allocation, memset.offset_bytes + z * memset.slice_bytes +
                                              y * memset.pitch_bytes + x * memset.element_bytes),
                    &memset.value, memset.element_bytes);
      }
    }
  }
}

void TestTrace::launch(const std::string& kernel, const Arguments& arguments,
                       format::StreamId stream) {
  const format::Launch launch = make_launch(kernel, arguments, stream);
  execute(launch);
  add(launch);
}

void TestTrace::copy(format::Copy copy) {
  execute(copy);
  add(std::move(copy));
}

void TestTrace::copy_to_device(format::AllocationId to, const std::vector<uint8_t>& bytes,
                               format::StreamId stream, bool asynchronous) {
  format::Copy copy;
  copy.asynchronous = asynchronous;
  copy.destination.allocation = to;
  copy.width_bytes = bytes.size();
  copy.host_source = content(bytes.data(), bytes.size());
  copy.stream = stream;
  std::memcpy(at(to, 0), bytes.data(), bytes.size());
  add(std::move(copy));
}

void TestTrace::copy_to_host(format::AllocationId from, format::StreamId stream) {
  format::Copy copy;
  copy.source.allocation = from;
  copy.width_bytes = memory_.at(from).size();
  copy.host_result = content(memory_.at(from).data(), copy.width_bytes);
  if (edit_result) edit_result(copy.host_result);
  copy.stream = stream;
  add(std::move(copy));
}

void TestTrace::copy_packed(format::Copy copy, std::vector<uint8_t>& packed) {
  const bool to_device = copy.source.allocation == 0;
  const format::CopyEnd& end = to_device ? copy.destination : copy.source;
  packed.resize(copy.width_bytes * copy.height * copy.depth);
  uint8_t* row = packed.data();
  for (uint64_t z = 0; z < copy.depth; ++z) {
    for (uint64_t y = 0; y < copy.height; ++y, row += copy.width_bytes) {
      uint8_t* const there =
          at(end.allocation, end.offset_bytes + z * end.slice_bytes + y * end.pitch_bytes);
      std::memcpy(to_device ? there : row, to_device ? row : there, copy.width_bytes);
    }
  }
  (to_device ? copy.host_source : copy.host_result) = content(packed.data(), packed.size());
  add(std::move(copy));
}

void TestTrace::memset(format::Memset memset) {
  execute(memset);
  add(memset);
}

void TestTrace::host_write(format::AllocationId id, uint64_t offset,
                           const std::vector<uint8_t>& bytes, bool in_doubt) {
  format::HostWrite write;
  write.in_doubt = in_doubt;
  write.allocation = id;
  write.offset_bytes = offset;
  write.content = content(bytes.data(), bytes.size());
  std::memcpy(at(id, offset), bytes.data(), bytes.size());
  add(std::move(write));
}

format::GraphId TestTrace::graph_launch(const format::Graph& graph, format::StreamId stream,
                                        format::GraphId again) {
  format::Graph numbered = graph;
  numbered.id = again != 0 ? again : next_graph_++;
  if (again == 0) expect(writer_->add(numbered));
  for (const format::GraphNode& node : numbered.nodes) {
    if (const auto* launch = std::get_if<format::Launch>(&node.action)) execute(*launch);
    if (const auto* copy = std::get_if<format::Copy>(&node.action)) execute(*copy);
    if (const auto* memset = std::get_if<format::Memset>(&node.action)) execute(*memset);
  }
  add(format::GraphLaunch{numbered.id, stream});
  return numbered.id;
}

void TestTrace::checkpoint() {
  format::Checkpoint checkpoint;
  for (const auto& [id, memory] : memory_) {
    checkpoint.states.push_back(
        {id, format::hash_bytes(as_bytes(memory.data(), memory.size())),
         match(memory.data(), memory.size(), format::RelocationSource::kMatched)});
  }
  add(std::move(checkpoint));
}

void TestTrace::incomplete(const std::string& call) {
  format::Finding finding;
  finding.call = call;
  expect(writer_->add(finding));
}

std::shared_ptr<const format::Trace> TestTrace::finish() {
  for (const auto& [id, memory] : memory_) end(id, false);
  format::Environment environment;
  environment.gpu_arch = arch;
  environment.hip_runtime_version = 50221153;
  expect(writer_->add(environment));
  expect(writer_->seal());
  writer_.reset();
  if (!keep_memory) memory_.clear();
  return expect(format::Trace::open(path_));
}

std::shared_ptr<const Program> TestTrace::program(bool borders) {
  return expect(Program::build(finish(), kDefaultMaxOperations, borders));
}

void add_test_kernels(FakeHip& fake) {
  fake.kernels["fill"] = [](const FakeLaunch& l) {
    auto* const out = l.argument<uint32_t*>(0);
    for (uint32_t i = 0; i < l.argument<uint32_t>(12); ++i) out[i] = l.argument<uint32_t>(8);
  };
  fake.kernels["add"] = [](const FakeLaunch& l) {
    const auto* const a = l.argument<uint32_t*>(0);
    const auto* const b = l.argument<uint32_t*>(8);
    auto* const out = l.argument<uint32_t*>(16);
    for (uint32_t i = 0; i < l.argument<uint32_t>(24); ++i) out[i] = a[i] + b[i];
  };
  fake.kernels["double"] = [](const FakeLaunch& l) {
    auto* const data = l.argument<uint32_t*>(0);
    for (uint32_t i = 0; i < l.argument<uint32_t>(8); ++i) data[i] = data[i] * 2 + 1;
  };
  fake.kernels["chase"] = [](const FakeLaunch& l) {
    struct Node {
      Node* next;
      uint64_t value;
    };
    uint64_t sum = 0;
    for (const Node* node = l.argument<Node*>(0); node != nullptr; node = node->next)
      sum += node->value;
    *l.argument<uint32_t*>(8) = static_cast<uint32_t>(sum);
  };
  fake.kernels["number"] = [](const FakeLaunch& l) {
    *l.argument<uint64_t*>(0) = l.argument<uint64_t>(8);
  };
}

}  // namespace gfxgraph::replayer::testing
