#include "head/waiting_requests.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/faults/planted.h"

namespace kamino::head {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr engine::ObjectId kObject = 64;

Request Of(const std::string& name, absl::Time deadline) {
  Request request;
  request.mutation.function = name;
  request.deadline = deadline;
  return request;
}

class WaitingRequestsTest : public ::testing::Test {
 protected:
  WaitingRequestsTest() {
    for (const absl::Time deadline : {soon_, absl::InfiniteFuture()}) {
      const std::string when = deadline == soon_ ? "soon" : "late";
      waiting_.Add(Of("ready " + when, deadline));
      waiting_.AddAlone(Of("alone " + when, deadline));
      waiting_.Park(kObject, Of("parked " + when, deadline), soon_);
    }
  }

  std::vector<std::string> Expire() {
    std::vector<std::string> names;
    for (const Request& request :
         waiting_.TakeIf([this](const Request& request) {
           return !CheckAwaited(request, soon_).ok();
         })) {
      names.push_back(request.mutation.function);
    }
    return names;
  }

  std::vector<std::string> TakeAll() {
    std::vector<std::string> names;
    while (waiting_.has_ready()) {
      names.push_back(waiting_.TakeNext().mutation.function);
    }
    return names;
  }

  const absl::Time soon_ = absl::UnixEpoch();
  WaitingRequests waiting_;
};

TEST_F(WaitingRequestsTest, RequestsExpireInEveryQueue) {
  EXPECT_THAT(Expire(), ElementsAre("alone soon", "ready soon", "parked soon"));
  EXPECT_EQ(waiting_.size(), 3u);
  EXPECT_EQ(waiting_.parked(), 1u);
  EXPECT_THAT(Expire(), IsEmpty());
}

TEST_F(WaitingRequestsTest, ExpiryOfParkedRequestsAloneIsDetected) {
  const faults::Planted fault("waiting-expires-the-parked-only");
  EXPECT_THAT(Expire(), ElementsAre("parked soon"));
}

TEST_F(WaitingRequestsTest, UnlockedRequestsFollowReadyOnes) {
  EXPECT_EQ(waiting_.next_ready(), nullptr);
  EXPECT_EQ(waiting_.next().mutation.function, "alone soon");
  waiting_.OnUnlocked({kObject});
  EXPECT_EQ(waiting_.parked(), 0u);
  EXPECT_THAT(TakeAll(),
              ElementsAre("alone soon", "alone late", "ready soon",
                          "ready late", "parked soon", "parked late"));
  EXPECT_EQ(waiting_.size(), 0u);
}

TEST_F(WaitingRequestsTest, RequestsThatArePutBackComeFirst) {
  std::vector<Request> batch;
  for (const char* name : {"a", "b", "c"}) {
    batch.push_back(Of(name, absl::InfiniteFuture()));
  }
  waiting_.PutBack(&batch, 1);
  EXPECT_EQ(batch.size(), 1u);
  waiting_.PutBackAlone(std::move(batch[0]));
  EXPECT_THAT(TakeAll(), ElementsAre("a", "alone soon", "alone late", "b", "c",
                                     "ready soon", "ready late"));
}

}  // namespace
}  // namespace kamino::head
