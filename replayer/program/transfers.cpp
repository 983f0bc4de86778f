#include "replayer/program/transfers.h"

#include <fmt/format.h>

#include <map>

namespace gfxgraph::replayer {
namespace {

class Names {
 public:
  explicit Names(const Program& program) : program_(program) {}

  std::string make(format::AllocationId buffer, uint64_t offset_bytes) {
    const std::string& known = program_.allocations()[buffer - 1].name;
    std::string name = known.empty() ? fmt::format("buffer {}", buffer) : known;
    if (offset_bytes != 0) name += fmt::format("+{:#x}", offset_bytes);
    const uint64_t count = ++seen_[name];
    return count == 1 ? name : fmt::format("{}@{}", name, count);
  }

 private:
  const Program& program_;
  std::map<std::string, uint64_t> seen_;
};

// `host` and `device` are the ends of a copy.
void add_copies(const Program& program, Names& names, format::CopyEnd format::Copy::* host,
                format::CopyEnd format::Copy::* device, std::vector<Transfer>& transfers) {
  for (uint32_t i = 0; i < program.operations().size(); ++i) {
    const Operation& operation = program.operations()[i];
    if (operation.kind != OperationKind::kCopy) continue;
    const format::Copy& copy = *operation.copy;
    const uint64_t size = copy.width_bytes * copy.height * copy.depth;
    const format::CopyEnd& end = copy.*device;
    if ((copy.*host).allocation != 0 || end.allocation == 0 || size == 0) continue;
    transfers.push_back({TransferKind::kCopy, i, names.make(end.allocation, end.offset_bytes), size,
                         end.allocation, end.offset_bytes});
  }
}

}  // namespace

std::vector<Transfer> find_inputs(const Program& program) {
  std::vector<Transfer> inputs;
  Names names(program);
  add_copies(program, names, &format::Copy::source, &format::Copy::destination, inputs);
  for (uint32_t i = 0; i < program.host_writes().size(); ++i) {
    const format::HostWrite& write = *program.host_writes()[i];
    if (write.in_doubt || write.content.size_bytes == 0) continue;
    inputs.push_back({TransferKind::kHostWrite, i, names.make(write.allocation, write.offset_bytes),
                      write.content.size_bytes, write.allocation, write.offset_bytes});
  }
  return inputs;
}

std::vector<Transfer> find_outputs(const Program& program) {
  std::vector<Transfer> outputs;
  Names names(program);
  add_copies(program, names, &format::Copy::destination, &format::Copy::source, outputs);
  return outputs;
}

}  // namespace gfxgraph::replayer
