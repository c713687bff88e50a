#include "lab/wrap/close_queue.h"

#include <optional>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace kamino::engine {
namespace {

Wrap Drawn(CloseQueue* queue,
           std::optional<uint64_t> commit_sequence = std::nullopt) {
  Wrap wrap;
  queue->Draw(&wrap, commit_sequence);
  return wrap;
}

TEST(CloseQueueTest, SequencesContinueAfterRecovery) {
  CloseQueue queue(/*retired=*/4, /*last_commit=*/70);
  EXPECT_FALSE(queue.retiring());
  const Wrap anonymous = Drawn(&queue);
  EXPECT_EQ(anonymous.sequence, 5u);
  EXPECT_EQ(anonymous.commit_sequence, 0u);
  const Wrap next = Drawn(&queue, 0);
  EXPECT_EQ(next.sequence, 6u);
  EXPECT_EQ(next.commit_sequence, 71u);
  EXPECT_EQ(Drawn(&queue, 80).commit_sequence, 80u);
  EXPECT_EQ(Drawn(&queue, 75).commit_sequence, 75u);
  EXPECT_EQ(Drawn(&queue, 0).commit_sequence, 81u);
  EXPECT_EQ(queue.size(), 5u);
}

TEST(CloseQueueTest, DurableClosesHaveNoGap) {
  CloseQueue queue(0, 0);
  std::vector<Wrap> wraps;
  for (int i = 0; i < 3; ++i) wraps.push_back(Drawn(&queue));
  queue.HandOver(std::move(wraps[1]));
  EXPECT_EQ(queue.durable(), 0u);
  EXPECT_EQ(queue.handed_over(), 2u);
  EXPECT_TRUE(queue.TakeDurable(SIZE_MAX).empty());
  queue.HandOver(std::move(wraps[0]));
  EXPECT_EQ(queue.durable(), 2u);
  queue.HandOver(std::move(wraps[2]));
  EXPECT_EQ(queue.durable(), 3u);
}

TEST(CloseQueueTest, WrapsRetireInCloseOrder) {
  CloseQueue queue(0, 0);
  for (int i = 0; i < 3; ++i) queue.HandOver(Drawn(&queue));
  const std::vector<Wrap> taken = queue.TakeDurable(2);
  ASSERT_EQ(taken.size(), 2u);
  EXPECT_EQ(taken[0].sequence, 1u);
  EXPECT_EQ(taken[1].sequence, 2u);
  EXPECT_EQ(queue.size(), 1u);
  EXPECT_EQ(queue.retired(), 0u);
  queue.SetRetired(2);
  EXPECT_TRUE(queue.retiring());
  EXPECT_EQ(queue.TakeDurable(2).size(), 1u);
  EXPECT_TRUE(queue.retiring());
  queue.SetRetired(3);
  EXPECT_FALSE(queue.retiring());
}

}  // namespace
}  // namespace kamino::engine
