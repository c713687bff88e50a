// load: writes one object per record of a file.
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/mutex.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "client/check.h"
#include "client/cli/cli.h"
#include "client/cli/files.h"
#include "client/cli/progress.h"
#include "client/cli/text.h"
#include "client/error.h"

namespace kamino::client {
namespace {

using Objects = std::vector<std::pair<std::string, std::string>>;

// Keeps the last object of each key, as if they were written in order.
Objects LastOfEach(Objects objects) {
  absl::flat_hash_map<std::string, size_t> last;
  for (size_t i = 0; i < objects.size(); ++i) last[objects[i].first] = i;
  Objects kept;
  for (size_t i = 0; i < objects.size(); ++i) {
    if (last[objects[i].first] == i) kept.push_back(std::move(objects[i]));
  }
  return kept;
}

absl::StatusOr<Objects> ReadDpkg(const std::string& path) {
  Objects objects;
  std::string name;
  std::string paragraph;
  const auto finish = [&] {
    if (!name.empty()) objects.emplace_back(name, paragraph);
    name.clear();
    paragraph.clear();
  };
  RETURN_IF_ERROR(ReadLines(path, OddCr::kStays, [&](const std::string& line) {
    if (line.empty()) {
      finish();
      return absl::OkStatus();
    }
    if (absl::StartsWith(line, "Package: ")) name = line.substr(9);
    absl::StrAppend(&paragraph, line, "\n");
    return absl::OkStatus();
  }));
  finish();
  if (!objects.empty()) return objects;
  return absl::InvalidArgumentError(
      absl::StrCat(NameOf(path), " names no packages: no line of it begins ",
                   "with \"Package: \", as dpkg's status file has them"));
}

// "KEY<tab>VALUE", escaped as by scan, the key in the encoding `keys`.
absl::Status ReadTsvLine(absl::string_view line, KeyEncoding keys,
                         Objects* objects) {
  const size_t tab = line.find('\t');
  if (tab == absl::string_view::npos) {
    return absl::InvalidArgumentError("it has no tab");
  }
  ASSIGN_OR_RETURN(std::string key,
                   DecodeKey(keys, KeyPlace::kLine, line.substr(0, tab)));
  ASSIGN_OR_RETURN(std::string value, Unescape(line.substr(tab + 1)));
  RETURN_IF_ERROR(CheckKey(key));
  RETURN_IF_ERROR(CheckValue(value));
  objects->emplace_back(std::move(key), std::move(value));
  return absl::OkStatus();
}

absl::StatusOr<Objects> ReadTsv(const std::string& path, KeyEncoding keys) {
  Objects objects;
  RETURN_IF_ERROR(
      ReadLines(path, OddCr::kIsAnError, [&](const std::string& line) {
        absl::Status read = ReadTsvLine(line, keys, &objects);
        if (read.ok()) return read;
        return absl::InvalidArgumentError(absl::StrCat(
            NameOf(path), " line ", objects.size() + 1, ": ", read.message()));
      }));
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
          return;
        }
        ++failed_;
        if (error_.ok()) error_ = put.status();
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
  // Puts that failed; some may have taken effect.
  uint64_t failed() const {
    absl::MutexLock lock(&mutex_);
    return failed_;
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
  uint64_t failed_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status error_ ABSL_GUARDED_BY(mutex_);
};

struct LoadOptions {
  std::string kind;
  std::string file;
  int outstanding = 64;
};

int RunLoad(Cli& cli, const LoadOptions& options) {
  if (options.kind == "tsv" && options.file.empty()) {
    return cli.FailUsage("load tsv takes a file, or - for standard input");
  }
  auto objects = options.kind == "tsv"  ? ReadTsv(options.file, cli.Keys())
                 : options.file.empty() ? ReadDpkg("/var/lib/dpkg/status")
                                        : ReadDpkg(options.file);
  if (!objects.ok()) return cli.FailUsage(objects.status().message());
  *objects = LastOfEach(*std::move(objects));
  auto client = cli.Connect();
  if (!client.ok()) return cli.Fail(client.status());
  Progress progress("loading", objects->size());
  Loader loader(*client, options.outstanding);
  const absl::Time begin = MonotonicNow();
  absl::Status loaded = loader.Load(*objects, &progress);
  const double seconds = absl::ToDoubleSeconds(MonotonicNow() - begin);
  if (!loaded.ok()) {
    return cli.Fail(WithMore(
        loaded, absl::StrCat("; ", loader.done(), " of ", objects->size(),
                             " objects are known to be written, and up to ",
                             loader.failed(),
                             " others may be: load the file again once the "
                             "cause is gone")));
  }
  if (cli.json()) {
    std::cout << absl::StrCat("{\"objects\": ", loader.done(),
                              ", \"seconds\": ", seconds, "}\n");
  } else {
    std::cout << absl::StrFormat("loaded %d objects in %.2f s\n", loader.done(),
                                 seconds);
  }
  return kExitOk;
}

}  // namespace

void AddLoadCommand(CLI::App* app, Cli* cli) {
  auto options = std::make_shared<LoadOptions>();
  CLI::App* load = AddCommand(
      app, cli, "load", "Writes one object for each record of a file.",
      "  kamino load tsv all.tsv      # KEY, a tab, VALUE; as scan prints "
      "them\n"
      "  kamino scan | kamino load tsv - --cluster=other\n"
      "  kamino load dpkg             # Debian's packages, by name");
  load->add_option("KIND", options->kind, "tsv or dpkg.")
      ->required()
      ->type_name("")
      ->check(CLI::IsMember({"tsv", "dpkg"}));
  load->add_option(
          "FILE", options->file,
          "- is standard input; for dpkg, /var/lib/dpkg/status by default.")
      ->type_name("");
  load->add_option("--outstanding", options->outstanding,
                   "Calls under way at once; 64 by default.")
      ->type_name("N")
      ->transform(Decimal())
      ->check(CLI::Range(1, ClientOptions().max_outstanding));
  load->callback([=] { cli->run = [=] { return RunLoad(*cli, *options); }; });
}

}  // namespace kamino::client
