#include "tools/export/disassembly.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/cli/print.h"
#include "base/demangle.h"
#include "codeobj/code_object.h"
#include "codeobj/dwarf/inline_stack.h"
#include "emulator/decode/assembly.h"
#include "emulator/decode/inst.h"

namespace gfxgraph::tools {
namespace {

using codeobj::CodeObject;
using emulator::Inst;

std::string place_text(const codeobj::SourceLocation& place) {
  std::string text = place.line == 0
                         ? "an unknown line"
                         : format_printable("{}:{}:{}", place.file, place.line, place.column);
  if (!place.function.empty()) text += format_printable(" in {}", place.function);
  return text;
}

// "kernel.hip:12:5 in f, inlined at kernel.hip:30:3 in g", or "".
std::string source_text(const CodeObject& object, uint64_t address) {
  std::string text;
  for (const codeobj::SourceLocation& place : codeobj::inline_stack(object, address))
    text += (text.empty() ? "" : ", inlined at ") + place_text(place);
  return text;
}

struct Label {
  std::string name;
  bool wave64 = false;
};

// Functions, and kernels without a symbol of their own.
std::map<uint64_t, Label> labels_of(const CodeObject& object) {
  std::map<uint64_t, Label> labels;
  for (const codeobj::Symbol& symbol : object.symbols()) {
    if (symbol.undefined || symbol.type != codeobj::Symbol::Type::kFunction) continue;
    labels[symbol.address].name = symbol.name;
  }
  for (const codeobj::Kernel& kernel : object.kernels())
    labels[kernel.entry_address] = {kernel.name, kernel.wavefront_size == 64};
  return labels;
}

class Disassembly {
 public:
  Disassembly(const CodeObject& object, TextSink& sink)
      : object_(object), sink_(sink), labels_(labels_of(object)) {}

  void write(const codeobj::Segment& segment) {
    const std::span<const std::byte> file = object_.bytes();  // parse() has checked the segments
    const std::span<const std::byte> bytes = file.subspan(segment.file_offset, segment.file_bytes);
    bool wave64 = false;
    for (uint64_t offset = 0; bytes.size() - offset >= 4;) {
      const uint64_t pc = segment.address + offset;
      if (const auto label = labels_.find(pc); label != labels_.end()) {
        wave64 = label->second.wave64;
        source_.clear();
        sink_.write(format_printable("\n{:016x} <{}>:  // {}\n", pc, label->second.name,
                                     demangle(label->second.name)));
      }
      offset += write_instruction(bytes.subspan(offset), pc, wave64);
    }
  }

 private:
  // Its size.
  uint64_t write_instruction(std::span<const std::byte> bytes, uint64_t pc, bool wave64) {
    uint32_t words[5] = {};
    const size_t available = std::min<size_t>(std::size(words), bytes.size() / 4);
    std::memcpy(words, bytes.data(), available * 4);
    Inst inst;
    if (emulator::decode(words, available, pc, inst) != emulator::DecodeStatus::kOk) {
      sink_.write(format_printable("  {:8x}  .long {:#010x}\n", pc, words[0]));
      return 4;
    }
    if (inst.op == emulator::Op::s_code_end) return inst.size_bytes();  // padding
    if (std::string source = source_text(object_, pc); source != source_) {
      if (!source.empty()) sink_.write("; " + source + "\n");
      source_ = std::move(source);
    }
    sink_.write(format_printable("  {:8x}  {}\n", pc, emulator::assembly(inst, wave64)));
    return inst.size_bytes();
  }

  const CodeObject& object_;
  TextSink& sink_;
  std::map<uint64_t, Label> labels_;
  std::string source_;  // of the instruction before
};

}  // namespace

Result<void> write_disassembly(const format::Trace& trace, TextSink& sink) {
  for (const format::CodeObject& stored : trace.code_objects()) {
    GFXGRAPH_ASSIGN_OR_RETURN(const std::span<const std::byte> elf, trace.blob(stored.elf));
    sink.write(format_printable("{}code object {}: {}\n", stored.id == 1 ? "" : "\n", stored.id,
                                stored.target));
    const Result<std::shared_ptr<const CodeObject>> object = CodeObject::parse(elf);
    if (!object) {
      sink.write(format_printable("not disassembled: {}\n", object.error().message));
      continue;
    }
    const std::string& arch = (*object)->gpu_arch();
    if (arch != "gfx1030" && arch != "gfx10-3-generic") {
      sink.write(format_printable("not disassembled: it is for {}, not gfx1030\n", arch));
      continue;
    }
    Disassembly disassembly(**object, sink);
    for (const codeobj::Segment& segment : (*object)->segments())
      if (segment.executable) disassembly.write(segment);
  }
  return {};
}

}  // namespace gfxgraph::tools
