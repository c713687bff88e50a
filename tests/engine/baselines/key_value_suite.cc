// The index on every scheme: random operations against a model.
#include <map>
#include <random>
#include <string>
#include <utility>

#include "engine/index/btree.h"
#include "engine/index/key_value.h"
#include "gtest/gtest.h"
#include "tests/engine/baselines/fixture.h"

namespace kamino::engine {
namespace {

using Model = std::map<std::string, std::string>;

class KeyValueTest : public StoreTest {
 protected:
  // libpmemobj keeps several chunks of 256 KiB for every class of sizes.
  KeyValueTest() : StoreTest(128u << 20) {
    absl::Status made = Run([this](Transaction& transaction) {
      auto tree = BTree::Create(transaction);
      if (!tree.ok()) return tree.status();
      tree_ = *tree;
      std::string id(reinterpret_cast<const char*>(&tree_), sizeof(tree_));
      return Put(transaction, store_->root(), id);
    });
    EXPECT_TRUE(made.ok()) << made;
  }

  uint64_t Random(uint64_t bound) { return random_() % bound; }

  // Keys of all lengths, most of which exist.
  std::string RandomKey() {
    const uint64_t number = Random(400);
    return absl::StrCat(std::string(number % 7 == 0 ? 200 : 3, 'k'), number);
  }

  // The same operation on tree and model.
  absl::Status Operate(KeyValue& objects, Model* model) {
    const std::string key = RandomKey();
    const auto found = model->find(key);
    const uint64_t kind = Random(10);
    ++version_;
    if (kind < 6) {
      const size_t length = Random(8) == 0 ? Random(20000) : Random(300);
      const std::string value(length, static_cast<char>('a' + Random(26)));
      (*model)[key] = value;
      return objects.Put(key, value, version_);
    }
    if (kind < 7 && found != model->end() && !found->second.empty()) {
      const size_t at = Random(found->second.size());
      found->second[at] = '#';
      return objects.Patch(key, at, "#", version_);
    }
    const absl::Status deleted = objects.Delete(key, version_);
    EXPECT_EQ(absl::IsNotFound(deleted), found == model->end()) << deleted;
    if (found == model->end()) return absl::OkStatus();
    model->erase(found);
    return deleted;
  }

  void ExpectHolds(const Model& model) {
    auto transaction = Begin();
    KeyValueReader objects(transaction.get(), tree_);
    Model found;
    const absl::Status scanned = objects.Scan(
        "", "", /*limit=*/0,
        [&](absl::string_view key, const KeyValueReader::Entry& entry) {
          found[std::string(key)] = std::string(entry.value);
          return true;
        });
    ASSERT_TRUE(scanned.ok()) << scanned;
    ASSERT_EQ(found.size(), model.size());
    for (const auto& [key, value] : model) {
      ASSERT_EQ(found[key], value) << key;
      auto entry = objects.Get(key);
      ASSERT_TRUE(entry.ok()) << entry.status();
      ASSERT_EQ(entry->value, value);
    }
  }

  // Transactions of a few operations each; some are aborted.
  void RunTransactions(int count, Model* model) {
    for (int i = 0; i < count; ++i) {
      auto transaction = Begin();
      KeyValue objects(transaction.get(), tree_);
      Model changed = *model;
      const uint64_t operations = 1 + Random(8);
      for (uint64_t n = 0; n < operations; ++n) {
        const absl::Status done = Operate(objects, &changed);
        ASSERT_TRUE(done.ok()) << done;
      }
      if (!atomic() || Random(5) != 0) {
        const absl::Status committed = transaction->Commit();
        ASSERT_TRUE(committed.ok()) << committed;
        *model = std::move(changed);
      } else {
        ASSERT_TRUE(transaction->Abort().ok());
      }
      if (i % 100 == 0) ExpectHolds(*model);
    }
  }

  // Everything is deleted, which merges pages.
  void DeleteAll(Model* model) {
    while (!model->empty()) {
      const absl::Status done = Run([&](Transaction& transaction) {
        KeyValue objects(&transaction, tree_);
        absl::Status deleted;
        for (int n = 0; n < 5 && !model->empty() && deleted.ok(); ++n) {
          deleted = objects.Delete(model->begin()->first, ++version_);
          model->erase(model->begin());
        }
        return deleted;
      });
      ASSERT_TRUE(done.ok()) << done;
    }
  }

  ObjectId tree_ = kNullObject;
  uint64_t version_ = 0;
  std::mt19937_64 random_{1};
};

INSTANTIATE_TEST_SUITE_P(Schemes, KeyValueTest,
                         ::testing::ValuesIn(SchemesToTest()), TestNameOf);

TEST_P(KeyValueTest, AgreesWithAMap) {
  Model model;
  store_->Quiesce();
  const uint64_t before = store_->bytes_used();
  RunTransactions(500, &model);
  ASSERT_FALSE(HasFatalFailure());
  EXPECT_GT(model.size(), 100u);
  Reopen();
  ExpectHolds(model);
  RunTransactions(100, &model);
  ASSERT_FALSE(HasFatalFailure());
  ExpectHolds(model);
  DeleteAll(&model);
  ExpectHolds({});
  store_->Quiesce();
  // All pages except the root are released.
  if (GetParam() != "kamino-dynamic") {
    EXPECT_EQ(store_->bytes_used(), before);
  }
}

}  // namespace
}  // namespace kamino::engine
