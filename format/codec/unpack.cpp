#include "format/codec/unpack.h"

#include <fmt/format.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "format/codec/fields_internal.h"
#include "format/container/container.h"

namespace gfxgraph::format {
namespace {

template <typename T>
using Vector = flatbuffers::Vector<T>;
template <typename T>
using Tables = Vector<flatbuffers::Offset<TableOf<T>>>;

// The minimum size of a table in a vector.
constexpr uint64_t kLeastTableBytes = 8;

// Converts tables. Keeps the first error; results after an error must not be used.
//
// In a FlatBuffer many offsets may refer to the same part, so a small payload that passes the
// verifier could expand to gigabytes. The sum of all copied bytes therefore must not exceed the
// payload.
class Unpacker {
 public:
  explicit Unpacker(size_t payload_bytes) : budget_(payload_bytes) {}

  bool spend(uint64_t bytes) {
    if (failed()) return false;
    if (bytes > budget_) {
      refuse(Status::kCorrupt, "the payload refers to the same bytes more than once");
      return false;
    }
    budget_ -= bytes;
    return true;
  }
  void refuse(Status status, std::string message) {
    if (!error_) error_ = Error{status, std::move(message)};
  }
  [[nodiscard]] bool failed() const { return error_.has_value(); }
  [[nodiscard]] Error& error() { return *error_; }

  template <typename T>
  void fill(T& to, const TableOf<T>& from) {
    fields(
        [&]<typename M>(M& member, auto get, auto, const auto&... more) {
          if constexpr (std::is_arithmetic_v<M>) {
            member = get(from);
          } else {
            read(member, get(from), more...);
          }
        },
        to);
  }

  // Converts `raw` to E, whose last member is `last`; a larger value is kVersion.
  template <typename E, typename Raw>
    requires std::is_enum_v<E>
  void read(E& to, Raw raw, E last, const char* what) {
    const auto number = static_cast<uint64_t>(raw);
    if (number > static_cast<uint64_t>(last)) {
      refuse(Status::kVersion, fmt::format("{} {} is unknown: the trace was made by a newer "
                                           "gfxgraph",
                                           what, number));
      return;
    }
    to = static_cast<E>(number);
  }

  void read(std::string& to, const flatbuffers::String* from) {
    if (from != nullptr && spend(from->size())) to = from->str();
  }

  template <typename T>
    requires std::is_arithmetic_v<T>
  void read(std::vector<T>& to, const Vector<T>* from) {
    if (from != nullptr && spend(uint64_t{from->size()} * sizeof(T)))
      to.assign(from->begin(), from->end());
  }

  void read(std::vector<std::string>& to,
            const Vector<flatbuffers::Offset<flatbuffers::String>>* from) {
    if (from == nullptr || !spend(uint64_t{from->size()} * kLeastTableBytes)) return;
    to.resize(from->size());
    for (flatbuffers::uoffset_t i = 0; i < from->size(); ++i) read(to[i], from->Get(i));
  }

  template <typename T>
  void read(std::vector<T>& to, const Tables<T>* from) {
    if (from == nullptr || !spend(uint64_t{from->size()} * kLeastTableBytes)) return;
    to.reserve(from->size());
    for (const TableOf<T>* one : *from) {
      fill(to.emplace_back(), *one);
      if (failed()) break;
    }
  }

  template <typename T>
  void read(std::shared_ptr<const T>& to, const TableOf<T>* from) {
    if (from == nullptr) return;
    auto made = std::make_shared<T>();
    fill(*made, *from);
    to = std::move(made);
  }

  void read(Content& to, const fbs::Content* from) {
    if (from != nullptr) fill(to, *from);
  }

  void read(CopyEnd& to, const fbs::CopyEnd* from, const char* what) {
    if (from == nullptr) return refuse(Status::kCorrupt, fmt::format("copy: has no {}", what));
    fill(to, *from);
  }

  void read(TexelFormat& to, const fbs::TexelFormat* from, const char* what, bool wanted = true) {
    if (wanted && from == nullptr)
      return refuse(Status::kCorrupt, fmt::format("{}: no texel format", what));
    if (wanted) {
      fill(to, *from);
    } else if (from != nullptr) {
      refuse(Status::kCorrupt, "image of an array: it has a texel format of its own");
    }
  }

  void read(std::vector<Relocation>& to, const fbs::Relocations* from);
  KnownWords known_words(const fbs::KnownWords& from);

