#include "tests/simulation/session_client.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/error.h"
#include "client/retry.h"
#include "client/session/wire.h"
#include "glog/logging.h"
#include "replica/builtins.h"
#include "replica/state/state_machine.h"

namespace kamino::simulation {

using client::Connection;
using replica::Mutation;

namespace {

constexpr absl::Duration kTick = absl::Milliseconds(25);
constexpr absl::Duration kAttemptTimeout = absl::Milliseconds(250);
constexpr absl::Duration kOpenTimeout = absl::Milliseconds(400);
constexpr absl::Duration kPause = absl::Milliseconds(20);  // before a retry
constexpr absl::Duration kMostLate = absl::Seconds(3);
}  // namespace

SessionClient::SessionClient(const Surroundings& surroundings,
                             const std::string& name, const Options& options)
    : Process(surroundings.world, name),
      at_(surroundings),
      options_(options),
      random_(surroundings.world->random().Fork()) {}

SessionClient::~SessionClient() = default;

// --- The process and its session.

void SessionClient::Start() { Revive(); }

void SessionClient::Revive() {
  if (stopping_) return;
  idle_ = false;
  Process::Begin();
  transport::TransportOptions options;
  options.max_message = session::kMaxFrameBytes;
  transport_ =
      *at_.network->Transports(this, SimNode::SessionTransport()).Make(options);
  BeginSession();
  Tick();
  Think();
}

// Without telling any node.
void SessionClient::Die() {
  Trace("dies with ", operations_.size(), " under way in session ",
        session_.id() % 1000);
  while (!operations_.empty()) {
    Finish(operations_.begin()->first, Record::End::kUnknown);
  }
  at_.network->Died(this);
  End();
  connection_.reset();
  transport_.reset();
  silent_ = closing_ = refreshing_ = false;
  connecting_ += connecting_ % 2;
  idle_ = true;
  world()->After(random_.Between(absl::ZeroDuration(), absl::Milliseconds(300)),
                 [this] { Revive(); });
}

void SessionClient::BeginSession() {
  lanes_ = std::make_unique<client::LanePool>();
  NameSession();
  session_.set_epoch(0);
  session_.set_window(options_.window);
  session_.set_lease_ms(static_cast<uint32_t>(1000 + random_.Pick(500)));
  given_up_ = 0;
  closing_ = false;
  actions_left_ = 10 + static_cast<int>(random_.Pick(60));
  const uint64_t drawn = random_.Pick(10);
  fate_ = drawn < 3   ? Fate::kGoesSilent
          : drawn < 5 ? Fate::kDies
          : drawn < 7 ? Fate::kCloses
                      : Fate::kStays;
}

void SessionClient::NameSession() { session_.set_id(random_.Next() | 1); }

void SessionClient::EndSession() {
  Trace("leaves session ", session_.id() % 1000);
  while (!operations_.empty()) {
    Finish(operations_.begin()->first, Record::End::kUnknown);
  }
  lanes_->CloseSession();
  Disconnect();
  BeginSession();
}

void SessionClient::OnExpired() {
  if (!has_session()) return;
  world()->tally().Count(Kind::kSessionExpired);
  EndSession();
}

void SessionClient::MeetFate() {
  switch (fate_) {
    case Fate::kStays:
      actions_left_ = 60;
      return;
    case Fate::kGoesSilent:
      return GoSilent();
    case Fate::kDies:
      while (has_session() &&
             operations_.size() + given_up_ < session_.window()) {
        BeginOperation();
      }
      return After(random_.Between(absl::ZeroDuration(), absl::Milliseconds(5)),
                   [this] { Die(); });
    case Fate::kCloses:
      closing_ = true;
      return;
  }
}

void SessionClient::GoSilent() {
  const auto lease = absl::Milliseconds(session_.lease_ms());
  silent_ = true;
  Trace("falls silent in session ", session_.id() % 1000);
  After(random_.Between(lease / 4, 2 * lease), [this] {
    silent_ = false;
    Trace("goes on");
    actions_left_ = 60;
    std::vector<uint64_t> ids;
    for (const auto& [id, operation] : operations_) ids.push_back(id);
    for (uint64_t id : ids) {
      if (operations_.count(id) > 0) Attempt(id);
    }
  });
}

void SessionClient::KeepAlive() {
  if (silent_ || !has_session() || connection_ == nullptr ||
      world()->now() < keep_alive_at_) {
    return;
  }
  keep_alive_at_ = world()->now() + absl::Milliseconds(session_.lease_ms()) / 4;
  Record* const probe = NewProbe();
  connection_->Send(
      session::Method::kKeepAlive, 0, kAttemptTimeout, "",
      [this, probe, id = session_.id()](const Connection::Answer& answer) {
        EndProbe(probe, answer.status);
        if (answer.status.ok()) {
          at_.session_records->Answered(id, probe->invoked);
        } else if (id == session_.id()) {
          Learn(client::DetailOf(answer.status).chain());
          if (client::ReasonOf(answer.status) ==
              kamino::v1::REASON_SESSION_EXPIRED) {
            return OnExpired();
          }
          // The node may have lost the head's role.
          Disconnect();
          Refresh();
        }
      });
}

void SessionClient::CloseSession() {
  if (!has_session() || connection_ == nullptr) return Connect();
  closing_ = false;  // until there is an answer
  at_.session_records->AskedToClose(session_.id());
  Trace("closes session ", session_.id() % 1000);
  connection_->Send(session::Method::kClose, 0, kAttemptTimeout, "",
                    [this, id = session_.id()](const Connection::Answer& told) {
                      if (id != session_.id() || !has_session()) return;
                      const auto reason = client::ReasonOf(told.status);
                      if (told.status.ok()) {
                        world()->tally().Count(Kind::kSessionClosed);
                      } else if (reason != kamino::v1::REASON_SESSION_EXPIRED) {
                        // The session may be closed: asking again tells.
                        Disconnect();
                        Refresh();
                        closing_ = true;
                        return;
                      }
                      EndSession();
                    });
}

// --- Its connection.

void SessionClient::Connect() {
  if (connecting_ % 2 == 1 || silent_) return;
  if (connection_ != nullptr) {
    if (!connection_->ended()) return;
    connection_.reset();
  }
  if (chain_ == nullptr) return Refresh();
  SimNode* const node =
      random_.Percent(options_.astray_percent) ? AnyNode() : Head();
  kamino::v1::SessionHello hello;
  hello.set_min_version(session::kVersion);
  hello.set_max_version(session::kVersion);
  *hello.mutable_session() = session_;
  const bool anew = session_.epoch() == 0;
  Record* const probe = anew ? nullptr : NewProbe();
  ++connecting_;
  give_up_at_ = world()->now() + kOpenTimeout;
  connection_ = Connection::Open(
      hello,
      [this, node](std::shared_ptr<client::WireHandler> handler) {
        return client::OpenLinkWire(transport_.get(), node->SessionAddress(),
                                    /*node=*/"", std::move(handler));
      },
      [this] { return world()->now(); },
      [this, attempt = connecting_, probe, anew, id = session_.id()](
          const auto&, absl::StatusOr<kamino::v1::SessionWelcome> welcome) {
        if (probe != nullptr) EndProbe(probe, welcome.status());
        if (attempt != connecting_ || id != session_.id()) return;
        OnOpened(anew, std::move(welcome));
      });
}

void SessionClient::OnOpened(bool anew,
                             absl::StatusOr<kamino::v1::SessionWelcome> told) {
  ++connecting_;
  if (!told.ok()) {
    connection_.reset();
    Learn(client::DetailOf(told.status()).chain());
    const kamino::v1::Reason reason = client::ReasonOf(told.status());
    if (anew && reason == kamino::v1::REASON_UNSPECIFIED) NameSession();
    if (reason != kamino::v1::REASON_SESSION_EXPIRED) return Refresh();
    if (anew) return BeginSession();
    return OnExpired();
  }
  keep_alive_at_ = world()->now() + absl::Milliseconds(session_.lease_ms()) / 4;
  if (!anew) return;
  session_ = told->session();
  Trace("has session ", session_.id() % 1000, " of epoch ", session_.epoch());
  lanes_->OpenSession(session_.id(), session_.window());
  at_.session_records->Opened(
      session_.id(), absl::Milliseconds(session_.lease_ms()), session_.epoch());
}

void SessionClient::Disconnect() {
  // A hello without an answer may still arrive late.
  if (connecting_ % 2 == 1 && session_.epoch() == 0) NameSession();
  connecting_ += connecting_ % 2;
  if (connection_ != nullptr) std::exchange(connection_, nullptr)->Close();
}

void SessionClient::Tick() {
  if (idle_) return;
  const auto connection = connection_;
  if (connection != nullptr) {
    connection->EndOverdue(world()->now());
    const bool hangs = connecting_ % 2 == 1 && world()->now() > give_up_at_;
    if (connection == connection_ && (hangs || connection->ended())) {
      Disconnect();
    }
  }
  if (closing_ && operations_.empty()) CloseSession();
  if (connection_ == nullptr) {
    Connect();
  } else {
    KeepAlive();
  }
  if (stopping_ && operations_.empty() && !silent_) {
    idle_ = true;
    Disconnect();
    return;
  }
  After(kTick, [this] { Tick(); });
}

SimNode* SessionClient::Head() {
  if (chain_ == nullptr || chain_->nodes_size() == 0) return AnyNode();
  const auto found = at_.peers->nodes.find(chain_->nodes(0).node_id());
  return found == at_.peers->nodes.end() ? AnyNode() : found->second;
}

SimNode* SessionClient::AnyNode() {
  auto peer = at_.peers->nodes.begin();
  std::advance(peer, random_.Pick(at_.peers->nodes.size()));
  return peer->second;
}

void SessionClient::Learn(const kamino::v1::Chain& chain) {
  if (chain.nodes_size() == 0) return;
  if (chain_ == nullptr || chain.view_id() > chain_->view_id()) {
    chain_ = std::make_shared<const kamino::v1::Chain>(chain);
  }
}

void SessionClient::Refresh() {
  if (std::exchange(refreshing_, true)) return;
  SimNode* const node = AnyNode();
  at_.network->Send(this, node, [this, node, life = life()] {
    node->AskChain([this, node, life](NodeAnswer answer) {
      at_.network->Send(node, this, [this, life, chain = answer.chain] {
        if (life == this->life() && chain != nullptr) Learn(*chain);
      });
    });
  });
  After(kPause, [this] { refreshing_ = false; });
}

// --- Its actions.

void SessionClient::Think() {
  After(random_.Between(absl::ZeroDuration(), options_.think), [this] {
    if (stopping_ || silent_ || closing_) {
      if (stopping_) return;
    } else {
      Act();
    }
    if (up()) Think();
  });
}

void SessionClient::Act() {
  if (!has_session()) return;
  if (actions_left_ > 0 && --actions_left_ == 0) return MeetFate();
  if (random_.Percent(options_.stray_percent)) return SendStray();
  if (!sent_before_.empty() && random_.Percent(5)) return AskForOutcome();
  BeginOperation();
}

Record* SessionClient::NewRecord() {
  Record record;
  record.id = at_.history->size() + 1;
  record.client = name();
  record.invoked = world()->now();
  at_.history->push_back(std::move(record));
  return &at_.history->back();
}

Record* SessionClient::NewProbe() {
  Record* const probe = NewRecord();
  probe->repeats = true;
  probe->request.function = replica::kVoidFunction;
  probe->request.client_id = session_.id();
  probe->request.in_session = true;
  return probe;
}

void SessionClient::EndProbe(Record* probe, const absl::Status& status) {
  if (client::ReasonOf(status) != kamino::v1::REASON_SESSION_EXPIRED) return;
  Trace("is told that session ", probe->request.client_id % 1000,
        " has expired");
  probe->end = Record::End::kRefused;
  probe->status = status;
  probe->returned = world()->now();
  probe->newest_at_return = at_.log->newest();
}

void SessionClient::BeginOperation() {
  Record drawn = at_.workload->Next(versions_);
  if (drawn.is_read || operations_.size() + given_up_ >= session_.window()) {
    return;
  }
  Record* const record = NewRecord();
  record->request = std::move(drawn.request);
  Operation operation;
  operation.record = record;
  operation.lane = lanes_->Acquire(/*since=*/0);
  CHECK(operation.lane.in_session);
  record->request.client_id = operation.lane.client_id;
  record->request.number = operation.lane.number;
  record->request.in_session = true;
  operations_[record->id] = std::move(operation);
  Attempt(record->id);
}

// A number whose turn never comes.
void SessionClient::SendStray() {
  Mutation request;
  kamino::v1::PutRequest put;
  put.set_key("r0");
  put.set_value("stray");
  request.function = replica::kPutFunction;
  request.arguments = put.SerializeAsString();
  request.client_id = session_.id();
  request.in_session = true;
  if (!random_.OneIn(4)) {
    request.number = 1 + random_.Pick(session_.window()) +
                     (1000000 + random_.Pick(1000)) * session_.window();
  }
  SendCopy(request);
}

void SessionClient::SendLate(const Mutation& request) {
  world()->After(random_.Between(absl::ZeroDuration(), kMostLate),
                 [this, request] {
                   if (up() && !stopping_) SendCopy(request);
                 });
}

void SessionClient::SendCopy(const Mutation& request) {
  Record* const record = NewRecord();
  record->request = request;
  record->repeats = true;
  NoteSent(request);
  CallNode(Head(), request, [this, record](const CallAnswer& answer) {
    record->returned = world()->now();
    record->newest_at_return = at_.log->newest();
    if (answer.status.ok()) {
      record->end = Record::End::kDone;
      record->result = answer.result;
      record->sequence = answer.sequence;
      return;
    }
    const auto decision = client::DecideAfter(answer.status, 1, 0);
    if (decision.retry || decision.outcome_unknown) return;
    record->end = Record::End::kRefused;
    record->status = answer.status;
  });
}

void SessionClient::AskForOutcome() {
  if (chain_ == nullptr) return;
  const auto tail =
      at_.peers->nodes.find(chain_->nodes(chain_->nodes_size() - 1).node_id());
  if (tail == at_.peers->nodes.end()) return;
  Record* const record = NewRecord();
  record->is_read = true;
  record->asks_for = sent_before_[random_.Pick(sent_before_.size())];
  SimNode* const node = tail->second;
  at_.network->Send(this, node, [this, node, record] {
    node->ReadOutcome(*record->asks_for, [this, node,
                                          record](NodeAnswer answer) {
      at_.network->Send(node, this, [this, record, answer = std::move(answer)] {
        if (!answer.status.ok()) return;
        record->end = Record::End::kDone;
        record->returned = world()->now();
        record->sequence = answer.sequence;
        record->outcome = answer.outcome;
        record->newest_at_return = at_.log->newest();
      });
    });
  });
}

void SessionClient::NoteSent(const Mutation& request) {
  std::vector<std::string>& sent =
      (*at_.sent)[{request.client_id, request.number}];
  std::string bytes = absl::StrCat(request.function, " ", request.arguments);
  if (std::find(sent.begin(), sent.end(), bytes) == sent.end()) {
    sent.push_back(std::move(bytes));
  }
}

}  // namespace kamino::simulation
