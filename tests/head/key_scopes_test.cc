// A head with clients that may touch some keys only: however they try to reach
// other keys, they are refused, and nothing goes down the chain.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "examples/bank/bank_transfer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/faults/planted.h"
#include "tests/head/admission_fixture.h"

namespace kamino::head {
namespace {

using kamino::v1::CommitRequest;
using kamino::v1::Precondition;

PrincipalPtr Writer(std::vector<std::string> prefixes) {
  return std::make_shared<const Principal>(
      Principal{"kamino://c/writer/w", KeyScope(std::move(prefixes))});
}

// Ignores that it is denied a key, and continues.
absl::StatusOr<std::string> Swallow(replica::ProcedureContext& context,
                                    absl::string_view) {
  if (context.Get("b/1").ok()) RETURN_IF_ERROR(context.Put("a/seen", "yes"));
  RETURN_IF_ERROR(context.Put("a/done", "yes"));
  return std::string("fine");
}

absl::StatusOr<std::string> CountAll(replica::ProcedureContext& context,
                                     absl::string_view) {
  int count = 0;
  RETURN_IF_ERROR(context.Scan(
      "", "", [&](absl::string_view, const auto&) { return ++count > 0; }));
  return absl::StrCat(count);
}

// Denies by itself; no permission check does.
absl::StatusOr<std::string> Refuse(replica::ProcedureContext&,
                                   absl::string_view) {
  return absl::PermissionDeniedError("not on Sundays");
}

class KeyScopesTest : public AdmissionTest {
 protected:
  KeyScopesTest() {
    procedures_.Register(examples::kBankTransfer, examples::BankTransfer);
    procedures_.Register("test.swallow", Swallow);
    procedures_.Register("test.count_all", CountAll);
    procedures_.Register("test.refuse", Refuse);
    for (const char* key : {"a/1", "a/2", "b/1", "b/2"}) {
      EXPECT_TRUE(Run(Put(key, "100", 1, ++number_)).ok());
    }
    by_ = Writer({"a/"});
    before_ = core_.next_sequence();
  }

  absl::Status Run(size_t request) {
    do {
      Execute();
      Complete();
    } while (admission_->has_ready());
    return StatusOf(request);
  }
  absl::Status Try(const std::string& function, const std::string& arguments) {
    return Run(Submit(function, arguments, 1, ++number_));
  }
  absl::Status Try(const CommitRequest& commit) {
    return Try(replica::kCommitFunction, commit.SerializeAsString());
  }

  void ExpectRefused(const absl::Status& status, const std::string& what) {
    EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
    // No procedure has failed, and clients must not learn of any.
    EXPECT_EQ(replica::ReasonOf(status), kamino::v1::REASON_UNSPECIFIED);
    EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr(what));
    EXPECT_THAT(std::string(status.message()),
                ::testing::HasSubstr("which is \"a/\""));
    EXPECT_EQ(core_.next_sequence(), before_) << "the chain has something";
    for (const char* key : {"a/1", "a/2", "b/1", "b/2"}) {
      EXPECT_EQ(Get(key), "100") << key;
    }
    EXPECT_EQ(Get("a/done"), "absent");
  }

