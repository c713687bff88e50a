// get, put, patch, del, scan, call, outcome.
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "absl/flags/flag.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "client/cli/cli.h"

ABSL_FLAG(uint64_t, offset, 0, "get: first byte of the value to read.");
ABSL_FLAG(uint64_t, length, 0, "get: bytes to read; 0 means to the end.");
ABSL_FLAG(std::string, file, "",
          "put: take the value from this file; - is standard input.");
ABSL_FLAG(uint64_t, limit, 0, "scan: at most so many objects; 0 means all.");
ABSL_FLAG(std::string, prefix, "", "scan: only keys that begin with this.");
ABSL_FLAG(bool, keys_only, false, "scan: leave the values out.");

namespace kamino::client {
namespace {

void PrintDone(const Cli& cli, const google::protobuf::Message& response,
               const kamino::v1::ResponseHeader& header) {
  if (cli.json) return PrintJson(response);
  std::cout << absl::StrCat("ok, version ", header.sequence(), "\n");
}

// The least key that is over all keys with this prefix; "" when there is none.
std::string EndOf(std::string prefix) {
  while (!prefix.empty() && prefix.back() == '\xff') prefix.pop_back();
  if (!prefix.empty()) ++prefix.back();
  return prefix;
}

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  if (path == "-") {
    return std::string(std::istreambuf_iterator<char>(std::cin), {});
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return absl::InvalidArgumentError(absl::StrCat("cannot read ", path));
  }
  return std::string(std::istreambuf_iterator<char>(file), {});
}

}  // namespace

int RunGet(const Cli& cli, const Words& words) {
  if (words.size() != 1) return FailUsage("get KEY [--offset=N] [--length=N]");
  auto got = cli.client->Get(words[0], absl::GetFlag(FLAGS_offset),
                             absl::GetFlag(FLAGS_length));
  if (!got.ok()) return Fail(got.status());
  if (cli.json) {
    PrintJson(*got);
  } else {
    std::cout << got->value() << "\n";
  }
  return kExitOk;
}

int RunPut(const Cli& cli, const Words& words) {
  const std::string path = absl::GetFlag(FLAGS_file);
  if (words.size() != (path.empty() ? 2 : 1)) {
    return FailUsage("put KEY VALUE | put KEY --file=PATH");
  }
  absl::StatusOr<std::string> value = path.empty() ? words[1] : ReadFile(path);
  if (!value.ok()) return FailUsage(value.status().message());
  auto put = cli.client->Put(words[0], *value);
  if (!put.ok()) return Fail(put.status());
  PrintDone(cli, *put, put->header());
  return kExitOk;
}

int RunPatch(const Cli& cli, const Words& words) {
  uint64_t offset;
  if (words.size() != 3 || !ParseNumber(words[1], &offset)) {
    return FailUsage("patch KEY OFFSET DATA");
  }
  auto patched = cli.client->Patch(words[0], offset, words[2]);
  if (!patched.ok()) return Fail(patched.status());
  PrintDone(cli, *patched, patched->header());
  return kExitOk;
}

int RunDelete(const Cli& cli, const Words& words) {
  if (words.size() != 1) return FailUsage("del KEY");
  auto deleted = cli.client->Delete(words[0]);
  if (!deleted.ok()) return Fail(deleted.status());
  PrintDone(cli, *deleted, deleted->header());
  return kExitOk;
}

int RunScan(const Cli& cli, const Words& words) {
  const std::string prefix = absl::GetFlag(FLAGS_prefix);
  if (words.size() > 2 || (!words.empty() && !prefix.empty())) {
    return FailUsage(
        "scan [START [END]] | scan --prefix=P, with --limit=N, --keys_only");
  }
  kamino::v1::ScanRequest request;
  if (!prefix.empty()) {
    request.set_start_key(prefix);
    request.set_end_key(EndOf(prefix));
  }
  if (!words.empty()) request.set_start_key(words[0]);
  if (words.size() > 1) request.set_end_key(words[1]);
  request.set_limit(absl::GetFlag(FLAGS_limit));
  request.set_keys_only(absl::GetFlag(FLAGS_keys_only));
  absl::Status scanned = cli.client->Scan(
      request, [&](const kamino::v1::ReadResult& object, const auto&) {
        if (cli.json) {
          PrintJson(object);
        } else if (request.keys_only()) {
          std::cout << object.key() << "\n";
        } else {
          // One object a line, whatever its value.
          std::cout << absl::StrCat(object.key(), "\t",
                                    absl::CHexEscape(object.value()), "\n");
        }
        return std::cout.good();
      });
  return scanned.ok() ? kExitOk : Fail(scanned);
}

int RunCall(const Cli& cli, const Words& words) {
  if (words.size() != 2) return FailUsage("call PROCEDURE ARGUMENTS");
  auto called = cli.client->Call(words[0], words[1]);
  if (!called.ok()) return Fail(called.status());
  if (cli.json) {
    PrintJson(*called);
  } else {
    std::cout << called->result() << "\n";
  }
  return kExitOk;
}

int RunOutcome(const Cli& cli, const Words& words) {
  uint64_t client_id;
  uint64_t number;
  uint64_t since = 0;
  if (words.size() < 2 || words.size() > 3 ||
      !ParseNumber(words[0], &client_id) || !ParseNumber(words[1], &number) ||
      (words.size() == 3 && !ParseNumber(words[2], &since))) {
    return FailUsage("outcome CLIENT_ID NUMBER [SINCE]");
  }
  auto outcome = cli.client->GetOutcome(client_id, number, since);
  if (!outcome.ok()) return Fail(outcome.status());
  if (cli.json) {
    PrintJson(*outcome);
    return kExitOk;
  }
  switch (outcome->outcome()) {
    case kamino::v1::OUTCOME_COMMITTED:
      std::cout << absl::StrCat("committed, version ", outcome->sequence(),
                                "\n");
      break;
    case kamino::v1::OUTCOME_SUPERSEDED:
      std::cout << absl::StrCat("over: number ", outcome->last_number(),
                                " has committed since\n");
      break;
    case kamino::v1::OUTCOME_NOT_COMMITTED:
      std::cout << "not committed\n";
      break;
    default:
      std::cout << "not known any more: it may have committed or not\n";
  }
  return kExitOk;
}

}  // namespace kamino::client
