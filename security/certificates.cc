#include "security/certificates.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "glog/logging.h"
#include "openssl/x509.h"
#include "openssl/x509v3.h"

namespace kamino::security {
namespace {

constexpr absl::Duration kAgeTold = absl::Hours(1);

}  // namespace

// Calendar time is used only to check certificates.
Certificates::Certificates(const Options& options)
    : now_(options.now != nullptr ? options.now : [] { return absl::Now(); }),
      files_(options.files) {}

absl::StatusOr<std::unique_ptr<Certificates>> Certificates::Load(
    const Options& options) {
  std::unique_ptr<Certificates> made(new Certificates(options));
  RETURN_IF_ERROR(made->ReadFirst(options.cluster));
  if (options.look != absl::InfiniteDuration()) {
    made->thread_.emplace("certificates", options.look,
                          [self = made.get()] { self->Look(); });
  }
  return made;
}

absl::Status Certificates::ReadFirst(const std::string& cluster) {
  absl::MutexLock lock(&look_mutex_);
  files_.Read();
  ASSIGN_OR_RETURN(auto set, files_.Parse(nullptr));
  identity_ = set->own.identity();
  cluster_ = cluster.empty() ? identity_.cluster : cluster;
  RETURN_IF_ERROR(CheckOwn(*set));
  TellAge(*set);
  absl::MutexLock current(&mutex_);
  current_ = std::move(set);
  return absl::OkStatus();
}

Verdict Certificates::CheckAt(const Set& set, const Certificate& peer) const {
  return set.trust->Check(peer, cluster_, now_());
}

absl::Status Certificates::CheckOwn(const Set& set) const {
  const absl::Status status = CheckAt(set, set.own).status;
  if (status.ok()) return status;
  return absl::Status(status.code(),
                      absl::StrCat(files_.files().certificate,
                                   " would be refused: ", status.message()));
}

std::shared_ptr<const Certificates::Set> Certificates::Current() const {
  absl::MutexLock lock(&mutex_);
  return current_;
}

absl::Status Certificates::Check(const Certificate& peer) const {
  return CheckAt(*Current(), peer).status;
}

Certificates::Admission Certificates::Admit(std::vector<X509Pointer> chain,
                                            Peer peer) const {
  const int purpose =
      peer == Peer::kServes ? X509_PURPOSE_SSL_SERVER : X509_PURPOSE_SSL_CLIENT;
  absl::StatusOr<Certificate> shown = Certificate::Of(std::move(chain));
  if (!shown.ok()) {
    return {shown.status(), X509_V_ERR_APPLICATION_VERIFICATION};
  }
  const Verdict verdict = CheckAt(*Current(), *shown);
  if (!verdict.status.ok()) return {verdict.status, verdict.x509_error};
  if (X509_check_purpose(shown->chain().front().get(), purpose, 0) != 1) {
    return {absl::UnauthenticatedError(absl::StrCat(
                ToString(shown->identity()), " (certificate ", shown->serial(),
                "): is not a ", peer == Peer::kServes ? "server" : "client",
                " certificate")),
            X509_V_ERR_INVALID_PURPOSE};
  }
  return {*std::move(shown), X509_V_OK};
}

void Certificates::OnChange(std::function<void(const Set&)> changed) {
  absl::MutexLock lock(&look_mutex_);
  changed(*Current());
  changed_.push_back(std::move(changed));
}

void Certificates::OnLook(std::function<void()> looked) {
  absl::MutexLock lock(&look_mutex_);
  looked_.push_back(std::move(looked));
}

void Certificates::Look() {
  Reload();
  watches_.EndWatched([this](const Certificate& peer) { return Check(peer); });
  std::vector<std::function<void()>*> looked;
  {
    absl::MutexLock lock(&look_mutex_);
    for (auto& each : looked_) looked.push_back(&each);
  }
  for (auto* const each : looked) (*each)();
}

void Certificates::Reload() {
  absl::MutexLock lock(&look_mutex_);
  const auto before = Current();
  TellAge(*before);
  if (!files_.Read()) return;
  absl::StatusOr<std::shared_ptr<const Set>> set = files_.Parse(before.get());
  absl::Status status = set.status();
  if (status.ok()) status = CheckOwn(**set);
  if (status.ok() && (*set)->own.identity() != identity_) {
    status = absl::InvalidArgumentError(
        absl::StrCat(files_.files().certificate, " is now the certificate of ",
                     ToString((*set)->own.identity()),
                     "; a change of identity requires a restart"));
  }
  if (!status.ok()) {
    failed_reloads_.fetch_add(1, std::memory_order_relaxed);
    LOG(ERROR)
        << "certificates have changed, but are invalid; the previous ones "
           "stay in use: "
        << status.message();
    return;
  }
  {
    absl::MutexLock current(&mutex_);
    current_ = *set;
  }
  reloads_.fetch_add(1, std::memory_order_relaxed);
  LOG(INFO) << "certificates have changed: own " << (*set)->own.serial()
            << " until " << (*set)->own.not_after() << ", "
            << (*set)->trust->revoked_lists() << " lists of revoked ones";
  LOG_IF(WARNING, (*set)->trust->kept_lists() > 0)
      << (*set)->trust->kept_lists()
      << " lists of revoked certificates are gone "
      << "from " << files_.files().revoked
      << "; they stay in force until other lists of these authorities are "
         "there, or until a restart";
  for (const auto& changed : changed_) changed(**set);
}

// Certificates are normally renewed long before the last tenth of their
// validity.
void Certificates::TellAge(const Set& set) {
  const absl::Time now = now_();
  if (now < age_told_ + kAgeTold) return;
  const absl::Time end = set.own.not_after();
  if (now >= end) {
    LOG(ERROR) << "the own certificate has expired, at " << end
               << ": every new connection is refused";
  } else if (end - now < (end - set.own.not_before()) / 10) {
    LOG(WARNING) << "the own certificate expires soon, at " << end;
  } else if (now > set.trust->next_lists()) {
    LOG(WARNING) << "a list of revoked certificates is old: the next was due "
                    "at "
                 << set.trust->next_lists();
  } else {
    return;
  }
  age_told_ = now;
}

Certificates::Counts Certificates::counts() const {
  Counts counts;
  counts.reloads = reloads_.load(std::memory_order_relaxed);
  counts.failed_reloads = failed_reloads_.load(std::memory_order_relaxed);
  counts.refused = refused_.count();
  counts.ended = watches_.ended();
  return counts;
}

}  // namespace kamino::security
