// flip_input OLD NEW BYTES: copies a trace. In the first copy from host memory of BYTES bytes or
// more, one byte is another one, with every hash right: a trace that says something untrue, which
// only a replay can notice.
#include <cstdio>
#include <cstdlib>
#include <set>
#include <span>
#include <tuple>
#include <variant>
#include <vector>

#include "format/read/reader.h"
#include "format/write/writer.h"

namespace {

using namespace gfxgraph;  // NOLINT: a program of one file

template <typename T>
T need(Result<T> result) {
  if (result) return std::move(*result);
  std::fprintf(stderr, "flip_input: %s\n", result.error().message.c_str());
  std::exit(1);
}
void need(Result<void> result) {
  if (result) return;
  std::fprintf(stderr, "flip_input: %s\n", result.error().message.c_str());
  std::exit(1);
}

void add_content(const format::Trace& trace, format::Writer& writer,
                 const format::Content& content) {
  if (content.stored && content.blob)
    std::ignore = need(writer.add_blob(need(trace.blob(content.blob))));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const size_t size = std::strtoull(argv[3], nullptr, 10);
  const auto trace = need(format::Trace::open(argv[1]));
  const auto writer = need(format::Writer::create(argv[2]));
  need(writer->add(trace->environment()));
  for (const format::CodeObject& object : trace->code_objects()) {
    std::ignore = need(writer->add_blob(need(trace->blob(object.elf))));
    need(writer->add(object));
  }
  for (const format::Kernel& kernel : trace->kernels()) need(writer->add(kernel));
  for (const format::Finding& finding : trace->findings()) need(writer->add(finding));
  for (const format::Site& site : trace->sites()) need(writer->add(site));
  bool flipped = false;
  for (format::Event event : trace->events()) {
    if (auto* begin = std::get_if<format::AllocationBegin>(&event.action)) {
      add_content(*trace, *writer, begin->initial);
    } else if (auto* end = std::get_if<format::AllocationEnd>(&event.action)) {
      add_content(*trace, *writer, end->post);
    } else if (auto* copy = std::get_if<format::Copy>(&event.action)) {
      add_content(*trace, *writer, copy->host_result);
      if (!flipped && copy->host_source.blob && copy->host_source.size_bytes >= size) {
        std::vector<std::byte> bytes = need(trace->content(copy->host_source));
        bytes[bytes.size() / 2] ^= std::byte{0x40};
        copy->host_source.blob = need(writer->add_blob(bytes));
        copy->host_source.hash = format::hash_bytes(bytes);
        flipped = true;
      } else {
        add_content(*trace, *writer, copy->host_source);
      }
    }
    std::ignore = need(writer->add(std::move(event)));
  }
  need(writer->seal());
  return flipped ? 0 : 1;
}
