// Creates a Writer on any OutputFile, for tests that make the N-th operation fail.
#pragma once

#include <memory>

#include "base/result.h"
#include "format/container/container_writer.h"
#include "format/write/writer.h"

namespace gfxgraph::format {

Result<std::unique_ptr<Writer>> create_writer(std::unique_ptr<OutputFile> file,
                                              const WriterOptions& options);

}  // namespace gfxgraph::format
