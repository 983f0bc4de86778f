#include "tests/check/trace_builder.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "codeobj/dwarf/function_at.h"

namespace gfxgraph::check {
namespace {

std::filesystem::path object_path(const std::string& name) {
  return std::filesystem::path(CHECK_TEST_OBJECTS) / name;
}

std::vector<std::byte> read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

format::ArgumentKind argument_kind(const codeobj::Argument& argument) {
  if (argument.hidden()) return format::ArgumentKind::kHidden;
  if (argument.value_kind == "global_buffer") return format::ArgumentKind::kGlobalBuffer;
  return format::ArgumentKind::kByValue;
}

template <typename T>
T value_or_throw(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(*result);
}
void check_or_throw(const Result<void>& result) {
  if (!result) throw std::runtime_error(result.error().message);
}

}  // namespace

bool kernels_available() { return std::filesystem::exists(object_path("guards.bundle")); }

bool has_function(const std::string& object, const std::string& name) {
  const auto entries =
      value_or_throw(codeobj::extract_device_elves(read_file(object_path(object))));
  const auto code = value_or_throw(codeobj::CodeObject::parse(entries.front().bytes));
  return codeobj::function_address(*code, name).has_value();
}

TraceBuilder::TraceBuilder(const std::string& object) {
  static std::atomic<int> number{0};
  path_ = std::filesystem::temp_directory_path() /
          ("check_" + std::to_string(getpid()) + "_" + std::to_string(number++) + ".gfxg");
  writer_ = value_or_throw(format::Writer::create(path_));
  format::Environment environment;
  environment.gpu_arch = "gfx1030";
  check_or_throw(writer_->add(environment));
  const auto entries =
      value_or_throw(codeobj::extract_device_elves(read_file(object_path(object))));
  object_ = value_or_throw(codeobj::CodeObject::parse(entries.front().bytes));
  format::CodeObject code;
  code.id = 1;
  code.elf = value_or_throw(writer_->add_blob(entries.front().bytes));
  code.target = object_->target();
  check_or_throw(writer_->add(code));
  for (const codeobj::Kernel& found : object_->kernels()) {
    format::Kernel kernel;
    kernel.id = static_cast<uint32_t>(kernel_names_.size() + 1);
    kernel.code_object = 1;
    kernel.name = found.name;
    kernel.kernarg_size_bytes = found.kernarg_size_bytes;
    kernel.explicit_size_bytes = found.explicit_size_bytes();
    kernel.group_segment_bytes = found.descriptor.group_segment_bytes;
    kernel.private_segment_bytes = found.descriptor.private_segment_bytes;
    for (const codeobj::Argument& argument : found.arguments) {
      kernel.arguments.push_back({argument.name, argument.value_kind, argument_kind(argument),
                                  argument.offset_bytes, argument.size_bytes});
    }
    check_or_throw(writer_->add(kernel));
    kernel_names_.push_back(found.name);
  }
}

TraceBuilder::~TraceBuilder() {
  writer_.reset();
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

void TraceBuilder::add(format::Action action) {
  format::Event event;
  event.action = std::move(action);
  value_or_throw(writer_->add(std::move(event)));
}

format::Content TraceBuilder::content(const std::vector<uint32_t>& words) {
  format::Content content;
  content.size_bytes = words.size() * 4;
  content.blob = value_or_throw(writer_->add_blob(std::as_bytes(std::span(words))));
  content.hash = content.blob;
  return content;
}

TraceBuilder::Buffer TraceBuilder::buffer(uint64_t bytes, uint64_t mapped_bytes, uint8_t fill) {
  Buffer buffer{next_allocation_++, next_address_, bytes};
  next_address_ += (bytes + 0x200000) & ~uint64_t{0xfffff};
  format::AllocationBegin begin;
  begin.id = buffer.id;
  begin.kind = kind_;
  begin.recorded_address = buffer.address;
  begin.host_address = std::exchange(host_address_, 0);
  begin.size_bytes = bytes;
  begin.mapped_bytes = mapped_bytes;
  begin.initial.size_bytes = bytes;
  begin.initial.fill = fill;
  begin.initial.unwritten = std::exchange(unwritten_, false);
  add(begin);
  return buffer;
}

TraceBuilder::Buffer TraceBuilder::registered_buffer(uint64_t bytes, uint64_t host_address) {
  host_address_ = host_address;
  const format::AllocationKind before =
      std::exchange(kind_, format::AllocationKind::kHostRegistered);
  const Buffer made = buffer(bytes);
  kind_ = before;
  return made;
}

TraceBuilder::Buffer TraceBuilder::unwritten_buffer(uint64_t bytes) {
  unwritten_ = true;
  return buffer(bytes);
}

void TraceBuilder::copy_out(const Buffer& buffer) {
  format::Copy copy;
  copy.source.allocation = buffer.id;
  copy.width_bytes = buffer.bytes;
  copy.host_result.size_bytes = buffer.bytes;
  copy.host_result.stored = false;
  add(copy);
}

TraceBuilder::Buffer TraceBuilder::buffer_behind(const Buffer& other, uint64_t bytes) {
  const uint64_t next = std::exchange(next_address_, other.address + other.bytes);
  const Buffer result = buffer(bytes);
  next_address_ = next;
  return result;
}

TraceBuilder::Buffer TraceBuilder::buffer_of(const std::vector<uint32_t>& words) {
  Buffer result = buffer(words.size() * 4);
  format::Copy copy;
  copy.destination.allocation = result.id;
  copy.width_bytes = words.size() * 4;
  copy.host_source = content(words);
  add(copy);
  return result;
}

TraceBuilder::Buffer TraceBuilder::global(const std::string& symbol, uint64_t bytes,
                                          uint64_t load_address) {
  format::AllocationBegin begin;
  begin.id = next_allocation_++;
  begin.kind = format::AllocationKind::kModuleGlobal;
  begin.code_object = 1;
  begin.symbol = symbol;
  begin.size_bytes = bytes;
  for (const codeobj::Symbol& found : object_->symbols()) {
    if (found.name == symbol) begin.recorded_address = load_address + found.address;
  }
  std::vector<uint32_t> words(bytes / 4);
  for (size_t i = 0; i < words.size(); ++i) words[i] = static_cast<uint32_t>(10 * (i + 1));
  begin.initial = content(words);
  add(begin);
  return {begin.id, begin.recorded_address, bytes};
}

TraceBuilder::Buffer TraceBuilder::array(const format::ArrayShape& shape,
                                         const std::vector<uint32_t>& texels) {
  format::AllocationBegin begin;
  begin.id = next_allocation_++;
  begin.kind = format::AllocationKind::kArray;
  // As the recorder has it: of no device.
  begin.recorded_address = (uint64_t{0xa77a} << 48) + (uint64_t{begin.id} << 32);
  begin.size_bytes = shape.slice_bytes() * shape.slices();
  begin.array = std::make_shared<const format::ArrayShape>(shape);
  if (texels.empty()) {
    begin.initial.size_bytes = begin.size_bytes;
    begin.initial.unwritten = true;
  } else {
    begin.initial = content(texels);
  }
  add(begin);
  return {begin.id, begin.recorded_address, begin.size_bytes};
}

TraceBuilder::Buffer TraceBuilder::array(uint32_t width, uint32_t height,
                                         const std::vector<uint32_t>& texels) {
  format::ArrayShape shape;
  shape.width = width;
  shape.height = height;
  shape.format = {{32, 0, 0, 0}, format::TexelKind::kSigned};
  return array(shape, texels);
}

TraceBuilder::Buffer TraceBuilder::image(format::AllocationKind kind,
                                         const format::ImageObject& object) {
  format::AllocationBegin begin;
  begin.id = next_allocation_++;
  begin.kind = kind;
  begin.recorded_address = std::exchange(next_address_, next_address_ + 0x200000);
  begin.size_bytes =
      kind == format::AllocationKind::kSurface ? format::kSurfaceBytes : format::kTextureBytes;
  begin.object = std::make_shared<const format::ImageObject>(object);
  add(begin);
  return {begin.id, begin.recorded_address, begin.size_bytes};
}

TraceBuilder::Buffer TraceBuilder::surface(const Buffer& array) {
  format::ImageObject object;
  object.allocation = array.id;
  return image(format::AllocationKind::kSurface, object);
}

TraceBuilder::Buffer TraceBuilder::texture(const format::ImageObject& object) {
  return image(format::AllocationKind::kTexture, object);
}

void TraceBuilder::free(const Buffer& buffer) {
  format::AllocationEnd end;
  end.id = buffer.id;
  end.post.size_bytes = buffer.bytes;
  end.post.stored = false;
  add(end);
}

void TraceBuilder::expect(const Buffer& buffer, const std::vector<uint32_t>& words) {
  format::AllocationEnd end;
  end.id = buffer.id;
  end.freed = false;
  end.post = content(words);
  add(end);
}

format::Launch TraceBuilder::make_launch(const std::string& kernel, uint32_t grid, uint32_t block,
                                         const std::vector<Value>& arguments) {
  const codeobj::Kernel* const found = object_->find_kernel(kernel);
  if (found == nullptr) throw std::runtime_error("no kernel " + kernel);
  format::Launch launch;
  for (size_t i = 0; i < kernel_names_.size(); ++i) {
    if (kernel_names_[i] == kernel) launch.kernel = static_cast<uint32_t>(i + 1);
  }
  launch.grid = {grid, 1, 1};
  launch.block = {block, 1, 1};
  launch.kernarg.resize(found->explicit_size_bytes());
  size_t next = 0;
  for (const codeobj::Argument& argument : found->arguments) {
    if (argument.hidden()) continue;
    const Value& value = arguments.at(next++);
    if (value.bytes.size() != argument.size_bytes) throw std::runtime_error("argument size");
    std::memcpy(launch.kernarg.data() + argument.offset_bytes, value.bytes.data(),
                value.bytes.size());
  }
  return launch;
}

void TraceBuilder::launch(const std::string& kernel, uint32_t grid, uint32_t block,
                          const std::vector<Value>& arguments) {
  add(make_launch(kernel, grid, block, arguments));
}

format::GraphId TraceBuilder::graph(const std::vector<format::Launch>& launches, bool chained) {
  format::Graph graph;
  graph.id = 1;
  for (const format::Launch& launch : launches) {
    format::GraphNode node;
    node.action = launch;
    if (chained && !graph.nodes.empty())
      node.dependencies = {static_cast<uint32_t>(graph.nodes.size() - 1)};
    graph.nodes.push_back(std::move(node));
  }
  check_or_throw(writer_->add(graph));
  return graph.id;
}

std::shared_ptr<const format::Trace> TraceBuilder::open() {
  check_or_throw(writer_->seal());
  return value_or_throw(format::Trace::open(path_));
}

Result<Report> TraceBuilder::try_check(const CheckOptions& options) {
  const auto trace = open();
  Result<Report> report = check_trace(*trace, options);
  CheckOptions everything = options;
  everything.watch_all = true;
  Result<Report> all = check_trace(*trace, everything);
  // What is left of the memory depends on what the analysis of the code took.
  if (report && all && report->stopped && all->stopped &&
      all->stopped->reason.find("--max-memory") != std::string::npos)
    all->stopped->reason = report->stopped->reason;
  EXPECT_EQ(report.has_value(), all.has_value());
  if (report && all) {
    EXPECT_EQ(render_json(*report, "t"), render_json(*all, "t"));
  }
  if (report) keep_for_schemas({{"t.gfxg", *report, ""}});
  return report;
}

void keep_for_schemas(const std::vector<TraceReport>& traces) {
  const char* const folder = std::getenv("GFXGRAPH_REPORT_FOLDER");
  if (folder == nullptr) return;
  static int number = 0;
  const std::string path = std::string(folder) + "/" + std::to_string(++number);
  std::ofstream(path + ".json") << render_json(traces);
  std::ofstream(path + ".sarif") << render_sarif(traces);
}

Report TraceBuilder::check(MaskedLaneMode mode, bool strict) {
  CheckOptions options;
  options.masked_lane = mode;
  options.strict = strict;
  options.threads = 2;
  options.livelock_instructions = 1 << 24;
  Report report = value_or_throw(try_check(options));
  for (const FailedLaunch& failed : report.failed) ADD_FAILURE() << failed.kernel << failed.reason;
  return report;
}

uint64_t count_of(const Report& report, FindingClass finding_class) {
  uint64_t count = 0;
  for (const Finding& finding : report.findings) count += finding.finding_class == finding_class;
  return count;
}

const Finding* first_of(const Report& report, FindingClass finding_class) {
  for (const Finding& finding : report.findings) {
    if (finding.finding_class == finding_class) return &finding;
  }
  return nullptr;
}

}  // namespace gfxgraph::check
