// kamino backup restore.
#include <algorithm>
#include <deque>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "CLI/App.hpp"
#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "base/clock.h"
#include "base/pause.h"
#include "base/status_macros.h"
#include "client/backup.h"
#include "client/backup_file.h"
#include "client/cli/backup_calls.h"
#include "client/cli/backup_text.h"
#include "client/cli/cli.h"
#include "client/cli/old_file.h"
#include "client/cli/progress.h"
#include "client/cli/wall_clock.h"
#include "client/error.h"
#include "client/identification.h"

namespace kamino::client {
namespace {

using kamino::v1::BackupHeader;
using kamino::v1::BackupSummary;
using kamino::v1::BackupTrailer;
using kamino::v1::RestoreRequest;

constexpr int kThreads = 8;
constexpr size_t kMostWaiting = 2 * kThreads;  // steps
// Retries of the hash when the tail is lost.
constexpr int kHashTries = 20;

// The backup's chain may have continued after the backup, and the backup may
// have been restored elsewhere. So that no number is used twice, this chain's
// numbers begin at the microseconds since 1970: no cluster executes one
// mutation per microsecond.
uint64_t BaseFor(const BackupHeader& header) {
  constexpr uint64_t kBehind = uint64_t{1} << 32;
  return std::max(header.sequence() + kBehind, UnixMillis() * 1000);
}

// Threads that send steps to the head. The first error stops them.
class Steps {
 public:
  explicit Steps(Restorer* restorer) : restorer_(restorer) {
    for (int i = 0; i < kThreads; ++i) {
      threads_.emplace_back([this] { Run(); });
    }
  }
  ~Steps() { (void)Finish(); }

  absl::Status Add(RestoreRequest step) {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(this, &Steps::HasRoom));
    if (!error_.ok()) return error_;
    waiting_.push_back(std::move(step));
    return absl::OkStatus();
  }

  // Call once all steps are queued.
  absl::Status Finish() {
    {
      absl::MutexLock lock(&mutex_);
      ended_ = true;
    }
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    absl::MutexLock lock(&mutex_);
    return error_;
  }

 private:
  bool HasRoom() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return waiting_.size() < kMostWaiting || !error_.ok();
  }
  bool HasWork() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !waiting_.empty() || ended_ || !error_.ok();
  }

  void Run() {
    while (true) {
      RestoreRequest step;
      {
        absl::MutexLock lock(&mutex_);
        mutex_.Await(absl::Condition(this, &Steps::HasWork));
        if (!error_.ok() || waiting_.empty()) return;
        step = std::move(waiting_.front());
        waiting_.pop_front();
      }
      absl::Status done = restorer_->Step(step).status();
      if (done.ok()) continue;
      absl::MutexLock lock(&mutex_);
      if (error_.ok()) error_ = done;
    }
  }

  Restorer* const restorer_;
  absl::Mutex mutex_;
  std::deque<RestoreRequest> waiting_ ABSL_GUARDED_BY(mutex_);
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status error_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_;
};

absl::Status WithWhatToDo(const absl::Status& status) {
  // Another client has finished or given up the restore.
  if (ReasonOf(status) == kamino::v1::REASON_NOT_EMPTY) {
    return WithMore(status,
                    "; the cluster serves, and may not have all of the backup");
  }
  if (ReasonOf(status) == kamino::v1::REASON_HEAP_FULL) {
    return WithMore(
        status,
        "; the cluster serves no client until the restore is given up "
        "(kamino backup restore --give_up); restore into a cluster "
        "whose nodes have a larger --heap_mb");
  }
  return WithMore(
      status,
      "; the cluster serves no client until the restore is run again "
      "or given up (kamino backup restore --give_up)");
}

absl::StatusOr<std::unique_ptr<Restorer>> MakeRestorer(Cli* cli) {
  ASSIGN_OR_RETURN(Client* const client, cli->Connect());
  Restorer::Options options;
  ASSIGN_OR_RETURN(options.channel,
                   ChannelFor(cli, *client, FindHead(*client)));
  options.head = [client] { return FindHead(*client); };
  options.timeout = std::max(cli->settings().timeout, absl::Seconds(30));
  return std::make_unique<Restorer>(std::move(options));
}

RestoreRequest StepOf(const BackupHeader& header) {
  RestoreRequest step;
  step.set_backup_id(header.backup_id());
  return step;
}

absl::Status PutAll(const OldFile& file, BackupReader* reader,
                    const BackupHeader& header, Restorer* restorer) {
  Steps steps(restorer);
  Progress tally = Progress::OfBytes("restoring");
  while (true) {
    const absl::StatusOr<absl::string_view> records = reader->Next();
    if (!records.ok()) return file.Named(records.status());
    if (records->empty()) break;
    RETURN_IF_ERROR(CutIntoSteps(*records, [&](absl::string_view piece) {
      RestoreRequest step = StepOf(header);
      step.set_records(piece.data(), piece.size());
      return steps.Add(std::move(step));
    }));
    tally.Show(reader->record_bytes());
  }
  return steps.Finish();
}

