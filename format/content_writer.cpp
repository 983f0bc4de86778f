#include "format/content_writer.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "format/chunks.h"
#include "format/container.h"
#include "format/writer_impl.h"

namespace gfxgraph::format {
namespace {

bool uniform(std::span<const std::byte> bytes) {
  return std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0;
}

}  // namespace

struct ContentWriter::State {
  State(Writer::Impl& given, uint64_t size, bool keep)
      : writer(given), size_bytes(size), store(keep) {}
  ~State() { writer.queue.give_back(std::move(job.buffer)); }

  Writer::Impl& writer;
  const uint64_t size_bytes;
  const bool store;
  uint64_t done_bytes = 0;
  BlobQueue::Job job;  // its buffer is the room
  std::vector<BlobId> chunks;
  uint64_t after = 0;  // the last of the chunks that are on their way
  RunningBlobId whole;

  [[nodiscard]] size_t room_bytes() const {
    return std::min<uint64_t>(writer.queue.buffer_bytes(), size_bytes - done_bytes);
  }
  [[nodiscard]] bool one_byte() const {
    return !chunks.empty() && is_fill_chunk(chunks[0]) &&
           std::ranges::all_of(chunks, [&](const BlobId& id) { return id == chunks[0]; });
  }
};

ContentWriter::ContentWriter(Writer& writer, uint64_t size_bytes, bool store)
    : state_(std::make_unique<State>(*writer.impl_, size_bytes, store)) {}

ContentWriter::~ContentWriter() = default;

Result<std::span<std::byte>> ContentWriter::room() {
  State& state = *state_;
  return state.writer.guarded([&]() -> Result<std::span<std::byte>> {
    const size_t size = state.room_bytes();
    if (size == 0) return std::span<std::byte>();
    if (!state.job.buffer) state.job.buffer = state.writer.queue.take_buffer();
    return std::span(state.job.buffer.get(), size);
  });
}

Result<void> ContentWriter::put() {
  State& state = *state_;
  return state.writer.guarded([&]() -> Result<void> {
    const size_t size = state.room_bytes();
    if (size == 0 || !state.job.buffer) return fail(Status::kInvalidArgument, "no room was taken");
    const std::span<const std::byte> bytes(state.job.buffer.get(), size);
    state.whole.add(bytes);
    state.done_bytes += size;
    if ((state.store || state.one_byte() || state.chunks.empty()) && uniform(bytes)) {
      state.chunks.push_back(fill_chunk(static_cast<uint8_t>(bytes[0])));
      return {};
    }
    if (!state.store) {
      state.chunks.assign(1, BlobId{0, 1});  // not of one byte
      return {};
    }
    // Of a content of one chunk it is the content's hash.
    state.job.id = size == state.size_bytes ? state.whole.value() : hash_bytes(bytes);
    state.job.size_bytes = size;
    state.chunks.push_back(state.job.id);
    GFXGRAPH_ASSIGN_OR_RETURN(const uint64_t number, state.writer.submit(state.job));
    state.after = std::max(state.after, number);
    return {};
  });
}

Result<Content> ContentWriter::finish() {
  State& state = *state_;
  return state.writer.guarded([&]() -> Result<Content> {
    if (state.done_bytes != state.size_bytes) {
      return fail(Status::kInvalidArgument, "a content ended before its last byte");
    }
    Content content;
    content.size_bytes = state.size_bytes;
    content.hash = state.whole.value();
    if (state.chunks.empty()) return content;
    if (state.one_byte()) {
      content.fill = static_cast<uint8_t>(state.chunks[0].low);
      return content;
    }
    content.stored = state.store;
    if (!state.store) return content;
    content.blob = content.hash;
    if (state.chunks.size() == 1) return content;
    GFXGRAPH_TRY(state.writer.submit_list(
        {content.blob, state.size_bytes,
         encode_chunk_list(state.writer.queue.buffer_bytes(), state.chunks), state.after}));
    return content;
  });
}

}  // namespace gfxgraph::format
