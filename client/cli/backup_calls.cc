#include "client/cli/backup_calls.h"

#include <utility>

#include "absl/random/random.h"
#include "base/status_macros.h"
#include "client/backup_file.h"
#include "client/cli/backup_text.h"
#include "client/error.h"
#include "client/identification.h"
#include "proto/backup_records.h"

namespace kamino::client {

using kamino::v1::BackupHeader;
using kamino::v1::BackupSummary;
using kamino::v1::BackupTrailer;

absl::StatusOr<NodePlace> FindTail(Cli* cli) {
  ASSIGN_OR_RETURN(Client* const client, cli->Connect());
  const kamino::v1::Chain chain = client->chain();
  if (chain.nodes().empty()) {
    return absl::UnavailableError("the chain has no nodes yet");
  }
  NodePlace tail;
  tail.address = chain.nodes(chain.nodes_size() - 1).address();
  ASSIGN_OR_RETURN(tail.channel, ChannelFor(cli, *client, tail.address));
  return tail;
}

absl::StatusOr<rpc::ChannelOptions> ChannelFor(Cli* cli, const Client& client,
                                               const std::string& address) {
  rpc::ChannelOptions channel;
  ASSIGN_OR_RETURN(
      channel.credentials,
      Identify(cli->settings().tls, cli->settings().insecure, {address}));
  channel.cluster = client.cluster();
  return channel;
}

std::string FindHead(const Client& client) {
  const kamino::v1::Chain chain = client.chain();
  return chain.nodes().empty() ? "" : chain.nodes(0).address();
}

absl::StatusOr<BackupTrailer> HashOf(const NodePlace& tail,
                                     bool while_restoring,
                                     BackupHeader* header) {
  kamino::v1::SaveRequest request;
  request.set_backup_id(RandomBackupId());
  request.set_hash_only(true);
  request.set_while_restoring(while_restoring);
  BackupSink sink;
  sink.begin = [header](const BackupHeader& of) {
    *header = of;
    return absl::OkStatus();
  };
  sink.add = [](absl::string_view) { return absl::OkStatus(); };
  return SaveBackup(tail.address, tail.channel, request, sink);
}

absl::StatusOr<BackupSummary> VerifyBackup(
    OldFile* file, absl::FunctionRef<void(uint64_t)> passed) {
  BackupReader reader(
      [file](char* to, size_t most) { return file->Read(to, most); });
  const absl::StatusOr<BackupHeader> header = reader.Begin();
  if (!header.ok()) return file->Named(header.status());
  while (true) {
    const absl::StatusOr<absl::string_view> records = reader.Next();
    if (!records.ok()) return file->Named(records.status());
    passed(reader.file_bytes());
    if (records->empty()) break;
  }
  return Summarize(*header, reader.trailer(), reader.file_bytes(),
                   absl::ZeroDuration());
}

bool MayGoWellAgain(const absl::Status& status) {
  switch (ReasonOf(status)) {
    case kamino::v1::REASON_NOT_TAIL:
    case kamino::v1::REASON_RECONFIGURING:
    case kamino::v1::REASON_OTHER_CLUSTER:  // another address may be right
    case kamino::v1::REASON_OVERLOADED:
      return true;
    default:
      return absl::IsUnavailable(status) || absl::IsAborted(status);
  }
}

std::string RandomBackupId() {
  absl::BitGen random;
  std::string id;
  for (size_t i = 0; i < kBackupIdBytes; ++i) {
    id.push_back(static_cast<char>(absl::Uniform<int>(random, 0, 256)));
  }
  return id;
}

}  // namespace kamino::client
