#include "check/launch/host_services.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>

#include "check/lanes/lane_observer.h"
#include "check/launch/kernel_fault.h"
#include "codeobj/dwarf/function_at.h"
#include "emulator/analysis/control_flow.h"
#include "emulator/decode/inst.h"
#include "emulator/engine/context.h"
#include "emulator/engine/observer.h"
#include "emulator/engine/wave.h"

namespace gfxgraph::check {
namespace {

using emulator::HostPackets;
using emulator::Wave;

// Waves that find no free packet wait for one.
constexpr uint64_t kPackets = 1024;
// After the packets: the signal that device code rings, and its mailbox.
constexpr uint64_t kSignalBytes = 4096;
constexpr uint64_t kMailboxOffset = 256;
constexpr uint64_t kHeapHeaderBytes = 256 << 10;
constexpr uint64_t kPrintfBytes = 1 << 20;
// HIP's device library finds a small block's slab by its address.
constexpr uint64_t kSlabBytes = 2 << 20;
constexpr uint64_t kHeapPageBytes = 4096;
// Limits for texts: of unfinished ones, of one text, of those that are kept.
constexpr size_t kMostMessages = 4096;
constexpr size_t kMostMessageWords = 512;
constexpr size_t kMostTexts = 3;
constexpr uint64_t kCallBytes = 4;  // of s_swappc_b64

uint64_t call_of(const Wave& wave) { return wave.pair(emulator::kReturnAddress) - kCallBytes; }

// AMDGPUUsage, "Non-Kernel Functions": the first argument and the result are in v0 and v1.
uint64_t argument_of(const Wave& half, unsigned lane) {
  return half.vgpr[0].lane[lane] | uint64_t{half.vgpr[1].lane[lane]} << 32;
}

// Each active lane of a wave32, or of both halves of a wave64.
template <typename Visit>
void each_lane(Wave& wave, const Visit& visit) {
  for (Wave* half : {&wave, wave.upper}) {
    if (half == nullptr) continue;
    for (uint32_t rest = half->exec(); rest != 0; rest &= rest - 1)
      visit(*half, static_cast<unsigned>(std::countr_zero(rest)));
  }
}

// Takes a string from the words of a message.
std::string take_string(std::span<const uint64_t>& words) {
  const auto* const text = reinterpret_cast<const char*>(words.data());
  const size_t size = ::strnlen(text, words.size_bytes());
  words = words.subspan(std::min(words.size(), size / sizeof(uint64_t) + 1));
  return std::string(text, size);
}

// For the text of assert: strings and integers.
std::string format_message(std::span<const uint64_t> words) {
  words = words.subspan(std::min<size_t>(words.size(), 1));
  const std::string format = take_string(words);
  std::string text;
  for (size_t at = 0; at < format.size(); ++at) {
    if (format[at] == '\n') continue;
    if (format[at] != '%') {
      text += format[at];
      continue;
    }
    at = format.find_first_not_of("0123456789.+-# lhzjt", at + 1);
    if (at == std::string::npos) break;
    if (format[at] == '%') {
      text += '%';
    } else if (format[at] == 's') {
      text += take_string(words);
    } else if (!words.empty()) {
      const bool is_signed = format[at] == 'd' || format[at] == 'i';
      text += is_signed ? fmt::format("{}", static_cast<int64_t>(words[0]))
                        : fmt::format("{}", words[0]);
      words = words.subspan(1);
    }
  }
  return text;
}

// Whether a function reads the register of its first argument: compilers remove arguments that are
// the same constant in all calls.
bool takes_argument(const emulator::RegionTable& memory, uint64_t pc) {
  constexpr unsigned kMostInstructions = 512;  // functions begin with many saves of registers
  emulator::CodeReader code(memory);
  emulator::Inst inst;
  for (unsigned n = 0; n < kMostInstructions && code.decode_at(pc, inst); ++n) {
    emulator::InstOperands operands;
    emulator::describe_operands(inst, operands);
    const auto is_first = [](const emulator::OperandRef& operand) {
      return operand.code == emulator::operand::kVgpr0 && operand.dwords != 0;
    };
    for (unsigned k = 0; k < operands.source_count; ++k)
      if (is_first(operands.source[k])) return true;
    for (unsigned k = 0; k < operands.dest_count; ++k)
      if (is_first(operands.dest[k])) return false;
    pc = inst.next_pc();
  }
  return false;
}

}  // namespace

bool HostServices::add_code(const LoadedCode& code) {
  if (has_library_heap_) return true;
  const auto& kernels = code.object->kernels();
  const bool calls = std::ranges::any_of(kernels, [](const codeobj::Kernel& kernel) {
    return kernel.find_hidden("hidden_hostcall_buffer") != nullptr ||
           kernel.find_hidden("hidden_heap_v1") != nullptr;
  });
  if (!calls) return true;
  const auto allocate = codeobj::function_address(*code.object, "__ockl_dm_alloc");
  const auto release = codeobj::function_address(*code.object, "__ockl_dm_dealloc");
  const auto table = memory_.map().snapshot();
  const auto can_perform = [&](const std::optional<uint64_t>& function) {
    return !function || takes_argument(*table, code.load_address + *function);
  };
  if (!can_perform(allocate) || !can_perform(release)) {
    // All or none: one takes what another one returns.
    has_library_heap_ = true;
    functions_.clear();
    return false;
  }
  if (allocate) {
    functions_[code.load_address + *allocate] = [this](Wave& wave) { this->allocate(wave); };
  }
  if (release) {
    functions_[code.load_address + *release] = [this](Wave& wave) { this->release(wave); };
  }
  return true;
}

Result<void> HostServices::next_launch(const format::Kernel& kernel, uint32_t kernel_id,
                                       HiddenValues& values) {
  kernel_ = kernel_id;
  refused_.clear();
  messages_.clear();
  error_texts_.clear();
  const auto takes = [&](std::string_view kind) {
    return std::ranges::any_of(kernel.arguments, [&](const format::Argument& argument) {
      return argument.kind == format::ArgumentKind::kHidden && argument.value_kind == kind;
    });
  };
  const bool calls = takes("hidden_hostcall_buffer");
  const bool heap = takes("hidden_heap_v1");
  if ((calls || heap) && !heap_.exists()) GFXGRAPH_TRY(heap_.create(memory_));
  if ((calls || heap) && bytes_ == nullptr) GFXGRAPH_TRY(make_packets());
  if (heap && heap_header_ == 0) {
    GFXGRAPH_ASSIGN_OR_RETURN(heap_header_,
                              memory_.add_own(kHeapHeaderBytes, emulator::RegionKind::kSystem,
                                              "the device library's heap"));
  }
  values.heap_address = heap_header_;
  if (!takes("hidden_printf_buffer")) return {};
  if (printf_buffer_ == 0) {
    GFXGRAPH_ASSIGN_OR_RETURN(
        printf_buffer_,
        memory_.add_own(kPrintfBytes, emulator::RegionKind::kSystem, "the buffer of printf"));
  }
  // The bytes in it, and its size: HIP reads and resets it after each launch.
  const std::array<uint32_t, 2> head = {0, kPrintfBytes - 8};
  std::memcpy(memory_.own_bytes(printf_buffer_).data(), head.data(), sizeof head);
  values.printf_address = printf_buffer_;
  return {};
}

Result<void> HostServices::make_packets() {
  const uint64_t size = HostPackets::size_of(kPackets);
  static_assert(kPackets * (HostPackets::kPayloadBytes + 64) + kSignalBytes < kHostCallBytes);
  GFXGRAPH_TRY(memory_.add_own(size + kSignalBytes, emulator::RegionKind::kSystem,
                               "the buffer of host calls", kHostCallAddress));
  std::byte* const bytes = memory_.own_bytes(kHostCallAddress).data();
  const uint64_t signal = kHostCallAddress + size;
  // amd_signal_t: kind, value, the mailbox's address, the event's number. Device code sends its
  // message if there is a mailbox.
  const std::array<uint64_t, 4> fields = {1, 0, signal + kMailboxOffset, 1};
  std::memcpy(bytes + size, fields.data(), sizeof fields);
  packets_ = HostPackets::create(bytes, kPackets, kHostCallAddress, signal);
  bytes_ = bytes;
  return {};
}

void HostServices::on_message() {
  const std::scoped_lock lock(mutex_);
  if (bytes_ == nullptr) return;
  std::vector<HostPackets::Packet> packets;
  if (!packets_.take(bytes_, packets)) {
    refused_ = "it calls the host with a packet that is not in the buffer of host calls";
    return;
  }
  // In order of creation.
  for (auto packet = packets.rbegin(); packet != packets.rend(); ++packet) serve(*packet);
}

void HostServices::serve(const HostPackets::Packet& packet) {
  const uint32_t service = packet.header.service;
  if (service != HostPackets::kPrintf && service != HostPackets::kDeviceMemory) {
    refused_ = fmt::format(
        "it calls host service {}, which the check cannot provide; after the call the kernel "
        "diverged from the recorded run",
        service);
  }
  std::byte* const payload = packets_.payload(bytes_, packet.number);
  for (uint64_t rest = packet.header.active_lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<uint64_t>(std::countr_zero(rest));
    std::array<uint64_t, 8> words = {};
    std::byte* const at = payload + lane * HostPackets::kLaneBytes;
    std::memcpy(words.data(), at, sizeof words);
    if (service == HostPackets::kDeviceMemory) {  // words: what to free, or 0 and a size
      uint64_t before = 0;
      const uint64_t size = words[1];
      const uint64_t alignment = size >= kSlabBytes / 2 ? kSlabBytes : kHeapPageBytes;
      if (words[0] != 0)
        (void)heap_.release(words[0], 0, before);
      else
        words[0] = heap_.allocate(size, 0, alignment);
    } else {
      words[0] = service == HostPackets::kPrintf ? take_message(words) : 0;
    }
    words[1] = 0;
    std::memcpy(at, words.data(), 2 * sizeof(uint64_t));
  }
  packets_.answer(bytes_, packet);
}

void HostServices::allocate(Wave& wave) {
  const uint64_t pc = call_of(wave);
  each_lane(wave, [&](Wave& half, unsigned lane) {
    const uint64_t address = heap_.allocate(argument_of(half, lane), pc);
    half.vgpr[0].lane[lane] = static_cast<uint32_t>(address);
    half.vgpr[1].lane[lane] = static_cast<uint32_t>(address >> 32);
  });
}

void HostServices::release(Wave& wave) {
  const uint64_t pc = call_of(wave);
  each_lane(wave, [&](Wave& half, unsigned lane) {
    const uint64_t address = argument_of(half, lane);
    uint64_t before = 0;
    if (address == 0) return;
    const DeviceHeap::Freed freed = heap_.release(address, pc, before);
    if (freed == DeviceHeap::Freed::kDone) return;
    bad_free(wave, address, uint64_t{1} << (lane + half.first_lane),
             freed == DeviceHeap::Freed::kTwice, before);
  });
}

void HostServices::bad_free(const Wave& wave, uint64_t address, uint64_t lanes, bool twice,
                            uint64_t before) {
  const emulator::Dispatch& dispatch = *wave.dispatch->dispatch;
  LaneEvent event;
  event.finding_class = FindingClass::kE12;
  event.place.launch = dispatch.dispatch_id;
  event.place.workgroup = wave.group->id;
  event.place.group = linear_group(dispatch, wave.group->id);
  event.place.wave = wave.index;
  event.pc = call_of(wave);
  event.op = emulator::Op::s_swappc_b64;
  event.lanes = lanes;
  event.address = address;
  event.detail = twice ? fmt::format("{:#x} was freed before", address)
                       : fmt::format("{:#x} is not the start of a block of malloc", address);
  event.other_pc = before;
  sites_.add(kernel_, event);
}

// Device code prints by a message of several packets. The first word of a packet is its descriptor:
// flags, the number of words that follow, the number of the message. The words of a message: 1 for
// stderr, the format, the arguments; strings end with 0 and take whole words.
uint64_t HostServices::take_message(const std::array<uint64_t, 8>& payload) {
  constexpr uint64_t kBegin = 1, kEnd = 2;
  const uint64_t words = payload[0] >> 5 & 7;
  uint64_t number = payload[0] >> 8;
  if ((payload[0] & kBegin) != 0) {
    if (words == 0 || (payload[1] & 1) == 0 || messages_.size() >= kMostMessages)
      return 1 << 8;  // its text is not kept
    number = ++last_message_;
    messages_[number];
  }
  const auto message = messages_.find(number);
  if (message == messages_.end()) return number << 8;
  std::vector<uint64_t>& text = message->second;
  if (text.size() < kMostMessageWords)
    text.insert(text.end(), payload.begin() + 1,
                payload.begin() + 1 + static_cast<ptrdiff_t>(words));
  if ((payload[0] & kEnd) != 0) {
    if (error_texts_.size() < kMostTexts) error_texts_.insert(format_message(text));
    messages_.erase(message);
  }
  return number << 8;
}

std::string HostServices::error_text() const {
  std::string text;
  for (const std::string& one : error_texts_) text += (text.empty() ? "" : " or ") + one;
  return text;
}

}  // namespace gfxgraph::check
