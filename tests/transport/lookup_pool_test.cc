// Lookups of names that take as long as they like.
#include "transport/socket/lookup_pool.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "base/clock.h"
#include "gtest/gtest.h"

namespace kamino::transport {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(60);

Resolver::Addresses At(const std::string& number) {
  return {*AddressOfNumber(number, 0)};
}

// A name server that answers when it is told to.
class NameServer {
 public:
  absl::StatusOr<Resolver::Addresses> Ask(const std::string& host) {
    absl::MutexLock lock(&mutex_);
    ++asked_[host];
    Wanted wanted{this, host};
    mutex_.Await(absl::Condition(
        +[](Wanted* each) { return each->server->Answers(each->host); },
        &wanted));
    const auto found = numbers_.find(host);
    if (found != numbers_.end()) return At(found->second);
    return absl::UnavailableError("no such name");
  }
  void Let(const std::string& host, const std::string& number) {
    absl::MutexLock lock(&mutex_);
    numbers_[host] = number;
    lets_[host] = true;
  }
  void LetFail(const std::string& host) {
    absl::MutexLock lock(&mutex_);
    numbers_.erase(host);
    lets_[host] = true;
  }
  void Hang(const std::string& host) {
    absl::MutexLock lock(&mutex_);
    lets_[host] = false;
  }
  int asked(const std::string& host) {
    absl::MutexLock lock(&mutex_);
    return asked_[host];
  }
  int AllAsked() {
    absl::MutexLock lock(&mutex_);
    int all = 0;
    for (const auto& [host, count] : asked_) all += count;
    return all;
  }
  bool AwaitAsked(int count) {
    absl::MutexLock lock(&mutex_);
    const auto enough = [this, count]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      int all = 0;
      for (const auto& [host, times] : asked_) all += times;
      return all >= count;
    };
    return mutex_.AwaitWithTimeout(absl::Condition(&enough), kPatience);
  }

 private:
  struct Wanted {
    NameServer* server;
    std::string host;
  };
  bool Answers(const std::string& host) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return lets_[host];
  }

  absl::Mutex mutex_;
  std::map<std::string, int> asked_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, bool> lets_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::string> numbers_ ABSL_GUARDED_BY(mutex_);
};

// Outlives the test that has made it: so do lookups that hang.
struct Heard {
  absl::Mutex mutex;
  std::vector<std::string> answers ABSL_GUARDED_BY(mutex);
};

class LookupPoolTest : public ::testing::Test {
 protected:
  LookupPoolTest() { Make(); }

  void Make(LookupPool::StartThread start_thread = StartResolverThread) {
    pool_ = std::make_unique<LookupPool>(
        [server = server_](const std::string& host) {
          return server->Ask(host);
        },
        std::move(start_thread));
  }
  void LookUp(const std::string& host,
              absl::Time deadline = absl::InfiniteFuture()) {
    pool_->LookUp(
        host, deadline,
        [heard = heard_,
         host](const absl::StatusOr<Resolver::Addresses>& found) {
          absl::MutexLock lock(&heard->mutex);
          heard->answers.push_back(absl::StrCat(
              host, " ",
              found.ok() ? TextOf(found->front())
                         : absl::StatusCodeToString(found.status().code())));
        });
  }
  std::vector<std::string> Await(size_t count) {
    absl::MutexLock lock(&heard_->mutex);
    const auto enough = [this, count]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return heard_->answers.size() >= count;
    };
    EXPECT_TRUE(
        heard_->mutex.AwaitWithTimeout(absl::Condition(&enough), kPatience));
    return heard_->answers;
  }

  const std::shared_ptr<NameServer> server_ = std::make_shared<NameServer>();
  const std::shared_ptr<Heard> heard_ = std::make_shared<Heard>();
  std::unique_ptr<LookupPool> pool_;
};

using Answers = std::vector<std::string>;

TEST_F(LookupPoolTest, ReturnsAnswersAndKeepsTheLastGoodOne) {
  EXPECT_TRUE(pool_->LastGood("a").empty());
  server_->Let("a", "10.0.0.1");
  LookUp("a");
  EXPECT_EQ(Await(1), Answers{"a 10.0.0.1:0"});
  EXPECT_EQ(TextOf(pool_->LastGood("a").front()), "10.0.0.1:0");
  server_->LetFail("a");
  LookUp("a");
  EXPECT_EQ(Await(2).back(), "a UNAVAILABLE");
  EXPECT_EQ(TextOf(pool_->LastGood("a").front()), "10.0.0.1:0");
  server_->Let("a", "10.0.0.2");
  LookUp("a");
  EXPECT_EQ(Await(3).back(), "a 10.0.0.2:0");
  EXPECT_EQ(TextOf(pool_->LastGood("a").front()), "10.0.0.2:0");
}

TEST_F(LookupPoolTest, OneLookupOfANameServesAllCallers) {
  for (int i = 0; i < 5; ++i) LookUp("a");
  ASSERT_TRUE(server_->AwaitAsked(1));
  for (int i = 0; i < 5; ++i) LookUp("a");
  server_->Let("a", "10.0.0.1");
  EXPECT_EQ(Await(10), Answers(10, "a 10.0.0.1:0"));
  EXPECT_EQ(server_->asked("a"), 1);
}

