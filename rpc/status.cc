#include "rpc/status.h"

#include <functional>
#include <map>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "google/rpc/status.pb.h"

namespace kamino::rpc {
namespace {

// gRPC's texts.
constexpr char kNoConnection[] = "failed to connect to all addresses";
constexpr char kNoAddress[] = "DNS resolution failed for ";
constexpr char kHungUp[] = "Socket closed";
constexpr char kRefused[] = "Connection refused";
// OpenSSL's text for a peer that does not begin a handshake.
constexpr char kNoTls[] = "wrong version number";
constexpr char kSilent[] = "timed out before receiving SETTINGS frame";
// gRPC's texts for an HTTP/1 server, and for neither.
constexpr char kHttp1[] = "Trying to connect an http1.x server";
constexpr char kNoHttp2[] = "Failed parsing HTTP/2";

constexpr char kWhyHungUp[] =
    " (the server closed the connection: it may require a certificate, or "
    "another one; its log says why)";
constexpr char kWhyRefused[] = " (nothing listens there)";
constexpr char kWhySilent[] =
    " (it takes connections but does not answer: the process hangs, or is "
    "another program)";
constexpr char kWhyNoHttp2[] =
    " (another program answers there; check the address)";
constexpr char kWhyNoTls[] =
    " (the server does not use TLS: leave out the certificates, --tls_* and, "
    "for etcd, --etcd_tls_*, and unset KAMINO_TLS_*; or start the server with "
    "certificates)";

// Replaces gRPC's message about a call that could not be sent by a plain one.
std::string WithoutConnection(absl::string_view message) {
  if (absl::ConsumePrefix(&message, kNoAddress)) {
    // "host:port: C-ares status is not ... qtype=A name=host ...: why".
    const size_t why = message.rfind(": ");
    absl::string_view place = message.substr(0, message.find(": "));
    return absl::StrCat(kNotConnected, "the host of ", place, " is not known",
                        why == absl::string_view::npos
                            ? ""
                            : absl::StrCat(" (", message.substr(why + 2), ")"));
  }
  absl::ConsumePrefix(&message, kNoConnection);
  absl::ConsumePrefix(&message, "; last error: ");
  absl::ConsumePrefix(&message, "UNKNOWN: ");
  absl::ConsumePrefix(&message, "UNAVAILABLE: ");
  absl::ConsumePrefix(&message, "INTERNAL: ");
  std::string text = absl::StrReplaceAll(
      message,
      {{"Failed to connect to remote host: ", ""}, {"%5B", "["}, {"%5D", "]"}});
  if (absl::StrContains(text, kHungUp)) text += kWhyHungUp;
  if (absl::EndsWith(text, kRefused)) text += kWhyRefused;
  if (absl::EndsWith(text, kSilent)) text += kWhySilent;
  if (absl::StrContains(text, kHttp1) || absl::StrContains(text, kNoHttp2)) {
    text += kWhyNoHttp2;
  }
  // BoringSSL's text is WRONG_VERSION_NUMBER.
  const std::string plain =
      absl::StrReplaceAll(absl::AsciiStrToLower(text), {{"_", " "}});
  if (absl::StrContains(plain, kNoTls)) text += kWhyNoTls;
  return absl::StrCat(kNotConnected, text.empty() ? "to no address" : text);
}

}  // namespace

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  const std::string message(status.message());
  // Abseil keeps payloads in no order.
  std::map<std::string, std::string, std::greater<>> payloads;
  status.ForEachPayload(
      [&payloads](absl::string_view url, const absl::Cord& value) {
        payloads.emplace(url, std::string(value));
      });
  const auto code = static_cast<grpc::StatusCode>(status.code());
  if (payloads.empty()) return grpc::Status(code, message);
  google::rpc::Status details;
  details.set_code(code);
  details.set_message(message);
  for (const auto& [url, value] : payloads) {
    auto* detail = details.add_details();
    detail->set_type_url(url);
    detail->set_value(value);
  }
  return grpc::Status(code, message, details.SerializeAsString());
}

absl::Status ErrorIn(absl::string_view details) {
  google::rpc::Status error;
  if (!error.ParseFromArray(details.data(), static_cast<int>(details.size())) ||
      error.code() == 0) {
    return absl::InternalError("the peer's error cannot be read");
  }
  return FromGrpc(grpc::Status(static_cast<grpc::StatusCode>(error.code()),
                               error.message(), std::string(details)));
}

absl::Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  const auto code = static_cast<absl::StatusCode>(status.error_code());
  absl::Status result(code, status.error_message());
  if (result.message().empty()) {
    // A peer may send any number, but Abseil accepts only known codes.
    result = absl::Status(
        code, absl::StrCat("ended as ", absl::StatusCodeToString(code)));
  }
  if (absl::IsUnavailable(result) &&
      (absl::StartsWith(result.message(), kNoConnection) ||
       absl::StartsWith(result.message(), kNoAddress))) {
    result = absl::Status(code, WithoutConnection(result.message()));
  }
  google::rpc::Status details;
  if (!details.ParseFromString(status.error_details())) return result;
  for (const auto& detail : details.details()) {
    result.SetPayload(detail.type_url(), absl::Cord(detail.value()));
  }
  return result;
}

}  // namespace kamino::rpc
