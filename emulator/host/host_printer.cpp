#include "emulator/host/host_printer.h"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace gfxgraph::emulator {
namespace {

// Of the descriptor of a packet: flags, the number of words that follow, the number of the message.
constexpr uint64_t kBeginsMessage = 1;
constexpr uint64_t kEndsMessage = 2;
constexpr unsigned kWordsShift = 5;
constexpr unsigned kNumberShift = 8;
constexpr uint64_t kNumberMask = (uint64_t{1} << (64 - kNumberShift)) - 1;
// The first word of a message.
constexpr uint64_t kToStderr = 1;

constexpr int kMostWidth = 1 << 16;
constexpr std::string_view kFlags = "-+ #0'";
constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kConversions = "diouxXfFeEgGaAcspn";

tl::unexpected<Error> bad_message(const std::string& why) {
  return fail(Status::kInvalidArgument, "a message of printf in device code: " + why);
}

Result<std::string> string_from(std::span<const uint64_t>& words) {
  if (words.empty()) return bad_message("a string has no end");
  const auto* const text = reinterpret_cast<const char*>(words.data());
  const size_t size = ::strnlen(text, words.size_bytes());
  if (size == words.size_bytes()) return bad_message("a string has no end");
  words = words.subspan(size / sizeof(uint64_t) + 1);
  return std::string(text, size);
}

// A conversion of a format, between '%' and its last letter.
struct Conversion {
  std::string_view flags;
  int width = 0;
  int precision = -1;
  bool left = false;  // by a negative argument for the width
  std::string_view length;
  char letter = 0;
};

class PrintfText {
 public:
  explicit PrintfText(std::span<const uint64_t> words) : words_(words) {}

  Result<std::string> run() {
    GFXGRAPH_ASSIGN_OR_RETURN(const std::string format, string_from(words_));
    std::string_view rest = format;
    while (true) {
      const size_t percent = std::min(rest.find('%'), rest.size());
      text_ += rest.substr(0, percent);
      if (percent == rest.size()) break;
      rest.remove_prefix(percent + 1);
      if (rest.starts_with('%')) {
        text_ += '%';
        rest.remove_prefix(1);
        continue;
      }
      if (words_.empty() || rest.find_first_of(kConversions) == std::string_view::npos) break;
      Conversion conversion;
      GFXGRAPH_ASSIGN_OR_RETURN(const bool complete, parse(rest, conversion));
      if (!complete) break;
      GFXGRAPH_TRY(convert(conversion));
      if (text_.size() > HostPrinter::kMostTextBytes) return bad_message("its text is too long");
    }
    if (text_.size() > HostPrinter::kMostTextBytes) return bad_message("its text is too long");
    return std::move(text_);
  }

 private:
  static std::string_view take_while(std::string_view& rest, std::string_view letters) {
    const size_t size = std::min(rest.find_first_not_of(letters), rest.size());
    const std::string_view taken = rest.substr(0, size);
    rest.remove_prefix(size);
    return taken;
  }

