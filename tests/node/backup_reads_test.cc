#include "node/backup_reads.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "engine/heap/heap_reader.h"
#include "engine/index/key_value.h"
#include "gtest/gtest.h"
#include "proto/backup_records.h"
#include "tests/engine/kamino/fixture.h"

namespace kamino::node {
namespace {

class BackupReadsTest : public ::testing::Test {
 protected:
  BackupReadsTest()
      : under_(engine::Scheme::kSimpleLater), reader_(&under_.heap()) {
    auto transaction = under_.Begin();
    root_ = *engine::BTree::Create(*transaction);
    EXPECT_TRUE(transaction->Commit().ok());
    under_.Propagate();
  }

  void Put(const std::string& key, const std::string& value) {
    auto transaction = under_.Begin();
    engine::KeyValue objects(transaction.get(), root_);
    ASSERT_TRUE(objects.Put(key, value, ++version_).ok());
    ASSERT_TRUE(transaction->Commit().ok());
    under_.Propagate();
    AppendBackupRecord({key, value, version_}, &expected_);
  }

  // All of it, in how many steps.
  std::string ReadAll(int* steps, uint64_t* objects) {
    BackupCursor cursor;
    std::string records;
    engine::KeyValueReader reader(&reader_, root_);
    for (*steps = 0; !cursor.done; ++*steps) {
      const size_t before = records.size();
      const uint64_t had = cursor.objects;
      absl::Status read = ReadBackupStep(reader, &cursor, &records);
      EXPECT_TRUE(read.ok()) << read;
      if (!read.ok()) break;
      EXPECT_LE(cursor.objects - had, kBackupStepObjects);
      // Its last object may go over.
      EXPECT_LE(records.size() - before,
                kBackupStepBytes + engine::kMaxValueBytes + 2048);
    }
    *objects = cursor.objects;
    return records;
  }

  engine::StoreUnderTest under_;
  engine::HeapReader reader_;
  engine::ObjectId root_ = engine::kNullObject;
  uint64_t version_ = 0;
  std::string expected_;
};

TEST_F(BackupReadsTest, NoObjectsTakeOneStep) {
  int steps = 0;
  uint64_t objects = 0;
  EXPECT_EQ(ReadAll(&steps, &objects), "");
  EXPECT_EQ(steps, 1);
  EXPECT_EQ(objects, 0u);
}

TEST_F(BackupReadsTest, ReadsEachObjectOnceAndInOrder) {
  // One object more than a step takes, and a key that is a prefix of another.
  for (size_t i = 0; i <= kBackupStepObjects; ++i) {
    Put(absl::StrCat("k", 10000 + i), "");
  }
  Put(absl::StrCat("k", 10000 + kBackupStepObjects, "a"), "value");
  int steps = 0;
  uint64_t objects = 0;
  EXPECT_EQ(ReadAll(&steps, &objects), expected_);
  EXPECT_EQ(steps, 2);
  EXPECT_EQ(objects, kBackupStepObjects + 2);
}

TEST_F(BackupReadsTest, StepsAreBoundedByBytes) {
  for (int i = 0; i < 4; ++i) {
    Put(absl::StrCat("k", i), std::string(kBackupStepBytes / 2, 'v'));
  }
  int steps = 0;
  uint64_t objects = 0;
  EXPECT_EQ(ReadAll(&steps, &objects), expected_);
  EXPECT_EQ(objects, 4u);
  EXPECT_EQ(steps, 3);  // the last one finds that there is nothing more
}

}  // namespace
}  // namespace kamino::node
