// The C ABI of sessions.
#include "gfxgraph/order.h"
#include "replayer/capi/c_api_internal.h"
#include "replayer/memory/limits.h"

using namespace gfxgraph;            // NOLINT: this file is the border between the two worlds
using namespace gfxgraph::replayer;  // NOLINT

Result<void> gfxgraph_session_s::load() {
  if (session) return {};
  GFXGRAPH_ASSIGN_OR_RETURN(session, Session::load(open->program(), library, options));
  return {};
}

gfxgraph_session_s::~gfxgraph_session_s() {
  OnDeviceRelaxed scope(*library, device.ordinal);
  try {
    (void)scope.enter();
  } catch (...) {  // out of memory for an error's text
  }
  session.reset();
}

namespace {

// Runs the body of a session function on the session's device.
template <typename Body>
gfxgraph_status_t on_session(gfxgraph_session_t session, Body&& body) noexcept {
  return guarded([&]() -> Result<void> {
    GFXGRAPH_TRY(require(session != nullptr, "session is null"));
    GFXGRAPH_TRY(require_own(session->made_in));
    OnDeviceRelaxed scope(*session->library, session->device.ordinal);
    GFXGRAPH_TRY(scope.enter());
    return body();
  });
}

// `open`: of which the session will be.
Result<SessionOptions> read_options(const gfxgraph_session_options_t* options,
                                    const OpenTrace& open) {
  GFXGRAPH_ASSIGN_OR_RETURN(
      const gfxgraph_session_options_t chosen,
      read_in(options, gfxgraph_session_options_default(), "gfxgraph_session_options_t"));
  GFXGRAPH_TRY(
      require(chosen.layout == GFXGRAPH_LAYOUT_SAME || chosen.layout == GFXGRAPH_LAYOUT_SHIFT,
              "unknown layout"));
  GFXGRAPH_TRY(require(chosen.memory <= GFXGRAPH_MEMORY_PACKED_KEPT, "unknown memory"));
  GFXGRAPH_TRY(require(chosen.place <= GFXGRAPH_PLACE_APART, "unknown place"));
  GFXGRAPH_TRY(require(chosen.reserved == 0 && chosen.reserved2 == 0,
                       "reserved of gfxgraph_session_options_t is not zero"));
  GFXGRAPH_TRY(
      require_flags("gfxgraph_session_options_t", {{"keep_ambiguous", chosen.keep_ambiguous},
                                                   {"zero_unknown", chosen.zero_unknown},
                                                   {"poison_fresh", chosen.poison_fresh},
                                                   {"concurrent_steps", chosen.concurrent_steps}}));
  SessionOptions result;
  result.memory = chosen.memory == GFXGRAPH_MEMORY_APART ? MemoryUse::kApart : MemoryUse::kPacked;
  result.keep_freed = chosen.memory == GFXGRAPH_MEMORY_PACKED_KEPT;
  result.layout = static_cast<Layout>(chosen.layout);
  result.device = chosen.device;
  result.keep_ambiguous = chosen.keep_ambiguous != 0;
  result.zero_unknown = chosen.zero_unknown != 0;
  result.poison_fresh = chosen.poison_fresh != 0;
  result.concurrent_steps = chosen.concurrent_steps != 0;
  result.max_load_seconds = chosen.max_load_seconds;
  result.max_memory_bytes = chosen.max_memory_bytes;
  result.log = {chosen.log, chosen.log_context};
  GFXGRAPH_TRY(require((chosen.allocate == nullptr) == (chosen.release == nullptr),
                       "allocate and release: one of them is null"));
  result.allocator = {chosen.allocator_context, chosen.allocate, chosen.release};
  if (chosen.place != GFXGRAPH_PLACE_APART) result.live = open.live();
  return result;
}

}  // namespace

