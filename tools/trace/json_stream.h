// Streams JSON to stdout, a field or an element at a time: a list from a trace is never held as a
// whole, which would take ten times the memory of the listed items.
#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>

namespace gfxgraph::tools {

// An object, printed as nlohmann's dump(2) does; begun by the constructor, ended by end(). Names
// that are no UTF-8 are replaced.
class JsonStream {
 public:
  JsonStream() : JsonStream(0) {}
  void field(const char* name, const nlohmann::ordered_json& value);
  void list(const char* name, size_t count,
            const std::function<nlohmann::ordered_json(size_t index)>& element);
  // The same with elements that are objects, of which none is held as a whole either.
  void objects(const char* name, size_t count,
               const std::function<void(JsonStream& fields, size_t index)>& fill);
  void object(const char* name, const std::function<void(JsonStream& fields)>& fill);
  void end();

 private:
  explicit JsonStream(unsigned depth);
  void begin_field(const char* name);

  unsigned depth_;
  bool empty_ = true;
};

}  // namespace gfxgraph::tools