  // A width or a precision: digits, or an argument. False: there is no such argument.
  Result<bool> take_number(std::string_view& rest, int& number) {
    if (rest.starts_with('*')) {
      rest.remove_prefix(1);
      if (words_.empty()) return false;
      number = static_cast<int>(static_cast<uint32_t>(words_[0]));
      words_ = words_.subspan(1);
    } else {
      const std::string_view digits = take_while(rest, kDigits);
      number = 0;
      const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), number);
      if (!digits.empty() && read.ec != std::errc())
        return bad_message("a width or a precision is too large");
    }
    if (number > kMostWidth || number < -kMostWidth)
      return bad_message(fmt::format("the width or precision {} is too large", number));
    return true;
  }

  // False: arguments are missing.
  Result<bool> parse(std::string_view& rest, Conversion& to) {
    const std::string_view begin = rest;
    to.flags = take_while(rest, kFlags);
    GFXGRAPH_ASSIGN_OR_RETURN(const bool has_width, take_number(rest, to.width));
    if (!has_width) return false;
    if (to.width < 0) {
      to.left = true;
      to.width = -to.width;
    }
    if (rest.starts_with('.')) {
      rest.remove_prefix(1);
      GFXGRAPH_ASSIGN_OR_RETURN(const bool has_precision, take_number(rest, to.precision));
      if (!has_precision) return false;
      if (to.precision < 0) to.precision = -1;
    }
    to.length = take_while(rest, "hljzt");
    to.letter = rest.empty() ? '\0' : rest[0];
    const bool integer = std::string_view("diouxX").find(to.letter) != std::string_view::npos;
    const bool real = std::string_view("fFeEgGaA").find(to.letter) != std::string_view::npos;
    const bool known = to.letter != 0 && kConversions.find(to.letter) != std::string_view::npos &&
                       (to.length.empty() || to.letter == 'n' || (real && to.length == "l") ||
                        (integer && to.length.size() <= 2));
    if (!known)
      return bad_message(
          fmt::format("unknown conversion {:?}", "%" + std::string(begin.substr(0, 16))));
    rest.remove_prefix(1);
    if (words_.empty()) return false;
    return true;
  }

  Result<void> convert(const Conversion& how) {
    if (how.letter == 's') {
      GFXGRAPH_ASSIGN_OR_RETURN(const std::string argument, string_from(words_));
      return append(how, argument.c_str());
    }
    const uint64_t word = words_[0];
    words_ = words_.subspan(1);
    if (how.letter == 'n') return {};
    if (std::string_view("fFeEgGaA").find(how.letter) != std::string_view::npos)
      return append(how, std::bit_cast<double>(word));
    if (how.letter == 'p') return append(how, reinterpret_cast<const void*>(word));
    if (how.letter == 'c') return append(how, static_cast<int>(static_cast<uint32_t>(word)));
    return append_integer(how, word);
  }

  // The integer types of C that the length stands for all fit into `long long`.
  Result<void> append_integer(const Conversion& how, uint64_t word) {
    const bool is_signed = how.letter == 'd' || how.letter == 'i';
    const auto narrowed = [&]<typename Signed, typename Unsigned>(Signed, Unsigned) {
      return is_signed ? static_cast<uint64_t>(int64_t{static_cast<Signed>(word)})
                       : uint64_t{static_cast<Unsigned>(word)};
    };
    uint64_t value = word;
    if (how.length == "hh") value = narrowed(int8_t{}, uint8_t{});
    if (how.length == "h") value = narrowed(int16_t{}, uint16_t{});
    if (how.length.empty()) value = narrowed(int32_t{}, uint32_t{});
    Conversion wide = how;
    wide.length = "ll";
    return append(wide, static_cast<long long>(value));
  }

  template <typename T>
  Result<void> append(const Conversion& how, T value) {
    const std::string spec =
        fmt::format("%{}{}*.*{}{}", how.flags, how.left ? "-" : "", how.length, how.letter);
    const int size = std::snprintf(nullptr, 0, spec.c_str(), how.width, how.precision, value);
    if (size < 0) return bad_message("it cannot be printed");
    const size_t before = text_.size();
    text_.resize(before + static_cast<size_t>(size) + 1);
    std::snprintf(text_.data() + before, static_cast<size_t>(size) + 1, spec.c_str(), how.width,
                  how.precision, value);
    text_.resize(before + static_cast<size_t>(size));
    return {};
  }

  std::span<const uint64_t> words_;
  std::string text_;
};

}  // namespace

Result<std::string> format_printf(std::span<const uint64_t> words) {
  return PrintfText(words).run();
}

Result<uint64_t> HostPrinter::take(const std::array<uint64_t, 8>& payload) {
  const uint64_t count = payload[0] >> kWordsShift & 7;
  uint64_t number = payload[0] >> kNumberShift;
  if ((payload[0] & kBeginsMessage) != 0) {
    if (messages_.size() >= kMostOpenMessages)
      return bad_message("too many messages have no end yet");
    do {
      last_number_ = (last_number_ + 1) & kNumberMask;
    } while (messages_.contains(last_number_));
    number = last_number_;
    messages_[number];
  }
  const auto message = messages_.find(number);
  if (message == messages_.end()) return bad_message("it was never begun");
  std::vector<uint64_t>& words = message->second;
  const uint64_t bytes = count * sizeof(uint64_t);
  if (words.size() * sizeof(uint64_t) + bytes > kMostMessageBytes) return bad_message("too long");
  if (open_bytes_ + bytes > kMostOpenBytes) return bad_message("too many messages have no end yet");
  open_bytes_ += bytes;
  words.insert(words.end(), payload.begin() + 1, payload.begin() + 1 + count);
  if ((payload[0] & kEndsMessage) == 0) return number << kNumberShift;

  const std::vector<uint64_t> whole = std::move(words);
  messages_.erase(message);
  open_bytes_ -= whole.size() * sizeof(uint64_t);
  if (whole.empty()) return bad_message("it has no format");
  if ((whole[0] & ~kToStderr) != 0) return ~uint64_t{0};  // what HIP answers
  GFXGRAPH_ASSIGN_OR_RETURN(const std::string text, format_printf(std::span(whole).subspan(1)));
  std::fwrite(text.data(), 1, text.size(), (whole[0] & kToStderr) != 0 ? stderr : stdout);
  return text.size();
}

}  // namespace gfxgraph::emulator
