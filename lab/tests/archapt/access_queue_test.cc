// Archapt's assumptions about the cache.
#include "lab/archapt/access_queue.h"

#include <vector>

#include "gtest/gtest.h"

namespace kamino::engine {
namespace {

constexpr uint32_t kBytes = 240;  // four lines
constexpr ObjectId kA = 64, kB = 640, kC = 6400;

TEST(AccessQueueTest, TheLeastRecentlyUsedObjectOverflows) {
  AccessQueue queue(2 * 256);
  queue.Touch({kA, kBytes});
  queue.Touch({kB, kBytes});
  EXPECT_EQ(queue.TakeOverflow(), kNullObject);
  EXPECT_EQ(queue.bytes(), 512u);
  queue.Touch({kA, kBytes});
  queue.Touch({kC, kBytes});
  EXPECT_EQ(queue.TakeOverflow(), kB);
  EXPECT_EQ(queue.TakeOverflow(), kNullObject);
  EXPECT_EQ(queue.bytes(), 512u);
  queue.Touch({kB, kBytes});
  EXPECT_EQ(queue.TakeOverflow(), kA);
}

TEST(AccessQueueTest, TheLastAccessSetsTheSize) {
  AccessQueue queue(1024);
  queue.Touch({kA, kBytes});
  queue.Touch({kA, 48});
  EXPECT_EQ(queue.bytes(), 64u);
}

TEST(AccessQueueTest, ARemovedObjectDoesNotOverflow) {
  AccessQueue queue(0);
  for (const ObjectId id : {kA, kB, kC}) queue.Touch({id, kBytes});
  queue.Remove(kB);
  queue.Remove(kB);
  EXPECT_EQ(queue.TakeOverflow(), kA);
  EXPECT_EQ(queue.TakeOverflow(), kC);
  EXPECT_EQ(queue.TakeOverflow(), kNullObject);
  EXPECT_EQ(queue.bytes(), 0u);
}

std::vector<ObjectId> TakeIds(AccessNotes* notes) {
  std::vector<Access> accesses;
  notes->Take(&accesses);
  std::vector<ObjectId> ids;
  for (const Access& access : accesses) ids.push_back(access.id);
  return ids;
}

TEST(AccessNotesTest, NotesAreTakenOnceAndInOrder) {
  AccessNotes notes;
  EXPECT_TRUE(notes.empty());
  notes.Add({kB, kBytes});
  notes.Add({kA, 1});
  // Both are known already.
  notes.Add({kB, kBytes});
  EXPECT_FALSE(notes.empty());
  std::vector<Access> accesses;
  notes.Take(&accesses);
  ASSERT_EQ(accesses.size(), 2u);
  EXPECT_EQ(accesses[0].id, kB);
  EXPECT_EQ(accesses[0].bytes, 256u);  // in whole lines
  EXPECT_EQ(accesses[1].id, kA);
  EXPECT_EQ(accesses[1].bytes, 64u);
  EXPECT_TRUE(notes.empty());
  EXPECT_TRUE(TakeIds(&notes).empty());
  // That was another time.
  notes.Add({kB, kBytes});
  EXPECT_EQ(TakeIds(&notes), std::vector<ObjectId>{kB});
}

TEST(AccessNotesTest, TheLastNotesAreKept) {
  AccessNotes notes;
  constexpr uint64_t kMany = 10000;
  for (uint64_t i = 1; i <= kMany; ++i) notes.Add({64 * i, kMaxObjectBytes});
  const auto ids = TakeIds(&notes);
  ASSERT_EQ(ids.size(), 4096u);
  EXPECT_EQ(ids.front(), 64 * (kMany - 4095));
  EXPECT_EQ(ids.back(), 64 * kMany);
  EXPECT_TRUE(notes.empty());
}

}  // namespace
}  // namespace kamino::engine
