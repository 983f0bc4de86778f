#include "tools/extract/standalone.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <variant>
#include <vector>

#include "base/file/file.h"
#include "base/file/new_file.h"
#include "format/names.h"
#include "format/read/reader.h"
#include "tools/extract/standalone_files.h"

namespace gfxgraph::tools {
namespace {

struct Parts {
  const format::Launch* launch = nullptr;
  std::vector<const format::AllocationBegin*> begins;
  std::unordered_map<format::AllocationId, size_t> places;  // in begins
  std::unordered_map<format::AllocationId, const format::AllocationEnd*> ends;
  // Pointers between buffers that point to each other, written when all of them exist.
  std::unordered_map<format::AllocationId, const format::Content*> written;
};

Result<Parts> parts_of(const format::Trace& trace) {
  Parts parts;
  for (const format::Event& event : trace.events()) {
    if (const auto* begin = std::get_if<format::AllocationBegin>(&event.action)) {
      parts.places[begin->id] = parts.begins.size();
      parts.begins.push_back(begin);
    } else if (const auto* end = std::get_if<format::AllocationEnd>(&event.action)) {
      parts.ends[end->id] = end;
    } else if (const auto* copy = std::get_if<format::Copy>(&event.action)) {
      parts.written[copy->destination.allocation] = &copy->host_source;
    } else if (const auto* write = std::get_if<format::HostWrite>(&event.action)) {
      parts.written[write->allocation] = &write->content;
    } else if (const auto* launch = std::get_if<format::Launch>(&event.action)) {
      parts.launch = launch;
    }
  }
  if (parts.launch == nullptr) return fail(Status::kCorrupt, "the trace has no launch");
  return parts;
}

Result<void> check_supported(const Parts& parts, const std::string& path) {
  const auto refuse = [&](const std::string& what) {
    return fail(Status::kUnsupported,
                "no standalone program: " + what + "; use gfxgraph replay " + path);
  };
  if (parts.launch->cooperative) return refuse("the launch is cooperative");
  if (parts.launch->grid_remainder != std::array<uint32_t, 3>{0, 0, 0})
    return refuse("the launch has partial workgroups");
  const auto outside = [](const std::vector<format::Relocation>& words) {
    for (const format::Relocation& word : words)
      if (word.outside) return true;
    return false;
  };
  if (outside(parts.launch->relocations)) return refuse("an argument points outside of its buffer");
  for (const format::AllocationBegin* begin : parts.begins) {
    if (begin->array || begin->object) {
      return refuse(fmt::format("the launch uses {} {}", begin->array ? "an" : "a",
                                name_of(begin->kind).key));
    }
    if (begin->kind == format::AllocationKind::kModuleGlobal && begin->host_address != 0)
      return refuse(fmt::format("variable {} is __managed__", begin->symbol));
    if (outside(begin->initial.relocations))
      return refuse(fmt::format("buffer #{} points outside of a buffer", begin->id));
  }
  return {};
}

constexpr const char* kFiles[] = {"kernel.co", "arguments.bin", "launch.inc", "launch.cpp",
                                  "CMakeLists.txt"};
constexpr std::string_view kBufferPrefix = "buffer_";

constexpr std::string_view kFirstLine =
    "// Written by gfxgraph extract: the launch, by names of files beside this.\n";

Result<void> write_text_file(const std::string& path, std::string_view text) {
  return write_new_file(path, FileUse::kReport, std::as_bytes(std::span(text)));
}

std::string words_text(const Parts& parts, const std::vector<format::Relocation>& words) {
  std::string text = "{";
  for (const format::Relocation& word : words) {
    if (text.size() > 1) text += ", ";
    text += fmt::format("{{{}, {}, {}}}", word.offset_bytes, parts.places.at(word.allocation),
                        word.addend);
  }
  return text + "}";
}

std::string triple(const char* name, const std::array<uint32_t, 3>& values) {
  return fmt::format("static const unsigned {}[3] = {{{}, {}, {}}};\n", name, values[0], values[1],
                     values[2]);
}

// Symbols come from a file of a stranger.
Result<std::string> literal(const std::string& symbol) {
  for (const char c : symbol) {
    if (c < ' ' || c > '~' || c == '"' || c == '\\')
      return fail(Status::kUnsupported,
                  "no standalone program: a symbol has unsupported characters");
  }
  return "\"" + symbol + "\"";
}

Result<std::string> write_buffers(const format::Trace& trace, const Parts& parts,
                                  const std::string& folder) {
  std::string text = "static const std::vector<Buffer> buffers = {\n";
  for (size_t i = 0; i < parts.begins.size(); ++i) {
    const format::AllocationBegin& begin = *parts.begins[i];
    const auto again = parts.written.find(begin.id);
    const format::Content& before = again == parts.written.end() ? begin.initial : *again->second;
    const auto end = parts.ends.find(begin.id);
    if (end == parts.ends.end()) {
      return fail(Status::kCorrupt, fmt::format("buffer #{} has no end", begin.id));
    }
    const format::Content& after = end->second->post;
    for (const auto& [content, name] : {std::pair(&before, "before"), std::pair(&after, "after")}) {
      GFXGRAPH_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes, trace.content(*content));
      GFXGRAPH_TRY(write_new_file(fmt::format("{}/{}{}.{}", folder, kBufferPrefix, i, name),
                                  FileUse::kMemory, bytes));
    }
    std::string symbol = "nullptr";
    if (begin.kind == format::AllocationKind::kModuleGlobal) {
      GFXGRAPH_ASSIGN_OR_RETURN(symbol, literal(begin.symbol));
    }
    text += fmt::format("    {{\"buffer_{0}.before\", \"buffer_{0}.after\", {1}, {2}, {3}}},\n", i,
                        symbol, words_text(parts, before.relocations),
                        words_text(parts, after.relocations));
  }
  return text + "};\n";
}

}  // namespace

