// A hash of a program, for files about it.
#pragma once

#include "format/trace.h"
#include "replayer/program/program.h"

namespace gfxgraph::replayer {

// Of what a program does, with its code, its memory and the words that are taken for pointers; not
// of the contents of memory. Never all zeros.
format::BlobId identity_of(const Program& program);

}  // namespace gfxgraph::replayer
