#include "client/cli/cli.h"

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/escape.h"
#include "base/status_macros.h"
#include "client/cli/json.h"
#include "client/error.h"
#include "client/identification.h"
#include "google/protobuf/struct.pb.h"
#include "proto/words.h"

namespace kamino::client {
namespace {

std::string FromEnvironment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Some errors, including gRPC's, have no message.
std::string MessageOf(const absl::Status& status) {
  if (!status.message().empty()) return std::string(status.message());
  return absl::StatusCodeToString(status.code());
}

// For programs.
std::string ReasonName(const absl::Status& status) {
  const kamino::v1::Reason reason = ReasonOf(status);
  if (reason == kamino::v1::REASON_UNSPECIFIED) return "";
  return kamino::v1::Reason_Name(reason);
}

// For people: "key not found".
std::string ReasonWords(const absl::Status& status) {
  const kamino::v1::Reason reason = ReasonOf(status);
  if (reason == kamino::v1::REASON_UNSPECIFIED) return "";
  return absl::StrReplaceAll(Word(reason), {{"_", " "}});
}

// Advice that a node's message cannot contain.
std::string Advice(const absl::Status& status, const Settings& settings) {
  if (!absl::IsPermissionDenied(status) || settings.tls.certificate.empty() ||
      ReasonOf(status) != kamino::v1::REASON_UNSPECIFIED) {
    return "";
  }
  return absl::StrCat("; the call used the certificate ",
                      settings.tls.certificate,
                      ": use another one (--tls_cert, --tls_key), or have an "
                      "operator grant it in the servers' --roles");
}

void PrintErrorJson(
    absl::string_view code, const std::string& reason,
    const std::string& request, absl::string_view message,
    const google::protobuf::RepeatedPtrField<std::string>& keys) {
  google::protobuf::Struct whole;
  auto& error = *(*whole.mutable_fields())["error"]
                     .mutable_struct_value()
                     ->mutable_fields();
  error["code"].set_string_value(std::string(code));
  error["reason"].set_string_value(reason);
  if (!request.empty()) error["request"].set_string_value(request);
  error["message"].set_string_value(ToUtf8(message));
  for (const std::string& key : keys) {
    error["keys"].mutable_list_value()->add_values()->set_string_value(
        absl::Base64Escape(key));
  }
  std::cerr << ToJson(whole) << "\n";
}

}  // namespace

Cli::Cli() = default;
Cli::~Cli() = default;

namespace {

// Names the request if the nodes' logs say more about the error.
std::string RequestOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kUnknown:
    case absl::StatusCode::kDataLoss:
      return DetailOf(status).request();
    default:
      return "";
  }
}

}  // namespace

KeyEncoding Cli::Keys() {
  (void)Locate(Place::kChain, FromEnvironment, &settings_);
  return settings_.key_encoding;
}

absl::StatusOr<std::string> Cli::KeyOf(const std::string& word) {
  return DecodeKey(Keys(), KeyPlace::kWord, word);
}

absl::StatusOr<Client*> Cli::Connect() {
  if (client_ != nullptr) return client_.get();
  RETURN_IF_ERROR(Locate(Place::kChain, FromEnvironment, &settings_));
  ClientOptions options;
  options.seeds = settings_.seeds;
  options.timeout = settings_.timeout;
  options.carrier = settings_.carrier;
  options.reads = reads_;
  options.tls = settings_.tls;
  options.insecure = settings_.insecure;
  ASSIGN_OR_RETURN(client_, Client::Connect(std::move(options)));
  return client_.get();
}

absl::StatusOr<Admin*> Cli::ConnectToManagers() {
  if (admin_ != nullptr) return admin_.get();
  RETURN_IF_ERROR(Locate(Place::kManagers, FromEnvironment, &settings_));
  ASSIGN_OR_RETURN(auto credentials, Identify(settings_.tls, settings_.insecure,
                                              settings_.managers));
  admin_ = std::make_unique<Admin>(
      settings_.managers, settings_.timeout, std::move(credentials),
      client_ == nullptr ? nullptr : client_->cluster());
  return admin_.get();
}

int Cli::Fail(const absl::Status& status) const {
  // Detected here, so the command line is wrong.
  const bool usage =
      absl::IsInvalidArgument(status) && DetailOf(status).served_by().empty();
  const std::string request = RequestOf(status);
  const std::string advice = Advice(status, settings_);
  if (json()) {
    PrintErrorJson(absl::StatusCodeToString(status.code()), ReasonName(status),
                   request, absl::StrCat(MessageOf(status), advice),
                   DetailOf(status).keys());
  } else {
    const std::string words = ReasonWords(status);
    std::cerr << "kamino: " << Printable(MessageOf(status)) << Printable(advice)
              << (words.empty() ? "" : absl::StrCat(" [", words, "]"))
              << (request.empty()
                      ? ""
                      : absl::StrCat(" [request ", Printable(request), "]"))
              << "\n";
  }
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kCancelled:
      return kExitNoAnswer;
    default:
      return usage ? kExitUsage : kExitFailed;
  }
}

int Cli::FailUsage(absl::string_view message) const {
  if (json()) {
    PrintErrorJson("INVALID_ARGUMENT", "", "", message, {});
  } else {
    std::cerr << "kamino: " << Printable(message) << "\n";
  }
  return kExitUsage;
}

CLI::App* AddCommand(CLI::App* app, Cli* cli, const std::string& name,
                     const std::string& description,
                     const std::string& examples) {
  CLI::App* command = app->add_subcommand(name, description);
  AddSettings(command, &cli->settings());
  if (!examples.empty()) command->footer("Examples:\n" + examples);
  return command;
}

CLI::Validator Decimal() {
  return CLI::Validator(
      [](std::string& text) {
        uint64_t number = 0;
        if (absl::SimpleAtoi(text, &number)) {
          text = absl::StrCat(number);
          return std::string();
        }
        return absl::StartsWith(text, "-")
                   ? text + " is below 0"
                   : absl::StrCat(text, " is no whole number up to ",
                                  UINT64_MAX);
      },
      "");
}

void PrintJson(const google::protobuf::Message& message) {
  std::cout << ToJson(message) << "\n";
}

}  // namespace kamino::client
