#include "membership/debug_service.h"

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

namespace kamino::membership {
namespace {

constexpr char kRedacted[] = "(redacted)";

// Secrets are in files that flags name: that is no secret.
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

absl::Status DebugService::Audit(const grpc::CallbackServerContext& context) {
  AuditRecord record;
  record.who = rpc::IdentityOf(context);
  record.from = context.peer();
  record.call = rpc::MethodOf(*kamino::v1::GetDebugRequest::descriptor());
  if (audit_ != nullptr) return audit_->Add(record);
  return logs::WriteLine(
      google::GLOG_INFO,
      absl::StrCat("told ", record.who.empty() ? "somebody" : record.who,
                   " from ", record.from, " all of this process (", record.call,
                   ")"));
}

grpc::ServerUnaryReactor* DebugService::GetDebug(
    grpc::CallbackServerContext* context, const kamino::v1::GetDebugRequest*,
    kamino::v1::GetDebugResponse* response) {
  const absl::Time began = MonotonicNow();
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const absl::Status audited = Audit(*context);
  if (!audited.ok()) {
    rpc::Finish<kamino::v1::GetDebugRequest>(reactor, began, audited);
    return reactor;
  }
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
  rpc::Finish<kamino::v1::GetDebugRequest>(reactor, began, absl::OkStatus());
  return reactor;
}

}  // namespace kamino::membership
