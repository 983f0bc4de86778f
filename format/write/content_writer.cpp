#include "format/write/content_writer.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <mutex>
#include <utility>
#include <vector>

#include "format/container/chunks.h"
#include "format/container/container.h"
#include "format/write/writer_impl.h"

namespace gfxgraph::format {
namespace {

bool uniform(std::span<const std::byte> bytes) {
  return std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0;
}

// Contents of up to this many chunks are not worth waking a thread for.
constexpr uint64_t kFewChunks = 4;

}  // namespace

struct ContentWriter::State {
  struct Piece {
    BlobQueue::Buffer buffer;
    size_t size_bytes = 0;
    Look look;
  };

  State(Writer::Impl& given, uint64_t size, bool keep)
      : writer(given),
        size_bytes(size),
        store(keep),
        ahead(size > kFewChunks * given.queue.buffer_bytes()) {}
  ~State() {
    wait();
    writer.queue.give_back(std::move(room));
  }

  Writer::Impl& writer;
  const uint64_t size_bytes;
  const bool store;
  const bool ahead;  // the writer's thread takes the pieces
  uint64_t put_bytes = 0;
  BlobQueue::Buffer room;

  // Of pieces that were put: by one thread at a time, in order.
  std::vector<BlobId> chunks;
  uint64_t after = 0;  // the last of the chunks in flight
  RunningBlobId whole;

  std::mutex mutex;  // protects the members below
  std::condition_variable taken;
  std::deque<Piece> waiting;
  size_t unfinished = 0;
  Result<void> result;  // the first error

  [[nodiscard]] size_t room_bytes() const {
    return std::min<uint64_t>(writer.queue.buffer_bytes(), size_bytes - put_bytes);
  }
  [[nodiscard]] bool one_byte() const {
    return !chunks.empty() && is_fill_chunk(chunks[0]) &&
           std::ranges::all_of(chunks, [&](const BlobId& id) { return id == chunks[0]; });
  }
  Result<void> take(Piece& piece);
  Result<void> take_later(Piece piece);
  void take_next() noexcept;
  void wait() {
    std::unique_lock lock(mutex);
    taken.wait(lock, [this] { return unfinished == 0; });
  }
};

// Leaves the buffer with the piece if its bytes need no write.
Result<void> ContentWriter::State::take(Piece& piece) {
  const std::span<const std::byte> bytes(piece.buffer.get(), piece.size_bytes);
  if (piece.look) piece.look(bytes);
  whole.add(bytes);
  if ((store || one_byte() || chunks.empty()) && uniform(bytes)) {
    chunks.push_back(fill_chunk(static_cast<uint8_t>(bytes[0])));
    return {};
  }
  if (!store) {
    chunks.assign(1, BlobId{0, 1});  // marks that the content is not one repeated byte
    return {};
  }
  BlobQueue::Job job;
  // For a content of one chunk, the content's hash.
  job.id = bytes.size() == size_bytes ? whole.value() : hash_bytes(bytes);
  job.size_bytes = bytes.size();
  job.buffer = std::move(piece.buffer);
  chunks.push_back(job.id);
  const Result<uint64_t> number = writer.submit(job);
  piece.buffer = std::move(job.buffer);
  if (!number) return tl::unexpected<Error>(number.error());
  after = std::max(after, *number);
  return {};
}

Result<void> ContentWriter::State::take_later(Piece piece) {
  {
    const std::lock_guard lock(mutex);
    if (!result) return result;
    waiting.push_back(std::move(piece));
    ++unfinished;
  }
  try {
    writer.looks.add([this] { take_next(); });
  } catch (const std::exception&) {
    // The thread takes the earlier ones; this call takes this one.
    std::unique_lock lock(mutex);
    taken.wait(lock, [this] { return unfinished == 1; });
    lock.unlock();
    take_next();
  }
  return {};
}

void ContentWriter::State::take_next() noexcept {
  Piece piece;
  bool sound = false;
  {
    const std::lock_guard lock(mutex);
    piece = std::move(waiting.front());
    waiting.pop_front();
    sound = result.has_value();
  }
  Result<void> outcome;
  if (sound) outcome = writer.guarded([&] { return take(piece); });
  writer.queue.give_back(std::move(piece.buffer));
  const std::lock_guard lock(mutex);
  if (!outcome && result) result = std::move(outcome);
  // Under the lock, because a waiting thread may destroy this object.
  if (--unfinished <= 1) taken.notify_all();
}

ContentWriter::ContentWriter(Writer& writer, uint64_t size_bytes, bool store)
    : state_(std::make_unique<State>(*writer.impl_, size_bytes, store)) {}

ContentWriter::~ContentWriter() = default;

Result<std::span<std::byte>> ContentWriter::room() {
  State& state = *state_;
  return state.writer.guarded([&]() -> Result<std::span<std::byte>> {
    const size_t size = state.room_bytes();
    if (size == 0) return std::span<std::byte>();
    if (!state.room) state.room = state.writer.queue.take_buffer();
    return std::span(state.room.get(), size);
  });
}

Result<void> ContentWriter::put(Look look) {
  State& state = *state_;
  return state.writer.guarded([&]() -> Result<void> {
    const size_t size = state.room_bytes();
    if (size == 0 || !state.room)
      return fail(Status::kInvalidArgument, "no memory was taken for the bytes");
    State::Piece piece{std::move(state.room), size, std::move(look)};
    state.put_bytes += size;
    if (state.ahead) return state.take_later(std::move(piece));
    const Result<void> outcome = state.take(piece);
    state.room = std::move(piece.buffer);
    return outcome;
  });
}

Result<Content> ContentWriter::finish() {
  State& state = *state_;
  return state.writer.guarded([&]() -> Result<Content> {
    if (state.put_bytes != state.size_bytes) {
      return fail(Status::kInvalidArgument, "a content ended before its last byte");
    }
    state.wait();
    GFXGRAPH_TRY(state.result);
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
