// A full heap: which requests may use the space that the head reserves.
#include "head/reserve.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "glog/logging.h"
#include "gtest/gtest.h"
#include "head/admission.h"
#include "kamino/internal/v1/operation.pb.h"
#include "replica/state/restore.h"
#include "tests/head/sessions_fixture.h"

namespace kamino::head {
namespace {

using kamino::v1::CommitRequest;
using replica::ReasonOf;
using replica::RoomTaken;

// --- The rule.

TEST(ReserveRuleTest, IsAPartOfTheHeap) {
  EXPECT_EQ(ReserveBytes(0), 0u);
  EXPECT_EQ(ReserveBytes(60'000), 0u);  // no page
  EXPECT_EQ(ReserveBytes(450u << 10), 28u << 10);
  EXPECT_EQ(ReserveBytes(900u << 10), 32u << 10);
  EXPECT_EQ(ReserveBytes(engine::Heap::kMinBytes), 256u << 10);
  EXPECT_EQ(ReserveBytes(32u << 20), 1u << 20);
  EXPECT_EQ(ReserveBytes(uint64_t{1} << 40), 1u << 20);
}

replica::Mutation MutationOf(uint64_t client, const char* function,
                             std::string arguments = "") {
  replica::Mutation mutation;
  mutation.client_id = client;
  mutation.function = function;
  mutation.arguments = std::move(arguments);
  return mutation;
}

replica::Mutation Opening(uint32_t window) {
  kamino::internal::v1::OpenSession wanted;
  wanted.set_window(window);
  return MutationOf(0, replica::kOpenSessionFunction,
                    wanted.SerializeAsString());
}

TEST(ReserveRuleTest, ClassifiesRequestsByTheRoomThatTheyTook) {
  const auto use_of = [](RoomTaken room, size_t result_bytes = 0) {
    return RoomUseOf(MutationOf(1, "any"), room, result_bytes);
  };
  const RoomTaken nothing;
  EXPECT_EQ(use_of(nothing), RoomUse::kSettles);
  EXPECT_EQ(use_of(nothing, 100), RoomUse::kTakes);
  EXPECT_EQ(use_of({0, 0, true}), RoomUse::kTakes);  // in place
  EXPECT_EQ(use_of({64, 0, true}), RoomUse::kTakes);
  EXPECT_EQ(use_of({64, 64, true}), RoomUse::kTakes);
  EXPECT_EQ(use_of({0, 64, true}), RoomUse::kFrees);
  EXPECT_EQ(use_of({64, 128, true}), RoomUse::kFrees);
  EXPECT_EQ(use_of({0, 64, true}, 100), RoomUse::kTakes);
  EXPECT_EQ(use_of({0, 255, true}), RoomUse::kFrees);
  EXPECT_EQ(use_of({0, 256, true}), RoomUse::kPaysBack);
  EXPECT_EQ(use_of({1000, 1256, true}), RoomUse::kPaysBack);
  EXPECT_EQ(use_of({1000, 1256, true}, 1), RoomUse::kFrees);
  const auto own = [&nothing](const replica::Mutation& mutation) {
    return RoomUseOf(mutation, nothing, 0);
  };
  EXPECT_EQ(own(MutationOf(0, replica::kDropFunction)), RoomUse::kPaysBack);
  EXPECT_EQ(own(MutationOf(0, replica::kGiveUpRestoreFunction)),
            RoomUse::kPaysBack);
  EXPECT_EQ(own(MutationOf(0, replica::kRestoreFunction)), RoomUse::kTakes);
  EXPECT_EQ(own(Opening(kNarrowWindow)), RoomUse::kSettles);
  EXPECT_EQ(own(Opening(kNarrowWindow + 1)), RoomUse::kTakes);
}

TEST(ReserveRuleTest, LeavesRoomForRequestsThatFreeRoom) {
  const auto may_leave = [](RoomUse use, uint64_t left) {
    return MayLeave(use, left, /*kept=*/4096);
  };
  EXPECT_FALSE(may_leave(RoomUse::kTakes, 4095));
  EXPECT_TRUE(may_leave(RoomUse::kSettles, 2048));
  EXPECT_FALSE(may_leave(RoomUse::kSettles, 2047));
  EXPECT_TRUE(may_leave(RoomUse::kFrees, 1024));
  EXPECT_FALSE(may_leave(RoomUse::kFrees, 1023));
  EXPECT_TRUE(may_leave(RoomUse::kPaysBack, 0));
}

// --- Its effects.

// "KEY OTHER BYTES": deletes KEY, and puts that many bytes under OTHER.
absl::StatusOr<std::string> Swap(replica::ProcedureContext& context,
                                 absl::string_view arguments) {
  const std::vector<std::string> words = absl::StrSplit(arguments, ' ');
  RETURN_IF_ERROR(context.Delete(words[0]));
  RETURN_IF_ERROR(context.Put(words[1], std::string(std::stoi(words[2]), 's')));
  return std::string();
}

class FullHeapTest : public HeadSessionsTest {
 protected:
  FullHeapTest() {
    procedures_.Register("test.swap", Swap);
    EXPECT_TRUE(Run(Put("cron", "000", kOld, ++old_number_)).ok());
  }

  // A client with a stored outcome: another one needs no room.
  static constexpr uint64_t kOld = 1;

  // Puts of all sizes, equally many of each, until none fits.
  void Fill() {
    std::vector<size_t> sizes = {5000, 2000, 500, 100, 10};
    for (size_t i = 0; !sizes.empty(); ++i) {
      const size_t size = sizes[i % sizes.size()];
      const std::string key = absl::StrCat("f", size, "/", i);
      absl::Status status =
          Run(Put(key, std::string(size, 'x'), kOld, ++old_number_));
      if (ReasonOf(status) == kamino::v1::REASON_HEAP_FULL) {
        sizes.erase(sizes.begin() + i % sizes.size());
        continue;
      }
      ASSERT_TRUE(status.ok()) << status;
      keys_.push_back(key);
    }
  }

  // Other clients overwrite one object, until one is refused; returns how many
  // succeeded.
  int PutByNewClients() {
    for (int count = 0;; ++count) {
      const absl::Status status =
          Run(Put("cron", absl::StrCat(100 + count % 900), ++client_));
      if (status.ok()) continue;
      EXPECT_EQ(ReasonOf(status), kamino::v1::REASON_HEAP_FULL) << status;
      return count;
    }
  }

  void ExpectFull(const absl::Status& status) {
    EXPECT_EQ(ReasonOf(status), kamino::v1::REASON_HEAP_FULL) << status;
  }

  std::string TakeKey() {
    std::string key = keys_.back();
    keys_.pop_back();
    return key;
  }
  // A key with an object of that size.
  std::string TakeKey(size_t size) {
    const auto is = [size](const std::string& key) {
      return absl::StartsWith(key, absl::StrCat("f", size, "/"));
    };
    const auto found = std::find_if(keys_.begin(), keys_.end(), is);
    CHECK(found != keys_.end());
    std::string key = *found;
    keys_.erase(found);
    return key;
  }

  absl::Status DeleteByNew(const std::string& key) {
    return Run(Delete(key, ++client_));
  }
  absl::Status CommitByNew(const CommitRequest& commit) {
    return Run(Submit(replica::kCommitFunction, commit.SerializeAsString(),
                      ++client_));
  }
  absl::Status SwapByNew(const std::string& key, size_t bytes) {
    return Run(
        Submit("test.swap", absl::StrCat(key, " swapped ", bytes), ++client_));
  }

  engine::HeapReserve reserve() { return under_.heap().reserve(); }
  uint64_t FreeBytes() {
    const engine::HeapStats stats = under_.heap().stats();
    return stats.bytes_total - stats.bytes_used;
  }

  std::vector<std::string> keys_;
  uint64_t old_number_ = 0;
  uint64_t client_ = 1000;  // the last new one
};

TEST_F(FullHeapTest, RequestsThatTakeRoomLeaveTheReserve) {
  Fill();
  PutByNewClients();
  EXPECT_EQ(reserve().bytes_kept,
            ReserveBytes(under_.heap().stats().bytes_total));
  EXPECT_GE(reserve().bytes_whole, reserve().bytes_kept);
  // Nor does a client that asks repeatedly take from it bit by bit.
  for (int i = 0; i < 200; ++i) {
    ExpectFull(Run(Put(absl::StrCat("again", i), "x", ++client_)));
    ExpectFull(Run(Put("again", std::string(100, 'x'), kOld, ++old_number_)));
  }
  EXPECT_GE(reserve().bytes_whole, reserve().bytes_kept);
  // Requests that need no room succeed.
  EXPECT_TRUE(Run(Put("cron", "one", kOld, ++old_number_)).ok());
}

// The values in `status`.
TEST_F(FullHeapTest, ItsRoomIsReported) {
  const engine::HeapStats stats = under_.heap().stats();
  HeapRoom room = RoomOf(under_.heap());
  EXPECT_EQ(room.free, stats.bytes_total - stats.bytes_used);
  EXPECT_EQ(room.reserve, ReserveBytes(stats.bytes_total));
  EXPECT_EQ(room.reserve_whole, room.reserve);
  EXPECT_FALSE(room.is_full);
  Fill();
  PutByNewClients();
  room = RoomOf(under_.heap());
  EXPECT_TRUE(room.is_full);
  EXPECT_EQ(room.free, FreeBytes());
  EXPECT_EQ(room.reserve_whole, room.reserve);
  while (room.is_full) {
    ASSERT_FALSE(keys_.empty());
    ASSERT_TRUE(DeleteByNew(TakeKey(5000)).ok());
    room = RoomOf(under_.heap());
  }
  // There is a page, and so room for a client more.
  EXPECT_TRUE(Run(Put("cron", "new", ++client_)).ok());
}

TEST_F(FullHeapTest, RequestsThatFreeRoomAreExecuted) {
  Fill();
  PutByNewClients();
  EXPECT_TRUE(DeleteByNew(TakeKey(2000)).ok());
  PutByNewClients();
  CommitRequest commit;
  for (int i = 0; i < 2; ++i) {
    commit.add_then_operations()->mutable_delete_()->set_key(TakeKey(2000));
  }
  auto* put = commit.add_then_operations()->mutable_put();
  put->set_key("other");
  put->set_value(std::string(3000, 'o'));
  EXPECT_TRUE(CommitByNew(commit).ok());
  PutByNewClients();
  EXPECT_TRUE(SwapByNew(TakeKey(2000), 1000).ok());
  PutByNewClients();
  // The smallest one.
  EXPECT_TRUE(DeleteByNew(TakeKey(10)).ok());
}

TEST_F(FullHeapTest, RequestsThatTakeMoreThanTheyFreeAreRefused) {
  Fill();
  PutByNewClients();
  ExpectFull(SwapByNew(TakeKey(2000), 4000));
  CommitRequest commit;
  commit.add_then_operations()->mutable_delete_()->set_key(TakeKey(10));
  auto* put = commit.add_then_operations()->mutable_put();
  put->set_key("other");
  put->set_value(std::string(3000, 'o'));
  ExpectFull(CommitByNew(commit));
  // A result that must be stored counts as taking room as well.
  commit.Clear();
  commit.add_then_operations()->mutable_delete_()->set_key(TakeKey(10));
  commit.add_then_operations()->mutable_get()->set_key(TakeKey(5000));
  ExpectFull(CommitByNew(commit));
  EXPECT_EQ(Get("other"), "absent");
}

// Such a request in a batch does not fail the others.
TEST_F(FullHeapTest, ABatchContinuesWithoutRequestsThatTakeRoom) {
  Fill();
  PutByNewClients();
  std::vector<size_t> deletes;
  std::vector<size_t> puts;
  for (int i = 0; i < 8; ++i) {
    deletes.push_back(Delete(TakeKey(2000), ++client_));
    puts.push_back(Put("more", std::string(100, 'm'), ++client_));
  }
  for (const size_t each : deletes) EXPECT_TRUE(Run(each).ok());
  // By then there is room for these.
  for (const size_t each : puts) EXPECT_TRUE(Run(each).ok());
}

TEST_F(FullHeapTest, AClientLearnsTheOutcomeOfItsRequest) {
  Fill();
  PutByNewClients();
  // As client/settle.cc: asks whether number 1 of a new client has committed.
  CommitRequest settle;
  auto* condition = settle.add_preconditions();
  condition->set_key("mark");
  condition->set_exists(true);
  EXPECT_TRUE(CommitByNew(settle).ok());
  // As many as the reserve admits; the rest is for requests that free room.
  while (CommitByNew(settle).ok()) {
  }
  EXPECT_GE(reserve().bytes_whole, reserve().bytes_kept / 2);
  EXPECT_TRUE(DeleteByNew(TakeKey(10)).ok());
}

TEST_F(FullHeapTest, SessionsAreOpenedWithFewSlots) {
  ASSERT_TRUE(RunOpen(kSession + 1, 64).ok());
  Fill();
  PutByNewClients();
  auto session = RunOpen(kSession, 1024);
  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_EQ(session->window, kNarrowWindow);
  // It has room for its outcomes.
  EXPECT_TRUE(Run(VoidIn(kSession, 1)).ok());
  kamino::v1::DeleteRequest del;
  for (uint64_t number = 2; number < 100; ++number) {
    del.set_key(TakeKey());
    EXPECT_TRUE(Run(SubmitIn(kSession, number, replica::kDeleteFunction,
                             del.SerializeAsString()))
                    .ok());
  }
  PutByNewClients();
  // Other sessions leave room for requests that delete.
  for (uint64_t id = 1; RunOpen(id, 1024).ok(); ++id) {
  }
  EXPECT_GE(reserve().bytes_whole, reserve().bytes_kept / 2);
  EXPECT_TRUE(DeleteByNew(TakeKey(10)).ok());
  // Their room is released when they are silent.
  Pass(2 * kLease);
  EXPECT_EQ(admission_->stats().sessions, 0u);
  EXPECT_TRUE(RunOpen(kSession, 1024).ok());
}

// Objects whose deletes free less than the outcomes take.
TEST_F(FullHeapTest, SmallDeletesLeaveRoomForLargeOnes) {
  for (int i = 0; i < 4000; ++i) {
    keys_.push_back(absl::StrCat("f10/early", i));
    ASSERT_TRUE(Run(Put(keys_.back(), "x", kOld, ++old_number_)).ok());
  }
  Fill();
  PutByNewClients();
  int deleted = 0;
  absl::Status status;
  while ((status = DeleteByNew(TakeKey(10))).ok()) ++deleted;
  ExpectFull(status);
  EXPECT_GT(deleted, 1000);
  EXPECT_GE(reserve().bytes_whole, reserve().bytes_kept / 4);
  for (int i = 0; i < 500; ++i) {
    ASSERT_TRUE(DeleteByNew(TakeKey(2000)).ok()) << i;
  }
  // Now there is room for the small ones, too.
  EXPECT_TRUE(DeleteByNew(TakeKey(10)).ok());
}

// Every object, each by a client whose outcome is not stored.
TEST_F(FullHeapTest, IsEmptied) {
  Fill();
  PutByNewClients();
  const size_t all = keys_.size();
  while (!keys_.empty()) {
    const absl::Status status = DeleteByNew(keys_.back());
    ASSERT_TRUE(status.ok()) << status << ": " << keys_.back() << ", "
                             << keys_.size() << " of " << all << " are left";
    keys_.pop_back();
  }
  EXPECT_GE(reserve().bytes_whole, reserve().bytes_kept);
}

// The figure in reserve.h.
TEST_F(FullHeapTest, AnOutcomeTakesTheDocumentedRoom) {
  constexpr int kClients = 2048;
  const uint64_t free = FreeBytes();
  for (int i = 0; i < kClients; ++i) {
    client_ += 0x9e3779b97f4a7c15;  // as if drawn at random
    ASSERT_TRUE(Run(Put("cron", "001", client_)).ok());
  }
  const double taken = static_cast<double>(free - FreeBytes()) / kClients;
  LOG(INFO) << "an outcome takes " << taken << " bytes";
  EXPECT_GT(taken, 150);
  EXPECT_LT(taken, 180);
}

// --- Heads that find no reserve, or one of another size.

// A release without a reserve leaves the heap so.
class FilledToTheLastByteTest : public FullHeapTest {
 protected:
  FilledToTheLastByteTest() {
    under_.heap().KeepReserve(0);
    Fill();
    PutByNewClients();
    EXPECT_LT(FreeBytes(), 2 * 4096u);
    Promote();
  }
};

TEST_F(FilledToTheLastByteTest, StartsAndIsEmptied) {
  EXPECT_LT(reserve().bytes_whole, reserve().bytes_kept);
  ExpectFull(Run(Put("new", "x", kOld, ++old_number_)));
  // By a client that needs no room,
  for (int i = 0; i < 10; ++i) {
    kamino::v1::DeleteRequest del;
    del.set_key(TakeKey(5000));
    EXPECT_TRUE(Run(Submit(replica::kDeleteFunction, del.SerializeAsString(),
                           kOld, ++old_number_))
                    .ok());
  }
  // and then by other clients, while the reserve is filled up.
  ExpectFull(Run(Put("new", std::string(3000, 'x'), kOld, ++old_number_)));
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(DeleteByNew(TakeKey(2000)).ok()) << i;
  }
  while (!keys_.empty()) {
    const absl::Status status = DeleteByNew(TakeKey());
    ASSERT_TRUE(status.ok()) << status << ": " << keys_.size() << " are left";
  }
  EXPECT_TRUE(
      Run(Put("new", std::string(3000, 'x'), kOld, ++old_number_)).ok());
}

TEST_F(FilledToTheLastByteTest, OutcomesOfSilentClientsMakeRoom) {
  now_ += absl::Hours(1);
  since_ = ring_->applied();
  const std::string key = TakeKey(2000);
  const absl::Status first = DeleteByNew(key);
  ASSERT_FALSE(first.ok());
  EXPECT_EQ(ReasonOf(first), kamino::v1::REASON_OVERLOADED) << first;
  const absl::Status second = DeleteByNew(key);
  EXPECT_TRUE(second.ok()) << second;
}

TEST_F(FullHeapTest, ANewHeadKeepsTheReserve) {
  Fill();
  PutByNewClients();
  Promote();
  EXPECT_GE(reserve().bytes_whole, reserve().bytes_kept);
  EXPECT_EQ(PutByNewClients(), 0);
  EXPECT_TRUE(DeleteByNew(TakeKey(10)).ok());
  // A node that lost the head's role keeps none.
  admission_.reset();
  EXPECT_EQ(reserve().bytes_kept, 0u);
}

}  // namespace
}  // namespace kamino::head
