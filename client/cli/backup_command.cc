// kamino backup: save, verify, hash. restore_command.cc has restore.
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include "CLI/App.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "base/clock.h"
#include "base/escape.h"
#include "base/pause.h"
#include "base/status_macros.h"
#include "client/backup.h"
#include "client/backup_file.h"
#include "client/cli/backup_calls.h"
#include "client/cli/backup_text.h"
#include "client/cli/cli.h"
#include "client/cli/json.h"
#include "client/cli/new_files.h"
#include "client/cli/old_file.h"
#include "client/cli/progress.h"
#include "client/cli/wall_clock.h"
#include "client/error.h"

namespace kamino::client {
namespace {

using kamino::v1::BackupHeader;
using kamino::v1::BackupSummary;
using kamino::v1::BackupTrailer;

struct SaveOptions {
  std::string file;
  bool force = false;
  bool compress = false;
  uint64_t rate = 256;  // MiB a second; 0: unlimited
  int retries = 0;
};

// Limits the flow to `rate` bytes a second.
class Throttle {
 public:
  explicit Throttle(uint64_t bytes_per_second) : rate_(bytes_per_second) {}

  void Pass(uint64_t bytes) {
    passed_ += bytes;
    if (rate_ == 0) return;
    const absl::Duration due = absl::Seconds(static_cast<double>(passed_) /
                                             static_cast<double>(rate_));
    const absl::Duration ahead = due - (MonotonicNow() - begun_);
    if (ahead <= absl::ZeroDuration()) return;
    Pause(ahead);
  }

