// Happens-before: sets of operations that are known to be complete at some point of the program.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace random_programs {

class OpSet {
 public:
  void add(int op) {
    const size_t word = static_cast<size_t>(op) / 64;
    if (word >= words_.size()) words_.resize(word + 1);
    words_[word] |= 1ull << (op % 64);
  }
  bool has(int op) const {
    const size_t word = static_cast<size_t>(op) / 64;
    return word < words_.size() && (words_[word] >> (op % 64) & 1) != 0;
  }
  void merge(const OpSet& other) {
    if (other.words_.size() > words_.size()) words_.resize(other.words_.size());
    for (size_t i = 0; i < other.words_.size(); ++i) words_[i] |= other.words_[i];
  }
  static OpSet up_to(int count) {
    OpSet set;
    for (int op = 0; op < count; ++op) set.add(op);
    return set;
  }

 private:
  std::vector<uint64_t> words_;
};

// A stream: its operations, and what its next operation waits for beyond them.
struct StreamOrder {
  bool blocking = true;  // ordered with the null stream
  bool null = false;     // is the null stream of its device
  int device = 0;
  OpSet work;   // its operations, and all that was complete before the last of them began
  OpSet waits;  // hipStreamWaitEvent
};

// Of the first device.
constexpr int kNullStream = 0;
constexpr int kOwnStream = 1;  // hipStreamPerThread

// All streams of the program and what the host knows.
class Order {
 public:
  std::vector<StreamOrder> streams;
  OpSet host;

  // What is complete before the next operation of a stream begins, if it is issued now.
  OpSet before(int stream) const {
    OpSet set = host;
    set.merge(streams[stream].work);
    set.merge(streams[stream].waits);
    for (const StreamOrder& other : streams) {
      if (other.device != streams[stream].device) continue;
      if (streams[stream].null ? other.blocking : other.null && streams[stream].blocking)
        set.merge(other.work);
    }
    return set;
  }
  // The next operation's number; `before` is what it waits for.
  int issue(int stream, const OpSet& before) {
    const int op = count_++;
    op_streams_.push_back(stream);
    streams[stream].work.merge(before);
    streams[stream].work.add(op);
    return op;
  }
  int stream_of(int op) const { return op_streams_[static_cast<size_t>(op)]; }
  void host_knows_all() { host = OpSet::up_to(count_); }
  void host_knows_device(int device) {
    for (const StreamOrder& stream : streams) {
      if (stream.device != device) continue;
      host.merge(stream.work);
      host.merge(stream.waits);
    }
  }
  int count() const { return count_; }

 private:
  int count_ = 0;
  std::vector<int> op_streams_;
};

}  // namespace random_programs
