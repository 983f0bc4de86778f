// The C ABI of what proves that a pool is right (gfxgraph/safety.h).
#include "gfxgraph/safety.h"
#include "replayer/production/c_api_pool_internal.h"
#include "replayer/production/safety/report.h"

using namespace gfxgraph;            // NOLINT: this file is the border between the two worlds
using namespace gfxgraph::replayer;  // NOLINT

extern "C" {

gfxgraph_lint_t gfxgraph_lint_default(void) noexcept {
  gfxgraph_lint_t lint{};
  lint.struct_size = sizeof lint;
  return lint;
}

gfxgraph_status_t gfxgraph_pool_fingerprint(gfxgraph_pool_t pool, char* text, uint64_t capacity,
                                            uint64_t* size) noexcept {
  return on_pool(pool, On::kHost, [&](Pool& one) -> Result<void> {
    return give_text(fingerprint_text(one), text, capacity, size);
  });
}

gfxgraph_status_t gfxgraph_pool_report(gfxgraph_pool_t pool, char* text, uint64_t capacity,
                                       uint64_t* size) noexcept {
  return on_pool(pool, On::kHost, [&](Pool& one) -> Result<void> {
    return give_text(report_text(one), text, capacity, size);
  });
}

gfxgraph_status_t gfxgraph_pool_lint(gfxgraph_pool_t pool, const gfxgraph_lint_t* lint,
                                     gfxgraph_baked_t* baked, uint32_t capacity,
                                     uint32_t item_bytes, uint32_t* count) noexcept {
  return on_pool(pool, On::kDevice, [&](Pool& one) -> Result<void> {
    GFXGRAPH_TRY(require(lint != nullptr && count != nullptr, "lint or count is null"));
    GFXGRAPH_TRY(require(baked != nullptr || capacity == 0, "baked is null"));
    GFXGRAPH_TRY(require(capacity == 0 || item_bytes >= offsetof(gfxgraph_baked_t, text),
                         "item_bytes is not sizeof(gfxgraph_baked_t)"));
    GFXGRAPH_ASSIGN_OR_RETURN(const gfxgraph_lint_t chosen,
                              read_in(lint, gfxgraph_lint_default(), "gfxgraph_lint_t"));
    GFXGRAPH_TRY(check_stream(one.library(), chosen.hip_stream));
    int32_t work_status = 0;
    GFXGRAPH_ASSIGN_OR_RETURN(const std::vector<gfxgraph_baked_t> found,
                              one.lint(chosen.bucket, chosen.hip_stream,
                                       {chosen.vary, chosen.vary_context}, work_status));
    *count = static_cast<uint32_t>(found.size());
    auto* to = reinterpret_cast<unsigned char*>(baked);
    for (uint32_t i = 0; i < std::min(capacity, *count); ++i, to += item_bytes)
      std::memcpy(to, &found[i], std::min<size_t>(item_bytes, sizeof found[i]));
    if (found.empty()) return {};
    return fail(Status::kMismatch,
                fmt::format("{} values are baked into a capture; {}", found.size(), found[0].text));
  });
}

}  // extern "C"
