// A Writer onto any OutputFile: for tests that fail the N-th operation.
#pragma once

#include <memory>

#include "base/result.h"
#include "format/container_writer.h"
#include "format/writer.h"

namespace gfxgraph::format {

Result<std::unique_ptr<Writer>> create_writer(std::unique_ptr<OutputFile> file,
                                              const WriterOptions& options);

}  // namespace gfxgraph::format
