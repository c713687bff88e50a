#include "server/debug_service.h"

#include <utility>
#include <vector>

#include "absl/flags/reflection.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/clock.h"
#include "config/own_flags.h"
#include "glog/logging.h"
#include "logs/log.h"
#include "proto/version.h"
#include "rpc/answer.h"
#include "rpc/call_counts.h"
#include "rpc/call_guard.h"
#include "rpc/cluster_calls.h"

namespace kamino::server {
namespace {

constexpr char kRedacted[] = "(redacted)";

// Flags that name files with secrets are not secret themselves.
bool NamesSecret(absl::string_view name) {
  if (absl::EndsWith(name, "_file") || absl::EndsWith(name, "_dir")) {
    return false;
  }
  for (absl::string_view part : absl::StrSplit(name, '_')) {
    for (const char* word : {"password", "passwd", "secret", "token"}) {
      if (part == word) return true;
    }
  }
  return false;
}

AuditRecord RecordOf(const grpc::CallbackServerContext& context,
                     const absl::Status& outcome) {
  AuditRecord record;
  record.who = rpc::IdentityOf(context);
  record.from = rpc::PeerAddressOf(context);
  record.call = rpc::MethodOf(*kamino::v1::GetDebugRequest::descriptor());
  record.outcome = outcome;
  return record;
}

// For a program without an audit log.
std::string LineOf(const AuditRecord& record) {
  return absl::StrCat(
      record.outcome.ok() ? "sent" : "did not send",
      " the settings, log lines and metrics of this process to ",
      record.who.empty() ? "a caller without a certificate" : record.who,
      " from ", record.from, " (", record.call, ")",
      record.outcome.ok() ? "" : ": ", record.outcome.message());
}

}  // namespace

std::string Redacted(absl::string_view name, absl::string_view value) {
  if (value.empty()) return "";
  if (NamesSecret(name)) return kRedacted;
  std::vector<std::string> parts;
  for (absl::string_view part : absl::StrSplit(value, ',')) {
    const size_t at = part.rfind('@');
    parts.push_back(at == part.npos ? std::string(part)
                                    : absl::StrCat(kRedacted, part.substr(at)));
  }
  return absl::StrJoin(parts, ",");
}

absl::Status DebugService::Audit(const AuditRecord& record) {
  if (audit_ != nullptr) return audit_->Add(record);
  return logs::WriteLine(google::GLOG_INFO, LineOf(record));
}

void DebugService::AuditRefusal(const AuditRecord& record) {
  if (audit_ != nullptr) return audit_->AddToLog(record);
  logs::KeepLine(google::GLOG_INFO, LineOf(record)).IgnoreError();
}

void DebugService::Fill(kamino::v1::GetDebugResponse* response) {
  response->set_program(program_);
  response->set_version(kVersion);
  for (const auto& [name, flag] : config::OwnFlags()) {
    kamino::v1::DebugSetting* setting = response->add_settings();
    const std::string value = flag->CurrentValue();
    setting->set_name(name);
    setting->set_value(Redacted(name, value));
    setting->set_is_default(value == flag->DefaultValue());
  }
  for (std::string& line : logs::RecentLines()) {
    response->add_log_lines(std::move(line));
  }
  if (metrics_ != nullptr) response->set_metrics(metrics_());
}

grpc::ServerUnaryReactor* DebugService::GetDebug(
    grpc::CallbackServerContext* context, const kamino::v1::GetDebugRequest*,
    kamino::v1::GetDebugResponse* response) {
  const absl::Time began = MonotonicNow();
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const auto refuse = [=, this](const absl::Status& why) {
    AuditRefusal(RecordOf(*context, why));
    rpc::Finish<kamino::v1::GetDebugRequest>(reactor, began, why);
  };
  if (absl::Status met = rpc::MeetCaller(cluster_, context); !met.ok()) {
    refuse(met);
    return reactor;
  }
  const absl::Status begun =
      audit_thread_->Begin([=, this](const logs::AuditThread::PlacePtr&,
                                     const absl::Status& admitted) {
        if (!admitted.ok()) return refuse(admitted);
        const absl::Status audited =
            Audit(RecordOf(*context, absl::OkStatus()));
        if (audited.ok()) Fill(response);
        rpc::Finish<kamino::v1::GetDebugRequest>(reactor, began, audited);
      });
  if (!begun.ok()) refuse(begun);
  return reactor;
}

}  // namespace kamino::server
