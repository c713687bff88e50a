// Commits that hold while nothing in a range has changed: their cost, and how
// they mix with writes in flight.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/faults/planted.h"
#include "tests/head/admission_fixture.h"

namespace kamino::head {
namespace {

using kamino::v1::CommitRequest;
using replica::ReasonOf;

constexpr int kObjects = 3000;

std::string Key(int i) { return absl::StrCat("k", 10000 + i); }

AdmissionOptions FewTouches() {
  AdmissionOptions options;
  options.max_touched = kObjects / 2;
  return options;
}

class Head : public LoneHead {
 public:
  explicit Head(int objects = 100) : LoneHead(FewTouches()) {
    for (int begin = 0; begin < objects; begin += 100) {
      CommitRequest fill;
      for (int i = begin; i < begin + 100; ++i) {
        auto* put = fill.add_then_operations()->mutable_put();
        put->set_key(Key(i));
        put->set_value("v");
      }
      EXPECT_TRUE(StatusOf(Settle(Submit(fill))).ok());
    }
    // So that their outcomes exist, and are overwritten in place.
    for (int i = 0; i < kClients; ++i) Settle(Put(0));
    engine::HeapReader reader(&under_.heap());
    while (!*state_.Summarize(reader, 1000)) {
    }
  }

  size_t Submit(const CommitRequest& commit) {
    return Submit(replica::kCommitFunction, commit.SerializeAsString());
  }
  // In flight from here on, until Complete.
  size_t Put(int i) {
    kamino::v1::PutRequest put;
    put.set_key(Key(i));
    put.set_value("w");
    const size_t call = Submit(replica::kPutFunction, put.SerializeAsString());
    Execute();
    return call;
  }
  size_t Delete(int i) {
    kamino::v1::DeleteRequest del;
    del.set_key(Key(i));
    const size_t call =
        Submit(replica::kDeleteFunction, del.SerializeAsString());
    Execute();
    return call;
  }
  size_t Settle(size_t request) {
    for (int turn = 0; turn < 10 && !Answered(request); ++turn) {
      Execute();
      Complete();
    }
    return request;
  }

  uint64_t applied() const { return ring_->applied(); }
  uint64_t parked() const { return admission_->stats().parked; }

 private:
  static constexpr int kClients = 8;

  // From one client after the other.
  size_t Submit(const std::string& function, const std::string& arguments) {
    ++calls_;
    return LoneHead::Submit(function, arguments,
                            /*client=*/1 + calls_ % kClients,
                            /*number=*/calls_);
  }

  uint64_t calls_ = 0;
};

// Writes to `key` if nothing in [begin, end) has changed since.
CommitRequest Fenced(int begin, int end, uint64_t since,
                     const std::string& key = "x") {
  CommitRequest commit;
  auto* range = commit.add_preconditions()->mutable_range_unchanged();
  range->set_start_key(Key(begin));
  range->set_end_key(Key(end));
  range->set_sequence(since);
  commit.set_fail_on_conflict(true);
  auto* put = commit.add_then_operations()->mutable_put();
  put->set_key(key);
  put->set_value("y");
  return commit;
}

absl::Status TryALargeRange() {
  Head head(kObjects);
  return head.StatusOf(
      head.Settle(head.Submit(Fenced(0, kObjects, head.applied()))));
}

TEST(RangeUnchangedTest, ARangeMayHoldMoreThanARequestMayTouch) {
  EXPECT_TRUE(TryALargeRange().ok()) << TryALargeRange();
  faults::Planted fault("range-unchanged-reads-all");
  EXPECT_EQ(ReasonOf(TryALargeRange()), kamino::v1::REASON_TOO_LARGE);
}

TEST(RangeUnchangedTest, AWriteInFlightInTheRangeParksTheRequest) {
  for (const bool deletes : {false, true}) {
    Head head;
    const uint64_t since = head.applied();
    const size_t write = deletes ? head.Delete(50) : head.Put(50);
    const size_t fenced = head.Submit(Fenced(0, 100, since));
    head.Execute();
    EXPECT_FALSE(head.Answered(fenced));
    EXPECT_EQ(head.parked(), 1u);
    head.Settle(fenced);
    EXPECT_TRUE(head.StatusOf(write).ok());
    EXPECT_EQ(ReasonOf(head.StatusOf(fenced)), kamino::v1::REASON_CONFLICT);
    EXPECT_EQ(head.Get("x"), "absent");
  }
}

TEST(RangeUnchangedTest, AWriteInFlightBesideTheRangeParksNoRequest) {
  Head head;
  const uint64_t since = head.applied();
  const size_t write = head.Put(50);
  const size_t below = head.Submit(Fenced(0, 50, since, Key(0)));
  const size_t above = head.Submit(Fenced(51, 100, since, Key(99)));
  head.Execute();
  EXPECT_EQ(head.parked(), 0u);
  EXPECT_FALSE(head.Answered(write));
  head.Complete();
  EXPECT_TRUE(head.StatusOf(below).ok()) << head.StatusOf(below);
  EXPECT_TRUE(head.StatusOf(above).ok()) << head.StatusOf(above);
}

// The violation; empty: none.
std::string TryUpdatesOfDifferentKeys() {
  Head head;
  const uint64_t before = head.applied();
  head.Put(50);
  head.Put(51);
  if (head.parked() > 0) return "one waits for the other";
  return head.applied() == before + 2 ? "" : "they were not executed";
}

TEST(RangeUnchangedTest, UpdatesOfDifferentKeysAreIndependent) {
  EXPECT_EQ(TryUpdatesOfDifferentKeys(), "");
  faults::Planted fault("summary-is-durable");
  EXPECT_NE(TryUpdatesOfDifferentKeys(), "");
}

// Otherwise a client that sends late-failing commits could make other requests
// read every record.
absl::Status TryALargeRangeAfterAborts() {
  Head head(kObjects);
  const uint64_t since = head.applied();
  for (int i = 0; i < kObjects; i += 20) {
    CommitRequest commit;
    commit.add_then_operations()->mutable_put()->set_key(Key(i));
    commit.add_then_operations()->mutable_delete_()->set_key("not there");
    const absl::Status status = head.StatusOf(head.Settle(head.Submit(commit)));
    EXPECT_EQ(ReasonOf(status), kamino::v1::REASON_KEY_NOT_FOUND);
  }
  return head.StatusOf(head.Settle(head.Submit(Fenced(0, kObjects, since))));
}

TEST(RangeUnchangedTest, AnAbortRollsBackTheSummary) {
  EXPECT_TRUE(TryALargeRangeAfterAborts().ok()) << TryALargeRangeAfterAborts();
  faults::Planted fault("summary-outlives-an-abort");
  EXPECT_EQ(ReasonOf(TryALargeRangeAfterAborts()),
            kamino::v1::REASON_TOO_LARGE);
}

}  // namespace
}  // namespace kamino::head
