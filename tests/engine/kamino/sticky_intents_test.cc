#include "engine/kamino/sticky_intents.h"

#include <algorithm>
#include <vector>

#include "engine/kamino/commit_log_format.h"
#include "engine/pmem/sim_region.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kamino::engine {
namespace {

using ::testing::Contains;
using ::testing::Not;

constexpr size_t kAreaBytes = 16u << 10;
constexpr ObjectId kFirst = 64;

class StickyIntentsTest : public ::testing::Test {
 protected:
  // Entries for more objects than there is room for.
  void Fill() {
    const size_t room =
        commit_log_format::TableBytes(kAreaBytes) / sizeof(ObjectId);
    for (size_t i = 0; i < 2 * room; ++i) {
      ASSERT_NE(sticky_.Add(next_), StickyIntents::Added::kNoRoom);
      region_.Drain();
      sticky_.Drained(next_);
      next_ += 64;
    }
  }
  // The objects that recovery would find if the power failed now and took
  // everything that may be lost.
  std::vector<ObjectId> Durable() {
    SimRegion region(
        SimRegion::Image(region_.durable(), region_.durable() + kAreaBytes));
    return StickyIntents(&region, &locks_, {region.base(), kAreaBytes}).Scan();
  }

  SimRegion region_{kAreaBytes};
  LockTable locks_;
  StickyIntents sticky_{&region_, &locks_, {region_.base(), kAreaBytes}};
  ObjectId next_ = kFirst;
};

// One thread's entry has replaced another's and is not durable yet when a
// second thread gives up the copy of the replaced entry's object.
TEST_F(StickyIntentsTest, AReplacedEntryIsGoneAfterClear) {
  Fill();
  for (int i = 0; i < 100; ++i) {
    const std::vector<ObjectId> before = sticky_.Scan();
    region_.ActAs(0);
    ASSERT_EQ(sticky_.Add(next_), StickyIntents::Added::kReplaced);
    const std::vector<ObjectId> after = sticky_.Scan();
    ObjectId replaced = kNullObject;
    for (ObjectId id : before) {
      if (std::count(after.begin(), after.end(), id) == 0) replaced = id;
    }
    ASSERT_NE(replaced, kNullObject);
    ASSERT_THAT(Durable(), Contains(replaced));

    region_.ActAs(1);
    const StickyIntents::Cleared cleared = sticky_.Clear(replaced);
    EXPECT_TRUE(cleared.drain);
    if (cleared.entry != nullptr) {
      region_.Flush(cleared.entry, sizeof(*cleared.entry));
    }
    region_.Drain();
    EXPECT_THAT(Durable(), Not(Contains(replaced)));

    region_.ActAs(0);
    region_.Drain();
    sticky_.Drained(next_);
    EXPECT_FALSE(sticky_.Clear(replaced).drain);
    next_ += 64;
  }
}

// More ids than a set of the front has ways, whichever sets the hash makes: the
// ids of a set share the hash's first bits.
TEST_F(StickyIntentsTest, AFullSetOfTheFrontLosesNoIntent) {
  std::vector<ObjectId> ids;
  for (ObjectId id = kFirst; ids.size() < 9; id += 64) {
    if ((id >> 6) * 0x9e3779b97f4a7c15ull >> 52 == 7) ids.push_back(id);
  }
  for (ObjectId id : ids) {
    EXPECT_EQ(sticky_.Add(id), StickyIntents::Added::kNew);
    region_.Drain();
    EXPECT_FALSE(sticky_.Has(id));
    EXPECT_EQ(sticky_.Add(id), StickyIntents::Added::kWasThere);
    EXPECT_TRUE(sticky_.Has(id));
  }
  // The last one has taken the way of another.
  EXPECT_EQ(std::count_if(ids.begin(), ids.end(),
                          [this](ObjectId id) { return sticky_.Has(id); }),
            8);
  for (ObjectId id : ids) {
    EXPECT_EQ(sticky_.Add(id), StickyIntents::Added::kWasThere);
    EXPECT_TRUE(sticky_.Clear(id).drain);
    EXPECT_FALSE(sticky_.Has(id));
    sticky_.Forget(id);
  }
  for (ObjectId id : ids) {
    EXPECT_EQ(sticky_.Add(id), StickyIntents::Added::kNew) << id;
  }
}

// Has looks at no entry: an id leaves the front together with its entry.
TEST_F(StickyIntentsTest, TheFrontHasNoReplacedEntry) {
  const size_t room =
      commit_log_format::TableBytes(kAreaBytes) / sizeof(ObjectId);
  for (size_t i = 0; i < 4 * room; ++i, next_ += 64) {
    ASSERT_NE(sticky_.Add(next_), StickyIntents::Added::kNoRoom);
    region_.Drain();
    sticky_.Drained(next_);
    ASSERT_EQ(sticky_.Add(next_), StickyIntents::Added::kWasThere);
    ASSERT_TRUE(sticky_.Has(next_));  // in the front
  }
  const std::vector<ObjectId> there = sticky_.Scan();
  for (ObjectId id = kFirst; id < next_; id += 64) {
    if (sticky_.Has(id)) {
      EXPECT_THAT(there, Contains(id));
    }
  }
}

}  // namespace
}  // namespace kamino::engine
