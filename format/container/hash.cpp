// XXH3, compiled into this file only: its symbols cannot clash with the xxhash of another program.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <new>
#include <utility>

#include "format/container/container.h"
#include "format/write/writer.h"

namespace gfxgraph::format {
namespace {

XXH3_state_t* new_state() {
  XXH3_state_t* state = XXH3_createState();  // 64-byte aligned, which operator new is not
  if (state == nullptr) throw std::bad_alloc();
  XXH3_64bits_reset(state);
  return state;
}

}  // namespace

BlobId hash_bytes(std::span<const std::byte> bytes) noexcept {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.low64, hash.high64};
}

uint64_t hash64(std::span<const std::byte> bytes) noexcept {
  return XXH3_64bits(bytes.data(), bytes.size());
}

uint64_t hash64_parts(std::span<const std::span<const std::byte>> parts) noexcept {
  if (parts.size() == 1) return hash64(parts[0]);
  XXH3_state_t state;
  XXH3_INITSTATE(&state);
  XXH3_64bits_reset(&state);
  for (const std::span<const std::byte>& part : parts) {
    XXH3_64bits_update(&state, part.data(), part.size());
  }
  return XXH3_64bits_digest(&state);
}

RunningHash::RunningHash() : state_(new_state()) {}
RunningHash::~RunningHash() { XXH3_freeState(static_cast<XXH3_state_t*>(state_)); }
RunningHash::RunningHash(RunningHash&& other) noexcept
    : state_(std::exchange(other.state_, nullptr)) {}
RunningHash& RunningHash::operator=(RunningHash&& other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}
void RunningHash::add(std::span<const std::byte> bytes) noexcept {
  XXH3_64bits_update(static_cast<XXH3_state_t*>(state_), bytes.data(), bytes.size());
}
uint64_t RunningHash::value() const noexcept {
  return XXH3_64bits_digest(static_cast<const XXH3_state_t*>(state_));
}

RunningBlobId::RunningBlobId() : state_(XXH3_createState()) {
  if (state_ == nullptr) throw std::bad_alloc();
  XXH3_128bits_reset(static_cast<XXH3_state_t*>(state_));
}
RunningBlobId::~RunningBlobId() { XXH3_freeState(static_cast<XXH3_state_t*>(state_)); }
void RunningBlobId::add(std::span<const std::byte> bytes) noexcept {
  XXH3_128bits_update(static_cast<XXH3_state_t*>(state_), bytes.data(), bytes.size());
}
BlobId RunningBlobId::value() const noexcept {
  const XXH128_hash_t hash = XXH3_128bits_digest(static_cast<const XXH3_state_t*>(state_));
  return {hash.low64, hash.high64};
}

}  // namespace gfxgraph::format
