#include "replayer/production/safety/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "gfxgraph/gfxgraph.h"
#include "replayer/production/metrics.h"

namespace gfxgraph::replayer {
namespace {

constexpr std::array<const char*, 5> kLevels = {"off", "identity", "fingerprint", "shadow",
                                                "strict"};
constexpr std::array<const char*, 3> kChoices = {"none", "open", "made"};

std::string json_text(std::string_view text) {
  std::string result = "\"";
  for (const char one : text) {
    if (one == '"' || one == '\\') result += '\\';
    if (static_cast<unsigned char>(one) < 0x20) {
      result += fmt::format("\\u{:04x}", static_cast<unsigned>(one));
    } else {
      result += one;
    }
  }
  return result += '"';
}

// A hash; 0: null.
std::string hash_or_null(uint64_t hash) {
  return hash == 0 ? std::string("null") : fmt::format("\"{:016x}\"", hash);
}

class Object {
 public:
  void add(std::string_view name, std::string_view value) {
    text_ += fmt::format("{}\"{}\": {}", text_.empty() ? "" : ", ", name, value);
  }
  void add(std::string_view name, uint64_t value) { add(name, fmt::to_string(value)); }
  std::string take() { return '{' + std::move(text_) + '}'; }

 private:
  std::string text_;
};

// Counts by name, from the one of number `first` on.
std::string counts(const uint64_t* values, uint32_t first, uint32_t count,
                   const char* (*name)(uint32_t)) {
  Object all;
  for (uint32_t i = first; i < count; ++i) all.add(name(i), values[i]);
  return all.take();
}

std::string bucket_text(Pool& pool, uint32_t bucket) {
  BucketSums sums;
  pool.add_up(bucket, sums);
  const gfxgraph_bucket_info_t& info = sums.info;
  const Bucket* const one = bucket < pool.bucket_count() ? &pool.bucket(bucket) : nullptr;
  const Identity identity = one == nullptr ? Identity{} : one->identity().get();
  Object text;
  text.add("size", info.size);
  text.add("max_length", info.max_length);
  text.add("way", json_text(way_name(info.way)));
  text.add("choice", json_text(kChoices[info.choice]));
  text.add("runs", counts(info.runs, 0, GFXGRAPH_WAYS, way_name));
  text.add("falls", counts(info.falls, 1, GFXGRAPH_FALLS, fall_name));
  text.add("validations", counts(info.validations, 1, GFXGRAPH_VALIDATIONS, validation_name));
  text.add("captures", info.captures);
  text.add("work_failures", info.work_failures);
  text.add("failures", info.failures);
  text.add("rows", info.rows);
  text.add("padded_rows", info.padded_rows);
  text.add("sequence", hash_or_null(identity.sequence));
  text.add("code", hash_or_null(identity.code));
  text.add("identity_changes", one == nullptr ? 0 : one->identity().changes());
  const OutputDigest::Value digest = one == nullptr ? OutputDigest::Value{} : one->digest();
  text.add("digest", hash_or_null(digest.hash));
  text.add("digested_runs", digest.runs);
  return text.take();
}

// Whether each run was the function's own work or that of a step which was not found to differ.
bool is_clean(Pool& pool) {
  BucketSums sums;
  pool.add_up(GFXGRAPH_BUCKET_ALL, sums);
  const gfxgraph_bucket_info_t& info = sums.info;
  uint64_t falls =
      info.failures + info.work_failures + info.validations[GFXGRAPH_VALIDATION_DIFFERENT];
  for (const uint64_t one : info.falls) falls += one;
  for (uint32_t i = 0; i < pool.bucket_count(); ++i) falls += pool.bucket(i).identity().changes();
  return falls == 0;
}

}  // namespace

std::string report_text(Pool& pool) {
  Object device;
  for (const char* const name : {"device", "arch", "runtime", "driver", "uuid"}) {
    const auto found =
        std::ranges::find(pool.facts(), std::string_view(name),
                          [](const Fact& fact) { return std::string_view(fact.name); });
    device.add(name, found == pool.facts().end() ? "null" : json_text(found->value));
  }
  std::string buckets;
  for (uint32_t i = 0; i < pool.bucket_count(); ++i)
    buckets += (i == 0 ? "\n  " : ",\n  ") + bucket_text(pool, i);
  const PoolSettings& settings = pool.settings();
  return fmt::format(
      "{{\"schema\": \"gfxgraph-pool/1\", \"version\": \"{}\", \"pool\": {},\n"
      " \"safety\": \"{}\", \"validate_every\": {}, \"fingerprint\": {}, \"clean\": {},\n"
      " \"environment\": {},\n \"buckets\": [{}],\n \"beyond\": {}}}\n",
      gfxgraph_version(), json_text(settings.name), kLevels[settings.safety.level],
      settings.safety.validate_every, settings.safety.fingerprint ? "\"compared\"" : "null",
      is_clean(pool) ? "true" : "false", device.take(), buckets,
      bucket_text(pool, GFXGRAPH_BUCKET_BEYOND));
}

std::string fingerprint_text(Pool& pool) {
  std::string text(SavedFingerprint::kFirstLine);
  for (const Fact& fact : pool.facts()) text += fmt::format("\n{} {}", fact.name, fact.value);
  for (uint32_t i = 0; i < pool.bucket_count(); ++i) {
    const Bucket& one = pool.bucket(i);
    const Identity identity = one.identity().get();
    if (identity.sequence != 0) text += '\n' + bucket_line(one.size(), one.max_length(), identity);
  }
  return text += '\n';
}

}  // namespace gfxgraph::replayer
