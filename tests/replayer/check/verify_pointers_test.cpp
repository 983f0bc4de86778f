// Which words of the memory that a run leaves are pointers, and compared by what they lead to.
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <utility>

#include "check/verify_fixture.h"
#include "replayer/check/stale_words.h"

namespace gfxgraph::replayer::testing {
namespace {

class VerifyPointers : public VerifyTest {};

TEST_F(VerifyPointers, RecordedAddressLeftInMemoryIsADifference) {
  const auto a = trace.allocate(64);
  const auto table = trace.allocate(64);
  std::vector<uint8_t> bytes(64);
  put_word(bytes, 16, trace.address(a) + 8);
  trace.copy_to_device(table, bytes);
  const uint64_t stale = trace.address(a) + 8;
  load();
  EXPECT_TRUE(verified().identical_throughout());
  ASSERT_TRUE(replay->instance().memory().write(table, 16, std::as_bytes(std::span(&stale, 1))));
  EXPECT_EQ(verified().different, 1u);
}

TEST_F(VerifyPointers, AmbiguousWordMayKeepItsValue) {
  const auto a = trace.allocate(64);
  const auto out = trace.allocate(8);
  // The kernel writes a number that is no argument's pointer but looks like one in the end state.
  const uint64_t number = trace.address(a) + 4;
  fake.kernels["constant"] = [number](const FakeLaunch& l) { *l.argument<uint64_t*>(0) = number; };
  trace.launch("constant", Arguments().value(trace.address(out)));
  trace.mark_ambiguous = true;
  load();
  const VerifyReport report = verified();
  EXPECT_TRUE(report.identical_throughout());
  EXPECT_EQ(report.ambiguous_words_unmoved, 1u);
}

// Bytes that equal addresses in code which is loaded later.
class StaleWordsTest : public VerifyPointers {
 protected:
  static constexpr uint64_t kCode = 0x7e1200340000;
  StaleWordsTest() { fake.globals["table"] = std::vector<uint8_t>(64); }
  static std::vector<uint8_t> words() {
    std::vector<uint8_t> bytes(64);
    put_word(bytes, 16, kCode + 8);
    put_word(bytes, 24, kCode + 0x1000);
    return bytes;
  }
  // The recorder takes both for pointers as soon as there is code at these addresses.
  static void mark(format::Content& content, format::AllocationId code) {
    content.relocations = {{16, code, 8, format::RelocationSource::kMatched},
                           {24, code, 0x1000, format::RelocationSource::kMatched, false, true}};
  }
  format::AllocationId load_code() {
    trace.edit_begin = [](format::AllocationBegin& begin) { begin.recorded_address = kCode; };
    const auto code = trace.allocate(64, {}, format::AllocationKind::kModuleGlobal, "table");
    trace.edit_begin = {};
    return code;
  }
  void end(format::AllocationId id, format::AllocationId code) {
    trace.edit_post = [code](format::Content& post) { mark(post, code); };
    trace.free(id);
    trace.edit_post = {};
  }
};

TEST_F(StaleWordsTest, AreNumbersIfTheyWereWrittenBeforeTheCodeWasThere) {
  const auto first = trace.allocate(64, words());
  const auto second = trace.allocate(64);
  const auto pinned = trace.allocate(64, {}, format::AllocationKind::kHostPinned);
  trace.copy_to_device(second, words());
  trace.host_write(pinned, 0, words());
  const auto code = load_code();
  trace.edit_result = [code](format::Content& received) { mark(received, code); };
  trace.copy_to_host(second);
  for (const auto id : {first, second, pinned}) end(id, code);
  const auto program = trace.program();
  for (const Mode mode : {Mode::kEager, Mode::kBatch, Mode::kGraph}) {
    LoadOptions options = shifted();
    options.mode = mode;
    load(program, options);
    const VerifyReport report = verified();
    EXPECT_TRUE(report.identical_throughout());
    EXPECT_EQ(report.ambiguous_words_unmoved, 8u);
  }
  // Their address here would be right, too: a kernel may have written it. Nothing else is.
  Memory& memory = replay->instance().memory();
  const auto here = reinterpret_cast<uint64_t>(memory.device_pointer(code)) + 8;
  ASSERT_TRUE(memory.write(first, 16, std::as_bytes(std::span(&here, 1))));
  EXPECT_TRUE(verified().identical_throughout());
  const uint64_t wrong = kCode + 16;
  ASSERT_TRUE(memory.write(first, 16, std::as_bytes(std::span(&wrong, 1))));
  EXPECT_EQ(verified().different, 1u);
}

TEST_F(StaleWordsTest, WordsThatCameWhenTheCodeWasThereArePointers) {
  const auto first = trace.allocate(64, words());
  const auto second = trace.allocate(64, words());
  const auto third = trace.allocate(64, words());
  const auto code = load_code();
  trace.copy_to_device(first, words());
  const auto late = trace.allocate(64, words());
  trace.memset({second, 0, 0, 0, 1, 0, 64});
  trace.copy_to_device(second, words());
  trace.copy(trace.make_copy(third, first, 64));
  for (const auto id : {first, second, third, late}) end(id, code);
  load();
  EXPECT_EQ(verified().different, 4u);
}

TEST_F(StaleWordsTest, HandlesAreUnknownBeforeTheyAreMadeToo) {
  constexpr uint64_t kHandle = 0x5645a0001230;
  trace.edit_post = [&](format::Content& post) {
    if (post.size_bytes != format::kTextureBytes) return;
    post = {};
    post.stored = false;
  };
  const auto memory = trace.allocate(64);
  std::vector<uint8_t> bytes(64);
  put_word(bytes, 16, kHandle);
  trace.copy_to_device(memory, bytes);
  const auto target = trace.allocate(64, bytes);
  trace.edit_begin = [&](format::AllocationBegin& begin) {
    begin.kind = format::AllocationKind::kTexture;
    begin.recorded_address = kHandle;
    auto object = std::make_shared<format::ImageObject>();
    object->resource = format::ImageResource::kLinear;
    object->allocation = target;
    object->format.bits = {8, 0, 0, 0};
    object->size_bytes = 64;
    begin.object = std::move(object);
    begin.initial = {};
  };
  const auto handle = trace.allocate(format::kTextureBytes);
  trace.edit_begin = {};
  const auto late = trace.allocate(64, bytes);
  const auto program = trace.program();
  for (const auto& [id, doubted] : {std::pair(memory, true), {target, true}, {late, false}}) {
    const auto words = doubt_stale_words(*program, id, UINT64_MAX,
                                         {{16, handle, 0, format::RelocationSource::kMatched}},
                                         [](uint64_t offset) { return std::optional(offset); });
    ASSERT_TRUE(words);
    EXPECT_EQ(words->at(0).ambiguous, doubted) << id;
  }
}

// A kernel writes beside the pointers that a heap left in memory, and over a half of one.
TEST_F(VerifyPointers, BytesThatAreLeftOfAPointerAreThoseOfTheReplay) {
  const auto a = trace.allocate(64);
  std::vector<uint8_t> bytes(64);
  const uint64_t recorded = trace.address(a) + 8;
  put_word(bytes, 16, recorded);
  put_word(bytes, 40, trace.address(a) + 16);
  const auto first = trace.allocate(64, bytes);
  const auto second = trace.allocate(64);
  trace.copy_to_device(second, bytes);
  for (const auto id : {first, second})
    trace.launch("fill", Arguments().value(trace.address(id) + 20).value(7u).value(2u));
  load();
  Memory& memory = replay->instance().memory();
  uint32_t left = 0;
  ASSERT_TRUE(memory.read(first, 16, std::as_writable_bytes(std::span(&left, 1))));
  ASSERT_NE(left, static_cast<uint32_t>(recorded)) << "the test shows nothing";
  EXPECT_TRUE(verified().identical_throughout());
  // Anything else there is a difference, and so is a half that should have been overwritten.
  for (const uint64_t offset : {17, 22}) {
    uint8_t wrong = 0;  // another one than is there, which may be any
    ASSERT_TRUE(memory.read(first, offset, std::as_writable_bytes(std::span(&wrong, 1))));
    wrong = static_cast<uint8_t>(~wrong);
    ASSERT_TRUE(memory.write(first, offset, std::as_bytes(std::span(&wrong, 1))));
    const VerifyReport report = verified();
    EXPECT_EQ(report.different, 1u);
    EXPECT_EQ(report.buffers[first - 1].differing_bytes, offset == 17 ? 1u : 2u);
  }
}

// Copies take them along: to the host, to other memory, and in rows that cut words.
TEST_F(VerifyPointers, CopiesTakeAlongWhatIsLeftOfPointers) {
  const auto a = trace.allocate(64);
  std::vector<uint8_t> bytes(64);
  put_word(bytes, 16, trace.address(a) + 8);
  put_word(bytes, 40, trace.address(a) + 16);
  const auto first = trace.allocate(64, bytes);
  const auto second = trace.allocate(128);
  const auto third = trace.allocate(128);
  trace.launch("fill", Arguments().value(trace.address(first) + 20).value(7u).value(2u));
  trace.copy_to_host(first);
  format::Copy rows = trace.make_copy(second, first, 24);
  rows.height = 2;
  rows.source.offset_bytes = 12;
  rows.source.pitch_bytes = 28;  // the second one begins with a pointer
  rows.destination.offset_bytes = 4;
  rows.destination.pitch_bytes = 60;
  trace.copy(rows);
  trace.launch("fill", Arguments().value(trace.address(second) + 68).value(7u).value(1u));
  trace.copy_to_host(second);
  trace.copy(trace.make_copy(third, second, 128));
  const auto program = trace.program();
  for (const Mode mode : {Mode::kEager, Mode::kBatch, Mode::kGraph}) {
    LoadOptions options = shifted();
    options.mode = mode;
    load(program, options);
    EXPECT_TRUE(verified().identical_throughout()) << mode_name(mode);
  }
  // Anything else there is a difference.
  const std::span<const HostResult> received = replay->instance().host_results();
  ASSERT_EQ(received.size(), 2u);
  received[0].bytes[17] ^= 1;
  received[1].bytes[9] ^= 1;
  EXPECT_EQ(verified().copies_different, 2u);
}

// A scalar that looks like an address: relocating it changes what the kernel computes.
TEST_F(VerifyPointers, AmbiguousArgumentsCanBeKept) {
  const auto a = trace.allocate(64);
  const auto out = trace.allocate(8);
  trace.edit_launch = [](format::Launch& launch) { launch.relocations[1].ambiguous = true; };
  fake.kernels["mix"] = [](const FakeLaunch& l) {
    *l.argument<uint64_t*>(0) = l.argument<uint64_t>(8) * 3;
  };
  trace.launch("mix", Arguments().value(trace.address(out)).value(trace.address(a) + 4));
  const auto program = trace.program();
  for (const bool keep : {false, true}) {
    LoadOptions options;
    options.mode = Mode::kGraph;
    options.layout = Layout::kShift;
    options.keep_ambiguous = keep;
    auto loaded = Step::load(program, fake.library(), options);
    ASSERT_TRUE(loaded);
    replay = std::move(*loaded);
    ASSERT_TRUE(replay->run());
    EXPECT_EQ(verified().identical_throughout(), keep);
  }
}

// `from - 512 words`, indexed by 512: made from one of the buffers around it.
TEST_F(VerifyPointers, PointersOutsideOfTheirBuffersMoveWithAllAroundThem) {
  constexpr int64_t kBytes = 2048;
  const auto before = trace.allocate(64);
  const auto from = trace.allocate_words({1, 2, 3, 4});
  const auto behind = trace.allocate(64);
  const auto out = trace.allocate(16);
  fake.kernels["biased"] = [](const FakeLaunch& l) {
    for (int i = 0; i < 4; ++i)
      l.argument<uint32_t*>(0)[i] = l.argument<uint32_t*>(8)[i + kBytes / 4] + 1;
  };
  trace.edit_launch = [&](format::Launch& launch) {
    launch.relocations.resize(1);  // heap memory of the test may lie at the word by chance
    launch.relocations.push_back({8, from, -kBytes, format::RelocationSource::kTyped, false, true});
  };
  trace.launch("biased", Arguments().value(trace.address(out)).value(trace.address(from) - kBytes));
  const int64_t below = static_cast<int64_t>(trace.address(from) - trace.address(before));
  const int64_t above = static_cast<int64_t>(trace.address(behind) - trace.address(from));
  load();
  EXPECT_TRUE(verified().identical_throughout());
  const Memory& memory = replay->instance().memory();
  if (std::abs(below) < 32768) {
    EXPECT_EQ(memory.device_pointer(from) - memory.device_pointer(before), below);
  }
  if (std::abs(above) < 32768) {
    EXPECT_EQ(memory.device_pointer(behind) - memory.device_pointer(from), above);
  }
}

// A packed struct: a copy in memory puts a pointer where no recorder looks for one.
TEST_F(VerifyPointers, PointersInNoAlignedPlaceAreAddresses) {
  const auto a = trace.allocate(64);
  const auto table = trace.allocate(64);
  const auto packed = trace.allocate(64);
  std::vector<uint8_t> bytes(64);
  put_word(bytes, 16, trace.address(a) + 8);
  put_word(bytes, 24, trace.address(a) + 16);
  trace.copy_to_device(table, bytes);
  fake.kernels["pack"] = [](const FakeLaunch& l) {
    std::memcpy(l.argument<uint8_t*>(0) + 3, l.argument<const uint8_t*>(8) + 16, 16);
  };
  trace.launch("pack", Arguments().value(trace.address(packed)).value(trace.address(table)));
  load();
  EXPECT_TRUE(verified().identical_throughout());
  // Another byte than that of the pointer, whatever address the buffer got.
  const auto pointer =
      reinterpret_cast<uint64_t>(replay->instance().memory().device_pointer(a) + 8);
  const auto other = static_cast<uint8_t>(~(pointer >> 16));
  ASSERT_TRUE(replay->instance().memory().write(packed, 5, std::as_bytes(std::span(&other, 1))));
  EXPECT_EQ(verified().different, 1u);
}

// A kernel stores what it was given: the address of freed memory, which the recorder took for one
// beside live memory (Relocation::outside).
TEST_F(VerifyPointers, AddressesOfFreedMemoryAreAddresses) {
  for (const bool live : {false, true}) {
    FakeHip device;
    TestTrace recorded(device);
    const auto from = recorded.allocate(64);
    const auto out = recorded.allocate(8);
    const uint64_t beside = recorded.address(from) + 4096;
    recorded.edit_begin = [&](format::AllocationBegin& begin) { begin.recorded_address = beside; };
    const auto dead = recorded.allocate(64);
    recorded.edit_begin = nullptr;
    if (!live) recorded.free(dead);
    device.kernels["store"] = [](const FakeLaunch& l) {
      *l.argument<uint64_t*>(0) = l.argument<uint64_t>(8);
    };
    recorded.edit_launch = [&](format::Launch& launch) {
      launch.relocations.resize(1);
      if (live) return;
      launch.relocations.push_back(
          {8, from, 4096 + 16, format::RelocationSource::kTyped, false, true});
    };
    recorded.launch("store", Arguments().value(recorded.address(out)).value(beside + 16));
    recorded.edit_post = [&](format::Content& content) {
      if (content.size_bytes == 8)
        content.relocations = {{0, dead, 16, format::RelocationSource::kMatched, true}};
    };
    LoadOptions options;
    options.mode = Mode::kBatch;
    options.layout = Layout::kShift;
    auto loaded = Step::load(recorded.program(), device.library(), options);
    ASSERT_TRUE(loaded) << loaded.error().message;
    ASSERT_TRUE((*loaded)->run());
    const Memory& memory = (*loaded)->instance().memory();
    if (live) {
      const uint64_t wrong = reinterpret_cast<uint64_t>(memory.device_pointer(from)) + 4096 + 16;
      ASSERT_TRUE(memory.write(out, 0, std::as_bytes(std::span(&wrong, 1))));
    }
    const auto report = StepCheck(**loaded).verify();
    ASSERT_TRUE(report);
    EXPECT_EQ(report->identical_throughout(), !live);
  }
}

// The address of freed memory, given out again: the end state knows the word by the new allocation,
// the copy knew it by the old one.
TEST_F(VerifyPointers, RecycledAddressesAreTheSamePlace) {
  for (const bool only_hash : {false, true}) {
    FakeHip device;
    TestTrace recorded(device);
    const auto table = recorded.allocate(64);
    const auto first = recorded.allocate(64);
    std::vector<uint8_t> bytes(64);
    const uint64_t shared = recorded.address(first);
    put_word(bytes, 16, shared + 8);
    recorded.copy_to_device(table, bytes);
    recorded.free(first);
    recorded.edit_begin = [&](format::AllocationBegin& begin) { begin.recorded_address = shared; };
    const auto second = recorded.allocate(64);
    bool done = false;
    recorded.edit_post = [&](format::Content& content) {
      if (!std::exchange(done, true))
        content.relocations = {{16, second, 8, format::RelocationSource::kMatched}};
    };
    recorded.hash_only = only_hash;
    const auto program = recorded.program();
    LoadOptions options;
    options.mode = Mode::kBatch;
    options.layout = Layout::kShift;
    auto loaded = Step::load(program, device.library(), options);
    ASSERT_TRUE(loaded) << loaded.error().message;
    ASSERT_TRUE((*loaded)->run());
    const auto report = StepCheck(**loaded).verify();
    ASSERT_TRUE(report);
    EXPECT_TRUE(report->identical_throughout()) << only_hash;
  }
}

TEST_F(VerifyPointers, HashOnlyStatesAreComparedThroughRelocation) {
  const auto a = trace.allocate(64);
  const auto table = trace.allocate(64);
  std::vector<uint8_t> bytes(64);
  put_word(bytes, 16, trace.address(a) + 8);
  trace.copy_to_device(table, bytes);
  trace.hash_only = true;
  load();
  EXPECT_EQ(verified().identical, 2u);
  const uint64_t other = 5;
  ASSERT_TRUE(replay->instance().memory().write(table, 16, std::as_bytes(std::span(&other, 1))));
  const VerifyReport report = verified();
  EXPECT_EQ(report.different, 1u);
  EXPECT_TRUE(report.buffers[table - 1].by_hash);
}

}  // namespace
}  // namespace gfxgraph::replayer::testing
