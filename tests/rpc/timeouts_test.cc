#include "rpc/timeouts.h"

#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "kamino/internal/v1/membership.pb.h"
#include "kamino/internal/v1/verbs.pb.h"
#include "kamino/v1/admin.pb.h"
#include "kamino/v1/backup.pb.h"
#include "kamino/v1/debug.pb.h"
#include "kamino/v1/kamino.pb.h"

namespace kamino::rpc {
namespace {

// All methods that there are: whether their answer is a stream.
std::map<std::string, bool> Methods() {
  std::map<std::string, bool> methods;
  for (const auto* file : {
           kamino::v1::GetRequest::descriptor()->file(),
           kamino::v1::GetClusterRequest::descriptor()->file(),
           kamino::v1::GetDebugRequest::descriptor()->file(),
           kamino::v1::SaveRequest::descriptor()->file(),
           kamino::internal::v1::RegisterRequest::descriptor()->file(),
           kamino::internal::v1::VerbsEndpoint::descriptor()->file(),
       }) {
    EXPECT_GT(file->service_count(), 0) << file->name();
    for (int i = 0; i < file->service_count(); ++i) {
      const auto* service = file->service(i);
      for (int j = 0; j < service->method_count(); ++j) {
        methods[absl::StrCat("/", service->full_name(), "/",
                             service->method(j)->name())] =
            service->method(j)->server_streaming();
      }
    }
  }
  return methods;
}

TEST(TimeoutsTest, EveryMethodHasATimeout) {
  std::map<std::string, bool> methods = Methods();
  for (const Timeout& deadline : Timeouts()) {
    const auto found = methods.find(std::string(deadline.method));
    ASSERT_NE(found, methods.end()) << deadline.method;
    EXPECT_GE(deadline.most, absl::Seconds(1)) << deadline.method;
    if (!found->second) {
      EXPECT_LE(deadline.most, absl::Minutes(1)) << deadline.method;
    }
    methods.erase(found);
  }
  for (const auto& [method, streams] : methods) {
    ADD_FAILURE() << method << " has no deadline in rpc/timeouts.cc";
  }
}

TEST(TimeoutsTest, TimeoutsFormAServiceConfig) {
  const Timeout timeouts[] = {{"/a.B/C", absl::Milliseconds(250)},
                              {"/a.B/Watch", absl::InfiniteDuration()},
                              {"/a.b.C/D", absl::Seconds(10)}};
  EXPECT_EQ(ServiceConfig(timeouts),
            R"({"methodConfig":[)"
            R"({"name":[{"service":"a.B","method":"C"}],"timeout":"0.25s"},)"
            R"({"name":[{"service":"a.b.C","method":"D"}],"timeout":"10s"}]})");
}

}  // namespace
}  // namespace kamino::rpc
