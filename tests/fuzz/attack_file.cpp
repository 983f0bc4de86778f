// attack_file NAME OUTPUT: writes the trace of one known attack. Its hashes and its summary are
// right: what is wrong is the meaning. tests/cli/attack.bash gives it to every command.
#include <elf.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "base/cli/print.h"
#include "base/file/file.h"
#include "codeobj/code_object.h"
#include "format/codec/pack.h"
#include "format/read/reader.h"
#include "tests/format/trace_builder.h"
#include "tests/fuzz/hostile_fields.h"
#include "tests/fuzz/hostile_trace.h"

namespace gfxgraph::fuzz {
namespace {

using namespace format;

// Of code object version 4, which every HIP runtime takes.
std::vector<std::byte> real_elf() {
  const auto bytes = read_file(FUZZ_CORPUS "/codeobj/v4_debug.bundle");
  GFXGRAPH_CHECK(bytes.has_value());
  const auto entries = codeobj::extract_device_elves(*bytes);
  GFXGRAPH_CHECK(entries.has_value() && !entries->empty());
  return {entries->front().bytes.begin(), entries->front().bytes.end()};
}

// The parts of a trace of two real kernels, two launches and a graph of one.
struct Parts {
  std::vector<Part> all = load_parts(kernel_trace(real_elf()));

