// Recovery where several transactions were unfinished at once.
#include <cstring>
#include <string>

#include "gtest/gtest.h"
#include "tests/engine/kamino/fixture.h"

namespace kamino::engine {
namespace {

constexpr uint32_t kLarge = 700 << 10;

class RecoveryTest : public ::testing::TestWithParam<Scheme> {
 protected:
  RecoveryTest() : under_(GetParam()) {}

  void Overwrite(Transaction& transaction, ObjectId id,
                 const std::string& text) {
    auto bytes = transaction.Write(id, 0, text.size());
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    std::memcpy(*bytes, text.data(), text.size());
  }

  StoreUnderTest under_;
};

// Making a copy of a new object may cost another object's; never one that
// another slot has to be rolled back with.
TEST_P(RecoveryTest, RollingForwardDoesNotEvictWhatRollingBackNeeds) {
  under_.Make(std::string(kLarge, 'a'));
  under_.Make(std::string(kLarge, 'b'));
  const ObjectId id = under_.Make(std::string(kLarge, 'c'));

  auto committed = under_.Begin();
  const ObjectId made = *committed->Alloc(1 << 20);
  Overwrite(*committed, made, "new");
  ASSERT_TRUE(committed->Commit().ok());
  auto running = under_.Begin();
  Overwrite(*running, id, "torn");

  StoreUnderTest after(GetParam(), under_.heap_region().CrashImage(1),
                       under_.backup_region().CrashImage(1));
  const absl::Status recovered = after.Recover();
  ASSERT_TRUE(recovered.ok()) << recovered;
  EXPECT_EQ(after.Text(id, 4), "cccc");
  EXPECT_EQ(after.Text(made, 3), "new");
}

INSTANTIATE_TEST_SUITE_P(Schemes, RecoveryTest,
                         ::testing::ValuesIn(kAllSchemes), SchemeName);

}  // namespace
}  // namespace kamino::engine