  // The alternative whose table the union holds; false: none.
  template <template <typename> class Traits, typename Type, typename... Ts>
  bool unpack_union(Type type, const void* from, std::variant<Ts...>& to) {
    using Fill = void (*)(Unpacker&, const void*, std::variant<Ts...>&);
    static constexpr auto kFills = [] {
      std::array<Fill, static_cast<size_t>(Type::MAX) + 1> fills{};
      const auto add = [&]<typename T>(std::type_identity<T>) {
        if constexpr (!std::is_same_v<T, std::monostate>) {
          fills[static_cast<size_t>(Traits<TableOf<T>>::enum_value)] =
              [](Unpacker& me, const void* table, std::variant<Ts...>& made) {
                me.fill(made.template emplace<T>(), *static_cast<const TableOf<T>*>(table));
              };
        }
      };
      (add(std::type_identity<Ts>{}), ...);
      return fills;
    }();
    const auto number = static_cast<size_t>(type);
    if (number >= kFills.size() || kFills[number] == nullptr) return false;
    kFills[number](*this, from, to);
    return true;
  }

 private:
  uint64_t budget_;
  std::optional<Error> error_;
};

void Unpacker::read(std::vector<Relocation>& to, const fbs::Relocations* from) {
  if (from == nullptr) return;
  const auto* offsets = from->offset_bytes();
  const auto* allocations = from->allocation();
  const auto* addends = from->addend();
  const auto* sources = from->source();
  const auto* ambiguous = from->ambiguous();
  const size_t count = offsets != nullptr ? offsets->size() : 0;
  const auto has_count = [count](const auto* column) {
    return (column != nullptr ? column->size() : 0) == count;
  };
  if (!has_count(allocations) || !has_count(addends) || !has_count(sources) ||
      !has_count(ambiguous)) {
    return refuse(Status::kCorrupt, "relocations: columns of different length");
  }
  if (count == 0 || !spend(uint64_t{count} * 22)) return;
  // The FlatBuffers verifier checks only the alignment of a vector's length.
  const auto misaligned = [](const auto* column) {
    return reinterpret_cast<uintptr_t>(column->Data()) % alignof(uint64_t) != 0;
  };
  if (misaligned(offsets) || misaligned(addends))
    return refuse(Status::kCorrupt, "relocations: a column of 64-bit numbers is not aligned");
  to.resize(count);
  for (flatbuffers::uoffset_t i = 0; i < count; ++i) {
    if (ambiguous->Get(i) > 1)
      refuse(Status::kCorrupt, "relocations: a boolean is neither 0 nor 1");
    const uint8_t source = sources->Get(i);
    Relocation& word = to[i];
    word.outside = (source & kOutsideSource) != 0;
    word.offset_bytes = offsets->Get(i);
    word.allocation = allocations->Get(i);
    word.addend = static_cast<int64_t>(addends->Get(i));
    read(word.source, word.outside ? source - kOutsideSource : source, RelocationSource::kMatched,
         "relocation source");
    word.ambiguous = ambiguous->Get(i) != 0;
  }
}

KnownWords Unpacker::known_words(const fbs::KnownWords& from) {
  KnownWords known;
  known.place = {from.event(), from.graph(), from.node()};
  read(known.place.part, from.part(), WordPart::kCopyResult, "part of an event");
  const auto* offsets = from.offset_bytes();
  const auto* data = from.data();
  if (offsets == nullptr || data == nullptr || offsets->size() != data->size()) {
    refuse(Status::kCorrupt, "provenance: columns of different length");
  } else if (reinterpret_cast<uintptr_t>(offsets->Data()) % alignof(uint64_t) != 0) {
    // The FlatBuffers verifier checks only the alignment of a vector's length.
    refuse(Status::kCorrupt, "provenance: a column of 64-bit numbers is not aligned");
  } else if (spend(uint64_t{offsets->size()} * 9)) {
    known.words.reserve(offsets->size());
    for (flatbuffers::uoffset_t i = 0; i < offsets->size(); ++i) {
      if (data->Get(i) > 1) refuse(Status::kCorrupt, "provenance: a boolean is neither 0 nor 1");
      known.words.push_back(
          {offsets->Get(i), data->Get(i) != 0 ? WordVerdict::kData : WordVerdict::kPointer});
    }
  }
  return known;
}

template <>
void Unpacker::fill<GraphNode>(GraphNode& to, const fbs::GraphNode& from) {
  read(to.dependencies, from.dependencies());
  const fbs::NodeAction type = from.action_type();
  if (type == fbs::NodeAction::NONE) return;
  if (from.action() == nullptr) {
    refuse(Status::kCorrupt, "graph: a node lacks its action");
  } else if (!unpack_union<fbs::NodeActionTraits>(type, from.action(), to.action)) {
    fbs::NodeAction unknown;
    read(unknown, type, fbs::NodeAction::MAX, "kind of graph node");
  }
}

// Runs the verifier and returns the root table, which is borrowed from the payload.
template <typename Table>
Result<const Table*> verified_root(std::span<const std::byte> payload, const char* what) {
  if (payload.size() > kMaxStructuredBytes) {
    return fail(Status::kCorrupt,
                fmt::format("{}: payload of {} bytes is larger than the limit of {}", what,
                            payload.size(), kMaxStructuredBytes));
  }
  const uint8_t* bytes = reinterpret_cast<const uint8_t*>(payload.data());
  constexpr flatbuffers::uoffset_t kMaxDepth = 16;
  // Every table that is not shared takes at least 8 bytes: itself, and an offset to it.
  const auto max_tables = static_cast<flatbuffers::uoffset_t>(payload.size() / 8 + 1);
  flatbuffers::Verifier verifier(bytes, payload.size(), kMaxDepth, max_tables);
  // The verifier asserts, rather than checks, that there is room for the root offset.
  if (payload.size() < 8 || !verifier.VerifyBuffer<Table>(nullptr))
    return fail(Status::kCorrupt, fmt::format("{}: payload is not a valid FlatBuffer", what));
  return flatbuffers::GetRoot<Table>(bytes);
}

template <typename T>
Result<T> unpack(std::span<const std::byte> payload, const char* what) {
  GFXGRAPH_ASSIGN_OR_RETURN(const TableOf<T>* from, verified_root<TableOf<T>>(payload, what));
  Unpacker unpacker(payload.size());
  T to;
  unpacker.fill(to, *from);
  if (unpacker.failed()) return tl::unexpected<Error>(unpacker.error());
  return to;
}

}  // namespace

Result<Environment> unpack_environment(std::span<const std::byte> payload) {
  return unpack<Environment>(payload, "environment");
}
Result<CodeObject> unpack_code_object(std::span<const std::byte> payload) {
  return unpack<CodeObject>(payload, "code object");
}
Result<Kernel> unpack_kernel(std::span<const std::byte> payload) {
  return unpack<Kernel>(payload, "kernel");
}
Result<Graph> unpack_graph(std::span<const std::byte> payload) {
  return unpack<Graph>(payload, "graph");
}
Result<Finding> unpack_finding(std::span<const std::byte> payload) {
  return unpack<Finding>(payload, "finding");
}
Result<Site> unpack_site(std::span<const std::byte> payload) {
  return unpack<Site>(payload, "site");
}
Result<Device> unpack_device(std::span<const std::byte> payload) {
  return unpack<Device>(payload, "device");
}
Result<Summary> unpack_summary(std::span<const std::byte> payload) {
  return unpack<Summary>(payload, "summary");
}

Result<std::vector<KnownWords>> unpack_provenance(std::span<const std::byte> payload) {
  GFXGRAPH_ASSIGN_OR_RETURN(const fbs::Provenance* from,
                            verified_root<fbs::Provenance>(payload, "provenance"));
  Unpacker unpacker(payload.size());
  std::vector<KnownWords> to;
  if (from->places() == nullptr ||
      !unpacker.spend(uint64_t{from->places()->size()} * kLeastTableBytes))
    return to;
  to.reserve(from->places()->size());
  for (const fbs::KnownWords* one : *from->places()) {
    to.push_back(unpacker.known_words(*one));
    if (unpacker.failed()) return tl::unexpected<Error>(unpacker.error());
  }
  return to;
}

Result<std::vector<Event>> unpack_events(std::span<const std::byte> payload) {
  GFXGRAPH_ASSIGN_OR_RETURN(const fbs::EventChunk* chunk,
                            verified_root<fbs::EventChunk>(payload, "events"));
  std::vector<Event> events;
  Unpacker unpacker(payload.size());
  const auto* from = chunk->events();
  if (from == nullptr || from->size() == 0)
    return fail(Status::kCorrupt, "events: the list is empty");
  // An event is two tables and the offsets to them.
  if (unpacker.spend(uint64_t{from->size()} * 2 * kLeastTableBytes)) events.reserve(from->size());
  uint64_t sequence = chunk->first_sequence();
  for (const fbs::Event* event : *from) {
    // The cheapest action stands in until its own is known.
    events.push_back(
        {sequence++, event->thread(), event->time_ns(), StreamDestroy{}, event->site()});
    Event& to = events.back();
    fbs::Action type = event->action_type();
    // A union of a known kind without its table, or of a kind that no generated code has verified.
    if (event->action() == nullptr ||
        !unpacker.unpack_union<fbs::ActionTraits>(type, event->action(), to.action)) {
      if (event->action() != nullptr) unpacker.read(type, type, fbs::Action::MAX, "kind of event");
      unpacker.refuse(Status::kCorrupt, "an event lacks its action");
    }
    if (unpacker.failed()) {
      return with_context(unpacker.error(), fmt::format("event {}", to.sequence));
    }
  }
  return events;
}

}  // namespace gfxgraph::format
