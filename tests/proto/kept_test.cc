// The protos beside tests/proto/kept.txt; docs/operate/compatibility.md.
#include "tests/proto/kept.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "google/protobuf/descriptor.pb.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "kamino/internal/v1/chain.pb.h"
#include "kamino/internal/v1/membership.pb.h"
#include "kamino/internal/v1/operation.pb.h"
#include "kamino/internal/v1/redirect.pb.h"
#include "kamino/internal/v1/verbs.pb.h"
#include "kamino/v1/admin.pb.h"
#include "kamino/v1/debug.pb.h"
#include "kamino/v1/kamino.pb.h"
#include "kamino/v1/member.pb.h"

namespace kamino {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> Now() {
  std::vector<std::string> lines;
  for (const auto* file : {
           v1::PutRequest::descriptor()->file(),
           v1::GetClusterRequest::descriptor()->file(),
           v1::GetDebugRequest::descriptor()->file(),
           v1::Member::descriptor()->file(),
           internal::v1::ChainMessage::descriptor()->file(),
           internal::v1::StoredOutcome::descriptor()->file(),
           internal::v1::ViewRecord::descriptor()->file(),
           internal::v1::NotLeaderDetail::descriptor()->file(),
           internal::v1::VerbsEndpoint::descriptor()->file(),
       }) {
    for (std::string& line : Describe(*file)) lines.push_back(std::move(line));
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

TEST(KeptTest, FormerDefinitionsExistOrAreReserved) {
  std::ifstream file("tests/proto/kept.txt");
  ASSERT_TRUE(file.good());
  std::vector<std::string> kept;
  for (std::string line; std::getline(file, line);) kept.push_back(line);
  const std::vector<std::string> now = Now();
  ASSERT_GT(now.size(), 100u);
  EXPECT_THAT(Broken(kept, now), IsEmpty());
  const char* tree = std::getenv("BUILD_WORKSPACE_DIRECTORY");  // bazel run
  if (tree != nullptr) {
    std::ofstream(std::string(tree) + "/tests/proto/kept.txt")
        << absl::StrJoin(now, "\n") << "\n";
  } else if (kept != now) {
    ADD_FAILURE() << "the protos have changed; if nothing is broken, bazel run "
                     "//tests/proto:kept_test writes tests/proto/kept.txt anew";
  }
}

// --- That it would notice.

// As text of a FileDescriptorProto.
std::vector<std::string> Of(const std::string& text) {
  google::protobuf::FileDescriptorProto proto;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &proto));
  proto.set_name("a.proto");
  proto.set_package("a");
  proto.set_syntax("proto3");
  google::protobuf::DescriptorPool pool;
  return Describe(*pool.BuildFile(proto));
}

// A message M with this in it.
std::vector<std::string> OfM(const std::string& text) {
  return Of("message_type { name: 'M' " + text + " }");
}

constexpr char kText[] =
    "field { name: 's' number: 1 type: TYPE_STRING label: LABEL_OPTIONAL }";
constexpr char kTexts[] =
    "field { name: 's' number: 1 type: TYPE_STRING label: LABEL_REPEATED }";
constexpr char kNumber[] =
    "field { name: 's' number: 1 type: TYPE_INT64 label: LABEL_OPTIONAL }";
constexpr char kOther[] =
    "field { name: 't' number: 1 type: TYPE_STRING label: LABEL_OPTIONAL }";
constexpr char kReserved[] = "reserved_range { start: 1 end: 2 }";

TEST(BrokenTest, NewDefinitionsAreAllowed) {
  EXPECT_THAT(Broken(OfM(""), OfM(kText)), IsEmpty());
}

TEST(BrokenTest, ARemovedFieldMustReserveItsNumber) {
  EXPECT_THAT(Broken(OfM(kText), OfM(kReserved)), IsEmpty());
  EXPECT_THAT(Broken(OfM(kText), OfM("")),
              ElementsAre(HasSubstr("a.M 1 s: string is gone")));
  EXPECT_THAT(Broken(OfM(kReserved), OfM(kOther)),
              ElementsAre("a.M reserved 1 no more"));
}

TEST(BrokenTest, NamesAndTypesMustNotChange) {
  for (const char* other : {kTexts, kNumber, kOther}) {
    EXPECT_THAT(Broken(OfM(kText), OfM(other)),
                ElementsAre(HasSubstr("a.M 1 s: string is gone")));
  }
}

TEST(BrokenTest, EnumValuesMustNotChange) {
  const std::string zero =
      "enum_type { name: 'E' value { name: 'A' number: 0 }";
  EXPECT_THAT(Broken(Of(zero + "value { name: 'B' number: 1 } }"),
                     Of(zero + "value { name: 'C' number: 1 } }")),
              ElementsAre(HasSubstr("a.E = 1 B")));
  EXPECT_THAT(Broken(Of(zero + "value { name: 'B' number: 1 } }"),
                     Of(zero + "reserved_range { start: 1 end: 1 } }")),
              IsEmpty());
}

TEST(BrokenTest, CallsMustNotChange) {
  const std::string service =
      "message_type { name: 'M' } service { name: 'S' method { name: 'Do' "
      "input_type: '.a.M' output_type: '.a.M' ";
  EXPECT_THAT(
      Broken(Of(service + "} }"), Of(service + "server_streaming: true } }")),
      ElementsAre("a.S.Do(a.M) returns (a.M) is gone"));
}

}  // namespace
}  // namespace kamino