Result<void> check_standalone_folder(const std::string& folder) {
  std::error_code error;
  if (!std::filesystem::exists(folder, error)) return {};
  if (!std::filesystem::is_directory(folder, error))
    return fail(Status::kInvalidArgument, folder + ": not a directory; name another one");
  if (std::filesystem::is_empty(folder, error)) return {};
  // All that an extraction leaves whose program was refused.
  std::filesystem::directory_iterator files(folder, error);
  if (!error && files->path().filename() == "kernel.gfxg" && ++files == std::filesystem::end(files))
    return {};
  std::ifstream file(folder + "/launch.inc");
  std::string line;
  if (std::getline(file, line) && line + "\n" == kFirstLine) return {};
  return fail(Status::kInvalidArgument,
              folder + ": holds files that gfxgraph extract did not write; name another directory");
}

std::vector<std::string> standalone_names(const std::string& folder) {
  std::vector<std::string> names;
  for (const char* const name : kFiles) names.push_back(folder + "/" + name);
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  for (; !error && entry != std::filesystem::end(entry); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with(kBufferPrefix)) names.push_back(folder + "/" + name);
  }
  return names;
}

namespace {

// What write_standalone() has written before it failed: without launch.inc a later extraction would
// refuse the folder. Allocates nothing, because memory may be used up.
class UnfinishedFolder {
 public:
  explicit UnfinishedFolder(const std::string& folder) : folder_(folder) {}
  ~UnfinishedFolder() {
    if (finished_) return;
    for (const char* const name :
         {"kernel.co", "arguments.bin", "launch.inc", "launch.cpp", "CMakeLists.txt"})
      (void)removed(name);
    char name[64];
    for (unsigned i = 0;; ++i) {
      (void)std::snprintf(name, sizeof(name), "buffer_%u.after", i);
      (void)removed(name);
      (void)std::snprintf(name, sizeof(name), "buffer_%u.before", i);
      if (!removed(name)) return;
    }
  }
  UnfinishedFolder(const UnfinishedFolder&) = delete;
  UnfinishedFolder& operator=(const UnfinishedFolder&) = delete;
  void finished() noexcept { finished_ = true; }

 private:
  bool removed(const char* name) const noexcept {
    char path[PATH_MAX];
    const int size = std::snprintf(path, sizeof(path), "%s/%s", folder_.c_str(), name);
    return size > 0 && static_cast<size_t>(size) < sizeof(path) && ::unlink(path) == 0;
  }

  const std::string& folder_;
  bool finished_ = false;
};

}  // namespace

Result<void> write_standalone(const std::string& path, const std::string& folder) {
  GFXGRAPH_ASSIGN_OR_RETURN(const std::shared_ptr<const format::Trace> trace,
                            format::Trace::open(path));
  GFXGRAPH_ASSIGN_OR_RETURN(const Parts parts, parts_of(*trace));
  GFXGRAPH_TRY(check_supported(parts, path));
  const format::Kernel& kernel = trace->kernels()[parts.launch->kernel - 1];
  GFXGRAPH_ASSIGN_OR_RETURN(const std::string name, literal(kernel.name));

  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return fail_errno("cannot make", folder, error.value());
  UnfinishedFolder unfinished(folder);
  const format::CodeObject& code = trace->code_objects()[kernel.code_object - 1];
  GFXGRAPH_ASSIGN_OR_RETURN(const std::span<const std::byte> elf, trace->blob(code.elf));
  GFXGRAPH_TRY(write_new_file(folder + "/kernel.co", FileUse::kReport, elf));
  GFXGRAPH_TRY(write_new_file(folder + "/arguments.bin", FileUse::kMemory,
                              std::as_bytes(std::span(parts.launch->kernarg))));
  GFXGRAPH_ASSIGN_OR_RETURN(const std::string buffers, write_buffers(*trace, parts, folder));

  std::string text(kFirstLine);
  text += fmt::format("static const char* const kernel_name = {};\n", name);
  text += triple("grid", parts.launch->grid) + triple("block", parts.launch->block);
  text += fmt::format("static const unsigned dynamic_lds_bytes = {};\n",
                      parts.launch->dynamic_lds_bytes);
  text += fmt::format("static const std::vector<Word> argument_words = {};\n",
                      words_text(parts, parts.launch->relocations));
  GFXGRAPH_TRY(write_text_file(folder + "/launch.inc", text + buffers));
  GFXGRAPH_TRY(write_text_file(folder + "/launch.cpp", kStandaloneProgram));
  GFXGRAPH_TRY(write_text_file(folder + "/CMakeLists.txt", kStandaloneBuild));
  unfinished.finished();
  return {};
}

}  // namespace gfxgraph::tools
