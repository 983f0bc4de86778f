#include "tools/doctor/trivial_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include "replayer/code/own_code.h"
#include "replayer/packets/packet_boxes.h"

namespace gfxgraph::tools::doctor {
namespace {

using replayer::Box;

constexpr size_t kWords = 1024;
constexpr size_t kBytes = kWords * sizeof(uint32_t);
constexpr uint32_t kPattern = 0x01234567;
constexpr uint32_t kSpoilt = 0xbadbad;
constexpr uint32_t kStored = 0xc0ffee;
// In words: the copy replaces a part of the fill, the store a word of the copy.
constexpr size_t kCopyFrom = 100, kCopyTo = 300, kCopied = 500, kStoreTo = 555;
static_assert(kStoreTo > kCopyTo && kStoreTo < kCopyTo + kCopied);

// Of gfxgraph_trial (scripts/make-own-code).
struct StoreArguments {
  uint32_t* to;
  uint32_t value;
};
constexpr size_t kStoreBytes = offsetof(StoreArguments, value) + sizeof(uint32_t);

using Numbers = std::array<uint32_t, kWords>;

Numbers input() {
  Numbers words{};
  for (size_t i = 0; i < kWords; ++i) words[i] = 2654435761u * static_cast<uint32_t>(i + 1);
  return words;
}

Numbers expected() {
  Numbers words{};
  words.fill(kPattern);
  std::ranges::copy_n(input().begin() + kCopyFrom, kCopied, words.begin() + kCopyTo);
  words[kStoreTo] = kStored;
  return words;
}

Box row(size_t words) {
  const size_t bytes = words * sizeof(uint32_t);
  return replayer::box_of(bytes, 1, 1, bytes, bytes, bytes);
}

}  // namespace

bool TrivialStep::has_code(const std::string& arch) { return !replayer::own_code(arch).empty(); }

TrivialStep::TrivialStep(std::shared_ptr<const replayer::HipLibrary> library)
    : library_(std::move(library)), hip_(library_->table()) {}

TrivialStep::~TrivialStep() {
  if (stream_ != nullptr) hip_.hipStreamDestroy(stream_);
  if (input_ != nullptr) hip_.hipFree(input_);
  if (result_ != nullptr) hip_.hipFree(result_);
  if (module_ != nullptr) hip_.hipModuleUnload(module_);
}

Result<std::unique_ptr<TrivialStep>> TrivialStep::make(
    std::shared_ptr<const replayer::HipLibrary> library) {
  std::unique_ptr<TrivialStep> step(new TrivialStep(std::move(library)));
  GFXGRAPH_TRY(step->prepare());
  return step;
}

Result<void> TrivialStep::prepare() {
  GFXGRAPH_ASSIGN_OR_RETURN(const replayer::HipDevice device, library_->select_device(0));
  const std::vector<std::byte> code = replayer::own_code(device.arch);
  if (code.empty())
    return fail(Status::kUnsupported, fmt::format("no kernels of gfxgraph for {}", device.arch));
  GFXGRAPH_TRY(check(hip_.hipModuleLoadData(&module_, code.data()), "hipModuleLoadData"));
  for (const auto& [function, name] :
       {std::pair{&fill_, "gfxgraph_fill"}, std::pair{&copy_, "gfxgraph_copy"},
        std::pair{&store_, "gfxgraph_trial"}})
    GFXGRAPH_TRY(check(hip_.hipModuleGetFunction(function, module_, name), "hipModuleGetFunction"));
  for (uint32_t** buffer : {&input_, &result_})
    GFXGRAPH_TRY(check(hip_.hipMalloc(reinterpret_cast<void**>(buffer), kBytes), "hipMalloc"));
  // The null stream waits for no other one, and no other one for it.
  GFXGRAPH_TRY(check(hip_.hipStreamCreateWithFlags(&stream_, hip::kStreamNonBlocking),
                     "hipStreamCreateWithFlags"));
  const Numbers words = input();
  return check(hip_.hipMemcpy(input_, words.data(), kBytes, hip::kHostToDevice), "hipMemcpy");
}

Result<void> TrivialStep::spoil() {
  Numbers words{};
  words.fill(kSpoilt);
  return check(hip_.hipMemcpy(result_, words.data(), kBytes, hip::kHostToDevice), "hipMemcpy");
}

Result<void> TrivialStep::launch(void* function, uint32_t groups, const void* arguments,
                                 size_t bytes) {
  std::array<void*, 5> extra = {hip::kLaunchBufferPointer, const_cast<void*>(arguments),
                                hip::kLaunchBufferSize, &bytes, hip::kLaunchEnd};
  return check(hip_.hipModuleLaunchKernel(function, groups, 1, 1, replayer::kBoxBlock, 1, 1, 0,
                                          stream_, nullptr, extra.data()),
               "hipModuleLaunchKernel");
}

Result<void> TrivialStep::submit() {
  const replayer::FillArguments fill{result_, kPattern, row(kWords)};
  GFXGRAPH_TRY(launch(fill_, fill.box.groups_x, &fill, sizeof(fill)));
  const Box box = row(kCopied);
  const replayer::CopyArguments copy{result_ + kCopyTo, input_ + kCopyFrom, box.pitch, box.slice,
                                     box};
  GFXGRAPH_TRY(launch(copy_, box.groups_x, &copy, sizeof(copy)));
  const StoreArguments store{result_ + kStoreTo, kStored};
  return launch(store_, 1, &store, kStoreBytes);
}

Result<void> TrivialStep::compare() {
  Numbers got{};
  GFXGRAPH_TRY(library_->wait_for(stream_));
  GFXGRAPH_TRY(check(hip_.hipMemcpy(got.data(), result_, kBytes, hip::kDeviceToHost), "hipMemcpy"));
  const Numbers wanted = expected();
  const auto [wrong, right] = std::ranges::mismatch(got, wanted);
  if (wrong == got.end()) return {};
  return fail(Status::kMismatch, fmt::format("word {} of the result is {:#x}, not {:#x}",
                                             std::distance(got.begin(), wrong), *wrong, *right));
}

}  // namespace gfxgraph::tools::doctor
