#include <iostream>

#include "absl/strings/str_cat.h"
#include "client/cli/cli.h"
#include "client/cli/commit_words.h"

namespace kamino::client {

int RunCommit(const Cli& cli, const Words& words) {
  auto request = ParseCommit(words);
  if (!request.ok()) {
    return FailUsage(
        absl::StrCat(kCommitUsage, " (", request.status().message(), ")"));
  }
  auto response = cli.client->Commit(*request);
  if (!response.ok()) return Fail(response.status());
  if (cli.json) {
    PrintJson(*response);
  } else {
    for (const auto& result : response->results()) {
      if (result.key().empty()) continue;  // not of a get
      std::cout << (result.found()
                        ? absl::StrCat(result.key(), "\t", result.value(), "\n")
                        : absl::StrCat(result.key(), " is absent\n"));
    }
    std::cout << absl::StrCat(
        response->succeeded() ? "ok" : "conditions did not hold", ", version ",
        response->header().sequence(), "\n");
    for (const std::string& key : response->failed_keys()) {
      std::cerr << absl::StrCat("condition did not hold: ", key, "\n");
    }
  }
  return response->succeeded() ? kExitOk : kExitFailed;
}

}  // namespace kamino::client
