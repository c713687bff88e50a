#include "base/host_id.h"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "absl/strings/str_cat.h"
#include "xxhash.h"

namespace kamino {

namespace {

std::string Boot() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  return boot;
}

}  // namespace

std::string HostId() {
  const std::string boot = Boot();
  struct stat files;
  if (boot.empty() || ::stat("/proc/self/ns/mnt", &files) != 0) return "";
  const std::string all = absl::StrCat(boot, " ", files.st_ino, " ", getuid());
  return absl::StrCat(
      absl::Hex(XXH3_64bits(all.data(), all.size()), absl::kZeroPad16));
}

uint64_t BootId() {
  const std::string boot = Boot();
  return boot.empty() ? 0 : XXH3_64bits(boot.data(), boot.size());
}

}  // namespace kamino
