// When a verbs link reports consumed records.
#include "transport/verbs/incoming_records.h"

#include <optional>

#include "gtest/gtest.h"

namespace kamino::transport {
namespace {

constexpr size_t kRing = 4096;

void Publish(uint64_t position, IncomingRecords* records) {
  records->OnTail(EncodeNotice(Notice::kTail, position));
}

TEST(IncomingRecords, AnEighthOfTheRingIsReported) {
  IncomingRecords records;
  Publish(kRing / 2, &records);
  EXPECT_EQ(records.published(), kRing / 2);
  EXPECT_EQ(records.Consume(kRing / 8 - kRingAlignment, true, kRing),
            std::nullopt);
  EXPECT_EQ(records.Consume(kRing / 8, true, kRing), Notice::kHead);
  EXPECT_EQ(records.Consume(kRing / 8, true, kRing), std::nullopt);
}

TEST(IncomingRecords, ManySmallNoticesOfThePeerAreReported) {
  IncomingRecords records;
  for (size_t i = 1; i <= kTailsPerHead; ++i) {
    const uint64_t position = i * kRingAlignment;
    Publish(position, &records);
    const auto report = records.Consume(position, true, size_t{1} << 20);
    EXPECT_EQ(report.has_value(), i == kTailsPerHead) << i;
  }
}

TEST(IncomingRecords, ARequestIsAnsweredOnceHalfOfTheRingIsFree) {
  IncomingRecords records;
  Publish(kRing, &records);
  records.OnWant();
  EXPECT_EQ(records.Consume(kRingAlignment, false, kRing), std::nullopt);
  EXPECT_EQ(records.Consume(kRing / 4, false, kRing), Notice::kHead);
  EXPECT_TRUE(records.wanted());
  EXPECT_EQ(records.Consume(kRing / 4, true, kRing), Notice::kAnswer);
  EXPECT_FALSE(records.wanted());
  EXPECT_EQ(records.Consume(kRing / 4, true, kRing), std::nullopt);
}

}  // namespace
}  // namespace kamino::transport