// Checks that the cluster holds exactly the objects of the backup.
absl::Status Compare(Cli* cli, const BackupTrailer& wanted) {
  absl::StatusOr<BackupTrailer> is = absl::UnavailableError("not asked yet");
  for (int left = kHashTries; left > 0; --left) {
    ASSIGN_OR_RETURN(const NodePlace tail, FindTail(cli));
    BackupHeader header;
    is = HashOf(tail, /*while_restoring=*/true, &header);
    if (is.ok() || !MayGoWellAgain(is.status())) break;
    Pause(absl::Milliseconds(500));
  }
  RETURN_IF_ERROR(is.status());
  if (is->content_hash() == wanted.content_hash()) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("the cluster has ", is->objects(), " objects with the hash ",
                   absl::BytesToHexString(is->content_hash()),
                   ", and the backup ", wanted.objects(), " with ",
                   absl::BytesToHexString(wanted.content_hash())));
}

absl::StatusOr<BackupSummary> Restore(Cli* cli, OldFile* file) {
  const absl::Time begun = MonotonicNow();
  if (file->can_rewind()) {
    // A corrupt backup must not begin a restore.
    Progress tally = Progress::OfBytes("verifying");
    RETURN_IF_ERROR(VerifyBackup(file, [&](uint64_t bytes) {
                      tally.Show(bytes);
                    }).status());
    RETURN_IF_ERROR(file->Rewind());
  }
  BackupReader reader(
      [file](char* to, size_t most) { return file->Read(to, most); });
  const absl::StatusOr<BackupHeader> begun_with = reader.Begin();
  if (!begun_with.ok()) return file->Named(begun_with.status());
  const BackupHeader& header = *begun_with;
  ASSIGN_OR_RETURN(const auto restorer, MakeRestorer(cli));
  RestoreRequest begin = StepOf(header);
  begin.mutable_begin()->set_base(BaseFor(header));
  begin.mutable_begin()->set_heap_used(header.heap_used());
  if (auto taken = restorer->Step(begin); !taken.ok()) {
    // Refused: the restore did not begin.
    if (!MayBeDone(taken.status())) return taken.status();
    return WithMore(taken.status(),
                    "; the restore may have begun: then the cluster serves no "
                    "client until the restore is run again or given up (kamino "
                    "backup restore --give_up)");
  }
  absl::Status done = PutAll(*file, &reader, header, restorer.get());
  if (done.ok()) done = Compare(cli, reader.trailer());
  if (done.ok()) {
    RestoreRequest finish = StepOf(header);
    finish.mutable_finish();
    done = restorer->Step(finish).status();
  }
  if (!done.ok()) return WithWhatToDo(done);
  return Summarize(header, reader.trailer(), reader.file_bytes(),
                   MonotonicNow() - begun);
}

int RunRestore(Cli* cli, const std::string& path) {
  auto file = OldFile::Open(path);
  if (!file.ok()) return cli->Fail(file.status());
  auto summary = Restore(cli, file->get());
  if (!summary.ok()) return cli->Fail(summary.status());
  if (cli->json()) {
    PrintJson(*summary);
  } else {
    std::cout << Describe(*summary) << "restored: the cluster has all of it\n";
  }
  return kExitOk;
}

int RunGiveUp(Cli* cli) {
  auto restorer = MakeRestorer(cli);
  if (!restorer.ok()) return cli->Fail(restorer.status());
  RestoreRequest give_up;
  give_up.mutable_give_up();
  bool given_up = false;
  while (true) {
    auto step = (*restorer)->Step(give_up);
    if (!step.ok()) return cli->Fail(step.status());
    given_up |= !step->nothing_to_give_up();
    if (!step->more()) break;
  }
  if (cli->json()) {
    std::cout << "{\"given_up\": " << (given_up ? "true" : "false") << "}\n";
  } else if (given_up) {
    std::cout
        << "the restore is given up: the objects that it brought are deleted\n";
  } else {
    std::cout << "nothing was being restored; nothing is deleted\n";
  }
  return kExitOk;
}

}  // namespace

void AddRestoreCommand(CLI::App* backup, Cli* cli) {
  struct Options {
    std::string file;
    bool give_up = false;
  };
  auto options = std::make_shared<Options>();
  CLI::App* restore = AddCommand(
      backup, cli, "restore",
      "Restores the objects of a backup into a cluster that has none. The "
      "cluster serves no client until all are restored; after an interruption, "
      "run the command again. Exits with 1 if the backup is damaged or the "
      "cluster refuses it, 2 if the file cannot be read, 3 if no node answers.",
      "  kamino backup restore monday.kmb --cluster=new\n"
      "  kamino backup restore --give_up --cluster=new");
  restore->add_option("FILE", options->file, "The file; -: standard input.")
      ->type_name("");
  restore->add_flag(
      "--give_up", options->give_up,
      "Deletes the objects of an interrupted restore, and lets clients in.");
  restore->callback([=] {
    cli->run = [=] {
      if (options->give_up == !options->file.empty()) {
        return cli->FailUsage("restore takes a file, or --give_up");
      }
      return options->give_up ? RunGiveUp(cli) : RunRestore(cli, options->file);
    };
  });
}

}  // namespace kamino::client
