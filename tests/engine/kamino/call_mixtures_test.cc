// Every sequence of up to three calls on one object, with stores through the
// pointers that Write returned in between or at the end, against a model that
// is independent of the store's way to execute them.
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/engine/kamino/fixture.h"

namespace kamino::engine {
namespace {

struct Part {
  uint32_t offset;
  uint32_t length;
};
// Within a word, side by side in one, over two, and over a line's end.
constexpr std::array<Part, 5> kParts = {
    {{0, 4}, {4, 4}, {2, 8}, {60, 8}, {0, 0}}};

// Calls are numbered: those on parts, then the rest.
constexpr int kWrite = 0;
constexpr int kOverwrite = kWrite + static_cast<int>(kParts.size());
constexpr int kRead = kOverwrite + static_cast<int>(kParts.size());
constexpr int kStoreFirst = kRead + 1;  // through the first pointer
constexpr int kStoreLast = kRead + 2;
constexpr int kFree = kRead + 3;
constexpr int kNothing = kRead + 4;  // shorter sequences
constexpr int kCalls = kRead + 5;

constexpr size_t kSize = 100;

class Mixture {
 public:
  Mixture(StoreUnderTest* under, ObjectId id, std::string content)
      : under_(*under),
        transaction_(under->Begin()),
        id_(id),
        content_(std::move(content)) {}

  void MakeNew() {
    auto id = transaction_->Alloc(kSize);
    ASSERT_TRUE(id.ok()) << id.status();
    id_ = *id;
    content_.assign(transaction_->write_set().back().length, '\0');
  }

  void Do(int call) {
    if (call == kNothing || freed_) return;
    if (call == kRead) {
      auto bytes = transaction_->Read(id_);
      ASSERT_TRUE(bytes.ok()) << bytes.status();
      EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes->data()),
                            bytes->size()),
                content_);
    } else if (call == kStoreFirst || call == kStoreLast) {
      StoreThrough(call == kStoreFirst ? 0 : pointers_.size() - 1);
    } else if (call == kFree) {
      ASSERT_TRUE(transaction_->Free(id_).ok());
      freed_ = true;
    } else if (call < kOverwrite) {
      const Part& part = kParts[call - kWrite];
      auto bytes = transaction_->Write(id_, part.offset, part.length);
      ASSERT_TRUE(bytes.ok()) << bytes.status();
      pointers_.push_back({part, *bytes});
    } else {
      const Part& part = kParts[call - kOverwrite];
      const std::string fresh(part.length, next_++);
      ASSERT_TRUE(
          transaction_
              ->Overwrite(id_, part.offset,
                          {reinterpret_cast<const std::byte*>(fresh.data()),
                           fresh.size()})
              .ok());
      content_.replace(part.offset, part.length, fresh);
    }
  }
  void StoreThroughAll() {
    for (size_t i = 0; i < pointers_.size() && !freed_; ++i) StoreThrough(i);
  }

  Transaction& transaction() { return *transaction_; }
  ObjectId id() const { return id_; }
  bool freed() const { return freed_; }
  const std::string& content() const { return content_; }

 private:
  struct Pointer {
    Part part;
    std::byte* bytes;
  };

  void StoreThrough(size_t which) {
    if (which >= pointers_.size()) return;
    const auto& [part, bytes] = pointers_[which];
    std::memset(bytes, next_, part.length);
    content_.replace(part.offset, part.length, part.length, next_++);
  }

  StoreUnderTest& under_;
  std::unique_ptr<Transaction> transaction_;
  ObjectId id_;
  std::string content_;
  bool freed_ = false;
  std::vector<Pointer> pointers_;
  char next_ = 'A';
};

class CallMixturesTest : public ::testing::TestWithParam<Scheme> {
 protected:
  enum class End { kCommit, kStoreAndCommit, kStoreAndAbort };

  ObjectId Fresh() {
    const ObjectId id = under_.Make(std::string(kSize, 'o'));
    old_ = under_.Text(id, under_.heap().Payload(id)->size());
    return id;
  }

  // Leaves an object as it was, or another one like it.
  void Try(const std::array<int, 3>& calls, bool is_new, End end) {
    if (object_ == kNullObject) object_ = Fresh();
    Mixture mixture(&under_, object_, old_);
    if (is_new) mixture.MakeNew();
    for (int call : calls) mixture.Do(call);
    if (end != End::kCommit) mixture.StoreThroughAll();
    const absl::Status ended = end == End::kStoreAndAbort
                                   ? mixture.transaction().Abort()
                                   : mixture.transaction().Commit();
    ASSERT_TRUE(ended.ok()) << ended;
    const bool commits = end != End::kStoreAndAbort;
    under_.Propagate();
    if (is_new ? !commits || mixture.freed() : commits && mixture.freed()) {
      EXPECT_FALSE(under_.heap().Payload(mixture.id()).ok());
      if (!is_new) object_ = kNullObject;
      return;
    }
    Check(mixture.id(), commits ? mixture.content() : old_);
    if (is_new) {
      auto transaction = under_.Begin();
      ASSERT_TRUE(transaction->Free(mixture.id()).ok());
      ASSERT_TRUE(transaction->Commit().ok());
      under_.Propagate();
    } else if (commits) {
      old_ = mixture.content();
    }
  }

  // In the heap, durably, and in the undo copy, from which an abort restores
  // it.
  void Check(ObjectId id, const std::string& content) {
    EXPECT_EQ(under_.Text(id, content.size()), content);
    EXPECT_EQ(std::memcmp(under_.heap_region().durable() + id, content.data(),
                          content.size()),
              0);
    auto transaction = under_.Begin();
    auto bytes = transaction->Write(id, 0, content.size());
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    std::memset(*bytes, '#', content.size());
    ASSERT_TRUE(transaction->Abort().ok());
    EXPECT_EQ(under_.Text(id, content.size()), content);
  }

  StoreUnderTest under_{GetParam()};
  ObjectId object_ = kNullObject;
  std::string old_;
};

TEST_P(CallMixturesTest, EveryPairAndTripleOfCallsMatchesTheModel) {
  std::array<int, 3> calls;
  for (calls[0] = 0; calls[0] < kCalls; ++calls[0]) {
    for (calls[1] = 0; calls[1] < kCalls; ++calls[1]) {
      for (calls[2] = 0; calls[2] < kCalls; ++calls[2]) {
        for (const bool is_new : {false, true}) {
          for (const End end :
               {End::kCommit, End::kStoreAndCommit, End::kStoreAndAbort}) {
            Try(calls, is_new, end);
            ASSERT_FALSE(HasFailure())
                << "calls " << calls[0] << ", " << calls[1] << ", " << calls[2]
                << (is_new ? " on a new object" : "") << ", end "
                << static_cast<int>(end);
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Schemes, CallMixturesTest,
                         ::testing::ValuesIn(kAllSchemes), SchemeName);

}  // namespace
}  // namespace kamino::engine
