#include "node/host_id.h"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "absl/strings/str_cat.h"
#include "xxhash.h"

namespace kamino::node {

std::string HostId() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  struct stat files;
  if (boot.empty() || ::stat("/proc/self/ns/mnt", &files) != 0) return "";
  const std::string all = absl::StrCat(boot, " ", files.st_ino, " ", getuid());
  return absl::StrCat(
      absl::Hex(XXH3_64bits(all.data(), all.size()), absl::kZeroPad16));
}

}  // namespace kamino::node
