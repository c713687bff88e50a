#include "rpc/security_metrics.h"

#include <cstdint>
#include <utility>

#include "security/certificates.h"

namespace kamino::rpc {
namespace {

using metrics::Families;

double Seconds(absl::Time time) {
  return absl::ToDoubleSeconds(time - absl::UnixEpoch());
}

void DescribeCertificates(const security::Certificates& certificates,
                          Families* families) {
  const auto set = certificates.Current();
  families->Gauge("kamino_certificate_not_before_timestamp_seconds",
                  "Start of the validity of the process's own certificate, "
                  "since 1970.",
                  Seconds(set->own.not_before()));
  families->Gauge("kamino_certificate_not_after_timestamp_seconds",
                  "When the process's own certificate expires, since 1970.",
                  Seconds(set->own.not_after()));
  const security::Certificates::Counts counts = certificates.counts();
  constexpr char kReloads[] = "kamino_certificate_reloads_total";
  constexpr char kReloadsHelp[] =
      "Changes of certificates: taken, or invalid (failed).";
  families->Counter(kReloads, kReloadsHelp, static_cast<double>(counts.reloads),
                    {{"result", "taken"}});
  families->Counter(kReloads, kReloadsHelp,
                    static_cast<double>(counts.failed_reloads),
                    {{"result", "failed"}});
  constexpr char kPeers[] = "kamino_certificate_peers_rejected_total";
  constexpr char kPeersHelp[] =
      "Peers whose certificates were rejected: when they connected (refused), "
      "or later (ended).";
  families->Counter(kPeers, kPeersHelp, static_cast<double>(counts.refused),
                    {{"when", "refused"}});
  families->Counter(kPeers, kPeersHelp, static_cast<double>(counts.ended),
                    {{"when", "ended"}});
}

void DescribeAccess(const security::Access& access, Families* families) {
  const security::Access::Counts counts = access.counts();
  constexpr char kDenied[] = "kamino_denied_calls_total";
  constexpr char kDeniedHelp[] =
      "Calls and requests without the required role (denied), or without a "
      "certificate (unauthenticated).";
  families->Counter(kDenied, kDeniedHelp, static_cast<double>(counts.denied),
                    {{"reason", "denied"}});
  families->Counter(kDenied, kDeniedHelp,
                    static_cast<double>(counts.unauthenticated),
                    {{"reason", "unauthenticated"}});
  constexpr char kReloads[] = "kamino_role_reloads_total";
  constexpr char kReloadsHelp[] =
      "Reloads of the file of roles: taken, or invalid (failed).";
  families->Counter(kReloads, kReloadsHelp, static_cast<double>(counts.reloads),
                    {{"result", "taken"}});
  families->Counter(kReloads, kReloadsHelp,
                    static_cast<double>(counts.failed_reloads),
                    {{"result", "failed"}});
}

}  // namespace

metrics::Page::Source SecuritySource(
    std::shared_ptr<const Credentials> credentials,
    std::shared_ptr<security::Access> access) {
  return [credentials = std::move(credentials),
          access = std::move(access)](Families* families) {
    if (credentials != nullptr) {
      DescribeCertificates(*credentials->certificates(), families);
    }
    if (access != nullptr) DescribeAccess(*access, families);
  };
}

}  // namespace kamino::rpc
