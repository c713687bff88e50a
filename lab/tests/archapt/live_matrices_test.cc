#include "lab/archapt/live_matrices.h"

#include <memory>
#include <vector>

#include "gtest/gtest.h"

namespace kamino::engine {
namespace {

constexpr ObjectId kBlock = 6400;

class LiveMatricesTest : public ::testing::Test {
 protected:
  // With one object.
  LiveMatrix* Add(MatrixState state) {
    columns_.push_back(std::make_unique<ObjectEntry>());
    columns_.back()->state = state;
    return matrices_.Add(kBlock, {columns_.back().get()});
  }

  std::vector<std::unique_ptr<ObjectEntry>> columns_;
  LiveMatrices matrices_{{/*free_slots=*/1, 0}};
};

TEST_F(LiveMatricesTest, EachMatrixHasASlotAndANumber) {
  LiveMatrix* const one = Add(MatrixState::kSealing);
  LiveMatrix* const two = Add(MatrixState::kSealing);
  EXPECT_EQ(columns_[0]->matrix, one);
  EXPECT_EQ(one->block, kBlock);
  EXPECT_EQ(one->slot, 0u);
  EXPECT_EQ(two->slot, 1u);
  EXPECT_NE(one->number, two->number);
  EXPECT_EQ(Add(MatrixState::kSealing), nullptr);
  EXPECT_EQ(columns_[2]->matrix, nullptr);
  EXPECT_EQ(matrices_.size(), 2u);
  matrices_.AddFreeSlots({7});
  EXPECT_EQ(Add(MatrixState::kSealing)->slot, 7u);
}

TEST_F(LiveMatricesTest, ASlotIsReusedUnderAnotherNumber) {
  LiveMatrix* const one = Add(MatrixState::kSealed);
  const uint64_t number = one->number;
  LiveMatrix* const two = Add(MatrixState::kSealed);
  matrices_.StartDissolving(one);
  matrices_.Remove(one);
  EXPECT_EQ(matrices_.size(), 1u);
  EXPECT_TRUE(matrices_.any_dissolving()) << "its block is not free yet";
  matrices_.EndDissolving();
  EXPECT_FALSE(matrices_.any_dissolving());
  const LiveMatrix* const next = Add(MatrixState::kSealed);
  EXPECT_EQ(next->slot, 0u);
  EXPECT_GT(next->number, number);
  // It has moved to the place of the one that is gone.
  matrices_.StartDissolving(two);
  matrices_.Remove(two);
  EXPECT_EQ(matrices_.StartDissolvingOne(), next);
}

TEST_F(LiveMatricesTest, OnlySealedMatricesAreDissolvedAndOnlyOnce) {
  Add(MatrixState::kSealing);
  LiveMatrix* const sealed = Add(MatrixState::kSealed);
  EXPECT_EQ(matrices_.StartDissolvingOne(), sealed);
  EXPECT_TRUE(sealed->dissolving);
  EXPECT_EQ(matrices_.StartDissolvingOne(), nullptr);
}

}  // namespace
}  // namespace kamino::engine
