// A program prepared in a session: its operations with complete arguments, and what else happens in
// a run of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "replayer/memory/pattern_buffers.h"
#include "replayer/program/program.h"
#include "replayer/session/host_writes.h"
#include "replayer/session/prepared.h"
#include "replayer/session/session.h"
#include "replayer/session/staged_copies.h"

namespace gfxgraph::replayer {

struct Before;
class Executor;

// Not thread-safe.
class Instance {
 public:
  // `program` is the session's, or a part of it.
  static Result<std::unique_ptr<Instance>> load(std::shared_ptr<Session> session,
                                                std::shared_ptr<const Program> program);
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  const Program& program() const { return *program_; }
  Session& session() { return *session_; }
  const Session& session() const { return *session_; }
  const HipLibrary& library() const { return session_->library(); }
  const HipTable& hip() const { return session_->hip(); }
  const HipDevice& device() const { return session_->device(); }
  Memory& memory() { return session_->memory(); }
  const Memory& memory() const { return std::as_const(*session_).memory(); }

  // Restores memory to its state at the beginning of the program: the recorded initial contents,
  // and the results of earlier work.
  Result<void> restore();
  // Submits one operation to a stream. Allocates nothing, takes no lock of this library, except for
  // copies that use the ring: their bytes are read from the trace, and they wait for space there.
  hip::Error submit(uint32_t operation, hip::Stream stream) noexcept;
  // Submits a copy that uses the ring, without the turnovers before it.
  hip::Error submit_streamed(uint32_t operation, hip::Stream stream) noexcept;
  // Converts the return value of submit() or submit_streamed() to an error.
  tl::unexpected<Error> failure(hip::Error code, uint32_t operation);
  // All submitted work is complete: bytes that came through the ring go to their HostResult.
  void collect_results() noexcept { staged_.collect(); }
  HostWrites& host_writes() { return host_writes_; }
  // Between operations, when all before are complete: the caller's part at borders, then the
  // recorded host's. kInvalidArgument: the caller ended the run there.
  Result<void> host_acts(const HostPart& part);
  void set_border_call(BorderCall call) { border_call_ = std::move(call); }
  const HostWrites& host_writes() const { return host_writes_; }

  // What the next submit() uses; changes keep the numbers of operations, and of those of a kind.
  PreparedOperations& prepared() { return prepared_; }
  const PreparedOperation& operation(uint32_t index) const { return prepared_.all[index]; }
  const PreparedLaunch& launch(uint32_t index) const { return prepared_.launches[index]; }
  size_t launches() const { return prepared_.launches.size(); }
  hip::Function function(const PreparedLaunch& launch) const {
    return session_->modules().function(launch.kernel);
  }
  // Null: it is a plain one.
  const SpecialLaunch* special(const PreparedLaunch& launch) const {
    return launch.special == 0 ? nullptr : &prepared_.specials[launch.special - 1];
  }
  const PreparedCopy& copy(uint32_t index) const { return prepared_.copies[index]; }
  const PreparedMemset& memset(uint32_t index) const { return prepared_.memsets[index]; }
  const std::vector<HostResult>& host_results() const { return prepared_.host_results; }
  // Done before an operation, in order: for each, the ended one is copied, if it is kept, and then
  // the bytes are filled.
  std::span<const Turnover> turnovers(uint32_t operation) const;

  // Applies the session's bindings since the last call, and passes the changes to `executor`, which
  // may be null. Call only when no work is in flight.
  void follow_moves(Executor* executor) noexcept {
    if (moves_followed_ != session_->moves().size()) [[unlikely]]
      follow_new_moves(executor);
  }

 private:
  void follow_new_moves(Executor* executor) noexcept;
  Instance(std::shared_ptr<Session> session, std::shared_ptr<const Program> program);
  Result<void> check_contents() const;
  Result<void> prepare();
  Result<void> prepare_launch(const Operation& operation, uint64_t& arena_offset);
  Result<void> prepare_special(const Operation& operation, PreparedLaunch& launch);
  Result<void> check_stub(const Operation& launch, const SpecialLaunch& special) const;
  std::string name_of(const Operation& launch) const;
  Result<void> prepare_copy(uint32_t index, const Operation& operation);
  Result<void> prepare_memset(const Operation& operation);
  Result<void> prepare_turnovers();
  hip::Error submit_turnovers(uint32_t operation, hip::Stream stream) noexcept;
  Result<void> run_before();
  void follow(const Move& move, Executor* executor) noexcept;
  hip::Error submit_launch(const PreparedLaunch& launch, hip::Stream stream) noexcept;
  hip::Error submit_special(const PreparedLaunch& launch, hip::Stream stream) noexcept;

  std::shared_ptr<Session> session_;
  std::shared_ptr<const Program> program_;
  std::unique_ptr<Before> before_;
  size_t moves_followed_ = 0;  // of the session's
  PatternBuffers small_rows_;
  PreparedOperations prepared_;
  HostWrites host_writes_;
  BorderCall border_call_;
  std::vector<Turnover> turnovers_;  // by operation of this program
  StagedCopies staged_;
};

}  // namespace gfxgraph::replayer
