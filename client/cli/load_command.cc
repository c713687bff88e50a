// load: one object for each record of a file.
#include <fstream>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "client/cli/cli.h"

namespace kamino::client {
namespace {

constexpr char kUsage[] =
    "load dpkg [FILE] (default /var/lib/dpkg/status; key = package name) | "
    "load tsv FILE (a key, a tab, a value per line)";

using Objects = std::vector<std::pair<std::string, std::string>>;

absl::StatusOr<Objects> ReadDpkg(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    return absl::InvalidArgumentError(absl::StrCat("cannot read ", path));
  }
  Objects objects;
  std::string line;
  std::string name;
  std::string paragraph;
  const auto finish = [&] {
    if (!name.empty()) objects.emplace_back(name, paragraph);
    name.clear();
    paragraph.clear();
  };
  while (std::getline(file, line)) {
    if (line.empty()) {
      finish();
      continue;
    }
    if (absl::StartsWith(line, "Package: ")) name = line.substr(9);
    absl::StrAppend(&paragraph, line, "\n");
  }
  finish();
  return objects;
}

absl::StatusOr<Objects> ReadTsv(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    return absl::InvalidArgumentError(absl::StrCat("cannot read ", path));
  }
  Objects objects;
  std::string line;
  while (std::getline(file, line)) {
    const size_t tab = line.find('\t');
    if (tab == std::string::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, " line ", objects.size() + 1, " has no tab"));
    }
    objects.emplace_back(line.substr(0, tab), line.substr(tab + 1));
  }
  return objects;
}

// Puts all objects, a bounded number at a time.
class Loader {
 public:
  Loader(Client* client, int outstanding)
      : client_(client), max_outstanding_(outstanding) {}

  absl::Status Load(const Objects& objects, Progress* progress) {
    for (const auto& [key, value] : objects) {
      {
        absl::MutexLock lock(&mutex_);
        mutex_.Await(absl::Condition(this, &Loader::HasRoom));
        if (!error_.ok()) break;
        progress->Show(done_);
        ++outstanding_;
      }
      kamino::v1::PutRequest request;
      request.set_key(key);
      request.set_value(value);
      client_->PutAsync(std::move(request), [this](const auto& put) {
        absl::MutexLock lock(&mutex_);
        --outstanding_;
        if (put.ok()) {
          ++done_;
        } else if (error_.ok()) {
          error_ = put.status();
        }
      });
    }
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(this, &Loader::Idle));
    progress->Show(done_);
    return error_;
  }

  uint64_t done() const {
    absl::MutexLock lock(&mutex_);
    return done_;
  }

 private:
  bool HasRoom() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return outstanding_ < max_outstanding_;
  }
  bool Idle() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return outstanding_ == 0;
  }

  Client* const client_;
  const int max_outstanding_;
  mutable absl::Mutex mutex_;
  int outstanding_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t done_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status error_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

int RunLoad(const Cli& cli, const Words& words) {
  if (words.empty() || words.size() > 2 ||
      (words[0] != "dpkg" && words[0] != "tsv") ||
      (words[0] == "tsv" && words.size() != 2)) {
    return FailUsage(kUsage);
  }
  const absl::StatusOr<int> outstanding = Outstanding();
  if (!outstanding.ok()) return FailUsage(outstanding.status().message());
  auto objects =
      words[0] == "tsv"
          ? ReadTsv(words[1])
          : ReadDpkg(words.size() > 1 ? words[1] : "/var/lib/dpkg/status");
  if (!objects.ok()) return FailUsage(objects.status().message());
  Progress progress("loading", objects->size());
  Loader loader(cli.client, *outstanding);
  const absl::Time begin = absl::Now();
  absl::Status loaded = loader.Load(*objects, &progress);
  const double seconds = absl::ToDoubleSeconds(absl::Now() - begin);
  if (!loaded.ok()) return Fail(loaded);
  if (cli.json) {
    std::cout << absl::StrCat("{\"objects\": ", loader.done(),
                              ", \"seconds\": ", seconds, "}\n");
  } else {
    std::cout << absl::StrCat("loaded ", loader.done(), " objects in ", seconds,
                              " s\n");
  }
  return kExitOk;
}

}  // namespace kamino::client
