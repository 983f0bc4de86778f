// What the files of Recorder share.
#pragma once

#include <mutex>
#include <string>

#include "recorder/model/devices.h"
#include "recorder/recorder.h"

namespace gfxgraph::recorder {

// recorder_marks.cpp: as much of it as may stand in a trace, cut where a character of UTF-8 begins.
std::string cut_name(const char* text);

}  // namespace gfxgraph::recorder
