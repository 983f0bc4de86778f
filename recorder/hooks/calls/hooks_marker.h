// roctx functions that programs look up at run time.
#pragma once

namespace gfxgraph::recorder {

bool may_be_roctx(const char* name) noexcept;

// This library's hook of the function that dlsym found for `name`; `found` itself if there is none.
void* hook_roctx(const char* name, void* found) noexcept;

}  // namespace gfxgraph::recorder
