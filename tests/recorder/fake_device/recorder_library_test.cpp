// Libraries of HIP 7: when their code is read, and which kernels are found in it.
#include "tests/recorder/fake_device/recorder_fixture.h"

namespace gfxgraph::recorder {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

class RecorderLibraryTest : public RecorderTest {
 protected:
  void SetUp() override {
    RecorderTest::SetUp();
    image_ = read_text(MODULE_FILE);
    ASSERT_FALSE(image_.empty());
  }
  // As the hook of hipLibraryGetKernel does it.
  void ask(const char* kernel, Handle as) {
    auto code = recorder_->code().unread_library(library_);
    if (code) recorder_->code().library_read(library_, std::move(*code));
    recorder_->code().function_found(as, library_, kernel);
  }
  KernelEntry* find(Handle kernel, bool host_function) {
    return recorder_->launches().find_kernel(kernel, host_function, "hipLaunchKernel", held_);
  }

  const Handle library_ = this;
  std::string image_;
};

TEST_F(RecorderLibraryTest, TheCodeIsReadWhenAKernelIsFirstAskedFor) {
  std::string place(image_.size(), '\0');
  recorder_->code().library_loaded(library_, place.data(), nullptr);
  place = image_;
  ask("takes_struct", handle(2));
  place.assign(image_.size(), '\0');
  EXPECT_FALSE(recorder_->code().unread_library(library_));
  ask("module_increment", handle(3));
  EXPECT_NE(find(handle(2), false), nullptr);
  EXPECT_NE(find(handle(3), false), nullptr);
  EXPECT_THAT(held_, IsEmpty());
}

TEST_F(RecorderLibraryTest, AFileIsReadThen) {
  const std::string file = path() + ".co";
  recorder_->code().library_loaded(library_, nullptr, file.c_str());
  std::ofstream(file, std::ios::binary) << image_;
  ask("takes_struct", handle(2));
  std::filesystem::remove(file);
  EXPECT_NE(find(handle(2), false), nullptr);
}

TEST_F(RecorderLibraryTest, HostFunctionsAndFunctionsAreOneHandle) {
  recorder_->code().library_loaded(library_, image_.data(), nullptr);
  ask("takes_struct", handle(2));
  EXPECT_NE(find(handle(2), true), nullptr);
  EXPECT_EQ(find(handle(2), true), find(handle(2), false));
  EXPECT_THAT(held_, IsEmpty());
}

TEST_F(RecorderLibraryTest, AnUnloadedLibraryHasNoKernels) {
  recorder_->code().library_loaded(library_, image_.data(), nullptr);
  ask("takes_struct", handle(2));
  recorder_->code().module_unloading(library_);
  EXPECT_EQ(find(handle(2), true), nullptr);
  EXPECT_THAT(held_, SizeIs(1));
  // A library that is unloaded before its code is read has none either.
  recorder_->code().library_loaded(library_, image_.data(), nullptr);
  recorder_->code().module_unloading(library_);
  EXPECT_FALSE(recorder_->code().unread_library(library_));
}

TEST_F(RecorderLibraryTest, CodeThatCannotBeReadMakesTheTraceIncomplete) {
  std::vector<char> garbage(4096, 0x5a);
  recorder_->code().library_loaded(library_, garbage.data(), nullptr);
  ask("takes_struct", handle(2));
  EXPECT_EQ(find(handle(2), true), nullptr);
  recorder_->count(held_);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_FALSE(trace->complete());
}

// Before HIP 7.14 no call returns their addresses, so their contents would be missing.
TEST_F(RecorderLibraryTest, VariablesMakeTheTraceIncompleteByName) {
  recorder_->code().library_loaded(library_, image_.data(), nullptr);
  ask("module_increment", handle(2));
  EXPECT_NE(find(handle(2), true), nullptr);
  recorder_->count(held_);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_FALSE(trace->complete());
  ASSERT_THAT(trace->findings(), SizeIs(1));
  EXPECT_EQ(trace->findings()[0].detail,
            "variable module_counter of a library: this HIP has no call that returns its address "
            "(hipLibraryGetGlobal, from 7.14)");
}

TEST_F(RecorderLibraryTest, VariablesAreInTheTraceWhereTheRuntimeReturnsTheirAddresses) {
  uint32_t counter = 41;
  state_.symbol = &counter;
  state_.library_variables = true;
  recorder_->code().library_loaded(library_, image_.data(), nullptr);
  ask("module_increment", handle(2));
  EXPECT_NE(find(handle(2), true), nullptr);
  // The program may ask, too.
  recorder_->code().global_found(library_, "module_counter", reinterpret_cast<uint64_t>(&counter),
                                 4, "hipLibraryGetGlobal");
  recorder_->count(held_);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  const auto begun = actions<format::AllocationBegin>(*trace);
  ASSERT_THAT(begun, SizeIs(1));
  EXPECT_EQ(begun[0].symbol, "module_counter");
  EXPECT_EQ(begun[0].size_bytes, 4u);
}

TEST_F(RecorderLibraryTest, AFunctionOfAKernelIsThatKernel) {
  recorder_->code().library_loaded(library_, image_.data(), nullptr);
  ask("takes_struct", handle(2));
  recorder_->code().function_of_kernel(handle(2), handle(2));  // as HIP answers
  recorder_->code().function_of_kernel(handle(5), handle(2));
  recorder_->code().function_of_kernel(handle(6), handle(7));  // of an unknown one
  EXPECT_NE(find(handle(5), false), nullptr);
  EXPECT_EQ(find(handle(5), false), find(handle(2), false));
  EXPECT_EQ(find(handle(6), false), nullptr);
}

}  // namespace
}  // namespace gfxgraph::recorder
