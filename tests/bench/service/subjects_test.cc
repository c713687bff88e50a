#include "bench/service/subjects.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kamino::bench::service {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ParseSubjectTest, TakesSettingsInAnyOrder) {
  const auto spec = ParseSubject(
      "at=127.0.0.1:1,127.0.0.1:2;kind=kamino;name=k;carrier=kamino+shm;"
      "processes=head:12,tail:13;about=f = 2, all");
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->name, "k");
  EXPECT_EQ(spec->carrier, "kamino+shm");
  EXPECT_EQ(spec->about, "f = 2, all");
  EXPECT_THAT(spec->addresses, ElementsAre("127.0.0.1:1", "127.0.0.1:2"));
  ASSERT_EQ(spec->processes.size(), 2u);
  EXPECT_EQ(spec->processes[1].role, "tail");
  EXPECT_EQ(spec->processes[1].pid, 13);
}

TEST(ParseSubjectTest, ParsesConnections) {
  const auto spec = ParseSubject(
      "name=r;kind=redis;at=a:1;writing=128;reading=4;replicas=0;"
      "connections=8");
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->redis.writing, 128);
  EXPECT_EQ(spec->redis.reading, 4);
  EXPECT_EQ(spec->redis.replicas, 0);
  EXPECT_EQ(spec->connections, 8);
}

TEST(ParseSubjectTest, ErrorsNameTheWrongSetting) {
  const std::pair<const char*, const char*> wrong[] = {
      {"kind=redis;at=a:1", "name"},
      {"name=r;at=a:1", "kind"},
      {"name=r;kind=mongo;at=a:1", "kind"},
      {"name=r;kind=redis", "address"},
      {"name=r;kind=redis;at=a:1;writing=0", "number"},
      {"name=r;kind=redis;at=a:1;writing=x", "number"},
      {"name=r;kind=redis;at=a:1;processes=head", "role:pid"},
      {"name=r;kind=redis;at=a:1;processes=head:x", "role:pid"},
      {"name=r;kind=redis;at=a:1;colour=red", "setting"}};
  for (const auto& [text, word] : wrong) {
    const auto spec = ParseSubject(text);
    ASSERT_TRUE(absl::IsInvalidArgument(spec.status())) << text;
    EXPECT_THAT(std::string(spec.status().message()), HasSubstr(word));
  }
}

TEST(MakeSubjectTest, AnUnreachableServerIsAnError) {
  RedisConnections connections;
  EXPECT_FALSE(MakeRedis("r", "127.0.0.1:1", connections).ok());
  EXPECT_FALSE(MakeRedis("r", "nowhere", connections).ok());
  const auto kamino = MakeKamino("k", "pigeons", {"127.0.0.1:1"});
  EXPECT_THAT(std::string(kamino.status().message()), HasSubstr("pigeons"));
}

}  // namespace
}  // namespace kamino::bench::service
