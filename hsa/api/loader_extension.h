// The AMD loader extension, version 1.03.
#pragma once

#include <cstddef>
#include <span>

namespace gfxgraph::hsa {

// hsa_ven_amd_loader_1_03_pfn_t, which begins with the older versions of the table. Valid forever.
std::span<const std::byte> loader_extension_table();

}  // namespace gfxgraph::hsa
