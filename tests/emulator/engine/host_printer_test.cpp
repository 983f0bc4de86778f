// Messages of printf in device code: the text, and those that are refused.
#include "emulator/host/host_printer.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <string_view>
#include <vector>

namespace gfxgraph::emulator {
namespace {

class Words {
 public:
  Words& text(std::string_view bytes) {
    const size_t at = words_.size();
    words_.resize(at + bytes.size() / 8 + 1);
    std::memcpy(&words_[at], bytes.data(), bytes.size());
    return *this;
  }
  Words& raw(std::string_view eight) {
    uint64_t word = 0;
    std::memcpy(&word, eight.data(), 8);
    return number(word);
  }
  Words& number(uint64_t value) {
    words_.push_back(value);
    return *this;
  }
  Words& real(double value) { return number(std::bit_cast<uint64_t>(value)); }
  std::string printed() const {
    const auto result = format_printf(words_);
    return result ? *result : "error: " + result.error().message;
  }

 private:
  std::vector<uint64_t> words_;
};

Words format(std::string_view text) { return Words().text(text); }

TEST(HostPrinterTest, FormatsLikeC) {
  EXPECT_EQ(format("plain 100%%\n").printed(), "plain 100%\n");
  EXPECT_EQ(format("%d|%5d|%-5d|%05d|%+d")
                .number(~0ull)
                .number(7)
                .number(7)
                .number(7)
                .number(7)
                .printed(),
            "-1|    7|7    |00007|+7");
  EXPECT_EQ(
      format("%u %x %#X %o").number(0xffffffffffull).number(255).number(255).number(8).printed(),
      "4294967295 ff 0XFF 10");
  EXPECT_EQ(format("%hhd %hd %hhu %hu")
                .number(0x1ff)
                .number(0x1ffff)
                .number(0x1ff)
                .number(0x1ffff)
                .printed(),
            "-1 -1 255 65535");
  EXPECT_EQ(
      format("%ld %llu %zx %jd").number(~0ull).number(~0ull).number(1ull << 40).number(3).printed(),
      "-1 18446744073709551615 10000000000 3");
  EXPECT_EQ(format("%f %.2f %8.3e %g %lf %a")
                .real(1.5)
                .real(2.345)
                .real(12345.0)
                .real(0.1)
                .real(2)
                .real(1)
                .printed(),
            "1.500000 2.35 1.234e+04 0.1 2.000000 0x1p+0");
  EXPECT_EQ(format("%c%c %p").number('o').number('k').number(0x10).printed(), "ok 0x10");
  EXPECT_EQ(format("%s, %8s|%-4s|%.2s %d")
                .text("eight888")
                .text("right")
                .text("l")
                .text("cut")
                .number(5)
                .printed(),
            "eight888,    right|l   |cu 5");
  EXPECT_EQ(format("%*d|%-*d|%.*f|%*.*s")
                .number(4)
                .number(7)
                .number(4)
                .number(7)
                .number(1)
                .real(2.25)
                .number(3)
                .number(1)
                .text("xyz")
                .printed(),
            "   7|7   |2.2|  x");
  EXPECT_EQ(format("%*d|").number(static_cast<uint32_t>(-4)).number(7).printed(), "7   |");
  EXPECT_EQ(format("a%nb%dc").number(1).number(2).printed(), "ab2c");
}

TEST(HostPrinterTest, EndsBeforeTheFirstConversionWithoutArgument) {
  EXPECT_EQ(format("%d and %d %s").number(1).printed(), "1 and ");
  EXPECT_EQ(format("%s%s").text("x").printed(), "x");
  EXPECT_EQ(format("%*d").number(4).printed(), "");
  EXPECT_EQ(format("%*.*d").number(4).number(4).printed(), "");
  EXPECT_EQ(format("50% off\n").printed(), "50");
  EXPECT_EQ(format("50%").number(1).printed(), "50");
}

TEST(HostPrinterTest, RefusesWhatWouldReadOrPrintTooMuch) {
  const auto expect_error = [](const Words& words, const char* why) {
    EXPECT_EQ(words.printed(), std::string("error: a message of printf in device code: ") + why);
  };
  expect_error(Words(), "a string has no end");
  expect_error(Words().raw("%d%d%d%d"), "a string has no end");
  expect_error(format("%s").raw("abcdefgh"), "a string has no end");
  expect_error(format("%.3s").raw("abcdefgh"), "a string has no end");
  expect_error(format("%400000000d").number(1), "the width or precision 400000000 is too large");
  expect_error(format("%.400000000f").real(1), "the width or precision 400000000 is too large");
  expect_error(format("%99999999999d").number(1), "a width or a precision is too large");
  expect_error(format("%*d").number(400000000).number(1),
               "the width or precision 400000000 is too large");
  expect_error(format("%*d").number(0x80000000u).number(1),
               "the width or precision -2147483648 is too large");
  expect_error(format("%ls").text("abc"), "unknown conversion \"%ls\"");
  expect_error(format("%Lf").real(1), "unknown conversion \"%Lf\"");
  expect_error(format("%1$s").text("abc"), "unknown conversion \"%1$s\"");
  std::string many;
  Words wide;
  for (int i = 0; i < 20; ++i) many += "%60000d";
  wide.text(many);
  for (int i = 0; i < 20; ++i) wide.number(1);
  expect_error(wide, "its text is too long");
}

constexpr uint64_t kBegin = 1, kEnd = 2;
std::array<uint64_t, 8> packet(uint64_t flags, uint64_t number, std::vector<uint64_t> words) {
  std::array<uint64_t, 8> payload{flags | words.size() << 5 | number << 8};
  std::copy(words.begin(), words.end(), payload.begin() + 1);
  return payload;
}
uint64_t word(std::string_view text) {
  uint64_t value = 0;
  std::memcpy(&value, text.data(), text.size());
  return value;
}

TEST(HostPrinterTest, PutsMessagesOfSeveralPacketsTogether) {
  HostPrinter printer;
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const auto one = printer.take(packet(kBegin, 0, {0}));
  const auto two = printer.take(packet(kBegin, 0, {1, word("err\n")}));
  ASSERT_TRUE(one && two);
  EXPECT_NE(*one, *two);
  EXPECT_EQ(printer.take(packet(0, *one >> 8, {word("%d %s\n"), 42})), *one);
  EXPECT_EQ(printer.take(packet(kEnd, *two >> 8, {})), 4u);
  EXPECT_EQ(printer.take(packet(kEnd, *one >> 8, {word("xyz")})), 7u);
  EXPECT_EQ(printer.take(packet(kBegin | kEnd, 0, {2, word("x")})), ~0ull);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "42 xyz\n");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "err\n");
}

TEST(HostPrinterTest, RefusesMessagesWithoutBeginOrEnd) {
  HostPrinter printer;
  EXPECT_FALSE(printer.take(packet(kEnd, 7, {0, word("x")})));
  EXPECT_FALSE(printer.take(packet(kBegin | kEnd, 0, {})));
  const auto long_one = printer.take(packet(kBegin, 0, {0}));
  ASSERT_TRUE(long_one);
  bool taken = true;
  uint64_t bytes = 8;
  while (taken && bytes < 2 * HostPrinter::kMostMessageBytes) {
    taken = printer.take(packet(0, *long_one >> 8, std::vector<uint64_t>(7, 1))).has_value();
    bytes += taken ? 56 : 0;
  }
  EXPECT_FALSE(taken);
  EXPECT_LE(bytes, HostPrinter::kMostMessageBytes);
  uint64_t open = 1;
  while (open <= HostPrinter::kMostOpenMessages && printer.take(packet(kBegin, 0, {0}))) ++open;
  EXPECT_EQ(open, HostPrinter::kMostOpenMessages);
}

}  // namespace
}  // namespace gfxgraph::emulator
