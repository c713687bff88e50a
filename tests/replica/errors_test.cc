#include "replica/errors.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace kamino::replica {
namespace {

// gRPC's clients take 8 KiB of metadata by default, in base64, with more beside
// the keys.
TEST(ErrorsTest, KeysFitTheMetadataOfAnAnswer) {
  const std::vector<std::string> keys(20, std::string(1024, 'k'));
  const absl::Status error =
      MakeError(kamino::v1::REASON_CONFLICT, "conditions did not hold", keys);
  EXPECT_EQ(ReasonOf(error), kamino::v1::REASON_CONFLICT);
  EXPECT_EQ(DetailOf(error).keys_size(), 4);
  EXPECT_LT(DetailOf(error).ByteSizeLong(), 5000u);
}

TEST(ErrorsTest, ShortKeysAreAllNamedUpToSixteen) {
  const absl::Status error =
      MakeError(kamino::v1::REASON_CONFLICT, "x",
                std::vector<std::string>(20, std::string(100, 'k')));
  EXPECT_EQ(DetailOf(error).keys_size(), 16);
}

}  // namespace
}  // namespace kamino::replica
