#include "replayer/production/metrics.h"

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <vector>

namespace gfxgraph::replayer {
namespace {

constexpr std::array<const char*, GFXGRAPH_WAYS> kWays = {"graph", "batch", "eager", "work",
                                                          "capture"};
constexpr std::array<const char*, GFXGRAPH_FALLS> kFalls = {
    "none", "capture", "prepare", "run", "cap", "allocation", "beyond"};

struct Quantile {
  const char* label;
  double share;
};
constexpr Quantile kQuantiles[] = {{"0.5", 0.5}, {"0.9", 0.9}, {"0.99", 0.99}};

std::string escaped(std::string_view text) {
  std::string result;
  for (const char one : text) {
    if (one == '\\' || one == '"') result += '\\';
    if (one == '\n') {
      result += "\\n";
    } else {
      result += one;
    }
  }
  return result;
}

std::string seconds(uint64_t nanoseconds) {
  return fmt::format("{}.{:09}", nanoseconds / 1'000'000'000, nanoseconds % 1'000'000'000);
}

struct BucketSample {
  std::string labels;  // pool and bucket
  BucketSums sums;
};

class Text {
 public:
  explicit Text(const std::vector<BucketSample>& samples) : samples_(samples) {}

  void family(const char* name, const char* type, const char* help, const char* unit = "") {
    name_ = name;
    text_ += fmt::format("# TYPE {} {}\n", name, type);
    if (*unit != '\0') text_ += fmt::format("# UNIT {} {}\n", name, unit);
    text_ += fmt::format("# HELP {} {}\n", name, help);
  }
  void sample(const char* suffix, const BucketSample& of, std::string_view more,
              std::string_view value) {
    text_ += fmt::format("{}{}{{{}{}}} {}\n", name_, suffix, of.labels, more, value);
  }
  // A number of each bucket.
  template <typename Number>
  void each(const char* suffix, Number number) {
    for (const BucketSample& one : samples_)
      sample(suffix, one, "", fmt::format("{}", number(one.sums.info)));
  }
  // Numbers of each bucket, by a label.
  template <typename Numbers>
  void by(const char* label, std::span<const char* const> names, size_t first, Numbers numbers) {
    for (const BucketSample& one : samples_) {
      for (size_t i = first; i < names.size(); ++i) {
        sample("_total", one, fmt::format(",{}=\"{}\"", label, names[i]),
               fmt::format("{}", numbers(one.sums.info)[i]));
      }
    }
  }
  void summary(Durations BucketSums::* which) {
    for (const BucketSample& one : samples_) {
      const Durations& durations = one.sums.*which;
      for (const Quantile& quantile : kQuantiles) {
        if (durations.count() == 0) break;
        sample("", one, fmt::format(",quantile=\"{}\"", quantile.label),
               seconds(durations.percentile(quantile.share)));
      }
      sample("_count", one, "", fmt::format("{}", durations.count()));
      sample("_sum", one, "", seconds(durations.sum()));
    }
  }
  std::string take() { return std::move(text_ += "# EOF\n"); }

 private:
  const std::vector<BucketSample>& samples_;
  const char* name_ = "";
  std::string text_;
};

std::vector<BucketSample> samples_of(std::span<Pool* const> pools) {
  std::vector<BucketSample> samples;
  for (Pool* const pool : pools) {
    for (uint32_t i = 0; i <= pool->bucket_count(); ++i) {
      const bool beyond = i == pool->bucket_count();
      BucketSample& one = samples.emplace_back();
      pool->add_up(beyond ? GFXGRAPH_BUCKET_BEYOND : i, one.sums);
      one.labels =
          fmt::format("pool=\"{}\",bucket=\"{}\"", escaped(pool->settings().name),
                      beyond ? std::string("beyond") : fmt::format("{}", one.sums.info.size));
    }
  }
  return samples;
}

}  // namespace

const char* way_name(uint32_t way) noexcept { return way < kWays.size() ? kWays[way] : "unknown"; }
const char* fall_name(uint32_t fall) noexcept {
  return fall < kFalls.size() ? kFalls[fall] : "unknown";
}

Result<std::string> metrics_text(std::span<Pool* const> pools) {
  for (size_t i = 0; i < pools.size(); ++i) {
    for (size_t k = 0; k < i; ++k) {
      if (pools[i]->settings().name != pools[k]->settings().name) continue;
      return fail(Status::kInvalidArgument,
                  fmt::format("pools {} and {} are both called {}: give them different names "
                              "(gfxgraph_pool_options_t.name)",
                              k, i, pools[i]->settings().name));
    }
  }
  using Info = gfxgraph_bucket_info_t;
  const std::vector<BucketSample> samples = samples_of(pools);
  Text text(samples);
  text.family("gfxgraph_pool_runs", "counter", "Runs that succeeded, by the way that they went.");
  text.by("way", kWays, 0, [](const Info& info) -> const auto& { return info.runs; });
  text.family("gfxgraph_pool_falls", "counter",
              "Runs that went another way than the first, by the reason.");
  text.by("reason", kFalls, 1, [](const Info& info) -> const auto& { return info.falls; });
  text.family("gfxgraph_pool_captures", "counter", "Captures that succeeded.");
  text.each("_total", [](const Info& info) { return info.captures; });
  text.family("gfxgraph_pool_work_failures", "counter",
              "Runs and captures in which the caller's function failed.");
  text.each("_total", [](const Info& info) { return info.work_failures; });
  text.family("gfxgraph_pool_failures", "counter", "Runs that failed otherwise.");
  text.each("_total", [](const Info& info) { return info.failures; });
  text.family("gfxgraph_pool_rows", "counter", "Rows of runs that succeeded, without padding.");
  text.each("_total", [](const Info& info) { return info.rows; });
  text.family("gfxgraph_pool_padded_rows", "counter", "Rows of zeros behind them.");
  text.each("_total", [](const Info& info) { return info.padded_rows; });
  text.family("gfxgraph_pool_padded_bytes", "counter", "Bytes of these rows, of all tensors.",
              "bytes");
  text.each("_total", [](const Info& info) { return info.padded_bytes; });
  text.family("gfxgraph_pool_untimed_runs", "counter",
              "Runs whose time end to end was asked for and not measured.");
  text.each("_total", [](const Info& info) { return info.untimed; });
  text.family("gfxgraph_pool_device_bytes", "gauge", "Device memory that buckets hold.", "bytes");
  text.each("", [](const Info& info) { return info.device_bytes; });
  text.family("gfxgraph_pool_submit_seconds", "summary", "Time of the call on the host.",
              "seconds");
  text.summary(&BucketSums::submit);
  text.family("gfxgraph_pool_end_to_end_seconds", "summary",
              "Time of a run on its stream, where it was measured.", "seconds");
  text.summary(&BucketSums::end_to_end);
  return text.take();
}

}  // namespace gfxgraph::replayer
