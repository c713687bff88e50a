// A check of the chain's state finds damage, and reports none where there is
// none; it ends, whatever the bytes are.
#include "replica/state/state_check.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/heap/heap_format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kamino/internal/v1/operation.pb.h"
#include "kamino/v1/kamino.pb.h"
#include "replica/builtins.h"
#include "replica/state/state_machine.h"
#include "tests/engine/kamino/fixture.h"

namespace kamino::replica {
namespace {

using engine::ObjectId;
using engine::Scheme;
using engine::StoreUnderTest;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class StateCheckTest : public ::testing::Test {
 protected:
  StateCheckTest()
      : under_(Scheme::kSimple), state_(&registry_, under_.heap().root()) {
    Mutation format;
    format.function = kFormatFunction;
    Execute(format);
    kamino::internal::v1::OpenSession open;
    open.set_session_id(5);
    open.set_window(4);
    open.set_lease_ms(1000);
    Mutation session;
    session.function = kOpenSessionFunction;
    session.arguments = open.SerializeAsString();
    Execute(session);
    for (int i = 0; i < 400; ++i) {
      Put(absl::StrCat("key", 1000 + i * 7919 % 400),
          std::string(static_cast<size_t>(i % 90), 'v'));
    }
  }

  void Execute(const Mutation& request) {
    auto transaction = under_.Begin();
    auto done = state_.Execute(*transaction, request, ++sequence_);
    ASSERT_TRUE(done.ok()) << done.status();
    ASSERT_TRUE(transaction->Commit().ok());
    state_.Ended(true);
    under_.Propagate();
  }

  void Put(const std::string& key, const std::string& value) {
    kamino::v1::PutRequest put;
    put.set_key(key);
    put.set_value(value);
    Mutation request;
    request.function = kPutFunction;
    request.arguments = put.SerializeAsString();
    request.client_id = 1 + sequence_ % 20;
    request.number = sequence_;
    Execute(request);
  }

  CheckedState Check() {
    findings_.clear();
    auto layout = engine::ReadHeapLayout(under_.heap().region());
    EXPECT_TRUE(layout.ok()) << layout.status();
    engine::CheckedBlocks blocks(under_.heap().region(), layout->objects_begin,
                                 layout->objects_end);
    const engine::Finding found = [this](uint64_t offset,
                                         const std::string& what) {
      findings_.push_back(absl::StrCat(offset, ": ", what));
    };
    blocks.Walk(found);
    const CheckedState state =
        CheckState(&blocks, layout->root, found,
                   [this](const engine::CheckedRecord& object) {
                     newest_ = std::max(newest_, object.version);
                   });
    blocks.VisitUnreached([&](ObjectId id, uint64_t) {
      found(id, absl::StrCat("nothing leads to object ", id));
    });
    return state;
  }

  std::byte* base() { return under_.heap().region()->base(); }
  size_t size() { return under_.heap().region()->size(); }

  // The first place of these bytes behind `from`.
  size_t Find(absl::string_view bytes, size_t from = 0) {
    const absl::string_view all(reinterpret_cast<const char*>(base()), size());
    return all.find(bytes, from);
  }

  ProcedureRegistry registry_;
  StoreUnderTest under_;
  StateMachine state_;
  uint64_t sequence_ = 0;
  uint64_t newest_ = 0;  // version
  std::vector<std::string> findings_;
};

TEST_F(StateCheckTest, FindsNothingInASoundState) {
  const CheckedState state = Check();
  EXPECT_THAT(findings_, IsEmpty());
  EXPECT_TRUE(state.formatted);
  EXPECT_FALSE(state.restoring);
  EXPECT_EQ(state.objects.records, 400u);
  EXPECT_EQ(newest_, sequence_);
  EXPECT_EQ(state.clients.records, 20u);
  EXPECT_EQ(state.sessions.records, 1u);
  EXPECT_GT(state.objects.pages, 3u);
}

TEST_F(StateCheckTest, FindsAnUnreachableObject) {
  auto transaction = under_.Begin();
  ASSERT_TRUE(transaction->Alloc(100).ok());
  ASSERT_TRUE(transaction->Commit().ok());
  under_.Propagate();
  Check();
  ASSERT_EQ(findings_.size(), 1u);
  EXPECT_THAT(findings_[0], HasSubstr("nothing leads to"));
}

TEST_F(StateCheckTest, FindsAKeyInTheWrongPlace) {
  // Keys are in pages only.
  const size_t key = Find("key1200");
  ASSERT_NE(key, absl::string_view::npos);
  std::memcpy(base() + key, "zzz", 3);
  Check();
  EXPECT_FALSE(findings_.empty());
}

TEST_F(StateCheckTest, FindsADamagedHeader) {
  ObjectId id = under_.heap().root();
  auto* const header = engine::heap_format::HeaderOf(base(), id);
  header->word ^= uint64_t{1} << 50;
  Check();
  EXPECT_THAT(findings_[0], HasSubstr("no valid block header"));
}

TEST_F(StateCheckTest, EndsOnRandomBytes) {
  const std::vector<std::byte> good(base(), base() + size());
  std::mt19937_64 random(7);
  const size_t begin = under_.heap().objects_begin();
  const size_t used = under_.heap().stats().bytes_used + begin;
  uint64_t noticed = 0;
  constexpr int kRounds = 300;
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t changes = uint64_t{1} << random() % 10;
    for (uint64_t i = 0; i < changes; ++i) {
      const size_t place = begin + random() % (used - begin);
      base()[place] = static_cast<std::byte>(random());
    }
    Check();
    if (!findings_.empty()) ++noticed;
    std::memcpy(base(), good.data(), good.size());
  }
  // Damage within values goes unnoticed.
  EXPECT_GT(noticed, kRounds / 2u);
  Check();
  EXPECT_THAT(findings_, IsEmpty());
}

}  // namespace
}  // namespace kamino::replica
