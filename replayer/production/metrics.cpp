#include "replayer/production/metrics.h"

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <vector>

#include "replayer/production/openmetrics.h"

namespace gfxgraph::replayer {
namespace {

constexpr std::array<const char*, GFXGRAPH_WAYS> kWays = {"graph", "batch",   "eager",
                                                          "work",  "capture", "packets"};
constexpr std::array<const char*, GFXGRAPH_FALLS> kFalls = {
    "none", "capture", "prepare", "run", "cap", "allocation", "beyond", "measured", "fingerprint"};

constexpr std::array<const char*, GFXGRAPH_VALIDATIONS> kValidations = {"none", "equal",
                                                                        "different", "uncompared"};

using Info = gfxgraph_bucket_info_t;

struct Number {
  const char* name;
  uint64_t Info::* value;
  const char* help;
  const char* unit = "";
};
constexpr Number kCounters[] = {
    {"gfxgraph_pool_captures", &Info::captures, "Captures that succeeded."},
    {"gfxgraph_pool_work_failures", &Info::work_failures,
     "Runs and captures in which the caller's function failed."},
    {"gfxgraph_pool_failures", &Info::failures, "Runs that failed otherwise."},
    {"gfxgraph_pool_rows", &Info::rows, "Rows of runs that succeeded, without padding."},
    {"gfxgraph_pool_padded_rows", &Info::padded_rows, "Rows of zeros behind them."},
    {"gfxgraph_pool_padded_bytes", &Info::padded_bytes, "Bytes of these rows, of all tensors.",
     "bytes"},
    {"gfxgraph_pool_untimed_runs", &Info::untimed,
     "Runs whose time end to end was asked for and not measured."},
};
constexpr Number kGauges[] = {
    {"gfxgraph_pool_device_bytes", &Info::device_bytes, "Device memory that buckets hold.",
     "bytes"},
};

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
  void number(const char* suffix, const BucketSample& of, std::string_view more, uint64_t value) {
    sample(suffix, of, more, fmt::to_string(value));
  }
  // Numbers of each bucket, by a label.
  void by(const char* label, std::span<const char* const> names, size_t first,
          const uint64_t* (*values)(const Info& info)) {
    for (const BucketSample& one : samples_) {
      for (size_t i = first; i < names.size(); ++i) {
        number("_total", one, fmt::format(",{}=\"{}\"", label, names[i]), values(one.sums.info)[i]);
      }
    }
  }
  void numbers(std::span<const Number> all, const char* type, const char* suffix) {
    for (const Number& one : all) {
      family(one.name, type, one.help, one.unit);
      for (const BucketSample& of : samples_) number(suffix, of, "", of.sums.info.*one.value);
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
      number("_count", one, "", durations.count());
      sample("_sum", one, "", seconds(durations.sum()));
    }
  }
  // What was measured of each way, of buckets whose way was.
  void figures(double gfxgraph_way_figures_t::* which) {
    for (const BucketSample& one : samples_) {
      for (size_t way = 0; way < kWays.size(); ++way) {
        const gfxgraph_way_figures_t& figures = one.sums.info.figures[way];
        if (figures.runs == 0) continue;
        sample("", one, fmt::format(",way=\"{}\"", kWays[way]),
               fmt::format("{:.9f}", figures.*which / 1e6));
      }
    }
  }
  // 1 for the way that the next run takes, else 0.
  void next_ways() {
    for (const BucketSample& one : samples_) {
      for (size_t way = 0; way < kWays.size(); ++way) {
        number("", one, fmt::format(",way=\"{}\"", kWays[way]), one.sums.info.way == way ? 1 : 0);
      }
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
      if (!pool->settings().decode.max_lengths.empty())
        one.labels += fmt::format(",max_length=\"{}\"", one.sums.info.max_length);
    }
  }
  return samples;
}

}  // namespace

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

const char* way_name(uint32_t way) noexcept { return way < kWays.size() ? kWays[way] : "unknown"; }
const char* fall_name(uint32_t fall) noexcept {
  return fall < kFalls.size() ? kFalls[fall] : "unknown";
}

const char* validation_name(uint32_t validation) noexcept {
  return validation < kValidations.size() ? kValidations[validation] : "unknown";
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
  const std::vector<BucketSample> samples = samples_of(pools);
  Text text(samples);
  text.family("gfxgraph_pool_runs", "counter", "Runs that succeeded, by the way that they went.");
  text.by("way", kWays, 0, [](const Info& info) { return &info.runs[0]; });
  text.family("gfxgraph_pool_falls", "counter",
              "Runs that went another way than the first, by the reason.");
  text.by("reason", kFalls, 1, [](const Info& info) { return &info.falls[0]; });
  text.family("gfxgraph_pool_validations", "counter", "Runs that were to be validated.");
  text.by("result", kValidations, 1, [](const Info& info) { return &info.validations[0]; });
  text.numbers(kCounters, "counter", "_total");
  text.numbers(kGauges, "gauge", "");
  text.family("gfxgraph_pool_way", "gauge", "1: the way that the next run takes.");
  text.next_ways();
  text.family("gfxgraph_pool_measured_submit_seconds", "gauge",
              "Median time of the call on the host, by which the way was chosen.", "seconds");
  text.figures(&gfxgraph_way_figures_t::submit_us);
  text.family("gfxgraph_pool_measured_end_to_end_seconds", "gauge",
              "Median time on the stream, by which the way was chosen.", "seconds");
  text.figures(&gfxgraph_way_figures_t::end_to_end_us);
  text.family("gfxgraph_pool_submit_seconds", "summary", "Time of the call on the host.",
              "seconds");
  text.summary(&BucketSums::submit);
  text.family("gfxgraph_pool_end_to_end_seconds", "summary",
              "Time of a run on its stream, where it was measured.", "seconds");
  text.summary(&BucketSums::end_to_end);
  return text.take();
}

}  // namespace gfxgraph::replayer
