#include <gtest/gtest.h>

#include "replayer/tool/device_map.h"

namespace gfxgraph::replayer {
namespace {

TEST(DeviceMapTest, OneDeviceDoesTheWorkOfAll) {
  EXPECT_EQ(parse_device_map("0:0", 1).value(), 0);
  EXPECT_EQ(parse_device_map("0:0,1:0", 2).value(), 0);
  EXPECT_EQ(parse_device_map("2:1,0:1,1:1", 3).value(), 1);
}

TEST(DeviceMapTest, OthersAreRefusedByName) {
  const struct {
    const char* text;
    size_t recorded;
    const char* why;
  } kCases[] = {
      {"", 1, "'' is not RECORDED:DEVICE"},
      {"0", 1, "'0' is not RECORDED:DEVICE"},
      {"0:", 1, "'0:' is not RECORDED:DEVICE"},
      {"0:x", 1, "'0:x' is not RECORDED:DEVICE"},
      {"0:0,", 1, "'' is not RECORDED:DEVICE"},
      {"0:-1", 1, "'0:-1' is not RECORDED:DEVICE"},
      {"0:99999999999", 1, "'0:99999999999' is not RECORDED:DEVICE"},
      {"0:0,1:0", 1, "the trace has no device 1: its devices are 0 to 0"},
      {"0:0,0:0", 2, "device 0 stands twice"},
      {"1:0", 2, "device 0 of the trace is missing"},
      {"0:0,1:1", 2, "one device does the work of all"},
  };
  for (const auto& one : kCases) {
    const Result<int> device = parse_device_map(one.text, one.recorded);
    ASSERT_FALSE(device) << one.text;
    EXPECT_EQ(device.error().status, Status::kInvalidArgument);
    EXPECT_NE(device.error().message.find(one.why), std::string::npos) << device.error().message;
  }
}

}  // namespace
}  // namespace gfxgraph::replayer
