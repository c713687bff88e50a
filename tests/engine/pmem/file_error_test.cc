#include "engine/pmem/file_error.h"

#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kamino::engine {
namespace {

using ::testing::HasSubstr;

TEST(FileErrorTest, StatusCodesMatchErrno) {
  using absl::StatusCode;
  for (const auto& [error, code] :
       {std::pair{EEXIST, StatusCode::kAlreadyExists},
        {ENOENT, StatusCode::kNotFound},
        {ENOSPC, StatusCode::kResourceExhausted},
        {EDQUOT, StatusCode::kResourceExhausted},
        {EFBIG, StatusCode::kResourceExhausted},
        {ENOMEM, StatusCode::kResourceExhausted},
        {EACCES, StatusCode::kFailedPrecondition},
        {EIO, StatusCode::kFailedPrecondition}}) {
    EXPECT_EQ(FileError(error, "open", "/f").code(), code) << error;
  }
  EXPECT_EQ(FileError(ENOENT, "open", "/f").message(),
            "cannot open /f: No such file or directory");
  EXPECT_EQ(FileError(ENOENT, "make", "/f", "its own words").message(),
            "cannot make /f: its own words");
}

TEST(FileErrorTest, OnlyFilesAndCharacterDevicesAreMapped) {
  EXPECT_TRUE(CheckKind("f", S_IFREG | 0600).ok());
  EXPECT_TRUE(CheckKind("dax0.0", S_IFCHR | 0600).ok());
  for (const mode_t kind : {S_IFBLK, S_IFIFO, S_IFSOCK, S_IFDIR}) {
    const absl::Status refused = CheckKind("pmem0", kind | 0600);
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << kind;
    EXPECT_THAT(refused.message(), HasSubstr("pmem0 is "));
    EXPECT_EQ(absl::StrContains(refused.message(), "block device"),
              kind == S_IFBLK);
  }
}

}  // namespace
}  // namespace kamino::engine
