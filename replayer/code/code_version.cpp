#include "replayer/code/code_version.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "base/hip_quirks.h"

namespace gfxgraph::replayer {
namespace {

// ELFABIVERSION_AMDGPU_HSA_V6; V5 is 3, earlier versions count down.
constexpr unsigned kAbiVersion6 = 4;
constexpr size_t kMaxNameBytes = 80;

// "clang version 21.1.0 ..." from the section .comment, or nothing. Used only in messages.
std::string compiler(std::span<const std::byte> elf) {
  const std::string_view text(reinterpret_cast<const char*>(elf.data()), elf.size());
  const size_t at = text.find("clang version ");
  if (at == std::string_view::npos) return {};
  std::string name;
  for (const char c : text.substr(at, kMaxNameBytes)) {
    if (c < ' ' || c > '~') break;
    name += c;
  }
  return ", made by " + name;
}

}  // namespace

Result<void> check_code_version(std::span<const std::byte> elf, int runtime_version) {
  const auto abi = static_cast<unsigned>(elf[EI_ABIVERSION]);
  if (abi < kAbiVersion6 || !hip_quirk_avoided(HipQuirk::kCodeObjectV6Refused, runtime_version))
    return {};
  return fail(Status::kUnsupported,
              fmt::format("it has code object version {} (ABI version {}{}), HIP {}.{}.{} takes at "
                          "most 5; use HIP 6 or later, or record a program that was compiled "
                          "with -mcode-object-version=5",
                          abi + 2, abi, compiler(elf), runtime_version / 10000000,
                          runtime_version / 100000 % 100, runtime_version % 100000));
}

}  // namespace gfxgraph::replayer
