#include "check/race/race_shadow.h"

#include <algorithm>
#include <utility>

namespace gfxgraph::check {

RaceShadow::~RaceShadow() { budget_.give_memory(taken_); }

bool RaceShadow::take(uint64_t bytes) {
  if (!budget_.take_memory(bytes, "the access history of memory (racecheck)")) return false;
  taken_ += bytes;
  return true;
}

RaceShadow::Page* RaceShadow::find(uint64_t number) {
  number = seconds_.chunk(number);
  std::unique_ptr<Page>& page = pages_[number];
  if (page) return page.get();
  if (!spare_.empty()) {
    page = std::move(spare_.back());
    spare_.pop_back();
    return page.get();
  }
  if (!take(sizeof(Page))) {
    pages_.erase(number);
    return nullptr;
  }
  page = std::make_unique<Page>();
  return page.get();
}

bool RaceShadow::split(Page& page, uint64_t into, bool with_atomics) {
  const size_t line = into / kLineBytes;
  const size_t n = into / kBlockBytes;
  const size_t first = into % kBlockBytes / kLineBytes * kLineCells;
  if ((page.split >> line & 1) == 0) {
    if (page.block[n] == nullptr) {
      if (!take(sizeof(Block))) return false;
      page.block[n] = std::make_unique<Block>();
    }
    Block& block = *page.block[n];
    std::fill_n(block.write + first, kLineCells, page.lines.write[line]);
    std::fill_n(block.read + first, kLineCells, page.lines.read[line]);
    std::fill_n(block.reader + first, kLineCells, page.lines.reader[line]);
    page.split |= uint64_t{1} << line;
  }
  if (!with_atomics || page.has_atomics[n]) return true;
  if (page.atomics[n] == nullptr) {
    if (!take(sizeof(Atomics))) return false;
    page.atomics[n] = std::make_unique<Atomics>();
  }
  page.has_atomics[n] = true;
  return true;
}

void RaceShadow::join(Page& page, size_t line, uint64_t write) {
  page.lines.write[line] = write;
  page.lines.read[line] = page.lines.reader[line] = 0;
  page.split &= ~(uint64_t{1} << line);
  const size_t n = line * kLineBytes / kBlockBytes;
  if (!page.has_atomics[n]) return;
  const size_t first = line * kLineCells % kBlockCells;
  std::fill_n(page.atomics[n]->last + first, kLineCells, 0);
  std::fill_n(page.atomics[n]->of_other + first, kLineCells, 0);
}

void RaceShadow::forget(uint64_t address, uint64_t bytes) {
  const auto clear_lines = [](Page& page, size_t from, size_t to) {
    for (size_t line = from; line < to; ++line) {
      page.lines.write[line] = page.lines.read[line] = page.lines.reader[line] = 0;
      page.split &= ~(uint64_t{1} << line);
      const size_t n = line * kLineBytes / kBlockBytes;
      if (!page.has_atomics[n]) continue;
      const size_t first = line * kLineCells % kBlockCells;
      std::fill_n(page.atomics[n]->last + first, kLineCells, 0);
      std::fill_n(page.atomics[n]->of_other + first, kLineCells, 0);
    }
  };
  const uint64_t end = address + bytes;
  const auto clear_page = [&](uint64_t number, Page& page) {
    const uint64_t begin = number * kPageBytes;
    const uint64_t from = std::max(address, begin) - begin;
    const uint64_t to = std::min(end, begin + kPageBytes) - begin;
    clear_lines(page, from / kLineBytes, (to + kLineBytes - 1) / kLineBytes);
  };
  const uint64_t first = address / kPageBytes;
  const uint64_t last = (end - 1) / kPageBytes;
  if (bytes == 0) return;
  if (last - first > pages_.size()) {
    for (auto& [number, page] : pages_)
      if (number >= first && number <= last) clear_page(number, *page);
    return;
  }
  for (uint64_t number = first; number <= last; ++number)
    if (const auto found = pages_.find(number); found != pages_.end())
      clear_page(number, *found->second);
}

void RaceShadow::begin(uint64_t first, uint64_t second, uint64_t bytes) {
  seconds_.remove(first, bytes);
  if (second != 0) (void)seconds_.add(second, first, bytes);
  near_.fill({});
  forget(first, bytes);
}

void RaceShadow::recycle() {
  for (auto& [number, page] : pages_) {
    page->split = 0;
    std::ranges::fill(page->has_atomics, false);
    spare_.push_back(std::move(page));
  }
  pages_.clear();
  near_.fill({});
}

void RaceShadow::clear() {
  recycle();
  for (const auto& page : spare_) {
    page->lines = {};
    for (auto& block : page->block)
      if (block != nullptr) *block = {};
    for (auto& atomics : page->atomics)
      if (atomics != nullptr) *atomics = {};
  }
}

}  // namespace gfxgraph::check
