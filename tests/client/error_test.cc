#include "client/error.h"

#include <string>

#include "gtest/gtest.h"

namespace kamino::client {
namespace {

TEST(ErrorTest, AnExtendedMessageKeepsTheServersDetail) {
  kamino::v1::ErrorDetail detail;
  detail.set_reason(kamino::v1::REASON_RESTORING);
  detail.set_served_by("n1");
  const absl::Status longer =
      WithMore(MakeError(absl::StatusCode::kFailedPrecondition, detail, "no"),
               "; but why");
  EXPECT_TRUE(absl::IsFailedPrecondition(longer));
  EXPECT_EQ(longer.message(), "no; but why");
  EXPECT_EQ(ReasonOf(longer), kamino::v1::REASON_RESTORING);
  EXPECT_EQ(DetailOf(longer).served_by(), "n1");
}

}  // namespace
}  // namespace kamino::client
