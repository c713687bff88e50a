#include "node/reads.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "engine/heap/heap_reader.h"
#include "engine/index/key_value.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "gtest/gtest.h"
#include "metrics/page.h"
#include "node/rpc/status_details.h"
#include "replica/errors.h"
#include "tests/engine/kamino/fixture.h"

namespace kamino::node {
namespace {

using replica::ReasonOf;

class ReadsTest : public ::testing::Test {
 protected:
  ReadsTest() : under_(engine::Scheme::kSimpleLater), reader_(&under_.heap()) {
    auto transaction = under_.Begin();
    root_ = *engine::BTree::Create(*transaction);
    EXPECT_TRUE(transaction->Commit().ok());
    under_.Propagate();
    Put("key", "0123456789", 7);
  }

  void Put(const std::string& key, const std::string& value, uint64_t version) {
    auto transaction = under_.Begin();
    absl::Status put =
        engine::KeyValue(transaction.get(), root_).Put(key, value, version);
    ASSERT_TRUE(put.ok()) << put;
    ASSERT_TRUE(transaction->Commit().ok());
    under_.Propagate();
  }

  engine::KeyValueReader Objects() { return {&reader_, root_}; }

  absl::StatusOr<std::string> Get(uint64_t offset, uint64_t length) {
    kamino::v1::GetRequest request;
    request.set_key("key");
    request.set_offset(offset);
    request.set_length(length);
    kamino::v1::GetResponse response;
    auto objects = Objects();
    absl::Status read = ReadOne(objects, request, &response);
    if (!read.ok()) return read;
    EXPECT_EQ(response.version(), 7u);
    EXPECT_EQ(response.value_size(), 10u);
    return response.value();
  }

  engine::StoreUnderTest under_;
  engine::HeapReader reader_;
  engine::ObjectId root_ = engine::kNullObject;
};

TEST_F(ReadsTest, ReadsWholeValuesAndRanges) {
  EXPECT_EQ(*Get(0, 0), "0123456789");
  EXPECT_EQ(*Get(3, 4), "3456");
  EXPECT_EQ(*Get(8, 0), "89");
  EXPECT_EQ(*Get(10, 0), "");
  for (auto [offset, length] : {std::pair<uint64_t, uint64_t>{11, 0},
                                {10, 1},
                                {1, ~uint64_t{0}},
                                {~uint64_t{0}, 2}}) {
    EXPECT_EQ(ReasonOf(Get(offset, length).status()),
              kamino::v1::REASON_OUT_OF_RANGE);
  }
}

TEST_F(ReadsTest, BatchesAreBounded) {
  auto objects = Objects();
  kamino::v1::BatchGetRequest request;
  kamino::v1::BatchGetResponse response;
  request.add_keys("absent");
  request.add_keys("key");
  ASSERT_TRUE(CheckBatch(request).ok());
  ASSERT_TRUE(ReadBatch(objects, request, &response).ok());
  EXPECT_FALSE(response.results(0).found());
  EXPECT_EQ(response.results(1).value(), "0123456789");
  for (int i = 0; i < kMaxBatchKeys; ++i) request.add_keys("key");
  EXPECT_EQ(ReasonOf(CheckBatch(request)), kamino::v1::REASON_INVALID_ARGUMENT);
  Put("large", std::string(1 << 20, 'x'), 8);
  request.clear_keys();
  for (int i = 0; i < 4; ++i) request.add_keys("large");
  EXPECT_EQ(ReasonOf(ReadBatch(objects, request, &response)),
            kamino::v1::REASON_TOO_LARGE);
}

TEST_F(ReadsTest, AScanResumesWhereItStopped) {
  for (int i = 100; i < 1000; ++i) {
    Put("s" + std::to_string(i), "v", 9);
  }
  kamino::v1::ScanRequest request;
  request.set_start_key("s");
  request.set_limit(700);
  auto objects = Objects();
  ScanCursor cursor(request);
  std::vector<std::string> keys;
  int messages = 0;
  while (!cursor.done) {
    kamino::v1::ScanResponse response;
    ASSERT_TRUE(ReadNext(objects, &cursor, &response).ok());
    for (const auto& result : response.results()) keys.push_back(result.key());
    ASSERT_LT(++messages, 100);
  }
  EXPECT_GT(messages, 1);
  ASSERT_EQ(keys.size(), 700u);
  EXPECT_EQ(keys.front(), "s100");
  EXPECT_EQ(keys.back(), "s799");
}

TEST(StatusDetailsTest, CarriesReasonChainAndDelay) {
  kamino::v1::Chain chain;
  chain.set_view_id(5);
  chain.add_nodes()->set_address("a:1");
  const grpc::Status status =
      ToGrpcStatus(replica::MakeError(kamino::v1::REASON_RECONFIGURING, "wait"),
                   chain, "n1");
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  google::rpc::Status details;
  ASSERT_TRUE(details.ParseFromString(status.error_details()));
  kamino::v1::ErrorDetail detail;
  ASSERT_TRUE(details.details(0).UnpackTo(&detail));
  EXPECT_EQ(detail.reason(), kamino::v1::REASON_RECONFIGURING);
  EXPECT_EQ(detail.chain().nodes(0).address(), "a:1");
  EXPECT_EQ(detail.served_by(), "n1");
  google::rpc::RetryInfo retry;
  ASSERT_TRUE(details.details(1).UnpackTo(&retry));
  EXPECT_GT(retry.retry_delay().nanos(), 0);
  EXPECT_TRUE(ToGrpcStatus(absl::OkStatus(), chain, "n1").ok());
}

TEST(StatusDetailsTest, CountsRefusalsAndNotCallsThatClientsEnd) {
  const auto answer = [](const absl::Status& error) {
    ToGrpcStatus(error, kamino::v1::Chain(), "n1");
  };
  const auto count = [](absl::string_view reason) {
    const std::string text = metrics::Page().Text();
    const std::string name =
        absl::StrCat("\nkamino_refusals_total{reason=\"", reason, "\"} ");
    const size_t at = text.find(name);
    return at == std::string::npos ? 0
                                   : std::stoi(text.substr(at + name.size()));
  };
  const int moved = count("not_head");
  const int unspecified = count("unspecified");
  answer(replica::MakeError(kamino::v1::REASON_NOT_HEAD, "moved"));
  answer(absl::CancelledError("the stream is closed"));
  answer(absl::OkStatus());
  EXPECT_EQ(count("not_head"), moved + 1);
  EXPECT_EQ(count("unspecified"), unspecified);
  answer(absl::DeadlineExceededError("late"));
  EXPECT_EQ(count("unspecified"), unspecified + 1);
}

}  // namespace
}  // namespace kamino::node
