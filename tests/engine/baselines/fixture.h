// A store of any scheme on a file, for tests that hold for all of them. They
// are in libraries (*_suite.cc): a program links them and says for which
// schemes.
#ifndef KAMINO_TESTS_ENGINE_BASELINES_FIXTURE_H_
#define KAMINO_TESTS_ENGINE_BASELINES_FIXTURE_H_

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "engine/baselines/open_store.h"
#include "gtest/gtest.h"
#include "tests/patience.h"

namespace kamino::engine {

inline constexpr size_t kStoreBytes = 32u << 20;

// The schemes that a program tests; each program defines it.
std::vector<std::string> SchemesToTest();

inline std::string TestNameOf(
    const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

class StoreTest : public ::testing::TestWithParam<std::string> {
 protected:
  explicit StoreTest(size_t bytes = kStoreBytes)
      : bytes_(bytes),
        path_(absl::StrCat(::testing::TempDir(), "/store.", getpid())) {
    RemoveStore(path_);
    Open(/*fresh=*/true);
  }
  ~StoreTest() override {
    store_.reset();
    RemoveStore(path_);
  }

  void Open(bool fresh) {
    StoreOptions options;
    // Tests can count on a file system only, whose sync is slow.
    options.mode = PmemMode::kForce;
    options.fresh = fresh;
    auto store = OpenStore(GetParam(), path_, bytes_, options);
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = std::move(*store);
  }

  void Reopen() {
    store_.reset();
    Open(/*fresh=*/false);
  }

  bool atomic() const { return GetParam() != "unsafe"; }

  // For transactions one after the other.
  std::unique_ptr<Transaction> Begin() {
    // Where copies are made later, transactions must not be faster than they.
    constexpr int kFewerThanLogSlots = 32;
    if (++begun_ % kFewerThanLogSlots == 0) store_->Quiesce();
    return store_->Begin(Patience(absl::Seconds(30)));
  }

  // Commits what `body` does; aborts when it fails.
  absl::Status Run(absl::FunctionRef<absl::Status(Transaction&)> body) {
    auto transaction = Begin();
    absl::Status done = body(*transaction);
    if (done.ok()) {
      CommitOptions options;
      options.durable_at = &durable_at_;
      return transaction->Commit(options);
    }
    EXPECT_TRUE(transaction->Abort().ok());
    return done;
  }

  static absl::Span<const std::byte> BytesOf(const std::string& text) {
    return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
  }

  static absl::Status Put(Transaction& transaction, ObjectId id,
                          const std::string& text, uint32_t offset = 0) {
    auto bytes = transaction.Write(id, offset, text.size());
    if (!bytes.ok()) return bytes.status();
    std::memcpy(*bytes, text.data(), text.size());
    return absl::OkStatus();
  }

  static std::string Get(Transaction& transaction, ObjectId id, size_t length) {
    auto bytes = transaction.Read(id);
    if (!bytes.ok()) return std::string(bytes.status().message());
    return {reinterpret_cast<const char*>(bytes->data()),
            std::min(length, bytes->size())};
  }

  // A committed object that holds `text`.
  ObjectId Make(const std::string& text) {
    ObjectId id = kNullObject;
    absl::Status made = Run([&](Transaction& transaction) {
      auto made = transaction.Alloc(text.size());
      if (!made.ok()) return made.status();
      id = *made;
      return Put(transaction, id, text);
    });
    EXPECT_TRUE(made.ok()) << made;
    return id;
  }

  std::string Text(ObjectId id, size_t length) {
    return Get(*Begin(), id, length);
  }
  absl::StatusCode CodeOf(ObjectId id) {
    return Begin()->Read(id).status().code();
  }

  // The durable_at of the last Run.
  uint64_t durable_at_ = 0;
  const size_t bytes_;
  const std::string path_;
  std::unique_ptr<TransactionalStore> store_;

 private:
  int begun_ = 0;
};

}  // namespace kamino::engine

#endif  // KAMINO_TESTS_ENGINE_BASELINES_FIXTURE_H_
