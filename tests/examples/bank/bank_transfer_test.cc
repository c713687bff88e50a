#include "examples/bank/bank_transfer.h"

#include "engine/index/key_value.h"
#include "gtest/gtest.h"
#include "tests/engine/kamino/fixture.h"

namespace kamino::examples {
namespace {

class BankTransferTest : public ::testing::Test {
 protected:
  BankTransferTest()
      : under_(engine::Scheme::kSimpleLater),
        transaction_(under_.Begin()),
        objects_(transaction_.get(), *engine::BTree::Create(*transaction_)),
        context_(&objects_, 1, &meter_) {
    EXPECT_TRUE(context_.Put("alice", "100").ok());
    EXPECT_TRUE(context_.Put("bob", "9223372036854775800").ok());
    EXPECT_TRUE(context_.Put("text", "no number").ok());
  }

  engine::StoreUnderTest under_;
  std::unique_ptr<engine::Transaction> transaction_;
  engine::KeyValue objects_;
  replica::RequestMeter meter_;
  replica::ProcedureContext context_;
};

TEST(LinkedProcedureTest, IsRegisteredWithoutBeingNamed) {
  replica::ProcedureRegistry registry;
  EXPECT_EQ(registry.Find(kBankTransfer), nullptr);
  registry.RegisterLinked();
  EXPECT_NE(registry.Find(kBankTransfer), nullptr);
}

TEST_F(BankTransferTest, TransfersMoney) {
  auto moved = BankTransfer(context_, "bob alice 7");
  ASSERT_TRUE(moved.ok()) << moved.status();
  EXPECT_EQ(*moved, "9223372036854775793 107");
  EXPECT_EQ(context_.Get("alice")->value, "107");
}

TEST_F(BankTransferTest, RefusesWithoutAnIntent) {
  const size_t declared = transaction_->write_set().size();
  for (const char* arguments :
       {"", "alice bob", "alice bob 0", "alice bob -1", "alice bob x",
        "alice bob 1 2", "alice alice 1", "alice bob 99999999999999999999"}) {
    EXPECT_TRUE(
        absl::IsInvalidArgument(BankTransfer(context_, arguments).status()))
        << arguments;
  }
  for (const char* arguments :
       {"alice bob 101", "alice bob 50", "text alice 1", "alice text 1"}) {
    EXPECT_TRUE(
        absl::IsFailedPrecondition(BankTransfer(context_, arguments).status()))
        << arguments;
  }
  EXPECT_TRUE(
      absl::IsNotFound(BankTransfer(context_, "alice nobody 1").status()));
  EXPECT_EQ(transaction_->write_set().size(), declared);
}

}  // namespace
}  // namespace kamino::examples