 private:
  const uint64_t rate_;
  const absl::Time begun_ = MonotonicNow();
  uint64_t passed_ = 0;
};

absl::StatusOr<std::unique_ptr<NewFile>> Make(const SaveOptions& options) {
  auto file = NewFile::Create(
      options.file, options.force ? Existing::kIsReplaced : Existing::kStays);
  if (!absl::IsAlreadyExists(file.status())) return file;
  return WithMore(file.status(),
                  "; --force overwrites it once the new one is whole");
}

absl::StatusOr<BackupSummary> SaveOnce(Cli* cli, const SaveOptions& options,
                                       bool* wrote) {
  const absl::Time begun = MonotonicNow();
  ASSIGN_OR_RETURN(const auto file, Make(options));
  ASSIGN_OR_RETURN(const NodePlace tail, FindTail(cli));
  BackupWriter writer(
      [&](absl::string_view bytes) {
        *wrote = true;
        return file->Write(bytes);
      },
      options.compress);
  kamino::v1::SaveRequest request;
  request.set_backup_id(RandomBackupId());
  BackupHeader header;
  Throttle throttle(options.rate << 20);
  Progress tally = Progress::OfBytes("saving");
  uint64_t passed = 0;
  BackupSink sink;
  sink.begin = [&](const BackupHeader& of) {
    header = of;
    header.set_saved_unix_ms(UnixMillis());
    return writer.Begin(header);
  };
  sink.add = [&](absl::string_view records) {
    passed += records.size();
    RETURN_IF_ERROR(writer.Add(records));
    tally.Show(passed);
    throttle.Pass(records.size());
    return absl::OkStatus();
  };
  ASSIGN_OR_RETURN(const BackupTrailer trailer,
                   SaveBackup(tail.address, tail.channel, request, sink));
  RETURN_IF_ERROR(writer.End(trailer));
  RETURN_IF_ERROR(file->Publish());
  return Summarize(header, trailer, writer.file_bytes(),
                   MonotonicNow() - begun);
}

absl::Status Explain(const absl::Status& status) {
  if (!absl::IsAborted(status)) return status;
  return WithMore(status,
                  " (kamino backup save --rate=0 saves without a limit; a "
                  "larger --snapshot_mb of the nodes leaves more time)");
}

// Prints the summary on standard output, or on standard error if standard
// output carries the backup. Not on a standard error that is no terminal:
// programs treat any output there as an error.
void Tell(const Cli& cli, const std::string& file,
          const BackupSummary& summary) {
  if (file == "-" && isatty(STDERR_FILENO) != 1) return;
  std::ostream& out = file == "-" ? std::cerr : std::cout;
  if (cli.json()) {
    out << ToJson(summary) << "\n";
  } else {
    out << Describe(summary);
  }
}

int RunSave(Cli* cli, const SaveOptions& options) {
  for (int left = options.retries;; --left) {
    bool wrote = false;
    auto summary = SaveOnce(cli, options, &wrote);
    if (summary.ok()) {
      Tell(*cli, options.file, *summary);
      return kExitOk;
    }
    const bool again = left > 0 && MayGoWellAgain(summary.status()) &&
                       !(options.file == "-" && wrote);
    if (!again) return cli->Fail(Explain(summary.status()));
    std::cerr << "kamino: " << Printable(summary.status().message())
              << "; from the beginning again\n";
    Pause(absl::Seconds(1));
  }
}

int RunVerify(Cli* cli, const std::string& path) {
  const absl::Time begun = MonotonicNow();
  auto file = OldFile::Open(path);
  if (!file.ok()) return cli->Fail(file.status());
  auto verified = [&file] {
    Progress tally = Progress::OfBytes("verifying");  // ends its line, first
    return VerifyBackup(file->get(),
                        [&](uint64_t bytes) { tally.Show(bytes); });
  }();
  if (!verified.ok()) return cli->Fail(verified.status());
  verified->set_seconds(absl::ToDoubleSeconds(MonotonicNow() - begun));
  if (cli->json()) {
    PrintJson(*verified);
  } else {
    std::cout << Describe(*verified) << "the backup is sound\n";
  }
  return kExitOk;
}

int RunHash(Cli* cli) {
  const absl::Time begun = MonotonicNow();
  auto tail = FindTail(cli);
  if (!tail.ok()) return cli->Fail(tail.status());
  BackupHeader header;
  auto trailer = HashOf(*tail, /*while_restoring=*/false, &header);
  if (!trailer.ok()) return cli->Fail(Explain(trailer.status()));
  if (cli->json()) {
    header.clear_backup_id();  // a hash is not a backup
    PrintJson(Summarize(header, *trailer, 0, MonotonicNow() - begun));
  } else {
    std::cout << absl::BytesToHexString(trailer->content_hash()) << " at "
              << header.sequence() << ", " << trailer->objects()
              << " objects\n";
  }
  return kExitOk;
}

void AddSave(CLI::App* backup, Cli* cli) {
  auto options = std::make_shared<SaveOptions>();
  CLI::App* save = AddCommand(
      backup, cli, "save",
      "Saves all objects as they are at one moment, while the cluster serves. "
      "The file appears once it is complete. Exits with 1 if the objects "
      "cannot be saved or written, 2 if the file cannot be made, 3 if the tail "
      "is lost.",
      "  kamino backup save monday.kmb\n"
      "  kamino backup save --compress --rate=50 /backups/monday.kmb\n"
      "  kamino backup save - | ssh elsewhere 'cat > monday.kmb'");
  save->add_option("FILE", options->file, "The file; -: standard output.")
      ->required()
      ->type_name("");
  save->add_flag("--force", options->force,
                 "Overwrites a file, once the new one is complete.");
  save->add_flag("--compress", options->compress,
                 "Compresses the file with zstd.");
  save->add_option("--rate", options->rate,
                   "MiB of objects a second at most, 256 by default; 0: as "
                   "fast as can be, at the expense of the cluster's clients.")
      ->type_name("N")
      ->transform(Decimal())
      ->check(CLI::Range(uint64_t{0}, uint64_t{1} << 20));
  save->add_option(
          "--retries", options->retries,
          "Maximum number of retries after the tail was lost, too much was "
          "changed, or the file accepted no data for a minute; 0 by default.")
      ->type_name("N")
      ->transform(Decimal())
      ->check(CLI::Range(0, 1000));
  save->callback([=] { cli->run = [=] { return RunSave(cli, *options); }; });
}

}  // namespace

void AddBackupCommand(CLI::App* app, Cli* cli) {
  CLI::App* backup = app->add_subcommand(
      "backup", "Saves all objects to a file, and restores them.");
  AddSettings(backup, &cli->settings());
  backup->require_subcommand(1);
  AddSave(backup, cli);

  auto path = std::make_shared<std::string>();
  CLI::App* verify = AddCommand(
      backup, cli, "verify",
      "Reads all of a backup, checks it, and prints what is in it. Calls no "
      "node. Exits with 0 if the backup is sound; 1 if it is damaged or no "
      "backup, and says where; 2 if it cannot be read.",
      "  kamino backup verify monday.kmb\n"
      "  ssh elsewhere 'cat monday.kmb' | kamino backup verify -");
  verify->add_option("FILE", *path, "The file; -: standard input.")
      ->required()
      ->type_name("");
  verify->callback([=] { cli->run = [=] { return RunVerify(cli, *path); }; });

  AddRestoreCommand(backup, cli);

  CLI::App* hash = AddCommand(backup, cli, "hash",
                              "Prints the hash of all present objects. A "
                              "backup of the same objects has the same hash.",
                              "  kamino backup hash");
  hash->callback([=] { cli->run = [=] { return RunHash(cli); }; });
}

}  // namespace kamino::client