  uint64_t number_ = 0;
  uint64_t before_ = 0;
};

TEST_F(KeyScopesTest, RequestsPassWithinTheScope) {
  CommitRequest commit;
  Precondition* same = commit.add_preconditions();
  same->set_key("a/1");
  same->set_value_equals("100");
  auto* range = commit.add_preconditions()->mutable_range_unchanged();
  range->set_start_key("a/");
  range->set_end_key("a0");
  range->set_sequence(before_);
  commit.add_then_operations()->mutable_put()->set_key("a/3");
  commit.add_then_operations()->mutable_get()->set_key("a/2");
  EXPECT_TRUE(Try(commit).ok());
  EXPECT_TRUE(Try(examples::kBankTransfer, "a/1 a/2 10").ok());
  EXPECT_EQ(Get("a/2"), "110");
}

TEST_F(KeyScopesTest, EachBuiltInIsRefusedOutsideTheScope) {
  kamino::v1::PutRequest put;
  put.set_key("b/1");
  ExpectRefused(Try(replica::kPutFunction, put.SerializeAsString()),
                "the key \"b/1\" is outside");
  put.set_key("a");
  ExpectRefused(Try(replica::kPutFunction, put.SerializeAsString()),
                "the key \"a\" is outside");
  kamino::v1::PatchRequest patch;
  patch.set_key("b/1");
  patch.set_data("9");
  ExpectRefused(Try(replica::kPatchFunction, patch.SerializeAsString()), "b/1");
  kamino::v1::DeleteRequest del;
  del.set_key("b/1");
  ExpectRefused(Try(replica::kDeleteFunction, del.SerializeAsString()), "b/1");
  // Nor does it learn which keys exist.
  del.set_key("b/none");
  ExpectRefused(Try(replica::kDeleteFunction, del.SerializeAsString()),
                "b/none");
}

TEST_F(KeyScopesTest, EachOperationOfACommitIsRefusedOutsideTheScope) {
  std::vector<std::function<void(kamino::v1::Operation*)>> operations = {
      [](auto* each) { each->mutable_put()->set_key("b/1"); },
      [](auto* each) { each->mutable_patch()->set_key("b/1"); },
      [](auto* each) { each->mutable_get()->set_key("b/1"); },
      [](auto* each) { each->mutable_delete_()->set_key("b/1"); },
      [](auto* each) {
        each->mutable_delete_()->set_key("b/none");
        each->mutable_delete_()->set_allow_absent(true);
      },
  };
  for (const auto& fill : operations) {
    CommitRequest commit;
    auto* first = commit.add_then_operations()->mutable_put();
    first->set_key("a/1");
    first->set_value("taken back");
    fill(commit.add_then_operations());
    ExpectRefused(Try(commit), "is outside");
  }
}

TEST_F(KeyScopesTest, EachConditionIsRefusedOutsideTheScope) {
  CommitRequest exists;
  exists.add_preconditions()->set_key("b/1");
  exists.mutable_preconditions(0)->set_exists(true);
  ExpectRefused(Try(exists), "b/1");
  CommitRequest value = exists;
  value.mutable_preconditions(0)->set_value_equals("100");
  ExpectRefused(Try(value), "b/1");
  CommitRequest version = exists;
  version.mutable_preconditions(0)->set_version_equals(1);
  ExpectRefused(Try(version), "b/1");
}

CommitRequest RangeUnchanged(const std::string& start, const std::string& end) {
  CommitRequest commit;
  auto* range = commit.add_preconditions()->mutable_range_unchanged();
  range->set_start_key(start);
  range->set_end_key(end);
  range->set_sequence(1000);
  return commit;
}

TEST_F(KeyScopesTest, ARangeBeyondTheScopeIsRefused) {
  ExpectRefused(Try(RangeUnchanged("b/", "b0")),
                "the range from \"b/\" to \"b0\" has keys outside");
  ExpectRefused(Try(RangeUnchanged("a/", "b/")), "to \"b/\"");
  ExpectRefused(Try(RangeUnchanged("a/", "")), "to the end");
  ExpectRefused(Try(RangeUnchanged("", "a0")), "from \"\"");
}

TEST_F(KeyScopesTest, AnUncheckedRangeIsDetected) {
  faults::Planted fault("scope-skipped-by-conditions");
  EXPECT_TRUE(Try(RangeUnchanged("b/", "b0")).ok());
}

TEST_F(KeyScopesTest, ProceduresDoNotBypassTheScope) {
  ExpectRefused(Try(examples::kBankTransfer, "a/1 b/1 10"), "b/1");
  ExpectRefused(Try(examples::kBankTransfer, "b/1 a/1 10"), "b/1");
  ExpectRefused(Try("test.count_all", ""), "the range from \"\" to the end");
}

TEST_F(KeyScopesTest, ADenialByAProcedureIsItsFailure) {
  const absl::Status refused = Try("test.refuse", "");
  EXPECT_TRUE(absl::IsPermissionDenied(refused)) << refused;
  EXPECT_EQ(replica::ReasonOf(refused), kamino::v1::REASON_PROCEDURE_FAILED);
}

TEST_F(KeyScopesTest, ProceduresThatBypassTheScopeAreDetected) {
  faults::Planted fault("scope-skipped-by-procedures");
  EXPECT_TRUE(Try(examples::kBankTransfer, "b/1 a/1 10").ok());
}

TEST_F(KeyScopesTest, ScansThatBypassTheScopeAreDetected) {
  faults::Planted fault("scope-skipped-by-scans");
  EXPECT_TRUE(Try("test.count_all", "").ok());
}

// It would run differently at nodes that deny it nothing.
TEST_F(KeyScopesTest, AProcedureThatSwallowsADenialFails) {
  ExpectRefused(Try("test.swallow", ""), "b/1");
}

TEST_F(KeyScopesTest, ASwallowedDenialIsDetected) {
  faults::Planted fault("scope-denials-swallowed");
  EXPECT_TRUE(Try("test.swallow", "").ok());
}

TEST_F(KeyScopesTest, ARefusedRequestDoesNotFailItsBatch) {
  const size_t first = Put("a/1", "1", 11);
  const size_t refused = Put("b/1", "1", 12);
  const size_t last = Put("a/2", "2", 13);
  EXPECT_TRUE(Run(last).ok());
  EXPECT_TRUE(StatusOf(first).ok());
  EXPECT_TRUE(absl::IsPermissionDenied(StatusOf(refused)));
  EXPECT_EQ(Get("a/2"), "2");
  EXPECT_EQ(Get("b/1"), "100");
}

// A request that waited for a lock is checked when it is executed.
TEST_F(KeyScopesTest, ParkedRequestsKeepTheirScope) {
  const size_t first = Put("a/1", "1", 11);
  Execute();
  CommitRequest commit;
  commit.add_then_operations()->mutable_put()->set_key("a/1");
  commit.add_then_operations()->mutable_put()->set_key("b/1");
  const size_t parked = Submit(replica::kCommitFunction,
                               commit.SerializeAsString(), /*client=*/12);
  Execute();
  EXPECT_EQ(admission_->stats().parked, 1u);
  EXPECT_TRUE(absl::IsPermissionDenied(Run(parked))) << StatusOf(parked);
  EXPECT_TRUE(StatusOf(first).ok());
  EXPECT_EQ(Get("a/1"), "1");
}

TEST_F(KeyScopesTest, AnAbsentScopeAllowsAllAndAnEmptyOneNothing) {
  by_ = nullptr;
  EXPECT_TRUE(Try(examples::kBankTransfer, "b/1 a/1 10").ok());
  by_ = Writer({""});
  EXPECT_TRUE(Try(examples::kBankTransfer, "b/1 a/1 10").ok());
  EXPECT_EQ(Get("a/1"), "120");
  by_ = Writer({});
  EXPECT_TRUE(
      absl::IsPermissionDenied(Try(examples::kBankTransfer, "a/1 a/2 10")));
}

}  // namespace
}  // namespace kamino::head
