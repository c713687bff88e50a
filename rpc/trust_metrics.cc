#include "rpc/trust_metrics.h"

#include <string>
#include <utility>

#include "absl/time/time.h"

namespace kamino::rpc {
namespace {

void Describe(const security::Certificates& certificates,
              metrics::Families* families) {
  families->Gauge("kamino_certificate_expiry_timestamp_seconds",
                  "When the own certificate expires, since 1970.",
                  static_cast<double>(absl::ToUnixSeconds(
                      certificates.Current()->own.not_after())));
  const security::Certificates::Counts counts = certificates.counts();
  const std::string reloads = "kamino_certificate_reloads_total";
  const std::string help =
      "Changes of certificates' files; not taken: those from before stay.";
  families->Counter(reloads, help, static_cast<double>(counts.reloads),
                    {{"result", "taken"}});
  families->Counter(reloads, help, static_cast<double>(counts.failed_reloads),
                    {{"result", "not_taken"}});
  families->Counter("kamino_peers_refused_total",
                    "Connections not made for the peer's certificate.",
                    static_cast<double>(counts.refused));
  families->Counter("kamino_peers_ended_total",
                    "Connections ended as the peer is believed no more.",
                    static_cast<double>(counts.ended));
}

void Describe(const security::Access& access, metrics::Families* families) {
  const security::Access::Counts counts = access.counts();
  const std::string name = "kamino_denials_total";
  const std::string help = "What was asked for and not done, by why.";
  families->Counter(name, help, static_cast<double>(counts.denied),
                    {{"reason", "denied"}});
  families->Counter(name, help, static_cast<double>(counts.unauthenticated),
                    {{"reason", "unauthenticated"}});
}

}  // namespace

metrics::Page::Source DescribeTrust(
    std::shared_ptr<const security::Certificates> certificates,
    std::shared_ptr<const security::Access> access) {
  return [certificates = std::move(certificates),
          access = std::move(access)](metrics::Families* families) {
    if (certificates != nullptr) Describe(*certificates, families);
    if (access != nullptr) Describe(*access, families);
  };
}

}  // namespace kamino::rpc