extern "C" {

gfxgraph_session_options_t gfxgraph_session_options_default(void) noexcept {
  gfxgraph_session_options_t options{};
  options.struct_size = sizeof options;
  options.layout = GFXGRAPH_LAYOUT_SAME;
  options.device = -1;
  return options;
}

gfxgraph_status_t gfxgraph_session_create(gfxgraph_trace_t trace,
                                          const gfxgraph_session_options_t* options,
                                          gfxgraph_session_t* session) noexcept {
  return guarded([&]() -> Result<void> {
    GFXGRAPH_TRY(require(trace != nullptr && session != nullptr, "trace or session is null"));
    const OpenTrace& open = *trace->open;
    GFXGRAPH_ASSIGN_OR_RETURN(const SessionOptions chosen, read_options(options, open));
    if (!open.allow_incomplete()) GFXGRAPH_TRY(open.program()->check_complete());
    GFXGRAPH_TRY(begin_use_of_hip());
    GFXGRAPH_ASSIGN_OR_RETURN(std::shared_ptr<const HipLibrary> library,
                              hip_library_in_use(open.trace().environment().hip_runtime_version));
    int before = -1;
    const bool known = library->table().hipGetDevice(&before) == hip::kSuccess;
    Result<HipDevice> device = library->select_device(chosen.device);
    if (known && (!device || device->ordinal != before)) library->table().hipSetDevice(before);
    if (!device) return tl::unexpected<Error>(std::move(device).error());
    GFXGRAPH_TRY(Session::check_architecture(open.trace(), *device));
    auto handle = std::make_unique<gfxgraph_session_s>();
    handle->open = trace->open;
    handle->library = std::move(library);
    handle->device = std::move(*device);
    handle->options = chosen;
    handle->options.device = handle->device.ordinal;
    *session = handle.release();
    return {};
  });
}

void gfxgraph_session_destroy(gfxgraph_session_t session) noexcept {
  if (session != nullptr && !is_inherited(session->made_in)) delete session;
}

gfxgraph_status_t gfxgraph_session_bind(gfxgraph_session_t session, uint32_t buffer, void* pointer,
                                        uint64_t size_bytes, uint32_t flags) noexcept {
  return on_session(session, [&]() -> Result<void> {
    GFXGRAPH_TRY(require((flags & ~GFXGRAPH_BIND_FILL) == 0, "unknown flags"));
    const Binding binding{buffer, pointer, size_bytes, (flags & GFXGRAPH_BIND_FILL) == 0};
    if (session->session) return session->session->bind(binding);
    const Program& program = *session->open->program();
    GFXGRAPH_TRY(check_fill(session->options, binding));
    GFXGRAPH_TRY(check_binding(program, binding));
    std::vector<Binding>& known = session->options.bindings;
    for (const Binding& other : known) {
      if (other.allocation != buffer)
        GFXGRAPH_TRY(check_apart(program, binding, other.allocation, other.pointer));
    }
    known.push_back(binding);
    session->options.packing = nullptr;
    std::erase_if(known, [&](const Binding& other) {
      return other.allocation == buffer && &other != &known.back();
    });
    return {};
  });
}

gfxgraph_status_t gfxgraph_session_load(gfxgraph_session_t session) noexcept {
  return on_session(session, [&] { return session->load(); });
}

gfxgraph_status_t gfxgraph_session_use_order(gfxgraph_session_t session, const void* bytes,
                                             uint64_t size_bytes) noexcept {
  return on_session(session, [&]() -> Result<void> {
    GFXGRAPH_TRY(session->load());
    if (bytes == nullptr) return session->session->use_order(nullptr);
    GFXGRAPH_ASSIGN_OR_RETURN(
        order::NeededEdges edges,
        order::read_needed_edges({static_cast<const std::byte*>(bytes), size_bytes}));
    return session->session->use_order(
        std::make_shared<const order::NeededEdges>(std::move(edges)));
  });
}

gfxgraph_status_t gfxgraph_session_read(gfxgraph_session_t session, uint32_t buffer,
                                        uint64_t offset_bytes, void* bytes,
                                        uint64_t size_bytes) noexcept {
  return on_session(session, [&]() -> Result<void> {
    GFXGRAPH_TRY(require(bytes != nullptr || size_bytes == 0, "bytes is null"));
    GFXGRAPH_TRY(session->load());
    GFXGRAPH_TRY(session->session->synchronize());
    GFXGRAPH_TRY(session->session->memory().check_own(buffer));
    return session->session->memory().read(buffer, offset_bytes,
                                           {static_cast<std::byte*>(bytes), size_bytes});
  });
}

gfxgraph_status_t gfxgraph_session_write(gfxgraph_session_t session, uint32_t buffer,
                                         uint64_t offset_bytes, const void* bytes,
                                         uint64_t size_bytes) noexcept {
  return on_session(session, [&]() -> Result<void> {
    GFXGRAPH_TRY(require(bytes != nullptr || size_bytes == 0, "bytes is null"));
    GFXGRAPH_TRY(session->load());
    GFXGRAPH_TRY(session->session->synchronize());
    GFXGRAPH_TRY(session->session->memory().check_own(buffer));
    session->session->changed();
    return session->session->memory().write(buffer, offset_bytes,
                                            {static_cast<const std::byte*>(bytes), size_bytes});
  });
}

gfxgraph_status_t gfxgraph_session_address(gfxgraph_session_t session, uint32_t buffer,
                                           void** address) noexcept {
  return on_session(session, [&]() -> Result<void> {
    GFXGRAPH_TRY(require(address != nullptr, "address is null"));
    GFXGRAPH_TRY(session->load());
    const Memory& memory = session->session->memory();
    if (!memory.exists(buffer))
      return fail(Status::kNotFound, fmt::format("buffer {} does not exist", buffer));
    GFXGRAPH_TRY(memory.check_own(buffer));
    *address = memory.device_pointer(buffer);
    return {};
  });
}

gfxgraph_status_t gfxgraph_session_info(gfxgraph_session_t session,
                                        gfxgraph_session_info_t* info) noexcept {
  return guarded([&]() -> Result<void> {
    GFXGRAPH_TRY(require(session != nullptr, "session is null"));
    SessionOptions& options = session->options;
    const Program& program = *session->open->program();
    if (options.packing == nullptr)
      options.packing = std::make_shared<const Packing>(plan_packing(program, options));
    const std::optional<MemoryNeed> need = memory_need(program, options, *options.packing);
    gfxgraph_session_info_t result{};
    result.loaded = session->session ? 1 : 0;
    result.device_name = session->device.name.c_str();
    result.gpu_arch = session->device.arch.c_str();
    result.hip_library = session->library->path().c_str();
    result.hip_runtime_version = session->library->runtime_version();
    result.device = session->device.ordinal;
    result.device_bytes = need ? need->device : UINT64_MAX;
    result.host_bytes = need ? need->host : UINT64_MAX;
    result.device_bytes_apart = need ? need->device_apart : UINT64_MAX;
    result.load_us = session->session ? session->session->load_us() : 0;
    return write_out(result, info);
  });
}

}  // extern "C"
