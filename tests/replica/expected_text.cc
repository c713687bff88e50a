#include "tests/replica/expected_text.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"

namespace kamino::replica {
namespace {

bool rewrite = false;

// Under `bazel run` the tree is not the current directory.
std::string InTree(const std::string& path) {
  const char* tree = std::getenv("BUILD_WORKSPACE_DIRECTORY");
  return tree == nullptr ? path : std::string(tree) + "/" + path;
}

}  // namespace

std::string ReadText(const std::string& path) {
  std::ifstream file(InTree(path));
  if (!file) {
    ADD_FAILURE() << path << " cannot be read";
    return "";
  }
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> TextsIn(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code none;  // an empty folder
  for (const auto& entry :
       std::filesystem::directory_iterator(InTree(folder), none)) {
    const std::string name = entry.path().filename().string();
    if (absl::EndsWith(name, ".txt")) paths.push_back(folder + "/" + name);
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

void ExpectText(const std::string& path, const std::string& text) {
  if (rewrite) {
    std::ofstream file(InTree(path));
    file << text;
    ASSERT_TRUE(file.flush()) << path << " cannot be written";
    return;
  }
  const std::string expected = ReadText(path);
  if (expected == text) return;
  const std::vector<std::string> want = absl::StrSplit(expected, '\n');
  const std::vector<std::string> have = absl::StrSplit(text, '\n');
  size_t i = 0;
  while (i < want.size() && i < have.size() && want[i] == have[i]) ++i;
  ADD_FAILURE() << path << ":" << i + 1
                << ": expected: " << (i < want.size() ? want[i] : "its end")
                << "\nhave: " << (i < have.size() ? have[i] : "the end")
                << "\nAll of it, as --rewrite would write it:\n"
                << text;
}

}  // namespace kamino::replica

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--rewrite") == 0) kamino::replica::rewrite = true;
  }
  return RUN_ALL_TESTS();
}
