// Amounts in messages, alike in all programs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gfxgraph {

// "1.5 MiB", "12 bytes".
std::string format_bytes(uint64_t bytes);

// "1 launch", "2 launches", "0 copies": the English plural of a regular noun.
std::string counted(uint64_t count, std::string_view noun);

}  // namespace gfxgraph