TEST_F(LookupPoolTest, AHangingLookupDelaysNoOtherName) {
  LookUp("hangs");
  ASSERT_TRUE(server_->AwaitAsked(1));
  server_->Let("a", "10.0.0.1");
  LookUp("a");
  EXPECT_EQ(Await(1), Answers{"a 10.0.0.1:0"});
  server_->LetFail("hangs");
  EXPECT_EQ(Await(2).back(), "hangs UNAVAILABLE");
}

TEST_F(LookupPoolTest, ThreadsNamesAndWaitersAreBounded) {
  for (int i = 0; i < LookupPool::kMostThreads; ++i) {
    LookUp(absl::StrCat("hangs", i));
  }
  ASSERT_TRUE(server_->AwaitAsked(LookupPool::kMostThreads));
  for (size_t i = LookupPool::kMostThreads; i < LookupPool::kMostNames; ++i) {
    LookUp(absl::StrCat("waits", i));
  }
  EXPECT_EQ(server_->AllAsked(), LookupPool::kMostThreads);
  LookUp("one too many");
  EXPECT_EQ(Await(1), Answers{"one too many RESOURCE_EXHAUSTED"});
  for (size_t i = 1; i <= LookupPool::kMostWaiting; ++i) LookUp("hangs0");
  EXPECT_EQ(Await(2).back(), "hangs0 RESOURCE_EXHAUSTED");
  // All have their turn in the end.
  for (size_t i = 0; i < LookupPool::kMostNames; ++i) {
    server_->LetFail(absl::StrCat("hangs", i));
    server_->LetFail(absl::StrCat("waits", i));
  }
  Await(2 + LookupPool::kMostNames + LookupPool::kMostWaiting - 1);
}

TEST_F(LookupPoolTest, AnExpiredWaiterIsDroppedSilently) {
  LookUp("hangs", MonotonicNow());
  for (size_t i = 0; i < LookupPool::kMostWaiting; ++i) {
    LookUp("hangs", MonotonicNow());
  }
  server_->Let("hangs", "10.0.0.1");
  LookUp("hangs");
  EXPECT_EQ(Await(1), Answers{"hangs 10.0.0.1:0"});
  server_->Let("a", "10.0.0.2");
  LookUp("a");
  EXPECT_EQ(Await(2).size(), 2u);  // no other lookup was answered before
}

// A test that waited for the lookup would not end.
TEST_F(LookupPoolTest, ItsEndWaitsForNoLookup) {
  LookUp("hangs");
  LookUp("hangs");
  ASSERT_TRUE(server_->AwaitAsked(1));
  pool_.reset();
  Make();
  server_->Let("a", "10.0.0.1");
  LookUp("a");
  EXPECT_EQ(Await(1), Answers{"a 10.0.0.1:0"});
  server_->Let("hangs", "10.0.0.2");
  LookUp("hangs");
  // Those of the pool that has ended hear nothing.
  EXPECT_EQ(Await(2), (Answers{"a 10.0.0.1:0", "hangs 10.0.0.2:0"}));
}

TEST_F(LookupPoolTest, WithoutAThreadTheCallerGetsAnError) {
  Make([](const std::function<void()>&) { return false; });
  LookUp("a");
  LookUp("b");
  EXPECT_EQ(Await(2),
            (Answers{"a RESOURCE_EXHAUSTED", "b RESOURCE_EXHAUSTED"}));
}

// The second thread is to be started while the first one is, and neither is.
TEST_F(LookupPoolTest, WithoutThreadsAllCallersGetAnError) {
  int starts = 0;
  Make([&](const std::function<void()>&) {
    if (++starts == 1) {
      LookUp("b");
      LookUp("a");
    }
    return false;
  });
  LookUp("a");
  EXPECT_EQ(Await(3), (Answers{"a RESOURCE_EXHAUSTED", "a RESOURCE_EXHAUSTED",
                               "b RESOURCE_EXHAUSTED"}));
  // Nothing of it is left.
  Make();
  server_->Let("a", "10.0.0.1");
  LookUp("a");
  EXPECT_EQ(Await(4).back(), "a 10.0.0.1:0");
}

TEST_F(LookupPoolTest, ARunningThreadServesLookupsWithoutAThread) {
  int starts = 0;
  Make([&](std::function<void()> work) {
    return ++starts == 1 && StartResolverThread(std::move(work));
  });
  LookUp("a");
  ASSERT_TRUE(server_->AwaitAsked(1));
  server_->Let("b", "10.0.0.2");
  LookUp("b");
  server_->Let("a", "10.0.0.1");
  EXPECT_EQ(Await(2), (Answers{"a 10.0.0.1:0", "b 10.0.0.2:0"}));
}

TEST(LookUpBySystemTest, FindsThisMachine) {
  const auto found = LookUpBySystem("localhost");
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_FALSE(found->empty());
}

TEST(SocketAddressTest, ReadsNumbersOnly) {
  EXPECT_EQ(TextOf(*AddressOfNumber("10.0.0.1", 7001)), "10.0.0.1:7001");
  EXPECT_EQ(TextOf(*AddressOfNumber("fd00:77::1", 7001)), "[fd00:77::1]:7001");
  EXPECT_EQ(TextOf(WithPort(*AddressOfNumber("fe80::1%3", 1), 2)),
            "[fe80::1%3]:2");
  EXPECT_FALSE(AddressOfNumber("localhost", 1).has_value());
}

}  // namespace
}  // namespace kamino::transport
