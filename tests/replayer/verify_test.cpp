#include "replayer/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <utility>

#include "replayer/stale_words.h"
#include "replayer/step.h"
#include "scenario.h"

namespace gfxgraph::replayer::testing {
namespace {

class VerifyTest : public ::testing::Test {
 protected:
  VerifyTest() : trace(fake) { add_test_kernels(fake); }
  static LoadOptions shifted() {
    LoadOptions options;
    options.mode = Mode::kBatch;
    options.layout = Layout::kShift;
    return options;
  }
  void load() { load(trace.program(), shifted()); }
  void load(std::shared_ptr<const Program> program, const LoadOptions& options) {
    auto loaded = Step::load(std::move(program), fake.library(), options);
    ASSERT_TRUE(loaded) << loaded.error().message;
    replay = std::move(*loaded);
    ASSERT_TRUE(replay->run());
  }
  VerifyReport verified() {
    auto report = replay->verify();
    EXPECT_TRUE(report) << (report ? "" : report.error().message);
    return report ? std::move(*report) : VerifyReport{};
  }
  FakeHip fake;
  TestTrace trace;
  std::unique_ptr<Step> replay;
};

TEST_F(VerifyTest, NamesTheFirstDifferingByte) {
  const auto a = trace.allocate(64);
  const auto b = trace.allocate(64);
  trace.launch("fill", Arguments().value(trace.address(a)).value(7u).value(16u));
  load();
  const uint8_t wrong = 0xEE;
  for (const uint64_t offset : {40, 20}) {
    ASSERT_TRUE(replay->instance().memory().write(a, offset, std::as_bytes(std::span(&wrong, 1))));
  }
  const VerifyReport report = verified();
  EXPECT_FALSE(report.identical_throughout());
  EXPECT_EQ(report.different, 1u);
  EXPECT_EQ(report.identical, 1u);
  EXPECT_EQ(report.buffers[a - 1].first_difference, 20u);
  EXPECT_EQ(report.buffers[a - 1].differing_bytes, 2u);
  EXPECT_EQ(report.buffers[a - 1].expected, 7);
  EXPECT_EQ(report.buffers[a - 1].got, 0xEE);
  EXPECT_EQ(report.buffers[b - 1].comparison, Comparison::kIdentical);
}

// Nobody saw whether the program or a kernel wrote these: the replay's kernels tell.
TEST_F(VerifyTest, HostWritesInDoubtAreThoseThatNoKernelMakes) {
  const auto pinned = trace.allocate(64, {}, format::AllocationKind::kHostPinned);
  const auto out = trace.allocate(64);
  trace.launch("fill", Arguments().value(trace.address(pinned)).value(0x07070707u).value(8u));
  trace.host_write(pinned, 4, {7, 7, 7, 7}, true);
  trace.host_write(pinned, 40, {9}, true);
  trace.host_write(pinned, 41, {9});
  trace.copy(trace.make_copy(out, pinned, 64));
  const auto program = trace.program();
  for (const Mode mode : {Mode::kEager, Mode::kBatch, Mode::kGraph}) {
    LoadOptions options = shifted();
    options.mode = mode;
    load(program, options);
    for (int run = 0; run < 2; ++run) {
      ASSERT_TRUE(replay->restore());
      ASSERT_TRUE(replay->run());
      const VerifyReport report = verified();
      EXPECT_TRUE(report.identical_throughout());
      EXPECT_EQ(report.doubtful.made, 1u);
      EXPECT_EQ(report.doubtful.given, 1u);
      EXPECT_EQ(report.doubtful.first_given, 1u);
    }
  }
}

// A run as recorded has shown that they are its kernel's: with another argument it makes other
// bytes.
TEST_F(VerifyTest, HostWritesThatAKernelMadeDoNotUndoWhatItMakesNext) {
  const auto pinned = trace.allocate(64, {}, format::AllocationKind::kHostPinned);
  trace.launch("fill", Arguments().value(trace.address(pinned)).value(0x07070707u).value(8u));
  trace.host_write(pinned, 4, {7, 7, 7, 7}, true);
  trace.host_write(pinned, 40, {9}, true);
  const auto program = trace.program();
  for (const Mode mode : {Mode::kEager, Mode::kBatch, Mode::kGraph}) {
    LoadOptions options = shifted();
    options.mode = mode;
    load(program, options);
    ASSERT_TRUE(replay->run());
    for (const uint32_t value : {5u, 6u}) {
      if (value == 6) {
        ASSERT_TRUE(replay->restore());
      }
      ASSERT_TRUE(replay->set_kernarg(0, 8, std::as_bytes(std::span(&value, 1))));
      ASSERT_TRUE(replay->run());
      ASSERT_TRUE(replay->wait());
      std::vector<std::byte> bytes(64);
      ASSERT_TRUE(replay->instance().memory().read(pinned, 0, bytes));
      EXPECT_EQ(std::to_integer<uint32_t>(bytes[4]), value) << mode_name(mode);
      EXPECT_EQ(std::to_integer<int>(bytes[40]), 9) << mode_name(mode);
    }
  }
}

// What the runtime does with a large graph is wrong: it is seen, and smaller graphs are right.
TEST_F(VerifyTest, LargeGraphsThatReadStalePointersDifferAndCanBeSplit) {
  const auto a = trace.allocate(64);
  for (const uint32_t value : {1u, 2u, 3u, 4u}) {
    trace.launch("fill", Arguments().value(trace.address(a)).value(value).value(16u));
  }
  const auto program = trace.program();
  fake.stale_graph_nodes = 4;
  LoadOptions options = shifted();
  options.mode = Mode::kGraph;
  load(program, options);
  EXPECT_EQ(verified().different, 1u);
  options.graph_max_nodes = 2;
  load(program, options);
  EXPECT_TRUE(verified().identical_throughout());
}

TEST_F(VerifyTest, RecordedAddressLeftInMemoryIsADifference) {
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

TEST_F(VerifyTest, AmbiguousWordMayKeepItsValue) {
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
class StaleWordsTest : public VerifyTest {
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
TEST_F(VerifyTest, BytesThatAreLeftOfAPointerAreThoseOfTheReplay) {
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
    const uint8_t wrong = 0xEE;
    ASSERT_TRUE(memory.write(first, offset, std::as_bytes(std::span(&wrong, 1))));
    const VerifyReport report = verified();
    EXPECT_EQ(report.different, 1u);
    EXPECT_EQ(report.buffers[first - 1].differing_bytes, offset == 17 ? 1u : 2u);
  }
}

// Contents are compared piece by piece: a word has its first bytes in one piece and the others in
// the next, and so has a difference.
TEST(VerifyPieces, WordsAndDifferencesAtTheirEdges) {
  constexpr uint64_t kBytes = 3 * kTestChunkBytes;
  for (const bool by_hash : {false, true}) {
    for (uint64_t place = kTestChunkBytes - 17; place <= kTestChunkBytes + 9; ++place) {
      if (by_hash && place % 8 != 0) continue;  // no other words are named by the trace
      FakeHip fake;
      add_test_kernels(fake);
      TestTrace trace(fake);
      trace.hash_only = by_hash;
      const auto a = trace.allocate(64);
      const auto table = trace.allocate(kBytes, std::vector<uint8_t>(kBytes, 3));
      fake.kernels["store"] = [=](const FakeLaunch& l) {
        const auto word = l.argument<uint64_t>(8);
        std::memcpy(l.argument<uint8_t*>(0) + place, &word, sizeof(word));
      };
      trace.launch("store", Arguments().value(trace.address(table)).value(trace.address(a) + 8));
      LoadOptions options;
      options.mode = Mode::kBatch;
      options.layout = Layout::kShift;
      auto step = Step::load(trace.program(), fake.library(), options);
      ASSERT_TRUE(step) << step.error().message;
      ASSERT_TRUE((*step)->run());
      auto report = (*step)->verify();
      ASSERT_TRUE(report) << report.error().message;
      EXPECT_TRUE(report->identical_throughout()) << place;
      const uint8_t wrong = 0xEE;
      for (const uint64_t offset : {place + 8, place - 1, kBytes - 1}) {
        ASSERT_TRUE(
            (*step)->instance().memory().write(table, offset, std::as_bytes(std::span(&wrong, 1))));
        report = (*step)->verify();
        ASSERT_TRUE(report) << report.error().message;
        EXPECT_EQ(report->different, 1u);
        if (by_hash) continue;
        const BufferResult& result = report->buffers[table - 1];
        EXPECT_EQ(result.first_difference, offset == place + 8 ? offset : place - 1);
        EXPECT_EQ(result.differing_bytes, offset == place + 8 ? 1u : offset < place ? 2u : 3u);
        EXPECT_EQ(result.expected, 3);
        EXPECT_EQ(result.got, wrong);
      }
    }
  }
}

// A scalar that looks like an address: relocating it changes what the kernel computes.
TEST_F(VerifyTest, AmbiguousArgumentsCanBeKept) {
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
TEST_F(VerifyTest, PointersOutsideOfTheirBuffersMoveWithAllAroundThem) {
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
TEST_F(VerifyTest, PointersInNoAlignedPlaceAreAddresses) {
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
TEST_F(VerifyTest, AddressesOfFreedMemoryAreAddresses) {
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
    const auto report = (*loaded)->verify();
    ASSERT_TRUE(report);
    EXPECT_EQ(report->identical_throughout(), !live);
  }
}

// The address of freed memory, given out again: the end state knows the word by the new allocation,
// the copy knew it by the old one.
TEST_F(VerifyTest, RecycledAddressesAreTheSamePlace) {
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
    const auto report = (*loaded)->verify();
    ASSERT_TRUE(report);
    EXPECT_TRUE(report->identical_throughout()) << only_hash;
  }
}

TEST_F(VerifyTest, HashOnlyStatesAreComparedThroughRelocation) {
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

TEST_F(VerifyTest, UnknownStateIsNotASuccess) {
  trace.allocate(64);
  trace.edit_post = [](format::Content& post) {
    post = format::Content{};
    post.size_bytes = 64;
    post.stored = false;
  };
  load();
  const VerifyReport report = verified();
  EXPECT_EQ(report.uncompared, 1u);
  EXPECT_FALSE(report.identical_throughout());
  EXPECT_FALSE(report.buffers[0].reason.empty());
}

TEST_F(VerifyTest, MemoryThatGraphsFreedIsInNoCount) {
  const auto kept = trace.allocate(64);
  trace.gone.insert(trace.allocate(64));
  load();
  const VerifyReport report = verified();
  EXPECT_EQ(report.gone, 1u);
  EXPECT_EQ(report.not_compared(), 0u);
  EXPECT_TRUE(report.identical_throughout());
  ASSERT_EQ(report.buffers.size(), 1u);
  EXPECT_EQ(report.buffers[0].allocation, kept);
}

TEST_F(VerifyTest, NothingButMemoryThatGraphsFreedIsNotASuccess) {
  trace.gone.insert(trace.allocate(64));
  load();
  EXPECT_FALSE(verified().identical_throughout());
}

// gfxgraph-record --contents none: zeros, but for the words that lead to other memory.
TEST_F(VerifyTest, UnknownContentsAreRefusedOrBeginWithZeros) {
  const auto target = trace.allocate(64, std::vector<uint8_t>(64, 3));
  std::vector<uint8_t> bytes(70000, 9);
  const uint64_t word = trace.address(target) + 8;
  for (const size_t offset : {16, 24, 69992}) std::memcpy(&bytes[offset], &word, sizeof(word));
  trace.edit_begin = [](format::AllocationBegin& begin) {
    begin.initial.stored = false;
    begin.initial.blob = {};
  };
  trace.edit_post = [](format::Content& post) {
    const uint64_t size = post.size_bytes;
    post = format::Content{};
    post.size_bytes = size;
    post.stored = false;
  };
  const auto table = trace.allocate(bytes.size(), bytes);
  LoadOptions options = shifted();
  const std::shared_ptr<const Program> program = trace.program();
  const auto refused = Step::load(program, fake.library(), options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, Status::kIncomplete);
  EXPECT_THAT(refused.error().message, ::testing::HasSubstr("allocation 2 is not in the trace"));
  options.zero_unknown = true;
  load(program, options);
  const Memory& memory = replay->instance().memory();
  std::vector<uint8_t> got(bytes.size());
  ASSERT_TRUE(memory.read(table, 0, std::as_writable_bytes(std::span(got))));
  const uint64_t moved = reinterpret_cast<uint64_t>(memory.device_pointer(target)) + 8;
  ASSERT_NE(moved, word);
  std::vector<uint8_t> expected(bytes.size());
  for (const size_t offset : {16, 24, 69992}) std::memcpy(&expected[offset], &moved, sizeof(moved));
  EXPECT_EQ(got, expected);
  const VerifyReport report = verified();
  EXPECT_EQ(report.identical + report.different, 0u);
  EXPECT_FALSE(report.identical_throughout());
}

TEST_F(VerifyTest, ReceivedCopiesAreCompared) {
  const auto a = trace.allocate_words({1, 2, 3, 4});
  trace.copy_to_host(a);
  load();
  EXPECT_EQ(verified().copies_identical, 1u);
  // The copy ran while the buffer held something else.
  const uint32_t other = 9;
  ASSERT_TRUE(replay->restore());
  ASSERT_TRUE(replay->instance().memory().write(a, 4, std::as_bytes(std::span(&other, 1))));
  ASSERT_TRUE(replay->run());
  const VerifyReport report = verified();
  EXPECT_EQ(report.copies_different, 1u);
  EXPECT_EQ(report.copies[0].first_difference, 4u);
}

}  // namespace
}  // namespace gfxgraph::replayer::testing
