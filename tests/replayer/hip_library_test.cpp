#include "replayer/abi/hip_library.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake_hip.h"
#include "replayer/abi/hsa_library.h"

namespace gfxgraph::replayer::testing {
namespace {

using ::testing::HasSubstr;

TEST(HipLibrary, DescribesTheDeviceWithoutKnowingTheLayout) {
  FakeHip fake;
  const auto device = fake.library()->select_device(-1);
  ASSERT_TRUE(device);
  EXPECT_EQ(device->name, "gfx fake device");  // not taken for the architecture
  EXPECT_EQ(device->arch, "gfx1030");          // without ":xnack-"
}

TEST(HsaLibrary, OtherLibrariesAreNotTakenForIt) {
  void* const loaded = dlopen("libhsa-runtime64.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (loaded != nullptr) GTEST_SKIP() << "this process has loaded it";
  EXPECT_EQ(loaded_hsa_function("malloc"), nullptr);
  const auto library = HsaLibrary::load();
  ASSERT_FALSE(library);
  EXPECT_EQ(library.error().status, Status::kUnsupported);
  EXPECT_THAT(library.error().message, HasSubstr("the process has no libhsa-runtime64"));
}

TEST(HipLibrary, RefusesTableWithoutRequiredCall) {
  FakeHip fake;
  HipTable table = fake.table();
  table.hipModuleLaunchKernel = nullptr;
  const auto library = HipLibrary::from_table(table, "some library");
  ASSERT_FALSE(library);
  EXPECT_EQ(library.error().status, Status::kUnsupported);
  EXPECT_THAT(library.error().message, HasSubstr("hipModuleLaunchKernel"));
}

TEST(HipLibrary, AcceptsTableWithoutGraphs) {
  FakeHip fake;
  HipTable table = fake.table();
  table.hipGraphInstantiate = nullptr;
  const auto library = HipLibrary::from_table(table, "some library");
  ASSERT_TRUE(library);
  EXPECT_FALSE((*library)->has_graphs());
}

TEST(HipLibrary, NamesThePackageOfTheRecordedRuntime) {
  EXPECT_EQ(hip_package(50'221'153), "libamdhip64-5");
  EXPECT_EQ(hip_package(60'443'483), "libamdhip64-6");
  EXPECT_EQ(hip_package(70'200'000), "libamdhip64-7");
  for (const int unknown : {0, -1, 40'500'000, 80'000'000}) {
    EXPECT_EQ(hip_package(unknown), "libamdhip64-7, libamdhip64-6 or libamdhip64-5") << unknown;
  }
}

TEST(HipLibrary, RefusesDeviceThatIsNotThere) {
  FakeHip fake;
  const auto device = fake.library()->select_device(3);
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().status, Status::kDevice);
}

TEST(HipLibrary, ErrorsCarryHipsNameAndAStatus) {
  FakeHip fake;
  const auto library = fake.library();
  EXPECT_EQ(library->error(2, "buffer").status, Status::kOutOfMemory);
  EXPECT_EQ(library->error(500, "kernel").status, Status::kNotFound);
  EXPECT_EQ(library->error(1, "x").status, Status::kDevice);
  EXPECT_THAT(library->error(2, "buffer 3").message,
              HasSubstr("buffer 3: hipErrorOutOfMemory (2)"));
}

// Debian's real runtime must have every REQUIRED row; nothing is called.
TEST(HipLibrary, InstalledRuntimeHasTheTable) {
  void* const handle = dlopen("libamdhip64.so.5", RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) GTEST_SKIP() << "libamdhip64.so.5 is not installed";
  enum Requirement { REQUIRED, OPTIONAL };
#define GFXGRAPH_HIP_SYMBOL(requirement, result, name, arguments) \
  EXPECT_TRUE(requirement == OPTIONAL || dlsym(handle, #name) != nullptr) << #name;
#include "replayer/abi/hip_symbols.inc"
#undef GFXGRAPH_HIP_SYMBOL
}

}  // namespace
}  // namespace gfxgraph::replayer::testing
