// A recorder without HIP that is told of graphs.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tests/recorder/fake_device/recorder_fixture.h"

namespace gfxgraph::recorder {

class RecorderGraphTest : public RecorderTest {
 protected:
  void add_node(Handle graph, Handle node, RawAction action, std::vector<Handle> after = {}) {
    recorder_->graphs().node_added(graph, node, after.data(), after.size(), std::move(action),
                                   "add");
  }
  RawMemset set_bytes(uint32_t value) {
    RawMemset raw;
    raw.address = reinterpret_cast<uint64_t>(data_);
    raw.width_elements = 8;
    raw.value = value;
    return raw;
  }
  void launch(Handle executable, Handle stream) {
    Work work;
    recorder_->work().prepare_graph_launch(executable, stream, work);
    recorder_->commit(work);
  }
  // Names of the events, in order, of the kinds that order work.
  static std::string order(const Trace& trace) {
    std::string text;
    for (const format::Event& event : trace.events()) {
      if (const auto* wait = std::get_if<format::StreamWait>(&event.action)) {
        text += "wait" + std::to_string(wait->event) + " ";
      } else if (const auto* record = std::get_if<format::EventRecord>(&event.action)) {
        text += "record" + std::to_string(record->event) + " ";
      } else if (std::holds_alternative<format::GraphLaunch>(event.action)) {
        text += "launch ";
      }
    }
    return text;
  }

  alignas(8) char data_[64] = {};
};

}  // namespace gfxgraph::recorder
