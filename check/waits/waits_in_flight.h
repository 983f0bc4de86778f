// The operations that may be under way at one place of a kernel, on some path to it.
#pragma once

#include <array>
#include <cstdint>

namespace gfxgraph::check {

// Ages count the younger operations of the same counter. An operation is complete once its counter
// is at most its age, whatever else the counter counts.
inline constexpr uint8_t kArrived = 255;

// Nodes are those of the kernel's graph.
struct WaitsInFlight {
  static constexpr uint8_t kMostOutstanding = 62;  // beyond the counter's maximum a wave waits
  static constexpr unsigned kVectors = 256;
  // A D16 load writes one half of a register: lower halves of all registers, then upper ones.
  static constexpr unsigned kHalves = 2 * kVectors;
  static constexpr unsigned kCodes = 512;  // of operands: SGPRs, and VGPRs from 256 on

  // By half of a register: loads from memory and from LDS that write it.
  std::array<uint8_t, kHalves> vector_age, lds_age;
  std::array<uint32_t, kHalves> vector_load, lds_load;
  // By register: operations of lgkmcnt since a FLAT load, which LDS may return.
  std::array<uint8_t, kVectors> flat_age;
  std::array<uint32_t, kVectors> flat_load;
  // By operand code: scalar loads and loads from GDS, of which nothing is known before all of
  // lgkmcnt is complete.
  std::array<bool, kCodes> unordered;
  std::array<uint32_t, kCodes> unordered_load;
  // By register: operations of GDS that still read it (expcnt).
  std::array<uint8_t, kVectors> export_age;
  std::array<uint32_t, kVectors> exporter;
  // The last store to LDS and to memory.
  uint8_t lds_store_age, store_age;
  uint32_t lds_store, store;
  bool store_last;  // it is the last access to memory
  // The last access to memory is a load, and under way.
  bool load_last;
  uint32_t last_load;
  // A load to LDS without a wait of vmcnt behind it: one that is under way later may be for another
  // place.
  bool to_lds;
  uint32_t to_lds_load;

  WaitsInFlight() { clear(); }
  void clear() {
    vector_age.fill(kArrived);
    lds_age.fill(kArrived);
    flat_age.fill(kArrived);
    export_age.fill(kArrived);
    unordered.fill(false);
    flat_load.fill(0);
    vector_load.fill(0);
    lds_load.fill(0);
    unordered_load.fill(0);
    exporter.fill(0);
    lds_store_age = store_age = kArrived;
    lds_store = store = last_load = to_lds_load = 0;
    store_last = load_last = to_lds = false;
  }

  // At most `left` operations of the counter remain.
  void wait_vector(unsigned left) {
    wait(vector_age, left);
    if (left < 63) to_lds = false;
    if (left == 0) load_last = false;
  }
  void wait_lgkm(unsigned left) {
    wait(lds_age, left);
    wait(flat_age, left);
    wait(lds_store_age, left);
    if (left == 0) unordered.fill(false);
  }
  void wait_export(unsigned left) { wait(export_age, left); }
  void wait_store(unsigned left) { wait(store_age, left); }

  void issue_vector() { issue(vector_age); }
  void issue_lds() {
    issue(lds_age);
    issue(flat_age);
    issue(lds_store_age);
  }
  void issue_store() { issue(store_age); }
  void issue_export() { issue(export_age); }

  // Whether the same operations are under way.
  bool same(const WaitsInFlight& other) const {
    return vector_age == other.vector_age && lds_age == other.lds_age &&
           flat_age == other.flat_age && export_age == other.export_age &&
           unordered == other.unordered && lds_store_age == other.lds_store_age &&
           store_age == other.store_age && store_last == other.store_last &&
           load_last == other.load_last && to_lds == other.to_lds;
  }
  // Where paths meet, the smaller age holds. True: it changed.
  bool meet(const WaitsInFlight& other) {
    bool changed = false;
    const auto younger = [&](uint8_t& age, uint32_t& node, uint8_t other_age, uint32_t other_node) {
      if (other_age >= age) return;
      age = other_age;
      node = other_node;
      changed = true;
    };
    const auto all_younger = [&](auto& age, auto& node, const auto& other_age,
                                 const auto& other_node) {
      for (size_t n = 0; n < age.size(); ++n) younger(age[n], node[n], other_age[n], other_node[n]);
    };
    all_younger(vector_age, vector_load, other.vector_age, other.vector_load);
    all_younger(lds_age, lds_load, other.lds_age, other.lds_load);
    all_younger(flat_age, flat_load, other.flat_age, other.flat_load);
    all_younger(export_age, exporter, other.export_age, other.exporter);
    younger(lds_store_age, lds_store, other.lds_store_age, other.lds_store);
    younger(store_age, store, other.store_age, other.store);
    const auto either = [&](bool& is, uint32_t& node, bool other_is, uint32_t other_node) {
      if (!other_is || is) return;
      is = changed = true;
      node = other_node;
    };
    for (unsigned n = 0; n < kCodes; ++n)
      either(unordered[n], unordered_load[n], other.unordered[n], other.unordered_load[n]);
    either(to_lds, to_lds_load, other.to_lds, other.to_lds_load);
    const auto both = [&](bool& is, bool other_is) {
      changed |= is && !other_is;
      is = is && other_is;
    };
    both(store_last, other.store_last);
    both(load_last, other.load_last);
    return changed;
  }

 private:
  static void wait(uint8_t& age, unsigned left) {
    if (age >= left) age = kArrived;
  }
  static void issue(uint8_t& age) {
    if (age != kArrived) age = age < kMostOutstanding ? static_cast<uint8_t>(age + 1) : kArrived;
  }
  template <size_t kCount>
  static void wait(std::array<uint8_t, kCount>& ages, unsigned left) {
    for (uint8_t& age : ages) wait(age, left);
  }
  template <size_t kCount>
  static void issue(std::array<uint8_t, kCount>& ages) {
    for (uint8_t& age : ages) issue(age);
  }
};

}  // namespace gfxgraph::check
