// The engine of debug builds (//engine:instrumented).
#include <cstring>
#include <random>

#include "gtest/gtest.h"
#include "tests/engine/kamino/fixture.h"

namespace kamino::engine {
namespace {

constexpr char kFound[] = "was changed without an intent";
constexpr uint32_t kBytes = 512;

class IntentCheckTest : public ::testing::TestWithParam<Scheme> {
 protected:
  IntentCheckTest()
      : store_(GetParam()), id_(store_.Make(std::string(kBytes, 'x'))) {}

  // Declares bytes [100, 200), but stores to the one at `at`.
  void StoreAt(uint32_t at, bool commit) {
    auto transaction = store_.Begin();
    std::byte* const bytes = *transaction->Write(id_, 100, 100);
    bytes[static_cast<ptrdiff_t>(at) - 100] = std::byte{1};
    EXPECT_TRUE((commit ? transaction->Commit() : transaction->Abort()).ok());
    store_.Propagate();
  }

  // Stores through the bytes that Read returned.
  void StoreToRead(bool commit) {
    auto transaction = store_.Begin();
    const auto bytes = *transaction->Read(id_);
    *const_cast<std::byte*>(bytes.data()) = std::byte{1};
    EXPECT_TRUE((commit ? transaction->Commit() : transaction->Abort()).ok());
    store_.Propagate();
  }

  StoreUnderTest store_;
  ObjectId id_;
};

TEST_P(IntentCheckTest, DetectsStoresOutsideTheRange) {
  for (bool commit : {true, false}) {
    for (uint32_t at : {0u, 99u, 200u, kBytes - 1}) {
      EXPECT_DEATH(StoreAt(at, commit), kFound) << at;
    }
  }
  for (uint32_t at : {100u, 199u}) StoreAt(at, true);
}

TEST_P(IntentCheckTest, DetectsStoresThroughReadPointers) {
  EXPECT_DEATH(StoreToRead(true), kFound);
  EXPECT_DEATH(StoreToRead(false), kFound);
}

// Ranges that touch, overlap and contain each other, by both ways to write, of
// objects that were read before.
TEST_P(IntentCheckTest, AcceptsStoresWithinTheirIntents) {
  std::mt19937 random(1);
  const std::vector<std::byte> content(kBytes, std::byte{7});
  for (int i = 0; i < 300; ++i) {
    auto transaction = store_.Begin();
    ASSERT_TRUE(transaction->Read(id_).ok());
    for (uint32_t range = random() % 4; range > 0; --range) {
      const uint32_t offset = random() % kBytes;
      const uint32_t length = random() % (kBytes - offset);
      if (random() % 2 == 0) {
        std::memset(*transaction->Write(id_, offset, length), i, length);
        continue;
      }
      const auto bytes = absl::MakeConstSpan(content).first(length);
      ASSERT_TRUE(transaction->Overwrite(id_, offset, bytes).ok());
    }
    const ObjectId other = *transaction->Alloc(kBytes);
    std::memset(*transaction->Write(other, 0, kBytes), i, kBytes);
    if (random() % 2 == 0) {
      ASSERT_TRUE(transaction->Free(id_).ok());
      id_ = other;
    } else {
      ASSERT_TRUE(transaction->Free(other).ok());
    }
    ASSERT_TRUE(transaction->Commit().ok());
    store_.Propagate();
  }
}

INSTANTIATE_TEST_SUITE_P(Schemes, IntentCheckTest,
                         ::testing::ValuesIn(kAllSchemes), SchemeName);

}  // namespace
}  // namespace kamino::engine