  template <typename Item>
  Item& first() {
    for (Part& part : all)
      if (auto* item = std::get_if<Item>(&part)) return *item;
    GFXGRAPH_CHECK(false);
    __builtin_unreachable();
  }
  // The first event with this action.
  template <typename Action>
  std::vector<Part>::iterator event() {
    return std::ranges::find_if(all, [](const Part& part) {
      const auto* event = std::get_if<Event>(&part);
      return event != nullptr && std::holds_alternative<Action>(event->action);
    });
  }
  template <typename Action>
  Action& action() {
    return std::get<Action>(std::get<Event>(*event<Action>()).action);
  }
  void add(Action action) { all.insert(event<Checkpoint>(), event_of(std::move(action))); }
  // With the next id.
  void add_kernel(Kernel& kernel) {
    kernel.id = 1;
    for (const Part& part : all) kernel.id += std::holds_alternative<Kernel>(part) ? 1 : 0;
    all.insert(std::ranges::find_if(
                   all, [](const Part& part) { return std::holds_alternative<Event>(part); }),
               kernel);
  }
  std::vector<std::byte> file() const { return write_parts(all); }
  // The code object: the first blob.
  std::vector<std::byte>& elf() { return first<Blob>().bytes; }
};

void replace_all(std::vector<std::byte>& bytes, std::string_view from, std::string_view to) {
  GFXGRAPH_CHECK(from.size() == to.size());
  const auto equal = [](std::byte a, char b) { return a == static_cast<std::byte>(b); };
  for (auto at = bytes.begin();;) {
    at = std::search(at, bytes.end(), from.begin(), from.end(), equal);
    if (at == bytes.end()) return;
    std::memcpy(&*at, to.data(), to.size());
  }
}

// Where `text` begins, behind the last byte.
size_t behind(const std::vector<std::byte>& bytes, std::string_view text) {
  const auto found =
      std::search(bytes.begin(), bytes.end(), text.begin(), text.end(),
                  [](std::byte a, char b) { return a == static_cast<std::byte>(b); });
  GFXGRAPH_CHECK(found != bytes.end());
  return static_cast<size_t>(found - bytes.begin()) + text.size();
}

template <typename Entry, typename Visit>
void each_section(std::vector<std::byte>& elf, uint32_t type, const Visit& visit) {
  Elf64_Ehdr header;
  std::memcpy(&header, elf.data(), sizeof(header));
  for (uint16_t n = 0; n < header.e_shnum; ++n) {
    Elf64_Shdr section;
    std::memcpy(&section, elf.data() + header.e_shoff + n * sizeof(section), sizeof(section));
    if (section.sh_type != type) continue;
    for (uint64_t at = section.sh_offset; at < section.sh_offset + section.sh_size;
         at += sizeof(Entry)) {
      Entry entry;
      std::memcpy(&entry, elf.data() + at, sizeof(entry));
      visit(entry);
      std::memcpy(elf.data() + at, &entry, sizeof(entry));
    }
  }
}

// ---- the attacks ----

// Each name is `evil`; `kernel`, with as many bytes as "vadd", is that of the launched kernel.
std::vector<std::byte> named(const char* evil, const char* kernel_name) {
  Parts parts;
  for (Part& part : parts.all) {
    std::visit(
        [&](auto& item) {
          if constexpr (!std::is_same_v<std::decay_t<decltype(item)>, Blob>) {
            for_each_field(item, [&](auto& field) {
              if constexpr (std::is_same_v<std::decay_t<decltype(field)>, std::string>) {
                if (!field.empty()) field = evil;
              }
            });
          }
        },
        part);
  }
  // A replay on another device is refused at once.
  parts.first<Environment>().gpu_arch = "gfx1030";
  parts.first<CodeObject>().target = "amdgcn-amd-amdhsa--gfx1030";
  // The kernel that is launched, in the trace and in the code object.
  for (Part& part : parts.all)
    if (auto* kernel = std::get_if<Kernel>(&part)) kernel->name = kernel_name;
  replace_all(parts.elf(), "vadd", kernel_name);
  for (Part& part : parts.all) {
    auto* event = std::get_if<Event>(&part);
    auto* begin = event == nullptr ? nullptr : std::get_if<AllocationBegin>(&event->action);
    if (begin == nullptr) continue;
    begin->symbol = begin->kind == AllocationKind::kModuleGlobal ? "g_table" : "";
    begin->name = begin->symbol.empty() ? evil : "";  // gfxgraph_name()
  }
  Finding lost{FindingKind::kIncomplete, evil, 1, evil};
  parts.all.emplace_back(lost);
  return parts.file();
}

// Escape sequences, line breaks and changes of direction.
std::vector<std::byte> names() {
  return named("\x1b[2J\x1b]0;owned\x07\nerror: \u202eevil\r", "\x1b[2J");
}

// The same by other characters: DEL, CSI in one character, isolates, and those without a glyph.
std::vector<std::byte> directions() {
  return named("\xff\x7f\u009b31m\u2066e\u202av\u200bil\ufeff\u061c\U000e0041", "\x7f\u009b.");
}

// 300 bytes of a mangled name that stand for gigabytes, a hundred times.
std::vector<std::byte> mangled_names() {
  Parts parts;
  constexpr const char* kDigits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  std::string name = "_Z1f1AIiiE";
  for (size_t n = 0; n < 34; ++n) {
    const std::string before = std::string("S") + kDigits[n] + "_";
    name += "S_I" + before + before + "E";
  }
  Kernel kernel = parts.first<Kernel>();
  Launch launch = parts.action<Launch>();
  for (int n = 0; n < 100; ++n) {
    kernel.name = name + std::to_string(n);
    parts.add_kernel(kernel);
    launch.kernel = kernel.id;
    launch.kernarg.resize(kernel.explicit_size_bytes);
    parts.add(launch);
  }
  return parts.file();
}

// 4,000 nodes, 5,000 launches, 0.3 MB.
std::vector<std::byte> graph() {
  Parts parts;
  Graph& graph = parts.first<Graph>();
  const GraphNode node = graph.nodes[0];
  graph.nodes.assign(4000, node);
  for (int n = 0; n < 5000; ++n) parts.add(GraphLaunch{1, 0});
  return parts.file();
}

std::vector<std::byte> grid() {
  Parts parts;
  Launch& launch = parts.action<Launch>();
  launch.grid = {0x7fffffff, 1, 1};
  launch.block = {1, 1, 1};
  return parts.file();
}

// Buffers of 3 GiB, filled again and again; a few hundred bytes each.
std::vector<std::byte> fill() {
  Parts parts;
  for (AllocationId id = 5; id < 45; ++id) {
    AllocationBegin begin;
    begin.id = id;
    begin.recorded_address = (uint64_t{0x600} + id) << 32;
    begin.size_bytes = begin.initial.size_bytes = uint64_t{3} << 30;
    begin.initial.fill = 7;
    parts.add(begin);
    Memset memset;
    memset.allocation = id;
    memset.element_bytes = 1;
    memset.value = 9;
    memset.width_elements = uint64_t{3} << 30;
    parts.add(memset);
  }
  return parts.file();
}

std::vector<std::byte> arguments() {
  Parts parts;
  Kernel& kernel = parts.first<Kernel>();
  kernel.arguments.resize(1000000, {"a", "by_value", ArgumentKind::kByValue, 0, 1});
  return parts.file();
}

// 65,536 pointers in one kernarg segment, under a name of 60 KB.
std::vector<std::byte> long_names() {
  Parts parts;
  Kernel kernel = parts.first<Kernel>();
  kernel.name.assign(60000, 'k');
  kernel.arguments.clear();
  kernel.kernarg_size_bytes = kernel.explicit_size_bytes = 8 * 65536;
  Launch launch = parts.action<Launch>();
  launch.kernarg.assign(kernel.explicit_size_bytes, 0);
  launch.relocations.clear();
  for (uint64_t n = 0; n < 65536; ++n) {
    if (n % 8 == 0 || n < 1000)
      kernel.arguments.push_back({std::string(1000, 'a'), "global_buffer",
                                  ArgumentKind::kGlobalBuffer, static_cast<uint32_t>(8 * n), 8});
    launch.relocations.push_back({8 * n, 1, 0, RelocationSource::kTyped, false});
  }
  parts.add_kernel(kernel);
  launch.kernel = kernel.id;
  parts.add(launch);
  return parts.file();
}

// 32 MiB of zstd blocks that each repeat one byte 128 Ki times: a tebibyte.
std::vector<std::byte> blob() {
  constexpr uint64_t kBytes = uint64_t{1} << 40;
  constexpr uint64_t kBlock = 1 << 17;
  // Source: RFC 8878, frame header with 8 bytes of content size and a window of 128 KiB.
  const auto header = encode_blob_header({{1, 2}, kBytes, BlobCodec::kZstd});
  std::vector<std::byte> payload(header.begin(), header.end());
  const auto put = [&](uint64_t value, size_t bytes) {
    for (size_t n = 0; n < bytes; ++n) payload.push_back(static_cast<std::byte>(value >> (8 * n)));
  };
  put(0xfd2fb528, 4);
  put(0xc0, 1);
  put(0x38, 1);
  put(kBytes, 8);
  constexpr uint64_t kRepeat = 1 << 1;
  for (uint64_t n = kBytes / kBlock; n > 0; --n) {
    put(kBlock << 3 | kRepeat | (n == 1 ? 1 : 0), 3);
    put(0x55, 1);
  }
  const std::vector<std::byte> plain = Parts().file();
  const auto trace = Trace::from_bytes(plain);
  GFXGRAPH_CHECK(trace.has_value());
  Statistics statistics = (*trace)->statistics();
  ++statistics.blobs;
  statistics.blob_bytes += kBytes;
  statistics.stored_blob_bytes += payload.size() - header.size();
  Packer packer;
  const auto summary =
      packer.pack_summary(statistics, (*trace)->graphs().size(), (*trace)->findings().size());
  std::vector<RawRecord> records = split_records(plain);
  records.back().payload.assign(summary.begin(), summary.end());
  records.insert(records.begin() + 1, {RecordKind::kBlob, 0, std::move(payload)});
  return join_records(records);
}

// Variables at an address of the host's choice.
std::vector<std::byte> absolute() {
  Parts parts;
  each_section<Elf64_Sym>(parts.elf(), SHT_DYNSYM, [](Elf64_Sym& symbol) {
    if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT || symbol.st_shndx < 9) return;
    symbol.st_shndx = SHN_ABS;
    symbol.st_value = 0x700000000000;
  });
  return parts.file();
}

std::vector<std::byte> relocation() {
  Parts parts;
  each_section<Elf64_Rela>(parts.elf(), SHT_RELA,
                           [](Elf64_Rela& relocation) { relocation.r_offset = 0x700000000000; });
  return parts.file();
}

std::vector<std::byte> segments() {
  Parts parts;
  Elf64_Ehdr header;
  std::memcpy(&header, parts.elf().data(), sizeof(header));
  // The variables on top of the code.
  const size_t at = header.e_phoff + 4 * sizeof(Elf64_Phdr) + offsetof(Elf64_Phdr, p_vaddr);
  const uint64_t address = 0x1c00;
  std::memcpy(parts.elf().data() + at, &address, sizeof(address));
  return parts.file();
}

std::vector<std::byte> metadata() {
  Parts parts;
  const size_t kernels = behind(parts.elf(), "amdhsa.kernels");
  parts.elf()[kernels] = std::byte{0x9f};  // fifteen
  return parts.file();
}

std::vector<std::byte> section_names() {
  Parts parts;
  Elf64_Ehdr header;
  std::memcpy(&header, parts.elf().data(), sizeof(header));
  for (uint16_t n = 1; n < header.e_shnum; ++n) {
    const uint32_t name = 0x7ffffff0;
    std::memcpy(parts.elf().data() + header.e_shoff + n * sizeof(Elf64_Shdr), &name, sizeof(name));
  }
  return parts.file();
}

// A module variable that lies in a recorded buffer, which is freed before it is written.
std::vector<std::byte> freed_global() {
  Parts parts;
  AllocationBegin buffer;
  buffer.id = 5;
  buffer.recorded_address = 0x7d0000000000;
  buffer.size_bytes = buffer.initial.size_bytes = 1 << 20;
  parts.add(buffer);
  AllocationBegin global;
  global.id = 6;
  global.kind = AllocationKind::kModuleGlobal;
  global.code_object = 1;
  global.symbol = "none";
  global.recorded_address = buffer.recorded_address + 64;
  global.size_bytes = global.initial.size_bytes = 4096;
  parts.add(global);
  AllocationEnd end{5, true, 0, {}};
  end.post.size_bytes = buffer.size_bytes;
  end.post.stored = false;
  parts.add(end);
  HostWrite write{6, 0, {}};
  write.content.size_bytes = 4096;
  write.content.fill = 0xee;
  parts.add(write);
  return parts.file();
}

// No attack, but what some runtimes make of it (kSmallFillOverruns): memsets of 1 to 9 bytes at
// each place of a word, with all buffers and copies as they should be. It replays as identical.
std::vector<std::byte> small_fills() {
  constexpr uint64_t kBytes = 8 * 9 * 32;
  std::vector<std::byte> contents(kBytes, std::byte{0xaa});
  std::vector<Memset> memsets;
  for (uint64_t n = 0; n < 8 * 9; ++n) {
    Memset memset;
    memset.allocation = 1;
    memset.offset_bytes = 32 * n + n % 8;
    memset.element_bytes = n % 16 < 8 || n % 2 != 0 ? 1 : 2;
    memset.value = memset.element_bytes == 1 ? 0x11 : 0x2211;
    memset.width_elements = 1 + n / 8;
    for (uint64_t at = 0; at < memset.width_elements * memset.element_bytes; ++at)
      contents[memset.offset_bytes + at] =
          static_cast<std::byte>(memset.value >> (8 * (at % memset.element_bytes)));
    memsets.push_back(memset);
  }
  return trace_bytes([&](Writer& writer) {
    const auto done = [](const auto& result) { GFXGRAPH_CHECK(result.has_value()); };
    done(writer.add(sample_environment()));
    const auto blob = writer.add_blob(contents);
    done(blob);
    AllocationBegin begin = sample_allocation(1, kBytes);
    begin.initial.size_bytes = kBytes;
    begin.initial.fill = 0xaa;
    done(writer.add(event_of(begin)));
    Graph graph{1, {}};
    for (const Memset& memset : memsets) {
      done(writer.add(event_of(memset)));
      graph.nodes.emplace_back().action = memset;
    }
    done(writer.add(graph));
    done(writer.add(event_of(GraphLaunch{1, 0})));
    AllocationEnd end{1, false, 0, blob_content(*blob, kBytes)};
    done(writer.add(event_of(end)));
  });
}

// Code of version 6 (clang 19, -mcode-object-version=6), which HIP 5 does not load.
std::vector<std::byte> newer_code() {
  const auto bytes = read_file(FUZZ_CORPUS "/codeobj/v6.elf");
  GFXGRAPH_CHECK(bytes.has_value());
  return kernel_trace(*bytes);
}

struct Attack {
  const char* name;
  std::vector<std::byte> (*make)();
};
constexpr Attack kAttacks[] = {
    {"none", [] { return Parts().file(); }},
    {"names", names},
    {"directions", directions},
    {"mangled_names", mangled_names},
    {"long_names", long_names},
    {"graph", graph},
    {"grid", grid},
    {"fill", fill},
    {"arguments", arguments},
    {"blob", blob},
    {"absolute", absolute},
    {"relocation", relocation},
    {"segments", segments},
    {"metadata", metadata},
    {"section_names", section_names},
    {"freed_global", freed_global},
    {"small_fills", small_fills},
    {"newer_code", newer_code},
};

int run(int argc, char** argv) {
  if (argc == 3) {
    for (const Attack& attack : kAttacks) {
      if (std::string_view(argv[1]) != attack.name) continue;
      if (write_file_atomic(argv[2], attack.make())) return 0;
    }
  }
  print(stderr, "attack_file NAME OUTPUT\n");
  return 2;
}

}  // namespace
}  // namespace gfxgraph::fuzz

int main(int argc, char** argv) { return gfxgraph::fuzz::run(argc, argv); }
