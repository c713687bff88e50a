#include <algorithm>
#include <limits>
#include <vector>

#include "absl/random/random.h"
#include "base/status_macros.h"
#include "bench/connections/crowd.h"
#include "kamino/v1/kamino.pb.h"

namespace kamino::bench::connections {
namespace {

using kamino::v1::SessionHello;
using kamino::v1::SessionName;

constexpr uint32_t kLeaseMs = 3'600'000;

class SessionCrowd final : public Crowd {
 public:
  SessionCrowd(const SessionsPlan& plan, Dialer* dialer)
      : plan_(plan), dialer_(dialer) {}

  absl::Status Open(absl::Status* refused) override {
    kamino::v1::PutRequest put;
    put.set_key("bench/connections");
    put.set_value("x");
    while (names_.size() < plan_.sessions && refused->ok()) {
      const size_t now =
          std::min(plan_.connections, plan_.sessions - names_.size());
      dialer_->Close(&kept_);
      std::vector<SessionHello> hellos(now);
      for (SessionHello& hello : hellos) *hello.mutable_session() = NewName();
      for (Dialed& each : dialer_->Open(std::move(hellos))) {
        refused->Update(each.status);
        if (!each.status.ok()) continue;
        names_.push_back(each.connection->welcome().session());
        kept_.push_back(std::move(each.connection));
      }
      RETURN_IF_ERROR(AskAll(kept_, session::Method::kPut, 1, put));
    }
    return absl::OkStatus();
  }

  size_t size() const override { return names_.size(); }

  // Each is named again, with its epoch: one that is not known any more is not
  // opened anew, and lost.
  absl::Status Close(size_t* lost) override {
    CloseKept(lost);
    for (size_t first = 0; first < names_.size(); first += plan_.connections) {
      const size_t end = std::min(first + plan_.connections, names_.size());
      std::vector<SessionHello> hellos(end - first);
      for (size_t i = first; i < end; ++i) {
        *hellos[i - first].mutable_session() = names_[i];
      }
      std::vector<ConnectionPtr> connections;
      for (Dialed& each : dialer_->Open(std::move(hellos))) {
        if (each.status.ok()) connections.push_back(std::move(each.connection));
      }
      *lost += end - first - connections.size();
      RETURN_IF_ERROR(AskAll(connections, session::Method::kClose, 0,
                             kamino::v1::GetRequest()));
      dialer_->Close(&connections);
    }
    names_.clear();
    return absl::OkStatus();
  }

 private:
  SessionName NewName() {
    SessionName name;
    name.set_id(absl::Uniform<uint64_t>(absl::IntervalClosed, random_, 1,
                                        std::numeric_limits<uint64_t>::max()));
    name.set_window(plan_.window);
    name.set_lease_ms(kLeaseMs);
    return name;
  }

  static absl::Status AskAll(const std::vector<ConnectionPtr>& connections,
                             session::Method method, uint64_t number,
                             const google::protobuf::MessageLite& body) {
    for (const absl::Status& each :
         Dialer::Ask(connections, method, number, body)) {
      RETURN_IF_ERROR(each);
    }
    return absl::OkStatus();
  }

  // Their sessions stay.
  void CloseKept(size_t* lost) {
    for (const absl::Status& each : Dialer::Ask(
             kept_, session::Method::kKeepAlive, 0, kamino::v1::GetRequest())) {
      if (!each.ok()) ++*lost;
    }
    dialer_->Close(&kept_);
  }

  const SessionsPlan plan_;
  Dialer* const dialer_;
  absl::BitGen random_;
  std::vector<SessionName> names_;   // as the node said
  std::vector<ConnectionPtr> kept_;  // of the last ones
};

}  // namespace

std::unique_ptr<Crowd> Sessions(const SessionsPlan& plan, Dialer* dialer) {
  return std::make_unique<SessionCrowd>(plan, dialer);
}

}  // namespace kamino::bench::connections
