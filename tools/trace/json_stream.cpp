#include "tools/trace/json_stream.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "base/cli/print.h"

namespace gfxgraph::tools {
namespace {

using Json = nlohmann::ordered_json;

std::string line_break(unsigned depth) { return "\n" + std::string(2 * size_t{depth}, ' '); }

void write(const nlohmann::ordered_json& value, unsigned depth) {
  const std::string text = value.dump(2, ' ', true, Json::error_handler_t::replace);
  const std::string next_line = line_break(depth);
  for (size_t from = 0; from < text.size();) {
    const size_t end = std::min(text.find('\n', from), text.size());
    write_text(stdout, std::string_view(text).substr(from, end - from));
    if (end < text.size()) write_text(stdout, next_line);
    from = end + 1;
  }
}

}  // namespace

JsonStream::JsonStream(unsigned depth) : depth_(depth + 1) { write_text(stdout, "{"); }

void JsonStream::begin_field(const char* name) {
  if (!empty_) write_text(stdout, ",");
  empty_ = false;
  write_text(stdout, line_break(depth_));
  write(name, depth_);
  write_text(stdout, ": ");
}

void JsonStream::field(const char* name, const Json& value) {
  begin_field(name);
  write(value, depth_);
}

void JsonStream::list(const char* name, size_t count,
                      const std::function<Json(size_t index)>& element) {
  begin_field(name);
  write_text(stdout, "[");
  for (size_t n = 0; n < count; ++n) {
    if (n != 0) write_text(stdout, ",");
    write_text(stdout, line_break(depth_ + 1));
    write(element(n), depth_ + 1);
  }
  if (count != 0) write_text(stdout, line_break(depth_));
  write_text(stdout, "]");
}

void JsonStream::objects(const char* name, size_t count,
                         const std::function<void(JsonStream& fields, size_t index)>& fill) {
  begin_field(name);
  write_text(stdout, "[");
  for (size_t n = 0; n < count; ++n) {
    if (n != 0) write_text(stdout, ",");
    write_text(stdout, line_break(depth_ + 1));
    JsonStream fields(depth_ + 1);
    fill(fields, n);
    fields.end();
  }
  if (count != 0) write_text(stdout, line_break(depth_));
  write_text(stdout, "]");
}

void JsonStream::object(const char* name, const std::function<void(JsonStream& fields)>& fill) {
  begin_field(name);
  JsonStream fields(depth_);
  fill(fields);
  fields.end();
}

void JsonStream::end() {
  write_text(stdout, line_break(depth_ - 1) + "}");
  if (depth_ == 1) write_text(stdout, "\n");
}

}  // namespace gfxgraph::tools
