// Hazards of copies, memsets and writes of the host: work that is not a kernel.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "check/race/race_check.h"

namespace gfxgraph::check {

void RaceCheck::next_transfer(Work work) {
  work_ = std::move(work);
  found_ = false;
  reported_.clear();
  take_waves(1, {.launch = launch_});
}

// A transfer counts as one wave of its own.
void RaceCheck::transfer(Part part, uint64_t address, uint64_t bytes) {
  const bool write = part != Part::kCopyRead;
  const uint64_t mine = stamp::make(first_wave_, 1) | uint64_t{place_of(part)} << stamp::kSiteShift;
  const uint64_t end = address + bytes;
  while (address < end) {
    const uint64_t into = address % 4;
    if (into != 0 || end - address < 4) {
      const uint64_t count = std::min(4 - into, end - address);
      transfer_dword(part, address, ((uint64_t{1} << count) - 1) << into, mine);
      address += count;
      continue;
    }
    const uint64_t page = (address / RaceShadow::kPageBytes + 1) * RaceShadow::kPageBytes;
    const auto count = static_cast<uint32_t>((std::min(page, end) - address) & ~uint64_t{3});
    // If the row holds a hazard, nothing is recorded, and each dword is looked at.
    if (!global_row(address, count, write, mine | stamp::kAllBytes))
      for (uint32_t at = 0; at < count; at += 4)
        transfer_dword(part, address + at, stamp::kAllBytes, mine);
    address += count;
  }
}

void RaceCheck::transfer_dword(Part part, uint64_t address, uint64_t mask, uint64_t mine) {
  RaceShadow::Page* const page = shadow_.page(address);
  if (page == nullptr || !shadow_.split(*page, address % RaceShadow::kPageBytes)) return;
  const RaceCells cells = page->cells(address % RaceShadow::kPageBytes);
  const size_t at = address % RaceShadow::kBlockBytes / 4;
  const bool write = part != Part::kCopyRead;
  const auto compare = [&](uint64_t other) {
    if ((stamp::bytes(other) & mask) == 0 || stamp::wave(other) == first_wave_ ||
        ordered_after(other))
      return;
    report_transfer(part, address, other);
  };
  compare(cells.write[at]);
  if (cells.atomic != nullptr) {
    compare(cells.atomic[at]);
    compare(cells.atomic_of_other[at]);
  }
  const auto joined = [&](uint64_t before) {
    constexpr unsigned kTime = stamp::kClockShift;
    return mine | mask | (before >> kTime == mine >> kTime ? stamp::bytes(before) : 0);
  };
  uint64_t& read = cells.read[at];
  if (!write) {
    if (stamp::wave(read) != first_wave_) cells.reader[at] = read;
    read = joined(read);
    return;
  }
  compare(read);
  compare(cells.reader[at]);
  cells.write[at] = joined(cells.write[at]);
  if (mask != stamp::kAllBytes) return;
  read = cells.reader[at] = 0;
  if (cells.atomic != nullptr) cells.atomic[at] = cells.atomic_of_other[at] = 0;
}

namespace {

const char* done_to(bool atomic, bool write) {
  return atomic ? "an atomic" : write ? "a write" : "a read";
}

}  // namespace

std::string RaceCheck::done_text(const Done* done) const {
  if (done == nullptr) return "launch 0";
  if (done->kernel == 0) return fmt::format("the copy or memset of event {}", done->event);
  return fmt::format("launch {}", done->launch);
}

std::string RaceCheck::allocation_text(const Done* done) {
  return fmt::format("the allocation of event {}", done == nullptr ? 0 : done->event);
}

// Reports the hazard at the kernel's instruction, if the other access was a kernel's.
void RaceCheck::report_transfer(Part part, uint64_t address, uint64_t other) {
  const Done* const done = done_by(other);
  const uint32_t site = stamp::site(other);
  if (done == nullptr) return;
  const std::pair<uint64_t, uint32_t> key{done->first_wave, site};
  if (std::ranges::find(reported_, key) != reported_.end()) return;
  reported_.push_back(key);
  const Place& theirs = places_[site];
  LaneEvent event = event_of(*done, other, address);
  const bool of_allocation = site == place_of(Part::kAllocate);
  event.finding_class = of_allocation         ? FindingClass::kR10
                        : part == Part::kFree ? FindingClass::kR11
                                              : FindingClass::kR7;
  const char* const what = part == Part::kCopyRead    ? "the copy of event {}, which reads here"
                           : part == Part::kCopyWrite ? "the copy of event {}, which writes here"
                           : part == Part::kFree      ? "the free of event {}"
                                                      : "the memset of event {}";
  event.detail = "nothing orders ";
  if (of_allocation)
    event.detail += allocation_text(done) + " before ";
  else if (done->kernel == 0)
    event.detail += fmt::format("{} by {} before ", done_to(false, theirs.write), done_text(done));
  else
    event.detail += "it before ";
  event.detail += fmt::format(fmt::runtime(what), work_.event);
  sites_.add(done->kernel, event);
  found_ = true;
}

// The access that left this stamp.
LaneEvent RaceCheck::event_of(const Done& done, uint64_t stamped, uint64_t address) const {
  const Place& theirs = places_[stamp::site(stamped)];
  LaneEvent event;
  event.place.launch = done.launch;
  event.trace_event = done.event;
  event.address = address;
  event.access_bytes = 4;
  event.write = theirs.write;
  event.address_class = "in its buffer";
  if (done.kernel == 0) return event;
  const uint64_t wave = stamp::wave(stamped) - done.first_wave;
  event.place.wave = static_cast<uint32_t>(wave % done.group_waves);
  event.place.group = wave / done.group_waves;
  uint64_t number = event.place.group;
  for (size_t axis = 0; axis < 3; ++axis) {
    event.place.workgroup[axis] = static_cast<uint32_t>(number % done.group_count[axis]);
    number /= done.group_count[axis];
  }
  event.pc = theirs.key & ~uint64_t{1};
  event.op = theirs.op;
  return event;
}

// If `in_doubt`, a byte that a kernel may have written proves no write of the host.
void RaceCheck::host_write(uint64_t event, uint64_t address, std::span<const std::byte> now,
                           std::span<const std::byte> bytes, bool in_doubt,
                           const std::vector<uint64_t>& launches) {
  found_ = false;
  reported_.clear();
  // A host that read a word of a launch may know that this launch, and earlier ones, got that far.
  const uint64_t told = told_host_.empty() ? 0 : told_host_.back();
  const auto concerns = [&](uint64_t stamped) -> const Done* {
    const Done* const done = done_by(stamped);
    if (stamped == 0 || done == nullptr || done->kernel == 0) return nullptr;
    return std::ranges::find(launches, done->work) == launches.end() ? nullptr : done;
  };
  for (size_t from = 0; from < bytes.size();) {
    const uint64_t at = address + from;
    const size_t count = std::min<size_t>(4 - at % 4, bytes.size() - from);
    uint64_t mask = 0;
    for (size_t n = 0; n < count; ++n)
      if (now[from + n] != bytes[from + n]) mask |= uint64_t{1} << (at % 4 + n);
    from += count;
    RaceShadow::Page* const page = mask == 0 ? nullptr : shadow_.look(at);
    if (page == nullptr) continue;
    const uint64_t into = at % RaceShadow::kPageBytes;
    const bool split = (page->split >> into / RaceShadow::kLineBytes & 1) != 0;
    const RaceCells cells = split ? page->cells(into) : page->line_cells();
    const size_t cell = split ? into % RaceShadow::kBlockBytes / 4 : into / RaceShadow::kLineBytes;
    std::array<uint64_t, 5> accesses = {cells.write[cell], 0, 0, cells.read[cell],
                                        cells.reader[cell]};
    if (cells.atomic != nullptr) {
      accesses[1] = cells.atomic[cell];
      accesses[2] = cells.atomic_of_other[cell];
    }
    const std::span<const uint64_t> written = std::span(accesses).first(3);
    const auto concerned = [&](uint64_t stamped) {
      return (stamp::bytes(stamped) & mask) != 0 && concerns(stamped) != nullptr;
    };
    if (in_doubt && std::ranges::any_of(written, concerned)) continue;
    for (const uint64_t other : accesses) {
      if (!concerned(other)) continue;
      const Done& done = *concerns(other);
      if (!told_host_.empty() && told >= done.work) continue;
      const std::pair<uint64_t, uint32_t> key{done.first_wave, stamp::site(other)};
      if (std::ranges::find(reported_, key) != reported_.end()) continue;
      reported_.push_back(key);
      LaneEvent found = event_of(done, other, at);
      found.finding_class = FindingClass::kR8;
      found.detail = fmt::format(
          "the host writes here (event {}) before a call tells it that the launch has "
          "ended",
          event);
      sites_.add(done.kernel, found);
      found_ = true;
    }
  }
}

}  // namespace gfxgraph::check
